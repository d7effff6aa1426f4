package goals_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/theory/goals"
)

// The estimator's mean and deviation are those of the textbook.
func TestLengths(t *testing.T) {
	var l goals.Lengths
	if l.Known() || l.Mean() != 0 || l.StdDev() != 0 {
		t.Errorf("the estimator knows something without tasks: %+v", l)
	}
	for _, x := range []float64{2, 4, 4, 4, 5, 5, 7, 9} {
		l.Add(x)
	}
	equal(t, "the mean", l.Mean(), 5, 1e-12)
	equal(t, "the deviation", l.StdDev(), math.Sqrt(32.0/7), 1e-12)
}

// By whole waves 20 tasks of 60 s need 7 slots, if the goal is 200 s away: three waves fit, and six slots need four
// (2.3 of the page). It still holds enough slots when it has started 7, and one too few after 6.
func TestRequiredInWaves(t *testing.T) {
	s := goals.Stage{Mean: 60, Known: true, Unstarted: 20, Goal: 200}
	equal(t, "s_req", s.Required(0), 6, near)
	equal(t, "s_req by waves", s.RequiredInWaves(0), 7, 0)
	started := goals.Stage{Mean: 60, Known: true, Unstarted: 13, Running: 7, Left: 7 * 60, Goal: 200}
	equal(t, "s_req by waves when 7 tasks run", started.RequiredInWaves(0), 0, 0)
	started.Unstarted, started.Running, started.Left = 14, 6, 6*60
	equal(t, "s_req by waves when 6 tasks run", started.RequiredInWaves(0), 1, 0)
	equal(t, "s_req by waves with less than one left", s.RequiredInWaves(150), 20, 0)
}

// A stage without a goal wants all slots, or one for each task (2.4).
func TestRequiredAtOnce(t *testing.T) {
	s := goals.Stage{Unstarted: 20, Running: 3}
	equal(t, "s_req with many slots", s.RequiredAtOnce(100), 20, 0)
	equal(t, "s_req with few slots", s.RequiredAtOnce(10), 7, 0)
}

// A curve has the rank of its stage as time passes, and two of them do not change their order before the instant that
// Crosses names; so much later than it names that a change is sure, they have.
func TestCurves(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	stage := func() (goals.Stage, []float64) {
		s := goals.Stage{Mean: 50 + 450*r.Float64(), Known: true, Unstarted: r.IntN(40), Running: r.IntN(8)}
		s.Goal = 100 + 900*r.Float64() // all are late, or none is, after the draw of now
		starts := make([]float64, s.Running)
		for i := range starts {
			starts[i] = -r.Float64() * s.Mean
		}
		return s, starts
	}
	at := func(s goals.Stage, starts []float64, now float64) goals.Stage {
		for _, start := range starts {
			s.Left += goals.Remaining(s.Mean, now-start)
		}
		return s
	}
	crossed := 0
	for range 20000 {
		a, as := stage()
		b, bs := stage()
		now := 0.0
		if r.IntN(2) == 0 {
			a.Goal, b.Goal = a.Goal-2000, b.Goal-2000
		}
		holds := math.Inf(1) // until a task outlives the mean, or a goal passes
		for _, c := range []struct {
			s      goals.Stage
			starts []float64
		}{{a, as}, {b, bs}} {
			if c.s.Goal > 0 {
				holds = min(holds, c.s.Goal)
			}
			for _, start := range c.starts {
				holds = min(holds, start+c.s.Mean)
			}
		}
		x, y := at(a, as, now).Course(now, len(as)), at(b, bs, now).Course(now, len(bs))
		until := x.Crosses(y, now)
		order := func(t float64) int { return at(a, as, t).Standing(t, 0).Compare(at(b, bs, t).Standing(t, 0)) }
		before := order(now)
		last := min(until, holds, 5000)
		for k := range 20 {
			now := last * (float64(k) + 0.5) / 20
			if want, got := at(a, as, now).Standing(now, 0), x.At(now); !alike(got, want) {
				t.Fatalf("the curve of %+v is %+v at %v, and its rank %+v", a, got, now, want)
			}
			if last > 1e-6 && order(now) != before {
				t.Fatalf("%+v and %+v change their order at %v, before %v", a, b, now, until)
			}
		}
		if later := until + 1e-3*(1+until); later < holds {
			crossed++
			if order(later) == before {
				t.Fatalf("%+v and %+v are still in order at %v, after %v", a, b, later, until)
			}
		}
	}
	if crossed < 100 {
		t.Errorf("only %d of the pairs changed their order", crossed)
	}
}

func alike(a, b goals.Rank) bool {
	return a.Class == b.Class && a.Goal == b.Goal &&
		(a.Value == b.Value || math.Abs(a.Value-b.Value) <= 1e-9*(1+math.Abs(b.Value)))
}

// Check by hand: on 2 slots 200 slot-seconds by 100 s, 100 more by 150 s, can be met exactly; one second of work more
// cannot, and then the largest job is late, unless there are slots enough or all goals a little later.
func TestCheck(t *testing.T) {
	demands := []goals.Demand{{Work: 100, Goal: 150}, {Work: 200, Goal: 100}, {Work: 50, Goal: math.Inf(1)}}
	if v := goals.Check(0, 2, demands); !v.Met() || v.Slots != 2 || v.Delay != 0 {
		t.Errorf("what fits exactly: %+v", v)
	}
	demands[0].Work = 101
	want := goals.Verdict{Late: []int{1}, Slots: 301.0 / 150, Delay: 0.5}
	if v := goals.Check(0, 2, demands); !reflect.DeepEqual(v, want) {
		t.Errorf("one second too much: %+v, not %+v", v, want)
	}
	want.Slots, want.Delay = 200.0/90, 10.5
	if v := goals.Check(10, 2, demands); !reflect.DeepEqual(v, want) {
		t.Errorf("ten seconds later: %+v", v)
	}
	alone := []goals.Demand{{Work: 10, Goal: 5, Least: 10}, {Work: 10, Goal: 10}}
	if v := goals.Check(0, 100, alone); !reflect.DeepEqual(v.Late, []int{0}) || v.Delay != 5 {
		t.Errorf("a task that is longer than what is left: %+v", v)
	}
}

// Against brute force: Check leaves out as few demands as any choice could, and all goals can be met with the slots
// and the delay that it names, and not with less.
func TestCheckAgainstBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for range 2000 {
		demands := make([]goals.Demand, 1+r.IntN(7))
		for i := range demands {
			demands[i] = goals.Demand{Work: float64(1 + r.IntN(60)), Goal: float64(1 + r.IntN(40))}
		}
		slots := float64(1 + r.IntN(6))
		v := goals.Check(0, slots, demands)
		fewest := len(demands)
		for set := range 1 << len(demands) {
			if fits(demands, set, slots, 0) {
				fewest = min(fewest, len(demands)-ones(set))
			}
		}
		if len(v.Late) != fewest {
			t.Fatalf("%v on %v slots: %d are late, and %d would do", demands, slots, len(v.Late), fewest)
		}
		all := 1<<len(demands) - 1
		if !fits(demands, all, v.Slots*(1+1e-9), 0) || fits(demands, all, v.Slots*0.999, 0) {
			t.Fatalf("%v can be met on %v slots, or on less", demands, v.Slots)
		}
		if !fits(demands, all, slots, v.Delay+1e-9) || v.Delay > 0 && fits(demands, all, slots, v.Delay*0.999) {
			t.Fatalf("%v can be met on %v slots by a delay of %v, or by less", demands, slots, v.Delay)
		}
	}
}

// fits reports whether the chosen demands fit up to each goal.
func fits(demands []goals.Demand, set int, slots, delay float64) bool {
	for _, last := range demands {
		due := 0.0
		for i, d := range demands {
			if set>>i&1 == 1 && d.Goal <= last.Goal {
				due += d.Work
			}
		}
		if due > slots*(last.Goal+delay)*(1+1e-9) {
			return false
		}
	}
	return true
}

func ones(set int) (n int) {
	for ; set > 0; set &= set - 1 {
		n++
	}
	return n
}

// Hopeless gives up what no order can meet before it looks at the rest: on 2 slots the second demand takes longer than
// its goal is away and the third has missed its goal. So the others fit, up to the last slot-second.
func TestHopeless(t *testing.T) {
	demands := []goals.Demand{
		{Work: 200, Goal: 100}, {Work: 500, Goal: 90, Least: 91}, {Work: 900, Goal: -5, Missed: true},
		{Work: 100, Goal: 150},
	}
	if list := goals.Hopeless(0, 2, demands); !reflect.DeepEqual(list, []int{1, 2}) {
		t.Errorf("given up are %v", list)
	}
	demands[3].Work = 101
	if list := goals.Hopeless(0, 2, demands); !reflect.DeepEqual(list, []int{0, 1, 2}) {
		t.Errorf("with one slot-second more %v are given up", list)
	}
}
