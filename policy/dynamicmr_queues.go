package policy

import "github.com/sojourn-sched/sojourn/sched"

// running returns how many attempts of stages that compete for slots of kind k run.
func running(j *sched.Job, k sched.ResourceKind) (n int32) {
	for _, st := range j.Stages {
		if kindOf(st) == k {
			n += st.Running
		}
	}
	return n
}

// isSlots reports whether k is one of the kinds of slots.
func isSlots(k sched.ResourceKind) bool { return k == sched.MapSlots || k == sched.ReduceSlots }

// within orders the jobs of a queue: by how much of them runs for their weight, by priority and age, or by what is left
// of them.
func (d *dynamicmr) within(v *sched.View, st *sched.Stage, more int32) sched.Key {
	j, k := st.Job, kindOf(st)
	switch {
	case d.bySize:
		return d.Sizes.byRemaining(st, st.Running+more)
	case d.flat || v.Queues[v.Queues[j.Queue].Parent].Spec.Policy == "fifo":
		return urgency(v, st, more)
	case !isSlots(k):
		return sched.Key{Value: float64(j.Used[k]) / j.Weight}
	case d.pooled:
		return sched.Key{Value: float64(running(j, sched.MapSlots)+running(j, sched.ReduceSlots)) / j.Weight}
	}
	return sched.Key{Value: float64(running(j, k)) / j.Weight}
}

// queueTurn is a queue's place among its siblings: those that have less than their minimum share first, the others by
// what runs of them for their weight; in PD-DHSA of maps and reduces together.
func (d *dynamicmr) queueTurn(q *sched.Queue, k sched.ResourceKind) sched.Key {
	used, demand, least := q.Used[k], q.Demand[k], q.Min[k]
	if isSlots(k) {
		maps, reduces := q.Count[sched.Map], q.Count[sched.Reduce]
		counts := [2]sched.Count{maps, reduces}
		c := counts[sideOfSlots(k)]
		if d.pooled {
			c = sched.Count{Pending: maps.Pending + reduces.Pending, Running: maps.Running + reduces.Running}
			least = q.Min[sched.MapSlots] + q.Min[sched.ReduceSlots]
		}
		used, demand = int64(c.Running), int64(c.Running+c.Pending)
	}
	if used < min(least, demand) {
		return sched.Key{Class: -1, Value: float64(used) / float64(max(least, 1))}
	}
	return sched.Key{Value: float64(used) / q.Weight()}
}

// choose returns the stage whose turn it is of those sought; nil: none.
func (d *dynamicmr) choose(p *sched.Plan, s sought) *sched.Stage {
	if d.siblings.kept > 0 && !d.anyFits(p, s) {
		return nil // the way down would be gone in vain
	}
	return d.next(p, s)
}

// anyFits reports whether any stage sought may have room, in whatever queue.
func (d *dynamicmr) anyFits(p *sched.Plan, s sought) bool {
	if s.lane == eitherSlots {
		return d.ofEither(p, s, func(s sought) *sched.Stage { return d.anyOf(p, s) }) != nil
	}
	return d.anyOf(p, s) != nil
}

// anyOf returns a stage of one kind, of those sought, that has room; nil: none.
func (d *dynamicmr) anyOf(p *sched.Plan, s sought) *sched.Stage {
	if !s.lent {
		return s.of.any(p, s.kind, 0)
	}
	if head := s.of.head(p, s.kind); head != nil {
		return s.of.any(p, s.kind, d.lentShape(p, head))
	}
	return nil
}

// pick returns the stage among a queue's own jobs whose turn it is, of those sought.
func (d *dynamicmr) pick(p *sched.Plan, q *sched.Queue, s sought) *sched.Stage {
	if s.lane == eitherSlots {
		return d.ofEither(p, s, func(s sought) *sched.Stage { return d.first(p, groupOf(q.ID, s.kind), s) })
	}
	return d.first(p, groupOf(q.ID, s.kind), s)
}

// ofEither returns the first stage that is found of either kind: on slots of its own, or on those of the other that may
// be lent.
func (d *dynamicmr) ofEither(p *sched.Plan, s sought, find func(sought) *sched.Stage) *sched.Stage {
	for _, s.lent = range [2]bool{false, true} {
		for _, s.kind = range slotKinds {
			if s.lent && d.extra[sideOfSlots(otherSlots(s.kind))] <= 0 && (s.kind != sched.MapSlots || !d.mayBorrow()) {
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
func (d *dynamicmr) first(p *sched.Plan, group int, s sought) *sched.Stage {
	if !s.lent || !s.room {
		return s.of.at(group, s.room)
	}
	head := s.of.index.Head(group)
	if head == nil {
		return nil
	}
	return s.of.index.FirstOf(group, d.lentShape(p, head)) // all maps ask for the same, and so do all reduces
}

// serveQueues is PD-DHSA (algorithm 7): slot by slot the queue that has least of both kinds together serves itself,
// first with slots of the kind that its tasks need. When no queue finds a slot near its maps' input, a map takes any.
func (d *dynamicmr) serveQueues(p *sched.Plan) {
	clear(d.visited)
	for d.idle(p) && (d.serveNeediest(p) || d.serveAnywhere(p)) {
	}
}

// borrowLimits has quotas alone say how much may be lent: a queue borrows for itself, whatever others need.
func (d *dynamicmr) borrowLimits(p *sched.Plan) {
	kinds := d.balance(p)
	for i := range slotKinds {
		d.extra[i] = max(0, d.quota(p, i)-kinds[1-i].Away)
	}
}

// serveNeediest starts one task of the first queue that can, and reports whether one could.
func (d *dynamicmr) serveNeediest(p *sched.Plan) bool {
	d.borrowLimits(p)
	for s := d.seek(sought{of: &d.crowd, kind: sched.MapSlots, lane: eitherSlots, room: true}); ; {
		d.crowd.begin(p)
		st := d.choose(p, s)
		if st == nil {
			return false
		}
		queue := d.queueOf(p.View, st.Job)
		if d.serveQueue(p, queue) {
			return true
		}
		if d.flat {
			return false
		}
		d.full[queue] = s.pass
	}
}

// serveQueue starts one task of a queue. The numbers are those of the algorithm.
func (d *dynamicmr) serveQueue(p *sched.Plan, queue sched.QueueID) bool {
	maps, reduces := groupOf(queue, sched.MapSlots), groupOf(queue, sched.ReduceSlots)
	if d.start(p, maps, false, d.nearOwn) || // (1), P1
		d.mayBorrow() && d.start(p, maps, true, d.borrow) || // P2
		d.start(p, reduces, false, d.anyOwn) { // (2)
		return true
	}
	if d.Owed > 0 && d.start(p, reduces, true, d.anyLent) { // P3
		d.Owed--
		return true
	}
	return d.start(p, maps, true, d.nearLent) || // (3)
		d.start(p, reduces, true, d.anyLent) // (4)
}

// start starts one task of the first stages of a group for which try can.
func (d *dynamicmr) start(p *sched.Plan, group int, lent bool, try func(*sched.Plan, *sched.Stage) bool) bool {
	d.crowd.begin(p)
	for range mostLooks {
		st := d.first(p, group, sought{of: &d.crowd, room: true, lent: lent})
		if st == nil {
			return false
		}
		if try(p, st) {
			return true
		}
		d.skip(st)
	}
	return false
}

// nearOwn starts a map on a map slot: near its input, or anywhere if it was looked at before in this Step.
func (d *dynamicmr) nearOwn(p *sched.Plan, st *sched.Stage) bool {
	if d.overtaken(p, st, sched.MapSlots) {
		return true
	}
	where := d.below(p, st, sched.MapSlots)
	if d.nearOrVisited(p, st, where) {
		d.passed(p, st, where)
		return true
	}
	return d.prescheduling && d.near(st) && where.Ok != nil && d.nearest(p, st, sched.NodeLocal, sched.Where{})
}

// nearLent is nearOwn on a reduce slot.
func (d *dynamicmr) nearLent(p *sched.Plan, st *sched.Stage) bool {
	if d.extra[1] <= 0 || !lendable(st, sched.MapSlots) {
		return false
	}
	where := d.below(p, st, sched.ReduceSlots)
	where.Shape = d.lentShape(p, st)
	return d.nearOrVisited(p, st, where)
}

func (d *dynamicmr) nearOrVisited(p *sched.Plan, st *sched.Stage, where sched.Where) bool {
	if !d.near(st) || d.visited[st.ID.Job] {
		return d.placeWhere(p, st, where)
	}
	d.visited[st.ID.Job] = true
	return d.nearest(p, st, sched.NodeLocal, where)
}

// anyOwn starts a reduce on a reduce slot.
func (d *dynamicmr) anyOwn(p *sched.Plan, st *sched.Stage) bool {
	return d.overtaken(p, st, sched.ReduceSlots) || d.placeOwn(p, st, sched.ReduceSlots)
}

// anyLent starts a reduce on a map slot.
func (d *dynamicmr) anyLent(p *sched.Plan, st *sched.Stage) bool {
	return d.extra[0] > 0 && d.placeLent(p, st, sched.ReduceSlots)
}

// serveAnywhere starts one map on any slot, wherever its input is (5), and reports whether it did.
func (d *dynamicmr) serveAnywhere(p *sched.Plan) bool {
	for _, lent := range [2]bool{false, true} {
		if lent && d.extra[1] <= 0 {
			return false
		}
		s := d.waitsFor(p, sched.MapSlots, lent)
		for range mostLooks {
			st := d.choose(p, s)
			if st == nil {
				break
			}
			if lent && d.placeLent(p, st, sched.MapSlots) || !lent && d.placeOwn(p, st, sched.MapSlots) {
				return true
			}
			d.skip(st)
		}
	}
	return false
}
