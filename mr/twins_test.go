package mr

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// An ordered run settles under a fake clock. When cue is closed, all that follows from that settles first. Then next is
// closed, and what waited for it sends its mail after the other mail, in the same turn of the engine.
type ordered struct {
	cue, next chan struct{}
	once      sync.Once
}

func newOrdered() *ordered { return &ordered{cue: make(chan struct{}), next: make(chan struct{})} }

func (o *ordered) settle() {
	synctest.Wait()
	select {
	case <-o.cue:
		o.once.Do(func() { close(o.next) })
		synctest.Wait()
	default:
	}
}

// TestTwinFailsInOneTurn: a job is done whose last task has two attempts if the engine reads of the failure of one in
// the turn in which it reads that the other one has ended well, or that the output is published.
func TestTwinFailsInOneTurn(t *testing.T) {
	for _, end := range []error{
		errors.New("the only failure that the task may have"),
		Permanent(errors.New("each attempt ends so")),
		&LostOutput{Map: 0, Err: os.ErrNotExist},
	} {
		for _, c := range []struct {
			published bool // before the failure; else the failure is before the success
			fails     int  // which attempt
			open      bool
		}{
			{false, 0, false}, {false, 0, true}, {false, 1, false}, {false, 1, true},
			{true, 0, false}, {true, 0, true}, {true, 1, false}, {true, 1, true},
		} {
			synctest.Test(t, func(t *testing.T) {
				o := newOrdered()
				w := &sleeper{stages: mapReduce(1, time.Second, 1, time.Second)}
				w.stages[1].MaxAttempts = 1
				w.run = func(l *Launch) error {
					switch time.Sleep(time.Second); {
					case l.Stage == 0:
						return nil
					case l.Attempt.Number != c.fails && !c.published:
						<-o.next
					case l.Attempt.Number == c.fails && c.published:
						<-o.next
						return end
					case l.Attempt.Number == c.fails:
						close(o.cue)
						return end
					}
					return nil
				}
				work := &hooked{Work: w}
				if c.published {
					work.published = func() { close(o.cue) }
				}
				policy, nodes := &twice{stage: 1}, []sched.NodeSpec{{Class: "c",
					Capacity: sched.Resources{sched.MapSlots: 1, sched.ReduceSlots: 2}}}
				config := Config{Core: sched.Config{Policy: policy}, Nodes: nodes, Settle: o.settle}
				results, err := Serve(t.Context(), config,
					[]Submission{{Spec: &sched.JobSpec{Open: c.open}, Work: work}})
				if err != nil || !policy.begun || len(results) != 1 || results[0].Outcome != sched.OK || w.asked != 2 {
					t.Errorf("%+v, an attempt ends with %q: results %+v, error %v, asked %d times; want OK, twice",
						c, end, results, err, w.asked)
				}
			})
		}
	}
}

// TestTwinFailsBeforeNextRound: the last task of a round has two attempts, and one of them finds the output of a map
// lost. The map does not run again if the engine reads of that in the turn in which it reads the stages of the next
// round.
func TestTwinFailsBeforeNextRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrdered()
		var maps atomic.Int32
		w := &planner{sleeper: sleeper{stages: mapReduce(1, time.Second, 1, time.Second),
			later: mapReduce(1, time.Second, 0, 0)[:1]}}
		w.plan = func(context.Context) {
			if w.asked == 1 {
				close(o.cue)
			}
		}
		w.run = func(l *Launch) error {
			switch time.Sleep(time.Second); {
			case l.Stage == 0 && maps.Add(1) > 1:
				return Permanent(errors.New("the input of the first round is gone"))
			case l.Stage == 1 && l.Attempt.Number == 1:
				<-o.next
				return &LostOutput{Map: 0, Err: os.ErrNotExist}
			}
			return nil
		}
		policy := &twice{stage: 1}
		nodes := []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 1, sched.ReduceSlots: 2}}}
		results, err := Serve(t.Context(), Config{Core: sched.Config{Policy: policy}, Nodes: nodes, Settle: o.settle},
			[]Submission{{Spec: &sched.JobSpec{Open: true}, Work: w}})
		if err != nil || !policy.begun || len(results) != 1 || results[0].Outcome != sched.OK || w.asked != 3 ||
			maps.Load() != 1 {
			t.Errorf("results %+v, error %v, asked %d times, and the map started %d times; want OK, 3 and 1", results,
				err, w.asked, maps.Load())
		}
	})
}

// TestBeatenTwinEndsWell: the second attempt of a map ends well although the core has ended it, because the first one
// was faster, and after the output of the first one was lost. The map is done with its output; the core starts one more
// attempt, which finds that. Attempts would else start without end.
func TestBeatenTwinEndsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &sleeper{stages: mapReduce(1, time.Second, 1, time.Second)}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var output atomic.Bool
		var starts atomic.Int32
		lost := make(chan struct{})
		w.run = func(l *Launch) error {
			if starts.Add(1) > 10 {
				cancel()
			}
			switch time.Sleep(time.Second); {
			case l.Stage == 1 && l.Attempt.Number == 0:
				output.Store(false)
				close(lost)
				return &LostOutput{Map: 0, Err: os.ErrNotExist}
			case l.Stage == 1:
				return nil
			case l.Attempt.Number == 1:
				<-lost
				time.Sleep(time.Millisecond)
			}
			if output.Swap(true) {
				return ErrCommitted
			}
			return nil
		}
		policy := &twice{stage: 0}
		nodes := []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 2, sched.ReduceSlots: 1}}}
		results, err := Serve(ctx, Config{Core: sched.Config{Policy: policy}, Nodes: nodes, Settle: synctest.Wait},
			[]Submission{{Spec: &sched.JobSpec{}, Work: w}})
		if err != nil || !policy.begun || len(results) != 1 || results[0].Outcome != sched.OK || starts.Load() != 5 {
			t.Errorf("results %+v, error %v, %d attempts, want OK after 5", results, err, starts.Load())
		}
	})
}

// TestBeatenTwinWithoutOutput: the second attempt of a map finds that the first one was faster, and the engine hears
// this after the output of the first one was lost. There is no output, so the failure of the third attempt counts.
func TestBeatenTwinWithoutOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		o := newOrdered()
		w := &sleeper{stages: mapReduce(1, time.Second, 1, time.Second)}
		var starts atomic.Int32
		end := errors.New("each attempt ends so")
		w.run = func(l *Launch) error {
			if starts.Add(1) > 10 {
				cancel()
			}
			switch {
			case l.Stage == 1:
				close(o.cue)
				return &LostOutput{Map: 0, Err: os.ErrNotExist}
			case l.Attempt.Number == 1:
				<-o.next
				return ErrCommitted
			case l.Attempt.Number > 1:
				return Permanent(end)
			}
			time.Sleep(time.Second)
			return nil
		}
		policy := &twice{stage: 0}
		nodes := []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 2, sched.ReduceSlots: 1}}}
		results, err := Serve(ctx, Config{Core: sched.Config{Policy: policy}, Nodes: nodes, Settle: o.settle},
			[]Submission{{Spec: &sched.JobSpec{}, Work: w}})
		if err != nil || !policy.begun || len(results) != 1 || !errors.Is(results[0].Err, end) || starts.Load() != 4 {
			t.Errorf("results %+v, error %v, %d attempts; want it failed with %q after 4", results, err, starts.Load(),
				end)
		}
	})
}

// TestSpareMap: the output of a map is lost, so the map is to run again, and then the last reduce ends well, because
// its second attempt had read the output before. No reduce needs the map any more. It does not start if it waits, and
// ends if it runs. The job goes on without.
func TestSpareMap(t *testing.T) {
	for _, c := range []struct {
		waits bool // another job holds the only slot of maps when the map is to run again
		later bool // the job has a second round
		fails bool // the map that runs again fails when it is told to end
	}{
		{waits: false}, {waits: true}, {later: true}, {waits: true, later: true}, {fails: true},
		{later: true, fails: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &sleeper{stages: mapReduce(1, time.Second, 1, time.Second)}
			if c.later {
				w.later = mapReduce(1, time.Second, 0, 0)[:1]
			}
			var starts atomic.Int32
			w.run = func(l *Launch) error {
				switch {
				case l.Stage == 0 && starts.Add(1) > 1:
					select {
					case <-l.Attempt.ctx.Done():
						if c.fails {
							return Permanent(errors.New("the input is gone"))
						}
						return context.Cause(l.Attempt.ctx)
					case <-time.After(time.Hour):
						return errors.New("the map runs again")
					}
				case l.Stage == 1 && l.Attempt.Number == 0:
					time.Sleep(time.Second)
					return &LostOutput{Map: 0, Err: os.ErrNotExist}
				case l.Stage == 1:
					time.Sleep(2 * time.Second)
					return nil
				}
				time.Sleep(time.Second)
				return nil
			}
			jobs := []Submission{{Spec: &sched.JobSpec{Open: c.later}, Work: w}}
			ends := map[bool]sched.Time{false: 3 * time.Second, true: 4 * time.Second}[c.later]
			if c.waits {
				jobs = append(jobs, Submission{Spec: &sched.JobSpec{}, Work: &sleeper{stages: mapReduce(1, time.Minute,
					0, 0)[:1]}})
				if c.later {
					ends = time.Second + time.Minute + time.Second
				}
			}
			policy, ended := &twice{stage: 1}, endings{}
			results, err := Serve(t.Context(), Config{Core: sched.Config{Policy: policy, Recorder: ended},
				Settle: synctest.Wait, Nodes: []sched.NodeSpec{{Class: "c",
					Capacity: sched.Resources{sched.MapSlots: 1, sched.ReduceSlots: 2}}}}, jobs)
			if err != nil || len(results) != len(jobs) || results[0].Outcome != sched.OK || len(results[0].Failed) > 0 {
				t.Fatalf("%+v: results %+v, error %v; want that all is done, and no failure", c, results, err)
			}
			want := map[bool]int32{false: 2, true: 1}[c.waits]
			if !policy.begun || starts.Load() != want || ended[1] != ends {
				t.Errorf("%+v: the map started %d times, and the job ends at %v; want %d and %v", c, starts.Load(),
					ended[1], want, ends)
			}
		})
	}
}

// TestSpareStageIsNeededAgain: of three stages in a row the first is spare when the second is done. Then the third
// finds the output of the second lost. Both run again, and the job ends well.
func TestSpareStageIsNeededAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		w := &sleeper{stages: mapReduce(1, time.Second, 1, time.Second)}
		third := w.stages[1]
		third.After = []sched.Dep{{Stage: 1, Part: 1}}
		w.stages = append(w.stages, third)
		var starts [3]atomic.Int32
		w.run = func(l *Launch) error {
			n := starts[l.Stage].Add(1)
			takes, ends := time.Second, error(nil)
			switch {
			case l.Stage == 0 && n > 1:
				takes = 10 * time.Second
			case l.Stage == 1 && l.Attempt.Number > 0:
				takes = 2 * time.Second
			case l.Stage == 1, l.Stage == 2 && n == 1:
				ends = &LostOutput{Err: os.ErrNotExist}
			}
			select {
			case <-time.After(takes):
				return ends
			case <-l.Attempt.ctx.Done():
				return context.Cause(l.Attempt.ctx)
			}
		}
		policy := &twice{stage: 1}
		nodes := []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 1, sched.ReduceSlots: 2}}}
		results, err := Serve(ctx, Config{Core: sched.Config{Policy: policy}, Nodes: nodes, Settle: synctest.Wait},
			[]Submission{{Spec: &sched.JobSpec{}, Work: w}})
		if err != nil || len(results) != 1 || results[0].Outcome != sched.OK || len(results[0].Failed) > 0 {
			t.Errorf("results %+v, error %v; want that all is done, and no failure", results, err)
		}
		got := [3]int32{starts[0].Load(), starts[1].Load(), starts[2].Load()}
		if !policy.begun || got != [3]int32{3, 3, 2} {
			t.Errorf("the stages have %d attempts; want 3, 3 and 2", got)
		}
	})
}

// TestSpareMapUnheard: the output of a map is found lost before the engine hears that the map has ended. The round is
// over with its last reduce all the same.
func TestSpareMapUnheard(t *testing.T) {
	j := &jobLife{}
	for _, st := range mapReduce(1, time.Second, 1, time.Second) {
		j.addStage(&st)
	}
	if j.undo(0, 0) {
		t.Error("a map that is not done is undone")
	}
	if !j.taskDone(&Launch{Stage: 1}) || !j.hasSpare() {
		t.Errorf("the last reduce has ended: %d maps are left, spare %v; want none, spare", j.stages[0].left,
			j.hasSpare())
	}
}

// twiceAgain does as twice for an attempt of a map that runs again while a reduce runs.
type twiceAgain struct{ twice }

func (f *twiceAgain) Decide(p *sched.Plan) {
	if j := p.Job(1); j != nil && j.Stages[1].Running > 0 {
		f.twice.Decide(p)
	} else {
		f.inOrder.Decide(p)
	}
}

// TestMisledTwin: of a map that runs again, one attempt makes the output, and the other finds that. The engine hears
// first that the output was lost, and then of both ends. There is no output, so the map runs once more. It would count
// as done, and reduces would start without end.
func TestMisledTwin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var output atomic.Bool
		var maps, reduces atomic.Int32
		lose := func(after time.Duration) error {
			time.Sleep(after)
			if !output.Swap(false) {
				t.Error("there is no output to lose")
			}
			return &LostOutput{Map: 0, Err: os.ErrNotExist}
		}
		w := &sleeper{stages: mapReduce(1, time.Second, 2, time.Second)}
		w.run = func(l *Launch) error {
			switch {
			case l.Stage == 0:
				maps.Add(1)
				time.Sleep(time.Second) // attempts 1 and 2 run from 2s on
				made := !output.Swap(true)
				if n := l.Attempt.Number; n == 1 || n == 2 {
					time.Sleep(2 * time.Second) // past 4s
				}
				if !made {
					return ErrCommitted
				}
				return nil
			case l.Attempt.Number == 0: // the reduces run from 1s on
				return lose([...]time.Duration{time.Second, 3 * time.Second}[l.Task])
			case reduces.Add(1) > 10:
				cancel()
			}
			time.Sleep(time.Second)
			if !output.Load() {
				return errNotYet
			}
			return nil
		}
		policy := &twiceAgain{twice{stage: 0}}
		nodes := []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 2, sched.ReduceSlots: 2}}}
		results, err := Serve(ctx, Config{Core: sched.Config{Policy: policy}, Nodes: nodes, Settle: synctest.Wait},
			[]Submission{{Spec: &sched.JobSpec{}, Work: w}})
		if err != nil || !policy.begun || len(results) != 1 || results[0].Outcome != sched.OK || maps.Load() != 4 ||
			reduces.Load() != 2 {
			t.Errorf("results %+v, error %v, the map started %d times, %d more reduces; want OK, 4 and 2", results, err,
				maps.Load(), reduces.Load())
		}
	})
}
