package record

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// A PastCluster is what a recorded run ran on, for a simulation of the same.
type PastCluster struct {
	Cluster *workload.Cluster // with the queues of the run
	Changes []NodeChange      // in order of time, and those of a node that say the same at different instants
	Spread  bool              // its core began behind the node of the last launch (sched.Config.Spread)
	// Heartbeat is the interval at which its nodes reported, if they could be launched on only then; else zero.
	Heartbeat sched.Time
	Forecast  *sched.Forecast // what its policy expected all nodes together to offer when; nil: nothing
	IDs       []sched.NodeID  // of its nodes in Cluster, by their IDs in the run − 1
}

// A NodeChange is a node of a PastCluster that is lost or joins, or that offers something else, from its place in
// Cluster.Nodes, counted from 1.
type NodeChange struct {
	At     sched.Time
	Node   sched.NodeID
	Joins  bool             // else it is lost, unless Offers is set
	Offers *sched.Resources // from now on; nil: as before
}

// ClusterOf reads the rest of a record and returns its cluster: the one that its header holds, or, where the engine was
// told none (yarn), one with a class for the nodes of each class and capacity that joined. Racks of such a class are as
// many as its nodes were in, spread evenly. A node that joined after the beginning is lost at 0 and joins then. A node
// that offered less than a node of its class has, or less or more from some instant on, does so again; after the end of
// the record it offers what it offered last. An ErrCut comes with the cluster of what is whole.
func ClusterOf(r *Reader) (*PastCluster, error) {
	var nodes []pastNode
	var cut error
	beat := r.Header.Heartbeat
	for s, err := range r.Steps() {
		if errors.Is(err, ErrCut) {
			cut = err
			break
		}
		if err != nil {
			return nil, err
		}
		for i := range s.Events {
			switch e := &s.Events[i]; e.Kind {
			case sched.NodeJoined:
				if int(e.Node) > len(nodes) {
					nodes = append(nodes, pastNode{spec: e.Body.(*sched.NodeSpec)})
				}
				n := &nodes[e.Node-1]
				n.change(s.Now, true)
				n.offer(s.Now, e.Body.(*sched.NodeSpec).Capacity)
			case sched.NodeReported:
				n := &nodes[e.Node-1]
				if spec, ok := e.Body.(*sched.NodeSpec); ok {
					n.offer(s.Now, spec.Capacity)
					continue
				}
				if between := n.report(s.Now); r.Header.Heartbeat == 0 && (beat == 0 || between < beat) {
					beat = between // of a record that does not say it
				}
			case sched.NodeLost:
				nodes[e.Node-1].change(s.Now, false)
			}
		}
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("read %s: no node joined, so that there is no cluster to take: name one", r.name)
	}
	p := &PastCluster{Cluster: &workload.Cluster{}, Spread: r.Header.Core.Spread, Forecast: r.Header.Core.Forecast}
	if r.Header.Core.Heartbeats && beat != sched.Never {
		p.Heartbeat = beat
	}
	order := make([]int, len(nodes)) // of the nodes in the cluster, by their places in nodes
	for i := range order {
		order[i] = i
	}
	told := json.Unmarshal(r.Header.Cluster, p.Cluster) == nil && int(p.Cluster.Count()) == len(nodes)
	if !told {
		order = p.gather(nodes)
	}
	if p.Cluster.Network == (workload.Network{}) { // of one machine
		p.Cluster.Network = workload.DefaultNetwork
	}
	p.Cluster.Queues = r.Header.Core.Queues
	if err := p.Cluster.Validate(); err != nil {
		return nil, fmt.Errorf("read %s: cluster: %w", r.name, err)
	}
	p.IDs = make([]sched.NodeID, len(nodes))
	list := p.Cluster.List()
	for place, i := range order {
		p.IDs[i] = sched.NodeID(place + 1)
		p.Changes = append(p.Changes, nodes[i].changes(p.IDs[i], list[place].Capacity)...)
	}
	slices.SortStableFunc(p.Changes, func(a, b NodeChange) int { return cmp.Compare(a.At, b.At) })
	return p, cut
}

// gather groups nodes of equal class and capacity, of the most that each had, into classes of the cluster, in the order
// of their first nodes. It returns the indexes of nodes in the order in which the cluster has them.
func (p *PastCluster) gather(nodes []pastNode) (order []int) {
	*p.Cluster = workload.Cluster{Network: workload.DefaultNetwork}
	type kind struct {
		class    string
		capacity sched.Resources
	}
	place := map[kind]int{}
	var members [][]int
	for i := range nodes {
		k := kind{nodes[i].spec.Class, nodes[i].most()}
		at, ok := place[k]
		if !ok {
			at = len(members)
			place[k] = at
			members = append(members, nil)
		}
		members[at] = append(members[at], i)
	}
	names := map[string]int{}
	for _, list := range members {
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(nodes[a].spec.Rack, nodes[b].spec.Rack) })
		racks := int32(1)
		for k := 1; k < len(list); k++ {
			if nodes[list[k]].spec.Rack != nodes[list[k-1]].spec.Rack {
				racks++
			}
		}
		spec := nodes[list[0]].spec
		name := cmp.Or(spec.Class, "node")
		if names[name]++; names[name] > 1 { // nodes of one class may differ
			name = fmt.Sprintf("%s-%d", name, names[name])
		}
		p.Cluster.Classes = append(p.Cluster.Classes,
			workload.Class{Name: name, Count: int32(len(list)), Racks: racks, Speed: 1,
				Resources: nodes[list[0]].most()})
		order = append(order, list...)
	}
	return order
}

// A pastNode is a node of a recorded run.
type pastNode struct {
	spec  *sched.NodeSpec
	times []sched.Time // when it joined, was lost, joined again, and so on
	had   []pastOffer  // in order of time
	heard sched.Time   // when it reported last since it joined; -1: it has not
}

// A pastOffer is how much a node offered from an instant on.
type pastOffer struct {
	from     sched.Time
	capacity sched.Resources
}

// offer notes how much a node offers from now on.
func (n *pastNode) offer(now sched.Time, capacity sched.Resources) {
	last := len(n.had) - 1
	switch {
	case last >= 0 && n.had[last].capacity == capacity:
	case last >= 0 && n.had[last].from == now:
		n.had[last].capacity = capacity
	default:
		n.had = append(n.had, pastOffer{now, capacity})
	}
}

// report notes that a node reports, and returns the time since it did so last; sched.Never: it did not since it joined.
func (n *pastNode) report(now sched.Time) sched.Time {
	last := n.heard
	if n.heard = now; last < 0 {
		return sched.Never
	}
	return now - last
}

// most returns the largest amounts that a node ever offered.
func (n *pastNode) most() (r sched.Resources) {
	for _, o := range n.had {
		for k := range r {
			r[k] = max(r[k], o.capacity[k])
		}
	}
	return r
}

// change notes that a node joins or is lost. One that joins although it is there only says its resources anew.
func (n *pastNode) change(at sched.Time, joins bool) {
	if there := len(n.times)%2 == 1; joins != there {
		n.times, n.heard = append(n.times, at), -1
	}
}

// changes returns when the node with ID place is lost and returns in a simulation, and when it offers something else
// than own, which a node of its class has. All nodes of a simulation join at 0: a node that joined later is lost at 0
// and returns at its first instant.
func (n *pastNode) changes(place sched.NodeID, own sched.Resources) (list []NodeChange) {
	for i, o := range n.had {
		if i == 0 {
			o.from = 0
		}
		if o.capacity != own || i > 0 {
			list = append(list, NodeChange{At: o.from, Node: place, Offers: &o.capacity})
		}
	}
	if n.times[0] > 0 {
		list = append(list, NodeChange{At: 0, Node: place}, NodeChange{At: n.times[0], Node: place, Joins: true})
	}
	last := n.times[0]
	for i, at := range n.times[1:] {
		last = max(at, last+1) // a simulation takes one change of a node at an instant
		list = append(list, NodeChange{At: last, Node: place, Joins: i%2 == 1})
	}
	return list
}
