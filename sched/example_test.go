package sched_test

import (
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// largest starts tasks of the job with the most waiting tasks first. An Index keeps the stages in order: it sorts a
// stage again when the stage changes, and no other.
type largest struct{ order sched.Index }

func newLargest() *largest {
	p := &largest{}
	p.order.Key = func(_ *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) {
		return sched.Key{Value: -float64(st.Pending)}, st.Pending > 0
	}
	return p
}

// Decide starts tasks until none fits.
func (l *largest) Decide(p *sched.Plan) {
	for {
		l.order.Sync(p)
		st := l.order.First()
		if st == nil {
			return
		}
		if !p.Launch(st, p.First(st)) {
			l.order.Skip(st)
		}
	}
}

// An engine in one turn: it tells the core what happened at an instant, and a Dispatcher carries out what the core
// wants. The node has room for three of the five tasks.
func ExampleCore_Step() {
	engine := sched.Dispatcher{Launch: func(a *sched.Action) {
		fmt.Printf("start task %d of job %d on node %d\n", a.Task, a.Stage.Job, a.Node)
	}}
	core := sched.New(sched.Config{Policy: newLargest(), Can: engine.Powers() | sched.CanNameTasks})
	job := func(id sched.JobID, tasks int32) sched.Event {
		stage := sched.StageSpec{Tasks: tasks, MaxAttempts: 4, PerTask: sched.Resources{sched.VCores: 1}}
		return sched.Event{
			Kind: sched.JobSubmitted, Job: id, Body: &sched.JobSpec{Stages: []sched.StageSpec{stage}},
		}
	}
	node := &sched.NodeSpec{Name: "n1", Capacity: sched.Resources{sched.VCores: 3}}
	engine.Do(core.Step(0, []sched.Event{
		{Kind: sched.NodeJoined, Node: 1, Body: node},
		job(1, 2),
		job(2, 3),
	}))
	// Output:
	// start task 1 of job 2 on node 1
	// start task 1 of job 1 on node 1
	// start task 2 of job 2 on node 1
}

// What a cluster offers over a day: 100 cores. A service takes 60 from 8 to 20 o'clock.
func ExampleForecast() {
	cores := func(n int64) sched.Resources { return sched.Resources{sched.VCores: n} }
	f, err := sched.NewForecast(24*time.Hour,
		sched.Supply{From: 0, Capacity: cores(100)},
		sched.Supply{From: 8 * time.Hour, Capacity: cores(40)},
		sched.Supply{From: 20 * time.Hour, Capacity: cores(100)})
	if err != nil {
		panic(err)
	}
	fmt.Println(f.At(9 * time.Hour)[sched.VCores], "cores at 9 o'clock of the first day")
	fmt.Println(f.At(45 * time.Hour)[sched.VCores], "cores at 21 o'clock of the second")
	// Output:
	// 40 cores at 9 o'clock of the first day
	// 100 cores at 21 o'clock of the second
}
