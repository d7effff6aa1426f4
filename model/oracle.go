package model

import (
	"math"

	"github.com/sojourn-sched/sojourn/internal/splitmix"
	"github.com/sojourn-sched/sojourn/sched"
)

// A JobTruth is what really happens in a job. It is known in a simulation only.
type JobTruth interface {
	// Times returns the mean and the longest time of a task of a stage, on a node of speed 1.
	Times(stage int32) (mean, longest sched.Time)
	// Size returns the resource-seconds of all its tasks.
	Size(*sched.JobSpec) sched.Work
}

// A Truth returns the truth of a job, and whether it is known.
type Truth func(*sched.JobSpec) (JobTruth, bool)

var oracleCard = Card{About: "the true times and sizes", Truth: true}

func newOracle(a Args) sched.Estimator { return &Oracle{Truth: a.Truth} }

// Oracle estimates without error. For a job whose truth is unknown it returns what the spec says.
type Oracle struct {
	Truth Truth `json:"-"`
}

// Observe learns nothing: all is known.
func (*Oracle) Observe(*sched.Attempt, sched.Time, *sched.Counters) {}

// Estimate returns the mean time of the stage's tasks on a node of speed 1. For a class of nodes that is a guess: how
// fast a job runs there is not part of its truth.
func (o *Oracle) Estimate(st *sched.Stage, class sched.ClassID) sched.Estimate {
	if t, ok := o.Truth(st.Job.Spec); ok {
		mean, _ := t.Times(st.ID.Index)
		e := sched.Estimate{Mean: mean}
		if class == 0 {
			e.Samples = 1
		}
		return e
	}
	return sched.Estimate{Mean: st.Spec.Prior}
}

// Size returns the job's true size.
func (o *Oracle) Size(j *sched.Job) (sched.Work, bool) {
	if t, ok := o.Truth(j.Spec); ok {
		return t.Size(j.Spec), true
	}
	return sizeOf(o, j)
}

var noisyCard = Card{
	About: "the true times and sizes, off by a random factor for each job",
	Truth: true,
	Params: []Param{
		{
			Name: "sigma", Default: "1", Example: "1", Takes: Numbers(0, 100),
			About: "standard deviation of the factor's logarithm",
		},
		{Name: "seed", Default: "1", Takes: Wholes(0, 0), About: "seed of the factors"},
	},
}

func newNoisy(a Args) sched.Estimator {
	return &Noisy{Truth: a.Truth, Sigma: a.Number("sigma"), Seed: a.Whole("seed")}
}

// Noisy is an oracle with an error that is the same for all tasks of a job: estimate = truth × exp(Sigma·N), N standard
// normal, drawn from (Seed, job). It is the error law of the studies of size-based scheduling (Dell'Amico et al., IEEE
// ToC 2016, 6.2).
type Noisy struct {
	Truth Truth   `json:"-"`
	Sigma float64 // from 0, which is no error
	Seed  uint64
}

// Observe learns nothing.
func (*Noisy) Observe(*sched.Attempt, sched.Time, *sched.Counters) {}

// Estimate returns the mean time of the stage's tasks, with the job's error.
func (n *Noisy) Estimate(st *sched.Stage, c sched.ClassID) sched.Estimate {
	e := (&Oracle{n.Truth}).Estimate(st, c)
	e.Mean = sched.Time(math.Round(min(float64(e.Mean)*n.factor(st.ID.Job), math.MaxInt64/4)))
	return e
}

// Size returns the job's size, with the job's error.
func (n *Noisy) Size(j *sched.Job) (sched.Work, bool) {
	w, known := (&Oracle{n.Truth}).Size(j)
	f := n.factor(j.ID)
	for k := range w {
		w[k] *= f
	}
	return w, known
}

// factor returns exp(Sigma·N) for a job, N by Box and Muller's transform of two hashes.
func (n *Noisy) factor(job sched.JobID) float64 {
	if n.Sigma == 0 {
		return 1
	}
	h := mix(n.Seed ^ mix(uint64(job)))
	u, v := uniform(h), uniform(mix(h))
	return math.Exp(n.Sigma * math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v))
}

// mix returns a hash of x.
func mix(x uint64) uint64 { return splitmix.Mix(x + splitmix.Increment) }

// uniform makes a number in (0, 1) of a hash.
func uniform(h uint64) float64 { return (float64(h>>11) + 0.5) / (1 << 53) }
