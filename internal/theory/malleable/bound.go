package malleable

import (
	"cmp"
	"math"
	"slices"
)

// Bound returns a value that the objective of no schedule falls below, in whatever way slots are divided. It is the
// larger of two values: what the jobs cost if each has its maximum from the start, and what they cost in the best order
// of one machine as fast as all slots. The second is exact for lines, for one due date each of equal weight, and for
// the largest penalty; for others it is looser. O(n log n), O(n²) for the largest penalty.
func (p *Problem) Bound() float64 {
	all := make([]int, len(p.Jobs))
	for i := range all {
		all[i] = i
	}
	if p.Worst {
		return p.lastOf(all)
	}
	return p.sumOf(all)
}

// atMaximum returns the sum, or the largest, of the penalties of jobs that have their maxima from the start.
func (p *Problem) atMaximum(jobs []int) float64 {
	value := 0.0
	if p.Worst {
		value = math.Inf(-1)
	}
	for _, i := range jobs {
		value = p.add(value, p.Jobs[i].Penalty.At(p.Start+p.alone(i)))
	}
	return value
}

// lastOf bounds the largest penalty of jobs by Lawler's rule: on one machine, some job is last.
func (p *Problem) lastOf(jobs []int) float64 {
	value := p.atMaximum(jobs)
	left := slices.Clone(jobs)
	at := p.Start
	for _, i := range jobs {
		at += p.tau(i)
	}
	for len(left) > 0 {
		last, least := 0, math.Inf(1)
		for k, i := range left {
			if v := p.Jobs[i].Penalty.At(at); v < least {
				last, least = k, v
			}
		}
		value = max(value, least)
		at -= p.tau(left[last])
		left = slices.Delete(left, last, last+1)
	}
	return value
}

// sumOf bounds the sum of the penalties of jobs.
func (p *Problem) sumOf(jobs []int) float64 {
	if len(jobs) == 0 {
		return 0
	}
	least := p.atMaximum(jobs)
	lines, even := true, true
	for _, i := range jobs {
		q, first := &p.Jobs[i].Penalty, &p.Jobs[jobs[0]].Penalty
		lines = lines && q.Shape == Line
		even = even && q.Shape == first.Shape && q.Shape != Curve && q.weight() == first.weight() &&
			len(q.Steps) <= 1 && q.Spread == 0
	}
	switch {
	case lines:
		order := slices.Clone(jobs)
		slices.SortFunc(order, func(a, b int) int {
			x, y := &p.Jobs[a], &p.Jobs[b]
			return cmp.Compare(x.Work*y.Penalty.Weight, y.Work*x.Penalty.Weight)
		})
		sum, at := 0.0, p.Start
		for _, i := range order {
			at += p.tau(i)
			sum += p.Jobs[i].Penalty.At(at)
		}
		return max(least, sum)
	case even:
		return max(least, p.sortedBound(jobs))
	}
	return least
}

// sortedBound bounds the sum of equal penalties of different due dates. For ramps the k-th completion is not before
// the k smallest jobs are done, and no sum is less than that of the k-th completion with the k-th due date. For
// single steps the fewest that can be late on one machine are.
func (p *Problem) sortedBound(jobs []int) (sum float64) {
	at := p.Start
	if p.Jobs[jobs[0]].Penalty.Shape == Stairs {
		sub := Problem{Slots: p.Slots, Start: p.Start}
		for _, i := range jobs {
			sub.Jobs = append(sub.Jobs, p.Jobs[i])
		}
		for _, i := range sub.moore(0) {
			at += sub.tau(i)
			sum += sub.Jobs[i].Penalty.At(at)
		}
		return sum
	}
	works, dues := make([]float64, len(jobs)), make([]float64, len(jobs))
	for k, i := range jobs {
		works[k], dues[k] = p.Jobs[i].Work, p.Jobs[i].Penalty.due(0)
	}
	slices.Sort(works)
	slices.Sort(dues)
	penalty := p.Jobs[jobs[0]].Penalty
	for k := range works {
		at += works[k] / float64(p.Slots)
		penalty.From = dues[k]
		sum += penalty.At(at)
	}
	return sum
}
