package policy

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// Under adaptive a stage waits once for its goal, however often the goal changes. With split=waves, the goal of maps
// moves each time the mean of the reduces changes.
func TestAdaptiveWaitsOnceForAGoal(t *testing.T) {
	p, _, err := Parse("adaptive:split=waves")
	if err != nil {
		t.Fatal(err)
	}
	c := sched.New(sched.Config{Policy: p})
	acts := c.Step(0, []sched.Event{
		{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{Name: "n1", Capacity: sched.Resources{
			sched.MapSlots: 10, sched.ReduceSlots: 10}}},
		{Kind: sched.JobSubmitted, Job: 1, Body: &sched.JobSpec{Name: "a", Deadline: 1000 * time.Hour,
			Stages: []sched.StageSpec{
				{Kind: sched.Map, Tasks: 500, MaxAttempts: 4, PerTask: sched.Resources{sched.MapSlots: 1}},
				{Kind: sched.Reduce, Tasks: 10, MaxAttempts: 4, PerTask: sched.Resources{sched.ReduceSlots: 1},
					After: []sched.Dep{{Stage: 0, Part: 1}}}}}},
	})
	goals, last, done := 0, sched.Time(0), 0
	order := &p.(*adaptive).Order
	for now := sched.Time(0); done < 400; {
		now += time.Second + sched.Time(done%7)*time.Second/10
		var events []sched.Event
		for _, a := range acts {
			if a.Kind == sched.Launch {
				events = append(events, sched.Event{Kind: sched.AttemptDone, Attempt: a.Attempt})
				done++
			}
		}
		acts = c.Step(now, events)
		if goal := order.goal(&c.View, c.Job(1).Stages[0]); goal != last {
			goals, last = goals+1, goal
		}
		if len(order.due) > 2 {
			t.Fatalf("after %d changes of a goal two stages wait for %d goals", goals, len(order.due))
		}
	}
	if goals < 20 {
		t.Errorf("the goal changed %d times: little was tested", goals)
	}
}
