package sim

import "github.com/sojourn-sched/sojourn/sched"

// next has an open job find its next round when all that it has is done, or end when there is none; unless it has done
// so for another task of this Step.
func (s *sequel) next(row *sched.Job) {
	if !row.Spec.Open {
		return
	}
	e, j := s.e, *s.e.jobs.Of(row)
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
		e.evs = append(
			e.evs,
			sched.Event{
				Kind: sched.AsksChanged,
				Job:  j.id,
				Body: &sched.Asks{Stage: int32(known + i), Spec: &round[i], Pending: round[i].Tasks},
			},
		)
	}
}
