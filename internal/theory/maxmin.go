package theory

import (
	"cmp"
	"math"
	"slices"
)

// Claim is what one party may have of a divisible capacity.
type Claim struct {
	Weight float64 // >= 0; zero gets its Min and no more
	Min    float64 // guaranteed, >= 0, taken as Max where it exceeds it
	Max    float64 // never exceeded, such as a demand; >= 0, +Inf for none
}

// MaxMin divides capacity by weighted max-min fairness and returns the shares in the order of claims:
//
//	share_i = min(Max_i, max(Min_i, level × Weight_i)),  Σ share_i = min(capacity, Σ Max_i)
//
// for the one level at which that sum comes out (Bertsekas and Gallager, Data Networks, 6.5.2; with minima as in
// Hadoop's fair scheduler). Where the minima alone exceed capacity they are all cut in proportion. With Min 0 and Max a
// demand it is water-filling. capacity >= 0. O(n log n).
func MaxMin(capacity float64, claims []Claim) []float64 {
	shares := make([]float64, len(claims))
	rest := capacity
	for i, c := range claims {
		shares[i] = min(c.Min, c.Max)
		rest -= shares[i]
	}
	if rest <= 0 {
		scale(shares, capacity)
		return shares
	}
	level := waterLevel(rest, claims)
	for i, c := range claims {
		if c.Weight > 0 {
			shares[i] = min(c.Max, max(c.Min, level*c.Weight))
		}
	}
	return shares
}

// bend is a level at which the sum of the shares begins to grow faster or slower, by slope.
type bend struct{ level, slope float64 }

// waterLevel raises the level until what the claims take beyond their minima is rest; +Inf if they take less.
func waterLevel(rest float64, claims []Claim) float64 {
	bends := make([]bend, 0, 2*len(claims))
	for _, c := range claims {
		if c.Weight > 0 && c.Max > c.Min {
			bends = append(bends, bend{c.Min / c.Weight, c.Weight}, bend{c.Max / c.Weight, -c.Weight})
		}
	}
	slices.SortFunc(bends, func(a, b bend) int { return cmp.Compare(a.level, b.level) })
	level, slope, growing := 0.0, 0.0, 0
	for _, b := range bends {
		if growing > 0 {
			if step := (b.level - level) * slope; step >= rest {
				return level + rest/slope
			} else {
				rest -= step
			}
		}
		level = b.level
		slope += b.slope
		if b.slope > 0 {
			growing++
		} else if growing--; growing == 0 {
			slope = 0 // drops what rounding has left
		}
	}
	return math.Inf(1)
}

// scale multiplies shares so that they sum to total.
func scale(shares []float64, total float64) {
	sum := 0.0
	for _, s := range shares {
		sum += s
	}
	if sum == 0 {
		return
	}
	for i := range shares {
		shares[i] *= total / sum
	}
}
