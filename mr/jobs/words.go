package jobs

import (
	"encoding/binary"
	"math/bits"

	"github.com/sojourn-sched/sojourn/mr"
)

// isBlank has what parts words: what Java's StringTokenizer takes, which is one character less (VT) than C's isspace.
var isBlank = [256]bool{' ': true, '\t': true, '\n': true, '\f': true, '\r': true}

// words finds the words of text from at on, fills spans, which has room for at least eight, and returns how many it found and
// where to go on: at the end of text when there are no more. It looks at eight bytes at a time.
func words(spans []mr.Span, text []byte, at int) (n, next int) {
	const (
		lows7 = 0x7F7F7F7F7F7F7F7F
		add   = 0x5F5F5F5F5F5F5F5F // 0x80 - 0x21: carries into the high bit of bytes above 0x20
		highs = 0x8080808080808080
	)
	start := at
	for at+8 <= len(text) && n+8 <= len(spans) {
		x := binary.LittleEndian.Uint64(text[at:])
		for low := ^((x&lows7 + add) | x) & highs; low != 0; low &= low - 1 {
			p := at + bits.TrailingZeros64(low)/8
			if !isBlank[text[p]] {
				continue
			}
			spans[n] = mr.Span{Start: uint32(start), End: uint32(p)}
			if p > start {
				n++
			}
			start = p + 1
		}
		at += 8
	}
	for ; n < len(spans) && at < len(text); at++ {
		if isBlank[text[at]] {
			spans[n] = mr.Span{Start: uint32(start), End: uint32(at)}
			if at > start {
				n++
			}
			start = at + 1
		}
	}
	if n < len(spans) && start < len(text) { // the text's last word
		spans[n] = mr.Span{Start: uint32(start), End: uint32(len(text))}
		return n + 1, len(text)
	}
	return n, start
}

// wordBatch is how many words are handled at a time.
const wordBatch = 512
