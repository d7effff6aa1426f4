package policy

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// Of 200 jobs that come one by one at an instant, the first mostPlans lead to a plan each, and the others to one
// together a nanosecond later: then flex wants slots for all of them, and reverse knows all of them.
func TestPlansOfBursts(t *testing.T) {
	for _, spec := range []string{"flex", "reverse"} {
		p, _, err := Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		core := sched.New(sched.Config{Policy: p})
		core.Step(0, []sched.Event{{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{
			Class: "c", Capacity: sched.Resources{sched.Memory: 1 << 20, sched.VCores: 1000}}}})
		var wake sched.Time
		for i := range 200 {
			for _, a := range core.Step(time.Second, []sched.Event{{Kind: sched.JobSubmitted, Job: sched.JobID(i + 1),
				Body: &sched.JobSpec{Stages: []sched.StageSpec{{Kind: sched.Map, Tasks: 2, Prior: time.Second,
					PerTask: sched.Resources{sched.Memory: 1024, sched.VCores: 1}}}}}}) {
				if a.Kind == sched.Wake {
					wake = a.At
				}
			}
		}
		if wake != time.Second+1 {
			t.Errorf("%s: the policy asks for a Step at %v, not at the next instant", spec, wake)
		}
		core.Step(wake, nil)
		planned := 0
		var plans burst
		for j := range core.Jobs() {
			switch p := p.(type) {
			case *flex:
				plans = p.Epochs.Burst
				if p.Division.Slots.Of(j.Stages[0]).Active {
					planned++
				}
			case *backward:
				plans = p.Matrix.Burst
				if _, ok := p.Fits.Has(j); ok {
					planned++
				}
			}
		}
		if planned != 200 || plans != (burst{At: wake, Plans: 1}) {
			t.Errorf("%s: %d of 200 jobs are planned, and the plans are %+v", spec, planned, plans)
		}
	}
}
