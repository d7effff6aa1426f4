package sched

import (
	"math/rand/v2"
	"testing"
)

// The first node near the input of a stage is the one that looking at every node that fits would find, whatever is
// launched, kept for others, forbidden or filtered.
func TestFirstNearAgainstLooking(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 5))
		looks, hits := 0, 0
		policy := policyFunc(func(p *Plan) {
			var stages []*Stage
			for j := range p.Jobs() {
				stages = append(stages, j.Stages...)
			}
			for range 60 {
				st := stages[r.IntN(len(stages))]
				if st.Pending == 0 {
					continue
				}
				for l := NodeLocal; l <= RackLocal; l++ {
					third := NodeID(r.IntN(3))
					w := Where{
						Level: l,
						After: NodeID(r.IntN(4) * 20),
						Ok:    func(n *Node) bool { return n.ID%3 != third },
					}
					var want, wantWhere *Node
					for n := range p.Fits(st, 0) {
						if near := p.Level(st, n) <= l; near && want == nil {
							want = n
						} else if !near {
							continue
						}
						if wantWhere == nil && n.ID > w.After && w.Ok(n) {
							wantWhere = n
						}
					}
					looks++
					if want != nil {
						hits++
					}
					if got := p.FirstWhere(st, Where{Level: l}); got != want {
						t.Fatalf("seed %d: first at level %v is %v, want %v", seed, l, got, want)
					}
					if got := p.FirstWhere(st, w); got != wantWhere {
						t.Fatalf("seed %d: first at level %v after %d is %v, want %v", seed, l, w.After, got, wantWhere)
					}
				}
				if n := p.First(st); n != nil && r.IntN(3) > 0 {
					if at := p.FirstWhere(st, Where{Level: NodeLocal}); at != nil && r.IntN(4) > 0 {
						n = at
					}
					next := p.NextTask(st, n)
					p.Launch(st, n)
					if a := youngest(p.View, st); a.Task != next {
						t.Fatalf("seed %d: task %d was launched on node %d, NextTask said %d", seed, a.Task, n.ID, next)
					}
				} else if n != nil {
					p.Reserve(st, n)
				}
			}
		})
		nodes := 10 + r.IntN(200)
		var events []Event
		for i := range nodes {
			events = append(
				events,
				Event{
					Kind: NodeJoined,
					Node: NodeID(i + 1),
					Body: &NodeSpec{Rack: RackID(1 + i/7), Capacity: slots(1+int64(r.IntN(2)), 0)},
				},
			)
		}
		for id := range JobID(4) {
			st := StageSpec{Kind: Map, Tasks: int32(1 + r.IntN(60)), Copies: 3, PerTask: slots(1, 0), Prior: sec}
			for range 3 * st.Tasks {
				st.Places = append(st.Places, NodeID(r.IntN(nodes+1)))
			}
			events = append(events, Event{Kind: JobSubmitted, Job: id + 1, Body: &JobSpec{Stages: []StageSpec{st}}})
		}
		New(Config{Policy: policy}).Step(0, events)
		if looks == 0 || hits == 0 {
			t.Errorf("seed %d: %d looks and %d hits", seed, looks, hits)
		}
	}
}

// Input on a node that joins later is found there, as is input in its rack.
func TestPlacesOnLateNodes(t *testing.T) {
	c := New(Config{})
	st := StageSpec{Kind: Map, Tasks: 2, Copies: 1, PerTask: slots(1, 0), Prior: sec, Places: []NodeID{2, 2}}
	c.Step(
		0,
		[]Event{
			{Kind: NodeJoined, Node: 1, Body: &NodeSpec{Rack: 1, Capacity: slots(1, 0)}},
			{Kind: JobSubmitted, Job: 1, Body: &JobSpec{Stages: []StageSpec{st}}},
		},
	)
	stage := c.Stage(StageID{Job: 1})
	if l := c.Level(stage, c.Node(1)); l != OffSwitch {
		t.Errorf("before the node has joined the other one is %v, want off-switch", l)
	}
	c.Step(sec, []Event{{Kind: NodeJoined, Node: 2, Body: &NodeSpec{Rack: 1, Capacity: slots(1, 0)}}})
	if l := c.Level(stage, c.Node(1)); l != RackLocal {
		t.Errorf("with the node in its rack the other one is %v, want rack-local", l)
	}
	if n := c.FirstWhere(stage, Where{Level: NodeLocal}); n == nil || n.ID != 2 {
		t.Errorf("the first node with input is %v, want node 2", n)
	}
}
