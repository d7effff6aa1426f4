package policy

import (
	"fmt"
	"slices"
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

// A job that just fits is noted when its node comes to offer less, and not before: 40 tasks of 10 s are 100 s of four
// slots. A report that changes nothing is no news.
func TestAdaptiveNotesOfNodesThatOfferLess(t *testing.T) {
	p, _, err := Parse("adaptive")
	if err != nil {
		t.Fatal(err)
	}
	core := sched.New(sched.Config{Policy: p})
	node := func(kind sched.EventKind, slots int64) sched.Event {
		return sched.Event{Kind: kind, Node: 1, Body: &sched.NodeSpec{Class: "c",
			Capacity: sched.Resources{sched.MapSlots: slots}}}
	}
	step := func(at time.Duration, events ...sched.Event) []string {
		core.Step(at, events)
		return p.(Noter).Notes()
	}
	job := &sched.JobSpec{Name: "long", Deadline: 100 * time.Second, Stages: []sched.StageSpec{{Kind: sched.Map,
		Tasks: 40, PerTask: sched.Resources{sched.MapSlots: 1}, Prior: 10 * time.Second}}}
	notes := step(0, node(sched.NodeJoined, 4), sched.Event{Kind: sched.JobSubmitted, Job: 1, Body: job})
	if notes = append(notes, step(time.Second, sched.Event{Kind: sched.NodeReported, Node: 1})...); len(notes) != 0 {
		t.Errorf("what fits is noted: %q", notes)
	}
	want := []string{"at 2s the goal of job 1 (long) cannot be met on 3 map-slots; 4 map-slots would do; " +
		"or goals 32.7 s later"}
	if notes := step(2*time.Second, node(sched.NodeReported, 3)); !slices.Equal(notes, want) {
		t.Errorf("the notes are %q, not %q", notes, want)
	}
}

// A node has memory for eight tasks and cores for two. 10 tasks of 10 s are due after 40 s: two cores do 80 s of work
// until then, although what fits into memory would do 320. So the goal is missed by 10 s, and three cores would meet
// it. Where as few jobs as possible are to be late it is given up, and the other job, which fits, goes first.
// late-cap=0.5 is half of the cores, too.
func TestAdaptiveScarcestResource(t *testing.T) {
	job := func(tasks int32, goal time.Duration) *sched.JobSpec {
		return &sched.JobSpec{Deadline: goal, Stages: []sched.StageSpec{{Kind: sched.Map, Tasks: tasks,
			PerTask: sched.Resources{sched.Memory: 1024, sched.VCores: 1}, Prior: 10 * time.Second}}}
	}
	start := func(policy string, wait time.Duration, jobs ...*sched.JobSpec) (sched.Policy, string) {
		p, _, err := Parse(policy)
		if err != nil {
			t.Fatal(err)
		}
		core := sched.New(sched.Config{Policy: p})
		var events []sched.Event
		for i, spec := range jobs {
			events = append(events, sched.Event{Kind: sched.JobSubmitted, Job: sched.JobID(i + 1), Body: spec})
		}
		core.Step(0, events)
		actions := core.Step(wait, []sched.Event{{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{
			Class: "c", Capacity: sched.Resources{sched.Memory: 8192, sched.VCores: 2}}}})
		var of []sched.JobID
		for _, a := range actions {
			of = append(of, a.Stage.Job)
		}
		return p, fmt.Sprint(of)
	}
	due, fits, later := job(10, 40*time.Second), job(4, 45*time.Second), job(4, time.Hour)
	for _, c := range []struct {
		policy string
		wait   time.Duration
		second *sched.JobSpec
		want   string // whose tasks are started
	}{
		{"edf", 0, fits, "[1 1]"},
		{"adaptive:shortage=fewest", 0, fits, "[2 2]"},
		{"adaptive:lengths=estimated", 50 * time.Second, later, "[1 1]"},
		{"adaptive:lengths=estimated,late-cap=0.5", 50 * time.Second, later, "[1 2]"},
	} {
		if _, got := start(c.policy, c.wait, due, c.second); got != c.want {
			t.Errorf("%s starts tasks of jobs %s, not %s", c.policy, got, c.want)
		}
	}
	p, _ := start("adaptive", 0, due)
	want := []string{"at 0s the goal of job 1 cannot be met on 2 vcores; 3 vcores would do; or goals 10 s later"}
	if notes := p.(Noter).Notes(); !slices.Equal(notes, want) {
		t.Errorf("the notes are %q, not %q", notes, want)
	}
}

// Two jobs of a ResourceManager, whose tasks are known when their masters ask for them. Masters hold two of four GiB,
// so that two are left for maps. The first job's 8 maps of 10 s cannot be through in the 29 s that are left to its
// goal: they are 80 s on two slots. So it is given up when it asks, and the second job is served first, though its
// goal is later. Were the room of masters counted, or the asks not looked at, the first would come first. A third job
// says that its tasks take 100 s, more than two slots have by its goal: its master comes after that of a fourth one,
// whose goal is later and which says nothing.
func TestAdaptiveGivesUpWhatMastersAskFor(t *testing.T) {
	p, _, err := Parse("adaptive:shortage=fewest,masters=1")
	if err != nil {
		t.Fatal(err)
	}
	core := sched.New(sched.Config{Policy: p})
	gib := sched.Resources{sched.Memory: 1024}
	job := func(id sched.JobID, goal, told time.Duration) sched.Event {
		return sched.Event{Kind: sched.JobSubmitted, Job: id, Body: &sched.JobSpec{Deadline: goal, Open: true,
			Stages: []sched.StageSpec{{Kind: sched.Master, PerTask: gib, Tasks: 1, Prior: told}}}}
	}
	asks := func(id sched.JobID, maps int32) sched.Event {
		return sched.Event{Kind: sched.AsksChanged, Job: id, Body: &sched.Asks{Stage: 1, Pending: maps,
			Spec: &sched.StageSpec{Kind: sched.Map, PerTask: gib, Tasks: -1, Prior: 10 * time.Second}}}
	}
	launched := func(acts []sched.Action) (list []sched.StageID) {
		for _, a := range acts {
			if a.Kind == sched.Launch {
				list = append(list, a.Stage)
			}
		}
		return list
	}
	core.Step(0, []sched.Event{
		{Kind: sched.NodeJoined, Node: 1,
			Body: &sched.NodeSpec{Class: "c", Capacity: sched.Resources{sched.Memory: 4096}}},
		job(1, 30*time.Second, 0), job(2, 60*time.Second, 0),
	})
	got := launched(core.Step(time.Second, []sched.Event{asks(1, 8), asks(2, 2)}))
	if want := []sched.StageID{{Job: 2, Index: 1}, {Job: 2, Index: 1}}; !slices.Equal(got, want) {
		t.Errorf("started are tasks of %v, not of %v", got, want)
	}
	core.Step(2*time.Second, []sched.Event{job(3, 40*time.Second, 100*time.Second), job(4, 200*time.Second, 0)})
	place := func(id sched.JobID) sched.Key {
		k, ok := p.(*adaptive).Position(&core.View, core.Job(id).Stages[0])
		if !ok {
			t.Errorf("the master of job %d has no place in the order", id)
		}
		return k
	}
	if third, fourth := place(3), place(4); !fourth.Before(third) {
		t.Errorf("the master of job 4 is at %+v, after that of job 3 at %+v", fourth, third)
	}
}
