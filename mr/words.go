package mr

import (
	"encoding/binary"
	"math/bits"
)

// Words finds words in text from at on: runs of bytes other than space, TAB, LF, FF and CR. It fills spans, and gives
// how many it found and where to go on; it stops at the end of text or when spans, which has room for at least 8, is
// nearly full.
func Words(spans []Span, text []byte, at int) (n, next int) {
	start := at
	for ; at+8 <= len(text) && n+8 <= len(spans); at += 8 {
		for m := blankBytes(binary.LittleEndian.Uint64(text[at:])); m != 0; m &= m - 1 {
			end := at + bits.TrailingZeros64(m)/8
			spans[n] = Span{uint32(start), uint32(end)}
			if end > start {
				n++
			}
			start = end + 1
		}
	}
	if at+8 <= len(text) { // spans are nearly full
		return n, start
	}
	for ; at < len(text) && n < len(spans); at++ {
		if isBlank(text[at]) {
			if at > start {
				spans[n] = Span{uint32(start), uint32(at)}
				n++
			}
			start = at + 1
		}
	}
	if at == len(text) && at > start && n < len(spans) {
		spans[n] = Span{uint32(start), uint32(at)}
		return n + 1, at
	}
	return n, start
}

const (
	eachByte = 0x0101010101010101
	highBits = 0x8080808080808080
)

// blankBytes returns the highest bit of each byte of x that is a blank, which ends a word. All other bits are zero.
func blankBytes(x uint64) uint64 {
	// Bytes up to space: there, adding 0x5f to the low seven bits carries into the eighth exactly above space.
	low := ^(x&^highBits + 0x5f*eachByte | x) & highBits
	if low == 0 {
		return 0
	}
	// Text has few other control characters than these; VT and what no text has are told apart one by one.
	for m := low; m != 0; m &= m - 1 {
		if i := bits.TrailingZeros64(m) &^ 7; !isBlank(byte(x >> i)) {
			low &^= 0x80 << i
		}
	}
	return low
}

// blanks is a set of bits, one for each delimiter of Java's StringTokenizer.
const blanks = 1<<' ' | 1<<'\t' | 1<<'\n' | 1<<'\f' | 1<<'\r'

func isBlank(c byte) bool { return c <= ' ' && 1<<c&blanks != 0 }
