package yarn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// A launcher has NodeManagers start ApplicationMasters. done is called once, from another goroutine, unless cancel is
// called before: that takes the order back as far as the node has not had it, and frees what the launch holds.
type launcher interface {
	launch(o launchOrder, done func(error)) (cancel func())
}

// A launchOrder is one container to start.
type launchOrder struct {
	node    wire.NodeID
	token   wire.Token // for the node
	request *wire.StartContainersRequest
}

// A nodeCaller starts containers over the wire, a goroutine and a connection each, as NodeManagers expect it. All have
// ended when wait returns, which they do soon after ctx is done.
type nodeCaller struct {
	ctx      context.Context
	patience time.Duration // how long a node that cannot be reached is tried
	slots    chan struct{}
	wg       sync.WaitGroup
}

// How many launches go on at once (yarn.resourcemanager.amlauncher.thread-count), and how long is waited before a node
// that could not be reached is tried again.
const (
	mostLaunches = 50
	retryLaunch  = time.Second
	launchTime   = 30 * time.Second // for one call
)

func newNodeCaller(ctx context.Context, patience time.Duration) *nodeCaller {
	return &nodeCaller{ctx: ctx, patience: patience, slots: make(chan struct{}, mostLaunches)}
}

func (l *nodeCaller) wait() { l.wg.Wait() }

func (l *nodeCaller) launch(o launchOrder, done func(error)) (cancel func()) {
	ctx, cancel := context.WithCancel(l.ctx)
	l.wg.Go(func() {
		select {
		case l.slots <- struct{}{}:
			defer func() { <-l.slots }()
		case <-ctx.Done():
			return
		}
		if err := l.try(ctx, &o); ctx.Err() == nil {
			done(err)
		}
	})
	return cancel
}

// try calls a node until it answers. What it answers is final.
func (l *nodeCaller) try(ctx context.Context, o *launchOrder) error {
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	for {
		err := o.call(ctx)
		var refused *rpc.Error
		var failed *wire.FailedContainer
		if err == nil || errors.As(err, &refused) || errors.As(err, &failed) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("reach node %s: %w", o.node, err)
		case <-time.After(retryLaunch):
		}
	}
}

func (o *launchOrder) call(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, launchTime)
	defer cancel()
	d := rpc.Dialer{
		Protocol: wire.ContainerManagement,
		Secret:   &rpc.Secret{Identifier: o.token.Identifier, Password: o.token.Password},
	}
	c, err := d.Dial(ctx, o.node.String())
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
