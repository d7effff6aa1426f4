package sim

import (
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// masters simulates the containers of ApplicationMasters. The master of a job starts, asks for the job's tasks, and
// ends after the last of them. When a master is lost with its node, the job's running tasks end too. Tasks that are
// done stay done, as in Hadoop's recovery of jobs, and the next master asks for the others.
type masters struct {
	*agenda
	tasks   *tasks
	orphans []*job // all jobs that are orphans; some of them may be none any more
	looks   []*job // orphans whose asks hush takes back before the next Step
}

// mustAsk reports whether a job has tasks for which its master must ask. In a job without such tasks, as in a record of
// applications, a master is a task like others.
func mustAsk(spec *sched.JobSpec) bool {
	return slices.ContainsFunc(spec.Stages, func(st sched.StageSpec) bool { return st.Asked })
}

// asks reports whether an attempt is a master that asks for tasks.
func (r *attempt) asks() bool { return r.job.masterAsks && r.core.Stage.Kind == sched.Master }

// launched begins attempt r if it is a master, and ends it if its job's master was lost at this very instant. Else it
// returns false.
func (m *masters) launched(r *attempt) bool {
	switch st := r.core.Stage; {
	case r.asks():
		r.job.master, r.job.closing = r.id, false
		start := r.job.truth.Time(st.ID.Index, r.core.Task)
		if r.job.truth.Uber {
			start += r.job.serial(st.Job.Spec)
		}
		r.whole = m.tasks.stretch(r, start)
		r.due = r.whole
		m.tasks.compute(r)
	case st.Spec.Asked && r.job.master == 0:
		r.state = frozen
		m.tasks.kill(r.id, 0)
	default:
		return false
	}
	return true
}

// due is called when what a master was doing is over: its start, the closing of its job, or all work of an uber job.
func (m *masters) due(r *attempt) {
	j, row := r.job, r.core.Stage.Job
	if j.closing {
		m.tasks.end(r)
		return
	}
	if j.truth.Uber {
		*m.tasks.tell(r) = sched.Event{Kind: sched.JobEnded, Job: j.id, Outcome: sched.OK}
		m.tasks.end(r)
		m.tasks.probes.end(row)
		return
	}
	r.state, r.due = serving, 0
	j.orphan = false
	for i, st := range row.Stages {
		if st.Spec.Asked {
			m.evs = append(m.evs, asks(j.id, i, sched.AskAll))
		}
	}
	m.dismiss(row)
}

// asks returns the event by which a job asks for as many tasks of a stage as pending says. A master that has started
// asks for sched.AskAll, since only the core knows which tasks are lost in the same Step. A task whose attempt was
// killed, and whose node has not reported that yet, waits when the core learns of the end.
func asks(job sched.JobID, stage int, pending int32) sched.Event {
	return sched.Event{Kind: sched.AsksChanged, Job: job, Body: &sched.Asks{Stage: int32(stage), Pending: pending}}
}

// serial returns how long all tasks of a job take, one after the other.
func (j *job) serial(spec *sched.JobSpec) (d sched.Time) {
	for i := range spec.Stages {
		for task := int32(1); task <= spec.Stages[i].Tasks && spec.Stages[i].Kind != sched.Master; task++ {
			d += j.truth.Time(int32(i), task)
		}
	}
	return d
}

// dismiss ends the master of a job whose tasks are all done: at once, or after the time that its closing takes.
func (m *masters) dismiss(row *sched.Job) {
	j := m.tasks.of(row)
	if row.Ended || !j.masterAsks {
		return
	}
	for _, st := range row.Stages {
		if st.Kind != sched.Master && st.Done < st.Total {
			return
		}
	}
	r := m.tasks.find(j.master)
	switch {
	case r == nil || r.state != serving:
	case j.truth.Closing > 0:
		j.closing = true
		r.whole, r.due = j.truth.Closing, j.truth.Closing
		m.tasks.compute(r)
	default:
		m.tasks.end(r)
	}
}

// lost kills the tasks of the job whose master r was lost. The job is an orphan until another master has started.
func (m *masters) lost(r *attempt) {
	row := r.core.Stage.Job
	if !r.asks() || row.Ended {
		return
	}
	j := r.job
	j.master = 0
	if !j.orphan {
		j.orphan = true
		m.orphans = append(m.orphans, j)
	}
	m.look(j)
	for _, st := range row.Stages {
		for a := range m.tasks.view.Attempts(st) {
			m.tasks.kill(a.ID, 0)
		}
	}
}

// lookAtOrphans calls look for all orphans. It is called before a Step that loses a node, since only the core knows
// which jobs had tasks or outputs there.
func (m *masters) lookAtOrphans() {
	m.orphans = slices.DeleteFunc(m.orphans, func(j *job) bool { return !j.orphan })
	for _, j := range m.orphans {
		m.look(j)
	}
}

// look puts job j, if it is an orphan, into looks.
func (m *masters) look(j *job) {
	if j.orphan && !j.looked {
		j.looked = true
		m.looks = append(m.looks, j)
	}
}

// hush takes back the asks of the jobs in looks that are still orphans. It runs before a Step in which tasks of theirs
// end or are lost: the core lets such tasks wait again, and no master asks for them yet.
func (m *masters) hush() {
	for _, j := range m.looks {
		j.looked = false
		row := m.tasks.view.Job(j.id)
		if row == nil || row.Ended {
			j.orphan = false
		}
		if !j.orphan {
			continue
		}
		for i, st := range row.Stages {
			if st.Spec.Asked {
				m.evs = append(m.evs, asks(j.id, i, 0))
			}
		}
	}
	m.looks = m.looks[:0]
}
