package policy

import "github.com/sojourn-sched/sojourn/sched"

var fairCard = Card{
	Title: "equal shares for queues and for the jobs in them, by weight, minimum shares first",
	Source: "Hadoop's Fair Scheduler: FairSharePolicy, FifoPolicy, DominantResourceFairnessPolicy; Zaharia et al., " +
		"Job Scheduling for Multi-User MapReduce Clusters, UCB/EECS-2009-55",
	Spec: "docs/spec/policies.md#fair",
	Params: PlacingParams(
		Param{
			Name:    "users",
			Kind:    Choice,
			Default: "off",
			Choices: []Option{{Name: "off"}, {Name: "on"}},
			Meaning: "whether the users of a queue share it equally, or only its jobs",
		},
		mastersParam("0.5", "a queue's share"),
		keepingFor(keptForNone),
		taking(optOff, optKill),
		Param{
			Name:    "min-timeout",
			Kind:    Duration,
			Default: "300s",
			Meaning: "how long a queue must be below its minimum share before tasks of others are killed for it",
		},
		Param{
			Name:    "fair-timeout",
			Kind:    Duration,
			Default: "600s",
			Meaning: "how long a queue must be below a part (threshold) of its fair share before tasks of others " +
				"are killed for it",
		},
		Param{Name: "threshold", Kind: Number, Default: "0.5", Max: 1, Meaning: "part of its fair share below " +
			"which a queue counts as starved (with fair-timeout)"},
		Param{
			Name:    "check",
			Kind:    Duration,
			Default: "500ms",
			Min:     0.001,
			Meaning: "how often the policy looks for such queues",
		},
	),
	Memory: []string{
		PlacingMemory,
		"the capacity that shares are of",
		"by queue: since when it has less than its shares (with preempt)",
		MasterMemory,
	},
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

// fair serves queues below their minimum share first, then the queue that holds least for its weight, and in a queue
// the job that holds least for its weight.
type fair struct {
	tree
	Keep    keeper
	Reclaim reclaimer
	Starved starvation

	shares weighted // of queues; masters may hold a part of each
}

func newFair(a Args) sched.Policy {
	f := &fair{Starved: newStarvation(a)}
	f.Keep.init(a)
	f.masters = masterLimit{a.Number("masters"), f.shares.of}
	f.users = a.Choice("users") == "on"
	f.turn = f.entitled
	f.tree.init(a, f.within)
	f.Reclaim.init(a, &f.tree)
	return f
}

// within returns the key of st among the jobs of its queue, by the queue's own policy.
func (f *fair) within(v *sched.View, st *sched.Stage, more int32) sched.Key {
	order := f.orders.name(v.Queues[st.Job.Queue].Parent)
	if order == "fifo" {
		return urgency(v, st, more)
	}
	return heldForWeight(&f.tree, order, st)
}

// InWords returns in words how many queues come before that of st, and what decides within the queue.
func (f *fair) InWords(v *sched.View, st *sched.Stage, k sched.Key) string {
	k, queues := inQueue(&f.tree, v, st, k)
	order := f.orders.name(v.Queues[st.Job.Queue].Parent)
	if order == "fifo" {
		return queues + urgencyInWords(k)
	}
	return queues + heldForWeightInWords(order, st, k)
}

// entitled returns the key of queue q among its siblings, as FairSharePolicy compares them: queues below their minimum
// share come first, by the part of it that they hold, the others by what they hold for their weight. Among the children
// of a queue with policy "drf", dominant shares are compared.
func (f *fair) entitled(q *sched.Queue, k sched.ResourceKind) sched.Key {
	if f.orders.name(q.Parent) == "drf" {
		return dominant(q, f.Total)
	}
	used, least := q.Used[k], min(q.Min[k], q.Demand[k])
	if used < least {
		return sched.Key{Class: -1, Value: float64(used) / float64(least)}
	}
	return sched.Key{Value: float64(used) / q.Weight()}
}

// Decide starts tasks where there is room, and kills tasks for queues that have held too little for too long.
func (f *fair) Decide(p *sched.Plan) {
	f.shares.follow(p)
	f.Keep.fill(p, &f.tree)
	if !f.Reclaim.looks(p) {
		return
	}
	for k := range sched.ResourceKind(sched.NumResources) {
		if f.has(k) {
			f.Reclaim.take(p, k, f.Starved.lack(p, k, &f.Reclaim), 1)
		}
	}
}

// starvation remembers which queues hold less than their shares, and since when.
type starvation struct {
	BelowMin, BelowFair [sched.NumResources]sched.Per[since] // by queue

	minTime, outTime sched.Time // how long a queue may be below its minimum, and below threshold × its fair share
	threshold        float64
}

func newStarvation(a Args) starvation {
	return starvation{minTime: a.Time("min-timeout"), outTime: a.Time("fair-timeout"), threshold: a.Number("threshold")}
}

// lack returns how much of kind k must be taken back for queues that have held less than their minimum share, or than
// threshold × their fair share, for too long. What is leaving already is subtracted.
func (s *starvation) lack(p *sched.Plan, k sched.ResourceKind, r *reclaimer) (need float64) {
	r.divide(p, k, configured(k))
	coming := 0.0
	for _, q := range p.Queues {
		if q == nil || !r.isLeaf(p, q) {
			continue
		}
		coming += float64(q.Leaving[k])
		used, least := float64(q.Used[k]), min(float64(q.Min[k]), float64(q.Demand[k]))
		lack := 0.0
		if s.BelowMin[k].Of(q).lasted(p.Now, used < least, s.minTime) {
			lack = least - used
		}
		if s.BelowFair[k].Of(q).lasted(p.Now, used < s.threshold*r.share[q.ID], s.outTime) {
			lack = max(lack, r.share[q.ID]-used)
		}
		need += lack
	}
	return need - coming
}
