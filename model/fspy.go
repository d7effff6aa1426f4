package model

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

var fspyCard = Card{
	About:  "linear models of what probes of jobs have counted",
	Probes: true,
	Local:  "least=1ms",
	Keeps:  "size models, format 1",
	Params: []Param{
		{
			Name: "fit", Default: "equal", Example: "relative", Takes: Choices("equal", "relative"),
			About: "which errors a fit makes small: of seconds, or relative to the job's time",
		},
		{
			Name: "window", Default: "500", Takes: Wholes(1, mostWindow),
			About: "jobs that the models are fitted to, the last ones",
		},
		{Name: "least", Default: "1s", Takes: Times(), About: "least time that is predicted for a task"},
	},
}

// mostWindow bounds the jobs of a fit, whose cost grows with them.
const mostWindow = 100_000

func newFSPY(a Args) sched.Estimator {
	c := DefaultFit
	if a.Choice("fit") == "relative" {
		c.Weighting = Relative
	}
	c.Window, c.Least = int(a.Whole("window")), a.Time("least").Seconds()
	return NewFSPY(c)
}

// FSPY predicts how long all maps and all reduces of a job take together, from what a probe of the job has counted. It
// uses two linear models, which it fits to the jobs that were probed and have finished (High-Responsive Scheduling with
// MapReduce Performance Prediction on Hadoop YARN, III-A). The size of a job is known once its probe is complete.
// Before that, the time of its tasks is guessed from finished tasks of the same stage, else from those of all jobs.
//
// A probe is a job whose Spec.Probes names the job that it samples. The policy fspy and the wrapper probe ask for
// probes.
type FSPY struct {
	Fit FitConfig `json:"-"`

	Learned
	Probes map[sched.JobID]Probed // of jobs that are not finished
	Ran    sched.Per[Ran]         // by job
	Own    Mean
}

// Learned is what an FSPY has learned from finished jobs: all that is worth keeping from run to run.
type Learned struct {
	Maps, Reduces Regression
	Past          [sched.NumKinds]Moments // of all finished tasks
	// of the last FitConfig.Window jobs that were probed and finished, oldest first
	Trials []Trial
}

// A Trial compares a prediction with the result for one finished job. The prediction is by the models as they were
// before they learned from that job. Times are in seconds, by model.
type Trial struct {
	Predicted, Took [2]float64
	Task            [2]float64 // what a task holds of what jobs compete for: memory, else vcores, else slots
}

// size returns the size of a job whose tasks take seconds in all, by model.
func (t *Trial) size(seconds [2]float64) float64 {
	return t.Task[mapModel]*seconds[mapModel] + t.Task[reduceModel]*seconds[reduceModel]
}

// Accuracy returns R² of the predicted times of all maps, of all reduces of the jobs that have any, and of job sizes
// (III-D, Figs. 2 to 4), over Trials. NaN where there is nothing to compare.
func (l *Learned) Accuracy() (maps, reduces, size float64) {
	var took, predicted [3][]float64
	add := func(k int, y, p float64) { took[k], predicted[k] = append(took[k], y), append(predicted[k], p) }
	for i := range l.Trials {
		t := &l.Trials[i]
		for k := range t.Took {
			if t.Took[k] > 0 {
				add(k, t.Took[k], t.Predicted[k])
			}
		}
		add(2, t.size(t.Took), t.size(t.Predicted))
	}
	return R2(took[mapModel], predicted[mapModel]), R2(took[reduceModel], predicted[reduceModel]),
		R2(took[2], predicted[2])
}

// learnedKey is the key of the one entry that FSPY keeps.
const learnedKey = "fspy"

// Changes implements Keeper: one entry holds all that was learned.
func (f *FSPY) Changes(*sched.Attempt) string { return learnedKey }

// Entry implements Keeper. It needs no deep copy: what was learned is added at the ends of slices and never changed. It
// does not touch the coefficients, which Predict writes: another goroutine may ask for entries meanwhile.
func (f *FSPY) Entry(string) any {
	l := &f.Learned
	return Learned{Maps: l.Maps.observed(), Reduces: l.Reduces.observed(), Past: l.Past, Trials: l.Trials}
}

// Load implements Keeper.
func (f *FSPY) Load(_ string, value []byte) error { return json.Unmarshal(value, &f.Learned) }

// NewFSPY returns a predictor that has learned nothing.
func NewFSPY(c FitConfig) *FSPY { return &FSPY{Fit: c} }

// A Probed is what the probe of a job has counted. Times are in seconds.
type Probed struct {
	Input, MapOut, MapRecords float64 // bytes, bytes, records
	ReduceOut, ReduceRecords  float64 // bytes, records
	MapTime, ReduceTime       float64 // of the user's functions
	WholeMap, WholeReduce     float64 // of the tasks
	HasMap, HasReduce         bool
}

// Ran is what the tasks of a job have taken, in seconds, by model: maps, reduces.
type Ran struct {
	Seconds [2]float64
	Tasks   [2]int32
}

// Features are what the models go by: of the whole job, scaled from its probe. Times are in seconds; amounts of data in
// any fixed unit.
type Features struct {
	Maps, Reduces, Input          float64
	MapTime, MapOut, MapRecords   float64 // of the map function; of its output
	ReduceTime, ReduceOut, Sorted float64 // of the reduce function; of its output; records of its input
}

// MapRow returns the regressors of the time of all maps (eq. 6).
func (x Features) MapRow() []float64 {
	return []float64{x.Maps, x.Input, x.MapTime, x.MapOut, x.MapRecords, sorting(x.MapRecords)}
}

// ReduceRow returns the regressors of the time of all reduces. The time of all maps is one of them, because early
// reduces wait for maps (eq. 7, whose print repeats eq. 6).
func (x Features) ReduceRow(maps float64) []float64 {
	return []float64{x.Reduces, x.MapOut, x.ReduceTime, x.ReduceOut, x.Sorted, sorting(x.Sorted), maps}
}

// sorting returns the work of sorting n records, n·ln n.
func sorting(n float64) float64 {
	if n <= 1 {
		return 0
	}
	return n * math.Log(n)
}

// mostProbed bounds the probes that are kept. Some belong to jobs that failed.
const mostProbed = 10000

// models are the two models: of maps, and of what is no map.
const (
	mapModel = iota
	reduceModel
)

// modelOf returns the model of a stage's tasks; -1: none, a master is no work of the job.
func modelOf(st *sched.Stage) int {
	switch st.Kind {
	case sched.Map:
		return mapModel
	case sched.Master:
		return -1
	}
	return reduceModel
}

// Observe learns from an attempt, of a probe or of a job, that succeeded after it ran for the time took.
func (f *FSPY) Observe(a *sched.Attempt, took sched.Time, c *sched.Counters) {
	st := a.Stage
	if of := st.Job.Spec.Probes; of != 0 {
		f.probed(of, a, took, c)
		return
	}
	f.Own.Observe(a, took, c)
	f.Past[st.Kind].Add(took)
	k := modelOf(st)
	if k < 0 {
		return
	}
	ran := f.Ran.Of(st.Job)
	ran.Seconds[k] += took.Seconds()
	ran.Tasks[k]++
	if last(st) {
		f.train(st.Job, *ran)
	}
}

// probed notes what attempt a of a probe of a job has counted.
func (f *FSPY) probed(of sched.JobID, a *sched.Attempt, took sched.Time, c *sched.Counters) {
	if f.Probes == nil {
		f.Probes = map[sched.JobID]Probed{}
	}
	if c == nil {
		c = &sched.Counters{}
	}
	p := f.Probes[of]
	if modelOf(a.Stage) == mapModel {
		p.HasMap, p.WholeMap = true, took.Seconds()
		p.Input, p.MapOut, p.MapRecords = float64(c.InputBytes), float64(c.OutputBytes), float64(c.OutputRecords)
		p.MapTime = c.Phases[sched.PhaseMap].Seconds()
	} else {
		p.HasReduce, p.WholeReduce = true, took.Seconds()
		p.ReduceOut, p.ReduceRecords = float64(c.OutputBytes), float64(c.InputRecords)
		p.ReduceTime = c.Phases[sched.PhaseReduce].Seconds()
	}
	f.Probes[of] = p
	if len(f.Probes) > mostProbed {
		oldest := of
		for id := range f.Probes {
			oldest = min(oldest, id)
		}
		delete(f.Probes, oldest)
	}
}

// last reports whether, with one more task of st done, all tasks of its job are.
func last(st *sched.Stage) bool {
	if st.Job.Spec.Open {
		return false
	}
	for _, o := range st.Job.Stages {
		done := o.Done
		if o == st {
			done++
		}
		if modelOf(o) >= 0 && done < o.Total || o.Total < 0 {
			return false
		}
	}
	return true
}

// train updates the models with job j, which has finished. For tasks that ran more than once it takes their mean time.
func (f *FSPY) train(j *sched.Job, ran Ran) {
	p, ok := f.probe(j)
	if !ok {
		return
	}
	n, x := counts(j), f.features(j, p)
	var took [2]float64
	for k := range took {
		if ran.Tasks[k] > 0 {
			took[k] = ran.Seconds[k] / float64(ran.Tasks[k]) * n[k]
		}
	}
	trial := Trial{Took: took}
	trial.Predicted[mapModel], trial.Predicted[reduceModel], _ = f.Predict(j)
	for _, st := range j.Stages {
		if k := modelOf(st); k >= 0 {
			trial.Task[k] = held(st.Spec.PerTask)
		}
	}
	f.Trials = append(f.Trials, trial)
	if over := len(f.Trials) - f.Fit.Window; over > 0 {
		f.Trials = f.Trials[over:]
	}
	delete(f.Probes, j.ID)
	if n[mapModel] > 0 {
		f.Maps.Add(x.MapRow(), took[mapModel], f.Fit)
	}
	if n[reduceModel] > 0 {
		f.Reduces.Add(x.ReduceRow(took[mapModel]), took[reduceModel], f.Fit)
	}
}

// held returns how much a task that asks for r holds of the resource that jobs compete for: the first kind that it asks
// for.
func held(r sched.Resources) float64 {
	for _, a := range r {
		if a > 0 {
			return float64(a)
		}
	}
	return 0
}

// probe returns what the probe of a job has counted, and whether it is complete.
func (f *FSPY) probe(j *sched.Job) (Probed, bool) {
	p, ok := f.Probes[j.ID]
	n := counts(j)
	return p, ok && (p.HasMap || n[mapModel] == 0) && (p.HasReduce || n[reduceModel] == 0)
}

// counts returns how many tasks each model is of.
func counts(j *sched.Job) (n [2]float64) {
	for _, st := range j.Stages {
		if k := modelOf(st); k >= 0 {
			n[k] += float64(max(0, st.Total))
		}
	}
	return n
}

// inputOf returns the bytes that a job reads, as far as its spec says.
func inputOf(j *sched.Job) (bytes float64) {
	for _, st := range j.Stages {
		if st.Kind == sched.Map {
			bytes += float64(st.Spec.InputBytes)
		}
	}
	return bytes
}

// part returns which part of its job's input a probe has read, f_p: that counted, else that it is meant to read.
func (p *Probed) part(j *sched.Job) float64 {
	n := counts(j)
	if input := inputOf(j); input > 0 && p.Input > 0 {
		return min(1, p.Input/input)
	}
	return 1 / max(n[mapModel], n[reduceModel], 1)
}

// features scales what a probe has counted to the whole job (eq. 8).
func (f *FSPY) features(j *sched.Job, p Probed) Features {
	n, part := counts(j), p.part(j)
	input := inputOf(j)
	if input == 0 {
		input = p.Input / part
	}
	return Features{
		Maps: n[mapModel], Reduces: n[reduceModel], Input: input,
		MapTime: p.MapTime / part, MapOut: p.MapOut / part, MapRecords: p.MapRecords / part,
		ReduceTime: p.ReduceTime / part, ReduceOut: p.ReduceOut / part, Sorted: p.ReduceRecords / part,
	}
}

// Predict returns how long all maps and all reduces of job j take together, in seconds, and whether a probe of j has
// told. A model with fewer than twice as many jobs as coefficients is not used: then it is the time of the probe,
// scaled. A prediction is at least Fit.Least for each task.
func (f *FSPY) Predict(j *sched.Job) (maps, reduces float64, known bool) {
	p, known := f.probe(j)
	if !known {
		return 0, 0, false
	}
	n, x, part := counts(j), f.features(j, p), p.part(j)
	if n[mapModel] > 0 {
		maps = p.WholeMap / part
		if f.Maps.Ready() {
			maps = f.Maps.Predict(x.MapRow(), f.Fit)
		}
		maps = max(maps, f.Fit.Least*n[mapModel])
	}
	if n[reduceModel] > 0 {
		reduces = p.WholeReduce / part
		if f.Reduces.Ready() {
			reduces = f.Reduces.Predict(x.ReduceRow(maps), f.Fit)
		}
		reduces = max(reduces, f.Fit.Least*n[reduceModel])
	}
	return maps, reduces, true
}

// Estimate returns the time of a task. For a job that was probed it is an equal part of the predicted time, and Samples
// is 1, which stands for the probe. Otherwise it is the mean of the stage's own finished tasks; or, as a guess, the
// mean of all finished tasks of its kind.
func (f *FSPY) Estimate(st *sched.Stage, class sched.ClassID) sched.Estimate {
	if k := modelOf(st); k >= 0 {
		if maps, reduces, known := f.Predict(st.Job); known {
			all := [2]float64{maps, reduces}[k]
			return sched.Estimate{Mean: seconds(all / max(1, counts(st.Job)[k])), Samples: 1}
		}
	}
	if seen, ok := f.Own.Seen.Has(st); ok && seen.N > 0 {
		return seen.on(class)
	}
	if past := f.Past[st.Kind]; past.N > 0 {
		return sched.Estimate{Mean: seconds(past.Mean)}
	}
	return sched.Estimate{Mean: st.Spec.Prior}
}

// Size returns the predicted size of job j without its master. It is known when a probe of j is complete, or tasks of
// each stage are.
func (f *FSPY) Size(j *sched.Job) (w sched.Work, known bool) {
	_, _, known = f.Predict(j)
	seen := !slices.ContainsFunc(j.Stages, func(st *sched.Stage) bool {
		return st.Total < 0 || modelOf(st) >= 0 && f.Own.Estimate(st, 0).Samples == 0
	})
	for _, st := range j.Stages {
		if modelOf(st) >= 0 {
			w.Add(st.Spec.PerTask.Times(int64(max(0, st.Total))), f.Estimate(st, 0).Mean)
		}
	}
	return w, known || seen
}
