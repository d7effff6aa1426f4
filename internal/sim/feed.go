package sim

import (
	"errors"
	"fmt"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// A feed takes jobs from the source, one ahead of its submission.
type feed struct {
	*agenda
	jobs   *attempts
	layout *layout
	copies int32 // of a block
	most   limits
	pull   func() (*sched.JobSpec, error, bool)
	stop   func()
	head   *sched.JobSpec // the next job; nil: none is left
	err    error
	taken  int64 // how many jobs were taken from the source
	tasks  int64 // of the jobs taken that have not ended
}

// limits are the most unfinished jobs, and tasks of unfinished jobs, that a run keeps in memory.
type limits struct {
	jobs, tasks int64
}

// advance takes the next job from the source into head, or sets err.
func (f *feed) advance() {
	last := f.now
	if f.head != nil {
		last = f.head.Submit
	}
	spec, err, ok := f.pull()
	f.head = nil
	if !ok || err != nil {
		f.err = err
		return
	}
	f.taken++
	if f.err = f.check(spec); f.err != nil {
		f.err = fmt.Errorf("job %d (%s): %w", f.taken, spec.Name, f.err)
	} else if spec.Submit < last {
		f.err = fmt.Errorf("job %d (%s): submitted at %v, before the job before it (%v)", f.taken, spec.Name,
			spec.Submit, last)
	} else if f.err = f.fits(spec); f.err == nil {
		f.head = f.place(spec, f.taken)
	}
}

// fits counts the tasks of a job, and returns an error if with it the run exceeds a limit.
func (f *feed) fits(spec *sched.JobSpec) error {
	f.tasks += tasksOf(spec)
	switch jobs := int64(f.jobs.view.LiveJobs()) + f.taken - f.jobs.admitted; {
	case jobs > f.most.jobs:
		return fmt.Errorf("job %d (%s): more than %d jobs are unfinished: the cluster is too small for the workload, "+
			"or the limit too low (--max-jobs)", f.taken, spec.Name, f.most.jobs)
	case f.tasks > f.most.tasks:
		return fmt.Errorf("job %d (%s): the unfinished jobs have more than %d tasks: the cluster is too small for the "+
			"workload", f.taken, spec.Name, f.most.tasks)
	}
	return nil
}

// ended subtracts the tasks of a job that has ended from the count. Probes are not counted.
func (f *feed) ended(spec *sched.JobSpec) {
	if spec.Probes == 0 {
		f.tasks -= tasksOf(spec)
	}
}

// tasksOf returns how many tasks a job has when it is submitted. O(stages).
func tasksOf(spec *sched.JobSpec) (n int64) {
	for i := range spec.Stages {
		n += int64(spec.Stages[i].Tasks)
	}
	return n
}

// check returns an error if a job lacks something that the simulator needs.
func (f *feed) check(spec *sched.JobSpec) error {
	t, ok := spec.Payload.(*workload.Truth)
	if !ok {
		return fmt.Errorf("payload is a %T, and the simulator needs the true times of tasks "+
			"(*workload.Truth)", spec.Payload)
	}
	if len(t.Later) > 0 {
		if !spec.Open {
			return errors.New("it finds stages later and is not open")
		}
		all := *spec
		all.Stages = t.All(spec)
		spec = &all
	}
	if err := spec.Validate(); err != nil {
		return err
	}
	if len(t.Stages) != len(spec.Stages) {
		return fmt.Errorf("its truth has %s, its spec %d", spelling.Count(len(t.Stages), "stage"), len(spec.Stages))
	}
	for i := range t.Stages {
		if s := &t.Stages[i]; s.Tasks != spec.Stages[i].Tasks || s.List != nil && len(s.List) < int(s.Tasks) {
			return fmt.Errorf("its truth has %s in stage %d (%d of them listed), its spec %d",
				spelling.Count(s.Tasks, "task"), i, len(s.List), spec.Stages[i].Tasks)
		}
	}
	return nil
}

// at returns the submission of the next job; sched.Never: there is none.
func (f *feed) at() sched.Time {
	if f.head == nil {
		return sched.Never
	}
	return f.head.Submit
}

// submit adds the submission of the next job to the events of the next Step.
func (f *feed) submit() {
	f.evs = append(f.evs, sched.Event{Kind: sched.JobSubmitted, Job: f.jobs.nextJob(), Body: f.head})
	f.advance()
}
