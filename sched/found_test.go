package sched

import (
	"slices"
	"testing"
)

// Attempts that run already are booked as if they had been launched, room or not; their time counts from when they
// began. One that cannot be is refused, and a task that is found is not launched again.
func TestAttemptFound(t *testing.T) {
	c := New(Config{Policy: &inOrder{}})
	spec := &JobSpec{Open: true, Stages: []StageSpec{
		{Kind: Master, PerTask: slots(1, 0), Tasks: 1, Asked: true, MaxAttempts: 2},
		{Kind: Other, PerTask: slots(1, 0), Tasks: -1},
	}}
	c.Step(0, []Event{
		{Kind: NodeJoined, Node: 1, Body: &NodeSpec{Capacity: slots(1, 0)}},
		{Kind: JobSubmitted, Job: 1, Body: spec},
	})
	found := func(job JobID, stage int32) Event {
		return Event{Kind: AttemptFound, Job: job, Node: 1, Body: &Found{Stage: stage, Ran: 3 * sec}}
	}
	actions := c.Step(sec, []Event{found(1, 0), found(1, 1), found(1, 1), found(1, 0), found(2, 0), found(1, 7)})
	var ids []AttemptID
	for _, e := range c.Events {
		ids = append(ids, e.Attempt)
	}
	if len(actions) != 0 || len(ids) != 6 || slices.Contains(ids[:3], 0) || slices.Max(ids[3:]) != 0 {
		t.Fatalf("found %v with the actions %v: want three attempts and no action", ids, actions)
	}
	j := c.Job(1)
	if j.Used != slots(3, 0) || c.Node(1).Used != slots(3, 0) || c.Queues[0].Used != slots(3, 0) ||
		c.Queues[0].Masters != slots(1, 0) {
		t.Errorf("the job holds %v, the node %v: want three slots, one of a master", j.Used, c.Node(1).Used)
	}
	if ran := c.Ran(c.Attempt(ids[1]), 2*sec); ran != 4*sec || j.Stages[1].Elapsed(2*sec) != 8*sec {
		t.Errorf("ran %v, of the stage %v; want 4 s and 8 s", ran, j.Stages[1].Elapsed(2*sec))
	}
	// The master fails: its task waits, as that of a launched one does.
	c.Step(2*sec, []Event{
		{Kind: AttemptDone, Attempt: ids[0], Outcome: Failed},
		{Kind: AttemptDone, Attempt: ids[1]}, {Kind: AttemptDone, Attempt: ids[2], Outcome: Killed},
	})
	if m := j.Stages[0]; m.Running != 1 || m.Pending != 0 || j.Used != slots(1, 0) {
		t.Errorf("%d masters run and %d wait, the job holds %v: want the second attempt", m.Running, m.Pending, j.Used)
	}
}

// An attempt that is found is of a task that may be started. A task that failed or was given back for good is none, and
// a task that runs twice is one task.
func TestAttemptFoundNeedsATask(t *testing.T) {
	two := func(p *Plan) {
		if st := p.Job(1).Stages[0]; p.Now == 0 {
			n := p.Node(1)
			p.Launch(st, n)
			for a := range p.Attempts(st) {
				p.Speculate(a, n, 0)
			}
		}
	}
	for _, c := range []struct {
		name        string
		tasks, most int32 // of the stage: Tasks and MaxAttempts
		decide      policyFunc
		end         []Outcome // of the attempts that were launched, in order
		want        int32     // the task that is found; zero: none
	}{
		{"failed, not to run again", 1, 0, nil, []Outcome{Failed}, 0},
		{"failed, to run again", 1, 2, nil, []Outcome{Failed}, 1},
		{"given back", 2, 2, nil, []Outcome{Released, OK}, 0},
		{"runs twice", 2, 2, two, nil, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.decide == nil {
				c.decide = func(p *Plan) {
					if p.Now == 0 {
						p.LaunchMany(p.Job(1).Stages[0], c.tasks)
					}
				}
			}
			core := New(Config{Policy: c.decide, Can: CanNameTasks})
			spec := &JobSpec{Stages: []StageSpec{
				{Kind: Map, PerTask: slots(1, 0), Tasks: c.tasks, MaxAttempts: c.most},
				{Kind: Reduce, PerTask: slots(0, 1), Tasks: 1, After: []Dep{{0, 1}}}, // it reads the output of the maps
			}}
			var ends []Event
			for i, a := range core.Step(0, []Event{
				{Kind: NodeJoined, Node: 1, Body: &NodeSpec{Capacity: slots(2, 0)}},
				{Kind: JobSubmitted, Job: 1, Body: spec},
			}) {
				if i < len(c.end) {
					ends = append(ends, Event{Kind: AttemptDone, Attempt: a.Attempt, Outcome: c.end[i]})
				}
			}
			core.Step(sec, ends)
			core.Step(2*sec, []Event{{Kind: AttemptFound, Job: 1, Node: 1, Body: &Found{}}})
			id := core.Events[0].Attempt
			if c.want == 0 {
				if id != 0 {
					t.Fatalf("found task %d, want none", core.Attempt(id).Task)
				}
				return
			}
			if a := core.Attempt(id); id == 0 || a.Task != c.want {
				t.Fatalf("found attempt %v, want one of task %d", a, c.want)
			}
			core.Step(3*sec, []Event{{Kind: AttemptDone, Attempt: id}})
			if st := core.Job(1).Stages[0]; st.Done != 1 || st.tasks.ran[c.want-1] != 1 {
				t.Errorf("%d tasks are done, outputs on %v", st.Done, st.tasks.ran)
			}
		})
	}
}
