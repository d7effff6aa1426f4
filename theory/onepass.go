package theory

import (
	"cmp"
	"slices"
)

// OnePassShares divides the capacity of several resources in one pass over the jobs, smallest bound in the first resource
// first (equal ones in the order given), and returns the fraction of its bound that each job gets, from 0 to 1:
//
//	fair = rest ÷ (jobs left),  fraction = min(1, min_k fair[k] ÷ bound[k]),  rest −= bound × fraction
//
// This is the virtual resource allocation of FSPY (its Algorithm 2, with the componentwise minimum for vectors). With one
// resource it is max-min fair; with more it may leave room that a job could still use, which DRF with Limit 1 does not.
// bounds[i] has a number >= 0 for each resource. O(n log n).
func OnePassShares(capacity []float64, bounds [][]float64) []float64 {
	order := make([]int, len(bounds))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(bounds[a][0], bounds[b][0]) })
	rest := slices.Clone(capacity)
	fractions := make([]float64, len(bounds))
	for done, i := range order {
		fractions[i] = onePass(rest, bounds[i], len(order)-done)
	}
	return fractions
}

// onePass returns which fraction of its bound the first of so many jobs gets of the rest, and takes that from it.
func onePass(rest, bound []float64, jobs int) (fraction float64) {
	fraction = 1
	for k, most := range bound {
		if most > 0 {
			fraction = min(fraction, rest[k]/float64(jobs)/most)
		}
	}
	for k, most := range bound {
		rest[k] = max(0, rest[k]-most*fraction)
	}
	return fraction
}
