package sched

// amend replaces what may change of job j by what spec says. What j holds and waits for counts in its new queue from now
// on. The service that j has received so far stays with the old queue.
func (c *Core) amend(j *Job, spec *JobSpec) {
	own := *j.Spec
	own.Queue, own.Weight, own.Priority, own.Deadline = spec.Queue, spec.Weight, spec.Priority, spec.Deadline
	own.Min, own.Max, own.Goal, own.Profile = spec.Min, spec.Max, spec.Goal, spec.Profile
	j.Spec, j.Weight = &own, weightOr1(own.Weight)
	if to := c.queues.leafOf(&own); to != j.leaf {
		from := j.leaf
		c.carry(j, -1)
		j.leaf, j.Queue = to, to.ID
		c.carry(j, 1)
		c.queues.left(from)
	}
	for _, st := range j.Stages {
		st.cap = j.leaf.cap
		c.touch(st)
	}
}

// carry adds all that job j holds and waits for to its queues (sign 1), or takes it off (sign -1).
func (c *Core) carry(j *Job, sign int32) {
	c.countJob(j, sign)
	c.accrueUp(j.leaf)
	for q := j.leaf; q != nil; q = q.above {
		q.Used = q.Used.Add(j.Used.Times(int64(sign)))
		q.Demand = q.Demand.Add(j.Used.Times(int64(sign)))
		for _, st := range j.Stages {
			n := &q.Count[st.Kind%NumKinds]
			n.Pending += sign * st.Pending
			n.Running += sign * st.Running
			n.Away += sign * c.away(st)
			q.Demand = q.Demand.Add(c.Amount(st.Shape).Times(int64(sign * st.Pending)))
			for a := range c.Attempts(st) {
				if st.Kind == Master {
					q.Masters = q.Masters.Add(c.Amount(a.Holds).Times(int64(sign)))
				}
				q.Leaving = q.Leaving.Add(c.leaves(a).amount.Times(int64(sign)))
				if a.parked {
					q.Demand = q.Demand.Add(c.missing(a).amount.Times(int64(sign)))
				}
			}
		}
	}
}
