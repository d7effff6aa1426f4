package dfa

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"regexp/syntax"
	"unicode/utf8"
)

// maxLiterals bounds how many strings are searched for at a time, and maxLiteral how long one built from parts becomes.
const (
	maxLiterals = 8
	maxLiteral  = 64
)

// Literals returns strings such that every match of expr contains at least one, and whether they are all there is to
// it: a match is one of these strings, found from left to right, and none begins with another. nil: none could be
// found.
func Literals(expr string) (literals [][]byte, whole bool, err error) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, false, err
	}
	s := stringsOf(re)
	whole = s.exact != nil
	best := s.needed
	if whole {
		best = s.exact
	}
	for i, lit := range best {
		literals = append(literals, []byte(lit))
		for j, other := range best {
			if lit == "" {
				return nil, false, nil
			}
			if i != j && len(other) >= len(lit) && other[:len(lit)] == lit {
				whole = false
			}
		}
	}
	return literals, whole, nil
}

// stringSet is what is known of the strings that an expression matches.
type stringSet struct {
	exact  []string // all of them; nil: too many
	needed []string // each of them contains one of these; nil: unknown
}

// stringsOf is R. Cox's analysis ("Regular Expression Matching with a Trigram Index", 2012) without prefixes and
// suffixes.
func stringsOf(re *syntax.Regexp) stringSet {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return stringSet{exact: []string{""}}
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			// With (?i) there are many spellings, and U+FFFD stands for any byte that is no character.
			if re.Flags&syntax.FoldCase != 0 || r == utf8.RuneError {
				return stringSet{}
			}
		}
		return stringSet{exact: []string{string(re.Rune)}}
	case syntax.OpCharClass:
		var all []string
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if len(all) == maxLiterals/2 || r == utf8.RuneError {
					return stringSet{}
				}
				all = append(all, string(r))
			}
		}
		return stringSet{exact: all}
	case syntax.OpCapture:
		return stringsOf(re.Sub[0])
	case syntax.OpPlus:
		return stringSet{needed: stringsOf(re.Sub[0]).best()}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return stringSet{needed: stringsOf(re.Sub[0]).best()}
		}
	case syntax.OpAlternate:
		return alternatives(re.Sub)
	case syntax.OpConcat:
		return sequence(re.Sub)
	}
	return stringSet{}
}

// best is the set to search for.
func (s stringSet) best() []string {
	if s.exact != nil {
		return s.exact
	}
	return s.needed
}

func alternatives(subs []*syntax.Regexp) stringSet {
	all := stringSet{exact: []string{}, needed: []string{}}
	for _, sub := range subs {
		s := stringsOf(sub)
		if s.best() == nil {
			return stringSet{}
		}
		all.needed = append(all.needed, s.best()...)
		if all.exact = append(all.exact, s.exact...); s.exact == nil {
			all.exact = nil
		}
		if len(all.needed) > maxLiterals {
			return stringSet{}
		}
	}
	if len(all.exact) != len(all.needed) {
		all.exact = nil
	}
	return all
}

// sequence joins neighbours whose strings are known, and needs the best of what comes out.
func sequence(subs []*syntax.Regexp) stringSet {
	joined := []string{""}
	var needed []string
	exact := true
	for _, sub := range subs {
		s := stringsOf(sub)
		if s.exact != nil && len(joined)*len(s.exact) <= maxLiterals && longest(joined)+longest(s.exact) <= maxLiteral {
			var longer []string
			for _, a := range joined {
				for _, b := range s.exact {
					longer = append(longer, a+b)
				}
			}
			joined = longer
			continue
		}
		needed = better(needed, joined)
		needed = better(needed, s.best())
		joined, exact = []string{""}, false
	}
	if exact {
		return stringSet{exact: joined}
	}
	return stringSet{needed: better(needed, joined)}
}

// better is the set whose shortest string is longer: longer strings are rarer. Of equally long ones the smaller set.
func better(a, b []string) []string {
	switch {
	case shortest(a) < shortest(b), shortest(a) == shortest(b) && len(b) < len(a):
		return b
	default:
		return a
	}
}

func shortest(set []string) int {
	n := maxLiteral + 1
	for _, s := range set {
		n = min(n, len(s))
	}
	if len(set) == 0 {
		n = 0
	}
	return n
}

func longest(set []string) int {
	n := 0
	for _, s := range set {
		n = max(n, len(s))
	}
	return n
}

// Finder finds the first of a few strings in a text. It remembers where the others were found; for one goroutine.
type Finder struct {
	needles []needle
	next    []int // of each needle: where it was found last; -1: not searched for yet
}

// NewFinder returns a Finder for at least one string; none is empty.
func NewFinder(literals [][]byte) *Finder {
	f := &Finder{next: make([]int, len(literals))}
	for _, lit := range literals {
		f.needles = append(f.needles, newNeedle(lit))
	}
	f.Reset()
	return f
}

// Reset forgets the text: what Find is called with next is another.
func (f *Finder) Reset() {
	for i := range f.next {
		f.next[i] = -1
	}
}

// Find returns where in text, at or after at, the first of the strings begins and ends, the longest where several begin
// there; start is -1 where none does. Until Reset, text stays the same and at does not decrease.
func (f *Finder) Find(text []byte, at int) (start, end int) {
	start = -1
	for i := range f.needles {
		n := &f.needles[i]
		if f.next[i] < at {
			f.next[i] = len(text)
			if k := n.index(text[at:]); k >= 0 {
				f.next[i] = at + k
			}
		}
		if p := f.next[i]; p < len(text) && (start < 0 || p < start || p == start && p+len(n.text) > end) {
			start, end = p, p+len(n.text)
		}
	}
	return start, end
}

// needle is a string to search for by two of its bytes, those that are rarest in usual texts.
type needle struct {
	text        []byte
	i, j        int    // where these bytes stand; equal for strings of one byte
	first, last uint64 // the bytes at i and j, eight times
}

// commonest lists bytes by how often texts and source code have them; all others are rarer.
const commonest = " etaoinsrhldcumpfgy.w,b_v\nk-\t01;()\"'=/" +
	"TASIE2CR:NMDLxP*3{}54B8j6F79OzqHWUGV<>[]&KJ#+Y!|%@QX\\$Z?`~^"

func newNeedle(text []byte) needle {
	n := needle{text: text}
	for k := range text {
		switch {
		case k == 0 || rarity(text[k]) > rarity(text[n.i]):
			n.i, n.j = k, n.i
		case n.j == n.i || rarity(text[k]) > rarity(text[n.j]):
			n.j = k
		}
	}
	n.first, n.last = lows*uint64(text[n.i]), lows*uint64(text[n.j])
	return n
}

func rarity(c byte) int {
	if i := bytes.IndexByte([]byte(commonest), c); i >= 0 {
		return i
	}
	return len(commonest)
}

const (
	lows  = 0x0101010101010101
	highs = 0x8080808080808080
)

// index is bytes.Index, at a speed that does not depend on how often text has the string's first byte: it compares two
// bytes of eight positions at a time.
func (n *needle) index(text []byte) int {
	at := 0
	if ends := len(text) - len(n.text) + 1; ends > 0 { // positions where it could begin
		a, b := text[n.i:n.i+ends], text[n.j:n.j+ends]
		for ; at+32 <= len(a) && at+32 <= len(b); at += 32 {
			p, q := a[at:at+32:at+32], b[at:at+32:at+32]
			z0 := (binary.LittleEndian.Uint64(p) ^ n.first) | (binary.LittleEndian.Uint64(q) ^ n.last)
			z1 := (binary.LittleEndian.Uint64(p[8:]) ^ n.first) | (binary.LittleEndian.Uint64(q[8:]) ^ n.last)
			z2 := (binary.LittleEndian.Uint64(p[16:]) ^ n.first) | (binary.LittleEndian.Uint64(q[16:]) ^ n.last)
			z3 := (binary.LittleEndian.Uint64(p[24:]) ^ n.first) | (binary.LittleEndian.Uint64(q[24:]) ^ n.last)
			if ((z0-lows)&^z0|(z1-lows)&^z1|(z2-lows)&^z2|(z3-lows)&^z3)&highs == 0 {
				continue
			}
			for k, z := range [...]uint64{z0, z1, z2, z3} {
				// A byte of hits that is set is a candidate; above the first it may be a false one, which the
				// comparison finds out.
				for hits := (z - lows) &^ z & highs; hits != 0; hits &= hits - 1 {
					p := at + 8*k + bits.TrailingZeros64(hits)/8
					if bytes.Equal(text[p:p+len(n.text)], n.text) {
						return p
					}
				}
			}
		}
	}
	if k := bytes.Index(text[at:], n.text); k >= 0 {
		return at + k
	}
	return -1
}
