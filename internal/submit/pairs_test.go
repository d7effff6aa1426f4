package submit

import (
	"bytes"
	"strings"
	"testing"
)

// The name of a part has, by the hash that Hadoop computes of it, just that part for a remainder.
func TestNamePart(t *testing.T) {
	for _, parts := range []int{1, 2, 3, 30, 31, 32, 999, 961, mostParts - 1, mostParts} {
		for _, part := range []int{0, 1, parts / 2, parts - 1} {
			if part >= parts {
				continue
			}
			hash := int32(0)
			name := namePart(part, parts)
			for _, b := range name {
				if b < 'A' || b > '_' {
					t.Fatalf("part %d of %d: %q", part, parts, name)
				}
				hash = 31*hash + int32(b)
			}
			if hash < 0 || int(hash)%parts != part {
				t.Errorf("part %d of %d: %q has hash %d, remainder %d", part, parts, name, hash, int(hash)%parts)
			}
		}
	}
}

// FuzzPair: any key and value come back from a line, which has one TAB and no end of line within.
func FuzzPair(f *testing.F) {
	f.Add([]byte("key"), []byte("value"))
	f.Add([]byte("\t\n\r\\"), []byte("\\t\x00\xff"))
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		name := namePart(2, 5)
		line := appendEscaped(append([]byte{}, name[:]...), key)
		line = appendEscaped(append(line, '\t'), value)
		if bytes.Count(line, []byte("\t")) != 1 || bytes.ContainsAny(line, "\n\r") {
			t.Fatalf("%q", line)
		}
		var p pairLine
		if err := p.parse(line); err != nil || !bytes.Equal(p.key, key) || !bytes.Equal(p.value, value) {
			t.Errorf("%q gives %q and %q, %v", line, p.key, p.value, err)
		}
	})
}

// FuzzPairLine: any line is a pair or gives an error.
func FuzzPairLine(f *testing.F) {
	for _, line := range []string{"AAAAkey\tvalue", "AAA\tx", "AAAA\\", "AAAA\\q\t", "no tab", "AAAA\t\t"} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var p pairLine
		if err := p.parse(line); err == nil && !bytes.Contains(line, []byte("\t")) {
			t.Errorf("%q is no pair", line)
		}
	})
}

func TestPairErrors(t *testing.T) {
	for line, want := range map[string]string{"abc": "no pair", "AAAAx\\\tv": "ends in a backslash",
		"AAAA\\q\t": "there is no \\q"} {
		var p pairLine
		if err := p.parse([]byte(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", line, err, want)
		}
	}
}
