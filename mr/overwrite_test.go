package mr

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/safefile"
	"github.com/sojourn-sched/sojourn/sched"
)

// Only what a job has written is ever overwritten.
func TestOverwriteSparesOtherFiles(t *testing.T) {
	dir := t.TempDir()
	for name, ok := range map[string]bool{"part-r-00000": true, "_SUCCESS": true, "thesis.txt": false} {
		out := filepath.Join(dir, "out-"+name)
		if err := os.Mkdir(out, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(out, name), []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
		w, err := OpenWorkspace(out, true)
		if (err == nil) != ok || !ok && !strings.Contains(err.Error(), "thesis.txt") {
			t.Errorf("overwriting a directory with %s: %v", name, err)
		}
		if w != nil {
			w.Close()
		}
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Errorf("%s is gone before anything was written", name)
		}
	}
}

// TestOverwriteLooksAgain: what another program puts into an output while the job runs that is to replace it stays, and
// so does the output.
func TestOverwriteLooksAgain(t *testing.T) {
	for _, name := range []string{"notes.txt", "words/part-r-00000", "part-of-it/part-r-00000"} {
		out := filepath.Join(t.TempDir(), "out")
		if err := os.Mkdir(out, 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, out, "part-r-00000", "old")
		w, err := OpenWorkspace(out, true)
		if err != nil {
			t.Fatal(err)
		}
		r := testRun(t, w)
		if err := r.CommitTask(part(t, r, 0, 0, "new")); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(out, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Dir(filepath.Join(out, name)), filepath.Base(name), "theirs")
		first, _, _ := strings.Cut(name, "/")
		if err := r.CommitJob(); err == nil || !strings.Contains(err.Error(), out+": has "+first+", which no job") {
			t.Errorf("%s came while the job ran: error %v", name, err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		for file, want := range map[string]string{name: "theirs", "part-r-00000": "old"} {
			if b, err := os.ReadFile(filepath.Join(out, file)); string(b) != want {
				t.Errorf("%s came while the job ran: %s is %q, %v, want %q", name, file, b, err, want)
			}
		}
		if left := names(t, filepath.Dir(out)); len(left) != 1 {
			t.Errorf("%s came while the job ran: left %v", name, left)
		}
	}
}

// A job whose tasks no node could ever hold fails at once and says why, instead of waiting for ever.
func TestServeTooLarge(t *testing.T) {
	w := &sleeper{stages: mapReduce(1, 1e9, 1, 1e9)}
	nodes := []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 2}}}
	results, err := Serve(t.Context(), Config{Core: sched.Config{Policy: &inOrder{}}, Nodes: nodes},
		[]Submission{{Spec: &sched.JobSpec{}, Work: w}})
	if err != nil || len(results) != 1 || results[0].Outcome != sched.Failed ||
		!strings.Contains(results[0].Err.Error(), "asks for 1 reduce-slots, more") ||
		w.closed.Load() != 1 {
		t.Errorf("%v, %v", results, err)
	}
}

// TestOverwriteKilledBetweenNames: where the file system cannot exchange two names, a run that is killed after the old
// output lost its name and before the new one got it loses neither the old output nor its name. An old output that was
// replaced is removed.
func TestOverwriteKilledBetweenNames(t *testing.T) {
	for _, c := range []struct {
		there, overwrite bool
		want             string
	}{{false, true, "old"}, {false, false, "old"}, {true, true, "new"}} {
		dir := t.TempDir()
		out, temporary := filepath.Join(dir, "out"), filepath.Join(dir, ".out._temporary")
		folders := map[string]string{filepath.Join(temporary, "round-0"+safefile.Replaced): "old"}
		if c.there {
			folders[out] = "new"
		} else {
			folders[filepath.Join(temporary, "round-0")] = "new"
		}
		for folder, text := range folders {
			if err := os.MkdirAll(folder, 0o777); err != nil {
				t.Fatal(err)
			}
			write(t, folder, "part-r-00000", text)
			write(t, folder, successFile, "")
		}
		w, err := OpenWorkspace(out, c.overwrite)
		if c.overwrite != (err == nil) || err != nil && !errors.Is(err, ErrOutputExists) {
			t.Errorf("%+v: error %v", c, err)
		}
		if w != nil {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		}
		if got := strings.Join(readParts(t, out), ""); got != c.want {
			t.Errorf("%+v: the output is %q", c, got)
		}
	}
}

// TestOldOutputOutlivesClose: Close does not remove an old output to which it cannot give its name again.
func TestOldOutputOutlivesClose(t *testing.T) {
	dir := t.TempDir()
	w, err := OpenWorkspace(filepath.Join(dir, "out"), true)
	if err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(w.Dir(), "round-0"+safefile.Replaced)
	if err := os.Mkdir(old, 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, old, "part-r-00000", "old")
	w.output = filepath.Join(dir, "missing", "out") // a name that the file system gives to no folder
	if err := w.Close(); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), old) {
		t.Errorf("error %v, want that %s is where the old output is", err, old)
	}
	if got, err := os.ReadFile(filepath.Join(old, "part-r-00000")); string(got) != "old" {
		t.Errorf("the old output is %q, error %v", got, err)
	}
}
