package policy

import "github.com/sojourn-sched/sojourn/sched"

var probeCard = Card{
	Title:  "samples each new job by a small job, for an estimator that learns sizes from such samples",
	Source: "the probing of FSPY, for any policy that goes by sizes",
	Spec:   "docs/spec/policies.md#probe",
	Needs:  sched.CanProbe,
	Wraps:  true,
	Probes: true,
	Claims: []Claim{TimeInvariant},
}

// probe asks for a probe of each job at its arrival, and leaves the rest to another policy.
type probe struct{ wrapper }

func newProbe(a Args) sched.Policy { return &probe{wrapper{a.Inner}} }

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
