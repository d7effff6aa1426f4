package outlook

import (
	"math"
	"math/rand/v2"

	"github.com/sojourn-sched/sojourn/sched"
)

// A work is what is left of a stage. Its task times are taken to follow a lognormal law around a mean that is off by an
// unknown factor, which all its tasks share.
type work struct {
	job         sched.JobID
	place       int // in the order of all works; -1: nothing is left of it
	key         sched.Key
	placed      bool // it has a key
	waiting     int  // tasks that do not run
	total, done int
	needs       sched.Resources
	ran         []float64 // of its running attempts, in seconds
	holds       []sched.Resources
	after       []*work // by its dependencies
	parts       []float64

	mean  float64   // expected of a task, in seconds; 0: not known
	sigma float64   // standard deviation of the logarithm of a task's time around the stage's mean
	off   float64   // of the mean: standard deviation of its logarithm
	chain []float64 // cumulative probabilities of the factors, given for how long tasks have run
	// of each draw: its place among equally probable strata of the factor, so that few draws have all of its law
	strata []int
}

// What is not known of task times, as standard deviations of logarithms.
const (
	guessError  = 0.5 // of the mean, if it is a guess without any spread
	leastError  = 0.1 // of the mean, if tasks of the stage were seen; the error of their mean is added
	guessSpread = 0.5 // of tasks around their mean; it counts as one task beside those that were seen
)

// newWork collects what is left of a stage; own are those before it.
func newWork(v *sched.View, st *sched.Stage, own []*work) *work {
	w := &work{job: st.ID.Job, place: -1, needs: st.Spec.PerTask, total: int(st.Total), done: int(st.Done),
		waiting: int(sched.Waiting(v, st))}
	if st.Total >= 0 { // a second attempt of a task that runs is no more work: open counts it as one
		w.waiting = max(0, min(w.waiting, int(st.Total-st.Done-st.Running-st.Suspended)))
	}
	for _, dep := range st.Spec.After {
		if int(dep.Stage) < len(own) {
			w.after, w.parts = append(w.after, own[dep.Stage]), append(w.parts, dep.Part)
		}
	}
	for a := range v.Attempts(st) {
		w.ran = append(w.ran, v.Ran(a, v.Now).Seconds())
		w.holds = append(w.holds, v.Amount(a.Holds))
	}
	w.expect(v.Estimate(st, 0), int(st.Done))
	return w
}

// open returns how many tasks have not ended.
func (w *work) open() int { return w.waiting + len(w.ran) }

// expect sets the law of the task times from the estimate of a stage, and from how many of its tasks are done.
func (w *work) expect(e sched.Estimate, done int) {
	if w.mean = e.Mean.Seconds(); w.mean <= 0 {
		return
	}
	relative := e.StdDev.Seconds() / w.mean
	spread := guessSpread
	if n := float64(e.Samples); n >= 2 {
		spread = math.Sqrt((guessSpread*guessSpread + (n-1)*relative*relative) / n)
	} else if relative > 0 {
		spread = relative
	}
	w.sigma = math.Sqrt(math.Log1p(spread * spread))
	switch {
	case done > 0 && e.Samples > 0:
		w.off = leastError + relative/math.Sqrt(float64(min(e.Samples, done)))
	case relative > 0: // of other jobs' tasks: this job may be any of them
		w.off = math.Sqrt(math.Log1p(relative * relative))
	default:
		w.off = guessError
	}
	w.learn()
}

// The factors by which a mean may be off are a grid of its law, in standard deviations.
const (
	factorStep  = 0.25
	factorEdge  = 3.5
	factorCount = 2*factorEdge/factorStep + 1
)

// factor returns the i-th factor of the grid.
func (w *work) factor(i int) float64 { return math.Exp(w.off * (float64(i)*factorStep - factorEdge)) }

// learn computes how probable each factor is, given that the running tasks have run for as long as they have: by Bayes'
// rule, it is the factor's own probability times those that each running task takes longer than it has run.
func (w *work) learn() {
	w.chain = make([]float64, factorCount)
	most := math.Inf(-1)
	for i := range w.chain {
		z := float64(i)*factorStep - factorEdge
		w.chain[i] = -z * z / 2
		for _, ran := range w.ran {
			w.chain[i] += math.Log(max(survival(w.deviations(w.factor(i), ran)), math.SmallestNonzeroFloat64))
		}
		most = max(most, w.chain[i])
	}
	sum := 0.0
	for i, x := range w.chain {
		sum += math.Exp(x - most)
		w.chain[i] = sum
	}
}

// drawFactor draws by how much the mean is off in one of the draws.
func (w *work) drawFactor(draw int, r *rand.Rand) float64 {
	at := (float64(w.strata[draw]) + r.Float64()) / float64(len(w.strata)) * w.chain[len(w.chain)-1]
	for i, x := range w.chain {
		if at < x {
			return w.factor(i)
		}
	}
	return w.factor(len(w.chain) - 1)
}

// deviations returns a time in standard deviations of the logarithmic law, where the mean is off by a factor.
func (w *work) deviations(factor, time float64) float64 {
	if time <= 0 {
		return math.Inf(-1)
	}
	return (math.Log(time/(factor*w.mean)) + w.sigma*w.sigma/2) / w.sigma
}

// survival returns the probability that a standard normal variable is beyond z.
func survival(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// farTail is where the normal law's tail is taken to be exponential, because the inverse has no figures left there.
const farTail = 5

// rest draws how long a task that has run for some time runs on: from the law of times beyond that one.
func (w *work) rest(r *rand.Rand, factor, ran float64) float64 {
	z := w.deviations(factor, ran)
	if z < farTail {
		z = math.Sqrt2 * math.Erfinv(1-2*survival(z)*(1-r.Float64()))
	} else {
		z += r.ExpFloat64() / z
	}
	return max(0, factor*w.mean*math.Exp(w.sigma*z-w.sigma*w.sigma/2)-ran)
}
