package policy

import (
	"math/bits"

	"github.com/sojourn-sched/sojourn/sched"
)

// A tree serves stages queue by queue: from the root it goes down to the child whose turn it is, and in a leaf to the
// first job.
//
// Tasks that need different kinds of slots do not compete, so that each kind is shared for itself: memory among those
// that need memory, map slots among maps, reduce slots among reduces, as both of Hadoop's generations have it.
//
// A decision costs O(log n) for n siblings on each level on the way down, whatever the number of jobs.
type tree struct {
	DelayPlacer
	Total sched.Resources // capacity for which dominant shares are computed

	crowd                                                            // what waits
	rank  Ranking                                                    // of the jobs of a leaf
	turn  func(q *sched.Queue, k sched.ResourceKind) sched.Key       // a child's place among its siblings
	leaf  func(p *sched.Plan, q *sched.Queue, s sought) *sched.Stage // whose turn it is among the jobs of q; nil: by rank
	users bool                                                       // each user of a queue is a child of it; else they are not told apart
	flat  bool                                                       // there is one queue, the root, whatever has been configured
	leads leads                                                      // how much of a queue masters may hold

	view     *sched.View
	lanes    uint32   // that are in use, by bit
	marks    []uint32 // by queue: lanes beyond those of kinds in which the policy says that it is, by bit
	passes   uint64   // so far
	siblings siblings
	told     int // actions of which siblings know
	changes  int // of the configured queues, that siblings know of
}

// A crowd is stages that somebody is to be chosen from.
type crowd struct {
	index   sched.Index // in one group for each queue and kind
	some    sched.Index // in one group for each kind, to tell whether there is room for any
	synced  bool        // some is up to date
	skipped bool        // some stage has been passed over in this Step
	full    []uint64    // by queue: the pass in which it had nothing that fits
}

// begin brings back what was passed over.
func (c *crowd) begin(p *sched.Plan) {
	c.index.Sync(p)
	c.synced = false
	if more := len(p.Queues) - len(c.full); more > 0 {
		c.full = append(c.full, make([]uint64, more)...)
	}
}

// skip passes a stage over until begin.
func (c *crowd) skip(st *sched.Stage) {
	c.index.Skip(st)
	c.skipped = true
	if c.synced {
		c.some.Skip(st)
	}
}

// head returns the first stage of kind k, room or not; nil: none.
func (c *crowd) head(p *sched.Plan, k sched.ResourceKind) *sched.Stage {
	c.follow(p)
	return c.some.Head(int(k))
}

// follow brings some up to date.
func (c *crowd) follow(p *sched.Plan) {
	if !c.synced {
		c.synced = true
		c.some.Sync(p)
	}
}

// any returns a stage of kind k that has room if its task holds a shape, zero being its own; nil: none has.
func (c *crowd) any(p *sched.Plan, k sched.ResourceKind, holds sched.ShapeID) *sched.Stage {
	c.follow(p)
	return c.some.FirstOf(int(k), holds)
}

// A sought is what the way down the queues looks for.
type sought struct {
	of   *crowd
	kind sched.ResourceKind // that the stages compete for, and by which the queues' turns are
	lane lane               // the order of siblings that is gone by
	room bool               // it must fit somewhere
	lent bool               // as a task that is away from its own slots
	pass uint64             // queues in which there was nothing are not looked into again in the same pass
}

// waiting is what waits and competes for kind k, all queues to be looked into.
func (t *tree) waiting(k sched.ResourceKind, room bool) sought {
	return t.seek(sought{of: &t.crowd, kind: k, lane: lane(k), room: room})
}

// seek is s in a pass of its own.
func (t *tree) seek(s sought) sought {
	t.passes++
	s.pass = t.passes
	return s
}

// init sets up the index; rank orders the jobs of a leaf.
func (t *tree) init(a Args, rank Ranking) {
	t.DelayPlacer, t.rank = NewDelayPlacer(a), rank
	t.siblings.few = fewSiblings
	t.index.Group = t.group
	t.index.Key = func(v *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) {
		t.siblings.changed(v, st.Job.Queue)
		if st.Pending == 0 {
			return sched.Key{}, false
		}
		return rank(v, st, 1), true
	}
	t.some.Group = kindGroup
	t.some.Key = func(_ *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) {
		return sched.Key{}, st.Pending > 0
	}
}

// groupOf is the group of what waits in a queue and competes for kind k, but for masters that are bounded.
func groupOf(q sched.QueueID, k sched.ResourceKind) int {
	return 2 * (int(q)*sched.NumResources + int(k))
}

// mastersOf is the group of those masters.
func mastersOf(group int) int { return group + 1 }

func (t *tree) group(st *sched.Stage) int {
	k := kindOf(st)
	t.lanes |= 1 << k
	group := groupOf(t.queueOf(t.view, st.Job), k)
	if t.leads.limit(st) {
		return mastersOf(group)
	}
	return group
}

// queueOf returns the queue that a job is in: its user's where users are told apart.
func (t *tree) queueOf(v *sched.View, j *sched.Job) sched.QueueID {
	switch {
	case t.flat:
		return 0
	case t.users:
		return j.Queue
	}
	return v.Queues[j.Queue].Parent
}

// has reports whether some stage has asked for kind k.
func (t *tree) has(k sched.ResourceKind) bool { return t.lanes>>k&1 != 0 }

// fill starts tasks until nothing that waits has room.
func (t *tree) fill(p *sched.Plan) {
	t.begin(p)
	for kinds := t.lanes & (1<<sched.NumResources - 1); kinds != 0; kinds &= kinds - 1 {
		t.fillKind(p, sched.ResourceKind(bits.TrailingZeros32(kinds)))
	}
}

// begin brings up to date what a decision looks at.
func (t *tree) begin(p *sched.Plan) {
	t.view = p.View
	if t.Total != p.Capacity {
		t.Total = p.Capacity
		t.siblings.forget()
		for j := range p.Jobs() {
			p.TouchJob(j)
		}
	}
	if t.changes != p.QueueChanges {
		t.changes = p.QueueChanges
		t.siblings.forget()
	}
	t.followAll(p)
}

// fillKind starts tasks that compete for kind k.
func (t *tree) fillKind(p *sched.Plan, k sched.ResourceKind) {
	for s := t.waiting(k, true); t.room(p, k); { // else the way down would be gone in vain
		st := t.next(p, s)
		if st == nil {
			break
		}
		if !t.Place(p, st) {
			t.skip(st)
		}
	}
}

// room reports whether any stage that competes for kind k may have room.
func (t *tree) room(p *sched.Plan, k sched.ResourceKind) bool {
	if t.siblings.kept == 0 {
		return t.index.First() != nil // looks at each queue
	}
	return t.any(p, k, 0) != nil
}

// next returns the stage whose turn it is; nil: none.
func (t *tree) next(p *sched.Plan, s sought) *sched.Stage {
	if t.siblings.kept > 0 {
		t.tell(p)
	}
	return t.descend(p, p.Queues[0], s)
}

// tell tells siblings what has been launched since they were told last.
func (t *tree) tell(p *sched.Plan) {
	acts := p.Actions()
	for i := t.told; i < len(acts); i++ {
		if a := &acts[i]; a.Kind == sched.Launch {
			t.siblings.changed(p.View, p.Attempt(a.Attempt).Stage.Job.Queue)
		}
	}
	t.told = len(acts)
}

// followAll brings what is kept of stages and queues up to date. The index tells of stages; those of jobs that have
// ended it passes over.
func (t *tree) followAll(p *sched.Plan) {
	t.crowd.begin(p)
	t.skipped = false
	t.told = len(p.Actions())
	if t.siblings.kept == 0 {
		return
	}
	for i := range p.Events {
		switch e := &p.Events[i]; e.Kind {
		case sched.AttemptDone:
			if a := p.Attempt(e.Attempt); a != nil {
				t.siblings.changed(p.View, a.Stage.Job.Queue)
			}
		case sched.JobEnded:
			if j := p.Job(e.Job); j != nil {
				t.siblings.changed(p.View, j.Queue)
			}
		}
	}
}

// descend returns the stage below q whose turn it is; nil: none. A child is looked into only if its turn would come
// before that of the best one so far.
func (t *tree) descend(p *sched.Plan, q *sched.Queue, s sought) (first *sched.Stage) {
	if q.ID != 0 || t.flat {
		if st := t.own(p, q, s); st != nil || t.flat {
			return st
		}
	}
	if line := t.siblings.line(t, q); line != nil {
		for c := line.first(t, s); c != nil; c = line.first(t, s) {
			if !s.room || s.of.full[c.ID] != s.pass {
				if st := t.descend(p, c, s); st != nil {
					return st
				}
			}
			line.setAside(s.lane, t.leaf != nil && !s.of.skipped && t.held(p, c, s))
		}
		return nil
	}
	var best *sched.Queue
	for _, id := range q.Children {
		c := p.Queues[id]
		if s.room && s.of.full[id] == s.pass || !t.wants(c, s) {
			continue
		}
		if best != nil && !before(t.turn(c, s.kind), t.turn(best, s.kind)) {
			continue
		}
		if st := t.descend(p, c, s); st != nil {
			first, best = st, c
		} else if s.room {
			s.of.full[id] = s.pass
		}
	}
	return first
}

// held reports whether, room or not, nothing below q may start before something there changes: its users are at their
// limits, or there is nothing.
func (t *tree) held(p *sched.Plan, q *sched.Queue, s sought) bool {
	s.room = false
	if t.own(p, q, s) != nil ||
		t.leads.whole != nil &&
			q.Count[sched.Master].Pending > 0 { // what masters may hold depends on other queues as well
		return false
	}
	if line := t.siblings.line(t, q); line != nil {
		return len(line.lanes[s.lane].entries)+len(line.lanes[s.lane].aside) == 0
	}
	for _, id := range q.Children {
		if c := p.Queues[id]; t.wants(c, s) && !t.held(p, c, s) {
			return false
		}
	}
	return true
}

// wants reports whether the way down may lead into a queue.
func (t *tree) wants(q *sched.Queue, s sought) bool {
	if q.User && (!t.users || t.leaf != nil) {
		return false
	}
	switch s.lane {
	case suspectMaps, suspectReduces:
		return int(q.ID) < len(t.marks) && t.marks[q.ID]>>s.lane&1 != 0
	case eitherSlots:
		return q.Count[sched.Map].Pending+q.Count[sched.Reduce].Pending > 0
	}
	return q.Demand[s.lane] > q.Used[s.lane]
}

// own returns the first stage among a queue's own jobs.
func (t *tree) own(p *sched.Plan, q *sched.Queue, s sought) *sched.Stage {
	if t.leaf != nil {
		return t.leaf(p, q, s)
	}
	st := s.of.at(groupOf(q.ID, s.kind), s.room)
	if t.leads.whole == nil || q.Count[sched.Master].Pending == 0 {
		return st
	}
	m := s.of.at(mastersOf(groupOf(q.ID, s.kind)), s.room)
	if m == nil || !t.leads.allow(p.View, q, m) || st != nil && !t.ahead(p.View, m, st) {
		return st
	}
	return m
}

// ahead reports whether a comes before b in a leaf.
func (t *tree) ahead(v *sched.View, a, b *sched.Stage) bool {
	ka, kb := t.rank(v, a, 1), t.rank(v, b, 1)
	return before(ka, kb) || !before(kb, ka) && earlier(a, b)
}

// at returns the first stage of a group, among those with room or among all; nil: none.
func (c *crowd) at(group int, room bool) *sched.Stage {
	if room {
		return c.index.FirstOf(group, 0)
	}
	return c.index.Head(group)
}

// Position tells a stage's place for explanations, which a master that is withheld has none: how many queues have their
// turn before its own as things stand, then its place among the jobs there. It costs the number of queues.
func (t *tree) Position(v *sched.View, st *sched.Stage) (sched.Key, bool) {
	if _, ok := t.index.Position(st); !ok {
		return sched.Key{}, false
	}
	if t.Withheld(v, st) != "" {
		return sched.Key{}, false
	}
	key := t.rank(v, st, 1)
	if !t.flat {
		leaf, k := v.Queues[st.Job.Queue], kindOf(st)
		if !t.users || t.leaf != nil {
			leaf = v.Queues[leaf.Parent]
		}
		for q := leaf; q.ID != 0; q = v.Queues[q.Parent] {
			for _, id := range v.Queues[q.Parent].Children {
				if c := v.Queues[id]; c != q && t.wants(c, sought{lane: lane(k)}) && t.comesFirst(c, q, k) {
					key.Class += t.leaves(v, c, k)
				}
			}
		}
	}
	return key, true
}

// Withheld says in words why a master may not start, which has no place while its queue has all that masters may hold;
// "": it may.
func (t *tree) Withheld(v *sched.View, st *sched.Stage) string {
	if !t.leads.limit(st) {
		return ""
	}
	q := v.Queues[t.queueOf(v, st.Job)]
	if t.leaf != nil && q.User {
		q = v.Queues[q.Parent] // what bounds a user is the leaf's
	}
	if t.leads.allow(v, q, st) {
		return ""
	}
	return t.leads.refusal(v, q, st)
}

// comesFirst reports whether it is the turn of a before that of its sibling b; of equals the older one is first.
func (t *tree) comesFirst(a, b *sched.Queue, k sched.ResourceKind) bool {
	ka, kb := t.turn(a, k), t.turn(b, k)
	return before(ka, kb) || !before(kb, ka) && a.ID < b.ID
}

// leaves returns how many queues with jobs that want kind k are in q, itself included.
func (t *tree) leaves(v *sched.View, q *sched.Queue, k sched.ResourceKind) (n int32) {
	n = 1
	for _, id := range q.Children {
		if c := v.Queues[id]; t.wants(c, sought{lane: lane(k)}) {
			n += t.leaves(v, c, k)
		}
	}
	return n
}
