package malleable

import (
	"cmp"
	"math"
	"slices"
)

// An allotment is the moldable problem: each job gets a number of slots once and keeps it (the resource allocation
// problem, RAP, FLEX 3.2). low and high bound the slots of each job.
type allotment struct {
	of        *Problem
	low, high []int
	spare     int     // slots beyond the lower bounds that can be given away
	never     float64 // when a job without slots completes: after all work done by one slot
}

// allot sets up the moldable problem. Without slots a job would never end, so every job gets at least one; where there
// are not enough slots for that, jobs without a minimum may go without, and end after all others.
func (p *Problem) allot() *allotment {
	a := &allotment{of: p, low: make([]int, len(p.Jobs)), high: make([]int, len(p.Jobs))}
	ones, minima, maxima := 0, 0, 0
	for i := range p.Jobs {
		j := &p.Jobs[i]
		a.low[i], a.high[i] = max(1, j.Min), j.Max
		ones += a.low[i]
		minima += j.Min
		maxima += j.Max
	}
	a.spare = min(p.Slots, maxima) - ones
	if ones > p.Slots {
		for i := range p.Jobs {
			a.low[i] = p.Jobs[i].Min
		}
		a.spare = min(p.Slots, maxima) - minima
	}
	a.never = p.Start + p.work()
	return a
}

// end returns when job i completes if it keeps a number of slots.
func (a *allotment) end(i, slots int) float64 {
	if slots == 0 {
		return a.never
	}
	return a.of.Start + a.of.Jobs[i].time(slots)
}

// cost returns f_i(slots), the penalty of job i as a function of its slots; it does not grow with them.
func (a *allotment) cost(i, slots int) float64 { return a.of.Jobs[i].Penalty.At(a.end(i, slots)) }

// gain returns by how much one slot more lowers the penalty of job i.
func (a *allotment) gain(i, slots int) float64 { return a.cost(i, slots) - a.cost(i, slots+1) }

// Greedy returns the slots of the jobs, one each time to the job that gains most by it, of equals to the first: Fox's
// algorithm (1966), exact for a sum of penalties that are convex in the slots. O(n + S log n) for S slots.
func (p *Problem) Greedy() []int {
	a := p.allot()
	return a.raise(slices.Clone(a.low), a.spare, a.gain)
}

// Bottleneck returns the slots of the jobs, one each time to the job with the largest penalty, of equals to the first:
// exact for the largest penalty, and beyond it lexicographic (FLEX 3.2, with the transformation of docs/spec/flex.md).
// On its way it comes by the fewest slots that keep a level, for each level: so it begins with those of a low one, and
// gives only the rest one by one. O(n log n) for linear speed-up, a factor of log S more for others, with S slots.
func (p *Problem) Bottleneck() []int {
	a := p.allot()
	slots, spare := slices.Clone(a.low), a.spare
	low, high := math.Inf(1), math.Inf(-1)
	for i := range p.Jobs {
		low, high = min(low, a.cost(i, a.high[i])), max(high, a.cost(i, a.low[i]))
	}
	tried := make([]int, len(slots))
	for round := 0; round < 40 && spare > len(slots)/4 && low < high; round++ {
		level := low + (high-low)/2
		left := a.spare
		for i := range tried {
			tried[i] = a.fewest(i, level)
			left -= tried[i] - a.low[i]
		}
		if left < 0 {
			low = level
			continue
		}
		high, spare = level, left
		copy(slots, tried)
	}
	return a.raise(slots, spare, a.cost)
}

// fewest returns the least number of slots with which the cost of job i is at most level. If no number is enough, it
// returns the upper bound of the job.
func (a *allotment) fewest(i int, level float64) int {
	j, low, high := &a.of.Jobs[i], a.low[i], a.high[i]
	if by := j.Penalty.Latest(level, a.of.Start, a.never); j.Times == nil && by > a.of.Start {
		// Within one of it, but for rounding.
		near := min(float64(high), math.Ceil(j.Work/(by-a.of.Start)))
		low, high = max(low, int(near)-1), max(low, min(high, int(near)+1))
		if low > a.low[i] && a.cost(i, low) <= level {
			low = a.low[i]
		}
		if high < a.high[i] && a.cost(i, high) > level {
			high = a.high[i]
		}
	}
	return low + firstBelow(high-low, func(k int) bool { return a.cost(i, low+k) > level })
}

// raise gives count slots away, each to the job of the largest key among those below their upper bound.
func (a *allotment) raise(slots []int, count int, key func(i, slots int) float64) []int {
	type entry struct {
		key float64
		job int
	}
	before := func(x, y entry) bool { return x.key > y.key || x.key == y.key && x.job < y.job }
	var heap []entry
	down := func(i int) {
		e := heap[i]
		for {
			c := 2*i + 1
			if c+1 < len(heap) && before(heap[c+1], heap[c]) {
				c++
			}
			if c >= len(heap) || !before(heap[c], e) {
				break
			}
			heap[i] = heap[c]
			i = c
		}
		heap[i] = e
	}
	for i := range a.of.Jobs {
		if slots[i] < a.high[i] {
			heap = append(heap, entry{key(i, slots[i]), i})
		}
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		down(i)
	}
	for ; count > 0 && len(heap) > 0; count-- {
		e := &heap[0]
		if slots[e.job]++; slots[e.job] < a.high[e.job] {
			e.key = key(e.job, slots[e.job])
		} else {
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		}
		if len(heap) > 0 {
			down(0)
		}
	}
	return slots
}

// Select returns slots as good as those of Greedy by selection among the sorted gains of the jobs, after Galil and
// Megiddo (1979): each round about halves the weight of the gains that may yet be among the largest. O(n log² S).
func (p *Problem) Select() []int {
	a := p.allot()
	n := len(p.Jobs)
	gains := func(i, k int) float64 { return a.gain(i, a.low[i]+k) } // the k-th from 0 of job i, non-increasing in k
	low, high := make([]int, n), make([]int, n)
	all := 0
	for i := range high {
		high[i] = a.high[i] - a.low[i]
		all += high[i]
	}
	take := slices.Clone(high)
	above, upTo := make([]int, n), make([]int, n)
	for all > a.spare {
		pivot := medianGain(low, high, gains)
		some, most := 0, 0
		for i := range n {
			// What lies outside low and high was above or below earlier pivots, and so is of this one.
			above[i] = low[i] + firstBelow(high[i]-low[i], func(k int) bool { return gains(i, low[i]+k) > pivot })
			upTo[i] = above[i] + firstBelow(high[i]-above[i], func(k int) bool { return gains(i, above[i]+k) >= pivot })
			some += above[i]
			most += upTo[i]
		}
		if some <= a.spare && most >= a.spare {
			for i := range n {
				take[i] = above[i] + min(upTo[i]-above[i], a.spare-some)
				some += take[i] - above[i]
			}
			break
		}
		for i := range n {
			if some > a.spare {
				high[i] = min(high[i], above[i])
			} else {
				low[i] = max(low[i], upTo[i])
			}
		}
	}
	for i := range take {
		take[i] += a.low[i]
	}
	return take
}

// firstBelow returns how many of the first length values hold; those that hold come first.
func firstBelow(length int, holds func(int) bool) int {
	low, high := 0, length
	for low < high {
		if mid := (low + high) / 2; holds(mid) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// medianGain returns the weighted median of the middle gains between low and high of each job, weighted by how many
// there are: of 64 jobs that stand evenly apart, where there are more.
func medianGain(low, high []int, gains func(i, k int) float64) float64 {
	type middle struct {
		gain   float64
		weight int
	}
	open := 0
	for i := range low {
		if high[i] > low[i] {
			open++
		}
	}
	var list []middle
	all, seen := 0, 0
	for i := range low {
		if w := high[i] - low[i]; w > 0 {
			if seen++; seen%(open/64+1) == 0 {
				list = append(list, middle{gains(i, (low[i]+high[i])/2), w})
				all += w
			}
		}
	}
	slices.SortFunc(list, func(a, b middle) int { return cmp.Compare(b.gain, a.gain) })
	above := 0
	for _, m := range list {
		if above += m.weight; 2*above >= all {
			return m.gain
		}
	}
	return math.Inf(-1)
}

// Dynamic returns the slots of least total penalty by dynamic programming, for penalties of any form: of equally good
// ones those with the fewest slots in all, and of these the first in lexicographic order. Only counts at which a
// penalty changes are looked at where penalties are steps. O(n·S·min(S, steps)) time, O(n·S) space for S slots.
func (p *Problem) Dynamic() []int {
	a := p.allot()
	n := len(p.Jobs)
	choices := make([][]int, n)
	for i := range choices {
		choices[i] = a.choices(i)
	}
	// best[i][x]: the least penalty of jobs i.. with at most x slots; from the last job to the first, so that reading
	// the choices forwards gives the first in lexicographic order.
	best := make([][]float64, n+1)
	best[n] = make([]float64, p.Slots+1)
	for i := n - 1; i >= 0; i-- {
		best[i] = make([]float64, p.Slots+1)
		costs := make([]float64, len(choices[i]))
		for c, s := range choices[i] {
			costs[c] = a.cost(i, s)
		}
		for x := range best[i] {
			best[i][x] = math.Inf(1)
			for c, s := range choices[i] {
				if s > x {
					break
				}
				best[i][x] = min(best[i][x], costs[c]+best[i+1][x-s])
			}
		}
	}
	left := 0
	for less(best[0][p.Slots], best[0][left]) {
		left++
	}
	slots := make([]int, n)
	for i := range slots {
		for _, s := range choices[i] {
			if s <= left && !less(best[i][left], a.cost(i, s)+best[i+1][left-s]) {
				slots[i] = s
				left -= s
				break
			}
		}
	}
	return slots
}

// choices returns the numbers of slots of job i that Dynamic has to look at, rising: all, or for steps those at which
// one more deadline is met.
func (a *allotment) choices(i int) (list []int) {
	p := &a.of.Jobs[i].Penalty
	if p.Shape != Stairs || p.Spread > 0 {
		for s := a.low[i]; s <= a.high[i]; s++ {
			list = append(list, s)
		}
		return list
	}
	list = []int{a.low[i]}
	cost := a.cost(i, a.low[i])
	for q := len(p.Steps) - 1; q >= 0; q-- {
		tooFew := func(k int) bool { return late(a.end(i, a.low[i]+k), p.Steps[q].After) }
		s := a.low[i] + firstBelow(a.high[i]-a.low[i]+1, tooFew)
		if s <= a.high[i] && a.cost(i, s) < cost {
			list = append(list, s)
			cost = a.cost(i, s)
		}
	}
	return list
}

// Convex reports whether all penalties are convex in the number of slots, so that Greedy and Select are exact. Lines
// and ramps with linear speed-up are, but for a job that may go without slots and is most of the work; steps count as
// not convex; curves and other speed-ups are tested number by number.
func (p *Problem) Convex() bool {
	a := p.allot()
	for i := range p.Jobs {
		last := a.high[i] - 2
		switch j := &p.Jobs[i]; {
		case j.Penalty.Shape == Stairs && len(j.Penalty.Steps) > 0:
			return false
		case j.Times == nil && (j.Penalty.Shape == Line || j.Penalty.Shape == Ramp && j.Penalty.Spread == 0):
			last = min(last, 0)
		}
		for s := a.low[i]; s <= last; s++ {
			if a.gain(i, s) < a.gain(i, s+1)-1e-9*math.Abs(a.gain(i, s+1)) {
				return false
			}
		}
	}
	return true
}

// Moldable returns the best number of slots for each job to keep, by the solver that is exact for the penalties:
// Bottleneck for the largest, Greedy or Select where they are convex, Dynamic else. Where Dynamic would take more
// than effort steps, Greedy stands in for it, and slots need not be the best. Slots that Dynamic leaves go where they
// shorten times the most.
func (p *Problem) Moldable(effort int) []int {
	switch {
	case p.Worst:
		return p.Bottleneck()
	case p.Convex():
		if p.Slots > 8*len(p.Jobs) {
			return p.Select()
		}
		return p.Greedy()
	}
	a := p.allot()
	steps := 0
	for i := range p.Jobs {
		if q := &p.Jobs[i].Penalty; q.Shape == Stairs && q.Spread == 0 {
			steps += 1 + len(q.Steps)
		} else {
			steps += a.high[i] - a.low[i] + 1
		}
	}
	if steps*p.Slots > effort {
		return p.Greedy()
	}
	slots := p.Dynamic()
	left := p.Slots
	for _, s := range slots {
		left -= s
	}
	return a.raise(slots, left, func(i, s int) float64 { return a.end(i, s) - a.end(i, s+1) })
}

// generic returns the jobs by when they complete with the slots that the moldable problem gives them; of equals the one
// with less work first, then the older.
func (p *Problem) generic(slots []int) []int {
	a := p.allot()
	return sorted(len(slots), func(i int) (end, work float64) { return a.end(i, slots[i]), p.Jobs[i].Work })
}
