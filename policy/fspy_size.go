package policy

import (
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/sched"
)

// fspySizes is what fspy knows of amounts and sizes: of the cluster, and of jobs too small to be probed.
type fspySizes struct {
	Total sched.Resources // the capacity
	Slots bool            // resources are slots, for lack of memory
	Small [2]average      // of the maps and the reduces of uber jobs

	probing    float64 // part of the cluster that is kept for probes
	production bool    // virtual=production: the virtual cluster lacks that part
	whole      bool    // waves=whole: bounds count whole containers
	printed    bool    // bound=printed: bounds leave no room for masters
	uber       uberRule
}

// An uberRule says which jobs run in the container of their master, and are not worth a probe.
type uberRule struct {
	maps  int32      // at most; zero: no job is small
	block int64      // bytes of input at most (Hadoop: mapreduce.job.ubertask.maxbytes)
	task  sched.Time // what a task of such a job takes, until one is seen
}

// amount returns the part of r that FSPY looks at: memory and cores, or slots if the cluster has no memory.
func (f *fspySizes) amount(r sched.Resources) theory.Pair {
	first := r[sched.Memory]
	if f.Slots {
		first = r[sched.MapSlots] + r[sched.ReduceSlots]
	}
	return theory.Pair{float64(first), float64(r[sched.VCores])}
}

// capacity returns the capacity of the virtual cluster.
func (f *fspySizes) capacity() theory.Pair {
	c := f.amount(f.Total)
	if f.production {
		c = theory.Pair{}.Add(1-f.probing, c)
	}
	return c
}

// isUber reports whether a job is so small that it is not worth a probe: by Hadoop's rule for jobs that run in the
// container of their master.
func (f *fspySizes) isUber(j *sched.Job) bool {
	maps, reduces, input := int32(0), int32(0), int64(0)
	for _, st := range j.Stages {
		switch {
		case st.Kind == sched.Master:
		case st.Total < 0:
			return false
		case st.Kind == sched.Map:
			maps += st.Total
			input += st.Spec.InputBytes
		default:
			reduces += st.Total
		}
	}
	return maps+reduces > 0 && maps <= f.uber.maps && f.uber.maps > 0 && reduces <= 1 && input <= f.uber.block
}

// master returns what a job's master holds, R_am; nothing where it has none of its own.
func (f *fspySizes) master(j *sched.Job) (r theory.Pair) {
	for _, st := range j.Stages {
		if st.Kind == sched.Master {
			r = r.Add(1, f.amount(st.Spec.PerTask))
		}
	}
	return r
}

// container returns what an uber job holds: the container of its master, or, for a job without a master, one that has
// room for each of its tasks.
func (f *fspySizes) container(j *sched.Job) theory.Pair {
	r := f.master(j)
	if r != (theory.Pair{}) {
		return r
	}
	for _, st := range j.Stages {
		for k, need := range f.amount(st.Spec.PerTask) {
			r[k] = max(r[k], need)
		}
	}
	return r
}

// workless returns the part of a job's share that does no work: its master, unless the master does all the work.
func (f *fspySizes) workless(j *sched.Job) theory.Pair {
	if f.isUber(j) {
		return theory.Pair{}
	}
	return f.master(j)
}

// firstBound returns the bound of a job whose size is not known: room for its master and for all tasks that need not
// wait for other tasks (eq. 9).
func (f *fspySizes) firstBound(j *sched.Job) theory.Pair {
	if f.isUber(j) {
		return f.container(j)
	}
	bound := f.master(j)
	for _, st := range j.Stages {
		if st.Kind != sched.Master && len(st.Spec.After) == 0 {
			bound = bound.Add(float64(tasksOf(st)), f.amount(st.Spec.PerTask))
		}
	}
	return bound.Min(f.capacity())
}

// bound returns the average parallelism bound of a job of known size.
func (f *fspySizes) bound(p *sched.Plan, j *sched.Job, loads []theory.StageLoad) theory.Pair {
	if f.isUber(j) {
		return f.container(j)
	}
	master := f.master(j)
	if f.printed {
		master = theory.Pair{}
	}
	return theory.AverageBound(f.capacity(), master, loads, f.whole)
}

// loads returns the stages of a job, its master left out, at the times that are known of their tasks.
func (f *fspySizes) loads(p *sched.Plan, j *sched.Job) []theory.StageLoad {
	var loads []theory.StageLoad
	_, known := p.Size(j)
	for _, st := range j.Stages {
		if st.Kind == sched.Master {
			continue
		}
		l := theory.StageLoad{
			Task:  f.amount(st.Spec.PerTask),
			Tasks: float64(tasksOf(st)),
			Mean:  float64(p.Estimate(st, 0).Mean),
		}
		if !known {
			l.Mean = float64(f.uber.task)
			if seen := f.Small[smallKind(st)]; seen.N > 0 {
				l.Mean = seen.Mean
			}
		}
		loads = append(loads, l)
	}
	return loads
}

// size returns the size of a job in the virtual cluster. The tasks of an uber job run in one container.
func (f *fspySizes) size(j *sched.Job, loads []theory.StageLoad) theory.Pair {
	if !f.isUber(j) {
		return theory.TotalSize(loads)
	}
	time := 0.0
	for _, l := range loads {
		time += l.Tasks * l.Mean
	}
	return theory.Pair{}.Add(time, f.container(j))
}

// unfinished returns the stages of a job as loads does, with the tasks that are not done.
func (f *fspySizes) unfinished(p *sched.Plan, j *sched.Job) []theory.StageLoad {
	loads, i := f.loads(p, j), 0
	for _, st := range j.Stages {
		if st.Kind != sched.Master {
			loads[i].Tasks = float64(unfinished(st))
			i++
		}
	}
	return loads
}

// smallKind returns the place of a stage in Small: 0 for maps, 1 for reduces.
func smallKind(st *sched.Stage) int {
	if st.Kind == sched.Map {
		return 0
	}
	return 1
}
