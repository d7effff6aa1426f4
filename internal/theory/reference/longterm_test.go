package reference

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// exact is the tolerance where the specification gives exact rationals.
const exact = 1e-9

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance || math.IsNaN(got) {
		t.Errorf("%s: %.9g, want %.9g within %g", what, got, want, tolerance)
	}
}

// LTYARN 4.6: assumed execution times, rounds of 100, a quantum of 30.
func TestLTYARN46AssumedTime(t *testing.T) {
	ran := TaskSpan{Start: 190, Finish: 230, Started: true, Finished: true}
	old := TaskSpan{Start: 150, Started: true}
	young := TaskSpan{Start: 240, Started: true}
	gone := TaskSpan{Start: 180, Finish: 195, Started: true, Finished: true}
	for _, c := range []struct {
		task    TaskSpan
		t, want float64
	}{
		{ran, 195, 30}, {ran, 205, 30}, {ran, 229, 30}, {ran, 230, 30}, {ran, 299, 30}, {ran, 301, 0},
		{old, 250, 50}, {young, 250, 30}, {gone, 250, 0}, {TaskSpan{}, 250, 0}, {young, 239, 0},
	} {
		near(t, fmt.Sprintf("%+v at %v", c.task, c.t), c.task.AssumedTime(c.t, RoundStart(c.t, 100), 30), c.want, exact)
	}
	near(t, "round of 250", RoundStart(250, 100), 200, exact)
	near(t, "round of 0", RoundStart(0, 100), 0, exact)
	for _, c := range []struct {
		arrival float64
		tasks   []TaskSpan
		want    float64
	}{
		{260, nil, 260},
		{150, []TaskSpan{ran}, 200},
		{150, []TaskSpan{{Start: 215, Started: true}, {Start: 240, Started: true}}, 215},
	} {
		at, ok := RoundArrival(c.arrival, 200, c.tasks)
		if !ok || at != c.want {
			t.Errorf("arrival %v with %v: %v %v, want %v", c.arrival, c.tasks, at, ok, c.want)
		}
	}
	if _, ok := RoundArrival(150, 200, []TaskSpan{gone}); ok {
		t.Error("an application without a task in the round has arrived in it")
	}
}

// LTYARN 4.7: pseudo accumulated resources.
func TestLTYARN47PAR(t *testing.T) {
	near(t, "second", PseudoAccumulated(1, []Early{{1, 500}}), 500, exact)
	near(t, "third", PseudoAccumulated(1, []Early{{1, 700}, {1, 800}}), 800, exact)
	near(t, "weighted", PseudoAccumulated(1, []Early{{2, 500}}), 250, exact)
	near(t, "first", PseudoAccumulated(1, nil), 0, exact)

	// In the engine: Λ1 holds 10 units from 0 on; Λ2 comes at 50 with a weight of its own.
	for weight, want := range map[float64]float64{1: 500, 2: 250} {
		tree := LongTermTree{Root: &LongTermNode{Name: "root", Weight: 1}, Capacity: 20, Discount: 1}
		first := tree.Add(tree.Root, &LongTermNode{Name: "1", Weight: weight, Size: 10, Pending: 1})
		tree.Tick(0)
		tree.Start(first)
		tree.Tick(50)
		second := tree.Add(tree.Root, &LongTermNode{Name: "2", Weight: 1, Size: 10, Pending: 1})
		tree.Tick(50)
		near(t, "f of the second", tree.Accumulated(second), want, exact)
		near(t, "f of the first", tree.Accumulated(first), 500, exact)
		tree.Tick(80) // it stays what it was
		near(t, "f of the second later", tree.Accumulated(second), want, exact)
	}
}

// LTYARN 4.8: quanta follow what is finished, from the bottom up.
func TestLTYARN48Quantum(t *testing.T) {
	root := NewQuantum(600)
	p1 := root.Below()
	l1 := p1.Below()
	a := l1.Below()
	want := func(what string, of map[*Quantum]float64) {
		for q, w := range of {
			near(t, what, q.Assumed, w, exact)
		}
	}
	want("new", map[*Quantum]float64{root: 600, p1: 600, l1: 600, a: 600})
	a.Finished(10)
	a.Finished(12)
	want("of A", map[*Quantum]float64{root: 11, p1: 11, l1: 11, a: 11})
	b := l1.Below()
	want("B inherits", map[*Quantum]float64{b: 11})
	b.Finished(31)
	want("of A and B", map[*Quantum]float64{root: 21, p1: 21, l1: 21, a: 11, b: 31})
	p2 := root.Below()
	c := p2.Below().Below()
	want("a new parent", map[*Quantum]float64{p2: 21, c: 21})
	c.Finished(41)
	want("two parents", map[*Quantum]float64{root: 31, p1: 21, p2: 41})
	a.Gone()
	b.Finished(33)
	want("without A", map[*Quantum]float64{b: 32, l1: 32, p1: 32})
}

// LTYARN 4.9: how accumulated resources jump down when short tasks end that were assumed to take 600 s. Of 107 running
// tasks 76 end within 11 s, having run for 11 s; containers stay 108, and the amounts are over these.
func TestLTYARN49Jump(t *testing.T) {
	tree := LongTermTree{Root: &LongTermNode{Name: "root", Weight: 1}, Capacity: 108, Discount: 1}
	app := tree.Add(tree.Root, &LongTermNode{Name: "facebook", Weight: 1, Size: 1, Quantum: 600, Pending: 107})
	tree.Tick(0)
	var running []*LongTermTask
	for range 107 {
		running = append(running, tree.Start(app))
	}
	before := tree.Accumulated(app)
	tree.Tick(11)
	near(t, "nothing ended", tree.Accumulated(app), before, 1e-9)
	for _, task := range running[:76] {
		near(t, "time", tree.Finish(task), 11, exact)
	}
	near(t, "fall", (before-tree.Accumulated(app))/108, 76*(600.-11)/108, 1e-9)
	if fall := (before - tree.Accumulated(app)) / 108; math.Abs(fall-414) > 1 {
		t.Errorf("it falls by %.1f, want about 414", fall)
	}
}

// In the engine, 2.6: what is accumulated is the sum of assumed times, whatever the instants of ticks, as long as
// nothing is above its share.
func TestLongTermTreeAgainstFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const length, quantum = 50., 7.
		tree := LongTermTree{Root: &LongTermNode{Name: "root", Weight: 1}, Capacity: 100, Discount: 1, Round: length}
		app := tree.Add(tree.Root, &LongTermNode{Name: "a", Weight: 1, Size: 2, Quantum: quantum, Pending: 1000})
		var spans []TaskSpan
		var running []*LongTermTask
		var which []int
		now := 0.0
		tree.Tick(0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now += float64(rapid.IntRange(0, 20).Draw(t, "wait"))
			tree.Tick(now)
			if rapid.Bool().Draw(t, "start") {
				running = append(running, tree.Start(app))
				which = append(which, len(spans))
				spans = append(spans, TaskSpan{Start: now, Started: true})
			} else if len(running) > 0 {
				i := rapid.IntRange(0, len(running)-1).Draw(t, "which")
				tree.Finish(running[i])
				spans[which[i]].Finish, spans[which[i]].Finished = now, true
				running, which = slices.Delete(running, i, i+1), slices.Delete(which, i, i+1)
			}
			want := 0.0
			for _, s := range spans {
				want += 2 * s.AssumedTime(now, RoundStart(now, length), quantum)
			}
			if got := tree.Accumulated(app); math.Abs(got-want) > 1e-6 {
				t.Fatalf("at %v: %v, want %v", now, got, want)
			}
		}
	})
}

// In the engine, 2.6: below the minimum share first, maxima never exceeded, ties by what is held now, discounts.
func TestLongTermTreeOrder(t *testing.T) {
	tree := LongTermTree{Root: &LongTermNode{Name: "root", Weight: 1}, Capacity: 12, Discount: 0.5}
	a := tree.Add(tree.Root, &LongTermNode{Name: "a", Weight: 1, Size: 1, Quantum: 10, Pending: 20, Max: 7})
	b := tree.Add(tree.Root, &LongTermNode{Name: "b", Weight: 1, Size: 1, Quantum: 10})
	c := tree.Add(tree.Root, &LongTermNode{Name: "c", Weight: 1, Size: 1, Quantum: 10, Min: 2, Pending: 3})
	tree.Tick(0)
	order := ""
	for free := 12.0; free > 0; free-- {
		n := tree.Next(free)
		if n == nil {
			break
		}
		order += n.Name
		tree.Start(n)
	}
	// c has its minimum; a draws level and goes first of equals, then c; a ends at its maximum.
	if order != "ccaaacaaaa" {
		t.Errorf("order %s", order)
	}
	if tree.Share(a) != 4 || tree.Share(b) != 4 {
		t.Errorf("shares %v and %v, want 4", tree.Share(a), tree.Share(b))
	}
	tree.Tick(20)
	near(t, "f of a", tree.Accumulated(a), (4+0.5*3)*20, exact) // 7 held, 3 above the share at half
	near(t, "f of c", tree.Accumulated(c), 3*20, exact)
	b.Pending = 5
	if n := tree.Next(1); n != b {
		t.Errorf("%v is next, want b, which has accumulated nothing", n.Name)
	}
	if n := tree.Next(0.5); n != nil {
		t.Errorf("%v fits into half a unit", n.Name)
	}
	for _, order := range []LongTermOrder{MemorylessMaxMin, ArrivalOrder} {
		tree.Root.Order = order
		if n := tree.Next(1); n != b {
			t.Errorf("order %d: %v is next, want b: a is at its maximum, c has no task that waits", order, n.Name)
		}
	}
}
