package workload

import (
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// A Past is a job of a recorded run as a workload: when it came, and how long its tasks took.
type Past struct {
	ID sched.JobID
	// Sojourn is the time from its submission to its end; -1 where the record ends before, or the job did not succeed.
	Sojourn sched.Time
	Ended   bool // its end is in the record, with success or without
	// Spec is the job's, with its arrival as Submit. Where the engine did not know the tasks of a stage, the stage has
	// those that succeeded.
	Spec  *sched.JobSpec
	Times [][]sched.Time // by stage, then by task − 1
	// Rounds are by stage: 0 for stages that the job came with, and one more each time that the job found more stages
	// when all before were done.
	Rounds []int32
	// MasterAsks says that a stage is the master that asked for the tasks of the others. The time of its only task is
	// from its launch until it asked.
	MasterAsks bool
	// Closing is how long the master of such a job held its container after the last task had ended.
	Closing sched.Time
	// Uber says that the master of such a job did the tasks itself, one after the other.
	Uber bool

	ProbeTimes  []sched.Time     // of the tasks of the probe that succeeded, its map's first; nil: none succeeded
	ProbeCounts []sched.Counters // what those tasks counted
}

// On returns the past job as a job to simulate on cluster c. It has the recorded times of its tasks and of its probe,
// and asks for slots or containers, as c has them. Rounds that the job found while it ran are found again in the
// simulation. ids are the nodes of c that stand for those of the run, by their IDs there − 1: the input of tasks is
// where it was. Nil: c is another cluster, and the input is everywhere.
func (p Past) On(c *Cluster, ids []sched.NodeID) *sched.JobSpec {
	if !p.MasterAsks {
		p = p.withoutMaster()
	}
	spec := *p.Spec
	spec.Stages = slices.Clone(spec.Stages)
	o, room := c.Options(), c.Capacity()
	truth := &Truth{ProbeTimes: p.ProbeTimes, ProbeCounts: p.ProbeCounts, Closing: p.Closing,
		Uber: p.Uber}
	for i := range spec.Stages {
		st := &spec.Stages[i]
		st.Asked = p.MasterAsks && st.Kind != sched.Master
		list := make([]Task, len(p.Times[i]))
		for k, t := range p.Times[i] {
			list[k].Compute = t
		}
		truth.Stages = append(truth.Stages, StageTruth{Tasks: int32(len(list)), List: list})
		st.Tasks = int32(len(list))
		if st.Places = placesOn(st, ids); st.Places == nil {
			st.Copies = 0
		}
		if !st.PerTask.FitsIn(room) {
			st.PerTask = o.MapTask
			if st.Kind == sched.Reduce {
				st.PerTask = o.ReduceTask
			}
		}
	}
	spec.Stages, truth.Later = p.rounds(spec.Stages)
	spec.Payload, spec.Open = truth, len(truth.Later) > 0
	return &spec
}

// placesOn returns where the input of a stage's tasks is on the nodes with ids; nil: it is not known.
func placesOn(st *sched.StageSpec, ids []sched.NodeID) []sched.NodeID {
	if len(ids) == 0 || st.Copies == 0 || len(st.Places) != int(st.Copies)*int(st.Tasks) {
		return nil
	}
	list := make([]sched.NodeID, len(st.Places))
	for i, n := range st.Places {
		if n > 0 && int(n) <= len(ids) { // else it names no node of the run
			list[i] = ids[n-1]
		}
	}
	return list
}

// withoutMaster returns the job without its master, if the job has stages whose tasks a master asks for: that one never
// asked, so that nothing is known of it. Master.AddTo may add one again.
func (p Past) withoutMaster() Past {
	if !slices.ContainsFunc(p.Spec.Stages, func(st sched.StageSpec) bool { return st.Asked }) {
		return p
	}
	spec, all := *p.Spec, p
	spec.Stages, p.Times, p.Rounds = nil, nil, nil
	number := make([]int32, len(all.Spec.Stages)) // of each stage, among those that stay
	for i, st := range all.Spec.Stages {
		if number[i] = int32(len(spec.Stages)); st.Kind == sched.Master {
			continue
		}
		st.After = slices.Clone(st.After)
		for k := range st.After {
			st.After[k].Stage = number[st.After[k].Stage]
		}
		spec.Stages = append(spec.Stages, st)
		p.Times, p.Rounds = append(p.Times, all.Times[i]), append(p.Rounds, all.Rounds[i])
	}
	p.Spec = &spec
	return p
}

// rounds parts the stages of a job in those that it came with, and those that it found later.
func (p *Past) rounds(stages []sched.StageSpec) (first []sched.StageSpec, later [][]sched.StageSpec) {
	for i, st := range stages {
		if p.Rounds[i] == 0 {
			first = append(first, st)
			continue
		}
		if len(later) == 0 || p.Rounds[i] != p.Rounds[i-1] {
			later = append(later, nil)
		}
		last := &later[len(later)-1]
		*last = append(*last, st)
	}
	return first, later
}
