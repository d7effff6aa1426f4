package run

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/sched"
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

// Jobs that succeeded in no time are compared, those that succeeded in the record or in the simulation alone are not.
// With too many of the latter the comparison is not trusted.
func TestCompareOutcomes(t *testing.T) {
	measured := []Measured{{1, "none", 0, true}, {2, "long", 10e9, true}, {3, "failed", -1, true},
		{4, "instant", 0, true}}
	rows := []record.JobRow{{ID: 1}, {ID: 2, Finish: 10e9}, {ID: 3, Outcome: sched.Failed}, {ID: 4}}
	if c := Compare(measured, rows); c.Jobs != 3 || c.Others != 1 || c.Differ != 0 || c.Error != 0 ||
		c.JobError != 0 || !c.Trusted(0) {
		t.Errorf("the same outcomes: %+v", c)
	}
	rows[3].Finish = 5e9
	if c := Compare(measured, rows); c.Each[0].ID != 4 || c.Each[0].Error != 1 || c.Trusted(0.3) {
		t.Errorf("5 s instead of none: %+v", c)
	}
	rows[3].Finish, rows[2].Outcome = 0, sched.OK
	if c := Compare(measured, rows); c.Jobs != 3 || c.Differ != 1 || c.Trusted(0.2) || !c.Trusted(0.25) {
		t.Errorf("a job that failed in the record alone: %+v", c)
	}
	measured[2].Ended = false
	if c := Compare(measured, rows); c.Others != 1 || c.Differ != 0 || !c.Trusted(0) {
		t.Errorf("a job that the record does not see end: %+v", c)
	}
	rows[2].Outcome, rows[1].Outcome = sched.Failed, sched.Failed
	if c := Compare(measured, rows); c.Jobs != 2 || c.Differ != 1 || c.Error != 0 || c.Trusted(0.3) {
		t.Errorf("a job that failed in the simulation alone: %+v", c)
	}
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
