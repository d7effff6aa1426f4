package theory

import (
	"cmp"
	"math/bits"
	"slices"
)

// Apportion divides total into whole parts in proportion to weights by largest remainders: each part is its exact quota
// rounded down or up, and they sum to total. Of equal remainders the first is rounded up. Where all weights are 0 every
// part is 0. total, the weights and their sum are in [0, 2⁶³). O(n log n).
func Apportion(total int64, weights []int64) []int64 {
	parts, rests, order := make([]int64, len(weights)), make([]uint64, len(weights)), make([]int, len(weights))
	sum := int64(0)
	for _, w := range weights {
		sum += w
	}
	if sum == 0 {
		return parts
	}
	left := total
	for i, w := range weights {
		hi, lo := bits.Mul64(uint64(total), uint64(w))
		quota, rest := bits.Div64(hi, lo, uint64(sum)) // w <= sum, so that the quota is at most total
		parts[i], rests[i], order[i] = int64(quota), rest, i
		left -= parts[i]
	}
	if left > 0 { // fewer than there are remainders above zero
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rests[b], rests[a]) })
	}
	for _, i := range order[:left] {
		parts[i]++
	}
	return parts
}

// Loans says what each user lends and borrows when users hold held of an amount and share of it is theirs, in units. A
// user lends what it does not use of its share, as far as others use it. It borrows what it uses above its share, as
// far as others do not use theirs. Both sums are equal, exactly: the smaller of all that is unused and of all that is
// used above shares. Apportion divides each side in proportion. Where capacity has just shrunk below use, what is used
// above all shares together is no one's loan.
func Loans(share, held []int64) (lent, borrowed []int64) {
	spare, over := make([]int64, len(share)), make([]int64, len(share))
	var allSpare, allOver int64
	for i := range share {
		d := share[i] - held[i]
		spare[i], over[i] = max(0, d), max(0, -d)
		allSpare, allOver = allSpare+max(0, d), allOver+max(0, -d)
	}
	moved := min(allSpare, allOver)
	return Apportion(moved, spare), Apportion(moved, over)
}
