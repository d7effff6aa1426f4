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
	after   float64 // how many times the mean
}

// ranTasks are attempts that succeeded.
type ranTasks struct {
	Tasks int64
	Time  sched.Time // of all together
}

// leastFinished is how many tasks of a stage must have been finished before another is held against them.
const leastFinished = 3

func newOverdue(a Args, t *tree, l *lender) overdueKiller {
	return overdueKiller{tree: t, lending: l, on: a.Choice("sepb") != "off" && a.Choice("overdue") == "kill",
		after: a.Number("overdue-after")}
}

// learn remembers how long tasks took.
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

// kill ends the stragglers of the stages in s that are overdue, each task's once.
func (o *overdueKiller) kill(p *sched.Plan, s *sepb) {
	if !o.on || p.Can&sched.CanKill == 0 {
		return
	}
	for _, id := range s.Stages {
		st := p.Stage(id)
		if st == nil {
			continue
		}
		r := o.Ran.Of(st)
		for _, a := range *s.Slow.Of(st) {
			a := p.Attempt(a)
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
			if !slices.Contains(o.Urgent, id) {
				o.Urgent = append(o.Urgent, id)
			}
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

func (o *overdueKiller) startLent(p *sched.Plan, st *sched.Stage) bool {
	k := kindOf(st)
	if !lendable(st, k) || !o.lending.mayLend(otherSlots(k)) ||
		!o.tree.nearest(p, st, sched.OffSwitch, sched.Where{Shape: o.lending.shape(p, st)}) {
		return false
	}
	o.lending.extra[sideOfSlots(otherSlots(k))]--
	return true
}
