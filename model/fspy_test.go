package model

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/sched"
)

// Section 4, F3, with its made-up coefficients, which are in the order of eq. 6 and 7.
func TestFspyF3Prediction(t *testing.T) {
	const part = 1. / 40
	x := Features{Maps: 40, Reduces: 8, Input: 2560, MapTime: 20 / part, MapOut: 12.8 / part, MapRecords: 25000 / part,
		ReduceTime: 8 / part, ReduceOut: 4 / part, Sorted: 25000 / part}
	maps := Linear([]float64{10, 2, 0.05, 1.1, 0.02, 0, 1e-5}, x.MapRow())
	reduces := Linear([]float64{5, 3, 0.1, 1.2, 0.05, 0, 1e-5, 0.02}, x.ReduceRow(maps))
	if !near(maps, 1246.395106, 1e-9) || !near(reduces, 635.283008, 1e-9) {
		t.Errorf("predicted %.6f and %.6f s, want 1246.395106 and 635.283008", maps, reduces)
	}
	loads := []theory.StageLoad{
		{Task: theory.Pair{1024, 1}, Tasks: 40, Mean: maps / 40},
		{Task: theory.Pair{2048, 1}, Tasks: 8, Mean: reduces / 8},
	}
	capacity := theory.Pair{65536, 64}
	for _, c := range []struct {
		what string
		got  theory.Pair
		want theory.Pair
	}{
		{"size", theory.TotalSize(loads), theory.Pair{2577368.188, 1881.678113}},
		{"time alone", theory.Pair{theory.AloneTime(capacity, loads, false)}, theory.Pair{110.570254}},
		{"bound as printed", theory.AverageBound(capacity, theory.Pair{}, loads, false),
			theory.Pair{23309.779, 17.017942}},
		{"bound", theory.AverageBound(capacity, theory.Pair{1536, 1}, loads, false), theory.Pair{24845.779, 18.017942}},
	} {
		for k := range c.got {
			if !near(c.got[k], c.want[k], 1e-7) {
				t.Errorf("%s %v, want %v", c.what, c.got, c.want)
			}
		}
	}
}

// A probed job of a law that holds exactly: what its tasks take is linear in what its probe counts.
type lawful struct {
	job, probe    *sched.Job
	maps, reduces float64 // seconds of all
	counted       [2]sched.Counters
}

func newLawful(id sched.JobID, r *rand.Rand) lawful {
	n, m := int32(5+r.IntN(60)), int32(1+r.IntN(20))
	spec := &sched.JobSpec{Name: "j", Stages: []sched.StageSpec{
		{Kind: sched.Map, PerTask: sched.Resources{sched.Memory: 1024}, Tasks: n, InputBytes: int64(n) << 26},
		{Kind: sched.Reduce, PerTask: sched.Resources{sched.Memory: 2048}, Tasks: m}}}
	probe := &sched.JobSpec{
		Probes: id,
		Stages: []sched.StageSpec{{Kind: sched.Map, Tasks: 1}, {Kind: sched.Reduce, Tasks: 1}},
	}
	l := lawful{job: rows(id, spec), probe: rows(id+1, probe)}
	part := int64(max(n, m))
	l.counted[0] = sched.Counters{
		InputBytes:    spec.Stages[0].InputBytes / part,
		OutputBytes:   1 << (10 + r.IntN(15)),
		OutputRecords: int64(10 + r.IntN(1e6)),
	}
	l.counted[0].Phases[sched.PhaseMap] = time.Duration(1+r.IntN(30)) * time.Second
	l.counted[1] = sched.Counters{InputRecords: l.counted[0].OutputRecords, OutputBytes: 1 << (8 + r.IntN(15))}
	l.counted[1].Phases[sched.PhaseReduce] = time.Duration(1+r.IntN(20)) * time.Second
	f := float64(spec.Stages[0].InputBytes) / float64(l.counted[0].InputBytes)
	l.maps = 100 + 2*float64(n) + 1.3*f*l.counted[0].Phases[sched.PhaseMap].Seconds()
	l.reduces = 50 + 3*float64(m) + 1.1*f*l.counted[1].Phases[sched.PhaseReduce].Seconds() + 0.1*l.maps
	return l
}

func rows(id sched.JobID, spec *sched.JobSpec) *sched.Job {
	j := &sched.Job{ID: id, Spec: spec}
	for i := range spec.Stages {
		j.Stages = append(
			j.Stages,
			&sched.Stage{
				ID:    sched.StageID{Job: id, Index: int32(i)},
				Kind:  spec.Stages[i].Kind,
				Total: spec.Stages[i].Tasks,
				Job:   j,
				Spec:  &spec.Stages[i],
			},
		)
	}
	return j
}

func (l *lawful) runProbe(f *FSPY) {
	for i, st := range l.probe.Stages {
		f.Observe(&sched.Attempt{Stage: st}, 9*sec, &l.counted[i])
	}
}

func (l *lawful) run(f *FSPY) {
	for i, st := range l.job.Stages {
		all := [2]float64{l.maps, l.reduces}[i]
		for range st.Total {
			f.Observe(&sched.Attempt{Stage: st}, seconds(all/float64(st.Total)), nil)
			st.Done++
		}
	}
}

// Trained by 30 jobs that follow a linear law, the predictor tells the 31st to a thousandth; before, it goes by the
// time of the probe.
func TestFspyPredictor(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	f := NewFSPY(DefaultFit)
	first := newLawful(1, r)
	if _, known := f.Size(first.job); known {
		t.Error("a size is known that was never told")
	}
	first.runProbe(f)
	part := float64(first.counted[0].InputBytes) / float64(first.job.Spec.Stages[0].InputBytes)
	if maps, reduces, known := f.Predict(first.job); !known || !near(maps, 9/part, 1e-9) ||
		!near(reduces, 9/part, 1e-9) {
		t.Errorf("after the first probe %v and %v s, %v; want 9 s ÷ %v", maps, reduces, known, part)
	}
	first.run(f)
	for id := sched.JobID(3); id < 61; id += 2 {
		l := newLawful(id, r)
		l.runProbe(f)
		l.run(f)
	}
	if len(f.Maps.Rows) != 30 || len(f.Reduces.Rows) != 30 || len(f.Probes) != 0 {
		t.Fatalf("learned of %d and %d jobs, %d probes left; want 30, 30, 0", len(f.Maps.Rows), len(f.Reduces.Rows),
			len(f.Probes))
	}
	next := newLawful(61, r)
	next.runProbe(f)
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	back := NewFSPY(DefaultFit)
	if err := json.Unmarshal(text, back); err != nil {
		t.Fatal(err)
	}
	maps, reduces, known := back.Predict(next.job)
	if !known || !near(maps, next.maps, 1e-3) || !near(reduces, next.reduces, 1e-3) {
		t.Errorf("predicted %v and %v s, want %v and %v", maps, reduces, next.maps, next.reduces)
	}
	w, known := back.Size(next.job)
	if want := 1024*next.maps + 2048*next.reduces; !known || math.Abs(w[sched.Memory]/want-1) > 1e-3 {
		t.Errorf("size %v, want %v MiB·s", w[sched.Memory], want)
	}
	if e := back.Estimate(next.job.Stages[0], 0); e.Samples != 1 ||
		!near(e.Mean.Seconds(), next.maps/float64(next.job.Stages[0].Total), 1e-3) {
		t.Errorf("a map is estimated at %v", e)
	}
	// Of a job without probe a map is guessed to be as those before, and its size is not known.
	plain := newLawful(63, r)
	if e := back.Estimate(plain.job.Stages[0], 0); e.Samples != 0 || e.Mean != seconds(back.Past[sched.Map].Mean) {
		t.Errorf("a map without probe is estimated at %v", e)
	}
	if _, known := back.Size(plain.job); known {
		t.Error("the size of a job without probe is known")
	}
}

// A job without reduces is not learned from by the model of reduces, and has none in its prediction; a task that is
// done again does not count twice.
func TestFspyMapOnly(t *testing.T) {
	f := NewFSPY(DefaultFit)
	spec := &sched.JobSpec{
		Stages: []sched.StageSpec{
			{Kind: sched.Map, PerTask: sched.Resources{sched.Memory: 1}, Tasks: 4, InputBytes: 400},
		},
	}
	j, probe := rows(1, spec),
		rows(2, &sched.JobSpec{Probes: 1, Stages: []sched.StageSpec{{Kind: sched.Map, Tasks: 1}}})
	f.Observe(&sched.Attempt{Stage: probe.Stages[0]}, 3*sec, &sched.Counters{InputBytes: 50}) // 1/8 of the input
	if maps, reduces, known := f.Predict(j); !known || maps != 24 || reduces != 0 {
		t.Errorf("predicted %v and %v s, %v; want 3 s × 8 and none", maps, reduces, known)
	}
	for _, done := range []int32{0, 1, 1, 2, 3} { // one of the two was lost
		j.Stages[0].Done = done
		f.Observe(&sched.Attempt{Stage: j.Stages[0]}, 2*sec, nil)
	}
	if len(f.Reduces.Rows) != 0 || len(f.Maps.Targets) != 1 || f.Maps.Targets[0] != 8 {
		t.Errorf("learned %v and %v, want 4 × 2 s of maps", f.Maps.Targets, f.Reduces.Targets)
	}
}

// Entries are asked for by the goroutine that saves while another predicts, which the race detector watches.
func TestEntryWhileFspyPredicts(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	f := NewFSPY(DefaultFit)
	for id := range 20 {
		l := newLawful(sched.JobID(id+1), r)
		l.runProbe(f)
		l.run(f)
	}
	next := newLawful(21, r)
	next.runProbe(f)
	var saves sync.WaitGroup
	var text []byte
	var err error
	saves.Go(func() { text, err = json.Marshal(f.Entry(learnedKey)) })
	maps, _, known := f.Predict(next.job)
	saves.Wait()
	back := NewFSPY(DefaultFit)
	if err = errors.Join(err, back.Load(learnedKey, text)); err != nil {
		t.Fatal(err)
	}
	if len(back.Maps.Rows) != len(f.Maps.Rows) || len(f.Maps.Rows) == 0 || !known || maps <= 0 {
		t.Errorf("%d rows come back of %d; %v s are predicted", len(back.Maps.Rows), len(f.Maps.Rows), maps)
	}
}
