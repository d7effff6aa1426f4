package yarn

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// A few has an unmanaged ApplicationMaster on nodes a:1 and b:2 (rack /one) and c:3 (rack /two), each with room for two
// containers of 512 MiB.
type few struct {
	*world
	master *attempt
	id     int32
}

func newFew(t *testing.T) *few { return newFewUnder(t, "fifo") }

func newFewUnder(t *testing.T, spec string) *few {
	fifo, _, err := policy.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, now: time.Unix(1_700_000_000, 0)}
	config := Config{Core: sched.Config{Policy: fifo}, Sizes: Sizes{MinMemory: 512}, Quiet: time.Hour,
		Log:   slog.New(slog.DiscardHandler),
		Racks: map[string]string{"a": "/one", "b": "/one", "c": "/two", "d": "/two"}}.withDefaults()
	w.open(config, Hosts{}, w, func() time.Time { return w.now })
	f := &few{world: w}
	for i, host := range []string{"a", "b", "c"} {
		f.join(host, int32(i+1))
	}
	r, _ := w.do(func(m *manager) (answer, error) { return client{m, ""}.newID(nil) })
	id := r.(*wire.NewApplication).ID
	w.do(func(m *manager) (answer, error) {
		return client{m, "user"}.submit(&wire.SubmitRequest{Submission: wire.Submission{ID: id, Unmanaged: true}})
	})
	f.master = w.m.apps.byID[id].current()
	w.do(func(m *manager) (answer, error) { return master{m, f.master}.register(&wire.RegisterMasterRequest{}) })
	return f
}

func (f *few) join(host string, port int32) {
	f.do(func(m *manager) (answer, error) {
		return tracker{m}.register(
			&wire.RegisterNodeRequest{
				Node:     wire.NodeID{Host: host, Port: port},
				Resource: wire.Resource{Memory: 1024, VCores: 4},
			},
			&net.TCPAddr{},
		)
	})
}

// allocate beats, and returns the hosts of the containers that were given, sorted.
func (f *few) allocate(q *wire.AllocateRequest) []string {
	f.t.Helper()
	q.ResponseID = f.id
	r, err := f.do(func(m *manager) (answer, error) { return master{m, f.master}.allocate(q) })
	if err != nil {
		f.t.Fatal(err)
	}
	f.id++
	hosts := []string{}
	for _, c := range r.(*wire.AllocateResponse).Allocated {
		hosts = append(hosts, c.Node.Host)
	}
	slices.Sort(hosts)
	return hosts
}

func asks(list ...string) *wire.AllocateRequest {
	q := &wire.AllocateRequest{}
	for _, s := range list {
		a := wire.ResourceRequest{Priority: 1, Resource: wire.Resource{Memory: 512, VCores: 1}, Allocation: -1}
		if _, err := fmt.Sscanf(s, "%s %d %t", &a.Place, &a.Containers, &a.Relax); err != nil {
			panic(err)
		}
		q.Asks = append(q.Asks, a)
	}
	return q
}

func TestPlaces(t *testing.T) {
	equal := func(what string, got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: containers on %v, want %v", what, got, want)
		}
	}
	f := newFew(t)
	equal(
		"c and nowhere else, which has room for two",
		f.allocate(asks("c 3 true", "/two 3 false", "* 3 false")),
		"c",
		"c",
	)
	f.join("d", 4)
	equal("d is in c's rack, and is not meant", f.allocate(&wire.AllocateRequest{}))
	equal("the rack will do now", f.allocate(asks("/two 1 true", "* 1 false")), "d")

	f = newFew(t)
	q := asks("* 6 true")
	q.Blacklist.Add = []string{"a"}
	equal("anywhere but on a", f.allocate(q), "b", "b", "c", "c")
	equal(
		"a is wanted again",
		f.allocate(&wire.AllocateRequest{Blacklist: wire.Blacklist{Remove: []string{"a"}}}),
		"a",
		"a",
	)

	f = newFew(t)
	q = asks("* 9 true")
	q.Blacklist.Add = []string{"/one"}
	equal("a whole rack is not wanted", f.allocate(q), "c", "c")
	f.join("d", 4)
	equal("a node that comes to another rack is", f.allocate(&wire.AllocateRequest{}), "d", "d")

	f = newFew(t)
	equal("asks are absolute: the later counts", f.allocate(asks("* 5 true", "* 1 true")), "a")
	equal("none are wanted any more", f.allocate(asks("* 0 true")))
	equal("what is asked for again counts anew", f.allocate(asks("* 1 true")), "b")
}

// Hosts and racks are preferred where they have room, whichever order the nodes are in, and given up where they have
// none.
func TestNear(t *testing.T) {
	for _, c := range []struct {
		asks, want []string
	}{
		{[]string{"c 1 true", "/two 1 true", "* 1 true"}, []string{"c"}},
		// copies on both
		{[]string{"b 2 true", "c 2 true", "/one 2 true", "/two 2 true", "* 2 true"}, []string{"b", "c"}},
		// one has no place: anywhere, so on a
		{[]string{"b 1 true", "/one 1 true", "* 2 true"}, []string{"a", "b"}},
		// c has room for two
		{[]string{"c 4 true", "/two 4 true", "* 4 true"}, []string{"a", "b", "c", "c"}},
		// in the rack of a host that is not there
		{[]string{"unknown 1 true", "/two 1 true", "* 1 true"}, []string{"c"}},
		// one each, and no more on either
		{[]string{"a 1 true", "b 1 true", "/one 2 true", "* 2 false"}, []string{"a", "b"}},
		// one may be there; the others nowhere
		{[]string{"a 1 false", "/one 1 false", "* 3 false"}, []string{"a"}},
		// the rack's four, and not c
		{[]string{"b 1 true", "/one 6 true", "* 6 false"}, []string{"a", "a", "b", "b"}},
		// absolute
		{[]string{"b 0 true", "c 1 true", "b 1 true", "c 0 true", "/one 1 true", "/two 0 true", "* 1 true"},
			[]string{"b"}},
	} {
		f := newFew(t)
		if got := f.allocate(asks(c.asks...)); !slices.Equal(got, c.want) {
			t.Errorf("%q: containers on %v, want %v", c.asks, got, c.want)
		}
	}
}

// Delay scheduling: a task waits for its node, then for its rack, and then takes any.
func TestDelay(t *testing.T) {
	f := newFewUnder(t, "fair:delay=5s,rack-delay=3s")
	if got := f.allocate(asks("* 2 true")); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("got %v: a task without a place does not wait", got)
	}
	f.join("d", 4)
	want := []string{"c 3 true", "/two 3 true", "* 3 true"}
	if got := f.allocate(asks(want...)); !slices.Equal(got, []string{"c", "c"}) {
		t.Fatalf("got %v: two have room on their node", got)
	}
	at := func(d time.Duration, want ...string) {
		t.Helper()
		f.now = f.now.Add(d)
		if got := f.allocate(&wire.AllocateRequest{}); !slices.Equal(got, want) {
			t.Errorf("after %v more: %v, want %v", d, got, want)
		}
	}
	at(4 * time.Second)
	at(time.Second, "d") // in the rack
	if got := f.allocate(asks("c 1 true", "/two 1 true", "* 1 true")); !slices.Equal(got, []string{"d"}) {
		t.Fatalf("got %v: what has been content with the rack is at once", got)
	}
	if got := f.allocate(asks("c 1 true", "/two 1 true", "* 1 true")); len(got) != 0 {
		t.Fatalf("got %v: the rack is full, and another is worth waiting", got)
	}
	at(2 * time.Second)
	at(time.Second, "a")
}

func TestTopology(t *testing.T) {
	racks, err := parseRacks("table", []byte("a /one # the first\n\nb\t/two\n"))
	if err != nil || len(racks) != 2 || racks["b"] != "/two" {
		t.Errorf("%v, %v", racks, err)
	}
	if _, err := parseRacks("table", []byte("a /one\nb two\n")); err == nil ||
		err.Error() != `table:2: rack "two": must be a path like /rack1` {
		t.Errorf("%v", err)
	}
	script := filepath.Join(t.TempDir(), "rack")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho run >> $0.runs\ncase $1 in c*) echo /three;; *) echo /x "+
		"/y;; esac\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	top := newTopology(racks, script, newResolver((&fakeNames{}).lookUp))
	for range 2 {
		if err := top.learn(t.Context(), "c7"); err != nil {
			t.Fatal(err)
		}
	}
	for _, host := range []string{"d", "-rf"} {
		if err := top.learn(t.Context(), host); err == nil {
			t.Errorf("%s: no error", host)
		}
	}
	if top.of("a") != "/one" || top.of("c7") != "/three" || top.of("d") != DefaultRack {
		t.Errorf("%s %s %s", top.of("a"), top.of("c7"), top.of("d"))
	}
	if runs, _ := os.ReadFile(script + ".runs"); string(runs) != "run\nrun\n" {
		t.Errorf("the script ran %q: once for c7, once for d", runs)
	}
}

// An ask that crosses with a grant is not granted twice: what its sender has not heard of is taken off it.
func TestCrossingAsks(t *testing.T) {
	f := newFew(t)
	if got := f.allocate(asks("* 8 true")); len(got) != 6 {
		t.Fatalf("%v, want all that six slots hold", got)
	}
	f.join("d", 4) // the last two are granted now, and its sender has not heard of that
	if got := f.allocate(asks("* 2 true")); !slices.Equal(got, []string{"d", "d"}) {
		t.Fatalf("got %v", got)
	}
	f.join("e", 5)
	if got := f.allocate(&wire.AllocateRequest{}); len(got) != 0 {
		t.Errorf("got %v beyond what was asked for", got)
	}
}

func TestSizes(t *testing.T) {
	s := Sizes{MinMemory: 512, MaxMemory: 4096, MinVCores: 1, MaxVCores: 4}
	for in, want := range map[wire.Resource]wire.Resource{{}: {Memory: 512, VCores: 1},
		{Memory: 513, VCores: 2}: {Memory: 1024, VCores: 2}, {Memory: 1024, VCores: 0}: {Memory: 1024, VCores: 1}} {
		if got := s.normal(in); got != want {
			t.Errorf("%v becomes %v, want %v", in, got, want)
		}
	}
	odd := Sizes{MinMemory: 1024, MaxMemory: 4000, MinVCores: 3, MaxVCores: 4}
	for in, want := range map[wire.Resource]wire.Resource{{Memory: 4000, VCores: 4}: {Memory: 4000, VCores: 4},
		{Memory: 3073, VCores: 1}: {Memory: 4000, VCores: 3}, {Memory: 5000, VCores: 9}: {Memory: 5000, VCores: 9}} {
		if got := odd.normal(in); got != want {
			t.Errorf("with a maximum that is not whole steps %v becomes %v, want %v", in, got, want)
		}
	}
	for _, bad := range []wire.Resource{{Memory: 4097}, {VCores: 5}, {Memory: -1}, {VCores: -1}} {
		if s.check(bad, s.most()) == nil {
			t.Errorf("%v is allowed", bad)
		}
	}
	if s.check(wire.Resource{Memory: 4096, VCores: 4}, s.most()) != nil {
		t.Error("the maximum is not allowed")
	}
}

// What an ApplicationMaster asked for and did not want ends with it: the next is started anywhere, and asks anew.
func TestNextAttemptAsksAnew(t *testing.T) {
	for _, keep := range []bool{false, true} {
		f := newFew(t)
		id := f.managed(func(s *wire.Submission) { s.KeepContainers = keep })
		app := f.m.apps.byID[id]
		f.master, f.id = app.current(), 0
		f.do(func(m *manager) (answer, error) { return master{m, f.master}.register(&wire.RegisterMasterRequest{}) })
		q := asks("unknown 1 true", "* 9 false")
		q.Blacklist.Add = []string{"a", "b", "c"}
		f.allocate(q)
		f.do(func(m *manager) (answer, error) { f.master.fail("of a test"); return nil, nil })
		beat := &wire.HeartbeatRequest{
			Status: wire.NodeStatus{Node: f.master.master.node.id, Health: wire.Health{OK: true},
				Containers: []wire.ContainerStatus{{ID: f.master.master.id, State: wire.ContainerComplete, Exit: 1}}},
		}
		f.do(func(m *manager) (answer, error) { return tracker{m}.heartbeat(beat) })
		if len(app.attempts) != 2 {
			t.Fatalf(
				"keep %v: %d attempts: the second finds no node that the first would have used",
				keep,
				len(app.attempts),
			)
		}
		f.master, f.id = app.current(), 0
		f.do(func(m *manager) (answer, error) { return master{m, f.master}.register(&wire.RegisterMasterRequest{}) })
		got, want := f.allocate(asks("* 5 true")), 5
		if keep {
			want = 0
		}
		if len(got) != want {
			t.Errorf("keep %v: containers on %v, want %d", keep, got, want)
		}
	}
}

// managed submits an application, and returns when its ApplicationMaster has a container.
func (f *few) managed(change func(*wire.Submission)) wire.ApplicationID {
	f.t.Helper()
	r, _ := f.do(func(m *manager) (answer, error) { return client{m, ""}.newID(nil) })
	s := wire.Submission{
		ID:       r.(*wire.NewApplication).ID,
		Resource: &wire.Resource{Memory: 512, VCores: 1},
		Launch:   wire.NewLaunchContext(""),
	}
	if change != nil {
		change(&s)
	}
	if _, err := f.do(func(m *manager) (answer, error) {
		return client{m, "user"}.submit(&wire.SubmitRequest{Submission: s})
	}); err != nil || f.m.apps.byID[s.ID].current() == nil {
		f.t.Fatalf("submit: %v", err)
	}
	return s.ID
}

// A node may tell of a container of an earlier life whose size no container can have: it gets no stage.
func TestStageForSizes(t *testing.T) {
	app := &application{m: &manager{config: &Config{}}, asks: newAskTable()}
	for _, size := range []wire.Resource{{}, {Memory: -1, VCores: 1}, {Memory: 1 << 40, VCores: 1}} {
		if stage := app.stageFor(stageKey{size: size}); stage != 0 || len(app.asks.stages) != 1 {
			t.Errorf("a container of %+v gets stage %d", size, stage)
		}
	}
}

// An ApplicationMaster may use as many allocation ids as it likes, one after another: nothing is kept of those that
// want nothing, and their stages are used again.
func TestAllocationsComeAndGo(t *testing.T) {
	f := newFew(t)
	for i := range int64(mostStages) {
		for _, n := range []int32{7, 0} {
			q := asks("* 0 true", "unknown 0 true")
			for j := range q.Asks {
				q.Asks[j].Allocation, q.Asks[j].Containers, q.Asks[j].Priority = i, n, 2
			}
			q.Blacklist.Add = []string{"a", "b", "c"}
			f.allocate(q)
		}
	}
	a := &f.master.app.asks
	if len(a.groups) != 0 || len(a.stages) != 2 || a.pending != 0 || a.places != 0 {
		t.Errorf(
			"%d groups, %d stages, %d containers at %d places are left of nothing, want the ApplicationMaster's "+
				"stage and another",
			len(a.groups),
			len(a.stages),
			a.pending,
			a.places,
		)
	}
}

// A call that asks for too much is refused whole.
func TestTooMuchIsRefusedWhole(t *testing.T) {
	for _, c := range []struct {
		what string
		fill func(q *wire.AllocateRequest)
	}{
		{"kinds", func(q *wire.AllocateRequest) {
			for i := range int64(mostStages) {
				q.Asks = append(q.Asks, asks("* 1 true").Asks[0])
				q.Asks[i].Allocation = i
			}
		}},
		{"places", func(q *wire.AllocateRequest) {
			for i := range mostPlaces + 1 {
				q.Asks = append(q.Asks, asks("host 1 true").Asks[0])
				q.Asks[i].Place = fmt.Sprint("host", i)
			}
			q.Asks = append(q.Asks, asks("* 1 true").Asks...)
		}},
		{"blacklist", func(q *wire.AllocateRequest) {
			q.Asks = asks("* 1 true").Asks
			for i := range mostPlaces + 1 {
				q.Blacklist.Add = append(q.Blacklist.Add, fmt.Sprint("host", i))
			}
		}},
	} {
		f := newFew(t)
		q := &wire.AllocateRequest{ResponseID: f.id}
		c.fill(q)
		if _, err := f.do(func(m *manager) (answer, error) { return master{m, f.master}.allocate(q) }); err == nil {
			t.Errorf("%s: no error", c.what)
		}
		a := &f.master.app.asks
		if got := f.allocate(&wire.AllocateRequest{}); len(got) != 0 || len(a.groups)+len(a.banned) > 0 ||
			a.pending != 0 {
			t.Errorf(
				"%s: of what was refused, %v was granted, and %d groups and a blacklist of %d are left",
				c.what,
				got,
				len(a.groups),
				len(a.banned),
			)
		}
	}
}

// A SchedulingRequest is refused in Hadoop's words: a client that was not told would wait for ever.
func TestSchedulingRequestsAreRefused(t *testing.T) {
	f := newFew(t)
	q := &wire.AllocateRequest{ResponseID: f.id, Scheduling: []proto.Raw{{0x08, 0x01}}}
	var again wire.AllocateRequest
	if err := again.Decode(q.Append(nil)); err != nil || len(again.Scheduling) != 1 {
		t.Fatalf("%+v, %v", again, err)
	}
	_, err := f.do(func(m *manager) (answer, error) { return master{m, f.master}.allocate(&again) })
	if class(err) != classYARN || !strings.Contains(err.Error(), "non empty SchedulingRequest") {
		t.Errorf("%v", err)
	}
	if got := f.allocate(asks("* 1 true")); len(got) != 1 {
		t.Errorf("after it was refused: %v", got)
	}
}

// A blacklist counts at once, also beside asks for hosts alone, which the core is not told.
func TestBlacklistWithHostsAlone(t *testing.T) {
	f := newFew(t)
	q := asks("* 7 true")
	q.ResponseID = f.id
	r, err := f.do(func(m *manager) (answer, error) { return master{m, f.master}.allocate(q) })
	if err != nil {
		t.Fatal(err)
	}
	f.id++
	given := r.(*wire.AllocateResponse).Allocated
	i := slices.IndexFunc(given, func(c wire.Container) bool { return c.Node.Host == "a" })
	if len(given) != 6 || i < 0 {
		t.Fatalf("%d containers, the first on a is number %d", len(given), i)
	}
	more := asks("c 1 true")
	more.Asks[0].Priority, more.Blacklist.Add = 2, []string{"a"}
	f.allocate(more)
	for range 2 { // the seventh container would be on a
		if hosts := f.allocate(&wire.AllocateRequest{Releases: []wire.ContainerID{given[i].ID}}); len(hosts) > 0 {
			t.Errorf("containers on %v, and a is not wanted", hosts)
		}
	}
}
