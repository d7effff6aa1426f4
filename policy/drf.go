package policy

import "github.com/sojourn-sched/sojourn/sched"

var drfCard = Card{
	Title: "first the queue, and in it the user, whose dominant share is the smallest for its weight",
	Source: "Ghodsi et al., Dominant Resource Fairness, NSDI 2011, algorithm 1; level by level in a queue tree as in " +
		"Hadoop's DominantResourceFairnessPolicy",
	Spec:   "docs/spec/policies.md#drf",
	Params: PlacingParams(mastersParam("0.5", "a user's share")),
	Memory: []string{
		"the capacity that shares are of",
		PlacingMemory,
	},
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

// drf serves the queue, user and job with the least dominant share for its weight.
type drf struct {
	tree
	shares weighted // of queues; masters may hold a part of each
}

func newDRF(a Args) sched.Policy {
	d := &drf{}
	d.orders.shares, d.users, d.masters = true, true, masterLimit{a.Number("masters"), d.shares.of}
	d.turn = func(q *sched.Queue, _ sched.ResourceKind) sched.Key { return dominant(q, d.Total) }
	d.init(a, func(_ *sched.View, st *sched.Stage, _ int32) sched.Key {
		return heldForWeight(&d.tree, "drf", st)
	})
	return d
}

// InWords says whose turn comes first, and the dominant share of a stage's job.
func (d *drf) InWords(v *sched.View, st *sched.Stage, k sched.Key) string {
	k, queues := inQueue(&d.tree, v, st, k)
	return queues + shareInWords(k)
}

// Decide starts tasks where there is room.
func (d *drf) Decide(p *sched.Plan) {
	d.shares.follow(p)
	d.fill(p)
}
