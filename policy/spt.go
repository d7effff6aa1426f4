package policy

import "github.com/sojourn-sched/sojourn/sched"

var sptCard = Card{
	Title:  "the smallest job first, however much of it is done",
	Source: "Smith, Various Optimizers for Single-Stage Production, Naval Research Logistics Quarterly 3, 1956",
	Spec:   "docs/spec/policies.md#spt",
	Params: sizing(PlacingParams(MasterParams(taking(optOff, optSuspend, optKill), lookingBack)...)...),
	Memory: sizedMemory,
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

func newSPT(a Args) sched.Policy {
	return newBySize(a, "size", (*sizes).size)
}
