package mr

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/mr/input"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// part leaves what a reduce attempt leaves that has written text.
func part(t *testing.T, r *Run, task, number int, text string) *Attempt {
	t.Helper()
	a := NewAttempt(context.Background(), task, number)
	if err := os.WriteFile(r.scratch("part", ReduceStage, a), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

func testRun(t *testing.T, w *Workspace) *Run {
	t.Helper()
	m, err := newMemory(2*smallest, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	r, err := NewRun(wordCount(), 1, m, w)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCommit: of two attempts that end well one commits, and nothing has its final name before the job commits.
func TestCommit(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "deep", "out")
	w, err := OpenWorkspace(out, false)
	if err != nil {
		t.Fatal(err)
	}
	r := testRun(t, w)
	first, second := part(t, r, 0, 0, "first"), part(t, r, 0, 1, "second")
	if err := r.CommitTask(second); err != nil {
		t.Fatal(err)
	}
	if err := r.CommitTask(first); !errors.Is(err, ErrCommitted) {
		t.Errorf("second commit: error %v", err)
	}
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("output is there before the job's commit: %v", err)
	}
	if err := r.CommitJob(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := readParts(t, out); !slices.Equal(got, []string{"second"}) {
		t.Errorf("parts %q", got)
	}
	if got := names(t, filepath.Dir(out)); !slices.Equal(got, []string{"out"}) {
		t.Errorf("left: %v", got)
	}
}

// TestExisting: an output that exists is refused, or replaced by the commit and not before.
func TestExisting(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	old := write(t, out, "part-r-00000", "old")
	if _, err := OpenWorkspace(out, false); !errors.Is(err, ErrOutputExists) || !strings.Contains(err.Error(), out) {
		t.Errorf("error %v", err)
	}
	if _, err := OpenWorkspace(old, true); err == nil {
		t.Error("a file is to be overwritten")
	}
	for _, commit := range []bool{false, true} {
		w, err := OpenWorkspace(out, true)
		if err != nil {
			t.Fatal(err)
		}
		r := testRun(t, w)
		if err := r.CommitTask(part(t, r, 0, 0, "new")); err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(old); string(b) != "old" {
			t.Fatalf("output is %q before the commit", b)
		}
		want := []string{"part-r-00000"}
		if commit {
			if err := r.CommitJob(); err != nil {
				t.Fatal(err)
			}
			want = []string{successFile, "part-r-00000"}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := names(t, out); !slices.Equal(got, want) {
			t.Errorf("commit %v: output has %v", commit, got)
		}
		if got := names(t, dir); !slices.Equal(got, []string{"out"}) {
			t.Errorf("commit %v: left %v", commit, got)
		}
	}
	if b, _ := os.ReadFile(old); string(b) != "new" {
		t.Errorf("output is %q after the commit", b)
	}
}

// TestAppearedMeanwhile: another program makes the output directory while the job runs; it is not touched.
func TestAppearedMeanwhile(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	w, err := OpenWorkspace(out, false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, out, "theirs", "")
	if err := testRun(t, w).CommitJob(); !errors.Is(err, ErrOutputExists) {
		t.Errorf("error %v", err)
	}
	if got := names(t, out); !slices.Equal(got, []string{"theirs"}) {
		t.Errorf("output has %v", got)
	}
}

// TestKilled: what a killed process has left is removed by the next run on the same output; while it lives, the output
// is its own.
func TestKilled(t *testing.T) {
	if out := os.Getenv("KILLED_OUTPUT"); out != "" {
		w, err := OpenWorkspace(out, false)
		if err != nil {
			t.Fatal(err)
		}
		part(t, testRun(t, w), 3, 0, "half a part")
		os.Stdout.WriteString("ready\n")
		io.Copy(io.Discard, os.Stdin) // until it is killed, or the test has ended
		return
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	child := exec.Command("/proc/self/exe", "-test.run=^TestKilled$")
	child.Env = append(os.Environ(), "KILLED_OUTPUT="+out)
	pipe, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := child.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 6)
	if _, err := io.ReadFull(pipe, buf); err != nil || string(buf) != "ready\n" {
		t.Fatalf("%q, %v", buf, err)
	}
	if _, err := OpenWorkspace(out, false); !errors.Is(err, ErrOutputBusy) {
		t.Errorf("while the other lives: error %v", err)
	}
	child.Process.Kill()
	child.Wait()
	if got := names(t, dir); len(got) != 1 {
		t.Fatalf("the killed process left %v", got)
	}
	w, err := OpenWorkspace(out, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(t, w.Dir()); !slices.Equal(got, []string{lockFile}) {
		t.Errorf("leftovers are still there: %v", got)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

// oneSplit plans a file as a single split.
func oneSplit(t *testing.T, path string) input.Split {
	t.Helper()
	files, err := input.Expand([]string{path}, input.Config{})
	if err != nil {
		t.Fatal(err)
	}
	splits, _ := input.Plan(files, input.Config{MinSplit: 1 << 30, MaxSplit: 1 << 30})
	if len(splits) != 1 {
		t.Fatalf("%d splits", len(splits))
	}
	return splits[0]
}

// TestCorruptSpill damages and removes a map's file: the reduce names the map, and a new attempt at it cures that.
func TestCorruptSpill(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "in.txt", text(3, 200_000))
	w, err := OpenWorkspace(filepath.Join(dir, "out"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	damage := map[string]func(path string) error{
		"flip": func(path string) error {
			b, err := os.ReadFile(path)
			if err == nil {
				b[len(b)/2] ^= 1
				err = os.WriteFile(path, b, 0o600)
			}
			return err
		},
		"truncate": func(path string) error { return os.Truncate(path, 100) },
		"remove":   os.Remove,
		"none":     func(string) error { return nil },
	}
	for _, job := range []*Job{wordCount(), {Name: "sort", Map: mapWords(nil)}} {
		for name, harm := range damage {
			r := testRun(t, w)
			r.Job = job
			m, err := r.Map(NewAttempt(context.Background(), 0, 7), oneSplit(t, path))
			if err != nil {
				t.Fatal(err)
			}
			if m.path == "" {
				t.Fatal("nothing was spilled")
			}
			if err := harm(m.path); err != nil {
				t.Fatal(err)
			}
			a := NewAttempt(context.Background(), 0, 0)
			err = r.Reduce(a, []*MapOutput{m})
			var lost *LostOutput
			if name == "none" {
				if err != nil {
					t.Fatal(err)
				}
				if err := r.DropTask(a); err != nil {
					t.Fatal(err)
				}
			} else if !errors.As(err, &lost) || lost.Map != 0 || lost.Attempt != 7 {
				t.Errorf("%s, %s: error %v", job.Name, name, err)
			}
			m.Release()
			m.Release() // more calls do nothing
			if got := names(t, w.Dir()); !slices.Equal(got, []string{lockFile}) {
				t.Errorf("%s, %s: left %v", job.Name, name, got)
			}
			if n := r.Memory.InUse(); n != 0 {
				t.Errorf("%s, %s: %d bytes in use", job.Name, name, n)
			}
		}
	}
}

// TestSuspend: a suspended attempt stands still until it is resumed, and ends when it is cancelled meanwhile.
func TestSuspend(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "in.txt", "one two\n")
	w, err := OpenWorkspace(filepath.Join(dir, "out"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r := testRun(t, w)
	for _, cancelled := range []bool{false, true} {
		ctx, cancel := context.WithCancel(context.Background())
		a := NewAttempt(ctx, 0, 0)
		inside := make(chan struct{})
		r.Job = &Job{Name: "suspended", Map: func(_ *Task, in *Batches, _ *Emitter) error {
			a.Suspend()
			a.Suspend() // twice is once
			close(inside)
			if in.Next() == cancelled {
				return errUser
			}
			return nil
		}}
		ended := make(chan error)
		go func() {
			m, err := r.Map(a, oneSplit(t, path))
			if m != nil {
				m.Release()
			}
			ended <- err
		}()
		<-inside
		select {
		case err := <-ended:
			t.Fatalf("a suspended attempt ended: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
		if cancelled {
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		} else {
			a.Resume()
			a.Resume()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if a.Progress() != 1 {
				t.Errorf("progress %v", a.Progress())
			}
		}
		cancel()
	}
}
