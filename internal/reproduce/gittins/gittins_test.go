package gittins

import (
	"errors"
	"math"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
)

// Without the trace every part says what it needs. With its first 50 jobs every figure that a claim names is there, and
// las has the same whatever the error.
func TestGittinsTrials(t *testing.T) {
	const first50 = "../../workload/testdata/traces/swim-FB-2009_samples_24_times_1hr_0_first50jobs.tsv"
	for _, part := range Paper().Parts {
		if _, err := part.Trial(t.Context(), paper.Lab{}, 1); !errors.As(err, new(paper.Missing)) {
			t.Errorf("%s without a trace: %v", part.Title, err)
		}
		s, err := part.Trial(t.Context(), paper.Lab{Trace: first50}, 1)
		if err != nil {
			t.Fatalf("%s: %v", part.Title, err)
		}
		all := part.Over([]paper.Sample{s})
		for _, c := range part.Claims {
			if a, b := s.Of(c.Figure), all.Of(c.Figure); !(a > 0) && !(b > 0) || math.IsInf(a, 0) {
				t.Errorf("%s: %q is %v, and of all trials %v", part.Title, c.Figure, a, b)
			}
		}
		if s.Of("las 1") != s.Of("las 2") {
			t.Errorf("%s: las has %v and %v", part.Title, s.Of("las 1"), s.Of("las 2"))
		}
	}
	jobs, err := fluidJobs(first50)
	if err != nil {
		t.Fatal(err)
	}
	work := 0.0
	for _, j := range jobs {
		work += j.Size
	}
	if load := work / jobs[len(jobs)-1].Arrival; math.Abs(load-0.9) > 1e-9 {
		t.Errorf("load %v, want 0.9", load)
	}
}

// Two trials with one policy out of place: at σ = 1 the prototype had gittins, spt, psbs, las, fsp, srpt; here las,
// with a mean of 1, is before the three that were before it, and the other twelve of the fifteen pairs stand.
func TestGittinsRanked(t *testing.T) {
	of := map[string]float64{"gittins": 2, "spt": 3, "psbs": 4, "las": 1, "fsp": 5, "srpt": 6}
	var trials []paper.Sample
	for _, off := range []float64{-0.5, 0.5} {
		s := paper.Sample{}
		for name, mean := range of {
			s.Set(errorFigure(name, 1), mean+off)
		}
		trials = append(trials, s)
	}
	all := ranked(trials, []float64{1}, policyNames())
	if all.Of("place 1") != 2 || all.Of("pairs 1") != 12 || all.Of("mean srpt 1") != 6 {
		t.Errorf("place %v, pairs %v, mean of srpt %v; want 2, 12 and 6", all.Of("place 1"), all.Of("pairs 1"),
			all.Of("mean srpt 1"))
	}
}
