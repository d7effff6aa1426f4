package policy_test

import (
	"fmt"
	"testing"

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
