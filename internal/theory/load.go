package theory

import (
	"fmt"
	"math"
)

// DataSize returns the work of a MapReduce job from the bytes that it reads, shuffles and writes:
//
//	size = input + (ratio + 1) × shuffle + output
//
// with ratio the speed of the cluster's disks over that of its network: shuffled bytes pass through both. Source:
// Pastorelli, Dell'Amico et al., "HFSP", technical report arXiv:1306.6023, where ratio is 4 by default.
func DataSize(input, shuffle, output, ratio float64) float64 {
	return input + (ratio+1)*shuffle + output
}

// ScaleToLoad multiplies sizes in place by one factor so that their sum is load × span, and returns the factor. With
// span the last submission time, load is the share of that time for which a server of rate 1 is busy. load and span are
// positive; an error means that they are not, or that the sizes sum to nothing that can be scaled.
func ScaleToLoad(sizes []float64, load, span float64) (float64, error) {
	total := 0.0
	for _, s := range sizes {
		total += s
	}
	factor := load * span / total
	if !(load > 0) || !(span > 0) || !(factor > 0) || math.IsInf(factor, 1) {
		return 0, fmt.Errorf("scale sizes of sum %v to load %v over %v s: want all three positive and finite",
			total, load, span)
	}
	for i := range sizes {
		sizes[i] *= factor
	}
	return factor, nil
}
