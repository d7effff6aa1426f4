package web

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// A queue that comes back in the row of another one is shown once, with what it has now. Its old row shows nothing.
func TestBoardAfterQueuesHaveGone(t *testing.T) {
	change := func(names ...string) []sched.Event {
		var list []*sched.QueueSpec
		for _, name := range names {
			list = append(list, &sched.QueueSpec{Name: name, Weight: 3})
		}
		return []sched.Event{{Kind: sched.SpecChanged, Body: &sched.Queues{List: list}}}
	}
	p, _, err := policy.Parse("fair")
	if err != nil {
		t.Fatal(err)
	}
	c := sched.New(sched.Config{Policy: p})
	c.Step(0, append(change("default", "a", "b"), sched.Event{Kind: sched.NodeJoined, Node: 1,
		Body: &sched.NodeSpec{Name: "n", Capacity: sched.Resources{sched.VCores: 10}}}))
	c.Step(1*time.Second, change("default"))
	c.Step(2*time.Second, change("default", "b"))
	c.Step(3*time.Second, []sched.Event{{Kind: sched.JobSubmitted, Job: 1, Body: &sched.JobSpec{Queue: "b",
		Stages: []sched.StageSpec{{PerTask: sched.Resources{sched.VCores: 1}, Tasks: 4}}}}})
	var b queueBoard
	b.sample(&c.View)
	if at, ok := b.place["b"]; !ok || b.rows[at].used != 0.4 || b.rows[at].weight != 3 || len(b.leaves) != 2 {
		t.Errorf("rows %+v, leaves %v", b.rows, b.leaves)
	}
}

// An attempt that the log has forgotten ends on its node, in its job and in its stage all the same.
func TestForgottenAttemptEnds(t *testing.T) {
	b := NewBoard(About{})
	b.log = newAttemptLog(1)
	core := sched.New(sched.Config{Policy: fifo(t), Recorder: b})
	slot := sched.Resources{sched.VCores: 1}
	acts := core.Step(0, []sched.Event{
		{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{Capacity: sched.Resources{sched.VCores: 2}}},
		{Kind: sched.JobSubmitted, Job: 1, Body: &sched.JobSpec{Stages: []sched.StageSpec{{Tasks: 2, PerTask: slot}}}},
	})
	if b.log.find(acts[0].Attempt) != nil || b.nodes[0].running != 2 {
		t.Fatalf("%d attempts run, and the first is remembered: %v", b.nodes[0].running, b.log.find(acts[0].Attempt))
	}
	for i := range acts {
		at := sched.Time(i+1) * time.Second
		core.Step(at, []sched.Event{{Kind: sched.AttemptDone, Attempt: acts[i].Attempt}})
	}
	n, st := b.nodes[0], b.row(1).stages[0]
	if n.running != 0 || n.done != 2 || st.ended != 2 || st.last != 2*time.Second {
		t.Errorf("%d attempts run, %d are done on the node, and %d in the stage, the last at %v", n.running, n.done,
			st.ended, st.last)
	}
}
