package mr

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// defect is what the methods of a panicker panic with.
const defect = "a defect of the job"

// A panicker is work with one method that panics, each time that it is called.
type panicker struct {
	sleeper
	method string
}

// call panics if method is the one that does.
func (p *panicker) call(method string) {
	if p.method == method {
		panic(defect)
	}
}

func (p *panicker) Run(l *Launch) error {
	p.call("Run")
	t := &Task{attempt: l.Attempt}
	t.Suspends(p) // from now on the engine suspends and resumes p instead of the attempt
	defer t.Suspends(nil)
	return p.sleeper.Run(l)
}

func (p *panicker) Close(ok bool) error {
	err := p.sleeper.Close(ok)
	p.call("Close")
	return err
}

func (p *panicker) Probe(func(int) int) (Work, []sched.StageSpec, error) {
	p.call("Probe")
	return nil, nil, nil
}

func (p *panicker) LoseOutput(int, int) { p.call("LoseOutput") }
func (p *panicker) Suspend()            { p.call("Suspend") }
func (p *panicker) Resume()             { p.call("Resume") }

// pausing is a policy that suspends an attempt of job 1 after a second, and resumes one from the next second on. It
// asks for a probe of job 1.
type pausing struct {
	inOrder
	probed, suspended, resumed bool
}

func (f *pausing) Decide(p *sched.Plan) {
	f.inOrder.Decide(p)
	j := p.Job(1)
	if j == nil {
		return
	}
	if !f.probed {
		f.probed = true
		p.Probe(j)
	}
	for a := range p.Attempts(j.Stages[0]) {
		switch {
		case p.Now >= time.Second && !f.suspended:
			f.suspended = p.Suspend(a)
		case p.Now >= 2*time.Second && !f.resumed && a.State == sched.Suspended:
			f.resumed = p.Resume(a)
		}
	}
	p.Wake(p.Now.Truncate(time.Second) + time.Second)
}

// losing returns a chaos option that loses the output of the first attempt at the only task of job 1.
func losing() Chaos {
	c := Chaos{Rate: 0.5}
	for !c.fate(sched.StageID{Job: 1}, 1, 0).loseOutput {
		c.Seed++
	}
	return c
}

// TestMethodPanics: a panic of a method of a job's Work, or of a program that works for an attempt, is an error of that
// job. The other job of the run goes on.
func TestMethodPanics(t *testing.T) {
	failed := func(r Result) error { return errors.Join(r.Failed...) }
	for method, where := range map[string]func(Result) error{
		"Run":        func(r Result) error { return r.Err },
		"Close":      func(r Result) error { return r.NotClosed },
		"Probe":      func(r Result) error { return r.NotProbed },
		"LoseOutput": failed,
		"Suspend":    failed,
		"Resume":     failed,
	} {
		synctest.Test(t, func(t *testing.T) {
			bad := &panicker{sleeper{stages: mapReduce(1, 5*time.Second, 0, 0)[:1]}, method}
			good := &sleeper{stages: mapReduce(1, 5*time.Second, 0, 0)[:1]}
			config := Config{Core: sched.Config{Policy: &pausing{}}, Settle: synctest.Wait, Chaos: losing(),
				Nodes: []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 2}}}}
			results, err := Serve(t.Context(), config, []Submission{{Spec: &sched.JobSpec{}, Work: bad},
				{Spec: &sched.JobSpec{}, Work: good}})
			if err != nil || len(results) != 2 || results[1].Outcome != sched.OK {
				t.Fatalf("%s panics: results %+v, error %v; want that the other job is done", method, results, err)
			}
			var panicked *PanicError
			if !errors.As(where(results[0]), &panicked) || panicked.Value != defect || bad.closed.Load() != 1 {
				t.Errorf("%s panics: the job ends %+v, closed %d times", method, results[0], bad.closed.Load())
			}
		})
	}
}

// unfit is work whose probe has one stage.
type unfit struct {
	sleeper
	probe sleeper
}

func (s *unfit) Probe(func(int) int) (Work, []sched.StageSpec, error) {
	return &s.probe, s.probe.stages, nil
}

// TestProbeThatCannotRun: a job does without a probe whose task no node can hold. The probe is closed.
func TestProbeThatCannotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &unfit{sleeper: sleeper{stages: mapReduce(1, time.Second, 0, 0)[:1]},
			probe: sleeper{stages: mapReduce(1, time.Second, 0, 0)[:1]}}
		w.probe.stages[0].PerTask[sched.MapSlots] = 3
		config := Config{Core: sched.Config{Policy: &pausing{}}, Settle: synctest.Wait,
			Nodes: []sched.NodeSpec{{Class: "c", Capacity: sched.Resources{sched.MapSlots: 2}}}}
		results, err := Serve(t.Context(), config, []Submission{{Spec: &sched.JobSpec{}, Work: w}})
		if err != nil || len(results) != 1 || results[0].Outcome != sched.OK {
			t.Fatalf("results %+v, error %v; want that the job is done", results, err)
		}
		const want = "a map task asks for 3 map-slots, more than any node has"
		if why := results[0].NotProbed; why == nil || why.Error() != want || w.probe.closed.Load() != 1 {
			t.Errorf("not probed: %v, closed %d times; want %q, once", why, w.probe.closed.Load(), want)
		}
	})
}

// TestInterruptedClosePanics: a job that is closed while its first stages are still being planned may panic.
func TestInterruptedClosePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		bad := &stuckPanicker{panicker{method: "Close"}}
		results, err := Serve(ctx, Config{Core: sched.Config{Policy: &inOrder{}}, Nodes: oneOfEach},
			[]Submission{{Spec: &sched.JobSpec{}, Work: bad, Late: true}})
		time.Sleep(time.Minute)
		if len(results) != 0 || !errors.Is(err, context.DeadlineExceeded) || bad.closed.Load() != 1 {
			t.Errorf("results %+v, error %v, closed %d times; want no result, and closed once", results, err,
				bad.closed.Load())
		}
	})
}

// A stuckPanicker plans for longer than an interrupted Serve waits.
type stuckPanicker struct{ panicker }

func (s *stuckPanicker) Stages(context.Context) ([]sched.StageSpec, error) {
	time.Sleep(time.Minute)
	return nil, errClosed
}

// An unclosed is work that cannot be closed.
type unclosed struct {
	sleeper
	why error
}

func (u *unclosed) Close(ok bool) error { return errors.Join(u.sleeper.Close(ok), u.why) }

// TestCloseFails: a job that cannot be closed ends as it would else, and its result says why it was not closed.
func TestCloseFails(t *testing.T) {
	why, fatal := errors.New("a file cannot be removed"), Permanent(errors.New("each attempt ends so"))
	for want, run := range map[sched.Outcome]func(*Launch) error{
		sched.OK:     nil,
		sched.Failed: func(*Launch) error { return fatal },
		sched.Killed: func(l *Launch) error { <-l.Attempt.ctx.Done(); return l.Attempt.ctx.Err() },
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			w := &unclosed{sleeper{stages: mapReduce(1, time.Second, 0, 0)[:1], run: run}, why}
			results, err := Serve(ctx, Config{Core: sched.Config{Policy: &inOrder{}}, Nodes: oneOfEach},
				[]Submission{{Spec: &sched.JobSpec{}, Work: w}})
			if len(results) != 1 || (err != nil) != (want == sched.Killed) {
				t.Fatalf("results %+v, error %v", results, err)
			}
			r := results[0]
			if r.Outcome != want || !errors.Is(r.NotClosed, why) || (want == sched.Failed) != (r.Err == fatal) {
				t.Errorf("%+v; want it %v, and not closed: %v", r, want, why)
			}
		})
	}
}

// A program that panics when the task puts another in its place while it is stopped ends its attempt, on whatever
// goroutine the task does so.
func TestReplacedProgramPanics(t *testing.T) {
	a := NewAttempt(t.Context(), 0, 0)
	task := &Task{attempt: a}
	a.Suspend()
	task.Suspends(&panicker{method: "Resume"})
	task.Suspends(nil)
	var panicked *PanicError
	if err := context.Cause(a.ctx); !errors.As(err, &panicked) || panicked.Value != defect {
		t.Errorf("the attempt ends with %v, want the panic", err)
	}
}
