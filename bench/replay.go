package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// runReplay runs a mix under some policies with a record, replays each record in the simulator, and compares the mean
// sojourn times. Contestants take turns: each replay is of the run just before it.
func runReplay(ctx context.Context, b *bench) error {
	mix, err := b.mix(ctx)
	if err != nil {
		return err
	}
	defer os.RemoveAll(mix.Folder)
	// The cluster of a run without --cluster: one node with as many vcores as cores. Memory is never what it lacks.
	// Slots are lent where there are any.
	whole := fmt.Sprintf("nodes=1,vcores=%d,memory=1TiB", cores())
	slots := fmt.Sprintf("nodes=1,map-slots=%d,reduce-slots=%d", (cores()+1)/2, (cores()+1)/2)
	for _, c := range []struct{ policy, cluster string }{
		{"fifo", whole}, {"fair", whole}, {"srpt", whole}, {"hfsp", whole}, {"gittins", whole}, {"fspy", whole},
		{"mrorder:interval=100ms", whole},
		{"fair", slots}, {"mrorder:interval=100ms", slots}, {"dynamicmr", slots},
	} {
		name := c.policy
		if c.cluster == slots {
			name += ", slots"
		}
		if mix.Cluster, err = workload.ParseCluster(c.cluster); err != nil {
			return err
		}
		var real, simulated, off []float64
		for range b.reps {
			run, err := mix.Run(ctx, c.policy, nil)
			if err != nil {
				return err
			}
			again, err := mix.Simulate(ctx, c.policy, run)
			if err != nil {
				return err
			}
			r, s := meanOf(run.Sojourns), meanOf(again)
			b.say("%s: %.3f s, simulated %.3f s", name, r, s)
			real, simulated, off = append(real, r), append(simulated, s), append(off, math.Abs(s/r-1)*100)
			if b.late(1) {
				break
			}
		}
		d := spreadOver(off)
		b.rows = append(b.rows, row{Case: name, Who: "mr", Unit: "s", Value: spreadOver(real)},
			row{Case: name, Who: "sim", Unit: "s", Value: spreadOver(simulated)},
			row{Case: name, Who: "distance", Unit: "%", Value: d, Goal: &goal{5, true, d.Median <= 5}})
	}
	return nil
}

func meanOf(values []float64) (mean float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return mean
}

// mix makes twelve jobs, long ones and short ones, that come faster than they are done, and their inputs.
func (b *bench) mix(ctx context.Context) (*testbed.Mix, error) {
	part := b.size / 5
	text, err := b.generated(ctx, "text", part)
	if err != nil {
		return nil, err
	}
	memo, err := b.generated(ctx, "text", part/50)
	if err != nil {
		return nil, err
	}
	records, err := b.generated(ctx, "teragen", part)
	if err != nil {
		return nil, err
	}
	ratings, err := b.generated(ctx, "ratings", part/2)
	if err != nil {
		return nil, err
	}
	folder, err := b.fresh("mix")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	kinds := []struct {
		name, job string
		in        inputFile
		conf      map[string]string
	}{
		{"sort", "sort", text, nil}, {"index", "inverted-index", text, nil}, {"memo", "wordcount", memo, nil},
		{
			"find",
			"grep",
			text,
			map[string]string{"pattern": "[a-z]+nee[dt]"},
		}, {"records", "terasort", records, nil}, {"ratings", "histogram-ratings", ratings, nil},
	}
	mix := &testbed.Mix{Folder: folder, Seed: 1}
	for i := range 12 {
		k := kinds[i%len(kinds)]
		mix.Jobs = append(
			mix.Jobs,
			testbed.MixJob{Name: fmt.Sprint(k.name, i/len(kinds)+1), Submit: sched.Time(i) * 150 * time.Millisecond,
				Job: k.job, Input: []string{k.in.path}, Conf: k.conf},
		)
	}
	return mix, nil
}
