package policy

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// For a big task whose queue is at its maximum no node is looked at. Queue a may have 10 of memory and uses 8, and its
// next task needs 5. Then a task of queue b starts.
func TestNoNodeIsLookedAtForQueueAtItsMaximum(t *testing.T) {
	memory := func(n int64) sched.Resources { return sched.Resources{sched.Memory: n} }
	for _, most := range []int64{10, 100} {
		k := keeper{on: true}
		looked := false
		c := sched.New(sched.Config{
			Queues: []*sched.QueueSpec{{Name: "a", Max: sched.Share{Amount: memory(most)}}, {Name: "b"}},
			Policy: deciding(func(p *sched.Plan) {
				first, next, small := p.Job(1).Stages[0], p.Job(2).Stages[0], p.Job(3).Stages[0]
				if p.LaunchMany(first, 1) != 1 {
					return
				}
				p.LaunchMany(small, small.Pending)
				nodes := p.Nodes
				p.Nodes = []*sched.Node{nil} // a look at it panics
				defer func() { looked, p.Nodes = recover() != nil, nodes }()
				k.keep(p, next, p.Actions())
			}),
		})
		c.Step(0, []sched.Event{
			{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{Name: "n1", Capacity: memory(10)}},
			jobOf(1, "a", 1, memory(8)), jobOf(2, "a", 1, memory(5)), jobOf(3, "b", 1, memory(1)),
		})
		if want := most > 10; looked != want || len(c.Refusals()) > 0 {
			t.Errorf("maximum %d: nodes are looked at: %v, want %v", most, looked, want)
		}
	}
}

// Neither is one kept under policy capacity, where the node has no room either.
func TestNoNodeIsKeptForQueueAtItsMaximum(t *testing.T) {
	memory := func(n int64) sched.Resources { return sched.Resources{sched.Memory: n} }
	for _, most := range []int64{10, 100} {
		p, _, err := Parse("capacity")
		if err != nil {
			t.Fatal(err)
		}
		c := sched.New(sched.Config{Policy: p, Queues: []*sched.QueueSpec{
			{Name: "a", Min: sched.Share{Part: 0.5}, Max: sched.Share{Amount: memory(most)}},
			{Name: "b", Min: sched.Share{Part: 0.5}},
		}})
		c.Step(0, []sched.Event{
			{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{Name: "n1", Capacity: memory(100)}},
			jobOf(1, "b", 1, memory(91)), jobOf(2, "a", 1, memory(8)),
		})
		kept, small := 0, jobOf(4, "b", 1, memory(1))
		small.Body.(*sched.JobSpec).User = "u" // another one: who holds nothing may always start a task
		for _, a := range c.Step(time.Second, []sched.Event{jobOf(3, "a", 1, memory(5)), small}) {
			if a.Kind == sched.Reserve {
				kept++
			}
		}
		if want := int(most / 100); kept != want {
			t.Errorf("maximum %d: %d nodes are kept, want %d", most, kept, want)
		}
	}
}
