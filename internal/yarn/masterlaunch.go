package yarn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// A masterLauncher makes NodeManagers start ApplicationMasters. In this package a launch is such a start, as in Hadoop;
// what the core calls a launch is the grant of a container (application.grant). launch calls done once, from another
// goroutine, unless cancel was called before. cancel withdraws the order if the node has not received it yet, and frees
// what the launch holds.
type masterLauncher interface {
	launch(o launchOrder, done func(error)) (cancel func())
}

// A launchOrder names the container of an ApplicationMaster, and the node that is to start it.
type launchOrder struct {
	node       wire.NodeID
	quiet      *atomic.Bool // whether the node is silent
	waitStored func() error // waits until the launch is stored, for a restart to know of it; nil: there is no wait
	token      wire.Token   // for the node
	request    *wire.StartContainersRequest
}

// errSilent is the reason why a launch is given up: the node sends no heartbeats any more.
var errSilent = errors.New("the node is silent")

// A nodeCaller is the masterLauncher that calls NodeManagers over the wire. Each launch has a goroutine and, while it
// calls, a connection of its own, as NodeManagers expect. A node that does not answer holds at most launchesOfNode of
// the mostLaunches calls at once, each for launchDial at most, and none once it is silent. wait returns when all
// launches have ended, which is soon after ctx is done.
type nodeCaller struct {
	ctx      context.Context
	patience time.Duration // how long a node is tried that sends heartbeats and cannot be reached
	protect  []rpc.Protection
	slots    chan struct{} // an element for each call in progress
	wg       sync.WaitGroup

	mu     sync.Mutex
	limits map[wire.NodeID]*nodeLimit
}

// A nodeLimit bounds the calls to one node.
type nodeLimit struct {
	slots chan struct{} // an element for each call to the node in progress
	users int           // launches that hold the limit or wait for it
}

// Limits on launches.
const (
	mostLaunches   = 200              // calls at once
	launchesOfNode = 4                // of those, calls to one node
	retryLaunch    = time.Second      // between calls, and until a call has its slots
	launchDial     = 5 * time.Second  // until a node has let the caller in
	launchTime     = 30 * time.Second // for one call
)

func newNodeCaller(ctx context.Context, patience time.Duration, protect []rpc.Protection) *nodeCaller {
	return &nodeCaller{
		ctx:      ctx,
		patience: patience,
		protect:  protect,
		slots:    make(chan struct{}, mostLaunches),
		limits:   map[wire.NodeID]*nodeLimit{},
	}
}

func (l *nodeCaller) wait() { l.wg.Wait() }

func (l *nodeCaller) launch(o launchOrder, done func(error)) (cancel func()) {
	ctx, cancel := context.WithCancel(l.ctx)
	l.wg.Go(func() {
		if o.waitStored != nil && o.waitStored() != nil {
			return // this process ends
		}
		if err := l.try(ctx, &o); ctx.Err() == nil {
			done(err)
		}
	})
	return cancel
}

// try calls a node until it answers. The answer is final, whatever it is. try gives up when patience is over; between
// calls, it also gives up as soon as the node is silent.
func (l *nodeCaller) try(ctx context.Context, o *launchOrder) error {
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	n := l.use(o.node)
	defer l.unuse(o.node, n)
	err := errors.New("others were tried first")
	for {
		if n.enter(ctx, l.slots) {
			err = o.call(ctx, l.protect)
			<-l.slots
			<-n.slots
			var refused *rpc.Error
			var failed *wire.FailedContainer
			if err == nil || errors.As(err, &refused) || errors.As(err, &failed) {
				return err
			}
		}
		if o.quiet.Load() {
			return fmt.Errorf("reach node %s: %w, and %w", o.node, err, errSilent)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("reach node %s: %w", o.node, err)
		case <-time.After(retryLaunch):
		}
	}
}

// use returns the limit of a node. The caller must call unuse when it needs the limit no more.
func (l *nodeCaller) use(id wire.NodeID) *nodeLimit {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.limits[id]
	if n == nil {
		n = &nodeLimit{slots: make(chan struct{}, launchesOfNode)}
		l.limits[id] = n
	}
	n.users++
	return n
}

// unuse forgets the limit of a node that no launch uses any more.
func (l *nodeCaller) unuse(id wire.NodeID, n *nodeLimit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n.users--; n.users == 0 {
		delete(l.limits, id)
	}
}

// enter waits for one of the node's slots and then for one of all, each for retryLaunch at most, and reports whether it
// has both.
func (n *nodeLimit) enter(ctx context.Context, all chan struct{}) bool {
	ctx, cancel := context.WithTimeout(ctx, retryLaunch)
	defer cancel()
	select {
	case n.slots <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	select {
	case all <- struct{}{}:
		return true
	case <-ctx.Done():
		<-n.slots
		return false
	}
}

// call asks the node to start the container, and returns why it has not.
func (o *launchOrder) call(ctx context.Context, protect []rpc.Protection) error {
	ctx, cancel := context.WithTimeout(ctx, launchTime)
	defer cancel()
	d := rpc.Dialer{
		Protocol:    wire.ContainerManagement,
		Secret:      &rpc.Secret{Identifier: o.token.Identifier, Password: o.token.Password},
		Protections: protect,
	}
	dial, cancelDial := context.WithTimeout(ctx, launchDial)
	defer cancelDial()
	c, err := d.Dial(dial, o.node.String())
	if err != nil {
		return err
	}
	defer c.Close()
	var r wire.StartContainersResponse
	if err := c.Call(ctx, "startContainers", o.request, &r); err != nil {
		return err
	}
	if len(r.Failed) > 0 {
		return &r.Failed[0]
	}
	return nil
}
