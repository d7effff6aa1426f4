package sim

import (
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// A sequel carries out what follows in a job from the end of a task, and what the core cannot know: the job's master
// ends, its next round begins, or, while it has no master, its asks are taken back.
type sequel struct {
	*agenda
	*attempts
	masters *masters
	probes  *probes
	some    bool         // some job has had a master or rounds; until then there is nothing to do
	rows    []*sched.Job // jobs with attempts that end in this Step
}

// before runs before a Step. It notes the jobs whose attempts end in the Step, and takes back the asks of orphans.
func (s *sequel) before() {
	if slices.ContainsFunc(s.evs, func(ev sched.Event) bool { return ev.Kind == sched.NodeLost }) {
		s.masters.lookAtOrphans()
	}
	for i := range s.evs {
		ev := &s.evs[i]
		if ev.Kind != sched.AttemptDone {
			continue
		}
		if a := s.view.Attempt(ev.Attempt); a != nil {
			s.rows = append(s.rows, a.Stage.Job)
			s.masters.look(s.of(a.Stage.Job))
		}
	}
	s.masters.hush()
}

// after runs after a Step. It ends masters whose jobs are done, and starts the next rounds.
func (s *sequel) after() {
	for _, row := range s.rows {
		s.masters.dismiss(row)
		s.next(row)
	}
	s.rows = s.rows[:0]
}

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
