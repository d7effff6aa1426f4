package sched

// A ledger books what attempts hold and what tasks ask for. It keeps the sums in the rows of nodes, classes, jobs and
// queues, the set of nodes with room for each shape, and the log of changed stages. A booking costs O(depth of the
// queue tree + shapes in use).
type ledger struct {
	view   *View
	kinds  []ResourceKind // that some node has had
	shapes shapes
	log    changeLog
	owed   owed
}

// A booking is a change of what a stage holds and of how many of its tasks wait.
type booking struct {
	shape *shape // taken or given back; nil: nothing is
	sign  int64  // how many times: taken if above zero, given back if below
	count Count
}

// book applies b to node n, to the job of st and to the queues up to the root. O(depth of the queue tree + shapes in
// use).
func (l *ledger) book(st *Stage, n *Node, b booking) {
	l.hold(n, b.shape, b.sign)
	l.charge(st, b)
}

// hold books shape s on node n and its class, as many times as times says; a negative times gives room back. O(shapes
// in use).
func (l *ledger) hold(n *Node, s *shape, times int64) {
	class := n.class
	for i := range s.parts {
		p := &s.parts[i]
		k, d := p.kind%NumResources, p.amount*times
		n.Used[k] += d
		class.Used[k] += d
	}
	l.shapes.note(n)
}

// charge applies b, which has a shape, to the job of st and to the queues up to the root, and logs the job as changed.
// O(depth of the queue tree).
func (l *ledger) charge(st *Stage, b booking) {
	j := st.Job
	if l.view.Now != j.since {
		l.accrue(&j.served, &j.Used, l.view.Now-j.since)
		j.since = l.view.Now
	}
	for i := range b.shape.parts {
		p := &b.shape.parts[i]
		j.Used[p.kind%NumResources] += p.amount * b.sign
	}
	l.climb(st, b)
	l.log.touchJob(j)
}

// begin charges what attempt a, which has just started, holds. The parameter pending is that of cluster.start.
func (l *ledger) begin(a *Attempt, pending int32) {
	l.charge(a.Stage, booking{l.shapes.at(a.Holds), 1, Count{Pending: int64(-pending), Running: 1, Away: a.away()}})
}

// An owed booking collects what attempts of one stage (nil: none) give back while they end one after another. The nodes
// know of it at once; settle tells the job and the queues.
type owed struct {
	stage *Stage
	booking
}

// owe charges b to st at the next settle, together with what else st owes.
func (l *ledger) owe(st *Stage, b booking) {
	o := &l.owed
	if o.stage != st || o.shape != b.shape {
		l.settle()
		*o = owed{st, b}
		return
	}
	o.sign += b.sign
	o.count.Running += b.count.Running
	o.count.Away += b.count.Away
}

// settle charges what is owed.
func (l *ledger) settle() {
	if st := l.owed.stage; st != nil {
		l.owed.stage = nil
		l.charge(st, l.owed.booking)
		l.log.touch(st) // touchJob passes over a stage without tasks that run or wait
	}
}

// climb applies b to the sums of the queues from the leaf of st up to the root: Used, Demand, Masters and Count. Their
// service is brought up to now before that. The caller changes the rows of the stage and the job, and logs the change.
// O(depth of the queue tree).
func (l *ledger) climb(st *Stage, b booking) {
	leaf := st.Job.leaf
	if leaf.since != l.view.Now { // else those above were brought up to now with it
		l.accrueUp(leaf)
	}
	// Demand is what is held, in the shape b.shape, and what waits, in the stage's own shape.
	if own, waits := l.shapes.at(st.Shape), b.count.Pending; b.shape == own || b.shape == nil {
		raise(leaf, own.parts, b.sign, b.sign+waits)
	} else {
		raise(leaf, b.shape.parts, b.sign, b.sign)
		raise(leaf, own.parts, 0, waits)
	}
	if st.Kind == Master && b.shape != nil {
		for _, p := range b.shape.parts {
			for q := leaf; q != nil; q = q.above {
				q.Masters[p.kind%NumResources] += p.amount * b.sign
			}
		}
	}
	for q, kind := leaf, st.Kind%NumKinds; q != nil; q = q.above {
		n := &q.Count[kind]
		n.Pending += b.count.Pending
		n.Running += b.count.Running
		n.Away += b.count.Away
	}
}

// raise adds parts, used times, to Queue.Used and, asked times, to Queue.Demand, from leaf up to the root.
func raise(leaf *Queue, parts []part, used, asked int64) {
	for i := range parts { // one short walk for each sum keeps it in registers
		p := &parts[i]
		k, used, asked := p.kind%NumResources, p.amount*used, p.amount*asked
		for q := leaf; q != nil; q = q.above {
			q.Used[k] += used
			q.Demand[k] += asked
		}
	}
}

// accrueUp brings the service of queue q, and of the queues above it, up to now.
func (l *ledger) accrueUp(q *Queue) {
	for now := l.view.Now; q != nil; q = q.above {
		l.accrue(&q.served, &q.Used, now-q.since)
		q.since = now
	}
}

// demand adds s, what a suspended attempt of st lacks, to the demand of its queues (sign 1), or takes it off (sign -1).
func (l *ledger) demand(st *Stage, s *shape, sign int64) {
	for q := st.Job.leaf; q != nil; q = q.above {
		for _, p := range s.parts {
			q.Demand[p.kind] += p.amount * sign
		}
	}
}

// accrue adds used, held for a time, to served.
func (l *ledger) accrue(served *Work, used *Resources, held Time) {
	seconds := float64(held) * 1e-9
	for i := range l.kinds {
		k := l.kinds[i] % NumResources
		served[k] += float64(used[k]) * seconds
	}
}

// leave notes that attempt a was asked to end (to is Leaving) or to suspend (Suspending).
func (l *ledger) leave(a *Attempt, to AttemptState) {
	l.stay(a)
	a.State = to
	l.leaving(a, 1)
}

// stay takes back what leave noted, if anything. The caller sets the new state of attempt a.
func (l *ledger) stay(a *Attempt) {
	if a.State == Leaving || a.State == Suspending {
		l.leaving(a, -1)
	}
}

// leaves returns what attempt a was asked to give back: all that it holds, or all but its memory.
func (l *ledger) leaves(a *Attempt) *shape {
	switch a.State {
	case Leaving:
		return l.shapes.at(a.Holds)
	case Suspending:
		amount := l.shapes.at(a.Holds).amount
		amount[Memory] = 0
		return l.shapes.at(l.shapes.intern(amount))
	}
	return l.shapes.list[0]
}

// leaving adds what attempt a was asked to give back to the sums of its node, its stage and its queues (sign 1), or
// takes it off (sign -1).
func (l *ledger) leaving(a *Attempt, sign int64) {
	s, n := l.leaves(a), l.view.Node(a.Node)
	for _, p := range s.parts {
		n.Leaving[p.kind] += p.amount * sign
	}
	a.Stage.Leaving += int32(sign)
	for q := a.Stage.Job.leaf; q != nil; q = q.above {
		for _, p := range s.parts {
			q.Leaving[p.kind] += p.amount * sign
		}
	}
}

// memoryOf returns the shape of the memory in amount.
func (l *ledger) memoryOf(amount Resources) ShapeID {
	return l.shapes.intern(Resources{Memory: amount[Memory]})
}

// missing returns what the suspended attempt a needs beside what it holds to run again.
func (l *ledger) missing(a *Attempt) *shape {
	lacks := l.shapes.at(a.wants).amount.Sub(l.shapes.at(a.Holds).amount)
	lacks[Memory] = max(0, lacks[Memory]) // it may hold more, while it shrinks
	return l.shapes.at(l.shapes.intern(lacks))
}

// shrinks reports whether attempt a was resized to less, and the engine has still to say that it has less. Of a
// suspended attempt that is less memory. An attempt that was asked to end gives back all that it holds.
func (l *ledger) shrinks(a *Attempt) bool {
	switch a.State {
	case Running, Suspending:
		return a.wants != a.Holds
	case Suspended:
		return l.shapes.at(a.wants).amount[Memory] != l.shapes.at(a.Holds).amount[Memory]
	}
	return false
}

// away returns how many running attempts of st hold another shape than the stage's. O(attempts of st).
func (l *ledger) away(st *Stage) (n int32) {
	for a := range l.view.Attempts(st) {
		n += a.away()
	}
	return n
}

// countJob changes the number of unfinished jobs by d in the queues of job j.
func (l *ledger) countJob(j *Job, d int32) {
	for q := j.leaf; q != nil; q = q.above {
		q.Jobs += d
	}
}

// carry adds all that job j holds and waits for to its queues (sign 1), or takes it off (sign -1).
func (l *ledger) carry(j *Job, sign int32) {
	l.countJob(j, sign)
	l.accrueUp(j.leaf)
	for q := j.leaf; q != nil; q = q.above {
		q.Used = q.Used.Add(j.Used.Times(int64(sign)))
		q.Demand = q.Demand.Add(j.Used.Times(int64(sign)))
		for _, st := range j.Stages {
			n := &q.Count[st.Kind%NumKinds]
			n.Pending += int64(sign * st.Pending)
			n.Running += sign * st.Running
			n.Away += sign * l.away(st)
			q.Demand = q.Demand.Add(l.shapes.at(st.Shape).amount.Times(int64(sign * st.Pending)))
			for a := range l.view.Attempts(st) {
				if st.Kind == Master {
					q.Masters = q.Masters.Add(l.shapes.at(a.Holds).amount.Times(int64(sign)))
				}
				q.Leaving = q.Leaving.Add(l.leaves(a).amount.Times(int64(sign)))
				if a.parked {
					q.Demand = q.Demand.Add(l.missing(a).amount.Times(int64(sign)))
				}
			}
		}
	}
}
