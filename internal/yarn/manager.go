package yarn

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/sched"
)

// A manager owns the state of the cluster. Only who leads its line touches what is in it.
type manager struct {
	config  *Config
	core    *sched.Core
	clock   func() time.Time
	started time.Time // sched.Time 0; in ms the cluster's timestamp and the identity that nodes are told
	now     time.Time // of the calls being carried out
	log     logbook

	keys   keys
	nodes  nodeTable
	queues placement
	apps   appTable
	live   liveness
	leases leaseTable // containers that hold room in the core
	count  counts

	events []sched.Event // facts for the next Step
	start  launcher
	groups *groupTable // not the owner's alone

	line  line
	bell  bell
	spare sync.Pool // of calls that somebody waited for
}

// A bell has a turn made when something is due that nobody calls for.
type bell struct {
	timer *time.Timer
	armed time.Time // when timer goes off; zero: it has
	wake  time.Time // when the core wants a Step; zero: it does not
}

// keys sign the three kinds of tokens.
type keys struct {
	master, node, container *token.Keys
	delegations             delegations
}

// counts are of this run.
type counts struct {
	kept    int // containers that their node may not forget yet
	granted int64
	ended   [sched.Released + 1]int64 // containers by outcome
	refused int64                     // actions that the policy asked for and that were invalid
	said    map[string]bool           // why, of those that were logged
}

// An answer makes the reply to a call, after the Step that the call's facts led to. A nil answer is an empty message.
type answer func() proto.Message

// A call is what a goroutine has done by who leads.
type call struct {
	do     func(*manager) (answer, error)
	later  answer
	reply  proto.Message
	encode bool
	text   proto.Raw // the reply, encoded
	err    error
	done   chan news // of capacity 1; nil: nobody waits
}

// news is what a goroutine with a call hears.
type news uint8

const (
	answered news = iota
	leads         // it is to lead, its own call first
)

// newManager returns the owner of a cluster without nodes and applications, which hosts may join.
func newManager(config *Config, hosts Hosts, start launcher, clock func() time.Time) *manager {
	now := clock()
	m := &manager{
		config:  config,
		core:    sched.New(config.Core),
		clock:   clock,
		started: now,
		now:     now,
		log:     logbook{Logger: config.Log},
		start:   start,
		bell:    bell{timer: time.NewTimer(farAway)},
		groups:  newGroupTable(&config.Access),
	}
	m.keys = keys{
		master:    token.NewKeys(token.RandomKey()),
		node:      token.NewKeys(token.RandomKey()),
		container: token.NewKeys(token.RandomKey()),
	}
	m.keys.delegations = newDelegations()
	m.spare.New = func() any { return &call{done: make(chan news, 1)} }
	m.nodes = newNodeTable()
	m.nodes.hosts, m.nodes.topology = hosts.set(), newTopology(config.Racks, config.RackScript)
	m.queues = placement{config.Queues, config.Queues.leaves(), map[string]bool{}}
	m.apps = newAppTable()
	m.live = newLiveness(config.Expiry)
	if every := config.Keys.Roll; every > 0 {
		m.live.at(now.Add(every), m.roll)
	}
	return m
}

// roll offers new keys, and uses them when every node has had time to hear of them: one that does not know the key of a
// token refuses the container.
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

// ask has a call carried out, and waits for its reply.
func (m *manager) ask(do func(*manager) (answer, error)) (proto.Message, error) {
	c := m.spare.Get().(*call)
	c.do = do
	m.carry(c)
	reply, err := c.reply, c.err
	*c = call{done: c.done}
	m.spare.Put(c)
	return reply, err
}

// serve is ask for what a peer has called: the reply is encoded while nobody changes what it is made of.
func (m *manager) serve(peer *rpc.Call, do func(*manager) (answer, error)) (proto.Message, error) {
	c := m.spare.Get().(*call)
	c.do, c.encode, c.text = do, true, peer.Scratch[:0]
	m.carry(c)
	empty, err := c.reply == nil, c.err
	peer.Scratch = c.text
	*c = call{done: c.done}
	m.spare.Put(c)
	if err != nil || empty {
		return nil, err
	}
	return &peer.Scratch, nil
}

// post has something done that nobody waits for.
func (m *manager) post(do func(*manager)) {
	c := &call{do: func(m *manager) (answer, error) { do(m); return nil, nil }}
	if m.line.join(c) {
		m.lead()
	}
}

// A line is the calls that wait for a turn. Who comes when nobody leads, leads: it carries out its own call and those
// that have come meanwhile, and has one of those that came later lead then. So state has one owner at a time, and a
// call that comes alone changes no goroutine.
type line struct {
	mu      sync.Mutex
	waiting []*call
	spare   []*call
	led     bool
}

// join puts a call into the line, and reports whether the caller is to lead.
func (l *line) join(c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, c)
	lead := !l.led
	l.led = true
	return lead
}

// take returns the calls that wait, until the next take.
func (l *line) take() []*call {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting, l.spare = l.spare[:0], l.waiting
	return l.spare
}

// next chooses who leads, of those that wait for a reply; alone reports that nobody does, and that the caller leads on
// if there are calls.
func (l *line) next() (leader *call, alone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.waiting {
		if c.done != nil {
			return c, false
		}
	}
	l.led = len(l.waiting) > 0
	return nil, l.led
}

// carry has a call carried out, by this goroutine or by one that leads already.
func (m *manager) carry(c *call) {
	if m.line.join(c) || <-c.done == leads {
		m.lead()
		<-c.done
	}
}

// lead carries out what waits, the caller's own call too, and hands the lead on.
func (m *manager) lead() {
	defer crash()
	for on := true; on; {
		m.turn(m.line.take())
		var leader *call
		if leader, on = m.line.next(); leader != nil {
			leader.done <- leads
		}
	}
}

// crash ends the process when the goroutine that defers it panics, whoever may recover above, as HTTP servers do: half
// a turn leaves a state that nobody may go on with, and a lead that nobody hands on.
func crash() {
	if why := recover(); why != nil {
		text := fmt.Sprintf("%v, in the owner's turn\n%s", why, debug.Stack())
		go panic(text)
		select {}
	}
}

// loop has a turn made when something is due that nobody calls for, until ctx is done.
func (m *manager) loop(ctx context.Context) {
	defer m.bell.timer.Stop()
	for {
		select {
		case <-m.bell.timer.C:
			m.ask(func(m *manager) (answer, error) {
				m.bell.armed = time.Time{}
				return nil, nil
			})
		case <-ctx.Done():
			return
		}
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
		if c.encode && c.reply != nil {
			c.text = c.reply.Append(c.text)
		}
	}
	m.arm()
	for _, c := range batch {
		if c.done != nil {
			c.done <- answered
		}
	}
}

// arm sets the timer for what happens by itself. One that goes off too early is set again.
func (m *manager) arm() {
	next := m.live.next(m.now)
	if !m.bell.wake.IsZero() && m.bell.wake.Before(next) {
		next = m.bell.wake
	}
	if m.bell.armed.IsZero() || next.Before(m.bell.armed) {
		m.bell.armed = next
		m.bell.timer.Reset(max(0, next.Sub(m.now)))
	}
}

// at is the time of the core.
func (m *manager) at() sched.Time { return m.now.Sub(m.started) }

// millis is the time that peers are told: ms since 1970.
func (m *manager) millis() int64 { return m.now.UnixMilli() }

// identity names this run of the ResourceManager to nodes and in application ids.
func (m *manager) identity() int64 { return m.started.UnixMilli() }

// note takes a fact in. The core hears of it in the next Step.
func (m *manager) note(e sched.Event) { m.events = append(m.events, e) }

// step has the core decide, and carries out what it decided, until there is nothing new: to carry an action out may be
// a fact at once. Within a Step the core takes facts in the order of their kinds, so whoever needs two in another order
// calls step between them.
func (m *manager) step() {
	due := !m.bell.wake.IsZero() && !m.now.Before(m.bell.wake)
	if due {
		m.bell.wake = time.Time{} // the core says when next
	}
	for ; len(m.events) > 0 || due; due = false {
		actions := m.core.Step(m.at(), m.events)
		m.events = m.events[:0]
		m.refused()
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

// refused counts what the policy asked for and the core did not take because it was invalid, and logs each reason once.
func (m *manager) refused() {
	if int64(m.core.Refused()) == m.count.refused {
		return
	}
	m.count.refused = int64(m.core.Refused())
	for _, r := range m.core.Refusals() {
		if why := r.Action.Kind.String() + ": " + r.Reason; !m.count.said[why] {
			if m.count.said == nil {
				m.count.said = map[string]bool{}
			}
			m.count.said[why] = true
			m.log.Warn(
				"the policy asked for what cannot be done; said once, counted from now on",
				"action",
				r.Action.Kind.String(),
				"why",
				r.Reason,
				"job",
				r.Action.Stage.Job,
			)
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
		m.bell.wake = time.Time{}
		if a.At > 0 {
			m.bell.wake = m.started.Add(a.At)
		}
	}
}
