package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/sys/unix"

	"github.com/sojourn-sched/sojourn/sched"
)

// gaugeOf finds the bar itself.
var gaugeOf = regexp.MustCompile(` \[[#.]*\]`)

// TestProgressFits draws a line at every width: it is never wider than said, and says more where there is room.
func TestProgressFits(t *testing.T) {
	const took = 10 * time.Second
	b := &bar{what: "simulate fair:delay=5s", part: 0.25, says: "1473 of 5894 jobs, at 6h3m0s"}
	for width := 1; width <= 200; width++ {
		if n := text.StringWidthWithoutEscSequences(b.line(width, took)); n > width {
			t.Errorf("the line has %d columns, %d are there: %q", n, width, b.line(width, took))
		}
	}
	line := b.line(120, took)
	for _, part := range []string{"[#####...............]", " 25 %", "1473 of 5894 jobs", "30s left"} {
		if !strings.Contains(line, part) {
			t.Errorf("%q lacks %q", line, part)
		}
	}
	for width, want := range map[int]string{ // the instant goes first, then the count, and the time left last
		100: "simulate fair:delay=5s  25 %  1473 of 5894 jobs, 147/s, at 6h3m0s, 30s left",
		72:  "simulate fair:delay=5s  25 %  1473 of 5894 jobs, 147/s, 30s left",
		60:  "simulate fair:delay=5s  25 %  1473 of 5894 jobs, 30s left",
		40:  "simulate fair:delay=5s  25 %  30s left",
		30:  "simulate fair:delay=5s  25 %",
		20:  "simulate fair:delay…",
	} {
		b.says = "1473 of 5894 jobs, 147/s, at 6h3m0s"
		if line := gaugeOf.ReplaceAllString(b.line(width, took), ""); line != want {
			t.Errorf("in %d columns: %q, must be %q", width, line, want)
		}
	}
}

// terminal returns a terminal of so many columns that a program writes to, and what reads all that was written.
func terminal(t *testing.T, columns uint16) (*os.File, func() string) {
	t.Helper()
	reader, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal: %v", err)
	}
	t.Cleanup(func() { reader.Close() })
	number, err := unix.IoctlGetInt(int(reader.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(reader.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(reader.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}
	if err != nil {
		t.Skipf("no terminal: %v", err)
	}
	writer, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal: %v", err)
	}
	said := make(chan string)
	go func() {
		text, _ := io.ReadAll(reader) // the end of a terminal is an error
		said <- string(text)
	}()
	return writer, func() string {
		writer.Close()
		return <-said
	}
}

// TestProgressOnTerminal runs commands whose standard error is a terminal: each policy has one line, which fits at
// every width and in the end says that all is done.
func TestProgressOnTerminal(t *testing.T) {
	input := writeFile(t, "in.txt", strings.Repeat("one two three\n", 10_000))
	for _, columns := range []uint16{30, 40, 80, 100} {
		for _, c := range []struct{ command, ends string }{
			{"sim --trace ../examples/bursty.tsv --policy fifo --policy fair", "300 of 300 jobs"},
			{"sim --trace ../examples/bursty.tsv --jobs 20 --policy fifo --policy fair --seeds 2", "4 of 4 runs"},
			{"run wordcount --input " + input + " --output " + t.TempDir() + "/o --policy fifo --policy fair",
				"map 100 %"},
		} {
			at, read := terminal(t, columns)
			streams := Streams{strings.NewReader(""), io.Discard, at}
			if status := Run(t.Context(), streams, strings.Fields(c.command)); status != statusOK {
				t.Fatalf("%s: exit status %d: %s", c.command, status, read())
			}
			bars := 0
			for line := range strings.Lines(read()) {
				drawn := strings.Split(strings.TrimRight(line, "\r\n"), "\r")
				last := strings.TrimSuffix(drawn[len(drawn)-1], "\x1b[K")
				if !strings.Contains(line, "\x1b[K") {
					continue // a sentence
				}
				bars++
				for _, d := range drawn {
					if n := utf8.RuneCountInString(strings.TrimSuffix(d, "\x1b[K")); n >= int(columns) {
						t.Errorf("%s in %d columns: %q has %d", c.command, columns, d, n)
					}
				}
				if !strings.Contains(last, "100 %") || columns >= 80 && !strings.Contains(last, c.ends) {
					t.Errorf("%s in %d columns ends with %q, must say 100 %% and %s", c.command, columns, last,
						c.ends)
				}
			}
			if want := 2 - strings.Count(c.command, "--seeds"); bars != want {
				t.Errorf("%s: %d bars, must be %d", c.command, bars, want)
			}
		}
	}
}

// TestBarsEndBeforeResults writes results and bars to one terminal: a line has the one or the other. Lines of -v are
// not within bars either.
func TestBarsEndBeforeResults(t *testing.T) {
	const bursty = "sim --trace ../examples/bursty.tsv --jobs 20 --policy fifo,fair"
	for _, command := range []string{bursty, bursty + " --seeds 2", bursty + " -v"} {
		at, read := terminal(t, 80)
		status := Run(t.Context(), Streams{strings.NewReader(""), at, at}, strings.Fields(command))
		if status != statusOK {
			t.Fatalf("%s: exit status %d: %s", command, status, read())
		}
		bars := 0
		for line := range strings.Lines(read()) {
			if i := strings.LastIndex(line, "\x1b[K"); i >= 0 {
				bars++
				if rest := strings.TrimSpace(line[i+len("\x1b[K"):]); rest != "" {
					t.Errorf("%s: %q stands after a bar", command, rest)
				}
			}
		}
		if narrated := strings.Contains(command, "-v"); narrated == (bars > 0) {
			t.Errorf("%s: %d lines have bars", command, bars)
		}
	}
}

// TestHelpFits prints the help of commands on terminals: no line is wider, but for examples and names of flags.
func TestHelpFits(t *testing.T) {
	for _, columns := range []uint16{80, 100} {
		for _, verb := range []string{"", "sim", "run", "rm", "experiment", "record", "reproduce"} {
			at, read := terminal(t, columns)
			Run(t.Context(), Streams{strings.NewReader(""), at, at}, strings.Fields(verb+" --help"))
			help, _, _ := strings.Cut(read(), "\nExamples:")
			about, usage, _ := strings.Cut(help, "Usage:")
			if len(about) < 20 || usage == "" {
				t.Errorf("the help of %q is %q", verb, help)
			}
			for line := range strings.Lines(about) {
				if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > int(columns) {
					t.Errorf("%s --help in %d columns: %q has %d", verb, columns, line, n)
				}
			}
		}
	}
	const want = `      --cluster string   the cluster: a
                         shorthand or a file`
	if got := foldedHelp("      --cluster string   the cluster: a shorthand or a file", 45); got != want {
		t.Errorf("folded:\n%s\nmust be\n%s", got, want)
	}
}

// TestProgressTotals holds a bar to all jobs of the workload, not to those that have come.
func TestProgressTotals(t *testing.T) {
	var errs bytes.Buffer
	f := simFlags{output: output{progress: "always"}}
	jobs := func(yield func(*sched.JobSpec, error) bool) {
		for range 300 {
			if !yield(nil, nil) {
				return
			}
		}
	}
	if n := f.total(&app{Streams: Streams{Err: &errs}}, jobs); n != 300 {
		t.Errorf("%d jobs, must be 300", n)
	}
	f.progress = "never"
	if n := f.total(&app{Streams: Streams{Err: &errs}}, jobs); n != 0 {
		t.Errorf("%d jobs are counted for a bar that is not drawn", n)
	}
}
