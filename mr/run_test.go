package mr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn/mr/internal/mem"
)

// text is lines of words, some rare, some longer than a slot or a prefix holds, from a seed.
func text(seed uint64, words int) string {
	r := rand.New(rand.NewPCG(seed, 0))
	var b strings.Builder
	for range words {
		n := int(r.ExpFloat64() * 20)
		switch r.IntN(20) {
		case 0:
			fmt.Fprintf(&b, "a-long-common-beginning-%d", n)
		case 1:
			fmt.Fprintf(&b, "%d", r.IntN(words))
		case 2, 3, 4:
			fmt.Fprintf(&b, "rare-and-too-long-for-a-slot-%d", r.IntN(words))
		default:
			b.WriteString(strings.Repeat("w", n%9) + strconv.Itoa(n))
		}
		b.WriteByte(" \n\t "[r.IntN(4)])
	}
	return b.String()
}

func countedWords(text string) map[string]int {
	counts := map[string]int{}
	for _, w := range strings.Fields(text) {
		counts[w]++
	}
	return counts
}

func sortedCounts(counts map[string]int) string {
	var b strings.Builder
	for _, w := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%s\t%d\n", w, counts[w])
	}
	return b.String()
}

// sum is a reduce and combine function for values in decimal.
func sum(_ *Task, in *Groups, out *Emitter) error {
	for in.Next() {
		total := 0
		for in.NextValue() {
			n, err := strconv.Atoi(string(in.Value()))
			if err != nil {
				return err
			}
			total += n
		}
		out.Emit(in.Key(), strconv.AppendInt(nil, int64(total), 10))
	}
	return nil
}

// smallest is the least memory that two workers can do with: little enough that a few thousand words spill.
const smallest = 2 * 2 * 6 * mem.Chunk

// TestWordCount holds every way that pairs can take against a Go map: hash table, sort, sort with a combiner; in memory
// and through files; one and many parts; outputs lost.
func TestWordCount(t *testing.T) {
	in := text(1, 120_000)
	want := countedWords(in)
	path := write(t, t.TempDir(), "in.txt", in)
	jobs := map[string]*Job{
		"fold":    wordCount(),
		"sort":    {Name: "sort", Map: mapWords([]byte("1")), Reduce: sum},
		"combine": {Name: "combine", Map: mapWords([]byte("1")), Reduce: sum, Combine: sum},
		"compare": {Name: "compare", Map: mapWords([]byte("1")), Reduce: sum, Compare: bytes.Compare},
	}
	for name, job := range jobs {
		for _, memory := range []int64{smallest, 64 << 20} {
			for _, reduces := range []int{1, 7} {
				for _, lose := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/%d MiB/%d/%v", name, memory>>20, reduces, lose), func(t *testing.T) {
						out := filepath.Join(t.TempDir(), "out")
						l := local{workers: 2, reduces: reduces, memory: memory, split: 256 << 10, output: out}
						if lose {
							l.lose = func(i int) bool { return i%2 == 1 }
						}
						counters, err := l.run(job, path)
						if err != nil {
							t.Fatal(err)
						}
						if spilled := counters.Of[SpilledRecords] > 0; spilled != (memory == smallest) {
							t.Errorf("%d records spilled", counters.Of[SpilledRecords])
						}
						got := map[string]int{}
						for _, part := range readParts(t, out) {
							lines := strings.SplitAfter(part, "\n")
							lines = lines[:len(lines)-1]
							if !slices.IsSorted(lines) && reduces == 1 && sortedCounts(want) != part {
								t.Error("part is not sorted")
							}
							for _, line := range lines {
								word, n, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
								if _, twice := got[word]; twice {
									t.Fatalf("%q is there twice", word)
								}
								got[word], _ = strconv.Atoi(n)
							}
						}
						if !maps.Equal(got, want) {
							t.Errorf("%d words, want %d, or counts differ", len(got), len(want))
						}
					})
				}
			}
		}
	}
}

// sortLines sorts lines; the value is where the line was, so the order of equal keys shows.
func sortLines(j Job) *Job {
	j.Name = "lines"
	j.Map = func(_ *Task, in *Batches, out *Emitter) error {
		for in.Next() {
			at := in.Offset()
			for line := range Lines(in.Data()) {
				out.Emit(line, strconv.AppendInt(nil, at, 10))
				at += int64(len(line)) + 1
			}
		}
		return nil
	}
	return &j
}

func sortedLines(in string, compare func(a, b []byte) int) string {
	type line struct {
		text string
		at   int
	}
	var lines []line
	at := 0
	for l := range strings.SplitAfterSeq(in, "\n") {
		if l != "" {
			lines = append(lines, line{strings.TrimSuffix(l, "\n"), at})
		}
		at += len(l)
	}
	slices.SortStableFunc(lines, func(x, y line) int { return compare([]byte(x.text), []byte(y.text)) })
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%s\t%d\n", l.text, l.at)
	}
	return b.String()
}

// TestSort sorts lines of all shapes: the output is the one stable order, whatever was spilled, merged and lost.
func TestSort(t *testing.T) {
	reversed := func(a, b []byte) int { return bytes.Compare(b, a) }
	dir := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.OneOf(rapid.StringMatching(`[ab]{0,3}`), rapid.StringMatching(`[a-z\x00\x{e9}]{0,20}`),
			rapid.Map(rapid.IntRange(0, 5), func(n int) string {
				return strings.Repeat("same beginning ", 10) + strconv.Itoa(n)
			}), rapid.Map(rapid.IntRange(1, 100_000), func(n int) string { return strings.Repeat("x", n) }))
		some := rapid.SliceOfN(line, 0, 60).Draw(t, "lines")
		in := strings.Repeat(strings.Join(some, "\n")+"\n", rapid.SampledFrom([]int{1, 1, 5, 100}).Draw(t, "times"))
		if len(in) > 1<<20 {
			in = in[:1<<20]
		}
		in = strings.TrimLeft(in, "\n")
		j := Job{TotalOrder: rapid.Bool().Draw(t, "total")}
		compare := bytes.Compare
		if rapid.Bool().Draw(t, "reversed") {
			j.Compare, compare = reversed, reversed
		}
		runs++
		out := filepath.Join(dir, fmt.Sprint("out", runs))
		path := filepath.Join(dir, fmt.Sprint("in", runs))
		if err := os.WriteFile(path, []byte(in), 0o600); err != nil {
			t.Fatal(err)
		}
		l := local{
			workers: 2,
			reduces: 1,
			memory:  rapid.SampledFrom([]int64{4 * smallest, 64 << 20}).Draw(t, "memory"),
			split:   256 << 10,
			output:  out,
		}
		if j.TotalOrder {
			l.reduces = rapid.IntRange(1, 9).Draw(t, "reduces")
		}
		l.lose = func(i int) bool { return i%3 == 2 }
		if _, err := l.run(sortLines(j), path); err != nil {
			t.Fatal(err)
		}
		got := ""
		paths, _ := filepath.Glob(filepath.Join(out, "part-*"))
		for _, p := range paths {
			b, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			got += string(b)
		}
		os.RemoveAll(out)
		os.Remove(path)
		if want := sortedLines(in, compare); got != want {
			t.Fatalf("%d bytes, want %d, or the order differs", len(got), len(want))
		}
	})
}

var errUser = errors.New("user's own")

// TestFailures ends attempts in every way: nothing may be left, and the error says what happened.
func TestFailures(t *testing.T) {
	in := text(2, 20_000)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		job  Job
		ctx  context.Context
		want func(error) bool
	}{
		"map": {job: Job{Map: func(*Task, *Batches, *Emitter) error { return errUser }}, want: func(err error) bool {
			return errors.Is(err, errUser)
		}},
		"panic": {job: Job{Map: func(*Task, *Batches, *Emitter) error {
			panic("at the disco")
		}}, want: func(err error) bool {
			return strings.Contains(err.Error(), "at the disco") && strings.Contains(err.Error(), "run_test.go")
		}},
		"reduce": {job: Job{Map: mapWords(nil), Reduce: func(*Task, *Groups, *Emitter) error {
			return errUser
		}}, want: func(err error) bool { return errors.Is(err, errUser) }},
		"late reduce": {job: Job{Map: mapWords(nil), Reduce: func(_ *Task, in *Groups, out *Emitter) error {
			for range 100 {
				in.Next()
				out.Emit(in.Key(), nil)
			}
			panic(errUser)
		}}, want: func(err error) bool {
			var p *PanicError
			return errors.As(err, &p) && p.Value == any(errUser)
		}},
		"combine": {job: Job{Map: mapWords(nil), Combine: func(*Task, *Groups, *Emitter) error {
			return errUser
		}}, want: func(err error) bool { return errors.Is(err, errUser) }},
		"partition": {job: Job{Map: mapWords(nil), Partition: func([]byte, int) int {
			return 3
		}}, want: func(err error) bool { return strings.Contains(err.Error(), "part 3") }},
		"width": {job: Job{Fold: Sum(1), Map: mapWords([]byte("x"))}, want: func(err error) bool {
			return strings.Contains(err.Error(), "Width")
		}},
		"cancelled": {job: Job{Map: mapWords(nil)}, ctx: cancelled, want: func(err error) bool {
			return errors.Is(err, context.Canceled)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := write(t, dir, "in.txt", in)
			c.job.Name = name
			l := local{
				workers: 2,
				reduces: 3,
				memory:  2 * smallest,
				split:   64 << 10,
				output:  filepath.Join(dir, "out"),
				ctx:     c.ctx,
			}
			_, err := l.run(&c.job, path)
			if err == nil || !c.want(err) {
				t.Errorf("error %v", err)
			}
			entries, _ := os.ReadDir(dir)
			if len(entries) != 1 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}
