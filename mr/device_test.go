package mr

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// A word count whose implementation for devices fails, ends all the same and with the same output, although no node is
// without a device: a task at which it has failed runs the portable code, and all do once it has failed twice in a row.
// Where it fails only now and then, other tasks go on with it.
func TestBrokenDevice(t *testing.T) {
	path, _ := linesOf(t, 1)
	count := func(fails func(call int64) bool) (output string, calls, failed int64) {
		var called, broken atomic.Int64
		job := wordCount()
		job.Conf = smallSplits
		portable := job.Map
		job.Accelerated = map[string]Func[*Batches]{"gpu": func(task *Task, in *Batches, out *Emitter) error {
			n := called.Add(1)
			if !fails(n) {
				return portable(task, in, out)
			}
			broken.Add(1)
			if n%3 == 0 {
				panic("the driver is gone")
			}
			for in.Next() { // what it has emitted is dropped
				out.Emit([]byte("half"), One)
			}
			return errors.New("the device does not answer")
		}}
		out := filepath.Join(t.TempDir(), "out")
		w, err := Open(Order{Job: job, Input: []string{path}, Output: out, Reduces: 1}, site(t, 2))
		if err != nil {
			t.Fatal(err)
		}
		node := sched.NodeSpec{Class: "gpu", Capacity: sched.Resources{sched.VCores: 1}}
		results, err := Serve(t.Context(), Config{Core: sched.Config{Policy: &inOrder{}},
			Nodes: []sched.NodeSpec{node, node}}, []Submission{{Spec: &sched.JobSpec{Name: "words"}, Work: w}})
		if err != nil || results[0].Outcome != sched.OK {
			t.Fatalf("%v, %v", results, err)
		}
		if n := int64(len(results[0].Failed)); n != min(broken.Load(), mostFailures) {
			t.Errorf("%d failures are told of %d", n, broken.Load())
		}
		text, err := os.ReadFile(filepath.Join(out, "part-r-00000"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text), called.Load(), broken.Load()
	}
	want, tasks, _ := count(func(int64) bool { return false })
	got, calls, _ := count(func(int64) bool { return true })
	if got != want || tasks < 5 || calls < mostBroken || calls > mostBroken+1 { // one more may have been running
		t.Errorf("a device that is gone was tried %d times, and the output is right: %v", calls, got == want)
	}
	got, calls, failed := count(func(call int64) bool { return call == 2 })
	if got != want || calls != tasks || failed != 1 {
		t.Errorf("a device that failed once was used %d times of %d, and the output is right: %v", calls, tasks,
			got == want)
	}
}
