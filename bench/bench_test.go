package main

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/internal/mr/generate"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// The loop that the engine is held against must be right, or it is no yardstick: words of every length about the 8 and
// 16 bytes that it treats apart, control characters that part words and such that do not, with and without an end of
// the last line.
func TestLoopCountsWords(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const seps = " \t\n\f\r"
	var text []byte
	for range 20_000 {
		length := 1 + r.IntN(20)
		for range length {
			text = append(text, "ab\x00\x01\x0b\x7f\x80\xff"[r.IntN(8)])
		}
		for range 1 + r.IntN(3) {
			text = append(text, seps[r.IntN(len(seps))])
		}
	}
	for name, input := range map[string][]byte{"blanks at the end": text,
		"a word at the end": append(slices.Clone(text), "last"...),
		"one word":          []byte("word"), "one blank": []byte("\n"),
		"a word of 40 bytes": []byte(strings.Repeat("a", 40))} {
		counts := map[string]int{}
		for _, w := range bytes.FieldsFunc(input, func(c rune) bool { return c < 0x80 && isBlank(byte(c)) }) {
			counts[string(w)]++
		}
		want := ""
		for _, w := range slices.Sorted(maps.Keys(counts)) {
			want += fmt.Sprintf("%s\t%d\n", w, counts[w])
		}
		for workers := 1; workers <= 3; workers++ {
			in, out := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "out")
			if err := os.WriteFile(in, input, 0o666); err != nil {
				t.Fatal(err)
			}
			if err := loopWordCount(in, out, workers); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(out); err != nil || string(got) != want {
				t.Errorf("%s, %d goroutines: %d bytes written (%v), want %d, and not the same", name, workers, len(got),
					err, len(want))
			}
		}
	}
}

// The loop that simulations are held against ends when a simulation under fifo ends, with as many arrivals and
// completions.
func TestLoopRunsJobs(t *testing.T) {
	_, jobs, err := readDay("../internal/workload/testdata/traces/swim-FB-2010_samples_24_times_1hr_0.tsv.gz")
	if err != nil {
		t.Fatal(err)
	}
	jobs = jobs[:1000]
	c, err := workload.ParseCluster("nodes=20,map-slots=5")
	if err != nil {
		t.Fatal(err)
	}
	for _, sigma := range []float64{0, 0.5} {
		want := int64(len(jobs))
		for _, j := range jobs {
			truth := j.Payload.(*workload.Truth)
			truth.Stages[0].Sigma = sigma
			want += int64(truth.Stages[0].Tasks)
		}
		p, _, err := policy.All.Parse("fifo")
		if err != nil {
			t.Fatal(err)
		}
		source := func(yield func(*sched.JobSpec, error) bool) {
			for _, j := range jobs {
				if !yield(j, nil) {
					return
				}
			}
		}
		r, err := sim.Run(t.Context(), sim.Config{Cluster: c, Jobs: source, Core: sched.Config{Policy: p}})
		if err != nil {
			t.Fatal(err)
		}
		if events, end := bareLoop(jobs, 100); events != want || end != r.End {
			t.Errorf("sigma %g: %d events until %v, want %d until %v", sigma, events, end, want, r.End)
		}
	}
}

func TestHeapGivesInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	var h heap
	var want []sched.Time
	for range 1000 {
		at := sched.Time(r.IntN(300)) // so that some are equal
		h.push(ending{at: at})
		want = append(want, at)
	}
	slices.Sort(want)
	for i, at := range want {
		if got := h.pop().at; got != at {
			t.Fatalf("the %d-th is %v, want %v", i+1, got, at)
		}
	}
	if len(h) != 0 {
		t.Errorf("%d are left", len(h))
	}
}

// Every byte of a line is printable but for the newline, no line is shorter, and keys differ where those of teragen do,
// nearly always.
func TestLinesAreRecords(t *testing.T) {
	const rows = 1000
	var out bytes.Buffer
	if err := (generate.TeraGen{Rows: rows}).Write(lineMaker{&out}); err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for line := range bytes.Lines(out.Bytes()) {
		if len(line) != teraRecord {
			t.Fatalf("a line of %d bytes: %q", len(line), line)
		}
		keys[string(line[:10])] = true
	}
	if len(keys) != rows {
		t.Errorf("%d lines have %d keys: of 64^10 each should be another", rows, len(keys))
	}
}

func TestAgree(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("ours/part-0", "a\t1\nc\t3\n")
	write("ours/part-1", "b\t2\n")
	write("ours/_SUCCESS", "")
	ours := filepath.Join(dir, "ours")
	if d, err := agree(ours, write("same", "a\t1\nb\t2\nc\t3\n"), filepath.Join(dir, "absent")); err != nil ||
		d.lines != 3 {
		t.Errorf("the same lines in other files: %d lines, %v", d.lines, err)
	}
	if _, err := agree(ours, write("other", "a\t1\nb\t2\nc\t4\n")); err == nil {
		t.Error("another count was not found")
	}
	if err := equalBytes(ours, write("joined", "a\t1\nc\t3\nb\t2\n")); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"a\t1\nc\t3\nb\t3\n", "a\t1\nc\t3\n", "a\t1\nc\t3\nb\t2\nd\t1\n"} {
		if equalBytes(ours, write("differs", text)) == nil {
			t.Errorf("%q was taken for equal", text)
		}
	}
}

// Ours took 1, 2 and 4 s of 100 MB, theirs 2, 8 and 4 s, on two processors each: the ratios of the turns are 2, 4 and
// 1.
func TestRatiosAreOfTurns(t *testing.T) {
	var ours, theirs []sample
	for _, s := range [][2]float64{{1, 2}, {2, 8}, {4, 4}} {
		ours = append(ours, sample{wall: s[0], processor: 2 * s[0], value: 100 / s[0]})
		theirs = append(theirs, sample{wall: s[1], processor: 2 * s[1], value: 100 / s[1]})
	}
	r := row{}
	r.judge(contestant{goal: 2.5}, ours, theirs, true)
	if want := (spread{2, 1, 4, 3}); *r.Ratio != want || *r.ByProcessor != want {
		t.Errorf("ratios %+v and %+v, want %+v", *r.Ratio, *r.ByProcessor, want)
	}
	if r.Goal.Met {
		t.Error("a median of 2 met a goal of 2.5")
	}
}

func TestReplaceTable(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n<!-- bench sim -->\nold\n<!-- end bench sim -->\nafter\n"),
		0o666); err != nil {
		t.Fatal(err)
	}
	if err := replaceTable(page, machine{}, results{Part: "sim", About: "ABOUT",
		Rows: []row{{Case: "CASE", Who: "WHO", Value: spread{1, 1, 1, 1}}}}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	if !strings.HasPrefix(got, "before\n<!-- bench sim -->\nABOUT") ||
		!strings.HasSuffix(got, "<!-- end bench sim -->\nafter\n") ||
		strings.Contains(got, "old") ||
		!strings.Contains(got, "| CASE | WHO |") {
		t.Errorf("the page is\n%s", got)
	}
	if err := replaceTable(page, machine{}, results{Part: "mr"}); err == nil {
		t.Error("a page without markers was accepted")
	}
}

// The page has a place for each part.
// What is written into a page has lines of at most 100 columns, apart from tables.
func TestMarkdownIsFolded(t *testing.T) {
	r := results{Part: "x", About: strings.TrimSpace(strings.Repeat("a table of what was measured ", 9))}
	page := r.markdown(machine{})
	for line := range strings.Lines(page) {
		if len(line) > 101 && !strings.HasPrefix(line, "|") {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
	if got := strings.Join(strings.Fields(page), " "); !strings.HasPrefix(got, r.About) {
		t.Errorf("words were lost or joined: %s", page)
	}
}

func TestPageHasAllParts(t *testing.T) {
	text, err := os.ReadFile("../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range partNames() {
		if !strings.Contains(string(text), "<!-- bench "+name+" -->\n") ||
			!strings.Contains(string(text), "<!-- end bench "+name+" -->\n") {
			t.Errorf("docs/performance.md has no markers for %s", name)
		}
	}
}

// A part waits until the load is below 1, but not longer than it is told to, and the wait is no time of the benchmarks.
func TestWhenIdle(t *testing.T) {
	for _, c := range []struct {
		loads []float64 // every five seconds; the last one stays
		calm  time.Duration
		waits time.Duration
		want  float64
	}{
		{[]float64{0.9}, time.Minute, 0, 0.9},
		{[]float64{2, 1.5, 0.99, 0.9}, time.Minute, 15 * time.Second, 0.9},
		{[]float64{2}, time.Minute, time.Minute, 2},
		{[]float64{2}, 0, 0, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			b := &bench{options: &options{calm: c.calm}, started: begun, part: "x"}
			got := b.whenIdle(t.Context(), func() float64 {
				load := c.loads[0]
				c.loads = c.loads[min(1, len(c.loads)-1):]
				return load
			})
			if waited := time.Since(begun); got != c.want || waited != c.waits || b.started != begun.Add(waited) {
				t.Errorf("after %v of %v: load %v after %v, and benchmarks since %v; want %v after %v",
					c.loads, c.calm, got, waited, b.started.Sub(begun), c.want, c.waits)
			}
		})
	}
}

// The load keeps every slot busy under every policy, and its jobs end: 20 nodes of 5 slots run 100 attempts.
func TestLoadStaysFull(t *testing.T) {
	for _, name := range []string{"fifo", "fair", "srpt", "hfsp"} {
		p, _, err := policy.All.Parse(name)
		if err != nil {
			t.Skip(err)
		}
		l, ok := newLoad(sched.Config{Policy: p, Can: sim.Powers}, scale{20, 1})
		for range 1000 {
			if ok {
				_, ok = l.until(time.Time{}) // a few completions
			}
		}
		running := 0
		for _, n := range l.core.Nodes {
			running += int(n.Used[sched.MapSlots])
		}
		if !ok || running != 100 {
			t.Errorf("%s: %d slots of 100 are used", name, running)
		}
	}
}
