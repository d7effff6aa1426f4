package policy

import (
	"math/bits"

	"github.com/sojourn-sched/sojourn/internal/priority"
	"github.com/sojourn-sched/sojourn/sched"
)

// fewSiblings is the largest number of children of a queue that are looked at one by one. For so few that costs less
// than keeping them in order.
const fewSiblings = 16

// siblings keeps the children of queues with many children in the order of their turns. It is a cache: a queue that has
// changed is moved to its new place before the next look at the order. A change costs O(log n) for n children in each
// lane.
type siblings struct {
	few    int                                     // up to how many children are not kept in order
	turn   func(q *sched.Queue, in lane) sched.Key // a child's place among its siblings
	wants  func(q *sched.Queue, in lane) bool      // whether a child is in a lane
	users  bool                                    // users of a queue are kept in order like queues
	places [mostLanes][]int32                      // by queue: in the heap of its line; -1: aside

	lines  []*siblingLine // by parent; nil: not kept in order
	kept   int            // lines that are
	inLeaf bool           // users of some leaf are kept in order by the policy
	since  []int64        // by queue: ordinal of its appearance; of equals the one that was there first is first
	uses   sched.Per[bool]
	count  int64

	anew    int                                     // how often forget was called
	also    func(v *sched.View, leaf sched.QueueID) // called by changed, too; nil: no call
	told    int                                     // actions of this Step that have been told
	changes int                                     // of the configured queues, that are known
}

// A lane is one order of siblings. There is a lane for each kind of resource, of the queues in which tasks wait for it.
// A policy may add lanes of its own.
type lane uint8

// mostLanes bounds the number of lanes: one for each kind of resource, and those that policies add.
const mostLanes = sched.NumResources + 4

// A siblingLine is the children of one queue.
type siblingLine struct {
	of    *siblings
	dirty []sched.QueueID // children that have changed
	lanes [mostLanes]siblingHeap
}

// A siblingHeap is the children that are in a lane.
type siblingHeap struct {
	priority.Indexed[siblingKey]
	pass  uint64
	aside []sched.QueueID // until the next pass
}

// A siblingKey is a child's place among its siblings.
type siblingKey struct {
	turn  sched.Key
	since int64
}

// Before compares turns, and for equal ones which child was there first.
func (a siblingKey) Before(b siblingKey) bool {
	if a.turn.Before(b.turn) {
		return true
	}
	return a.since < b.since && !b.turn.Before(a.turn)
}

// forget drops all orders, because turns depend on something that has changed for all queues.
func (s *siblings) forget() {
	*s = siblings{few: s.few, turn: s.turn, wants: s.wants, users: s.users, told: s.told, changes: s.changes,
		also: s.also, anew: s.anew + 1}
}

// changed notes that what is in a leaf changed, and so the queues above it.
func (s *siblings) changed(v *sched.View, leaf sched.QueueID) {
	if s.also != nil {
		s.also(v, leaf)
	}
	if s.kept == 0 {
		return
	}
	for q := v.Queues[leaf]; q.ID != 0; q = v.Queues[q.Parent] {
		if int(q.Parent) < len(s.lines) && s.lines[q.Parent] != nil {
			line := s.lines[q.Parent]
			if n := len(line.dirty); n == 0 || line.dirty[n-1] != q.ID {
				line.dirty = append(line.dirty, q.ID)
			}
		}
	}
}

// line returns the children of q in order; nil: they are few. Lanes are those in use, by bit.
func (s *siblings) line(v *sched.View, q *sched.Queue, lanes uint32) *siblingLine {
	if int(q.ID) < len(s.lines) && s.lines[q.ID] != nil {
		line := s.lines[q.ID]
		line.bringUp(v, lanes)
		return line
	}
	if len(q.Children) <= s.few || !s.users && v.Queues[q.Children[0]].User {
		return nil
	}
	for len(s.lines) < len(v.Queues) {
		s.lines = append(s.lines, nil)
	}
	line := &siblingLine{of: s, dirty: append([]sched.QueueID(nil), q.Children...)}
	s.lines[q.ID] = line
	s.kept++
	line.bringUp(v, lanes)
	return line
}

// bringUp puts the children that have changed in their places.
func (l *siblingLine) bringUp(v *sched.View, lanes uint32) {
	for _, id := range l.dirty {
		q := v.Queues[id]
		l.of.appeared(v, q)
		for rest := lanes; rest != 0; rest &= rest - 1 {
			l.update(q, lane(bits.TrailingZeros32(rest)))
		}
	}
	l.dirty = l.dirty[:0]
}

// appeared gives ordinals to q and to the siblings that were there before it, unless they have them.
func (s *siblings) appeared(v *sched.View, q *sched.Queue) {
	if n := len(v.Queues); len(s.since) < n {
		s.since = append(s.since, make([]int64, n-len(s.since))...)
	}
	if seen := s.uses.Of(q); !*seen {
		children := v.Queues[q.Parent].Children
		first := len(children)
		for first > 0 && !*s.uses.Of(v.Queues[children[first-1]]) {
			first--
		}
		for _, id := range children[first:] {
			s.count++
			s.since[id] = s.count
			*s.uses.Of(v.Queues[id]) = true
		}
	}
}

// update puts one child in its place in one lane.
func (l *siblingLine) update(q *sched.Queue, in lane) {
	h, places := &l.lanes[in], l.of.placesIn(in)
	switch at := places[q.ID]; {
	case at < 0:
	case l.of.wants(q, in):
		key := siblingKey{l.of.turn(q, in), l.of.since[q.ID]}
		h.Put(places, priority.Entry[siblingKey]{Key: key, ID: int32(q.ID)})
	case at > 0:
		h.Remove(places, int32(q.ID))
	}
}

// placesIn returns the places in a lane, one for each queue that has appeared.
func (s *siblings) placesIn(in lane) []int32 {
	p := &s.places[in]
	if n := len(s.since); len(*p) < n {
		*p = append(*p, make([]int32, n-len(*p))...)
	}
	return *p
}

// first returns the child whose turn it is in a lane, among those that were not set aside in this pass; nil: none.
func (l *siblingLine) first(v *sched.View, in lane, pass uint64) *sched.Queue {
	h := &l.lanes[in]
	if h.pass != pass {
		h.pass = pass
		for _, id := range h.aside {
			l.of.places[in][id] = 0
			l.update(v.Queues[id], in)
		}
		h.aside = h.aside[:0]
	}
	if len(h.Indexed) == 0 {
		return nil
	}
	return v.Queues[h.Indexed[0].ID]
}

// setAside leaves the first child out until the next pass, or until it changes.
func (l *siblingLine) setAside(in lane, untilChanged bool) {
	h := &l.lanes[in]
	id := h.Indexed[0].ID
	h.Remove(l.of.places[in], id)
	if !untilChanged {
		l.of.places[in][id] = -1
		h.aside = append(h.aside, sched.QueueID(id))
	}
}
