package policy

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// What policies learn of a job from the ends of its attempts survives JSON, also where random runs decide the same
// without it. Of four maps one takes 10 s, with two cores busy, and one fails.
func TestWhatEndsOfAttemptsTellIsStored(t *testing.T) {
	for _, c := range []struct {
		spec  string
		field string
		value func(p sched.Policy, st *sched.Stage) any
	}{
		{"flex:certainty=law", "Laws", func(p sched.Policy, st *sched.Stage) any {
			return *p.(*flex).Demand.Laws.Of(st)
		}},
		{"fspy:uber-maps=0", "Asked", func(p sched.Policy, st *sched.Stage) any {
			return *p.(*fspy).Virtual.Asked.Of(st)
		}},
		{"hardware", "Failures", func(p sched.Policy, st *sched.Stage) any {
			return p.(*hardware).Failures.Of(st.Job)
		}},
		{"ras", "Used", func(p sched.Policy, st *sched.Stage) any { return *p.(*ras).Used.Of(st) }},
	} {
		p, _, err := Parse(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		each := sched.Resources{sched.Memory: 10, sched.VCores: 1}
		core := sched.New(sched.Config{Policy: p, Estimator: &asked{}})
		job := &sched.JobSpec{Stages: []sched.StageSpec{{Kind: sched.Map, Tasks: 4, PerTask: each, MaxAttempts: 4}}}
		acts := core.Step(0, []sched.Event{{Kind: sched.JobSubmitted, Job: 1, Body: job},
			{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{Class: "c", Capacity: each.Times(8)}}})
		var ran []sched.AttemptID
		for _, a := range acts {
			if a.Kind == sched.Launch {
				ran = append(ran, a.Attempt)
			}
		}
		if len(ran) < 2 {
			t.Errorf("%s: %d tasks start, want 2 at least", c.spec, len(ran))
			continue
		}
		core.Step(10*time.Second, []sched.Event{
			{Kind: sched.AttemptDone, Attempt: ran[0], Body: &sched.Counters{CPU: 20 * time.Second}},
			{Kind: sched.AttemptDone, Attempt: ran[1], Outcome: sched.Failed},
		})
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		again, _, _ := Parse(c.spec)
		if err := json.Unmarshal(text, again); err != nil {
			t.Fatal(err)
		}
		st := core.Job(1).Stages[0]
		none, _, _ := Parse(c.spec)
		want := c.value(p, st)
		if got := c.value(again, st); !reflect.DeepEqual(got, want) || reflect.DeepEqual(want, c.value(none, st)) {
			t.Errorf("%s: %s is %+v, and %+v from JSON", c.spec, c.field, want, got)
		}
	}
}
