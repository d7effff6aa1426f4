package policy

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/sched"
)

// slotQueues is the order in which DynamicMR serves stages: queue by queue, by how many of their tasks run, or all jobs
// as one queue. It finds the stage that is served next among those that wait for slots of their own kind, or for lent
// slots of the other kind.
type slotQueues struct {
	Tree  tree
	Sizes sizes // set if jobs are served by size

	lending *lender
	bySize  bool
	pooled  bool // PD-DHSA: maps and reduces count together
	either  lane // of the queues in which tasks wait for slots of either kind
	lent    bool // the search in progress is for tasks that would run on lent slots
}

// Values of fields and parameters named lent: tasks run on slots of their own kind, or on lent slots of the other kind.
const ownSlots, lentSlots = false, true

// A slotsSought is a search for tasks, to run on slots of their own kind or on lent ones.
type slotsSought struct {
	sought
	lent bool
}

// init reads the parameters. The value must not be copied afterwards. hear is called for each waiting stage that has
// changed.
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

// within orders the jobs of a queue: by how many of their tasks run for their weight, by priority and age, or by their
// remaining size.
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

// inWords returns in words how many queues come before that of st, and what decides within the queue.
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

// turn returns the key of queue c among its siblings: queues with less than their minimum share come first, the others
// by how many tasks run for their weight. Under PD-DHSA maps and reduces count together.
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
		used, demand = int64(n.Running), int64(n.Running)+n.Pending
	}
	if used < min(least, demand) {
		return sched.Key{Class: -1, Value: float64(used) / float64(max(least, 1))}
	}
	return sched.Key{Value: float64(used) / c.Weight()}
}

// queueOf returns the queue of a job.
func (q *slotQueues) queueOf(p *sched.Plan, j *sched.Job) sched.QueueID {
	return q.Tree.queueOf(p.View, j)
}

// waitsFor returns a new search for stages that compete for kind k, to run on their own slots or on lent ones. Stages
// that were skipped are included again.
func (q *slotQueues) waitsFor(p *sched.Plan, k sched.ResourceKind, lent bool) slotsSought {
	q.Tree.waits.begin(p)
	return slotsSought{q.Tree.waiting(k, true), lent}
}

// skip excludes a waiting stage until the next call of waitsFor.
func (q *slotQueues) skip(st *sched.Stage) { q.Tree.waits.skip(st) }

// choose returns the first stage of search s; nil: there is none.
func (q *slotQueues) choose(p *sched.Plan, s slotsSought) *sched.Stage {
	if q.Tree.siblings.kept > 0 && !q.anyFits(p, s) {
		return nil // the tree would be searched in vain
	}
	q.lent = s.lent
	return q.Tree.next(p, s.sought)
}

// anyFits reports whether there may be room for some stage of search s, in whatever queue.
func (q *slotQueues) anyFits(p *sched.Plan, s slotsSought) bool {
	if s.lane == q.either {
		return q.ofEither(s, func(s slotsSought) *sched.Stage { return q.anyOf(p, s) }) != nil
	}
	return q.anyOf(p, s) != nil
}

// anyOf returns a stage of search s, for one kind, for which there is room; nil: there is none.
func (q *slotQueues) anyOf(p *sched.Plan, s slotsSought) *sched.Stage {
	if !s.lent {
		return s.of.any(p, s.kind, 0)
	}
	if head := s.of.head(p, s.kind); head != nil {
		return s.of.any(p, s.kind, q.lending.shape(p, head))
	}
	return nil
}

// pick returns the first stage of search s among the own jobs of queue c.
func (q *slotQueues) pick(p *sched.Plan, c *sched.Queue, s sought) *sched.Stage {
	of := slotsSought{s, q.lent}
	if s.lane == q.either {
		return q.ofEither(of, func(s slotsSought) *sched.Stage { return q.first(p, groupOf(c.ID, s.kind), s) })
	}
	return q.first(p, groupOf(c.ID, s.kind), of)
}

// ofEither calls find for maps and for reduces on their own slots, then for both on slots of the other kind that may be
// lent, and returns the first stage found.
func (q *slotQueues) ofEither(s slotsSought, find func(slotsSought) *sched.Stage) *sched.Stage {
	for _, s.lent = range [2]bool{ownSlots, lentSlots} {
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

// first returns the first stage of search s in a group.
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

// fillOthers starts tasks that do not compete for slots.
func (q *slotQueues) fillOthers(p *sched.Plan) {
	for k := range sched.ResourceKind(sched.NumResources) {
		if q.Tree.has(k) && !isSlots(k) {
			q.Tree.fillKind(p, k)
		}
	}
}
