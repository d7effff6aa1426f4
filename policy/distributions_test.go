package policy

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// On two slots a task of 100 s that has 60 s left to its deadline has no chance, although its time ÷ 2 would do. Two
// tasks of 20 s have a chance with 15 s left if one has ended and the other runs: it is about to end. A job that had no
// chance when it came is one whose estimate is doubted, until a task has finished or the deadline is over.
func TestDistributionsOfFewTasks(t *testing.T) {
	hopeless := func(tasks int32, length, deadline, looked time.Duration, ended bool) bool {
		p, _, err := Parse("distributions")
		if err != nil {
			t.Fatal(err)
		}
		core := sched.New(sched.Config{Policy: p})
		job := func(id sched.JobID, tasks int32, length, deadline time.Duration) sched.Event {
			return sched.Event{Kind: sched.JobSubmitted, Job: id, Body: &sched.JobSpec{Deadline: deadline,
				Stages: []sched.StageSpec{{Kind: sched.Map, Tasks: tasks, Prior: length,
					PerTask: sched.Resources{sched.MapSlots: 1}}}}}
		}
		core.Step(0, []sched.Event{{Kind: sched.NodeJoined, Node: 1,
			Body: &sched.NodeSpec{Class: "c", Capacity: sched.Resources{sched.MapSlots: 2}}}})
		if !ended {
			core.Step(0, []sched.Event{job(1, 2, time.Hour, 2*time.Hour)}) // holds both slots
		}
		asked := job(2, tasks, length, deadline)
		acts := core.Step(0, []sched.Event{asked})
		if ended {
			core.Step(looked, []sched.Event{{Kind: sched.AttemptDone, Job: 2, Attempt: acts[0].Attempt,
				Outcome: sched.OK}})
		} else {
			core.Step(looked, []sched.Event{{Kind: sched.SpecChanged, Job: 2, Body: asked.Body}})
		}
		return p.(*minedf).Entitled.Of(core.Job(2).Stages[0]).Hopeless
	}
	const s = time.Second
	for _, c := range []struct {
		why                      string
		tasks                    int32
		length, deadline, looked time.Duration
		ended, hopeless          bool
	}{
		{"a task takes longer than there is time", 1, 100 * s, 110 * s, 50 * s, false, true},
		{"a running task is about to end", 2, 20 * s, 35 * s, 20 * s, true, false},
		{"two waves are in time", 4, 20 * s, 45 * s, 1 * s, false, false},
		{"there was no chance when the job came", 1, 100 * s, 60 * s, 50 * s, false, false},
		{"its deadline is over", 1, 100 * s, 60 * s, 61 * s, false, true},
		{"one of its tasks has finished, and the others are not in time", 9, 100 * s, 150 * s, 100 * s, true, true},
	} {
		if got := hopeless(c.tasks, c.length, c.deadline, c.looked, c.ended); got != c.hopeless {
			t.Errorf("%s: hopeless is %v, want %v", c.why, got, c.hopeless)
		}
	}
}
