package policy

import (
	"math/bits"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/sched"
)

// A tree serves stages queue by queue. From the root it descends to the child that is first in the order of its
// siblings, and in a leaf it takes the first job.
//
// Tasks that need different kinds of slots do not compete, so each kind is shared on its own: memory among the stages
// that need memory, map slots among maps, reduce slots among reduces. Hadoop 1 and Hadoop 2 do the same.
//
// A decision costs O(log n) for n siblings on each level on the way down, whatever the number of jobs.
type tree struct {
	DelayPlacer
	Total sched.Resources // the capacity for which dominant shares are computed

	rank Ranking                                              // of the jobs of a leaf
	turn func(q *sched.Queue, k sched.ResourceKind) sched.Key // the key of a queue among its siblings
	// leaf returns the stage of q that is served next; nil: the first by rank
	leaf    func(p *sched.Plan, q *sched.Queue, s sought) *sched.Stage
	admit   func(*sched.Stage) bool // whether a waiting stage may start a task; nil: each may
	hear    func(*sched.Stage)      // called for each waiting stage that has changed; nil: no call
	users   bool                    // each user of a queue is a child of it; else they are not told apart
	flat    bool                    // all jobs are in one queue, the root, whatever has been configured
	masters masterLimit             // how much of a queue masters may hold

	orders   queueOrders // the policies that queues have for their jobs
	view     *sched.View
	waits    candidates
	lanes    uint32    // a bit for each lane in use
	more     []ownLane // lanes beyond those of the kinds of resources
	passes   uint64    // how many passes there were so far
	siblings siblings
}

// An ownLane is a lane that a policy adds. It has the queues for which wants is true, in the order of turn for kind.
type ownLane struct {
	kind  sched.ResourceKind
	wants func(*sched.Queue) bool
}

// addLane adds a lane, and returns its number. The lane is kept in order only after a call of use.
func (t *tree) addLane(l ownLane) lane {
	t.more = append(t.more, l)
	return lane(sched.NumResources + len(t.more) - 1)
}

// use keeps a lane in order from now on.
func (t *tree) use(in lane) { t.lanes |= 1 << in }

// init prepares the tree. rank orders the jobs of a leaf.
func (t *tree) init(a Args, rank Ranking) {
	t.DelayPlacer, t.rank = NewDelayPlacer(a), rank
	t.siblings = siblings{few: fewSiblings, wants: t.wants, users: t.leaf == nil,
		turn: func(q *sched.Queue, in lane) sched.Key { return t.turn(q, t.kindIn(in)) }}
	t.waits.init(t.group, func(v *sched.View, st *sched.Stage) (sched.Key, bool) {
		t.siblings.changed(v, st.Job.Queue)
		if !t.mayStart(st) {
			return sched.Key{}, false
		}
		if t.hear != nil {
			t.hear(st)
		}
		return rank(v, st, 1), true
	}, t.mayStart)
}

// mayStart reports whether a task of st waits, and the policy lets it start.
func (t *tree) mayStart(st *sched.Stage) bool {
	return st.Pending > 0 && (t.admit == nil || t.admit(st))
}

// kindIn returns the kind of resource by which queues are ordered in a lane.
func (t *tree) kindIn(in lane) sched.ResourceKind {
	if in < sched.NumResources {
		return sched.ResourceKind(in)
	}
	return t.more[in-sched.NumResources].kind
}

// waiting returns a new search for stages that wait and compete for kind k; with room, only for those with room.
func (t *tree) waiting(k sched.ResourceKind, room bool) sought {
	return t.seek(sought{of: &t.waits, kind: k, lane: lane(k), room: room})
}

// seek returns search s with a pass of its own: what earlier searches noted of full queues does not hold for it.
func (t *tree) seek(s sought) sought {
	t.passes++
	s.pass = t.passes
	return s
}

// group returns the group of st in the order of waiting stages: by queue, kind of resource, and whether it is a master
// with a limit.
func (t *tree) group(st *sched.Stage) int {
	k := kindOf(st)
	t.lanes |= 1 << k
	group := groupOf(t.queueOf(t.view, st.Job), k)
	if t.masters.bounds(st) {
		return mastersOf(group)
	}
	return group
}

// queueOf returns the queue of a job: its user's if users are told apart, else its leaf.
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

// begin brings the tree up to date for a decision.
func (t *tree) begin(p *sched.Plan) {
	t.view = p.View
	anew := t.Total != p.Capacity
	if anew {
		t.Total = p.Capacity
		t.siblings.forget() // minimum shares and guarantees may be parts of the capacity
	}
	if s := &t.siblings; s.changes != p.QueueChanges {
		s.forget()
		s.changes = p.QueueChanges
		t.orders.list = nil
	}
	if t.orders.list == nil {
		t.orders.read(p.View, t.by)
		if t.byQueue = nil; t.orders.differ {
			t.byQueue = t.nearnessOf
		}
	}
	if anew {
		t.orders.touch(p)
	}
	t.followAll(p)
}

// nearnessOf returns how long st waits for nodes near its input, by its queue's configuration.
func (t *tree) nearnessOf(st *sched.Stage) *nearness {
	if own := t.orders.of(t.view.Queues[st.Job.Queue].Parent); own != nil {
		return &own.near
	}
	return &t.by
}

// fillKind starts tasks that compete for kind k.
func (t *tree) fillKind(p *sched.Plan, k sched.ResourceKind) {
	s := t.waiting(k, true)
	for st := t.first(p, s); st != nil; st = t.first(p, s) {
		if !startIn(t, p, st) {
			t.waits.skip(st)
		}
	}
}

// first is next for a search with room. It walks down the tree only if there may be room, and if the stages that wait
// are of several queues.
func (t *tree) first(p *sched.Plan, s sought) *sched.Stage {
	if t.siblings.kept > 0 || t.siblings.inLeaf {
		if t.waits.any(p, s.kind, 0) == nil {
			return nil
		}
		return t.next(p, s)
	}
	st := t.waits.index.First() // looks at each queue
	if st == nil || t.leaf == nil && t.waits.only(t.queueOf(p.View, st.Job), s) {
		return st // as a walk would, because only its queue has stages that wait
	}
	return t.next(p, s)
}

// startIn starts a task of st, whose turn it is in tree t, or as many as there is room for if no other stage waits. It
// reports whether it started any.
func startIn(t *tree, p *sched.Plan, st *sched.Stage) bool {
	if t.leaf == nil && t.admit == nil && !t.near(st) && !t.masters.bounds(st) && t.waits.index.Alone(st) {
		return p.LaunchMany(st, st.Pending) > 0
	}
	return t.Place(p, st)
}

// next returns the stage of search s that is served next; nil: there is none.
func (t *tree) next(p *sched.Plan, s sought) *sched.Stage {
	if t.siblings.kept > 0 {
		t.tell(p)
	}
	return t.descend(p, p.Queues[0], s)
}

// tell tells siblings of the launches since its last call.
func (t *tree) tell(p *sched.Plan) {
	acts := p.Actions()
	for i := t.siblings.told; i < len(acts); i++ {
		if a := &acts[i]; a.Kind == sched.Launch {
			t.siblings.changed(p.View, p.Attempt(a.Attempt).Stage.Job.Queue)
		}
	}
	t.siblings.told = len(acts)
}

// followAll brings the orders of stages and queues up to date. The index of stages follows the core's log; the queues
// of jobs and attempts that have ended are noted here, because the index passes over ended jobs.
func (t *tree) followAll(p *sched.Plan) {
	t.waits.begin(p)
	t.waits.skipped = false
	t.siblings.told = len(p.Actions())
	if t.siblings.kept == 0 && t.siblings.also == nil {
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
		case sched.SpecChanged:
			if e.Job != 0 { // it may have left a queue, and that is not in the log
				t.siblings.forget()
			}
		}
	}
}

// descend returns the first stage of search s below q; nil: there is none. It searches a child only if the child comes
// before the best child so far.
func (t *tree) descend(p *sched.Plan, q *sched.Queue, s sought) (first *sched.Stage) {
	if q.ID != 0 || t.flat {
		if st := t.own(p, q, s); st != nil || t.flat {
			return st
		}
	}
	if line := t.siblings.line(t.view, q, t.lanes); line != nil {
		for c := line.first(t.view, s.lane, s.pass); c != nil; c = line.first(t.view, s.lane, s.pass) {
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
		if s.room && s.of.full[id] == s.pass || !t.wants(c, s.lane) {
			continue
		}
		if best != nil && !t.turn(c, s.kind).Before(t.turn(best, s.kind)) {
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

// held reports whether no stage below q may start, whatever room there is, until something below q changes: nothing
// waits there, or its users are at their limits.
func (t *tree) held(p *sched.Plan, q *sched.Queue, s sought) bool {
	s.room = false
	if t.own(p, q, s) != nil ||
		t.masters.whole != nil &&
			q.Count[sched.Master].Pending > 0 { // what masters may hold depends on other queues as well
		return false
	}
	if line := t.siblings.line(t.view, q, t.lanes); line != nil {
		return len(line.lanes[s.lane].Indexed)+len(line.lanes[s.lane].aside) == 0
	}
	for _, id := range q.Children {
		if c := p.Queues[id]; t.wants(c, s.lane) && !t.held(p, c, s) {
			return false
		}
	}
	return true
}

// wants reports whether queue q is searched in a lane.
func (t *tree) wants(q *sched.Queue, in lane) bool {
	if q.User && (!t.users || t.leaf != nil) {
		return false
	}
	if in < sched.NumResources {
		return q.Demand[in] > q.Used[in]
	}
	return t.more[in-sched.NumResources].wants(q)
}

// own returns the first stage of search s among the own jobs of queue q.
func (t *tree) own(p *sched.Plan, q *sched.Queue, s sought) *sched.Stage {
	if t.leaf != nil {
		return t.leaf(p, q, s)
	}
	st := s.of.at(groupOf(q.ID, s.kind), s.room)
	if t.masters.whole == nil || q.Count[sched.Master].Pending == 0 {
		return st
	}
	m := s.of.at(mastersOf(groupOf(q.ID, s.kind)), s.room)
	if m == nil || !t.masters.allow(p.View, q, m) || st != nil && !t.ahead(p.View, m, st) {
		return st
	}
	return m
}

// ahead reports whether a comes before b in a leaf.
func (t *tree) ahead(v *sched.View, a, b *sched.Stage) bool {
	ka, kb := t.rank(v, a, 1), t.rank(v, b, 1)
	return ka.Before(kb) || !kb.Before(ka) && earlier(a.ID, b.ID)
}

// Position returns the key of stage st for explanations; false: it has no place, as a master that is withheld. It is
// the key among the jobs of the stage's queue, with the number of queues that come before the queue now added to its
// class. O(queues).
func (t *tree) Position(v *sched.View, st *sched.Stage) (sched.Key, bool) {
	if _, ok := t.waits.index.Position(st); !ok {
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
				if c := v.Queues[id]; c != q && t.wants(c, lane(k)) && t.comesFirst(c, q, k) {
					key.Class += wanting(t, v, c, k)
				}
			}
		}
	}
	return key, true
}

// inQueue splits key k of stage st, as Position returns it, into the key among the jobs of the queue, and words that
// say how many queues come before.
func inQueue(t *tree, v *sched.View, st *sched.Stage, k sched.Key) (own sched.Key, queues string) {
	own = k
	own.Class = t.rank(v, st, 1).Class
	if n := k.Class - own.Class; n > 0 {
		queues = spelling.Count(n, "queue comes", "queues come") + " first, "
	}
	return own, queues
}

// Withheld returns in words why master st may not start, because masters hold all that they may of its queue; "": it
// may.
func (t *tree) Withheld(v *sched.View, st *sched.Stage) string {
	if !t.masters.bounds(st) {
		return ""
	}
	q := v.Queues[t.queueOf(v, st.Job)]
	if t.leaf != nil && q.User {
		q = v.Queues[q.Parent] // what bounds a user is the leaf's
	}
	if t.masters.allow(v, q, st) {
		return ""
	}
	return t.masters.refusal(v, q, st)
}

// comesFirst reports whether queue a comes before its sibling b for kind k; of equals the older queue comes first.
func (t *tree) comesFirst(a, b *sched.Queue, k sched.ResourceKind) bool {
	ka, kb := t.turn(a, k), t.turn(b, k)
	return ka.Before(kb) || !kb.Before(ka) && a.ID < b.ID
}

// wanting returns how many queues want kind k: q itself and those below it.
func wanting(t *tree, v *sched.View, q *sched.Queue, k sched.ResourceKind) (n int32) {
	n = 1
	for _, id := range q.Children {
		if c := v.Queues[id]; t.wants(c, lane(k)) {
			n += wanting(t, v, c, k)
		}
	}
	return n
}

// dominant returns the key of q among its siblings under DominantResourceFairnessPolicy: queues below their minimum
// share come first, and shares are dominant shares of capacity.
func dominant(q *sched.Queue, capacity sched.Resources) sched.Key {
	used, least := q.Used.DominantShare(capacity), q.Min.DominantShare(capacity)
	if used < least {
		return sched.Key{Class: -1, Value: used / least}
	}
	return sched.Key{Value: used / q.Weight()}
}
