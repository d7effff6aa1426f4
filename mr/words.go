package mr

// Words finds words in text from at on: runs of bytes other than space, TAB, LF, FF and CR. It fills spans, and gives how many it
// found and where to go on; it stops at the end of text or when spans are full.
func Words(spans []Span, text []byte, at int) (n, next int) {
	for at < len(text) && n < len(spans) {
		for at < len(text) && isBlank(text[at]) {
			at++
		}
		start := at
		for at < len(text) && !isBlank(text[at]) {
			at++
		}
		if at > start {
			spans[n] = Span{uint32(start), uint32(at)}
			n++
		}
	}
	return n, at
}

// blanks has a bit for each of Java's StringTokenizer's delimiters.
const blanks = 1<<' ' | 1<<'\t' | 1<<'\n' | 1<<'\f' | 1<<'\r'

func isBlank(c byte) bool { return c <= ' ' && 1<<c&blanks != 0 }
