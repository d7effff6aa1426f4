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

// A reordering yields jobs that are at most slightly out of order in order. It holds up to window jobs, and fewer where
// these list more than MaxList tasks together: a listed task takes memory of its own.
type reordering struct {
	name    string // of the file
	yield   func(*sched.JobSpec, error) bool
	line    []waiting // line[first:] is sorted by submission
	first   int
	listed  int        // tasks that the truths of the jobs in line list
	last    sched.Time // submission of the last job that was yielded
	stopped bool       // the caller wants no more
}

// inOrder makes a source of jobs that are at most slightly out of order: each may stand up to window jobs too late. A
// job that stands later is an error. Jobs submitted at the same time keep the order in which they stand.
func inOrder(name string, jobs func(emit) error) Source {
	return func(yield func(*sched.JobSpec, error) bool) {
		r := &reordering{name: name, yield: yield}
		var problem error
		err := jobs(func(spec *sched.JobSpec, at int) bool {
			problem = r.add(waiting{spec, at})
			return problem == nil && !r.stopped
		})
		if problem == nil {
			problem = err
		}
		for problem == nil && !r.stopped && r.first < len(r.line) {
			r.pop()
		}
		if problem != nil && !r.stopped {
			yield(nil, problem)
		}
	}
}

// add takes a job, and yields those for which no room is left. O(jobs that it overtakes).
func (r *reordering) add(w waiting) error {
	if len(w.spec.Stages) > 0 {
		if err := w.spec.Validate(); err != nil {
			return fmt.Errorf("%s:%d: job %s: %w", r.name, w.line, w.spec.Name, err)
		}
	}
	if w.spec.Submit < r.last {
		return fmt.Errorf("%s:%d: job %s: submitted at %v, stands more than %d jobs too late: sort the file "+
			"by submission",
			r.name, w.line, w.spec.Name, w.spec.Submit, window)
	}
	r.line = append(r.line, w)
	r.listed += listedTasks(w.spec)
	for i := len(r.line) - 1; i > r.first && r.line[i].spec.Submit < r.line[i-1].spec.Submit; i-- {
		r.line[i], r.line[i-1] = r.line[i-1], r.line[i]
	}
	for !r.stopped && (len(r.line)-r.first > window || r.listed > MaxList && len(r.line)-r.first > 1) {
		r.pop()
	}
	return nil
}

// pop yields the first job.
func (r *reordering) pop() {
	w := r.line[r.first]
	r.line[r.first] = waiting{}
	if r.first++; r.first == window { // an array of twice the window, slid back when half of it is used up
		r.line = r.line[:copy(r.line, r.line[r.first:])]
		r.first = 0
	}
	r.last = w.spec.Submit
	r.listed -= listedTasks(w.spec)
	r.stopped = !r.yield(w.spec, nil)
}

// listedTasks returns how many tasks of a job its truth lists one by one.
func listedTasks(spec *sched.JobSpec) (n int) {
	if t, ok := spec.Payload.(*Truth); ok {
		for i := range t.Stages {
			n += len(t.Stages[i].List)
		}
	}
	return n
}

// fromZero returns the jobs of s with the first one submitted at 0, because traces and job histories count from an
// instant of their own, such as 1970. The jobs of s must be in order of submission, which is not checked. Their Submit
// is changed in place, and nothing else, as their other times count from it. A job submitted more than ten years after
// the first is an error. An error, of s as well, is the last that the source yields.
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
				yield(nil, fmt.Errorf("job %s: submitted %v after the first, must be at most ten years",
					spec.Name, spec.Submit))
				return
			}
			if !yield(spec, nil) {
				return
			}
		}
	}
}
