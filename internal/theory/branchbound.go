package theory

import (
	"cmp"
	"math"
	"slices"
)

// BranchBound looks for the best of all orders of the simulator's jobs in which the first fixed ones keep the places
// that they have in start. It builds orders from the front, those of lower job index first, and gives up a beginning
// once none of its continuations can be better than the best order known. It reports whether it got through: then the
// order is the one that a search of all orders finds, of equal ones the first in lexicographic order; else it is the
// best one seen, never worse than start.
//
// Steps of search bounds how many beginnings are looked at, at O(n log n) each for n jobs; its Seed is not used. The
// bounds hold whatever the order of the other jobs is, for three reasons. Maps do not depend on the jobs behind, so the
// maps of a beginning run at the same instants in all its orders. The map slots give the other jobs only what the
// beginning leaves, in whichever order these jobs end. And no job is complete before its reduces could be, had they all
// reduce slots.
func (s *SlotSim) BranchBound(start []int, fixed int, search LocalSearch) (order []int, r Result, complete bool) {
	b := newBranching(s, start, search)
	for depth, i := range start[:fixed] {
		b.put(depth, i)
	}
	complete = b.visit(fixed)
	return b.best, b.result, complete
}

// branching is a depth-first walk over beginnings of orders.
type branching struct {
	sim    *SlotSim
	goal   Goal
	steps  int
	best   []int
	result Result
	found  bool // best is a leaf of the walk, and not only the start

	order  []int
	placed []bool    // by job
	mapped []float64 // by job that is placed
	tail   []float64 // by job: what its reduces take at least
	rising []int     // jobs by rising map work
	short  []int     // jobs by rising reduce work
	free   []batches // by depth: when map slots are free of the maps of that many jobs
	supply []batch   // of one bound: slots by the instant from which they are free
	due    []release // of one bound
}

// release is when the reduces of a job may start, and what they take of the whole cluster.
type release struct{ at, work float64 }

func newBranching(s *SlotSim, start []int, search LocalSearch) *branching {
	n := len(s.jobs)
	b := &branching{
		sim: s, goal: search.Goal, steps: search.Steps, best: slices.Clone(start), result: s.Run(start),
		order: make([]int, n), placed: make([]bool, n), mapped: make([]float64, n), tail: make([]float64, n),
		rising: indices(n), short: indices(n), free: make([]batches, n+1),
	}
	b.free[0].push(batch{slots: s.slots.Map})
	for i, j := range s.jobs {
		b.tail[i] = float64(Waves(j.Reduces, s.slots.Reduce)) * j.ReduceTime
	}
	slices.SortStableFunc(b.rising, func(i, k int) int { return cmp.Compare(s.jobs[i].mapWork(), s.jobs[k].mapWork()) })
	slices.SortStableFunc(b.short, func(i, k int) int {
		return cmp.Compare(s.jobs[i].reduceWork(), s.jobs[k].reduceWork())
	})
	return b
}

func (j SlotJob) mapWork() float64    { return float64(j.Maps) * j.MapTime }
func (j SlotJob) reduceWork() float64 { return float64(j.Reduces) * j.ReduceTime }

// visit tries every job at a depth, and reports whether the steps sufficed.
func (b *branching) visit(depth int) bool {
	if depth == len(b.order) {
		r := b.sim.Run(b.order)
		if !b.hopeless(b.goal.Of(r)) {
			copy(b.best, b.order)
			b.result, b.found = r, true
		}
		return true
	}
	for i := range b.placed {
		if b.placed[i] || b.alike(i) {
			continue
		}
		if b.steps--; b.steps < 0 {
			return false
		}
		b.put(depth, i)
		through := b.hopeless(b.bound(depth+1)) || b.visit(depth+1)
		b.placed[i] = false
		if !through {
			return false
		}
	}
	return true
}

// alike reports whether a job like i, which comes before it in lexicographic order, is yet to be placed: orders that
// begin with either are equally good.
func (b *branching) alike(i int) bool {
	for k := range i {
		if !b.placed[k] && b.sim.jobs[k] == b.sim.jobs[i] {
			return true
		}
	}
	return false
}

// hopeless reports whether an order with a value would not be taken. An order as good as the start is, if none was
// before.
func (b *branching) hopeless(value float64) bool {
	if !b.found {
		return better(b.goal.Of(b.result), value)
	}
	return !better(value, b.goal.Of(b.result))
}

// put places job i behind the first depth jobs.
func (b *branching) put(depth, i int) {
	b.order[depth], b.placed[i] = i, true
	free := append(b.free[depth+1][:0], b.free[depth]...)
	j := b.sim.jobs[i]
	b.mapped[i] = 0
	for left := j.Maps; left > 0; {
		from := free.pop()
		n := min(left, from.slots)
		left -= n
		if rest := from.slots - n; rest > 0 {
			free.push(batch{from.until, rest})
		}
		b.mapped[i] = from.until + j.MapTime
		free.push(batch{b.mapped[i], n})
	}
	b.free[depth+1] = free
}

// bound returns a value that no order with the first depth jobs placed falls below.
func (b *branching) bound(depth int) float64 {
	b.supply = append(b.supply[:0], b.free[depth]...)
	slices.SortFunc(b.supply, func(x, y batch) int { return cmp.Compare(x.until, y.until) })
	if b.goal == LeastTotal {
		return b.leastTotal()
	}
	return b.leastMakespan()
}

// leastMakespan bounds the makespan from below by the longest of: a job by itself; all maps, then the shortest reduces
// of any job that may be mapped last; all reduces that may not start before an instant, for every instant.
func (b *branching) leastMakespan() float64 {
	least, last, work := 0.0, math.Inf(1), 0.0
	b.due = b.due[:0]
	for i, j := range b.sim.jobs {
		from := b.earliest(i)
		least = max(least, from+b.tail[i])
		b.due = append(b.due, release{from, j.reduceWork() / float64(b.sim.slots.Reduce)})
		if !b.placed[i] && j.Maps > 0 {
			last = min(last, b.tail[i])
			work += j.mapWork()
		}
	}
	if work > 0 {
		g := given{supply: b.supply}
		least = max(least, g.until(work)+last)
	}
	slices.SortFunc(b.due, func(x, y release) int { return cmp.Compare(y.at, x.at) })
	after := 0.0
	for _, d := range b.due {
		after += d.work
		least = max(least, d.at+after)
	}
	return least
}

// leastTotal bounds the sum of the completion times from below by the larger of two sums: of the instants at which jobs
// are mapped, the small ones first, and what their reduces take alone; and of what reduces take together, the small
// ones first.
func (b *branching) leastTotal() float64 {
	mapped, begin := 0.0, math.Inf(1)
	g, work := given{supply: b.supply}, 0.0
	for _, i := range b.rising {
		at := b.earliest(i)
		begin = min(begin, at)
		if j := b.sim.jobs[i]; !b.placed[i] && j.Maps > 0 {
			work += j.mapWork()
			at = g.until(work)
		}
		mapped += at + b.tail[i]
	}
	reduced, at := 0.0, begin
	for _, i := range b.short {
		at += b.sim.jobs[i].reduceWork() / float64(b.sim.slots.Reduce)
		reduced += at
	}
	return max(mapped, reduced)
}

// earliest returns when job i is mapped if it is placed, and else when it is at the earliest.
func (b *branching) earliest(i int) float64 {
	j := b.sim.jobs[i]
	switch {
	case b.placed[i]:
		return b.mapped[i]
	case j.Maps == 0:
		return 0
	}
	return b.supply[0].until + j.MapTime
}

// given is what slots that become free one after the other have done.
type given struct {
	supply []batch // slots that are not free yet
	at     float64
	rate   int
	done   float64
}

// until returns when the slots have done an amount of work, which is not less than in the last call.
func (g *given) until(work float64) float64 {
	for len(g.supply) > 0 {
		next := g.supply[0]
		if g.rate > 0 && g.done+float64(g.rate)*(next.until-g.at) >= work {
			break
		}
		g.done += float64(g.rate) * (next.until - g.at)
		g.at, g.rate, g.supply = next.until, g.rate+next.slots, g.supply[1:]
	}
	return g.at + (work-g.done)/float64(g.rate)
}
