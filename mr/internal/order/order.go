// Package order sorts references to pairs by their keys.
package order

import (
	"math/bits"
	"slices"

	"github.com/sojourn-sched/sojourn/mr/internal/pair"
)

// Entry refers to a pair: its key's prefix, and where it is. Among equal keys the smaller Ref goes first, so the order
// of entries is total and no sort need be stable.
type Entry struct{ Prefix, Ref uint64 }

const (
	small    = 24 // entries that insertion sorts faster than scattering does
	fewBits  = 6
	manyBits = 11 // of one scatter: 2,048 targets, whose open cache lines fit the second-level cache
)

// Sort sorts a, whose Refs ascend, by key in the order of bytes; tmp is as long as a; key finds a key by Ref. It
// scatters by the highest bits that differ, then again in each bucket: most significant digit first, each entry's bytes
// read at most once for every 7 that it shares with others.
func Sort(a, tmp []Entry, key func(ref uint64) []byte) {
	s := sorter{key: key}
	s.sort(a, tmp[:len(a)], 0)
}

type sorter struct{ key func(uint64) []byte }

// sort sorts a by Prefix, which is that of the keys from depth on, then by what follows, then by Ref.
func (s *sorter) sort(a, tmp []Entry, depth int) {
	switch {
	case len(a) <= small:
		insert(a)
		s.ties(a, tmp, depth)
		return
	case len(a) >= 1<<32:
		// Counts are 32 bits for the cache's sake; 64 GiB of entries are sorted otherwise.
		slices.SortFunc(a, compare)
		s.ties(a, tmp, depth)
		return
	}
	low, high := a[0].Prefix, a[0].Prefix
	for i := range a {
		low, high = min(low, a[i].Prefix), max(high, a[i].Prefix)
	}
	if low == high {
		s.deeper(a, tmp, depth)
		return
	}
	digits := bits.Len(uint(len(a))) - 3
	top := bits.Len64(low ^ high)
	// The array is cleared each time, so few entries get a short one.
	if digits <= fewBits {
		var count [1 << fewBits]uint32
		shift := max(top-digits, 0)
		ends := count[:high>>shift-low>>shift+1]
		scatter(a, tmp, ends, digit{low >> shift, uint(shift)})
		s.buckets(a, tmp, ends, depth)
	} else {
		var count [1 << manyBits]uint32
		shift := max(top-min(digits, manyBits), 0)
		ends := count[:high>>shift-low>>shift+1]
		scatter(a, tmp, ends, digit{low >> shift, uint(shift)})
		s.buckets(a, tmp, ends, depth)
	}
}

// digit is the part of a prefix that an entry is scattered by: prefix >> shift - base.
type digit struct {
	base  uint64
	shift uint
}

// scatter puts the entries of a in the order of their digits, from 0 to len(count)-1, and leaves in count where the
// entries of each digit end. The counts are 0 before; tmp is as long as a.
func scatter(a, tmp []Entry, count []uint32, d digit) {
	for i := range a {
		count[a[i].Prefix>>(d.shift&63)-d.base]++
	}
	at := uint32(0)
	for i, n := range count {
		count[i] = at
		at += n
	}
	for i := range a {
		c := &count[a[i].Prefix>>(d.shift&63)-d.base]
		tmp[*c] = a[i]
		*c++
	}
	copy(a, tmp)
}

// buckets sorts the entries of each bucket of a, whose ends are given.
func (s *sorter) buckets(a, tmp []Entry, ends []uint32, depth int) {
	from := uint32(0)
	for _, to := range ends {
		if to-from > 1 {
			s.sort(a[from:to], tmp[from:to], depth)
		}
		from = to
	}
}

func compare(x, y Entry) int {
	if x.Prefix != y.Prefix {
		if x.Prefix < y.Prefix {
			return -1
		}
		return 1
	}
	if x.Ref < y.Ref {
		return -1
	}
	return 1
}

func insert(a []Entry) {
	for i := 1; i < len(a); i++ {
		e, j := a[i], i
		for ; j > 0 && a[j-1].Prefix > e.Prefix; j-- {
			a[j] = a[j-1]
		}
		a[j] = e
	}
}

// ties finds entries of equal prefix in sorted a, and puts them in order.
func (s *sorter) ties(a, tmp []Entry, depth int) {
	for i := 0; i < len(a); {
		j := i + 1
		for j < len(a) && a[j].Prefix == a[i].Prefix {
			j++
		}
		if j-i > 1 {
			s.deeper(a[i:j], tmp[i:j], depth)
		}
		i = j
	}
}

// deeper sorts entries with the same prefix by what follows it.
func (s *sorter) deeper(a, tmp []Entry, depth int) {
	prefix := a[0].Prefix
	if pair.Whole(prefix) {
		return // equal keys, and they have kept the order of their Refs
	}
	for same := true; same; {
		depth += 7
		first := pair.Prefix(s.key(a[0].Ref)[depth:])
		for i := range a {
			p := pair.Prefix(s.key(a[i].Ref)[depth:])
			a[i].Prefix = p
			same = same && p == first
		}
		same = same && !pair.Whole(first)
	}
	s.sort(a, tmp, depth)
	for i := range a {
		a[i].Prefix = prefix
	}
}

// SortFunc sorts a by keys in the order of compare, then by Ref; it does not look at Prefix.
func SortFunc(a []Entry, key func(ref uint64) []byte, compare func(a, b []byte) int) {
	slices.SortFunc(a, func(x, y Entry) int {
		if c := compare(key(x.Ref), key(y.Ref)); c != 0 {
			return c
		}
		if x.Ref < y.Ref {
			return -1
		}
		return 1
	})
}
