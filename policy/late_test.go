package policy

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/sched"
)

// A pausing policy starts all tasks of the first stage of job 1, and suspends its first attempt from 50 s to 150 s. The
// engine says that it is suspended at once.
type pausing struct {
	Inner sched.Policy // decides after that
	first sched.AttemptID
}

func (x *pausing) Decide(p *sched.Plan) {
	j := p.Job(1)
	switch {
	case j == nil:
	case p.Now == 0:
		st := j.Stages[0]
		p.LaunchMany(st, st.Pending)
		for a := range p.Attempts(st) {
			x.first = a.ID // the last one is the oldest
		}
	case p.Now == 50*time.Second && len(p.Events) == 0:
		p.Suspend(p.Attempt(x.first))
	case p.Now == 150*time.Second:
		p.Resume(p.Attempt(x.first))
	}
	if x.Inner != nil {
		x.Inner.Decide(p)
	}
}

// paused runs a job of four tasks of 100 s under a policy. One of the tasks is suspended by x. paused calls look once a
// second while that task runs again, and 1 s before that. The task makes 1 % more progress than one of 100 s.
func paused(policy sched.Policy, x *pausing, look func(*sched.Core, []sched.Action)) {
	e, _, _ := model.All.Parse("mean", nil)
	can := sched.CanSuspend | sched.CanKill | sched.CanNameTasks
	c := sched.New(sched.Config{Policy: policy, Estimator: e, Can: can})
	c.Step(0, []sched.Event{slotNode(1, 4), slotNode(2, 4), jobOf(1, "", 4, sched.Resources{sched.MapSlots: 1})})
	c.Step(50*time.Second, nil)
	c.Step(50*time.Second, []sched.Event{{Kind: sched.AttemptSuspended, Attempt: x.first}})
	var events []sched.Event
	for a := range c.Attempts(c.Job(1).Stages[0]) {
		if a.ID != x.first {
			events = append(events, sched.Event{Kind: sched.AttemptDone, Attempt: a.ID})
		}
	}
	c.Step(100*time.Second, events)
	for at := sched.Time(149); at < 200; at++ {
		events := []sched.Event{{Kind: sched.AttemptProgress, Attempt: x.first,
			Progress: float32(max(0, at-150)+51) / 100}}
		look(c, c.Step(at*time.Second, events))
	}
}

// A task that was suspended is not slow for that. Its stage's other tasks took 100 s, and it has gone as fast as they
// whenever it ran.
func TestLateDoesNotCountPauses(t *testing.T) {
	x := &pausing{}
	r := Registry{"late": All["late"], "x": {Card{}, func(Args) sched.Policy { return x }}}
	p, _, err := r.Parse("late{x}")
	if err != nil {
		t.Fatal(err)
	}
	paused(p, x, func(c *sched.Core, acts []sched.Action) {
		if n := len(launchesOf(acts)); n > 0 {
			t.Fatalf("at %v the task gets a second attempt, after it has run for %v of 100 s", c.Now,
				c.Ran(c.Attempt(x.first), c.Now))
		}
	})
}

// mrorder subtracts from what is left of a job what its attempts have run, without pauses: at 199 s, of the one task
// that is left, 1 s.
func TestOrderBatchDoesNotCountPauses(t *testing.T) {
	x := &pausing{}
	paused(x, x, func(c *sched.Core, _ []sched.Action) {
		if c.Now != 199*time.Second {
			return
		}
		b := newOrderBatch(&c.View, []*sched.Job{c.Job(1)}, 0)
		if got := b.jobs[0].MapTime; got != 1 {
			t.Errorf("%g s are left of a task of 100 s that has run for 99 s", got)
		}
	})
}

// The times of tasks of small jobs, which fspy learns, are without pauses: three tasks have run for 100 s, and the last
// one is done when it has, too.
func TestFspyDoesNotLearnPauses(t *testing.T) {
	p, _, err := Parse("fspy")
	if err != nil {
		t.Fatal(err)
	}
	x := &pausing{Inner: p}
	paused(x, x, func(c *sched.Core, _ []sched.Action) {
		if c.Now != 199*time.Second {
			return
		}
		c.Step(200*time.Second, []sched.Event{{Kind: sched.AttemptDone, Attempt: x.first}})
		small := p.(*fspy).Virtual.Small[smallKind(c.Job(1).Stages[0])]
		if small.N != 4 || small.Mean != 100e9 {
			t.Errorf("a mean of %v of %d tasks, want 100 s of 4", sched.Time(small.Mean), small.N)
		}
	})
}
