package yarn

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/peer"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// resizing is an ApplicationMaster with containers on one node, which the test resizes.
type resizing struct {
	*cluster
	n *peer.Node
	m *peer.Master
}

func newResizing(t *testing.T, change func(*Config)) *resizing {
	c := start(t, change)
	c.task = func(ctx context.Context, _ wire.ContainerID) int32 { <-ctx.Done(); return 0 }
	n := c.node()
	_, m := c.unmanaged()
	return &resizing{c, n, m}
}

// container asks for a container of a size, starts it, and waits until its node says that it runs.
func (r *resizing) container(memory int64, cores int32) wire.Container {
	r.t.Helper()
	c := r.granted(r.m, askFor(1, wire.Resource{Memory: memory, VCores: cores}), 1)[0]
	if err := r.m.Start(r.t.Context(), &c); err != nil {
		r.t.Fatal(err)
	}
	r.until("its node says that it runs", func() bool {
		up := false
		r.look(func(m *manager) { up = m.container(c.ID).state == running })
		return up
	})
	return c
}

func toSize(c *wire.Container, kind wire.UpdateKind, memory int64, cores int32) *wire.AllocateRequest {
	return &wire.AllocateRequest{Updates: []wire.UpdateRequest{{Version: c.Version, Container: c.ID, Kind: kind,
		Resource: wire.Resource{Memory: memory, VCores: cores}}}}
}

// updated beats until a container has another size, and returns it as it is told of.
func (r *resizing) updated(q *wire.AllocateRequest, kind wire.UpdateKind) (c wire.Container) {
	r.t.Helper()
	r.until("a container has another size", func() bool {
		a, err := r.m.Allocate(r.t.Context(), q)
		if err != nil || len(a.Refused) > 0 {
			r.t.Fatalf("%+v, %v", a, err)
		}
		q = &wire.AllocateRequest{}
		for _, u := range a.Updated {
			if c = u.Container; u.Kind != kind {
				r.t.Fatalf("updated: %+v, want the kind %d", u, kind)
			}
		}
		return len(a.Updated) > 0
	})
	return c
}

// holds reports what the core and the node have of a container, which must be the same as the ResourceManager.
func (r *resizing) holds(c *wire.Container, memory int64, cores, version int32) {
	r.t.Helper()
	want := wire.Resource{Memory: memory, VCores: cores}
	if c.Resource != want || c.Version != version {
		r.t.Errorf("told of %+v, version %d; want %+v, %d", c.Resource, c.Version, want, version)
	}
	r.until("the node gives it that", func() bool { has, v := r.n.Size(c.ID); return has == want && v == version })
	r.until("the core has that, and the node has said so", func() (ok bool) {
		r.look(func(m *manager) {
			one := m.container(c.ID)
			ok = m.core.Amount(m.core.Attempt(one.lease).Holds) == m.config.Sizes.amount(want) && !one.growth.unsure
		})
		return ok
	})
}

// A container gets more where there is room, waits for it where there is none, and gets less at once; its version says
// the sizes apart.
func TestResize(t *testing.T) {
	r := newResizing(t, nil)
	one, other := r.container(512, 1), r.container(2048, 1)

	more := r.updated(toSize(&one, wire.Increase, 1000, 3), wire.Increase)
	if err := r.m.Update(t.Context(), &more); err != nil {
		t.Fatal(err)
	}
	r.holds(&more, 1024, 3, 1)

	// 3072 more do not fit beside the other.
	q := toSize(&more, wire.Increase, 4096, 3)
	for range 5 {
		a, err := r.m.Allocate(t.Context(), q)
		if err != nil || len(a.Updated)+len(a.Refused)+len(a.Allocated) > 0 || a.Pending != 1 {
			t.Fatalf("without room: %+v, %v", a, err)
		}
		q = &wire.AllocateRequest{}
	}
	full := r.updated(&wire.AllocateRequest{Releases: []wire.ContainerID{other.ID}}, wire.Increase)
	if err := r.m.Update(t.Context(), &full); err != nil {
		t.Fatal(err)
	}
	r.holds(&full, 4096, 3, 2)

	less := r.updated(toSize(&full, wire.Decrease, 256, 1), wire.Decrease)
	r.holds(&less, 256, 1, 3) // its node was told by the ResourceManager
	reports := invoke[wire.ContainersResponse](r.cluster, r.client, "getContainers",
		&wire.AttemptRequest{ID: one.ID.Attempt})
	if len(reports.Reports) != 1 || reports.Reports[0].Resource.Memory != 256 {
		t.Errorf("reports %+v", reports.Reports)
	}
	if got := r.granted(r.m, askFor(1, wire.Resource{Memory: 3840, VCores: 1}), 1); got[0].Node != r.n.ID() {
		t.Errorf("what it gave back is not there for another: %+v", got)
	}
	r.look(func(m *manager) {
		if m.core.Node(1).Used[sched.Memory] != 4096 || m.leases.count != 2 {
			t.Errorf("the core has %v of %d containers", m.core.Node(1).Used, m.leases.count)
		}
	})
}

// What cannot be is refused in Hadoop's words, with the version that the container has.
func TestResizeRefused(t *testing.T) {
	r := newResizing(t, nil)
	one := r.container(512, 2)
	for _, c := range []struct {
		change func(*wire.UpdateRequest)
		why    string
		has    int32
	}{
		{func(u *wire.UpdateRequest) { u.Version = 1 }, "INCORRECT_CONTAINER_VERSION_ERROR", 0},
		{func(u *wire.UpdateRequest) { u.Container.ID += 7 }, "INVALID_CONTAINER_ID", -1},
		{func(u *wire.UpdateRequest) { u.Kind = wire.Promote }, "UPDATE_NOT_SUPPORTED", 0},
		{func(u *wire.UpdateRequest) { u.Kind = wire.Demote }, "UPDATE_NOT_SUPPORTED", 0},
		{func(u *wire.UpdateRequest) { u.Resource.Memory = 4097 }, "RESOURCE_OUTSIDE_ALLOWED_RANGE", 0},
		{func(u *wire.UpdateRequest) { u.Resource.Memory = -1 }, "RESOURCE_OUTSIDE_ALLOWED_RANGE", 0},
		{func(u *wire.UpdateRequest) { u.Resource.VCores = 1 }, "RESOURCE_OUTSIDE_ALLOWED_RANGE", 0},
		{func(u *wire.UpdateRequest) { u.Kind = wire.Decrease }, "RESOURCE_OUTSIDE_ALLOWED_RANGE", 0},
		{func(u *wire.UpdateRequest) { u.Resource.Others = gpus(1) }, "RESOURCE_OUTSIDE_ALLOWED_RANGE", 0},
	} {
		q := toSize(&one, wire.Increase, 1024, 2)
		c.change(&q.Updates[0])
		a, err := r.m.Allocate(t.Context(), q)
		if err != nil || len(a.Refused) != 1 || a.Refused[0].Reason != c.why || a.Refused[0].Version != c.has ||
			a.Refused[0].Request != q.Updates[0] || len(a.Updated) > 0 {
			t.Errorf("%+v: %+v, %v; want %s", q.Updates[0], a.Refused, err, c.why)
		}
	}
	twice := toSize(&one, wire.Increase, 1024, 2)
	twice.Updates = append(twice.Updates, twice.Updates[0])
	a, err := r.m.Allocate(t.Context(), twice)
	if err != nil || len(a.Refused) != 1 || a.Refused[0].Reason != "UPDATE_OUTSTANDING_ERROR" {
		t.Errorf("twice in a call: %+v, %v", a, err)
	}
}

// An increase that waits is given up by another one for the container, by one to the size that it has, and with it.
func TestResizeWithdrawn(t *testing.T) {
	r := newResizing(t, nil)
	one, other := r.container(512, 1), r.container(3072, 1)
	waits := func(want int64) {
		t.Helper()
		r.look(func(m *manager) {
			root := m.core.Queues[0]
			if got := root.Demand.Sub(root.Used)[sched.Memory]; got != want || want == 0 && root.Pending() != 0 {
				t.Errorf("%d MiB are waited for by %d, want %d", got, root.Pending(), want)
			}
		})
	}
	call := func(q *wire.AllocateRequest) {
		t.Helper()
		if a, err := r.m.Allocate(t.Context(), q); err != nil || len(a.Refused)+len(a.Updated) > 0 {
			t.Errorf("%+v, %v", a, err)
		}
	}
	call(toSize(&one, wire.Increase, 2048, 1))
	waits(1536)
	call(toSize(&one, wire.Increase, 4096, 1))
	waits(3584)
	call(toSize(&one, wire.Increase, 512, 1))
	waits(0)
	call(toSize(&one, wire.Increase, 2048, 1))
	less := r.updated(toSize(&one, wire.Decrease, 256, 1), wire.Decrease)
	waits(0)
	call(toSize(&less, wire.Increase, 2048, 1))
	waits(1792)
	call(&wire.AllocateRequest{Releases: []wire.ContainerID{one.ID}})
	waits(0)
	call(&wire.AllocateRequest{Releases: []wire.ContainerID{other.ID}})
	r.until("nothing is held", func() (none bool) {
		r.look(func(m *manager) { none = m.core.Queues[0].Used == sched.Resources{} })
		return none
	})
}

// What a node does not say in time that it gave is taken off again, and all are told.
func TestResizeExpires(t *testing.T) {
	r := newResizing(t, func(c *Config) {
		c.Expiry = Expiry{Node: ages, Master: ages, Container: time.Hour, Finish: ages, Launch: ages}
	})
	one := r.container(512, 1)
	more := r.updated(toSize(&one, wire.Increase, 1024, 1), wire.Increase)
	r.look(func(*manager) { r.ahead += time.Hour })
	back := r.updated(&wire.AllocateRequest{}, wire.Decrease)
	if back.ID != one.ID || more.Version != 1 {
		t.Errorf("%+v, then %+v", more, back)
	}
	r.holds(&back, 512, 1, 2)
	if err := r.m.Update(t.Context(), &more); err == nil {
		t.Error("the node takes the token of the version before")
	}
	if a, err := r.m.Allocate(t.Context(), toSize(&back, wire.Increase, 1024, 1)); err != nil || len(a.Refused) > 0 {
		t.Errorf("again: %+v, %v", a, err)
	}
}

// Where nodes are told of larger containers, ApplicationMasters need not tell them.
func TestResizeByNode(t *testing.T) {
	r := newResizing(t, func(c *Config) { c.Sizes.NodesAreTold = true })
	one := r.container(512, 1)
	more := r.updated(toSize(&one, wire.Increase, 1024, 2), wire.Increase)
	r.holds(&more, 1024, 2, 1)
}

// A restart keeps the version and the size of a container. A size that its ApplicationMaster gives it later, by a token
// of the life before, is booked when the node reports it.
func TestRestartKeepsSizes(t *testing.T) {
	state := filepath.Join(t.TempDir(), "rm.db")
	at := newPorts().addresses(t)
	keep := func(config *Config) { config.Kept.File, config.Addresses = state, at }
	r := newResizing(t, keep)
	one, two := r.container(512, 1), r.container(512, 1)
	more := r.updated(toSize(&one, wire.Increase, 1024, 2), wire.Increase)
	if err := r.m.Update(t.Context(), &more); err != nil {
		t.Fatal(err)
	}
	r.holds(&more, 1024, 2, 1)
	late := r.updated(toSize(&two, wire.Increase, 2048, 2), wire.Increase) // which its node has not heard of
	r.stop()

	again := start(t, keep)
	again.nodes, r.nodes = append(again.nodes, r.n), nil
	r.cluster = again
	found := func(memory ...int64) func() bool {
		return func() (ok bool) {
			again.look(func(m *manager) {
				a, b := m.container(one.ID), m.container(two.ID)
				ok = a != nil && b != nil && a.version == 1 && a.resource.Memory == memory[0] &&
					b.resource.Memory == memory[1] && a.lease != 0 && b.lease != 0 &&
					m.core.Node(1).Used[sched.Memory] == memory[0]+memory[1]
			})
			return ok
		}
	}
	again.until("both containers are found in their sizes", found(1024, 512))
	if _, err := r.m.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a, err := r.m.Allocate(t.Context(), toSize(&one, wire.Decrease, 512, 1)); err != nil || len(a.Refused) != 1 ||
		a.Refused[0].Reason != otherVersion || a.Refused[0].Version != 1 {
		t.Errorf("with the first version: %+v, %v", a, err)
	}
	if err := r.m.Update(t.Context(), &late); err == nil {
		again.until("what was done late is booked", found(1024, 2048))
	} else if !strings.Contains(err.Error(), "no NMToken") {
		t.Error(err)
	}
	less := r.updated(toSize(&more, wire.Decrease, 256, 1), wire.Decrease)
	r.holds(&less, 256, 1, 2)
}

// Sizes are changed for the ApplicationMaster of a container only, and none of a container in which one runs.
func TestResizeOfOthers(t *testing.T) {
	r := newResizing(t, nil)
	one := r.container(512, 1)
	_, other := r.unmanaged()
	a, err := other.Allocate(t.Context(), toSize(&one, wire.Increase, 1024, 1))
	if err != nil || len(a.Refused) != 1 || a.Refused[0].Reason != noContainer || a.Refused[0].Version != -1 {
		t.Errorf("another application's container: %+v, %v", a, err)
	}
	r.look(func(m *manager) {
		c := m.container(one.ID)
		u := toSize(&one, wire.Increase, 1024, 1).Updates[0]
		c.attempt.master = c
		if why := c.update(&u, m.config.Sizes.most(), false); why != noContainer {
			t.Errorf("the container of an ApplicationMaster: %q", why)
		}
		c.attempt.master = nil
	})
}

// A size that a node reports is booked if it is larger than the container's, with the node's version if that is higher.
// A smaller one is not: the node has been told the larger size.
func TestIncreasedByReport(t *testing.T) {
	r := newResizing(t, nil)
	one := r.container(512, 1)
	r.look(func(m *manager) {
		c := m.container(one.ID)
		for _, x := range []struct {
			memory, has    int64
			version, known int32
		}{{512, 512, 0, 0}, {256, 512, 7, 0}, {1024, 1024, 7, 7}, {2048, 2048, 0, 8}, {1024, 2048, 9, 8}} {
			c.node.increased([]wire.Container{{ID: one.ID, Version: x.version,
				Resource: wire.Resource{Memory: x.memory, VCores: 1}}})
			if c.resource.Memory != x.has || c.version != x.known {
				t.Errorf("reported %d MiB, version %d: it has %d, version %d; want %d, %d", x.memory, x.version,
					c.resource.Memory, c.version, x.has, x.known)
			}
		}
	})
}

// What is taken back of increases that a node has not confirmed is all of them. A container that begins with an older
// token than its last is told to its node.
func TestUnconfirmedIncreases(t *testing.T) {
	r := newResizing(t, nil)
	one := r.container(512, 1)
	r.look(func(m *manager) {
		c := m.container(one.ID)
		c.become(wire.Resource{Memory: 1024, VCores: 1}, wire.Increase)
		c.become(wire.Resource{Memory: 2048, VCores: 1}, wire.Increase)
		if g := c.growth; !g.unsure || g.known.Memory != 512 {
			t.Errorf("the node's size is %+v, want 512 MiB", g)
		}
		c.become(c.growth.known, wire.Decrease)
		if n := len(c.node.sizes.containers); n != 1 {
			t.Errorf("the node is told %d sizes, want 1", n)
		}
		c.node.sizes, c.growth.unsent = newSizes{}, false // it has beaten
		c.began()
		if n := len(c.node.sizes.containers); c.growth.unsure || n != 1 {
			t.Errorf("%+v, and the node is told %d sizes, want 1", c.growth, n)
		}
	})
}

// What a node is told in an answer that is lost, it is told again when it registers: the size of a container and
// signals. A size that the ApplicationMaster is to bring is told only where nodes are told of increases.
func TestOrdersOutliveALostAnswer(t *testing.T) {
	f := newFew(t)
	q := asks("a 1 true", "* 1 false")
	for i := range q.Asks {
		q.Asks[i].Resource = wire.Resource{Memory: 1024, VCores: 1}
	}
	f.allocate(q)
	c := f.master.own()[0]
	f.report(c, wire.ContainerRunning)
	n, whole, half := c.node, wire.Resource{Memory: 1024, VCores: 1}, wire.Resource{Memory: 512, VCores: 1}
	register := func(has wire.Resource) {
		r := &wire.RegisterNodeRequest{Node: n.id, Resource: n.capacity, Containers: []wire.NodeContainer{
			{ID: c.id, State: wire.ContainerRunning, Resource: has}}}
		f.do(func(m *manager) (answer, error) { return tracker{m}.register(r, &net.TCPAddr{}) })
	}
	resize := func(kind wire.UpdateKind, to wire.Resource) {
		f.allocate(&wire.AllocateRequest{Updates: []wire.UpdateRequest{
			{Container: c.id, Kind: kind, Version: c.version, Resource: to}}})
		if c.resource != to {
			t.Fatalf("the container has %v, want %v", c.resource, to)
		}
	}
	told := func(what string, sizes []wire.Resource, signals int) {
		t.Helper()
		f.beatNode(n)
		var got []wire.Resource
		for _, u := range n.last.Updates {
			got = append(got, u.Resource)
		}
		if !slices.Equal(got, sizes) || len(n.last.Signals) != signals {
			t.Errorf("%s: the node is told of sizes %v, want %v, and of %d signals, want %d", what, got, sizes,
				len(n.last.Signals), signals)
		}
	}
	signal := func() {
		if _, err := f.do(func(m *manager) (answer, error) {
			return client{m, "user"}.signal(&wire.Signal{Container: c.id, Command: wire.SignalThreadDump})
		}); err != nil {
			t.Fatal(err)
		}
	}
	resize(wire.Decrease, half)
	signal()
	told("in an answer that is lost", []wire.Resource{half}, 1)
	signal()
	register(whole)
	told("again", []wire.Resource{half}, 2)
	told("in the next answer", nil, 0)
	register(half)
	told("after an answer that came", nil, 0)

	resize(wire.Increase, whole)
	told("of an increase", nil, 0)
	register(half)
	told("of an increase, which is the ApplicationMaster's to bring", nil, 0)
	f.m.config.Sizes.NodesAreTold = true
	register(half)
	told("of an increase, where nodes are told of them", []wire.Resource{whole}, 0)

	f.do(func(m *manager) (answer, error) { // a caller that signals without end
		n.last.Signals = slices.Repeat([]wire.Signal{{Container: c.id}}, mostSignals)
		n.signals = slices.Clone(n.last.Signals[:mostSignals-1])
		return nil, nil
	})
	register(whole)
	told("of as many as may wait", nil, mostSignals)
}
