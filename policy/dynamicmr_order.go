package policy

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/sched"
)

// A turnList has all jobs, for one kind of slots, in the order of the base at the last look. SEPB asks whether any of
// the jobs from one place to another has a task that waits. The answer costs a bit for each of these jobs, whatever
// they have done since the look.
type turnList struct {
	Jobs  []sched.JobID
	Turns sched.Per[int32] // by job: its place in Jobs, from 1
	Ends  []int32          // by QueueID: the place of the last of its jobs
	Reach int              // the first place before which no straggler has all the jobs that are checked for it

	// waits has, for maps and for reduces, a bit by place from 0. It is set if a task of the job waits, and may be set
	// if none does.
	waits [2][]uint64
}

// turn returns a job's place, from 1; 0: it has none.
func (l *turnList) turn(j *sched.Job) int {
	at, ok := l.Turns.Has(j)
	if !ok || *at == 0 || int(*at) > len(l.Jobs) || l.Jobs[*at-1] != j.ID {
		return 0
	}
	return int(*at)
}

// end returns the place of the last job of a queue; 0: it has none.
func (l *turnList) end(q sched.QueueID) int {
	if int(q) < len(l.Ends) {
		return int(l.Ends[q])
	}
	return 0
}

// note notes that tasks of st wait.
func (l *turnList) note(st *sched.Stage) {
	if len(l.Jobs) == 0 || st.Kind > sched.Reduce {
		return
	}
	if at := l.turn(st.Job); at > 0 {
		l.set(st.Kind, at-1)
	}
}

// set notes that a task of a kind waits in the job at place at, which counts from 0 here.
func (l *turnList) set(kind sched.StageKind, at int) {
	w := &l.waits[kind]
	if need := (len(l.Jobs) + 63) / 64; len(*w) < need {
		*w = append(*w, make([]uint64, need-len(*w))...)
	}
	(*w)[at/64] |= 1 << (at % 64)
}

// arrange replaces the list by jobs, which are in order.
func (l *turnList) arrange(jobs []jobTurn) {
	l.Jobs, l.Ends = l.Jobs[:0], l.Ends[:0]
	for i := range l.waits {
		clear(l.waits[i])
	}
	for at := range jobs {
		l.Jobs = append(l.Jobs, jobs[at].job.ID)
		*l.Turns.Of(jobs[at].job) = int32(at + 1)
		for int(jobs[at].queue) >= len(l.Ends) {
			l.Ends = append(l.Ends, 0)
		}
		l.Ends[jobs[at].queue] = int32(at + 1)
	}
	for at := range jobs {
		for _, st := range jobs[at].job.Stages {
			if st.Pending > 0 && st.Kind <= sched.Reduce {
				l.set(st.Kind, at)
			}
		}
	}
}

// anyWaits reports whether any of the jobs with places from 0 in [from, to) has a task of a kind that waits.
func (l *turnList) anyWaits(p *sched.Plan, kind sched.StageKind, from, to int) bool {
	words := l.waits[kind]
	to = min(to, 64*len(words))
	for at := from; at < to; at++ {
		rest := words[at/64] >> (at % 64)
		if rest == 0 {
			at |= 63
			continue
		}
		if at += bits.TrailingZeros64(rest); at >= to {
			return false
		}
		if waits(p.Job(l.Jobs[at]), kind) {
			return true
		}
		words[at/64] &^= 1 << (at % 64)
	}
	return false
}

// waits reports whether job j, which may be nil, has a task of a kind that waits.
func waits(j *sched.Job, kind sched.StageKind) bool {
	if j == nil || j.Ended {
		return false
	}
	return slices.ContainsFunc(j.Stages, func(st *sched.Stage) bool { return st.Pending > 0 && st.Kind == kind })
}

// A jobTurn is a job's turn.
type jobTurn struct {
	after int // the queue's place among the queues
	key   sched.Key
	queue sched.QueueID
	job   *sched.Job
}

// compareTurns orders jobs by after, then by key, then by submission.
func compareTurns(a, b jobTurn) int {
	if a.after != b.after {
		return a.after - b.after
	}
	return cmp.Or(a.key.Compare(b.key), cmp.Compare(a.job.ID, b.job.ID))
}

// A jobOrder is the order of all jobs at the last look for stragglers. It tells whether tasks that wait go before a
// second attempt.
type jobOrder struct {
	Lists [2]turnList // by kind of slots

	queues   *slotQueues
	lending  *lender
	perQueue bool    // only jobs of the straggler's queue are checked
	checked  float64 // part of the jobs that is checked
	turns    []jobTurn
}

// note notes that tasks of st wait.
func (o *jobOrder) note(st *sched.Stage) {
	if st.Pending > 0 {
		o.Lists[0].note(st)
		o.Lists[1].note(st)
	}
}

// arrange remembers the order of all jobs for each kind of slots for which one of the given stages with stragglers
// competes. It runs once a look and costs O(n log n) for n jobs. Without waiting tasks the order is empty, because
// nothing asks for it.
func (o *jobOrder) arrange(p *sched.Plan, stages []sched.StageID) {
	var suspected [2]bool
	for _, id := range stages {
		if k := kindOf(p.Stage(id)); isSlots(k) {
			suspected[sideOfSlots(k)] = true
		}
	}
	for i, k := range slotKinds {
		l := &o.Lists[i]
		o.turns = o.turns[:0]
		if suspected[i] && p.Queues[0].Pending() > 0 {
			o.listJobs(p, k)
		}
		l.arrange(o.turns)
		l.Reach = len(l.Jobs) + 1
		for _, id := range stages {
			if st := p.Stage(id); kindOf(st) == k {
				l.Reach = min(l.Reach, l.turn(st.Job)+o.window(p, st))
			}
		}
	}
	clear(o.turns[:cap(o.turns)]) // or it would keep jobs that are over
}

// listJobs lists all jobs: queue by queue as their turns are, in each as its jobs' are.
func (o *jobOrder) listJobs(p *sched.Plan, k sched.ResourceKind) {
	rank := o.rankQueues(p, k)
	for j := range p.Jobs() {
		st := j.Stages[0]
		for _, other := range j.Stages {
			if kindOf(other) == k {
				st = other
				break
			}
		}
		q := o.queues.queueOf(p, j)
		o.turns = append(o.turns, jobTurn{rank[q], o.queues.within(p.View, st, 1), q, j})
	}
	slices.SortFunc(o.turns, compareTurns)
}

// rankQueues returns the places of the queues in the order of their turns, by QueueID.
func (o *jobOrder) rankQueues(p *sched.Plan, k sched.ResourceKind) []int {
	rank, n := make([]int, len(p.Queues)), 0
	var walk func(q *sched.Queue)
	walk = func(q *sched.Queue) {
		n++
		rank[q.ID] = n
		var children []queueTurn
		for i, id := range q.Children {
			if c := p.Queues[id]; !c.User {
				children = append(children, queueTurn{o.queues.turn(c, k), i})
			}
		}
		slices.SortFunc(children, func(a, b queueTurn) int { return cmp.Or(a.key.Compare(b.key), a.at-b.at) })
		for _, c := range children {
			walk(p.Queues[q.Children[c.at]])
		}
	}
	walk(p.Queues[0])
	return rank
}

// A queueTurn is the turn of a child of a queue.
type queueTurn struct {
	key sched.Key
	at  int // among the children
}

// window returns how many jobs are checked for a straggler of st's job, its own included.
func (o *jobOrder) window(p *sched.Plan, st *sched.Stage) int {
	if o.perQueue {
		return theory.CheckedJobs(o.checked, int(p.Queues[o.queues.queueOf(p, st.Job)].Jobs))
	}
	return theory.CheckedJobs(o.checked, p.LiveJobs())
}

// before reports whether second attempts of stage b need not be checked against the job at place mine, which is in the
// given queue: the job of b comes earlier, and the jobs that are checked for it end before that place, or are all in
// another queue. It returns false if the job of b has no place, or a place from mine on.
func (o *jobOrder) before(p *sched.Plan, b *sched.Stage, mine int, queue sched.QueueID) bool {
	at := o.Lists[sideOfSlots(kindOf(b))].turn(b.Job)
	switch {
	case at == 0 || at >= mine:
		return false
	case o.perQueue && o.queues.queueOf(p, b.Job) != queue:
		return true
	}
	return mine >= at+o.window(p, b)
}

// tasksFirst reports whether the jobs that are checked for a straggler of kind k, from its own on, have tasks that wait
// and might use the slot. A job that has no place in the order yet counts as one that has.
func (o *jobOrder) tasksFirst(p *sched.Plan, st *sched.Stage, k sched.ResourceKind) bool {
	root, i := p.Queues[0], sideOfSlots(k)
	own, other := sched.Map, sched.Reduce
	if i == 1 {
		own, other = other, own
	}
	lends := o.lending.quota(p, i) > 0
	if o.checked == 0 || root.Count[own].Pending == 0 && !(lends && root.Count[other].Pending > 0) {
		return false
	}
	l := &o.Lists[i]
	at := l.turn(st.Job)
	if at == 0 {
		return true
	}
	from, to := at-1, min(at-1+o.window(p, st), len(l.Jobs))
	if o.perQueue {
		to = min(to, max(at, l.end(o.queues.queueOf(p, st.Job))))
	}
	return l.anyWaits(p, own, from, to) || lends && l.anyWaits(p, other, from, to)
}
