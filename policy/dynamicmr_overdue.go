package policy

import (
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// overdueKiller ends stragglers that have no second attempt and have run much longer than the finished tasks of their
// stage. Their tasks start again before everything else.
type overdueKiller struct {
	Ran    sched.Per[ranTasks] // by stage
	Killed sched.Per[[]int32]  // by stage: tasks with a killed attempt
	Urgent []sched.StageID     // stages that are to start such a task again

	tree    *tree // where its placer puts tasks
	lending *lender
	on      bool
	every   bool    // tasks that LATE does not take for stragglers are ended as well
	after   float64 // how many times the mean
	running []sched.AttemptID
}

// ranTasks counts the attempts of a stage that succeeded, and sums their times.
type ranTasks struct {
	Tasks int64
	Time  sched.Time // of all together
}

// leastFinished is how many tasks of a stage must have been finished before another is held against them.
const leastFinished = 3

func newOverdue(a Args, t *tree, l *lender) overdueKiller {
	rule := a.Choice("overdue")
	return overdueKiller{tree: t, lending: l, on: a.Choice("sepb") != "off" && rule != "wait", every: rule == "every",
		after: a.Number("overdue-after")}
}

// learn adds the times of the attempts that have succeeded in this Step to those of their stages. Later Steps do not
// tell of them, so each Decide must call it.
func (o *overdueKiller) learn(p *sched.Plan) {
	if !o.on {
		return
	}
	for i := range p.Events {
		if e := &p.Events[i]; e.Kind == sched.AttemptDone && e.Outcome == sched.OK {
			if a := p.Attempt(e.Attempt); a != nil {
				r := o.Ran.Of(a.Stage)
				r.Tasks++
				r.Time += p.Now - a.Start
			}
		}
	}
}

// kill ends what is overdue, each task once: of the stragglers of s, or of all attempts that run.
func (o *overdueKiller) kill(p *sched.Plan, s *sepb) {
	if !o.on || p.Can&sched.CanKill == 0 {
		return
	}
	if !o.every {
		for _, id := range s.Stages {
			if st := p.Stage(id); st != nil {
				o.killOf(p, st, *s.Slow.Of(st))
			}
		}
		return
	}
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			if st.Running == 0 || st.Kind == sched.Master {
				continue
			}
			o.running = o.running[:0]
			for a := range p.Attempts(st) {
				o.running = append(o.running, a.ID)
			}
			o.killOf(p, st, o.running)
		}
	}
}

// killOf ends those of the given attempts of st that have no second attempt and are overdue. It ends each task once.
func (o *overdueKiller) killOf(p *sched.Plan, st *sched.Stage, attempts []sched.AttemptID) {
	r := o.Ran.Of(st)
	for _, id := range attempts {
		a := p.Attempt(id)
		if a == nil || a.State != sched.Running || p.Twins(a) > 1 || r.Tasks < leastFinished {
			continue
		}
		killed := o.Killed.Of(st)
		if float64(p.Now-a.Start)*float64(r.Tasks) <= o.after*float64(r.Time) ||
			slices.Contains(*killed, a.Task) ||
			!p.Kill(a, 0) {
			continue
		}
		*killed = append(*killed, a.Task)
		if !slices.Contains(o.Urgent, st.ID) {
			o.Urgent = append(o.Urgent, st.ID)
		}
	}
}

// startAgain starts again what was killed.
func (o *overdueKiller) startAgain(p *sched.Plan) {
	o.Urgent = slices.DeleteFunc(o.Urgent, func(id sched.StageID) bool {
		st := p.Stage(id)
		if st == nil {
			return true
		}
		for st.Pending > 0 {
			if !o.tree.nearest(p, st, sched.OffSwitch, sched.Where{}) && !o.startLent(p, st) {
				return false
			}
		}
		return st.Leaving == 0
	})
}

// startLent starts a task of st on an idle slot of the other kind, if one may be lent, and reports whether it did.
func (o *overdueKiller) startLent(p *sched.Plan, st *sched.Stage) bool {
	k := kindOf(st)
	if !lendable(st, k) || !o.lending.mayLend(otherSlots(k)) ||
		!o.tree.nearest(p, st, sched.OffSwitch, sched.Where{Shape: o.lending.shape(p, st)}) {
		return false
	}
	o.lending.extra[sideOfSlots(otherSlots(k))]--
	return true
}
