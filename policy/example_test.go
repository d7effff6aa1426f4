package policy_test

import (
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/policy/policytest"
	"github.com/sojourn-sched/sojourn/sched"
)

// fewest serves the job first that has the fewest tasks left to start. The order and the placer keep their own memory;
// of its own the policy remembers nothing.
type fewest struct {
	policy.Order
	policy.DelayPlacer
}

var fewestEntry = policy.Entry{
	Card: policy.Card{
		Title:  "the job with the fewest waiting tasks first",
		Params: policy.PlacingParams(policy.PreemptParams()...),
		Memory: []string{policy.PlacingMemory, policy.PreemptMemory},
		Claims: []policy.Claim{policy.WorkConserving, policy.NonPreemptive, policy.TimeInvariant},
	},
	New: func(a policy.Args) sched.Policy {
		f := &fewest{DelayPlacer: policy.NewDelayPlacer(a)}
		f.Init(a, func(_ *sched.View, st *sched.Stage, _ int32) sched.Key {
			waiting := int32(0)
			for _, s := range st.Job.Stages {
				waiting += s.Pending
			}
			return sched.Key{Value: float64(waiting)}
		})
		return f
	},
}

// Decide starts tasks where there is room.
func (f *fewest) Decide(p *sched.Plan) { f.Fill(p, &f.DelayPlacer) }

// A policy of one's own: an order, a placer that waits for nodes near the input, and parameters. Two jobs of maps
// compete for a node with one map slot; the smaller one, which comes second, is done first.
func Example() {
	own := policy.Registry{"fewest": fewestEntry}
	p, _, err := own.Parse("fewest:delay=5s")
	if err != nil {
		panic(err)
	}
	job := func(name string, maps int32) *sched.JobSpec {
		return &sched.JobSpec{Name: name, Stages: []sched.StageSpec{{
			Kind: sched.Map, Tasks: maps, MaxAttempts: 4, PerTask: sched.Resources{sched.MapSlots: 1},
		}}}
	}
	setup := policytest.Setup{
		Nodes: []sched.NodeSpec{{Name: "n1", Rack: 1, Capacity: sched.Resources{sched.MapSlots: 1}}},
		Jobs:  []*sched.JobSpec{job("large", 3), job("small", 2)},
		Take:  func(policytest.Try) (sched.Time, sched.Outcome) { return 10 * time.Second, sched.OK },
	}
	result, err := policytest.Run(setup, p)
	if err != nil {
		panic(err)
	}
	for _, j := range result.Jobs {
		fmt.Println(j.Name, "ends at", result.Ends[j].At)
	}
	// Output:
	// large ends at 50s
	// small ends at 20s
}
