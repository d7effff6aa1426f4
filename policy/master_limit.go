package policy

import (
	"fmt"
	"math"

	"github.com/sojourn-sched/sojourn/sched"
)

// A masterLimit bounds the part of a queue that ApplicationMasters may hold (FairScheduler's maxAMShare,
// CapacityScheduler's maximum-am-resource-percent). A master holds its container until the last task of its job has
// ended. Without a bound the masters of many jobs could fill the queue, and wait for each other forever.
//
// Every resource that a master takes counts: where masters hold all vcores, memory that is left is of no use.
//
// Masters that wait are kept in a separate order, so that those which may not start are not looked at one by one.
type masterLimit struct {
	// part of a queue, where the queue's spec does not give one; 1: no limit
	part float64
	// amount of a resource that a queue has; nil: masters are not bounded
	whole func(v *sched.View, q *sched.Queue, k sched.ResourceKind) float64
}

// mastersParam returns the parameter masters with a default and a meaning.
func mastersParam(standard, meaning string) Param {
	return Param{Name: "masters", Kind: Number, Default: standard, Max: 1,
		Meaning: "part of " + meaning + " that ApplicationMasters may hold, unless the queue sets its own part; " +
			"one may always start; 1: no limit"}
}

// mastersPart is the part of the cluster that masters may hold where nothing is said, as in Hadoop's Fair Scheduler.
const mastersPart = 0.5

// MasterMemory is what an [Order] with MasterParams remembers, for Card.Memory.
const MasterMemory = "nodes kept for big tasks (with big)"

// MasterParams appends the parameters of a policy that embeds an [Order] and lets users say how much of the cluster
// ApplicationMasters may hold, and whether nodes are kept for them: masters and big.
func MasterParams(own ...Param) []Param {
	return append(own, mastersParam("0.5", "the cluster"), keepingFor(keptForMasters))
}

// bounds reports whether st is a master whose start is bounded.
func (l *masterLimit) bounds(st *sched.Stage) bool { return l.whole != nil && st.Kind == sched.Master }

// allow reports whether a queue may have one master more.
func (l *masterLimit) allow(v *sched.View, q *sched.Queue, st *sched.Stage) bool {
	_, over := l.over(v, q, st)
	return !over
}

// oneMoreFits reports whether master st may start once the masters of the cluster hold more beyond what they hold now.
// It is for policies that bound all masters together. It returns true for a stage that is not bounded.
func (l *masterLimit) oneMoreFits(v *sched.View, st *sched.Stage, more sched.Resources) bool {
	if !l.bounds(st) {
		return true
	}
	q := v.Queues[0]
	_, over := beyond(q.Masters.Add(more), st, func(k sched.ResourceKind) float64 { return l.most(v, q, k) })
	return !over
}

// over returns a kind of resource whose limit the masters of queue q would exceed if the master st started too; false:
// there is none.
func (l *masterLimit) over(v *sched.View, q *sched.Queue, st *sched.Stage) (sched.ResourceKind, bool) {
	return beyond(q.Masters, st, func(k sched.ResourceKind) float64 { return l.most(v, q, k) })
}

// beyond returns the first kind of resource that would be above its limit (most) if st were added to what masters hold;
// false: there is none, or no master holds anything yet.
func beyond(held sched.Resources, st *sched.Stage, most func(sched.ResourceKind) float64) (sched.ResourceKind, bool) {
	if held == (sched.Resources{}) {
		return 0, false
	}
	for i, n := range st.Spec.PerTask {
		if k := sched.ResourceKind(i); n > 0 && float64(held[k]+n) > most(k) {
			return k, true
		}
	}
	return 0, false
}

// most returns how much of kind k the masters of queue q may hold.
func (l *masterLimit) most(v *sched.View, q *sched.Queue, k sched.ResourceKind) float64 {
	if part := l.partOf(v, q); part < 1 {
		return part * l.whole(v, q, k)
	}
	return math.MaxFloat64
}

// partOf returns the part of queue q, or of the queue of user q, that masters may hold.
func (l *masterLimit) partOf(v *sched.View, q *sched.Queue) float64 {
	if q.User {
		q = v.Queues[q.Parent]
	}
	if q.Spec.Masters > 0 {
		return q.Spec.Masters
	}
	return l.part
}

// withheld says in words why a master may not start, where all masters together are bounded; "": it may.
func (l *masterLimit) withheld(v *sched.View, st *sched.Stage) string {
	if q := v.Queues[0]; l.bounds(st) && !l.allow(v, q, st) {
		return l.refusal(v, q, st)
	}
	return ""
}

// refusal says in words why a queue may not have one master more.
func (l *masterLimit) refusal(v *sched.View, q *sched.Queue, st *sched.Stage) string {
	k, _ := l.over(v, q, st)
	return fmt.Sprintf("masters of queue %s hold %d %v of at most %.0f, and one more takes %d", v.Path(q), q.Masters[k],
		k, l.most(v, q, k), st.Spec.PerTask[k])
}

// ofAll returns the whole cluster's amount of kind k, whatever the queue.
func ofAll(v *sched.View, _ *sched.Queue, k sched.ResourceKind) float64 {
	return float64(v.Capacity[k])
}

// first returns the one of two stages that comes first in index x; nil: neither may start. master is a master, and
// counts only if the cluster may have one more. Both may be nil.
func (l *masterLimit) first(v *sched.View, x *sched.Index, st, master *sched.Stage) *sched.Stage {
	switch {
	case master == nil || !l.allow(v, v.Queues[0], master):
		return st
	case st == nil:
		return master
	}
	a, _ := x.Position(master)
	b, _ := x.Position(st)
	if a.Before(b) || !b.Before(a) && earlier(master.ID, st.ID) {
		return master
	}
	return st
}

// weighted computes what queues have by weight. From the root down, each queue shares with its siblings that have jobs,
// by weight, and has at most its maximum. This costs O(depth), because the sums of weights follow the jobs that come
// and go.
type weighted struct {
	sums    []int64 // by parent, of what its children count: in millionths, so that the order of adding is no matter
	counts  []int64 // by queue: its weight, if it has jobs
	known   bool
	changes int // of the configured queues, that sums know of
}

// of returns how much of kind k queue q has by weight.
func (w *weighted) of(v *sched.View, q *sched.Queue, k sched.ResourceKind) float64 {
	share := float64(v.Capacity[k])
	for at := q; at.ID != 0; at = v.Queues[at.Parent] {
		if w.counts[at.ID] > 0 {
			share *= float64(w.counts[at.ID]) / float64(w.sums[at.Parent])
		}
	}
	return min(share, float64(q.Max[k]))
}

// follow brings the sums of weights up to date. It does nothing until the first master waits.
func (w *weighted) follow(p *sched.Plan) {
	if !w.known && p.Queues[0].Count[sched.Master].Pending == 0 {
		return
	}
	moved := false
	for i := range p.Events {
		moved = moved || p.Events[i].Kind == sched.SpecChanged
	}
	if !w.known || moved || w.changes != p.QueueChanges {
		*w = weighted{known: true, changes: p.QueueChanges}
		for _, q := range p.Queues {
			if q != nil && q.ID != 0 {
				w.count(q)
			}
		}
		return
	}
	for i := range p.Events {
		switch e := &p.Events[i]; e.Kind {
		case sched.JobSubmitted, sched.JobEnded:
			if j := p.Job(e.Job); j != nil {
				for q := p.Queues[j.Queue]; q.ID != 0; q = p.Queues[q.Parent] {
					w.count(q)
				}
			}
		}
	}
}

// count adds the weight of queue q to the sum of its siblings if it has jobs, or takes the weight off if it has none.
func (w *weighted) count(q *sched.Queue) {
	for n := max(q.ID, q.Parent); int(n) >= len(w.counts); {
		w.counts, w.sums = append(w.counts, 0), append(w.sums, 0)
	}
	now := int64(0)
	if q.Jobs > 0 {
		now = max(1, int64(math.Round(q.Weight()*1e6)))
	}
	w.sums[q.Parent] += now - w.counts[q.ID]
	w.counts[q.ID] = now
}
