package yarn

import (
	"context"
	"math"
	"net"
	"slices"
	"strings"
	"testing"

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
