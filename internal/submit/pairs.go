package submit

import (
	"bytes"
	"fmt"
)

// A pair of a built-in job on its way from mapper to reducer is a line: the part that it is for in partDigits bytes,
// the key, TAB, the value and a line feed. Keys and values are bytes, so what would end a field or a line is escaped:
// Hadoop Streaming takes a carriage return for the end of a line as well. The order in which Hadoop sorts the lines of
// a part does not matter: a Worker sorts again.

// partDigits is how many bytes name a part. Hadoop's KeyFieldBasedPartitioner computes the hash of these bytes, the sum
// of byte·31^i, modulo the number of parts. With bytes 'A' to '_', which are 31, that sum is a constant and a number in
// base 31, so that a name exists for every part.
const (
	partDigits = 4
	partBase   = 31
	mostParts  = partBase * partBase * partBase // fewer than names, so that all remainders occur
)

// partitioner is what makes Hadoop send a pair to the part that its line names.
var partitioner = []string{
	"-D", "mapreduce.partition.keypartitioner.options=-k1.1,1.4",
	"-partitioner", "org.apache.hadoop.mapred.lib.KeyFieldBasedPartitioner",
}

// namePart returns the name of a part of so many.
func namePart(part, parts int) (name [partDigits]byte) {
	least := 0 // the hash of the name of zeros
	for range partDigits {
		least = least*partBase + 'A'
	}
	n := ((part-least)%parts + parts) % parts
	for i := partDigits - 1; i >= 0; i-- {
		name[i] = byte('A' + n%partBase)
		n /= partBase
	}
	return name
}

// appendEscaped appends text without the bytes that end fields and lines.
func appendEscaped(to, text []byte) []byte {
	for {
		i := bytes.IndexAny(text, "\\\t\n\r")
		if i < 0 {
			return append(to, text...)
		}
		to = append(append(to, text[:i]...), '\\')
		switch text[i] {
		case '\t':
			to = append(to, 't')
		case '\n':
			to = append(to, 'n')
		case '\r':
			to = append(to, 'r')
		default:
			to = append(to, '\\')
		}
		text = text[i+1:]
	}
}

// appendUnescaped undoes appendEscaped.
func appendUnescaped(to, text []byte) ([]byte, error) {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return append(to, text...), nil
		}
		to = append(to, text[:i]...)
		if i+1 == len(text) {
			return to, fmt.Errorf("%.80q ends in a backslash", text)
		}
		switch text[i+1] {
		case 't':
			to = append(to, '\t')
		case 'n':
			to = append(to, '\n')
		case 'r':
			to = append(to, '\r')
		case '\\':
			to = append(to, '\\')
		default:
			return to, fmt.Errorf("%.80q: there is no \\%c: must be \\t, \\n, \\r or \\\\", text, text[i+1])
		}
		text = text[i+2:]
	}
}

// A pairLine is a pair that was read from a line. parse overwrites key and value with those of the next line.
type pairLine struct{ key, value []byte }

// parse reads a line without its line feed. Bytes that are no pair give an error.
func (p *pairLine) parse(line []byte) (err error) {
	key, value, ok := bytes.Cut(line, []byte{'\t'})
	if !ok || len(key) < partDigits {
		return fmt.Errorf("%.80q is no pair of a built-in job: it must come from 'sojourn task map'", line)
	}
	if p.key, err = appendUnescaped(p.key[:0], key[partDigits:]); err == nil {
		p.value, err = appendUnescaped(p.value[:0], value)
	}
	return err
}
