package policy

import (
	"encoding/json"
	"math/bits"

	"github.com/sojourn-sched/sojourn/sched"
)

var longtermCard = Card{
	Title: "equal shares over time: a queue that lent its share gets it back later",
	Source: "S. Tang, PhD thesis, chapter 5 (LTYARN); Vuppalapati et al., Karma: Resource Allocation for Dynamic " +
		"Demands, OSDI 2023",
	Spec: "docs/spec/ltyarn.md",
	Params: PlacingParams(
		Param{
			Name:    "credit",
			Kind:    Choice,
			Default: "ltrf",
			Choices: []Option{{Name: "ltrf"}, {Name: "karma"}},
			Meaning: "what counts against a queue: ltrf, all that it uses; karma, what it borrows less what others " +
				"use of its share",
		},
		Param{
			Name:    "guaranteed",
			Kind:    Number,
			Default: "0.5",
			Max:     1,
			Meaning: "part of its share that a queue always gets, whatever it has used before",
		},
		Param{
			Name:    "discount",
			Kind:    Number,
			Default: "1",
			Max:     1,
			Meaning: "weight of what a queue uses above its share (η, with credit=ltrf)",
		},
		Param{
			Name:    "round",
			Kind:    Duration,
			Default: "24h",
			Meaning: "length of a round of accounting, at least 1s; 0s: one round that never ends",
		},
		Param{
			Name:    "rounds",
			Kind:    Integer,
			Default: "7",
			Max:     100_000,
			Meaning: "how many rounds are remembered, the present one included; 0: all",
		},
		Param{
			Name:    "decay",
			Kind:    Number,
			Default: "0",
			Max:     1,
			Meaning: "part of what was counted that is forgotten at the end of each round",
		},
		Param{
			Name:    "cap",
			Kind:    Duration,
			Default: "24h",
			Meaning: "most credit that a queue can have, as time for which it has its share alone; 0s: no limit",
		},
		Param{
			Name:    "debt",
			Kind:    Duration,
			Default: "0s",
			Meaning: "most debt that a queue can have, as time for which it has its share alone; 0s: no limit",
		},
		Param{
			Name:    "par",
			Kind:    Choice,
			Default: "off",
			Choices: []Option{{Name: "off"}, {Name: "on"}},
			Meaning: "whether a queue that becomes active in a round starts with the largest account of the active " +
				"queues, so that idle time earns it nothing",
		},
		Param{
			Name:    "quantum",
			Kind:    Duration,
			Default: "10s",
			Meaning: "how long a task is assumed to run while nothing is known of its stage; this time is counted " +
				"as soon as the task starts",
		},
		Param{
			Name:    "adapt",
			Kind:    Choice,
			Default: "on",
			Choices: []Option{{Name: "on"}, {Name: "off"}},
			Meaning: "whether the assumed time (quantum) follows the finished tasks of each job and queue",
		},
		Param{
			Name:    "users",
			Kind:    Choice,
			Default: "off",
			Choices: []Option{{Name: "off"}, {Name: "on"}},
			Meaning: "whether the users of a queue share it over time, or only its jobs",
		},
		Param{
			Name:    "jobs",
			Kind:    Choice,
			Default: "fair",
			Choices: []Option{{Name: "fair"}, {Name: "longterm"}},
			Meaning: "how the jobs of a queue share it: fair, by what they hold; longterm, by what they have used, " +
				"too, looked up once a quantum",
		},
		mastersParam("0.5", "a queue's share"),
		taking(optOff, optKill),
		Param{
			Name:    "patience",
			Kind:    Duration,
			Default: "60s",
			Meaning: "how long a queue with credit must be below its fair share before tasks of others are killed " +
				"for it",
		},
		Param{
			Name:    "check",
			Kind:    Duration,
			Default: "3s",
			Min:     0.001,
			Meaning: "how often the policy looks for such queues",
		},
		Param{
			Name:    "grace",
			Kind:    Duration,
			Default: "15s",
			Meaning: "time between the warning of a task and its kill",
		},
		Param{
			Name:    "most",
			Kind:    Number,
			Default: "0.05",
			Min:     0.001,
			Max:     1,
			Meaning: "part of the cluster that one check takes back at most",
		},
	),
	Memory: []string{
		"by queue and by user: what was counted in each remembered round",
		"attempts that have not run for their quantum yet",
		"by job: how long its finished tasks ran, and what it had used at the last multiple of the quantum (with jobs)",
		"the capacity that shares are of",
		PlacingMemory,
		"by queue: since when it has less than its fair share (with preempt)",
	},
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

// longterm serves queues by how much they have used over time. Among siblings, queues below their minimum share come
// first, then queues below the guaranteed part of their share, then the queue with the smallest balance for its weight.
// Jobs of a queue share it as under fair.
//
// The balance of a queue grows at a rate of its own while its tasks run, so the order of siblings changes without any
// event. The ledger keeps the balances exactly, and seniority keeps the order.
type longterm struct {
	tree
	Ledger ledger
	Jobs   careers
	Repay  repayment

	order  seniority
	shares weighted // of queues; masters may hold a part of each
}

func newLongterm(a Args) sched.Policy {
	l := &longterm{}
	l.users, l.masters = a.Choice("users") == "on", masterLimit{a.Number("masters"), l.shares.of}
	l.Ledger.terms = termsOf(a)
	l.Ledger.Length = l.Ledger.terms.round
	if a.Choice("jobs") == "longterm" {
		l.Jobs.every = max(a.Time("quantum"), leastLook)
		l.orders.shares = true
	}
	l.turn = l.entitled
	l.tree.init(a, l.within)
	l.Repay.init(a, &l.tree)
	return l
}

// leastLook is the shortest time between two looks at how much jobs have used.
const leastLook = sched.Time(1e9)

// within orders the jobs of a queue by the queue's own policy, as fair does, or by how much they have used.
func (l *longterm) within(v *sched.View, st *sched.Stage, more int32) sched.Key {
	switch order := l.orders.name(v.Queues[st.Job.Queue].Parent); {
	case order == "fifo":
		return urgency(v, st, more)
	case order != "drf" && l.Jobs.every > 0:
		return sched.Key{Value: l.Jobs.of(st.Job, l.Total)}
	default:
		return heldForWeight(&l.tree, order, st)
	}
}

// InWords returns in words how many queues come before that of st, and what decides within the queue.
func (l *longterm) InWords(v *sched.View, st *sched.Stage, k sched.Key) string {
	k, queues := inQueue(&l.tree, v, st, k)
	switch order := l.orders.name(v.Queues[st.Job.Queue].Parent); {
	case order == "fifo":
		return queues + urgencyInWords(k)
	case order != "drf" && l.Jobs.every > 0:
		return queues + "counted for " + work(k.Value) + " for its weight"
	default:
		return queues + heldForWeightInWords(order, st, k)
	}
}

// entitled returns the key of a queue among its siblings, for explanations: its class, and its balance in seconds of
// the whole cluster for its weight.
func (l *longterm) entitled(q *sched.Queue, k sched.ResourceKind) sched.Key {
	e := l.Ledger.entry(l.view, q, k)
	if e.class == byCredit {
		return sched.Key{Class: e.class, Value: e.account.at(l.view.Now).Seconds() / wholeCluster}
	}
	return sched.Key{Class: e.class, Value: e.part}
}

// Decide starts tasks where there is room, and may kill tasks for queues that have credit and cannot use it.
func (l *longterm) Decide(p *sched.Plan) {
	l.shares.follow(p)
	l.Jobs.follow(p)
	l.tree.begin(p)
	if l.Ledger.follow(p, l.users) {
		l.order = seniority{}
	}
	l.order.begin(l)
	l.reorder()
	for kinds := l.lanes & (1<<sched.NumResources - 1); kinds != 0; kinds &= kinds - 1 {
		l.fillKind(p, sched.ResourceKind(bits.TrailingZeros32(kinds)))
	}
	if l.Repay.looks(p) {
		l.Repay.look(p, &l.Ledger)
	}
}

// fillKind starts tasks that compete for kind k until no waiting one finds room.
func (l *longterm) fillKind(p *sched.Plan, k sched.ResourceKind) {
	l.order.restore()
	for s := l.waiting(k, true); l.waits.any(p, k, 0) != nil; {
		st := l.descend(p, p.Queues[0], s)
		if st == nil {
			return
		}
		before := len(p.Actions())
		if !l.Place(p, st) {
			l.waits.skip(st)
			continue
		}
		for _, a := range p.Actions()[before:] {
			if a.Kind == sched.Launch {
				l.Ledger.launched(p, p.Attempt(a.Attempt))
			}
		}
		l.reorder()
	}
}

// reorder updates the order for the queues whose accounts have changed.
func (l *longterm) reorder() {
	for _, q := range l.Ledger.touched {
		l.order.changed(l, q)
	}
	l.Ledger.touched = l.Ledger.touched[:0]
}

// descend returns the first stage below q for which there is room; nil: there is none. A child without such a stage is
// set aside for the rest of the pass. O(log n) for n siblings on each level, and as much for each child set aside.
func (l *longterm) descend(p *sched.Plan, q *sched.Queue, s sought) *sched.Stage {
	if q.ID != 0 {
		if st := l.own(p, q, s); st != nil {
			return st
		}
	}
	line := l.order.among(l, q, s.kind)
	for line != nil {
		c := line.first(p.Now)
		if c == nil {
			return nil
		}
		if st := l.descend(p, c, s); st != nil {
			return st
		}
		line.setAside(c.ID)
	}
	return nil
}

// Left implements Lasting: accounts outlast a run. The returned ledger shares its accounts with the policy. Accounts
// grow at constant rates, so that a later At is all that Recall needs to count them up to now.
func (l *longterm) Left(now sched.Time) any {
	left := l.Ledger
	left.At = max(left.At, now)
	left.Young, left.Owners, left.Jobs = nil, nil, sched.Per[finished]{} // they mean nothing in another run
	return &left
}

// Recall implements Lasting. Parameters are those of this run, not of the run that left text. If text is refused, the
// policy does not change.
func (l *longterm) Recall(text []byte) error {
	var was ledger
	if err := json.Unmarshal(text, &was); err != nil {
		return err
	}
	if err := was.check(); err != nil {
		return err
	}
	was.terms = l.Ledger.terms
	l.Ledger = was
	l.Ledger.restart()
	return nil
}

// A repayment takes back, gently, what queues in debt hold above their fair shares, for queues that have credit.
type repayment struct {
	reclaimer
	Short [sched.NumResources]sched.Per[since] // by queue: since when it holds less than its fair share

	patience sched.Time
	most     float64
}

func (r *repayment) init(a Args, t *tree) {
	r.patience, r.most, r.grace = a.Time("patience"), a.Number("most"), a.Time("grace")
	r.reclaimer.init(a, t)
}

// look kills tasks for queues with credit that have been below their fair shares for too long. It takes from queues in
// debt, first from the queue farthest above its fair share, and at most a part of the cluster at once. No queue falls
// below its fair share because of that, and a queue without debt loses nothing. O(queues) for each kind of resource.
func (r *repayment) look(p *sched.Plan, l *ledger) {
	for k := range sched.ResourceKind(sched.NumResources) {
		competes := r.tree.has(k) // else no task wants the kind, and no queue is short of it
		if competes {
			r.divide(p, k, configured(k))
		}
		need := 0.0
		for _, q := range p.Queues {
			if q == nil || q.Gone() || !r.isLeaf(p, q) {
				continue
			}
			owed := competes && l.owed(p.View, q)
			if owed && r.Short[k].Of(q).lasted(p.Now, r.share[q.ID] > float64(q.Used[k]), r.patience) {
				need += r.share[q.ID] - float64(q.Used[k])
			}
			if !owed {
				*r.Short[k].Of(q) = since{}
				continue
			}
			r.share[q.ID] = float64(p.Capacity[k]) // nothing is taken from it
		}
		if competes {
			r.take(p, k, min(need-float64(p.Queues[0].Leaving[k]), r.most*float64(p.Capacity[k])), 1)
		}
	}
}
