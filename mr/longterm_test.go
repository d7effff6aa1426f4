package mr

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// A queue that lent its share gets it back on this engine: borrower has all 8 slots for 30 s, then lender comes and has
// all of them until it has drawn level. Under fair it has half of them.
func TestServeRepaysDebts(t *testing.T) {
	for spec, want := range map[string]time.Duration{
		"longterm:guaranteed=0,quantum=0s": 60 * time.Second, // 24 tasks on 8 slots
		"fair":                             90 * time.Second, // 24 tasks on 4 slots
	} {
		synctest.Test(t, func(t *testing.T) {
			p, _, err := policy.Parse(spec)
			if err != nil {
				t.Fatal(err)
			}
			ended := endings{}
			maps := func(n int32) *sleeper { return &sleeper{stages: mapReduce(n, 10*time.Second, 0, 0)[:1]} }
			jobs := []Submission{
				{Spec: &sched.JobSpec{Name: "long", Queue: "borrower"}, Work: maps(80)},
				{Spec: &sched.JobSpec{Name: "late", Queue: "lender", Submit: 30 * time.Second}, Work: maps(24)},
			}
			var nodes []sched.NodeSpec
			for i := range 4 {
				nodes = append(nodes, sched.NodeSpec{
					Name: fmt.Sprint("n", i), Class: "c", Capacity: sched.Resources{sched.MapSlots: 2},
				})
			}
			core := sched.Config{
				Policy: p, Recorder: ended, Queues: []*sched.QueueSpec{{Name: "lender"}, {Name: "borrower"}},
			}
			if _, err := Serve(t.Context(), Config{Core: core, Nodes: nodes, Settle: synctest.Wait}, jobs); err != nil {
				t.Fatal(err)
			}
			if ended[2] != want {
				t.Errorf("%s: the lender's job ends at %v, want %v", spec, ended[2], want)
			}
		})
	}
}
