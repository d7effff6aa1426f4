package run

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// drawnJobs returns jobs of maps and reduces, for a cluster of containers: reduces start early or late, some jobs find
// more rounds, tasks take whole milliseconds.
func drawnJobs(r *rand.Rand) (jobs []*sched.JobSpec) {
	at := sched.Time(0)
	for i := range 6 + r.IntN(10) {
		at += sched.Time(r.IntN(20)) * time.Second / 2
		spec := &sched.JobSpec{Name: fmt.Sprint("job", i), Type: "MAPREDUCE", Submit: at,
			Queue: [...]string{"a", "b", ""}[r.IntN(3)], User: [...]string{"ann", "ben"}[r.IntN(2)],
			Priority: int32(r.IntN(3))}
		truth := &workload.Truth{}
		stage := func(kind sched.StageKind, tasks int, after ...sched.Dep) sched.StageSpec {
			list, sum := make([]workload.Task, tasks), sched.Time(0)
			each := sched.Time(1+r.IntN(20_000)) * time.Millisecond
			for k := range list {
				if r.IntN(3) == 0 {
					each = sched.Time(1+r.IntN(20_000)) * time.Millisecond
				}
				list[k].Compute = each
				sum += each
			}
			truth.Stages = append(truth.Stages, workload.StageTruth{Tasks: int32(tasks), List: list})
			return sched.StageSpec{Kind: kind, Tasks: int32(tasks), Prior: sum / sched.Time(tasks), After: after,
				MaxAttempts: sched.DefaultMaxAttempts, PerTask: sched.Resources{
					sched.Memory: []int64{512, 1024, 1536}[r.IntN(3)], sched.VCores: 1}}
		}
		round := func(first int32) (list []sched.StageSpec) {
			list = append(list, stage(sched.Map, 1+r.IntN(10)))
			if r.IntN(3) > 0 {
				part := [...]float64{0, 0.05, 0.5, 1}[r.IntN(4)]
				list = append(list, stage(sched.Reduce, 1+r.IntN(4), sched.Dep{Stage: first, Part: part}))
			}
			return list
		}
		spec.Stages = round(0)
		if r.IntN(4) == 0 {
			spec.Open = true
			known := int32(len(spec.Stages))
			for range 1 + r.IntN(2) {
				later := round(known)
				truth.Later = append(truth.Later, later)
				known += int32(len(later))
			}
		}
		spec.Payload = truth
		jobs = append(jobs, spec)
	}
	return jobs
}

// drawnRun returns a simulation of drawn jobs on a cluster of two classes. Two of three runs have masters: some masters
// do the tasks of small jobs, and some close late. In half of the runs nodes are lost and return.
func drawnRun(t *testing.T, seed uint64) sim.Config {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 17))
	c, err := workload.ReadCluster("cluster", strings.NewReader(`
classes:
  - {name: plain, count: 3, racks: 2, resources: {memory: 4GiB, vcores: 4}}
  - {name: fast, count: 1, speed: 2, resources: {memory: 3GiB, vcores: 3}}
queues: [{name: a, weight: 2}, {name: b, min: {memory: 4GiB}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	jobs := workload.Of(drawnJobs(r)...)
	if r.IntN(3) > 0 {
		m := workload.DefaultMaster()
		m.Size[sched.Memory] = []int64{512, 1024}[r.IntN(2)]
		m.Start, m.Uber = sched.Time(r.IntN(5000))*time.Millisecond, r.IntN(2) == 0
		var with []*sched.JobSpec
		for j, err := range m.AddTo(jobs, c) {
			if err != nil {
				t.Fatal(err)
			}
			if truth := *j.Payload.(*workload.Truth); j.Stages[len(j.Stages)-1].Kind == sched.Master && !truth.Uber &&
				r.IntN(2) == 0 {
				truth.Closing = sched.Time(r.IntN(6000)) * time.Millisecond
				j.Payload = &truth
			}
			with = append(with, j)
		}
		jobs = workload.Of(with...)
	}
	config := sim.Config{Cluster: c, Jobs: jobs, Seed: seed}
	config.Costs.Master = sim.Defaults().Master
	config.Costs.Probing = sim.Defaults().Probing
	if r.IntN(2) == 0 {
		config.Costs.Faults = sim.Faults{MTBF: 2 * time.Minute, MTTR: 15 * time.Second}
	}
	return config
}

// drawnPlaces is drawnRun with more of what decides where and when tasks start: the input of maps has places, in half
// of the runs nodes report at an interval, and in half of them the nodes of one class offer less at times. No node is
// lost: a task whose output is lost runs twice, near its input or not, and a record of tasks has one time for both.
func drawnPlaces(t *testing.T, seed uint64) sim.Config {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 18))
	config := drawnRun(t, seed)
	config.Costs.Faults = sim.Faults{}
	config.Costs.Reading = sim.Reading{Copies: 2, Rates: [3]float64{50e6, 20e6, 10e6}}
	var jobs []*sched.JobSpec
	for j, err := range config.Jobs {
		if err != nil {
			t.Fatal(err)
		}
		for i, st := range j.Payload.(*workload.Truth).Stages {
			for k := range st.List {
				if i < len(j.Stages) && j.Stages[i].Kind == sched.Map {
					st.List[k].Input = int64(r.IntN(4)) << 26
				}
			}
		}
		jobs = append(jobs, j)
	}
	config.Jobs = workload.Of(jobs...)
	if r.IntN(2) == 0 {
		config.Costs.Reporting.Heartbeat = []sched.Time{time.Second, 3 * time.Second}[r.IntN(2)]
	}
	if r.IntN(2) == 0 {
		less, err := sched.NewForecast(50*time.Second,
			sched.Supply{Capacity: sched.Resources{sched.Memory: 3 << 10, sched.VCores: 3}},
			sched.Supply{From: 20 * time.Second, Capacity: sched.Resources{sched.Memory: 4 << 10, sched.VCores: 4}},
			sched.Supply{From: 35 * time.Second, Capacity: sched.Resources{sched.Memory: 1 << 10, sched.VCores: 1}})
		if err != nil {
			t.Fatal(err)
		}
		config.Timetables = map[string]*sched.Forecast{"plain": less}
	}
	return config
}

// TestReplayOfSimulations records simulations and simulates the records under the same policies: each job ends at the
// very same instant. Only chance and the network are left out, which a record does not hold.
func TestReplayOfSimulations(t *testing.T) {
	replaySimulations(t, drawnRun, 2000, []Choice{{"fifo", "oracle"}, {"fair", "mean"}, {"fair:preempt=kill", "mean"},
		{"srpt:preempt=kill", "oracle"}, {"srpt:preempt=suspend", "oracle"}, {"hfsp:preempt=suspend", "mean"},
		{"capacity", "mean"}, {"drf", "mean"}, {"fspy", "fspy"}})
}

// TestReplayOfPlaces is TestReplayOfSimulations where it matters where input is, when nodes report, and what they offer
// when. Policies are left out that kill tasks, because a killed task runs twice, as one on a lost node does; that
// suspend them, because under heartbeats a record does not say when a suspended task stopped; and that ask an oracle,
// because what it took to read input is part of the recorded times.
func TestReplayOfPlaces(t *testing.T) {
	replaySimulations(t, drawnPlaces, 1300, []Choice{{"fifo", "oracle"}, {"fair:delay=4s", "mean"},
		{"drf", "mean"}, {"capacity:delay=2s", "mean"}})
}

// TestReplayExceptions holds the lists of docs/what-if.md against all policies, as they are by default. The lists name
// the policies whose records are not repeated exactly, where reading takes time and nodes report at an interval: when
// sizes come from the oracle, and when they do not.
func TestReplayExceptions(t *testing.T) {
	text, err := os.ReadFile("../../docs/what-if.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(text)), " ")
	for _, c := range []struct{ estimator, before, after string }{
		{"oracle", "These policies ask for sizes: ", ". "},
		{"mean", "By default only ", " suspends tasks"},
	} {
		_, list, ok := strings.Cut(page, c.before)
		list, _, end := strings.Cut(list, c.after)
		if !ok || !end {
			t.Fatalf("docs/what-if.md has no list between %q and %q", c.before, c.after)
		}
		var said, found []string
		for name := range strings.SplitSeq(strings.ReplaceAll(list, ", and ", ", "), ", ") {
			said = append(said, strings.Trim(name, "`"))
		}
		for _, name := range sortedKeys(policy.All) {
			spec := name
			if policy.All[name].Card.Wraps {
				spec += "{fair}"
			}
			if differs(t, Choice{spec, c.estimator}) {
				found = append(found, name)
			}
		}
		if slices.Sort(said); !slices.Equal(said, found) {
			t.Errorf("with --estimator %s the page names %v, and these are not repeated exactly: %v", c.estimator, said,
				found)
		}
	}
}

// differs reports whether a job ends at another instant in the simulation of a record than in the simulation that left
// it, in one of ten drawn by drawnPlaces.
func differs(t *testing.T, choice Choice) bool {
	t.Helper()
	for seed := range uint64(10) {
		config := drawnPlaces(t, seed)
		rec := filepath.Join(t.TempDir(), "run.rec")
		first, err := rowsOf(t, choice, config, rec)
		if errors.As(err, new(Failure)) {
			continue // masters fill the cluster
		}
		if err != nil {
			t.Fatalf("%v, seed %d: %v", choice, seed, err)
		}
		again, err := rowsOf(t, choice, replayOf(t, rec, config), "")
		if err != nil || !slices.EqualFunc(first, again, func(a, b record.JobRow) bool {
			return a.Finish == b.Finish && a.Outcome == b.Outcome
		}) {
			return true
		}
	}
	return false
}

// replaySimulations compares the ends of jobs in simulations that draw returns, of 40 seeds under each choice, with
// those in simulations of their records. It compares at least so many jobs.
func replaySimulations(t *testing.T, draw func(*testing.T, uint64) sim.Config, least int, choices []Choice) {
	t.Helper()
	compared := 0
	for _, choice := range choices {
		t.Run(choice.Policy, func(t *testing.T) {
			for seed := range uint64(40) {
				config := draw(t, seed)
				rec := filepath.Join(t.TempDir(), "run.rec")
				first, err := rowsOf(t, choice, config, rec)
				if errors.As(err, new(Failure)) {
					continue // masters fill the cluster
				}
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				again, err := rowsOf(t, choice, replayOf(t, rec, config), "")
				if err != nil || len(again) != len(first) {
					t.Errorf("seed %d: simulated from its record: %d jobs of %d, %v", seed, len(again), len(first), err)
					continue
				}
				for i := range first {
					if compared++; again[i].Finish != first[i].Finish || again[i].Outcome != first[i].Outcome {
						t.Errorf("seed %d: %s, submitted at %v: %v at %v, simulated from the record %v at %v", seed,
							first[i].Name, first[i].Submit, first[i].Outcome, first[i].Finish, again[i].Outcome,
							again[i].Finish)
						break
					}
				}
			}
		})
	}
	if compared < least {
		t.Errorf("only %d jobs were compared, want %d", compared, least)
	}
}

// rowsOf simulates, leaves a record where one is named, and returns the jobs in order of submission.
func rowsOf(t *testing.T, choice Choice, config sim.Config, rec string) (rows []record.JobRow, err error) {
	t.Helper()
	_, err = Simulate(t.Context(), Setup{Names: BuiltIn, Choice: choice, Record: rec, Row: func(row *record.JobRow) {
		rows = append(rows, *row)
	}}, config)
	slices.SortFunc(rows, func(a, b record.JobRow) int {
		return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.ID, b.ID))
	})
	return rows, err
}

// replayOf returns the simulation of a record that repeats it, with the costs of the first.
func replayOf(t *testing.T, path string, first sim.Config) sim.Config {
	t.Helper()
	r, err := record.Open(path, Payload)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	past, err := record.ClusterOf(r)
	if err != nil {
		t.Fatal(err)
	}
	config := sim.Config{Cluster: past.Cluster, Seed: first.Seed, Costs: first.Costs}
	config.Costs.Faults = sim.Faults{}
	config.Costs.Reporting = sim.Reporting{}
	Again(past, &config)
	if config.Jobs, err = PastJobs(path, past.Cluster, past.IDs, func(err error) error { return err }); err != nil {
		t.Fatal(err)
	}
	return config
}
