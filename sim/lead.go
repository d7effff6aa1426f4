package sim

import (
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// leads are the containers of ApplicationMasters: a job's master starts, asks for the job's tasks, and ends with the last of them. A master that is lost
// with its node takes the tasks that run with it; those that are done stay done (Hadoop's recovery of jobs), and the next master asks for the rest.
type leads struct {
	e       *engine
	some    bool          // some job has had a master
	check   []*sched.Job  // of which a task has ended in this Step
	orphans []sched.JobID // whose master was lost, until another has started
}

// admit notes whether a job has tasks that its master must ask for. Without such, as in a record of applications, a master is a task like others.
func (l *leads) admit(j *job, spec *sched.JobSpec) {
	j.led = slices.ContainsFunc(spec.Stages, func(st sched.StageSpec) bool { return st.Asked })
	l.some = l.some || j.led
}

// leads reports whether an attempt is a master that asks for tasks.
func (r *attempt) leads() bool { return r.job.led && r.core.Stage.Kind == sched.Master }

// launched begins an attempt that is a master, and ends one whose master was lost in this very instant; of others it reports false.
func (l *leads) launched(r *attempt) bool {
	switch st := r.core.Stage; {
	case r.leads():
		r.job.master = r.id
		start := r.job.truth.Time(st.ID.Index, r.core.Task)
		if r.job.truth.Uber {
			start += r.job.serial(st.Job.Spec)
		}
		r.whole = l.e.stretch(r, start)
		r.due = r.whole
		l.e.compute(r)
	case st.Spec.Asked && r.job.master == 0:
		r.state = frozen
		l.e.kill(r.id, 0)
	default:
		return false
	}
	return true
}

// due says that a master has started, or that it has done all the work of an uber job.
func (l *leads) due(r *attempt) {
	j, row := r.job, r.core.Stage.Job
	if j.truth.Uber {
		*l.e.tell(r) = sched.Event{Kind: sched.JobEnded, Job: j.id, Outcome: sched.OK}
		l.e.end(r)
		l.e.endProbe(row)
		return
	}
	r.state, r.due = serving, 0
	l.orphans = slices.DeleteFunc(l.orphans, func(id sched.JobID) bool { return id == j.id })
	for i, st := range row.Stages {
		if st.Spec.Asked {
			l.e.evs = append(l.e.evs, asks(j.id, i, st.Total-st.Done-st.Running-st.Suspended))
		}
	}
	l.dismiss(row)
}

func asks(job sched.JobID, stage int, pending int32) sched.Event {
	return sched.Event{Kind: sched.AsksChanged, Job: job, Body: &sched.Asks{Stage: int32(stage), Pending: pending}}
}

// serial returns how long the tasks of a job take one after the other.
func (j *job) serial(spec *sched.JobSpec) (d sched.Time) {
	for i := range spec.Stages {
		for task := int32(1); task <= spec.Stages[i].Tasks && spec.Stages[i].Kind != sched.Master; task++ {
			d += j.truth.Time(int32(i), task)
		}
	}
	return d
}

// ended is told of an attempt whose end the core has been told: it may have been the last task of its job.
func (l *leads) ended(ev *sched.Event) {
	if a := l.e.core.Attempt(ev.Attempt); a != nil {
		l.check = append(l.check, a.Stage.Job)
	}
}

// settle ends the masters of jobs of which the last task has ended.
func (l *leads) settle() {
	for _, row := range l.check {
		l.dismiss(row)
	}
	l.check = l.check[:0]
}

// dismiss ends the master of a job that has nothing left to do.
func (l *leads) dismiss(row *sched.Job) {
	j := *l.e.jobs.Of(row)
	if row.Ended || !j.led {
		return
	}
	for _, st := range row.Stages {
		if st.Kind != sched.Master && st.Done < st.Total {
			return
		}
	}
	if r := l.e.find(j.master); r != nil && r.state == serving {
		l.e.end(r)
	}
}

// lost has the tasks of a master that was lost with its node end with it.
func (l *leads) lost(r *attempt) {
	row := r.core.Stage.Job
	if !r.leads() || row.Ended {
		return
	}
	r.job.master = 0
	l.orphans = append(l.orphans, r.job.id)
	for _, st := range row.Stages {
		for a := range l.e.core.Attempts(st) {
			l.e.kill(a.ID, 0)
		}
	}
}

// hush takes back, before each Step, what orphans wait for: the ends of their tasks have these wait again.
func (l *leads) hush() {
	l.orphans = slices.DeleteFunc(l.orphans, func(id sched.JobID) bool {
		row := l.e.core.Job(id)
		return row == nil || row.Ended
	})
	for _, id := range l.orphans {
		for i, st := range l.e.core.Job(id).Stages {
			if st.Spec.Asked {
				l.e.evs = append(l.e.evs, asks(id, i, 0))
			}
		}
	}
}
