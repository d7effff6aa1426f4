package model_test

import (
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/sched"
)

// oneByOne is a policy that starts one task in each Step, as long as one waits.
type oneByOne struct{}

func (oneByOne) Decide(p *sched.Plan) {
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			if n := p.First(st); st.Pending > 0 && n != nil {
				p.Launch(st, n)
				return
			}
		}
	}
}

// An estimator is told of each task that ends, and says what a task takes. Mean goes by the prior of the job's spec
// until the first task has ended.
func ExampleMean() {
	mean := &model.Mean{}
	core := sched.New(sched.Config{Policy: oneByOne{}, Estimator: mean, Can: sched.CanNameTasks})
	stage := sched.StageSpec{
		Tasks: 3, MaxAttempts: 4, Prior: time.Minute, PerTask: sched.Resources{sched.VCores: 1},
	}
	node := &sched.NodeSpec{Name: "n1", Capacity: sched.Resources{sched.VCores: 1}}
	actions := core.Step(0, []sched.Event{
		{Kind: sched.NodeJoined, Node: 1, Body: node},
		{Kind: sched.JobSubmitted, Job: 1, Body: &sched.JobSpec{Stages: []sched.StageSpec{stage}}},
	})
	st := core.Stage(sched.StageID{Job: 1})
	fmt.Println("before any has ended:", core.Estimate(st, 0).Mean)
	now := sched.Time(0)
	for _, took := range []sched.Time{10 * time.Second, 20 * time.Second} {
		now += took
		actions = core.Step(now, []sched.Event{{Kind: sched.AttemptDone, Attempt: actions[0].Attempt}})
	}
	fmt.Println("after tasks of 10 s and 20 s:", core.Estimate(st, 0).Mean)
	// Output:
	// before any has ended: 1m0s
	// after tasks of 10 s and 20 s: 15s
}

// Estimators are named as on the command line. The error says what is wrong and what would be right.
func ExampleRegistry_Parse() {
	for _, spec := range []string{"mean", "fspy:fit=best"} {
		_, card, err := model.All.Parse(spec, nil)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s: %s\n", spec, card.About)
	}
	// Output:
	// mean: the mean of a stage's own finished tasks
	// fspy:fit=best: must be equal or relative
}
