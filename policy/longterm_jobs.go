package policy

import "github.com/sojourn-sched/sojourn/sched"

// A careers keeps what each job has used so far, so that the jobs of a queue share it over time as queues share the
// cluster (LTYARN's model within a leaf). A job is counted, for its weight, for
//
//	what the job in its queue with most had been counted for when it came
//	+ what it had used at the last look
//	+ a quantum of what it holds now
//
// in seconds of the whole cluster. The first is its pseudo accumulated resources (formula 5.16, frozen at arrival), so
// that a newcomer does not starve the jobs before it. The last is what makes several tasks that start at one instant
// count (formula 5.15).
type careers struct {
	ticker
	Began sched.Per[float64] // by job: what it was given when it came
	Used  sched.Per[float64] // by job: Began, and what it had used at the last look
	Most  sched.Per[float64] // by queue: the most of its jobs at the last look

	every sched.Time // between two looks, and the quantum; 0: jobs do not share over time
}

// follow gives new jobs what they begin with, and looks at all jobs once a quantum: O(jobs) then.
func (c *careers) follow(p *sched.Plan) {
	if c.every == 0 {
		return
	}
	for i := range p.Events {
		if e := &p.Events[i]; e.Kind == sched.JobSubmitted {
			if j := p.Job(e.Job); j != nil {
				most := *c.Most.Of(p.Queues[p.Queues[j.Queue].Parent])
				*c.Began.Of(j), *c.Used.Of(j) = most, most
			}
		}
	}
	if !c.due(p, c.every) {
		return
	}
	for j := range p.Jobs() {
		*c.Most.Of(p.Queues[p.Queues[j.Queue].Parent]) = 0
	}
	for j := range p.Jobs() {
		service := p.Service(j, p.Now)
		used := *c.Began.Of(j) + service.Seconds(p.Capacity)/j.Weight
		if *c.Used.Of(j) != used {
			*c.Used.Of(j) = used
			p.TouchJob(j)
		}
		most := c.Most.Of(p.Queues[p.Queues[j.Queue].Parent])
		*most = max(*most, used)
	}
}

// of returns what a job is counted for, in seconds of the whole cluster for its weight.
func (c *careers) of(j *sched.Job, whole sched.Resources) float64 {
	return *c.Used.Of(j) + j.Used.DominantShare(whole)*c.every.Seconds()/j.Weight
}
