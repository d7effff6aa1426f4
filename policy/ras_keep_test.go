package policy

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// A run in which maps of job "day-7" use 3 cores each lets the next run know that of job "day-8" of the same user, from
// its submission on. The job of another user is not like it.
func TestFootprintsOutlastARun(t *testing.T) {
	begin := func() (*ras, *sched.Core) {
		p, _, err := Parse("ras")
		if err != nil {
			t.Fatal(err)
		}
		return p.(*ras), sched.New(sched.Config{Policy: p, Can: sched.CanNameTasks})
	}
	node := sched.Event{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{
		Class: "c", Capacity: sched.Resources{sched.VCores: 8, sched.Memory: 1000},
	}}
	job := func(id sched.JobID, user, name string) sched.Event {
		return sched.Event{Kind: sched.JobSubmitted, Job: id, Body: &sched.JobSpec{User: user, Name: name,
			Stages: []sched.StageSpec{
				{Kind: sched.Map, PerTask: sched.Resources{sched.VCores: 1, sched.Memory: 10}, Tasks: 1},
			}}}
	}
	first, c := begin()
	var launched sched.AttemptID
	for _, a := range c.Step(0, []sched.Event{node, job(1, "ana", "day-7")}) {
		if a.Kind == sched.Launch {
			launched = a.Attempt
		}
	}
	c.Step(10*time.Second, []sched.Event{{
		Kind: sched.AttemptDone, Attempt: launched, Body: &sched.Counters{CPU: 30 * time.Second},
	}})
	text, err := json.Marshal(first.Left(c.Now))
	if err != nil {
		t.Fatal(err)
	}
	second, c := begin()
	if err := second.Recall(text); err != nil {
		t.Fatal(err)
	}
	c.Step(0, []sched.Event{node, job(1, "ana", "day-8"), job(2, "bob", "day-8")})
	for id, want := range map[sched.JobID]int64{1: 3000, 2: 1000} {
		if got := second.mapDemand(c.Job(id).Stages[0])[sched.VCores]; got != want {
			t.Errorf("a map of job %d counts with %d thousandths of a core, want %d", id, got, want)
		}
	}
	for _, bad := range []string{
		"{", `{"Past":{"a":{"N":1}}}`, `{"Past":{"a":{"N":1}},"Order":["b"]}`, `{"Past":{"a":{"N":0}},"Order":["a"]}`,
		`{"Past":{"a":{"N":1,"Cores":-1}},"Order":["a"]}`,
	} {
		if err := second.Recall([]byte(bad)); err == nil || len(second.Known.Past) != 1 {
			t.Errorf("%s: error %v, and %d kinds of stages are known", bad, err, len(second.Known.Past))
		}
	}
}

// What is taken in can be left and taken in again.
func FuzzFootprints(f *testing.F) {
	f.Add([]byte(`{"Past":{"a":{"N":1,"Cores":2}},"Order":["a"]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var m, again matrix
		if m.Recall(text) != nil {
			return
		}
		left, err := json.Marshal(m.Left(0))
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Recall(left); err != nil {
			t.Errorf("%q is taken in, and %q is not: %v", text, left, err)
		}
	})
}
