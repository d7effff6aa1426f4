package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
)

// mixJob is a job of the mix that is replayed: which, on which input, and when it comes.
type mixJob struct {
	name, job string
	in        inputFile
	conf      string
	submit    int // ms
}

// runReplay runs a mix under some policies with a record, replays each record in the simulator, and compares the mean sojourn times. Contestants take
// turns: each replay is of the run just before it.
func runReplay(ctx context.Context, b *bench) error {
	mix, err := b.mix(ctx)
	if err != nil {
		return err
	}
	// The cluster of a run without --cluster: one node with as many vcores as cores. Memory is never what it lacks. Slots are lent where there are any.
	whole := fmt.Sprintf("nodes=1,vcores=%d,memory=1TiB", cores())
	slots := fmt.Sprintf("nodes=1,map-slots=%d,reduce-slots=%d", (cores()+1)/2, (cores()+1)/2)
	for _, c := range []struct{ policy, cluster string }{
		{"fifo", whole}, {"fair", whole}, {"srpt", whole}, {"hfsp", whole}, {"gittins", whole}, {"fspy", whole}, {"mrorder:interval=100ms", whole},
		{"fair", slots}, {"mrorder:interval=100ms", slots}, {"dynamicmr", slots},
	} {
		name := c.policy
		if c.cluster == slots {
			name += ", slots"
		}
		var real, simulated, off []float64
		for range b.reps {
			r, s, err := b.replay(ctx, c.policy, c.cluster, mix)
			if err != nil {
				return err
			}
			b.say("%s: %.3f s, simulated %.3f s", name, r, s)
			real, simulated, off = append(real, r), append(simulated, s), append(off, math.Abs(s/r-1)*100)
			if b.late(1) {
				break
			}
		}
		d := spreadOver(off)
		b.rows = append(b.rows, row{Case: name, Who: "sojourn run", Unit: "s", Value: spreadOver(real)},
			row{Case: name, Who: "sojourn sim", Unit: "s", Value: spreadOver(simulated)},
			row{Case: name, Who: "distance", Unit: "%", Value: d, Goal: &goal{5, true, d.Median <= 5}})
	}
	return nil
}

// mix makes the inputs of twelve jobs, long ones and short ones, that come faster than they are done.
func (b *bench) mix(ctx context.Context) ([]mixJob, error) {
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
	kinds := []mixJob{{"sort", "sort", text, "", 0}, {"index", "inverted-index", text, "", 0}, {"memo", "wordcount", memo, "", 0},
		{"find", "grep", text, "[a-z]+nee[dt]", 0}, {"records", "terasort", records, "", 0}, {"ratings", "histogram-ratings", ratings, "", 0}}
	var jobs []mixJob
	for i := range 12 {
		j := kinds[i%len(kinds)]
		j.name, j.submit = fmt.Sprint(j.name, i/len(kinds)+1), 150*i
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// replay runs the mix and its replay once, and returns the mean sojourn times in seconds.
func (b *bench) replay(ctx context.Context, policy, cluster string, mix []mixJob) (real, simulated float64, err error) {
	out, err := b.fresh("mix")
	if err != nil {
		return 0, 0, err
	}
	var y strings.Builder
	y.WriteString("jobs:\n")
	for _, j := range mix {
		fmt.Fprintf(&y, "  - {name: %s, job: %s, input: [%q], output: %q, submit: %dms", j.name, j.job, j.in.path, out+"/"+j.name, j.submit)
		if j.conf != "" {
			fmt.Fprintf(&y, ", conf: {pattern: '%s'}", j.conf)
		}
		y.WriteString("}\n")
	}
	file, record := b.path("tmp", "mix.yaml"), b.path("tmp", "mix.rec")
	if err := errors.Join(os.RemoveAll(record), os.WriteFile(file, []byte(y.String()), 0o666)); err != nil {
		return 0, 0, err
	}
	mean := func(c command) (float64, error) {
		doc := runDocument{}
		if _, err := measureJSON(ctx, c, &doc); err != nil {
			return 0, err
		}
		if len(doc.Results) != 1 {
			return 0, fmt.Errorf("%s printed no result", c.path)
		}
		return doc.Results[0].Sojourn.Mean, nil
	}
	if real, err = mean(b.command("run", file, "--json", "--policy", policy, "--cluster", cluster, "--record", record)); err != nil {
		return 0, 0, err
	}
	simulated, err = mean(b.command("sim", "--json", "--from-record", record, "--policy", policy, "--estimator", "mean",
		"--cluster", cluster, "--costs", "none", "--probe-base", "0s"))
	return real, simulated, err
}
