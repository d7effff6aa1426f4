package streaming

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/joblog"
	"github.com/sojourn-sched/sojourn/mr/input"
)

// reports keeps what a program reports.
type reports struct {
	mu    sync.Mutex
	lines []string
}

func (r *reports) Count(group, name string, n int64) { r.add(fmt.Sprintf("%s/%s+%d", group, name, n)) }
func (r *reports) Status(s string)                   { r.add("status " + s) }
func (r *reports) add(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, s)
}

// program is the command line's program, or skips the test where the machine has none.
func program(t testing.TB, line string) []string {
	t.Helper()
	args, err := parseCommand(line)
	if err != nil {
		t.Skipf("this machine lacks a program of the test: %v", err)
	}
	return args
}

// run runs a program on batches and gives its output.
func run(t testing.TB, c Command, batches ...string) (string, *reports, error) {
	t.Helper()
	var out bytes.Buffer
	r := &reports{}
	c.Reporter = r
	c.Output = func(lines []byte) error {
		if len(lines) == 0 || lines[len(lines)-1] != '\n' {
			t.Errorf("output %q does not end a line", lines)
		}
		out.Write(lines)
		return nil
	}
	p, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err = p.Feed([]byte(b)); err != nil {
			break
		}
	}
	if err != nil && !errors.Is(err, ErrNoMore) {
		t.Errorf("feed: %v", err)
	}
	err = p.Wait()
	return out.String(), r, err
}

// TestDaemonHoldsOutput: a process that a program leaves behind is waited for while it writes. If it only holds the
// output, the attempt fails with a sentence, instead of waiting for ever.
func TestDaemonHoldsOutput(t *testing.T) {
	writes := sh(`exec 3<&0; (while read -r line; do echo "$line"; done; echo end) <&3 & exit 0`)
	if out, _, err := run(t, Command{Args: writes, Grace: patience}, "a\n", "b\n"); out != "a\nb\nend\n" || err != nil {
		t.Errorf("a process that writes: %q, %v", out, err)
	}
	for _, script := range []string{"cat; sleep 1000 & exit 0", "cat; setsid sleep 300 & exit 0"} {
		p := started(t, t.Context(), script, Command{Grace: 10 * time.Millisecond})
		if err := p.Wait(); !errors.Is(err, ErrHeld) {
			t.Errorf("%s: %v; want ErrHeld", script, err)
		}
	}
}

func sh(script string) []string { return []string{"/bin/sh", "-c", script} }

func TestProcess(t *testing.T) {
	for _, test := range []struct {
		name, script, in, out string
	}{
		{"as it is", "cat", "a\tb\n\nc\n", "a\tb\n\nc\n"},
		{"no input, no output", "cat", "", ""},
		{"no line end at the end", "cat; printf x", "a\n", "a\nx\n"},
		{"line ends of other systems", `printf 'a\r\nb\rc\n'; cat`, "", "a\nb\nc\n"},
		{"bytes are bytes", "cat", "\x00\xff\xfe\n", "\x00\xff\xfe\n"},
		{"output before input", "echo first; cat", "x\n", "first\nx\n"},
		{"output from a child of it", "(cat; echo inner) | cat", "x\n", "x\ninner\n"},
	} {
		out, _, err := run(t, Command{Args: sh(test.script)}, test.in)
		if err != nil || out != test.out {
			t.Errorf("%s: %q, %v; want %q", test.name, out, err, test.out)
		}
	}
	out, _, err := run(t, Command{Args: sh(`echo "$A-$B"`), Env: []string{"A=1", "B=x y"}})
	if err != nil || out != "1-x y\n" {
		t.Errorf("environment: %q, %v", out, err)
	}
}

// Whatever the sizes of batches and lines, all of it comes back in order.
func TestProcessManyBytes(t *testing.T) {
	var batches []string
	for i := range 200 {
		batches = append(batches, strings.Repeat(strconv.Itoa(i)+" some words\n", i*37),
			strings.Repeat("long", i*i)+"\n")
	}
	out, _, err := run(t, Command{Args: program(t, "cat")}, batches...)
	if want := strings.Join(batches, ""); err != nil || out != want {
		t.Errorf("%d bytes of output, %v; want %d", len(out), err, len(want))
	}
}

// A mapper such as head stops reading: that is no failure, however much input is left.
func TestProcessStopsReading(t *testing.T) {
	// a mebibyte: more than the pipe and head hold together when sent four times
	batch := strings.Repeat("0123456\n", 1<<17)
	out, _, err := run(t, Command{Args: program(t, "head -n 3")}, batch, batch, batch, batch)
	if want := "0123456\n0123456\n0123456\n"; err != nil || out != want {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
	if _, _, err := run(t, Command{Args: sh("exec <&-; exit 3")}, batch, batch, batch, batch); err == nil {
		t.Error("a program that stopped reading and failed was taken for well")
	}
}

func TestProcessFails(t *testing.T) {
	_, _, err := run(t, Command{Args: sh("cat; for i in $(seq 100); do echo line $i >&2; done; exit 3")}, "x\n")
	failed := new(Error)
	if !errors.As(err, &failed) || failed.Cause.Error() != "exit status 3" {
		t.Fatalf("%v; want exit status 3", err)
	}
	// 20 lines of the 100 are kept.
	if lines := strings.Split(failed.Stderr, "\n"); len(lines) != 20 || lines[0] != "line 81" ||
		lines[19] != "line 100" {
		t.Errorf("standard error %q; want lines 81 to 100", failed.Stderr)
	}
	if s := err.Error(); !strings.Contains(s, "exit status 3; the end of its standard error:\n  line 81\n") {
		t.Errorf("message %q", s)
	}
	if _, _, err := run(t, Command{Args: sh("exit 3"), AnyExit: true}); err != nil {
		t.Errorf("any exit status is fine: %v", err)
	}
	if _, _, err := run(t, Command{Args: sh("kill -SEGV $$"), AnyExit: true}); err == nil ||
		!strings.Contains(err.Error(), "segmentation fault") {
		t.Errorf("died of a signal: %v; want an error that says so", err)
	}
	if _, err := Start(t.Context(), Command{Args: []string{"/nowhere/at/all"}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v; want not exist", err)
	}
	// What takes the output fails, at its last line too.
	full := errors.New("disk full")
	p, err := Start(t.Context(), Command{Args: program(t, "cat"), Reporter: &reports{}, Output: func([]byte) error {
		return full
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Feed([]byte("x\n")); err != nil && !errors.Is(err, ErrNoMore) {
		t.Error(err)
	}
	if err := p.Wait(); !errors.Is(err, full) {
		t.Errorf("%v; want %v", err, full)
	}
}

func TestReporter(t *testing.T) {
	_, r, err := run(t, Command{Args: sh(`{
		echo reporter:counter:G,records,3
		echo "reporter:counter:G,bad lines,-1"
		echo reporter:status:half way
		echo reporter:counter:G,two,many,commas,1
		echo reporter:counter:G,name,none
		echo reporter:other:x
		echo a message
		printf 'reporter:counter:G,records,4' # without a line end
	} >&2; exit 1`)})
	if want := []string{"G/records+3", "G/bad lines+-1", "status half way", "G/records+4"}; !slices.Equal(r.lines,
		want) {
		t.Errorf("%q, want %q", r.lines, want)
	}
	// What cannot be obeyed is shown to people.
	failed := new(Error)
	if want := "reporter:counter:G,two,many,commas,1\nreporter:counter:G,name,none\nreporter:other:x\na " +
		"message"; !errors.As(
		err,
		&failed,
	) ||
		failed.Stderr != want {
		t.Errorf("%v; want %q", err, want)
	}
}

func FuzzErrorStream(f *testing.F) {
	f.Add([]byte("reporter:counter:a,b,1\nreporter:status:x\n"), 3)
	f.Add([]byte("reporter:counter:,,\n\n\nreporter:"), 1)
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		at = max(0, min(at, len(text)))
		once, twice := errorStream{reporter: &reports{}}, errorStream{reporter: &reports{}}
		once.take(text)
		once.end()
		twice.take(text[:at])
		twice.take(text[at:])
		twice.end()
		if once.last() != twice.last() ||
			!slices.Equal(once.reporter.(*reports).lines, twice.reporter.(*reports).lines) {
			t.Errorf("cut at %d: %q and %q", at, once.last(), twice.last())
		}
		if s := once.last(); strings.Count(s, "\n") >= tailLines || len(s) > 3*tailBytes {
			t.Errorf("%d bytes are kept", len(s))
		}
	})
}

// A long line of standard error, without end, takes no more memory than is kept of it.
func TestErrorStreamLongLine(t *testing.T) {
	e := errorStream{reporter: &reports{}}
	for range 1000 {
		e.take(bytes.Repeat([]byte("x"), 4096))
		if cap(e.line) > 2*lineBytes {
			t.Fatalf("%d bytes are kept of a line", cap(e.line))
		}
	}
	e.take([]byte("the end"))
	e.end()
	if s := e.last(); len(s) > tailBytes || !strings.HasSuffix(s, "xthe end") {
		t.Errorf("%d bytes, ending %q", len(s), s[len(s)-10:])
	}
}

// TestErrorStreamKeepsLongLine: a line of standard error that is too long to be looked into is in the log whole. Of one
// that is longer than a log may be the beginning and the end are there, and how much lies between.
func TestErrorStreamKeepsLongLine(t *testing.T) {
	for _, length := range []int{lineBytes, lineBytes + 1, 3 * lineBytes, 8 * lineBytes} {
		dir := t.TempDir()
		logs, err := joblog.New(joblog.Place{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		var line []byte
		for i := 0; len(line) < length; i++ {
			line = fmt.Appendf(line, "%07d ", i)
		}
		text := "before\n" + string(line[:length]) + "\nafter\n"
		e := errorStream{reporter: &reports{}, log: logs.Of(1, "map", 0, 0)}
		e.read(strings.NewReader(text), func() {})
		got, err := os.ReadFile(filepath.Join(dir, "1-map-00000-0.log"))
		if err != nil {
			t.Fatal(err)
		}
		if length < joblog.MostOfAttempt {
			if string(got) != text {
				t.Errorf("of a line of %d bytes, %d bytes of %d are in the log", length, len(got), len(text))
			}
			continue
		}
		parts := regexp.MustCompile(`\n\[(\d+) bytes are left out\]\n`).Split(string(got), -1)
		if len(parts) != 2 || !strings.HasPrefix(text, parts[0]) || !strings.HasSuffix(text, parts[1]) ||
			len(parts[0]) < joblog.MostOfAttempt-lineBytes || len(parts[1]) != tailBytes {
			t.Fatalf("of a line of %d bytes the log has %d bytes, in %d parts", length, len(got), len(parts))
		}
		missing := fmt.Sprintf("\n[%d bytes", len(text)-len(parts[0])-len(parts[1]))
		if !strings.Contains(string(got), missing) {
			t.Errorf("the log does not say %q", missing)
		}
	}
}

// patience is how long tests wait for what must happen: so long that it is no question of how busy the machine is.
const patience = 5 * time.Minute

// started starts a script, in a process group of its own, after a line that says "ready", and waits for that line.
func started(t *testing.T, ctx context.Context, script string, c Command) *Process {
	t.Helper()
	return startedAs(t, ctx, "echo ready; "+script, c)
}

// startedAs starts a script, and waits until it has written a line.
func startedAs(t *testing.T, ctx context.Context, script string, c Command) *Process {
	t.Helper()
	ready := make(chan struct{})
	var once sync.Once
	c.Args = sh(script)
	c.Reporter = &reports{}
	c.Output = func([]byte) error {
		once.Do(func() { close(ready) })
		return nil
	}
	p, err := Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-ready:
	case <-p.ended:
		t.Fatalf("%s: ended before it wrote a line: %v", script, p.err)
	}
	return p
}

// group counts the processes of a group that are alive, by state (S sleeping, T stopped, ...).
func group(t *testing.T, id int) map[string]int {
	t.Helper()
	states := map[string]int{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		t.Skip("this machine has no /proc")
	}
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // gone meanwhile
		}
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // state, parent, group
		if f[2] == strconv.Itoa(id) && f[0] != "Z" {
			states[f[0]]++
		}
	}
	return states
}

// until polls for what the kernel does in its own time.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// A program that is told to end takes its children along, even those that do not want to, and output that is held open
// by them.
func TestKill(t *testing.T) {
	reason := errors.New("preempted")
	for name, script := range map[string]string{
		"willing":   "sleep 1000 & sleep 1000",
		"unwilling": "trap '' TERM; sleep 1000 & while :; do sleep 1000; done",
	} {
		p := started(t, t.Context(), script, Command{Grace: 50 * time.Millisecond})
		id := p.cmd.Process.Pid
		p.Kill(reason)
		p.Kill(errors.New("a second reason"))
		if err := p.Wait(); !errors.Is(err, reason) {
			t.Errorf("%s: %v; want %v", name, err, reason)
		}
		until(t, name+" ones are gone", func() bool { return len(group(t, id)) == 0 })
		p.Suspend() // after the end: nothing happens
		p.Resume()
	}
	// Killed while it is fed and does not read.
	ctx, cancel := context.WithCancelCause(t.Context())
	p := started(t, ctx, "sleep 1000", Command{})
	go cancel(reason)
	var err error
	for batch := make([]byte, 1<<20); err == nil; {
		err = p.Feed(batch)
	}
	if !errors.Is(err, ErrNoMore) {
		t.Errorf("feed: %v; want ErrNoMore", err)
	}
	if err := p.Wait(); !errors.Is(err, reason) {
		t.Errorf("%v; want %v", err, reason)
	}
}

func TestSuspend(t *testing.T) {
	p := started(t, t.Context(), "sleep 1000 & sleep 1000", Command{})
	id := p.cmd.Process.Pid
	until(t, "all run", func() bool { return group(t, id)["S"] == 3 }) // the shell and two sleeps
	p.Suspend()
	until(t, "all are stopped", func() bool { return group(t, id)["T"] == 3 })
	p.Resume()
	until(t, "all run again", func() bool { return group(t, id)["S"] == 3 })
	// A suspended program can be killed.
	p.Suspend()
	p.Kill(errors.New("enough"))
	if err := p.Wait(); err == nil {
		t.Error("killed, and no error")
	}
	until(t, "all are gone", func() bool { return len(group(t, id)) == 0 })
}

// A program that hangs is ended; one that is suspended, or waits for input, does not hang.
func TestTimeout(t *testing.T) {
	const limit = 100 * time.Millisecond
	p := startedAs(t, t.Context(), "echo before the end >&2; echo ready; sleep 1000", Command{Timeout: limit})
	err := p.Wait()
	if want := "no progress for 100ms"; !errors.Is(err, ErrSilent) || !strings.Contains(err.Error(), want) ||
		!strings.Contains(err.Error(), "before the end") {
		t.Errorf("%v; want %s, and its standard error", err, want)
	}
	p = started(t, t.Context(), "sleep 1000", Command{Timeout: limit})
	for batch := make([]byte, 1<<20); err == nil || !errors.Is(err, ErrNoMore); {
		err = p.Feed(batch) // until the pipe is full, and then until it is killed
	}
	if err := p.Wait(); !errors.Is(err, ErrSilent) {
		t.Errorf("does not read: %v; want ErrSilent", err)
	}

	p = started(t, t.Context(), "cat", Command{Timeout: limit})
	p.Suspend()
	select {
	case <-p.ended:
		t.Error("ended while it waited for input, suspended")
	case <-time.After(3 * limit):
	}
	p.Resume()
	select {
	case <-p.ended:
		t.Error("ended while it waited for input")
	case <-time.After(3 * limit):
	}
	enough := errors.New("enough") // that it runs until now is known; how soon it ends by itself depends on the machine
	p.Kill(enough)
	if err := p.Wait(); !errors.Is(err, enough) {
		t.Errorf("%v; want that it ran until it was killed", err)
	}
}

// A program whose child lives on has its output to the end, and leaves no child.
func TestStrays(t *testing.T) {
	p := started(t, t.Context(), "sleep 1000 >/dev/null 2>&1 & exit 0", Command{})
	id := p.cmd.Process.Pid
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
	until(t, "the stray is gone", func() bool { return len(group(t, id)) == 0 })
}

// The bytes of a batch may lie in a file that shrinks: the kernel says so, and no process dies.
func TestFeedOfShrunkenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, bytes.Repeat([]byte("0123456\n"), 1<<17), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := input.Expand([]string{path}, input.Config{})
	if err != nil {
		t.Fatal(err)
	}
	splits, _ := input.Plan(files, input.Config{})
	var r input.Reader
	defer r.Close()
	r.Open(splits[0])
	batch, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	p, err := Start(t.Context(), Command{Args: program(t, "cat"), Reporter: &reports{}, Output: func([]byte) error {
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	err = p.Feed(batch)
	if !errors.Is(err, syscall.EFAULT) {
		t.Errorf("%v; want EFAULT", err)
	}
	p.Kill(err)
	if err := p.Wait(); err == nil {
		t.Error("killed, and no error")
	}
}

// Both ways through cat, which is as little as a program can do. What cat alone does is the bound.
func BenchmarkCat(b *testing.B) {
	batch := bytes.Repeat([]byte("a line of some fifty bytes, as logs have it\tvalue\n"), 5000)
	args := program(b, "cat")
	p, err := Start(b.Context(), Command{Args: args, Reporter: &reports{}, Output: func([]byte) error { return nil }})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(batch)))
	for b.Loop() {
		if err := p.Feed(batch); err != nil {
			b.Fatal(err)
		}
	}
	if err := p.Wait(); err != nil {
		b.Fatal(err)
	}
}

// What starting and ending a program costs a task.
func BenchmarkStart(b *testing.B) {
	path, err := exec.LookPath("true")
	if err != nil {
		b.Skip("this machine has no program true")
	}
	for b.Loop() {
		p, err := Start(b.Context(), Command{Args: []string{path}, Reporter: &reports{}, Output: func([]byte) error {
			return nil
		}})
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Wait(); err != nil {
			b.Fatal(err)
		}
	}
}
