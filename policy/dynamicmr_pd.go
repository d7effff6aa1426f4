package policy

import "github.com/sojourn-sched/sojourn/sched"

// queueServer is PD-DHSA (algorithm 7): slot by slot the queue that has least of both kinds together serves itself,
// first with slots of the kind that its tasks need.
type queueServer struct {
	slotPlacer
	visited map[sched.JobID]bool // jobs whose maps were searched for one near its input in this Step
}

// serve hands out the idle slots. When no queue finds a slot near its maps' input, a map takes any; and what maps
// cannot use goes to reduces, although maps of their jobs wait.
func (s *queueServer) serve(p *sched.Plan) {
	clear(s.visited)
	for s.lending.idle(p) && (s.serveNeediest(p) || s.serveAnywhere(p) || s.lendToBlocked(p)) {
	}
}

// serveNeediest starts one task of the first queue that can, and reports whether one could.
func (s *queueServer) serveNeediest(p *sched.Plan) bool {
	s.lending.byQuotas(p)
	q, t := s.queues, &s.queues.Tree
	for of := t.seek(sought{of: &t.waits, kind: sched.MapSlots, lane: q.either, room: true}); ; {
		t.waits.begin(p)
		st := q.choose(p, slotsSought{sought: of})
		if st == nil {
			return false
		}
		queue := q.queueOf(p, st.Job)
		if s.serveQueue(p, queue) {
			return true
		}
		if t.flat {
			return false
		}
		t.waits.full[queue] = of.pass
	}
}

// serveQueue starts one task of a queue. The numbers are those of the algorithm.
func (s *queueServer) serveQueue(p *sched.Plan, queue sched.QueueID) bool {
	maps, reduces := groupOf(queue, sched.MapSlots), groupOf(queue, sched.ReduceSlots)
	if s.start(p, maps, ownSlots, s.nearOwn) || // (1), P1
		s.lending.mayBorrow() && s.start(p, maps, lentSlots, s.borrow) || // P2
		s.start(p, reduces, ownSlots, s.anyOwn) { // (2)
		return true
	}
	if s.lending.Owed > 0 && s.start(p, reduces, lentSlots, s.anyLent) { // P3
		s.lending.Owed--
		return true
	}
	return s.start(p, maps, lentSlots, s.nearLent) || // (3)
		s.start(p, reduces, lentSlots, s.anyLent) // (4)
}

// start starts one task of a group of stages, on own or lent slots: of the first stage for which try finds a slot.
func (s *queueServer) start(p *sched.Plan, group int, lent bool, try func(*sched.Plan, *sched.Stage) bool) bool {
	waits := &s.queues.Tree.waits
	waits.begin(p)
	for range mostLooks {
		st := s.queues.first(p, group, slotsSought{sought{of: waits, room: true}, lent})
		if st == nil {
			return false
		}
		if try(p, st) {
			return true
		}
		waits.skip(st)
	}
	return false
}

// nearOwn starts a map on a map slot: near its input, or anywhere if it was looked at before in this Step.
func (s *queueServer) nearOwn(p *sched.Plan, st *sched.Stage) bool {
	if s.second.overtakes(p, st, sched.MapSlots) {
		return true
	}
	where, t := s.lending.below(p, st, sched.MapSlots), &s.queues.Tree
	if s.nearOrVisited(p, st, where) {
		s.lending.passed(p, st, where)
		return true
	}
	return s.lending.prescheduling && t.near(st) && where.Ok != nil &&
		t.nearest(p, st, sched.NodeLocal, sched.Where{})
}

// nearLent is nearOwn on a reduce slot.
func (s *queueServer) nearLent(p *sched.Plan, st *sched.Stage) bool {
	if !s.lending.mayLend(sched.ReduceSlots) || !lendable(st, sched.MapSlots) {
		return false
	}
	where := s.lending.below(p, st, sched.ReduceSlots)
	where.Shape = s.lending.shape(p, st)
	return s.nearOrVisited(p, st, where)
}

// nearOrVisited starts a map of st on a slot near its input, or anywhere if it was looked at before in this Step.
func (s *queueServer) nearOrVisited(p *sched.Plan, st *sched.Stage, where sched.Where) bool {
	t := &s.queues.Tree
	if !t.near(st) || s.visited[st.ID.Job] {
		return t.placeWhere(p, st, where)
	}
	s.visited[st.ID.Job] = true
	return t.nearest(p, st, sched.NodeLocal, where)
}

// anyOwn starts a reduce on a reduce slot.
func (s *queueServer) anyOwn(p *sched.Plan, st *sched.Stage) bool {
	return s.second.overtakes(p, st, sched.ReduceSlots) || s.placeOwn(p, st, sched.ReduceSlots)
}

// anyLent starts a reduce on a map slot, if no map waits that the reduce needs: it would hold a slot that this map
// needs.
func (s *queueServer) anyLent(p *sched.Plan, st *sched.Stage) bool {
	return s.lending.mayLend(sched.MapSlots) && !isBlocked(st) && s.placeLent(p, st, sched.ReduceSlots)
}

// isBlocked reports whether tasks wait for room that must end before tasks of st can.
func isBlocked(st *sched.Stage) bool {
	for _, d := range st.Spec.After {
		if st.Job.Stages[d.Stage].Pending > 0 {
			return true
		}
	}
	return false
}

// lendToBlocked starts one reduce on a map slot although maps of its job wait, and reports whether it did. No map can
// use the slot (serveAnywhere).
func (s *queueServer) lendToBlocked(p *sched.Plan) bool {
	if !s.lending.mayLend(sched.MapSlots) {
		return false
	}
	of := s.queues.waitsFor(p, sched.ReduceSlots, true)
	for range mostLooks {
		st := s.queues.choose(p, of)
		if st == nil {
			return false
		}
		if s.placeLent(p, st, sched.ReduceSlots) {
			return true
		}
		s.queues.skip(st)
	}
	return false
}

// serveAnywhere starts one map on any slot, wherever its input is (5), and reports whether it did.
func (s *queueServer) serveAnywhere(p *sched.Plan) bool {
	for _, lent := range [2]bool{ownSlots, lentSlots} {
		if lent && !s.lending.mayLend(sched.ReduceSlots) {
			return false
		}
		of := s.queues.waitsFor(p, sched.MapSlots, lent)
		for range mostLooks {
			st := s.queues.choose(p, of)
			if st == nil {
				break
			}
			if lent && s.placeLent(p, st, sched.MapSlots) || !lent && s.placeOwn(p, st, sched.MapSlots) {
				return true
			}
			s.queues.skip(st)
		}
	}
	return false
}
