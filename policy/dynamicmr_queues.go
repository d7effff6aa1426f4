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

// within orders the jobs of a queue: by how much of them runs for their weight, by priority and age, or by what is left of them.
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

// queueTurn is a queue's place among its siblings: those that have less than their minimum share first, the others by what runs of them for
// their weight; in PD-DHSA of maps and reduces together.
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

// pick returns the stage among a queue's own jobs whose turn it is, of those looked for.
func (d *dynamicmr) pick(p *sched.Plan, q *sched.Queue, k sched.ResourceKind, _ bool) *sched.Stage {
	if !d.search.either {
		return d.first(p, groupOf(q.ID, k))
	}
	if q.Count[sched.Map].Pending+q.Count[sched.Reduce].Pending == 0 && q.ID != 0 {
		return nil
	}
	for _, lent := range [2]bool{false, true} {
		d.search.lent = lent
		for _, k := range slotKinds {
			if lent && d.extra[sideOfSlots(otherSlots(k))] <= 0 && (k != sched.MapSlots || !d.mayBorrow()) {
				continue
			}
			if st := d.first(p, groupOf(q.ID, k)); st != nil {
				return st
			}
		}
	}
	return nil
}

// first returns the first stage of a group that has room, of those looked for.
func (d *dynamicmr) first(p *sched.Plan, group int) *sched.Stage {
	if !d.search.lent {
		return d.search.index.FirstOf(group, 0)
	}
	head := d.search.index.Head(group)
	if head == nil {
		return nil
	}
	return d.search.index.FirstOf(group, d.lentShape(p, head)) // all maps ask for the same, and so do all reduces
}

// serveQueues is PD-DHSA (algorithm 7): slot by slot the queue that has least of both kinds together serves itself, first with slots of the kind that
// its tasks need. When no queue finds a slot near its maps' input, a map takes any.
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
	d.pass++
	d.borrowLimits(p)
	for {
		d.index.Sync(p)
		d.search = search{index: &d.index, either: true}
		d.all = true
		st := d.next(p, sched.MapSlots)
		d.all = false
		if st == nil {
			return false
		}
		queue := d.queueOf(p.View, st.Job)
		d.search.either = false
		if d.serveQueue(p, queue) {
			return true
		}
		if d.flat {
			return false
		}
		d.full[queue] = d.pass
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
	d.index.Sync(p)
	d.search = search{index: &d.index, lent: lent}
	for range mostLooks {
		st := d.first(p, group)
		if st == nil {
			return false
		}
		if try(p, st) {
			return true
		}
		d.index.Skip(st)
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
		d.index.Sync(p)
		d.seek(&d.index, lent)
		for range mostLooks {
			st := d.next(p, sched.MapSlots)
			if st == nil {
				break
			}
			if lent && d.placeLent(p, st, sched.MapSlots) || !lent && d.placeOwn(p, st, sched.MapSlots) {
				return true
			}
			d.index.Skip(st)
		}
	}
	return false
}
