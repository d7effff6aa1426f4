package policy

import "github.com/sojourn-sched/sojourn/sched"

var srptCard = Card{
	Title:  "the job with the least work left first",
	Source: "Schrage, A Proof of the Optimality of the Shortest Remaining Processing Time Discipline, Operations Research 16(3), 1968",
	Spec:   "docs/spec/policies.md#srpt",
	Params: sptCard.Params,
	Memory: sizedMemory,
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

func newSRPT(a Args) sched.Policy {
	return newBySize(a, (*sizes).remaining)
}
