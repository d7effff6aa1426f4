package yarn

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// A node leaves with thousands of containers that their ApplicationMaster has not heard of. The core hears of the asks
// once, not once a container, and what is asked for is what was.
func TestManyUnheardContainersLeave(t *testing.T) {
	f := newFleet(t, 0)
	big := registration(1, wire.Resource{Memory: 1 << 22, VCores: 8192})
	f.do(func(m *manager) (answer, error) { return tracker{m}.register(big, nil) })
	f.master = f.submitOne(true).current()
	f.do(func(m *manager) (answer, error) { return master{m, f.master}.register(&wire.RegisterMasterRequest{}) })
	f.allocate(asks("* 5000 true"))
	for f.m.leases.count < 5000 {
		f.now = f.now.Add(time.Millisecond)
		f.f.turn(nil)
	}
	unheard := f.master.dues.granted.count
	changes := 0
	f.do(func(m *manager) (answer, error) {
		m.nodes.list[0].gone(wire.NodeLost)
		m.settleAll()
		for _, e := range m.events {
			if e.Kind == sched.AsksChanged {
				changes++
			}
		}
		return nil, nil
	})
	if unheard < 3000 || changes != 1 ||
		f.master.app.asks.pending != int64(unheard) || f.master.dues.granted.count != 0 {
		t.Errorf("%d were not heard of; %d changes of asks, %d asked for, %d granted",
			unheard, changes, f.master.app.asks.pending, f.master.dues.granted.count)
	}
}

// A list of grants keeps its order while containers are added, taken and removed from within.
func TestGrantList(t *testing.T) {
	var l grantList
	var want []*container
	for i := range 2000 {
		c := &container{id: wire.ContainerID{ID: int64(i)}}
		l.add(c)
		want = append(want, c)
		switch {
		case i%3 == 2:
			if got := l.next(); got != want[0] {
				t.Fatalf("after %d: next is %v, want %v", i, got.id, want[0].id)
			}
			want = want[1:]
		case i%7 == 5:
			k := len(want) / 2
			l.remove(want[k])
			want = slices.Delete(want, k, k+1)
		}
		if got := slices.Collect(l.all()); !slices.Equal(got, want) || l.count != len(want) {
			t.Fatalf("after %d: %d in the list, %d counted, want %d", i, len(got), l.count, len(want))
		}
	}
	if most := 4 * len(want); cap(l.slots) > most {
		t.Errorf("%d slots for %d containers", cap(l.slots), len(want))
	}
}

// One ask for all of a large cluster is granted in turns, each reply bounded, and nothing is lost or granted twice.
func TestLargeAskIsGrantedInTurns(t *testing.T) {
	f := newFleet(t, 0)
	for i := range int32(10) {
		q := registration(i+1, wire.Resource{Memory: 1 << 21, VCores: 4096})
		f.do(func(m *manager) (answer, error) { return tracker{m}.register(q, nil) })
	}
	f.master = f.submitOne(true).current()
	f.do(func(m *manager) (answer, error) { return master{m, f.master}.register(&wire.RegisterMasterRequest{}) })
	const want = 25_000
	got := len(f.allocate(asks(fmt.Sprintf("* %d true", want))))
	if got > GrantsPerStep {
		t.Errorf("%d containers in the first turn", got)
	}
	for turns := 0; f.m.leases.count < want; turns++ {
		if turns > 2*want/GrantsPerStep {
			t.Fatalf("%d granted after %d turns", f.m.leases.count, turns)
		}
		f.now = f.now.Add(time.Millisecond)
		f.f.turn(nil)
	}
	for got < want {
		n := len(f.allocate(&wire.AllocateRequest{}))
		if n == 0 || n > mostGranted {
			t.Fatalf("%d containers in a reply, %d of %d so far", n, got, want)
		}
		got += n
	}
	if got != want {
		t.Errorf("%d containers, want %d", got, want)
	}
}

// Ends of containers beyond the limits of one answer are in the next ones, each once.
func TestManyEndsComeInTurns(t *testing.T) {
	var d dues
	seen := map[int64]int{}
	const missed, all = 5, 2*mostCompleted + 7
	for i := range int64(all) {
		kept, _ := (&wire.ContainerStatus{ID: wire.ContainerID{ID: i}}).Keep(nil)
		d.completed = append(d.completed, kept)
		if i >= missed {
			d.ending = append(d.ending, &container{id: kept.ID})
		}
	}
	notices := 0
	for range 3 {
		var r wire.AllocateResponse
		d.report(&r)
		if len(r.Completed) > mostCompleted {
			t.Errorf("%d ends in an answer", len(r.Completed))
		}
		for _, s := range r.Completed {
			seen[s.ID.ID]++
		}
		for _, c := range d.sent {
			if notices++; c.notice != sent || seen[c.id.ID] != 1 {
				t.Fatalf("container %d: notice %d, sent %d times", c.id.ID, c.notice, seen[c.id.ID])
			}
		}
		d.sent = nil
	}
	if len(seen) != all || notices != all-missed {
		t.Errorf("%d ends and %d notices, want %d and %d", len(seen), notices, all, all-missed)
	}
	long := strings.Repeat("x", mostDiagnostics)
	for range 1000 {
		d.completed = append(d.completed, wire.ContainerStatus{Diagnostics: long})
	}
	var r wire.AllocateResponse
	if d.report(&r); len(r.Completed) > mostSaid/mostDiagnostics+1 {
		t.Errorf("%d ends with %d bytes of diagnostics each in an answer", len(r.Completed), mostDiagnostics)
	}
}

// An ask for more containers than any cluster has is refused.
func TestAskBeyondAllBounds(t *testing.T) {
	f := newFew(t)
	q := asks("* 1 true")
	q.Asks[0].Containers, q.ResponseID = math.MaxInt32, f.id
	_, err := f.do(func(m *manager) (answer, error) { return master{m, f.master}.allocate(q) })
	if class(err) != classInvalidResource {
		t.Errorf("%v", err)
	}
}

// The health report of a node is cut, and what it says of its use left out where it is too long.
func TestLongWordsOfNodes(t *testing.T) {
	f := newFleet(t, 1)
	n := f.m.nodes.list[0]
	long := strings.Repeat("x", 1<<20)
	f.do(func(m *manager) (answer, error) {
		s := wire.NodeStatus{Node: n.id, Health: wire.Health{OK: true, Report: long}, Utilization: []byte(long)}
		return tracker{m}.heartbeat(&wire.HeartbeatRequest{Status: s})
	})
	if r := n.report(); len(r.Health) != mostHealth || len(r.Utilization) != 0 {
		t.Errorf("%d bytes of health and %d of use are kept", len(r.Health), len(r.Utilization))
	}
}

// stuck is a policy whose first decision about a job does not end until it is let go.
type stuck struct{ begun, let chan struct{} }

func (s *stuck) Decide(p *sched.Plan) {
	for range p.Jobs() {
		select {
		case s.begun <- struct{}{}:
		default:
		}
		<-s.let
	}
}

// A ResourceManager whose turn does not end stops all the same when it is told to.
func TestStopsWithinATurn(t *testing.T) {
	s := &stuck{make(chan struct{}, 1), make(chan struct{})}
	any := "127.0.0.1:0"
	config := Config{
		Core:      sched.Config{Policy: s},
		Addresses: Addresses{Tracker: any, Master: any, Client: any, Admin: any},
		Log:       slog.New(slog.DiscardHandler),
	}
	ctx, cancel := context.WithCancel(t.Context())
	rm, err := Listen(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- rm.Serve(ctx) }()
	over := make(chan struct{})
	go func() {
		defer close(over)
		d := rpc.Dialer{Protocol: wire.ApplicationClient, User: "ana"}
		peer, err := d.Dial(t.Context(), rm.Addresses().Client)
		if err != nil {
			t.Error(err)
			return
		}
		defer peer.Close()
		var r wire.NewApplication
		if err := peer.Call(t.Context(), "getNewApplication", &wire.Empty{}, &r); err != nil {
			t.Error(err)
		}
		size := wire.Resource{Memory: 512, VCores: 1}
		q := wire.Submission{ID: r.ID, Resource: &size, Launch: wire.NewLaunchContext("")}
		peer.Call(t.Context(), "submitApplication", &wire.SubmitRequest{Submission: q}, nil) // cut off
	}()
	<-s.begun
	cancel()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "given up") {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(patience):
		t.Error("it does not end")
	}
	close(s.let)
	<-over
}

// A list of applications takes many turns, each of a bounded number of them, and misses none of those that were there
// from its begin to its end.
func TestListsComeInPages(t *testing.T) {
	f := newFleet(t, 0)
	const count = 3*pageOfApps + 1
	for range count {
		f.submitOne(true)
	}
	for turns := 0; turns < 3; turns++ {
		visited := 0
		f.f.look(func(m *manager) { m.apps.page(0, func(*application) bool { visited++; return true }) })
		if visited != pageOfApps {
			t.Errorf("one turn visits %d applications", visited)
		}
	}
	f.submitOne(true).end(wire.AppKilled, outcome{})
	turns := 0
	f.m.clock = func() time.Time { turns++; return f.now }
	r := applications(f.f, "user", &wire.ApplicationsRequest{})
	if len(r.Reports) != count+1 || turns != 4 {
		t.Errorf("%d reports in %d turns, want %d in 4", len(r.Reports), turns, count+1)
	}
	if r := applications(f.f, "user", &wire.ApplicationsRequest{Limit: 5}); len(r.Reports) != 5 {
		t.Errorf("%d reports, want 5", len(r.Reports))
	}
}
