package mr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn/mr/input"
	"github.com/sojourn-sched/sojourn/mr/internal/mem"
)

// TestCuts: a key's bin is how many cuts are not after it, whatever the cuts begin with.
func TestCuts(t *testing.T) {
	key := rapid.OneOf(rapid.StringMatching(`[ab\x00]{0,10}`), rapid.StringMatching(`http://[ab]{0,12}`))
	rapid.Check(t, func(t *rapid.T) {
		var sample [][]byte
		for _, k := range rapid.SliceOf(key).Draw(t, "sample") {
			sample = append(sample, []byte(k))
		}
		slices.SortFunc(sample, bytes.Compare)
		c := newCuts(sample, rapid.IntRange(1, 20).Draw(t, "parts"), ordering{})
		k := []byte(key.Draw(t, "key"))
		want := sort.Search(len(c.keys), func(i int) bool { return bytes.Compare(c.keys[i], k) > 0 })
		if got := c.part(k); got != want {
			t.Fatalf("%q is in %d of %q, want %d", k, got, c.keys, want)
		}
	})
}

// binnedInput is a file for which there are no bins yet, since it is so small, and one that has many; and how often
// each word occurs.
func binnedInput(t *testing.T, dir string) (paths []string, words map[string]int) {
	r := rand.New(rand.NewPCG(1, 1))
	words = map[string]int{}
	lines := func(n int) string {
		var b strings.Builder
		for range n {
			w := fmt.Sprintf("w%07d", r.IntN(200_000))
			words[w]++
			b.WriteString(w + "\n")
		}
		return b.String()
	}
	return []string{write(t, dir, "a.txt", lines(100)), write(t, dir, "b.txt", lines(400_000))}, words
}

// TestBins: parts that are cut into bins have the output of those that are not, values of equal keys in the order of
// (map, emission).
func TestBins(t *testing.T) {
	dir := t.TempDir()
	paths, words := binnedInput(t, dir)
	number := func(_ *Task, in *Batches, out *Emitter) error {
		for in.Next() {
			at := in.Offset()
			for line := range Lines(in.Data()) {
				out.Emit(line, fmt.Appendf(nil, "%s-%08d", filepath.Base(in.Path()), at))
				at += int64(len(line)) + 1
			}
		}
		return nil
	}
	count := func(_ *Task, in *Batches, out *Emitter) error {
		for in.Next() {
			for line := range Lines(in.Data()) {
				out.Emit(line, One)
			}
		}
		return nil
	}
	byLast := func(key []byte, parts int) int { return int(key[len(key)-1]) % parts }
	for name, job := range map[string]Job{
		"sorted":           {Map: number},
		"in total order":   {Map: number, TotalOrder: true},
		"with a partition": {Map: number, Partition: byLast},
		"folded":           {Map: count, Fold: Sum(1)},
	} {
		t.Run(name, func(t *testing.T) {
			job.Name = "bins"
			l := local{workers: 1, reduces: 3, memory: 256 << 20, split: 700_000, output: filepath.Join(dir, name)}
			memory, err := newMemory(l.memory, l.workers)
			if err != nil {
				t.Fatal(err)
			}
			defer memory.Close()
			work, err := OpenWorkspace(l.output, false)
			if err != nil {
				t.Fatal(err)
			}
			r, _, err := l.round(&job, paths, memory, work)
			if err == nil {
				err = r.CommitJob()
			}
			if err = errors.Join(err, work.Close()); err != nil {
				t.Fatal(err)
			}
			if per := r.bins.Load().each(); per < 2 {
				t.Fatalf("%d bins of a part: nothing is tested", per)
			}
			last, seen := "", map[string]int{}
			for _, part := range readParts(t, l.output) {
				if !job.TotalOrder {
					last = ""
				}
				for line := range strings.Lines(part) {
					key, value, _ := strings.Cut(strings.TrimSpace(line), "\t")
					if line <= last {
						t.Fatalf("%q after %q", line, last)
					}
					last = line
					if job.Fold != nil {
						n, err := strconv.Atoi(value)
						if err != nil {
							t.Fatal(err)
						}
						seen[key] = n
						continue
					}
					seen[key]++
				}
			}
			if len(seen) != len(words) {
				t.Fatalf("%d words, want %d", len(seen), len(words))
			}
			for w, n := range words {
				if seen[w] != n {
					t.Fatalf("%s occurs %d times, want %d", w, seen[w], n)
				}
			}
		})
	}
}

// TestSmallOutputs: the outputs of many small maps share memory, and give all of it back.
func TestSmallOutputs(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "in.txt", strings.Repeat("the cat and the dog\n", 500))
	memory, err := newMemory(64<<20, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	work, err := OpenWorkspace(filepath.Join(dir, "out"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer work.Close()
	files, err := input.Expand([]string{path}, input.Config{})
	if err != nil {
		t.Fatal(err)
	}
	splits, _ := input.Plan(files, input.Config{Cores: 1, MinSplit: 1, MaxSplit: 20})
	r, err := NewRun(&Job{Name: "small", Map: mapWords(nil)}, 1, memory, work)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Cut(context.Background(), splits); err != nil {
		t.Fatal(err)
	}
	var outputs []*MapOutput
	for i, s := range splits {
		out, err := r.Map(NewAttempt(context.Background(), i, 0), s)
		if err != nil {
			t.Fatal(err)
		}
		outputs = append(outputs, out)
	}
	if used := memory.InUse(); len(outputs) != 500 || used > 2*mem.Chunk { // 25 bytes each
		t.Errorf("%d outputs take %d bytes, want 500 in at most %d", len(outputs), used, 2*mem.Chunk)
	}
	a := NewAttempt(context.Background(), 0, 0)
	if err := r.Reduce(a, outputs); err != nil {
		t.Fatal(err)
	}
	if got := a.Report().Counters.Of[ReduceInputRecords]; got != 2500 {
		t.Errorf("%d records reach the reduce, want 2,500", got)
	}
	for _, out := range outputs {
		out.Release()
	}
	if used := memory.InUse(); used != 0 {
		t.Errorf("%d bytes are in use at the end", used)
	}
}
