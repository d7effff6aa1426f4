package malleable

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// The vectors of docs/spec/flex.md, section 4. Jobs are A, B, C, ... in order of arrival.

// order reads an order as "ACBD".
func order(letters string) (list []int) {
	for _, c := range letters {
		list = append(list, int(c-'A'))
	}
	return list
}

func letters(order []int) string {
	var b strings.Builder
	for _, i := range order {
		b.WriteByte('A' + byte(i))
	}
	return b.String()
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func allNear(t *testing.T, what string, got []float64, want ...float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
	for i := range got {
		near(t, fmt.Sprintf("%s, %d", what, i), got[i], want[i])
	}
}

// jobs makes jobs of work, minimum and maximum, with the penalty of their completion instant.
func jobs(slots int, list ...[3]float64) *Problem {
	p := &Problem{Slots: slots}
	for _, j := range list {
		p.Jobs = append(p.Jobs, Job{Work: j[0], Min: int(j[1]), Max: int(j[2]), Penalty: Penalty{Weight: 1}})
	}
	return p
}

func x4() *Problem {
	return jobs(12, [3]float64{12, 1, 3}, [3]float64{48, 1, 12}, [3]float64{30, 2, 5}, [3]float64{90, 2, 12})
}

func x5() *Problem {
	return jobs(10, [3]float64{40, 1, 6}, [3]float64{60, 2, 8}, [3]float64{20, 1, 4})
}

// under returns the problem with the penalties of a metric.
func (p *Problem) under(metric string, facts func(i int) Facts) *Problem {
	m, ok := Metrics[metric]
	if !ok {
		panic(metric)
	}
	q := *p
	q.Worst, q.Jobs = m.Worst, slices.Clone(p.Jobs)
	for i := range q.Jobs {
		q.Jobs[i].Penalty = m.Penalty(facts(i))
	}
	return &q
}

func TestX2Minima(t *testing.T) {
	for _, c := range []struct {
		slots        int
		minima, want []int
	}{
		{12, []int{5, 5, 10}, []int{3, 3, 6}},
		{10, []int{4, 4, 4}, []int{4, 3, 3}},
		{8, []int{7, 2, 3}, []int{5, 1, 2}},
		{10, []int{7, 2, 1}, []int{7, 2, 1}},
		{4, []int{100, 1, 1, 1}, []int{1, 1, 1, 1}},
		{2, []int{5, 5, 5}, []int{1, 1, 0}},
		{3, []int{100, 1, 1, 1}, []int{3, 0, 0, 0}}, // more jobs than slots: in proportion only
		{4, []int{5, 0, 5}, []int{2, 0, 2}},
		{0, []int{1, 1}, []int{0, 0}},
	} {
		if got := Normalize(c.slots, c.minima); !slices.Equal(got, c.want) {
			t.Errorf("%d slots, minima %v: %v, want %v", c.slots, c.minima, got, c.want)
		}
	}
}

func TestX4Pack(t *testing.T) {
	p := x4()
	s := p.Pack(order("ACBD"))
	allNear(t, "A,C,B,D", s.Done, 4, 9, 6, 15)
	near(t, "A,C,B,D, sum", p.Value(s.Done), 34)
	near(t, "A,C,B,D, mean", mean(s.Done), 8.5)
	sameIntervals(t, s.Intervals, []Interval{
		{0, 4, []int{3, 2, 5, 2}}, {4, 6, []int{0, 5, 5, 2}}, {6, 9, []int{0, 10, 0, 2}}, {9, 15, []int{0, 0, 0, 12}},
	})
	s = p.Pack(order("DBCA"))
	near(t, "D,B,C,A, sum", p.Value(s.Done), 213./4)
	sameIntervals(t, s.Intervals, []Interval{
		{0, 45. / 4, []int{1, 1, 2, 8}}, {45. / 4, 12, []int{1, 9, 2, 0}},
		{12, 15, []int{0, 10, 2, 0}}, {15, 15, []int{0, 0, 5, 0}},
	})
	allNear(t, "B,A,C,D", p.Pack(order("BACD")).Done, 60./7, 48./7, 354./35, 15)
}

func sameIntervals(t *testing.T, got, want []Interval) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i := range got {
		near(t, "from", got[i].From, want[i].From)
		near(t, "to", got[i].To, want[i].To)
		if !slices.Equal(got[i].Slots, want[i].Slots) {
			t.Errorf("interval %d: slots %v, want %v", i, got[i].Slots, want[i].Slots)
		}
	}
}

func TestX5IdleSlots(t *testing.T) {
	p := x5()
	s := p.Pack(order("CAB"))
	allNear(t, "C,A,B", s.Done, 25./3, 155./12, 5)
	sameIntervals(t, s.Intervals, []Interval{
		{0, 5, []int{4, 2, 4}}, {5, 25. / 3, []int{6, 4, 0}}, {25. / 3, 155. / 12, []int{0, 8, 0}},
	})
	near(t, "sum", p.Value(s.Done), 105./4)
	if _, v, _ := p.Best(1 << 30); math.Abs(v-105./4) > 1e-9 {
		t.Errorf("best of all orders: %v", v)
	}
	s = p.Pack(order("ABC"))
	allNear(t, "A,B,C", s.Done, 20./3, 35./3, 25./2)
	sameIntervals(t, s.Intervals, []Interval{
		{0, 20. / 3, []int{6, 3, 1}}, {20. / 3, 35. / 3, []int{0, 8, 2}}, {35. / 3, 25. / 2, []int{0, 0, 4}},
	})
	near(t, "A,B,C, sum", p.Value(s.Done), 185./6)
}

func TestX6FIFO(t *testing.T) {
	p := jobs(12, [3]float64{90, 2, 12}, [3]float64{48, 1, 12}, [3]float64{30, 2, 5}, [3]float64{12, 1, 3})
	s := FIFO(p)
	allNear(t, "D,B,C,A", s.Done, 15./2, 23./2, 35./2, 31./2)
	near(t, "mean", mean(s.Done), 13)
	allNear(t, "X5", FIFO(x5()).Done, 20./3, 65./6, 55./4)
	near(t, "X5, mean", mean(FIFO(x5()).Done), 125./12)
	if !slices.Equal(s.Done, p.withoutMinima().Pack([]int{0, 1, 2, 3}).Done) {
		t.Error("FIFO is not malleable packing without minima")
	}
}

func (p *Problem) withoutMinima() *Problem {
	q := *p
	q.Jobs = slices.Clone(p.Jobs)
	for i := range q.Jobs {
		q.Jobs[i].Min = 0
	}
	return &q
}

func TestX7Fair(t *testing.T) {
	allNear(t, "X4", Fair(x4(), false).Done, 4, 23./2, 17./2, 15)
	near(t, "X4, mean", mean(Fair(x4(), false).Done), 39./4)
	allNear(t, "X5", Fair(x5(), false).Done, 10, 25./2, 6)
	near(t, "X5, mean", mean(Fair(x5(), false).Done), 19./2)
	allNear(t, "X5, whole slots", Fair(x5(), true).Done, 28./3, 38./3, 20./3)
	for _, c := range []struct {
		what  string
		slots func(*Problem, []bool) []float64
		jobs  *Problem
		live  string
		want  []float64
	}{
		{"X4 until 4", waterline, x4(), "ABCD", []float64{3, 3, 3, 3}},
		{"X4 until 17/2", waterline, x4(), "BCD", []float64{0, 4, 4, 4}},
		{"X4 until 23/2", waterline, x4(), "BD", []float64{0, 6, 0, 6}},
		{"X4 until 15", waterline, x4(), "D", []float64{0, 0, 0, 12}},
		{"X5 until 6", waterline, x5(), "ABC", []float64{10. / 3, 10. / 3, 10. / 3}},
		{"X5 until 10", waterline, x5(), "AB", []float64{5, 5, 0}},
		{"X5 until 25/2", waterline, x5(), "B", []float64{0, 8, 0}},
		{"X5, whole, until 20/3", wholeWaterline, x5(), "ABC", []float64{4, 3, 3}},
		{"X5, whole, until 28/3", wholeWaterline, x5(), "AB", []float64{5, 5, 0}},
		{"X5, whole, until 38/3", wholeWaterline, x5(), "B", []float64{0, 8, 0}},
	} {
		live := make([]bool, len(c.jobs.Jobs))
		for _, i := range order(c.live) {
			live[i] = true
		}
		allNear(t, c.what, c.slots(c.jobs, live), c.want...)
	}
	flex := mean(x4().Solve(Attempt{}).Done)
	near(t, "fair ÷ flex", mean(Fair(x4(), false).Done)/flex, 9.75/8.5)
	p := jobs(12, [3]float64{90, 2, 12}, [3]float64{48, 1, 12}, [3]float64{30, 2, 5}, [3]float64{12, 1, 3})
	near(t, "fifo ÷ flex", mean(FIFO(p).Done)/flex, 13/8.5)
}

func TestX8Greedy(t *testing.T) {
	p := jobs(12, [3]float64{8, 1, 12}, [3]float64{18, 1, 12}, [3]float64{32, 1, 12})
	for name, slots := range map[string][]int{"Greedy": p.Greedy(), "Select": p.Select(), "Dynamic": p.Dynamic()} {
		if !slices.Equal(slots, []int{3, 4, 5}) {
			t.Errorf("%s: %v, want 3 4 5", name, slots)
		}
	}
	near(t, "sum", p.moldableValue([]int{3, 4, 5}), 407./30)
	a, granted := p.allot(), ""
	before := a.low
	for count := 1; count <= a.spare; count++ {
		after := a.raise(slices.Clone(a.low), count, a.gain)
		for i := range after {
			if after[i] > before[i] {
				granted += letters([]int{i})
			}
		}
		before = after
	}
	if granted != "CBCABCCBA" {
		t.Errorf("slots go to %s, want CBCABCCBA", granted)
	}
}

// moldableValue returns the objective if jobs keep their slots.
func (p *Problem) moldableValue(slots []int) float64 {
	a := p.allot()
	done := make([]float64, len(slots))
	for i, s := range slots {
		done[i] = a.end(i, s)
	}
	return p.Value(done)
}

func TestX9Generic(t *testing.T) {
	p := x4()
	slots := p.Moldable(DefaultEffort)
	if !slices.Equal(slots, []int{2, 3, 3, 4}) {
		t.Errorf("slots %v, want A2 B3 C3 D4", slots)
	}
	near(t, "moldable sum", p.moldableValue(slots), 109./2)
	a, alone := p.allot(), make([]float64, 4)
	for i, n := range slots {
		alone[i] = a.end(i, n)
	}
	allNear(t, "moldable completions", alone, 6, 16, 10, 45./2)
	if got := letters(p.generic(slots)); got != "ACBD" {
		t.Errorf("order %s, want ACBD", got)
	}
	s := p.Solve(Attempt{})
	near(t, "mean", s.Value/4, 8.5)
	if _, best, _ := p.Best(1 << 30); best != s.Value {
		t.Errorf("best of all orders %v, flex %v", best, s.Value)
	}
	if !slices.Equal(s.Slots, []int{3, 2, 5, 2}) { // all 12
		t.Errorf("first interval %v: these are to be Fair's minima, without slack", s.Slots)
	}
	q := x4()
	for i, n := range s.Slots {
		q.Jobs[i].Min = n
	}
	allNear(t, "under Fair", waterline(q, []bool{true, true, true, true}), 3, 2, 5, 2)
}

func TestX10Minimax(t *testing.T) {
	p := jobs(3, [3]float64{10, 1, 3}, [3]float64{2, 1, 3})
	p.Worst = true
	if got := p.Bottleneck(); !slices.Equal(got, []int{2, 1}) {
		t.Errorf("slots %v, want 2 1", got)
	}
	near(t, "largest", p.moldableValue([]int{2, 1}), 5)
	near(t, "largest of the wrong one", p.moldableValue([]int{1, 2}), 10)
	// The transformation as printed, Σ_{i≤s} f(i), prefers the worse allocation; the corrected one, −Σ_{i<s} f(i), does
	// not.
	printed := func(slots []int) (sum float64) {
		for i, s := range slots {
			for k := 1; k <= s; k++ {
				sum += p.Jobs[i].Work / float64(k)
			}
		}
		return sum
	}
	near(t, "printed, 2 1", printed([]int{2, 1}), 17)
	near(t, "printed, 1 2", printed([]int{1, 2}), 13)
	near(t, "corrected, 2 1", -printed([]int{1, 0}), -10)
	near(t, "corrected, 1 2", -printed([]int{0, 1}), -2)
	q := x5()
	q.Worst = true
	if got := q.Bottleneck(); !slices.Equal(got, []int{3, 5, 2}) {
		t.Errorf("X5: slots %v, want A3 B5 C2", got)
	}
	near(t, "X5, largest", q.moldableValue(q.Bottleneck()), 40./3)
}

func TestX11WeightedTardy(t *testing.T) {
	d, w := []float64{6, 4, 3}, []float64{5, 4, 3}
	p := jobs(10, [3]float64{24, 1, 10}, [3]float64{20, 1, 10}, [3]float64{12, 1, 10}).
		under("weighted-tardy", func(i int) Facts { return Facts{Deadline: d[i], Weight: w[i]} })
	slots := p.Dynamic()
	if !slices.Equal(slots, []int{4, 5, 1}) {
		t.Errorf("slots %v, want 4 5 1", slots)
	}
	near(t, "moldable", p.moldableValue(slots), 3)
	near(t, "by gains alone", p.moldableValue(p.Greedy()), 7)
	if got := letters(p.generic(slots)); got != "BAC" {
		t.Errorf("generic order %s, want BAC", got)
	}
	done := p.Finish(order("BAC"))
	allNear(t, "B,A,C", done, 44./9, 5./2, 28./5)
	near(t, "B,A,C", p.Value(done), 3)
	effort := DefaultEffort
	for _, o := range [][]int{p.byDue(0), p.packedMoore(0, &effort)} {
		if letters(o) != "CBA" {
			t.Errorf("order %s, want CBA", letters(o))
		}
	}
	s := p.Pack(order("CBA"))
	sameIntervals(t, s.Intervals, []Interval{
		{0, 3. / 2, []int{1, 1, 8}}, {3. / 2, 32. / 9, []int{1, 9, 0}}, {32. / 9, 28. / 5, []int{10, 0, 0}},
	})
	allNear(t, "C,B,A", s.Done, 28./5, 32./9, 3./2)
	near(t, "C,B,A", p.Value(s.Done), 0)
	near(t, "flex", p.Solve(Attempt{}).Value, 0)
}

func TestX12ServiceLevels(t *testing.T) {
	steps := [][]Step{{{4, 2}, {8, 6}}, {{3, 1}, {6, 9}}, {{2, 4}, {6, 5}}}
	p := jobs(10, [3]float64{24, 1, 10}, [3]float64{20, 1, 10}, [3]float64{12, 1, 10}).
		under("sla", func(i int) Facts { return Facts{Steps: steps[i]} })
	slots := p.Dynamic()
	if !slices.Equal(slots, []int{3, 4, 2}) {
		t.Errorf("slots %v, want 3 4 2", slots)
	}
	near(t, "moldable", p.moldableValue(slots), 7)
	best := ""
	for x := 1; x <= 8; x++ {
		for y := 1; x+y <= 9; y++ {
			for z := 1; x+y+z <= 10; z++ {
				if v := p.moldableValue([]int{x, y, z}); v < 7+1e-9 {
					best += fmt.Sprintf("%d%d%d at %v ", x, y, z, v)
				}
			}
		}
	}
	if best != "342 at 7 343 at 7 352 at 7 442 at 7 " {
		t.Errorf("the best slots are %s", best)
	}
	if slots = p.Moldable(DefaultEffort); !slices.Equal(slots, []int{4, 4, 2}) {
		t.Errorf("with what is left: %v, want 4 4 2", slots)
	}
	if got := letters(p.generic(slots)); got != "BCA" {
		t.Errorf("generic order %s, want BCA", got)
	}
	for o, want := range map[string]float64{"ABC": 5, "ACB": 5, "BAC": 6, "BCA": 6, "CAB": 1, "CBA": 3} {
		near(t, o, p.Value(p.Finish(order(o))), want)
	}
	near(t, "A in C,A,B", p.Finish(order("CAB"))[0], 4)
	byDue := p.byDue(0)
	if letters(byDue) != "CBA" {
		t.Errorf("by the first deadlines: %s, want CBA", letters(byDue))
	}
	effort := DefaultEffort
	if v, moved := newPacker(p).improve(byDue, 3, &effort); v != 1 || moved != 1 || letters(byDue) != "CAB" {
		t.Errorf("%d moves lead to %s, which costs %v; want one move to CAB, 1", moved, letters(byDue), v)
	}
	near(t, "flex", p.Solve(Attempt{}).Value, 1)
}

func TestX13MaxStretch(t *testing.T) {
	facts := []Facts{{Arrival: 0, Base: 20}, {Arrival: 9, Base: 2}, {Arrival: 5, Base: 10}}
	base := &Problem{Slots: 1, Start: 10, Jobs: []Job{{Work: 4, Max: 1}, {Work: 2, Max: 1}, {Work: 10, Max: 1}}}
	p := base.under("max-stretch", func(i int) Facts { return facts[i] })
	done := p.Finish(order("BCA"))
	for i, want := range []float64{13. / 10, 3. / 2, 17. / 10} {
		near(t, "stretch", p.Jobs[i].Penalty.At(done[i]), want)
	}
	due := make([]float64, 3)
	p.latest(1.7, due)
	allNear(t, "due dates", due, 26, 12.4, 22) // A's 34 is cut to the horizon, 10 + 16
	for o, want := range map[string]float64{"BCA": 1.7, "BAC": 2.1, "ABC": 3.5, "CBA": 6.5, "ACB": 8.5, "CAB": 8.5} {
		near(t, o, p.Value(p.Finish(order(o))), want)
	}
	if s := p.Solve(Attempt{}); letters(s.Order) != "BCA" {
		t.Errorf("flex: %s", letters(s.Order))
	}
	q := base.under("avg-stretch", func(i int) Facts { return facts[i] })
	s := q.Solve(Attempt{})
	near(t, "sum of stretches", s.Value, 22./5)
	if letters(s.Order) != "BAC" {
		t.Errorf("least average stretch: %s, want BAC", letters(s.Order))
	}
}

// one makes a problem of one slot.
func one(tau []float64, penalty func(i int) Penalty) *Problem {
	p := &Problem{Slots: 1}
	for i, x := range tau {
		p.Jobs = append(p.Jobs, Job{Work: x, Max: 1, Penalty: penalty(i)})
	}
	return p
}

func TestX14ClassicalRules(t *testing.T) {
	tau, d := []float64{4, 2, 6, 3}, []float64{5, 6, 10, 8}
	count := func(w []float64) *Problem { return one(tau, func(i int) Penalty { return tardy(d[i], w[i]) }) }
	p := count([]float64{1, 1, 1, 1})
	moore := p.moore(0)
	if got := letters(moore[:2]); got != "BD" {
		t.Errorf("Moore-Hodgson: on time %s, want BD", got)
	}
	near(t, "tardy", p.Value(p.Finish(moore)), 2)
	p = count([]float64{10, 1, 10, 1})
	effort := DefaultEffort
	lm := p.lawlerMoore(&effort)
	if got := letters(lm[:2]); got != "AC" {
		t.Errorf("Lawler-Moore: on time %s, want AC", got)
	}
	near(t, "weight tardy", p.Value(p.Finish(lm)), 2)

	lawler := one([]float64{3, 2, 4}, func(i int) Penalty {
		return []Penalty{{Weight: 2}, {Shape: Ramp, Weight: 3, From: 4}, {Weight: 1}}[i]
	})
	lawler.Worst = true
	if got := letters(lawler.lawler()); got != "ABC" {
		t.Errorf("Lawler: %s, want ABC", got)
	}
	near(t, "largest", lawler.Value(lawler.Finish(lawler.lawler())), 9)

	d = []float64{4, 3, 5, 6}
	late := func(w ...float64) *Problem {
		return one([]float64{3, 2, 4, 5}, func(i int) Penalty { return ramp(d[i], w[i]) })
	}
	p = late(1, 1, 1, 1)
	for o, want := range map[string]float64{"BACD": 13, "ABCD": 14, "BADC": 14, "BCAD": 14} {
		near(t, o, p.Value(p.Finish(order(o))), want)
	}
	for name, o := range map[string][]int{"modified due date": p.modifiedDue(), "subsets": p.subsets()} {
		if letters(o) != "BACD" {
			t.Errorf("%s: %s, want BACD", name, letters(o))
		}
	}
	p = late(1, 1, 4, 1)
	if got := letters(p.subsets()); got != "CBAD" {
		t.Errorf("weighted: %s, want CBAD", got)
	}
	near(t, "weighted", p.Value(p.Finish(p.subsets())), 16)
}

// Lemma 1 of the paper, that some packing is optimal, fails where maxima bind: a schedule meets all deadlines, and no
// packing does (2.6 of the page).
func TestX15LemmaOne(t *testing.T) {
	d := []float64{1, 1.5, 2.5}
	facts := func(i int) Facts { return Facts{Deadline: d[i], Weight: 1} }
	for _, c := range []struct {
		name  string
		jobs  *Problem
		slots [][]int // of the schedule that meets the deadlines
		until []float64
	}{
		{
			"without minima", jobs(2, [3]float64{1, 0, 1}, [3]float64{1, 0, 1}, [3]float64{2, 0, 1}),
			[][]int{{1, 1, 0}, {1, 0, 1}, {0, 1, 1}, {0, 0, 1}}, []float64{.5, 1, 1.5, 2.5},
		},
		{
			"with minima", jobs(20, [3]float64{10, 1, 10}, [3]float64{10, 1, 10}, [3]float64{20, 1, 10}),
			[][]int{{10, 5, 5}, {0, 10, 10}, {0, 0, 10}}, []float64{1, 1.5, 2.5},
		},
	} {
		done, from := make([]float64, 3), 0.0
		left := []float64{c.jobs.Jobs[0].Work, c.jobs.Jobs[1].Work, c.jobs.Jobs[2].Work}
		for k, slots := range c.slots {
			sum := 0
			for i, s := range slots {
				sum += s
				if left[i] > 0 && (s < c.jobs.Jobs[i].Min || s > c.jobs.Jobs[i].Max) {
					t.Errorf("%s: job %d has %d slots", c.name, i, s)
				}
				if left[i] -= float64(s) * (c.until[k] - from); left[i] <= 0 && done[i] == 0 {
					done[i] = c.until[k]
				}
			}
			if sum > c.jobs.Slots {
				t.Errorf("%s: %d slots used", c.name, sum)
			}
			from = c.until[k]
		}
		if p := c.jobs.under("max-lateness", facts); p.Value(done) > 0 {
			t.Errorf("%s: the schedule is late: %v", c.name, done)
		}
		if _, best, _ := c.jobs.under("max-lateness", facts).Best(1 << 30); best <= 0 {
			t.Errorf("%s: some packing meets all deadlines: lateness %v", c.name, best)
		}
		if _, best, _ := c.jobs.under("tardy", facts).Best(1 << 30); best != 1 {
			t.Errorf("%s: %v tardy in the best packing, want 1", c.name, best)
		}
	}
	p := jobs(2, [3]float64{1, 0, 1}, [3]float64{1, 0, 1}, [3]float64{2, 0, 1})
	for o, want := range map[string][]float64{
		"ABC": {1, 1, 3}, "ACB": {1, 2, 2}, "CAB": {1, 2, 2}, "BAC": {1, 1, 3}, "BCA": {2, 1, 2}, "CBA": {2, 1, 2},
	} {
		allNear(t, o, p.Finish(order(o)), want...)
	}
	_, best, _ := p.under("max-lateness", facts).Best(1 << 30)
	near(t, "least lateness", best, .5)
}

func TestX16Metrics(t *testing.T) {
	p := x4()
	d := []float64{6, 8, 8, 14}
	facts := func(i int) Facts {
		return Facts{Deadline: d[i], Weight: 1, Base: p.Jobs[i].Work / float64(p.Jobs[i].Max)}
	}
	for metric, want := range map[string]float64{
		"tardy": 1, "tardiness": 2, "max-lateness": 1, "makespan": 15, "avg-stretch": 25. / 4, "max-stretch": 2,
	} {
		q := p.under(metric, facts)
		_, best, _ := q.Best(1 << 30)
		near(t, metric, best, want)
		near(t, metric+", flex", q.Solve(Attempt{}).Value, want)
	}
	allNear(t, "A,C,D,B", p.Finish(order("ACDB")), 4, 15, 6, 12)
	allNear(t, "A,B,C,D", p.Finish(order("ABCD")), 4, 15./2, 21./2, 15)
	q := p.under("max-lateness", facts)
	near(t, "due dates, ties by id", q.Value(q.Finish(order("ABCD"))), 5./2)
	if got := letters(q.byDue(0)); got != "ACBD" {
		t.Errorf("due dates, ties by laxity: %s, want ACBD", got)
	}
	q = p.under("max-stretch", facts)
	near(t, "shortest first", q.Value(q.Finish(q.wsptOfWork())), 9./4)
}

// wsptOfWork is the order by work.
func (p *Problem) wsptOfWork() []int {
	return sorted(len(p.Jobs), func(i int) (work, arrival float64) { return p.Jobs[i].Work, 0 })
}

// Cases worked out by hand that are not among the vectors: jobs whose deadline has passed, without a weight, without a
// deadline; minima that fill the cluster; more jobs than slots; objectives below zero.
func TestSolveByHand(t *testing.T) {
	for _, c := range []struct {
		name, metric string
		slots        int
		start        float64
		jobs         [][3]float64
		facts        []Facts
		order        string
		value        float64
	}{
		{"A is late anyway", "tardy", 2, 10, [][3]float64{{4, 0, 2}, {2, 0, 2}}, due(5, 11), "BA", 1},
		{"8 is less than 7 + 2", "tardiness", 2, 10, [][3]float64{{4, 0, 2}, {2, 0, 2}}, due(5, 11), "BA", 8},
		{"8 is more than 7", "max-lateness", 2, 10, [][3]float64{{4, 0, 2}, {2, 0, 2}}, due(5, 11), "AB", 7},
		{"at the deadline is in time", "tardy", 10, 0, [][3]float64{{3, 0, 10}, {6, 0, 10}}, due(.3, .9), "AB", 0},
		{"no deadline", "tardiness", 1, 0, [][3]float64{{3, 0, 1}, {1, 0, 1}}, due(math.Inf(1), 1), "BA", 0},
		{"early by 7 at least", "max-lateness", 1, 0, [][3]float64{{1, 0, 1}, {2, 0, 1}}, due(10, 10), "AB", -7},
		{
			"without a weight last", "weighted-response", 1, 0, [][3]float64{{1, 0, 1}, {10, 0, 1}},
			[]Facts{{}, {Weight: 1}}, "BA", 10,
		},
		{"minima are all slots", "makespan", 4, 0, [][3]float64{{4, 2, 4}, {12, 2, 4}}, due(0, 0), "AB", 4},
		{
			"the minimum of A is the slot", "avg-response", 1, 0, [][3]float64{{9, 1, 1}, {1, 0, 1}, {2, 0, 1}},
			due(0, 0, 0), "ABC", 31,
		},
	} {
		p := jobs(c.slots, c.jobs...)
		p.Start = c.start
		s := p.under(c.metric, func(i int) Facts { return c.facts[i] }).Solve(Attempt{})
		if got := letters(s.Order); got != c.order || math.Abs(s.Value-c.value) > 1e-9 {
			t.Errorf("%s, %s: order %s, value %v, want %s, %v", c.metric, c.name, got, s.Value, c.order, c.value)
		}
	}
}

// due returns facts of jobs of weight one with these deadlines.
func due(deadlines ...float64) (facts []Facts) {
	for _, d := range deadlines {
		facts = append(facts, Facts{Deadline: d, Weight: 1})
	}
	return facts
}

// The expected penalty of a normal completion is the mean of the sure ones, summed over its law here; and it does not
// decrease with the mean of the completion.
func TestExpectedPenalty(t *testing.T) {
	for _, c := range []Penalty{
		{Weight: 2, From: 3},
		{Shape: Ramp, Weight: 2, From: 20},
		{Shape: Ramp, Weight: 2, From: 5},
		{Shape: Stairs, Steps: []Step{{12, 1}, {25, 4}}},
		{Shape: Stairs, Steps: []Step{{8, 3}, {25, 4}}},
	} {
		law := c
		law.Spread, law.Since = 0.2, 10
		last := math.Inf(-1)
		for at := 10.5; at < 60; at += 0.5 {
			deviation, sum := 0.2*(at-10), 0.0
			const parts = 20_000
			for k := range parts {
				z := math.Sqrt2 * math.Erfinv(2*(float64(k)+0.5)/parts-1)
				sum += c.sure(max(10, at+z*deviation)) / parts
			}
			got := law.At(at)
			if math.Abs(got-sum) > 2e-3*max(1, sum) {
				t.Fatalf("%+v at %v: %v, summed %v", c, at, got, sum)
			}
			if got < last {
				t.Fatalf("%+v at %v: %v, before it %v", c, at, got, last)
			}
			last = got
		}
		by := law.Latest(1, 10, 60)
		if !math.IsInf(by, -1) && (law.At(by) > 1+1e-6 || by < 60 && law.At(by+0.01) <= 1) {
			t.Errorf("%+v costs at most 1 until %v, where it costs %v", c, by, law.At(by))
		}
	}
}
