package policy

import "github.com/sojourn-sched/sojourn/sched"

var srptCard = Card{
	Title:  "the job with the least work left first",
	Source: "Schrage, A Proof of the Optimality of the Shortest Remaining Processing Time Discipline, Operations Research 16(3), 1968",
	Spec:   "docs/spec/policies.md#srpt",
	Params: sizing(placing()...),
	Memory: []string{"by stage: the size of a task, as the estimator last said", "by stage: since when it waits for a node near its input (with a delay)"},
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

// srpt serves the job whose unfinished tasks are the least work.
type srpt struct {
	order
	sizes
}

func newSRPT(a Args) sched.Policy {
	s := &srpt{newOrder(a), newSizes(a)}
	s.whole = true
	s.index.Key = s.key
	return s
}

func (s *srpt) key(_ *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) {
	if st.Pending == 0 {
		return sched.Key{}, false
	}
	if class, is := s.unknown(st); is {
		return sched.Key{Class: class}, true
	}
	return sched.Key{Class: ranked, Value: s.remaining(st.Job)}, true
}

// Decide starts tasks where there is room.
func (s *srpt) Decide(p *sched.Plan) {
	s.learn(p)
	s.fill(p)
}
