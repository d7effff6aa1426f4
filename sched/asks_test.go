package sched

import "testing"

// What an application asks for in one stage moves all its stages in an order whose keys sum over them.
func TestAsksMoveSiblings(t *testing.T) {
	x := Index{Key: func(_ *View, st *Stage, _ Time) (Key, bool) {
		sum := int32(0)
		for _, o := range st.Job.Stages {
			sum += o.Pending
		}
		return Key{Value: float64(sum)}, st.Pending > 0
	}}
	var order []StageID
	c := New(Config{Policy: policyFunc(func(p *Plan) {
		x.Sync(p)
		order = order[:0]
		for st := range x.All(0) {
			order = append(order, st.ID)
		}
	})})
	stage := func() StageSpec { return StageSpec{Kind: Other, Tasks: -1, PerTask: slots(1, 0)} }
	asks := func(job JobID, index, pending int32) Event {
		e := Event{Kind: AsksChanged, Job: job, Body: &Asks{Stage: index, Pending: pending}}
		if index > 0 {
			s := stage()
			e.Body.(*Asks).Spec = &s
		}
		return e
	}
	open := func() *JobSpec { return &JobSpec{Open: true, Stages: []StageSpec{stage()}} }
	c.Step(0, []Event{{Kind: JobSubmitted, Job: 1, Body: open()}, {Kind: JobSubmitted, Job: 2, Body: open()}})
	c.Step(sec, []Event{asks(1, 0, 3), asks(2, 0, 5)})
	c.Step(2*sec, []Event{asks(1, 1, 9)})
	want := []StageID{{2, 0}, {1, 0}, {1, 1}} // job 1 waits for 12 tasks, job 2 for 5
	for i := range want {
		if len(order) != len(want) || order[i] != want[i] {
			t.Fatalf("order %v, want %v", order, want)
		}
	}
}
