package mr

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// hooked is work that calls a function before or after what it does. A function that is nil is not called.
type hooked struct {
	Work
	ended     func(l *Launch) // after an attempt has ended well
	published func()          // after Stages had no further stages
}

func (h *hooked) Run(l *Launch) error {
	err := h.Work.Run(l)
	if err == nil && h.ended != nil {
		h.ended(l)
	}
	return err
}

func (h *hooked) Stages(ctx context.Context) ([]sched.StageSpec, error) {
	stages, err := h.Work.Stages(ctx)
	if err == nil && len(stages) == 0 && h.published != nil {
		h.published()
	}
	return stages, err
}

// TestInterruptedOutput: a word count that is interrupted at its end either is killed, and leaves nothing, or is done,
// and its output is there.
func TestInterruptedOutput(t *testing.T) {
	for _, c := range []struct {
		when string
		done bool
		hook func(h *hooked, job *Job, cancel func())
	}{
		{"as its last attempt ends", false, func(h *hooked, _ *Job, cancel func()) {
			h.ended = func(l *Launch) {
				if l.Stage == 1 {
					cancel()
				}
			}
		}},
		{"just before its output is published", false, func(_ *hooked, job *Job, cancel func()) {
			job.Next = func(*Round) (*Job, error) {
				cancel()
				return nil, nil
			}
		}},
		{"just after its output is published", true, func(h *hooked, _ *Job, cancel func()) { h.published = cancel }},
	} {
		for _, open := range []bool{false, true} {
			dir, in := t.TempDir(), write(t, t.TempDir(), "in", "a b\n")
			out := filepath.Join(dir, "out")
			ctx, cancel := context.WithCancel(t.Context())
			job, work := wordCount(), &hooked{}
			c.hook(work, job, cancel)
			w, err := Open(Order{Job: job, Input: []string{in}, Output: out}, site(t, 1))
			if err != nil {
				t.Fatal(err)
			}
			work.Work = w
			ended := endings{}
			config := Config{Core: sched.Config{Policy: &inOrder{}, Recorder: ended}, Nodes: oneOfEach}
			results, err := Serve(ctx, config, []Submission{{Spec: &sched.JobSpec{Open: open}, Work: work}})
			cancel()
			if len(results) != 1 || results[0].Err != nil {
				t.Fatalf("interrupted %s, open %v: %+v", c.when, open, results)
			}
			left, outcome := names(t, dir), results[0].Outcome
			if !c.done {
				if outcome != sched.Killed || !errors.Is(err, context.Canceled) || len(left) > 0 {
					t.Errorf("interrupted %s, open %v: %v, error %v, and %v is left; want it killed, and nothing",
						c.when, open, outcome, err, left)
				}
				continue
			}
			if outcome != sched.OK || err != nil || len(left) != 1 || len(ended) != 1 {
				t.Errorf("interrupted %s, open %v: %v, error %v, %v is left, and the core heard of %d ends; want OK, "+
					"its output, and one end", c.when, open, outcome, err, left, len(ended))
				continue
			}
			if got := strings.Join(readParts(t, out), ""); got != "a\t1\nb\t1\n" {
				t.Errorf("interrupted %s, open %v: the output is %q", c.when, open, got)
			}
		}
	}
}

// oneOfEach is a node that runs one map and one reduce.
var oneOfEach = []sched.NodeSpec{{Class: "c",
	Capacity: sched.Resources{sched.VCores: 1, sched.MapSlots: 1, sched.ReduceSlots: 1}}}

// TestInterruptedIsNotAsked: when ctx is done no job is asked for its next stages, which would publish its output.
func TestInterruptedIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := &sleeper{stages: mapReduce(1, time.Second, 0, 0)[:1]}
		w.run = func(*Launch) error {
			cancel()
			time.Sleep(time.Second) // so that the engine waits for it already
			return nil
		}
		results, err := Serve(ctx, Config{Core: sched.Config{Policy: &inOrder{}}, Nodes: oneOfEach},
			[]Submission{{Spec: &sched.JobSpec{}, Work: w}})
		synctest.Wait()
		if w.asked != 1 || len(results) != 1 || results[0].Outcome != sched.Killed ||
			!errors.Is(err, context.Canceled) {
			t.Errorf("asked %d times, want once; results %+v, error %v", w.asked, results, err)
		}
	})
}

// TestInterruptedWhilePublishing: a job whose output is being published when ctx is done is done, however long that
// takes, and another one that runs is killed.
func TestInterruptedWhilePublishing(t *testing.T) {
	for _, alone := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ends := &sleeper{stages: mapReduce(1, time.Second, 0, 0)[:1]}
			runs := &sleeper{stages: mapReduce(0, 0, 1, time.Hour)}
			jobs := []Submission{{Spec: &sched.JobSpec{}, Work: &hooked{Work: ends, published: func() {
				cancel()
				time.Sleep(2 * patience)
			}}}}
			if !alone {
				jobs = append(jobs, Submission{Spec: &sched.JobSpec{}, Work: runs})
			}
			results, err := Serve(ctx, Config{Core: sched.Config{Policy: &inOrder{}}, Nodes: oneOfEach}, jobs)
			if len(results) != len(jobs) || results[0].Outcome != sched.OK || results[0].Err != nil {
				t.Fatalf("results %+v, want that the first job is done", results)
			}
			if n := ends.closed.Load(); n != 1 {
				t.Errorf("the job that is done was closed %d times", n)
			}
			if alone && err != nil {
				t.Errorf("error %v, but no job was interrupted", err)
			}
			if !alone && (results[1].Outcome != sched.Killed || !errors.Is(err, context.Canceled)) {
				t.Errorf("the job that ran ends %v, error %v", results[1].Outcome, err)
			}
		})
	}
}

// twice is a policy that starts a second attempt of the first attempt that it sees of a stage of job 1.
type twice struct {
	inOrder
	stage int
	begun bool
}

func (f *twice) Decide(p *sched.Plan) {
	f.inOrder.Decide(p)
	if j := p.Job(1); j != nil && !f.begun {
		for a := range p.Attempts(j.Stages[f.stage]) {
			f.begun = p.Speculate(a, p.Node(1), 0)
			break
		}
	}
}

// TestTwinFailsWhilePublishing: a job whose output is being published is done, whatever its other attempts end with.
func TestTwinFailsWhilePublishing(t *testing.T) {
	for _, end := range []error{
		errors.New("the only failure that the task may have"),
		Permanent(errors.New("each attempt ends so")),
		&LostOutput{Map: 0, Err: os.ErrNotExist},
	} {
		synctest.Test(t, func(t *testing.T) {
			publishing := make(chan struct{})
			w := &sleeper{stages: mapReduce(1, time.Second, 1, time.Second)}
			w.stages[1].MaxAttempts = 1
			w.run = func(l *Launch) error {
				if l.Attempt.Number == 0 {
					time.Sleep(time.Second)
					return nil
				}
				<-publishing
				return end
			}
			policy := &twice{stage: 1}
			nodes := []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 1, sched.ReduceSlots: 2}}}
			config := Config{Core: sched.Config{Policy: policy}, Nodes: nodes, Settle: synctest.Wait}
			results, err := Serve(t.Context(), config,
				[]Submission{{Spec: &sched.JobSpec{}, Work: &hooked{Work: w, published: func() {
					close(publishing)
					time.Sleep(time.Second)
				}}}})
			if err != nil || !policy.begun || len(results) != 1 || results[0].Outcome != sched.OK || w.asked != 2 {
				t.Errorf("the other attempt ends with %q: results %+v, error %v, asked %d times, want OK", end, results,
					err, w.asked)
			}
		})
	}
}

// A gated is work that fails when its gate opens: in the given call of Stages, or in an attempt.
type gated struct {
	sleeper
	fails   int // which call of Stages, from 1; 0: an attempt
	end     error
	gate    chan struct{}
	waiting atomic.Bool
}

// pass waits until the gate opens.
func (g *gated) pass() error {
	g.waiting.Store(true)
	<-g.gate
	return g.end
}

func (g *gated) Stages(ctx context.Context) ([]sched.StageSpec, error) {
	stages, err := g.sleeper.Stages(ctx)
	if g.asked == g.fails {
		return nil, g.pass()
	}
	return stages, err
}

func (g *gated) Run(l *Launch) error {
	if g.fails == 0 {
		return g.pass()
	}
	return g.sleeper.Run(l)
}

// TestFailedBeforeInterruption: a job that failed before ctx was done has its error, although the engine hears of the
// failure afterwards. Each way to fail leaves it no other attempt.
func TestFailedBeforeInterruption(t *testing.T) {
	for name, c := range map[string]struct {
		fails int
		end   error
		most  int32 // MaxAttempts
	}{
		"plan":         {1, errors.New("there is no input"), 4},
		"commit":       {2, errors.New("the disk is full"), 4},
		"permanent":    {0, Permanent(errors.New("each attempt ends so")), 4},
		"last attempt": {0, errors.New("the only failure that the task may have"), 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w := &gated{sleeper: sleeper{stages: mapReduce(1, time.Second, 0, 0)[:1]}, fails: c.fails, end: c.end,
				gate: make(chan struct{})}
			w.stages[0].MaxAttempts = c.most
			watch := func(*sched.Core) { // the engine reads no mail meanwhile
				if synctest.Wait(); w.waiting.Load() && ctx.Err() == nil {
					close(w.gate)
					synctest.Wait()
					cancel()
				}
			}
			results, err := Serve(ctx, Config{Core: sched.Config{Policy: &inOrder{}}, Nodes: oneOfEach, Watch: watch},
				[]Submission{{Spec: &sched.JobSpec{}, Work: w, Late: true}})
			if !errors.Is(err, context.Canceled) || len(results) != 1 || results[0].Outcome != sched.Failed ||
				results[0].Err != c.end || w.closed.Load() != 1 {
				t.Errorf("%s: results %+v, error %v, closed %d times; want it failed with %q", name, results, err,
					w.closed.Load(), c.end)
			}
		})
	}
}

// causes is an error that cannot be compared.
type causes []error

func (c causes) Error() string { return "stopped for many reasons" }

// TestInterruptedByCauses: a job is killed, and has not failed, if the cause is an error that cannot be compared.
func TestInterruptedByCauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(causes{os.ErrClosed, os.ErrInvalid}) })
		w := &sleeper{}
		w.stages = mapReduce(1, time.Minute, 0, 0)[:1]
		w.stages[0].MaxAttempts = 1
		w.run = func(l *Launch) error {
			<-l.Attempt.ctx.Done()
			return context.Cause(l.Attempt.ctx)
		}
		results, err := Serve(ctx, Config{Core: sched.Config{Policy: &inOrder{}}, Nodes: oneOfEach},
			[]Submission{{Spec: &sched.JobSpec{}, Work: w}})
		if len(results) != 1 || results[0].Outcome != sched.Killed || len(results[0].Failed) > 0 ||
			!errors.As(err, &causes{}) {
			t.Errorf("results %+v, error %v; want it killed, and the cause", results, err)
		}
	})
}
