package mr

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// TestServeRefuses: a job that the core would not take fails alone, and says why.
func TestServeRefuses(t *testing.T) {
	one := mapReduce(1, time.Second, 0, 0)[:1]
	unknown := mapReduce(-1, time.Second, 0, 0)[:1]
	most := slices.Concat(one, slices.Repeat(mapReduce(0, 0, 0, 0)[:1], 1<<16-2)) // as many as a job may have
	open := sched.JobSpec{Open: true}
	late := sched.JobSpec{Goal: &sched.Goal{Metric: sched.MetricTardy}}
	for name, c := range map[string]struct {
		spec         sched.JobSpec
		first, later []sched.StageSpec
		asked        int
		want         string
	}{
		"no stages":        {sched.JobSpec{}, nil, one, 1, "stages: 0, must be 1 to 65535"},
		"unknown tasks":    {sched.JobSpec{}, unknown, nil, 1, "stage 0 (map): tasks: -1, must not be negative"},
		"unknown, later":   {open, one, unknown, 2, "stage 1 (map): tasks: -1, must not be negative"},
		"too many stages":  {sched.JobSpec{}, slices.Concat(most, one), nil, 1, "stages: 65536, must be 1 to 65535"},
		"too many, later":  {open, most, one, 2, "stage 65535: must be from 0 to 65534"},
		"weight":           {sched.JobSpec{Weight: -1}, one, nil, 1, "weight -1: must be from 0"},
		"goal":             {late, one, nil, 1, "goal: metric tardy: needs a deadline"},
		"submitted before": {sched.JobSpec{Submit: -time.Second}, one, nil, 1, "submit -1s: must not be negative"},
	} {
		for _, alone := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				run := func(*Launch) error { return nil }
				spec := c.spec
				w := &sleeper{stages: c.first, later: c.later, run: run}
				jobs := []Submission{{Spec: &spec, Work: w}}
				if !alone {
					jobs = append(jobs, Submission{Spec: &sched.JobSpec{}, Work: &sleeper{stages: one, run: run}})
				}
				results, err := Serve(ctx, Config{Core: sched.Config{Policy: &inOrder{}}, Nodes: oneOfEach,
					Settle: synctest.Wait}, jobs)
				if err != nil || len(results) != len(jobs) {
					t.Fatalf("%s: results %+v, error %v", name, results, err)
				}
				r := results[0]
				if r.Outcome != sched.Failed || r.Err == nil || !strings.HasPrefix(r.Err.Error(), c.want) ||
					w.asked != c.asked || w.closed.Load() != 1 {
					t.Errorf("%s: %v, error %v, asked %d times, closed %d times; want that it fails with %q, asked %d "+
						"times", name, r.Outcome, r.Err, w.asked, w.closed.Load(), c.want, c.asked)
				}
				if !alone && results[1].Outcome != sched.OK {
					t.Errorf("%s: the other job ends %+v", name, results[1])
				}
			})
		}
	}
}
