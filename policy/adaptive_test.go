package policy

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// Four slots have 400 s of work until 100, and 100 more until 120: 480 would fit. The note names the job with the most
// work, 500/120 slots rounded up, and the 5 s that 500/4 exceeds 120 by. It is said once.
func TestAdaptiveNotes(t *testing.T) {
	p, _, err := Parse("adaptive")
	if err != nil {
		t.Fatal(err)
	}
	core := sched.New(sched.Config{Policy: p})
	job := func(name string, tasks int32, goal time.Duration) *sched.JobSpec {
		return &sched.JobSpec{Name: name, Deadline: goal, Stages: []sched.StageSpec{{Kind: sched.Map, Tasks: tasks,
			PerTask: sched.Resources{sched.MapSlots: 1}, Prior: 10 * time.Second}}}
	}
	step := func(id sched.JobID, spec *sched.JobSpec) []string {
		core.Step(0, []sched.Event{{Kind: sched.JobSubmitted, Job: id, Body: spec}})
		return p.(Noter).Notes()
	}
	core.Step(0, []sched.Event{{Kind: sched.NodeJoined, Node: 1,
		Body: &sched.NodeSpec{Class: "c", Capacity: sched.Resources{sched.MapSlots: 4}}}})
	if notes := step(1, job("long", 40, 100*time.Second)); len(notes) != 0 {
		t.Errorf("what fits exactly is noted: %q", notes)
	}
	want := "at 0s the goals of 2 jobs cannot all be met on 4 map-slots; late will be job 1 (long); " +
		"5 map-slots would do; or goals 5 s later; or without the late ones"
	if notes := step(2, job("short", 10, 120*time.Second)); len(notes) != 1 || notes[0] != want {
		t.Errorf("the note is %q, not %q", notes, want)
	}
	if notes := step(3, job("tiny", 1, 500*time.Second)); len(notes) != 0 {
		t.Errorf("it is said again: %q", notes)
	}
}
