package dynamicmr

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// Every part that is quick, once, with every figure that a claim names.
func TestDynamicMRTrials(t *testing.T) {
	for _, part := range []paper.Part{poolsPart(), splitsPart(), lendingPart(), localPart(),
		shufflePart()} {
		s, err := part.Trial(t.Context(), paper.Lab{}, 1)
		if err != nil {
			t.Fatalf("%s: %v", part.Title, err)
		}
		if part.Over != nil {
			maps.Copy(s, part.Over([]paper.Sample{s}))
		}
		for _, c := range part.Claims {
			if v := s.Of(c.Figure); math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s: %q is %v", part.Title, c.Figure, v)
			}
		}
		if part.Title != "Three pools" {
			continue
		}
		// The steady states that the thesis prints are exact.
		for _, c := range part.Claims {
			if v := s.Of(c.Figure); v != c.Published.Low {
				t.Errorf("%s: %v, want %v", c.Says, v, c.Published.Low)
			}
		}
	}
}

// Section 4.2 of the specification, the closed form for Sort: 320 maps of 9 s and 200 reduces of 24 s take 324 s on 90
// and 18 slots, and 75 s lent, where nothing is fetched, nothing varies and nodes report at once.
func TestDynamicMRClosedForm(t *testing.T) {
	b := *named("Sort")
	b.shuffled = 0
	set := testbed.Setting{
		Cluster: testbed.SlotCluster(theirNodes, setUp, perNode-setUp),
		Jobs:    []*sched.JobSpec{b.job(1, false)},
		Seed:    1,
	}
	for spec, want := range map[string]float64{static: 324, lending: 75} {
		o, err := set.Under(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(o.Makespan-want) > 1e-6 {
			t.Errorf("%s: %v s, want %v", spec, o.Makespan, want)
		}
	}
}

// Two reduces of a node that fetch together take the time of table 3.2: of Sort 24 s, its map 9 s before.
func TestBenchmarkTimes(t *testing.T) {
	b := *named("Sort")
	job := b.job(1, false)
	truth := job.Payload.(*workload.Truth)
	truth.Stages[0].Tasks, truth.Stages[1].Tasks = 2, 2
	job.Stages[0].Tasks, job.Stages[1].Tasks = 2, 2
	truth.Stages[1].Shuffle = truth.Stages[1].Shuffle / int64(b.reduces) * 2
	truth.Stages[0].Output = truth.Stages[1].Shuffle
	set := testbed.Setting{
		Cluster: slowNetwork(testbed.SlotCluster(1, 10, 2)),
		Jobs:    []*sched.JobSpec{job},
		Costs:   sim.Costs{Shuffle: sim.Shuffle{On: true, Batch: 1}},
		Seed:    1,
	}
	o, err := set.Under(t.Context(), static)
	if err != nil {
		t.Fatal(err)
	}
	if want := 9.0 + 24; math.Abs(o.Makespan-want) > 1e-3 {
		t.Errorf("%v s, want %v", o.Makespan, want)
	}
}

// A watch notes the first step at or after its instants.
func TestPoolWatch(t *testing.T) {
	b := benchmark{name: "pool", maps: 20, mapTime: 10}
	w := &poolWatch{at: []sched.Time{5 * time.Second, 10 * time.Second}}
	jobs := []*sched.JobSpec{b.job(1, false)}
	jobs[0].Stages = jobs[0].Stages[:1]
	jobs[0].Payload.(*workload.Truth).Stages = jobs[0].Payload.(*workload.Truth).Stages[:1]
	set := testbed.Setting{Cluster: testbed.SlotCluster(1, 12, 1), Jobs: jobs, Seed: 1, Watch: w}
	if _, err := set.Under(t.Context(), "fifo"); err != nil {
		t.Fatal(err)
	}
	// 12 maps until 10 s, which is the first step at or after both instants, then the other 8.
	if len(w.seen) != 2 || w.seen[0][0] != [2]float64{8, 0} || w.seen[1] != w.seen[0] {
		t.Errorf("seen %v", w.seen)
	}
}

// A throughput sums up by steps of 2 s what came at even rates: 300 bytes from 3 to 6 s are 100 in the second step and
// 200 in the third, 50 from 8 to 9 s in the fifth.
func TestThroughput(t *testing.T) {
	var x throughput
	x.add(3*time.Second, 6*time.Second, 300)
	x.add(8*time.Second, 9*time.Second, 50)
	if want := (throughput{0, 100, 200, 0, 50}); !slices.EqualFunc(x, want, func(a, b float64) bool {
		return math.Abs(a-b) < 1e-9
	}) {
		t.Fatalf("%v, want %v", x, want)
	}
	// From the second step on: mean 350 / 4 = 87.5, deviations 12.5, 112.5, -87.5, -37.5.
	deviation, peak := x.variation()
	if want := math.Sqrt((12.5*12.5+112.5*112.5+87.5*87.5+37.5*37.5)/4) / 87.5; math.Abs(deviation-want) > 1e-9 ||
		math.Abs(peak-200/87.5) > 1e-9 {
		t.Errorf("variation %v, %v, want %v, %v", deviation, peak, want, 200/87.5)
	}
}
