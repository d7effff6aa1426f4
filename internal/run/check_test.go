package run

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/sim"
)

// replayed simulates a record under its own policy on its own cluster, and compares.
func replayed(t *testing.T, path string) *Check {
	t.Helper()
	fail := func(err error) error {
		if errors.Is(err, record.ErrCut) {
			return nil
		}
		return err
	}
	r, err := record.Open(path, Payload)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	past, err := record.ClusterOf(r)
	if fail(err) != nil {
		t.Fatal(err)
	}
	jobs, err := PastJobs(path, past.Cluster, past.IDs, fail)
	if err != nil {
		t.Fatal(err)
	}
	measured, err := MeasuredJobs(path, fail)
	if err != nil {
		t.Fatal(err)
	}
	var rows []record.JobRow
	setup := Setup{Names: BuiltIn, Choice: Choice{r.Header.Policy, r.Header.Estimator},
		Row: func(row *record.JobRow) {
			if row.Slowdown < 1 {
				t.Errorf("job %s is faster than alone: slowdown %v", row.Name, row.Slowdown)
			}
			rows = append(rows, *row)
		}}
	config := sim.Config{Cluster: past.Cluster, Jobs: jobs, Seed: 1}
	Again(past, &config)
	if _, err := Simulate(context.Background(), setup, config); err != nil {
		t.Fatal(err)
	}
	return Compare(measured, rows)
}

// TestReplayStock simulates records of stock MapReduce and Spark under `sojourn rm`: the mean sojourn time must be
// within 2 % of what was measured, that of each job within 5 %. In stock-bounded, masters hold the half of the cluster
// that they may, and five jobs wait for a master; the record ends before the last of its ten jobs.
func TestReplayStock(t *testing.T) {
	for name, want := range map[string]struct{ jobs, others int }{
		"sleep": {1, 0}, "mix": {4, 0}, "spark": {3, 0}, "bounded": {9, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := replayed(t, "testdata/stock-"+name+".record")
			t.Logf("%d jobs: mean %.2f s measured, %.2f s simulated", c.Jobs, c.Measured, c.Simulated)
			if c.Jobs != want.jobs || c.Others != want.others || math.Abs(c.Error) > 0.02 {
				t.Errorf("%d jobs compared, %d not; the mean is off by %.1f %%", c.Jobs, c.Others, 100*c.Error)
			}
			for _, j := range c.Each {
				if math.Abs(j.Error) > 0.05 {
					t.Errorf("job %d, %s: %.2f s measured, %.2f s simulated", j.ID, j.Name, j.Measured, j.Simulated)
				}
			}
		})
	}
}
