package theory

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// column returns what f picks of each step, by step and user.
func column(steps []LongTermStep, f func(LongTermStep) []int64) (rows [][]int64) {
	for _, s := range steps {
		rows = append(rows, f(s))
	}
	return rows
}

func gotOf(s LongTermStep) []int64    { return s.Got }
func totalOf(s LongTermStep) []int64  { return s.Total }
func demandOf(s LongTermStep) []int64 { return s.Demand }

func wantRows(t *testing.T, what string, got, want [][]int64) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

var (
	equalTwo  = []int64{1, 1}
	twoUsers  = [][]int64{{40, 200}, {80, 120}, {160, 100}, {120, 100}}
	everySlot = LongTermRule{Capacity: 200, Discount: WholeShare}
)

// LTYARN 4.1: two users, 200 units.
func TestLTYARN41TwoUsers(t *testing.T) {
	mlrf := LongTermRule{Capacity: 200, Memoryless: true}.LongTermSteps(equalTwo, twoUsers, 0)
	wantRows(t, "MLRF demand", column(mlrf, demandOf), [][]int64{{40, 200}, {80, 160}, {160, 140}, {180, 140}})
	wantRows(t, "MLRF", column(mlrf, gotOf), [][]int64{{40, 160}, {80, 120}, {100, 100}, {100, 100}})
	wantRows(t, "MLRF totals", column(mlrf, totalOf), [][]int64{{40, 160}, {120, 280}, {220, 380}, {320, 480}})
	ltrf := everySlot.LongTermSteps(equalTwo, twoUsers, 0)
	wantRows(t, "LTRF demand", column(ltrf, demandOf), [][]int64{{40, 200}, {80, 160}, {160, 140}, {120, 200}})
	wantRows(t, "LTRF", column(ltrf, gotOf), [][]int64{{40, 160}, {80, 120}, {160, 40}, {120, 80}})
	wantRows(t, "LTRF totals", column(ltrf, totalOf), [][]int64{{40, 160}, {120, 280}, {280, 320}, {400, 400}})

	half := LongTermRule{Capacity: 200, Discount: WholeShare / 2}.LongTermSteps(equalTwo, twoUsers, 0)
	wantRows(t, "LTRF at half", column(half, gotOf), column(ltrf, gotOf))
	counted := column(half, func(s LongTermStep) []int64 {
		return []int64{s.Counted[0] / WholeShare, s.Counted[1] / WholeShare}
	})
	wantRows(t, "counted at half", counted, [][]int64{{40, 130}, {120, 240}, {250, 280}, {360, 360}})

	for i, c := range []struct{ lent, back int64 }{{60, 0}, {20, 0}, {0, 60}, {0, 20}} {
		lent, borrowed := Loans([]int64{100, 100}, ltrf[i].Got)
		if lent[0] != c.lent || borrowed[0] != c.back || lent[0] != borrowed[1] || lent[1] != borrowed[0] {
			t.Errorf("step %d: lent %v, borrowed %v", i+1, lent, borrowed)
		}
	}
}

// LTYARN 4.1: the measures of sharing.
func TestLTYARN41Measures(t *testing.T) {
	for _, c := range []struct {
		rule      LongTermRule
		a, b, psi []float64
	}{
		{
			LongTermRule{Capacity: 200, Memoryless: true}, []float64{1, 1, 1, 1},
			[]float64{1.6, 1.4, 38. / 30, 1.2}, []float64{0.6, 0.4, 8. / 30, 0.2},
		},
		{
			everySlot, []float64{1, 1, 14. / 11, 1.25},
			[]float64{1.6, 1.4, 32. / 30, 1}, []float64{.6, .4, 3./11 + 2./30, .25},
		},
	} {
		for i, s := range c.rule.LongTermSteps(equalTwo, twoUsers, 0) {
			near(t, fmt.Sprint("β of A at ", i+1), s.Benefit[0], c.a[i], exact)
			near(t, fmt.Sprint("β of B at ", i+1), s.Benefit[1], c.b[i], exact)
			near(t, fmt.Sprint("Ψ at ", i+1), SharingBenefit(s.Benefit), c.psi[i], exact)
			near(t, fmt.Sprint("Ω at ", i+1), SharingLoss(s.Benefit), 0, exact)
		}
	}
	if Benefit(0, 0) != 1 || SharingLoss([]float64{0.5, 2, 0.75}) != -0.75 ||
		SharingBenefit([]float64{0.5, 2, 0.75}) != 1 {
		t.Error("β without demand, Ω or Ψ")
	}
}

// LTYARN 4.1, B declines to borrow: it asks for no more than its share, and its rest waits.
func TestLTYARN41Declines(t *testing.T) {
	users := []LongTermUser{{Weight: 1}, {Weight: 1}}
	var rest, total [2]int64
	for _, fresh := range [][2]int64{{40, 100}, {80, 100}, {160, 100}, {120, 100}} {
		for i := range users {
			users[i].Demand = min(100, rest[i]+fresh[i]) // neither takes more than its share
			rest[i] += fresh[i] - users[i].Demand
		}
		for i, g := range everySlot.Divide(users) {
			users[i].Used += g * WholeShare
			total[i] += g
		}
	}
	if total != [2]int64{320, 400} {
		t.Errorf("totals %v, want 320 and 400", total)
	}
}

// LTYARN 4.2: the same at half the size.
func TestLTYARN42HalfSize(t *testing.T) {
	fresh := [][]int64{{20, 100}, {40, 60}, {80, 50}, {60, 50}}
	mlrf := LongTermRule{Capacity: 100, Memoryless: true}.LongTermSteps(equalTwo, fresh, 0)
	wantRows(t, "MLRF demand", column(mlrf, demandOf), [][]int64{{20, 100}, {40, 80}, {80, 70}, {90, 70}})
	wantRows(t, "MLRF", column(mlrf, gotOf), [][]int64{{20, 80}, {40, 60}, {50, 50}, {50, 50}})
	for i, want := range []int64{30, 10, 0, 0} {
		if lent, _ := Loans([]int64{50, 50}, mlrf[i].Got); lent[0] != want {
			t.Errorf("step %d: A lends %d, want %d", i+1, lent[0], want)
		}
	}
	ltrf := LongTermRule{Capacity: 100, Discount: WholeShare}.LongTermSteps(equalTwo, fresh, 0)
	wantRows(t, "LTRF", column(ltrf, gotOf), [][]int64{{20, 80}, {40, 60}, {80, 20}, {60, 40}})
	wantRows(t, "LTRF totals", column(ltrf, totalOf)[3:], [][]int64{{200, 200}})
}

// LTYARN 4.3: weights 2 and 1.
func TestLTYARN43Weighted(t *testing.T) {
	fresh := [][]int64{{40, 300}, {100, 200}, {300, 100}, {200, 100}}
	mlrf := LongTermRule{Capacity: 300, Memoryless: true}.LongTermSteps([]int64{2, 1}, fresh, 0)
	wantRows(t, "MLRF", column(mlrf, gotOf), [][]int64{{40, 260}, {100, 200}, {200, 100}, {200, 100}})
	ltrf := LongTermRule{Capacity: 300, Discount: WholeShare}.LongTermSteps([]int64{2, 1}, fresh, 0)
	wantRows(t, "LTRF", column(ltrf, gotOf), [][]int64{{40, 260}, {100, 200}, {300, 0}, {200, 100}})
	wantRows(t, "totals", [][]int64{mlrf[3].Total, ltrf[3].Total}, [][]int64{{540, 660}, {640, 560}})
}

// LTYARN 4.4: three users, a late burst; the discount is not neutral.
func TestLTYARN44LateBurst(t *testing.T) {
	weights := []int64{1, 1, 1}
	fresh := [][]int64{{0, 150, 150}, {0, 150, 150}, {150, 150, 150}, {150, 150, 150}, {150, 150, 150}}
	for _, c := range []struct {
		rule LongTermRule
		want [][]int64
		sum  []int64
	}{
		{
			LongTermRule{Capacity: 150, Memoryless: true},
			[][]int64{{0, 75, 75}, {0, 75, 75}, {50, 50, 50}, {50, 50, 50}, {50, 50, 50}}, []int64{150, 300, 300},
		},
		{
			LongTermRule{Capacity: 150, Discount: WholeShare},
			[][]int64{{0, 75, 75}, {0, 75, 75}, {150, 0, 0}, {50, 50, 50}, {50, 50, 50}}, []int64{250, 250, 250},
		},
		{
			LongTermRule{Capacity: 150, Discount: WholeShare / 2},
			[][]int64{{0, 75, 75}, {0, 75, 75}, {150, 0, 0}, {75, 38, 37}, {50, 50, 50}}, []int64{275, 238, 237},
		},
	} {
		steps := c.rule.LongTermSteps(weights, fresh, 0)
		wantRows(t, fmt.Sprintf("%+v", c.rule), column(steps, gotOf), c.want)
		wantRows(t, fmt.Sprintf("%+v totals", c.rule), [][]int64{steps[4].Total}, [][]int64{c.sum})
	}
}

// LTYARN 4.5: rounds of two steps.
func TestLTYARN45RoundReset(t *testing.T) {
	steps := everySlot.LongTermSteps(equalTwo, twoUsers, 2)
	wantRows(t, "LTRF in rounds", column(steps, gotOf)[2:], [][]int64{{100, 100}, {100, 100}})
	wantRows(t, "totals", [][]int64{steps[3].Total}, [][]int64{{320, 480}})
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

// Apportion gives whole parts that sum to the total, each its quota rounded down or up.
func TestApportion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(0, 1<<40).Draw(t, "total")
		weights := rapid.SliceOfN(rapid.Int64Range(0, 1<<50), 1, 9).Draw(t, "weights")
		parts, sum, whole := Apportion(total, weights), int64(0), int64(0)
		for i, w := range weights {
			sum, whole = sum+parts[i], whole+w
		}
		if want := total; whole > 0 && sum != want || whole == 0 && sum != 0 {
			t.Fatalf("%v of %v by %v", parts, total, weights)
		}
		for i, w := range weights {
			if quota := float64(total) * float64(w) / float64(whole); whole > 0 &&
				math.Abs(float64(parts[i])-quota) > 1.01 {
				t.Fatalf("part %d is %d of quota %v", i, parts[i], quota)
			}
		}
	})
	wantRows(t, "thirds", [][]int64{Apportion(100, []int64{1, 1, 1})}, [][]int64{{34, 33, 33}})
}

// What is lent and what is borrowed are the same sum, and neither is more than a user's spare or excess.
func TestLoansBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "users")
		share := rapid.SliceOfN(rapid.Int64Range(0, 1e6), n, n).Draw(t, "share")
		held := rapid.SliceOfN(rapid.Int64Range(0, 1e6), n, n).Draw(t, "held")
		lent, borrowed := Loans(share, held)
		var a, b int64
		for i := range share {
			a, b = a+lent[i], b+borrowed[i]
			if lent[i] > max(0, share[i]-held[i]) || borrowed[i] > max(0, held[i]-share[i]) || lent[i] < 0 ||
				borrowed[i] < 0 {
				t.Fatalf("user %d with %d of %d lends %d, borrows %d", i, held[i], share[i], lent[i], borrowed[i])
			}
		}
		if a != b {
			t.Fatalf("%d is lent and %d borrowed", a, b)
		}
	})
}

// Cases worked out by hand that are not among the vectors: a tie, a newcomer in debt, who leaves in debt, unequal
// weights, borrowing that does not count.
func TestLongTermDivideByHand(t *testing.T) {
	steps := func(capacity, discount int64, demand [][]int64) (got [][]int64) {
		users := make([]int64, len(demand[0]))
		for i := range users {
			users[i] = 1
		}
		r := LongTermRule{Capacity: capacity, Discount: discount}
		for _, s := range r.LongTermSteps(users, demand, 0) {
			got = append(got, s.Got)
		}
		return got
	}
	wantRows(t, "an odd unit", steps(3, WholeShare, [][]int64{{9, 9}, {0, 0}}), [][]int64{{2, 1}, {1, 2}})
	wantRows(t, "leaves in debt", steps(2, WholeShare, [][]int64{{2, 0, 0}, {0, 2, 2}, {0, 0, 0}}),
		[][]int64{{2, 0, 0}, {0, 1, 1}, {0, 1, 1}})
	wantRows(t, "η = 0", steps(4, 0, [][]int64{{4, 0}, {4, 4}}), [][]int64{{4, 0}, {1, 3}})
	r := LongTermRule{Capacity: 4, Discount: WholeShare}
	wantRows(t, "comes in debt", [][]int64{
		r.Divide([]LongTermUser{{1, 4, 10 * WholeShare}, {1, 4, 0}}),
		r.Divide([]LongTermUser{{1, 4, 10 * WholeShare}, {1, 4, 8 * WholeShare}}),
		r.Divide([]LongTermUser{{3, 4, 0}, {1, 4, 0}}),
	}, [][]int64{{0, 4}, {1, 3}, {3, 1}})
}
