package policy

import "github.com/sojourn-sched/sojourn/sched"

var srptCard = Card{
	Title:  "the job with the least work left first",
	Source: "Schrage, A Proof of the Optimality of the Shortest Remaining Processing Time Discipline, Operations Research 16(3), 1968",
	Spec:   "docs/spec/policies.md#srpt",
	Params: sizing(placing(taking(optOff, optSuspend, optKill), lookingBack)...),
	Memory: sizedMemory,
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

// srpt serves the job whose unfinished tasks are the least work.
type srpt struct {
	order
	sizes
}

func newSRPT(a Args) sched.Policy {
	s := &srpt{sizes: newSizes(a)}
	s.initTaking(a, s.remain)
	return s
}

func (s *srpt) remain(_ *sched.View, st *sched.Stage, more int32) sched.Key {
	return s.byRemaining(st, s.will(st)+st.Suspended+more)
}

// Decide starts tasks where there is room.
func (s *srpt) Decide(p *sched.Plan) {
	s.learn(p)
	s.fill(p)
}
