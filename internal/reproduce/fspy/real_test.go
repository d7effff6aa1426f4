package fspy

import (
	"math"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/papertest"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/sched"
)

// Predictions of real jobs are noted when their probes are through. The last job waits for two others, and its probe
// does not: only on a busy machine may a probe take longer than all jobs, and then the run is made again.
func TestForetoldOfARun(t *testing.T) {
	m := papertest.SmallMix(t)
	m.Cluster = testbed.Machine(2) // on one core probes, which have a tenth, wait until no other job does
	var s paper.Sample
	for try := 0; try == 0 || s.Of("predicted") == 0 && try < 10; try++ {
		e := &predicting{
			fits: [2]*model.FSPY{model.NewFSPY(realFit()), model.NewFSPY(realFit())},
			jobs: map[sched.JobID]*predictedJob{},
		}
		if _, err := m.Run(t.Context(), "fspy:uber-maps=0", e); err != nil {
			t.Fatal(err)
		}
		s = e.sample()
	}
	if n := s.Of("predicted"); !(n >= 1 && n <= 3) {
		t.Errorf("%v jobs predicted", n)
	}
	if s.Of("fitted") != 0 {
		t.Errorf("%v jobs predicted by models that do not exist", s.Of("fitted"))
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
		if got := s.Of(figure); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", figure, got, want)
		}
	}
	if !math.IsNaN(s.Of("ordinary reduces")) {
		t.Errorf("R² of reduces that there are none of: %v", s.Of("ordinary reduces"))
	}
}
