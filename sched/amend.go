package sched

// amend gives job j the terms of spec that may change after the submission (JobSpec says which). From now on, what j
// holds and waits for counts in its new queue. The service that j has received so far stays with the old queue.
func (c *cluster) amend(j *Job, spec *JobSpec) {
	own := *j.Spec
	own.Queue, own.Weight, own.Priority, own.Deadline = spec.Queue, spec.Weight, spec.Priority, spec.Deadline
	own.Min, own.Max, own.Goal, own.Profile = spec.Min, spec.Max, spec.Goal, spec.Profile
	own.Delays = spec.Delays
	j.Spec, j.Weight = &own, weightOr1(own.Weight)
	if to := c.queues.leafOf(&own); to != j.leaf {
		from := j.leaf
		c.ledger.carry(j, -1)
		j.leaf, j.Queue = to, to.ID
		c.ledger.carry(j, 1)
		c.queues.left(from)
	}
	for _, st := range j.Stages {
		st.cap = j.leaf.cap
		c.ledger.log.touch(st)
	}
}
