package workload

import (
	"fmt"
	"math"

	"github.com/sojourn-sched/sojourn/sched"
)

// Take yields the first n jobs of s.
func Take(s Source, n int) Source {
	return func(yield func(*sched.JobSpec, error) bool) {
		if n <= 0 {
			return
		}
		left := n
		for spec, err := range s {
			if left--; !yield(spec, err) || left == 0 {
				return
			}
		}
	}
}

// Between yields the jobs of s submitted from one instant until before another, at the times at which s has them; an
// until of zero is none.
func Between(s Source, from, until sched.Time) Source {
	return func(yield func(*sched.JobSpec, error) bool) {
		for spec, err := range s {
			if err == nil {
				if spec.Submit < from {
					continue
				}
				if until > 0 && spec.Submit >= until {
					return
				}
			}
			if !yield(spec, err) {
				return
			}
		}
	}
}

// TimeScale yields the jobs of s with times of submission multiplied by x, which is positive: 0.5 doubles the load.
func TimeScale(s Source, x float64) Source {
	return func(yield func(*sched.JobSpec, error) bool) {
		if !(x > 0) || math.IsInf(x, 0) {
			yield(nil, fmt.Errorf("time scale %v: must be positive", x))
			return
		}
		for spec, err := range s {
			if err != nil {
				yield(nil, err)
				return
			}
			at := math.Round(float64(spec.Submit) * x)
			if at > MaxTime {
				yield(nil, fmt.Errorf("job %s: submitted at %g s when scaled by %v: must be at most ten years",
					spec.Name, at/1e9, x))
				return
			}
			scaled := *spec
			scaled.Submit = sched.Time(at)
			if !yield(&scaled, nil) {
				return
			}
		}
	}
}

// Of yields the given jobs, which are in order of submission.
func Of(jobs ...*sched.JobSpec) Source {
	return func(yield func(*sched.JobSpec, error) bool) {
		for _, j := range jobs {
			if !yield(j, nil) {
				return
			}
		}
	}
}

// Keep reads jobs, and returns a source that yields them from memory, for many walks at once. It returns nil where the
// jobs must be read each time: the source ends with an error, has more than most jobs and listed tasks together, or has
// tasks whose times are drawn from the seed with which it was opened.
func Keep(jobs Source, most int) Source {
	var list []*sched.JobSpec
	for j, err := range jobs {
		if err != nil {
			return nil
		}
		t, ok := j.Payload.(*Truth)
		if !ok {
			return nil
		}
		most--
		for i := range t.Stages {
			if t.Stages[i].Sigma > 0 && t.Stages[i].List == nil {
				return nil
			}
			most -= len(t.Stages[i].List)
		}
		if list = append(list, j); most < 0 {
			return nil
		}
	}
	return Of(list...)
}
