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
	Changes []NodeChange      // in order of time, and of a node at different instants
	Spread  bool              // its core began behind the node of the last launch (sched.Config.Spread)
}

// A NodeChange is a node of a PastCluster that is lost or joins, from its place in Cluster.Nodes, counted from 1.
type NodeChange struct {
	At    sched.Time
	Node  sched.NodeID
	Joins bool // else it is lost
}

// ClusterOf reads the rest of a record and returns its cluster: the one that its header holds, or, where the engine was
// told none (yarn), one with a class for the nodes of each class and capacity that joined. Racks of such a class are as
// many as its nodes were in, spread evenly. A node that joined after the beginning is lost at 0 and joins then. An
// ErrCut comes with the cluster of what is whole.
func ClusterOf(r *Reader) (*PastCluster, error) {
	var nodes []pastNode
	var cut error
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
				nodes[e.Node-1].change(s.Now, true)
			case sched.NodeLost:
				nodes[e.Node-1].change(s.Now, false)
			}
		}
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("read %s: no node joined, so that there is no cluster to take: name one", r.name)
	}
	p := &PastCluster{Cluster: &workload.Cluster{}, Spread: r.Header.Core.Spread}
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
	for place, i := range order {
		p.Changes = append(p.Changes, nodes[i].changes(sched.NodeID(place+1))...)
	}
	slices.SortStableFunc(p.Changes, func(a, b NodeChange) int { return cmp.Compare(a.At, b.At) })
	return p, cut
}

// gather groups nodes of equal class and capacity into classes of the cluster, in the order of their first nodes. It
// returns the indexes of nodes in the order in which the cluster has them.
func (p *PastCluster) gather(nodes []pastNode) (order []int) {
	*p.Cluster = workload.Cluster{Network: workload.DefaultNetwork}
	type kind struct {
		class    string
		capacity sched.Resources
	}
	place := map[kind]int{}
	var members [][]int
	for i := range nodes {
		k := kind{nodes[i].spec.Class, nodes[i].spec.Capacity}
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
			workload.Class{Name: name, Count: int32(len(list)), Racks: racks, Speed: 1, Resources: spec.Capacity})
		order = append(order, list...)
	}
	return order
}

// A pastNode is a node of a recorded run.
type pastNode struct {
	spec  *sched.NodeSpec
	times []sched.Time // when it joined, was lost, joined again, and so on
}

// change notes that a node joins or is lost. One that joins although it is there only says its resources anew.
func (n *pastNode) change(at sched.Time, joins bool) {
	if there := len(n.times)%2 == 1; joins != there {
		n.times = append(n.times, at)
	}
}

// changes returns when the node with ID place is lost and returns in a simulation. All nodes of a simulation join at 0:
// a node that joined later is lost at 0 and returns at its first instant.
func (n *pastNode) changes(place sched.NodeID) (list []NodeChange) {
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
