package mr

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// output runs a job on a text with one reduce, and gives what it wrote.
func output(t *testing.T, j *Job, in string) string {
	t.Helper()
	dir := t.TempDir()
	l := local{workers: 2, reduces: 1, memory: 64 << 20, output: filepath.Join(dir, "out")}
	if _, err := l.run(j, write(t, dir, "in.txt", in)); err != nil {
		t.Fatal(err)
	}
	return strings.Join(readParts(t, l.output), "")
}

// TestTyped counts words, and sorts numbers of both kinds, in Go values.
func TestTyped(t *testing.T) {
	words := Typed[string, int64]{
		Name: "typed",
		Map: func(line string, emit func(string, int64)) {
			for w := range strings.FieldsSeq(line) {
				emit(w, 1)
			}
		},
		Reduce: func(word string, counts iter.Seq[int64], emit func(string, int64)) {
			var sum int64
			for n := range counts {
				sum += n
			}
			emit(word, sum)
		},
	}
	in := text(4, 5_000)
	for _, words.Combine = range []bool{false, true} {
		if got, want := output(t, words.Job(), in), sortedCounts(countedWords(in)); got != want {
			t.Errorf("combine %v: output differs", words.Combine)
		}
	}
	lengths := Typed[int64, float64]{Map: func(line string, emit func(int64, float64)) {
		var n int64
		var x float64
		fmt.Sscan(line, &n, &x)
		emit(n, x)
	}}
	if got := output(t, lengths.Job(), "10 2.5\n-3 1e300\n9 0\n"); got != "-3\t1e+300\n9\t0\n10\t2.5\n" {
		t.Errorf("numbers: %q", got)
	}
}

// TestGroups: SameGroup joins keys, Key follows the values, stays when they are read, and unread values are passed
// over.
func TestGroups(t *testing.T) {
	sameLetter := func(a, b []byte) bool { return a[0] == b[0] }
	job := func(reduce Func[*Groups]) *Job {
		return &Job{
			Name:      "groups",
			SameGroup: sameLetter,
			Reduce:    reduce,
			Map: func(_ *Task, in *Batches, out *Emitter) error {
				for in.Next() {
					for line := range Lines(in.Data()) {
						out.Emit(CutTab(line))
					}
				}
				return nil
			},
		}
	}
	var in strings.Builder
	want := map[bool]string{}
	for _, letter := range "abc" {
		first, all := "", ""
		for i := range 300 { // more than a reader asks for at a time
			key := fmt.Sprintf("%c%03d", letter, i)
			fmt.Fprintf(&in, "%s\t%d\n", key, i)
			if i == 0 {
				first = key + "\t" + "0\n"
			}
			all = key
		}
		want[false] += first
		want[true] += all + "\t300\n"
	}
	for _, whole := range []bool{false, true} {
		got := output(t, job(func(_ *Task, in *Groups, out *Emitter) error {
			for in.Next() {
				if !whole {
					in.NextValue()
					out.Emit(in.Key(), in.Value())
					continue
				}
				n := 0
				for range in.Values() {
					n++
				}
				out.Emit(in.Key(), fmt.Append(nil, n))
			}
			return nil
		}), in.String())
		if got != want[whole] {
			t.Errorf("whole groups %v: %q, want %q", whole, got, want[whole])
		}
	}
}

// TestFormats writes pairs in each format, and records as they are; a map-only job keeps the order of its input.
func TestFormats(t *testing.T) {
	pairs := func(_ *Task, in *Batches, out *Emitter) error {
		for in.Next() {
			for line := range Lines(in.Data()) {
				out.Emit(CutTab(line))
			}
		}
		return nil
	}
	raw := func(_ *Task, in *Batches, out *Emitter) error {
		for in.Next() {
			out.Write(in.Data())
		}
		return nil
	}
	const in = "b\t2\na\t1\na\t\n\t9\nc\n" // empty keys and values among them
	for want, j := range map[string]*Job{
		"\t9\na\t1\na\t\nb\t2\nc\t\n": {Map: pairs},
		"\na\na\nb\nc\n":              {Map: pairs, Output: Keys},
		"9a1ab2c":                     {Map: pairs, Output: Plain},
		"b\t2\na\t1\na\t\n\t9\nc\t\n": {Map: pairs, Reduces: MapOnly},
		in:                            {Map: raw, Reduces: MapOnly},
	} {
		if got := output(t, j, in); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for name, j := range map[string]*Job{"no input": {Map: pairs}, "no input, map only": {Map: raw, Reduces: MapOnly}} {
		if got := output(t, j, ""); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestBadJobs are refused before any work.
func TestBadJobs(t *testing.T) {
	for want, j := range map[string]Job{
		"no Map":           {},
		"exclude each":     {Map: mapWords(nil), TotalOrder: true, Partition: func([]byte, int) int { return 0 }},
		"Fold excludes":    {Map: mapWords(nil), Fold: Sum(1), Compare: bytes.Compare},
		"multiple of 8":    {Map: mapWords(nil), Fold: &Fold{Width: 9}},
		"Record is negat":  {Map: mapWords(nil), Record: -1},
		"0 to 65536":       {Map: mapWords(nil), Fold: &Fold{Width: 1 << 20}},
		"want 1 to 100000": {Map: mapWords(nil), Reduces: 200_000},
	} {
		if _, err := NewRun(&j, max(j.Reduces, 1), nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestOrderedNumbers: keys made of numbers are in the order of the numbers, and give them back.
func TestOrderedNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := rapid.Int64().Draw(t, "x"), rapid.Int64().Draw(t, "y")
		a, b := AppendInt64(nil, x), AppendInt64(nil, y)
		if OrderedInt64(a) != x || (bytes.Compare(a, b) < 0) != (x < y) {
			t.Fatalf("%x, %x", a, b)
		}
		f, g := rapid.Float64().Draw(t, "f"), rapid.Float64().Draw(t, "g")
		a, b = AppendFloat64(nil, f), AppendFloat64(nil, g)
		if math.Float64bits(OrderedFloat64(a)) != math.Float64bits(f) ||
			f != g && (bytes.Compare(a, b) < 0) != (f < g) {
			t.Fatalf("%x, %x", a, b)
		}
	})
}

// TestLines: a line ends at LF only. What else ends lines the engine's reader has made LF, unless it was told not to.
func TestLines(t *testing.T) {
	var got []string
	for l := range Lines([]byte("a\n\nb\r\nlast")) {
		got = append(got, string(l))
	}
	if want := []string{"a", "", "b\r", "last"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
