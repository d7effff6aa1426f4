package yarn

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
	"github.com/sojourn-sched/sojourn/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/yarn/internal/token"
)

// A manager owns the state of the cluster. Only its goroutine, which runs loop, touches what is in it; others post calls.
type manager struct {
	config  *Config
	core    *sched.Core
	clock   func() time.Time
	started time.Time // sched.Time 0; in ms the cluster's timestamp and the identity that nodes are told
	now     time.Time // of the calls being carried out
	log     *slog.Logger

	keys     keys
	nodes    nodeTable
	topology *topology // not the owner's alone
	queues   placement
	apps     appTable
	live     liveness
	leases   leaseTable // containers that hold room in the core
	kept     int        // containers that their node may not forget yet

	events []sched.Event // facts for the next Step
	wake   time.Time     // when the core wants a Step; zero: it does not
	start  launcher

	calls chan *call
	spare sync.Pool // of calls that somebody waited for
}

// keys sign the three kinds of tokens.
type keys struct{ master, node, container *token.Keys }

// An answer makes the reply to a call, after the Step that the call's facts led to. A nil answer is an empty message.
type answer func() proto.Message

// A call is what a goroutine has the owner do.
type call struct {
	do    func(*manager) (answer, error)
	later answer
	reply proto.Message
	err   error
	done  chan struct{} // of capacity 1; nil: nobody waits
}

const (
	mostCalls   = 1024 // that wait for the owner without their goroutines being kept
	callsAtOnce = 256  // that share a Step
)

// newManager returns the owner of a cluster without nodes and applications, which hosts may join.
func newManager(config *Config, hosts Hosts, start launcher, clock func() time.Time) *manager {
	now := clock()
	m := &manager{config: config, core: sched.New(config.Core), clock: clock, started: now, now: now, log: config.Log, start: start,
		calls: make(chan *call, mostCalls)}
	m.keys = keys{token.NewKeys(token.RandomKey()), token.NewKeys(token.RandomKey()), token.NewKeys(token.RandomKey())}
	m.spare.New = func() any { return &call{done: make(chan struct{}, 1)} }
	m.nodes = newNodeTable()
	m.nodes.hosts, m.topology = hosts.set(), newTopology(config.Racks, config.RackScript)
	m.queues = placement{config.Queues, config.Queues.leaves()}
	m.apps = newAppTable()
	m.live = newLiveness(config.Expiry)
	if every := config.Keys.Roll; every > 0 {
		m.live.at(now.Add(every), m.roll)
	}
	return m
}

// roll offers new keys, and uses them when every node has had time to hear of them: one that does not know the key of a token refuses the
// container.
func (m *manager) roll() {
	all := []*token.Keys{m.keys.master, m.keys.node, m.keys.container}
	for _, k := range all {
		k.Offer()
	}
	m.live.at(m.now.Add(m.config.Keys.Delay), func() {
		for _, k := range all {
			k.Use()
		}
	})
	m.live.at(m.now.Add(m.config.Keys.Roll), m.roll)
}

// ask has the owner carry a call out, and waits for its reply.
func (m *manager) ask(do func(*manager) (answer, error)) (proto.Message, error) {
	c := m.spare.Get().(*call)
	c.do = do
	m.calls <- c
	<-c.done
	reply, err := c.reply, c.err
	*c = call{done: c.done}
	m.spare.Put(c)
	return reply, err
}

// post has the owner do something that nobody waits for. It must not be called once loop may have ended.
func (m *manager) post(do func(*manager)) {
	m.calls <- &call{do: func(m *manager) (answer, error) { do(m); return nil, nil }}
}

// loop carries calls out until ctx is done and nobody can call any more.
func (m *manager) loop(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var batch []*call
	for {
		timer.Reset(m.sleep())
		select {
		case c := <-m.calls:
			batch = append(batch[:0], c)
			for len(batch) < callsAtOnce && len(m.calls) > 0 {
				batch = append(batch, <-m.calls)
			}
		case <-timer.C:
			batch = batch[:0]
		case <-ctx.Done():
			return
		}
		m.turn(batch)
	}
}

// turn carries calls out together: their facts, one Step, their answers in order.
func (m *manager) turn(batch []*call) {
	m.now = m.clock()
	m.live.expire(m.now)
	for _, c := range batch {
		c.later, c.err = c.do(m)
	}
	m.step()
	for _, c := range batch {
		if c.err == nil && c.later != nil {
			c.reply = c.later()
		}
		if c.done != nil {
			c.done <- struct{}{}
		}
	}
}

// sleep is how long nothing happens by itself.
func (m *manager) sleep() time.Duration {
	now := m.clock()
	next := m.live.next(now)
	if !m.wake.IsZero() && m.wake.Before(next) {
		next = m.wake
	}
	return max(0, next.Sub(now))
}

// at is the time of the core.
func (m *manager) at() sched.Time { return m.now.Sub(m.started) }

// millis is the time that peers are told: ms since 1970.
func (m *manager) millis() int64 { return m.now.UnixMilli() }

// identity names this run of the ResourceManager to nodes and in application ids.
func (m *manager) identity() int64 { return m.started.UnixMilli() }

// note takes a fact in. The core hears of it in the next Step.
func (m *manager) note(e sched.Event) { m.events = append(m.events, e) }

// step has the core decide, and carries out what it decided, until there is nothing new: to carry an action out may be a fact at once. Within a Step
// the core takes facts in the order of their kinds, so whoever needs two in another order calls step between them.
func (m *manager) step() {
	due := !m.wake.IsZero() && !m.now.Before(m.wake)
	if due {
		m.wake = time.Time{} // the core says when next
	}
	for ; len(m.events) > 0 || due; due = false {
		actions := m.core.Step(m.at(), m.events)
		m.events = m.events[:0]
		for i := range actions {
			m.act(&actions[i])
		}
		for _, e := range m.core.Events {
			if e.Derived && e.Kind == sched.JobEnded {
				if app := m.apps.byJob[e.Job]; app != nil {
					app.exhausted()
				}
			}
		}
	}
}

// act carries one action of the core out.
func (m *manager) act(a *sched.Action) {
	switch a.Kind {
	case sched.Launch:
		m.apps.byJob[a.Stage.Job].launch(a)
	case sched.Kill:
		if c := m.leases.at(a.Attempt); c != nil {
			c.preempt(a.At)
		}
	case sched.Wake:
		m.wake = time.Time{}
		if a.At > 0 {
			m.wake = m.started.Add(a.At)
		}
	}
}
