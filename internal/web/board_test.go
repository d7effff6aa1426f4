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
