package policy

import "github.com/sojourn-sched/sojourn/sched"

var psbsCard = Card{
	Title: "fsp for sizes that may be wrong: late jobs share the cluster among themselves",
	Source: "Dell'Amico, Carra, Michiardi, PSBS: Practical Size-Based Scheduling, IEEE Transactions on " +
		"Computers 65(7), 2016",
	Spec:   "docs/spec/policies.md#psbs",
	Params: fspCard.Params,
	Memory: fspCard.Memory,
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

func newPSBS(a Args) sched.Policy {
	f := newFSP(a).(*fsp)
	f.lateShare = true
	return f
}
