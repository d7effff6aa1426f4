package policy

import (
	"math"

	"github.com/sojourn-sched/sojourn/sched"
)

// flexHolds keeps stages from starting while what they wait for is far from its end. Reduces that have started hold
// their slots until the maps are through, so those of a large job keep small jobs waiting (5 of the page). A stage is
// held until the schedule has one task's time left for the stages before it, which is time enough to copy what these
// have made: a task that started early took no less.
type flexHolds struct {
	Until sched.Per[sched.Time] // by stage: it starts nothing sooner; 0: it may
	Next  sched.Time            // the earliest of these; 0: there is none

	on bool
}

// never is when a stage is let go whose predecessors end at an unknown instant: they will be through, or known, first.
const never = sched.Time(math.MaxInt64)

// holds reports whether st may start nothing yet.
func (h *flexHolds) holds(st *sched.Stage) bool { return h.on && *h.Until.Of(st) > 0 }

// until returns when st may start, if it is held and that is known.
func (h *flexHolds) until(st *sched.Stage) (sched.Time, bool) {
	if !h.holds(st) || *h.Until.Of(st) == never {
		return 0, false
	}
	return *h.Until.Of(st), true
}

// hold sets anew, by a schedule, until when each stage is held. O(stages).
func (h *flexHolds) hold(p *sched.Plan, d *flexDivision, want *flexDemand) {
	if !h.on {
		return
	}
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			h.set(p, st, h.start(p, st, d, want))
		}
	}
	h.next(p)
}

// start returns until when st is to be held; 0: it is not.
func (h *flexHolds) start(p *sched.Plan, st *sched.Stage, d *flexDivision, want *flexDemand) sched.Time {
	if !runnable(st) || begun(st) {
		return 0
	}
	ends := p.Now
	for _, dep := range st.Spec.After {
		before := st.Job.Stages[dep.Stage]
		if before.Done >= before.Total {
			continue
		}
		s := d.Slots.Of(before)
		if !s.Active || !s.Known || s.Ends == 0 {
			return never
		}
		ends = max(ends, s.Ends)
	}
	mean, _ := want.mean(st)
	if at := ends - sched.Time(mean*1e9); at > p.Now {
		return at
	}
	return 0
}

func (h *flexHolds) set(p *sched.Plan, st *sched.Stage, until sched.Time) {
	if now := h.Until.Of(st); *now != until {
		*now = until
		p.Touch(st)
	}
}

// release lets stages go whose time has come, and asks to be called at the next such instant.
func (h *flexHolds) release(p *sched.Plan) {
	switch {
	case h.Next == 0:
		return
	case p.Now >= h.Next:
		for j := range p.Jobs() {
			for _, st := range j.Stages {
				if *h.Until.Of(st) <= p.Now {
					h.set(p, st, 0)
				}
			}
		}
		h.next(p)
	}
	if h.Next > 0 {
		p.Wake(h.Next)
	}
}

// next finds the earliest instant at which a stage is let go.
func (h *flexHolds) next(p *sched.Plan) {
	h.Next = 0
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			if at := *h.Until.Of(st); at > p.Now && at < never && (h.Next == 0 || at < h.Next) {
				h.Next = at
			}
		}
	}
}
