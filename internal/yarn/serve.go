package yarn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
)

// A ResourceManager takes connections from Listen on, and answers them while Serve runs.
type ResourceManager struct {
	config       *Config
	listeners    []net.Listener
	tls          *tls.Config // of REST; nil: it is served without TLS
	front        *front
	start        *nodeCaller // starts ApplicationMasters
	stopLaunches context.CancelFunc
	stopTime     time.Duration // how long Serve waits, when it must end, for calls and launches that go on
}

// Listen checks the configuration, takes the ports, and restores the stored state.
func Listen(ctx context.Context, config Config) (*ResourceManager, error) {
	if err := config.Check(); err != nil {
		return nil, err
	}
	rm := &ResourceManager{config: config.withDefaults(), stopTime: usualStop}
	c := rm.config
	var err error
	if rm.tls, err = c.tls(); err != nil {
		return nil, err
	}
	rpcs, web, err := c.Security.mechanisms()
	if err != nil {
		return nil, err
	}
	hosts, err := c.hosts()
	if err != nil {
		return nil, err
	}
	for _, at := range []struct{ what, address string }{
		{"NodeManagers", c.Addresses.Tracker}, {"ApplicationMasters", c.Addresses.Master},
		{"clients", c.Addresses.Client},
		{"operators", c.Addresses.Admin}, {"REST", c.Addresses.Web},
	} {
		if at.what == "REST" && at.address == "" {
			continue
		}
		ln, err := new(net.ListenConfig).Listen(ctx, "tcp", at.address)
		if err != nil {
			rm.closeAll()
			return nil, fmt.Errorf("listen for %s: %w", at.what, err)
		}
		rm.listeners = append(rm.listeners, ln)
	}
	launches, stop := context.WithCancel(context.WithoutCancel(ctx))
	rm.start, rm.stopLaunches = newNodeCaller(launches, c.Expiry.Launch, c.Security.Protections), stop
	m := newManager(c, hosts, rm.start, time.Now)
	if c.Kept.File != "" || c.Kept.Active != nil {
		if err := m.remember(); err != nil {
			stop()
			rm.closeAll()
			return nil, err
		}
	}
	rm.front = newFront(m)
	rm.front.kerberos, rm.front.web = rpcs, web
	return rm, nil
}

func (rm *ResourceManager) closeAll() {
	for _, ln := range rm.listeners {
		ln.Close()
	}
}

// Addresses returns where it listens, with the ports that were chosen where a configured port was 0.
func (rm *ResourceManager) Addresses() Addresses {
	at := func(i int) string {
		if i >= len(rm.listeners) {
			return ""
		}
		return rm.listeners[i].Addr().String()
	}
	return Addresses{at(0), at(1), at(2), at(3), at(4)}
}

// Serve serves until ctx is done, and returns at most stopTime later. The error is nil if ctx was done, else it says
// why a server has ended. In both cases it may be that the state could not be stored, or a turn was not over in time.
// Calls and launches that wait for their changes to be stored are given a quarter of stopTime.
func (rm *ResourceManager) Serve(ctx context.Context) error {
	ofNodes, conns := connsOf(mostFiles())
	rm.announce(ofNodes, conns)
	calls, stopCalls := context.WithCancelCause(ctx)
	defer stopCalls(nil)
	owner, stopOwner := context.WithCancel(context.WithoutCancel(ctx))
	var owning, serving sync.WaitGroup
	owning.Go(func() { rm.front.loop(owner) })
	go rm.watchLease(calls, stopCalls)
	for _, serve := range rm.servers(ofNodes, conns) {
		serving.Go(func() {
			if err := serve(calls); err != nil {
				stopCalls(err)
			}
		})
	}
	ended := make(chan error, 1)
	var storing atomic.Bool // the store writes what is left
	go func() {             // the owner ends after what goes on before, which needs turns
		serving.Wait()
		rm.stopLaunches()
		rm.start.wait()
		if rm.config.Debts.Keep != nil {
			rm.front.look(func(m *manager) { m.config.Debts.Keep(m.at()) })
		}
		stopOwner()
		owning.Wait()
		storing.Store(true)
		ended <- rm.front.m.saves.close()
	}()
	why := func(err error) error { // of the end, if it was not asked for, and of what went wrong then
		if ctx.Err() != nil {
			return err
		}
		return errors.Join(context.Cause(calls), err)
	}
	patience, late := after(calls, rm.stopTime/4), after(calls, rm.stopTime)
	for {
		select {
		case <-patience: // once
			rm.front.m.saves.release()
		case err := <-ended:
			if err != nil {
				err = fmt.Errorf("keep the state in %s: %w", rm.config.Kept.where(), err)
			}
			return why(err)
		case <-late:
			if storing.Load() {
				return why(fmt.Errorf("keep the state in %s: the last changes were not written after %v, and may be "+
					"lost", rm.config.Kept.where(), rm.stopTime))
			}
			return why(fmt.Errorf("stop: the turn that went on was not over after %v, and is given up", rm.stopTime))
		}
	}
}

// announce logs where the ResourceManager serves, and warns if NodeManagers get few connections. ofNodes is the
// greatest number of their connections, conns that of each other kind of caller.
func (rm *ResourceManager) announce(ofNodes, conns int) {
	at := rm.Addresses()
	rm.config.Log.Info(
		"serving",
		"tracker",
		at.Tracker,
		"master",
		at.Master,
		"client",
		at.Client,
		"admin",
		at.Admin,
		"rest",
		at.Web,
		"nodes",
		ofNodes,
		"connections",
		conns,
		"authentication",
		rm.config.Security.authentication(),
	)
	if few := fewConns(ofNodes, max(len(rm.front.m.nodes.hosts.included), len(rm.config.Racks))); few != "" {
		rm.config.Log.Warn(few)
	}
}

// watchLease calls stop if this ResourceManager is not the active one any more. It returns then, or when ctx is done.
func (rm *ResourceManager) watchLease(ctx context.Context, stop context.CancelCauseFunc) {
	select {
	case <-rm.config.Kept.Active.lost():
		stop(fmt.Errorf("this ResourceManager is not active any more: ZooKeeper was silent for %v, or "+
			"another one has taken over; start it again as a standby", rm.config.Kept.Active.session.Timeout()*2/3))
	case <-ctx.Done():
	}
}

// servers returns the functions that serve at the ports, each until its context is done. The limits of connections are
// those of announce.
func (rm *ResourceManager) servers(ofNodes, conns int) (list []func(context.Context) error) {
	f := rm.front
	for i, s := range []*rpc.Server{newTracker(f), newMaster(f), newClient(f), newAdmin(f)} {
		s.Limits.Conns, s.Room = conns, f.room
		if i == 0 {
			s.Limits.Conns = ofNodes
		}
		f.secure(s)
		list = append(list, func(ctx context.Context) error { return s.Serve(ctx, rm.listeners[i]) })
	}
	if len(rm.listeners) > 4 {
		var own []net.Addr
		for _, ln := range rm.listeners {
			own = append(own, ln.Addr())
		}
		pages := net.Listener(newDoorway(rm.listeners[4], conns))
		if rm.tls != nil {
			pages = tls.NewListener(pages, rm.tls)
		}
		list = append(list, func(ctx context.Context) error { return serveREST(ctx, f, pages, own) })
	}
	return list
}

// usualStop is the stopTime of a ResourceManager. Service managers kill a process that takes much longer to end.
const usualStop = 4 * time.Second

// after returns a channel that gets a value when wait has passed after ctx is done. The time is counted in parts: while
// the whole process stands still, one part passes at most.
func after(ctx context.Context, wait time.Duration) <-chan time.Time {
	const parts = 8
	passed := make(chan time.Time, 1)
	context.AfterFunc(ctx, func() {
		tick := time.NewTicker(wait / parts)
		defer tick.Stop()
		for range parts - 1 {
			<-tick.C
		}
		passed <- <-tick.C
	})
	return passed
}
