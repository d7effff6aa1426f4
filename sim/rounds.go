package sim

import "github.com/sojourn-sched/sojourn/sched"

// rounds have open jobs find more stages when all that they have are done, and end when there are no more.
type rounds struct {
	e     *engine
	some  bool         // there are open jobs
	check []*sched.Job // of which a task has ended
}

// ended notes that an attempt has, in the Step that tells of it.
func (r *rounds) ended(ev *sched.Event) {
	if ev.Outcome != sched.OK {
		return
	}
	if a := r.e.core.Attempt(ev.Attempt); a != nil && a.Stage.Job.Spec.Open {
		r.check = append(r.check, a.Stage.Job)
	}
}

// settle has the jobs of which all tasks are done go on.
func (r *rounds) settle() {
	for _, row := range r.check {
		r.next(row)
	}
	r.check = r.check[:0]
}

// next has a job find its next round, or end, unless it has tasks left, or has done so for another task of this Step.
func (r *rounds) next(row *sched.Job) {
	e, j := r.e, *r.e.jobs.Of(row)
	later := j.truth.Later
	known := len(row.Spec.Stages)
	for _, round := range later[:min(j.found, len(later))] {
		known += len(round)
	}
	if row.Ended || len(row.Stages) < known || j.found > len(later) {
		return
	}
	for _, st := range row.Stages {
		if st.Done < st.Total {
			return
		}
	}
	if j.found++; j.found > len(later) {
		e.evs = append(e.evs, sched.Event{Kind: sched.JobEnded, Job: j.id})
		e.endProbe(row)
		return
	}
	round := later[j.found-1]
	for i := range round {
		e.evs = append(e.evs, sched.Event{Kind: sched.AsksChanged, Job: j.id, Body: &sched.Asks{Stage: int32(known + i), Spec: &round[i], Pending: round[i].Tasks}})
	}
}
