package hardware

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-4 }

// The tests are named after the sections of docs/spec/hardware.md.

func TestSection4_1_demandAndExtra(t *testing.T) {
	for _, v := range []struct {
		waiting int
		running []float64
		demand  float64
		extra   float64
		more    float64 // s_req,acc: without the slots held
	}{
		{300, nil, 15, 10, 15},
		{200, nil, 10, 0, 10},
		{290, make([]float64, 10), 15, 10, 5},
	} {
		d := Demand(Remaining(50, v.waiting, v.running), 1000)
		if e := Extra(2, d, 10); !near(d, v.demand) || !near(e, v.extra) || !near(d-float64(len(v.running)), v.more) {
			t.Errorf("%d waiting, %d running: demand %v and %v extra", v.waiting, len(v.running), d, e)
		}
	}
	if w := Remaining(50, 0, []float64{20, 80}); w != 30 {
		t.Errorf("a task that outlives the mean counts %v, want 0", w-30)
	}
	if d := Demand(10, 0); !math.IsInf(d, 1) {
		t.Errorf("a late job demands %v", d)
	}
}

func TestSection4_1_extraByJob(t *testing.T) {
	for _, v := range []struct {
		speedup, demand, load, extra, total float64
	}{
		{25, 7, 1.1667, 25, 31},
		{25, 8, 1.3333, 50, 56},
		{25, 9, 1.5, 75, 81},
		{2.5, 8, 1.3333, 5, 11},
		{2.5, 20, 3.3333, 35, 41},
	} {
		load, extra := Load(v.demand, 6), Extra(v.speedup, v.demand, 6)
		if !near(load, v.load) || !near(extra, v.extra) || !near(6+extra, v.total) {
			t.Errorf("speedup %v, demand %v: load %v, extra %v", v.speedup, v.demand, load, extra)
		}
		regular := 60.0 - 6
		if possible := NodeShare(load, v.speedup, 0.1) < 1; possible != (v.extra <= regular) {
			t.Errorf("speedup %v, demand %v: possible on 60 nodes is %v", v.speedup, v.demand, possible)
		}
	}
}

func TestSection4_2_figure3_1(t *testing.T) {
	for load, want := range map[float64][5]float64{
		20: {2, 2, 2, 2, 2}, 60: {6, 6, 6, 6, 6}, 100: {10, 10, 10, 10, 10},
		120: {12, 14, 16, 18, 20}, 140: {14, 18, 22, 26, 30}, 160: {16, 22, 28, 34, 40},
	} {
		for i, percent := range want {
			if got := 100 * NodeShare(load/100, float64(i+1), 0.1); !near(got, percent) {
				t.Errorf("load %v %%, speedup %d: %v %% of the nodes, want %v", load, i+1, got, percent)
			}
		}
	}
	for speedup, want := range map[float64]float64{25: 1.36, 2.5: 4.6} {
		if got := ExhaustingLoad(speedup, 0.1); !near(got, want) || !near(NodeShare(got, speedup, 0.1), 1) {
			t.Errorf("speedup %v: exhausted at load %v, want %v", speedup, got, want)
		}
	}
	if NodeShare(9, 25, 0.1) != 1 {
		t.Error("the share of the nodes is not capped")
	}
}

// The pools of the vectors: accelerated and regular.
const (
	acc = iota
	reg
)

func accelerable(speedup, need float64) Job {
	takes := []Use{{acc, 1}, {reg, 1 / speedup}}
	return Job{Need: need, Tasks: 1 << 20, Each: 1, Accelerable: true, Takes: takes}
}

func regular(need float64) Job {
	return Job{Need: need, Tasks: 1 << 20, Each: 1, Takes: []Use{{reg, 1}, {acc, 1}}}
}

func TestSection4_3_planner(t *testing.T) {
	w, c := regular, func(n float64) Job { return accelerable(2.5, n) }
	m := func(n float64) Job { return accelerable(25, n) }
	j := func(n float64) Job { return accelerable(2, n) }
	for _, v := range []struct {
		jobs  []Job
		slots [2]int
		want  [][2]int
		free  [2]int
		unmet []float64
	}{
		{[]Job{w(20), c(3)}, [2]int{6, 54}, [][2]int{{0, 20}, {3, 0}}, [2]int{3, 34}, nil},
		{[]Job{w(20), c(4), m(2)}, [2]int{6, 54}, [][2]int{{0, 20}, {4, 0}, {2, 0}}, [2]int{0, 34}, nil},
		{[]Job{w(20), c(4), m(3)}, [2]int{6, 54}, [][2]int{{0, 20}, {4, 0}, {2, 25}}, [2]int{0, 9}, nil},
		{[]Job{w(10), m(7)}, [2]int{6, 54}, [][2]int{{0, 10}, {6, 25}}, [2]int{0, 19}, nil},
		{[]Job{w(58), c(2)}, [2]int{6, 54}, [][2]int{{4, 54}, {2, 0}}, [2]int{0, 0}, nil},
		{[]Job{w(60), c(3)}, [2]int{6, 54}, [][2]int{{4, 54}, {2, 0}}, [2]int{0, 0}, []float64{2, 1}},
		{[]Job{j(15)}, [2]int{10, 50}, [][2]int{{10, 10}}, [2]int{0, 40}, nil},
		{[]Job{j(10)}, [2]int{10, 50}, [][2]int{{10, 0}}, [2]int{0, 50}, nil},
	} {
		g := Plan(v.slots[:], v.jobs, false)
		for i, want := range v.want {
			if !slices.Equal(g.Of(i), want[:]) {
				t.Errorf("%+v: job %d has %v, want %v", v.jobs, i, g.Of(i), want)
			}
			unmet := 0.0
			if v.unmet != nil {
				unmet = v.unmet[i]
			}
			if !near(max(0, g.Rest[i]), unmet) {
				t.Errorf("%+v: job %d lacks %v, want %v", v.jobs, i, g.Rest[i], unmet)
			}
		}
		if !slices.Equal(g.Free, v.free[:]) {
			t.Errorf("%+v: %v stay free, want %v", v.jobs, g.Free, v.free)
		}
	}
}

func TestSection4_4_classification(t *testing.T) {
	for _, v := range []struct {
		regular, accelerated, speedup float64
		accelerable                   bool
	}{{125, 5, 25, true}, {75, 30, 2.5, true}, {92, 90, 1.0222, false}, {45, 30, 1.5, false}} {
		if s, ok := Classify(v.regular, v.accelerated, 1.5); !near(s, v.speedup) || ok != v.accelerable {
			t.Errorf("%v s against %v s: %v, %v", v.regular, v.accelerated, s, ok)
		}
	}
}

// A late job precedes every other one. It takes as many slots as it has tasks.
func TestSection2_5_lateJobsFirst(t *testing.T) {
	late := regular(math.Inf(1))
	late.Tasks = 57
	g := Plan([]int{6, 54}, []Job{accelerable(25, 6), late}, false)
	if !slices.Equal(g.Of(1), []int{3, 54}) || !slices.Equal(g.Of(0), []int{3, 0}) {
		t.Errorf("the late job has %v, the other %v", g.Of(1), g.Of(0))
	}
}

// With three pools a job spills to the next best one: 4 slots of the first, 6 of the second at half the speed are
// worth 3, and the last of 8 needed takes 10 regular slots at a tenth of the speed.
func TestSection2_5_threePools(t *testing.T) {
	job := Job{Need: 8, Tasks: 100, Each: 1, Accelerable: true, Takes: []Use{{2, 1}, {1, 0.5}, {0, 0.1}}}
	if g := Plan([]int{50, 6, 4}, []Job{job}, false); !slices.Equal(g.Of(0), []int{10, 6, 4}) {
		t.Errorf("grants are %v", g.Of(0))
	}
}

// By need alone Montecarlo takes 25 regular slots for the accelerated slot that it lacks. With the option Crypt
// spills in its place, which takes 3.
func TestSection2_5_spillLowSpeedupFirst(t *testing.T) {
	jobs := []Job{accelerable(2.5, 4), accelerable(25, 3)}
	g := Plan([]int{6, 54}, jobs, false)
	if !slices.Equal(g.Of(0), []int{4, 0}) || !slices.Equal(g.Of(1), []int{2, 25}) {
		t.Fatalf("without the option: %v and %v", g.Of(0), g.Of(1))
	}
	if g := Plan([]int{6, 54}, jobs, true); !slices.Equal(g.Of(0), []int{3, 3}) || !slices.Equal(g.Of(1), []int{3, 0}) {
		t.Errorf("with the option: %v and %v", g.Of(0), g.Of(1))
	}
}

// The plan by heaps gives the same grants as the plan of the page, which looks at all jobs for each slot.
func TestPlanAgainstTheNaiveForm(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		slots := []int{r.IntN(60), r.IntN(12), r.IntN(9)}
		var jobs []Job
		for range 1 + r.IntN(6) {
			j := Job{Need: r.Float64() * 20, Tasks: r.IntN(40), Each: 1 + r.IntN(2), Goal: float64(r.IntN(3))}
			switch r.IntN(3) {
			case 0:
				j.Takes = []Use{{0, 1}, {2, 1}, {1, 1}}
			case 1:
				j.Accelerable, j.Takes = true, []Use{{1, 1}, {0, 1 / (1.5 + 20*r.Float64())}}
			case 2:
				j.Accelerable, j.Takes = true, []Use{{2, 1}, {1, 0.5}, {0, 0.1}}
			}
			if r.IntN(8) == 0 {
				j.Need = math.Inf(1)
			}
			jobs = append(jobs, j)
		}
		got, want := Plan(slots, jobs, false), naive(slots, jobs)
		for i := range jobs {
			if !slices.Equal(got.Of(i), want[i]) {
				t.Fatalf("seed %d: job %d of %+v on %v has %v, want %v", seed, i, jobs, slots, got.Of(i), want[i])
			}
		}
	}
}

// naive is the planner as the page prints it: the largest norm of all jobs for each slot.
func naive(slots []int, jobs []Job) [][]int {
	p := &planner{jobs: jobs, free: slices.Clone(slots)}
	p.count, p.norms = make([]int, len(jobs)), make([]float64, len(jobs))
	p.out = Grants{pools: len(slots), slots: make([]int, len(slots)*len(jobs)), Rest: make([]float64, len(jobs))}
	done := make([]bool, len(jobs))
	for i := range jobs {
		p.out.Rest[i] = jobs[i].Need
	}
	for {
		best := -1
		for i := range jobs {
			if p.norms[i] = p.norm(i); !done[i] && (best < 0 || p.before(i, best)) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		done[best] = !p.take(best)
	}
	list := make([][]int, len(jobs))
	for i := range list {
		list[i] = p.out.Of(i)
	}
	return list
}

// A plan of 10,000 jobs, half of them accelerable, on 10,000 nodes, a tenth of them accelerated.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			var jobs []Job
			for i := range n {
				if i%2 == 0 {
					jobs = append(jobs, regular(r.Float64()*2))
				} else {
					jobs = append(jobs, accelerable(1.5+10*r.Float64(), r.Float64()))
				}
			}
			for b.Loop() {
				Plan([]int{n / 10, n - n/10}, jobs, false)
			}
		})
	}
}
