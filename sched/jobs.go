package sched

import (
	"maps"
	"slices"
)

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

// countAll sets Asks.Pending, where it is AskAll, to how many tasks of the stage may be started, or to zero if the job
// has ended. It leaves AskAll for a stage that is not there, or whose number of tasks is not known, to be refused.
func (a *Asks) countAll(j *Job) {
	switch {
	case a.Pending != AskAll:
	case j == nil || j.Ended:
		a.Pending = 0
	case a.Stage >= 0 && int(a.Stage) < len(j.Stages) && j.Stages[a.Stage].Total >= 0:
		st := j.Stages[a.Stage]
		a.Pending = st.tasks.startable(st)
	}
}

// asksChanged adds a stage, or replaces how many tasks of a stage wait, and where they would run.
func (c *cluster) asksChanged(j *Job, asks *Asks) {
	if err := asks.validateFor(j); err != nil {
		breach("asks of job %d: %v", j.ID, err)
	}
	var st *Stage
	if int(asks.Stage) == len(j.Stages) {
		st = c.addStage(j, asks.Spec)
		c.readyStage(st)
	} else {
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
	for _, n := range slices.Sorted(maps.Keys(j.failures)) {
		j.avoid(n, len(c.view.Nodes))
	}
	c.pend(st, asks.Pending-st.waiting)
	c.ledger.log.touchJob(j)
}

// amend gives job j the terms of spec that may change after the submission (JobSpec says which). From now on, what j
// holds and waits for counts in its new queue. The service that j has received so far stays with the old queue.
func (c *cluster) amend(j *Job, spec *JobSpec) {
	own := *j.Spec
	own.Queue, own.Weight, own.Priority, own.Deadline = spec.Queue, spec.Weight, spec.Priority, spec.Deadline
	own.Min, own.Max, own.Goal, own.Profile = spec.Min, spec.Max, spec.Goal, spec.Profile
	own.Delays = spec.Delays
	if err := own.ValidateTerms(); err != nil {
		breach("change the spec of job %d: %v", j.ID, err)
	}
	j.Spec, j.Weight = &own, weightOr1(own.Weight)
	if to := c.queues.leafOf(&own); to != j.leaf {
		from := j.leaf
		c.ledger.carry(j, -1)
		j.leaf, j.Queue = to, to.ID
		c.ledger.carry(j, 1)
		c.queues.dropIdleUser(from)
	}
	for _, st := range j.Stages {
		st.cap = j.leaf.cap
		c.ledger.log.touch(st)
	}
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
			st.Shape = 0
			c.stages.free = append(c.stages.free, st.slot)
		}
		c.jobs.free = append(c.jobs.free, j.slot)
		c.queues.dropIdleUser(j.leaf)
		j.ID = 0
	}
	c.jobs.ended = c.jobs.ended[:0]
}
