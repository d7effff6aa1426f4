package generate

import (
	"math/bits"
	"math/rand/v2"
)

// zipf draws ranks 0 … n-1 with chance proportional to 1 ÷ (rank + 1), in constant time: Walker's alias table, in
// Vose's construction ("A linear algorithm for generating random numbers with a given distribution", 1991), with
// integer weights, so that no machine rounds otherwise than another.
type zipf struct{ cells []cell }

// cell is one column of the alias table: its own rank below the limit, the other rank above.
type cell struct{ limit, other uint32 }

// zipfScale is the weight of rank 0. Ranks up to it have a weight above zero.
const zipfScale = 1 << 40

// newZipf returns the table for n ranks. Each rank that weighs less than a column shares its column with a rank that
// weighs more, until all columns are full. O(n).
func newZipf(n int) zipf {
	weights := make([]uint64, n)
	var total uint64 // < 2^40 · (ln 2^32 + 1) < 2^45
	for i := range weights {
		weights[i] = zipfScale / uint64(i+1)
		total += weights[i]
	}
	// Every column holds `full`; what the division leaves over goes to rank 0, whose share it does not change visibly.
	full := total/uint64(n) + 1
	weights[0] += full*uint64(n) - total
	cells := make([]cell, n)
	var small, large []int32
	for i, w := range weights {
		if w < full {
			small = append(small, int32(i))
		} else {
			large = append(large, int32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		limit, _ := bits.Div64(weights[s]>>32, weights[s]<<32, full) // of 2^32
		cells[s] = cell{limit: uint32(limit), other: uint32(l)}
		weights[l] -= full - weights[s]
		if weights[l] < full {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	for _, rest := range [][]int32{small, large} { // exactly full
		for _, i := range rest {
			cells[i] = cell{limit: 1<<32 - 1, other: uint32(i)}
		}
	}
	return zipf{cells}
}

// draw takes one random number: its high half chooses the column, its low half the side.
func (z zipf) draw(r *rand.PCG) uint32 {
	x := r.Uint64()
	column := uint32(x >> 32 * uint64(len(z.cells)) >> 32)
	if c := z.cells[column]; uint32(x) >= c.limit {
		return c.other
	}
	return column
}
