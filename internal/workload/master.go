package workload

import (
	"fmt"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// A Master is the ApplicationMaster of a MapReduce job on a cluster of containers: a container that the job is granted
// first, and holds until its last task has ended. Its tasks are asked for once it has started.
type Master struct {
	Size  sched.Resources // of its container; Hadoop's yarn.app.mapreduce.am.resource.mb is 1536, and .cpu-vcores 1
	Start sched.Time      // from its launch until it asks for tasks
	// Uber has small jobs run all their tasks in the container of the master, one after the other (Hadoop:
	// mapreduce.job.ubertask.enable, which is false): those of at most 9 maps, one reduce and Block bytes of input.
	// Their tasks need no containers of their own, and so no time for the start of these (StageTruth.Start).
	Uber  bool
	Block int64
}

// DefaultMaster is that of Hadoop; its time to start is ours, a few times that of a task.
func DefaultMaster() Master {
	return Master{
		Size:  sched.Resources{sched.Memory: 1536, sched.VCores: 1},
		Start: 5 * time.Second,
		Block: Defaults().Block,
	}
}

// Hadoop's mapreduce.job.ubertask.maxmaps and .maxreduces.
const uberMaps, uberReduces = 9, 1

// AddTo yields the jobs of s, each with a master. Jobs that are no MapReduce and those of several rounds stay as they
// are. A master that a job has is given the size, and takes its own time. There are no masters on a cluster of slots:
// an error.
func (m Master) AddTo(s Source, c *Cluster) Source {
	return func(yield func(*sched.JobSpec, error) bool) {
		size := m.on(c)
		if err := m.Fit(c); err != nil {
			yield(nil, err)
			return
		}
		m.Size = size
		for spec, err := range s {
			if err == nil {
				spec = m.withMaster(spec)
			}
			if !yield(spec, err) {
				return
			}
		}
	}
}

// on returns what a master holds on cluster c: its size, without the kinds of resources that c does not count.
func (m *Master) on(c *Cluster) (size sched.Resources) {
	capacity := c.Capacity()
	for k, n := range m.Size {
		if capacity[k] > 0 {
			size[k] = n
		}
	}
	return size
}

// Fit reports why there are no such masters on a cluster.
func (m Master) Fit(c *Cluster) error {
	capacity, size := c.Capacity(), m.on(c)
	switch {
	case capacity[sched.Memory] == 0 && capacity[sched.VCores] == 0:
		return fmt.Errorf("the cluster has slots, and a master is a container: give it memory, or vcores")
	case m.Start < 0 || m.Start > MaxTime:
		return fmt.Errorf("a master that takes %v to start: must be from 0 to ten years", m.Start)
	case m.Size[sched.Memory] < 0 || m.Size[sched.VCores] < 0 || size == (sched.Resources{}):
		return fmt.Errorf("a master of %d MiB and %d vcores: must be of some of what the cluster has",
			m.Size[sched.Memory], m.Size[sched.VCores])
	case c.room(size) == 0:
		return fmt.Errorf("a master of %d MiB and %d vcores: no node of the cluster has room for it",
			m.Size[sched.Memory], m.Size[sched.VCores])
	}
	return nil
}

// withMaster returns a job with a master, after its other stages, so that these have the same luck as without one.
func (m *Master) withMaster(spec *sched.JobSpec) *sched.JobSpec {
	t, ok := spec.Payload.(*Truth)
	if !ok || spec.Open || spec.Type != mapReduce {
		return spec
	}
	job, truth := *spec, *t
	if at := slices.IndexFunc(spec.Stages, func(st sched.StageSpec) bool { return st.Kind == sched.Master }); at >= 0 {
		job.Stages = slices.Clone(spec.Stages)
		job.Stages[at].PerTask = m.Size
		return &job
	}
	job.Stages = append(slices.Clone(spec.Stages), sched.StageSpec{Kind: sched.Master, PerTask: m.Size, Tasks: 1,
		MaxAttempts: sched.DefaultMaxAttempts})
	for i := range spec.Stages {
		job.Stages[i].Asked = true
	}
	truth.Stages = append(slices.Clone(t.Stages), StageTruth{Tasks: 1, Base: m.Start})
	if truth.Uber = m.Uber && m.isUber(spec); truth.Uber {
		for i := range t.Stages {
			st := &truth.Stages[i]
			st.Base, st.Start = st.Base-st.Start, 0
		}
	}
	job.Payload = &truth
	return &job
}

// isUber is Hadoop's rule for jobs that are small enough (JobImpl.makeUberDecision).
func (m *Master) isUber(spec *sched.JobSpec) bool {
	maps, reduces, input := int32(0), int32(0), int64(0)
	for i := range spec.Stages {
		switch st := &spec.Stages[i]; st.Kind {
		case sched.Map:
			maps, input = maps+st.Tasks, input+st.InputBytes
		default:
			reduces += st.Tasks
		}
	}
	return maps <= uberMaps && reduces <= uberReduces && input <= m.Block
}
