package policy

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/theory/placement"
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
		`{"Past":{"a":{"N":1},"b":{"N":1}},"Order":["a","a"]}`,
	} {
		if err := second.Recall([]byte(bad)); err == nil || len(second.Known.Past) != 1 {
			t.Errorf("%s: error %v, and %d kinds of stages are known", bad, err, len(second.Known.Past))
		}
	}
}

// A map uses 2.5 cores on average over 10 s, reads and writes 15 MB/s together, a part of 0.15 of disk=100, and reads
// 4 MB/s from other nodes, 0.1 of network=40. A reduce copies 15 MB/s for 4 s, 0.375, and then uses 2 cores for 6 s and
// writes 20 MB/s, 0.2. Parts are in twentieths, rounded up from a quarter of one on. With profiles=given nothing is
// learned.
func TestDemandsFromCounters(t *testing.T) {
	const s, mb = time.Second, 1_000_000
	mapped := &sched.Counters{CPU: 25 * s, InputBytes: 100 * mb, OutputBytes: 50 * mb, RemoteBytes: 40 * mb}
	reduced := &sched.Counters{CPU: 12 * s, InputBytes: 60 * mb, OutputBytes: 120 * mb}
	reduced.Phases[sched.PhaseShuffle] = 4 * s
	type use struct{ cores, disk, network int64 } // thousandths of a core and of a millionth
	const ppm = 1000
	for policy, want := range map[string][3]use{ // of a map, and of a reduce that waits and that has its input
		"ras:disk=100,network=40": {{2500, 150_000 * ppm, 100_000 * ppm}, {1000, 0, 400_000 * ppm},
			{2000, 200_000 * ppm, 0}},
		"ras:disk=100,network=40,profiles=given": {{1000, 0, 0}, {1000, 0, 0}, {1000, 0, 0}},
	} {
		p, _, err := Parse(policy)
		if err != nil {
			t.Fatal(err)
		}
		core := sched.New(sched.Config{Policy: p, Can: sched.CanNameTasks})
		each := sched.Resources{sched.VCores: 1, sched.Memory: 10}
		var launched sched.AttemptID
		step := func(at sched.Time, events ...sched.Event) {
			for _, a := range core.Step(at, events) {
				if a.Kind == sched.Launch {
					launched = a.Attempt
				}
			}
		}
		step(0, sched.Event{Kind: sched.NodeJoined, Node: 1, Body: &sched.NodeSpec{Class: "c",
			Capacity: sched.Resources{sched.VCores: 8, sched.Memory: 1000}}},
			sched.Event{Kind: sched.JobSubmitted, Job: 1, Body: &sched.JobSpec{Stages: []sched.StageSpec{
				{Kind: sched.Map, PerTask: each, Tasks: 1},
				{Kind: sched.Reduce, PerTask: each, Tasks: 2, After: []sched.Dep{{Stage: 0, Part: 1}}}}}})
		step(10*s, sched.Event{Kind: sched.AttemptDone, Job: 1, Attempt: launched, Body: mapped})
		step(20*s, sched.Event{Kind: sched.AttemptDone, Job: 1, Attempt: launched, Body: reduced})
		m, stages := &p.(*ras).matrix, core.Job(1).Stages
		waits, _, works := m.reduceDemands(stages[1])
		for i, d := range []placement.Demand{m.mapDemand(stages[0]), waits, works} {
			if got := (use{d[sched.VCores], d[sched.DiskIO], d[sched.NetworkIO]}); got != want[i] {
				t.Errorf("%s: a task of kind %d counts with %+v, want %+v", policy, i, got, want[i])
			}
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
