package policy

import "github.com/sojourn-sched/sojourn/sched"

var lasCard = Card{
	Title:  "the job that has received least first; no sizes needed",
	Source: "Nuyens and Wierman, The Foreground-Background Queue: A Survey, Performance Evaluation 65, 2008",
	Spec:   "docs/spec/policies.md#las",
	Params: PlacingParams(MasterParams(
		taking(optOff, optSuspend),
		lookingBack,
		Param{
			Name:    "quantum",
			Kind:    Duration,
			Default: "10s",
			Min:     0.001,
			Meaning: "how often the service that jobs have received is looked up",
		},
	)...),
	Memory: []string{
		"by job: what it had received at the last multiple of the quantum",
		PlacingMemory,
		PreemptMemory,
		MasterMemory,
	},
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

// las serves the job that has received the least service, in seconds of the whole cluster.
type las struct {
	Order
	DelayPlacer
	ticker
	Served sched.Per[float64] // by job

	quantum sched.Time
}

func newLAS(a Args) sched.Policy {
	l := &las{DelayPlacer: NewDelayPlacer(a), quantum: a.Time("quantum")}
	l.Init(a,
		func(_ *sched.View, st *sched.Stage, _ int32) sched.Key { return sched.Key{Value: *l.Served.Of(st.Job)} },
	)
	return l
}

// InWords says what a stage's job had received when that was last looked up.
func (l *las) InWords(_ *sched.View, _ *sched.Stage, k sched.Key) string {
	return "received " + work(k.Value)
}

// Decide starts tasks where there is room.
func (l *las) Decide(p *sched.Plan) {
	if l.due(p, l.quantum) {
		for j := range p.Jobs() {
			if s, served := p.Service(j, p.Now), l.Served.Of(j); s.Seconds(p.Capacity) != *served {
				*served = s.Seconds(p.Capacity)
				p.TouchJob(j)
			}
		}
	}
	l.Fill(p, &l.DelayPlacer)
}
