package jobs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"path/filepath"
	"strings"

	"github.com/sojourn-sched/sojourn/mr"
)

// fieldEnd ends a field within a key. It sorts before everything that a field may go on with: a zero byte of the field
// itself is written as 00 FF. So keys compare as their fields do, shorter fields first.
var fieldEnd = []byte{0, 0}

// appendField appends a field of any bytes, and its end.
func appendField(key, field []byte) []byte {
	for {
		i := bytes.IndexByte(field, 0)
		if i < 0 {
			return append(append(key, field...), fieldEnd...)
		}
		key = append(append(key, field[:i]...), 0, 0xFF)
		field = field[i+1:]
	}
}

// cutField splits a key behind its first field. The field is returned encoded, with its end.
func cutField(key []byte) (field, rest []byte) {
	end := bytes.Index(key, fieldEnd) + len(fieldEnd)
	return key[:end], key[end:]
}

// appendPlain appends the text that appendField encoded as field: it undoes the escaping.
func appendPlain(b, field []byte) []byte {
	field = field[:len(field)-len(fieldEnd)]
	for {
		i := bytes.IndexByte(field, 0)
		if i < 0 {
			return append(b, field...)
		}
		b = append(append(b, field[:i]...), 0)
		field = field[i+2:]
	}
}

// sameField reports whether two keys have the same first field.
func sameField(a, b []byte) bool {
	field, _ := cutField(a)
	return bytes.HasPrefix(b, field)
}

// fieldPart returns the part of the output for a key, by the first field of the key.
func fieldPart(key []byte, parts int) int {
	field, _ := cutField(key)
	return partOf(field, parts)
}

// partOf returns the part of the output for a text. Texts are spread evenly over the parts.
//
// The engine spreads the keys of all other jobs by the hash of its tables, pair.Hash. partOf stays a hash of its own,
// because with that one other texts would be in each part-r-NNNNN, and the parts that two versions write would differ.
func partOf(s []byte, parts int) int {
	const odd = 0x9E3779B97F4A7C15 // 2^64 ÷ golden ratio: its multiples are far apart
	h := uint64(len(s))
	for ; len(s) >= 8; s = s[8:] {
		h = (h ^ binary.LittleEndian.Uint64(s)) * odd
		h ^= h >> 32
	}
	for _, c := range s {
		h = (h ^ uint64(c)) * odd
		h ^= h >> 32
	}
	part, _ := bits.Mul64(h*odd, uint64(parts))
	return int(part)
}

// document returns the name under which the words of a file are counted. It refuses a name with an end of line, which a
// reader of the output would take for two lines.
func document(path string) ([]byte, error) {
	name := filepath.Base(path)
	if strings.ContainsAny(name, "\n\r") {
		return nil, mr.Permanent(fmt.Errorf("file %q: its name has an end of line, and documents are named in lines "+
			"of output: rename it", path))
	}
	return []byte(name), nil
}

// pending collects keys that are put together, for EmitEach.
type pending struct {
	text  []byte
	spans []mr.Span
	start int // of the key that is being put together
}

// fullPending is how many bytes are handed over at a time: they are read again at once, so they should still be in the
// cache.
const fullPending = 16 << 10

// end ends the key that was appended to text, and hands over what there is if it is much.
func (p *pending) end(out *mr.Emitter, value []byte) {
	p.spans = append(p.spans, mr.Span{Start: uint32(p.start), End: uint32(len(p.text))})
	p.start = len(p.text)
	if p.start >= fullPending {
		p.flush(out, value)
	}
}

func (p *pending) flush(out *mr.Emitter, value []byte) {
	out.EmitEach(p.text, p.spans, value)
	p.text, p.spans, p.start = p.text[:0], p.spans[:0], 0
}
