package sim

import (
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// masters are the containers of ApplicationMasters: a job's master starts, asks for the job's tasks, and ends with the
// last of them. A master that is lost with its node takes the tasks that run with it; those that are done stay done
// (Hadoop's recovery of jobs), and the next master asks for the rest.
type masters struct {
	*agenda
	tasks   *tasks
	orphans []*job // and some that were, since the last loss of a node
	looks   []*job // their tasks may wait again without a master
}

// mustAsk reports whether a job has tasks that its master must ask for. Without such, as in a record of applications, a
// master is a task like others.
func mustAsk(spec *sched.JobSpec) bool {
	return slices.ContainsFunc(spec.Stages, func(st sched.StageSpec) bool { return st.Asked })
}

// leads reports whether an attempt is a master that asks for tasks.
func (r *attempt) leads() bool { return r.job.led && r.core.Stage.Kind == sched.Master }

// launched begins an attempt that is a master, and ends one whose master was lost in this very instant; of others it
// reports false.
func (m *masters) launched(r *attempt) bool {
	switch st := r.core.Stage; {
	case r.leads():
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

// due says that a master has started, that it is through with its job, or that it has done all the work of an uber job.
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
			m.evs = append(m.evs, asks(j.id, i, uncounted))
		}
	}
	m.dismiss(row)
}

// uncounted stands, until the Step, for how many tasks a master asks for that has started.
const uncounted = -1

// count settles, ahead of a Step, what masters ask for that have started: the tasks that are not done and have no
// attempt. The Step learns first how attempts end, so one that ends in it without success is none. An attempt that was
// killed and whose node has yet to say so counts: the core makes its task wait again when it hears of it.
func (m *masters) count() {
	var ends map[sched.AttemptID]bool // attempts that end in the Step without success
	for i := range m.evs {
		ev := &m.evs[i]
		if ev.Kind != sched.AsksChanged || ev.Body.(*sched.Asks).Pending != uncounted {
			continue
		}
		if ends == nil {
			ends = map[sched.AttemptID]bool{}
			for _, ev := range m.evs {
				if ev.Kind == sched.AttemptDone && ev.Outcome != sched.OK {
					ends[ev.Attempt] = true
				}
			}
		}
		body := ev.Body.(*sched.Asks)
		st := m.tasks.view.Job(ev.Job).Stages[body.Stage]
		tried := map[int32]bool{} // tasks with an attempt
		for a := range m.tasks.view.Attempts(st) {
			if !ends[a.ID] {
				tried[a.Task] = true
			}
		}
		body.Pending = st.Total - st.Done - int32(len(tried))
	}
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

// dismiss ends the master of a job that has nothing left to do, at once or after the time that it takes to close.
func (m *masters) dismiss(row *sched.Job) {
	j := m.tasks.of(row)
	if row.Ended || !j.led {
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

// lost kills the tasks of a job whose master r was lost with its node. The job is an orphan until another master has
// started.
func (m *masters) lost(r *attempt) {
	row := r.core.Stage.Job
	if !r.leads() || row.Ended {
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

// lookAll marks all orphans to be looked at before the next Step, which loses a node: whose tasks and outputs were
// there, the core will say.
func (m *masters) lookAll() {
	m.orphans = slices.DeleteFunc(m.orphans, func(j *job) bool { return !j.orphan })
	for _, j := range m.orphans {
		m.look(j)
	}
}

// look marks a job to be looked at before the next Step, if it is an orphan then.
func (m *masters) look(j *job) {
	if j.orphan && !j.looked {
		j.looked = true
		m.looks = append(m.looks, j)
	}
}

// hush takes back, before a Step, the asks of orphans whose tasks end or were lost: the core makes such tasks wait
// again.
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
