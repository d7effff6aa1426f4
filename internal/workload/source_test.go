package workload

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// at makes empty jobs submitted at seconds, named a, b, ...
func at(seconds ...int) Source {
	var jobs []*sched.JobSpec
	for i, s := range seconds {
		jobs = append(jobs, &sched.JobSpec{Name: string(rune('a' + i)), Submit: time.Duration(s) * time.Second})
	}
	return Of(jobs...)
}

// line writes the jobs of a source as a@0s b@1s, and its error.
func line(s Source) string {
	var out []string
	for job, err := range s {
		if err != nil {
			out = append(out, err.Error())
			break
		}
		out = append(out, job.Name+"@"+job.Submit.String())
	}
	return strings.Join(out, " ")
}

func TestCombinators(t *testing.T) {
	s := at(0, 1, 2, 3)
	broken := func(yield func(*sched.JobSpec, error) bool) {
		if yield(&sched.JobSpec{Name: "x", Submit: time.Second}, nil) {
			yield(nil, errors.New("broken"))
		}
	}
	for _, c := range []struct {
		name string
		s    Source
		want string
	}{
		{"take 2", Take(s, 2), "a@0s b@1s"},
		{"take 0", Take(s, 0), ""},
		{"take all", Take(s, 9), "a@0s b@1s c@2s d@3s"},
		{"take before the error", Take(broken, 1), "x@1s"},
		{"take the error", Take(broken, 2), "x@1s broken"},
		{"from 1", Between(s, time.Second, 0), "b@1s c@2s d@3s"},
		{"from 1 until 3", Between(s, time.Second, 3*time.Second), "b@1s c@2s"},
		{"until after the error", Between(broken, 2*time.Second, 0), "broken"},
		{"scale 1.5", TimeScale(s, 1.5), "a@0s b@1.5s c@3s d@4.5s"},
		{"scale 0", TimeScale(s, 0), "time scale 0: must be positive"},
		{"scale too much", TimeScale(s, 1e18), "a@0s job b: submitted at 1e+18 s when scaled by 1e+18: must be at " +
			"most ten years"},
		{"scale the error", TimeScale(broken, 2), "x@2s broken"},
	} {
		for pass := range 2 {
			if got := line(c.s); got != c.want {
				t.Errorf("%s, pass %d: %s, want %s", c.name, pass, got, c.want)
			}
		}
	}
}

func TestSummarize(t *testing.T) {
	// Jobs of 1, 2, 3 and 4 maps of 1 s: in all 10 maps; half the jobs have at most 2.
	const mib = 1 << 20
	text := "a\t1\t1\t0\t0\t0\nb\t2\t1\t134217729\t0\t5\nc\t3\t1\t268435457\t0\t0\nd\t9\t6\t402653185\t7\t0\n"
	o := Defaults()
	o.MapRate, o.ReduceRate = 1e18, 1e18
	sum, err := Summarize(Of(append(mustRead(t, text, o), &sched.JobSpec{Name: "run", Submit: 10 * time.Second,
		Payload: &Program{}})...))
	want := Summary{
		Jobs: 5, Programs: 1, Maps: 10, Reduces: 1, Input: 6*128*mib + 3, Shuffle: 7, Output: 5, First: time.Second,
		Last:  10 * time.Second,
		Tasks: Percentiles{Mean: 11.0 / 4, P50: 2, P90: 5, P99: 5, Max: 5},
		Bytes: Percentiles{Mean: (6*128*mib + 3) / 4.0, P50: 134217729, P90: 402653185, P99: 402653185, Max: 402653185},
		Work:  Percentiles{Mean: 11.0 / 4, P50: 2, P90: 5, P99: 5, Max: 5},
	}
	if err != nil || sum != want {
		t.Errorf("%+v\nwant %+v, %v", sum, want, err)
	}
}

// Jobs are kept if they are simulated, whole, and take no more memory than they may. What is kept says whether another
// seed would give other jobs.
func TestKeep(t *testing.T) {
	job := func(stages ...StageTruth) *sched.JobSpec {
		return &sched.JobSpec{Stages: make([]sched.StageSpec, len(stages)), Payload: &Truth{Stages: stages}}
	}
	plain, two := job(StageTruth{Tasks: 9, Base: 1}), job(StageTruth{Tasks: 2, List: make([]Task, 2), Sigma: 1})
	drawn := job(StageTruth{Tasks: 1, Sigma: 0.5})
	passes := 0
	source := func(end error, jobs ...*sched.JobSpec) Source {
		return func(yield func(*sched.JobSpec, error) bool) {
			passes++
			for _, j := range jobs {
				if !yield(j, nil) {
					return
				}
			}
			if end != nil {
				yield(nil, end)
			}
		}
	}
	most := 2*(bytesOfJob+bytesOfStage) + 2*bytesOfTask
	kept := Keep(source(nil, plain, two), most)
	if kept == nil {
		t.Fatal("they are not kept")
	}
	if kept.Drawn || kept.Bytes != most {
		t.Errorf("%d bytes, want %d; drawn: %v", kept.Bytes, most, kept.Drawn)
	}
	for range 3 {
		var got []*sched.JobSpec
		for j, err := range kept.Jobs {
			if got = append(got, j); err != nil {
				t.Fatal(err)
			}
		}
		if len(got) != 2 || got[0] != plain || got[1] != two || passes != 1 {
			t.Errorf("%d jobs after %d passes", len(got), passes)
		}
	}
	if k := Keep(source(nil, plain, drawn), most); k == nil || !k.Drawn {
		t.Errorf("jobs with drawn times: %+v", k)
	}
	named, placed := job(StageTruth{Tasks: 1}), job(StageTruth{Tasks: 1})
	named.Name = strings.Repeat("n", int(most))
	placed.Stages[0].Places = make([]sched.NodeID, most)
	later := job(StageTruth{Tasks: 1})
	later.Payload.(*Truth).Later = [][]sched.StageSpec{placed.Stages}
	for name, s := range map[string]Source{
		"too many": source(nil, plain, two, plain), "an error": source(errors.New("cut off"), plain),
		"a long name": source(nil, named), "many places": source(nil, placed), "many places later": source(nil, later),
		"programs": source(nil, &sched.JobSpec{Payload: &Program{}}),
	} {
		if Keep(s, most) != nil {
			t.Errorf("%s: they are kept", name)
		}
	}
}
