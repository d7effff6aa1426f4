package sched

import "slices"

// stagesOfLaunch is how many stages of a job cost about as much as a launch, which sorts all waiting stages of its job
// again: 30 to 100 ns a stage, beside 2 to 4 µs for a launch.
const stagesOfLaunch = 16

// start makes an attempt of a task of st on node n and books its room there. The caller sets the task and
// charges it to the job. The parameter pending is by how many it lowers the number of waiting tasks: 1, or 0 for a
// second attempt of a running task.
func (c *cluster) start(st *Stage, n *Node, holds ShapeID, pending int32) *Attempt {
	a := c.attempts.get()
	a.Stage, a.Node, a.Start, a.Task, a.Progress, a.Phase, a.State = st, n.ID, c.view.Now, 0, -1, NoPhase, Running
	a.Holds, a.wants, a.Class, a.parked, a.moot = holds, holds, n.Class, false, false
	a.twin = nil
	st.attempts.add(a)
	st.attempts.starts += c.view.Now
	n.slots = append(n.slots, a.ID.Row())
	st.Running++
	st.Pending -= pending
	st.waiting -= pending
	st.Job.Running++
	st.Job.attempts++
	c.ledger.hold(n, c.ledger.shapes.at(holds), 1)
	c.started = n.ID
	c.spent += 1 + len(st.Job.Stages)/stagesOfLaunch
	c.exhausted = c.config.Limit > 0 && c.spent >= c.config.Limit
	return a
}

// found books an attempt that runs already on node n, whether there is room for it or not, and returns its ID; 0: the
// node is lost, there is no such stage, or none of its tasks may be started: each runs, is done, or is not started
// again after it failed or was given back.
func (c *cluster) found(j *Job, n *Node, f *Found) AttemptID {
	if n.Lost || f.Stage < 0 || int(f.Stage) >= len(j.Stages) {
		return 0
	}
	st, task := j.Stages[f.Stage], int32(0)
	if st.Total >= 0 {
		if st.tasks.startable(st) == 0 {
			return 0
		}
		task = st.tasks.take(c, st, n)
		c.pend(st, -min(1, st.waiting))
	}
	a := c.start(st, n, st.Shape, 0)
	c.ledger.begin(a, 0)
	a.Task = task
	a.Start -= f.Ran
	st.attempts.starts -= f.Ran
	return a.ID
}

// away returns what attempt a adds to Count.Away: 1 while it runs and holds another shape than its stage's.
func (a *Attempt) away() int32 {
	if a.Holds != a.Stage.Shape && !a.parked {
		return 1
	}
	return 0
}

// attemptDone ends attempt a with an outcome, and applies what follows for its task, its stage and its job.
func (c *cluster) attemptDone(a *Attempt, outcome Outcome, counted *Counters) {
	st, n, took := a.Stage, c.view.Node(a.Node), c.view.Ran(a, c.view.Now)
	c.unlink(a, st, n)
	if a.moot || st.Job.Ended {
		return
	}
	alone := c.leaveTwins(a)
	switch {
	case outcome == OK:
		for b := a.twin; b != nil && !b.moot; {
			b.moot = true
			c.doomed = append(c.doomed, b)
			b, b.twin = b.twin, nil
		}
		if c.estimator != nil {
			c.estimator.Observe(a, took, counted)
		}
		c.taskDone(st, a)
	case outcome == Failed && c.failed(st, a, n):
		c.derive(Event{Kind: JobEnded, Outcome: Failed, Job: st.ID.Job})
		c.endJob(st.Job)
	case alone && st.Spec.MaxAttempts > 0 && outcome != Released:
		st.tasks.again = append(st.tasks.again, a.Task)
		c.pend(st, 1)
	}
}

// unlink removes attempt a from the lists of its stage and its node, and frees its room. The row stays readable until
// the next Step.
func (c *cluster) unlink(a *Attempt, st *Stage, n *Node) {
	slot := a.ID.Row()
	st.attempts.remove(a, &c.attempts)
	n.slots = without(n.slots, slot)
	c.ledger.stay(a)
	b := booking{shape: c.ledger.shapes.at(a.Holds), sign: -1}
	if a.parked {
		st.Suspended--
		st.attempts.paused -= c.view.Ran(a, c.view.Now)
		c.ledger.demand(st, c.ledger.missing(a), -1)
	} else {
		st.Running--
		st.Job.Running--
		st.attempts.starts -= c.attempts.shiftedStart(a)
		b.count = Count{Running: -1, Away: -a.away()}
	}
	c.ledger.hold(n, b.shape, -1)
	c.ledger.owe(st, b)
	a.State = gone
	c.attempts.ended = append(c.attempts.ended, slot)
	if st.Job.attempts--; st.Job.Ended && st.Job.attempts == 0 {
		c.jobs.ended = append(c.jobs.ended, st.Job)
	}
	c.offer(n)
}

// without removes slot, which list contains, and keeps the order. Branch-free, because the position of slot is
// unpredictable.
func without(list []int32, slot int32) []int32 {
	kept := 0
	for _, other := range list {
		list[kept] = other
		if other != slot {
			kept++
		}
	}
	return list[:kept]
}

// leaveTwins removes attempt a from the ring of the attempts of its task, and reports whether a was the only one. Else
// a.twin stays one of the others.
func (c *cluster) leaveTwins(a *Attempt) (alone bool) {
	if a.twin == nil {
		return true
	}
	last := a.twin
	for last.twin != a {
		last = last.twin
	}
	if last == a.twin {
		last.twin = nil
	} else {
		last.twin = a.twin
	}
	return false
}

// failed counts a failure of attempt a on node n, and reports whether the task has now failed MaxAttempts times, so
// that its job fails. After some failures on a node the job avoids it (failuresToAvoidNode).
func (c *cluster) failed(st *Stage, a *Attempt, n *Node) bool {
	if st.Spec.MaxAttempts == 0 {
		return false
	}
	j := st.Job
	if j.failures == nil {
		j.failures = map[NodeID]int32{}
	}
	j.failures[n.ID]++
	j.avoid(n.ID, len(c.view.Nodes))
	if st.tasks.failures == nil {
		st.tasks.failures = map[int32]int32{}
	}
	st.tasks.failures[a.Task]++
	return st.tasks.failures[a.Task] >= st.Spec.MaxAttempts
}

// avoid lets the job avoid node n if attempts have failed there often enough, up to a part of all nodes.
func (j *Job) avoid(n NodeID, all int) {
	most := mostNodesAvoided * float64(all)
	if j.failures[n] >= failuresToAvoidNode && float64(len(j.banned)+1) <= most && !contains(j.banned, n) {
		at, _ := slices.BinarySearch(j.banned, n)
		j.banned = slices.Insert(slices.Clone(j.banned), at, n)
	}
}

// taskDone notes that attempt a has completed its task. The stages that waited for it open, and the job ends with the
// last task of its last stage.
func (c *cluster) taskDone(st *Stage, a *Attempt) {
	st.Done++
	if st.tasks.ran != nil {
		st.tasks.ran[a.Task-1] = a.Node
		n := c.view.Node(a.Node)
		n.outputs.add(n.ID, st, a.Task)
	}
	if st.Job.chained {
		c.ready(st.Job)
	}
	if st.Done == st.Total {
		if st.Job.open--; st.Job.open == 0 {
			c.derive(Event{Kind: JobEnded, Outcome: OK, Job: st.ID.Job})
			c.endJob(st.Job)
		}
	}
}

// undo makes finished tasks of st, whose output was lost, wait again.
func (c *cluster) undo(st *Stage, tasks []int32) {
	if !st.alive || st.tasks.ran == nil {
		return
	}
	n := int32(0)
	for _, task := range tasks {
		if task < 1 || task > st.Total || st.tasks.ran[task-1] == 0 {
			continue
		}
		st.tasks.ran[task-1] = 0
		st.tasks.again = append(st.tasks.again, task)
		n++
	}
	if n == 0 {
		return
	}
	if st.Done == st.Total {
		st.Job.open++
	}
	st.Done -= n
	c.pend(st, n)
	c.ready(st.Job)
	c.ledger.log.touchJob(st.Job)
}

// isNeeded reports whether an incomplete stage reads the output of st.
func (st *Stage) isNeeded() bool {
	if !st.Job.chained {
		return false
	}
	for _, o := range st.Job.Stages {
		for _, d := range o.Spec.After {
			if d.Stage == st.ID.Index && o.Done < o.Total {
				return true
			}
		}
	}
	return false
}

// suspended ends the running of attempt a, which keeps only its memory from now on. If it was resized to less, and the
// engine has not said yet that it has less, it keeps the memory that it had until the engine says so.
func (c *cluster) suspended(a *Attempt) {
	c.ledger.stay(a)
	st := a.Stage
	st.attempts.starts -= c.attempts.shiftedStart(a)
	st.attempts.paused += c.view.Ran(a, c.view.Now)
	c.attempts.pause(a, c.view.Now)
	st.Running--
	st.Suspended++
	st.Job.Running--
	c.ledger.climb(st, booking{count: Count{Running: -1, Away: -a.away()}})
	a.State, a.parked = Suspended, true
	c.rebook(a, c.ledger.memoryOf(c.ledger.shapes.at(a.Holds).amount))
	c.ledger.demand(st, c.ledger.missing(a), 1)
}

// resizeAsked books what attempt a holds now: the amount that its application asked for, or to which it was resized. A
// suspended attempt holds the memory of it, and needs the rest to run again.
func resizeAsked(c *cluster, a *Attempt, amount Resources) {
	l, to := &c.ledger, c.ledger.shapes.intern(amount)
	holds := to
	if a.parked {
		holds = l.memoryOf(amount)
		l.demand(a.Stage, l.missing(a), -1)
	}
	l.leaving(a, -1)
	a.wants = to
	c.rebook(a, holds)
	l.leaving(a, 1)
	if a.parked {
		l.demand(a.Stage, l.missing(a), 1)
	}
}

// rebook changes the shape that attempt a holds.
func (c *cluster) rebook(a *Attempt, to ShapeID) {
	n, was := c.view.Node(a.Node), a.away()
	c.ledger.book(a.Stage, n, booking{shape: c.ledger.shapes.at(a.Holds), sign: -1})
	a.Holds = to
	c.ledger.book(a.Stage, n, booking{shape: c.ledger.shapes.at(to), sign: 1, count: Count{Away: a.away() - was}})
	c.offer(n)
}

// pend changes by d how many tasks of st wait. Where st may start, they are pending.
func (c *cluster) pend(st *Stage, d int32) {
	st.waiting += d
	if st.ready && d != 0 {
		st.Pending += d
		c.ledger.climb(st, booking{count: Count{Pending: int64(d)}})
		c.dropReservations(st)
	}
	c.ledger.log.touch(st)
}

// dropReservations frees the nodes that are reserved for st if no task of st waits any more.
func (c *cluster) dropReservations(st *Stage) {
	for st.Pending == 0 && st.Suspended == 0 && len(st.reserved) > 0 {
		c.unreserve(c.view.Node(st.reserved[0]))
	}
}

// ready opens the stages of job j whose dependencies hold now, and closes those whose dependencies were lost.
func (c *cluster) ready(j *Job) {
	for _, st := range j.Stages {
		c.readyStage(st)
	}
}

// readyStage opens or closes stage st, as its dependencies say.
func (c *cluster) readyStage(st *Stage) {
	ok := true
	for _, d := range st.Spec.After {
		before := st.Job.Stages[d.Stage]
		ok = ok && d.met(before.Done, before.Total)
	}
	if ok == st.ready {
		return
	}
	d := st.waiting
	if !ok {
		d = -d
	}
	st.ready = ok
	st.Pending += d
	c.ledger.climb(st, booking{count: Count{Pending: int64(d)}})
	c.ledger.log.touch(st)
}
