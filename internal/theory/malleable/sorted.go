package malleable

import (
	"cmp"
	"math"
	"slices"
)

// A ranked is a job with the keys that it is sorted by.
type ranked struct {
	key, tie uint64 // as ordered makes them
	job      int
}

// manyRanked is from how many jobs on sorting by digits is faster than by comparisons.
const manyRanked = 256

// sorted returns the indices below n by rising key, then by rising tie, then as they are.
func sorted(n int, keys func(i int) (key, tie float64)) []int {
	list := make([]ranked, n)
	for i := range list {
		key, tie := keys(i)
		list[i] = ranked{ordered(key), ordered(tie), i}
	}
	if n < manyRanked {
		slices.SortFunc(list, func(a, b ranked) int {
			return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.tie, b.tie), a.job-b.job)
		})
	} else {
		spare := make([]ranked, n)
		list, spare = byDigits(list, spare, func(r *ranked) uint64 { return r.tie })
		list, _ = byDigits(list, spare, func(r *ranked) uint64 { return r.key })
	}
	order := make([]int, n)
	for k := range list {
		order[k] = list[k].job
	}
	return order
}

// ordered returns a number that rises with x; zeros of both signs are equal.
func ordered(x float64) uint64 {
	b := math.Float64bits(x + 0)
	if b>>63 == 0 {
		return b | 1<<63
	}
	return ^b
}

// byDigits sorts a list by a key, digit by digit from the last one on, and keeps the order of equals. It returns the
// sorted list and the other one. Digits in which all keys agree cost one look. O(n).
func byDigits(list, other []ranked, key func(*ranked) uint64) (done, spare []ranked) {
	const digit = 11 // bits
	var counts [6][1 << digit]int32
	for i := range list {
		k := key(&list[i])
		for d := range counts {
			counts[d][k>>(d*digit)&(1<<digit-1)]++
		}
	}
	for d := range counts {
		c := &counts[d]
		if int(c[key(&list[0])>>(d*digit)&(1<<digit-1)]) == len(list) {
			continue
		}
		at := int32(0)
		for i, n := range c {
			c[i] = at
			at += n
		}
		for i := range list {
			place := &c[key(&list[i])>>(d*digit)&(1<<digit-1)]
			other[*place] = list[i]
			*place++
		}
		list, other = other, list
	}
	return list, other
}
