// Package peer has the other side of YARN's protocols, without machines and processes: NodeManagers, ApplicationMasters
// and clients that behave on the wire as Hadoop's do. Tests and load generators run a ResourceManager against them.
package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// A Process is a container that a node runs.
type Process struct {
	ID     wire.ContainerID
	Master bool // it is an ApplicationMaster
	User   string
	Token  wire.Token // of the ApplicationMaster that it is, from its credentials
}

// A NodeConfig describes a NodeManager.
type NodeConfig struct {
	Tracker  string // address of the ResourceManager for NodeManagers
	Host     string // the name that it registers; it listens at 127.0.0.1, on a port of its own
	Resource wire.Resource
	Use      *wire.Use // reported as the use of its containers, and of its machine; nil: no use is reported
	// Run is a container's process: it returns the exit status, soon after ctx is done. It runs on a goroutine of its
	// own.
	Run func(ctx context.Context, p Process) int32
}

// A Node is a NodeManager. It beats as its ResourceManager tells it, and at once when a container ends; its goroutines,
// one for beating, one for its server and one for each container, have ended when Close or Crash returns.
type Node struct {
	config NodeConfig
	id     wire.NodeID
	cancel context.CancelFunc
	ctx    context.Context
	wg     sync.WaitGroup
	ended  chan struct{} // a container has: beat at once

	mu            sync.Mutex
	client        *rpc.Client
	responseID    int32
	identity      int64            // of the ResourceManager
	containerKeys []wire.MasterKey // the newest last; at most two
	nodeKeys      []wire.MasterKey
	processes     map[wire.ContainerID]*process // until the ResourceManager lets the node forget them
	healthy       bool
	shutdown      string // why the ResourceManager ended it
	cleaned       map[wire.ApplicationID]bool
	increased     []wire.Container // to be reported with the next beat
}

// A process is a Process, and what the node must know to report it.
type process struct {
	Process
	resource wire.Resource
	token    token.Container
	stop     context.CancelFunc
	exit     int32
	over     bool
}

// StartNode registers a node and begins to beat.
func StartNode(config NodeConfig) (*Node, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := &Node{
		config:    config,
		ctx:       ctx,
		cancel:    cancel,
		ended:     make(chan struct{}, 1),
		processes: map[wire.ContainerID]*process{},
		healthy:   true,
		cleaned:   map[wire.ApplicationID]bool{},
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	p, _ := strconv.Atoi(port)
	n.id = wire.NodeID{Host: config.Host, Port: int32(p)}
	if err := n.register(); err != nil {
		ln.Close()
		cancel()
		return nil, err
	}
	server := &rpc.Server{Protocol: wire.ContainerManagement, Password: n.password, Methods: map[string]rpc.Method{
		"startContainers": rpc.Handle(n.start),
		"stopContainers": rpc.Handle(
			func(_ context.Context, _ *rpc.Call, q *stopContainers) (proto.Message, error) {
				for _, id := range q.Containers {
					n.kill(id)
				}
				return nil, nil
			},
		),
		"updateContainer": rpc.Handle(n.update),
	}}
	n.wg.Go(func() { server.Serve(ctx, ln) })
	n.wg.Go(n.beat)
	return n, nil
}

// ID is what the node is called.
func (n *Node) ID() wire.NodeID { return n.id }

// Crash ends the node and its containers without telling the ResourceManager.
func (n *Node) Crash() {
	n.cancel()
	n.wg.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hangUp()
}

// SetHealthy sets whether the node reports that it can be used.
func (n *Node) SetHealthy(ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.healthy = ok
}

// Running returns how many containers run, and how many the node knows: those that run, and those that have ended and
// that the ResourceManager has not let the node forget.
func (n *Node) Running() (running, known int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.processes {
		if !p.over {
			running++
		}
	}
	return running, len(n.processes)
}

// Cleaned reports whether the node was told that an application is over.
func (n *Node) Cleaned(id wire.ApplicationID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cleaned[id]
}

// Shutdown returns why the ResourceManager ended the node; "": it did not.
func (n *Node) Shutdown() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.shutdown
}

// hangUp closes the connection to the ResourceManager. The caller holds mu.
func (n *Node) hangUp() {
	if n.client != nil {
		n.client.Close()
		n.client = nil
	}
}

// call calls the ResourceManager, on a new connection where there is none. After Crash it calls no more, because q
// might report that the processes have ended. The caller holds mu.
func (n *Node) call(method string, q proto.Message, r proto.Decoder) error {
	if err := n.ctx.Err(); err != nil {
		return err
	}
	if n.client == nil {
		d := rpc.Dialer{Protocol: wire.ResourceTracker, User: "yarn"}
		c, err := d.Dial(n.ctx, n.config.Tracker)
		if err != nil {
			return err
		}
		n.client = c
	}
	err := n.client.Call(n.ctx, method, q, r)
	if err != nil {
		n.hangUp()
	}
	return err
}

// register registers the node, with its containers, and learns the keys. A refusal is an error.
func (n *Node) register() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	q := &wire.RegisterNodeRequest{Node: n.id, HTTPPort: 8042, Resource: n.config.Resource, Version: wire.Version}
	apps := map[wire.ApplicationID]bool{}
	for id, p := range n.processes {
		s := n.status(id, p)
		q.Containers = append(
			q.Containers,
			wire.NodeContainer{
				ID:         id,
				State:      s.State,
				Resource:   p.resource,
				Version:    p.token.Version,
				Priority:   p.token.Priority,
				Exit:       s.Exit,
				Created:    p.token.Created,
				Allocation: p.token.Allocation,
			},
		)
		if !apps[id.Attempt.App] {
			apps[id.Attempt.App] = true
			q.Apps = append(q.Apps, id.Attempt.App)
		}
	}
	var r wire.RegisterNodeResponse
	if err := n.call("registerNodeManager", q, &r); err != nil {
		return err
	}
	if r.Action != wire.NodeNormal {
		n.shutdown = r.Diagnostics
		return fmt.Errorf("node %s is refused: %s", n.id, r.Diagnostics)
	}
	n.responseID, n.identity = 0, r.ResourceManager
	n.containerKeys, n.nodeKeys = learn(n.containerKeys, &r.ContainerKey), learn(n.nodeKeys, &r.NodeKey)
	return nil
}

// learn takes a new key in if its ID is new, as a NodeManager does.
func learn(keys []wire.MasterKey, k *wire.MasterKey) []wire.MasterKey {
	if k == nil || len(keys) > 0 && keys[len(keys)-1].ID == k.ID {
		return keys
	}
	keys = append(keys, *k)
	return keys[max(0, len(keys)-2):]
}

// status returns the status of a container that the node reports.
func (n *Node) status(id wire.ContainerID, p *process) wire.ContainerStatus {
	if p.over {
		return wire.ContainerStatus{ID: id, State: wire.ContainerComplete, Exit: p.exit}
	}
	return wire.ContainerStatus{ID: id, State: wire.ContainerRunning, Exit: wire.ExitInvalid}
}

// beat tells the ResourceManager how the node is doing until it ends.
func (n *Node) beat() {
	interval := time.Millisecond // the first comes at once
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-n.ended:
		case <-time.After(interval):
		}
		if interval = n.once(); interval == 0 {
			return
		}
	}
}

// once beats, and returns when to beat next; zero: never.
func (n *Node) once() time.Duration {
	n.mu.Lock()
	q := &wire.HeartbeatRequest{
		Status:       wire.NodeStatus{Node: n.id, ResponseID: n.responseID, Health: wire.Health{OK: n.healthy}},
		ContainerKey: n.containerKeys[len(n.containerKeys)-1],
		NodeKey:      n.nodeKeys[len(n.nodeKeys)-1],
	}
	for id, p := range n.processes {
		q.Status.Containers = append(q.Status.Containers, n.status(id, p))
	}
	q.Status.Increased = n.increased
	if use := n.config.Use; use != nil {
		q.Status.Utilization = proto.Append(nil, use)
		q.Status.Machine = q.Status.Utilization
	}
	var r wire.HeartbeatResponse
	err := n.call("nodeHeartbeat", q, &r)
	n.mu.Unlock()
	const again = 20 * time.Millisecond
	switch {
	case err != nil:
		return again
	case r.Action == wire.NodeResync:
		n.register()
		return again
	case r.Action == wire.NodeActShutdown:
		n.mu.Lock()
		n.shutdown = r.Diagnostics
		n.mu.Unlock()
		n.killAll()
		return 0
	}
	n.mu.Lock()
	n.responseID, n.increased = r.ResponseID, n.increased[len(q.Status.Increased):]
	n.containerKeys, n.nodeKeys = learn(n.containerKeys, r.ContainerKey), learn(n.nodeKeys, r.NodeKey)
	for _, id := range r.Remove {
		if p := n.processes[id]; p != nil && p.over {
			delete(n.processes, id)
		}
	}
	for i := range r.Updates {
		n.resize(&r.Updates[i].Token)
	}
	for _, id := range r.CleanupApps {
		n.cleaned[id] = true
		for one, p := range n.processes {
			if one.Attempt.App == id {
				p.stop()
			}
		}
	}
	n.mu.Unlock()
	for _, id := range r.Cleanup {
		n.kill(id)
	}
	return time.Duration(r.Interval) * time.Millisecond
}

func (n *Node) kill(id wire.ContainerID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.processes[id]; p != nil {
		p.stop()
	}
}

func (n *Node) killAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.processes {
		p.stop()
	}
}

// password checks a node token as a NodeManager does: it must be for this node, under one of the last two keys.
func (n *Node) password(identifier []byte) ([]byte, error) {
	var id token.Node
	if err := id.Decode(identifier); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, k := range n.nodeKeys {
		if k.ID == id.Key && id.Node == n.id {
			return token.NewKeys(k).Sign(identifier), nil
		}
	}
	return nil, fmt.Errorf("given NMToken for application : %s seems to have been generated illegally", id.Attempt)
}

// start checks a container's token as a NodeManager does, and runs the container.
func (n *Node) start(_ context.Context, c *rpc.Call, q *wire.StartContainersRequest) (proto.Message, error) {
	var by token.Node
	var id token.Container
	if err := errors.Join(by.Decode(c.Token), id.Decode(q.Token.Identifier)); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	signed := false
	for _, k := range n.containerKeys {
		signed = signed || k.ID == id.Key && bytes.Equal(token.NewKeys(k).Sign(q.Token.Identifier), q.Token.Password)
	}
	refuse := func(class, why string) (proto.Message, error) {
		return &wire.StartContainersResponse{
			Failed: []wire.FailedContainer{{ID: id.ID, Class: class, Message: why}},
		}, nil
	}
	switch {
	case !signed:
		return nil, rpc.Errorf(
			"org.apache.hadoop.security.token.SecretManager$InvalidToken",
			"container token of %s seems to have an illegally generated token",
			id.ID,
		)
	case id.ResourceManager != n.identity:
		return refuse("org.apache.hadoop.yarn.exceptions.InvalidContainerException", "")
	case id.Node != n.id.String(),
		id.ID.Attempt.App != by.Attempt.App,
		id.Expires < time.Now().UnixMilli(),
		id.Resource.Memory <= 0,
		n.processes[id.ID] != nil:
		return refuse("org.apache.hadoop.yarn.exceptions.YarnException", "Unauthorized request to start container")
	}
	ctx, stop := context.WithCancel(n.ctx)
	p := &process{
		Process:  Process{ID: id.ID, Master: id.Type == wire.MasterContainer, User: id.User},
		resource: id.Resource,
		token:    id,
		stop:     stop,
	}
	p.Token, _ = credential(q.Launch.Tokens(), token.KindMaster)
	n.processes[id.ID] = p
	n.wg.Go(func() { n.run(ctx, p) })
	return &wire.StartContainersResponse{Started: []wire.ContainerID{id.ID}}, nil
}

// Size returns a container's size, and the version of the size; -1: there is no such container.
func (n *Node) Size(id wire.ContainerID) (wire.Resource, int32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.processes[id]; p != nil {
		return p.resource, p.token.Version
	}
	return wire.Resource{}, -1
}

// update gives containers other sizes, as their ApplicationMaster says.
func (n *Node) update(_ context.Context, _ *rpc.Call, q *updateContainers) (proto.Message, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := &containersUpdated{}
	for i := range q.Tokens {
		id, err := n.resize(&q.Tokens[i])
		if err != nil {
			r.Failed = append(r.Failed, wire.FailedContainer{ID: id, Message: err.Error(),
				Class: "org.apache.hadoop.yarn.exceptions.YarnException"})
			continue
		}
		r.Updated = append(r.Updated, id)
	}
	return r, nil
}

// resize gives a container the size of a token, which must be of a newer version than the one it has. The caller holds
// mu.
func (n *Node) resize(t *wire.Token) (wire.ContainerID, error) {
	var id token.Container
	if err := id.Decode(t.Identifier); err != nil {
		return id.ID, err
	}
	signed := false
	for _, k := range n.containerKeys {
		signed = signed || k.ID == id.Key && bytes.Equal(token.NewKeys(k).Sign(t.Identifier), t.Password)
	}
	p := n.processes[id.ID]
	switch {
	case !signed:
		return id.ID, fmt.Errorf("container token of %s seems to have an illegally generated token", id.ID)
	case p == nil || p.over:
		return id.ID, fmt.Errorf("container %s is not handled by this NodeManager", id.ID)
	case id.Version <= p.token.Version:
		return id.ID, fmt.Errorf("container %s has version %d, and the update %d", id.ID, p.token.Version, id.Version)
	}
	if id.Resource.Memory > p.resource.Memory || id.Resource.VCores > p.resource.VCores {
		n.increased = append(n.increased, wire.Container{ID: id.ID, Resource: id.Resource})
	}
	p.resource, p.token = id.Resource, id
	return id.ID, nil
}

// An updateContainers asks a node to give containers the sizes of tokens.
type updateContainers struct{ Tokens []wire.Token }

func (m *updateContainers) Fields(f *proto.Fields) { proto.Repeated(f, 1, &m.Tokens) }
func (m *updateContainers) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *updateContainers) Decode(b []byte) error  { return proto.Decode(b, m) }

// A containersUpdated says which containers have their sizes, and why others have not.
type containersUpdated struct {
	Updated []wire.ContainerID
	Failed  []wire.FailedContainer
}

func (m *containersUpdated) Fields(f *proto.Fields) {
	proto.Repeated(f, 1, &m.Updated)
	proto.Repeated(f, 2, &m.Failed)
}

func (m *containersUpdated) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *containersUpdated) Decode(b []byte) error  { return proto.Decode(b, m) }

// exitKilled is the status of a process that signal 9 ended.
const exitKilled = 137

// run runs a process to its end, and makes the node beat then.
func (n *Node) run(ctx context.Context, p *process) {
	defer p.stop()
	exit := n.config.Run(ctx, p.Process)
	if ctx.Err() != nil {
		exit = exitKilled
	}
	n.mu.Lock()
	p.exit, p.over = exit, true
	n.mu.Unlock()
	select {
	case n.ended <- struct{}{}:
	default:
	}
}

// A stopContainers asks a node to stop containers. The ResourceManager does not call it: clients of nodes do.
type stopContainers struct{ Containers []wire.ContainerID }

func (m *stopContainers) Fields(f *proto.Fields) { proto.Repeated(f, 1, &m.Containers) }
func (m *stopContainers) Append(b []byte) []byte { return proto.Append(b, m) }
func (m *stopContainers) Decode(b []byte) error  { return proto.Decode(b, m) }
