package fspy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

const facebook2009 = "../../workload/testdata/traces/swim-FB-2009_samples_24_times_1hr_0.tsv.gz"

// The segments of the public trace: 37, of 200 jobs, the first job of each 150 after that of the one before; 19 at
// level 6 or more, by construction.
func TestFspySegments(t *testing.T) {
	g := &segments{}
	lab := paper.Lab{Trace: facebook2009}
	heavy := 0
	var last []*sched.JobSpec
	for k := uint64(1); k <= segmentsUsed; k++ {
		jobs, level, err := g.of(lab, k)
		if err != nil {
			t.Fatal(err)
		}
		if len(jobs) != segmentJobs || jobs[0].Submit != 0 {
			t.Fatalf("segment %d: %d jobs, the first at %v", k, len(jobs), jobs[0].Submit)
		}
		if last != nil && jobs[0].Payload != last[segmentStride].Payload {
			t.Errorf("segment %d does not begin %d jobs after the one before", k, segmentStride)
		}
		if math.Round(level) >= 6 {
			heavy++
		}
		last = jobs
	}
	if heavy != segmentsAtLeast6 {
		t.Errorf("%d segments at level 6 or more", heavy)
	}
	if _, _, err := g.of(lab, segmentsUsed+1); err == nil {
		t.Error("there is a segment too many")
	}

	// Segment 9 is light: every figure that a claim takes from a single trial is there, or another segment's to give.
	for _, part := range []paper.Part{segmentsPart(g), mastersPart(g), errorsPart(g), theoryPart(g)} {
		s, err := part.Trial(t.Context(), lab, 9)
		if err != nil {
			t.Fatalf("%s: %v", part.Title, err)
		}
		if part.Over == nil {
			continue
		}
		over := part.Over([]paper.Sample{s})
		if s["gain fspy"] != nil {
			checkSegment(t, part.Title, s, over)
			continue
		}
		for _, m := range matches() {
			checkSegment(t, part.Title+", "+m.name, within([]paper.Sample{s}, m.name)[0],
				within([]paper.Sample{over}, m.name)[0])
		}
	}
}

// checkSegment checks what came of one light segment.
func checkSegment(t *testing.T, of string, s, over paper.Sample) {
	t.Helper()
	if over.Of("groups") != 1 {
		t.Errorf("%s: %v groups of one segment", of, over.Of("groups"))
	}
	if g := s.Of("gain fspy"); !(g > 0.5 && g < 2) {
		t.Errorf("%s: gain %v of a light segment", of, g)
	}
	for _, x := range s["fair slowdown"] {
		if x < 1-1e-9 {
			t.Errorf("%s: a job is faster among others than alone: %v", of, x)
			break
		}
	}
}

func TestFspyNeedsTrace(t *testing.T) {
	for _, part := range Paper().Parts {
		if _, err := part.Trial(t.Context(), paper.Lab{}, 1); !errors.As(err, new(paper.Missing)) {
			t.Errorf("%s: %v", part.Title, err)
		}
	}
	if _, err := Paper().Parts[0].Trial(t.Context(), paper.Lab{Trace: "nowhere.tsv"}, 1); err == nil ||
		errors.As(err, new(paper.Missing)) {
		t.Errorf("a trace that is not there: %v", err)
	}
}

// F12 by hand: 3 against 5/2 for the large job, 5/3 against 11/6 on average.
func TestFspyTheory(t *testing.T) {
	late, worst := boundedSlowdowns(1)
	if !(late > 0 && late < 40) || !(worst > 1 && worst < 2) {
		t.Errorf("%v %% of the jobs late, by %v at worst", late, worst)
	}
	g := &segments{list: [][]*sched.JobSpec{fromZero(jobsOfMemory())}, levels: []float64{6}}
	g.once.Do(func() {})
	s, err := theoryPart(g).Trial(t.Context(), paper.Lab{Trace: "given"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for figure, want := range map[string]float64{"F12": 6. / 5, "F12 mean": 10. / 11} {
		if got := s.Of(figure); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", figure, got, want)
		}
	}
	if got := s.Of("fluid"); got > 1+1e-6 || got < 0.1 {
		t.Errorf("fair slowdown without bounds: %v", got)
	}
}

// jobsOfMemory are 20 jobs of several sizes, one each 100 s, with memory to be sized by.
func jobsOfMemory() (jobs []*sched.JobSpec) {
	for i := range 20 {
		j := testbed.JobOf(fmt.Sprint("job-", i), sched.Time(i)*100*time.Second, theory.SlotJob{
			Maps: 8 + 40*(i%3), MapTime: float64(20 + 10*(i%4)), Reduces: 1 + 4*(i%5), ReduceTime: 60,
		}, [2][]workload.Task{})
		for k := range j.Stages {
			j.Stages[k].PerTask = sched.Resources{sched.Memory: 1024}
		}
		jobs = append(jobs, j)
	}
	return jobs
}

func TestStatistics(t *testing.T) {
	a := []float64{1, 5, 2, 9, 7}
	for _, c := range []struct {
		b    []float64
		want float64
		// the ranks of a are 0 2 1 4 3: 1 − 6·4/120
	}{{a, 1}, {[]float64{9, 5, 8, 1, 2}, -1}, {[]float64{1, 2, 3, 4, 5}, 0.8}} {
		if got := rankCorrelation(a, c.b); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("rank correlation with %v: %v, want %v", c.b, got, c.want)
		}
	}
	if got := partBelow([]float64{1, 2, 3, 4}, 3); got != 50 {
		t.Errorf("part below: %v", got)
	}
	samples := []paper.Sample{{"level": {5.6}, "x": {1, 2}}, {"level": {6.6}, "x": {3}}, {"level": {6.2}, "x": {4}}}
	if got := (pool{samples, 6, 6}).of("x"); !slices.Equal(got, []float64{1, 2, 4}) {
		t.Errorf("jobs at level 6: %v", got)
	}
	if got := (pool{samples, 7, math.Inf(1)}).of("x"); !slices.Equal(got, []float64{3}) {
		t.Errorf("jobs from level 7 on: %v", got)
	}
}
