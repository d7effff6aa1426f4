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
