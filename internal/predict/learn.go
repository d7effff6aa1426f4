package predict

import (
	"errors"
	"math"
	"slices"
)

// A Run is what was measured of some equal jobs that were submitted at once to a cluster of equal containers, each with
// a master of its own beside them. Times are in seconds.
type Run struct {
	Slots int // tasks that the cluster runs at once
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

// Learned is what runs of one kind of job have taught of its demands on a machine, in seconds. Tasks share the cores of
// the machine whatever node they are on. Their time is processor time, for which they queue with all others, and a wait
// that they cause each other no part of: heartbeats, the start of a process, a disk that is not the bottleneck.
type Learned struct {
	Cores  int
	Master [2]float64    // until the tasks are made: with one job, and for each job more that starts at the same time
	Grant  float64       // from a container that is free to the next task in it
	Commit float64       // from the last task to the end of the job
	Task   [2]TaskDemand // of maps and reduces
}

// TaskDemand is what one task needs, alone on the machine.
type TaskDemand struct{ CPU, Wait, CV float64 }

// Effects of the machine that can be left out, to say what each is worth.
const (
	WithoutGrants    = 1 << iota // no time between tasks of a container
	WithoutMasters               // masters that start together do not slow each other down
	WithoutFit                   // processor time is what counters say, the wait what is left
	WithoutVariation             // tasks do not vary
)

// Learn finds what the runs have in common. Processor time as counted leaves out what the system does for a task, and
// the time of a task has waits for the processor in it. So both demands are fitted: of the factors on the counted
// processor time, and of waits, those with which the predicted times of the runs are nearest to the measured ones.
func Learn(runs []Run, cores int, without int) (*Learned, error) {
	if len(runs) == 0 || cores < 1 {
		return nil, errors.New("no run to learn from, or no core")
	}
	l := &Learned{Cores: cores}
	l.learnMasters(runs, without)
	l.learnTasks(runs, without)
	if without&WithoutFit == 0 {
		l.fit(runs)
	}
	return l, nil
}

// learnMasters fits a line through the masters' times by the number of jobs.
func (l *Learned) learnMasters(runs []Run, without int) {
	var n, sumX, sumY, sumXX, sumXY, grants, commits float64
	for _, r := range runs {
		x := float64(len(r.Jobs) - 1)
		for _, j := range r.Jobs {
			n, sumX, sumY = n+1, sumX+x, sumY+j.Launched
			sumXX, sumXY = sumXX+x*x, sumXY+x*j.Launched
			last, first := ends(j.Tasks[ofMaps]), starts(j.Tasks[ofReduces])
			if len(j.Tasks[ofReduces]) > 0 {
				grants += max(0, first-last)
				last = max(last, ends(j.Tasks[ofReduces]))
			}
			commits += j.End - last
		}
	}
	l.Grant, l.Commit = grants/n, commits/n
	if spread := n*sumXX - sumX*sumX; spread > 0 {
		l.Master[1] = max(0, (n*sumXY-sumX*sumY)/spread)
		l.Master[0] = max(0, (sumY-l.Master[1]*sumX)/n)
	} else { // one number of jobs: masters start on the processors
		k := max(1, (1+sumX/n)/float64(l.Cores))
		l.Master[0] = sumY / n / k
		l.Master[1] = l.Master[0] / float64(l.Cores)
	}
	if without&WithoutMasters != 0 {
		l.Master = [2]float64{sumY / n, 0}
	}
	if without&WithoutGrants != 0 {
		l.Grant = 0
	}
}

func starts(tasks []Observed) float64 {
	first := math.Inf(1)
	for _, t := range tasks {
		first = min(first, t.Start)
	}
	return first
}

func ends(tasks []Observed) (last float64) {
	for _, t := range tasks {
		last = max(last, t.End)
	}
	return last
}

// learnTasks takes the means of counted processor times and of times, as if no task had waited.
func (l *Learned) learnTasks(runs []Run, without int) {
	for kind := range l.Task {
		var n, cpu, time, square float64
		for _, r := range runs {
			for _, j := range r.Jobs {
				for _, t := range j.Tasks[kind] {
					n, cpu, time, square = n+1, cpu+t.CPU, time+t.End-t.Start, square+(t.End-t.Start)*(t.End-t.Start)
				}
			}
		}
		if n == 0 {
			continue
		}
		d := &l.Task[kind]
		d.CPU = min(cpu, time) / n
		d.Wait = (time - min(cpu, time)) / n
		if without&WithoutVariation == 0 && time > 0 {
			d.CV = l.spread(runs, kind)
		}
	}
}

// spread returns the variation of the times of tasks of one run, on average: between runs they differ because the
// machine is more or less busy, which the model computes.
func (l *Learned) spread(runs []Run, kind int) float64 {
	var sum, n float64
	for _, r := range runs {
		var times []float64
		for _, j := range r.Jobs {
			for _, t := range j.Tasks[kind] {
				times = append(times, t.End-t.Start)
			}
		}
		if len(times) < 2 {
			continue
		}
		mean, square := 0.0, 0.0
		for _, t := range times {
			mean += t / float64(len(times))
		}
		for _, t := range times {
			square += (t - mean) * (t - mean) / float64(len(times)-1)
		}
		sum, n = sum+math.Sqrt(square)/mean, n+1
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

// fit looks for the factors of processor time and wait, by steps that are halved when no neighbour is better.
func (l *Learned) fit(runs []Run) {
	began := l.Task
	at := [2]float64{} // logarithms of the factors
	set := func(x [2]float64) {
		for kind := range l.Task {
			l.Task[kind].CPU = began[kind].CPU * math.Exp(x[0])
			l.Task[kind].Wait = (began[kind].CPU + began[kind].Wait) * math.Exp(x[1])
		}
	}
	at[1] = -2 // a wait of an eighth of the time to begin with
	set(at)
	best := l.error(runs)
	for step := 0.8; step > 0.02; {
		next := at
		for _, d := range [][2]float64{{step, 0}, {-step, 0}, {0, step}, {0, -step}, {step, -step}, {-step, step}} {
			to := [2]float64{at[0] + d[0], at[1] + d[1]}
			set(to)
			if e := l.error(runs); e < best {
				best, next = e, to
			}
		}
		if next == at {
			step /= 2
		}
		at = next
	}
	set(at)
}

// error is the mean squared relative error of the runs' mean times.
func (l *Learned) error(runs []Run) (sum float64) {
	for i := range runs {
		r := &runs[i]
		p, err := l.predict(r.shape(), learningDraws)
		if err != nil {
			return math.Inf(1)
		}
		off := p.Mean/r.mean() - 1
		sum += off * off / float64(len(runs))
	}
	return sum
}

// learningDraws are enough timelines for a fit.
const learningDraws = 8

// A Shape says which jobs are predicted: equal ones that are submitted at once.
type Shape struct{ Maps, Reduces, Slots, Jobs int }

func (r *Run) shape() Shape {
	return Shape{len(r.Jobs[0].Tasks[ofMaps]), len(r.Jobs[0].Tasks[ofReduces]), r.Slots, len(r.Jobs)}
}

// Predict returns the times of jobs, from submission to end.
func (l *Learned) Predict(s Shape) (*Prediction, error) { return l.predict(s, Usual().Draws) }

func (l *Learned) predict(s Shape, draws int) (*Prediction, error) {
	c := Cluster{Nodes: []Node{{Capacity: []float64{float64(s.Slots)}, CPUs: l.Cores, Disks: 1}}}
	one := []float64{1}
	j := Job{Maps: s.Maps, Reduces: s.Reduces, MapSize: one, ReduceSize: one, CV: l.Task[ofMaps].CV}
	j.Demands[MapTask] = Cost{CPU: l.Task[ofMaps].CPU, Wait: l.Task[ofMaps].Wait + l.Grant}
	j.Demands[MergeTask] = Cost{CPU: l.Task[ofReduces].CPU, Wait: l.Task[ofReduces].Wait + l.Grant}
	set := Usual()
	set.SlowStart, set.Draws = 1, draws
	p, err := Predict(c, slices.Repeat([]Job{j}, s.Jobs), set)
	if err != nil {
		return nil, err
	}
	more := l.MasterTime(s.Jobs) + l.Commit
	p.Mean += more
	for i := range p.Jobs {
		p.Jobs[i].later(more)
	}
	return p, nil
}

// MasterTime returns when the tasks of jobs that are submitted at once are made.
func (l *Learned) MasterTime(jobs int) float64 { return l.Master[0] + l.Master[1]*float64(jobs-1) }

// later adds a time to a job's wait.
func (j *JobPrediction) later(t float64) {
	j.Response += t
	j.Wait += t
	for i := range j.drawn {
		j.drawn[i] += t
	}
}
