package sim

import "github.com/sojourn-sched/sojourn/sched"

// A sequel is what the end of a task brings about in its job, of which the core knows nothing: its master goes, its
// next round comes, or, while it has no master, what it waits for is taken back.
type sequel struct {
	e    *engine
	some bool         // some job has had a master or rounds: before, nothing is looked at
	rows []*sched.Job // of which tasks end in this Step
}

// before is for what the Step must know.
func (s *sequel) before() {
	for i := range s.e.evs {
		ev := &s.e.evs[i]
		if ev.Kind != sched.AttemptDone {
			continue
		}
		if a := s.e.core.Attempt(ev.Attempt); a != nil {
			s.rows = append(s.rows, a.Stage.Job)
			s.e.masters.look(*s.e.jobs.Of(a.Stage.Job))
		}
	}
	s.e.masters.hush()
}

// after is for what follows from it.
func (s *sequel) after() {
	for _, row := range s.rows {
		s.e.masters.dismiss(row)
		s.next(row)
	}
	s.rows = s.rows[:0]
}
