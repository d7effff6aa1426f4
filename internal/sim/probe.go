package sim

import (
	"math"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// recordBytes is the length of a record, for probes of jobs whose records are not known: that of TeraSort.
const recordBytes = 100

// mostSplits is the number of splits of a job's input from which a probe reads at most (FSPY 2.3).
const mostSplits = 10

// probes submits the probes of jobs, and knows what their attempts count.
type probes struct {
	*agenda
	*attempts
	costs *Costs
}

// A sample says how much a probe of a job reads, and what comes of it: bytes, and nanoseconds of compute without the
// probe's own costs.
type sample struct {
	input, mid, output int64 // mid: what the map leaves for the reduce
	mapTime, redTime   float64
}

// sampleOf returns the sample that a probe of a job reads: the beginnings of splits chosen at random, and the same part
// of the reduces (FSPY, Algorithm 1). O(maps).
func (p *probes) sampleOf(of *sched.Job) (s sample) {
	t := p.of(of).truth
	type split struct {
		workload.Task
		time sched.Time
	}
	var splits []split
	var lengths []int64
	reduces, redTime, output, input := 0, 0.0, 0.0, 0.0
	for i := range of.Spec.Stages {
		k, tasks := int32(i), t.Stages[i].Tasks
		if of.Spec.Stages[i].Kind == sched.Master {
			continue
		}
		if of.Spec.Stages[i].Kind != sched.Map {
			mean, _ := t.Times(k)
			reduces += int(tasks)
			redTime += float64(mean) * float64(tasks)
			output += float64(t.Stages[i].Output)
			continue
		}
		for task := int32(1); task <= tasks; task++ {
			m := t.Task(k, task)
			splits = append(splits, split{m, t.Time(k, task)})
			lengths = append(lengths, m.Input)
			input += float64(m.Input)
		}
	}
	if len(splits) == 0 {
		s.redTime, s.output = redTime/float64(max(reduces, 1)), int64(output/float64(max(reduces, 1)))
		return s
	}
	plan := theory.PlanSample(len(splits), reduces, mostSplits)
	chance, draws := p.chance.With(forProbe).With(uint64(of.ID)), uint64(0)
	draw := func(n int) int {
		draws++
		return chance.With(draws).Below(n)
	}
	for _, piece := range theory.SemiRandom(lengths, plan, draw) {
		m := &splits[piece.Split]
		part := plan.PartOfSplit
		if m.Input > 0 {
			part = float64(piece.Bytes) / float64(m.Input)
		}
		s.input += piece.Bytes
		s.mid += int64(float64(m.Output) * part)
		s.mapTime += float64(m.time) * part
	}
	part := plan.Part
	if input > 0 {
		part = float64(s.input) / input
	}
	s.redTime, s.output = redTime*part, int64(output*part)
	return s
}

// probeTimes returns how long the tasks of a probe take: their recorded times if the truth has them, else the probe's
// own cost and its part of the job's time.
func (p *probes) probeTimes(of *sched.Job) []sched.Time {
	if known := p.of(of).truth.ProbeTimes; known != nil {
		return known
	}
	s, c := p.sampleOf(of), p.costs
	read := 0.0
	if rate := c.Reading.Rates[sched.OffSwitch]; rate > 0 {
		read = float64(s.input) / rate * 1e9
	}
	cost := func(ns float64) sched.Time {
		return c.Probing.Base + sched.Time(min(math.Round(ns), workload.MaxTime))
	}
	times := []sched.Time{cost(s.mapTime + read)}
	if s.redTime > 0 {
		times = append(times, cost(s.redTime))
	}
	return times
}

// submit submits a probe of a job as a job of its own: one map that reads the sample over the network and maps it;
// then, if the job has reduces, one reduce. The reduce asks for as much as the map, so that one container serves both.
func (p *probes) submit(of *sched.Job) {
	spec := &sched.JobSpec{
		Name:   "probe of " + of.Spec.Name,
		User:   of.Spec.User,
		Queue:  of.Spec.Queue,
		Type:   of.Spec.Type,
		Submit: p.now,
		Probes: of.ID,
	}
	each := of.Spec.Stages[0].PerTask
	for i := range of.Spec.Stages {
		if st := &of.Spec.Stages[i]; st.Kind != sched.Master {
			each = st.PerTask
			break
		}
	}
	t := &workload.Truth{}
	add := func(kind sched.StageKind, took sched.Time, after []sched.Dep) {
		task := workload.Task{Compute: took}
		spec.Stages = append(
			spec.Stages,
			sched.StageSpec{
				Kind:        kind,
				PerTask:     each,
				Tasks:       1,
				After:       after,
				MaxAttempts: sched.DefaultMaxAttempts,
			},
		)
		t.Stages = append(t.Stages, workload.StageTruth{Tasks: 1, List: []workload.Task{task}})
	}
	times := p.probeTimes(of)
	add(sched.Map, times[0], nil)
	if len(times) > 1 {
		add(sched.Reduce, times[1], []sched.Dep{{Stage: 0, Part: 1}})
	}
	spec.Payload = t
	id := p.nextJob()
	p.of(of).probedBy = id
	p.evs = append(p.evs, sched.Event{Kind: sched.JobSubmitted, Job: id, Body: spec})
}

// counted returns the counters of an attempt of a probe that succeeded; nil for other attempts.
func (p *probes) counted(r *attempt) *sched.Counters {
	of := r.core.Stage.Job.Spec.Probes
	if of == 0 || r.outcome != sched.OK {
		return nil
	}
	row := p.view.Job(of)
	if row == nil {
		return nil
	}
	if known := p.of(row).truth.ProbeCounts; known != nil {
		return &known[r.core.Stage.ID.Index]
	}
	s := p.sampleOf(row)
	k := &sched.Counters{}
	if r.core.Stage.Kind == sched.Map {
		k.InputBytes, k.OutputBytes = s.input, s.mid
		k.Phases[sched.PhaseMap] = sched.Time(s.mapTime)
		k.Phases[sched.PhaseRead] = max(0, r.whole-k.Phases[sched.PhaseMap])
	} else {
		k.InputBytes, k.OutputBytes = s.mid, s.output
		k.Phases[sched.PhaseReduce] = r.whole
	}
	k.InputRecords, k.OutputRecords = k.InputBytes/recordBytes, k.OutputBytes/recordBytes
	return k
}

// end kills the probe of a job that is over, if it runs still.
func (p *probes) end(of *sched.Job) {
	if probe := p.view.Job(p.of(of).probedBy); probe != nil && !probe.Ended {
		p.evs = append(p.evs, sched.Event{Kind: sched.JobEnded, Outcome: sched.Killed, Job: probe.ID})
	}
}
