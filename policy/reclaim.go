package policy

import (
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/sched"
)

// A reclaimer kills tasks of queues that hold more than their shares, for queues that hold less. It begins with the
// queue farthest above its share, there with the last job in the order, and there with the youngest task. It kills no
// task that would bring its queue below its share. Queues are the configured ones without queues below them; their
// users are not told apart.
type reclaimer struct {
	ticker

	on      bool
	tree    *tree
	check   sched.Time // between two looks
	grace   sched.Time
	victims sched.Index // the last first, in one group for each queue and kind of resource
	share   []float64   // by queue, of the kind looked at
	claims  []theory.Claim
}

// init reads the parameters preempt and check. The value must not be copied after that.
func (r *reclaimer) init(a Args, t *tree) {
	r.on, r.check, r.tree = a.Choice("preempt") == optKill.Name, a.Time("check"), t
	r.victims.Group = func(st *sched.Stage) int { return groupOf(t.view.Queues[st.Job.Queue].Parent, kindOf(st)) }
	r.victims.Key = func(v *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) {
		if st.Running-st.Leaving <= 0 || st.Kind == sched.Master {
			return sched.Key{}, false
		}
		return backwards(t.rank(v, st, 0), st), true
	}
}

// looks reports whether it is time to look for queues that hold too little.
func (r *reclaimer) looks(p *sched.Plan) bool { return r.on && r.due(p, r.check) }

// divide computes what each queue would have of kind k if room could be moved at will: weighted max-min from the root
// down.
func (r *reclaimer) divide(p *sched.Plan, k sched.ResourceKind, claim func(*sched.Queue) theory.Claim) {
	r.share = append(r.share[:0], make([]float64, len(p.Queues))...)
	r.share[0] = float64(p.Capacity[k])
	r.below(p, p.Queues[0], claim)
}

// configured returns a claim for divide: a queue's configured weight and minimum, at most what it wants of kind k.
func configured(k sched.ResourceKind) func(*sched.Queue) theory.Claim {
	return func(q *sched.Queue) theory.Claim {
		demand := float64(min(q.Demand[k], q.Max[k]))
		return theory.Claim{Weight: q.Weight(), Min: min(float64(q.Min[k]), demand), Max: demand}
	}
}

// below divides the share of queue q among the queues below it.
func (r *reclaimer) below(p *sched.Plan, q *sched.Queue, claim func(*sched.Queue) theory.Claim) {
	r.claims = r.claims[:0]
	for _, id := range q.Children {
		if c := p.Queues[id]; !c.User {
			r.claims = append(r.claims, claim(c))
		}
	}
	if len(r.claims) == 0 {
		return
	}
	shares := theory.MaxMin(r.share[q.ID], r.claims)
	i := 0
	for _, id := range q.Children {
		if c := p.Queues[id]; !c.User {
			r.share[id] = shares[i]
			i++
		}
	}
	for _, id := range q.Children {
		if c := p.Queues[id]; !c.User {
			r.below(p, c, claim)
		}
	}
}

// isLeaf reports whether jobs, and no other configured queues, are in q.
func (r *reclaimer) isLeaf(p *sched.Plan, q *sched.Queue) bool {
	if q.ID == 0 || q.User {
		return false
	}
	for _, id := range q.Children {
		if !p.Queues[id].User {
			return false
		}
	}
	return true
}

// spared reports whether nothing may be taken back from the jobs of queue q: it says so, or one above it. O(depth).
func spared(v *sched.View, q *sched.Queue) bool {
	for ; q.ID != 0; q = v.Queues[q.Parent] {
		if q.Spec.Spared {
			return true
		}
	}
	return false
}

// staying returns how much of kind k a queue holds and has not been asked to give back.
func staying(q *sched.Queue, k sched.ResourceKind) float64 { return float64(q.Used[k] - q.Leaving[k]) }

// take kills tasks until need of kind k is free or leaving, or no queue has too much; a queue may keep slack times its
// share.
func (r *reclaimer) take(p *sched.Plan, k sched.ResourceKind, need, slack float64) {
	r.victims.Sync(p)
	for need > 0 {
		q := r.most(p, k, slack)
		if q == nil {
			return
		}
		st := r.victims.Head(groupOf(q.ID, k))
		if a := youngest(p, st); a == nil || staying(q, k)-float64(p.Amount(a.Holds)[k]) < r.share[q.ID] ||
			!p.Kill(a, r.grace) {
			r.victims.Skip(st)
		} else {
			need -= float64(p.Amount(a.Holds)[k])
		}
	}
}

// most returns the queue that is farthest above its share among those that something may be taken from; nil: none.
func (r *reclaimer) most(p *sched.Plan, k sched.ResourceKind, slack float64) (most *sched.Queue) {
	excess := 0.0
	for _, q := range p.Queues {
		if q == nil || !r.isLeaf(p, q) || staying(q, k) <= r.share[q.ID]*slack || spared(p.View, q) {
			continue
		}
		if e := staying(q, k) - r.share[q.ID]; e > excess && r.victims.Head(groupOf(q.ID, k)) != nil {
			most, excess = q, e
		}
	}
	return most
}

// youngest returns the attempt of st that started last among those not leaving; nil: none.
func youngest(p *sched.Plan, st *sched.Stage) *sched.Attempt {
	for a := range p.Attempts(st) {
		if a.State == sched.Running {
			return a
		}
	}
	return nil
}
