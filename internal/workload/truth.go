package workload

import (
	"iter"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// A Source yields jobs in order of submission. An error is the last thing that it yields. The specs are the caller's to
// keep, not to change. A source made by this package may be walked through again, and then yields the same, except that
// standard input has only one pass.
type Source = iter.Seq2[*sched.JobSpec, error]

// The largest of everything that a source yields; what is larger is an error that says where it stands.
const (
	MaxTasks = 1 << 24                    // tasks of a stage whose times are computed from its totals
	MaxList  = 1 << 20                    // tasks of a job whose times stand one by one in the trace
	MaxTime  = 10 * 365 * 24 * 3600 * 1e9 // of a submission or a task: ten years, in nanoseconds
	MaxBytes = 1 << 60                    // of a job's input, shuffle or output
	MaxName  = 1 << 16                    // bytes of a name
)

// A Task is what really happens in one task.
type Task struct {
	Compute sched.Time // on a node of speed 1 with the input at hand; without Fetch
	// measured time of a reduce between the end of the last map and having all its input; a simulated shuffle takes its
	// place
	Fetch   sched.Time
	Input   int64 // bytes read from the file system
	Shuffle int64 // bytes fetched from the maps
	Output  int64 // bytes left behind: for the reduces where there are any, else in the file system
}

// Time returns how long the task takes on a node of speed 1 where neither locality nor the shuffle is simulated.
func (t Task) Time() sched.Time { return t.Compute + t.Fetch }

// Truth is what really happens in each task of a job (JobSpec.Payload). No policy may look at it.
type Truth struct {
	Seed uint64 // of the chance in task times that is the job's own (Sigma)
	// one for each of JobSpec.Stages, and then of Later; of a master the time that it takes to start
	Stages []StageTruth
	Uber   bool `json:",omitempty"` // all tasks run in the container of the job's master, one after the other
	// of a job with a master: from the end of its last task to the end of the master, as MapReduce's saves the history
	// of the job and waits for clients to read the job's state
	Closing sched.Time `json:",omitempty"`

	// of an open job: what it finds, round by round, when all its stages so far are done
	Later [][]sched.StageSpec `json:",omitempty"`

	// of the tasks of a probe of the job, its map's first, where that is known; else it takes its part of the stages
	ProbeTimes  []sched.Time     `json:",omitempty"`
	ProbeCounts []sched.Counters `json:",omitempty"` // likewise, what they counted
}

// A StageTruth describes the tasks of one stage, by a few totals or one by one.
type StageTruth struct {
	Tasks int32
	Base  sched.Time // each task's time apart from Rate
	// Start is the part of Base that the container of a task takes to start; at most Base. A task that runs in the
	// container of its job's master does not need it. It is known where times are computed from bytes
	// (Options.Startup), or where the trace says it; else zero.
	Start sched.Time `json:",omitempty"`
	Rate  float64    // bytes a second of Input + Shuffle that a task gets through; zero: they take no time
	Sigma float64    // task times are multiplied by exp(Sigma·N − Sigma²/2), N standard normal: their mean stays
	// Input of each task but the last, as a file system splits a file; zero: all tasks have equal parts
	Block int64

	Input, Shuffle, Output int64 // bytes of all tasks together

	// Speeds are of the classes of nodes on which the tasks run faster, or slower, than the class's own speed says: the
	// job's code uses the hardware there. By name of class; a class that is missing has 1.
	Speeds []ClassSpeed `json:",omitempty"`

	List []Task // where a trace knows every task; else nil. Base, Start, Rate, Sigma and Block do not apply then
}

// A ClassSpeed is the speed of a job's tasks on a class of nodes, relative to the class's own speed; positive.
type ClassSpeed struct {
	Class string
	Speed float64
}

// SpeedOn returns by how much faster the tasks run on a class of nodes than the class's own speed says.
func (s *StageTruth) SpeedOn(class string) float64 {
	for _, c := range s.Speeds {
		if c.Class == class {
			return c.Speed
		}
	}
	return 1
}

// listed returns the truth of a stage whose tasks are known one by one.
func listed(list []Task) StageTruth {
	s := StageTruth{Tasks: int32(len(list)), List: list}
	for _, t := range list {
		s.Input += t.Input
		s.Shuffle += t.Shuffle
		s.Output += t.Output
	}
	return s
}

// Task returns task (from 1) of a stage. It allocates nothing and takes constant time.
func (t *Truth) Task(stage, task int32) Task {
	s := &t.Stages[stage]
	if s.List != nil {
		return s.List[task-1]
	}
	return Task{
		Compute: t.Time(stage, task),
		Input:   s.input(task),
		Shuffle: part(s.Shuffle, s.Tasks, task),
		Output:  part(s.Output, s.Tasks, task),
	}
}

// Time returns Task(stage, task).Time(), faster.
func (t *Truth) Time(stage, task int32) sched.Time {
	s := &t.Stages[stage]
	if s.List != nil {
		return s.List[task-1].Time()
	}
	ns := float64(s.Base)
	if s.Rate > 0 {
		ns += float64(float64(s.input(task)+part(s.Shuffle, s.Tasks, task)) / s.Rate * 1e9)
	}
	if s.Sigma > 0 {
		ns *= NewChance(t.Seed).With(uint64(stage)).With(uint64(task)).Factor(s.Sigma)
	}
	return sched.Time(min(ns+0.5, MaxTime))
}

// Alike returns a number n such that Time is the same for tasks 1 to n of a stage, so that a simulator computes it once
// for all of them. Tasks after n may take as long, too. n is at least 1 if the stage has tasks. Constant time.
func (t *Truth) Alike(stage int32) int32 {
	s := &t.Stages[stage]
	switch {
	case s.List != nil || s.Sigma > 0 || s.Tasks == 0:
		return min(1, s.Tasks)
	case s.Rate <= 0:
		return s.Tasks
	}
	n := evenly(s.Shuffle, s.Tasks)
	if s.Block == 0 {
		return min(n, evenly(s.Input, s.Tasks))
	}
	return max(1, int32(min(int64(n), s.Input/s.Block)))
}

// evenly returns how many parts of a total divided into n, from the first, are as large as the first.
func evenly(total int64, n int32) int32 {
	if more := int32(total % int64(n)); more > 0 {
		return more
	}
	return n
}

// input returns the bytes that a task reads.
func (s *StageTruth) input(task int32) int64 {
	if s.Block == 0 {
		return part(s.Input, s.Tasks, task)
	}
	return max(0, min(s.Block, s.Input-s.Block*int64(task-1)))
}

// part returns part k (from 1) of a total divided into n parts that differ by at most one.
func part(total int64, n, k int32) int64 {
	if total == 0 {
		return 0
	}
	p := total / int64(n)
	if int64(k) <= total%int64(n) {
		p++
	}
	return p
}

// Times returns the mean and the longest Task.Time of a stage, both zero where it has no tasks. Where tasks differ by
// chance or by the trace it looks at each of them, else it takes constant time.
func (t *Truth) Times(stage int32) (mean, longest sched.Time) {
	s := &t.Stages[stage]
	if s.Tasks == 0 {
		return 0, 0
	}
	if s.List == nil && s.Sigma == 0 {
		ns := float64(s.Base)
		if s.Rate > 0 {
			ns += float64(float64(s.Input+s.Shuffle) / s.Rate * 1e9 / float64(s.Tasks))
		}
		return sched.Time(min(ns+0.5, MaxTime)), t.Time(stage, 1)
	}
	sum := 0.0
	for k := int32(1); k <= s.Tasks; k++ {
		d := t.Time(stage, k)
		sum += float64(d)
		longest = max(longest, d)
	}
	return sched.Time(math.Round(sum / float64(s.Tasks))), longest
}

// All returns the stages of job, whose Payload t is, with those that it finds later.
func (t *Truth) All(job *sched.JobSpec) []sched.StageSpec {
	if len(t.Later) == 0 {
		return job.Stages
	}
	return slices.Concat(append([][]sched.StageSpec{job.Stages}, t.Later...)...)
}

// Size returns the resource-seconds that the tasks of job, whose Payload t is, hold in all on nodes of speed 1. What
// its master holds is no part of it: how much that is depends on how long the job runs.
func (t *Truth) Size(job *sched.JobSpec) sched.Work {
	var w sched.Work
	stages := t.All(job)
	for i := range t.Stages {
		if stages[i].Kind == sched.Master {
			continue
		}
		mean, _ := t.Times(int32(i))
		s := mean.Seconds() * float64(t.Stages[i].Tasks)
		for k, a := range stages[i].PerTask {
			w[k] += s * float64(a)
		}
	}
	return w
}

// Bytes returns a job's bytes as SWIM counts them: read by the maps, sent to the reduces, written by the last stage.
func (t *Truth) Bytes() (input, shuffle, output int64) {
	for i := range t.Stages {
		input += t.Stages[i].Input
		shuffle += t.Stages[i].Shuffle
		output = t.Stages[i].Output
	}
	return input, shuffle, output
}

// A Program is what an engine that runs real jobs runs (JobSpec.Payload). The job's Stages are empty: the engine that
// splits the input makes them.
type Program struct {
	Job                       string // a built-in job; "": Mapper and Reducer are given
	Mapper, Reducer, Combiner string // commands by Hadoop Streaming's contract; Reducer and Combiner may be ""
	Input                     []string
	Output                    string
	Reduces                   int32             // -1: not said
	Conf                      map[string]string // job configuration, as -D key=value
}
