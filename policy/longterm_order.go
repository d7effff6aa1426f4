package policy

import "github.com/sojourn-sched/sojourn/sched"

// The classes of siblings, in that order.
const (
	belowMin        int32 = -1 // of its minimum share
	belowGuaranteed int32 = 0  // of the guaranteed part of its share
	byCredit        int32 = 1
)

// A contender is a queue among its siblings.
type contender struct {
	queue   *sched.Queue // nil: it does not take part
	account *account
	class   int32
	part    float64 // held ÷ the share that it is below, by class; 0 in the last class
	held    float64 // dominant share for its weight: of equals the queue that holds least is first
	aside   bool    // until the next pass
}

// entry returns a queue's place among its siblings that compete for kind k.
func (l *ledger) entry(v *sched.View, q *sched.Queue, k sched.ResourceKind) contender {
	a := l.of(v, q)
	c := contender{queue: q, account: a, class: byCredit, held: float64(a.Held) / q.Weight()}
	if used, least := q.Used[k], min(q.Min[k], q.Demand[k]); used < least {
		c.class, c.part = belowMin, float64(used)/float64(least)
	} else if own := l.terms.guaranteed * float64(a.Share); float64(a.Held) < own {
		c.class, c.part = belowGuaranteed, float64(a.Held)/own
	}
	return c
}

// before reports whether c comes before o at an instant.
func (c *contender) before(o *contender, now sched.Time) bool {
	switch {
	case c.class != o.class:
		return c.class < o.class
	case c.part != o.part:
		return c.part < o.part
	case c.class == byCredit:
		if by := c.account.at(now).Compare(o.account.at(now)); by != 0 {
			return by < 0
		}
	}
	if c.held != o.held {
		return c.held < o.held
	}
	return c.queue.ID < o.queue.ID
}

// rate returns how fast the balance of a contender grows, in units of the ledger.
func (c *contender) rate() int64 { return c.account.Counted.Rate - c.account.Young }

// aheadUntil returns until when c, which is before o now, stays so for sure unless one of them changes. It may be too
// early, never too late: the instant is where the lines of the two meet, less what the conversion to floating point may
// have added.
func (c *contender) aheadUntil(o *contender, now sched.Time) sched.Time {
	if c.class != o.class || c.class != byCredit || c.rate() <= o.rate() {
		return sched.Never
	}
	a, b := c.account.at(now), o.account.at(now)
	gap := b.Sub(a).Float() / (float64(c.rate()) - float64(o.rate()))
	gap -= 1 + gap*1e-12
	if gap >= float64(sched.Never-now)/2 {
		return sched.Never
	}
	return now + max(1, sched.Time(gap))
}

// A seniority keeps the children of queues in the order of their turns, which changes by itself as time passes: each
// queue is counted at a rate of its own. The children of a queue that compete for one kind are a sched.Tournament. It
// is a cache.
type seniority struct {
	lines [][sched.NumResources]*contest // by parent and kind
	spots []int32                        // by queue: its place in the lines of its parent, from 1
	taken []int32                        // by parent: places that its children have
	aside []*contest                     // in which some are set aside
}

// A contest is between the children of a queue that compete for one kind. Its members are places.
type contest struct {
	sched.Tournament
	players []contender // by place; without a queue where the child does not take part
	aside   []int32     // places that are left out until the next pass
	order   *seniority
}

// begin makes room for queues that are new.
func (s *seniority) begin(l *longterm) {
	if n := len(l.view.Queues) - len(s.lines); n > 0 {
		s.lines = append(s.lines, make([][sched.NumResources]*contest, n)...)
		s.spots = append(s.spots, make([]int32, n)...)
		s.taken = append(s.taken, make([]int32, n)...)
	}
}

// among returns the children of q that compete for kind k; nil: there are none.
func (s *seniority) among(l *longterm, q *sched.Queue, k sched.ResourceKind) *contest {
	c := s.lines[q.ID][k]
	if c == nil && len(q.Children) > 0 {
		c = &contest{order: s}
		c.Order = c.compare
		s.lines[q.ID][k] = c
		for _, id := range q.Children {
			c.update(l, l.view.Queues[id], k)
		}
	}
	return c
}

// changed puts a queue in its place among its siblings.
func (s *seniority) changed(l *longterm, q *sched.Queue) {
	for k, c := range &s.lines[q.Parent] {
		if c != nil {
			c.update(l, q, sched.ResourceKind(k))
		}
	}
}

// restore takes back what was set aside.
func (s *seniority) restore() {
	for _, c := range s.aside {
		places := c.aside
		c.aside = c.aside[:0]
		for _, at := range places {
			c.players[at].aside = false
			c.enter(at)
		}
	}
	s.aside = s.aside[:0]
}

// compare implements the order of the tournament (sched.Tournament.Order).
func (c *contest) compare(a, b int32, now sched.Time) (before bool, until sched.Time) {
	x, y := &c.players[a], &c.players[b]
	if y.before(x, now) {
		return false, y.aheadUntil(x, now)
	}
	return true, x.aheadUntil(y, now)
}

// update gives one child its place.
func (c *contest) update(l *longterm, q *sched.Queue, k sched.ResourceKind) {
	at := c.place(q)
	aside := c.players[at].aside
	c.players[at] = contender{}
	if l.wants(q, lane(k)) {
		c.players[at] = l.Ledger.entry(l.view, q, k)
	}
	c.players[at].aside = aside
	c.enter(at)
}

// enter makes a place a member of the tournament if its child takes part, else no member.
func (c *contest) enter(at int32) {
	if p := &c.players[at]; p.queue == nil || p.aside {
		c.Remove(at)
	} else {
		c.Set(at)
	}
}

// place returns the place of a child, a new one where it has none.
func (c *contest) place(q *sched.Queue) int32 {
	at := &c.order.spots[q.ID]
	if *at == 0 {
		c.order.taken[q.Parent]++
		*at = c.order.taken[q.Parent]
	}
	for int(*at) >= len(c.players) {
		c.players = append(c.players, contender{})
	}
	return *at
}

// first returns the child whose turn it is now; nil: none waits.
func (c *contest) first(now sched.Time) *sched.Queue {
	if at, ok := c.First(now); ok {
		return c.players[at].queue
	}
	return nil
}

// setAside leaves a child out until restore.
func (c *contest) setAside(id sched.QueueID) {
	at := c.order.spots[id]
	if len(c.aside) == 0 {
		c.order.aside = append(c.order.aside, c)
	}
	c.aside = append(c.aside, at)
	c.players[at].aside = true
	c.enter(at)
}
