package workload

import (
	"fmt"
	"math"
	"reflect"

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

// MostKept is how many bytes of memory a workload may take that is kept for several runs.
const MostKept = 256 << 20

// A Kept is a workload in memory.
type Kept struct {
	Jobs  Source // for many walks at once
	Bytes int64  // about what the jobs take: specs, and tasks that are listed one by one
	// Drawn says that times of tasks are drawn from the seed with which the workload was opened, so that another seed
	// would give other jobs.
	Drawn bool
}

// Keep reads jobs into memory. It returns nil where the jobs must be read each time: the source ends with an error, has
// jobs whose tasks are not simulated, or takes more than so many bytes.
func Keep(jobs Source, most int64) *Kept {
	k := &Kept{}
	var list []*sched.JobSpec
	for j, err := range jobs {
		if err != nil {
			return nil
		}
		t, ok := j.Payload.(*Truth)
		if !ok {
			return nil
		}
		for i := range t.Stages {
			k.Drawn = k.Drawn || t.Stages[i].Sigma > 0 && t.Stages[i].List == nil
		}
		if k.Bytes += bytesOf(j, t); k.Bytes > most {
			return nil
		}
		list = append(list, j)
	}
	k.Jobs = Of(list...)
	return k
}

// sizeOf returns the bytes of a value, without what it points to.
func sizeOf[T any]() int64 { return int64(reflect.TypeFor[T]().Size()) }

// Sizes of the parts of a job.
var (
	bytesOfJob   = sizeOf[sched.JobSpec]() + sizeOf[Truth]()
	bytesOfStage = sizeOf[sched.StageSpec]() + sizeOf[sched.Dep]() + sizeOf[StageTruth]()
	bytesOfTask  = sizeOf[Task]()
	bytesOfPlace = sizeOf[sched.NodeID]()
)

// bytesOf returns about how many bytes a job takes, whose Payload t is.
func bytesOf(j *sched.JobSpec, t *Truth) int64 {
	n := bytesOfJob + int64(len(j.Name)+len(j.User)+len(j.Queue)+len(j.Type))
	n += bytesOfStage * int64(len(t.Stages))
	for i := range t.Stages {
		n += bytesOfTask * int64(len(t.Stages[i].List))
	}
	for i := range j.Stages {
		n += bytesOfPlace * int64(len(j.Stages[i].Places))
	}
	for _, later := range t.Later {
		for i := range later {
			n += bytesOfPlace * int64(len(later[i].Places))
		}
	}
	return n
}
