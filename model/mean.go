package model

import (
	"math"

	"github.com/sojourn-sched/sojourn/sched"
)

var meanCard = Card{About: "the mean of a stage's own finished tasks"}

func newMean(Args) sched.Estimator { return &Mean{} }

// Mean estimates the tasks of a stage by the mean and the standard deviation of its finished tasks, and by the spec's
// prior before the first task has finished. It learns nothing from failed attempts.
type Mean struct {
	Seen sched.Per[Seen] // by stage
}

// Seen are the times of a stage's finished tasks, on all nodes and by class of nodes. Most stages run on one class
// only, and need no list.
type Seen struct {
	Moments
	Class   sched.ClassID  // of the first task
	ByClass []ClassMoments `json:",omitempty"` // in order of their first tasks; nil: all tasks ran on Class
}

// ClassMoments are the times of the finished tasks on a class of nodes.
type ClassMoments struct {
	Class sched.ClassID
	Moments
}

// add takes the time of a task on a class of nodes into account.
func (s *Seen) add(class sched.ClassID, took sched.Time) {
	switch {
	case s.N == 0:
		s.Class = class
	case s.ByClass == nil && class != s.Class:
		s.ByClass = []ClassMoments{{s.Class, s.Moments}}
	}
	s.Moments.Add(took)
	if s.ByClass == nil {
		return
	}
	for i := range s.ByClass {
		if s.ByClass[i].Class == class {
			s.ByClass[i].Add(took)
			return
		}
	}
	s.ByClass = append(s.ByClass, ClassMoments{Class: class})
	s.ByClass[len(s.ByClass)-1].Add(took)
}

// on returns the estimate for a class of nodes (zero: any). At least one task has finished. Where none has finished on
// the class, the estimate is a guess from all classes.
func (s *Seen) on(class sched.ClassID) sched.Estimate {
	if class == 0 || s.ByClass == nil && class == s.Class {
		return s.Moments.Estimate()
	}
	for i := range s.ByClass {
		if k := &s.ByClass[i]; k.Class == class {
			return k.Estimate()
		}
	}
	e := s.Moments.Estimate()
	e.Samples = 0
	return e
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

// seconds converts a number of seconds to the nearest nanosecond, so that rounding does not make estimates smaller.
// Policies drop parts of a nanosecond (policy/card.go).
func seconds(s float64) sched.Time { return sched.Time(math.Round(s * 1e9)) }

// Observe learns from an attempt that succeeded after it ran for the time took.
func (m *Mean) Observe(a *sched.Attempt, took sched.Time, _ *sched.Counters) {
	m.Seen.Of(a.Stage).add(a.Class, took)
}

// Estimate returns the mean of the tasks of st that have finished on a class of nodes (zero: on any). Before the first
// one there it is a guess: the mean on all other classes, else the spec's prior.
func (m *Mean) Estimate(st *sched.Stage, class sched.ClassID) sched.Estimate {
	if seen, ok := m.Seen.Has(st); ok && seen.N > 0 {
		return seen.on(class)
	}
	return sched.Estimate{Mean: st.Spec.Prior}
}

// Size returns the job's tasks at their stages' estimates. It is known once something is known of every stage.
func (m *Mean) Size(j *sched.Job) (sched.Work, bool) { return sizeOf(m, j) }

// sizeOf sums the tasks of a job at an estimator's task times. It is known if each stage's number of tasks is, and its
// time, if only from a prior.
func sizeOf(e sched.Estimator, j *sched.Job) (w sched.Work, known bool) {
	known = true
	for _, st := range j.Stages {
		t := e.Estimate(st, 0)
		known = known && st.Total >= 0 && t.Known()
		w.Add(st.Spec.PerTask.Times(int64(max(0, st.Total))), t.Mean)
	}
	return w, known
}
