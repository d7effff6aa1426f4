package policy

import (
	"math"

	"github.com/sojourn-sched/sojourn/sched"
)

// sepb decides between tasks that wait and second attempts of stragglers (SEPB, algorithm 8). Stragglers are those
// that LATE finds, at each look. A second attempt takes its job's turn, but not while a task waits that might use the
// slot, of that job or of those that come next.
type sepb struct {
	Late stragglers
	// by stage: stragglers without a second attempt at the last look, the one with most time left first
	Slow   sched.Per[[]sched.AttemptID]
	Stages []sched.StageID // those with stragglers
	Nodes  []bool          // by NodeID-1: slow at the last look
	Order  jobOrder        // of all jobs at the last look

	queues   *slotQueues
	lending  *lender
	on       bool
	suspects candidates // stages with stragglers
	marked   bool       // the queues that they are in are marked
	marks    []uint8    // by queue: kinds of slots on which stages of it have stragglers, by bit
	lanes    [2]lane    // of these queues, by kind of slots
}

// init reads the parameters. The value must not be copied after that.
func (s *sepb) init(a Args, queues *slotQueues, lending *lender) {
	s.queues, s.lending, s.on = queues, lending, a.Choice("sepb") != "off"
	s.Order.queues, s.Order.lending = queues, lending
	s.Order.perQueue, s.Order.checked = a.Choice("sepb") == "queue", a.Number("checked")
	s.Late.set(a)
	s.suspects.init(queues.Tree.group, func(v *sched.View, st *sched.Stage) (sched.Key, bool) {
		return queues.within(v, st, 1), s.suspected(st)
	}, s.suspected)
	for i, k := range slotKinds {
		s.lanes[i] = queues.Tree.addLane(ownLane{k, func(q *sched.Queue) bool {
			return int(q.ID) < len(s.marks) && s.marks[q.ID]>>i&1 != 0
		}})
	}
}

// learn follows the attempts that ended, and reports whether it is time to look for stragglers.
func (s *sepb) learn(p *sched.Plan) bool {
	if !s.on {
		return false
	}
	s.Late.count(p)
	return s.Late.due(p, s.Late.check)
}

// suspected reports whether a stage has stragglers.
func (s *sepb) suspected(st *sched.Stage) bool {
	slow, ok := s.Slow.Has(st)
	return ok && len(*slow) > 0
}

// lookAround finds the stragglers there are now.
func (s *sepb) lookAround(p *sched.Plan) {
	for _, id := range s.Stages {
		if st := p.Stage(id); st != nil {
			*s.Slow.Of(st) = nil
			p.Touch(st)
		}
	}
	s.Stages = s.Stages[:0]
	for _, c := range s.Late.find(p, true) {
		st := c.attempt.Stage
		slow := s.Slow.Of(st)
		if len(*slow) == 0 {
			s.Stages = append(s.Stages, st.ID)
			p.Touch(st)
		}
		*slow = append(*slow, c.attempt.ID)
	}
	s.marked = false
	if len(s.Stages) == 0 {
		return
	}
	threshold := s.Late.scoreNodes(p)
	s.Nodes = s.Nodes[:0]
	for _, score := range s.Late.scores {
		s.Nodes = append(s.Nodes, score < threshold)
	}
	s.Order.arrange(p, s.Stages)
}

// overtakes starts a second attempt on a slot of kind k for a job that comes before the job of st, a stage that waits
// for such a slot. It does so only if no job that is checked has a task that waits. It reports whether it started one.
func (s *sepb) overtakes(p *sched.Plan, st *sched.Stage, k sched.ResourceKind) bool {
	o := &s.Order
	if len(s.Stages) == 0 || o.checked == 1 && !o.perQueue || s.Late.left(p) <= 0 {
		return false
	}
	l := &o.Lists[sideOfSlots(k)]
	mine, queue := l.turn(st.Job), s.queues.queueOf(p, st.Job)
	if mine == 0 || mine < l.Reach && !o.perQueue {
		return false
	}
	of := s.suspectsOf(p, k, false)
	for range mostLooks {
		b := s.queues.choose(p, of)
		if b == nil || !o.before(p, b, mine, queue) {
			return false // st is checked for b, and for those that come between them
		}
		if !o.tasksFirst(p, b, k) && s.startOne(p, b, b.Shape) {
			return true
		}
		s.suspects.skip(b)
	}
	return false
}

// suspectsOf returns a search for the stages with stragglers of kind k. Stages that an earlier search has skipped are
// in it again.
func (s *sepb) suspectsOf(p *sched.Plan, k sched.ResourceKind, lent bool) slotsSought {
	if !s.marked {
		s.mark(p)
	}
	s.suspects.begin(p)
	in := s.lanes[sideOfSlots(k)]
	return slotsSought{s.queues.Tree.seek(sought{of: &s.suspects, kind: k, lane: in, room: true}), lent}
}

// mark marks the queues that have stages with stragglers.
func (s *sepb) mark(p *sched.Plan) {
	s.marked = true
	t := &s.queues.Tree
	t.use(s.lanes[0])
	t.use(s.lanes[1])
	s.marks = append(s.marks[:0], make([]uint8, len(p.Queues))...)
	for _, id := range s.Stages {
		st := p.Stage(id)
		if st == nil || !isSlots(kindOf(st)) {
			continue
		}
		bit := uint8(1) << sideOfSlots(kindOf(st))
		for q := p.Queues[s.queues.queueOf(p, st.Job)]; q.ID != 0 && s.marks[q.ID]&bit == 0; q = p.Queues[q.Parent] {
			s.marks[q.ID] |= bit
		}
		t.siblings.changed(p.View, st.Job.Queue)
	}
}

// startOne starts a second attempt of a straggler of st, holding a shape, and reports whether it did: of the one with
// most time left, or of the next one that runs elsewhere if only the straggler's own node has room.
func (s *sepb) startOne(p *sched.Plan, st *sched.Stage, holds sched.ShapeID) bool {
	if s.slowest(p, st) == nil || s.Late.left(p) <= 0 {
		return false
	}
	var only sched.NodeID // the one node with room, on which all stragglers run that came before; zero: not known yet
	for _, id := range *s.Slow.Of(st) {
		a := s.straggler(p, st, id)
		if a == nil || a.Node == only {
			continue
		}
		for n := range p.FitsAs(st, 0, holds) {
			switch {
			case int(n.ID) <= len(s.Nodes) && s.Nodes[n.ID-1]:
			case n.ID == a.Node:
				only = n.ID
			case s.Late.second(p, a, n, holds):
				s.slowest(p, st)
				return true
			}
		}
		if only == 0 {
			return false
		}
	}
	return false
}

// slowest returns the first straggler of st that still is one; nil: none. It forgets those before it.
func (s *sepb) slowest(p *sched.Plan, st *sched.Stage) *sched.Attempt {
	slow := s.Slow.Of(st)
	for len(*slow) > 0 {
		if a := s.straggler(p, st, (*slow)[0]); a != nil {
			return a
		}
		if *slow = (*slow)[1:]; len(*slow) == 0 {
			p.Touch(st)
		}
	}
	return nil
}

// straggler returns an attempt that was a straggler of st at the last look; nil: it has ended, or has a second attempt.
func (s *sepb) straggler(p *sched.Plan, st *sched.Stage, id sched.AttemptID) *sched.Attempt {
	if a := p.Attempt(id); a != nil && a.Stage == st && a.State == sched.Running && p.Twins(a) == 1 {
		return a
	}
	return nil
}

// start starts second attempts on slots that are idle still: of their own kind first, then, as lending allows, of the
// other.
func (s *sepb) start(p *sched.Plan) {
	if len(s.Stages) == 0 || !s.lending.idle(p) || s.Late.left(p) <= 0 {
		return
	}
	s.queues.Tree.waits.begin(p) // tells what waits
	for _, lent := range [2]bool{ownSlots, lentSlots} {
		for _, k := range slotKinds {
			s.startOf(p, k, lent)
		}
	}
}

// startOf starts second attempts of tasks of kind k on own or lent slots.
func (s *sepb) startOf(p *sched.Plan, k sched.ResourceKind, lent bool) {
	limit := int64(math.MaxInt64) // what is idle of its own kind is limit enough
	if lent {
		limit = s.lending.away(p, k)
	}
	of := s.suspectsOf(p, k, lent)
	for looks := 0; limit > 0 && looks < mostLooks; looks++ {
		st := s.queues.choose(p, of)
		if st == nil {
			return
		}
		holds := st.Shape
		if lent {
			holds = s.lending.shape(p, st)
		}
		if s.Order.tasksFirst(p, st, k) || lent && !lendable(st, k) || !s.startOne(p, st, holds) {
			s.suspects.skip(st)
			continue
		}
		limit--
		looks = 0
	}
}
