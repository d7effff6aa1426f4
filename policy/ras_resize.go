package policy

import (
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// hold returns what a running task of st holds: what it asks for. With resize=on a reduce holds what the job's profile
// says of its phase, where that is less: reducing, the most of the phases merge to write, else the phase shuffle. Of
// disk and network in the phase shuffle the profile says what one copied map takes, so reduces hold what they ask for.
func (m *matrix) hold(st *sched.Stage, reducing bool) sched.Resources {
	held := st.Spec.PerTask
	profile := st.Job.Spec.Profile
	if !m.resizes || st.Kind != sched.Reduce || profile == nil {
		return held
	}
	said := profile.Phases[sched.PhaseShuffle]
	said[sched.DiskIO], said[sched.NetworkIO] = 0, 0
	if reducing {
		said = sched.Resources{}
		for _, uses := range profile.Phases[sched.PhaseMerge : sched.PhaseWrite+1] {
			for k, n := range uses {
				said[k] = max(said[k], n)
			}
		}
	}
	for k, n := range said {
		if n > 0 {
			held[k] = min(held[k], n)
		}
	}
	return held
}

// mapsLeft reports whether maps of a job wait or run. O(stages).
func mapsLeft(j *sched.Job) bool {
	return slices.ContainsFunc(j.Stages, func(st *sched.Stage) bool { return st.Kind == sched.Map && runnable(st) })
}

// shape returns the shape that a task of st holds if it starts now.
func (m *matrix) shape(p *sched.Plan, st *sched.Stage) sched.ShapeID {
	if !m.resizes || st.Kind != sched.Reduce {
		return st.Shape
	}
	return p.Shape(m.hold(st, !mapsLeft(st.Job)))
}

// refit lets reduces hold what they use in their phase (docs/spec/ras.md, 2.8): those of jobs whose last map has ended,
// or whose maps wait again, and those on nodes that are news, for which there may have been no room before. O(stages)
// for each event, and for each reduce of these jobs and attempt on these nodes; nothing with resize=off.
func (m *matrix) refit(p *sched.Plan) {
	if !m.resizes {
		return
	}
	var seen map[sched.JobID]bool // many maps may end at one instant
	for i := range p.Events {
		var j *sched.Job
		switch e := &p.Events[i]; e.Kind {
		case sched.AttemptDone:
			if a := p.Attempt(e.Attempt); a != nil && a.Stage.Kind == sched.Map && !mapsLeft(a.Stage.Job) {
				j = a.Stage.Job
			}
		case sched.TaskUndone, sched.AsksChanged:
			j = p.Job(e.Job)
		}
		if j == nil || j.Ended || seen[j.ID] {
			continue
		}
		if seen == nil {
			seen = map[sched.JobID]bool{}
		}
		seen[j.ID] = true
		for _, st := range j.Stages {
			if st.Kind == sched.Reduce {
				for a := range p.Attempts(st) {
					m.resize(p, a)
				}
			}
		}
	}
	for _, id := range p.Offers {
		m.refitOn(p, p.Node(id))
	}
}

// refitOn is refit for the reduces on a node.
func (m *matrix) refitOn(p *sched.Plan, n *sched.Node) {
	if m.resizes {
		for a := range p.AttemptsOn(n) {
			m.resize(p, a)
		}
	}
}

// resize lets a reduce that holds what it asks for, as second attempts do, or what it uses in the other phase hold what
// it uses in its own, if there is room. Another amount, which its application has asked for itself, stays. Amounts are
// compared as vectors: most reduces hold what they should, and need no shape.
func (m *matrix) resize(p *sched.Plan, a *sched.Attempt) {
	st := a.Stage
	if st.Kind != sched.Reduce || st.Job.Spec.Profile == nil || a.State != sched.Running || a.Resizing() {
		return
	}
	reducing := !mapsLeft(st.Job)
	holds, own := p.Amount(a.Holds), m.hold(st, reducing)
	if holds != own && (holds == st.Spec.PerTask || holds == m.hold(st, !reducing)) {
		p.Resize(a, p.Shape(own))
	}
}
