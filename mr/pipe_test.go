package mr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sojourn-sched/sojourn/mr/input"
	"github.com/sojourn-sched/sojourn/sched"
)

// piped returns the path of a pipe from which text can be read once.
func piped(t *testing.T, text string) string {
	t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	go func() {
		_, _ = out.WriteString(text) // a reader may want less
		out.Close()
	}()
	return fmt.Sprintf("/dev/fd/%d", in.Fd())
}

// numbers are lines that fill several buffers.
func numbers() (lines []string) {
	for i := range 100_000 {
		lines = append(lines, fmt.Sprintf("%06d", i*7919%100_000))
	}
	return lines
}

// inOrderOfLines is a job whose parts are ranges of lines.
func inOrderOfLines() *Job {
	return &Job{Name: "sort", TotalOrder: true, Output: Keys, Map: func(_ *Task, in *Batches, out *Emitter) error {
		for in.Next() {
			for line := range Lines(in.Data()) {
				out.Emit(line, nil)
			}
		}
		return nil
	}}
}

// serveInput runs a job on inputs, and returns its result, its output and the notes.
func serveInput(t *testing.T, job *Job, chaos Chaos, inputs ...string) (Result, string, string) {
	t.Helper()
	dir := t.TempDir()
	var notes []string
	w, err := Open(Order{Job: job, Input: inputs, Output: filepath.Join(dir, "out"), Reduces: 3,
		Notes: func(n string) { notes = append(notes, n) }}, site(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	nodes := []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.VCores: 2}}}
	results, err := Serve(t.Context(), Config{Core: sched.Config{Policy: &inOrder{}}, Nodes: nodes, Chaos: chaos},
		[]Submission{{Spec: &sched.JobSpec{}, Work: w}})
	if err != nil || len(results) != 1 {
		t.Fatalf("results %v, error %v", results, err)
	}
	if results[0].Outcome != sched.OK {
		return results[0], "", strings.Join(notes, "\n")
	}
	return results[0], strings.Join(readParts(t, filepath.Join(dir, "out")), ""), strings.Join(notes, "\n")
}

// TestPipeIsNotSampled: the sample that says where parts begin takes nothing out of a pipe, with a file beside it or
// without.
func TestPipeIsNotSampled(t *testing.T) {
	lines := numbers()
	text := strings.Join(lines, "\n") + "\n"
	for _, beside := range []bool{false, true} {
		inputs, want := []string{piped(t, text)}, slices.Clone(lines)
		if beside {
			inputs, want = append(inputs, write(t, t.TempDir(), "file", text)), append(want, lines...)
		}
		slices.Sort(want)
		r, got, notes := serveInput(t, inOrderOfLines(), Chaos{}, inputs...)
		if r.Outcome != sched.OK || got != strings.Join(want, "\n")+"\n" {
			t.Errorf("a file beside it: %v: %v, %v: %d lines, want %d", beside, r.Outcome, r.Err,
				strings.Count(got, "\n"), len(want))
		}
		if !strings.Contains(notes, "no sample") {
			t.Errorf("notes %q, want one on the missing sample", notes)
		}
	}
}

// TestPipeIsReadOnce: a job fails where an attempt that has read a pipe fails or is lost, and says why. Another attempt
// would find nothing there, and the output would lack it without a word.
func TestPipeIsReadOnce(t *testing.T) {
	text := strings.Join(numbers(), "\n")
	failing := inOrderOfLines()
	run := failing.Map
	failing.Map = func(t *Task, in *Batches, out *Emitter) error {
		if err := run(t, in, out); err != nil || t.Attempt > 0 {
			return err
		}
		return errors.New("a flaw of the program")
	}
	r, got, _ := serveInput(t, failing, Chaos{}, piped(t, text))
	if r.Outcome != sched.Failed || !strings.Contains(r.Err.Error(), "a flaw of the program; /dev/fd/") ||
		!strings.Contains(r.Err.Error(), "is a pipe, which cannot be read again") {
		t.Errorf("an attempt fails: %v, %v: %d lines", r.Outcome, r.Err, strings.Count(got, "\n"))
	}
	lost, few := 0, numbers()[:20_000]
	for seed := range uint64(20) {
		r, got, _ := serveInput(t, wordCount(), Chaos{Rate: 0.5, Seed: seed}, piped(t, strings.Join(few, "\n")))
		switch {
		case r.Outcome == sched.OK && strings.Count(got, "\n") == len(few):
		case r.Outcome == sched.Failed && errors.Is(r.Err, input.ErrReadOnce):
			lost++
		default:
			t.Errorf("seed %d: %v, %v: %d lines", seed, r.Outcome, r.Err, strings.Count(got, "\n"))
		}
	}
	if lost == 0 {
		t.Error("no attempt was lost after it had read the pipe")
	}
}

// TestPipeHasOneReader: of two attempts at a task that reads a pipe, as a policy starts them that takes the first for a
// straggler, the second one waits, and finds that the first has done the task.
func TestPipeHasOneReader(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for _, reduces := range []int{0, MapOnly} {
		job := wordCount()
		job.Reduces = reduces
		path := filepath.Join(t.TempDir(), "out")
		order := Order{Job: job, Input: []string{fmt.Sprintf("/dev/fd/%d", in.Fd())}, Output: path}
		opened, err := Open(order, site(t, 2))
		if err != nil {
			t.Fatal(err)
		}
		w := opened.(*jobWork)
		if _, err := w.Stages(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write(bytes.Repeat([]byte("word\n"), 1000)); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		attempt := func(number int) error {
			return w.Run(&Launch{Attempt: NewAttempt(t.Context(), 0, number)})
		}
		go func() { ended <- attempt(0) }()
		for pipe := w.rounds[0].splits[0].Pipe(); !pipe.Opened(); {
			select {
			case err := <-ended:
				t.Fatalf("the first attempt ended before its input: %v", err)
			default:
			}
		}
		second := make(chan error, 1)
		go func() { second <- attempt(1) }()
		out.Close()
		if first, err := <-ended, <-second; first != nil || !errors.Is(err, ErrCommitted) {
			t.Errorf("reduces %d: the first attempt ended with %v, the second with %v", reduces, first, err)
		}
		if err := w.Close(false); err != nil {
			t.Fatal(err)
		}
		if in, out, err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
		defer in.Close()
	}
	out.Close()
}

// TestPipeOfHungAttempt: an attempt that does not end although it was told to keeps no other waiting for its pipe.
func TestPipeOfHungAttempt(t *testing.T) {
	job, hangs, release := wordCount(), make(chan struct{}), make(chan struct{})
	job.Map = func(_ *Task, in *Batches, _ *Emitter) error {
		in.Next()
		close(hangs)
		<-release
		return nil
	}
	opened, err := Open(Order{Job: job, Input: []string{piped(t, "a\n")}, Output: filepath.Join(t.TempDir(), "out")},
		site(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	w := opened.(*jobWork)
	if _, err := w.Stages(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- w.Run(&Launch{Attempt: NewAttempt(ctx, 0, 0)}) }()
	<-hangs
	go func() { second <- w.Run(&Launch{Attempt: NewAttempt(t.Context(), 0, 1)}) }()
	cancel()
	if err := <-second; !errors.Is(err, input.ErrReadOnce) || !errors.As(err, new(permanentError)) {
		t.Errorf("the second attempt ended with %v", err)
	}
	close(release)
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first attempt ended with %v", err)
	}
	if err := w.Close(false); err != nil {
		t.Fatal(err)
	}
}

// TestSilentPipe: an attempt that waits for a pipe, or for a program that opens it to write, is not taken for one that
// hangs, and ends when it is told to.
func TestSilentPipe(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	unopened := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(unopened, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fmt.Sprintf("/dev/fd/%d", in.Fd()), unopened} {
		waitForPipe(t, path)
	}
}

// waitForPipe lets an attempt wait for a pipe, and ends it.
func waitForPipe(t *testing.T, path string) {
	t.Helper()
	opened, err := Open(Order{Job: wordCount(), Input: []string{path}, Output: filepath.Join(t.TempDir(), "out")},
		site(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	w := opened.(*jobWork)
	if _, err := w.Stages(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	a := NewAttempt(ctx, 0, 0)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(&Launch{Attempt: a}) }()
	for pipe := w.rounds[0].splits[0].Pipe(); !pipe.Opened() || !a.halted(); {
		select {
		case err := <-ended:
			t.Fatalf("the attempt ended before its input: %v", err)
		default:
		}
	}
	why := errors.New("a user ends the run")
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Errorf("the attempt ended with %v", err)
	}
	if err := w.Close(false); err != nil {
		t.Fatal(err)
	}
}
