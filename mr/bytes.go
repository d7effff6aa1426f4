package mr

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math"
)

// One is the value 1 of a [Sum](1): a little-endian int64.
var One = []byte{1, 0, 0, 0, 0, 0, 0, 0}

// Int64 reads element i of the array of little-endian int64 that a [Sum] keeps.
func Int64(value []byte, i int) int64 { return int64(binary.LittleEndian.Uint64(value[8*i:])) }

// AppendSum appends n as an element of the array of little-endian int64 that a [Sum] keeps.
func AppendSum(dst []byte, n int64) []byte { return binary.LittleEndian.AppendUint64(dst, uint64(n)) }

// AppendInt64 appends 8 bytes whose order as bytes is the order of n: for keys.
func AppendInt64(dst []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(n)^1<<63)
}

// OrderedInt64 reads what [AppendInt64] wrote.
func OrderedInt64(key []byte) int64 { return int64(binary.BigEndian.Uint64(key) ^ 1<<63) }

// AppendFloat64 appends 8 bytes whose order as bytes is the order of x (-0 before 0; not a number at the ends): for
// keys.
func AppendFloat64(dst []byte, x float64) []byte {
	b := math.Float64bits(x)
	if b>>63 == 1 {
		b = ^b
	} else {
		b |= 1 << 63
	}
	return binary.BigEndian.AppendUint64(dst, b)
}

// OrderedFloat64 reads what [AppendFloat64] wrote.
func OrderedFloat64(key []byte) float64 {
	b := binary.BigEndian.Uint64(key)
	if b>>63 == 1 {
		b &^= 1 << 63
	} else {
		b = ^b
	}
	return math.Float64frombits(b)
}

// Lines yields the lines of a batch without their LF; the last one may lack it. A batch holds no other end of a line:
// see [Batches.Data]. A CR is part of its line, as it is where only LF ends lines.
func Lines(data []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(data) > 0 {
			line := data
			if i := bytes.IndexByte(data, '\n'); i >= 0 {
				line, data = data[:i], data[i+1:]
			} else {
				data = nil
			}
			if !yield(line) {
				return
			}
		}
	}
}

// CutTab cuts a line at its first TAB into key and value, as Hadoop's KeyValueTextInputFormat does; a line without TAB
// is a key.
func CutTab(line []byte) (key, value []byte) {
	key, value, _ = bytes.Cut(line, []byte{'\t'})
	return key, value
}
