package policytest

import (
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// greedy launches twice as many tasks as wait.
type greedy struct{}

// Decide launches them on the first node.
func (greedy) Decide(p *sched.Plan) {
	for j := range p.Jobs() {
		st := j.Stages[0]
		for range 2 * st.Pending {
			p.Launch(st, p.Node(1))
		}
	}
}

// A test of a policy that asks for invalid actions prints the first one, its instant, and why it is invalid.
func TestConformNamesTheRefusal(t *testing.T) {
	r := policy.Registry{"greedy": {New: func(policy.Args) sched.Policy { return greedy{} }}}
	s := Setup{
		Can:   allPowers,
		Nodes: []sched.NodeSpec{{Name: "n1", Rack: 1, Capacity: sched.Resources{sched.MapSlots: 9}}},
		Jobs: []*sched.JobSpec{{Name: "a", Submit: time.Second, Stages: []sched.StageSpec{
			{Kind: sched.Map, Tasks: 2, MaxAttempts: 4, PerTask: sched.Resources{sched.MapSlots: 1}},
		}}},
		Take: func(Try) (sched.Time, sched.Outcome) { return time.Second, sched.OK },
	}
	c := conformance{registry: r, spec: "greedy"}
	_, err := c.observed(s, 0)
	want := "2 actions were refused; the first: launch at 1s for stage 0 of job 1 on node 1: nothing of the " +
		"stage is pending"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// A node may offer something else from the instant on in which it joins: here room for one task instead of two.
func TestTroubleAtTheStart(t *testing.T) {
	p, _, err := policy.Parse("fifo")
	if err != nil {
		t.Fatal(err)
	}
	job := &sched.JobSpec{Name: "a", Stages: []sched.StageSpec{
		{Kind: sched.Map, Tasks: 2, MaxAttempts: 4, PerTask: sched.Resources{sched.MapSlots: 1}},
	}}
	res, err := Run(Setup{
		Can:     allPowers,
		Nodes:   []sched.NodeSpec{{Name: "n1", Rack: 1, Capacity: sched.Resources{sched.MapSlots: 2}}},
		Jobs:    []*sched.JobSpec{job},
		Trouble: []Trouble{{Node: 1, Offers: &sched.Resources{sched.MapSlots: 1}}},
		Take:    func(Try) (sched.Time, sched.Outcome) { return time.Second, sched.OK },
	}, p)
	if got := res.Ends[job].At; err != nil || got != 2*time.Second {
		t.Errorf("two tasks of 1 s on one slot end at %v (%v), want 2s", got, err)
	}
}
