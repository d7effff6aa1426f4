package policy

import "github.com/sojourn-sched/sojourn/sched"

// fewSiblings is up to how many children a queue's are looked at one by one, which costs less than keeping them in
// order.
const fewSiblings = 16

// siblings are the children of queues that have many, in the order of their turns. They are a cache: a queue that
// changed is put in its place before the order is looked at again.
type siblings struct {
	few   int
	lines []*siblingLine // by parent; nil: not kept in order
	kept  int            // lines that are
	since []int64        // by queue: ordinal of its appearance; of equals the one that was there first is first
	uses  sched.Per[bool]
	count int64
	place [][numLanes]int32 // by queue: in entries, from 1; 0: nowhere; -1: aside
}

// A lane is an order of siblings: one for each kind of resource, of those of which something waits for it, and those of
// dynamicmr.
type lane uint8

const (
	eitherSlots    lane = sched.NumResources + iota // something waits for slots of one kind or the other
	suspectMaps                                     // maps may be stragglers
	suspectReduces                                  // reduces may be
	numLanes
)

// kind returns the kind of resource by which turns in a lane are.
func (l lane) kind() sched.ResourceKind {
	switch l {
	case eitherSlots, suspectMaps:
		return sched.MapSlots
	case suspectReduces:
		return sched.ReduceSlots
	}
	return sched.ResourceKind(l)
}

// A siblingLine is the children of one queue.
type siblingLine struct {
	of    *siblings
	dirty []sched.QueueID // children that have changed
	lanes [numLanes]siblingHeap
}

// A siblingHeap is the children that are in a lane, in a binary heap.
type siblingHeap struct {
	pass    uint64
	entries []sibling
	aside   []sched.QueueID // until the next pass
}

type sibling struct {
	key   sched.Key
	since int64
	id    sched.QueueID
}

func (a *sibling) before(b *sibling) bool {
	if before(a.key, b.key) {
		return true
	}
	return a.since < b.since && !before(b.key, a.key)
}

// forget has all orders be made anew, because what turns depend on changed for all.
func (s *siblings) forget() { *s = siblings{few: s.few} }

// changed notes that what is in a leaf changed, and so the queues above it.
func (s *siblings) changed(v *sched.View, leaf sched.QueueID) {
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

// line returns the children of q in order; nil: they are few.
func (s *siblings) line(t *tree, q *sched.Queue) *siblingLine {
	if int(q.ID) < len(s.lines) && s.lines[q.ID] != nil {
		line := s.lines[q.ID]
		line.bringUp(t)
		return line
	}
	if len(q.Children) <= s.few || t.leaf != nil && t.view.Queues[q.Children[0]].User {
		return nil
	}
	for len(s.lines) < len(t.view.Queues) {
		s.lines = append(s.lines, nil)
	}
	line := &siblingLine{of: s, dirty: append([]sched.QueueID(nil), q.Children...)}
	s.lines[q.ID] = line
	s.kept++
	line.bringUp(t)
	return line
}

// bringUp puts the children that have changed in their places.
func (l *siblingLine) bringUp(t *tree) {
	for _, id := range l.dirty {
		q := t.view.Queues[id]
		l.of.appeared(t, q)
		for in := range numLanes {
			if t.lanes>>in&1 != 0 {
				l.update(t, q, in)
			}
		}
	}
	l.dirty = l.dirty[:0]
}

// appeared sees to it that q and the siblings that were there before it have their ordinals.
func (s *siblings) appeared(t *tree, q *sched.Queue) {
	if n := len(t.view.Queues); len(s.since) < n {
		s.since = append(s.since, make([]int64, n-len(s.since))...)
		s.place = append(s.place, make([][numLanes]int32, n-len(s.place))...)
	}
	if seen := s.uses.Of(q); !*seen {
		children := t.view.Queues[q.Parent].Children
		first := len(children)
		for first > 0 && !*s.uses.Of(t.view.Queues[children[first-1]]) {
			first--
		}
		for _, id := range children[first:] {
			s.count++
			s.since[id] = s.count
			*s.uses.Of(t.view.Queues[id]) = true
		}
	}
}

// update puts one child in its place in one lane.
func (l *siblingLine) update(t *tree, q *sched.Queue, in lane) {
	h, at := &l.lanes[in], &l.of.place[q.ID][in]
	if *at < 0 {
		return
	}
	if !t.wants(q, sought{lane: in}) {
		if *at > 0 {
			l.remove(in, int(*at-1))
		}
		return
	}
	e := sibling{t.turn(q, in.kind()), l.of.since[q.ID], q.ID}
	if *at == 0 {
		h.entries = append(h.entries, e)
		l.up(in, len(h.entries)-1)
		return
	}
	i := int(*at - 1)
	h.entries[i] = e
	l.up(in, i)
	l.down(in, int(l.of.place[q.ID][in]-1))
}

// first returns the child whose turn it is among those that were not set aside in this pass; nil: none.
func (l *siblingLine) first(t *tree, s sought) *sched.Queue {
	in := s.lane
	h := &l.lanes[in]
	if h.pass != s.pass {
		h.pass = s.pass
		for _, id := range h.aside {
			l.of.place[id][in] = 0
			l.update(t, t.view.Queues[id], in)
		}
		h.aside = h.aside[:0]
	}
	if len(h.entries) == 0 {
		return nil
	}
	return t.view.Queues[h.entries[0].id]
}

// setAside leaves the first child out until the next pass, or until it changes.
func (l *siblingLine) setAside(in lane, untilChanged bool) {
	h := &l.lanes[in]
	id := h.entries[0].id
	l.remove(in, 0)
	if !untilChanged {
		l.of.place[id][in] = -1
		h.aside = append(h.aside, id)
	}
}

func (l *siblingLine) remove(in lane, i int) {
	h := &l.lanes[in]
	last := len(h.entries) - 1
	l.of.place[h.entries[i].id][in] = 0
	moved := h.entries[last]
	h.entries = h.entries[:last]
	if i < last {
		h.entries[i] = moved
		l.up(in, i)
		l.down(in, int(l.of.place[moved.id][in]-1))
	}
}

func (l *siblingLine) up(in lane, i int) {
	h := l.lanes[in].entries
	e := h[i]
	for ; i > 0 && e.before(&h[(i-1)/2]); i = (i - 1) / 2 {
		h[i] = h[(i-1)/2]
		l.of.place[h[i].id][in] = int32(i + 1)
	}
	h[i] = e
	l.of.place[e.id][in] = int32(i + 1)
}

func (l *siblingLine) down(in lane, i int) {
	h := l.lanes[in].entries
	e := h[i]
	for {
		least := 2*i + 1
		if least+1 < len(h) && h[least+1].before(&h[least]) {
			least++
		}
		if least >= len(h) || !h[least].before(&e) {
			break
		}
		h[i] = h[least]
		l.of.place[h[i].id][in] = int32(i + 1)
		i = least
	}
	h[i] = e
	l.of.place[e.id][in] = int32(i + 1)
}
