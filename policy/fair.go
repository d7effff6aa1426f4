package policy

import "github.com/sojourn-sched/sojourn/sched"

var fairCard = Card{
	Title:  "equal shares for queues and for the jobs in them, by weight, minimum shares first",
	Source: "Hadoop's Fair Scheduler: FairSharePolicy, FifoPolicy, DominantResourceFairnessPolicy; Zaharia et al., Job Scheduling for Multi-User MapReduce Clusters, UCB/EECS-2009-55",
	Spec:   "docs/spec/policies.md#fair",
	Params: placing(
		Param{Name: "users", Kind: Choice, Default: "off", Choices: []Option{{Name: "off"}, {Name: "on"}}, Meaning: "whether the users of a queue share it equally, or only its jobs"},
	),
	Memory: []string{"by stage: since when it waits for a node near its input (with a delay)"},
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

// fair serves queues below their minimum share first, then the queue, and in it the job, that has least for its weight.
type fair struct{ tree }

func newFair(a Args) sched.Policy {
	f := &fair{newTree(a)}
	f.users = a.Choice("users") == "on"
	f.rank = fairRank
	f.begin(f.key)
	return f
}

// key orders the jobs of a queue by the queue's own policy.
func (f *fair) key(v *sched.View, st *sched.Stage, at sched.Time) (sched.Key, bool) {
	j := st.Job
	switch f.policyOf(v, j) {
	case "fifo":
		return urgency(v, st, at)
	case "drf":
		return sched.Key{Value: j.Used.DominantShare(v.Capacity) / j.Weight}, st.Pending > 0
	}
	return sched.Key{Value: float64(j.Used[kindOf(st)]) / j.Weight}, st.Pending > 0
}

// policyOf returns the policy of the configured queue that a job is in.
func (f *fair) policyOf(v *sched.View, j *sched.Job) string {
	return v.Queues[v.Queues[j.Queue].Parent].Spec.Policy
}

// fairRank is FairSharePolicy's comparison: queues below their minimum share first, by the part of it that they have; the others
// by what they have for their weight. Below a queue with policy "drf" both are of dominant shares.
func fairRank(p *sched.Plan, q *sched.Queue, k sched.ResourceKind) sched.Key {
	if p.Queues[q.Parent].Spec.Policy == "drf" {
		return dominantRank(p, q)
	}
	used, least := q.Used[k], min(q.Min[k], q.Demand[k])
	if used < least {
		return sched.Key{Class: -1, Value: float64(used) / float64(least)}
	}
	return sched.Key{Value: float64(used) / q.Weight()}
}

// dominantRank is the comparison of DominantResourceFairnessPolicy.
func dominantRank(p *sched.Plan, q *sched.Queue) sched.Key {
	used, least := q.Used.DominantShare(p.Capacity), q.Min.DominantShare(p.Capacity)
	if used < least {
		return sched.Key{Class: -1, Value: used / least}
	}
	return sched.Key{Value: used / q.Weight()}
}

// Decide starts tasks where there is room.
func (f *fair) Decide(p *sched.Plan) {
	touchEnded(p)
	f.fill(p)
}
