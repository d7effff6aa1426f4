package sim

import (
	"math"

	"github.com/sojourn-sched/sojourn/sched"
)

// Contention is how tasks on a node hinder each other. With m the largest part of the node's memory, cores, disk and
// network that its computing tasks use together by their profiles, each of these tasks takes 1 + Slope·m times as long
// where m is at most 1, and (1 + Slope)·m^Power times as long beyond. docs/spec/simulator.md states the model.
type Contention struct {
	Slope float64 // zero: tasks do not hinder each other
	Power float64 // at least 1; zero is 1
}

// factor returns how many times as long tasks take on a node with a part m in use.
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

// contention keeps what the computing attempts on each node use, and how much slower they therefore are. When that
// changes, the attempts of the node are due anew, once an instant.
type contention struct {
	model Contention
	nodes []crowd        // by NodeID-1
	uses  []amount       // by slot of AttemptID: of computing attempts
	dirty []sched.NodeID // nodes whose use has changed at this instant
}

// A crowd is the computing attempts on a node.
type crowd struct {
	use    amount
	count  int
	factor float64 // by which their ends are reckoned; zero is 1
	dirty  bool
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

// enter counts an attempt that begins to compute or to fetch, and returns how many times as long it takes to compute
// for now.
func (c *contention) enter(r *attempt) float64 {
	slot := int(r.id.Row())
	for len(c.uses) <= slot {
		c.uses = append(c.uses, amount{})
	}
	c.uses[slot] = usedBy(r.core.Stage, r.state)
	c.change(r, &c.uses[slot], 1)
	return c.node(r).factor
}

// leave takes out an attempt that does so no more, and returns how many times as long it took to compute until now.
func (c *contention) leave(r *attempt) float64 {
	c.change(r, &c.uses[r.id.Row()], -1)
	return c.node(r).factor
}

func (c *contention) change(r *attempt, by *amount, sign float64) {
	n := c.node(r)
	for k := range by {
		n.use[k] += sign * by[k]
	}
	if n.count += int(sign); n.count == 0 {
		n.use = amount{} // without what rounding left
	}
	if !n.dirty {
		n.dirty = true
		c.dirty = append(c.dirty, r.core.Node)
	}
}

// usedBy returns what a task of a stage uses: the most that its job's profile says of the phases read to spill, of a
// reduce merge to write, and while it fetches shuffle; without a profile what it asks for, and while it fetches
// nothing. Memory counts by the profile alone.
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

// part returns the largest part of a node with a capacity that a crowd uses. Disk and network of a node that does not
// say how much it has are a million ppm; of memory and cores nothing is known there.
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

// settle makes the computing attempts on nodes whose use has changed due at the instants that follow from it. It costs
// O(attempts there).
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
			if r := t.find(a.ID); r != nil && r.state == computing {
				t.cancel(r.item)
				r.due = t.now + prolonged(r.due-t.now, n.factor/before)
				r.item = t.await(r.due, endOf|uint64(r.id))
			}
		}
	}
	c.dirty = c.dirty[:0]
}
