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

// A node is a NodeManager without processes: a container that it is given has ended by the next heartbeat. Like
// Hadoop's, it repeats the ends of containers until the ResourceManager tells it to forget them, and waits an interval
// between a reply and the next heartbeat. The goroutine of run owns it, except started and the counts.
type node struct {
	id     wire.NodeID
	caller *rpc.Caller
	beat   wire.HeartbeatRequest // the next heartbeat; Containers: those that have ended, until they may be forgotten
	reply  wire.HeartbeatResponse
	at     map[wire.ContainerID]int // indices in beat's Containers
	each   bool                     // a heartbeat at each end of a container, as well as at intervals
	beats  atomic.Int64

	sent, received atomic.Int64 // bytes of the last heartbeat and of its reply

	mu      sync.Mutex
	started []wire.ContainerID
	wake    chan struct{} // of capacity 1, for each: something was started
}

// firstPort is the port of node 0. No process listens there: masters call node.start instead.
const firstPort = 10_000

// nodeID names node i. The host is an address of the loopback network, so that no name server is asked.
func nodeID(i int) wire.NodeID {
	return wire.NodeID{Host: fmt.Sprintf("127.1.%d.%d", i/250, i%250+1), Port: int32(firstPort + i)}
}

// newNode registers node i. Its connection is closed when ctx is done.
func newNode(ctx context.Context, i int, o *Options) (*node, error) {
	n := &node{id: nodeID(i), each: o.Each, at: map[wire.ContainerID]int{}, wake: make(chan struct{}, 1)}
	d := rpc.Dialer{Protocol: wire.ResourceTracker, User: "yarn", From: net.ParseIP(n.id.Host)}
	var err error
	if n.caller, err = d.DialCaller(ctx, o.Addresses.Tracker); err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { n.caller.Close() })
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
	used := proto.AppendInt32(nil, 1, 0) // nothing runs
	used = proto.AppendInt32(used, 2, 0)
	used = proto.AppendFloat(used, 3, 0)
	n.beat = wire.HeartbeatRequest{ContainerKey: r.ContainerKey, NodeKey: r.NodeKey}
	n.beat.Status = wire.NodeStatus{
		Node:        n.id,
		Health:      wire.Health{OK: true, Time: time.Now().UnixMilli()},
		Utilization: used,
		Machine:     used,
	}
	return n, nil
}

// run sends heartbeats until ctx is done or one fails.
func (n *node) run(ctx context.Context, c *cluster) error {
	interval := c.o.Beat
	timer := time.NewTimer(rand.N(interval)) // so that nodes do not beat together
	defer timer.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
			if !n.each {
				n.endStarted()
			}
			began := time.Now()
			err = n.heartbeat()
			c.beats.note(time.Since(began))
			timer.Reset(interval)
		case <-n.wake:
			err = n.endOneByOne()
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

// endStarted ends what was started.
func (n *node) endStarted() {
	n.mu.Lock()
	for _, id := range n.started {
		n.ended(id)
	}
	n.started = n.started[:0]
	n.mu.Unlock()
}

// ended adds a container that has ended to the next heartbeat.
func (n *node) ended(id wire.ContainerID) {
	s := &n.beat.Status
	n.at[id] = len(s.Containers)
	s.Containers = append(s.Containers, wire.ContainerStatus{ID: id, State: wire.ContainerComplete})
}

// endOneByOne ends what was started, one container a heartbeat.
func (n *node) endOneByOne() error {
	n.mu.Lock()
	list := append([]wire.ContainerID(nil), n.started...)
	n.started = n.started[:0]
	n.mu.Unlock()
	for _, id := range list {
		n.ended(id)
		if err := n.heartbeat(); err != nil {
			return err
		}
	}
	return nil
}

// heartbeat sends a heartbeat, and forgets the containers that the reply names.
func (n *node) heartbeat() error {
	n.reply = wire.HeartbeatResponse{Remove: n.reply.Remove[:0]}
	if err := n.caller.Call("nodeHeartbeat", &n.beat, &n.reply); err != nil {
		return err
	}
	if n.reply.Action != wire.NodeNormal {
		return fmt.Errorf("told to do %d: %s", n.reply.Action, n.reply.Diagnostics)
	}
	n.beats.Add(1)
	n.sent.Store(int64(n.caller.Sent))
	n.received.Store(int64(n.caller.Received))
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
