package policy

import "github.com/sojourn-sched/sojourn/sched"

// flexEpochs says when slots are divided among jobs: after a change, but at most once in an epoch, and a bounded number
// of times at one instant.
type flexEpochs struct {
	Dirty   bool            // something has changed since the last division
	Next    sched.Time      // the earliest instant of the next division
	Divided sched.Resources // the capacity at the last division
	Burst   burst           // divisions of one instant

	every sched.Time // the length of an epoch; 0: every change leads to a division at once
}

// notice sets Dirty if something has changed that calls for a division: what stages want (news), the capacity, a job,
// or what a job asks for.
func (e *flexEpochs) notice(p *sched.Plan, news bool) {
	e.Dirty = e.Dirty || news || e.Divided != p.Capacity
	for i := range p.Events {
		switch p.Events[i].Kind {
		case sched.JobSubmitted, sched.JobEnded, sched.SpecChanged, sched.AsksChanged:
			e.Dirty = true
		}
	}
}

// noticeStages sets Dirty if a stage has begun, or is done, since the last division.
func (e *flexEpochs) noticeStages(p *sched.Plan, d *flexDivision) {
	for i := range p.Events {
		switch ev := &p.Events[i]; ev.Kind {
		case sched.AttemptDone:
			if a := p.Attempt(ev.Attempt); a != nil {
				e.Dirty = e.Dirty || d.stale(a.Stage.Job)
			}
		case sched.TaskUndone:
			if j := p.Job(ev.Job); j != nil {
				e.Dirty = e.Dirty || d.stale(j)
			}
		}
	}
}

// due reports whether slots must be divided at this instant, and notes that they are. If the division must wait for the
// next epoch, due asks the core for a Step then. Without jobs there is no division: epochs count from a division, so a
// division at a quiet time would shift them.
func (e *flexEpochs) due(p *sched.Plan) bool {
	switch {
	case !e.Dirty || p.LiveJobs() == 0:
		return false
	case p.Now < e.Next:
		p.Wake(e.Next)
		return false
	case e.every == 0 && e.Burst.tooLong(p):
		return false
	}
	e.Dirty, e.Divided = false, p.Capacity
	if e.every > 0 {
		e.Next = (p.Now/e.every + 1) * e.every
	}
	return true
}

// waits reports whether tasks wait for a division at the next instant, because there were too many in this one.
func (e *flexEpochs) waits(p *sched.Plan) bool { return e.Dirty && e.every == 0 && p.LiveJobs() > 0 }
