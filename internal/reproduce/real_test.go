package reproduce

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/sched"
)

// smallMix is three jobs that come one after the other on a machine of one core.
func smallMix(t *testing.T) *Mix {
	t.Helper()
	m := &Mix{Cluster: machine(1), Folder: t.TempDir(), Seed: 1}
	for i, j := range []struct{ job, input string }{{"wordcount", "text"}, {"terasort", "teragen"},
		{"inverted-index", "documents"}} {
		path, err := ingredient{j.input, 2_500_000, 1}.in(m.Folder)
		if err != nil {
			t.Fatal(err)
		}
		m.Jobs = append(m.Jobs, MixJob{Name: j.job, Job: j.job, Input: []string{path},
			Submit: sched.Time(i) * time.Millisecond})
	}
	return m
}

// A run is repeated by the simulator from its record. With one core and first come first served, it leaves out what the
// engine takes between tasks, and nothing else: no job is done later than it was. Nothing is left behind but the input,
// which is made once.
func TestMixRunAndSimulate(t *testing.T) {
	m := smallMix(t)
	run, err := m.Run(t.Context(), "fifo", nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := m.Simulate(t.Context(), "fifo", run)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Jobs {
		if !(again[i] > 0 && again[i] <= run.Sojourns[i]+1e-6) {
			t.Errorf("%s: %v s, simulated %v s", m.Jobs[i].Name, run.Sojourns[i], again[i])
		}
	}
	if run.Result.JobCounts.Jobs != 3 {
		t.Errorf("%d jobs", run.Result.JobCounts.Jobs)
	}
	left, err := os.ReadDir(m.Folder)
	if err != nil || len(left) != 3 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
	inputs, err := filepath.Glob(filepath.Join(m.Folder, "documents-*", "doc-*"))
	if err != nil || len(inputs) != 5 { // 500 kB each
		t.Errorf("documents %v, %v", inputs, err)
	}
	m.Jobs[0].Input = []string{filepath.Join(m.Folder, "nowhere")}
	if _, err := m.Run(t.Context(), "fifo", nil); err == nil {
		t.Error("input that is not there: no error")
	}
	m.Jobs[0].Job = "knitting"
	if _, err := m.Run(t.Context(), "fifo", nil); err == nil {
		t.Error("a job that there is not: no error")
	}
}

// A trial has every figure that claims and pictures ask for; the first policy is predicted from its own record, which
// is the same simulation.
func TestMixTrial(t *testing.T) {
	policies := []string{"fifo", "fspy:uber-maps=0"}
	s, err := mixTrial(t.Context(), smallMix(t), policies)
	if err != nil {
		t.Fatal(err)
	}
	part := mixPart("Small", "small", machine, policies)
	wrong := maps.Clone(s)
	s.set("was right "+policies[1], 100)
	wrong.set("was right "+policies[1], 0)
	maps.Copy(s, part.Over([]Sample{s, s, wrong, s}))
	if right := s.of("right " + policies[1]); right != 75 {
		t.Errorf("right in %v %% of the trials, want 75: in three of four", right)
	}
	for _, c := range part.Claims {
		if math.IsNaN(s.of(c.Figure)) {
			t.Errorf("no figure %q", c.Figure)
		}
	}
	if own, other := s.of("sim, own record fifo"), s.of("sim, record of fifo fifo"); own != other {
		t.Errorf("fifo from its own record: %v and %v", own, other)
	}
	if len(s["sojourns fifo"]) != 3 {
		t.Errorf("sojourn times %v", s["sojourns fifo"])
	}
	if _, err := mixPaper().Parts[0].Trial(t.Context(), Lab{}, 1); !errors.As(err, new(Missing)) {
		t.Errorf("without a folder: %v", err)
	}
}

// Predictions of real jobs are noted when their probes are through. The last job waits for two others, and its probe
// does not: only on a busy machine may a probe take longer than all jobs, and then the run is made again.
func TestForetoldOfARun(t *testing.T) {
	m := smallMix(t)
	m.Cluster = machine(2) // on one core probes, which have a tenth, wait until no other job does
	var s Sample
	for try := 0; try == 0 || s.of("predicted") == 0 && try < 10; try++ {
		e := &predicting{
			fits: [2]*model.FSPY{model.NewFSPY(realFit()), model.NewFSPY(realFit())},
			jobs: map[sched.JobID]*predictedJob{},
		}
		if _, err := m.Run(t.Context(), "fspy:uber-maps=0", e); err != nil {
			t.Fatal(err)
		}
		s = e.sample()
	}
	if n := s.of("predicted"); !(n >= 1 && n <= 3) {
		t.Errorf("%v jobs predicted", n)
	}
	if s.of("fitted") != 0 {
		t.Errorf("%v jobs predicted by models that do not exist", s.of("fitted"))
	}
}

// By hand: actual maps 1 to 6 s, all predicted twice as long, by fitted models from the third job on; the relative fit
// is right. Σ(y − ŷ)² is Σ y².
func TestForetoldFigures(t *testing.T) {
	e := &predicting{jobs: map[sched.JobID]*predictedJob{7: {took: [2]float64{9, 9}}}} // of job 7 no probe was through
	for i := range 6 {
		y := float64(i + 1)
		e.jobs[sched.JobID(i+1)] = &predictedJob{
			known:  true,
			took:   [2]float64{y, 0},
			by:     [2][2]float64{{2 * y, 0}, {y, 0}},
			fitted: [2]bool{i >= 2, i >= 2},
		}
	}
	s := e.sample()
	for figure, want := range map[string]float64{
		"predicted": 6, "fitted": 4, "relative maps": 1, "little maps": 2,
		"ordinary maps": 1 - (9.+16+25+36)/5, // about the mean 4.5: 2.25 + 0.25 + 0.25 + 2.25
		"all maps":      1 - (1+4+9+16+25+36)/17.5,
		"all sizes":     1 - (1+4+9+16+25+36)/17.5,
	} {
		if got := s.of(figure); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", figure, got, want)
		}
	}
	if !math.IsNaN(s.of("ordinary reduces")) {
		t.Errorf("R² of reduces that there are none of: %v", s.of("ordinary reduces"))
	}
}

// Trials that measure the machine run one at a time, after all others.
func TestRedoAlone(t *testing.T) {
	var running, others atomic.Int32
	trial := func(alone bool) func(context.Context, Lab, uint64) (Sample, error) {
		return func(context.Context, Lab, uint64) (Sample, error) {
			defer running.Add(-1)
			if n := running.Add(1); alone && (n > 1 || others.Load() != 4) {
				t.Errorf("alone: %d trials at once, %d of the others are through", n, others.Load())
			}
			if !alone {
				others.Add(1)
			}
			return Sample{}, nil
		}
	}
	p := &Paper{
		Name: "alone",
		Parts: []Part{
			{Title: "Alone", Trials: 3, Alone: true, Trial: trial(true)},
			{Title: "Others", Trials: 4, Trial: trial(false)},
		},
	}
	last := 0
	if _, err := Redo(t.Context(), p, Lab{}, Options{Workers: 3, Progress: func(done, total int, _ string) {
		if done != last+1 || total != 7 {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last = done
	}}); err != nil || last != 7 {
		t.Errorf("%d trials, %v", last, err)
	}
}
