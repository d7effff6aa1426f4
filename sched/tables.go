package sched

// jobTable holds the unfinished jobs in order of submission, in slots that are used again.
type jobTable struct {
	rows        []*Job
	free        []int32
	first, last int32 // slots; -1: none
	byID        map[JobID]*Job
	newest      JobID
	live        int
	ended       []*Job // to be forgotten in the next Step, once nothing of them runs
}

// get returns the row of a new job, zero but for its slot. The caller links it.
func (t *jobTable) get() *Job {
	if k := len(t.free); k > 0 {
		j := t.rows[t.free[k-1]]
		t.free = t.free[:k-1]
		*j = Job{slot: j.slot, Stages: j.Stages[:0]}
		return j
	}
	j := &Job{slot: int32(len(t.rows))}
	t.rows = append(t.rows, j)
	return j
}

// link puts j at the end of the order of submission.
func (t *jobTable) link(j *Job) {
	j.next, j.prev = -1, t.last
	if t.last >= 0 {
		t.rows[t.last].next = j.slot
	} else {
		t.first = j.slot
	}
	t.last = j.slot
	t.byID[j.ID] = j
	t.live++
}

// unlink takes j out of the order of submission. It can still be found by its ID.
func (t *jobTable) unlink(j *Job) {
	if j.prev >= 0 {
		t.rows[j.prev].next = j.next
	} else {
		t.first = j.next
	}
	if j.next >= 0 {
		t.rows[j.next].prev = j.prev
	} else {
		t.last = j.prev
	}
	t.live--
}

// stageTable holds the stages of unfinished jobs in slots that are used again.
type stageTable struct {
	rows []*Stage
	free []int32
}

// get returns the row of a new stage, zero but for its slot and the memory of its lists.
func (t *stageTable) get() *Stage {
	if k := len(t.free); k > 0 {
		st := t.rows[t.free[k-1]]
		t.free = t.free[:k-1]
		*st = Stage{
			slot:     st.slot,
			reserved: st.reserved[:0],
			attempts: attemptList{slots: st.attempts.slots[:0]},
			tasks:    taskSet{again: st.tasks.again[:0], near: st.tasks.near},
		}
		if st.tasks.near != nil {
			st.tasks.near.layout = 0
		}
		return st
	}
	st := &Stage{slot: int32(len(t.rows))}
	t.rows = append(t.rows, st)
	return st
}

// attemptTable holds attempts at fixed addresses, in slots that are used again.
type attemptTable struct {
	chunks []*[1 << chunkBits]Attempt
	n      int32
	free   []int32
	ended  []int32 // slots that are readable until the next Step
	serial uint64
	pauses map[AttemptID]pause // of the attempts that were ever suspended, until they are recycled
}

// A pause says how long an attempt has been suspended.
type pause struct {
	since Time // start of the last suspension
	total Time // length of the suspensions that are over
}

// pause notes that attempt a is suspended from now on.
func (t *attemptTable) pause(a *Attempt, now Time) {
	if t.pauses == nil {
		t.pauses = map[AttemptID]pause{}
	}
	t.pauses[a.ID] = pause{now, t.pauses[a.ID].total}
}

// resume notes that the suspended attempt a runs again from now on.
func (t *attemptTable) resume(a *Attempt, now Time) {
	p := t.pauses[a.ID]
	p.total += now - p.since
	t.pauses[a.ID] = p
}

// shiftedStart returns the instant at which attempt a would have started if it had run without its pauses.
func (t *attemptTable) shiftedStart(a *Attempt) Time {
	if len(t.pauses) == 0 {
		return a.Start
	}
	return a.Start + t.pauses[a.ID].total
}

// chunkBits is the number of bits of a slot that say where in its chunk it is.
const chunkBits = 10

// at returns the row in a slot.
func (t *attemptTable) at(slot int32) *Attempt {
	return &t.chunks[slot>>chunkBits][slot&(1<<chunkBits-1)]
}

// get returns a row with a new ID. The caller sets all other fields.
func (t *attemptTable) get() *Attempt {
	var slot int32
	if k := len(t.free); k > 0 {
		slot = t.free[k-1]
		t.free = t.free[:k-1]
	} else {
		if int(t.n)>>chunkBits == len(t.chunks) {
			t.chunks = append(t.chunks, new([1 << chunkBits]Attempt))
		}
		slot = t.n
		t.n++
	}
	t.serial++
	a := t.at(slot)
	a.ID = NewAttemptID(t.serial, slot)
	return a
}

// find returns the row of an attempt; nil: it was recycled, or there was never one.
func (t *attemptTable) find(id AttemptID) *Attempt {
	slot := id.Row()
	if slot >= t.n {
		return nil
	}
	if a := t.at(slot); a.ID == id {
		return a
	}
	return nil
}

// add puts an attempt at the end of the list.
func (l *attemptList) add(a *Attempt) {
	a.place = int32(len(l.slots))
	l.slots = append(l.slots, a.ID.Row())
}

// leastGaps is how many gaps a list has at least before remove closes them.
const leastGaps = 32

// remove takes attempt a out. It closes the gaps when they are most of the list: O(1) amortised.
func (l *attemptList) remove(a *Attempt, t *attemptTable) {
	l.slots[a.place] = -1
	if l.gaps++; l.gaps < leastGaps || 2*l.gaps < len(l.slots) {
		return
	}
	kept := l.slots[:0]
	for _, slot := range l.slots {
		if slot >= 0 {
			t.at(slot).place = int32(len(kept))
			kept = append(kept, slot)
		}
	}
	l.slots, l.gaps = kept, 0
}

// recycle frees the slots of the attempts that ended before this Step.
func (t *attemptTable) recycle() {
	for _, slot := range t.ended {
		if len(t.pauses) > 0 {
			delete(t.pauses, t.at(slot).ID)
		}
		t.at(slot).ID = 0
		t.free = append(t.free, slot)
	}
	t.ended = t.ended[:0]
}

// submit makes the rows of a job.
func (c *cluster) submit(id JobID, spec *JobSpec) {
	if id <= c.jobs.newest {
		breach("job %d is submitted after job %d", id, c.jobs.newest)
	}
	if err := spec.Validate(); err != nil {
		breach("submit job %d: %v", id, err)
	}
	c.jobs.newest = id
	j := c.jobs.get()
	j.ID, j.Spec, j.Weight, j.Submitted, j.since = id, spec, weightOr1(spec.Weight), c.view.Now, c.view.Now
	if spec.Submit < 0 {
		j.Submitted = spec.Submit
	}
	j.leaf = c.queues.leafOf(spec)
	j.Queue = j.leaf.ID
	c.jobs.link(j)
	c.ledger.countJob(j, 1)
	if spec.Open {
		j.open++
	}
	for i := range spec.Stages {
		c.addStage(j, &spec.Stages[i])
	}
	c.ready(j)
	if j.open == 0 {
		c.derive(Event{Kind: JobEnded, Outcome: OK, Job: id})
		c.endJob(j)
	}
}

// addStage makes the row of the next stage of j.
func (c *cluster) addStage(j *Job, spec *StageSpec) *Stage {
	st := c.stages.get()
	st.ID, st.Kind, st.Shape = StageID{j.ID, int32(len(j.Stages))}, spec.Kind, c.ledger.shapes.intern(spec.PerTask)
	st.Total, st.Job, st.Spec, st.alive = spec.Tasks, j, spec, true
	st.cap = j.leaf.cap
	if !spec.Asked {
		st.waiting = max(0, spec.Tasks)
	}
	c.ledger.shapes.use(st.Shape, 1)
	j.Stages = append(j.Stages, st)
	if spec.Tasks != 0 {
		j.open++
	}
	j.chained = j.chained || len(spec.After) > 0
	for _, d := range spec.After {
		if b := j.Stages[d.Stage]; b.tasks.ran == nil && b.Total > 0 {
			b.tasks.ran = make([]NodeID, b.Total)
		}
	}
	return st
}

// asksChanged adds a stage, or replaces how many tasks of a stage wait, and where they would run.
func (c *cluster) asksChanged(j *Job, asks *Asks) {
	var st *Stage
	switch {
	case int(asks.Stage) == len(j.Stages):
		if asks.Spec == nil {
			breach("asks of a new stage %d of job %d, without its spec", asks.Stage, j.ID)
		}
		st = c.addStage(j, asks.Spec)
		c.readyStage(st)
	case int(asks.Stage) > len(j.Stages):
		breach("asks of stage %d of job %d, which has %d", asks.Stage, j.ID, len(j.Stages))
	default:
		st = j.Stages[asks.Stage]
	}
	if asks.Spec != nil && asks.Spec != st.Spec {
		c.pend(st, -st.waiting)
		away := c.ledger.away(st)
		c.ledger.shapes.use(st.Shape, -1)
		st.Spec, st.Shape = asks.Spec, c.ledger.shapes.intern(asks.Spec.PerTask)
		c.ledger.shapes.use(st.Shape, 1)
		c.ledger.climb(st, booking{count: Count{Away: c.ledger.away(st) - away}})
	}
	st.only = asks.Only
	st.tasks.wish(asks.Near)
	j.banned = nil
	if len(asks.Banned) > 0 { // shared: a blacklist may be long, and is said again with each ask
		j.banned = asks.Banned
	}
	c.pend(st, asks.Pending-st.waiting)
	c.ledger.log.touchJob(j)
}

// endJob takes job j out of all orders, and kills its attempts that still run.
func (c *cluster) endJob(j *Job) {
	j.Ended = true
	for _, st := range j.Stages {
		c.pend(st, -st.waiting)
		st.alive = false
		for len(st.reserved) > 0 {
			c.unreserve(c.view.Node(st.reserved[0]))
		}
		for a := range c.view.Attempts(st) {
			if !a.moot {
				a.moot = true
				c.doomed = append(c.doomed, a)
			}
		}
		c.ledger.shapes.use(st.Shape, -1)
		c.ledger.log.touch(st)
	}
	c.jobs.unlink(j)
	c.ledger.countJob(j, -1)
	c.jobs.ended = append(c.jobs.ended, j)
}

// recycleJobs forgets the jobs that ended before this Step and have no attempt left.
func (c *cluster) recycleJobs() {
	for _, j := range c.jobs.ended {
		delete(c.jobs.byID, j.ID)
		if j.ID == 0 || j.attempts > 0 {
			continue
		}
		for _, st := range j.Stages {
			c.stages.free = append(c.stages.free, st.slot)
		}
		c.jobs.free = append(c.jobs.free, j.slot)
		c.queues.left(j.leaf)
		j.ID = 0
	}
	c.jobs.ended = c.jobs.ended[:0]
}
