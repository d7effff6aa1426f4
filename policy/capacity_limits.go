package policy

import (
	"math"

	"github.com/sojourn-sched/sojourn/sched"
)

// guarantees are the amounts that policy capacity guarantees to queues.
type guarantees struct {
	list    []sched.Resources // by queue
	total   sched.Resources   // the capacity for which list was computed
	changes int               // View.QueueChanges for which list was computed
}

// of returns how much of kind k queue q is guaranteed.
func (g *guarantees) of(q *sched.Queue, k sched.ResourceKind) int64 { return g.list[q.ID][k] }

// part returns the part of its guarantee that queue q uses.
func (g *guarantees) part(q *sched.Queue, k sched.ResourceKind) float64 {
	if has := g.of(q, k); has > 0 {
		return float64(q.Used[k]) / float64(has)
	}
	return math.MaxFloat64
}

// follow computes the guarantees again if the capacity or the queues have changed, and reports whether they have. The
// guarantee of a queue is that of its spec. Queues whose specs have none share by weight what their siblings leave.
func (g *guarantees) follow(p *sched.Plan) (changed bool) {
	if g.total == p.Capacity && len(g.list) == len(p.Queues) && g.changes == p.QueueChanges {
		return false
	}
	g.total, g.changes = p.Capacity, p.QueueChanges
	g.list = append(g.list[:0], make([]sched.Resources, len(p.Queues))...)
	g.list[0] = p.Capacity
	for _, q := range p.Queues {
		if q == nil || q.User {
			continue
		}
		for k := range q.Used {
			g.below(p, q, k)
		}
	}
	return true
}

// below computes the guarantees of the children of q for kind k.
func (g *guarantees) below(p *sched.Plan, q *sched.Queue, k int) {
	rest, weights := g.list[q.ID][k], 0.0
	says := func(o *sched.Queue) (int64, bool) {
		switch m := o.Spec.Min; {
		case m.Amount[k] > 0:
			return m.Amount[k], true
		case m.Part > 0:
			return int64(m.Part * float64(g.list[q.ID][k])), true
		}
		return 0, false
	}
	for _, id := range q.Children {
		if o := p.Queues[id]; !o.User {
			if amount, ok := says(o); ok {
				g.list[id][k] = amount
				rest -= amount
			} else {
				weights += o.Weight()
			}
		}
	}
	for _, id := range q.Children {
		if o := p.Queues[id]; !o.User {
			if _, ok := says(o); !ok {
				g.list[id][k] = int64(float64(max(0, rest)) * o.Weight() / weights)
			}
		}
	}
}

// userLimits says how much of a queue a user may hold (docs/spec/policies.md#capacity).
type userLimits struct {
	userLines
	least   float64 // parameter user-min: the part of the queue that a user may always hold
	factor  float64 // parameter user-factor: the most that a user may hold, as a multiple of the queue's guarantee
	of      *guarantees
	masters *masterLimit
	largest [sched.NumResources]int64 // largest task that has waited
}

// hear notes the size of the tasks of a stage that waits.
func (l *userLimits) hear(st *sched.Stage) {
	for k, each := range &st.Spec.PerTask {
		l.largest[k] = max(l.largest[k], each)
	}
}

// overMasters returns a kind of resource whose limit the masters of a user would exceed if st, a master that waits,
// started; false: there is none. A user may always have one master.
func (l *userLimits) overMasters(v *sched.View, st *sched.Stage, active int) (sched.ResourceKind, bool) {
	return beyond(v.Queues[st.Job.Queue].Masters, st, func(k sched.ResourceKind) float64 {
		return l.mostMasters(v, st, k, active)
	})
}

// mostMasters returns how much of kind k the masters of the user of st may hold: the part that masters may hold of the
// queue, times what the user may hold of the queue's guarantee (LeafQueue.getUserAMResourceLimitPerPartition).
func (l *userLimits) mostMasters(v *sched.View, st *sched.Stage, k sched.ResourceKind, active int) float64 {
	q := v.Queues[v.Queues[st.Job.Queue].Parent]
	part := l.masters.partOf(v, q)
	if part >= 1 {
		return math.MaxFloat64
	}
	return part * max(1/float64(active), l.least) * l.factor * float64(l.of.of(q, k))
}

// mayStart reports whether a task of st may start: its user is below the limit or holds nothing, and, if st is a
// master, the limits of masters allow one more.
func (l *userLimits) mayStart(v *sched.View, st *sched.Stage, active int) bool {
	if !l.mayHaveMore(v, st, active) {
		return false
	}
	if !l.masters.bounds(st) {
		return true
	}
	_, over := l.overMasters(v, st, active)
	return !over && l.masters.allow(v, v.Queues[v.Queues[st.Job.Queue].Parent], st)
}

// mayHaveMore reports whether the user of st is below the limit, or holds nothing.
func (l *userLimits) mayHaveMore(v *sched.View, st *sched.Stage, active int) bool {
	u, k := v.Queues[st.Job.Queue], kindOf(st)
	return u.Used[k] <= 0 || float64(u.Used[k]) < l.limit(v.Queues[u.Parent], k, st.Spec.PerTask[k], active)
}

// limit returns how much of kind k a user, one of active users of queue q, may hold to start a task of a size. It does
// not fall with the size.
func (l *userLimits) limit(q *sched.Queue, k sched.ResourceKind, each int64, active int) float64 {
	g := float64(l.of.of(q, k))
	current := g
	if q.Used[k] >= l.of.of(q, k) {
		current = float64(q.Used[k] + each)
	}
	return min(max(current/float64(active), current*l.least), g*l.factor)
}

// active returns how many users of q want more of kind k.
func active(v *sched.View, q *sched.Queue, k sched.ResourceKind) (n int) {
	for _, id := range q.Children {
		if u := v.Queues[id]; u.User && u.Demand[k] > u.Used[k] {
			n++
		}
	}
	return n
}
