package theory

import (
	"cmp"
	"math"
	"slices"
)

// Johnson returns the order of least makespan in the two-machine model (Johnson 1954): jobs that map no longer than
// they reduce first, by rising map time; then the others by falling reduce time. Ties keep the order given. On slots
// this is algorithm MK_JR of MROrder, within JohnsonGap of the best. O(n log n).
func Johnson(flows []Flow) []int {
	order := indices(len(flows))
	sortJohnson(flows, order)
	return order
}

// SplitJohnson returns the order MK_TCT_JR of MROrder, a compromise between makespan and total completion time: jobs
// no larger than the geometric mean of the sizes by Johnson's rule, then the larger ones by the same rule. Jobs without
// work are small and do not count in the mean. O(n log n).
func SplitJohnson(flows []Flow) []int {
	logs, counted := 0.0, 0
	for _, f := range flows {
		if f.Total() > 0 {
			logs += math.Log(f.Total())
			counted++
		}
	}
	// The factor keeps a job of exactly the mean size small whichever way the logarithms were rounded.
	limit := math.Exp(logs/float64(max(counted, 1))) * (1 + 1e-12)
	var small, large []int
	for i, f := range flows {
		if f.Total() <= limit {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	sortJohnson(flows, small)
	sortJohnson(flows, large)
	return append(small, large...)
}

// ShortestFirst returns the jobs by rising size T_i, algorithm TCT of MROrder: best for the total completion time on
// one machine, a heuristic on two. Ties keep the order given.
func ShortestFirst(flows []Flow) []int {
	order := indices(len(flows))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(flows[a].Total(), flows[b].Total()) })
	return order
}

// Reversed returns the order backwards. The reverse of Johnson's order has the largest makespan of all orders in the
// two-machine model (Tang, Theorem 3.2): the baseline of "unoptimised" in the MROrder evaluation.
func Reversed(order []int) []int {
	back := slices.Clone(order)
	slices.Reverse(back)
	return back
}

func sortJohnson(flows []Flow, order []int) {
	slices.SortStableFunc(order, func(a, b int) int {
		fa, fb := flows[a], flows[b]
		lateA, lateB := fa.Map > fa.Reduce, fb.Map > fb.Reduce
		switch {
		case lateA != lateB:
			if lateA {
				return 1
			}
			return -1
		case lateA:
			return cmp.Compare(fb.Reduce, fa.Reduce)
		default:
			return cmp.Compare(fa.Map, fb.Map)
		}
	})
}

func indices(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}
