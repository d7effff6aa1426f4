package theory

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The section numbers in the names of these tests are those of the MROrder specification.

// batch41 is the batch of Figure 1.2 on 8 map and 4 reduce slots.
var (
	slots41 = Slots{8, 4}
	batch41 = []SlotJob{{10, 2, 4, 8}, {4, 4, 2, 2}, {2, 4, 6, 10}, {24, 6, 6, 8}}
)

// batch42 are the Purdue jobs of Table 3.2 on 57 map and 19 reduce slots.
var (
	slots42 = Slots{57, 19}
	batch42 = []SlotJob{
		{160, 100, 22, 11}, // Wordcount
		{320, 200, 9, 24},  // Sort
		{480, 120, 9, 11},  // Grep
		{640, 100, 32, 23}, // Inverted-Index
		{160, 120, 6, 13},  // Classification
		{160, 150, 6, 13},  // Histogram-Movies
		{160, 100, 18, 15}, // Histogram-Ratings
		{320, 150, 38, 21}, // Sequence-Count
		{160, 100, 10, 26}, // Tera-Sort
	}
)

const (
	wordcount = iota
	sortJob
	grep
	invertedIndex
	classification
	histogramMovies
	histogramRatings
	sequenceCount
	teraSort
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance || math.IsNaN(got) {
		t.Errorf("%s: %.9g, want %.9g within %g", what, got, want, tolerance)
	}
}

// exact is the tolerance where the specification gives exact rationals.
const exact = 1e-9

func nearAll(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
	for i := range got {
		near(t, fmt.Sprintf("%s[%d]", what, i), got[i], want[i], tolerance)
	}
}

func sameOrder(t *testing.T, what string, got []int, want ...int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: order %v, want %v", what, got, want)
	}
}

func Test41Completions(t *testing.T) {
	s := NewSlotSim(batch41, slots41)
	r := s.Run([]int{0, 1, 2, 3})
	nearAll(t, "completions", s.Completions(), []float64{16, 8, 26, 44}, 0)
	nearAll(t, "map ends", s.mapped, []float64{8, 6, 10, 28}, 0)
	if r != (Result{44, 94}) {
		t.Errorf("result %v, want 44 and 94", r)
	}
	// Arrivals of section 4.7 sent on at once.
	s.RunReleased([]int{0, 1, 2, 3}, []float64{2, 4, 8, 30})
	nearAll(t, "completions with releases", s.Completions(), []float64{18, 10, 28, 64}, 0)
}

func Test41TwoMachine(t *testing.T) {
	flows := Flows(batch41, slots41)
	order := []int{0, 1, 2, 3}
	nearAll(t, "idle", FlowIdle(flows, order), []float64{5, 0, 0, 4.5}, exact)
	near(t, "F", FlowMakespan(flows, order), 37.5, exact)
	near(t, "total", FlowTotal(flows, order), 78.5, exact)
	near(t, "(3.5)", OrderBound(flows, order).High, 53.5, exact)

	johnson := Johnson(flows)
	sameOrder(t, "Johnson", johnson, 1, 2, 3, 0)
	sameOrder(t, "reverse", Reversed(johnson), 0, 3, 2, 1)
	sameOrder(t, "split", SplitJohnson(flows), 1, 0, 2, 3)
	sameOrder(t, "shortest", ShortestFirst(flows), 1, 0, 2, 3)
	near(t, "F(reverse)", FlowMakespan(flows, Reversed(johnson)), 47, exact)
	any := AnyOrderBound(flows)
	near(t, "lower bound", any.Low, 36.5, exact)
	near(t, "upper bound", any.High, 63, exact)
	near(t, "safe upper bound", any.Safe, 73, exact) // one more longest reduce of 10 s
	delta, safe := JohnsonGap(flows)
	near(t, "delta", delta, 16/36.5, exact)
	near(t, "safe delta", safe, 26/36.5, exact)
}

func Test41AllOrders(t *testing.T) {
	want := map[string]Result{
		"1234": {44, 94}, "1243": {52, 118}, "1324": {44, 94}, "1342": {44, 114}, "1423": {52, 136}, "1432": {52, 136},
		"2134": {44, 90}, "2143": {52, 114}, "2314": {44, 88}, "2341": {40, 100}, "2413": {46, 122}, "2431": {46, 132},
		"3124": {42, 102}, "3142": {42, 120}, "3214": {44, 88}, "3241": {40, 100}, "3412": {42, 138}, "3421": {40, 118},
		"4123": {
			46,
			150,
		}, "4132": {46, 158}, "4213": {48, 150}, "4231": {48, 156}, "4312": {46, 168}, "4321": {48, 166},
	}
	s := NewSlotSim(batch41, slots41)
	order := indices(4)
	seen := 0
	for ok := true; ok; ok = nextPermutation(order) {
		name := fmt.Sprintf("%d%d%d%d", order[0]+1, order[1]+1, order[2]+1, order[3]+1)
		if got := s.Run(order); got != want[name] {
			t.Errorf("%s: %v, want %v", name, got, want[name])
		}
		seen++
	}
	if seen != 24 {
		t.Fatalf("%d orders, want 24", seen)
	}
	// 40 is reached by 2341, 3241 and 3421; 88 by 2314 and 3214: the first counts.
	order, r := s.Exhaustive(LeastMakespan)
	sameOrder(t, "best makespan", order, 1, 2, 3, 0)
	near(t, "best makespan", r.Makespan, 40, 0)
	order, r = s.Exhaustive(LeastTotal)
	sameOrder(t, "best total", order, 1, 2, 0, 3)
	near(t, "best total", r.Total, 88, 0)
}

func Test42Table(t *testing.T) {
	flows := Flows(batch42, slots42)
	wantMap := []float64{61.754, 50.526, 75.789, 359.298, 16.842, 16.842, 50.526, 213.333, 28.070}
	wantReduce := []float64{57.895, 252.632, 69.474, 121.053, 82.105, 102.632, 78.947, 165.789, 136.842}
	alone := []float64{132, 318, 158, 522, 109, 122, 144, 396, 186}
	for i, f := range flows {
		near(t, "T^M", f.Map, wantMap[i], 5e-4)
		near(t, "T^R", f.Reduce, wantReduce[i], 5e-4)
		near(t, "alone", NewSlotSim(batch42[i:i+1], slots42).Run([]int{0}).Makespan, alone[i], 0)
		near(t, "closed form", batch42[i].StaticTime(slots42), alone[i], 0)
	}
	johnson := []int{
		classification,
		histogramMovies,
		teraSort,
		sortJob,
		histogramRatings,
		sequenceCount,
		invertedIndex,
		grep,
		wordcount,
	}
	split := []int{
		classification,
		histogramMovies,
		teraSort,
		histogramRatings,
		grep,
		wordcount,
		sortJob,
		sequenceCount,
		invertedIndex,
	}
	shortest := []int{
		classification,
		histogramMovies,
		wordcount,
		histogramRatings,
		grep,
		teraSort,
		sortJob,
		sequenceCount,
		invertedIndex,
	}
	sameOrder(t, "Johnson", Johnson(flows), johnson...)
	sameOrder(t, "split", SplitJohnson(flows), split...)
	sameOrder(t, "shortest", ShortestFirst(flows), shortest...)
	s := NewSlotSim(batch42, slots42)
	for _, c := range []struct {
		name                         string
		order                        []int
		makespan, total, flow, bound float64
	}{
		{"Johnson", johnson, 1090, 5895, 1084.211, 1116.211},
		{"reverse", Reversed(johnson), 1539, 8454, 1529.123, 1593.123},
		{"split", split, 1096, 5026, 1084.211, 1116.211},
		{"shortest", shortest, 1090, 4780, 1084.211, 1116.211},
		{"table", indices(9), 1273, 6672, 1234.737, 1292.737},
	} {
		if got, want := s.Run(c.order), (Result{c.makespan, c.total}); got != want {
			t.Errorf("%s: %v, want %v", c.name, got, want)
		}
		near(t, c.name+" F", FlowMakespan(flows, c.order), c.flow, 5e-4)
		near(t, c.name+" (3.5)", OrderBound(flows, c.order).High, c.bound, 5e-4)
	}
}

func Test42RoundRobin(t *testing.T) {
	for _, c := range []struct {
		n                        int
		johnson, reversed, split Result
	}{
		{10, Result{1150, 7045}, Result{1605, 9166}, Result{1153, 5809}},
		{20, Result{2467, 27946}, Result{3230, 35655}, Result{2470, 22941}},
		{30, Result{3607, 60386}, Result{4669, 74771}, Result{3608, 49464}},
	} {
		var jobs []SlotJob
		for k := range c.n {
			jobs = append(jobs, batch42[k%9])
		}
		flows := Flows(jobs, slots42)
		s := NewSlotSim(jobs, slots42)
		if got := s.Run(Johnson(flows)); got != c.johnson {
			t.Errorf("n=%d Johnson: %v, want %v", c.n, got, c.johnson)
		}
		if got := s.Run(Reversed(Johnson(flows))); got != c.reversed {
			t.Errorf("n=%d reverse: %v, want %v", c.n, got, c.reversed)
		}
		if got := s.Run(SplitJohnson(flows)); got != c.split {
			t.Errorf("n=%d split: %v, want %v", c.n, got, c.split)
		}
	}
}

func Test43FourJobs(t *testing.T) {
	s := NewSlotSim([]SlotJob{batch42[wordcount], batch42[grep], batch42[invertedIndex], batch42[teraSort]}, slots42)
	_, best := s.Exhaustive(LeastMakespan)
	worst := 0.0
	order := indices(4)
	for ok := true; ok; ok = nextPermutation(order) {
		worst = max(worst, s.Run(order).Makespan)
	}
	near(t, "best", best.Makespan, 663, 0)
	near(t, "worst", worst, 798, 0)
}

func Test44TwoJobs(t *testing.T) {
	s := NewSlotSim([]SlotJob{{1, 1, 1, 100}, {1, 1, 100, 1}}, Slots{1, 1})
	s.Run([]int{0, 1})
	nearAll(t, "X,Y", s.Completions(), []float64{101, 102}, 0)
	s.Run([]int{1, 0})
	nearAll(t, "Y,X", s.Completions(), []float64{201, 101}, 0)
}

func Test45TotalOfJohnson(t *testing.T) {
	jobs := []SlotJob{{1, 1, 100, 100}}
	for range 10 {
		jobs = append(jobs, SlotJob{1, 1, 2, 1})
	}
	flows := Flows(jobs, Slots{1, 1})
	s := NewSlotSim(jobs, Slots{1, 1})
	if got := s.Run(Johnson(flows)); got != (Result{210, 2255}) {
		t.Errorf("Johnson: %v", got)
	}
	if got := s.Run(SplitJohnson(flows)); got != (Result{220, 340}) {
		t.Errorf("split: %v", got)
	}
}

// Sizes 1, 2, 4 have the mean 2: the second is small, as T ≤ mean, whichever way exp and log round. Were it large, it
// would come last, for it maps longer than it reduces.
func TestSplitJohnsonAtTheMean(t *testing.T) {
	sameOrder(t, "split", SplitJohnson([]Flow{{Map: 0.5, Reduce: 0.5}, {Map: 1.5, Reduce: 0.5}, {Map: 1, Reduce: 3}}),
		0, 1, 2)
}

func Test46Stability(t *testing.T) {
	jobs := []SlotJob{{10, 1, 9, 10}, {8, 1, 11, 15}}
	for _, c := range []struct {
		slots           int
		forth, backward float64
	}{{10, 35, 30}, {8, 44, 39}} {
		slots := Slots{c.slots, c.slots}
		s := NewSlotSim(jobs, slots)
		near(t, "J1,J2", s.Run([]int{0, 1}).Makespan, c.forth, 0)
		near(t, "J2,J1", s.Run([]int{1, 0}).Makespan, c.backward, 0)
		sameOrder(t, "Johnson", Johnson(Flows(jobs, slots)), 1, 0)
	}
}

// Section 4.9, erratum E1 of section 2.3: the published bound is exceeded, the safe one holds.
func Test49BoundViolation(t *testing.T) {
	jobs := []SlotJob{{1, 4, 1, 10}, {5, 20, 1, 1}, {1, 1, 1, 10}}
	slots := Slots{1, 8}
	order := []int{0, 1, 2}
	near(t, "makespan", NewSlotSim(jobs, slots).Run(order).Makespan, 21, 0)
	b := OrderBound(Flows(jobs, slots), order)
	near(t, "published", b.High, 20.75, exact)
	near(t, "safe", b.Safe, 30.75, exact)
}

// DynamicMR 4.2: Sort on 90/18 slots, and every split of nine nodes of twelve slots.
func TestDynamicMR42ClosedForm(t *testing.T) {
	job := SlotJob{320, 200, 9, 24}
	near(t, "static", job.StaticTime(Slots{90, 18}), 324, 0)
	near(t, "simulated", NewSlotSim([]SlotJob{job}, Slots{90, 18}).Run([]int{0}).Makespan, 324, 0)
	for k, want := range []float64{396, 234, 180, 153, 168, 150, 174, 189, 228, 324, 588} {
		s := Slots{9 * (k + 1), 9 * (11 - k)}
		near(t, fmt.Sprintf("static %v", s), job.StaticTime(s), want, 0)
		near(t, fmt.Sprintf("pooled %v", s), job.PooledTime(s), 75, 0)
	}
	// DynamicMR 4.3: 316 slot-seconds on 12 slots.
	near(t, "work bound", WorkBound(batch41, slots41), 316.0/12, exact)
}

func TestAloneBound(t *testing.T) {
	// 10 maps on 4 slots are 3 waves of 5 s = 15 s; the one reduce of 40 s outlasts its wave of mean 8 s.
	for _, c := range [][3]int{{0, 4, 0}, {1, 4, 1}, {4, 4, 1}, {5, 4, 2}, {8, 4, 2}} {
		if got := Waves(c[0], c[1]); got != c[2] {
			t.Errorf("%d tasks on %d slots: %d waves, want %d", c[0], c[1], got, c[2])
		}
	}
	near(t, "bound", AloneBound(StageTimes{10, 4, 5, 9}, StageTimes{1, 4, 8, 40}, StageTimes{0, 4, 8, 40}), 55, 0)
}

// drawJobs yields up to n jobs of whole seconds, so that sums are exact.
func drawJobs(t *rapid.T, n int) []SlotJob {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) SlotJob {
		return SlotJob{
			Maps: rapid.IntRange(0, 9).Draw(t, "maps"), Reduces: rapid.IntRange(0, 9).Draw(t, "reduces"),
			MapTime:    float64(rapid.IntRange(1, 12).Draw(t, "map s")),
			ReduceTime: float64(rapid.IntRange(1, 12).Draw(t, "reduce s")),
		}
	}), 1, n).Draw(t, "jobs")
}

func drawSlots(t *rapid.T) Slots {
	return Slots{rapid.IntRange(1, 5).Draw(t, "map slots"), rapid.IntRange(1, 5).Draw(t, "reduce slots")}
}

// tickSim is the model of section 2.2 second by second and task by task, with none of SlotSim's batching.
func tickSim(jobs []SlotJob, slots Slots, order []int, release []float64) []float64 {
	type stage struct{ pending, running int }
	type end struct {
		job    int
		reduce bool
	}
	n := len(jobs)
	maps, reduces := make([]stage, n), make([]stage, n)
	for i, j := range jobs {
		maps[i].pending, reduces[i].pending = j.Maps, j.Reduces
	}
	done := make([]float64, n)
	for i := range done {
		done[i] = -1
	}
	ends := map[int][]end{}
	freeM, freeR := slots.Map, slots.Reduce
	for now, left := 0, n; left > 0; now++ {
		for _, e := range ends[now] {
			if e.reduce {
				reduces[e.job].running--
				freeR++
			} else {
				maps[e.job].running--
				freeM++
			}
		}
		mapDone := func(i int) bool { return maps[i] == stage{} && release[i] <= float64(now) }
		for _, i := range order {
			for freeM > 0 && maps[i].pending > 0 && release[i] <= float64(now) {
				maps[i].pending--
				maps[i].running++
				freeM--
				ends[now+int(jobs[i].MapTime)] = append(ends[now+int(jobs[i].MapTime)], end{i, false})
			}
		}
		for _, i := range order {
			for mapDone(i) && freeR > 0 && reduces[i].pending > 0 {
				reduces[i].pending--
				reduces[i].running++
				freeR--
				ends[now+int(jobs[i].ReduceTime)] = append(ends[now+int(jobs[i].ReduceTime)], end{i, true})
			}
			if done[i] < 0 && mapDone(i) && reduces[i] == (stage{}) {
				done[i] = float64(now)
				left--
			}
		}
	}
	return done
}

func TestSlotSimAgainstTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs, slots := drawJobs(t, 6), drawSlots(t)
		order := rapid.Permutation(indices(len(jobs))).Draw(t, "order")
		release := make([]float64, len(jobs))
		for i := range release {
			release[i] = float64(rapid.IntRange(0, 20).Draw(t, "release"))
		}
		s := NewSlotSim(jobs, slots)
		s.RunReleased(order, release)
		if want := tickSim(jobs, slots, order, release); !slices.Equal(s.Completions(), want) {
			t.Fatalf("released: %v, want %v", s.Completions(), want)
		}
		s.Run(order) // the same simulator again: nothing is left over
		if want := tickSim(jobs, slots, order, make([]float64, len(jobs))); !slices.Equal(s.Completions(), want) {
			t.Fatalf("at once: %v, want %v", s.Completions(), want)
		}
	})
}

// Section 2.1 and Theorem 3.2 by enumeration: Johnson is the best order of two machines, its reverse the worst; with
// one slot of each kind and one task a stage the task model is the two-machine model, since nothing can overtake.
func TestJohnsonAgainstAllOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var jobs []SlotJob
		for _, j := range drawJobs(t, 6) {
			jobs = append(jobs, SlotJob{1, 1, j.MapTime, j.ReduceTime})
		}
		flows := Flows(jobs, Slots{1, 1})
		s := NewSlotSim(jobs, Slots{1, 1})
		best, worst := math.Inf(1), 0.0
		order := indices(len(jobs))
		for ok := true; ok; ok = nextPermutation(order) {
			r := s.Run(order)
			f, total, idle := 0.0, 0.0, 0.0
			for u := range order { // (3.3) and (3.4) as printed
				c := 0.0
				for k := 0; k <= u; k++ {
					sum := 0.0
					for i := 0; i <= u; i++ {
						if i <= k {
							sum += flows[order[i]].Map
						}
						if i >= k {
							sum += flows[order[i]].Reduce
						}
					}
					c = max(c, sum)
				}
				f = c
				total += c
				idle += flows[order[u]].Reduce
			}
			for _, x := range FlowIdle(flows, order) { // C_max = Σ (X + T^R)
				idle += x
			}
			if FlowMakespan(flows, order) != f || FlowTotal(flows, order) != total || idle != f {
				t.Fatalf("order %v: F %v, total %v, ΣX+T^R %v; want %v, %v", order, FlowMakespan(flows, order),
					FlowTotal(flows, order), idle, f, total)
			}
			if r != (Result{f, total}) {
				t.Fatalf("order %v: simulated %v, model %v %v", order, r, f, total)
			}
			best, worst = min(best, f), max(worst, f)
		}
		if got := FlowMakespan(flows, Johnson(flows)); got != best {
			t.Fatalf("Johnson %v, best %v", got, best)
		}
		if got := FlowMakespan(flows, Reversed(Johnson(flows))); got != worst {
			t.Fatalf("reverse %v, worst %v", got, worst)
		}
	})
}

// Lemmas 3.2 and 3.3 and Theorem 3.1 in their safe forms, on slots.
func TestBoundsHoldOnSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs, slots := drawJobs(t, 5), drawSlots(t)
		flows := Flows(jobs, slots)
		all := AnyOrderBound(flows)
		s := NewSlotSim(jobs, slots)
		order := indices(len(jobs))
		best := math.Inf(1)
		for ok := true; ok; ok = nextPermutation(order) {
			m := s.Run(order).Makespan
			best = min(best, m)
			if b := OrderBound(flows, order); m > b.Safe+exact {
				t.Fatalf("order %v: makespan %v above %v", order, m, b.Safe)
			}
			if m < all.Low-exact || m > all.Safe+exact || m < WorkBound(jobs, slots)-exact {
				t.Fatalf("order %v: makespan %v outside %v to %v", order, m, all.Low, all.Safe)
			}
		}
		_, safe := JohnsonGap(flows)
		if got := s.Run(Johnson(flows)).Makespan; got > (1+safe)*best+exact {
			t.Fatalf("Johnson %v, best %v, δ' %v", got, best, safe)
		}
	})
}

func TestSearchOverOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs, slots := drawJobs(t, 5), drawSlots(t)
		s := NewSlotSim(jobs, slots)
		for _, goal := range []Goal{LeastMakespan, LeastTotal} {
			first, least := s.Exhaustive(goal)
			order := indices(len(jobs))
			want := math.Inf(1)
			var wantOrder []int
			for ok := true; ok; ok = nextPermutation(order) {
				if v := goal.Of(s.Run(order)); v < want {
					want, wantOrder = v, slices.Clone(order)
				}
			}
			if goal.Of(least) != want || !slices.Equal(first, wantOrder) {
				t.Fatalf("exhaustive %v %v, want %v %v", first, least, wantOrder, want)
			}
			start := rapid.Permutation(indices(len(jobs))).Draw(t, "start")
			search := LocalSearch{goal, rapid.IntRange(0, 60).Draw(t, "steps"), rapid.Uint64().Draw(t, "seed")}
			got, r := s.Improve(start, search)
			if again, _ := s.Improve(start, search); !slices.Equal(got, again) {
				t.Fatalf("same seed, %v and %v", got, again)
			}
			if s.Run(got) != r || goal.Of(r) > goal.Of(s.Run(start)) || goal.Of(r) < want {
				t.Fatalf("improve %v: %v from %v, best possible %v", got, r, s.Run(start), want)
			}
			if slices.Sort(got); !slices.Equal(got, indices(len(jobs))) {
				t.Fatalf("not a permutation: %v", got)
			}
		}
	})
}

// On the nine Purdue jobs all 362,880 orders have been run: the least total is 4598, where the rule gives 4780 and
// Johnson's reverse 8454; the least makespan is 1086, where Johnson's rule gives 1090.
func TestImproveFindsBetter(t *testing.T) {
	s := NewSlotSim(batch42, slots42)
	johnson := Johnson(Flows(batch42, slots42))
	found := 0
	for seed := range uint64(5) {
		_, r := s.Improve(Reversed(johnson), LocalSearch{LeastTotal, 300, seed})
		if r.Total < 4598 || r.Total > 1.02*4598 {
			t.Errorf("seed %d: total %v from the worst start, want within 2 %% of the best 4598", seed, r.Total)
		}
		if r.Total == 4598 {
			found++
		}
	}
	if found == 0 {
		t.Error("no seed found the best order")
	}
	if _, r := s.Improve(johnson, LocalSearch{LeastMakespan, 300, 1}); r.Makespan < 1086 || r.Makespan > 1090 {
		t.Errorf("makespan %v, want between the best 1086 and Johnson's 1090", r.Makespan)
	}
}

// Jobs without work, without maps, without reduces; a stage of no time.
func TestSlotSimDegenerate(t *testing.T) {
	jobs := []SlotJob{{}, {0, 2, 0, 5}, {3, 0, 4, 0}, {2, 2, 0, 0}}
	s := NewSlotSim(jobs, Slots{1, 1})
	s.Run([]int{0, 1, 2, 3})
	// J2 reduces 0-5-10; J3 maps 0-4-8-12; J4 maps in no time at 12, then reduces in no time.
	nearAll(t, "completions", s.Completions(), []float64{0, 10, 12, 12}, 0)
	if _, r := NewSlotSim(nil, Slots{1, 1}).Exhaustive(LeastTotal); r != (Result{}) {
		t.Errorf("no jobs: %v", r)
	}
	if o := SplitJohnson([]Flow{{}, {Map: 1, Reduce: 3}, {}, {Map: 1, Reduce: 1}, {Map: 8, Reduce: 8}}); len(o) != 5 ||
		o[4] != 4 {
		t.Errorf("split with empty jobs: %v, want the largest last", o) // mean (4·2·16)^⅓ ≈ 5
	}
}

func TestSlotSimDoesNotAllocate(t *testing.T) {
	s := NewSlotSim(batch42, slots42)
	orders := [][]int{indices(9), Reversed(indices(9))}
	k := 0
	if n := testing.AllocsPerRun(100, func() { k++; s.Run(orders[k%2]) }); n != 0 {
		t.Errorf("%v allocations a run", n)
	}
}

func BenchmarkSlotSim(b *testing.B) {
	for _, n := range []int{7, 9, 30, 100, 200} {
		var jobs []SlotJob
		for k := range n {
			jobs = append(jobs, batch42[k%9])
		}
		s := NewSlotSim(jobs, slots42)
		order := indices(n)
		b.Run(fmt.Sprintf("jobs=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Run(order)
			}
		})
	}
}

func BenchmarkExhaustive(b *testing.B) {
	for _, n := range []int{5, 7, 8} {
		s := NewSlotSim(batch42[:n], slots42)
		b.Run(fmt.Sprintf("jobs=%d", n), func(b *testing.B) {
			for b.Loop() {
				s.Exhaustive(LeastMakespan)
			}
		})
	}
}

func BenchmarkJohnson(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		flows := make([]Flow, n)
		for i := range flows {
			flows[i] = Flow{Map: float64(i * 7919 % 10007), Reduce: float64(i * 104729 % 10009)}
		}
		b.Run(fmt.Sprintf("jobs=%d", n), func(b *testing.B) {
			for b.Loop() {
				Johnson(flows)
			}
		})
	}
}
