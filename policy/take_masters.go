package policy

import "github.com/sojourn-sched/sojourn/sched"

// Masters hold at most a part of the cluster (see [Order]), and jobs that come first in the order may find it held by
// the masters of later ones, until these jobs are over. With preempt=kill such a master gives way if its job has
// started nothing else yet: all that is lost is the start of a container. The job starts its master again when its turn
// comes. A job that has run a task keeps its master: the end of a master ends all that its job runs.

// initIdle sets up the line of masters that may give way.
func (t *taker) initIdle(in parting) {
	t.idle.init(kindGroup, in.parts, func(v *sched.View, st *sched.Stage, part int) (sched.Key, bool) {
		if st.Kind != sched.Master || st.Running-st.Leaving <= 0 || in.part(st) != part || startedTasks(st.Job) ||
			safe(v, st) {
			return sched.Key{}, false
		}
		return backwards(in.key(v, st, 0), st), true
	})
	t.idle.whole = t.victims.whole
}

// startedTasks reports whether a job has started something beside its masters. O(stages of the job).
func startedTasks(j *sched.Job) bool {
	for _, st := range j.Stages {
		if st.Kind != sched.Master && st.Running+st.Suspended+st.Done > 0 {
			return true
		}
	}
	return false
}

// comes returns how much more masters will hold when promise c has been used: its attempt has left, and its stage has
// started a task there.
func comes(p *sched.Plan, c promise) (more sched.Resources) {
	if st := p.Stage(c.Stage); st != nil && st.Kind == sched.Master {
		more = st.Spec.PerTask
	}
	if leaving(p, c) {
		if a := p.Attempt(c.Attempt); a.Stage.Kind == sched.Master {
			more = more.Sub(p.Amount(a.Holds))
		}
	}
	return more
}

// exchange takes back masters of the last jobs in the order, for the first jobs whose masters wait because masters hold
// all that they may. O(log n) for each.
func (t *taker) exchange(p *sched.Plan, order *turns) {
	if p.Queues[0].Count[sched.Master].Pending == 0 {
		return
	}
	order.sync(p)
	t.idle.sync(p)
	t.passed = 0
	for k := range sched.ResourceKind(sched.NumResources) {
		for t.exchangeOne(p, order, k) {
		}
	}
}

// exchangeOne takes one master back, or passes over one that waits or one that runs; false: there is no more to do. It
// passes over a master that the maximum of a queue holds back if the last one that runs is not of that queue.
func (t *taker) exchangeOne(p *sched.Plan, order *turns, k sched.ResourceKind) bool {
	st, last := order.line.head(mastersOf(groupOf(0, k))), t.idle.head(int(k))
	if st == nil || last == nil || !t.rank(p.View, st, 1).Before(t.rank(p.View, last, 0)) {
		return false
	}
	if *t.Promised.Of(st) >= st.Pending || order.masters.oneMoreFits(p.View, st, t.coming) {
		order.skip(st)
		return true
	}
	if full := t.full(p, st, nil, st.Spec.PerTask); full != 0 && !within(p.View, last.Job.Queue, full) {
		return t.pass(order, st)
	}
	for a := range p.Attempts(last) {
		if a.State == sched.Running && order.masters.oneMoreFits(p.View, st, t.coming.Sub(p.Amount(a.Holds))) &&
			t.makesRoom(p, st, a, st.Spec.PerTask) && t.underMax(p, st, a, st.Spec.PerTask) && t.takeFrom(p, st, a) {
			return true
		}
	}
	t.idle.skip(last)
	return true
}
