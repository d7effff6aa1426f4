package theory

import "math"

// Percentile returns the p-th percentile by nearest rank: the least value such that at least p % of all are no larger,
// the one of rank ceil(p·n/100). It is always one of the values, never in between. sorted is in rising order; p from 0
// to 100 in percent, so that p·n is exact for whole p and a rank does not move by rounding. It is NaN where there are
// no values.
func Percentile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	rank := int(math.Ceil(p * float64(len(sorted)) / 100))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// JainIndex returns (Σx)² ÷ (n·Σx²), from 1/n (one has all) to 1 (all have the same), for values >= 0 (Jain, Chiu and
// Hawe, DEC-TR-301, 1984). It is 1 where there is nothing to divide: no values, or all zero.
func JainIndex(values []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range values {
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(values)) * squares)
}

// Slowdowns returns sojourn ÷ base of each job, jobs with a base of zero left out. With the sojourn times alone on the
// empty cluster as base, that is the usual slowdown; with those of the same jobs under fair sharing, the fair slowdown
// (FSPY, IV). Both slices are in the same order of jobs.
func Slowdowns(sojourns, base []float64) []float64 {
	list := make([]float64, 0, len(sojourns))
	for i, s := range sojourns {
		if base[i] > 0 {
			list = append(list, s/base[i])
		}
	}
	return list
}
