package yarn

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// A node is a NodeManager. Its states are those that are reported:
//
//	registers ─▶ RUNNING ◀─▶ UNHEALTHY        as its own checks say
//	             RUNNING ─▶ DECOMMISSIONING ─▶ DECOMMISSIONED    excluded; gracefully: when nothing runs there any more
//	             any of these ─▶ LOST          silent for too long
//	             any of these ─▶ SHUTDOWN      it said that it ends
//
// and from each of the last three back to RUNNING by registering again. The core has the node while it is RUNNING or
// DECOMMISSIONING.
type node struct {
	m        *manager
	id       wire.NodeID
	name     string // of the id
	sched    sched.NodeID
	rack     string
	service  string // ip:port, of tokens
	web      string // where its pages are, host:port. MapReduce's ApplicationMaster ends without
	capacity wire.Resource
	state    wire.NodeState
	resized  *wire.Resource // by an operator, and not told yet
	silent   aged
	life     int32  // how often it has registered: who had a token for an earlier life needs a new one
	patience *alarm // when it ends though things run there, if it is to end gracefully
	doing    doing

	containers []*container            // that are not over, in no order
	last       *wire.HeartbeatResponse // kept whole, to be sent again if it was lost
	orders
}

// doing is what a node last said of itself.
type doing struct {
	health               wire.Health
	utilization, machine proto.Raw
}

// orders are what a node is to do, until it has been told.
type orders struct {
	cleanup []wire.ContainerID
	apps    []wire.ApplicationID
	remove  []wire.ContainerID
	signals []wire.Signal
	stopped map[wire.ContainerID]bool // those of cleanup; nil: none
}

// mostUnknown bounds how many containers that nobody here knows a node is told to end, and how many to forget, in one
// answer: it reports the rest again.
const mostUnknown = 10_000

// usable reports whether the core has the node.
func (n *node) usable() bool {
	return n.state == wire.NodeRunning || n.state == wire.NodeDecommissioning
}

// become changes the state.
func (n *node) become(s wire.NodeState) {
	if n.usable() {
		n.m.nodes.up--
	}
	if n.state = s; n.usable() {
		n.m.nodes.up++
	}
}

// stop has a container ended.
func (n *node) stop(id wire.ContainerID) {
	if n.stopped[id] {
		return
	}
	if n.stopped == nil {
		n.stopped = map[wire.ContainerID]bool{}
	}
	n.stopped[id] = true
	n.cleanup = append(n.cleanup, id)
}

// join gives the node to the core.
func (n *node) join() {
	n.m.step() // the core takes what joins before what is lost, and this node may just have been
	n.become(wire.NodeRunning)
	n.m.note(sched.Event{Kind: sched.NodeJoined, Node: n.sched, Body: n.spec(n.capacity)})
	n.m.apps.nodesChanged(n)
}

func (n *node) spec(capacity wire.Resource) *sched.NodeSpec {
	return &sched.NodeSpec{Name: n.name, Class: n.m.nodes.class(n.capacity), Rack: n.m.nodes.rackID(n.rack),
		Capacity: amount(capacity)}
}

// leave takes the node from the core, and what runs there is lost.
func (n *node) leave(to wire.NodeState) {
	n.m.live.off(n.patience)
	was := n.usable()
	n.become(to)
	if was {
		n.m.note(sched.Event{Kind: sched.NodeLost, Node: n.sched})
	}
	for _, c := range n.sorted() {
		c.lost(saidLost)
	}
	n.m.apps.nodesChanged(n)
}

// gone is leave for a node of which nothing more is expected.
func (n *node) gone(to wire.NodeState) {
	n.silent.leave()
	n.leave(to)
	n.orders, n.last = orders{}, nil
	n.m.nodes.gone.watch(&n.silent, n.m.now, n)
	n.m.log.Info("node left", "node", n.name, "state", int32(to))
}

// sorted returns the containers in order of allocation, so that what follows from a node's loss does not depend on
// chance.
func (n *node) sorted() []*container {
	return slices.SortedFunc(
		slices.Values(n.containers),
		func(a, b *container) int { return cmp.Compare(a.lease, b.lease) },
	)
}

// hold puts a container on the node, drop takes it off.
func (n *node) hold(c *container) {
	c.at = int32(len(n.containers))
	n.containers = append(n.containers, c)
}

func (n *node) drop(c *container) {
	last := len(n.containers) - 1
	n.containers[c.at] = n.containers[last]
	n.containers[c.at].at = c.at
	n.containers[last] = nil
	n.containers = n.containers[:last]
}

// expired says that the node has not beaten for too long.
func (n *node) expired() { n.gone(wire.NodeLost) }

// resize gives the node another capacity.
func (n *node) resize(to wire.Resource) {
	n.capacity = to
	if n.state == wire.NodeRunning {
		n.m.note(sched.Event{Kind: sched.NodeReported, Node: n.sched, Body: n.spec(to)})
	}
}

// decommission has the node end: at once, or, where there is patience, when nothing runs there any more, at the latest
// when that is over. Until then it has no room.
func (n *node) decommission(patience time.Duration) {
	switch {
	case n.state != wire.NodeRunning && n.state != wire.NodeUnhealthy && n.state != wire.NodeDecommissioning:
	case patience <= 0 || len(n.containers) == 0:
		n.gone(wire.NodeDecommissioned)
	case n.state == wire.NodeUnhealthy: // nothing runs there that could be waited for
		n.gone(wire.NodeDecommissioned)
	default:
		n.m.live.off(n.patience)
		n.patience = n.m.live.at(n.m.now.Add(patience), func() { n.gone(wire.NodeDecommissioned) })
		if n.state == wire.NodeDecommissioning {
			return
		}
		n.become(wire.NodeDecommissioning)
		n.m.note(sched.Event{Kind: sched.NodeReported, Node: n.sched, Body: n.spec(wire.Resource{})})
		n.m.apps.nodesChanged(n)
	}
}

// recommission has a node stay that was to end when nothing runs there any more.
func (n *node) recommission() {
	n.m.live.off(n.patience)
	n.become(wire.NodeRunning)
	n.m.note(sched.Event{Kind: sched.NodeReported, Node: n.sched, Body: n.spec(n.capacity)})
	n.m.apps.nodesChanged(n)
}

// checked takes in whether the node can be used.
func (n *node) checked(s *wire.NodeStatus) {
	n.doing = doing{
		s.Health,
		append(n.doing.utilization[:0], s.Utilization...),
		append(n.doing.machine[:0], s.Machine...),
	}
	switch {
	case s.Health.OK && n.state == wire.NodeUnhealthy:
		n.join()
	case !s.Health.OK && n.usable():
		n.leave(wire.NodeUnhealthy)
	}
}

// reported takes in how the node's containers are doing. What nobody here knows is ended, and forgotten when it has
// ended; what an application that is over has left there was started after the node had been told of the end, and it is
// told again.
func (n *node) reported(list []wire.ContainerStatus) {
	told := map[wire.ApplicationID]bool{}
	for i := range list {
		s := &list[i]
		s.Diagnostics = cut(s.Diagnostics, mostDiagnostics)
		c := n.m.container(s.ID)
		if id := s.ID.Attempt.App; c == nil && !told[id] {
			told[id] = true
			if app := n.m.apps.byID[id]; (app == nil || app.over) && len(n.apps) < mostUnknown {
				n.apps = append(n.apps, id)
			}
		}
		switch {
		case c != nil && c.node == n:
			c.report(s)
		case s.State == wire.ContainerComplete:
			if len(n.remove) < mostUnknown {
				n.remove = append(n.remove, s.ID)
			}
		case len(n.cleanup) < mostUnknown:
			n.stop(s.ID)
		}
	}
}

// answer begins the reply to a heartbeat and returns what completes it, after the Step. It is kept from now on, as an
// ApplicationMaster's is.
func (n *node) answer(q *wire.HeartbeatRequest) answer {
	r := n.last
	if r == nil {
		r = &wire.HeartbeatResponse{}
		n.last = r
	}
	*r = wire.HeartbeatResponse{
		ResponseID:  next(q.Status.ResponseID),
		Cleanup:     r.Cleanup[:0],
		CleanupApps: r.CleanupApps[:0],
		Remove:      r.Remove[:0],
	}
	return func() proto.Message {
		n.order(r, q)
		return r
	}
}

// order moves what the node is to do into its reply.
func (n *node) order(r *wire.HeartbeatResponse, q *wire.HeartbeatRequest) {
	m := n.m
	r.Interval, r.Resource = int32(m.config.Interval.Milliseconds()), n.resized
	r.Cleanup, r.CleanupApps, r.Remove, r.Signals, n.orders = n.cleanup, n.apps, n.remove, n.signals, orders{
		r.Cleanup,
		r.CleanupApps,
		r.Remove,
		r.Signals,
		nil,
	}
	if k := m.keys.container.Offered(); k.ID != q.ContainerKey.ID {
		r.ContainerKey = &k
	}
	if k := m.keys.node.Offered(); k.ID != q.NodeKey.ID {
		r.NodeKey = &k
	}
	n.resized = nil
}

// next is the response id after another; it stays positive.
func next(id int32) int32 { return (id + 1) & 0x7fffffff }

// tell makes a report of the node.
func (n *node) tell() wire.NodeReport {
	r := wire.NodeReport{ID: n.id, HTTPAddress: n.web, Rack: n.rack, Capacity: n.capacity,
		Containers: int32(
			len(n.containers),
		), State: n.state, Health: n.doing.health.Report, HealthTime: n.doing.health.Time,
		Utilization: slices.Clone(n.doing.utilization), Machine: slices.Clone(n.doing.machine)}
	if n.usable() && int(n.sched) <= len(n.m.core.Nodes) {
		r.Used = size(n.m.core.Node(n.sched).Used)
	}
	return r
}

// A nodeTable finds nodes and racks.
type nodeTable struct {
	byID  map[wire.NodeID]*node
	list  []*node // list[id-1], as the core has them
	gone  aging   // of list, those that have left and are remembered, longest ago first; for silent
	racks map[string]sched.RackID

	byPlace  map[string][]*node // by host and by rack, in order of ID
	classes  map[string]bool    // names of sizes of nodes
	topology *topology          // not the owner's alone
	hosts    hostSet            // that may be used
	up       int32              // of list, those that the core has
}

func newNodeTable() nodeTable {
	return nodeTable{
		byID:    map[wire.NodeID]*node{},
		racks:   map[string]sched.RackID{},
		byPlace: map[string][]*node{},
		classes: map[string]bool{},
	}
}

// What bounds nodes that come and go: those that have left and are remembered, and the classes that they are told apart
// by.
const (
	mostGone    = 1000
	mostClasses = 256
)

// class names the class of nodes of a size. Sizes beyond many are one class.
func (t *nodeTable) class(r wire.Resource) string {
	name := fmt.Sprintf("%dMiB-%d", r.Memory, r.VCores)
	if !t.classes[name] && len(t.classes) >= mostClasses {
		return "others"
	}
	t.classes[name] = true
	return name
}

// add puts a node that is new into the table, in the place of the one that left longest ago where many have left.
func (t *nodeTable) add(n *node) {
	if t.gone.count >= mostGone {
		old := t.gone.oldest().thing.(*node)
		t.forget(old)
		n.sched = old.sched
		t.list[n.sched-1] = n
	} else {
		t.list = append(t.list, n)
		n.sched = sched.NodeID(len(t.list))
	}
	t.byID[n.id] = n
	for _, place := range []string{n.id.Host, n.rack} {
		at, _ := slices.BinarySearchFunc(
			t.byPlace[place],
			n,
			func(a, b *node) int { return cmp.Compare(a.sched, b.sched) },
		)
		t.byPlace[place] = slices.Insert(t.byPlace[place], at, n)
	}
}

// forget takes a node that has left out of the table, all but its place.
func (t *nodeTable) forget(n *node) {
	n.silent.leave()
	delete(t.byID, n.id)
	for _, place := range []string{n.id.Host, n.rack} {
		list := t.byPlace[place]
		if i := slices.Index(list, n); len(list) > 1 {
			t.byPlace[place] = slices.Delete(list, i, i+1)
		} else {
			delete(t.byPlace, place)
		}
	}
	for _, app := range n.m.apps.list {
		delete(app.nodes, n)
		if a := app.current(); a != nil {
			delete(a.dues.tokens, n)
		}
	}
}

func (t *nodeTable) rackID(name string) sched.RackID {
	id, ok := t.racks[name]
	if !ok {
		id = sched.RackID(len(t.racks) + 1)
		t.racks[name] = id
	}
	return id
}

// usable counts the nodes that the core has.
func (t *nodeTable) usable() int32 { return t.up }

// named returns the nodes that a host or a rack stands for, in order.
func (t *nodeTable) named(place string) (ids []sched.NodeID) {
	for _, n := range t.byPlace[place] {
		ids = append(ids, n.sched)
	}
	return ids
}

// largest returns the most that one container may get: what the largest node has, within the configured maximum.
func (m *manager) largest() wire.Resource {
	var most wire.Resource
	for _, n := range m.nodes.list {
		if n.usable() {
			most = wire.Resource{
				Memory: max(most.Memory, n.capacity.Memory),
				VCores: max(most.VCores, n.capacity.VCores),
			}
		}
	}
	if most == (wire.Resource{}) {
		return wire.Resource{Memory: m.config.Sizes.MaxMemory, VCores: m.config.Sizes.MaxVCores}
	}
	return wire.Resource{
		Memory: min(most.Memory, m.config.Sizes.MaxMemory),
		VCores: min(most.VCores, m.config.Sizes.MaxVCores),
	}
}
