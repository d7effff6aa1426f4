package yarn

import (
	"cmp"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// mostUnknown bounds the unknown containers that a node is told to end in one answer, and those that it is told to
// forget. The node reports the rest again.
const mostUnknown = 10_000

// join adds the node to the core. The node counts as healthy until it reports that it is not.
func (n *node) join() {
	if n.state != wire.NodeNew {
		n.m.step() // it may have been lost in this turn, and in one Step the core applies joins before losses
	}
	n.become(wire.NodeRunning)
	n.doing.health.OK = true
	n.m.note(sched.Event{Kind: sched.NodeJoined, Node: n.sched, Body: n.spec()})
	n.m.nodes.changes(n)
}

// beats notes a heartbeat of the node. If the node was quiet, it gets containers again.
func (n *node) beats() {
	n.heard = n.m.now
	if !n.quiet.Load() {
		n.silent.touch(n.m.now)
		return
	}
	n.hush(false)
	n.m.live.nodes.watch(&n.silent, n.m.now, n)
	n.offer()
	n.m.apps.retry(n.m)
}

// leave removes the node from the core. Its containers are lost.
func (n *node) leave(to wire.NodeState) {
	n.m.live.off(n.farewell.patience)
	was := n.usable()
	n.become(to)
	if was {
		n.m.note(sched.Event{Kind: sched.NodeLost, Node: n.sched})
	}
	for _, c := range n.sorted() {
		c.lost(saidLost)
	}
	n.m.nodes.changes(n)
}

// gone is leave for a node that beats no more: it has ended, was decommissioned, or is lost. The node is remembered
// until mostGone others have left after it.
func (n *node) gone(to wire.NodeState) {
	n.silent.leave()
	n.leave(to)
	n.orders, n.sizes, n.last = orders{}, newSizes{}, nil
	n.m.nodes.gone.watch(&n.silent, n.m.now, n)
	n.m.log.Info("node left", "node", n.name, "state", int32(to))
}

// sorted returns the containers in order of allocation, so that what follows from the loss of the node is
// deterministic.
func (n *node) sorted() []*container {
	return slices.SortedFunc(
		slices.Values(n.containers),
		func(a, b *container) int { return cmp.Compare(a.lease, b.lease) },
	)
}

// expired is called when the node has been silent for Config.Quiet, and again when it has been silent for Expiry.Node.
// After the first time it gets no containers, since it may be dead. After the second time it is lost.
func (n *node) expired() {
	if n.quiet.Load() {
		n.gone(wire.NodeLost)
		return
	}
	n.hush(true)
	n.m.live.quiet.watch(&n.silent, n.heard, n)
	n.offer()
	n.m.apps.retry(n.m)
}

// resize gives the node another capacity.
func (n *node) resize(to wire.Resource) {
	n.capacity, n.m.nodes.changed = to, true
	n.offer()
}

// idle reports whether the node is not needed any more: no container runs there, and no application that lives has had
// a container there. Such an application might still read what its containers have left, as reduces read the output of
// maps.
func (n *node) idle() bool { return len(n.containers) == 0 && n.farewell.needed == 0 }

// serve notes that an application has had a container on the node.
func (n *node) serve(app *application) {
	if !app.nodes[n] {
		app.nodes[n] = true
		n.farewell.needed++
	}
}

// decommission decommissions the node: at once, or gracefully if patience is above zero. Then the node ends when it is
// idle, at the latest after patience, and gets no containers until then.
func (n *node) decommission(patience time.Duration) {
	switch {
	case n.state != wire.NodeRunning && n.state != wire.NodeUnhealthy && n.state != wire.NodeDecommissioning:
	case patience <= 0 || n.idle():
		n.gone(wire.NodeDecommissioned)
	case n.state == wire.NodeUnhealthy: // no container runs there
		n.gone(wire.NodeDecommissioned)
	default:
		n.m.live.off(n.farewell.patience)
		n.farewell.patience = n.m.live.at(n.m.now.Add(patience), func() { n.gone(wire.NodeDecommissioned) })
		if n.state == wire.NodeDecommissioning {
			return
		}
		n.become(wire.NodeDecommissioning)
		n.offer()
		n.m.nodes.changes(n)
	}
}

// recommission cancels the graceful decommission of the node. If the node is unhealthy, it leaves the core until it is
// healthy.
func (n *node) recommission() {
	if !n.doing.health.OK {
		n.leave(wire.NodeUnhealthy)
		return
	}
	n.m.live.off(n.farewell.patience)
	n.become(wire.NodeRunning)
	n.offer()
	n.m.nodes.changes(n)
}

// checked updates the node by its own report of its health and use. An unhealthy node leaves the core, and joins again
// when it is healthy. A node that is being decommissioned gracefully stays that, as in Hadoop: it gets no containers,
// and those that run there may end by themselves.
func (n *node) checked(s *wire.NodeStatus) {
	use, machine := bounded(n.doing.utilization, s.Utilization), bounded(n.doing.machine, s.Machine)
	n.doing = doing{s.Health, use, machine, n.doing.others}
	n.doing.health.Report = cut(s.Health.Report, mostHealth)
	n.measure()
	n.learnUse()
	switch {
	case s.Health.OK && n.state == wire.NodeUnhealthy:
		n.join()
	case !s.Health.OK && n.state == wire.NodeRunning:
		n.leave(wire.NodeUnhealthy)
	}
}

// Limits on what a node reports of its health and its use, in bytes.
const (
	mostHealth = 4 << 10
	mostUse    = 4 << 10
)

// bounded returns a copy of said, a message of a node, in the memory of to. It is empty if said is longer than mostUse.
func bounded(to, said proto.Raw) proto.Raw {
	if len(said) > mostUse {
		said = nil
	}
	return append(to[:0], said...)
}

// reported updates the containers that a node reports. A container that is not known is ended, and forgotten when it
// has ended. If it belongs to an application that is over, it was started after the node had been told of the
// application's end: the node is told again.
func (n *node) reported(list []wire.ContainerStatus) {
	cleaned := map[wire.ApplicationID]bool{}
	for i := range list {
		s := &list[i]
		s.Diagnostics = cut(s.Diagnostics, mostDiagnostics)
		c := n.m.container(s.ID)
		if id := s.ID.Attempt.App; c == nil && !cleaned[id] {
			cleaned[id] = true
			if app := n.m.apps.byID[id]; (app == nil || app.over) && len(n.apps) < mostUnknown {
				n.apps = append(n.apps, id)
			}
		}
		switch {
		case c != nil && c.node == n:
			c.follow(s)
		case s.State == wire.ContainerComplete:
			if len(n.remove) < mostUnknown {
				n.remove = append(n.remove, s.ID)
			}
		case len(n.cleanup) < mostUnknown:
			n.stop(s.ID)
		}
	}
}

// answer begins the reply to heartbeat q, and returns the function that completes it after the Step. The reply is kept,
// to be sent again if it is lost.
func (n *node) answer(q *wire.HeartbeatRequest) func() proto.Message {
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

// order moves the node's orders into reply r.
func (n *node) order(r *wire.HeartbeatResponse, q *wire.HeartbeatRequest) {
	m := n.m
	r.Interval, r.Resource = int32(m.config.Interval.Milliseconds()), n.sizes.own
	r.Cleanup, r.CleanupApps, r.Remove, r.Signals, n.orders = n.cleanup, n.apps, n.remove, n.signals, orders{
		r.Cleanup,
		r.CleanupApps,
		r.Remove,
		r.Signals,
		nil,
	}
	for _, c := range n.sizes.containers {
		if c.growth.unsent = false; c.state != done {
			r.Updates = append(r.Updates, c.sized())
		}
	}
	if k := m.keys.container.Offered(); k.ID != q.ContainerKey.ID {
		r.ContainerKey = &k
	}
	if k := m.keys.node.Offered(); k.ID != q.NodeKey.ID {
		r.NodeKey = &k
	}
	n.sizes = newSizes{}
}
