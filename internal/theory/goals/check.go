package goals

import (
	"cmp"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/priority"
)

// A Demand is what is left of a job for slots of one kind, and when it is to be through.
type Demand struct {
	Work  float64 // slot-seconds
	Goal  float64 // instant
	Least float64 // seconds that it takes at least, on any number of slots: what is left of its longest task
	// Missed says that the goal has passed. Then the work is served before all other work, as the policy does, and the
	// demand is not called late.
	Missed bool
}

// A Verdict says whether all of a set of demands can be met.
type Verdict struct {
	Late  []int   // demands that cannot all be met, by index, rising; the others can
	Slots float64 // slots with which all could be met, but for those whose goal is nearer than Least
	Delay float64 // by how many seconds all goals would have to be later, on the slots that there are
}

// Met reports whether all demands can be met.
func (v Verdict) Met() bool { return len(v.Late) == 0 }

// Check tells whether a number of slots can meet all demands from now on, if slots are divisible and jobs can be
// interrupted: whatever it calls late, no schedule can meet together with the rest. The earliest goal first meets all
// goals if any order does; so they can be met if up to each goal the work that is due by then fits into the slots
// (Horn, Some simple scheduling algorithms, 1974). Of demands that cannot be met together the one with the most work
// is late, which leaves as few late as possible (Moore, An n job, one machine sequencing algorithm for minimizing the
// number of late jobs, 1968). A demand whose goal is nearer than Least is late, and its work is served first, as the
// policy serves late jobs. O(n log n).
func Check(now, slots float64, demands []Demand) Verdict {
	order := make([]int, len(demands))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(demands[a].Goal, demands[b].Goal) })
	var v Verdict
	var due, kept float64 // work due so far: of all demands, and of those that are not late
	for _, i := range order {
		switch d := &demands[i]; {
		case d.Missed:
			due += d.Work
			kept += d.Work
		case now+d.Least > d.Goal:
			v.Late = append(v.Late, i)
			v.Delay = max(v.Delay, now+d.Least-d.Goal)
			due += d.Work
			kept += d.Work
		}
	}
	var largest priority.Queue[load]
	for _, i := range order {
		d := &demands[i]
		left := d.Goal - now
		if d.Missed || now+d.Least > d.Goal || math.IsInf(d.Goal, 1) {
			continue
		}
		due += d.Work
		kept += d.Work
		largest.Push(load{d.Work, i})
		if left > 0 {
			v.Slots = max(v.Slots, due/left)
		}
		v.Delay = max(v.Delay, due/slots-left)
		for kept > slots*left*(1+1e-12) && len(largest) > 0 {
			late := largest.Pop()
			kept -= late.work
			v.Late = append(v.Late, late.demand)
		}
	}
	slices.Sort(v.Late)
	return v
}

// Hopeless returns the demands to give up, by index, rising, so that as few as possible are late: those whose goal has
// passed or is nearer than Least, and those that Check calls late beside the others alone. O(n log n).
func Hopeless(now, slots float64, demands []Demand) (list []int) {
	var rest []Demand
	var of []int // by demand of rest: its index
	for i, d := range demands {
		if d.Missed || now+d.Least > d.Goal {
			list = append(list, i)
			continue
		}
		rest, of = append(rest, d), append(of, i)
	}
	for _, i := range Check(now, slots, rest).Late {
		list = append(list, of[i])
	}
	slices.Sort(list)
	return list
}

// A load is the work of a demand.
type load struct {
	work   float64
	demand int // by index
}

// Before implements priority.Ordered: the most work comes first.
func (a load) Before(b load) bool { return a.work > b.work }
