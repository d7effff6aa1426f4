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

// An application may ask for more or less than a container holds. Of 4 GiB, J has 2 in two containers. At 1 s one of
// them comes to hold the other 2, too, so that K waits until it ends. At 21 s one of the three of L gives up 512 MiB,
// and M, which needs 1.5 GiB, has room.
func TestContainersChangeTheirSizes(t *testing.T) {
	p, _, err := policy.Parse("fifo")
	if err != nil {
		t.Fatal(err)
	}
	job := func(name string, at sched.Time, tasks int32, mebibytes int64) *sched.JobSpec {
		return &sched.JobSpec{Name: name, Submit: at, Stages: []sched.StageSpec{{Kind: sched.Map, Tasks: tasks,
			MaxAttempts: 4, PerTask: sched.Resources{sched.Memory: mebibytes, sched.VCores: 1}}}}
	}
	j, k := job("J", 0, 2, 1024), job("K", 2*time.Second, 1, 1024)
	l, m := job("L", 20*time.Second, 3, 1024), job("M", 20*time.Second, 1, 1536)
	res, err := Run(Setup{
		Can:   allPowers,
		Nodes: []sched.NodeSpec{{Name: "n1", Rack: 1, Capacity: sched.Resources{sched.Memory: 4096, sched.VCores: 9}}},
		Jobs:  []*sched.JobSpec{j, k, l, m},
		Trouble: []Trouble{
			{At: time.Second, Node: 1, Asks: 32},
			{At: 21 * time.Second, Node: 1, Asks: 4},
			{At: 40 * time.Second, Node: 1, Asks: 4}, // nothing runs any more
		},
		Take: func(Try) (sched.Time, sched.Outcome) { return 10 * time.Second, sched.OK },
	}, p)
	got := [...]sched.Time{res.Ends[j].At, res.Ends[k].At, res.Ends[l].At, res.Ends[m].At}
	want := [...]sched.Time{10 * time.Second, 20 * time.Second, 30 * time.Second, 31 * time.Second}
	if err != nil || got != want {
		t.Errorf("they end at %v (%v), want %v", got, err, want)
	}
}

// A range of seeds has two ends, in order.
func TestSeedRange(t *testing.T) {
	if from, to, err := seedRange("100..102"); from != 100 || to != 103 || err != nil {
		t.Errorf("100..102 is from %d to before %d (%v)", from, to, err)
	}
	for _, bad := range []string{"", "5", "5..", "..5", "7..6", "a..b", "-1..3", "1..2..3"} {
		if _, _, err := seedRange(bad); err == nil {
			t.Errorf("%q is a range", bad)
		}
	}
}
