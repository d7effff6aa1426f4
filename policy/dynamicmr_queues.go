package policy

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/sched"
)

// slotQueues is the order beneath DynamicMR: the queues and their jobs, by what runs of them, or all jobs as one queue.
// It finds the stage whose turn it is among those that wait for slots of their own kind, or of the other one.
type slotQueues struct {
	Tree  tree
	Sizes sizes // known where jobs are served by size

	lending *lender
	bySize  bool
	pooled  bool // PD-DHSA: maps and reduces together
	either  lane // queues in which something waits for slots of one kind or the other
	lent    bool // whether the way down looks for tasks that would be away from their own slots
}

// A slotsSought is what is looked for: tasks for slots of their own kind, or lent ones.
type slotsSought struct {
	sought
	lent bool
}

// init reads the parameters. The value must not be copied after that. hear is told of each waiting stage that changed.
func (q *slotQueues) init(a Args, lending *lender, hear func(*sched.Stage)) {
	base := a.Choice("base")
	q.lending, q.bySize, q.pooled = lending, base == "srpt", a.Choice("dhsa") == "pd"
	q.Sizes = newSizes(a)
	q.Tree.flat = base != "fair"
	q.Tree.turn, q.Tree.leaf, q.Tree.hear = q.turn, q.pick, hear
	q.Tree.init(a, q.within)
	q.either = q.Tree.addLane(ownLane{sched.MapSlots, func(c *sched.Queue) bool {
		return c.Count[sched.Map].Pending+c.Count[sched.Reduce].Pending > 0
	}})
	if q.pooled {
		q.Tree.use(q.either)
	}
}

// running returns how many attempts of stages that compete for slots of kind k run.
func running(j *sched.Job, k sched.ResourceKind) (n int32) {
	for _, st := range j.Stages {
		if kindOf(st) == k {
			n += st.Running
		}
	}
	return n
}

// within orders the jobs of a queue: by how much of them runs for their weight, by priority and age, or by what is left
// of them.
func (q *slotQueues) within(v *sched.View, st *sched.Stage, more int32) sched.Key {
	j, k := st.Job, kindOf(st)
	switch {
	case q.bySize:
		return q.Sizes.byRemaining(st, st.Running+more)
	case q.Tree.flat || q.Tree.orders.name(v.Queues[j.Queue].Parent) == "fifo":
		return urgency(v, st, more)
	case !isSlots(k):
		return sched.Key{Value: float64(j.Used[k]) / j.Weight}
	case q.pooled:
		return sched.Key{Value: float64(running(j, sched.MapSlots)+running(j, sched.ReduceSlots)) / j.Weight}
	}
	return sched.Key{Value: float64(running(j, k)) / j.Weight}
}

// inWords says whose turn comes first, and what decides in the queue of st.
func (q *slotQueues) inWords(v *sched.View, st *sched.Stage, k sched.Key) string {
	k, queues := inQueue(&q.Tree, v, st, k)
	switch {
	case q.bySize:
		return queues + sizedInWords(k, func(left float64) string { return "remaining size " + work(left) })
	case q.Tree.flat || q.Tree.orders.name(v.Queues[st.Job.Queue].Parent) == "fifo":
		return queues + urgencyInWords(k)
	case q.pooled && isSlots(kindOf(st)):
		return queues + fmt.Sprintf("it holds %.6g slots for its weight", k.Value)
	}
	return queues + holdsInWords(kindOf(st), k)
}

// turn returns the place of queue c among its siblings: those that have less than their minimum share first, the others
// by what runs of them for their weight. Under PD-DHSA maps and reduces count together.
func (q *slotQueues) turn(c *sched.Queue, k sched.ResourceKind) sched.Key {
	used, demand, least := c.Used[k], c.Demand[k], c.Min[k]
	if isSlots(k) {
		maps, reduces := c.Count[sched.Map], c.Count[sched.Reduce]
		counts := [2]sched.Count{maps, reduces}
		n := counts[sideOfSlots(k)]
		if q.pooled {
			n = sched.Count{Pending: maps.Pending + reduces.Pending, Running: maps.Running + reduces.Running}
			least = c.Min[sched.MapSlots] + c.Min[sched.ReduceSlots]
		}
		used, demand = int64(n.Running), int64(n.Running+n.Pending)
	}
	if used < min(least, demand) {
		return sched.Key{Class: -1, Value: float64(used) / float64(max(least, 1))}
	}
	return sched.Key{Value: float64(used) / c.Weight()}
}

// queueOf returns the queue that a job is in.
func (q *slotQueues) queueOf(p *sched.Plan, j *sched.Job) sched.QueueID {
	return q.Tree.queueOf(p.View, j)
}

// waitsFor returns what waits of kind k, for slots of its own or lent ones, with every stage in its place again.
func (q *slotQueues) waitsFor(p *sched.Plan, k sched.ResourceKind, lent bool) slotsSought {
	q.Tree.waits.begin(p)
	return slotsSought{q.Tree.waiting(k, true), lent}
}

// skip passes a stage that waits over until the next call of waitsFor.
func (q *slotQueues) skip(st *sched.Stage) { q.Tree.waits.skip(st) }

// choose returns the stage whose turn it is of those sought; nil: none.
func (q *slotQueues) choose(p *sched.Plan, s slotsSought) *sched.Stage {
	if q.Tree.siblings.kept > 0 && !q.anyFits(p, s) {
		return nil // the way down would be gone in vain
	}
	q.lent = s.lent
	return q.Tree.next(p, s.sought)
}

// anyFits reports whether any stage sought may have room, in whatever queue.
func (q *slotQueues) anyFits(p *sched.Plan, s slotsSought) bool {
	if s.lane == q.either {
		return q.ofEither(s, func(s slotsSought) *sched.Stage { return q.anyOf(p, s) }) != nil
	}
	return q.anyOf(p, s) != nil
}

// anyOf returns a stage of one kind, of those sought, that has room; nil: none.
func (q *slotQueues) anyOf(p *sched.Plan, s slotsSought) *sched.Stage {
	if !s.lent {
		return s.of.any(p, s.kind, 0)
	}
	if head := s.of.head(p, s.kind); head != nil {
		return s.of.any(p, s.kind, q.lending.shape(p, head))
	}
	return nil
}

// pick returns the stage among a queue's own jobs whose turn it is, of those sought.
func (q *slotQueues) pick(p *sched.Plan, c *sched.Queue, s sought) *sched.Stage {
	of := slotsSought{s, q.lent}
	if s.lane == q.either {
		return q.ofEither(of, func(s slotsSought) *sched.Stage { return q.first(p, groupOf(c.ID, s.kind), s) })
	}
	return q.first(p, groupOf(c.ID, s.kind), of)
}

// ofEither returns the first stage that is found of either kind: on slots of its own, or on those of the other that may
// be lent.
func (q *slotQueues) ofEither(s slotsSought, find func(slotsSought) *sched.Stage) *sched.Stage {
	for _, s.lent = range [2]bool{false, true} {
		for _, s.kind = range slotKinds {
			if s.lent && !q.lending.mayLend(otherSlots(s.kind)) &&
				(s.kind != sched.MapSlots || !q.lending.mayBorrow()) {
				continue
			}
			if st := find(s); st != nil {
				return st
			}
		}
	}
	return nil
}

// first returns the first stage of a group, of those sought.
func (q *slotQueues) first(p *sched.Plan, group int, s slotsSought) *sched.Stage {
	if !s.lent || !s.room {
		return s.of.at(group, s.room)
	}
	head := s.of.index.Head(group)
	if head == nil {
		return nil
	}
	return s.of.index.FirstOf(group, q.lending.shape(p, head)) // all maps ask for the same, and so do all reduces
}

// fillOthers starts tasks that compete for no slots.
func (q *slotQueues) fillOthers(p *sched.Plan) {
	for k := range sched.ResourceKind(sched.NumResources) {
		if q.Tree.has(k) && !isSlots(k) {
			q.Tree.fillKind(p, k)
		}
	}
}
