package policy

import (
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// For a big task whose queue is at its maximum no node is looked at while one has room, and one is kept while none has.
// Queue q may hold 14 and has 10 on n1, so that a task of 5 must wait. Then small tasks of another queue start: on n1,
// where they leave room for 5 on n2, or on both nodes.
func TestNodeIsLookedForAtMaximumOnlyWithoutRoom(t *testing.T) {
	memory := func(n int64) sched.Resources { return sched.Resources{sched.Memory: n} }
	for _, c := range []struct {
		what         string
		most         int64
		small        int32
		looked, kept bool
	}{
		{"room, at its maximum", 14, 6, false, false},
		{"no room, at its maximum", 14, 10, true, true},
		{"no room, below its maximum", 100, 10, true, true},
	} {
		k := keeper{on: true}
		looked := false
		core := sched.New(sched.Config{
			Queues: []*sched.QueueSpec{{Name: "q", Max: sched.Share{Amount: memory(c.most)}}, {Name: "r"}},
			Policy: deciding(func(p *sched.Plan) {
				if len(k.Kept) > 0 {
					return
				}
				first, next, small := p.Job(1).Stages[0], p.Job(2).Stages[0], p.Job(3).Stages[0]
				p.LaunchMany(first, 1)
				p.LaunchMany(small, small.Pending)
				func() {
					nodes := p.Nodes
					p.Nodes = []*sched.Node{nil} // a look at it panics
					defer func() { looked, p.Nodes = recover() != nil, nodes }()
					k.keep(p, next, p.Actions())
				}()
				k.keep(p, next, p.Actions())
			}),
		})
		core.Step(0, []sched.Event{
			{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{Name: "n1", Capacity: memory(14)}},
			{Kind: sched.NodeJoined, Node: 2, Body: &sched.NodeSpec{Name: "n2", Capacity: memory(9)}},
			jobOf(1, "q", 1, memory(10)), jobOf(2, "q", 1, memory(5)), jobOf(3, "r", c.small, memory(1)),
		})
		if looked != c.looked || (len(k.Kept) > 0) != c.kept || len(core.Refusals()) > 0 {
			t.Errorf("%s: a node is looked for: %v, %v are kept, want %v, %v", c.what, looked, k.Kept, c.looked, c.kept)
		}
	}
}
