package policy

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// askingCore returns a core under a policy, with a node of two slots and a job that asks for its tasks one by one.
func askingCore(t *testing.T, spec string) (*sched.Core, sched.Policy) {
	t.Helper()
	p, _, err := Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	c := sched.New(sched.Config{Policy: p})
	job := secondsJob(1, 100)
	job.Body.(*sched.JobSpec).Stages[0].Asked = true
	c.Step(0, []sched.Event{slotNode(1, 2), job})
	return c, p
}

// What attempts hold that ran already, as after a restart, counts under fspy at once.
func TestFspyCountsFoundAttempts(t *testing.T) {
	c, p := askingCore(t, "fspy")
	found := sched.Event{Kind: sched.AttemptFound, Job: 1, Node: 1, Body: &sched.Found{}}
	c.Step(time.Second, []sched.Event{found, found})
	held := int64(0)
	for _, n := range p.(*fspy).Virtual.Held {
		held += n
	}
	if used := c.Job(1).Used[sched.MapSlots]; used != 2 || held != 2 {
		t.Errorf("a job that holds %d slots is taken to hold %d, want 2", used, held)
	}
}

// hardware plans anew, when its next plan is due, after attempts have been found.
func TestHardwareNoticesFoundAttempts(t *testing.T) {
	c, p := askingCore(t, "hardware")
	h := p.(*hardware)
	for h.Dirty {
		c.Step(max(c.Now, h.Next)+time.Second, nil)
	}
	c.Step(c.Now, []sched.Event{{Kind: sched.AttemptFound, Job: 1, Node: 1, Body: &sched.Found{}}})
	if !h.Dirty || h.Next <= c.Now {
		t.Errorf("an attempt that was found calls for no new plan at %v", h.Next)
	}
}
