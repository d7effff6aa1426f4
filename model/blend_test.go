package model

import (
	"encoding/json"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// ends tells an estimator that a task of a stage has ended after a time, on class 1.
func ends(e sched.Estimator, st *sched.Stage, took sched.Time) {
	e.Observe(&sched.Attempt{Stage: st, Class: 1, Start: 100 * sec}, took, nil)
}

// A job of a name that never ran is sized by its bytes before its first task has run: through tasks of 10 s for 1 GB
// and 16 s for 4 GB goes the line 8 s + 2 s a GB. A name that ran is sized by its own past, and a stage's own tasks
// move the estimate: 12 s and one task of 20 s weigh the same.
func TestBlend(t *testing.T) {
	b := newBlend(Args{values: map[string]any{"weight": 1.0}}).(*Blend)
	sized := func(id sched.JobID, name string, gigabytes int64) *sched.Stage {
		j := job(id, nil)
		j.Spec.Name = name
		j.Stages[0].Spec.InputBytes = 3 * gigabytes << 30
		return j.Stages[0]
	}
	fresh := sized(9, "new", 2)
	if e := b.Estimate(fresh, 0); e.Mean != fresh.Spec.Prior || e.Samples != 0 {
		t.Errorf("nothing is known, and a task takes %v", e)
	}
	ends(b, sized(1, "small", 1), 10*sec)
	ends(b, sized(2, "large", 4), 16*sec)
	if e := b.Estimate(fresh, 0); e.Mean != 12*sec || e.Samples != 0 {
		t.Errorf("the line says %v, want a guess of 12 s", e)
	}
	if e := b.Estimate(sized(3, "large", 1), 0); e.Mean != 16*sec || e.Samples != 1 {
		t.Errorf("a job that ran before takes %v, want 16 s of one sample", e)
	}
	j := job(4, nil)
	j.Stages[1].Spec.Prior = 0
	if _, known := b.Size(j); known {
		t.Error("a size is known though no reduce ever ran")
	}
	ends(b, fresh, 20*sec)
	// The past of its own name has this task now, so that the line is not asked any more.
	if e := b.Estimate(fresh, 0); e.Mean != 20*sec {
		t.Errorf("after a task of 20 s %v", e.Mean)
	}
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	again := newBlend(Args{values: map[string]any{"weight": 1.0}}).(*Blend)
	if err := json.Unmarshal(text, again); err != nil {
		t.Fatal(err)
	}
	for _, st := range []*sched.Stage{fresh, sized(3, "large", 1), sized(5, "other", 3)} {
		if got, want := again.Estimate(st, 0), b.Estimate(st, 0); got != want {
			t.Errorf("after a way through JSON %v, was %v", got, want)
		}
	}
}

// What is expected from earlier runs counts for so many tasks as the weight says.
func TestBlendWeight(t *testing.T) {
	b := newBlend(Args{values: map[string]any{"weight": 3.0}}).(*Blend)
	st := job(1, nil).Stages[0]
	past, err := json.Marshal([]PastTask{{Took: 10 * sec}, {Took: 10 * sec}, {Took: 10 * sec}})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Load(st.Job.Spec.Likeness(st.Kind), past); err != nil {
		t.Fatal(err)
	}
	other := job(2, nil)
	other.Spec.Name = "never"
	if e := b.Estimate(other.Stages[0], 0); e.Mean != 10*sec {
		t.Errorf("a job of another name takes %v, want the 10 s of all tasks", e.Mean)
	}
	b.Like.Own.Observe(&sched.Attempt{Stage: st, Class: 1}, 20*sec, nil)
	if e := b.Estimate(st, 0); e.Mean != 12500*sec/1000 {
		t.Errorf("one task of 20 s beside 10 s that count for three: %v, want 12.5 s", e.Mean)
	}
}

func TestLine(t *testing.T) {
	var flat, falling, below Line
	for _, p := range [][2]float64{{1, 3}, {1, 5}} {
		flat.add(p[0], p[1])
	}
	for _, p := range [][2]float64{{1, 5}, {3, 1}} {
		falling.add(p[0], p[1])
	}
	for _, p := range [][2]float64{{1, 1}, {2, 4}} { // 3·x - 2 at first, then (1·1 + 2·4) ÷ (1 + 4) = 1.8·x
		below.add(p[0], p[1])
	}
	for _, row := range []struct {
		l       *Line
		x, want float64
	}{{&flat, 7, 4}, {&falling, 7, 3}, {&below, 5, 9}, {&below, 0, 2.5}} {
		if got := row.l.at(row.x); got != row.want {
			t.Errorf("%+v at %v is %v, want %v", *row.l, row.x, got, row.want)
		}
	}
}
