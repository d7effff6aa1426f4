package testbed_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/reproduce/papertest"
)

// A run is repeated by the simulator from its record. With one core and first come first served, it leaves out what the
// engine takes between tasks, and nothing else: no job is done later than it was. Nothing is left behind but the input,
// which is made once.
func TestMixRunAndSimulate(t *testing.T) {
	m := papertest.SmallMix(t)
	run, err := m.Run(t.Context(), "fifo", nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := m.Simulate(t.Context(), "fifo", run)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Jobs {
		if !(again[i] > 0 && again[i] <= run.Sojourns[i]+1e-6) {
			t.Errorf("%s: %v s, simulated %v s", m.Jobs[i].Name, run.Sojourns[i], again[i])
		}
	}
	if run.Result.JobCounts.Jobs != 3 {
		t.Errorf("%d jobs", run.Result.JobCounts.Jobs)
	}
	left, err := os.ReadDir(m.Folder)
	if err != nil || len(left) != 3 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
	inputs, err := filepath.Glob(filepath.Join(m.Folder, "documents-*", "doc-*"))
	if err != nil || len(inputs) != 5 { // 500 kB each
		t.Errorf("documents %v, %v", inputs, err)
	}
	m.Jobs[0].Input = []string{filepath.Join(m.Folder, "nowhere")}
	if _, err := m.Run(t.Context(), "fifo", nil); err == nil {
		t.Error("input that is not there: no error")
	}
	m.Jobs[0].Job = "knitting"
	if _, err := m.Run(t.Context(), "fifo", nil); err == nil {
		t.Error("a job that there is not: no error")
	}
}
