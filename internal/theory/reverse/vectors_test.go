package reverse

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/theory/placement"
)

// The vectors of docs/spec/reverse.md, section 4. Time units are arbitrary; one resource.

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if got != want && !(math.Abs(got-want) <= 1e-4) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// 4.1: utility.
func TestVectors4_1Utility(t *testing.T) {
	type point struct {
		maps int
		u    float64
	}
	inf := math.Inf(-1)
	for _, v := range []struct {
		fit, required float64
		pending       int
		points        []point
	}{
		{10, 15, 35, []point{
			{0, inf}, {1, -1}, {2, -0.698970}, {5, -0.301030}, {9, -0.045757}, {10, 0}, {11, 0.1}, {12, 0.2}, {15, 0.5},
			{16, 0.525}, {20, 0.625}, {25, 0.75}, {34, 0.975}, {35, 1},
		}},
		{10, 8, 35, []point{{5, -0.301030}, {10, 0}, {11, 0.04}, {20, 0.4}, {35, 1}}},
		{0, 4, 20, []point{{0, 0}, {1, 0.125}, {4, 0.5}, {8, 0.625}, {12, 0.75}, {20, 1}}},
		{0, 0.5, 20, []point{{0, 0}, {1, 0.512821}}},
		{1, 0.5, 10, []point{{0, inf}, {1, 0}, {2, 0.111111}}},
	} {
		for _, p := range v.points {
			what := fmt.Sprintf("u(%d) with s_fit %g, s_req %g, s_pend %d", p.maps, v.fit, v.required, v.pending)
			near(t, what, Utility(p.maps, v.fit, v.required, v.pending), p.u)
		}
	}
}

// steps is capacity of one kind: value i holds from at[i] on.
type steps []struct{ at, value float64 }

func (s steps) area(from, to float64) (a Amount) {
	for i, x := range s {
		end := math.Inf(1)
		if i+1 < len(s) {
			end = s[i+1].at
		}
		a[0] += x.value * max(0, min(end, to)-max(x.at, from))
	}
	return a
}

// one makes a job of maps that take mean and use demand each. Its window is 1, as that of all vectors that say no
// other.
func one(id int64, pending int, goal, mean, demand float64) Job {
	return Job{ID: id, Pending: pending, Goal: goal, Mean: mean, Map: Amount{demand}, Window: 1}
}

// 4.2: reverse fitting, R1 to R11.
func TestVectors4_2ReverseFitting(t *testing.T) {
	none := math.Inf(1)
	list := func(of ...[2]float64) (jobs []Job) {
		for i, j := range of {
			jobs = append(jobs, one(int64(i+1), int(j[0]), j[1], 1, 1))
		}
		return jobs
	}
	within := func(window float64, pending int, mean float64) []Job { // of one job with the goal 4
		j := one(1, pending, 4, mean, 1)
		j.Window = window
		return []Job{j}
	}
	for _, v := range []struct {
		name  string
		avail steps
		jobs  []Job
		fit   []float64
		need  []float64
	}{
		{"R1", steps{{0, 10}}, list([2]float64{20, 5}, [2]float64{30, 10}), []float64{0, 0}, []float64{4, 3}},
		{"R2", steps{{0, 10}}, list([2]float64{45, 5}, [2]float64{52, 10}), []float64{7, 0}, []float64{9, 5.2}},
		{"R3", steps{{0, 10}}, list([2]float64{60, 5}, [2]float64{52, 10}), []float64{22, 0}, []float64{12, 5.2}},
		{"R4", steps{{0, 10}, {4, 2}}, list([2]float64{30, 5}, [2]float64{20, 10}), []float64{8, 0}, []float64{6, 2}},
		{"R5", steps{{0, 2}, {4, 10}}, list([2]float64{10, 5}, [2]float64{30, 10}), []float64{0, 0}, []float64{2, 3}},
		{
			"R6", steps{{0, 10}, {6, 5}}, list([2]float64{20, 4}, [2]float64{40, 8}, [2]float64{50, 12}),
			[]float64{20, 10, 0}, []float64{5, 5, 50.0 / 12},
		},
		{
			"R7", steps{{0, 8}, {6, 4}}, []Job{one(1, 20, 6, 2, 1), one(2, 15, 12, 1, 2)},
			[]float64{3, 0}, []float64{20.0 / 3, 1.25},
		},
		{
			"R8", steps{{0, 10}}, list([2]float64{20, -1}, [2]float64{12, none}, [2]float64{30, 10}),
			[]float64{20, 12, 0}, []float64{20, 12, 3},
		},
		{"R9", steps{{0, 10}}, list([2]float64{60, 10}, [2]float64{50, 10}), []float64{0, 20}, []float64{6, 5}},
		{"R10, h = 1", steps{{0, 10}}, list([2]float64{40, 4}), []float64{10}, []float64{10}},
		{"R10, h = 0.1", steps{{0, 10}}, within(Window(0.1, 1, true), 40, 1), []float64{1}, []float64{10}},
		{"R11", steps{{0, 10}}, within(Window(0.1, 2, false), 20, 2), []float64{10}, []float64{10}},
		{"R11, 15 maps", steps{{0, 10}}, within(Window(0.1, 2, false), 15, 2), []float64{5}, []float64{7.5}},
	} {
		p := Plan{Area: v.avail.area}
		for i, got := range p.Fit(v.jobs) {
			near(t, fmt.Sprintf("%s: s_fit of J%d", v.name, i+1), got, v.fit[i])
			j := v.jobs[i]
			need := placement.Required(j.Pending, j.Mean, j.Goal, false)
			near(t, fmt.Sprintf("%s: s_req of J%d", v.name, i+1), need, v.need[i])
		}
	}
}

// fits returns how many maps of each job are fitted into each interval between goals, the last one first.
func (p *Plan) fits(jobs []Job, goals ...float64) (list [][]float64) {
	left := make([]float64, len(jobs))
	var open []int
	for i := range jobs {
		left[i] = float64(jobs[i].Pending)
	}
	for at := len(goals) - 1; at >= 0; at-- {
		t := interval{p.Now, goals[at], smallest(jobs, indices(len(jobs))), jobs[0].Window}
		if at > 0 {
			t.from = goals[at-1]
		}
		before := slices.Clone(left)
		open = p.fill(jobs, left, append(open, at), t)
		for i := range before {
			before[i] -= left[i]
		}
		list = append(list, before)
	}
	return list
}

func indices(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// 4.2, the traces of R4 and R6: what there is in each interval, and what is fitted into it.
func TestVectors4_2Traces(t *testing.T) {
	for _, v := range []struct {
		name  string
		avail steps
		jobs  []Job
		areas [][3]float64 // from, to, area
		fits  [][]float64
	}{
		{
			"R4", steps{{0, 10}, {4, 2}}, []Job{one(1, 30, 5, 1, 1), one(2, 20, 10, 1, 1)},
			[][3]float64{{5, 10, 10}, {1, 5, 32}}, [][]float64{{0, 10}, {22, 10}},
		},
		{
			"R6", steps{{0, 10}, {6, 5}}, []Job{one(1, 20, 4, 1, 1), one(2, 40, 8, 1, 1), one(3, 50, 12, 1, 1)},
			[][3]float64{{8, 12, 20}, {4, 8, 30}, {1, 4, 30}}, [][]float64{{0, 0, 20}, {0, 0, 30}, {0, 30, 0}},
		},
	} {
		p := Plan{Area: v.avail.area}
		for _, a := range v.areas {
			near(t, fmt.Sprintf("%s: area of %v", v.name, a[:2]), v.avail.area(a[0], a[1])[0], a[2])
		}
		var goals []float64
		for _, j := range v.jobs {
			goals = append(goals, j.Goal)
		}
		for i, got := range p.fits(v.jobs, goals...) {
			if !slices.Equal(got, v.fits[i]) {
				t.Errorf("%s: %v maps are fitted into interval %d from the end, want %v", v.name, got, i+1, v.fits[i])
			}
		}
	}
}

// The example of 4.3: 100 nodes, steps of 0.4 h, goals at steps 17, 38 and 58.
var curve = func() (list []int) {
	for i := range 60 {
		list = append(list, int(math.Round(100*(0.5-0.4*math.Cos(2*math.Pi*((float64(i)+0.5)*0.4-18)/24)))))
	}
	return list
}()

func curveArea(from, to float64) (a Amount) {
	for i, n := range curve {
		a[0] += float64(n) * max(0, min(float64(i+1), to)-max(float64(i), from))
	}
	return a
}

var goals = [3]float64{17, 38, 58}

// divide plans the example at a step. By need alone it is the utility of docs/spec/ras.md.
func divide(now int, left [3]int, byNeed bool) (fit []float64, need [3]float64, has []int) {
	var jobs []Job
	for i, n := range left {
		jobs = append(jobs, one(int64(i), n, goals[i], 1, 1))
	}
	fit = (&Plan{Now: float64(now), Area: curveArea}).Fit(jobs)
	var claims []Claimant
	for i, n := range left {
		need[i] = placement.Required(n, 1, goals[i]-float64(now), false)
		u := func(maps int) float64 { return Utility(maps, fit[i], need[i], n) }
		if byNeed {
			u = func(maps int) float64 { return placement.Need{Required: need[i], Pending: n}.UtilityOfMaps(maps) }
		}
		claims = append(claims, Claimant{Pending: n, Goal: goals[i], ID: int64(i), Utility: u})
	}
	return fit, need, Divide(curve[now], claims)
}

// 4.3: the curve, the areas, the first plan, and when the jobs finish.
func TestVectors4_3MotivatingExample(t *testing.T) {
	want := []int{
		52, 56, 60, 64, 68, 72, 75, 78, 81, 84, 86, 87, 89, 90, 90, 90, 90, 89, 87, 86,
		84, 81, 78, 75, 72, 68, 64, 60, 56, 52, 48, 44, 40, 36, 32, 28, 25, 22, 19, 16,
		14, 13, 11, 10, 10, 10, 10, 11, 13, 14, 16, 19, 22, 25, 28, 32, 36, 40, 44, 48,
	}
	if !slices.Equal(curve, want) {
		t.Fatalf("the curve is %v, want %v", curve, want)
	}
	for _, a := range [][3]float64{{1, 17, 1260}, {17, 38, 1227}, {38, 58, 369}} {
		near(t, fmt.Sprint("area of ", a[:2]), curveArea(a[0], a[1])[0], a[2])
	}
	for _, v := range []struct {
		n     int
		fit   [3]float64
		need  [3]float64
		slots []int
		fits  [][]float64 // by interval, the last one first
	}{
		{
			950, [3]float64{0, 0, 0}, [3]float64{55.8824, 25, 16.3793}, []int{30, 13, 9},
			[][]float64{{0, 0, 369}, {0, 646, 581}, {950, 304, 0}},
		},
		{
			965, [3]float64{39, 0, 0}, [3]float64{56.7647, 25.3947, 16.6379}, []int{43, 5, 4},
			[][]float64{{0, 0, 369}, {0, 631, 596}, {926, 334, 0}},
		},
		{
			980, [3]float64{84, 0, 0}, [3]float64{57.6471, 25.7895, 16.8966}, []int{52, 0, 0},
			[][]float64{{0, 0, 369}, {0, 616, 611}, {896, 364, 0}},
		},
	} {
		var jobs []Job
		for i, goal := range goals {
			jobs = append(jobs, one(int64(i), v.n, goal, 1, 1))
		}
		for i, got := range (&Plan{Area: curveArea}).fits(jobs, goals[:]...) {
			if !slices.Equal(got, v.fits[i]) {
				t.Errorf("%d tasks: %v are fitted into interval %d from the end, want %v", v.n, got, i+1, v.fits[i])
			}
		}
		fit, need, has := divide(0, [3]int{v.n, v.n, v.n}, false)
		for i := range fit {
			near(t, fmt.Sprintf("%d tasks: s_fit of J%d", v.n, i+1), fit[i], v.fit[i])
			near(t, fmt.Sprintf("%d tasks: s_req of J%d", v.n, i+1), need[i], v.need[i])
		}
		if !slices.Equal(has, v.slots) {
			t.Errorf("%d tasks: slots %v, want %v", v.n, has, v.slots)
		}
	}
	run := func(n int, byNeed bool) (ends [3]int) {
		left := [3]int{n, n, n}
		for now := range curve {
			_, _, has := divide(now, left, byNeed)
			for i := range left {
				if left[i] -= has[i]; left[i] == 0 && has[i] > 0 {
					ends[i] = now + 1
				}
			}
		}
		return ends
	}
	for _, v := range []struct {
		n              int
		need, backward [3]int
	}{
		{800, [3]int{18, 34, 34}, [3]int{17, 34, 34}},
		{900, [3]int{20, 38, 51}, [3]int{17, 38, 51}},
		{940, [3]int{20, 41, 56}, [3]int{17, 38, 56}},
		{950, [3]int{21, 42, 57}, [3]int{17, 38, 57}},
		{960, [3]int{21, 43, 58}, [3]int{17, 28, 58}},
	} {
		if got := run(v.n, true); got != v.need {
			t.Errorf("%d tasks by s_req alone: finished at %v, want %v", v.n, got, v.need)
		}
		if got := run(v.n, false); got != v.backward {
			t.Errorf("%d tasks by reverse fitting: finished at %v, want %v", v.n, got, v.backward)
		}
	}
}

// 7, item 6: which part of the times of table 5.7 lies beyond goals of 120 s.
func TestVectors7Table5_7(t *testing.T) {
	for _, v := range []struct{ took, part float64 }{{197.23, 0.3916}, {207.93, 0.4229}, {185.21, 0.3521}} {
		near(t, fmt.Sprint("beyond the goal of ", v.took), (v.took-120)/v.took, v.part)
	}
}

// The property of 2.3: with one window, and no goal inside it, what must be placed now fits into the window exactly if
// the work can be done in time, as far as a fluid can.
func TestFitIsFeasibility(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		avail := steps{{0, float64(1 + r.IntN(10))}, {7, float64(1 + r.IntN(10))}, {15, float64(1 + r.IntN(10))}}
		var jobs []Job
		for id := range 1 + r.IntN(8) {
			jobs = append(jobs, one(int64(id), 1+r.IntN(60), float64(2+r.IntN(30)), 1, 1))
		}
		sum := 0.0
		for _, n := range (&Plan{Area: avail.area, Fractions: true}).Fit(jobs) {
			sum += n
		}
		feasible := true
		for _, j := range jobs { // each goal leaves room for all that is due by then
			due := 0.0
			for _, o := range jobs {
				if o.Goal <= j.Goal {
					due += float64(o.Pending)
				}
			}
			feasible = feasible && due <= avail.area(0, j.Goal)[0]+1e-6
		}
		if fits := sum <= avail.area(0, 1)[0]+1e-6; fits != feasible {
			t.Errorf("seed %d: %v must be placed now, and the jobs are feasible: %v", seed, sum, feasible)
		}
	}
}

// 2.1: to cut the time at the goal of a job that has nothing to fit changes nothing for the others, whose tasks and
// windows differ.
func TestGoalWithoutTasks(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 6))
		avail := steps{{0, float64(1 + r.IntN(10))}, {9, float64(r.IntN(10))}, {21, float64(1 + r.IntN(10))}}
		var jobs []Job
		for id := range 1 + r.IntN(5) {
			jobs = append(jobs, one(int64(id), 1+r.IntN(60), 30, 0.5+3*r.Float64(), 0.5+r.Float64()))
			jobs[id].Window = max(1, jobs[id].Mean)
		}
		p := Plan{Area: avail.area, Fractions: true}
		left := func(goals ...float64) []float64 {
			list, open := make([]float64, len(jobs)), indices(len(jobs))
			for i := range jobs {
				list[i] = float64(jobs[i].Pending)
			}
			for i := range goals[1:] {
				open = p.fill(jobs, list, open, interval{goals[i+1], goals[i], smallest(jobs, indices(len(jobs))), 1})
			}
			return list
		}
		cut := 30 * r.Float64()
		for i, want := range left(30, 0) {
			if got := left(30, cut, 0)[i]; math.Abs(got-want) > 1e-9 {
				t.Errorf("seed %d: with a cut at %v job %d has %v left, want %v", seed, cut, i, got, want)
			}
		}
	}
}

// BenchmarkFit plans many jobs on a cluster whose capacity changes with the hour.
func BenchmarkFit(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint("jobs=", n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			var jobs []Job
			for id := range n {
				jobs = append(jobs, one(int64(id), 1+r.IntN(400), 60*r.Float64()*58, 1+r.Float64(), 1))
			}
			p := Plan{Area: func(from, to float64) Amount { return Amount{(to - from) * 100} }, Fractions: true}
			for b.Loop() {
				p.Fit(jobs)
			}
		})
	}
}
