package policy

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// On two slots a task of 100 s that has 60 s left to its deadline has no chance, although its time ÷ 2 would do. Two
// tasks of 20 s have a chance with 15 s left if one has ended and the other runs: it is about to end.
func TestDistributionsOfFewTasks(t *testing.T) {
	hopeless := func(tasks int32, length, deadline time.Duration, ended bool) bool {
		p, _, err := Parse("distributions")
		if err != nil {
			t.Fatal(err)
		}
		core := sched.New(sched.Config{Policy: p})
		acts := core.Step(0, []sched.Event{
			{Kind: sched.NodeJoined, Node: 1,
				Body: &sched.NodeSpec{Class: "c", Capacity: sched.Resources{sched.MapSlots: 2}}},
			{Kind: sched.JobSubmitted, Job: 1, Body: &sched.JobSpec{Deadline: deadline, Stages: []sched.StageSpec{
				{Kind: sched.Map, Tasks: tasks, PerTask: sched.Resources{sched.MapSlots: 1}, Prior: length}}}},
		})
		if ended {
			core.Step(length, []sched.Event{{Kind: sched.AttemptDone, Job: 1, Attempt: acts[0].Attempt,
				Outcome: sched.OK}})
		}
		return p.(*minedf).Entitled.Of(core.Job(1).Stages[0]).Hopeless
	}
	if !hopeless(1, 100*time.Second, time.Minute, false) {
		t.Error("a task that takes longer than there is time has a chance")
	}
	if hopeless(2, 20*time.Second, 35*time.Second, true) {
		t.Error("a running task is taken to have its whole time before it")
	}
	if hopeless(4, 20*time.Second, 45*time.Second, false) {
		t.Error("two waves of tasks in time have no chance")
	}
}
