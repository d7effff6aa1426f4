package run

import (
	"cmp"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/sched"
)

// A Check says how well a simulation of a record under the record's own policy repeats what was measured. Errors are
// simulated ÷ measured − 1.
type Check struct {
	Policy    string     `json:"policy"`
	Estimator string     `json:"estimator"`        // of the simulation
	Jobs      int        `json:"jobs"`             // that succeeded in both
	Others    int        `json:"others,omitempty"` // that did not succeed, or not in both: they are not compared
	Differ    int        `json:"differ,omitempty"` // of Others: that ended in the record, and succeeded in one of both
	Measured  float64    `json:"measured_mean_s"`
	Simulated float64    `json:"simulated_mean_s"`
	Error     float64    `json:"error"`          // of the mean
	JobError  float64    `json:"job_error_mean"` // mean of the jobs' errors without their signs
	Each      []JobCheck `json:"per_job"`        // the largest errors first
}

// A JobCheck is one job's sojourn time, measured and simulated.
type JobCheck struct {
	ID        sched.JobID `json:"job"`
	Name      string      `json:"name,omitempty"`
	Measured  float64     `json:"measured_s"`
	Simulated float64     `json:"simulated_s"`
	Error     float64     `json:"error"`
}

// Trusted reports whether something was compared, and neither the error of the mean, nor the jobs' mean error, nor the
// part of the jobs whose outcome differs is beyond a limit.
func (c *Check) Trusted(limit float64) bool {
	return c.Jobs > 0 && math.Abs(c.Error) <= limit && c.JobError <= limit && c.Differing() <= limit
}

// Differing returns which part of the jobs that ended in the record, and succeeded in one of both, did so in one only.
func (c *Check) Differing() float64 {
	if c.Differ == 0 {
		return 0
	}
	return float64(c.Differ) / float64(c.Jobs+c.Differ)
}

// A Measured is a job of a record.
type Measured struct {
	ID      sched.JobID
	Name    string
	Sojourn sched.Time // -1: it did not succeed
	Ended   bool       // the record has its end
}

// MeasuredJobs returns the jobs of a record in order of submission, probes left out. mend turns a record that ends
// early into an error, or into none.
func MeasuredJobs(path string, mend func(error) error) (list []Measured, err error) {
	r, err := record.Open(path, Payload)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for past, err := range record.PastJobs(r, nil) {
		if err != nil {
			return list, mend(err)
		}
		list = append(list, Measured{past.ID, past.Spec.Name, past.Sojourn, past.Ended})
	}
	return list, nil
}

// Compare checks the jobs of a simulation, whose rows are in any order, against those of the record that it repeats.
// The k-th that was submitted is the k-th of the record.
func Compare(measured []Measured, rows []record.JobRow) *Check {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b record.JobRow) int {
		return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.ID, b.ID))
	})
	c := &Check{}
	for i, m := range measured {
		then, now := m.Sojourn >= 0, i < len(rows) && rows[i].Outcome == sched.OK
		if !then || !now {
			c.Others++
			if then != now && m.Ended {
				c.Differ++
			}
			continue
		}
		j := JobCheck{ID: m.ID, Name: m.Name, Measured: m.Sojourn.Seconds(), Simulated: rows[i].Sojourn().Seconds()}
		j.Error = off(j.Simulated, j.Measured)
		c.Jobs++
		c.Measured += j.Measured
		c.Simulated += j.Simulated
		c.JobError += math.Abs(j.Error)
		c.Each = append(c.Each, j)
	}
	if c.Jobs == 0 {
		return c
	}
	c.Error = off(c.Simulated, c.Measured)
	n := float64(c.Jobs)
	c.Measured, c.Simulated, c.JobError = c.Measured/n, c.Simulated/n, c.JobError/n
	slices.SortStableFunc(c.Each, func(a, b JobCheck) int { return cmp.Compare(math.Abs(b.Error), math.Abs(a.Error)) })
	return c
}

// off returns simulated ÷ measured − 1: 0 where both are 0, and 1 where only measured is 0, which has no ratio.
func off(simulated, measured float64) float64 {
	switch {
	case measured > 0:
		return simulated/measured - 1
	case simulated > 0:
		return 1
	}
	return 0
}
