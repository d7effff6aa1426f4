package sim

import (
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// A sequel is what the end of a task brings about in its job and the core does not know: its master goes, its
// next round comes, or, while it has no master, what it waits for is taken back.
type sequel struct {
	*agenda
	*attempts
	masters *masters
	probes  *probes
	some    bool         // some job has had a master or rounds: before, nothing is looked at
	rows    []*sched.Job // jobs with tasks that end in this Step
}

// before runs ahead of a Step. It notes the jobs whose attempts end in the Step, adds the asks that orphans take back,
// and counts what masters ask for.
func (s *sequel) before() {
	if slices.ContainsFunc(s.evs, func(ev sched.Event) bool { return ev.Kind == sched.NodeLost }) {
		s.masters.lookAll()
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
	s.masters.count()
}

// after runs behind a Step. It ends masters that have nothing left to do, and starts the next rounds.
func (s *sequel) after() {
	for _, row := range s.rows {
		s.masters.dismiss(row)
		s.next(row)
	}
	s.rows = s.rows[:0]
}
