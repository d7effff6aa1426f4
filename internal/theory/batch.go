package theory

import (
	"cmp"
	"slices"
)

// PSCompletions returns when each of the jobs, all present at time 0, is done under processor sharing on a server of
// rate 1. With the sizes in rising order s_1 ≤ … ≤ s_n:
//
//	c_k = s_1 + … + s_k + (n − k)·s_k
func PSCompletions(sizes []float64) []float64 {
	order := bySize(sizes)
	done := make([]float64, len(sizes))
	sum := 0.0
	for k, i := range order {
		sum += sizes[i]
		done[i] = sum + float64(len(order)-k-1)*sizes[i]
	}
	return done
}

// FSPCompletions returns when each of the jobs, all present at time 0, is done under FSP with exact sizes: then the
// order of completion under processor sharing is that of the sizes, so c_k = s_1 + … + s_k; SRPT and SPT do the same.
func FSPCompletions(sizes []float64) []float64 {
	done := make([]float64, len(sizes))
	sum := 0.0
	for _, i := range bySize(sizes) {
		sum += sizes[i]
		done[i] = sum
	}
	return done
}

// bySize returns the indices of sizes in rising order; equal ones keep their order.
func bySize(sizes []float64) []int {
	order := indices(len(sizes))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[a], sizes[b]) })
	return order
}
