package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// The cluster of the simulated day, for its maps, and with room for its reduces.
const (
	dayCluster  = "nodes=600,map-slots=5"
	fullCluster = "nodes=600,map-slots=5,reduce-slots=2,racks=15"
	daySlots    = 600 * 5
)

// runSim holds 'sojourn sim' against a loop that does nothing else than it must, both on one core, and measures it with
// all costs of a cluster.
func runSim(ctx context.Context, b *bench) error {
	_, err := os.Stat(b.trace)
	missing := ""
	if err != nil {
		missing = fmt.Sprintf("no %s: it is FB-2010_samples_24_times_1hr_0.tsv of SWIM's repository, say -trace",
			b.trace)
	}
	if err := b.againstLoop(ctx, missing); err != nil {
		return err
	}
	if err := b.everythingOn(ctx, missing); err != nil || missing != "" {
		return err
	}
	return b.allocations(ctx)
}

// againstLoop holds the simulated maps of the day against the bare loop. missing says why there is no day; "": there is
// one.
func (b *bench) againstLoop(ctx context.Context, missing string) error {
	// As the trace has them, the tasks of a wave end together, which makes a calendar's life easy; lognormal times are
	// what clusters have.
	for _, sigma := range []string{"0", "0.5"} {
		loop, err := self("bare", b.trace, sigma)
		if err != nil {
			return err
		}
		loop.env = []string{"GOMAXPROCS=1"}
		bare := contestant{
			who:     "bare loop",
			missing: missing,
			run:     func(ctx context.Context) (sample, error) { return simulated(ctx, loop) },
		}
		for _, p := range []struct {
			policy string
			goal   float64
		}{{"fifo", 0.45}, {"srpt", 0.45}, {"fair", 0.35}} {
			ours := b.simulating(missing, "--cluster", dayCluster, "--maps-only", "--costs", "none", "--sigma", sigma,
				"--policy", p.policy)
			ours.goal, bare.goal = 5, p.goal
			name := fmt.Sprintf("maps, %s, sigma %s", p.policy, sigma)
			if err := b.hold(ctx, contest{name: name, unit: "M events/s",
				contestants: []contestant{ours, bare}}); err != nil {
				return err
			}
			b.bound(ours.who, name, 500)
		}
	}
	return nil
}

// everythingOn measures the simulated day with reduces, heartbeats, stragglers, failures and a record. missing says why
// there is no day; "": there is one.
func (b *bench) everythingOn(ctx context.Context, missing string) error {
	for _, p := range []string{"fifo", "srpt", "fair"} {
		if _, ok := policy.All["late"]; ok {
			p = "late{" + p + "}"
		}
		ours := b.simulating(missing, "--cluster", fullCluster, "--policy", p, "--heartbeat", "3s", "--sigma", "0.3",
			"--stragglers", "0.02", "--slow-nodes", "0.02", "--failures", "0.005", "--mtbf", "100h",
			"--record", b.path("output", "everything.rec"))
		ours.goal, ours.once = 1, true // it takes long, and its record may not be there
		if err := b.hold(ctx, contest{name: "everything on, " + p, unit: "M events/s",
			contestants: []contestant{ours}}); err != nil {
			return err
		}
	}
	return nil
}

// sideBySide is by how much all processors are to be faster than one where there are two, with many seeds.
const sideBySide = 1.8

// runSeeds measures how well simulations with many seeds use the processors.
func runSeeds(ctx context.Context, b *bench) error {
	const seeds = 12
	jobs := b.path("input", "seeds.yaml")
	if err := os.RemoveAll(jobs); err != nil {
		return err
	}
	made := command{path: b.sojourn, args: []string{"workload", "generate", "--jobs", "3000", "--load", "0.9",
		"--cluster",
		fullCluster, "--output", jobs}}
	if _, _, err := measure(ctx, made); err != nil {
		return err
	}
	on := func(who string, processors int, goal float64) contestant {
		c := b.command("sim", "--json", "--trace", jobs, "--cluster", fullCluster, "--sigma", "0.5", "--policy",
			"fifo,fair", "--seeds", strconv.Itoa(seeds))
		c.env = []string{"GOMAXPROCS=" + strconv.Itoa(processors)}
		return contestant{who: who, goal: goal, run: func(ctx context.Context) (sample, error) {
			s, _, err := measure(ctx, c)
			return s, err
		}}
	}
	one := on("one processor", 1, 0)
	if cores() == 2 {
		one.goal = sideBySide
	}
	return b.hold(ctx, contest{name: "12 seeds, fifo and fair", unit: "simulations/s", amount: 2 * seeds,
		contestants: []contestant{on("all processors", cores(), 0), one}})
}

// simulating runs 'sojourn sim' on the day and on one core.
func (b *bench) simulating(missing string, args ...string) contestant {
	c := b.command("sim", append([]string{"--json", "--trace", b.trace}, args...)...)
	c.env = []string{"GOMAXPROCS=1"}
	return contestant{
		who:     "sojourn sim",
		missing: missing,
		run:     func(ctx context.Context) (sample, error) { return simulated(ctx, c) },
	}
}

// simulated runs a simulation; its value is millions of events a second of the simulation, reading included, the start
// of the process not.
func simulated(ctx context.Context, c command) (sample, error) {
	doc := runDocument{}
	s, err := measureJSON(ctx, c, &doc)
	if err == nil && len(doc.Results) != 1 {
		err = errors.New("no result")
	}
	if err != nil {
		return s, err
	}
	s.value = doc.Results[0].EventRate / 1e6
	return s, nil
}

// bound adds a row for the memory of the last contest's first.
func (b *bench) bound(who, name string, most float64) {
	for _, r := range b.rows {
		if r.Case == name && r.Who == who && r.Skipped == "" && r.Memory > 0 {
			b.rows = append(
				b.rows,
				row{
					Case:  name,
					Who:   who,
					Unit:  "MB at the peak",
					Value: spread{r.Memory, r.Memory, r.Memory, r.Value.Runs},
					Goal:  &goal{most, true, r.Memory <= most},
				},
			)
		}
	}
}

// allocations counts the allocations of whole simulations, those at the arrival of jobs included.
func (b *bench) allocations(ctx context.Context) error {
	for _, name := range []string{"fifo", "srpt", "fair"} {
		c, err := self("allocs", b.trace, name)
		if err != nil {
			return err
		}
		var n float64
		if _, err := measureJSON(ctx, c, &n); err != nil {
			return err
		}
		b.rows = append(b.rows, row{Case: "allocations for each event, " + name, Who: "sim.Run",
			Value: spread{n, n, n, 1}})
	}
	return nil
}

func printAllocations(trace, name string) error {
	c, jobs, err := readDay(trace)
	if err != nil {
		return err
	}
	p, _, err := policy.All.Parse(name)
	if err != nil {
		return err
	}
	source := func(yield func(*sched.JobSpec, error) bool) {
		for _, j := range jobs {
			if !yield(j, nil) {
				return
			}
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := sim.Run(context.Background(), sim.Config{Cluster: c, Jobs: source, Core: sched.Config{Policy: p}})
	if err != nil {
		return err
	}
	runtime.ReadMemStats(&after)
	return json.NewEncoder(os.Stdout).Encode(float64(after.Mallocs-before.Mallocs) / float64(r.Events))
}

// readDay reads the maps of the day.
func readDay(path string) (*workload.Cluster, []*sched.JobSpec, error) {
	c, err := workload.ParseCluster(dayCluster)
	if err != nil {
		return nil, nil, err
	}
	f, err := workload.Open(path, c.Options())
	if err != nil {
		return nil, nil, err
	}
	var jobs []*sched.JobSpec
	for j, err := range f.Jobs {
		if err != nil {
			return nil, nil, err
		}
		jobs = append(jobs, j)
	}
	return c, jobs, nil
}

// bareDay runs the day in a loop that has nothing but what the run needs: a heap of the tasks that run, and two
// counters for each job. It prints what 'sojourn sim --json' prints of its speed. Reading the trace is in the time, as
// it is in ours.
func bareDay(path, sigma string) error {
	start := time.Now()
	spread, err := strconv.ParseFloat(sigma, 64)
	if err != nil {
		return err
	}
	_, jobs, err := readDay(path)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		j.Payload.(*workload.Truth).Stages[0].Sigma = spread
	}
	events, _ := bareLoop(jobs, daySlots)
	seconds := time.Since(start).Seconds()
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"results": []map[string]float64{
		{"events": float64(events), "wall_s": seconds, "events_per_s": float64(events) / seconds}}})
}

// bareLoop runs the maps of jobs in order of submission on so many slots. It returns the number of arrivals and
// completions, and when the last map ends.
func bareLoop(jobs []*sched.JobSpec, slots int) (events int64, now sched.Time) {
	type job struct {
		truth         *workload.Truth
		waiting, left int32
	}
	list := make([]job, len(jobs))
	for i, j := range jobs {
		t := j.Payload.(*workload.Truth)
		list[i] = job{t, t.Stages[0].Tasks, t.Stages[0].Tasks}
	}
	var running heap
	arrived, first := 0, 0 // first: the first job with maps that wait
	for arrived < len(list) || len(running) > 0 {
		now = sched.Time(math.MaxInt64)
		if len(running) > 0 {
			now = running[0].at
		}
		if arrived < len(list) && jobs[arrived].Submit < now {
			now = jobs[arrived].Submit
			arrived++
		} else {
			list[running.pop().id].left--
			slots++
		}
		events++
		for slots > 0 && first < arrived {
			j := &list[first]
			j.waiting--
			running.push(ending{now + j.truth.Time(0, j.truth.Stages[0].Tasks-j.waiting), uint64(first)})
			slots--
			if j.waiting == 0 {
				first++
			}
		}
	}
	return events, now
}
