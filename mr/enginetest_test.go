package mr

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
	"github.com/sojourn-sched/sojourn/sched/enginetest"
)

// The embedded engine keeps its contract with the core: two word counts of many small splits on two nodes, on the real
// clock.
func TestEngineContract(t *testing.T) {
	input, _ := linesOf(t, 1)
	enginetest.Check(t, enginetest.Kit{Late: time.Minute, Run: func(t *testing.T, core sched.Config) {
		job := wordCount()
		job.Conf = smallSplits
		var jobs []Submission
		for range 2 {
			out := filepath.Join(t.TempDir(), "out")
			s := site(t, 2)
			s.Map[sched.Memory], s.Reduce[sched.Memory] = 64, 64
			w, err := Open(Order{Job: job, Input: []string{input}, Output: out, Reduces: 2}, s)
			if err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, Submission{Spec: &sched.JobSpec{Name: "words"}, Work: w})
		}
		node := sched.NodeSpec{Class: "c", Capacity: sched.Resources{sched.VCores: 2, sched.Memory: 256}}
		if _, err := Serve(t.Context(), Config{Core: core, Nodes: []sched.NodeSpec{node, node}}, jobs); err != nil {
			t.Error(err)
		}
	}})
}

// Powers names what the embedded engine carries out.
func TestPowers(t *testing.T) {
	actions := new(engine).dispatcher(t.Context())
	if got := actions.Powers() | sched.CanNameTasks; got != Powers {
		t.Errorf("the dispatcher can do %b, want %b", got, Powers)
	}
}
