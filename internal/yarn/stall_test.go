package yarn

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// What one peer says must neither keep other callers waiting nor take memory that is not given back.

// allocates returns how many bytes a function allocates.
func allocates(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// ofPriorities asks for a container of each of some priorities at each place.
func ofPriorities(count int, places ...string) *wire.AllocateRequest {
	q := &wire.AllocateRequest{}
	for i := range count {
		one := asks(places...)
		for k := range one.Asks {
			one.Asks[k].Priority = wire.Priority(i + 1)
		}
		q.Asks = append(q.Asks, one.Asks...)
	}
	return q
}

// wideFleet has 2,000 nodes in one rack, and an application whose ApplicationMaster has registered.
func wideFleet(t *testing.T) *few {
	f := newFleet(t, 2000)
	f.master = f.submitOne(true).current()
	f.do(func(m *manager) (answer, error) { return master{m, f.master}.register(&wire.RegisterMasterRequest{}) })
	return f
}

// An application that does not want 2,000 nodes changes 500 asks: the list of the nodes is made once, not once an ask.
// The same holds for 500 asks for containers in a rack of 2,000 nodes and nowhere else.
func TestManyAsksWithManyNodes(t *testing.T) {
	f := wideFleet(t)
	q := ofPriorities(500, "* 1 true")
	q.Blacklist.Add = []string{DefaultRack}
	if n := allocates(func() { f.allocate(q) }); n > 8<<20 {
		t.Errorf("500 asks beside a long blacklist take %d KiB", n>>10)
	}
	if f.m.leases.count != 0 || f.master.app.asks.pending != 500 {
		t.Errorf("%d granted, %d pending", f.m.leases.count, f.master.app.asks.pending)
	}

	f = wideFleet(t)
	q = ofPriorities(500, DefaultRack+" 1 true", "* 1 false")
	f.do(func(m *manager) (answer, error) {
		if n := allocates(func() { master{m, f.master}.allocate(q) }); n > 4<<20 {
			t.Errorf("500 asks for a rack take %d KiB", n>>10)
		}
		for _, e := range m.events {
			if a, ok := e.Body.(*sched.Asks); ok && len(a.Only) != 2000 {
				t.Fatalf("asks for the core have %d nodes", len(a.Only))
			}
		}
		return nil, nil
	})
}

// When a node comes, those asks are noted again for the core that name its host or its rack, and no others.
func TestNodesThatComeAndAsks(t *testing.T) {
	f := newFew(t)
	f.allocate(ofPriorities(300, "/one 1 true", "* 1 false"))
	for host, want := range map[string]int{"d": 0, "e": 0, "a": f.master.app.asks.places} {
		f.do(func(m *manager) (answer, error) {
			q := registration(77, wire.Resource{Memory: 512, VCores: 1})
			q.Node.Host = host
			if _, err := (tracker{m}).register(q, &net.TCPAddr{}); err != nil {
				t.Error(err)
			}
			noted := asksNoted(m)
			if want == 0 && host == "a" || noted != want {
				t.Errorf("a node on %s: %d changes of asks are noted for the core, want %d", host, noted, want)
			}
			return nil, nil
		})
	}
}

// asksNoted ends what has come in a turn, and counts the changes of asks that are noted for the core.
func asksNoted(m *manager) (noted int) {
	meet(m)
	for _, e := range m.events {
		if e.Kind == sched.AsksChanged {
			noted++
		}
	}
	return noted
}

// However many nodes come in a turn, asks that name their hosts are noted again once. Those that name a rack that has
// nodes already, and will do with others, need not be, nor any if a node comes back.
func TestManyNodesThatComeAndAsks(t *testing.T) {
	f := newFew(t)
	list := []string{"/one 9 true", DefaultRack + " 90 true", "* 60 true"}
	for i := range 50 {
		list = append(list, fmt.Sprintf("h%d 1 true", i))
	}
	f.allocate(asks(list...))
	come := func(m *manager, host string) {
		q := registration(7, wire.Resource{Memory: 512, VCores: 1})
		q.Node.Host = host
		if _, err := (tracker{m}).register(q, &net.TCPAddr{}); err != nil {
			t.Error(err)
		}
	}
	f.do(func(m *manager) (answer, error) {
		for i := range 50 {
			come(m, fmt.Sprint("h", i))
		}
		if noted := asksNoted(m); noted != 1 {
			t.Errorf("50 nodes come at once: the core gets asks %d times", noted)
		}
		return nil, nil
	})
	on := f.allocate(&wire.AllocateRequest{})
	if len(on) != 50 || !slices.Contains(on, "h49") {
		t.Errorf("containers on %d of the 50 hosts that were asked for: %v", len(on), on)
	}
	f.do(func(m *manager) (answer, error) {
		come(m, "elsewhere") // in DefaultRack
		if noted := asksNoted(m); noted != 0 {
			t.Errorf("a node in a rack that will do with others: the core gets asks %d times", noted)
		}
		n := m.nodes.list[len(m.nodes.list)-2]
		n.gone(wire.NodeShutdown)
		m.step()
		come(m, n.id.Host)
		if noted := asksNoted(m); noted != 0 {
			t.Errorf("a node comes back: the core gets asks %d times", noted)
		}
		return nil, nil
	})
	f = newFew(t)
	f.allocate(asks(DefaultRack+" 9 true", "* 60 true"))
	f.do(func(m *manager) (answer, error) {
		come(m, "first")
		come(m, "second")
		if noted := asksNoted(m); noted != 1 {
			t.Errorf("the first nodes of a rack: the core gets asks %d times", noted)
		}
		return nil, nil
	})
}

// An application may ask for thousands of hosts. A list of applications does not go through them.
func TestManyPlacesInLists(t *testing.T) {
	f := newFew(t)
	for _, hosts := range []int{5, 5000} {
		list := []string{"* 10000 true"}
		for i := range hosts {
			list = append(list, fmt.Sprintf("host%d 1 true", i))
		}
		f.allocate(asks(list...))
		got := requestsOf(f.master.app)
		want := 1 + hosts
		if want > mostRequests {
			want = 1
		}
		if len(got) != want || got[0].Place != wire.Anywhere {
			t.Errorf("of %d hosts, %d requests are told, want %d: %.200v", hosts, len(got), want, got)
		}
	}
}

// The id of a node that was forgotten is another node's. Asks for the forgotten one do not mean the other.
func TestAsksForForgottenNodes(t *testing.T) {
	f := newFleet(t, mostGone)
	f.master = f.submitOne(true).current()
	f.do(func(m *manager) (answer, error) { return master{m, f.master}.register(&wire.RegisterMasterRequest{}) })
	f.do(func(m *manager) (answer, error) {
		for _, n := range slices.Clone(m.nodes.list) {
			n.gone(wire.NodeLost)
		}
		return nil, nil
	})
	f.allocate(asks("n0 1 true", "* 1 false"))
	f.do(func(m *manager) (answer, error) {
		q := registration(1, wire.Resource{Memory: 4096, VCores: 8})
		q.Node.Host = "fresh"
		return tracker{m}.register(q, &net.TCPAddr{})
	})
	if n := f.m.nodes.list[0]; n.id.Host != "fresh" {
		t.Fatalf("the first node is %v", n.id)
	}
	if got := f.allocate(&wire.AllocateRequest{}); len(got) > 0 {
		t.Errorf("n0 was asked for, and containers come on %v", got)
	}
	if got := f.allocate(asks("n0 0 true", "* 1 true")); !slices.Equal(got, []string{"fresh"}) {
		t.Errorf("any node will do, and containers come on %v", got)
	}
}

// A list of containers takes many turns, and is that of all.
func TestContainersComeInPages(t *testing.T) {
	f := bigFleet(t)
	const count = 2*pageOfContainers + 7
	f.allocate(asks(fmt.Sprintf("* %d true", count)))
	for f.m.leases.count < count {
		f.now = f.now.Add(time.Millisecond)
		f.f.turn(nil)
	}
	turns := 0
	clock := f.m.clock
	f.m.clock = func() time.Time { turns++; return clock() }
	r, err := containerReports(f.f, "user", &wire.AttemptRequest{ID: f.master.id})
	f.m.clock = clock
	if err != nil || len(r.Reports) != count || turns != 3 {
		t.Fatalf("%d reports in %d turns, want %d in 3: %v", len(r.Reports), turns, count, err)
	}
	for i, c := range f.master.own() {
		if r.Reports[i].ID != c.id {
			t.Fatalf("report %d is of %v, want %v", i, r.Reports[i].ID, c.id)
		}
	}
	other := wire.AttemptID{App: f.master.id.App, Attempt: 2}
	if _, err := containerReports(f.f, "user", &wire.AttemptRequest{ID: other}); class(err) != classAttemptNotFound {
		t.Errorf("an attempt that there is not: %v", err)
	}
}

// An ApplicationMaster that takes over thousands of containers is told of all of them, in many turns.
func TestKeptContainersComeInPages(t *testing.T) {
	f := bigFleet(t)
	const count = 2*pageOfContainers + 7
	app := f.m.apps.byID[f.managed(func(s *wire.Submission) { s.KeepContainers = true })]
	f.master = app.current()
	f.do(func(m *manager) (answer, error) { return master{m, f.master}.register(&wire.RegisterMasterRequest{}) })
	got := len(f.allocate(asks(fmt.Sprintf("* %d true", count))))
	for got < count {
		f.now = f.now.Add(time.Millisecond)
		got += len(f.allocate(&wire.AllocateRequest{}))
	}
	f.ends(app)
	id, turns, clock := token.Master{Attempt: app.current().id}, 0, f.m.clock
	f.m.clock = func() time.Time { turns++; return clock() }
	reply, err := registerInParts(f.f)(t.Context(), &rpc.Call{Token: id.Append(nil),
		Body: (&wire.RegisterMasterRequest{}).Append(nil)})
	f.m.clock = clock
	if err != nil {
		t.Fatal(err)
	}
	var r wire.RegisterMasterResponse
	if err := r.Decode(reply.Append(nil)); err != nil {
		t.Fatal(err)
	}
	nodes := map[wire.NodeID]bool{}
	for i, c := range r.Containers {
		nodes[c.Node] = true
		if i > 0 && c.ID.ID <= r.Containers[i-1].ID.ID || c.Token.Identifier == nil {
			t.Fatalf("container %d is %v, with a token of %d bytes", i, c.ID, len(c.Token.Identifier))
		}
	}
	if len(r.Containers) != count || len(r.NodeTokens) != len(nodes) || turns != 4 {
		t.Errorf("%d containers on %d nodes with %d tokens in %d turns, want %d in 4", len(r.Containers), len(nodes),
			len(r.NodeTokens), turns, count)
	}
	if app.current().state != wire.AttemptRunning {
		t.Errorf("it is %v", app.current().state)
	}
}

// A heartbeat with thousands of reports is taken in parts, all of them once, and answered once.
func TestLongHeartbeatsComeInParts(t *testing.T) {
	f := newFleet(t, 1)
	n := f.m.nodes.list[0]
	const count = 3*partOfCall + 1
	q := &wire.HeartbeatRequest{Status: wire.NodeStatus{Node: n.id, Health: wire.Health{OK: true}}}
	for i := range int64(count) {
		id := wire.ContainerID{Attempt: wire.AttemptID{App: wire.ApplicationID{ID: 9, Timestamp: 1}, Attempt: 1}, ID: i}
		q.Status.Containers = append(q.Status.Containers, wire.ContainerStatus{ID: id, State: wire.ContainerComplete})
	}
	beat := func() (turns int, r wire.HeartbeatResponse) {
		clock := f.m.clock
		f.m.clock = func() time.Time { turns++; return clock() }
		defer func() { f.m.clock = clock }()
		reply, err := beatInParts(f.f)(t.Context(), &rpc.Call{Body: q.Append(nil)})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Decode(reply.Append(nil)); err != nil {
			t.Fatal(err)
		}
		return turns, r
	}
	turns, first := beat()
	if turns != 4 || len(first.Remove) != count || first.ResponseID != 1 {
		t.Errorf("%d turns, %d containers to forget, answer %d", turns, len(first.Remove), first.ResponseID)
	}
	if _, again := beat(); len(again.Remove) != count || again.ResponseID != 1 || len(n.remove) != 0 {
		t.Errorf("the repeated beat has %d to forget, and %d wait", len(again.Remove), len(n.remove))
	}
	register := registration(8, wire.Resource{Memory: 4096, VCores: 8})
	register.Apps = make([]wire.ApplicationID, mostReported+1)
	r, _ := f.do(func(m *manager) (answer, error) { return tracker{m}.register(register, nil) })
	if r := r.(*wire.RegisterNodeResponse); r.Action != wire.NodeActShutdown || len(f.m.nodes.list) != 1 {
		t.Errorf("a node with %d applications: %+v", len(register.Apps), r)
	}
}

// Signals to containers of a node that does not beat have a bound, and are possible again when it has beaten.
func TestManySignals(t *testing.T) {
	f := newFew(t)
	f.allocate(asks("a 1 true", "* 1 true"))
	c := f.master.own()[0]
	f.do(func(*manager) (answer, error) { c.state = running; return nil, nil })
	signal := func() error {
		_, err := f.do(func(m *manager) (answer, error) {
			return client{m, "user"}.signal(&wire.Signal{Container: c.id, Command: wire.SignalThreadDump})
		})
		return err
	}
	for range mostSignals {
		if err := signal(); err != nil {
			t.Fatal(err)
		}
	}
	if err := signal(); class(err) != classYARN || len(c.node.signals) != mostSignals {
		t.Errorf("%d signals wait, and one more: %v", len(c.node.signals), err)
	}
	f.beatNode(c.node)
	if err := signal(); err != nil {
		t.Errorf("after a beat: %v", err)
	}
}

// A container whose size changes again and again is told of to its node once, with the last size, and again when it
// changes after that.
func TestSizesThatChangeOften(t *testing.T) {
	f := newFew(t)
	f.allocate(asks("a 1 true", "* 1 true"))
	c := f.master.own()[0]
	change := func(times int) {
		f.do(func(*manager) (answer, error) {
			c.state = running
			for range times {
				c.become(wire.Resource{Memory: c.resource.Memory - 1, VCores: 1}, wire.Decrease)
			}
			return nil, nil
		})
	}
	for _, times := range []int{100, 1} {
		change(times)
		if n := len(c.node.sizes.containers); n != 1 {
			t.Errorf("%d sizes wait for the node's beat, want 1", n)
		}
		f.beatNode(c.node)
		told := c.node.last.Updates
		if len(told) != 1 || told[0].Resource != c.resource || told[0].Version != c.version {
			t.Errorf("the node is told %+v, want one of version %d", told, c.version)
		}
	}
}

// Changes of sizes that are refused come in answers of a bounded length, each once. A call with too many is refused.
func TestManyUpdatesAreRefused(t *testing.T) {
	f := newFew(t)
	const count = 2*mostGranted + 1
	q := &wire.AllocateRequest{}
	for i := range int64(count) {
		id := wire.ContainerID{Attempt: f.master.id, ID: 1000 + i}
		q.Updates = append(q.Updates, wire.UpdateRequest{Container: id})
	}
	seen := map[int64]bool{}
	for range 3 {
		f.allocate(q)
		refused := f.master.dues.last.Refused
		for i := range refused {
			seen[refused[i].Request.Container.ID] = true
		}
		if len(refused) > mostGranted {
			t.Errorf("%d in an answer", len(refused))
		}
		q = &wire.AllocateRequest{}
	}
	if len(seen) != count || len(f.master.dues.refused) != 0 {
		t.Errorf("%d of %d are told of, %d wait", len(seen), count, len(f.master.dues.refused))
	}
	q = &wire.AllocateRequest{ResponseID: f.id, Updates: make([]wire.UpdateRequest, mostUpdates+1)}
	if _, err := f.do(func(m *manager) (answer, error) { return master{m, f.master}.allocate(q) }); err == nil {
		t.Error("a call with more changes than may be is taken")
	}
}

// Callers choose from lists by a bounded number of values, and ask for each state of a statistic once.
func TestManyFilters(t *testing.T) {
	c := start(t, nil)
	many := make([]int32, mostFilters+1)
	for method, q := range map[string]proto.Message{
		"getApplications": &wire.ApplicationsRequest{States: many},
		"getClusterNodes": &wire.NodesRequest{States: many},
	} {
		if err := c.client.Call(t.Context(), method, q, nil); class(err) != classYARN {
			t.Errorf("%s by %d states: %v", method, len(many), err)
		}
	}
	names := strings.Repeat("a,", mostFilters+1)
	for _, page := range []string{"/apps?user=" + names, "/nodes?states=" + strings.Repeat("LOST,", mostFilters+1)} {
		if status, v := c.rest("GET", page, ""); status != http.StatusBadRequest {
			t.Errorf("%.20s...: %d, %v", page, status, v)
		}
	}
	_, v := c.rest("GET", "/appstatistics?states=running,RUNNING,finished,running", "")
	if items, _ := at(v, "appStatInfo.statItem").([]any); len(items) != 2 {
		t.Errorf("statistics %v", v)
	}
}

// What nodes say of the logs of an application is kept by node as long as the node is remembered, and until the nodes'
// time is over.
func TestLogsOfManyNodes(t *testing.T) {
	f := newFleet(t, 0)
	f.m.config.Shown.Collects = true
	app := f.submitOne(true)
	const count = mostGone + 200
	for i := range int32(count) {
		f.do(func(m *manager) (answer, error) {
			q := registration(i+1, wire.Resource{Memory: 4096, VCores: 8})
			q.Logs = []wire.LogReport{{App: app.id, Status: wire.LogsRunning}}
			if _, err := (tracker{m}).register(q, &net.TCPAddr{}); err != nil {
				t.Fatal(err)
			}
			m.nodes.byID[q.Node].gone(wire.NodeLost)
			return nil, nil
		})
	}
	c := f.m.apps.logs[app.id]
	if len(c.at) > mostGone+1 || c.nodes != count || logsOf(app) != wire.LogsRunning {
		t.Errorf("%d nodes are kept of %d, which are %v", len(c.at), c.nodes, logsOf(app))
	}
	f.do(func(*manager) (answer, error) {
		app.end(wire.AppFinished, outcome{wire.Succeeded, ""})
		return nil, nil
	})
	f.now = f.now.Add(collectionTimeout + time.Second)
	f.f.turn(nil)
	if c.at != nil || f.m.live.collecting.count != 0 || logsOf(app) != wire.LogsTimedOut {
		t.Errorf("%d nodes are kept after their time, which are %v", len(c.at), logsOf(app))
	}
	n := f.m.nodes.list[0]
	f.do(func(*manager) (answer, error) {
		n.collected([]wire.LogReport{{App: app.id, Status: wire.LogsSucceeded}})
		return nil, nil
	})
	if c.at != nil || logsOf(app) != wire.LogsTimedOut {
		t.Errorf("what a node says too late counts: %v", logsOf(app))
	}
}

// Names that peers make up are bounded: of nodes' hosts, of the places that are asked for or not wanted, of queues, and
// what says how logs are collected, which is part of each container's token.
func TestLongNames(t *testing.T) {
	f := newFew(t)
	long := strings.Repeat("x", 1<<20)
	q := registration(1, wire.Resource{Memory: 4096, VCores: 8})
	q.Node.Host = long
	r, _ := f.do(func(m *manager) (answer, error) { return tracker{m}.register(q, nil) })
	if r := r.(*wire.RegisterNodeResponse); r.Action != wire.NodeActShutdown || len(r.Diagnostics) > 1<<10 ||
		len(f.m.nodes.list) != 3 {
		t.Errorf("a node's host of %d bytes: %d nodes, %.100s", len(long), len(f.m.nodes.list), r.Diagnostics)
	}
	place := asks("* 1 false", "a 1 true")
	place.Asks[1].Place = long
	for want, q := range map[string]*wire.AllocateRequest{
		classInvalidResource:  place,
		classInvalidBlacklist: {Blacklist: wire.Blacklist{Add: []string{long}}},
	} {
		q.ResponseID = f.id
		if _, err := f.do(func(m *manager) (answer, error) {
			return master{m, f.master}.allocate(q)
		}); class(err) != want {
			t.Errorf("a place of %d bytes: %.200v, want %s", len(long), err, want)
		}
	}
	for name, change := range map[string]func(*wire.Submission){
		"log aggregation": func(s *wire.Submission) { s.LogAggregation = []byte(long) },
		"queue":           func(s *wire.Submission) { s.Queue = long },
	} {
		before := len(f.m.apps.list)
		r, _ := f.do(func(m *manager) (answer, error) { return client{m, ""}.newID(nil) })
		s := wire.Submission{ID: r.(*wire.NewApplication).ID, Unmanaged: true}
		change(&s)
		if _, err := f.do(func(m *manager) (answer, error) {
			return client{m, "user"}.submit(&wire.SubmitRequest{Submission: s})
		}); class(err) != classYARN || len(err.Error()) > 1<<10 || len(f.m.apps.list) != before {
			t.Errorf("%s of %d bytes: %.200v", name, len(long), err)
		}
	}
}

// An application that is over holds no places any more that its ApplicationMaster was wanted at.
func TestMasterPlacesAreLetGo(t *testing.T) {
	f := newFew(t)
	r, _ := f.do(func(m *manager) (answer, error) { return client{m, ""}.newID(nil) })
	s := wire.Submission{ID: r.(*wire.NewApplication).ID, Launch: wire.NewLaunchContext("")}
	for _, place := range []string{"*", "a", "nowhere"} {
		s.Master = append(s.Master, wire.ResourceRequest{Place: place, Containers: 1, Relax: true,
			Resource: wire.Resource{Memory: 512, VCores: 1}})
	}
	if _, err := f.do(func(m *manager) (answer, error) {
		return client{m, "user"}.submit(&wire.SubmitRequest{Submission: s})
	}); err != nil {
		t.Fatal(err)
	}
	app := f.m.apps.byID[s.ID]
	if len(app.submission.Master) != 3 {
		t.Fatalf("it holds %d places", len(app.submission.Master))
	}
	f.do(func(*manager) (answer, error) { app.end(wire.AppKilled, outcome{wire.Killed, ""}); return nil, nil })
	if len(app.submission.Master) != 0 || f.m.apps.footprint != 0 {
		t.Errorf("it holds %d places and %d bytes", len(app.submission.Master), f.m.apps.footprint)
	}
}

// What a NodeManager says when it starts no ApplicationMaster is cut, and of attempts long ago only the beginning is
// kept: where failures expire, an application may have any number of them.
func TestDiagnosticsOfManyAttempts(t *testing.T) {
	f := newFleet(t, 200)
	r, _ := f.do(func(m *manager) (answer, error) { return client{m, ""}.newID(nil) })
	s := wire.Submission{ID: r.(*wire.NewApplication).ID, Launch: wire.NewLaunchContext(""), Validity: 1,
		Resource: &wire.Resource{Memory: 512, VCores: 1}}
	f.do(func(m *manager) (answer, error) {
		return client{m, "user"}.submit(&wire.SubmitRequest{Submission: s})
	})
	app := f.m.apps.byID[s.ID]
	long := errors.New(strings.Repeat("x", 2*mostDiagnostics))
	const count = mostInFull + 10
	for turns := 0; len(app.attempts) < count; turns++ {
		if app.over || turns > 2*count {
			t.Fatalf("over after %d attempts: %.200s", len(app.attempts), app.outcome.diagnostics)
		}
		a := app.current()
		f.now = f.now.Add(2 * time.Millisecond) // failures count for one
		f.do(func(m *manager) (answer, error) {
			if a.state == wire.AttemptAllocated {
				a.launched(long)
			}
			return nil, nil
		})
	}
	for i, a := range app.attempts[:count-1] {
		most := mostDiagnostics
		if i < count-mostInFull {
			most = mostLogged
		}
		if len(a.diagnostics) != most {
			t.Errorf("of attempt %d of %d, %d bytes are kept, want %d", i+1, count, len(a.diagnostics), most)
		}
	}
}
