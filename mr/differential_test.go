package mr

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/mr/internal/mem"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// textFiles writes files of words, with all line ends there are, compressed in several members or not at all, and
// returns the lines of all of them in the order of their names.
func textFiles(t *rapid.T, dir string, r *rand.Rand, longest int) (lines []string) {
	distinct := 1 + r.IntN(1<<r.IntN(12))
	most := 1 << (4 + r.IntN(13))
	ends := [][]string{{"\n"}, {"\r\n"}, {"\n", "\r\n", "\r", "\n\n"}}[r.IntN(3)]
	for i := range 1 + r.IntN(10) {
		var text strings.Builder
		if r.IntN(8) == 0 {
			text.WriteString("\xef\xbb\xbf")
		}
		for size := r.IntN(most); text.Len() < size; {
			fmt.Fprintf(&text, "w%d", r.IntN(distinct))
			if r.IntN(1000) == 0 {
				text.WriteString(strings.Repeat("x", r.IntN(longest)))
			}
			if r.IntN(5) == 0 {
				text.WriteString(ends[r.IntN(len(ends))])
			} else {
				text.WriteByte(" \t"[r.IntN(2)])
			}
		}
		plain := strings.TrimPrefix(text.String(), "\xef\xbb\xbf")
		plain = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(plain)
		if plain != "" {
			lines = append(lines, strings.Split(strings.TrimSuffix(plain, "\n"), "\n")...)
		}
		name := filepath.Join(dir, fmt.Sprintf("file-%02d", i))
		stored := []byte(text.String())
		switch r.IntN(4) {
		case 0:
			name, stored = name+".gz", inMembers(t, r, stored, func(b *bytes.Buffer, member []byte) error {
				z := gzip.NewWriter(b)
				_, err := z.Write(member)
				return firstError(err, z.Close())
			})
		case 1:
			name, stored = name+".zst", inMembers(t, r, stored, func(b *bytes.Buffer, member []byte) error {
				z, err := zstd.NewWriter(nil)
				if err == nil {
					b.Write(z.EncodeAll(member, nil))
				}
				return err
			})
		}
		if err := os.WriteFile(name, stored, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return lines
}

// inMembers compresses pieces of text one after the other, cut anywhere.
func inMembers(t *rapid.T, r *rand.Rand, text []byte, pack func(b *bytes.Buffer, member []byte) error) []byte {
	var b bytes.Buffer
	for first := true; first || len(text) > 0; first = false {
		n := len(text)
		if r.IntN(2) == 0 {
			n = r.IntN(n + 1)
		}
		if err := pack(&b, text[:n]); err != nil {
			t.Fatal(err)
		}
		text = text[n:]
	}
	return b.Bytes()
}

// wordsOf returns the words of a line.
func wordsOf(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n\f\r", r) })
}

// countLines are lines of a word and how often it occurs.
func countLines(lines []string) (all []string) {
	counts := map[string]int{}
	for _, line := range lines {
		for _, w := range wordsOf(line) {
			counts[w]++
		}
	}
	for w, n := range counts {
		all = append(all, w+"\t"+strconv.Itoa(n))
	}
	slices.Sort(all)
	return all
}

// A textJob is a job on lines, and its output computed without the engine.
type textJob struct {
	job     func() *Job
	want    func(lines []string) []string
	ordered bool // the parts one after the other are in order; else their lines are sorted before they are compared
}

var textJobs = map[string]textJob{
	"fold": {job: wordCount, want: countLines},
	"combine": {want: countLines, job: func() *Job {
		sum := func(_ *Task, in *Groups, out *Emitter) error {
			for in.Next() {
				n := 0
				for v := range in.Values() {
					k, err := strconv.Atoi(string(v))
					if err != nil {
						return err
					}
					n += k
				}
				out.Emit(in.Key(), strconv.AppendInt(nil, int64(n), 10))
			}
			return nil
		}
		return &Job{Name: "combine", Map: mapWords([]byte("1")), Combine: sum, Reduce: sum}
	}},
	"pairs": {want: countLines, job: func() *Job {
		return &Job{Name: "pairs", Map: mapWords(nil), Reduce: func(_ *Task, in *Groups, out *Emitter) error {
			for in.Next() {
				n := 0
				for in.NextValue() {
					n++
				}
				out.Emit(in.Key(), strconv.AppendInt(nil, int64(n), 10))
			}
			return nil
		}}
	}},
	"sort": {job: inOrderOfLines, ordered: true, want: func(lines []string) []string {
		return slices.Sorted(slices.Values(lines))
	}},
	"cat": {ordered: true, want: func(lines []string) []string { return lines }, job: func() *Job {
		j := inOrderOfLines()
		j.TotalOrder, j.Reduces = false, MapOnly
		return j
	}},
	"first": {want: func([]string) []string { return nil }, job: func() *Job { // a reduce that does not read its input
		return &Job{Name: "first", Map: mapWords(nil), Reduce: func(_ *Task, in *Groups, _ *Emitter) error {
			in.Next()
			return nil
		}}
	}},
}

// TestAgainstPlainPrograms runs two jobs at a time on files that are drawn at random, under policies that suspend and
// kill, with little memory, while attempts and outputs are lost, and compares the outputs with those of a few lines of
// Go.
func TestAgainstPlainPrograms(t *testing.T) {
	base := t.TempDir()
	runs := 0
	names := make([]string, 0, len(textJobs))
	for name := range textJobs {
		names = append(names, name)
	}
	slices.Sort(names)
	check(t, func(t *rapid.T) {
		runs++
		dir := filepath.Join(base, fmt.Sprint(runs))
		defer os.RemoveAll(dir)
		slots := rapid.IntRange(1, 3).Draw(t, "slots")
		room := rapid.SampledFrom([]int64{6, 12, 40, 200}).Draw(t, "chunks of an attempt")
		memory, err := newMemory(2*2*int64(slots)*room*mem.Chunk, 2*slots)
		if err != nil {
			t.Fatal(err)
		}
		defer memory.Close()
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		capacity := sched.Resources{sched.VCores: int64(slots)}
		s := Site{Memory: memory, Map: sched.Resources{sched.VCores: 1}, Reduce: sched.Resources{sched.VCores: 1},
			Cores: slots}
		policies := []string{"fifo", "fair:preempt=kill", "hfsp", "srpt:preempt=suspend"}
		spec := rapid.SampledFrom(policies).Draw(t, "policy")
		p, _, err := policy.Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		var list []Submission
		var wants [][]string
		var kinds []string
		for i := range 2 {
			in := filepath.Join(dir, fmt.Sprint("in", i))
			if err := os.MkdirAll(in, 0o777); err != nil {
				t.Fatal(err)
			}
			lines := textFiles(t, in, r, int(room)*mem.Chunk/8)
			kind := rapid.SampledFrom(names).Draw(t, "job")
			job := textJobs[kind].job()
			job.Conf = Conf{
				"mapreduce.input.fileinputformat.split.minsize": "1",
				"mapreduce.input.fileinputformat.split.maxsize": strconv.Itoa(1 << (10 + r.IntN(10))),
			}
			w, err := Open(Order{Job: job, Input: []string{in}, Output: filepath.Join(dir, fmt.Sprint("out", i)),
				Reduces: 1 + r.IntN(5)}, s)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, Submission{Spec: &sched.JobSpec{Name: kind, User: fmt.Sprint("user", i)}, Work: w})
			kinds, wants = append(kinds, kind), append(wants, textJobs[kind].want(lines))
		}
		chaos := Chaos{Rate: rapid.SampledFrom([]float64{0, 0.1, 0.4}).Draw(t, "chaos"), Seed: r.Uint64()}
		cluster := workload.Cluster{Classes: []workload.Class{{Name: "c", Count: 1, Racks: 1, Speed: 1,
			Resources: capacity}}}
		config := Config{Core: sched.Config{Policy: p}, Nodes: cluster.List(), Chaos: chaos}
		results, err := Serve(t.Context(), config, list)
		if err != nil || len(results) != 2 {
			t.Fatalf("results %v, error %v", results, err)
		}
		for i, kind := range kinds {
			if results[i].Outcome != sched.OK {
				t.Fatalf("job %d, %s: %v, %v", i, kind, results[i].Outcome, results[i].Err)
			}
			got := linesOfParts(t, filepath.Join(dir, fmt.Sprint("out", i)))
			if !textJobs[kind].ordered {
				slices.Sort(got)
			}
			if !slices.Equal(got, wants[i]) {
				t.Fatalf("job %d, %s under %s: %d lines, want %d, or others", i, kind, spec, len(got), len(wants[i]))
			}
		}
		if n := memory.InUse(); n != 0 {
			t.Fatalf("%d bytes are in use at the end", n)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
			t.Fatalf("left behind: %v", left)
		}
	})
}

// linesOfParts returns the lines of an output, part after part.
func linesOfParts(t *rapid.T, dir string) (lines []string) {
	if _, err := os.Stat(filepath.Join(dir, successFile)); err != nil {
		t.Fatal(err)
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "part-*"))
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 0 {
			lines = append(lines, strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")...)
		}
	}
	return lines
}
