package sim

import (
	"math"

	"github.com/sojourn-sched/sojourn/sched"
	"github.com/sojourn-sched/sojourn/workload"
)

// recordBytes is the length of a record where a truth knows bytes only: that of the sort benchmark (TeraSort).
const recordBytes = 100

// A sample is what a probe of a job reads, and what comes of it.
type sample struct {
	part               float64 // of the job's data, f_p
	input, mid, output float64 // bytes of the whole job
	mapTime, redTime   float64 // ns of all its tasks together
}

// sampleOf returns what a probe of a job is: the part 1 ÷ max(maps, reduces) of its data (FSPY 2.3).
func sampleOf(spec *sched.JobSpec, t *workload.Truth) sample {
	var s sample
	tasks := [2]int32{}
	for i := range spec.Stages {
		mean, _ := t.Times(int32(i))
		all := float64(mean) * float64(t.Stages[i].Tasks)
		if spec.Stages[i].Kind == sched.Map {
			tasks[0] += t.Stages[i].Tasks
			s.mapTime += all
			s.input += float64(t.Stages[i].Input)
			s.mid += float64(t.Stages[i].Output)
		} else {
			tasks[1] += t.Stages[i].Tasks
			s.redTime += all
			s.output += float64(t.Stages[i].Output)
		}
	}
	s.part = 1 / float64(max(tasks[0], tasks[1], 1))
	return s
}

// probe submits a sample of a job as a job of its own: one map that reads the sample over the network and maps it; then, where the job has reduces, one reduce. The reduce asks for what the map held, so that both use one container in turn.
func (e *engine) probe(of *sched.Job) {
	truth := (*e.jobs.Of(of)).truth
	s := sampleOf(of.Spec, truth)
	c := &e.config.Costs
	read := 0.0
	if rate := c.Reading.Rates[sched.OffSwitch]; rate > 0 {
		read = s.input * s.part / rate * 1e9
	}
	spec := &sched.JobSpec{Name: "probe of " + of.Spec.Name, User: of.Spec.User, Queue: of.Spec.Queue, Type: of.Spec.Type, Submit: e.now, Probes: of.ID}
	t := &workload.Truth{}
	add := func(kind sched.StageKind, ns float64, after []sched.Dep) {
		task := workload.Task{Compute: c.Probing.Base + sched.Time(min(math.Round(ns), workload.MaxTime))}
		spec.Stages = append(spec.Stages, sched.StageSpec{Kind: kind, PerTask: of.Spec.Stages[0].PerTask, Tasks: 1, After: after, MaxAttempts: sched.DefaultMaxAttempts})
		t.Stages = append(t.Stages, workload.StageTruth{Tasks: 1, List: []workload.Task{task}})
	}
	add(sched.Map, s.mapTime*s.part+read, nil)
	if s.redTime > 0 {
		add(sched.Reduce, s.redTime*s.part, []sched.Dep{{Stage: 0, Part: 1}})
	}
	spec.Payload = t
	e.feed.newest++
	e.evs = append(e.evs, sched.Event{Kind: sched.JobSubmitted, Job: e.feed.newest, Body: spec})
}

// counted returns what a probe's attempt has counted; nil for other attempts.
func (e *engine) counted(r *attempt) *sched.Counters {
	of := r.core.Stage.Job.Spec.Probes
	if of == 0 || r.outcome != sched.OK {
		return nil
	}
	row := e.core.Job(of)
	if row == nil {
		return nil
	}
	s := sampleOf(row.Spec, (*e.jobs.Of(row)).truth)
	k := &sched.Counters{}
	if r.core.Stage.Kind == sched.Map {
		k.InputBytes, k.OutputBytes = int64(s.input*s.part), int64(s.mid*s.part)
		k.Phases[sched.PhaseMap] = sched.Time(s.mapTime * s.part)
		k.Phases[sched.PhaseRead] = max(0, r.whole-k.Phases[sched.PhaseMap])
	} else {
		k.InputBytes, k.OutputBytes = int64(s.mid*s.part), int64(s.output*s.part)
		k.Phases[sched.PhaseReduce] = r.whole
	}
	k.InputRecords, k.OutputRecords = k.InputBytes/recordBytes, k.OutputBytes/recordBytes
	return k
}
