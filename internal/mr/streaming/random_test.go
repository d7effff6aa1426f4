package streaming

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn/mr"
)

// TestRandomPairs sends random lines through cat as mapper, combiner and reducer, with separators of several bytes and
// keys of several fields, and compares with a stable sort.
func TestRandomPairs(t *testing.T) {
	dir := t.TempDir()
	runs := 0
	rapid.Check(t, func(r *rapid.T) {
		runs++
		separator := rapid.SampledFrom([]string{"\t", ",", "::", "é", "aba"}).Draw(r, "separator")
		fields := rapid.IntRange(1, 3).Draw(r, "fields of a key")
		piece := rapid.SampledFrom([]string{
			"", "a", "b", "ab", separator, separator[:1], "\xff", " ", "longer than the eight bytes of a prefix",
		})
		var lines []string
		for range rapid.IntRange(0, 200).Draw(r, "lines") {
			lines = append(lines, strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(r, "pieces"), ""))
		}
		programs := Programs{Mapper: "cat", Reducer: "cat"}
		// What a combiner reads and writes is ambiguous, as in Hadoop, where a key ends like a separator or has too few
		// fields.
		if fields == 1 && len(separator) == 1 && rapid.Bool().Draw(r, "combine") {
			programs.Combiner = "cat"
		}
		split := rapid.SampledFrom([]string{"100", "1000", "1m"}).Draw(r, "split")
		conf := mr.Conf{
			"stream.map.output.field.separator":             separator,
			"stream.num.map.output.key.fields":              fmt.Sprint(fields),
			"stream.reduce.input.field.separator":           "|=|",
			"stream.reduce.output.field.separator":          "|=|",
			"mapreduce.input.fileinputformat.split.maxsize": split,
		}
		type pair struct{ key, value string }
		var pairs []pair
		for _, line := range lines {
			p := pair{key: line}
			if parts := strings.SplitN(line, separator, fields+1); len(parts) > fields {
				p = pair{strings.Join(parts[:fields], separator), parts[fields]}
			}
			pairs = append(pairs, p)
		}
		slices.SortStableFunc(pairs, func(a, b pair) int { return strings.Compare(a.key, b.key) })
		want := ""
		for _, p := range pairs {
			want += p.key + "\t" + p.value + "\n"
		}
		in := filepath.Join(dir, fmt.Sprint(runs))
		if err := os.WriteFile(in, []byte(strings.Join(append(lines, ""), "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		got, _, err := execute(t, programs, conf, 1, in)
		if err != nil || strings.Join(got, "") != want {
			r.Fatalf("%v: %q, want %q", err, got, want)
		}
	})
}
