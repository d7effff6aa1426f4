package policy

import "github.com/sojourn-sched/sojourn/sched"

// flexEpochs says when slots are divided: once something has changed, but at most once in an epoch.
type flexEpochs struct {
	Dirty   bool            // slots are to be divided anew
	Next    sched.Time      // when at the earliest
	Divided sched.Resources // the capacity that was divided last

	every sched.Time // length of an epoch; 0: slots are divided at once
}

// notice sets Dirty if something has changed for which slots are to be divided anew: news of what stages want, the
// capacity, a job or what it asks for.
func (e *flexEpochs) notice(p *sched.Plan, news bool) {
	e.Dirty = e.Dirty || news || e.Divided != p.Capacity
	for i := range p.Events {
		switch p.Events[i].Kind {
		case sched.JobSubmitted, sched.JobEnded, sched.SpecChanged, sched.AsksChanged:
			e.Dirty = true
		}
	}
}

// noticeStages sets Dirty if a stage has begun, or is through, since slots were divided.
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

// due reports whether slots are to be divided at this instant, and notes that they are. Where they have to wait for the
// next epoch, it asks to be called then. While there are no jobs it waits for one: an epoch begins with a division, so
// that a call in the quiet time would move the epochs.
func (e *flexEpochs) due(p *sched.Plan) bool {
	switch {
	case !e.Dirty || p.LiveJobs() == 0:
		return false
	case p.Now < e.Next:
		p.Wake(e.Next)
		return false
	}
	e.Dirty, e.Divided = false, p.Capacity
	if e.every > 0 {
		e.Next = (p.Now/e.every + 1) * e.every
	}
	return true
}
