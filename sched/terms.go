package sched

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// SetTerm sets one term of the job from a name and a value, the words that tags of applications and options of a run
// share. It reports whether there is a term of that name. A value that cannot be read is an error and changes nothing;
// ValidateTerms checks the terms against each other.
//
//	deadline=10m     when the job should be over, from its submission on
//	goal=tardiness   what finishing late costs: a metric, or costs by the time that the job takes, as 5m:1/10m:4
//	weight=3         of that cost among those of other jobs; the job's share of its queue stays
func (s *JobSpec) SetTerm(name, value string) (known bool, err error) {
	g := Goal{}
	if s.Goal != nil {
		g = *s.Goal
	}
	switch name {
	case "deadline":
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return true, errors.New("must be a time above 0, such as 10m")
		}
		s.Deadline = d
		return true, nil
	case "goal":
		if g.Metric, g.Steps, err = parseCost(value); err != nil {
			return true, err
		}
	case "weight":
		if g.Weight, err = strconv.ParseFloat(value, 64); err != nil {
			return true, errors.New("must be a number, such as 3")
		}
	default:
		return false, nil
	}
	s.Goal = &g
	return true, nil
}

// parseCost reads the name of a metric, or the steps of a cost: 5m:1/10m:4 is 1 after 5 minutes and 4 after 10. Commas
// separate tags, so they cannot separate steps.
func parseCost(text string) (Metric, []CostStep, error) {
	if m, ok := MetricNamed(text); ok && m != MetricSteps {
		return m, nil, nil
	}
	var steps []CostStep
	for step := range strings.SplitSeq(text, "/") {
		after, cost, _ := strings.Cut(step, ":")
		at, err1 := time.ParseDuration(after)
		c, err2 := strconv.ParseFloat(cost, 64)
		if err1 != nil || err2 != nil {
			return NoMetric, nil, errors.New("must be response, stretch, tardy, tardiness, lateness, or steps as " +
				"5m:1/10m:4")
		}
		steps = append(steps, CostStep{After: at, Cost: c})
	}
	return MetricSteps, steps, nil
}
