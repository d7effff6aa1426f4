package yarn

import (
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// step asks the core to decide, and carries out what it decided, until nothing is new: carrying an action out may be a
// fact at once. Within a Step the core takes facts in the order of their kinds. A caller that needs two facts in
// another order calls step between them.
func (m *manager) step() {
	due := !m.wake.IsZero() && !m.now.Before(m.wake)
	if due {
		m.wake = time.Time{} // the core says when next
	}
	for m.settleAll(); len(m.events) > 0 || due; due = false {
		actions := m.core.Step(m.at(), m.events)
		m.events = m.events[:0]
		m.refused()
		m.learnFound()
		m.actions.Do(actions)
		for _, e := range m.core.Events {
			if e.Derived && e.Kind == sched.JobEnded {
				if app := m.apps.byJob[e.Job]; app != nil {
					app.exhausted()
				}
			}
		}
		m.settleAll()
	}
}

// refused is called after each Step. It copies the core's number of invalid actions for the metrics. It logs the first
// few of the Step: each kind of action with each reason once in the life of this process.
func (m *manager) refused() {
	if int64(m.core.Refused()) == m.count.refused {
		return
	}
	m.count.refused = int64(m.core.Refused())
	for _, r := range m.core.Refusals() {
		kind := r.Action.Kind.String()
		if why := kind + ": " + r.Reason; !m.count.said[why] {
			if m.count.said == nil {
				m.count.said = map[string]bool{}
			}
			m.count.said[why] = true
			m.log.Warn("the policy asked for what cannot be done; said once, counted from now on",
				"action", kind, "why", r.Reason, "job", r.Action.Stage.Job)
		}
	}
}

// dispatcher returns the functions that carry out actions of the core.
func (m *manager) dispatcher() sched.Dispatcher {
	return sched.Dispatcher{
		Launch: func(a *sched.Action) { m.apps.byJob[a.Stage.Job].grant(a) },
		Kill: func(id sched.AttemptID, grace sched.Time) {
			if c := m.leases.at(id); c != nil {
				c.preempt(grace)
			}
		},
		Wake: func(at sched.Time) {
			m.wake = time.Time{}
			if at > 0 {
				m.wake = m.started.Add(at)
			}
		},
	}
}
