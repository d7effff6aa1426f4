package policy

import "github.com/sojourn-sched/sojourn/sched"

// careers keep how much each job has used so far, so that the jobs of a queue share the queue over time, as queues
// share the cluster (LTYARN's model within a leaf). The account of a job is, for its weight, the sum of
//
//	the largest account in its queue when the job arrived
//	+ what the job had used at the last look
//	+ what it holds now, for a quantum
//
// in seconds of the whole cluster. The first is the job's pseudo accumulated resources (formula 5.16, frozen at
// arrival), so that a new job does not starve the jobs before it. Because of the last, tasks that start at the same
// instant count at once (formula 5.15).
type careers struct {
	ticker
	Began sched.Per[float64] // by job: its account when it arrived
	Used  sched.Per[float64] // by job: Began + what it had used at the last look
	Most  sched.Per[float64] // by queue: the largest Used of its jobs at the last look

	every sched.Time // the time between two looks, and the quantum; 0: jobs do not share over time
}

// follow opens the accounts of new jobs, and updates all accounts once a quantum, which costs O(jobs).
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

// of returns the account of job j, in seconds of the whole cluster for its weight. whole is the cluster's capacity.
func (c *careers) of(j *sched.Job, whole sched.Resources) float64 {
	return *c.Used.Of(j) + j.Used.DominantShare(whole)*c.every.Seconds()/j.Weight
}
