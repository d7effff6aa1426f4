package workload

import (
	"fmt"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// HadoopSlowStart is Hadoop's mapreduce.job.reduce.slowstart.completedmaps. It is for engines with a shuffle of their
// own; where the shuffle is not simulated a reduce has nothing to do before the last map, and Options.SlowStart is 1.
const HadoopSlowStart = 0.05

// Options say how a trace's jobs become tasks. Defaults has the defaults.
type Options struct {
	Block int64 // bytes of input a map; default 128 MiB, HDFS's dfs.blocksize
	// bytes of shuffle a reduce; default 1 GiB, Hive's former hive.exec.reducers.bytes.per.reducer
	ReduceBytes int64
	// of a job known by its bytes; zero: no limit; -1: the cluster has no room for any, leave them out
	MaxReduces int32
	Startup    sched.Time      // of each task; default 1 s
	MapRate    float64         // bytes of input a second, on a node of speed 1; default 50 MB/s
	ReduceRate float64         // bytes of shuffle a second (merging, reducing, writing); default 25 MB/s
	MapTask    sched.Resources // what a map holds; default one map slot
	ReduceTask sched.Resources // what a reduce holds; default one reduce slot
	SlowStart  float64         // part of the maps that are done before a job's reduces may start, in [0, 1]; default 1
	SizeScale  float64         // sizes are multiplied by it: bytes, and task times that the trace gives; default 1
	// of the cluster, onto which a trace's hosts are laid; default zero: tasks have no places
	Nodes int32
	Seed  uint64 // of chance in task times; default 1
	// names of the cluster's classes of nodes; the Report notes other classes that a job names. Default none: any may
	// be named
	Classes []string
}

// Defaults returns the default options.
func Defaults() Options {
	return Options{
		Block: 128 << 20, ReduceBytes: 1 << 30, Startup: time.Second, MapRate: 50e6, ReduceRate: 25e6,
		MapTask: sched.Resources{sched.MapSlots: 1}, ReduceTask: sched.Resources{sched.ReduceSlots: 1},
		SlowStart: 1, SizeScale: 1, Seed: 1,
	}
}

// Validate reports what is wrong with options: the field, and what it should be.
func (o *Options) Validate() error {
	switch {
	case o.Block <= 0:
		return fmt.Errorf("block %d: must be positive", o.Block)
	case o.ReduceBytes <= 0:
		return fmt.Errorf("bytes a reduce %d: must be positive", o.ReduceBytes)
	case o.MaxReduces < -1:
		return fmt.Errorf("most reduces %d: must be positive, zero for no limit, or -1 for none", o.MaxReduces)
	case o.Startup < 0 || o.Startup > MaxTime:
		return fmt.Errorf("start-up time %v: must be from 0 to ten years", o.Startup)
	case !(o.MapRate > 0) || !(o.ReduceRate > 0):
		return fmt.Errorf("rates %v and %v: must be positive", o.MapRate, o.ReduceRate)
	case !(o.SlowStart >= 0 && o.SlowStart <= 1):
		return fmt.Errorf("slow start %v: must be from 0 to 1", o.SlowStart)
	case !(o.SizeScale > 0) || math.IsInf(o.SizeScale, 0):
		return fmt.Errorf("size scale %v: must be positive", o.SizeScale)
	case o.Nodes < 0:
		return fmt.Errorf("nodes %d: must not be negative", o.Nodes)
	case o.MapTask == sched.Resources{} || o.ReduceTask == sched.Resources{}:
		return fmt.Errorf("map task and reduce task: must ask for some resource")
	}
	return nil
}

// mapReduce is the JobSpec.Type of jobs whose tasks are maps and reduces.
const mapReduce = "MAPREDUCE"

// plainJob is a job of a map and perhaps a reduce stage, and everything that hangs on it, in one allocation.
type plainJob struct {
	spec   sched.JobSpec
	stages [2]sched.StageSpec
	truth  Truth
	truths [2]StageTruth
	after  [1]sched.Dep
}

// join makes a job of its stages: reduces with Tasks 0 are left out. The spec's Stages and Payload are set.
func (o *Options) join(spec sched.JobSpec, ordinal int64, maps, reduces StageTruth) *sched.JobSpec {
	j := &plainJob{spec: spec, truths: [2]StageTruth{maps, reduces}, after: [1]sched.Dep{{Stage: 0, Part: o.SlowStart}}}
	n := 1
	if reduces.Tasks > 0 {
		n = 2
	}
	if j.spec.Type == "" {
		j.spec.Type = mapReduce
	}
	first := sched.Map
	if j.spec.Type != mapReduce {
		first = sched.Other
	}
	for i := range n {
		t := &j.truths[i]
		j.stages[i] = sched.StageSpec{
			Kind:        first,
			PerTask:     o.MapTask,
			Tasks:       t.Tasks,
			MaxAttempts: sched.DefaultMaxAttempts,
			InputBytes:  t.Input,
		}
	}
	if n == 2 {
		r := &j.stages[1]
		r.Kind, r.PerTask, r.After, r.InputBytes = sched.Reduce, o.ReduceTask, j.after[:], reduces.Shuffle
	}
	j.truth = Truth{Seed: uint64(NewChance(o.Seed).With(uint64(ordinal))), Stages: j.truths[:n]}
	j.spec.Stages, j.spec.Payload = j.stages[:n], &j.truth
	return &j.spec
}

// traffic is the bytes of a job as SWIM counts them: read by maps, sent to reduces, written.
type traffic struct{ input, shuffle, output int64 }

// fromBytes makes a job of its bytes: ceil(input ÷ Block) maps, at least one; ceil(shuffle ÷ ReduceBytes) reduces where
// there is a shuffle, at most MaxReduces. A task's time is Startup + its bytes ÷ rate. The ordinal is the job's in its
// trace, from 1.
func (o *Options) fromBytes(spec sched.JobSpec, ordinal int64, b traffic) (*sched.JobSpec, error) {
	scaled := [...]int64{b.input, b.shuffle, b.output}
	for i, n := range scaled {
		var err error
		if scaled[i], err = o.scaleBytes(n); err != nil {
			return nil, fmt.Errorf("%s: %w", [...]string{"input", "shuffle", "output"}[i], err)
		}
	}
	b = traffic{scaled[0], scaled[1], scaled[2]}
	n := max(1, ceilDiv(b.input, o.Block))
	if n > MaxTasks {
		return nil, fmt.Errorf("input: %d bytes make %d maps, must be at most %d", b.input, n, MaxTasks)
	}
	maps := StageTruth{
		Tasks:  int32(n),
		Base:   o.Startup,
		Start:  o.Startup,
		Rate:   o.MapRate,
		Block:  o.Block,
		Input:  b.input,
		Output: b.output,
	}
	var reduces StageTruth
	if b.shuffle > 0 && o.MaxReduces >= 0 {
		r := ceilDiv(b.shuffle, o.ReduceBytes)
		if o.MaxReduces > 0 {
			r = min(r, int64(o.MaxReduces))
		}
		if r > MaxTasks {
			return nil, fmt.Errorf("shuffle: %d bytes make %d reduces, must be at most %d", b.shuffle, r, MaxTasks)
		}
		maps.Output = b.shuffle
		reduces = StageTruth{
			Tasks:   int32(r),
			Base:    o.Startup,
			Start:   o.Startup,
			Rate:    o.ReduceRate,
			Shuffle: b.shuffle,
			Output:  b.output,
		}
	}
	for _, s := range [...]*StageTruth{&maps, &reduces} {
		if err := s.check(); err != nil {
			return nil, err
		}
	}
	return o.join(spec, ordinal, maps, reduces), nil
}

// check reports a stage whose tasks take longer than MaxTime, chance apart.
func (s *StageTruth) check() error {
	if s.Tasks == 0 || s.Rate == 0 {
		return nil
	}
	most := s.Block
	if most == 0 {
		most = ceilDiv(s.Input, int64(s.Tasks))
	}
	most += ceilDiv(s.Shuffle, int64(s.Tasks))
	if float64(s.Base)+float64(most)/s.Rate*1e9 > MaxTime {
		return fmt.Errorf("a task of %d bytes at %g bytes/s takes more than ten years", most, s.Rate)
	}
	return nil
}

func ceilDiv(a, b int64) int64 {
	n := a / b
	if a%b > 0 {
		n++
	}
	return n
}

// scaleTask multiplies the amounts of a task by SizeScale. An error says what is wrong with one of them.
func (o *Options) scaleTask(t *Task) (err error) {
	for _, b := range [...]*int64{&t.Input, &t.Shuffle, &t.Output} {
		if *b, err = o.scaleBytes(*b); err != nil {
			return err
		}
	}
	return nil
}

// scaleBytes returns n·SizeScale, or what is wrong with it.
func (o *Options) scaleBytes(n int64) (int64, error) {
	if n < 0 {
		return 0, fmt.Errorf("%d bytes: must not be negative", n)
	}
	f := math.Round(float64(n) * o.SizeScale)
	if f > MaxBytes {
		return 0, fmt.Errorf("%g bytes: must be at most 2^60", f)
	}
	if o.SizeScale == 1 {
		return n, nil
	}
	return int64(f), nil
}

// scaleTime returns the task time d·SizeScale, or what is wrong with it.
func (o *Options) scaleTime(d sched.Time) (sched.Time, error) {
	if d < 0 {
		return 0, fmt.Errorf("time %v: must not be negative", d)
	}
	f := math.Round(float64(d) * o.SizeScale)
	if f > MaxTime {
		return 0, fmt.Errorf("time of %g s: must be at most ten years", f/1e9)
	}
	if o.SizeScale == 1 {
		return d, nil
	}
	return sched.Time(f), nil
}
