package policy_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/policy/policytest"
	"github.com/sojourn-sched/sojourn/sched"
)

// A poolWatch looks for accelerated nodes that a policy leaves idle although jobs wait that have no accelerated code.
type poolWatch struct {
	inner  sched.Policy
	named  map[string]bool // accelerators that jobs have named
	looked int             // how often such a job waited
	idle   string
}

// Decide asks the policy to decide, and looks.
func (w *poolWatch) Decide(p *sched.Plan) {
	for i := range p.Events {
		if e := &p.Events[i]; e.Kind == sched.JobSubmitted && p.Job(e.Job).Spec.Profile != nil {
			for _, name := range p.Job(e.Job).Spec.Profile.Accelerators {
				w.named[name] = true
			}
		}
	}
	w.inner.Decide(p)
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			if j.Spec.Profile != nil || st.Pending == 0 || st.Kind == sched.Master || !started(st) {
				continue
			}
			w.looked++
			accelerated := sched.Where{Level: sched.OffSwitch, Ok: func(n *sched.Node) bool {
				return w.named[p.Classes[n.Class-1].Name] && n.Capacity[sched.Accelerators] == 0
			}}
			if n := p.FirstWhere(st, accelerated); n != nil && w.idle == "" {
				w.idle = fmt.Sprintf("at %v stage %v waits, and accelerated node %d has room", p.Now, st.ID, n.ID)
			}
		}
	}
}

// started reports whether all tasks are done that st waits for.
func started(st *sched.Stage) bool {
	for _, d := range st.Spec.After {
		if before := st.Job.Stages[d.Stage]; before.Done < before.Total {
			return false
		}
	}
	return true
}

// An accelerated pool never idles while a regular job has tasks that wait (docs/spec/hardware.md, 2.5, step 4).
func TestAcceleratedNodesDoNotIdle(t *testing.T) {
	looked := 0
	for seed := range uint64(200) {
		p, _, err := policy.All.Parse("hardware:epoch=0s")
		if err != nil {
			t.Fatal(err)
		}
		w := &poolWatch{inner: p, named: map[string]bool{}}
		if _, err := policytest.Run(policytest.RandomSetup(seed, 1), w); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if w.idle != "" {
			t.Errorf("seed %d: %s", seed, w.idle)
		}
		if len(w.named) > 0 {
			looked += w.looked
		}
	}
	if looked < 1000 {
		t.Errorf("regular jobs waited %d times, want more", looked)
	}
}

// Of job day-1 one map runs on the accelerated node, in 5 s, and one on the plain node, in 125 s, to tell how much it
// gains. Where the estimator keeps a history, job day-2 is known to be like it: its maps need a part of the accelerated
// slot and start there alone. Of a job of another name, or without a history, nothing is known: both nodes are tried.
func TestJobsSeenBeforeNeedNoCalibration(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		estimator sched.Estimator
		name      string
		nodes     []sched.NodeID // on which maps of the second job start
	}{
		{&model.History{}, "day-2", []sched.NodeID{1}},
		{&model.History{}, "night-2", []sched.NodeID{1, 2}},
		{&model.Mean{}, "day-2", []sched.NodeID{1, 2}},
	} {
		p, _, err := policy.Parse("hardware")
		if err != nil {
			t.Fatal(err)
		}
		core := sched.New(sched.Config{Policy: p, Estimator: c.estimator})
		one := sched.Resources{sched.MapSlots: 1}
		node := func(id sched.NodeID, class string) sched.Event {
			return sched.Event{Kind: sched.NodeJoined, Node: id, Body: &sched.NodeSpec{Class: class, Capacity: one}}
		}
		job := func(id sched.JobID, name string, maps int32) sched.Event {
			return sched.Event{Kind: sched.JobSubmitted, Job: id, Body: &sched.JobSpec{Name: name, User: "ana",
				Deadline: 1000 * s, Profile: &sched.Profile{Accelerators: []string{"cell"}},
				Stages: []sched.StageSpec{{Kind: sched.Map, Tasks: maps, PerTask: one}}}}
		}
		launched := func(acts []sched.Action) (nodes []sched.NodeID, attempts []sched.AttemptID) {
			for _, a := range acts {
				if a.Kind == sched.Launch {
					nodes, attempts = append(nodes, a.Node), append(attempts, a.Attempt)
				}
			}
			return nodes, attempts
		}
		first, ran := launched(core.Step(0, []sched.Event{node(1, "cell"), node(2, "plain"), job(1, "day-1", 2)}))
		if len(first) != 2 || first[0] != 1 {
			t.Fatalf("maps of the first job start on nodes %v, want one on each", first)
		}
		core.Step(5*s, []sched.Event{{Kind: sched.AttemptDone, Job: 1, Attempt: ran[0]}})
		core.Step(125*s, []sched.Event{{Kind: sched.AttemptDone, Job: 1, Attempt: ran[1]}})
		nodes, _ := launched(core.Step(200*s, []sched.Event{job(2, c.name, 8)}))
		if slices.Sort(nodes); !slices.Equal(nodes, c.nodes) {
			t.Errorf("%T: maps of %s start on nodes %v, want %v", c.estimator, c.name, nodes, c.nodes)
		}
	}
}

// Names of accelerators that no class has leave nothing behind, and a class that joins late is found by the name that a
// job gave before.
func TestHardwareNames(t *testing.T) {
	p, _, err := policy.Parse("hardware")
	if err != nil {
		t.Fatal(err)
	}
	core := sched.New(sched.Config{Policy: p})
	one := sched.Resources{sched.MapSlots: 1}
	node := func(id sched.NodeID, class string) sched.Event {
		return sched.Event{Kind: sched.NodeJoined, Node: id, Body: &sched.NodeSpec{Class: class, Capacity: one}}
	}
	core.Step(0, []sched.Event{node(1, "plain")})
	for id := range sched.JobID(50) {
		core.Step(sched.Time(id)*time.Second, []sched.Event{{Kind: sched.JobSubmitted, Job: id + 1,
			Body: &sched.JobSpec{Deadline: 1000 * time.Second,
				Profile: &sched.Profile{Accelerators: []string{fmt.Sprintf("board-%d", id+1)}},
				Stages:  []sched.StageSpec{{Kind: sched.Map, Tasks: 1, PerTask: one}}}}})
	}
	memory := func() string {
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if text := memory(); strings.Contains(text, "board-") || !strings.Contains(text, `"Pools":null`) {
		t.Errorf("%d names that no class has are kept", strings.Count(text, "board-"))
	}
	core.Step(60*time.Second, []sched.Event{node(2, "board-7")})
	if text := memory(); strings.Count(text, `"Class":2`) != 1 {
		t.Errorf("the class of node 2 has no pool: %s", text)
	}
}
