package malleable

import (
	"encoding/binary"
	"math"
	"slices"
)

// walkOrders goes through all orders of few jobs, puts a better one into s, and reports whether effort sufficed. It is
// a depth-first walk over beginnings. When the jobs of a beginning complete does not depend on the order of the others,
// and no other job completes earlier behind a beginning than right behind it. So it is known what the jobs of a
// beginning cost, and what each of the others costs at least. A beginning is given up in two cases: none of its orders
// can be better than the best so far, or another order of the same jobs left the same room at no higher cost.
func walkOrders(p *Problem, s *Solution, effort int) bool {
	w := &walk{of: p, effort: effort, best: s, seen: map[string]float64{}, room: make([]room, len(p.Jobs)+1),
		horizon: p.Start + p.work()}
	for i := range p.Jobs {
		w.rest = append(w.rest, i)
	}
	w.room[0] = roomAtLeast(p)
	none := 0.0
	if p.Worst {
		none = math.Inf(-1)
	}
	return w.visit(none)
}

// A room is the slots that the beginning of an order leaves beyond the minima of all jobs that have not ended, as a
// step function of time that does not fall: slots[k] are free from at[k] on.
//
// Packing is one job after the other that takes its part of the room. While a job is unfinished it takes up to
// Max − Min of the slots that are free; when it is done, its minimum is free up to the instant at which it would have
// ended with the minimum alone. The function does not fall, so a job that once has its maximum keeps it.
type room struct {
	at    []float64
	slots []int
}

// roomAtLeast returns the room that is left when each job has its minimum.
func roomAtLeast(p *Problem) (r room) {
	free := p.Slots
	for i := range p.Jobs {
		free -= p.Jobs[i].Min
	}
	r.add(p.Start, free)
	for _, i := range sorted(len(p.Jobs), func(i int) (end, none float64) { return p.endAtLeast(i), 0 }) {
		if m := p.Jobs[i].Min; m > 0 {
			free += m
			r.add(p.endAtLeast(i), free)
		}
	}
	return r
}

// add continues a room from an instant on.
func (r *room) add(at float64, slots int) {
	switch last := len(r.at) - 1; {
	case last >= 0 && r.slots[last] == slots:
	case last >= 0 && at-r.at[last] <= 1e-12*abs(at): // no time between them, but for rounding
		r.slots[last] = slots
	default:
		r.at, r.slots = append(r.at, at), append(r.slots, slots)
	}
}

// end returns when job i completes if it takes its part of r.
func (r *room) end(p *Problem, i int) float64 {
	j := &p.Jobs[i]
	left := j.Work
	for k, at := range r.at {
		rate := float64(min(j.Max, j.Min+r.slots[k]))
		if k+1 == len(r.at) || rate*(r.at[k+1]-at) >= left {
			return at + left/rate
		}
		left -= rate * (r.at[k+1] - at)
	}
	return math.Inf(1)
}

// without sets r to the room that is left of from when job i takes its part and completes at end.
func (r *room) without(from *room, p *Problem, i int, end float64) {
	r.at, r.slots = r.at[:0], r.slots[:0]
	j, until := &p.Jobs[i], p.endAtLeast(i)
	extra := j.Max - j.Min
	for k, at := range from.at {
		free, next := from.slots[k], math.Inf(1)
		if k+1 < len(from.at) {
			next = from.at[k+1]
		}
		if at < end {
			r.add(at, max(0, free-extra))
		}
		if next > end && at < until {
			r.add(max(at, end), free+j.Min)
		}
		if next > until {
			r.add(max(at, until), free)
		}
	}
}

// A walk searches all orders of the jobs.
type walk struct {
	of          *Problem
	effort      int
	begun, rest []int
	room        []room             // behind the first jobs that have begun, by their number
	seen        map[string]float64 // by jobs that have begun and the room that they leave: what they cost at least
	key         []byte
	best        *Solution
	horizon     float64 // when all jobs are done at the latest
}

// visit tries each of the rest next, where the jobs that have begun cost value, and reports whether effort sufficed.
func (w *walk) visit(value float64) bool {
	p, now := w.of, &w.room[len(w.begun)]
	if len(w.rest) == 0 {
		if less(value, w.best.Value) {
			w.best.Order, w.best.Value, w.best.Rule = slices.Clone(w.begun), value, "all orders"
		}
		return true
	}
	ends := make([]float64, len(w.rest)) // with each of them, right behind what has begun
	bound := value
	for k, i := range w.rest {
		ends[k] = now.end(p, i)
		bound = p.add(bound, p.Jobs[i].Penalty.At(ends[k]))
	}
	if w.effort -= len(w.rest) * (2 + len(now.at)/2); w.effort < 0 {
		return false
	}
	switch {
	case !less(bound, w.best.Value):
		return true
	case p.Worst:
		bound = max(bound, p.lastOf(w.rest))
	default:
		bound = max(bound, value+p.sumOf(w.rest))
	}
	if !less(bound, w.best.Value) || w.known(now, value) {
		return true
	}
	for _, k := range w.first(ends) {
		if !less(bound, w.best.Value) { // the best has become better meanwhile
			return true
		}
		i := w.rest[k]
		w.room[len(w.begun)+1].without(now, p, i, ends[k])
		w.rest = slices.Delete(w.rest, k, k+1)
		w.begun = append(w.begun, i)
		through := w.visit(p.add(value, p.Jobs[i].Penalty.At(ends[k])))
		w.begun = w.begun[:len(w.begun)-1]
		w.rest = slices.Insert(w.rest, k, i)
		if !through {
			return false
		}
	}
	return true
}

// first returns the rest, by place, as they are tried: for the largest penalty by when they must end to be better than
// the best so far, else by when they would end.
func (w *walk) first(ends []float64) []int {
	p := w.of
	return sorted(len(w.rest), func(k int) (key, end float64) {
		if p.Worst {
			return p.Jobs[w.rest[k]].Penalty.Latest(w.best.Value, p.Start, w.horizon), ends[k]
		}
		return ends[k], 0
	})
}

// known reports whether another order of the jobs that have begun left the same room at no higher cost, and notes that
// this one does. Instants are compared to 40 bits.
func (w *walk) known(now *room, value float64) bool {
	set := uint16(0)
	for _, i := range w.begun {
		set |= 1 << i
	}
	w.key = binary.LittleEndian.AppendUint16(w.key[:0], set)
	for k, at := range now.at {
		w.key = binary.LittleEndian.AppendUint64(w.key, (math.Float64bits(at)+1<<11)>>12)
		w.key = binary.LittleEndian.AppendUint32(w.key, uint32(now.slots[k]))
	}
	if before, ok := w.seen[string(w.key)]; ok && !less(value, before) {
		return true
	}
	w.seen[string(w.key)] = value
	w.effort -= 10
	return false
}
