package yarn

import (
	"cmp"
	"crypto/rand"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// newManager returns the state of a cluster without nodes and applications. Nodes on hosts may join it.
func newManager(config *Config, hosts Hosts, start masterLauncher, clock func() time.Time) *manager {
	now := clock()
	log := &logbook{Logger: config.Log, deeds: cmp.Or(config.Access.Audit, config.Log)}
	since := now
	if !config.Room.Since.IsZero() {
		since = config.Room.Since
	}
	m := &manager{
		config:  config,
		core:    sched.New(config.Core),
		clock:   clock,
		started: since,
		life:    life{identity: now.UnixMilli(), first: now.UnixMilli()},
		finds:   newFinds(),
		now:     now,
		log:     log,
		keys:    newKeys(),
		nodes:   newNodeTable(hosts.set(), config.Racks, config.RackScript),
		queues:  placement{config.Queues, config.Queues.leaves(), map[string]bool{}},
		apps:    newAppTable(now.UnixMilli()),
		live:    newLiveness(config.Expiry, config.Quiet),
		start:   start,
		groups:  newGroupTable(&config.Access, log),
	}
	m.nodes.sizes = config.Sizes.Nodes
	m.actions = m.dispatcher()
	if every := config.Keys.Roll; every > 0 {
		m.live.at(now.Add(every), m.roll)
	}
	if config.Room.Part != nil {
		offerAll(m)
	}
	if keep := config.Debts.Keep; keep != nil {
		var again func()
		again = func() {
			keep(m.at())
			m.live.at(m.now.Add(keepEvery), again)
		}
		m.live.at(now.Add(keepEvery), again)
	}
	return m
}

// keepEvery is the interval at which Debts.Keep is called.
const keepEvery = 5 * time.Second

// newKeys returns random keys, and no delegation tokens.
func newKeys() keys {
	one := func() *token.Keys { return token.NewKeys(token.RandomKey()) }
	clients := make([]byte, clientKeyBytes)
	rand.Read(clients) // never fails
	users := delegations{keys: one(), good: map[string]*delegation{}, of: map[string]int{}}
	return keys{one(), one(), one(), users, clients}
}

// roll offers new keys, uses them when every node had time to learn them, and sets the alarm for the next roll. A node
// that does not know the key of a token refuses the container.
func (m *manager) roll() {
	all := []*token.Keys{m.keys.master, m.keys.node, m.keys.container}
	for _, k := range all {
		k.Offer()
	}
	m.saveKeys()
	m.useKeys()
	m.live.at(m.now.Add(m.config.Keys.Roll), m.roll)
}

// useKeys sets the alarm that uses the offered keys, when every node had time to learn them.
func (m *manager) useKeys() {
	m.live.at(m.now.Add(m.config.Keys.Delay), func() {
		for _, k := range []*token.Keys{m.keys.master, m.keys.node, m.keys.container} {
			k.Use()
		}
		m.saveKeys()
	})
}

// begin starts a turn: it reads the clock and does what is due.
func (m *manager) begin() {
	m.now = m.clock()
	m.live.expire(m.now)
}

// due returns the next instant at which a turn is needed without a call.
func (m *manager) due() time.Time {
	next := m.live.next(m.now)
	if !m.wake.IsZero() && m.wake.Before(next) {
		return m.wake
	}
	return next
}

// at returns the time of the core.
func (m *manager) at() sched.Time { return m.now.Sub(m.started) }

// millis returns the time that peers are told: ms since 1970.
func (m *manager) millis() int64 { return m.now.UnixMilli() }

// identity names this life of the ResourceManager to nodes.
func (m *manager) identity() int64 { return m.life.identity }

// note keeps a fact for the next Step of the core.
func (m *manager) note(e sched.Event) { m.events = append(m.events, e) }

// priority returns the priority of an application that wants one.
func (m *manager) priority(wanted wire.Priority) wire.Priority {
	return min(wanted, wire.Priority(m.config.MostPriority))
}

// proxied returns the URL by which a browser reaches an ApplicationMaster.
func (m *manager) proxied(id wire.ApplicationID) string {
	return m.config.scheme() + "://" + m.config.Web + "/proxy/" + id.String() + "/"
}

// attempt finds an attempt; nil: it is not known.
func (m *manager) attempt(id wire.AttemptID) *attempt {
	app := m.apps.byID[id.App]
	if app == nil || id.Attempt < 1 || int(id.Attempt) > len(app.attempts) {
		return nil
	}
	return app.attempts[id.Attempt-1]
}

// container finds a container; nil: it is not known, or its node was told to forget it.
func (m *manager) container(id wire.ContainerID) *container {
	a := m.attempt(id.Attempt)
	if a == nil {
		return nil
	}
	return a.containers.at(id.ID)
}

// application finds an application, or returns the exception that says that there is none.
func (m *manager) application(id wire.ApplicationID) (*application, error) {
	app := m.apps.byID[id]
	if app == nil {
		return nil, rpc.Errorf(classAppNotFound,
			"Application with id '%s' doesn't exist in RM. Please check that the job submission was successful.", id)
	}
	return app, nil
}

// knownAttempt finds an attempt, or returns the exception that says that there is none.
func (m *manager) knownAttempt(id wire.AttemptID) (*attempt, error) {
	if _, err := m.application(id.App); err != nil {
		return nil, err
	}
	a := m.attempt(id)
	if a == nil {
		return nil, rpc.Errorf(classAttemptNotFound, "ApplicationAttempt with id '%s' doesn't exist in RM.", id)
	}
	return a, nil
}

// next returns the response id after id; it stays positive.
func next(id int32) int32 { return (id + 1) & 0x7fffffff }
