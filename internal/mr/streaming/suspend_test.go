package streaming

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/input"
)

// attemptOf prepares a map attempt of a program on one line of input, and returns what runs it. Its output is dropped.
func attemptOf(t *testing.T, ctx context.Context, program string) (a *mr.Attempt, run func() error) {
	t.Helper()
	return attemptOfJob(t, ctx, Programs{Mapper: "sh -c '" + program + "'", Reducer: None})
}

// attemptOfJob prepares the map attempt of a job on one line of input, and returns what runs it.
func attemptOfJob(t *testing.T, ctx context.Context, programs Programs) (a *mr.Attempt, run func() error) {
	t.Helper()
	in := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(in, []byte("a\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	j, err := Job(programs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	memory, err := mr.NewMemory(64<<20, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { memory.Close() })
	work, err := mr.OpenWorkspace(filepath.Join(t.TempDir(), "out"), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { work.Close() })
	r, err := mr.NewRun(j, 1, memory, work)
	if err != nil {
		t.Fatal(err)
	}
	files, err := input.Expand([]string{in}, input.Config{})
	if err != nil {
		t.Fatal(err)
	}
	splits, _ := input.Plan(files, input.Config{})
	a = mr.NewAttempt(ctx, 0, 0)
	return a, func() error {
		_, err := r.Map(a, splits[0])
		return err
	}
}

// The processor time of a program, and of the programs that it has waited for, is that of its attempt. What a program
// sleeps is not.
func TestProcessorTimeOfPrograms(t *testing.T) {
	const loop = "i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done"
	spent := func(program string) time.Duration {
		a, run := attemptOf(t, t.Context(), program)
		if err := run(); err != nil {
			t.Fatal(err)
		}
		return a.Report().CPU
	}
	slept := spent("sleep 0.5; cat")
	for _, program := range []string{loop + "; cat", "(" + loop + "); cat"} {
		if busy := spent(program); busy < 20*time.Millisecond || busy < 2*slept {
			t.Errorf("%q used %v, and one that sleeps %v", program, busy, slept)
		}
	}
}

// The program of an attempt that is suspended, or has no part of the time, stands still where it is, although it does
// not wait for input, and goes on when the attempt does. That of a slowed one is stopped and goes on in turns.
func TestSuspendedAttemptStopsItsProgram(t *testing.T) {
	dir := t.TempDir()
	beats, pid := filepath.Join(dir, "beats"), filepath.Join(dir, "pid")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// It starts no other program: a shell whose child is stopped before its exec waits for it, and is not stopped
	// itself.
	a, run := attemptOf(t, ctx, "echo $$ >"+pid+"; while :; do echo x >>"+beats+"; done")
	ended := make(chan error, 1)
	go func() { ended <- run() }()
	size := func() int64 {
		info, err := os.Stat(beats)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	grow := func(what string) {
		t.Helper()
		from, deadline := size(), time.Now().Add(patience)
		for size() <= from {
			if time.Now().After(deadline) {
				t.Fatal(what, ": the program does not go on")
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	grow("started")
	stopped := func(what string) {
		t.Helper()
		for deadline := time.Now().Add(patience); stateOf(t, pid) != "T"; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the program of %s attempt is not stopped", what)
			}
		}
	}
	a.Suspend()
	stopped("a suspended")
	a.Resume()
	grow("resumed")
	a.Slow(0.2)
	grow("slowed")
	stopped("a slowed")
	grow("slowed, again")
	a.Slow(0)
	stopped("a halted")
	a.Slow(1)
	grow("no longer slowed")
	cancel()
	endsCanceled(t, ended)
}

// The mapper of an attempt that is suspended is stopped, while a combiner works on a part of its output and after that.
func TestSuspendedAfterCombiner(t *testing.T) {
	dir := t.TempDir()
	spilled, pid := filepath.Join(dir, "spilled"), filepath.Join(dir, "pid")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	mapper := filepath.Join(dir, "mapper") // it starts no other program, as above
	if err := os.WriteFile(mapper, []byte("#!/bin/sh\necho $$ >"+pid+"\nx=0123456789abcdef\nx=$x$x$x$x\nx=$x$x$x$x\n"+
		"while [ ! -e "+spilled+" ]; do echo $x; done\nwhile :; do :; done\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	combiner := filepath.Join(dir, "combiner")
	if err := os.WriteFile(combiner, []byte("#!/bin/sh\ncat >/dev/null\n: >"+spilled+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	a, run := attemptOfJob(t, ctx, Programs{Mapper: mapper, Combiner: combiner, Reducer: "cat"})
	ended := make(chan error, 1)
	go func() { ended <- run() }()
	until := func(what string, is func() bool) {
		t.Helper()
		for deadline := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("in vain waited until ", what)
			}
		}
	}
	until("the combiner has run", func() bool { _, err := os.Stat(spilled); return err == nil })
	a.Suspend()
	until("the mapper is stopped", func() bool { return stateOf(t, pid) == "T" })
	a.Resume()
	until("the mapper goes on", func() bool { return stateOf(t, pid) != "T" })
	cancel()
	endsCanceled(t, ended)
	if cpu := a.Report().CPU; cpu <= 0 {
		t.Errorf("it used %v of the processors", cpu)
	}
}

// endsCanceled waits for the end of an attempt whose context was cancelled.
func endsCanceled(t *testing.T, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the attempt ended with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the attempt does not end")
	}
}

// stateOf returns the state of the process whose ID is in a file, as the kernel says it: T while it is stopped.
func stateOf(t *testing.T, path string) string {
	t.Helper()
	pid, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ") // the name before may have spaces
	return after[:1]
}
