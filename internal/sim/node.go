package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// A node is the simulator's row of a node.
type node struct {
	spec  *sched.NodeSpec
	class int // index of the cluster's classes
	lost  bool
	said  *sched.Resources // what it offers by the script; nil: the script has not said
	gone  sched.Time       // instant of its last loss
	count uint64           // random numbers drawn for its losses and returns so far
	news  []sched.Event    // what the core learns with the node's next heartbeat
}

// machines are all nodes: they join, are lost and return.
type machines struct {
	*agenda
	cluster *workload.Cluster
	costs   *Costs
	chance  workload.Chance
	script  []Incident
	held    bool      // the core learns what happens on a node with the node's next heartbeat
	list    []node    // by NodeID-1
	slow    []float64 // by NodeID-1: the factor of task times: 1 ÷ the speed of its class, more on a slow node

	layout     layout
	timetables timetables
}

// news returns the list to which events about what happens on node n are added.
func (m *machines) news(n *node) *[]sched.Event {
	if m.held {
		return &n.news
	}
	return &m.evs
}

// join makes all nodes join, and draws when the first of them are lost.
func (m *machines) join() {
	c := m.costs.Chance
	place, first := 0, m.offeredFirst()
	for spec, class := range m.cluster.Nodes() {
		for class != &m.cluster.Classes[place] {
			place++
		}
		id := sched.NodeID(len(m.list) + 1)
		n, slow := node{spec: spec, class: place, said: first[id]}, 1/class.Speed
		if c.SlowNodes > 0 && m.chance.With(forSlowNode).With(uint64(id)).Uniform() < c.SlowNodes {
			slow *= max(1, c.Slowdown)
		}
		m.list, m.slow = append(m.list, n), append(m.slow, slow)
		m.evs = append(m.evs, sched.Event{Kind: sched.NodeJoined, Node: id, Body: m.joining(&n)})
		m.planLoss(id)
	}
	m.layout = newLayout(m.list)
}

// offeredFirst returns what the script says of nodes at 0: they join with it.
func (m *machines) offeredFirst() map[sched.NodeID]*sched.Resources {
	first := map[sched.NodeID]*sched.Resources{}
	for _, x := range m.script {
		if x.At == 0 && x.Offers != nil {
			first[x.Node] = x.Offers
		}
	}
	return first
}

// after draws an exponential time with a mean, at least 1 ns, until the next loss or return of a node.
func (m *machines) after(id sched.NodeID, mean sched.Time) sched.Time {
	n := &m.list[id-1]
	n.count++
	d := m.chance.With(forLoss).With(uint64(id)).With(n.count).Exponential() * float64(mean)
	return sched.Time(min(max(d, 1), workload.MaxTime))
}

// planLoss adds the next loss of a node by chance to the queue.
func (m *machines) planLoss(id sched.NodeID) {
	if mean := m.costs.Faults.MTBF; mean > 0 {
		m.queue.push(m.now+m.after(id, mean), lossOf|uint64(id))
	}
}

// lossDue loses a node by chance, and plans its return.
func (m *machines) lossDue(id sched.NodeID) {
	m.lose(id)
	m.queue.push(m.now+m.after(id, m.costs.Faults.MTTR), returnOf|uint64(id))
}

// returnDue brings back a node that was lost by chance, and plans its next loss.
func (m *machines) returnDue(id sched.NodeID) {
	m.restore(id)
	m.planLoss(id)
}

// lose tells the core that a node is lost. What has happened there since its last heartbeat the core never learns.
func (m *machines) lose(id sched.NodeID) {
	n := &m.list[id-1]
	if n.lost {
		return
	}
	n.lost, n.gone = true, m.now
	n.news = n.news[:0]
	m.evs = append(m.evs, sched.Event{Kind: sched.NodeLost, Node: id})
}

// restore tells the core that a lost node joins again.
func (m *machines) restore(id sched.NodeID) {
	n := &m.list[id-1]
	switch {
	case !n.lost:
		return
	case n.gone == m.now: // it joins 1 ns later, because in a Step the core applies joins before losses
		m.queue.push(m.now+1, comeOf|uint64(id))
		return
	}
	n.lost = false
	m.evs = append(m.evs, sched.Event{Kind: sched.NodeJoined, Node: id, Body: m.joining(n)})
}

// offered returns how much node n offers now: what the script or else its timetable says.
func (m *machines) offered(n *node) sched.Resources {
	if n.said != nil {
		return *n.said
	}
	return m.timetables.offered(m.now, n.class, n.spec.Capacity)
}

// tell tells the core how much node n offers from now on.
func (m *machines) tell(id sched.NodeID) {
	n := &m.list[id-1]
	if n.lost {
		return
	}
	spec := *n.spec
	spec.Capacity = m.offered(n)
	news := m.news(n)
	*news = append(*news, sched.Event{Kind: sched.NodeReported, Node: id, Body: &spec})
}

// joining returns the description with which node n joins now: with the capacity that it offers.
func (m *machines) joining(n *node) *sched.NodeSpec {
	spec := n.spec
	if offered := m.offered(n); offered != spec.Capacity {
		less := *spec
		less.Capacity = offered
		spec = &less
	}
	return spec
}

// plan adds the incidents of the script to the queue. It returns an error if the script names a node that does not
// exist, an instant before the run, or an amount below zero. It also returns one if a node comes or goes twice at one
// instant, or is said twice at one instant what it offers.
func (m *machines) plan() error {
	for i, x := range m.script {
		if x.Node < 1 || int(x.Node) > len(m.list) {
			return fmt.Errorf("incident %d: node %d: the cluster has nodes 1 to %d", i+1, x.Node, len(m.list))
		}
		if x.At < 0 {
			return fmt.Errorf("incident %d: at %v: must not be negative", i+1, x.At)
		}
		if x.Offers != nil {
			for k, a := range x.Offers {
				if a < 0 {
					return fmt.Errorf("incident %d: %v: %d, must not be negative", i+1, sched.ResourceKind(k), a)
				}
			}
			if x.At == 0 {
				continue // it joined with that
			}
		}
		m.await(x.At, incidentOf|uint64(i+1))
	}
	order := slices.Clone(m.script)
	slices.SortStableFunc(order, func(a, b Incident) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.At, b.At), cmp.Compare(a.order(), b.order()))
	})
	for i := 1; i < len(order); i++ {
		if a, b := order[i-1], order[i]; a.Node == b.Node && a.At == b.At && a.order() == b.order() {
			return fmt.Errorf("node %d has two incidents at %v", b.Node, b.At)
		}
	}
	return nil
}

// order returns 0 for an incident by which a node comes or goes, and 1 for one that says what it offers.
func (x Incident) order() int {
	if x.Offers != nil {
		return 1
	}
	return 0
}

// incident carries out the item of kind incidentOf with an index: an entry of the script, or else the change of a class
// by its timetable. The engine has carried out the throttle's before.
func (m *machines) incident(index int) {
	if more := index - len(m.script) - 1; more >= 0 {
		m.change(more)
		return
	}
	m.pending--
	switch x := m.script[index-1]; {
	case x.Offers != nil:
		m.list[x.Node-1].said = x.Offers
		m.tell(x.Node)
	case x.Returns:
		m.restore(x.Node)
	default:
		m.lose(x.Node)
	}
}
