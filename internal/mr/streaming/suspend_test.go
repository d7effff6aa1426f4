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

// The program of an attempt that is suspended, or has no part of the time, stands still where it is, although it does
// not wait for input, and goes on when the attempt does. That of a slowed one is stopped and goes on in turns.
func TestSuspendedAttemptStopsItsProgram(t *testing.T) {
	dir := t.TempDir()
	in, beats, pid := filepath.Join(dir, "in"), filepath.Join(dir, "beats"), filepath.Join(dir, "pid")
	if err := os.WriteFile(in, []byte("a\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	// It starts no other program: a shell whose child is stopped before its exec waits for it, and is not stopped
	// itself.
	program := "echo $$ >" + pid + "; while :; do echo x >>" + beats + "; done"
	j, err := Job(Programs{Mapper: "sh -c '" + program + "'", Reducer: None}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	memory, err := mr.NewMemory(256<<20, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	work, err := mr.OpenWorkspace(filepath.Join(dir, "out"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer work.Close()
	run, err := mr.NewRun(j, 1, memory, work)
	if err != nil {
		t.Fatal(err)
	}
	files, err := input.Expand([]string{in}, input.Config{})
	if err != nil {
		t.Fatal(err)
	}
	splits, _ := input.Plan(files, input.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := mr.NewAttempt(ctx, 0, 0)
	ended := make(chan error, 1)
	go func() {
		_, err := run.Map(a, splits[0])
		ended <- err
	}()
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
