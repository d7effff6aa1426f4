package mr

import (
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// usedTime sums up what attempts report that they used.
type usedTime struct{ sum time.Duration }

func (p *usedTime) Record(_ sched.Time, events []sched.Event, _ []sched.Action) {
	for i := range events {
		if c, ok := events[i].Body.(*sched.Counters); ok && events[i].Kind == sched.AttemptDone {
			p.sum += c.CPU
		}
	}
}

// An idleProgram is a program that does nothing.
type idleProgram struct{}

func (idleProgram) Suspend() {}
func (idleProgram) Resume()  {}

// What a map function computes is counted as processor time of its attempt. What it sleeps is not, nor what it computes
// on another goroutine, or while a program works for it, whose time it tells. A panic, for which the task runs again,
// leaves no goroutine on its thread.
func TestProcessorTime(t *testing.T) {
	const burnt = 50 * time.Millisecond
	burn := func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for began := threadTime(); threadTime()-began < burnt; {
		}
	}
	aside := func(f func()) {
		done := make(chan bool)
		go func() {
			defer close(done)
			f()
		}()
		<-done
	}
	path := write(t, t.TempDir(), "in.txt", "a\n")
	for _, c := range []struct {
		what    string
		do      func(*Task)
		counted bool
	}{
		{"computing", func(*Task) { burn() }, true},
		{"sleeping", func(*Task) { time.Sleep(3 * burnt) }, false},
		{"computing on another goroutine", func(*Task) { aside(burn) }, false},
		{"computing beside a program", func(task *Task) {
			task.Suspends(idleProgram{})
			burn()
			task.Suspends(nil)
		}, false},
		{"computing after a program", func(task *Task) {
			task.Suspends(idleProgram{})
			task.Suspends(nil)
			burn()
		}, true},
		{"a program", func(task *Task) { task.Uses(burnt) }, true},
		{"a panic beside a program", func(task *Task) {
			if task.Attempt == 0 {
				task.Suspends(idleProgram{})
				panic("once")
			}
			burn()
		}, true},
	} {
		job := &Job{Name: "burn", Reduces: MapOnly, Map: func(task *Task, in *Batches, _ *Emitter) error {
			c.do(task)
			for in.Next() {
			}
			return nil
		}}
		out := filepath.Join(t.TempDir(), "out")
		w, err := Open(Order{Job: job, Input: []string{path}, Output: out}, site(t, 1))
		if err != nil {
			t.Fatal(err)
		}
		var used usedTime
		results, err := Serve(t.Context(), Config{Core: sched.Config{Policy: &inOrder{}, Recorder: &used},
			Nodes: []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.VCores: 1}}},
		}, []Submission{{Spec: &sched.JobSpec{Name: "burn"}, Work: w}})
		if err != nil || results[0].Outcome != sched.OK {
			t.Fatalf("%s: %v, %v", c.what, results, err)
		}
		if used.sum >= 2*burnt || (used.sum >= burnt) != c.counted {
			t.Errorf("%s: %v of processor time are counted, where %v were used", c.what, used.sum, burnt)
		}
	}
}
