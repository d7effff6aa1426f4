package policy

import "github.com/sojourn-sched/sojourn/sched"

var fifoCard = Card{
	Title:  "the most urgent job first, the oldest among equals",
	Source: "Hadoop 1.x, JobQueueTaskScheduler",
	Spec:   "docs/spec/policies.md#fifo",
	Params: PlacingParams(MasterParams()...),
	Memory: []string{PlacingMemory, MasterMemory},
	Claims: []Claim{WorkConserving, NonPreemptive, InOrder, TimeInvariant},
}

// fifo serves jobs by priority, then in order of submission.
type fifo struct {
	Order
	DelayPlacer
}

func newFIFO(a Args) sched.Policy {
	f := &fifo{DelayPlacer: NewDelayPlacer(a)}
	in := onePart(urgency)
	in.steady = alwaysSteady
	f.initParts(a, urgency, in)
	return f
}

// urgency is a ranking by the priorities of jobs, the most urgent first.
func urgency(_ *sched.View, st *sched.Stage, _ int32) sched.Key {
	return sched.Key{Value: -float64(st.Job.Spec.Priority)}
}

// InWords says the priority of a stage's job.
func (f *fifo) InWords(_ *sched.View, _ *sched.Stage, k sched.Key) string { return urgencyInWords(k) }

// Decide starts tasks where there is room.
func (f *fifo) Decide(p *sched.Plan) { f.Fill(p, &f.DelayPlacer) }
