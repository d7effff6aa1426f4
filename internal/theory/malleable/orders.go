package malleable

import (
	"cmp"
	"math"
	"slices"
)

// An Order is a candidate for packing and the rule that it comes from.
type Order struct {
	Rule string
	Jobs []int
}

// Orders returns the orders that FLEX packs to find the best: the generic one, and those of the rules that are best,
// or known to be good, for the penalties on one machine as fast as all slots together (docs/spec/flex.md, 2.8). A
// rule that would take more than effort steps is left out. What rules that pack or search took is taken off effort.
func (p *Problem) Orders(effort *int) []Order {
	list := []Order{{"generic", p.generic(p.Moldable(*effort))}}
	add := func(rule string, jobs []int) {
		if jobs != nil {
			list = append(list, Order{rule, jobs})
		}
	}
	n := len(p.Jobs)
	add("weighted shortest", p.wspt())
	if p.Worst {
		add("longest alone first", sorted(n, func(i int) (float64, float64) { return -p.alone(i), 0 }))
		due := p.byDue(0)
		add("due date", due)
		add("bisection", p.bisect(due, *effort))
		if n*n <= *effort {
			add("Lawler", p.lawler())
		}
		return list
	}
	shapes, most := p.shapes()
	if shapes[Ramp] {
		add("due date", p.byDue(0))
		if n*n <= *effort {
			add("modified due date", p.modifiedDue())
			add("apparent tardiness cost", p.apparentCost())
		}
	}
	if shapes[Stairs] {
		for q := range most {
			add("due date", p.byDue(q))
			add("Moore-Hodgson", p.moore(q))
			if n*n <= *effort {
				add("packed Moore", p.packedMoore(q, effort))
			}
		}
		if most == 1 {
			add("Lawler-Moore", p.lawlerMoore(effort))
		}
	}
	if (shapes[Ramp] || shapes[Curve] || most > 1) && n <= 12 && n<<n <= *effort {
		add("subset programme", p.subsets())
	}
	return list
}

// shapes reports which shapes of penalties there are, and the largest number of steps.
func (p *Problem) shapes() (has [Curve + 1]bool, steps int) {
	for i := range p.Jobs {
		has[p.Jobs[i].Penalty.Shape] = true
		steps = max(steps, len(p.Jobs[i].Penalty.Steps))
	}
	return has, steps
}

// alone returns how long a job takes at its maximum.
func (p *Problem) alone(i int) float64 { return p.Jobs[i].Work / float64(p.Jobs[i].Max) }

// tau returns how long a job takes on all slots.
func (p *Problem) tau(i int) float64 { return p.Jobs[i].Work / float64(p.Slots) }

// wspt returns the order of Smith's rule: rising work ÷ weight, and jobs of weight 0 last.
func (p *Problem) wspt() []int {
	return sorted(len(p.Jobs), func(i int) (ratio, arrival float64) {
		return p.Jobs[i].Work / p.Jobs[i].Penalty.weight(), 0
	})
}

// byDue returns the jobs by their q-th due date; of equals the one with the least laxity first. Jobs that are never due
// come last, shortest first: their order costs nothing, and so their mean completion is the least.
func (p *Problem) byDue(q int) []int {
	return sorted(len(p.Jobs), func(i int) (due, tie float64) {
		if due = p.Jobs[i].Penalty.due(q); math.IsInf(due, 1) {
			return due, p.Jobs[i].Work
		}
		return due, -p.alone(i)
	})
}

// latest returns, by job, until when each must complete so that no penalty exceeds level.
func (p *Problem) latest(level float64, due []float64) {
	horizon := p.Start + p.work()
	for i := range due {
		due[i] = p.Jobs[i].Penalty.Latest(level, p.Start, horizon)
	}
}

// bisect looks for the least level of the largest penalty that the order by the due dates of that level keeps, and
// returns the order; it begins with the order by due dates. On one machine it is the best; a level is tried by packing.
// O(n log n) a level.
func (p *Problem) bisect(best []int, effort int) []int {
	k := newPacker(p)
	high := k.value(best)
	low := math.Inf(-1)
	for i := range p.Jobs {
		at := p.Jobs[i].Penalty.At(p.Start + p.alone(i))
		low = max(low, at)
	}
	due := make([]float64, len(p.Jobs))
	trials := min(50, effort/(1+len(p.Jobs)*8))
	for range trials {
		if !(high-low > 1e-9*math.Abs(high)) {
			break
		}
		mid := low + (high-low)/2
		p.latest(mid, due)
		order := sorted(len(due), func(i int) (at, laxity float64) { return due[i], -p.alone(i) })
		if v := k.value(order); v < high {
			best, high = order, v
			high = max(high, low)
		}
		if high > mid {
			low = mid
		}
	}
	return best
}

// lawler is Lawler's rule for the largest penalty: from the end, the job goes last that costs least there. O(n²).
func (p *Problem) lawler() []int {
	order := make([]int, len(p.Jobs))
	left := make([]int, len(p.Jobs))
	at := p.Start
	for i := range left {
		left[i] = i
		at += p.tau(i)
	}
	for place := len(order) - 1; place >= 0; place-- {
		last := 0
		for k := range left {
			if p.Jobs[left[k]].Penalty.At(at) < p.Jobs[left[last]].Penalty.At(at) {
				last = k
			}
		}
		order[place] = left[last]
		at -= p.tau(left[last])
		left = slices.Delete(left, last, last+1)
	}
	return order
}

// modifiedDue is the rule of modified due dates: next is the job with the least of due date and earliest end, the later
// of the two. O(n²).
func (p *Problem) modifiedDue() []int {
	return p.next(func(i int, at float64) float64 { return max(p.Jobs[i].Penalty.due(0), at+p.tau(i)) })
}

// apparentCost is the rule of apparent tardiness costs (Vepsalainen and Morton 1987) with look-ahead 2: next is the job
// of the largest weight for its time, discounted by its slack. O(n²).
func (p *Problem) apparentCost() []int {
	ahead := 2 * p.work() / float64(p.Slots) / float64(len(p.Jobs))
	return p.next(func(i int, at float64) float64 {
		slack := max(0, p.Jobs[i].Penalty.due(0)-p.tau(i)-at)
		return -p.Jobs[i].Penalty.weight() / p.tau(i) * math.Exp(-slack/ahead)
	})
}

// next builds an order from the front: each time the job of the least key at the instant that has been reached.
func (p *Problem) next(key func(i int, at float64) float64) []int {
	var order []int
	taken := make([]bool, len(p.Jobs))
	at := p.Start
	for range p.Jobs {
		first, least := -1, 0.0
		for i := range p.Jobs {
			if !taken[i] {
				if k := key(i, at); first < 0 || k < least {
					first, least = i, k
				}
			}
		}
		order = append(order, first)
		taken[first] = true
		at += p.tau(first)
	}
	return order
}

// moore is the algorithm of Moore and Hodgson for the q-th due dates: jobs by due date, from which the longest is
// thrown out each time one is late. The jobs thrown out follow the others. O(n log n).
func (p *Problem) moore(q int) []int {
	type kept struct {
		tau float64
		job int
	}
	var heap []kept // the longest first
	out := make([]bool, len(p.Jobs))
	at := p.Start
	byDue := p.byDue(q)
	for _, i := range byDue {
		heap = append(heap, kept{p.tau(i), i})
		for c := len(heap) - 1; c > 0 && heap[c].tau > heap[(c-1)/2].tau; c = (c - 1) / 2 {
			heap[c], heap[(c-1)/2] = heap[(c-1)/2], heap[c]
		}
		if at += p.tau(i); late(at, p.Jobs[i].Penalty.due(q)) {
			out[heap[0].job] = true
			at -= heap[0].tau
			last := len(heap) - 1
			heap[0] = heap[last]
			heap = heap[:last]
			for c := 0; ; {
				l := 2*c + 1
				if l+1 < last && heap[l+1].tau > heap[l].tau {
					l++
				}
				if l >= last || heap[l].tau <= heap[c].tau {
					break
				}
				heap[c], heap[l] = heap[l], heap[c]
				c = l
			}
		}
	}
	return keptFirst(byDue, out)
}

// keptFirst returns an order with those that are out behind the others.
func keptFirst(order []int, out []bool) []int {
	kept := make([]int, 0, len(order))
	for _, i := range order {
		if !out[i] {
			kept = append(kept, i)
		}
	}
	for _, i := range order {
		if out[i] {
			kept = append(kept, i)
		}
	}
	return kept
}

// packedMoore is Moore's idea on packed schedules: of the jobs up to the first late one, the one with most work for its
// weight is thrown out until no kept job is late. Those thrown out follow, the smallest first. At most n packings.
func (p *Problem) packedMoore(q int, effort *int) []int {
	k := newPacker(p)
	out := make([]bool, len(p.Jobs))
	byDue := p.byDue(q)
	small := sorted(len(p.Jobs), func(i int) (work, arrival float64) { return p.Jobs[i].Work, 0 })
	order := make([]int, 0, len(p.Jobs))
	for {
		order = order[:0]
		for _, i := range byDue {
			if !out[i] {
				order = append(order, i)
			}
		}
		kept := len(order)
		for _, i := range small {
			if out[i] {
				order = append(order, i)
			}
		}
		done := k.finish(order)
		first := slices.IndexFunc(order[:kept], func(i int) bool { return late(done[i], p.Jobs[i].Penalty.due(q)) })
		if *effort -= len(order) * 8; first < 0 || *effort < 0 {
			return order
		}
		worst := order[0]
		for _, i := range order[:first+1] {
			if p.Jobs[i].Work/p.Jobs[i].Penalty.weight() > p.Jobs[worst].Work/p.Jobs[worst].Penalty.weight() {
				worst = i
			}
		}
		out[worst] = true
	}
}

// lawlerMoore is the dynamic programme of Lawler and Moore for the weighted number of tardy jobs on one machine. It
// keeps the undominated pairs of time used and weight late, so that times need not be integers; nil where these are too
// many.
func (p *Problem) lawlerMoore(effort *int) []int {
	type state struct {
		at, lost float64
		from     int32 // in the layer before
		late     bool
	}
	byDue := p.byDue(0)
	layers := [][]state{{{at: p.Start}}}
	for _, i := range byDue {
		j := &p.Jobs[i].Penalty
		last := layers[len(layers)-1]
		var next []state
		for s, e := range last {
			next = append(next, state{e.at, e.lost + j.weight(), int32(s), true})
			if end := e.at + p.tau(i); !late(end, j.due(0)) {
				next = append(next, state{end, e.lost, int32(s), false})
			}
		}
		slices.SortFunc(next, func(a, b state) int {
			return cmp.Or(cmp.Compare(a.lost, b.lost), cmp.Compare(a.at, b.at))
		})
		kept := next[:0]
		for _, e := range next {
			if len(kept) == 0 || e.at < kept[len(kept)-1].at {
				kept = append(kept, e)
			}
		}
		if *effort -= 16 * len(next); *effort < 0 {
			return nil
		}
		layers = append(layers, kept)
	}
	out := make([]bool, len(p.Jobs))
	at := int32(0)
	for l := len(layers) - 1; l > 0; l-- {
		e := layers[l][at]
		out[byDue[l-1]] = e.late
		at = e.from
	}
	return keptFirst(byDue, out)
}

// subsets is the dynamic programme over sets of jobs, exact for any sum of penalties on one machine. O(n·2ⁿ).
func (p *Problem) subsets() []int {
	n := len(p.Jobs)
	least := make([]float64, 1<<n)
	last := make([]int8, 1<<n)
	at := make([]float64, 1<<n)
	at[0] = p.Start
	for set := 1; set < 1<<n; set++ {
		least[set] = math.Inf(1)
		for i := range n {
			if set>>i&1 == 1 {
				at[set] = at[set&^(1<<i)] + p.tau(i)
			}
		}
		for i := range n {
			if set>>i&1 == 1 {
				if v := least[set&^(1<<i)] + p.Jobs[i].Penalty.At(at[set]); v < least[set] {
					least[set], last[set] = v, int8(i)
				}
			}
		}
	}
	order := make([]int, n)
	for set, k := 1<<n-1, n-1; k >= 0; k-- {
		order[k] = int(last[set])
		set &^= 1 << order[k]
	}
	return order
}
