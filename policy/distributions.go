package policy

import "github.com/sojourn-sched/sojourn/sched"

var distributionsCard = Card{
	Title: "the earliest deadline first, each job with the slots that meet it with a given confidence; jobs " +
		"without a chance last",
	Source: "after Park, Tumanov, Jiang, Kozuch, Ganger, 3Sigma: distribution-based cluster scheduling for runtime " +
		"uncertainty, EuroSys 2018",
	Spec: "docs/spec/policies.md#distributions",
	Params: PlacingParams(MasterParams(
		Param{
			Name:    "confidence",
			Kind:    Number,
			Default: "0.9",
			Min:     0.5,
			Max:     0.999,
			Meaning: "probability with which a job's slots should be enough to meet its deadline",
		},
		Param{
			Name:    "least",
			Kind:    Number,
			Default: "0.05",
			Min:     0.000001,
			Max:     0.5,
			Meaning: "a job comes last if its chance to meet its deadline, even with the whole cluster, is below this",
		},
	)...),
	Memory: deadlineMemory,
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

// newDistributions makes minedf with distributions of task lengths in the place of their means: a job gets more slots
// the less is known of it, and none at the cost of others when its deadline is out of reach.
func newDistributions(a Args) sched.Policy {
	return newMinEDFOf(a, a.Number("confidence"), a.Number("least"))
}
