package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// A node is a NodeManager without processes: a container that it is given has ended by the next beat. As Hadoop's do,
// it repeats what has ended until it is told that all who must know do, and waits an interval between a reply and the
// next beat. Its goroutine owns it but for started.
type node struct {
	id     wire.NodeID
	caller *rpc.Caller
	beat   wire.HeartbeatRequest // all of the next; Containers: what has ended and was not acknowledged
	reply  wire.HeartbeatResponse
	at     map[wire.ContainerID]int // in beat's Containers
	each   bool                     // a beat for each container that ends, when it ends
	beats  atomic.Int64

	mu      sync.Mutex
	started []wire.ContainerID
	wake    chan struct{} // of capacity 1: something was started, and each
}

// firstPort is the port of node 0. No process listens there: containers are started by hand.
const firstPort = 10_000

// nodeID names node i. The host is an address of the loopback network, so that no name server is asked.
func nodeID(i int) wire.NodeID {
	return wire.NodeID{Host: fmt.Sprintf("127.1.%d.%d", i/250, i%250+1), Port: int32(firstPort + i)}
}

// newNode registers node i.
func newNode(ctx context.Context, i int, o *Options) (*node, error) {
	n := &node{id: nodeID(i), each: o.Each, at: map[wire.ContainerID]int{}, wake: make(chan struct{}, 1)}
	d := rpc.Dialer{Protocol: wire.ResourceTracker, User: "yarn", From: net.ParseIP(n.id.Host)}
	var err error
	if n.caller, err = d.DialCaller(ctx, o.Addresses.Tracker); err != nil {
		return nil, err
	}
	room := wire.Resource{Memory: int64(o.Slots) * containerSize.Memory, VCores: int32(o.Slots) * containerSize.VCores}
	var r wire.RegisterNodeResponse
	if err := n.caller.Call("registerNodeManager",
		&wire.RegisterNodeRequest{Node: n.id, HTTPPort: 8042, Resource: room, Version: wire.Version,
			Physical: &room}, &r); err != nil {
		return nil, err
	}
	if r.Action != wire.NodeNormal {
		return nil, fmt.Errorf("node %s is refused: %s", n.id, r.Diagnostics)
	}
	used := proto.AppendFloat(
		proto.AppendInt32(proto.AppendInt32(nil, 1, 0), 2, 0),
		3,
		0,
	) // as a node where nothing runs says
	n.beat = wire.HeartbeatRequest{ContainerKey: r.ContainerKey, NodeKey: r.NodeKey}
	n.beat.Status = wire.NodeStatus{
		Node:        n.id,
		Health:      wire.Health{OK: true, Time: time.Now().UnixMilli()},
		Utilization: used,
		Machine:     used,
	}
	return n, nil
}

// run beats until ctx is done or a beat fails.
func (n *node) run(ctx context.Context, c *cluster) error {
	interval := c.o.Beat
	stop := context.AfterFunc(ctx, func() { n.caller.Close() })
	defer stop()
	timer := time.NewTimer(rand.N(interval)) // so that nodes do not beat together
	defer timer.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
			if !n.each {
				n.take()
			}
			began := time.Now()
			err = n.once()
			c.beats.note(time.Since(began))
			timer.Reset(interval)
		case <-n.wake:
			err = n.eachEnds()
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("node %s: %w", n.id, err)
		}
	}
}

// start gives the node a container to run.
func (n *node) start(id wire.ContainerID) {
	n.mu.Lock()
	n.started = append(n.started, id)
	n.mu.Unlock()
	if n.each {
		select {
		case n.wake <- struct{}{}:
		default:
		}
	}
}

// take ends what was started.
func (n *node) take() {
	n.mu.Lock()
	for _, id := range n.started {
		n.ended(id)
	}
	n.started = n.started[:0]
	n.mu.Unlock()
}

func (n *node) ended(id wire.ContainerID) {
	s := &n.beat.Status
	n.at[id] = len(s.Containers)
	s.Containers = append(s.Containers, wire.ContainerStatus{ID: id, State: wire.ContainerComplete})
}

// eachEnds ends what was started, one container a beat.
func (n *node) eachEnds() error {
	n.mu.Lock()
	list := append([]wire.ContainerID(nil), n.started...)
	n.started = n.started[:0]
	n.mu.Unlock()
	for _, id := range list {
		n.ended(id)
		if err := n.once(); err != nil {
			return err
		}
	}
	return nil
}

// once beats.
func (n *node) once() error {
	n.reply = wire.HeartbeatResponse{Remove: n.reply.Remove[:0]}
	if err := n.caller.Call("nodeHeartbeat", &n.beat, &n.reply); err != nil {
		return err
	}
	if n.reply.Action != wire.NodeNormal {
		return fmt.Errorf("told to do %d: %s", n.reply.Action, n.reply.Diagnostics)
	}
	n.beats.Add(1)
	s := &n.beat.Status
	s.ResponseID = n.reply.ResponseID
	for _, id := range n.reply.Remove {
		i, ok := n.at[id]
		if !ok {
			continue
		}
		last := len(s.Containers) - 1
		s.Containers[i] = s.Containers[last]
		n.at[s.Containers[i].ID] = i
		s.Containers = s.Containers[:last]
		delete(n.at, id)
	}
	return nil
}
