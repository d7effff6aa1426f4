package model

import (
	"math"

	"github.com/sojourn-sched/sojourn/sched"
)

// Mean estimates the tasks of a stage by the mean and the standard deviation of those that are finished, and by the
// spec's prior before one is. Of failed attempts nothing is learned.
type Mean struct {
	Seen sched.Per[Moments] // by stage
}

// Moments are the count, the mean and the sum of squared deviations of some times in seconds (Welford, Technometrics
// 4(3), 1962).
type Moments struct {
	N    int
	Mean float64
	M2   float64
}

// Add takes a time into account.
func (m *Moments) Add(t sched.Time) {
	x := t.Seconds()
	m.N++
	d := x - m.Mean
	m.Mean += d / float64(m.N)
	m.M2 += d * (x - m.Mean)
}

// Estimate returns the mean and the sample standard deviation; zero samples where nothing was added.
func (m *Moments) Estimate() sched.Estimate {
	e := sched.Estimate{Mean: seconds(m.Mean), Samples: m.N}
	if m.N > 1 {
		e.StdDev = seconds(math.Sqrt(m.M2 / float64(m.N-1)))
	}
	return e
}

// seconds converts a number of seconds.
func seconds(s float64) sched.Time { return sched.Time(math.Round(s * 1e9)) }

// Observe learns from an attempt that succeeded.
func (m *Mean) Observe(a *sched.Attempt, ended sched.Time, _ *sched.Counters) {
	m.Seen.Of(a.Stage).Add(ended - a.Start)
}

// Estimate returns the mean of the finished tasks of st, on whatever nodes they ran.
func (m *Mean) Estimate(st *sched.Stage, _ sched.ClassID) sched.Estimate {
	if seen, ok := m.Seen.Has(st); ok && seen.N > 0 {
		return seen.Estimate()
	}
	return sched.Estimate{Mean: st.Spec.Prior}
}

// Size returns the job's tasks at their stages' estimates. It is known once something is known of every stage.
func (m *Mean) Size(j *sched.Job) (sched.Work, bool) { return sizeOf(m, j) }

// sizeOf sums the tasks of a job at an estimator's task times. It is known if each stage's number of tasks is, and its
// time, be it from a prior.
func sizeOf(e sched.Estimator, j *sched.Job) (w sched.Work, known bool) {
	known = true
	for _, st := range j.Stages {
		t := e.Estimate(st, 0)
		known = known && st.Total >= 0 && (t.Mean > 0 || t.Samples > 0)
		w.Add(st.Spec.PerTask.Times(int64(max(0, st.Total))), t.Mean)
	}
	return w, known
}
