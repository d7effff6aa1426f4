package sim

import (
	"math"

	"github.com/sojourn-sched/sojourn/sched"
)

// Contention says how much tasks on a node hinder each other. Let m be the largest part of the node's memory, cores,
// disk or network that the node's computing tasks use together, by their profiles. Each of these tasks takes
// 1 + Slope·m times as long if m ≤ 1, else (1 + Slope)·m^Power times as long. docs/spec/simulator.md states the model.
type Contention struct {
	Slope float64 // zero: tasks do not hinder each other
	Power float64 // at least 1; zero is 1
}

// factor returns how many times as long tasks take on a node when the part m of it is used.
func (c *Contention) factor(m float64) float64 {
	if m <= 1 {
		return 1 + c.Slope*m
	}
	return (1 + c.Slope) * math.Pow(m, max(1, c.Power))
}

// contended are the resources that tasks contend for.
var contended = [...]sched.ResourceKind{sched.Memory, sched.VCores, sched.DiskIO, sched.NetworkIO}

// An amount is what tasks use of each of the contended resources.
type amount [len(contended)]float64

// contention keeps how much the computing attempts on each node use, and how much longer they therefore take. When that
// changes, settle computes the ends of the node's attempts anew, once for each instant.
type contention struct {
	model Contention
	nodes []crowd        // by NodeID-1
	uses  []amount       // by slot of AttemptID: what enter counted for the attempt
	dirty []sched.NodeID // nodes whose use has changed at this instant
}

// A crowd is the attempts that compute or fetch on a node.
type crowd struct {
	use    amount // of all of them
	count  int
	factor float64 // how many times as long they take, by the ends in the queue; zero is 1
	dirty  bool    // the node is in contention.dirty
}

// on reports whether tasks hinder each other.
func (c *contention) on() bool { return c.model.Slope > 0 }

// node returns the crowd of an attempt's node.
func (c *contention) node(r *attempt) *crowd {
	for len(c.nodes) < int(r.core.Node) {
		c.nodes = append(c.nodes, crowd{factor: 1})
	}
	return &c.nodes[r.core.Node-1]
}

// enter adds an attempt, which begins to compute or to fetch, to the crowd of its node. It returns how many times as
// long the attempt takes until the next settle.
func (c *contention) enter(r *attempt) float64 {
	slot := int(r.id.Row())
	for len(c.uses) <= slot {
		c.uses = append(c.uses, amount{})
	}
	c.uses[slot] = usedBy(r.core.Stage, r.state)
	c.change(r, &c.uses[slot], 1)
	return c.node(r).factor
}

// leave removes an attempt, which has stopped to compute or to fetch, from the crowd of its node. It returns how many
// times as long the attempt took until now.
func (c *contention) leave(r *attempt) float64 {
	c.change(r, &c.uses[r.id.Row()], -1)
	return c.node(r).factor
}

// change adds what an attempt uses to the crowd of its node (sign 1), or takes it off (sign -1).
func (c *contention) change(r *attempt, by *amount, sign float64) {
	n := c.node(r)
	for k := range by {
		n.use[k] += sign * by[k]
	}
	if n.count += int(sign); n.count == 0 {
		n.use = amount{} // drops rounding errors
	}
	if !n.dirty {
		n.dirty = true
		c.dirty = append(c.dirty, r.core.Node)
	}
}

// usedBy returns how much a task of stage st uses while it computes or fetches, as in says. It is the most that the
// job's profile has for a phase: of read to spill for a map, of merge to write for a reduce that computes, of shuffle
// for a reduce that fetches. A task that computes uses no less than it asks for, except of memory. Without a profile, a
// reduce that fetches uses nothing.
func usedBy(st *sched.Stage, in state) (a amount) {
	if st.Kind == sched.Master {
		return a
	}
	from, to := sched.PhaseRead, sched.PhaseSpill
	switch {
	case in == fetching:
		from, to = sched.PhaseShuffle, sched.PhaseShuffle
	case st.Kind == sched.Reduce:
		from, to = sched.PhaseMerge, sched.PhaseWrite
	}
	p := st.Job.Spec.Profile
	for i, k := range contended {
		if k != sched.Memory && in != fetching {
			a[i] = float64(st.Spec.PerTask[k])
		}
		for ph := from; p != nil && ph <= to; ph++ {
			a[i] = max(a[i], float64(p.Phases[ph][k]))
		}
	}
	return a
}

// part returns the largest part of any resource of a node that a crowd uses; capacity is the node's. A node without a
// capacity of disk or network has a million ppm of it. Memory and cores do not count on a node that has none.
func (n *crowd) part(capacity *sched.Resources) (m float64) {
	for i, k := range contended {
		all := capacity[k]
		if all == 0 && (k == sched.DiskIO || k == sched.NetworkIO) {
			all = 1_000_000
		}
		if all > 0 {
			m = max(m, n.use[i]/float64(all))
		}
	}
	return m
}

// settle computes the ends of the computing attempts on the nodes whose use has changed. O(attempts on these nodes).
func (t *tasks) settle() {
	c := &t.contention
	for _, id := range c.dirty {
		n := &c.nodes[id-1]
		n.dirty = false
		before := n.factor
		if n.factor = c.model.factor(n.part(&t.nodes.list[id-1].spec.Capacity)); n.factor == before {
			continue
		}
		for a := range t.view.AttemptsOn(t.view.Node(id)) {
			r := t.find(a.ID)
			switch {
			case r == nil || r.state != computing:
			case t.throttle.pace(r) == 0:
				r.due = prolonged(r.due, n.factor/before)
			default:
				t.cancel(r.item)
				r.due = t.now + prolonged(r.due-t.now, n.factor/before)
				r.item = t.await(r.due, endOf|uint64(r.id))
			}
		}
	}
	c.dirty = c.dirty[:0]
}
