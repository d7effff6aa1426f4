package yarn

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/recording"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// A world is a manager without sockets, and peers that do what peers do, and what they should not, as a seed has it.
// After every step the books of the manager and of the core must agree; at the end nothing may be left.
type world struct {
	t     *testing.T
	rand  *rand.Rand
	now   time.Time
	m     *manager
	f     *front // of m
	nodes []*worldNode
	apps  []*worldApp

	updated [2]int // containers that got another size, by the kind of update
	orders  []worldOrder
}

type worldNode struct {
	id         wire.NodeID
	responseID int32
	up         bool // it registers and beats
	healthy    bool
	there      map[wire.ContainerID]bool // whether it is over
	order      []wire.ContainerID        // of there, so that a seed repeats
	increased  []wire.Container
}

type worldApp struct {
	id       wire.ApplicationID
	attempt  *attempt // whose ApplicationMaster lives; nil: none does
	response int32
	has      []wire.Container
	last     *wire.AllocateRequest
}

type worldOrder struct {
	o    launchOrder
	done func(error)
}

// launch makes the world the manager's masterLauncher.
func (w *world) launch(o launchOrder, done func(error)) func() {
	w.orders = append(w.orders, worldOrder{o, done})
	return func() {} // too late: the node has had the order
}

// open makes the world's manager and its owner.
func (w *world) open(config *Config, hosts Hosts, start masterLauncher, clock func() time.Time) {
	w.m = newManager(config, hosts, start, clock)
	w.f = newFront(w.m)
}

func (w *world) do(f func(*manager) (answer, error)) (proto.Message, error) {
	return w.f.ask(f)
}

func (w *world) one(n int) bool { return w.rand.IntN(n) == 0 }

func (n *worldNode) put(id wire.ContainerID) {
	if _, ok := n.there[id]; !ok {
		n.there[id] = false
		n.order = append(n.order, id)
	}
}

func (w *world) register(n *worldNode) {
	q := &wire.RegisterNodeRequest{Node: n.id, Resource: wire.Resource{Memory: 2048, VCores: 4}}
	for _, id := range n.order {
		if over, ok := n.there[id]; ok {
			state := wire.ContainerRunning
			if over {
				state = wire.ContainerComplete
			}
			q.Containers = append(q.Containers, wire.NodeContainer{ID: id, State: state})
		}
	}
	r, err := w.do(func(m *manager) (answer, error) { return tracker{m}.register(q, &net.TCPAddr{}) })
	if err != nil || r.(*wire.RegisterNodeResponse).Action != wire.NodeNormal {
		w.t.Fatalf("register: %+v, %v", r, err)
	}
	n.up, n.responseID = true, 0
}

// beat has a node beat, once or twice, and do what it is told unless the reply is lost.
func (w *world) beat(n *worldNode) {
	q := &wire.HeartbeatRequest{
		Status: wire.NodeStatus{Node: n.id, ResponseID: n.responseID, Health: wire.Health{OK: n.healthy}},
	}
	for _, id := range n.order {
		if over, ok := n.there[id]; ok {
			s := wire.ContainerStatus{ID: id, State: wire.ContainerRunning, Exit: wire.ExitInvalid}
			if over {
				s.State, s.Exit = wire.ContainerComplete, int32(w.rand.IntN(2))
			}
			q.Status.Containers = append(q.Status.Containers, s)
		}
	}
	q.Status.Increased, n.increased = n.increased, nil
	reply, err := w.do(func(m *manager) (answer, error) { return tracker{m}.heartbeat(q) })
	if err != nil {
		w.t.Fatal(err)
	}
	if w.one(7) {
		return // lost: the same response id comes again
	}
	r := reply.(*wire.HeartbeatResponse)
	if r.Action == wire.NodeResync {
		w.register(n)
		return
	}
	n.responseID = r.ResponseID
	for _, id := range r.Cleanup {
		if _, ok := n.there[id]; ok {
			n.there[id] = true
		}
	}
	for _, id := range r.Remove {
		if n.there[id] {
			delete(n.there, id)
		}
	}
	for _, app := range r.CleanupApps {
		for id := range n.there {
			if id.Attempt.App == app {
				n.there[id] = true
			}
		}
	}
}

func (w *world) submit() {
	r, _ := w.do(func(m *manager) (answer, error) { return client{m, ""}.newID(nil) })
	app := &worldApp{id: r.(*wire.NewApplication).ID}
	s := wire.Submission{
		ID:        app.id,
		Resource:  &wire.Resource{Memory: 256, VCores: 1},
		Unmanaged: w.one(3),
		Launch:    wire.NewLaunchContext(""),
		Queue:     []string{sched.DefaultQueue, "other"}[len(w.apps)%2],
	}
	if _, err := w.do(func(m *manager) (answer, error) {
		return client{m, "user"}.submit(&wire.SubmitRequest{Submission: s})
	}); err != nil {
		w.t.Fatal(err)
	}
	if s.Unmanaged {
		app.attempt = w.m.apps.byID[app.id].current()
		w.masterStarts(app)
	}
	w.apps = append(w.apps, app)
}

func (w *world) masterStarts(app *worldApp) {
	app.response, app.has, app.last = 0, nil, nil
	w.do(func(m *manager) (answer, error) {
		return master{m, app.attempt}.register(&wire.RegisterMasterRequest{})
	})
}

// carry takes one launch order to its node: it starts the ApplicationMaster, or the node cannot be reached.
func (w *world) carry() {
	if len(w.orders) == 0 {
		return
	}
	o := w.orders[0]
	w.orders = w.orders[1:]
	for _, n := range w.nodes {
		if n.id == o.o.node && n.up && !w.one(8) {
			c, ok := w.master(o.o.request)
			if !ok {
				return
			}
			n.put(c.id)
			o.done(nil)
			for _, app := range w.apps {
				if app.id == c.attempt.app.id && !c.attempt.ended() {
					app.attempt = c.attempt
					w.masterStarts(app)
				}
			}
			return
		}
	}
	o.done(fmt.Errorf("node %s cannot be reached", o.o.node))
}

// master finds the ApplicationMaster's container that a launch is for, by its token.
func (w *world) master(q *wire.StartContainersRequest) (*container, bool) {
	for _, c := range w.m.containers() {
		var id token.Container
		if c.isMaster() && c.state == acquired && id.Decode(q.Token.Identifier) == nil && id.ID == c.id {
			return c, true
		}
	}
	return nil, false
}

// allocate has an ApplicationMaster beat: with asks, releases, starts of what it has; again, or with a wrong id.
func (w *world) allocate(app *worldApp) {
	a := app.attempt
	if a == nil {
		return
	}
	if a.ended() {
		app.attempt = nil
		return
	}
	q := app.last
	if q == nil || !w.one(5) { // else the same call again
		q = &wire.AllocateRequest{ResponseID: app.response}
		for range w.rand.IntN(3) {
			q.Asks = append(
				q.Asks,
				wire.ResourceRequest{
					Priority:   wire.Priority(w.rand.IntN(2)),
					Place:      wire.Anywhere,
					Relax:      !w.one(4),
					Containers: int32(w.rand.IntN(4)),
					Resource:   wire.Resource{Memory: int64(256 * (1 + w.rand.IntN(3))), VCores: 1},
					Allocation: -1,
				},
			)
		}
		if w.one(3) && len(app.has) > 0 {
			q.Releases = append(q.Releases, app.has[w.rand.IntN(len(app.has))].ID)
		}
		for range w.rand.IntN(3) {
			if len(app.has) > 0 {
				c := &app.has[w.rand.IntN(len(app.has))]
				q.Updates = append(q.Updates, wire.UpdateRequest{Version: c.Version - int32(w.rand.IntN(9)/8),
					Container: c.ID, Kind: wire.UpdateKind(w.rand.IntN(2)), Resource: wire.Resource{
						Memory: int64(256 * w.rand.IntN(6)), VCores: int32(w.rand.IntN(3))}})
			}
		}
		if w.one(10) {
			q.Blacklist.Add = []string{w.nodes[w.rand.IntN(len(w.nodes))].id.Host}
		} else if w.one(5) {
			q.Blacklist.Remove = []string{w.nodes[w.rand.IntN(len(w.nodes))].id.Host}
		}
	}
	reply, err := w.do(func(m *manager) (answer, error) {
		if a.ended() { // by what was due before the call
			return nil, nil
		}
		return master{m, a}.allocate(q)
	})
	if err != nil {
		w.t.Fatalf("allocate: %v", err)
	}
	if reply == nil {
		return
	}
	if app.last = q; w.one(7) {
		return // lost
	}
	r := reply.(*wire.AllocateResponse)
	if r.ResponseID == app.response {
		return // the answer to a call before
	}
	app.response, app.last = r.ResponseID, nil
	for _, u := range r.Updated {
		w.updated[u.Kind]++
		for i := range app.has {
			if c := &app.has[i]; c.ID == u.Container.ID {
				*c = u.Container
			}
		}
		for _, n := range w.nodes {
			if n.id == u.Container.Node && n.up && !w.one(4) {
				n.increased = append(n.increased, u.Container)
			}
		}
	}
	for _, c := range r.Allocated {
		app.has = append(app.has, c)
		for _, n := range w.nodes {
			if n.id == c.Node && n.up && !w.one(4) {
				n.put(c.ID)
			}
		}
	}
}

// event is one thing that happens.
func (w *world) event() {
	n := w.nodes[w.rand.IntN(len(w.nodes))]
	w.now = w.now.Add(time.Duration(w.rand.IntN(200)) * time.Millisecond)
	switch k := w.rand.IntN(40); {
	case k < 14:
		if n.up {
			w.beat(n)
		}
	case k < 26:
		if len(w.apps) > 0 {
			w.allocate(w.apps[w.rand.IntN(len(w.apps))])
		}
	case k < 30:
		w.carry()
	case k < 33: // something ends by itself
		if len(n.order) > 0 {
			if id := n.order[w.rand.IntN(len(n.order))]; n.up {
				if _, ok := n.there[id]; ok {
					n.there[id] = true
				}
			}
		}
	case k < 35:
		if len(w.apps) < 12 {
			w.submit()
		}
	case k == 35:
		n.healthy = !n.healthy
	case k == 36: // a crash: it comes back without its containers, before or after it is missed
		n.up = !n.up
		if n.up {
			clear(n.there)
			n.order = nil
			w.register(n)
		}
	case k == 37:
		if n.up {
			w.register(n) // with its containers
		}
	case k == 38:
		if len(w.apps) > 0 {
			w.finish(w.apps[w.rand.IntN(len(w.apps))])
		}
	case k == 39:
		if len(w.apps) > 6 {
			w.kill(w.apps[0])
		}
	}
}

func (w *world) finish(app *worldApp) {
	if a := app.attempt; a != nil && !a.ended() {
		w.do(func(m *manager) (answer, error) {
			return master{m, a}.finish(&wire.FinishMasterRequest{Final: wire.Succeeded})
		})
		if a.master != nil {
			for _, n := range w.nodes {
				if _, ok := n.there[a.master.id]; ok {
					n.there[a.master.id] = true
				}
			}
		}
		app.attempt = nil
	}
}

func (w *world) kill(app *worldApp) {
	w.do(func(m *manager) (answer, error) { return client{m, "user"}.kill(nil, &wire.KillRequest{ID: app.id}) })
	app.attempt = nil
	w.apps = w.apps[1:]
}

// containers returns all that their node may not forget yet.
func (m *manager) containers() (list []*container) {
	for _, app := range m.apps.list {
		for _, a := range app.attempts {
			list = append(list, a.sorted()...)
		}
	}
	return list
}

// check holds the books of the manager against those of the core.
func (w *world) check() {
	ready := int32(0)
	for _, n := range w.m.nodes.list {
		if n.fresh() {
			ready++
		}
	}
	if ready != w.m.nodes.ready {
		w.t.Fatalf("%d nodes may get containers, %d are counted", ready, w.m.nodes.ready)
	}
	w.t.Helper()
	m := w.m
	for _, n := range m.nodes.list {
		needed := int32(0)
		for _, app := range m.apps.list {
			if app.nodes[n] {
				needed++
			}
		}
		if needed != n.farewell.needed {
			w.t.Fatalf("%d applications need node %s, %d are counted", needed, n.name, n.farewell.needed)
		}
	}
	used := map[sched.NodeID]sched.Resources{}
	for _, c := range m.leases.slots {
		if c == nil {
			continue
		}
		lease := c.lease
		if m.core.Attempt(lease) == nil {
			w.t.Fatalf("%s has a lease that the core does not know", c.id)
		}
		if c.state == done || m.container(c.id) != c || c.node.containers[c.at] != c || m.leases.at(lease) != c {
			w.t.Fatalf("%s (state %d) has a lease and is not in every table", c.id, c.state)
		}
		used[c.node.sched] = used[c.node.sched].Add(w.f.m.config.Sizes.amount(c.resource))
	}
	for _, n := range m.nodes.list {
		if core := m.core.Node(n.sched); core.Used != used[n.sched] || n.usable() == core.Lost {
			w.t.Fatalf(
				"node %s (%d): %v in use here, %v in the core, lost there: %v",
				n.id,
				n.state,
				used[n.sched],
				core.Used,
				core.Lost,
			)
		}
	}
	for _, c := range m.containers() {
		if c.state == done && c.attempt.ended() {
			w.t.Fatalf("%s is over with its attempt, and kept", c.id)
		}
	}
	for _, app := range m.apps.list {
		if a := app.current(); a != nil && !app.over && !a.ended() {
			owed := map[groupKey]int32{}
			for c := range a.dues.granted.all() {
				owed[groupKey{c.priority, c.group, 0}]++
			}
			var pending int64
			for key, g := range app.asks.groups {
				pending += int64(g.total)
				if g.total == 0 && g.owed == 0 && len(g.places) == 0 {
					w.t.Fatalf("%s has an empty group %v", app.id, key)
				}
				if g.owed != owed[key] {
					w.t.Fatalf("%s owes %d of %v, %d are waiting to be told", app.id, g.owed, key, owed[key])
				}
				if g.stage != 0 {
					if st := m.core.Stage(sched.StageID{Job: app.job, Index: g.stage}); st == nil ||
						st.Pending != g.total {
						w.t.Fatalf("%s wants %d of %v, the core has %+v", app.id, g.total, key, st)
					}
				}
			}
			if pending != app.asks.pending {
				w.t.Fatalf("%s waits for %d, %d are counted", app.id, pending, app.asks.pending)
			}
			for _, list := range app.asks.idle {
				for _, stage := range list {
					if st := m.core.Stage(sched.StageID{Job: app.job, Index: stage}); app.asks.of(stage) != nil ||
						st.Pending != 0 {
						w.t.Fatalf("%s: no group has stage %d, the core has %+v", app.id, stage, st)
					}
				}
			}
		}
	}
	if m.core.Refused() > 0 {
		w.t.Fatalf("the core refused %v", m.core.Refusals())
	}
}

func TestChaos(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 10
	}
	var updated [2]int
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			p, _, err := policy.Parse([]string{"fifo", "fair", "capacity", "longterm"}[seed%4])
			if err != nil {
				t.Fatal(err)
			}
			w := &world{t: t, rand: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(1_700_000_000, 0)}
			queues := Queues{
				Tree: []*sched.QueueSpec{{Name: sched.DefaultQueue, Masters: []float64{0, 1}[seed%2]}, {Name: "other"}},
			} // what the policy says, or no limit
			loans := &record.Loans{}
			config := Config{
				Core:      sched.Config{Policy: p, Recorder: loans},
				Queues:    queues,
				Sizes:     Sizes{MinMemory: 256},
				Log:       slog.New(slog.DiscardHandler),
				Completed: 5,
				Expiry: Expiry{
					Node:      10 * time.Second,
					Master:    15 * time.Second,
					Container: 10 * time.Second,
					Finish:    10 * time.Second,
				},
			}.withDefaults()
			w.open(config, Hosts{}, w, func() time.Time { return w.now })
			for i := range 4 {
				n := &worldNode{
					id:      wire.NodeID{Host: fmt.Sprint("host", i/2), Port: int32(i + 1)},
					healthy: true,
					there:   map[wire.ContainerID]bool{},
				}
				w.nodes = append(w.nodes, n)
				w.register(n)
			}
			for range 1500 {
				w.event()
				w.check()
			}
			for len(w.apps) > 0 {
				w.kill(w.apps[0])
			}
			for range 100 { // everybody is well again, and all is said that is to be said
				w.now = w.now.Add(time.Second)
				for _, n := range w.nodes {
					if n.healthy = true; !n.up {
						w.register(n)
					}
					w.beat(n)
				}
				for range 3 {
					w.carry()
				}
			}
			w.check()
			for kind, n := range w.updated {
				updated[kind] += n
			}
			wasLent(t, loans)
			if w.m.leases.count+w.m.nodes.containers > 0 {
				for _, c := range w.m.containers() {
					t.Errorf(
						"%s is left: state %d, node %d, attempt %d, application %s, over %v",
						c.id,
						c.state,
						c.node.state,
						c.attempt.state,
						c.attempt.app.state,
						c.attempt.app.over,
					)
				}
			}
			for _, n := range w.nodes {
				if len(n.there) > 0 {
					t.Errorf("node %s still has %v", n.id, n.there)
				}
			}
			if l := &w.m.live; l.containers.count+l.masters.count+l.finishing.count+len(
				l.alarms,
			) > 1 { // one: the roll of keys, if any
				t.Errorf(
					"%d, %d, %d things and %d alarms are waited for",
					l.containers.count,
					l.masters.count,
					l.finishing.count,
					len(l.alarms),
				)
			}
			if len(w.m.apps.list) > 5 {
				t.Errorf("%d applications are kept", len(w.m.apps.list))
			}
		})
	}
	if updated[wire.Increase] == 0 || updated[wire.Decrease] == 0 {
		t.Errorf("%v containers got more and less: too few for the test to say anything", updated)
	}
}

// FuzzMethods has every method of the three protocols that need no token take whatever bytes may come, and the books
// must still agree.
func FuzzMethods(f *testing.F) {
	list, err := recording.ReadAll("testdata/transcripts")
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range list {
		exchanges, err := c.Exchanges()
		if err != nil {
			f.Fatal(err)
		}
		for i, e := range exchanges {
			if i < 20 {
				f.Add(e.Method, e.Request)
			}
		}
	}
	f.Fuzz(func(t *testing.T, method string, body []byte) {
		fifo, _, err := policy.Parse("fifo")
		if err != nil {
			t.Fatal(err)
		}
		w := &world{
			t:   t,
			now: time.Unix(1795296959, 429e6),
		} // the identity of the recorded ResourceManager, so that its ids are known
		config := Config{Core: sched.Config{Policy: fifo}, Log: slog.New(slog.DiscardHandler)}.withDefaults()
		w.open(config, Hosts{}, w, func() time.Time { return w.now })
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan bool)
		go func() { w.f.loop(ctx); close(ended) }()
		w.f.ask(func(m *manager) (answer, error) { m.apps.ids.last = 9; return nil, nil })
		for _, s := range []*rpc.Server{newTracker(w.f), newClient(w.f), newAdmin(w.f)} {
			if do := s.Methods[method]; do != nil {
				for range 2 {
					if reply, err := do(ctx, &rpc.Call{User: "root", Body: body, Remote: &net.TCPAddr{}}); err == nil &&
						reply != nil {
						reply.Append(nil)
					}
				}
			}
		}
		w.f.ask(func(*manager) (answer, error) { w.check(); return nil, nil })
		cancel()
		<-ended
	})
}

// wasLent checks that queues have lent each other something, and that what they lent is what they borrowed, to the unit
// × nanosecond.
func wasLent(t *testing.T, loans *record.Loans) {
	t.Helper()
	for _, k := range loans.Fairness() {
		var balance, nothing theory.UnitTime
		for _, q := range k.Queues {
			balance = balance.Add(q.Balance())
		}
		if balance != nothing || k.Lent != k.Borrowed || k.Lent == nothing {
			t.Errorf("%s: queues lent %v and borrowed %v", k.Kind, k.Lent, k.Borrowed)
		}
	}
}
