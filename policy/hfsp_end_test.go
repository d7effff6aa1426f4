package policy_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/policy/policytest"
	"github.com/sojourn-sched/sojourn/sched"
)

// Each job ends, really and in the virtual cluster, at the instant at which the next one comes: the newcomer
// may get the virtual place of the one before, and keeps it.
func TestHFSPEndsAsAnotherComes(t *testing.T) {
	s := policytest.Setup{
		Nodes: []sched.NodeSpec{{Name: "n", Capacity: sched.Resources{sched.MapSlots: 1}}},
		Take:  func(x policytest.Try) (sched.Time, sched.Outcome) { return x.Job.Stages[x.Stage].Prior, sched.OK },
	}
	const jobs = 4
	for i := range jobs {
		s.Jobs = append(s.Jobs, &sched.JobSpec{Name: "j", Submit: sched.Time(i) * 4 * time.Second,
			Stages: []sched.StageSpec{
				{Kind: sched.Map, PerTask: sched.Resources{sched.MapSlots: 1}, Tasks: 2, Prior: 2 * time.Second},
			}})
	}
	for _, spec := range []string{"hfsp", "fsp", "psbs"} {
		p, _, err := policy.All.Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		res, err := policytest.Run(s, p)
		if err != nil {
			t.Fatal(err)
		}
		for i, j := range s.Jobs {
			if got, want := res.Ends[j].At, sched.Time(i+1)*4*time.Second; got != want {
				t.Errorf("%s: job %d ends at %v, want %v", spec, i+1, got, want)
			}
		}
	}
}
