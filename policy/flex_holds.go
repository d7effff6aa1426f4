package policy

import (
	"github.com/sojourn-sched/sojourn/sched"
)

// flexHolds keeps stages from starting while the stages before them are far from their ends. Reduces that have started
// hold their slots until the maps are done, so the reduces of a large job keep small jobs waiting (docs/spec/flex.md,
// 5). A stage is held until the stages before it have, by the schedule, the time of one of its own tasks left. That is
// time enough to copy their output: a task that started earlier took no less.
type flexHolds struct {
	Holds sched.Per[flexHold] // by stage
	Next  sched.Time          // the earliest instant at which one ends; 0: there is none

	on bool
}

// A flexHold keeps a stage that waits for others from starting.
type flexHold struct {
	Said bool // slots have been divided since the stage may run; it is held before
	// Until is when it may start; 0: now; Never: not before the stages that it waits for are done, or their ends known.
	Until sched.Time
}

// holds reports whether st may start nothing yet.
func (h *flexHolds) holds(st *sched.Stage) bool {
	if !h.on || begun(st) {
		return false
	}
	hold := h.Holds.Of(st)
	return !hold.Said || hold.Until > 0
}

// until returns when st may start, if it is held and that is known.
func (h *flexHolds) until(st *sched.Stage) (sched.Time, bool) {
	if at := h.Holds.Of(st).Until; h.holds(st) && at > 0 && at < sched.Never {
		return at, true
	}
	return 0, false
}

// notice looks up again the places of stages whose predecessors may be through.
func (h *flexHolds) notice(p *sched.Plan) {
	if !h.on {
		return
	}
	for i := range p.Events {
		switch e := &p.Events[i]; e.Kind {
		case sched.AttemptDone:
			if a := p.Attempt(e.Attempt); a != nil && a.Stage.Done >= a.Stage.Total {
				p.TouchJob(a.Stage.Job)
			}
		case sched.TaskUndone, sched.AsksChanged:
			if j := p.Job(e.Job); j != nil {
				p.TouchJob(j)
			}
		}
	}
}

// hold sets anew, by a schedule, until when each stage is held. O(stages).
func (h *flexHolds) hold(p *sched.Plan, d *flexDivision, want *flexDemand) {
	if !h.on {
		return
	}
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			h.set(p, st, flexHold{runnable(st), h.start(p, st, d, want)})
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
			return sched.Never
		}
		ends = max(ends, s.Ends)
	}
	mean, _ := want.mean(st)
	if at := ends - sched.Time(mean*1e9); at > p.Now {
		return at
	}
	return 0
}

// set sets until when st is held.
func (h *flexHolds) set(p *sched.Plan, st *sched.Stage, to flexHold) {
	if now := h.Holds.Of(st); *now != to {
		*now = to
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
				if at := h.Holds.Of(st).Until; at > 0 && at <= p.Now {
					h.set(p, st, flexHold{Said: true})
				}
			}
		}
		h.next(p)
	}
	if h.Next > 0 {
		p.Wake(h.Next)
	}
}

// next sets Next to the earliest instant at which a stage that is kept back may start; 0: no stage waits for one.
func (h *flexHolds) next(p *sched.Plan) {
	h.Next = 0
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			if at := h.Holds.Of(st).Until; at > p.Now && at < sched.Never && (h.Next == 0 || at < h.Next) {
				h.Next = at
			}
		}
	}
}
