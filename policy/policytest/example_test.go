package policytest_test

import (
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/policy/policytest"
	"github.com/sojourn-sched/sojourn/sched"
)

// Two tasks of 10 s on a node with one slot, which is lost from 5 s to 20 s. The first task begins again when the node
// is back, and the second one follows it.
func ExampleRun() {
	setup := policytest.Setup{
		Nodes: []sched.NodeSpec{{Name: "n1", Rack: 1, Capacity: sched.Resources{sched.MapSlots: 1}}},
		Jobs: []*sched.JobSpec{{Name: "words", Stages: []sched.StageSpec{{
			Kind: sched.Map, Tasks: 2, MaxAttempts: 4, PerTask: sched.Resources{sched.MapSlots: 1},
		}}}},
		Take: func(policytest.Try) (sched.Time, sched.Outcome) { return 10 * time.Second, sched.OK },
		Trouble: []policytest.Trouble{
			{At: 5 * time.Second, Node: 1},
			{At: 20 * time.Second, Node: 1, Back: true},
		},
	}
	fifo, _, err := policy.Parse("fifo")
	if err != nil {
		panic(err)
	}
	result, err := policytest.Run(setup, fifo)
	if err != nil {
		panic(err)
	}
	for _, entry := range result.Log {
		fmt.Println(entry.At, entry.Kind)
	}
	for _, job := range result.Jobs {
		fmt.Println(job.Name, "ends at", result.Ends[job].At)
	}
	// Output:
	// 0s launch
	// 20s launch
	// 30s launch
	// words ends at 40s
}
