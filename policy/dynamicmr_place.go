package policy

import "github.com/sojourn-sched/sojourn/sched"

// A slotPlacer starts tasks on slots of their own kind and of the other one, as the balancing line and the delay allow.
type slotPlacer struct {
	queues  *slotQueues
	lending *lender
	second  *sepb
}

// placeOwn starts a task of st on a slot of its own kind k: near its input, if need be on a slot beyond the balancing
// line (Slot PreScheduling, case 1), else where the line and the delay allow it.
func (s *slotPlacer) placeOwn(p *sched.Plan, st *sched.Stage, k sched.ResourceKind) bool {
	where, t := s.lending.below(p, st, k), &s.queues.Tree
	if s.lending.prescheduling && st.Kind == sched.Map && t.near(st) && where.Ok != nil &&
		(t.nearest(p, st, sched.NodeLocal, where) || t.nearest(p, st, sched.NodeLocal, sched.Where{})) {
		return true
	}
	if !t.placeWhere(p, st, where) {
		return false
	}
	s.lending.passed(p, st, where)
	return true
}

// placeLent starts a task of st, of kind k, on a slot of the other kind.
func (s *slotPlacer) placeLent(p *sched.Plan, st *sched.Stage, k sched.ResourceKind) bool {
	if !lendable(st, k) {
		return false
	}
	where := s.lending.below(p, st, otherSlots(k))
	where.Shape = s.lending.shape(p, st)
	return s.queues.Tree.placeWhere(p, st, where)
}

// borrow starts a map on a reduce slot near its input.
func (s *slotPlacer) borrow(p *sched.Plan, st *sched.Stage) bool {
	t := &s.queues.Tree
	if !t.near(st) || !lendable(st, sched.MapSlots) {
		return false
	}
	where := sched.Where{Shape: s.lending.shape(p, st), Ok: fullOfMaps}
	if !t.nearest(p, st, sched.NodeLocal, where) {
		return false
	}
	acts := p.Actions()
	s.lending.lend(acts[len(acts)-1].Attempt)
	return true
}

// fullOfMaps reports whether node n has no idle map slot.
func fullOfMaps(n *sched.Node) bool { return n.Used[sched.MapSlots] >= n.Capacity[sched.MapSlots] }
