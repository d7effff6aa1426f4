package goals_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/theory/goals"
)

// near is the tolerance of the vectors of docs/spec/adaptive.md, section 4.
const near = 1e-6

func equal(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within && got != want {
		t.Errorf("%s is %v, not %v", what, got, want)
	}
}

// running returns Σ δ of tasks that have run for so long.
func running(mean float64, elapsed ...float64) (left float64) {
	for _, e := range elapsed {
		left += goals.Remaining(mean, e)
	}
	return left
}

func Test4_1EquationOne(t *testing.T) {
	for _, c := range []struct {
		goal, now, mean float64
		unstarted       int
		elapsed         []float64
		work, required  float64
	}{
		{1000, 0, 50, 100, nil, 5000, 5},
		{1000, 0, 50, 95, make([]float64, 5), 5000, 0},
		{1000, 500, 50, 100, []float64{10, 20, 30, 40, 50}, 5100, 5.2},
		{1000, 500, 50, 100, []float64{10, 20, 30, 40, 80}, 5100, 5.2}, // 5070 and 5.14 with a negative δ
		{5000, 0, 92, 824, nil, 75808, 15.1616},
		{5000, 1000, 92, 500, slices.Repeat([]float64{46}, 20), 46920, -8.27},
		{150, 0, 20, 60, nil, 1200, 8},
	} {
		s := goals.Stage{
			Mean: c.mean, Known: true, Unstarted: c.unstarted, Running: len(c.elapsed), Goal: c.goal,
			Left: running(c.mean, c.elapsed...),
		}
		equal(t, fmt.Sprintf("the work of %+v", c), s.Work(), c.work, near)
		equal(t, fmt.Sprintf("s_req of %+v", c), s.Required(c.now), c.required, near)
		if r := s.Standing(c.now, 0); r.Class != goals.Planned {
			t.Errorf("%+v is of class %d", c, r.Class)
		}
	}
	late := goals.Stage{Mean: 80, Known: true, Unstarted: 10, Running: 1, Left: running(80, 1), Goal: 6000}
	equal(t, "the work of the late job", late.Work(), 879, near)
	if r := late.Standing(6500, 0); r.Class != goals.Late {
		t.Errorf("a job past its goal is of class %d", r.Class)
	}
}

// A job of the vectors, with a name of one letter.
type job struct {
	name      string
	submitted float64
	goals.Stage
}

// allocate gives slots one by one to the first of the jobs, and returns their names in that order with the values that
// show records for the winner of each step.
func allocate(now float64, slots int, jobs []job, show func(*job) float64) (order string, shown []float64) {
	for range slots {
		var best *job
		for i := range jobs {
			j := &jobs[i]
			if j.Unstarted > 0 &&
				(best == nil || j.Standing(now, j.submitted).Compare(best.Standing(now, best.submitted)) < 0) {
				best = j
			}
		}
		order += best.name + " "
		shown = append(shown, show(best))
		best.Unstarted--
		best.Running++
		best.Left += best.Mean
	}
	return strings.TrimSpace(order), shown
}

func Test4_2AllocationOrder(t *testing.T) {
	jobs := []job{
		{"A", 0, goals.Stage{Mean: 100, Known: true, Unstarted: 50, Goal: 1000}},
		{"B", 0, goals.Stage{Mean: 50, Known: true, Unstarted: 40, Goal: 500}},
		{"C", 0, goals.Stage{Mean: 200, Known: true, Unstarted: 20, Goal: 2000}},
	}
	required := func(j *job) float64 { return j.Required(0) }
	for _, c := range []struct {
		slots int
		order string
		left  [3]float64
	}{
		{6, "A B A B A B", [3]float64{2, 1, 2}},
		{10, "A B A B A B A C B A", [3]float64{0, 0, 1}},
		{12, "A B A B A B A C B A C B", [3]float64{0, -1, 0}},
	} {
		run := slices.Clone(jobs)
		order, winners := allocate(0, c.slots, run, required)
		if order != c.order {
			t.Errorf("%d slots go to %s, not to %s", c.slots, order, c.order)
		}
		for i := range run {
			equal(t, run[i].name+"'s s_req in the end", run[i].Required(0), c.left[i], near)
		}
		for i, want := range []float64{5, 4, 4, 3, 3, 2, 2, 2, 1, 1, 1, 0}[:c.slots] {
			equal(t, fmt.Sprintf("s_req of the winner of step %d", i+1), winners[i], want, near)
		}
	}
}

func Test4_3LateJobs(t *testing.T) {
	jobs := []job{
		{"A", 0, goals.Stage{Mean: 100, Known: true, Unstarted: 30, Goal: 900}},
		{"B", 0, goals.Stage{Mean: 100, Known: true, Unstarted: 10, Goal: 800}},
	}
	lateness := func(j *job) float64 { return j.Lateness(1000) }
	order, winners := allocate(1000, 8, jobs, lateness)
	if order != "B A A A B A A B" {
		t.Errorf("slots go to %s", order)
	}
	infinite := math.Inf(1)
	for i, want := range []float64{infinite, infinite, 3100, 1600, 1200, 1100, 850, 700} {
		equal(t, fmt.Sprintf("the lateness of the winner of step %d", i+1), winners[i], want, near)
	}
	equal(t, "A's slots", float64(jobs[0].Running), 5, 0)
	equal(t, "A's lateness", lateness(&jobs[0]), 700, near)
	equal(t, "B's slots", float64(jobs[1].Running), 3, 0)
	equal(t, "B's lateness", lateness(&jobs[1]), 533.0+1.0/3, 1e-3)
}

func Test4_4Classes(t *testing.T) {
	jobs := []job{
		{"X", 0, goals.Stage{Mean: 50, Known: true, Unstarted: 100, Goal: 2000}},
		{"Y", 0, goals.Stage{Mean: 50, Known: true, Unstarted: 100, Goal: 1500}},
		{"N2", 990, goals.Stage{Unstarted: 5, Goal: 5000}},
		{"N1", 980, goals.Stage{Unstarted: 3, Goal: 2000}},
		{"L", 0, goals.Stage{Mean: 100, Known: true, Unstarted: 2, Goal: 900}},
	}
	order, winners := allocate(1000, 14, jobs, func(j *job) float64 { return j.Required(1000) })
	if order != "L L N1 N1 N1 N2 N2 N2 N2 N2 Y Y Y Y" {
		t.Errorf("slots go to %s", order)
	}
	for i, want := range []float64{10, 9, 8, 7} {
		equal(t, "Y's s_req", winners[10+i], want, near)
	}
	equal(t, "X's s_req", jobs[0].Required(1000), 5, near)
}

func Test4_5PhaseGoals(t *testing.T) {
	for _, c := range []struct{ submitted, goal, maps, reduces, cost, want float64 }{
		{0, 3000, 60, 20, 1, 2250},
		{0, 3000, 60, 20, 3, 1500},
		{100, 1300, 200, 0, 1, 1300},
		{0, 1000, 100, 100, 0.5, 2000.0 / 3},
	} {
		got := goals.Split(c.submitted, c.goal, c.maps, c.cost*c.reduces)
		equal(t, fmt.Sprintf("the map goal of %+v", c), got, c.want, near)
		equal(t, "the reduce goal", goals.Split(c.submitted, c.goal, c.maps+c.cost*c.reduces, 0), c.goal, 0)
	}
}

func Test4_6Factor(t *testing.T) {
	lengths := []int{1, 5, 10, 20, 25, 34, 50, 60}
	none := math.NaN()
	for _, c := range []struct {
		left int
		want []float64
	}{
		{100, []float64{1, 1, 1, 1, 1, 1, 1, 1}},
		{95, []float64{100.0 / 95, 20.0 / 19, 10.0 / 9, 1.25, 4.0 / 3, 1, 2, 1}},
		{80, []float64{1.25, 1.25, 1.25, 1.25, 4.0 / 3, 1, 2, 1}},
		{75, []float64{4.0 / 3, 4.0 / 3, 10.0 / 7, 5.0 / 3, 4.0 / 3, 1, 2, 1}},
		{50, []float64{2, 2, 2, 2.5, 2, 2, 2, none}},
		{25, []float64{4, 4, 5, 5, 4, none, none, none}},
		{10, []float64{10, 10, 10, none, none, none, none, none}},
		{5, []float64{20, 20, none, none, none, none, none, none}},
	} {
		for i, l := range lengths {
			got, possible := goals.Factor(c.left, l)
			if possible == math.IsNaN(c.want[i]) {
				t.Errorf("s(%d, %d): possible is %v", c.left, l, possible)
			} else if possible {
				equal(t, fmt.Sprintf("s(%d, %d)", c.left, l), got, c.want[i], near)
			}
		}
	}
	for _, c := range [][3]float64{{10, 5, 0.5}, {20, 50, 10}, {50, 5, 2.5}, {80, 25, 20}, {100, 100, 100}} {
		equal(t, fmt.Sprintf("d(%v, %v)", c[0], c[1]), c[0]*c[1]/100, c[2], near)
	}
}

func Test4_9Arithmetic(t *testing.T) {
	for _, c := range [][3]float64{
		{6000, 3549, 1.6906}, {3000, 1264, 2.3734}, {3000, 602, 4.9834}, {150, 101, 1.4851}, {1500, 1264, 1.1867},
		{650, 602, 1.0797}, {120, 101, 1.1881},
	} {
		equal(t, "a goal factor", c[0]/c[1], c[2], 5e-5)
	}
	equal(t, "the blocks of 64 MB in 6.25 GB, printed as 1000", 6.25*1024/64, 100, 0)
	equal(t, "the lateness of J5, printed as 36 %", (185.21-120)/185.21, 0.352, 5e-4)
	equal(t, "the lateness of J3", (1031.30-650)/1031.30, 0.3697, 5e-5)
	equal(t, "the saving with one replica", 1-12.00/40.94, 0.7069, 5e-5)
	equal(t, "the saving with three", 1-5.83/33.48, 0.8259, 5e-5)
}
