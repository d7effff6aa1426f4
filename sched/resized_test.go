package sched

import "testing"

// An attempt whose application asked for another amount holds it from then on, whatever its stage asks for: what
// becomes free is given in the same Step, and what another attempt gives up at that instant can be taken over.
func TestResizeAsked(t *testing.T) {
	c := New(Config{Policy: &inOrder{}})
	ask := func(stage, pending int32) Event {
		return Event{Kind: AsksChanged, Job: 1, Body: &Asks{Stage: stage, Pending: pending}}
	}
	launched := func(actions []Action, n int) []Action {
		t.Helper()
		if len(actions) != n {
			t.Fatalf("actions %v, want %d launches", actions, n)
		}
		return actions
	}
	c.Step(0, []Event{
		{Kind: NodeJoined, Node: 1, Body: &NodeSpec{Capacity: slots(4, 0)}},
		{Kind: JobSubmitted, Job: 1, Body: &JobSpec{Open: true, Stages: []StageSpec{
			{Kind: Other, PerTask: slots(3, 0), Tasks: -1}, {Kind: Other, PerTask: slots(1, 0), Tasks: -1},
		}}},
	})
	large := launched(c.Step(sec, []Event{ask(0, 1)}), 1)[0].Attempt
	small := launched(c.Step(2*sec, []Event{ask(1, 3)}), 1)[0].Attempt // two wait
	sized := func(at Time, id AttemptID, n int64, more ...Event) []Action {
		amount := slots(n, 0)
		return c.Step(at, append(more, Event{Kind: ResizeAsked, Attempt: id, Body: &amount}))
	}
	launched(sized(3*sec, large, 2), 1) // what it gives up is given at once
	if a, j := c.Attempt(large), c.Job(1); c.Amount(a.Holds) != slots(2, 0) || j.Used != slots(4, 0) ||
		c.Node(1).Used != slots(4, 0) || c.Queues[0].Used != slots(4, 0) {
		t.Errorf("it holds %v, the job %v, the node %v", c.Amount(a.Holds), j.Used, c.Node(1).Used)
	}
	if got := c.Service(c.Job(1), 3*sec); got[MapSlots] != 3*2+1 {
		t.Errorf("the service is %v, want 7 slot-seconds until then", got)
	}
	// Another ends at the instant at which it has more: what waits gets nothing of that room.
	end := Event{Kind: AttemptDone, Attempt: small}
	launched(sized(4*sec, large, 3, end), 0)
	if c.Node(1).Used != slots(4, 0) || c.Job(1).Stages[1].Pending != 1 {
		t.Errorf("the node has %v in use, %d wait", c.Node(1).Used, c.Job(1).Stages[1].Pending)
	}
	launched(c.Step(5*sec, []Event{{Kind: AttemptDone, Attempt: large}}), 1)
	launched(sized(6*sec, large, 9), 0) // it is gone
	if c.Node(1).Used != slots(2, 0) {
		t.Errorf("the node has %v in use", c.Node(1).Used)
	}
}

// The application of an attempt that was asked to end or to suspend, or is suspended, has another amount: what it gives
// back, and what it needs to run again, is that amount.
func TestResizeAskedByLeaving(t *testing.T) {
	for _, end := range []string{"kill", "suspend"} {
		t.Run(end, func(t *testing.T) {
			r := newRig(t, Config{Can: CanKill | CanSuspend})
			r.node(Resources{Memory: 10, VCores: 4})
			r.submit(1, &JobSpec{Stages: []StageSpec{{Kind: Map, PerTask: Resources{Memory: 3, VCores: 2}, Tasks: 1,
				MaxAttempts: 4}}})
			r.step()
			c := r.core
			a, n := find(t, &c.View, c.Job(1).Stages[0], 1), c.Node(1)
			step := func(decide policyFunc, events ...Event) {
				t.Helper()
				c.policy = decide
				c.Step(c.Now+sec, events)
				checkSums(t, c)
			}
			nothing := func(*Plan) {}
			asks := func(memory, cores int64) Event {
				return Event{Kind: ResizeAsked, Attempt: a.ID, Body: &Resources{Memory: memory, VCores: cores}}
			}
			step(func(p *Plan) {
				if end == "kill" {
					p.Kill(a, 0)
				} else {
					p.Suspend(a)
				}
			})
			step(nothing, asks(5, 1))
			if n.Used != (Resources{Memory: 5, VCores: 1}) || n.Leaving[VCores] != 1 {
				t.Errorf("asked to %s: used %v, leaving %v", end, n.Used, n.Leaving)
			}
			if end == "kill" {
				step(nothing, Event{Kind: AttemptDone, Outcome: Killed, Attempt: a.ID})
				if n.Leaving != (Resources{}) || c.Queues[0].Leaving != (Resources{}) {
					t.Errorf("ended: leaving %v, of the queue %v", n.Leaving, c.Queues[0].Leaving)
				}
				return
			}
			step(nothing, Event{Kind: AttemptSuspended, Attempt: a.ID})
			step(nothing, asks(7, 3))
			if n.Used != (Resources{Memory: 7}) {
				t.Errorf("suspended: used %v", n.Used)
			}
			step(func(p *Plan) { p.Resume(a) })
			if a.State != Running || n.Used != (Resources{Memory: 7, VCores: 3}) {
				t.Errorf("resumed: %v, used %v", a.State, n.Used)
			}
		})
	}
}

// An attempt that was resized to less and is suspended before it has less: what it was asked to give up is free when
// the engine says so, whether it says that before it says that the attempt is suspended, after that, or after the
// attempt runs again. The attempt runs again with what it was resized to.
func TestSuspendWhileResizing(t *testing.T) {
	const says, suspended, resume = "says", "suspended", "resume"
	holds := func(memory, cores int64) Resources { return Resources{Memory: memory, VCores: cores} }
	for _, c := range []struct {
		name  string
		order []string
		used  []Resources // of the node, after each
	}{
		{"before", []string{says, suspended, resume}, []Resources{holds(1, 1), holds(1, 0), holds(1, 1)}},
		{"suspended", []string{suspended, says, resume}, []Resources{holds(4, 0), holds(1, 0), holds(1, 1)}},
		{"running", []string{suspended, resume, says}, []Resources{holds(4, 0), holds(4, 1), holds(1, 1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Config{Can: CanSuspend | CanResize})
			r.node(holds(5, 4))
			stage := StageSpec{Kind: Map, PerTask: holds(4, 4), Tasks: 1, MaxAttempts: 4}
			r.submit(1, &JobSpec{Stages: []StageSpec{stage}})
			r.step()
			core, n := r.core, r.core.Node(1)
			a := find(t, &core.View, core.Job(1).Stages[0], 1)
			step := func(decide policyFunc, events ...Event) {
				t.Helper()
				core.policy = decide
				core.Step(core.Now+sec, events)
				if checkSums(t, core); core.Refused() > 0 {
					t.Fatal(core.FirstRefusal())
				}
			}
			nothing := func(*Plan) {}
			step(func(p *Plan) { p.Resize(a, p.Shape(holds(1, 1))); p.Suspend(a) })
			if n.Used != holds(4, 4) || n.Leaving != holds(0, 4) {
				t.Errorf("asked: used %v, leaving %v", n.Used, n.Leaving)
			}
			for i, what := range c.order {
				switch what {
				case says:
					step(nothing, Event{Kind: AttemptResized, Attempt: a.ID})
				case suspended:
					step(nothing, Event{Kind: AttemptSuspended, Attempt: a.ID})
				case resume:
					step(func(p *Plan) { p.Resume(a) })
				}
				if n.Used != c.used[i] || core.Queues[0].Demand[Memory] != c.used[i][Memory] {
					t.Errorf("%s: used %v, demand %v, want %v", what, n.Used, core.Queues[0].Demand, c.used[i])
				}
			}
			if a.State != Running || a.Resizing() || n.Leaving != (Resources{}) {
				t.Errorf("in the end: %v, resizing %v, leaving %v", a.State, a.Resizing(), n.Leaving)
			}
		})
	}
}
