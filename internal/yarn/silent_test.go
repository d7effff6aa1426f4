package yarn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// newFleet returns a cluster of count nodes of 4 GiB and 8 cores, called n0, n1 and so on.
func newFleet(t *testing.T, count int) *few { return newFleetUnder(t, count, "fifo") }

// newFleetUnder is newFleet with a policy.
func newFleetUnder(t *testing.T, count int, spec string) *few {
	t.Helper()
	under, _, err := policy.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, now: time.Unix(1_700_000_000, 0)}
	config := Config{
		Core:  sched.Config{Policy: under},
		Sizes: Sizes{MinMemory: 512},
		Log:   slog.New(slog.DiscardHandler),
	}.withDefaults()
	w.open(config, Hosts{}, w, func() time.Time { return w.now })
	f := &few{world: w}
	for i := range count {
		f.do(func(m *manager) (answer, error) {
			q := registration(int32(i+1), wire.Resource{Memory: 4096, VCores: 8})
			q.Node.Host = fmt.Sprint("n", i)
			return tracker{m}.register(q, &net.TCPAddr{})
		})
	}
	return f
}

// beatNode makes a node beat once.
func (f *few) beatNode(n *node) {
	q := &wire.HeartbeatRequest{Status: wire.NodeStatus{Node: n.id, Health: wire.Health{OK: true}}}
	if n.last != nil {
		q.Status.ResponseID = n.last.ResponseID
	}
	f.do(func(m *manager) (answer, error) { return tracker{m}.heartbeat(q) })
}

// submitOne submits an application and returns it.
func (f *few) submitOne(unmanaged bool, tags ...string) *application {
	f.t.Helper()
	r, _ := f.do(func(m *manager) (answer, error) { return client{m, ""}.newID(nil) })
	s := wire.Submission{
		ID:        r.(*wire.NewApplication).ID,
		Unmanaged: unmanaged,
		Tags:      tags,
		Resource:  &wire.Resource{Memory: 512, VCores: 1},
		Launch:    wire.NewLaunchContext(""),
	}
	if _, err := f.do(func(m *manager) (answer, error) {
		return client{m, "user"}.submit(&wire.SubmitRequest{Submission: s})
	}); err != nil {
		f.t.Fatal(err)
	}
	return f.m.apps.byID[s.ID]
}

// Five of ten nodes are silent for 15 s. All containers and masters go to the other five, although the silent ones have
// as much room; a silent node that beats gets containers again.
func TestSilentNodesGetNothing(t *testing.T) {
	f := newFleet(t, 10)
	for range 15 {
		f.now = f.now.Add(time.Second)
		for _, n := range f.m.nodes.list[5:] {
			f.beatNode(n)
		}
	}
	f.master = f.submitOne(true).current()
	f.do(func(m *manager) (answer, error) { return master{m, f.master}.register(&wire.RegisterMasterRequest{}) })
	for range 10 {
		f.submitOne(false)
	}
	if got := f.allocate(asks("* 50 true")); len(got) != 30 { // five nodes have 40 places, ten of them for masters
		t.Errorf("%d containers, want 30", len(got))
	}
	for i, n := range f.m.nodes.list {
		if held := len(n.containers); i < 5 && held > 0 || i >= 5 && held != 8 {
			t.Errorf("node %d holds %d containers", i, held)
		}
	}
	f.beatNode(f.m.nodes.list[2])
	if got := f.allocate(&wire.AllocateRequest{}); len(got) != 8 || got[0] != "n2" {
		t.Errorf("after node 2 beats again: %v", got)
	}
}

// A silent node is lost when Hadoop's expiry is over, counted from its last beat.
func TestSilentNodeIsLost(t *testing.T) {
	f := newFleet(t, 1)
	n := f.m.nodes.list[0]
	f.now = f.now.Add(5 * time.Minute)
	f.f.turn(nil)
	if n.state != wire.NodeRunning || !n.quiet.Load() || f.m.nodes.ready != 0 {
		t.Errorf("after five minutes: state %d, quiet %v, %d ready", n.state, n.quiet.Load(), f.m.nodes.ready)
	}
	f.now = f.now.Add(5 * time.Minute)
	if f.f.turn(nil); n.state != wire.NodeLost {
		t.Errorf("after ten minutes: state %d", n.state)
	}
}

// One of ten nodes beats no more, and launches there fail. No application fails for it, none tries it twice, and after
// two of them no master is placed there, until it registers again.
func TestFailedLaunchesExcludeTheirNode(t *testing.T) {
	f := newFleet(t, 10)
	dead := f.m.nodes.list[0]
	tried := map[wire.ApplicationID]int{}
	launch := func() {
		for len(f.orders) > 0 {
			o := f.orders[0]
			f.orders = f.orders[1:]
			c, _ := f.world.master(o.o.request)
			if o.o.node != dead.id {
				o.done(nil)
				continue
			}
			tried[c.attempt.app.id]++
			o.done(fmt.Errorf("reach node: %w", errSilent))
		}
	}
	var apps []*application
	for range 10 {
		apps = append(apps, f.submitOne(false))
		launch()
	}
	for i, app := range apps {
		a := app.current()
		if app.state != wire.AppAccepted || a == nil || a.state != wire.AttemptLaunched || tried[app.id] > 1 {
			t.Errorf("application %d: state %v, tried %d times on the dead node", i, app.state, tried[app.id])
		}
	}
	if len(tried) != shunLaunches {
		t.Errorf("%d applications tried the dead node, want %d", len(tried), shunLaunches)
	}
	f.do(func(m *manager) (answer, error) {
		return tracker{m}.register(&wire.RegisterNodeRequest{Node: dead.id, Resource: dead.capacity}, &net.TCPAddr{})
	})
	again := false
	for range 10 { // the nodes in turn
		a := f.submitOne(false).current()
		again = again || a != nil && a.master.node == dead
	}
	if !again {
		t.Error("after it has registered again, the node gets no master")
	}
}

// Where launches fail on the only node, it is used again, and the application fails when its attempts are used up.
func TestLaunchesFailOnTheOnlyNode(t *testing.T) {
	f := newFleet(t, 1)
	app := f.submitOne(false)
	for n := 0; len(f.orders) > 0; n++ {
		o := f.orders[0]
		f.orders = f.orders[1:]
		if o.done(errors.New("refused")); n > 5 {
			t.Fatal("it is tried for ever")
		}
	}
	if app.state != wire.AppFailed || len(app.attempts) != 2 {
		t.Errorf("state %v after %d attempts", app.state, len(app.attempts))
	}
}

// Many launches on a node that takes connections and never answers do not hold up a launch on another node.
func TestDeadNodeHoldsUpNoLaunch(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	live, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rpc.Server{
		Protocol: wire.ContainerManagement,
		Password: func([]byte) ([]byte, error) { return []byte("password"), nil },
		Methods: map[string]rpc.Method{"startContainers": rpc.Handle(
			func(context.Context, *rpc.Call, *wire.StartContainersRequest) (proto.Message, error) {
				return &wire.StartContainersResponse{}, nil
			})},
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, live) }()
	l := newNodeCaller(ctx, time.Hour, nil)
	defer func() { cancel(); l.wait(); <-served }()
	order := func(ln net.Listener, quiet *atomic.Bool) launchOrder {
		at := ln.Addr().(*net.TCPAddr)
		return launchOrder{
			node:    wire.NodeID{Host: at.IP.String(), Port: int32(at.Port)},
			quiet:   quiet,
			token:   wire.Token{Identifier: []byte("token"), Password: []byte("password")},
			request: &wire.StartContainersRequest{Launch: wire.NewLaunchContext("")},
		}
	}
	const dead = 300 // more than there are slots
	quiet, gaveUp := new(atomic.Bool), make(chan error, dead)
	for range dead {
		l.launch(order(silent, quiet), func(err error) { gaveUp <- err })
	}
	done := make(chan error, 1)
	l.launch(order(live, new(atomic.Bool)), func(err error) { done <- err })
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case err := <-gaveUp:
		t.Fatalf("a launch on the dead node ended first: %v", err)
	case <-time.After(patience):
		t.Fatal("the launch on the live node waits for the others")
	}
	quiet.Store(true)
	for range dead {
		if err := <-gaveUp; !errors.Is(err, errSilent) {
			t.Fatalf("a launch on a silent node ended with %v", err)
		}
	}
}

// A failed launch does not exclude the only node that is large enough for the ApplicationMaster: it is tried there
// again, and does not wait for ever beside smaller nodes.
func TestFailedLaunchOnTheOnlyLargeNode(t *testing.T) {
	f := newFleet(t, 3)
	f.do(func(m *manager) (answer, error) {
		q := registration(9, wire.Resource{Memory: 16384, VCores: 8})
		return tracker{m}.register(q, &net.TCPAddr{})
	})
	large := f.m.nodes.list[3]
	app, err := f.submit(func(s *wire.Submission) { s.Resource = &wire.Resource{Memory: 8192, VCores: 1} })
	if err != nil || app.current().master.node != large {
		t.Fatalf("%+v, %v", app, err)
	}
	f.orders[0].done(fmt.Errorf("reach node: %w", errSilent))
	if f.f.turn(nil); len(app.attempts) != 2 || app.current().master.node != large {
		t.Errorf("%d attempts, the last on %s", len(app.attempts), app.current().master.node.name)
	}
}

// When many nodes fall silent at once, the core learns once where each ApplicationMaster that waits may be started,
// and not once a node.
func TestManyNodesFallSilent(t *testing.T) {
	f := newFleet(t, 100)
	f.submitOne(false)
	f.orders[0].done(errors.New("refused")) // so that nodes are excluded at all
	const waiting = 20
	for range waiting {
		if app, err := f.submit(func(s *wire.Submission) {
			s.Resource = &wire.Resource{Memory: 8192, VCores: 1} // more than a node has
		}); err != nil || app.current() != nil {
			t.Fatalf("%+v, %v", app, err)
		}
	}
	f.now = f.now.Add(time.Minute)
	f.f.turn(nil)
	noted := 0
	for i := range f.m.core.Events {
		if f.m.core.Events[i].Kind == sched.AsksChanged {
			noted++
		}
	}
	if f.m.nodes.ready != 0 || noted != waiting {
		t.Errorf("%d nodes beat, and the core learns %d times, want %d", f.m.nodes.ready, noted, waiting)
	}
}

// An ApplicationMaster ends in the turn in which a node is heard again, or comes, so that the core learns again where
// ApplicationMasters may be started. The next attempt is not lost by that.
func TestMasterEndsWhileNodesChange(t *testing.T) {
	for name, change := range map[string]func(m *manager, quiet *node){
		"a node is heard again": func(m *manager, quiet *node) {
			tracker{m}.heartbeat(&wire.HeartbeatRequest{Status: wire.NodeStatus{Node: quiet.id,
				Health: wire.Health{OK: true}}})
		},
		"a node comes": func(m *manager, _ *node) {
			q := registration(9, wire.Resource{Memory: 4096, VCores: 8})
			q.Node.Host = "late"
			tracker{m}.register(q, &net.TCPAddr{})
		},
	} {
		f := newFleet(t, 4)
		f.submitOne(false)
		f.orders[0].done(errors.New("refused")) // so that nodes are excluded at all
		app, err := f.submit(masterOn(true, "n1", "late"))
		if err != nil || app.current() == nil {
			t.Fatalf("%+v, %v", app, err)
		}
		c := app.current().master
		quiet := f.m.nodes.list[3]
		if quiet == c.node {
			quiet = f.m.nodes.list[2]
		}
		f.do(func(*manager) (answer, error) { quiet.expired(); return nil, nil })
		f.do(func(m *manager) (answer, error) {
			tracker{m}.heartbeat(&wire.HeartbeatRequest{Status: wire.NodeStatus{Node: c.node.id,
				Health:     wire.Health{OK: true},
				Containers: []wire.ContainerStatus{{ID: c.id, State: wire.ContainerComplete, Exit: 1}}}})
			change(m, quiet)
			return nil, nil
		})
		if len(app.attempts) != 2 {
			t.Errorf("%s: %d attempts, want another one", name, len(app.attempts))
		}
	}
}

// An ApplicationMaster whose process has failed is started again on another node, even where the one that it failed on
// has its turn: it may be a node where every process fails. A process that took too much memory would do so elsewhere.
func TestFailedMastersExcludeTheirNode(t *testing.T) {
	for exit, want := range map[int32]string{1: "n1", -1000: "n1", 0: "n0", wire.ExitMemory: "n0",
		wire.ExitPreempted: "n0"} {
		f := newFleetUnder(t, 2, "fifo:masters=1")
		app := f.submitOne(false)
		for last := app; last.current().master.node.id.Host != "n1"; { // so that it is n0's turn
			last = f.submitOne(false)
		}
		c := app.current().master
		f.do(func(m *manager) (answer, error) {
			return tracker{m}.heartbeat(&wire.HeartbeatRequest{Status: wire.NodeStatus{Node: c.node.id,
				Health:     wire.Health{OK: true},
				Containers: []wire.ContainerStatus{{ID: c.id, State: wire.ContainerComplete, Exit: exit}}}})
		})
		if got := app.current().master.node.id.Host; c.node.id.Host != "n0" || len(app.attempts) != 2 || got != want {
			t.Errorf("exit %d on %s: %d attempts, the last on %s, want %s", exit, c.node.id.Host, len(app.attempts),
				got, want)
		}
	}
}
