package predict

import (
	"errors"
	"math"
	"slices"
)

// A Machine runs nodes beside each other, whose tasks share its processors.
type Machine struct {
	Cores      int
	NodeRoom   float64
	TaskRoom   float64 // of a node's, that a task's container holds
	MasterRoom float64 // that a master's container holds
}

// A Run is what was measured of some equal jobs that were submitted at once, whose reduces were asked for when all maps
// had ended. Times are in seconds.
type Run struct {
	Nodes int
	Jobs  []Measured
}

// Measured are the times of one job, from its submission.
type Measured struct {
	Launched, End float64 // when its master had made its tasks; when it had ended
	Tasks         [2][]Observed
}

// The tasks of a Measured job are of two kinds; a reduce includes its shuffle.
const (
	ofMaps    = 0
	ofReduces = 1
)

// Observed is one task: its container from the start on, and the processor time of its process.
type Observed struct{ Start, End, CPU float64 }

// mean returns the mean time from submission to end.
func (r *Run) mean() (t float64) {
	for i := range r.Jobs {
		t += r.Jobs[i].End / float64(len(r.Jobs))
	}
	return t
}

// Learned is what runs of one kind of job have taught of its demands on a machine, in seconds.
type Learned struct {
	Machine
	Interference float64 // of a Cluster
	Threads      float64 // of a master that starts
	Start        Cost    // of a master
	Ask          float64 // of a Job
	Grant        float64 // for which a task holds its container before it starts
	Commit       float64 // of a Job
	Task         [2]TaskDemand
}

// TaskDemand is what one task of a kind needs.
type TaskDemand struct{ CPU, Wait, CV float64 }

// Parts of what is learned that can be added (With) or left out (Without), to say what each is worth.
const (
	WithGrants       = 1 << iota // the time until containers are asked for and granted is a wait of its own
	WithoutMasters               // masters take a fixed time, and no processor
	WithoutService               // a task's processor time is what counters say, the rest of its time a wait
	WithoutFit                   // no interference, one thread of a master, demands as they were observed
	WithoutVariation             // tasks do not vary
)

// fewestRuns to tell demands and interference apart: with fewer, tasks do not interfere, and masters have one thread.
const fewestRuns = 3

// Learn finds what the runs have in common. Argument parts is the constants above, joined by or; 0 is what users get.
//
// Counters leave out most of what the start of a process and the system need of the processors. So a task's demand is
// the service that it got: at each instant of its time its part of the processors, which the tasks and masters that ran
// beside it tell. From several runs, interference and the threads of masters are those with which the runs' own times
// are predicted best, and a common factor on all demands takes off what remains on average. That factor has the waits
// for grants in it, too: a wait of its own for each task, as WithGrants learns it, predicts worse, because what a
// history shows as such a wait is partly contention.
//
// Interference and threads belong to the machine and not to the job. So runs of other kinds of jobs on the machine, a
// list for each kind, help to find them; each kind has demands of its own.
func Learn(runs []Run, m Machine, parts int, others ...[]Run) (*Learned, error) {
	if len(runs) == 0 || m.Cores < 1 {
		return nil, errors.New("no run to learn from, or no core")
	}
	least, best := math.Inf(1), (*Learned)(nil)
	interferences, threads := []float64{0, 0.02, 0.04, 0.06, 0.08, 0.1}, []float64{1, 1.5, 2}
	all := len(runs)
	for _, more := range others {
		all += len(more)
	}
	if all < fewestRuns || parts&WithoutFit != 0 {
		interferences, threads, others = interferences[:1], threads[:1], nil
	}
	for _, n := range threads {
		for _, x := range interferences {
			l, e := fitted(runs, Learned{Machine: m, Interference: x, Threads: n}, parts)
			for _, more := range others {
				_, off := fitted(more, Learned{Machine: m, Interference: x, Threads: n}, parts)
				e += off
			}
			if e < least {
				least, best = e, l
			}
		}
	}
	return best, nil
}

// fitted learns the demands of one kind of job on a machine of known interference and threads, and returns the sum of
// the squared logarithmic errors that remain of its runs.
func fitted(runs []Run, on Learned, parts int) (l *Learned, e float64) {
	if len(runs) == 0 {
		return nil, 0
	}
	l = &on
	if l.observe(runs, parts); parts&WithoutFit == 0 {
		e = l.scale(runs)
	}
	return l, e
}

// observe takes demands from the runs.
func (l *Learned) observe(runs []Run, parts int) {
	jobs := math.MaxInt
	for i := range runs {
		jobs = min(jobs, len(runs[i].Jobs))
	}
	var asks, grants, commits, launches, starts []float64
	var services, spreads [2][]float64 // by kind of tasks
	for i := range runs {
		r := &runs[i]
		s := l.served(r)
		for k := range s.tasks {
			if len(s.tasks[k]) == 0 {
				continue
			}
			if parts&WithoutService == 0 {
				services[k] = append(services[k], mean(s.tasks[k]))
			}
			if v, known := variation(s.tasks[k]); known {
				spreads[k] = append(spreads[k], v)
			}
		}
		starts = append(starts, mean(s.masters))
		for k := range r.Jobs {
			j := &r.Jobs[k]
			maps, reduces := j.Tasks[ofMaps], j.Tasks[ofReduces]
			launches = append(launches, j.Launched)
			commits = append(commits, j.End-max(ends(maps), ends(reduces)))
			if len(r.Jobs) > jobs {
				continue // what a job waits for may be another one
			}
			if len(maps) > 0 {
				asks = append(asks, first(maps)-j.Launched)
				grants = append(grants, handovers(maps)...)
			}
			if len(maps) > 0 && len(reduces) > 0 {
				asks = append(asks, max(0, first(reduces)-ends(maps)))
			}
		}
	}
	l.Start, l.Commit = Cost{CPU: mean(starts)}, max(0, mean(commits))
	if parts&WithoutMasters != 0 {
		l.Start = Cost{Wait: mean(launches)}
	}
	if parts&WithGrants != 0 {
		whole := max(0, mean(asks))
		l.Grant = whole / 2
		if len(grants) > 0 {
			l.Grant = min(whole, mean(grants))
		}
		l.Ask = whole - l.Grant
	}
	for k := range l.Task {
		l.Task[k] = TaskDemand{CPU: mean(services[k])}
		if parts&WithoutService != 0 {
			l.Task[k] = counted(runs, k)
		}
		if parts&WithoutVariation == 0 {
			l.Task[k].CV = mean(spreads[k])
		}
	}
}

// handovers are the times from the end of a task to the start of the next one in its container's place.
func handovers(tasks []Observed) (list []float64) {
	var begun, ended []float64
	for _, t := range tasks {
		begun, ended = append(begun, t.Start), append(ended, t.End)
	}
	slices.Sort(begun)
	slices.Sort(ended)
	later, _ := slices.BinarySearch(begun, ended[0])
	for i, at := range begun[later:] {
		list = append(list, max(0, at-ended[i]))
	}
	return list
}

// counted are the means of counted processor times and of the rest.
func counted(runs []Run, kind int) TaskDemand {
	var all means
	for i := range runs {
		for k := range runs[i].Jobs {
			for _, t := range runs[i].Jobs[k].Tasks[kind] {
				all.add(t.End-t.Start, t.CPU)
			}
		}
	}
	s := all.service()
	return TaskDemand{CPU: float64(s.CPU), Wait: float64(s.Wait)}
}

// first returns when the first of some tasks started; +Inf: there are none.
func first(tasks []Observed) float64 {
	at := math.Inf(1)
	for _, t := range tasks {
		at = min(at, t.Start)
	}
	return at
}

// ends returns when the last of some tasks ended; 0: there are none.
func ends(tasks []Observed) (last float64) {
	for _, t := range tasks {
		last = max(last, t.End)
	}
	return last
}

func mean(list []float64) float64 { return sum(list) / float64(max(1, len(list))) }

// variation returns the coefficient of variation of a sample of at least two.
func variation(list []float64) (v float64, known bool) {
	m := mean(list)
	if len(list) < 2 || m <= 0 {
		return 0, false
	}
	square := 0.0
	for _, x := range list {
		square += (x - m) * (x - m) / float64(len(list)-1)
	}
	return math.Sqrt(square) / m, true
}

// A service is what the processes of a run got of the processors, in seconds of one of them.
type service struct {
	tasks   [2][]float64
	masters []float64
}

// A process is a task or a master, from one instant to another.
type process struct {
	from, to, threads, got float64
	kind                   int // ofMaps, ofReduces or ofMasters
}

const ofMasters = 2

// serve computes what each process of a machine got: at an instant, all that run get equal parts of the processors.
func serve(list []process, cores, interference float64) {
	var instants []float64
	for _, p := range list {
		instants = append(instants, p.from, p.to)
	}
	slices.Sort(instants)
	for i, to := range instants {
		if i == 0 || to == instants[i-1] {
			continue
		}
		from, load := instants[i-1], 0.0
		for k := range list {
			if p := &list[k]; p.from <= from && p.to >= to {
				load += p.threads
			}
		}
		each := (to - from) * min(1, cores/max(load, 1)) / (1 + interference*max(0, load-cores))
		for k := range list {
			if p := &list[k]; p.from <= from && p.to >= to {
				p.got += p.threads * each
			}
		}
	}
}

// served computes what the processes of a run got.
func (l *Learned) served(r *Run) (s service) {
	var list []process
	for i := range r.Jobs {
		j := &r.Jobs[i]
		list = append(list, process{0, j.Launched, l.Threads, 0, ofMasters})
		for kind := range j.Tasks {
			for _, t := range j.Tasks[kind] {
				list = append(list, process{t.Start, t.End, 1, 0, kind})
			}
		}
	}
	serve(list, float64(l.Cores), l.Interference)
	for _, p := range list {
		if p.kind == ofMasters {
			s.masters = append(s.masters, p.got)
		} else {
			s.tasks[p.kind] = append(s.tasks[p.kind], p.got)
		}
	}
	return s
}

const (
	scaleSteps    = 2
	learningDraws = 2 // timelines are enough where an error is one of many
)

// scale multiplies the demands by a factor with which the runs' times are right on average, and returns the sum of the
// squared logarithmic errors that remain.
func (l *Learned) scale(runs []Run) (e float64) {
	set := Usual()
	set.Draws = learningDraws
	for step := 0; ; step++ {
		e = 0
		bias := 0.0
		for i := range runs {
			p, err := l.PredictBy(runs[i].shape(), set)
			if err != nil {
				return math.Inf(1)
			}
			off := math.Log(p.Mean / runs[i].mean())
			bias += off / float64(len(runs))
			e += off * off
		}
		if step == scaleSteps {
			return e
		}
		factor := math.Exp(-bias)
		l.Start = l.Start.times(factor)
		for k := range l.Task {
			l.Task[k].CPU *= factor
			l.Task[k].Wait *= factor
		}
	}
}

// A Shape says which jobs are predicted: equal ones that are submitted at once.
type Shape struct{ Maps, Reduces, Nodes, Jobs int }

// shape returns which jobs the run had. They are equal, so that the first one stands for all.
func (r *Run) shape() Shape {
	return Shape{len(r.Jobs[0].Tasks[ofMaps]), len(r.Jobs[0].Tasks[ofReduces]), r.Nodes, len(r.Jobs)}
}

// PredictBy returns the times of jobs, from submission to end, by a form of the model. Reduces are asked for when all
// maps have ended.
func (l *Learned) PredictBy(s Shape, set Settings) (*Prediction, error) {
	n := Node{Capacity: []float64{l.NodeRoom}, CPUs: l.Cores, Disks: 1}
	c := Cluster{Nodes: slices.Repeat([]Node{n}, s.Nodes), OneMachine: true, Interference: l.Interference}
	size := []float64{l.TaskRoom}
	j := Job{Maps: s.Maps, Reduces: s.Reduces, MapSize: size, ReduceSize: size, CV: l.Task[ofMaps].CV, Ask: l.Ask,
		Commit: l.Commit, Master: Master{[]float64{l.MasterRoom}, l.Start, l.Threads}}
	j.Demands[MapTask] = Cost{CPU: l.Task[ofMaps].CPU, Wait: l.Task[ofMaps].Wait + l.Grant}
	j.Demands[MergeTask] = Cost{CPU: l.Task[ofReduces].CPU, Wait: l.Task[ofReduces].Wait + l.Grant}
	set.SlowStart = 1
	return Predict(c, slices.Repeat([]Job{j}, s.Jobs), set)
}
