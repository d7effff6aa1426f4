package main

import (
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/sched"
)

// careful estimates a task by the mean of the stage's finished tasks plus some standard deviations, so that a job whose
// tasks differ much counts as larger.
type careful struct {
	model.Mean         // what it learns, which goes through JSON
	Deviations float64 `json:"-"`
}

var carefulEntry = model.Entry{
	Card: model.Card{
		About: "the mean of a stage's own finished tasks, plus standard deviations",
		Params: []model.Param{{
			Name: "deviations", Default: "1", Example: "2", Takes: model.Numbers(0, 10),
			About: "standard deviations to add",
		}},
	},
	New: func(a model.Args) sched.Estimator { return &careful{Deviations: a.Number("deviations")} },
}

// Estimate implements sched.Estimator.
func (c *careful) Estimate(st *sched.Stage, class sched.ClassID) sched.Estimate {
	e := c.Mean.Estimate(st, class)
	e.Mean += sched.Time(c.Deviations * float64(e.StdDev))
	return e
}

// Size returns the job's tasks at the estimates of their stages. It is known once every stage has an estimate.
func (c *careful) Size(j *sched.Job) (work sched.Work, known bool) {
	known = true
	for _, st := range j.Stages {
		e := c.Estimate(st, 0)
		known = known && st.Total >= 0 && e.Mean > 0
		work.Add(st.Spec.PerTask.Times(int64(max(0, st.Total))), e.Mean)
	}
	return work, known
}
