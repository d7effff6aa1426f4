package policy

import "github.com/sojourn-sched/sojourn/sched"

var probeCard = Card{
	Title:  "samples each job that comes by a small job, for an estimator that learns sizes from such samples",
	Source: "the probing of FSPY, for any policy that goes by sizes",
	Spec:   "docs/spec/policies.md#probe",
	Needs:  sched.CanProbe,
	Wraps:  true,
	Probes: true,
	Claims: []Claim{TimeInvariant},
}

// probe asks for a probe of each job at its arrival, and leaves the rest to another policy.
type probe struct{ Inner sched.Policy }

func newProbe(a Args) sched.Policy { return &probe{a.Inner} }

// Decide asks for probes.
func (w *probe) Decide(p *sched.Plan) {
	for i := range p.Events {
		if e := &p.Events[i]; e.Kind == sched.JobSubmitted {
			if j := p.Job(e.Job); j.Spec.Probes == 0 && !j.Ended {
				p.Probe(j)
			}
		}
	}
	w.Inner.Decide(p)
}

// Position passes the question where a stage stands on to the inner policy.
func (w *probe) Position(view *sched.View, st *sched.Stage) (sched.Key, bool) {
	return positionIn(w.Inner, view, st)
}

// InWords passes the question what a key stands for on to the inner policy.
func (w *probe) InWords(view *sched.View, st *sched.Stage, k sched.Key) string {
	return wordsIn(w.Inner, view, st, k)
}

// Withheld passes the question why a stage may not start on to the inner policy.
func (w *probe) Withheld(view *sched.View, st *sched.Stage) string {
	return withheldIn(w.Inner, view, st)
}

// Why passes the question what is wanted for a stage on to the inner policy.
func (w *probe) Why(view *sched.View, st *sched.Stage) string { return whyIn(w.Inner, view, st) }

// Notes implements Noter: it tells what the inner policy has found out.
func (w *probe) Notes() []string { return notesIn(w.Inner) }
