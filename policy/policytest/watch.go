package policytest

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// A watch looks at what a policy decides, and keeps the first thing that contradicts a claim.
type watch struct {
	inner  sched.Policy
	claims []policy.Claim
	chosen []sched.Action // by the policy, in this Step
	failed map[failure]int
	err    error
}

// A failure is of an attempt of a job on a node.
type failure struct {
	job  sched.JobID
	node sched.NodeID
}

// failuresToAvoid is how many of them the core takes before it keeps the job away from the node.
const failuresToAvoid = 3

// Decide asks the policy to decide, and looks at what it chose.
func (w *watch) Decide(p *sched.Plan) {
	for _, e := range p.Events {
		if e.Kind == sched.AttemptDone && e.Outcome == sched.Failed {
			a := p.Attempt(e.Attempt)
			w.failed[failure{a.Stage.ID.Job, a.Node}]++
		}
	}
	own := len(p.Actions())
	w.inner.Decide(p)
	w.chosen = p.Actions()[own:]
	for _, c := range w.claims {
		if check := claimChecks[c]; check != nil && w.err == nil {
			if why := check(w, p); why != "" {
				w.err = fmt.Errorf("at %v: the card claims that it %v: %s", p.Now, c, why)
			}
		}
	}
}

// claimChecks are the claims as functions of the plan after a decision; they say what contradicts the claim, "" if
// nothing does.
var claimChecks = map[policy.Claim]func(*watch, *sched.Plan) string{
	policy.WorkConserving: (*watch).idleRoom,
	policy.NonPreemptive:  (*watch).tookBack,
	policy.InOrder:        (*watch).outOfOrder,
}

// idleRoom checks WorkConserving: no stage waits that has room.
func (w *watch) idleRoom(p *sched.Plan) string {
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			if st.Pending == 0 || w.withholds(p, st) {
				continue
			}
			if n := p.First(st); n != nil {
				return fmt.Sprintf("stage %v waits and node %d has room", st.ID, n.ID)
			}
		}
	}
	return ""
}

// tookBack checks NonPreemptive: the policy chose neither a Kill nor a Suspend.
func (w *watch) tookBack(*sched.Plan) string {
	for _, a := range w.chosen {
		if a.Kind == sched.Kill || a.Kind == sched.Suspend {
			return fmt.Sprintf("%v of attempt %d", a.Kind, a.Attempt.Serial())
		}
	}
	return ""
}

// outOfOrder checks InOrder: no job that is more urgent, or as urgent and older, could have used the room of a launch.
func (w *watch) outOfOrder(p *sched.Plan) string {
	for _, a := range w.chosen {
		if a.Kind != sched.Launch {
			continue
		}
		later := p.Job(a.Stage.Job)
		room := p.Node(a.Node).Free().Add(p.Amount(a.Shape))
		for j := range p.Jobs() {
			if j.Spec.Priority < later.Spec.Priority || j.Spec.Priority == later.Spec.Priority && j.ID >= later.ID {
				continue
			}
			for _, st := range j.Stages {
				if st.Pending > 0 && !w.withholds(p, st) && st.Spec.PerTask.FitsIn(room) && w.mayUse(p, st, a) {
					return fmt.Sprintf("stage %v waits while %v started", st.ID, a.Stage)
				}
			}
		}
	}
	return ""
}

// withholds reports whether the policy says why st may not start: it is a master beyond what masters may hold.
func (w *watch) withholds(p *sched.Plan, st *sched.Stage) bool {
	h, ok := w.inner.(interface {
		Withheld(*sched.View, *sched.Stage) string
	})
	return ok && st.Kind == sched.Master && h.Withheld(p.View, st) != ""
}

// mayUse reports whether queue maxima and blacklists would have let st take the place of a launch.
func (w *watch) mayUse(p *sched.Plan, st *sched.Stage, a sched.Action) bool {
	for q := p.Queues[st.Job.Queue]; ; q = p.Queues[q.Parent] {
		for k, n := range st.Spec.PerTask {
			if n > 0 && q.Used[k]+n > q.Max[k] {
				return false
			}
		}
		if q.ID == 0 {
			return w.failed[failure{st.ID.Job, a.Node}] < failuresToAvoid
		}
	}
}
