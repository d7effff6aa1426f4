package policy

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/sched"
)

var capacityCard = Card{
	Title: "guaranteed parts of the cluster for queues, lent while unused, jobs in order of submission, " +
		"limits for users",
	Source: "Hadoop's Capacity Scheduler: LeafQueue, UsersManager, ProportionalCapacityPreemptionPolicy",
	Spec:   "docs/spec/policies.md#capacity",
	Params: PlacingParams(
		Param{
			Name:    "user-min",
			Kind:    Number,
			Default: "1",
			Min:     0.01,
			Max:     1,
			Meaning: "part of its queue that each user may have at least, however many users compete " +
				"(minimum-user-limit-percent)",
		},
		Param{
			Name:    "user-factor",
			Kind:    Number,
			Default: "1",
			Min:     0.01,
			Meaning: "how many times the guarantee of its queue one user may have at most (user-limit-factor)",
		},
		mastersParam("0.1", "a queue's guarantee, or of what it might have now if that is more,"),
		taking(optOff, optKill),
		Param{
			Name:    "check",
			Kind:    Duration,
			Default: "3s",
			Min:     0.001,
			Meaning: "how often the policy looks for queues below their guarantee (monitoring_interval)",
		},
		Param{
			Name:    "grace",
			Kind:    Duration,
			Default: "15s",
			Meaning: "time between the warning of a task and its kill (max_wait_before_kill)",
		},
		Param{
			Name:    "round",
			Kind:    Number,
			Default: "0.1",
			Min:     0.001,
			Max:     1,
			Meaning: "part of the cluster that one check takes back at most (total_preemption_per_round)",
		},
		Param{
			Name:    "slack",
			Kind:    Number,
			Default: "0.1",
			Max:     1,
			Meaning: "how far a queue may exceed its share, as a part of it, before anything is taken back " +
				"(max_ignored_over_capacity)",
		},
	),
	Memory: []string{
		"nodes kept for big tasks",
		"the capacity that shares are of",
		PlacingMemory,
	},
	Claims: []Claim{NonPreemptive, TimeInvariant},
}

// capacity serves the queue that uses the least part of its guarantee. In the queue it serves jobs by priority, then by
// age, unless the queue has a policy of its own, but only those of users below their limits. If a stage finds no node
// with enough room while smaller tasks start, it gets a node kept for it.
type capacity struct {
	tree
	Keep    keeper
	Reclaim reclaimer

	guaranteed   guarantees
	limits       userLimits
	round, slack float64 // the parameters of these names
}

func newCapacity(a Args) sched.Policy {
	c := &capacity{Keep: keeper{on: true}, round: a.Number("round"), slack: a.Number("slack")}
	c.limits = userLimits{
		userLines: userLines{few: fewSiblings},
		least:     a.Number("user-min"),
		factor:    a.Number("user-factor"),
		of:        &c.guaranteed,
		masters:   &c.masters,
	}
	c.users, c.masters = true, masterLimit{a.Number("masters"), c.usable}
	c.turn = func(q *sched.Queue, k sched.ResourceKind) sched.Key { return sched.Key{Value: c.guaranteed.part(q, k)} }
	c.leaf = c.underLimit
	c.tree.init(a, c.within)
	c.siblings.also, c.hear = c.limits.changed, c.limits.hear
	c.Reclaim.init(a, &c.tree)
	c.Reclaim.grace = a.Time("grace")
	return c
}

// within orders the jobs of a queue: by priority and age, or, if the queue's policy is "fair" or "drf", by what they
// hold for their weight.
func (c *capacity) within(v *sched.View, st *sched.Stage, more int32) sched.Key {
	if order := c.orders.name(v.Queues[st.Job.Queue].Parent); order == "fair" || order == "drf" {
		return heldForWeight(&c.tree, order, st)
	}
	return urgency(v, st, more)
}

// InWords returns in words how many queues come before that of st, and what decides within the queue.
func (c *capacity) InWords(v *sched.View, st *sched.Stage, k sched.Key) string {
	k, queues := inQueue(&c.tree, v, st, k)
	if order := c.orders.name(v.Queues[st.Job.Queue].Parent); order == "fair" || order == "drf" {
		return queues + heldForWeightInWords(order, st, k)
	}
	return queues + urgencyInWords(k)
}

// underLimit returns the first stage of queue q among those of users below their limits.
//
// The limit of a user is UsersManager's: the queue's guarantee, or what the queue uses and is about to use if that is
// more, divided by the number of users who want more. It is at least the part user-min of that amount, and at most
// user-factor times the guarantee. A user who holds nothing may always start a task. Masters are in an order of their
// own, because they have a limit besides. O(log n) for n users, for each user whose stages have changed and for each
// task that starts.
func (c *capacity) underLimit(p *sched.Plan, q *sched.Queue, s sought) (first *sched.Stage) {
	if len(q.Children) > c.limits.few {
		return c.limits.first(c, p, q, s)
	}
	k := s.kind
	active := active(p.View, q, k)
	var least sched.Key
	for _, id := range q.Children {
		u := p.Queues[id]
		if !u.User || u.Demand[k] <= u.Used[k] {
			continue
		}
		groups := [2]int{groupOf(id, k), mastersOf(groupOf(id, k))}
		for _, group := range groups[:1+min(1, u.Count[sched.Master].Pending)] {
			st := c.waits.at(group, s.room)
			if st == nil || !c.limits.mayStart(p.View, st, active) {
				continue
			}
			key := c.rank(p.View, st, 1)
			if first == nil || key.Before(least) || !least.Before(key) && earlier(st.ID, first.ID) {
				first, least = st, key
			}
		}
	}
	return first
}

// Position returns the key of stage st in the order; false: a limit keeps the stage from starting.
func (c *capacity) Position(v *sched.View, st *sched.Stage) (sched.Key, bool) {
	if c.Withheld(v, st) != "" {
		return sched.Key{}, false
	}
	return c.tree.Position(v, st)
}

// Withheld returns in words which limit keeps tasks of st from starting: masters hold all that they may of the queue,
// or the user is at a limit although the cluster has room. "": no limit does.
func (c *capacity) Withheld(v *sched.View, st *sched.Stage) string {
	if why := c.tree.Withheld(v, st); why != "" {
		return why
	}
	u, kind := v.Queues[st.Job.Queue], kindOf(st)
	q := v.Queues[u.Parent]
	users := max(1, active(v, q, kind))
	free := v.Capacity[kind] - v.Queues[0].Used[kind]
	if free >= st.Spec.PerTask[kind] && !c.limits.mayHaveMore(v, st, users) {
		return fmt.Sprintf("user %s uses %d %v of at most %.0f in queue %s, shared by %s, and a task takes %d",
			u.Spec.Name, u.Used[kind], kind, c.limits.limit(q, kind, st.Spec.PerTask[kind], users), v.Path(q),
			spelling.Count(users, "user"), st.Spec.PerTask[kind])
	}
	if !c.masters.bounds(st) {
		return ""
	}
	k, over := c.limits.overMasters(v, st, users)
	if !over {
		return ""
	}
	return fmt.Sprintf("masters of user %s hold %d %v of at most %.0f in queue %s, and one more takes %d", u.Spec.Name,
		u.Masters[k], k, c.limits.mostMasters(v, st, k, users), v.Path(q), st.Spec.PerTask[k])
}

// usable returns the amount that the limit of masters is a part of: the guarantee of queue q, or what the queue could
// hold now, if that is more (LeafQueue.calculateAndGetAMResourceLimitPerPartition).
func (c *capacity) usable(v *sched.View, q *sched.Queue, k sched.ResourceKind) float64 {
	return float64(max(c.guaranteed.of(q, k), reach(v, q, k)))
}

// reach returns how much queue q could hold now: what it holds and what is free, within its maximum and the maxima of
// the queues above (ParentQueue.getResourceLimitsOfChild).
func reach(v *sched.View, q *sched.Queue, k sched.ResourceKind) int64 {
	if q.ID == 0 {
		return v.Capacity[k]
	}
	above := v.Queues[q.Parent]
	return min(q.Max[k], reach(v, above, k)-above.Used[k]+q.Used[k])
}

// Decide starts tasks where there is room, keeps nodes for big tasks, and takes lent resources back from queues when
// their owners want them.
func (c *capacity) Decide(p *sched.Plan) {
	if c.guaranteed.follow(p) {
		c.siblings.forget()
	}
	c.Keep.fill(p, &c.tree)
	if !c.Reclaim.looks(p) {
		return
	}
	for k := range sched.ResourceKind(sched.NumResources) {
		if c.has(k) {
			c.Reclaim.take(p, k, min(c.lacking(p, k), c.round*float64(p.Capacity[k])), 1+c.slack)
		}
	}
}

// lacking returns how much of kind k must be taken back: what queues want and would have if all lent resources were
// returned, less what is leaving already. It does not count what tasks hold beyond the capacity of nodes that have come
// to offer less.
func (c *capacity) lacking(p *sched.Plan, k sched.ResourceKind) (need float64) {
	c.Reclaim.divide(p, k, func(q *sched.Queue) theory.Claim {
		return theory.Claim{Weight: float64(c.guaranteed.of(q, k)), Max: float64(min(q.Demand[k], q.Max[k]))}
	})
	for _, q := range p.Queues {
		if q != nil && c.Reclaim.isLeaf(p, q) {
			need += max(0, c.Reclaim.share[q.ID]-float64(q.Used[k])) - float64(q.Leaving[k])
		}
	}
	return need - float64(max(0, p.Capacity[k]-p.Queues[0].Used[k]))
}
