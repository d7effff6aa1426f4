package model

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

const sec = time.Second

// fixed is the truth of a job whose stages have known means.
type fixed []sched.Time

func (f fixed) Times(stage int32) (mean, longest sched.Time) { return f[stage], 2 * f[stage] }

func (f fixed) Size(j *sched.JobSpec) (w sched.Work) {
	for i := range j.Stages {
		w.Add(j.Stages[i].PerTask.Times(int64(j.Stages[i].Tasks)), f[i])
	}
	return w
}

func truth(j *sched.JobSpec) (JobTruth, bool) {
	t, ok := j.Payload.(fixed)
	return t, ok
}

// job is one of 3 maps of 10 s and 2 reduces of 20 s, with priors of 1 s.
func job(id sched.JobID, payload any) *sched.Job {
	spec := &sched.JobSpec{Name: "daily-2026-11-21", User: "ana", Payload: payload, Stages: []sched.StageSpec{
		{Kind: sched.Map, PerTask: sched.Resources{sched.MapSlots: 1}, Tasks: 3, Prior: sec},
		{Kind: sched.Reduce, PerTask: sched.Resources{sched.ReduceSlots: 1}, Tasks: 2, Prior: sec}}}
	return rows(id, spec)
}

// Two tasks take 10 s and 14 s on class 1, one takes 4 s on class 2, none has run on class 3. The memory says the same
// after a way through JSON.
func TestMeanByClass(t *testing.T) {
	var m Mean
	st := job(1, nil).Stages[0]
	for _, ran := range []struct {
		class sched.ClassID
		took  sched.Time
	}{{1, 10 * sec}, {2, 4 * sec}, {1, 14 * sec}} {
		m.Observe(&sched.Attempt{Stage: st, Class: ran.class}, ran.took, nil)
	}
	var again Mean
	b, err := json.Marshal(&m)
	if err == nil {
		err = json.Unmarshal(b, &again)
	}
	if err != nil {
		t.Fatal(err)
	}
	for class, want := range []struct {
		mean    float64
		samples int
	}{{28. / 3, 3}, {12, 2}, {4, 1}, {28. / 3, 0}} {
		for _, est := range []*Mean{&m, &again} {
			e := est.Estimate(st, sched.ClassID(class))
			if math.Abs(e.Mean.Seconds()-want.mean) > 1e-9 || e.Samples != want.samples {
				t.Errorf("class %d: %v of %d samples, want %v s of %d", class, e.Mean, e.Samples,
					want.mean, want.samples)
			}
		}
	}
}

func TestOracle(t *testing.T) {
	o := &Oracle{truth}
	j := job(1, fixed{10 * sec, 20 * sec})
	if e := o.Estimate(j.Stages[1], 0); e.Mean != 20*sec || e.Samples == 0 {
		t.Errorf("estimate %v, want 20s from a look", e)
	}
	if w, known := o.Size(j); !known || w[sched.MapSlots] != 30 || w[sched.ReduceSlots] != 40 {
		t.Errorf("size %v, want 3×10 and 2×20 slot-seconds", w)
	}
	j = job(2, nil)
	if e := o.Estimate(j.Stages[0], 0); e.Mean != sec || e.Samples != 0 {
		t.Errorf("estimate of a job that it cannot look into: %v, want the prior", e)
	}
}

// ln(estimate ÷ truth) has mean 0 and deviation Sigma: over 20,000 jobs the mean is within 4 of its standard errors of
// 0.5/√20000 = 0.0035, the deviation within 4 of about 0.5/√40000 = 0.0025. One job's tasks share the error.
func TestNoisy(t *testing.T) {
	n := &Noisy{truth, 0.5, 7}
	const jobs = 20000
	sum, squares := 0.0, 0.0
	for id := sched.JobID(1); id <= jobs; id++ {
		j := job(id, fixed{10 * sec, 20 * sec})
		w, _ := n.Size(j)
		x := math.Log(w[sched.MapSlots] / 30)
		sum += x
		squares += x * x
		if got, want := n.Estimate(j.Stages[1], 0).Mean.Seconds()/20, w[sched.MapSlots]/
			30; math.Abs(got/want-1) > 1e-6 {
			t.Fatalf("job %d: a task is off by %v, the job by %v", id, got, want)
		}
	}
	mean, deviation := sum/jobs, math.Sqrt(squares/jobs)
	if math.Abs(mean) > 0.014 || math.Abs(deviation-0.5) > 0.01 {
		t.Errorf("mean %v and deviation %v of the log error, want 0 and 0.5", mean, deviation)
	}
	a, _ := n.Size(job(5, fixed{sec, sec}))
	b, _ := (&Noisy{truth, 0.5, 8}).Size(job(5, fixed{sec, sec}))
	if a == b {
		t.Error("another seed, the same error")
	}
}

func TestHistory(t *testing.T) {
	h := &History{}
	old := job(1, nil)
	for i := range 60 {
		h.Observe(&sched.Attempt{Stage: old.Stages[0]}, sched.Time(i+1)*sec, nil)
	}
	// The last 50 of 1 to 60 s are 11 to 60 s: mean 35.5 s.
	next := job(2, nil)
	next.Spec.Name = "daily-2026-11-22"
	if e := h.Estimate(next.Stages[0], 0); e.Mean != 35500*time.Millisecond || e.Samples != 50 {
		t.Errorf("estimate of tomorrow's job %v, want 35.5s of 50", e)
	}
	if e := h.Estimate(next.Stages[1], 0); e.Samples != 0 {
		t.Errorf("estimate of its reduces %v, and none has run", e)
	}
	other := job(3, nil)
	other.Spec.User = "bo"
	if e := h.Estimate(other.Stages[0], 0); e.Samples != 0 {
		t.Errorf("estimate of another user's job: %v", e)
	}
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	back := &History{}
	if err := json.Unmarshal(text, back); err != nil {
		t.Fatal(err)
	}
	if e := back.Estimate(next.Stages[0], 0); e.Samples != 50 {
		t.Errorf("after JSON: %v", e)
	}
}

// launchFirst starts whatever waits on the first node with room.
type launchFirst struct{}

func (launchFirst) Decide(p *sched.Plan) {
	for j := range p.Jobs() {
		p.LaunchMany(j.Stages[0], 1)
	}
}

// Names of jobs that never repeat do not make a history grow for ever: it forgets kinds whose tasks
// have all ended long ago, and keeps those whose tasks end again and again, also when it is read from JSON meanwhile.
func TestHistoryForgets(t *testing.T) {
	h := &History{}
	core := sched.New(sched.Config{Estimator: h, Policy: launchFirst{}})
	core.Step(0, []sched.Event{{Kind: sched.NodeJoined, Node: 1,
		Body: &sched.NodeSpec{Capacity: sched.Resources{sched.MapSlots: 1}}}})
	key := func(name string) string { return (&sched.JobSpec{Name: name}).Likeness(sched.Map) }
	name := func(i int) string { // digits do not tell kinds apart
		return string([]rune{rune('a' + i%26), rune('a' + i/26%26), rune('a' + i/26/26)})
	}
	for i := range 2 * kindsKept {
		spec := &sched.JobSpec{Name: name(i), Stages: []sched.StageSpec{
			{Kind: sched.Map, Tasks: 1, PerTask: sched.Resources{sched.MapSlots: 1}}}}
		if i%1000 == 0 {
			spec.Name = "daily report"
		}
		at := sched.Time(i) * sec
		submit := sched.Event{Kind: sched.JobSubmitted, Job: sched.JobID(i + 1), Body: spec}
		for _, a := range core.Step(at, []sched.Event{submit}) {
			core.Step(at, []sched.Event{{Kind: sched.AttemptDone, Attempt: a.Attempt}})
			break
		}
		if h.Past[key(spec.Name)] == nil || len(h.Past) > kindsKept {
			t.Fatalf("after job %d it knows %d kinds, of %s %v", i+1, len(h.Past), spec.Name, h.Past[key(spec.Name)])
		}
		if i == kindsKept*3/4 {
			text, err := json.Marshal(h)
			if err != nil {
				t.Fatal(err)
			}
			*h = History{}
			if err := json.Unmarshal(text, h); err != nil {
				t.Fatal(err)
			}
		}
	}
	last := 2*kindsKept - 1
	if h.Past[key(name(1))] != nil || len(h.Past[key("daily report")]) != 20 || h.Past[key(name(last))] == nil {
		t.Errorf("it knows %d kinds; of the first %v, of one that repeats %v", len(h.Past), h.Past[key(name(1))],
			h.Past[key("daily report")])
	}
}

// A history tells classes of nodes apart by their names, also when they have other numbers in the next run.
func TestHistoryByClass(t *testing.T) {
	run := func(h *History, classes ...string) *sched.View {
		core := sched.New(sched.Config{Estimator: h})
		for i, class := range classes {
			core.Step(0, []sched.Event{{Kind: sched.NodeJoined, Node: sched.NodeID(i + 1),
				Body: &sched.NodeSpec{Class: class, Capacity: sched.Resources{sched.MapSlots: 1}}}})
		}
		return &core.View
	}
	h := &History{}
	run(h, "plain", "cell")
	old := job(1, nil)
	h.Observe(&sched.Attempt{Stage: old.Stages[0], Class: 1}, 125*sec, nil)
	h.Observe(&sched.Attempt{Stage: old.Stages[0], Class: 2}, 5*sec, nil)
	text, err := json.Marshal(h.Entry(old.Spec.Likeness(sched.Map)))
	if err != nil {
		t.Fatal(err)
	}
	back := &History{}
	if err := back.Load(old.Spec.Likeness(sched.Map), text); err != nil {
		t.Fatal(err)
	}
	run(back, "cell", "gpu", "plain")
	next := job(2, nil)
	for class, want := range []sched.Estimate{
		{Mean: 65 * sec, Samples: 2}, {Mean: 5 * sec, Samples: 1}, {Mean: 65 * sec}, {Mean: 125 * sec, Samples: 1},
	} {
		if e := back.Estimate(next.Stages[0], sched.ClassID(class)); e.Mean != want.Mean || e.Samples != want.Samples {
			t.Errorf("class %d: %v, want %v", class, e, want)
		}
	}
	if err := back.Load("old", []byte("[1000000000]")); err != nil || back.Past["old"][0].Took != sec {
		t.Errorf("an entry without classes: %v (%v)", back.Past["old"], err)
	}
}

func TestMeanOfTwo(t *testing.T) {
	m := &Mean{}
	j := job(1, nil)
	m.Observe(&sched.Attempt{Stage: j.Stages[0]}, 10*sec, nil)
	m.Observe(&sched.Attempt{Stage: j.Stages[0], Start: 5 * sec}, 14*sec, nil)
	// 10 s and 14 s: mean 12 s, sample standard deviation √8 s.
	if e := m.Estimate(j.Stages[0], 0); e.Mean != 12*sec || math.Abs(e.StdDev.Seconds()-math.Sqrt(8)) > 1e-9 ||
		e.Samples != 2 {
		t.Errorf("estimate %v", e)
	}
	if w, known := m.Size(j); !known || w[sched.MapSlots] != 36 || w[sched.ReduceSlots] != 2 {
		t.Errorf("size %v, want 3×12 by what was seen, 2×1 by the prior", w)
	}
}
