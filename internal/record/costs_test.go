package record

import (
	"maps"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// Two jobs: one of weight 2 takes 10 s for a deadline of 4 s and twice its time alone; the other takes 3 s of 5 s.
func TestCosts(t *testing.T) {
	var c costs
	c.count(&JobRow{Finish: 10 * time.Second, Slowdown: 2}, &sched.Job{Weight: 2, Spec: &sched.JobSpec{
		Deadline: 4 * time.Second,
		Goal: &sched.Goal{Metric: sched.MetricSteps, Steps: []sched.CostStep{
			{After: 5 * time.Second, Cost: 1}, {After: 9 * time.Second, Cost: 3}, {After: 11 * time.Second, Cost: 9},
		}},
	}})
	c.count(&JobRow{Finish: 3 * time.Second, Slowdown: 1}, &sched.Job{Weight: 1, Spec: &sched.JobSpec{
		Deadline: 5 * time.Second,
	}})
	want := map[string]float64{
		"weighted_response_s": 11.5, "max_weighted_response_s": 20, "avg_stretch": 1.5, "max_stretch": 2,
		"tardy": 1, "weighted_tardy": 2, "tardiness_s": 6, "max_tardiness_s": 6, "weighted_tardiness_s": 12,
		"max_weighted_tardiness_s": 12, "max_lateness_s": 6, "max_weighted_lateness_s": 12, "sla": 6,
	}
	if got := c.byMetric(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := (&costs{}).byMetric(); got != nil {
		t.Errorf("without jobs: %v", got)
	}
}
