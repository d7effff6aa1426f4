package sched

import (
	"errors"
	"fmt"
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
//	delays=3         how often a task may pass over a node without its input (D_max of policy adaptive); 0: never
//	accelerators=gpu/cell         classes of nodes whose hardware the job's code can use, the best first
//	map=vcores:2/disk-io:300000   what a task uses in a phase (read, map, sort, spill, shuffle, merge, reduce, write),
//	                              in the units of a workload file
func (s *JobSpec) SetTerm(name, value string) (known bool, err error) {
	g := Goal{}
	if s.Goal != nil {
		g = *s.Goal
	}
	switch phase := phaseNamed(name); {
	case name == "accelerators", phase != NoPhase:
		p := Profile{}
		if s.Profile != nil {
			p = *s.Profile
		}
		if phase == NoPhase {
			p.Accelerators = strings.Split(value, "/")
		} else if p.Phases[phase], err = parseUse(value); err != nil {
			return true, err
		}
		if err := p.validate(); err != nil {
			return true, err
		}
		s.Profile = &p
		return true, nil
	}
	switch name {
	case "delays":
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < 0 || n > maxDelays {
			return true, errors.New("must be a number from 0, for none, to 1000000")
		}
		if s.Delays = int32(n); n == 0 {
			s.Delays = -1
		}
		return true, nil
	case "deadline":
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return true, errors.New("must be a time above 0, such as 10m, and at most 2562047h")
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

// phaseNamed returns the phase of a task with a name; NoPhase: there is none.
func phaseNamed(name string) Phase {
	for p := NoPhase + 1; p < NumPhases; p++ {
		if p.String() == name {
			return p
		}
	}
	return NoPhase
}

// parseUse reads amounts of resources, as vcores:2/disk-io:300000.
func parseUse(text string) (r Resources, err error) {
	for part := range strings.SplitSeq(text, "/") {
		name, amount, _ := strings.Cut(part, ":")
		k, known := ResourceNamed(name)
		n, wrong := strconv.ParseInt(amount, 10, 64)
		if !known || wrong != nil {
			return r, fmt.Errorf("%q: must be a resource and an amount, as vcores:2/disk-io:300000; resources are %s",
				part, strings.Join(resourceNames[:], ", "))
		}
		r[k] = n
	}
	return r, nil
}
