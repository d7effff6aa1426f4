package yarn

import (
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// What containers use of the processors, for policies that learn it: NodeManagers say in heartbeats what all containers
// on the node use together, not what each uses.

// Limits on the size of a node. They are beyond all machines, but small enough that sums over 10,000 nodes do not
// overflow.
const (
	mostNodeMemory = 1 << 32 // MiB: 4 PiB
	mostNodeCores  = 1 << 15
)

// mostKindsOfUse bounds the kinds of containers on a node that a report teaches something about: a sum over more kinds
// says little about each, and counting them takes long.
const mostKindsOfUse = 64

// useStep is the part of an error that one report corrects: so one odd report moves an estimate half of the way.
const useStep = 0.5

// A kindOfUse is the containers of one kind on a node: of an application, for one priority of its asks.
type kindOfUse struct {
	app      *application
	priority wire.Priority
	count    float64
}

// learnUse takes in what a heartbeat says that all containers of the node use. The sum is divided among the kinds of
// containers there by Kaczmarz's method (normalised least mean squares): the error of what was expected of the sum goes
// to each kind in proportion to its containers, so that reports of different mixes separate the kinds. Kinds that are
// new get what the known ones leave. O(containers · kinds on the node), of at most mostKindsOfUse kinds.
func (n *node) learnUse() {
	var use wire.Use
	if len(n.doing.utilization) == 0 || proto.Decode(n.doing.utilization, &use) != nil ||
		!(use.Cores >= 0 && use.Cores <= mostNodeCores) {
		return
	}
	var kinds []kindOfUse
	for _, c := range n.containers {
		if c.state == running {
			if kinds = counted(kinds, c.attempt.app, c.priority); len(kinds) > mostKindsOfUse {
				return
			}
		}
	}
	left, squares, fresh := float64(use.Cores), 0.0, 0.0
	for _, k := range kinds {
		known, ok := k.app.asks.uses[k.priority]
		left -= k.count * known
		squares += k.count * k.count
		if !ok {
			fresh += k.count
		}
	}
	for _, k := range kinds {
		known, ok := k.app.asks.uses[k.priority]
		switch {
		case fresh == 0:
			known += useStep * left * k.count / squares
		case !ok:
			known = left / fresh
		}
		if k.app.asks.uses == nil {
			k.app.asks.uses = map[wire.Priority]float64{}
		}
		if ok || len(k.app.asks.uses) < mostStages {
			k.app.asks.uses[k.priority] = max(0, known)
		}
	}
}

// counted adds a container to the kinds.
func counted(kinds []kindOfUse, app *application, priority wire.Priority) []kindOfUse {
	for i := range kinds {
		if kinds[i].app == app && kinds[i].priority == priority {
			kinds[i].count++
			return kinds
		}
	}
	return append(kinds, kindOfUse{app, priority, 1})
}

// counters returns what the container has used, as sched.Counters for the core; nil: nothing is known.
func (c *container) counters() any {
	cores, ok := c.attempt.app.asks.uses[c.priority]
	a := c.m.core.Attempt(c.lease)
	if !ok || a == nil {
		return nil
	}
	return &sched.Counters{CPU: sched.Time(cores * float64(c.m.at()-a.Start))}
}
