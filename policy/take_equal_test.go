package policy_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/longtest"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// A crowd makes events at random for a small cluster that is full of tasks of different sizes.
type crowd struct {
	*rand.Rand
	core *sched.Core
	jobs sched.JobID
}

// randomNode returns what a node offers.
func (c *crowd) randomNode() *sched.NodeSpec {
	return &sched.NodeSpec{Class: "c",
		Capacity: sched.Resources{sched.Memory: 2048 + 1024*c.Int64N(7), sched.VCores: 2 + c.Int64N(3)}}
}

// event returns what happens next. It asks the core which attempts there are.
func (c *crowd) event() sched.Event {
	var running, leaving []*sched.Attempt
	for j := range c.core.Jobs() {
		for _, st := range j.Stages {
			for a := range c.core.Attempts(st) {
				switch a.State {
				case sched.Running:
					running = append(running, a)
				case sched.Leaving, sched.Suspending:
					leaving = append(leaving, a)
				}
			}
		}
	}
	node := 1 + sched.NodeID(c.IntN(len(c.core.Nodes)))
	n := c.core.Node(node)
	job := 1 + sched.JobID(c.IntN(int(c.jobs)+1))
	live := c.core.Job(job) != nil && !c.core.Job(job).Ended
	switch i := c.IntN(100); {
	case i < 25 || c.jobs == 0:
		c.jobs++
		spec := &sched.JobSpec{Queue: []string{"", "bounded", "spared"}[c.IntN(3)], Stages: []sched.StageSpec{{
			PerTask: sched.Resources{sched.Memory: 512 * (1 + c.Int64N(6)), sched.VCores: 1 + c.Int64N(3)},
			Tasks:   1 + c.Int32N(3), Prior: sched.Time(1+c.IntN(100)) * time.Second, MaxAttempts: 4}}}
		switch c.IntN(3) {
		case 0:
			spec.Stages[0].Asked = true
			spec.Stages = append(spec.Stages, sched.StageSpec{Kind: sched.Master, Tasks: 1, MaxAttempts: 4,
				PerTask: sched.Resources{sched.Memory: 512, sched.VCores: 1}})
		case 1: // tasks of unknown time: they come last, and the other stage of the job first
			spec.Stages = append(spec.Stages, sched.StageSpec{PerTask: spec.Stages[0].PerTask, Tasks: 1 + c.Int32N(3),
				MaxAttempts: 4})
		}
		return sched.Event{Kind: sched.JobSubmitted, Job: c.jobs, Body: spec}
	case i < 50 && len(leaving) > 0:
		a := leaving[c.IntN(len(leaving))]
		if a.State == sched.Suspending {
			return sched.Event{Kind: sched.AttemptSuspended, Attempt: a.ID}
		}
		return sched.Event{Kind: sched.AttemptDone, Outcome: sched.Killed, Attempt: a.ID}
	case i < 70 && len(running) > 0:
		outcome := []sched.Outcome{sched.OK, sched.OK, sched.OK, sched.Failed}[c.IntN(4)]
		return sched.Event{Kind: sched.AttemptDone, Outcome: outcome, Attempt: running[c.IntN(len(running))].ID}
	case i < 74 && len(running) > 0:
		a := running[c.IntN(len(running))]
		amount := c.core.Amount(a.Holds)
		amount[sched.Memory] = max(1, amount[sched.Memory]/2)
		return sched.Event{Kind: sched.ResizeAsked, Attempt: a.ID, Body: &amount}
	case i < 78 && n.Lost:
		return sched.Event{Kind: sched.NodeJoined, Node: node, Body: c.randomNode()}
	case i < 78:
		return sched.Event{Kind: sched.NodeReported, Node: node, Body: c.randomNode()}
	case i < 80 && !n.Lost:
		return sched.Event{Kind: sched.NodeLost, Node: node}
	case i < 82 && live:
		return sched.Event{Kind: sched.JobEnded, Outcome: sched.Killed, Job: job}
	case i < 88 && live:
		return sched.Event{Kind: sched.AttemptFound, Job: job, Node: node, Body: &sched.Found{}}
	}
	return sched.Event{Kind: sched.Tick}
}

// A policy that asks whether all looks for a victim are in vain takes the same tasks back, at the same instants, as one
// that looks at all stages each time.
func TestHelpersChangeNoDecision(t *testing.T) {
	for _, spec := range []string{
		"hfsp", "hfsp:preempt=kill,sample=1", "srpt:preempt=kill", "srpt:preempt=suspend", "fsp:preempt=kill,delay=3s",
		"las:preempt=suspend", "gittins:preempt=suspend", "late{srpt:preempt=kill}:min-run=3s,cap=1",
		"late{hfsp}:min-run=3s,cap=1",
	} {
		taken := 0
		for seed := range uint64(longtest.Few(20, 200)) {
			coreOf := func(looks int) *sched.Core {
				p, _, err := policy.Parse(spec)
				if err != nil {
					t.Fatal(err)
				}
				return sched.New(sched.Config{Policy: policy.AskingAfter(p, looks),
					Can: sched.CanKill | sched.CanSuspend | sched.CanNameTasks, Queues: []*sched.QueueSpec{
						{Name: "bounded", Max: sched.Share{Part: 0.7}}, {Name: "spared", Spared: true}}})
			}
			asks, looks := coreOf(1), coreOf(1<<30)
			c := &crowd{Rand: rand.New(rand.NewPCG(seed, 31)), core: asks}
			var events []sched.Event
			for i := range 3 {
				events = append(events, sched.Event{Kind: sched.NodeJoined, Node: sched.NodeID(i + 1),
					Body: c.randomNode()})
			}
			for i := range sched.Time(200) {
				got, want := asks.Step(i*time.Second, slices.Clone(events)), looks.Step(i*time.Second, events)
				if !slices.Equal(got, want) {
					t.Fatalf("%s, seed %d, %d s: %v, want %v", spec, seed, i, got, want)
				}
				for _, a := range got {
					if a.Kind == sched.Kill || a.Kind == sched.Suspend {
						taken++
					}
				}
				events = append(events[:0], c.event())
			}
		}
		if taken < 20 {
			t.Errorf("%s: %d tasks were taken back: little was tested", spec, taken)
		}
	}
}
