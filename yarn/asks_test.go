package yarn

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
	"github.com/sojourn-sched/sojourn/yarn/internal/wire"
)

// A few has an unmanaged ApplicationMaster on nodes a:1 and b:2 (rack /one) and c:3 (rack /two), each with room for two containers of 512 MiB.
type few struct {
	*world
	master *attempt
	id     int32
}

func newFew(t *testing.T) *few {
	fifo, _, err := policy.Parse("fifo")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, now: time.Unix(1_700_000_000, 0)}
	config := Config{Core: sched.Config{Policy: fifo}, Sizes: Sizes{MinMemory: 512}, Log: slog.New(slog.DiscardHandler),
		Racks: map[string]string{"a": "/one", "b": "/one", "c": "/two", "d": "/two"}}.withDefaults()
	w.m = newManager(config, Hosts{}, w, func() time.Time { return w.now })
	f := &few{world: w}
	for i, host := range []string{"a", "b", "c"} {
		f.join(host, int32(i+1))
	}
	r, _ := w.do(func(m *manager) (answer, error) { return m.newApplication("", nil) })
	id := r.(*wire.NewApplication).ID
	w.do(func(m *manager) (answer, error) {
		return m.submitApplication("user", &wire.SubmitRequest{Submission: wire.Submission{ID: id, Unmanaged: true}})
	})
	f.master = w.m.apps.byID[id].current()
	w.do(func(m *manager) (answer, error) { return m.registerMaster(f.master, &wire.RegisterMasterRequest{}) })
	return f
}

func (f *few) join(host string, port int32) {
	f.do(func(m *manager) (answer, error) {
		return m.registerNode(&wire.RegisterNodeRequest{Node: wire.NodeID{Host: host, Port: port}, Resource: wire.Resource{Memory: 1024, VCores: 4}}, &net.TCPAddr{})
	})
}

// allocate beats, and returns the hosts of the containers that were given, sorted.
func (f *few) allocate(q *wire.AllocateRequest) []string {
	f.t.Helper()
	q.ResponseID = f.id
	r, err := f.do(func(m *manager) (answer, error) { return m.allocate(f.master, q) })
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
	equal("c and nowhere else, which has room for two", f.allocate(asks("c 3 true", "/two 3 false", "* 3 false")), "c", "c")
	f.join("d", 4)
	equal("d is in c's rack, and is not meant", f.allocate(&wire.AllocateRequest{}))
	equal("the rack will do now", f.allocate(asks("/two 1 true", "* 1 false")), "d")

	f = newFew(t)
	q := asks("* 6 true")
	q.Blacklist.Add = []string{"a"}
	equal("anywhere but on a", f.allocate(q), "b", "b", "c", "c")
	equal("a is wanted again", f.allocate(&wire.AllocateRequest{Blacklist: wire.Blacklist{Remove: []string{"a"}}}), "a", "a")

	f = newFew(t)
	q = asks("* 9 true")
	q.Blacklist.Add = []string{"/one"}
	equal("a whole rack is not wanted", f.allocate(q), "c", "c")
	f.join("d", 4)
	equal("a node that comes to another rack is", f.allocate(&wire.AllocateRequest{}), "d", "d")

	f = newFew(t)
	equal("asks are absolute: the later counts", f.allocate(asks("* 5 true", "* 1 true")), "a")
	equal("none are wanted any more", f.allocate(asks("* 0 true")))
	equal("what is asked for again counts anew", f.allocate(asks("* 1 true")), "a")
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
	for in, want := range map[wire.Resource]wire.Resource{{}: {Memory: 512, VCores: 1}, {Memory: 513, VCores: 2}: {Memory: 1024, VCores: 2}, {Memory: 1024, VCores: 0}: {Memory: 1024, VCores: 1}} {
		if got := s.normal(in); got != want {
			t.Errorf("%v becomes %v, want %v", in, got, want)
		}
	}
	for _, bad := range []wire.Resource{{Memory: 4097}, {VCores: 5}, {Memory: -1}, {VCores: -1}} {
		if s.check(bad) == nil {
			t.Errorf("%v is allowed", bad)
		}
	}
	if s.check(wire.Resource{Memory: 4096, VCores: 4}) != nil {
		t.Error("the maximum is not allowed")
	}
}
