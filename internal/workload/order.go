package workload

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/sched"
)

// A waiting job has been read, and waits for those that were submitted before it.
type waiting struct {
	spec *sched.JobSpec
	line int
}

// inOrder makes a source of jobs that are at most slightly out of order: each may stand up to window jobs too late. A
// job that stands later is an error. Jobs submitted at the same time keep the order in which they stand.
func inOrder(name string, jobs func(emit) error) Source {
	return func(yield func(*sched.JobSpec, error) bool) {
		var (
			line    []waiting // line[first:] is sorted
			first   int
			last    sched.Time // of the jobs yielded
			problem error
			stopped bool
		)
		pop := func() bool {
			w := line[first]
			line[first] = waiting{}
			if first++; first == window { // an array of twice the window, slid back when half of it is used up
				line = line[:copy(line, line[first:])]
				first = 0
			}
			last = w.spec.Submit
			stopped = !yield(w.spec, nil)
			return !stopped
		}
		err := jobs(func(spec *sched.JobSpec, at int) bool {
			if len(spec.Stages) > 0 {
				if err := spec.Validate(); err != nil {
					problem = fmt.Errorf("%s:%d: job %s: %w", name, at, spec.Name, err)
					return false
				}
			}
			if spec.Submit < last {
				problem = fmt.Errorf(
					"%s:%d: job %s: submitted at %v, stands more than %d jobs too late: sort the file by submission",
					name,
					at,
					spec.Name,
					spec.Submit,
					window,
				)
				return false
			}
			line = append(line, waiting{spec, at})
			for i := len(line) - 1; i > first && line[i].spec.Submit < line[i-1].spec.Submit; i-- {
				line[i], line[i-1] = line[i-1], line[i]
			}
			return len(line)-first <= window || pop()
		})
		if problem == nil {
			problem = err
		}
		for problem == nil && !stopped && first < len(line) {
			pop()
		}
		if problem != nil && !stopped {
			yield(nil, problem)
		}
	}
}

// fromZero shifts a source so that its first job is submitted at 0, because the trace counts from 1970.
func fromZero(s Source) Source {
	return func(yield func(*sched.JobSpec, error) bool) {
		base := sched.Time(-1)
		for spec, err := range s {
			if err != nil {
				yield(nil, err)
				return
			}
			if base < 0 {
				base = spec.Submit
			}
			if spec.Submit -= base; spec.Submit > MaxTime {
				yield(
					nil,
					fmt.Errorf(
						"job %s: submitted %v after the first, must be at most ten years",
						spec.Name,
						spec.Submit,
					),
				)
				return
			}
			if !yield(spec, nil) {
				return
			}
		}
	}
}
