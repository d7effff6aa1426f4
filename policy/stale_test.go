package policy

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// Live engines send facts that are no longer true. No policy minds the end of a job, an attempt or a task that
// is unknown by then.
func TestStaleEvents(t *testing.T) {
	for _, name := range All.Names() {
		spec := name
		if All[name].Card.Wraps {
			spec += "{fifo}"
		}
		p, _, err := All.Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		c := sched.New(sched.Config{Policy: p, Can: sched.CanKill | sched.CanSuspend | sched.CanNameTasks})
		job := &sched.JobSpec{
			Stages: []sched.StageSpec{
				{Kind: sched.Map, PerTask: sched.Resources{sched.MapSlots: 1}, Tasks: 1, Prior: 1e9, MaxAttempts: 4},
			},
		}
		acts := c.Step(
			0,
			[]sched.Event{
				{
					Kind: sched.NodeJoined,
					Node: 1,
					Body: &sched.NodeSpec{Class: "c", Capacity: sched.Resources{sched.MapSlots: 1}},
				},
				{Kind: sched.JobSubmitted, Job: 1, Body: job},
			},
		)
		var attempt sched.AttemptID
		for _, a := range acts {
			attempt = max(attempt, a.Attempt)
		}
		for at := sched.Time(1e9); at < 40e9; at += 1e9 { // policies that hold jobs back have let it go by then
			for _, a := range c.Step(at, nil) {
				attempt = max(attempt, a.Attempt)
			}
		}
		if attempt == 0 {
			t.Errorf("%s: nothing was launched", spec)
			continue
		}
		c.Step(40e9, []sched.Event{{Kind: sched.AttemptDone, Attempt: attempt}})
		c.Step(
			41e9,
			[]sched.Event{
				{Kind: sched.JobEnded, Job: 1},
				{Kind: sched.AttemptDone, Attempt: attempt},
				{Kind: sched.TaskUndone, Job: 1, Body: &sched.Undone{Tasks: []int32{1}}},
				{
					Kind: sched.AsksChanged,
					Job:  1,
					Body: &sched.Asks{},
				},
				{Kind: sched.AttemptSuspended, Attempt: attempt},
			},
		)
		if c.LiveJobs() > 0 || c.Refused() > 0 {
			t.Errorf("%s: %d jobs, %d refused", spec, c.LiveJobs(), c.Refused())
		}
	}
}

// The instant of a number of seconds is not before it, and less than two nanoseconds and its rounding after.
func TestInstant(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, s := range append([]float64{0, 1, 469992.13500070403}, func() (list []float64) {
		for range 100000 {
			list = append(list, math.Exp(r.Float64()*18))
		}
		return list
	}()...) {
		if at := instant(s).Seconds(); at < s || at > s+2e-9+s*1e-15 {
			t.Fatalf("the instant of %v s is %v s", s, at)
		}
	}
	for _, s := range []float64{math.MaxInt64 / 1e9, 1e10, 1e300, math.Inf(1)} {
		if at := instant(s); at != math.MaxInt64 {
			t.Errorf("the instant of %v s is %d ns, want the last that there is", s, at)
		}
	}
}
