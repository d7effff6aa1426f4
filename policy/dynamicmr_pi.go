package policy

import "github.com/sojourn-sched/sojourn/sched"

// phaseServer is PI-DHSA (algorithm 6): each kind of tasks on its own slots, and then on what the other leaves.
type phaseServer struct{ slotPlacer }

// serve hands out the idle slots. A stage that waits for a node near its input begins to wait anew when a task of it
// was started away from its slots, so it is asked again.
func (s *phaseServer) serve(p *sched.Plan) {
	t := &s.queues.Tree
	for again := true; again; {
		for _, k := range slotKinds {
			s.serveOwn(p, k)
		}
		own := len(p.Actions())
		for _, k := range slotKinds {
			s.serveLent(p, k)
		}
		s.preschedule(p)
		again = len(p.Actions()) > own && t.by.waits()
	}
}

// serveOwn starts tasks of kind k on slots of their own.
func (s *phaseServer) serveOwn(p *sched.Plan, k sched.ResourceKind) {
	if !s.queues.Tree.has(k) {
		return
	}
	for of := s.queues.waitsFor(p, k, false); ; {
		st := s.queues.choose(p, of)
		switch {
		case st == nil:
			return
		case s.second.overtakes(p, st, k):
		case !s.placeOwn(p, st, k):
			s.queues.skip(st)
		}
	}
}

// serveLent starts tasks of kind k on slots of the other kind, as many as may be lent.
func (s *phaseServer) serveLent(p *sched.Plan, k sched.ResourceKind) {
	extra := &s.lending.extra[sideOfSlots(otherSlots(k))]
	if *extra <= 0 || !s.queues.Tree.has(k) {
		return
	}
	for of := s.queues.waitsFor(p, k, true); *extra > 0; {
		st := s.queues.choose(p, of)
		switch {
		case st == nil:
			return
		case s.placeLent(p, st, k):
			*extra--
		default:
			s.queues.skip(st)
		}
	}
}

// preschedule starts maps on reduce slots that lending leaves idle, on nodes with their input and no idle map slot
// (Slot PreScheduling, case 2).
func (s *phaseServer) preschedule(p *sched.Plan) {
	l := s.lending
	if !l.mayBorrow() || !s.queues.Tree.has(sched.MapSlots) || l.spare(p, sched.ReduceSlots) <= 0 {
		return
	}
	of := s.queues.waitsFor(p, sched.MapSlots, true)
	for range mostLooks {
		st := s.queues.choose(p, of)
		if st == nil || !l.mayBorrow() {
			return
		}
		if !s.borrow(p, st) {
			s.queues.skip(st)
		}
	}
}
