package policy

import (
	"math"

	"github.com/sojourn-sched/sojourn/sched"
)

// leads bound what masters hold of a queue to a part of its share (FairScheduler's maxAMShare): else the masters of many jobs, which hold their room until
// the last task of their job has ended, leave none for tasks, and all wait for each other.
//
// A queue's share is what it has by weight among the siblings that have jobs, level by level, and at most its maximum. It is found in O(depth): the sums
// of weights follow the jobs that come and go. Masters that wait are in an order of their own, so that those which may not start are not looked at one by one.
type leads struct {
	part float64 // of the share; zero: masters are like all others

	sums    []int64 // by parent, of what its children count: in millionths, so that the order of adding is no matter
	counts  []int64 // by queue: its weight, if it has jobs
	known   bool
	changes int // of the configured queues, that sums know of
}

// newLeads reads the parameter of leading: all of the share is no limit.
func newLeads(a Args) leads {
	if part := a.Number(leading.Name); part < 1 {
		return leads{part: part}
	}
	return leads{}
}

// leading is the parameter of policies that bound masters.
var leading = Param{Name: "masters", Kind: Number, Default: "0.5", Max: 1,
	Meaning: "part of a queue's share that ApplicationMasters may hold, of which one may always start (maxAMShare); 1: no limit"}

// mastersOf is the group of the masters that wait in a group.
func mastersOf(group int) int { return -1 - group }

// limit reports whether a stage is of those that are bounded.
func (l *leads) limit(st *sched.Stage) bool { return l.part > 0 && st.Kind == sched.Master }

// allow reports whether a queue may have one master more.
func (l *leads) allow(v *sched.View, q *sched.Queue, st *sched.Stage) bool {
	k := kindOf(st)
	if q.Masters[k] == 0 {
		return true
	}
	share := float64(v.Capacity[k])
	for of := q; of.ID != 0; of = v.Queues[of.Parent] {
		if l.counts[of.ID] > 0 {
			share *= float64(l.counts[of.ID]) / float64(l.sums[of.Parent])
		}
	}
	return float64(q.Masters[k]+st.Spec.PerTask[k]) <= l.part*min(share, float64(q.Max[k]))
}

// follow brings the sums up to date.
func (l *leads) follow(p *sched.Plan) {
	if l.part == 0 {
		return
	}
	moved := false
	for i := range p.Events {
		moved = moved || p.Events[i].Kind == sched.SpecChanged
	}
	if !l.known || moved || l.changes != p.QueueChanges {
		*l = leads{part: l.part, known: true, changes: p.QueueChanges}
		for _, q := range p.Queues {
			if q != nil && q.ID != 0 {
				l.count(q)
			}
		}
		return
	}
	for i := range p.Events {
		switch e := &p.Events[i]; e.Kind {
		case sched.JobSubmitted, sched.JobEnded:
			if j := p.Job(e.Job); j != nil {
				for q := p.Queues[j.Queue]; q.ID != 0; q = p.Queues[q.Parent] {
					l.count(q)
				}
			}
		}
	}
}

// count has a queue count among its siblings, or not any more.
func (l *leads) count(q *sched.Queue) {
	for n := max(q.ID, q.Parent); int(n) >= len(l.counts); {
		l.counts, l.sums = append(l.counts, 0), append(l.sums, 0)
	}
	now := int64(0)
	if q.Jobs > 0 {
		now = max(1, int64(math.Round(q.Weight()*1e6)))
	}
	l.sums[q.Parent] += now - l.counts[q.ID]
	l.counts[q.ID] = now
}
