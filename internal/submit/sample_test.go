package submit

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sojourn-sched/sojourn/internal/workload"
)

func TestParseSampling(t *testing.T) {
	for text, want := range map[string]Sampling{
		"0.1": {Part: 0.1}, "3": {Splits: 3}, "64MiB": {Bytes: 64 << 20}, "1e-3": {Part: 0.001},
	} {
		if got, err := ParseSampling(text); err != nil || got != want || got.Off() {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "1.5", "NaN", "x", "0MiB", "10%"} {
		if got, err := ParseSampling(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

const listing = `Found 4 items
drwxr-xr-x   - ana etl          0 2026-11-25 10:00 /in/day 1
-rw-r--r--   3 ana etl  268435456 2026-11-25 10:00 /in/day 1/a b.txt
-rw-r--r--   3 ana etl        100 2026-11-25 10:00 hdfs://nn:8020/in/b.gz
-rw-r--r--   3 ana etl          5 2026-11-25 10:00 /in/_logs/x
-rw-r--r--   3 ana etl          5 2026-11-25 10:00 /in/.hidden
-rw-r--r--   3 ana etl          0 2026-11-25 10:00 /in/empty
`

func TestParseListing(t *testing.T) {
	files, err := parseListing([]byte(listing), []string{"/in"})
	want := []inputFile{{"/in/day 1/a b.txt", 268435456}, {"/in/empty", 0}, {"hdfs://nn:8020/in/b.gz", 100}}
	if err != nil || !slices.Equal(files, want) {
		t.Errorf("%v, %v", files, err)
	}
	if files, _ := parseListing([]byte(listing), []string{"/in/_logs"}); len(files) != 4 {
		t.Errorf("an input whose own name begins with _: %v", files)
	}
	if _, err := parseListing([]byte("-rw 1 a b many 2026-11-25 10:00 /x\n"), nil); err == nil {
		t.Error("a size that is no number")
	}
}

// FuzzListing: what a command writes is read or refused.
func FuzzListing(f *testing.F) {
	f.Add([]byte(listing))
	f.Add([]byte("-rw 1 a b 9 2026-11-25 10:00\n"))
	f.Add([]byte("- 1 a b 9 d t"))
	f.Fuzz(func(t *testing.T, text []byte) {
		files, err := parseListing(text, []string{"/in"})
		if err == nil && slices.ContainsFunc(files, func(f inputFile) bool { return f.bytes < 0 }) {
			t.Errorf("%q: %v", text, files)
		}
	})
}

func TestSplits(t *testing.T) {
	for _, c := range []struct {
		file inputFile
		want int
	}{
		{inputFile{"a", 0}, 1}, {inputFile{"a", 100}, 1}, {inputFile{"a", 110}, 1}, {inputFile{"a", 111}, 2},
		{inputFile{"a", 1000}, 10}, {inputFile{"a.gz", 1000}, 1},
	} {
		if got := splitsOf(&c.file, 100); got != c.want {
			t.Errorf("%+v: %d splits, want %d", c.file, got, c.want)
		}
	}
	if got := splitOf(&workload.Program{Conf: map[string]string{keyMostSplit: "1m"}}); got != 1<<20 {
		t.Errorf("splits of %d bytes", got)
	}
}

// A sample reads beginnings of at most four files, or whole ones where it may read as many.
func TestDraw(t *testing.T) {
	of := func(n int, bytes int64, end string) (in inputs) {
		for i := range n {
			in.files = append(in.files, inputFile{fmt.Sprintf("%03d%s", i, end), bytes})
			in.bytes += bytes
		}
		return in
	}
	for _, c := range []struct {
		name  string
		s     Sampling
		in    inputs
		whole bool
		files int
		bytes int64 // in all
	}{
		{"a tenth of one", Sampling{Part: 0.1}, of(1, 1000, ""), false, 1, 100},
		{"a tenth of twenty", Sampling{Part: 0.1}, of(20, 1000, ""), false, 4, 2000},
		{"a tenth of a hundred", Sampling{Part: 0.1}, of(100, 1000, ""), false, 10, 10000},
		{"a tenth of twenty, whole", Sampling{Part: 0.1}, of(20, 1000, ""), true, 2, 2000},
		{"compressed", Sampling{Part: 0.1}, of(20, 1000, ".gz"), false, 2, 2000},
		{"two splits", Sampling{Splits: 2}, of(10, 100, ""), false, 4, 200},
		{"bytes", Sampling{Bytes: 30}, of(10, 100, ""), false, 4, 28},
		{"all of it", Sampling{Bytes: 1 << 20}, of(10, 100, ""), false, 0, 0},
		{"one that cannot be cut", Sampling{Part: 0.1}, of(1, 100, ".gz"), false, 0, 0},
		{"nothing", Sampling{Part: 0.1}, of(3, 0, ""), false, 0, 0},
	} {
		pieces := c.s.draw(c.in, 100, c.whole, 0)
		var bytes int64
		seen := map[string]bool{}
		for _, p := range pieces {
			bytes += p.bytes
			seen[p.file.path] = true
		}
		if len(pieces) != c.files || bytes != c.bytes || len(seen) != len(pieces) {
			t.Errorf("%s: %d bytes of %v", c.name, bytes, pieces)
		}
		if again := c.s.draw(c.in, 100, c.whole, 0); !slices.Equal(again, pieces) {
			t.Errorf("%s: drawn again: %v, before %v", c.name, again, pieces)
		}
	}
}

// The beginning of a file goes on to the end of a line, however it is read.
func TestFirstLines(t *testing.T) {
	const text = "one\ntwo\nthree\nfour"
	for left, want := range map[int64]string{1: "one\n", 3: "one\n", 4: "one\n", 5: "one\ntwo\n",
		9: "one\ntwo\nthree\n", 15: text, 99: text} {
		for _, from := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			f := &firstLines{from: bufio.NewReaderSize(from, 16), left: left}
			got, err := io.ReadAll(f)
			if err != nil || string(got) != want || f.given != int64(len(want)) {
				t.Errorf("%d bytes: %q, %v, want %q", left, got, err, want)
			}
		}
	}
}

// Before any model is fitted a size is the sample's time over its part; with 16 jobs of a law, it is the law.
func TestSizes(t *testing.T) {
	s, err := OpenSizes("")
	if err != nil {
		t.Fatal(err)
	}
	counters := func(maps, reduces, scale int64) map[string]int64 {
		return map[string]int64{countMaps: maps, countReduces: reduces, countMapTime: 2000*maps + 3*scale,
			countReduceTime: 1000*reduces + 5*scale, countMapRecords: scale, countMapBytes: 10 * scale,
			countSorted: scale, countWritten: scale}
	}
	told, err := probedOf(counters(1, 1, 1000), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	f := facts{inputs{bytes: 10 << 20, maps: 10}, 4, told}
	if got := s.predict(0, f); got != 110*time.Second { // 5 s and 6 s of a tenth
		t.Errorf("%v", got)
	}
	if _, err := probedOf(map[string]int64{"x": 1}, 1); err == nil || !strings.Contains(err.Error(), "job history") {
		t.Errorf("%v", err)
	}
	for i := range 40 {
		scale := int64(1000 * (i + 1) * (1 + i%3))
		maps, reduces := int64(5+i%7), int64(1+i%4)
		told, err := probedOf(counters(1, 1, scale/10), scale<<10/10)
		if err != nil {
			t.Fatal(err)
		}
		of := facts{inputs{bytes: scale << 10, maps: int(maps)}, int(reduces), told}
		s.predict(i, of)
		s.learn(i, of, counters(maps, reduces, scale))
	}
	told, _ = probedOf(counters(1, 1, 5000), 50000<<10/10)
	want := counters(9, 3, 50000)
	seconds := float64(want[countMapTime]+want[countReduceTime]) / 1000
	got := s.predict(99, facts{inputs{bytes: 50000 << 10, maps: 9}, 3, told}).Seconds()
	if got < 0.95*seconds || got > 1.05*seconds {
		t.Errorf("%.1f s predicted, want %.1f", got, seconds)
	}
}
