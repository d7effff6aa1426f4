package streaming

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/mr/input"
)

// A suspended attempt's program stands still where it is, although it does not wait for input, and goes on when the
// attempt does.
func TestSuspendedAttemptStopsItsProgram(t *testing.T) {
	dir := t.TempDir()
	in, beats := filepath.Join(dir, "in"), filepath.Join(dir, "beats")
	if err := os.WriteFile(in, []byte("a\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	j, err := Job(Programs{Mapper: `sh -c "while :; do echo x >>` + beats + `; sleep 0.01; done"`, Reducer: None}, nil)
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
		from, deadline := size(), time.Now().Add(20*time.Second)
		for size() <= from {
			if time.Now().After(deadline) {
				t.Fatal(what, ": the program does not go on")
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	grow("started")
	a.Suspend()
	time.Sleep(50 * time.Millisecond) // the signal arrives
	still := size()
	time.Sleep(200 * time.Millisecond) // 20 beats of a program that is not stopped
	if n := size(); n != still {
		t.Errorf("the program of a suspended attempt went on from %d to %d bytes", still, n)
	}
	a.Resume()
	grow("resumed")
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the attempt ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the attempt does not end")
	}
}
