package yarn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// A tracker carries out the calls of NodeManagers within a turn.
type tracker struct{ m *manager }

// newTracker returns the server that NodeManagers call.
func newTracker(f *front) *rpc.Server {
	return &rpc.Server{Protocol: wire.ResourceTracker, Log: f.log.Logger, Methods: map[string]rpc.Method{
		"registerNodeManager":   registerNode(f),
		"nodeHeartbeat":         beatInParts(f),
		"unRegisterNodeManager": byNode(f, tracker.unregister),
	}}
}

// errUnresolved says that a turn needs the addresses of a host, which are to be looked up outside of turns.
var errUnresolved = errors.New("the addresses of the host are not known")

// registerNode returns the Method of registerNodeManager. It looks up what the turn must know of the host: its
// addresses and its rack. It begins again if the lists of hosts have come to name addresses meanwhile.
func registerNode(f *front) rpc.Method {
	return rpc.Handle(func(ctx context.Context, c *rpc.Call, q *wire.RegisterNodeRequest) (proto.Message, error) {
		for {
			learnAddresses(ctx, f, q.Node.Host)
			if !f.topology.knows(q.Node.Host) {
				learnRack(ctx, f, q)
			}
			r, err := f.attend(c, func(m *manager) (answer, error) {
				if m.nodes.unresolved(q.Node.Host) {
					return nil, errUnresolved
				}
				return tracker{m}.register(q, c.Remote)
			})
			if err != errUnresolved {
				return r, err
			}
		}
	})
}

// learnAddresses looks up the addresses of a host, if the lists of hosts name addresses.
func learnAddresses(ctx context.Context, f *front, host string) {
	wanted := false
	f.look(func(m *manager) { wanted = m.nodes.hosts.addressed })
	if !wanted {
		return
	}
	if err := f.resolver.learn(ctx, host); err != nil {
		f.logUnresolved(host, err)
	}
}

// logUnresolved logs that the addresses of a host are not found. The host is compared with lists by those that were
// found before, and by its name.
func (f *front) logUnresolved(host string, err error) {
	f.log.refused("addresses not found", "host", host, "why", err)
}

// byNode returns an rpc.Method that decodes a request of a NodeManager and calls do with it, within a turn of the
// owner.
func byNode[Q any, P interface {
	*Q
	proto.Described
}](f *front, do func(tracker, *Q) (answer, error)) rpc.Method {
	return rpc.Handle[Q, P](func(_ context.Context, c *rpc.Call, q *Q) (proto.Message, error) {
		return f.attend(c, func(m *manager) (answer, error) { return do(tracker{m}, q) })
	})
}

// beatInParts returns the Method of nodeHeartbeat. It takes a beat with more than partOfCall reports in several turns,
// so that other callers wait for one part at most. The last part is answered.
func beatInParts(f *front) rpc.Method {
	return rpc.Handle(func(_ context.Context, c *rpc.Call, q *wire.HeartbeatRequest) (proto.Message, error) {
		rest := *q
		s := &rest.Status
		for len(s.Containers) > partOfCall || len(s.Increased) > partOfCall || len(rest.Logs) > partOfCall {
			var part wire.HeartbeatRequest
			part.Status.Node, part.Status.ResponseID = s.Node, s.ResponseID
			part.Status.Containers, s.Containers = cutAt(s.Containers, partOfCall)
			part.Status.Increased, s.Increased = cutAt(s.Increased, partOfCall)
			part.Logs, rest.Logs = cutAt(rest.Logs, partOfCall)
			_, err := f.attend(c, func(m *manager) (answer, error) { return tracker{m}.takePart(&part) })
			if err != nil {
				return nil, err
			}
		}
		return f.attend(c, func(m *manager) (answer, error) { return tracker{m}.heartbeat(&rest) })
	})
}

// learnRack finds out the rack of a node, if the node may join.
func learnRack(ctx context.Context, f *front, q *wire.RegisterNodeRequest) {
	refused := ""
	f.look(func(m *manager) { refused = tracker{m}.refuses(q) })
	if refused != "" {
		return
	}
	if err := f.topology.learn(ctx, q.Node.Host); err != nil {
		f.log.refused("rack not known", "node", cut(q.Node.String(), mostLogged), "why", err, "rack", DefaultRack)
	}
}

// register registers a NodeManager: a new one, one that returns, or one that was told to register again.
func (t tracker) register(q *wire.RegisterNodeRequest, remote net.Addr) (answer, error) {
	if why := t.refuses(q); why != "" {
		t.m.log.refused("node refused", "node", cut(q.Node.String(), mostLogged), "why", cut(why, mostLogged))
		return reply(&wire.RegisterNodeResponse{Action: wire.NodeActShutdown, Diagnostics: why})
	}
	n := t.m.nodes.byID[q.Node]
	if n == nil {
		n = t.newNode(q.Node)
	}
	n.web, n.service = net.JoinHostPort(q.Node.Host, strconv.Itoa(int(q.HTTPPort))), service(q.Node, remote)
	n.registration++
	q.Resource = n.offered(q.Resource)
	if to := t.m.nodes.sizeOf(q.Node, q.Resource); to != q.Resource {
		n.sizes.own, q.Resource = &to, to
	}
	n.version = cut(q.Version, mostTitle)
	last := n.last
	n.last, n.heard = nil, t.m.now
	n.trust()
	if n.usable() {
		n.beats()
		if n.capacity != q.Resource {
			n.resize(q.Resource)
		}
	} else {
		n.silent.leave()
		n.hush(false)
		t.m.live.nodes.watch(&n.silent, t.m.now, n)
		n.capacity = q.Resource
		n.join()
	}
	n.merge(q)
	signalAgain(n, last)
	t.m.log.Info(
		"node registered",
		"node",
		n.name,
		"rack",
		n.rack,
		"memory",
		n.capacity.Memory,
		"vcores",
		n.capacity.VCores,
		"containers",
		len(q.Containers),
	)
	n.collected(q.Logs)
	return reply(
		&wire.RegisterNodeResponse{
			ContainerKey:    t.m.keys.container.Current(), // that tokens are signed with; a beat brings one offered
			NodeKey:         t.m.keys.node.Current(),
			ResourceManager: t.m.identity(),
		},
	)
}

// refuses returns the reason why a NodeManager may not join; "": it may.
func (t tracker) refuses(q *wire.RegisterNodeRequest) string {
	s, known := t.m.config.Sizes, t.m.nodes.byID[q.Node]
	leaving := known != nil && known.state == wire.NodeDecommissioning // it may register again, and stays that
	switch {
	case !wellNamed(q.Node.Host):
		return fmt.Sprintf("NodeManager from %.300q: its host must be named by %s", q.Node.Host, nameRule)
	case known == nil && len(t.m.nodes.list)-t.m.nodes.gone.count >= mostNodes:
		return fmt.Sprintf("NodeManager from %s: there are %d already, which is the most", q.Node.Host, mostNodes)
	case !t.m.nodes.allows(q.Node.Host) && !leaving:
		return fmt.Sprintf("Disallowed NodeManager from %s, sending SHUTDOWN signal to the NodeManager.", q.Node.Host)
	case q.Resource.Memory < s.MinMemory || q.Resource.VCores < s.MinVCores:
		return fmt.Sprintf(
			"NodeManager from %s has %d MiB and %d cores: at least %d MiB and %d cores are needed for one container",
			q.Node.Host,
			q.Resource.Memory,
			q.Resource.VCores,
			s.MinMemory,
			s.MinVCores,
		)
	}
	if wrong := s.checkNode(q.Resource); wrong != "" {
		return "NodeManager from " + q.Node.Host + " " + wrong
	}
	if n := max(len(q.Containers), len(q.Apps), len(q.Logs)); n > mostReported {
		return fmt.Sprintf("NodeManager from %s reports %d containers or applications, may report %d: clear its "+
			"local folders and start it again", q.Node.Host, n, mostReported)
	}
	return ""
}

// Limits on nodes, and on what a node reports when it registers.
const (
	mostReported = 1 << 16 // containers on it, and applications: one turn takes them in
	mostNodes    = 100_000 // beside those that have left and are remembered
)

// checkNode returns the reason why a node must not have size r; "": there is none. Sums over nodes must not overflow.
func (s Sizes) checkNode(r wire.Resource) string {
	if r.Memory < 0 || r.Memory > mostNodeMemory || r.VCores < 0 || r.VCores > mostNodeCores {
		return fmt.Sprintf(
			"has %d MiB and %d cores: must be up to %d MiB and %d cores, and not below zero",
			r.Memory,
			r.VCores,
			int64(mostNodeMemory),
			mostNodeCores,
		)
	}
	return s.checkKinds(r)
}

// offered returns the resources r of a node in the units of this ResourceManager, without the kinds that are not
// configured. It logs these, which are not scheduled.
func (n *node) offered(r wire.Resource) wire.Resource {
	if r.Others == "" {
		return r
	}
	a := sched.Resources{sched.Memory: r.Memory, sched.VCores: int64(r.VCores)}
	for _, kind := range n.m.config.Sizes.others(&a, r.Others) {
		n.m.log.Info("a resource of a node is not scheduled", "node", n.name, "kind", cut(kind, mostName))
	}
	return n.m.config.Sizes.size(a)
}

// newNode adds a node to the table of nodes.
func (t tracker) newNode(id wire.NodeID) *node {
	rack := t.m.nodes.topology.of(id.Host)
	n := &node{m: t.m, id: id, name: id.String(), rack: rack, state: wire.NodeNew, quiet: new(atomic.Bool)}
	t.m.nodes.add(n)
	return n
}

// service returns the name of a node in tokens: the address from which it calls, as in stock ResourceManagers.
func service(id wire.NodeID, remote net.Addr) string {
	host := id.Host
	if a, ok := remote.(*net.TCPAddr); ok {
		host = a.IP.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(int(id.Port)))
}

// merge compares the containers that a registering node has with those that it should have. A container that the node
// does not have is lost. A container that it should not have is ended. The node is told the size of a container that
// has another one there, and to clean up after applications that are over or not known here: the answer that said so
// before may be lost.
func (n *node) merge(q *wire.RegisterNodeRequest) {
	n.find(q)
	there := map[wire.ContainerID]bool{}
	statuses := make([]wire.ContainerStatus, len(q.Containers))
	for i, c := range q.Containers {
		there[c.ID] = true
		switch known := n.m.container(c.ID); {
		case known == nil:
		case known.leaving != nil:
			n.stop(c.ID)
		case known.node == n:
			known.compare(c.Resource)
		}
		statuses[i] = wire.ContainerStatus{ID: c.ID, State: c.State, Diagnostics: c.Diagnostics, Exit: c.Exit}
	}
	for _, c := range n.sorted() {
		if c.state == running && !there[c.id] {
			c.lost(saidUnknown)
		}
	}
	n.reported(statuses)
	for _, id := range q.Apps {
		switch app := n.m.apps.byID[id]; {
		case app != nil && !app.over:
			n.serve(app)
		case len(n.apps) < mostUnknown:
			n.apps = append(n.apps, id)
		}
	}
	if q.Status != nil {
		n.checked(q.Status)
	}
}

// signalAgain queues again the signals of last, the last answer before node n registered, which may be lost. The node
// gets a signal twice if it is not. last may be nil.
func signalAgain(n *node, last *wire.HeartbeatResponse) {
	if last == nil {
		return
	}
	var again []wire.Signal
	for _, s := range last.Signals {
		if c := n.m.container(s.Container); c != nil && c.node == n && c.state == running {
			again = append(again, s)
		}
	}
	again = again[:min(len(again), mostSignals-len(n.signals))]
	n.signals = append(again, n.signals...)
}

// takePart takes in what a part of a heartbeat reports, and makes no answer. If the heartbeat must be refused, or its
// answer repeated, takePart does nothing: heartbeat does that with the last part.
func (t tracker) takePart(q *wire.HeartbeatRequest) (answer, error) {
	n := t.m.nodes.byID[q.Status.Node]
	if n == nil || !n.here() {
		return nil, nil
	}
	want := int32(0)
	if n.last != nil {
		want = n.last.ResponseID
	}
	if q.Status.ResponseID == want {
		n.beats()
		n.reports(q)
	}
	return nil, nil
}

// reports takes in what a node reports of containers and logs.
func (n *node) reports(q *wire.HeartbeatRequest) {
	n.reported(q.Status.Containers)
	n.increased(q.Status.Increased)
	n.collected(q.Logs)
}

// heartbeat updates a node by its heartbeat, and answers with its orders. A repeated heartbeat gets the same answer
// again.
func (t tracker) heartbeat(q *wire.HeartbeatRequest) (answer, error) {
	n, host := t.m.nodes.byID[q.Status.Node], q.Status.Node.Host
	switch {
	case (n == nil || n.state == wire.NodeDecommissioned) && !t.m.nodes.unresolved(host) && !t.m.nodes.allows(host):
		return reply(
			&wire.HeartbeatResponse{
				Action:      wire.NodeActShutdown,
				Diagnostics: "Disallowed NodeManager nodeId: " + q.Status.Node.String(),
			},
		)
	case n == nil || !n.here():
		return reply(
			&wire.HeartbeatResponse{
				Action:      wire.NodeResync,
				Diagnostics: "Node not found resyncing " + q.Status.Node.String(),
			},
		)
	}
	switch id := q.Status.ResponseID; {
	case n.last != nil && next(id) == n.last.ResponseID:
		n.beats()
		return reply(n.last)
	case n.last != nil && id != n.last.ResponseID || n.last == nil && id != 0:
		return reply(
			&wire.HeartbeatResponse{
				Action:      wire.NodeResync,
				Diagnostics: fmt.Sprintf("Too far behind rm response id: nm response id:%d", id),
			},
		)
	}
	n.beats()
	n.checked(&q.Status)
	n.reports(q)
	if n.state == wire.NodeDecommissioning && n.idle() {
		n.gone(wire.NodeDecommissioned)
		return reply(&wire.HeartbeatResponse{Action: wire.NodeActShutdown, Diagnostics: "decommissioned"})
	}
	return n.answer(q), nil
}

// unregister removes a node that ends. The node itself kills its containers.
func (t tracker) unregister(q *wire.UnregisterNode) (answer, error) {
	if n := t.m.nodes.byID[q.Node]; n != nil && n.here() {
		n.gone(wire.NodeShutdown)
	}
	return nil, nil
}
