package main

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// smallest starts the job first that has the fewest tasks left to start. Its placer waits for nodes near a task's
// input, as long as the parameter delay says.
type smallest struct {
	policy.Order       // whose turn it is
	policy.DelayPlacer // where a task goes
}

var smallestEntry = policy.Entry{
	Card: policy.Card{
		Title:  "the job with the fewest waiting tasks first",
		Source: "an example",
		Params: policy.PlacingParams(policy.PreemptParams()...),
		Memory: []string{policy.PlacingMemory, policy.PreemptMemory},
		Claims: []policy.Claim{policy.WorkConserving, policy.NonPreemptive, policy.TimeInvariant},
	},
	New: func(a policy.Args) sched.Policy {
		s := &smallest{DelayPlacer: policy.NewDelayPlacer(a)}
		s.Init(a, func(_ *sched.View, st *sched.Stage, _ int32) sched.Key {
			waiting := int32(0)
			for _, stage := range st.Job.Stages {
				waiting += stage.Pending
			}
			return sched.Key{Value: float64(waiting)}
		})
		return s
	},
}

// InWords says what a stage's key stands for: record explain prints it.
func (s *smallest) InWords(_ *sched.View, _ *sched.Stage, k sched.Key) string {
	return fmt.Sprintf("%.0f tasks of its job wait", k.Value)
}

// Decide starts tasks, in order of the keys, where there is room.
func (s *smallest) Decide(p *sched.Plan) { s.Fill(p, &s.DelayPlacer) }
