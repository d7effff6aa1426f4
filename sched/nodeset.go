package sched

import "math/bits"

// A nodeSet is a set of node IDs in three levels of words: a member after a given one is found in a few steps for up to
// 262,144 nodes, and in one more step for each 262,144 beyond.
type nodeSet struct {
	// A bit of leaf is a node. A bit of mid says that a word of leaf is not zero, a bit of top the same of mid.
	leaf, mid, top []uint64
	count          int // of members
}

// grow makes room for n. The other methods need it for every node.
func (s *nodeSet) grow(n NodeID) {
	for len(s.leaf) <= int(n>>6) {
		s.leaf = append(s.leaf, 0)
	}
	for len(s.mid)*64 < len(s.leaf) {
		s.mid = append(s.mid, 0)
	}
	for len(s.top)*64 < len(s.mid) {
		s.top = append(s.top, 0)
	}
}

func (s *nodeSet) has(n NodeID) bool { return s.leaf[n>>6]>>(n&63)&1 != 0 }

// flip adds n, or removes it where it is a member.
func (s *nodeSet) flip(n NodeID) {
	leaf := &s.leaf[n>>6]
	was := *leaf
	*leaf ^= 1 << (n & 63)
	if *leaf&^was != 0 {
		s.count++
	} else {
		s.count--
	}
	if was != 0 && *leaf != 0 {
		return // the words above have the bit of this one, as before
	}
	mid := &s.mid[n>>12]
	was = *mid
	*mid ^= 1 << (n >> 6 & 63)
	if was == 0 || *mid == 0 {
		s.top[n>>18] ^= 1 << (n >> 12 & 63)
	}
}

func (s *nodeSet) any() bool { return s.count > 0 }

// after returns the first member greater than n; 0: none.
func (s *nodeSet) after(n NodeID) NodeID {
	i := int(n) + 1
	if i>>6 < len(s.leaf) {
		if w := s.leaf[i>>6] >> (i & 63); w != 0 {
			return NodeID(i + bits.TrailingZeros64(w))
		}
	}
	i = i>>6 + 1 // of a leaf word
	if i>>6 < len(s.mid) {
		if w := s.mid[i>>6] >> (i & 63); w != 0 {
			return s.firstIn(i + bits.TrailingZeros64(w))
		}
	}
	i = i>>6 + 1 // of a mid word
	for t := i >> 6; t < len(s.top); t++ {
		w := s.top[t]
		if t == i>>6 {
			w = w >> (i & 63) << (i & 63)
		}
		if w != 0 {
			m := t<<6 + bits.TrailingZeros64(w)
			return s.firstIn(m<<6 + bits.TrailingZeros64(s.mid[m]))
		}
	}
	return 0
}

// afterIn returns the first member greater than n that is also in a set of words; 0: none.
func (s *nodeSet) afterIn(n NodeID, words []uint64) NodeID {
	for {
		i := s.after(n)
		w := int(i >> 6)
		if i == 0 || w >= len(words) {
			return 0
		}
		if both := s.leaf[w] & words[w] >> (i & 63) << (i & 63); both != 0 {
			return NodeID(w<<6 + bits.TrailingZeros64(both))
		}
		n = NodeID(w<<6 + 63)
	}
}

// firstIn returns the first member in leaf word leaf, which is not zero.
func (s *nodeSet) firstIn(leaf int) NodeID {
	return NodeID(leaf<<6 + bits.TrailingZeros64(s.leaf[leaf]))
}
