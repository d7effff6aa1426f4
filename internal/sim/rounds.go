package sim

import "github.com/sojourn-sched/sojourn/sched"

// next continues an open job whose tasks are all done: the job asks for its next round, or ends if there is none. A
// second call in the same Step does nothing.
func (s *sequel) next(row *sched.Job) {
	if !row.Spec.Open {
		return
	}
	j := s.of(row)
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
		s.evs = append(s.evs, sched.Event{Kind: sched.JobEnded, Job: j.id})
		s.probes.end(row)
		return
	}
	round := later[j.found-1]
	for i := range round {
		s.evs = append(s.evs, sched.Event{Kind: sched.AsksChanged, Job: j.id,
			Body: &sched.Asks{Stage: int32(known + i), Spec: &round[i], Pending: round[i].Tasks}})
	}
}
