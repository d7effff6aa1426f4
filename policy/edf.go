package policy

import "github.com/sojourn-sched/sojourn/sched"

var edfCard = Card{
	Title:  "the job with the earliest deadline first",
	Source: "Liu and Layland, Scheduling Algorithms for Multiprogramming in a Hard-Real-Time Environment, JACM 1973",
	Spec:   "docs/spec/policies.md#edf",
	Params: PlacingParams(MasterParams()...),
	Memory: []string{PlacingMemory, MasterMemory},
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

// edf serves jobs by their deadlines, then those without one in order of submission.
type edf struct {
	Order
	DelayPlacer
}

func newEDF(a Args) sched.Policy {
	e := &edf{DelayPlacer: NewDelayPlacer(a)}
	in := onePart(byDeadline)
	in.steady = alwaysSteady
	e.initParts(a, byDeadline, in)
	return e
}

// The classes of stages for policies that go by deadlines, in that order.
const (
	dueEntitled int32 = iota // with a deadline, and fewer slots than it is entitled to
	due                      // with a deadline
	undue                    // without one
	hopeless                 // with a deadline that it is not likely to meet
)

// byDeadline is a ranking by the deadlines of jobs. Stages of jobs without one come last.
func byDeadline(_ *sched.View, st *sched.Stage, _ int32) sched.Key {
	if st.Job.Spec.Deadline <= 0 {
		return sched.Key{Class: undue}
	}
	return sched.Key{Class: due, Value: (st.Job.Submitted + st.Job.Spec.Deadline).Seconds()}
}

// InWords says the deadline of a stage's job.
func (e *edf) InWords(_ *sched.View, _ *sched.Stage, k sched.Key) string { return dueInWords(k) }

// Decide starts tasks where there is room.
func (e *edf) Decide(p *sched.Plan) { e.Fill(p, &e.DelayPlacer) }
