package sched

import (
	"slices"
	"testing"
)

// Under Config.Spread launches go round the nodes with room: with and without wishes, near the input as far from it.
func TestSpread(t *testing.T) {
	node := func(id NodeID) Event {
		return Event{Kind: NodeJoined, Node: id, Body: &NodeSpec{Class: "c", Rack: 1, Capacity: slots(2, 0)}}
	}
	for name, near := range map[string][]Near{
		"anywhere": nil,
		"nodes":    {{Node: 1, Tasks: 5}, {Node: 2, Tasks: 5}, {Node: 3, Tasks: 5}},
		"rack":     {{Rack: 1, Tasks: 5}},
	} {
		for _, spread := range []bool{false, true} {
			c := New(Config{Spread: spread, Policy: policyFunc(func(p *Plan) {
				st := p.Stage(StageID{1, 0})
				for st.Pending > 0 {
					n := p.First(st)
					if near != nil {
						n = p.FirstWhere(st, Where{Level: RackLocal})
					}
					if n == nil || !p.Launch(st, n) {
						return
					}
				}
			})})
			spec := &JobSpec{Open: true, Stages: []StageSpec{{Kind: Other, PerTask: slots(1, 0), Tasks: -1}}}
			c.Step(0, []Event{node(1), node(2), node(3), {Kind: JobSubmitted, Job: 1, Body: spec}})
			actions := c.Step(sec, []Event{{Kind: AsksChanged, Job: 1, Body: &Asks{Pending: 5, Near: near}}})
			var on []NodeID
			for _, a := range actions {
				on = append(on, a.Node)
			}
			want := []NodeID{1, 1, 2, 2, 3}
			if spread {
				want = []NodeID{1, 2, 3, 1, 2}
			}
			if !slices.Equal(on, want) {
				t.Errorf("%s, spread %v: launched on %v, want %v", name, spread, on, want)
			}
		}
	}
}
