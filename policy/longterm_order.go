package policy

import (
	"math"

	"github.com/sojourn-sched/sojourn/sched"
)

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
	part    float64 // of what it is below of; of the last class 0
	held    float64 // dominant share for its weight: of equals who holds least is first
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

// rate is how fast a contender's account grows.
func (c *contender) rate() int64 { return c.account.Counted.Rate - c.account.Young }

const never = sched.Time(math.MaxInt64)

// leads returns until when c, which is before o now, stays so for sure unless one of them changes. It may be too early,
// never too late: the instant is where the lines of the two meet, less what the conversion to floating point may have
// added.
func (c *contender) leads(o *contender, now sched.Time) sched.Time {
	if c.class != o.class || c.class != byCredit || c.rate() <= o.rate() {
		return never
	}
	a, b := c.account.at(now), o.account.at(now)
	gap := b.Sub(a).Float() / (float64(c.rate()) - float64(o.rate()))
	gap -= 1 + gap*1e-12
	if gap >= float64(never-now)/2 {
		return never
	}
	return now + max(1, sched.Time(gap))
}

// A seniority keeps the children of queues in the order of their turns, which changes by itself as time passes: each
// queue is counted at a rate of its own. It is a kinetic tournament (Basch, Guibas, Hershberger, Data Structures for
// Mobile Data, SODA 1997): the winner of each match is kept with the instant until which it stays the winner. A change
// of a queue replays O(log n) matches of n siblings; time replays only matches whose instant has passed. It is a cache.
type seniority struct {
	lines [][sched.NumResources]*matches // by parent and kind
	spots []int32                        // by queue: its place in the lines of its parent, from 1
	taken []int32                        // by parent: places that its children have
	aside []*matches                     // in which some are set aside
}

// matches are a tournament of siblings.
type matches struct {
	players []contender // by place, from 1; their number is a power of two at least
	nodes   []match     // 1 is the last match; the first ones begin at len(nodes) ÷ 2
	aside   []int32
	order   *seniority
}

// A match is who of those below comes first, and until when that is known.
type match struct {
	winner int32 // place; 0: nobody
	until  sched.Time
}

// begin makes room for queues that are new.
func (s *seniority) begin(l *longterm) {
	if n := len(l.view.Queues) - len(s.lines); n > 0 {
		s.lines = append(s.lines, make([][sched.NumResources]*matches, n)...)
		s.spots = append(s.spots, make([]int32, n)...)
		s.taken = append(s.taken, make([]int32, n)...)
	}
}

// among returns the children of q that compete for kind k; nil: there are none.
func (s *seniority) among(l *longterm, q *sched.Queue, k sched.ResourceKind) *matches {
	m := s.lines[q.ID][k]
	if m == nil && len(q.Children) > 0 {
		m = &matches{order: s, players: make([]contender, 1), nodes: make([]match, 2)}
		s.lines[q.ID][k] = m
		for _, id := range q.Children {
			m.update(l, l.view.Queues[id], k)
		}
	}
	return m
}

// changed puts a queue in its place among its siblings.
func (s *seniority) changed(l *longterm, q *sched.Queue) {
	for k, m := range &s.lines[q.Parent] {
		if m != nil {
			m.update(l, q, sched.ResourceKind(k))
		}
	}
}

// restore takes back what was set aside.
func (s *seniority) restore() {
	for _, m := range s.aside {
		for _, at := range m.aside {
			m.players[at].aside = false
			m.replay(at)
		}
		m.aside = m.aside[:0]
	}
	s.aside = s.aside[:0]
}

// update gives one child its place.
func (m *matches) update(l *longterm, q *sched.Queue, k sched.ResourceKind) {
	at := m.place(q)
	aside := m.players[at].aside
	m.players[at] = contender{}
	if l.wants(q, lane(k)) {
		m.players[at] = l.Ledger.entry(l.view, q, k)
	}
	m.players[at].aside = aside
	m.replay(at)
}

// place returns the place of a child, a new one where it has none.
func (m *matches) place(q *sched.Queue) int32 {
	at := &m.order.spots[q.ID]
	if *at == 0 {
		m.order.taken[q.Parent]++
		*at = m.order.taken[q.Parent]
	}
	for int(*at) >= len(m.players) {
		m.players = append(m.players, contender{})
	}
	if len(m.nodes) < 2*len(m.players) {
		size := 2
		for size < 2*len(m.players) {
			size *= 2
		}
		m.nodes = make([]match, size)
		for i := range size / 2 {
			m.nodes[size/2+i] = match{int32(i), never}
		}
	}
	return *at
}

// replay marks the matches of a place to be played again.
func (m *matches) replay(at int32) {
	for i := (len(m.nodes)/2 + int(at)) / 2; i >= 1; i /= 2 {
		m.nodes[i].until = math.MinInt64
	}
}

// first returns the child whose turn it is now; nil: none waits.
func (m *matches) first(now sched.Time) *sched.Queue {
	if w := m.play(1, now).winner; m.takesPart(w) {
		return m.players[w].queue
	}
	return nil
}

func (m *matches) takesPart(at int32) bool {
	return int(at) < len(m.players) && m.players[at].queue != nil && !m.players[at].aside
}

// play returns the outcome of a match, and plays it again where it is not known any more.
func (m *matches) play(i int, now sched.Time) match {
	n := &m.nodes[i]
	if n.until > now || 2*i >= len(m.nodes) {
		return *n
	}
	a, b := m.play(2*i, now), m.play(2*i+1, now)
	switch until := min(a.until, b.until); {
	case !m.takesPart(b.winner):
		*n = match{a.winner, until}
	case !m.takesPart(a.winner):
		*n = match{b.winner, until}
	default:
		x, y := &m.players[a.winner], &m.players[b.winner]
		if y.before(x, now) {
			x, y, a = y, x, b
		}
		*n = match{a.winner, min(until, x.leads(y, now))}
	}
	return *n
}

// setAside leaves a child out until restore.
func (m *matches) setAside(id sched.QueueID) {
	at := m.order.spots[id]
	m.players[at].aside = true
	if len(m.aside) == 0 {
		m.order.aside = append(m.order.aside, m)
	}
	m.aside = append(m.aside, at)
	m.replay(at)
}
