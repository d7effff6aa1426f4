package yarn

import (
	"context"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// tracker calls as NodeManagers do, one call after another.
func (c *cluster) tracker() *rpc.Client {
	c.t.Helper()
	d := rpc.Dialer{Protocol: wire.ResourceTracker, User: "yarn"}
	client, err := d.Dial(c.t.Context(), c.at.Tracker)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { client.Close() })
	return client
}

func registration(port int32, size wire.Resource) *wire.RegisterNodeRequest {
	return &wire.RegisterNodeRequest{
		Node:     wire.NodeID{Host: "127.0.0.1", Port: port},
		HTTPPort: 8042,
		Resource: size,
		Version:  wire.Version,
	}
}

// Of containers that are not known, a node is told to end each once, and so many in one answer; those that it reports
// again are in the next.
func TestUnknownContainers(t *testing.T) {
	c := start(t, nil)
	tracker := c.tracker()
	q := registration(4, wire.Resource{Memory: 4096, VCores: 4})
	invoke[wire.RegisterNodeResponse](c, tracker, "registerNodeManager", q)
	var list []wire.ContainerStatus
	for i := range 2 * mostUnknown {
		list = append(
			list,
			wire.ContainerStatus{
				ID: wire.ContainerID{
					Attempt: wire.AttemptID{App: wire.ApplicationID{ID: 7, Timestamp: 5}, Attempt: 1},
					ID:      int64(i + 1),
				},
				State: wire.ContainerRunning,
			},
		)
	}
	beat := func(id int32, list []wire.ContainerStatus) []wire.ContainerID {
		t.Helper()
		return invoke[wire.HeartbeatResponse](
			c,
			tracker,
			"nodeHeartbeat",
			&wire.HeartbeatRequest{
				Status: wire.NodeStatus{Node: q.Node, ResponseID: id, Health: wire.Health{OK: true}, Containers: list},
			},
		).Cleanup
	}
	if got := beat(0, append(list[:5:5], list[:5]...)); len(got) != 5 {
		t.Errorf("five that are reported twice: %d are to end", len(got))
	}
	if got := beat(1, list); len(got) != mostUnknown || got[0] != list[0].ID {
		t.Errorf("of %d, %d are to end", len(list), len(got))
	}
	if got := beat(2, list[mostUnknown:]); len(got) != mostUnknown || got[0] != list[mostUnknown].ID {
		t.Errorf("of the rest, %d are to end", len(got))
	}
}

// Sums of what nodes say that they have do not overflow: a size that is beyond all machines is refused, of NodeManagers
// and of operators.
func TestSizesOfNodes(t *testing.T) {
	c := start(t, nil)
	tracker, root := c.tracker(), c.operator("root")
	node := registration(9, wire.Resource{Memory: mostNodeMemory, VCores: mostNodeCores})
	if r := invoke[wire.RegisterNodeResponse](c, tracker, "registerNodeManager",
		node); r.Action == wire.NodeActShutdown {
		t.Fatalf("the largest is refused: %s", r.Diagnostics)
	}
	for _, bad := range []wire.Resource{{Memory: math.MaxInt64, VCores: 8}, {Memory: mostNodeMemory + 1, VCores: 8},
		{Memory: 4096, VCores: math.MaxInt32}, {Memory: -5, VCores: -5}} {
		if r := invoke[wire.RegisterNodeResponse](c, tracker, "registerNodeManager",
			registration(10, bad)); r.Action != wire.NodeActShutdown {
			t.Errorf("a node of %v is let in", bad)
		}
		err := root.Call(
			t.Context(),
			"updateNodeResource",
			&wire.UpdateNodeResource{Nodes: []wire.NodeResource{{Node: node.Node, Resource: bad}}},
			nil,
		)
		if err == nil || !strings.Contains(err.Error(), "must be up to") {
			t.Errorf("an operator makes a node of %v: %v", bad, err)
		}
	}
}

// A node that has left has no size to be changed: when it comes back, it has the size that it says, and is told no
// other one.
func TestSizeOfNodeThatLeft(t *testing.T) {
	f := newFew(t)
	n := f.m.nodes.list[0]
	f.do(func(*manager) (answer, error) { n.gone(wire.NodeLost); return nil, nil })
	_, err := f.do(func(m *manager) (answer, error) {
		return admin{m, m.config.Shown.User}.updateNodes(&wire.UpdateNodeResource{Nodes: []wire.NodeResource{
			{Node: n.id, Resource: wire.Resource{Memory: 512, VCores: 1}}}})
	})
	if class(err) != classYARN || !strings.Contains(err.Error(), "is not known") {
		t.Errorf("an operator changes its size: %v", err)
	}
	f.do(func(m *manager) (answer, error) {
		sizes := map[string]wire.Resource{n.name: {Memory: 512, VCores: 1}}
		admin{m, "root"}.refreshSizes(Refreshed{Nodes: sizes})
		admin{m, "root"}.refreshSizes(Refreshed{})
		return nil, nil
	})
	f.join("a", 1)
	f.beatNode(n)
	if want := (wire.Resource{Memory: 1024, VCores: 4}); n.capacity != want || n.last.Resource != nil {
		t.Errorf("it has %v and is told %v", n.capacity, n.last.Resource)
	}
}

// dynamic-resources.xml says how large nodes are, when they register and when an operator has it read again. Nodes are
// told by a heartbeat.
func TestDynamicResources(t *testing.T) {
	dir := withFile(t, "", dynamicFile, propertiesXML("yarn.resource.dynamic.nodes=n0:1, n1:2,\n"+
		"yarn.resource.dynamic.n0:1.memory=2048\nyarn.resource.dynamic.n0:1.vcores=3"))
	config, _, err := Site(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := newFleet(t, 2)
	f.do(func(m *manager) (answer, error) {
		admin{m, "root"}.refreshSizes(Refreshed{Nodes: config.Sizes.Nodes})
		return nil, nil
	})
	f.do(func(m *manager) (answer, error) {
		q := registration(3, wire.Resource{Memory: 4096, VCores: 8})
		q.Node.Host = "n0"
		q.Node.Port = f.m.nodes.list[0].id.Port
		return tracker{m}.register(q, &net.TCPAddr{})
	})
	for i, want := range []wire.Resource{{Memory: 2048, VCores: 3}, {Memory: dynamicMemory, VCores: dynamicCores}} {
		n := f.m.nodes.list[i]
		f.beatNode(n)
		if n.capacity != want || n.last.Resource == nil || *n.last.Resource != want {
			t.Errorf("node %s has %v and is told %v, want %v", n.name, n.capacity, n.last.Resource, want)
		}
	}
	for _, bad := range []string{"yarn.resource.dynamic.nodes=n0",
		"yarn.resource.dynamic.nodes=n0:1\nyarn.resource.dynamic.n0:1.memory=-1",
		"yarn.resource.dynamic.nodes=n0:1\nyarn.resource.dynamic.n0:1.overcommittimeout=5000"} {
		if _, _, err := Site(withFile(t, "", dynamicFile, propertiesXML(bad))); err == nil ||
			!strings.Contains(err.Error(), dynamicFile+": property yarn.resource.dynamic.n") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// NodeManagers that come under ever new names, and in ever new sizes, are not remembered for ever; and a new one in the
// place of an old one is not taken for it.
func TestNodesAreForgotten(t *testing.T) {
	f := newFew(t)
	f.allocate(asks("host7 1 true", "* 1 false")) // of a node to come
	leave := func(host string, port int32) {
		f.do(func(m *manager) (answer, error) {
			return tracker{m}.unregister(&wire.UnregisterNode{Node: wire.NodeID{Host: host, Port: port}})
		})
	}
	for i := range int32(3 * mostGone) {
		f.do(func(m *manager) (answer, error) {
			return tracker{m}.register(
				&wire.RegisterNodeRequest{
					Node:     wire.NodeID{Host: "h", Port: i + 1},
					Resource: wire.Resource{Memory: 1024 + int64(i), VCores: 4},
				},
				&net.TCPAddr{},
			)
		})
		leave("h", i+1)
	}
	n := &f.m.nodes
	const most = 3 + mostGone // three live
	if len(n.list) != most || len(n.byID) != most || len(f.m.core.Nodes) != most || len(n.byPlace["h"]) != mostGone ||
		len(f.m.core.Classes) > mostClasses+1 {
		t.Errorf(
			"%d nodes listed, %d by name, %d in the core, %d by host, of %d classes; want %d and %d, of %d",
			len(n.list),
			len(n.byID),
			len(f.m.core.Nodes),
			len(n.byPlace["h"]),
			len(f.m.core.Classes),
			most,
			mostGone,
			mostClasses+1,
		)
	}
	if n.byID[wire.NodeID{Host: "h", Port: 1}] != nil || n.byID[wire.NodeID{Host: "h", Port: 3 * mostGone}] == nil {
		t.Error("not the one that left longest ago is forgotten")
	}
	f.join("host7", 7)
	if got := f.allocate(&wire.AllocateRequest{}); !slices.Equal(got, []string{"host7"}) {
		t.Errorf("containers on %v, want on host7, which has the place of another", got)
	}
	leave("host7", 7)
	f.join("host7", 7) // and comes back, which those that have left may
	if got := f.allocate(asks("host7 1 true", "* 1 false")); !slices.Equal(got, []string{"host7"}) {
		t.Errorf("containers on %v, want on host7 again", got)
	}
	f.check()
}

// Containers go round the nodes with room, ApplicationMasters too; with Pack they fill one node before the next.
func TestContainersAreSpread(t *testing.T) {
	for _, pack := range []bool{false, true} {
		c := start(t, func(config *Config) { config.Room.Pack = pack })
		for range 3 {
			c.node()
		}
		c.task = func(ctx context.Context, _ wire.ContainerID) int32 { <-ctx.Done(); return 0 }
		c.master = c.job(5)
		id := c.submit(nil)
		var on []int
		c.until("6 containers run", func() bool {
			on = nil
			sum := 0
			for _, n := range c.nodes {
				running, _ := n.Running()
				on, sum = append(on, running), sum+running
			}
			return sum == 6
		})
		slices.Sort(on)
		if want := []int{2, 2, 2}; !pack && !slices.Equal(on, want) {
			t.Errorf("spread: %v containers run on the nodes, want %v", on, want)
		}
		if want := []int{0, 0, 6}; pack && !slices.Equal(on, want) {
			t.Errorf("packed: %v containers run on the nodes, want %v", on, want)
		}
		invoke[wire.KillResponse](c, c.client, "forceKillApplication", &wire.KillRequest{ID: id})
		c.clean(id)
	}
}

// exclude has an operator exclude hosts, gracefully; patience is in seconds, and negative: as long as it takes.
func (f *few) exclude(patience int32, hosts ...string) {
	f.do(func(m *manager) (answer, error) {
		q := &wire.RefreshNodes{How: wire.DecommissionGraceful, Timeout: int64(patience)}
		return admin{m, "root"}.refreshNodes(Hosts{Excluded: hosts}, q), nil
	})
}

// runOn has a container of the unmanaged application run on a host, and returns it.
func (f *few) runOn(host string) *container {
	f.t.Helper()
	f.allocate(asks(host+" 1 true", "* 1 false"))
	list := f.master.own()
	c := list[len(list)-1]
	f.report(c, wire.ContainerRunning)
	if c.node.id.Host != host || c.state != running {
		f.t.Fatalf("the container is on %s, in state %d", c.node.id.Host, c.state)
	}
	return c
}

// report has the node of a container report it in a state.
func (f *few) report(c *container, state wire.ContainerState) {
	q := &wire.HeartbeatRequest{Status: wire.NodeStatus{Node: c.node.id, Health: wire.Health{OK: true},
		Containers: []wire.ContainerStatus{{ID: c.id, State: state}}}}
	if last := c.node.last; last != nil {
		q.Status.ResponseID = last.ResponseID
	}
	f.do(func(m *manager) (answer, error) { return tracker{m}.heartbeat(q) })
}

// A node that is decommissioned gracefully may register again, as its NodeManager does when it was told to, or was
// started again: what runs there goes on. Another NodeManager of that host may not.
func TestLeavingNodeRegistersAgain(t *testing.T) {
	f := newFew(t)
	c := f.runOn("a")
	n := c.node
	f.exclude(-1, "a")
	register := func(port int32) wire.NodeAction {
		q := &wire.RegisterNodeRequest{Node: wire.NodeID{Host: "a", Port: port}, Resource: n.capacity,
			Containers: []wire.NodeContainer{{ID: c.id, State: wire.ContainerRunning, Resource: c.resource}}}
		r, _ := f.do(func(m *manager) (answer, error) { return tracker{m}.register(q, &net.TCPAddr{}) })
		return r.(*wire.RegisterNodeResponse).Action
	}
	if got := register(n.id.Port); got != wire.NodeNormal || n.state != wire.NodeDecommissioning || c.state != running {
		t.Errorf("it is answered by %d, the node is in state %d, its container in %d", got, n.state, c.state)
	}
	if got := f.allocate(asks("a 1 true", "* 1 false")); len(got) > 0 {
		t.Errorf("it gets containers: %v", got)
	}
	if got := register(99); got != wire.NodeActShutdown {
		t.Errorf("another one of its host is answered by %d", got)
	}
}

// A node that is decommissioned gracefully stays while an application lives that had a container there: reduces read
// the output of maps that have ended. It leaves with the end of the application, or when patience is over.
func TestLeavingNodeWaitsForApplications(t *testing.T) {
	for _, killed := range []bool{true, false} {
		f := newFew(t)
		c := f.runOn("a")
		n := c.node
		f.report(c, wire.ContainerComplete)
		f.exclude(60, "a", "b") // b has had no container
		if b := f.m.nodes.list[1]; b.state != wire.NodeDecommissioned || n.state != wire.NodeDecommissioning {
			t.Fatalf("the node without containers is in state %d, the other in %d", b.state, n.state)
		}
		f.beatNode(n)
		if n.state != wire.NodeDecommissioning {
			t.Errorf("while the application lives, the node is in state %d", n.state)
		}
		if killed {
			f.do(func(m *manager) (answer, error) {
				return client{m, "user"}.kill(nil, &wire.KillRequest{ID: f.master.app.id})
			})
			f.beatNode(n)
		} else {
			f.now = f.now.Add(61 * time.Second)
			f.f.turn(nil)
		}
		if n.state != wire.NodeDecommissioned {
			t.Errorf("killed %v: the node is in state %d in the end", killed, n.state)
		}
	}
}

// A graceful decommission may take as long as the message says, and as long as configured only where it says nothing.
// rmadmin says -1 where its user gives no time: as long as it takes.
func TestPatience(t *testing.T) {
	const configured = 30 * time.Minute
	graceful := slices.Clip(proto.AppendInt32(nil, 1, int32(wire.DecommissionGraceful)))
	for _, c := range []struct {
		text []byte
		want time.Duration
	}{{graceful, configured}, {proto.AppendInt32(graceful, 2, -1), mostTime},
		{proto.AppendInt32(graceful, 2, 90), 90 * time.Second}, {proto.AppendInt32(graceful, 2, 0), 0}} {
		f := newFew(t)
		n := f.runOn("a").node
		var q wire.RefreshNodes
		if err := q.Decode(c.text); err != nil {
			t.Fatal(err)
		}
		f.do(func(m *manager) (answer, error) {
			m.config.Expiry.Graceful = configured
			return admin{m, "root"}.refreshNodes(Hosts{Excluded: []string{"a"}}, &q), nil
		})
		if c.want == 0 {
			if n.state != wire.NodeDecommissioned {
				t.Errorf("at once: the node is in state %d", n.state)
			}
			continue
		}
		if got := n.farewell.patience.at.Sub(f.now); got != c.want {
			t.Errorf("%x: the node may take %v, want %v", c.text, got, c.want)
		}
	}
}

// A node that is decommissioned gracefully stays that when it is unhealthy and when it is healthy again, as in Hadoop:
// what runs there goes on, it gets no containers, and it leaves when patience is over.
func TestLeavingNodeIsUnhealthy(t *testing.T) {
	f := newFew(t)
	c := f.runOn("a")
	n := c.node
	f.exclude(60, "a")
	for _, healthy := range []bool{false, true} {
		q := &wire.HeartbeatRequest{Status: wire.NodeStatus{
			Node: n.id, ResponseID: n.last.ResponseID, Health: wire.Health{OK: healthy}}}
		f.do(func(m *manager) (answer, error) { return tracker{m}.heartbeat(q) })
		if n.state != wire.NodeDecommissioning || c.state != running {
			t.Errorf("healthy %v: the node is in state %d, its container in %d", healthy, n.state, c.state)
		}
	}
	if got := f.allocate(asks("a 1 true", "* 1 false")); len(got) > 0 {
		t.Errorf("it gets containers: %v", got)
	}
	f.now = f.now.Add(61 * time.Second)
	if f.f.turn(nil); n.state != wire.NodeDecommissioned {
		t.Errorf("after its patience the node is in state %d", n.state)
	}
}

// A node that is not to be decommissioned any more gets containers if it is healthy. If it is not, it is unhealthy as
// other nodes are, until it reports that it is healthy.
func TestRecommissionedNodeIsUnhealthy(t *testing.T) {
	f := newFew(t)
	c := f.runOn("a")
	n := c.node
	beat := func(healthy bool) {
		q := &wire.HeartbeatRequest{Status: wire.NodeStatus{
			Node: n.id, ResponseID: n.last.ResponseID, Health: wire.Health{OK: healthy}}}
		f.do(func(m *manager) (answer, error) { return tracker{m}.heartbeat(q) })
	}
	f.exclude(60, "a")
	f.exclude(60)
	if n.state != wire.NodeRunning || c.state != running {
		t.Errorf("a healthy node is in state %d, its container in %d", n.state, c.state)
	}
	f.allocate(asks("b 1 true", "* 1 false"))
	silent := f.m.nodes.byPlace["b"][0]
	f.exclude(60, "b")
	f.exclude(60)
	if silent.state != wire.NodeRunning || len(silent.containers) != 1 {
		t.Errorf("a node that has registered and not beaten is in state %d, with %d containers",
			silent.state, len(silent.containers))
	}
	f.exclude(60, "a")
	beat(false)
	f.exclude(60)
	if got := f.allocate(asks("a 1 true", "* 1 false")); n.state != wire.NodeUnhealthy || len(got) > 0 {
		t.Errorf("an unhealthy node is in state %d, and gets %v", n.state, got)
	}
	if c.state != done {
		t.Errorf("the container of an unhealthy node is in state %d", c.state)
	}
	beat(true)
	if got := f.allocate(asks()); n.state != wire.NodeRunning || len(got) != 1 {
		t.Errorf("a node that is healthy again is in state %d, and gets %v", n.state, got)
	}
	f.now = f.now.Add(61 * time.Second)
	if f.f.turn(nil); n.state != wire.NodeRunning {
		t.Errorf("after the patience of its decommission the node is in state %d", n.state)
	}
}

// How long a node may take to leave gracefully is what the file says of its host, before what the operator says.
func TestLeavingNodeOfAFile(t *testing.T) {
	for _, c := range []struct {
		file, after time.Duration
		how         wire.Decommissioning
		want        wire.NodeState
	}{
		{time.Minute, 61 * time.Second, wire.DecommissionGraceful, wire.NodeDecommissioned},
		{20 * time.Second, 19 * time.Second, wire.DecommissionGraceful, wire.NodeDecommissioning},
		{20 * time.Second, 21 * time.Second, wire.DecommissionGraceful, wire.NodeDecommissioned},
		{-time.Second, 9 * time.Minute, wire.DecommissionGraceful, wire.NodeDecommissioning},
		{time.Minute, 0, wire.DecommissionNormal, wire.NodeDecommissioned},
	} {
		f := newFew(t)
		n := f.runOn("a").node
		hosts := Hosts{Excluded: []string{"a"}, Patience: map[string]time.Duration{"a": c.file}}
		f.do(func(m *manager) (answer, error) {
			return admin{m, "root"}.refreshNodes(hosts, &wire.RefreshNodes{How: c.how, Timeout: 300}), nil
		})
		f.now = f.now.Add(c.after)
		if f.f.turn(nil); n.state != c.want {
			t.Errorf("%v in the file, %v later: the node is in state %d, want %d", c.file, c.after, n.state, c.want)
		}
	}
}

// An ApplicationMaster is told of nodes that have changed, a bounded number in an answer, each node once however often
// it has changed until then, in its last state. What is kept of changes does not grow with them.
func TestNewsOfNodesComeInParts(t *testing.T) {
	f := newFew(t)
	f.allocate(&wire.AllocateRequest{}) // hears of a, b and c, if it was not there when they came
	const count = 2*mostNews + 50
	for i := range int32(count) {
		f.join("h", i+1)
	}
	leave := func(n *node) {
		f.do(func(m *manager) (answer, error) {
			return tracker{m}.unregister(&wire.UnregisterNode{Node: n.id})
		})
	}
	last := f.m.nodes.list[len(f.m.nodes.list)-1]
	leave(last)
	seen := map[wire.NodeID]int{}
	for range 4 {
		f.allocate(&wire.AllocateRequest{})
		news := f.master.dues.last.UpdatedNodes
		if len(news) > mostNews {
			t.Errorf("%d nodes in an answer", len(news))
		}
		for _, r := range news {
			seen[r.ID]++
			if want := wire.NodeRunning; seen[r.ID] > 1 || r.State != want && r.ID != last.id {
				t.Errorf("node %s is told of %d times, in state %d", r.ID, seen[r.ID], r.State)
			}
			if r.ID == last.id && r.State != wire.NodeShutdown {
				t.Errorf("the node that has left is told of in state %d", r.State)
			}
		}
	}
	if len(seen) != count {
		t.Errorf("%d nodes are told of, want %d", len(seen), count)
	}
	for range 10 * count {
		f.join("h", count)
		leave(last)
	}
	f.allocate(&wire.AllocateRequest{})
	if news := f.master.dues.last.UpdatedNodes; len(news) != 1 || news[0].State != wire.NodeShutdown {
		t.Errorf("of a node that came and left again and again is told: %+v", news)
	}
	if most := 2*len(f.m.nodes.list) + 1; len(f.m.nodes.news) > most {
		t.Errorf("%d changes are kept, want %d at most", len(f.m.nodes.news), most)
	}
}
