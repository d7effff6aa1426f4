package policy

import "github.com/sojourn-sched/sojourn/sched"

var sptCard = Card{
	Title:  "the smallest job first, whatever is done of it",
	Source: "Smith, Various Optimizers for Single-Stage Production, Naval Research Logistics Quarterly 3, 1956",
	Spec:   "docs/spec/policies.md#spt",
	Params: sizing(placing(taking(optOff, optSuspend, optKill), lookingBack)...),
	Memory: sizedMemory,
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

// spt serves the job whose tasks, finished ones included, are the least work.
type spt struct {
	order
	sizes
}

func newSPT(a Args) sched.Policy {
	s := &spt{sizes: newSizes(a)}
	s.initTaking(a, s.original)
	return s
}

func (s *spt) original(_ *sched.View, st *sched.Stage, more int32) sched.Key {
	if !s.known(st) {
		return s.unknown(st, s.will(st)+st.Suspended+more)
	}
	return sched.Key{Class: ranked, Value: s.size(st.Job)}
}

// Decide starts tasks where there is room.
func (s *spt) Decide(p *sched.Plan) {
	s.learn(p)
	s.fill(p)
}
