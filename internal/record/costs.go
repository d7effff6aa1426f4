package record

import (
	"math"
	"strings"

	"github.com/sojourn-sched/sojourn/sched"
)

// costs adds up what the jobs that succeeded cost by each metric that the policy flex can be set to. Times are in
// seconds since the submission.
type costs struct {
	jobs, stretched, dated, stepped int
	response, stretch               cost // weighted response; slowdown
	tardy, weightedTardy, steps     float64
	late, weightedLate              cost // tardiness, and the largest lateness
}

// A cost is a sum over jobs and the largest of them.
type cost struct{ sum, most float64 }

// add counts a job whose penalty adds sum, and is value for the largest.
func (c *cost) add(sum, value float64, first bool) {
	c.sum += sum
	if first {
		c.most = value
	}
	c.most = max(c.most, value)
}

// count counts a job that succeeded.
func (c *costs) count(row *JobRow, j *sched.Job) {
	weight, took := j.Weight, row.Sojourn().Seconds()
	g := j.Spec.Goal
	if g != nil && g.Weight > 0 {
		weight = g.Weight
	}
	c.jobs++
	c.response.add(weight*took, weight*took, c.jobs == 1)
	if row.Slowdown > 0 {
		c.stretched++
		c.stretch.add(row.Slowdown, row.Slowdown, c.stretched == 1)
	}
	if d := j.Spec.Deadline.Seconds(); d > 0 {
		c.dated++
		if took > d {
			c.tardy++
			c.weightedTardy += weight
		}
		c.late.add(max(0, took-d), took-d, c.dated == 1)
		c.weightedLate.add(weight*max(0, took-d), weight*(took-d), c.dated == 1)
	}
	if g != nil && len(g.Steps) > 0 {
		c.stepped++
		reached := 0.0
		for _, s := range g.Steps {
			if took > s.After.Seconds() {
				reached = s.Cost
			}
		}
		c.steps += weight * reached
	} else if d := j.Spec.Deadline.Seconds(); d > 0 && took > d {
		c.steps += weight
	}
}

// CostKey returns the key of a metric of the policy flex in the costs of a Result: its name in snake case, with a unit
// where it is in seconds, such as max_lateness_s for max-lateness.
func CostKey(metric string) string {
	key := strings.ReplaceAll(metric, "-", "_")
	for _, timed := range []string{"response", "tardiness", "lateness"} {
		if strings.HasSuffix(key, timed) {
			key += "_s"
		}
	}
	return key
}

// byMetric returns the objectives by the keys of the policy's metrics (CostKey); those that no job had the facts for
// are left out.
func (c *costs) byMetric() map[string]float64 {
	if c.jobs == 0 {
		return nil
	}
	m := map[string]float64{}
	set := func(metric string, value float64) { m[CostKey(metric)] = value }
	set("weighted-response", c.response.sum/float64(c.jobs))
	set("max-weighted-response", c.response.most)
	if c.stretched > 0 {
		set("avg-stretch", c.stretch.sum/float64(c.stretched))
		set("max-stretch", c.stretch.most)
	}
	if c.dated > 0 {
		set("tardy", c.tardy)
		set("weighted-tardy", c.weightedTardy)
		set("tardiness", c.late.sum)
		set("max-tardiness", math.Max(0, c.late.most))
		set("weighted-tardiness", c.weightedLate.sum)
		set("max-weighted-tardiness", math.Max(0, c.weightedLate.most))
		set("max-lateness", c.late.most)
		set("max-weighted-lateness", c.weightedLate.most)
	}
	if c.stepped+c.dated > 0 {
		set("sla", c.steps)
	}
	return m
}
