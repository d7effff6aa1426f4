package mr

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
