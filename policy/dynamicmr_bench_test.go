package policy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// slotLoop is a closed loop of jobs of maps and then reduces on map and reduce slots.
type slotLoop struct {
	loop
	queues int
	goals  sched.Time // deadlines of jobs are drawn like task times, times this; 0: there are none
}

// newSlotLoop has as many jobs as nodes, of 4 map slots and 1 reduce slot each. One task in so many takes five times as
// long; 0: none does. Caches are dropped when forget says so; nil: never.
func newSlotLoop(n, queues, oneIn int, p sched.Policy, forget func() bool) *slotLoop {
	l := &slotLoop{
		loop: loop{
			core: sched.New(sched.Config{Policy: p, Can: sched.CanKill | sched.CanSuspend | sched.CanNameTasks,
				Forget: forget}),
		},
		queues: queues,
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 1 << 16 {
		t := 25e9 * math.Exp(r.NormFloat64()*0.5-0.125)
		if oneIn > 0 && i%oneIn == 0 {
			t *= 5
		}
		l.times = append(l.times, sched.Time(t))
		l.tasks = append(l.tasks, int32(math.Exp(r.NormFloat64()*1.5+3.5))+1)
	}
	for i := range n {
		l.events = append(l.events, sched.Event{Kind: sched.NodeJoined, Node: sched.NodeID(i + 1),
			Body: &sched.NodeSpec{Class: "c", Capacity: sched.Resources{sched.MapSlots: 4, sched.ReduceSlots: 1}}})
	}
	l.do(l.core.Step(0, l.events))
	for range n {
		l.submit()
	}
	return l
}

func (l *slotLoop) submit() {
	l.newest++
	n := l.tasks[int(l.newest)&(1<<16-1)]
	spec := &sched.JobSpec{Queue: fmt.Sprint("q", int(l.newest)%l.queues), Stages: []sched.StageSpec{
		{Kind: sched.Map, PerTask: sched.Resources{sched.MapSlots: 1}, Tasks: n, Prior: 25e9, MaxAttempts: 4},
		{
			Kind:        sched.Reduce,
			PerTask:     sched.Resources{sched.ReduceSlots: 1},
			Tasks:       n/4 + 1,
			Prior:       25e9,
			MaxAttempts: 4,
			After:       []sched.Dep{{Stage: 0, Part: 1}},
		},
	}}
	if l.goals > 0 {
		spec.Deadline = l.goals * l.times[int(l.newest)&(1<<16-1)]
	}
	l.do(l.core.Step(l.core.Now, []sched.Event{{Kind: sched.JobSubmitted, Job: l.newest, Body: spec}}))
}

// step is one completion, or the end of an attempt that was killed, after the wakes before it.
func (l *slotLoop) step() {
	for l.wake > 0 && (len(l.due) == 0 || l.wake <= l.due[0].at) {
		at := l.wake
		l.wake = 0
		l.do(l.core.Step(at, nil))
	}
	e := l.due.Pop()
	l.events = append(l.events[:0], sched.Event{Kind: sched.AttemptDone, Attempt: e.id})
	acts := l.core.Step(e.at, l.events)
	l.do(acts)
	for _, a := range acts {
		if a.Kind == sched.Kill {
			l.due.Push(ending{l.core.Now, a.Attempt})
		}
	}
	if n := len(l.core.Events); l.core.Events[n-1].Kind == sched.JobEnded {
		l.submit()
	}
}

// BenchmarkDynamicMR is the cost of one completion, core included, beside that of the order beneath on its own; looks
// for stragglers are in it, and second attempts where they are found.
func BenchmarkDynamicMR(b *testing.B) {
	for _, spec := range []string{"fair", "dynamicmr:sepb=off", "dynamicmr", "dynamicmr:sepb=queue",
		"dynamicmr:checked=0", "dynamicmr:base=fifo", "dynamicmr:base=srpt", "dynamicmr:dhsa=pd",
		"late{dynamicmr:sepb=off}"} {
		for _, n := range []int{1000, 10000} {
			for _, queues := range []int{1, 100, 1000} {
				for _, oneIn := range []int{0, 20} {
					b.Run(
						fmt.Sprintf("%s/jobs=%d/queues=%d/stragglers=%d", spec, n, queues, oneIn),
						func(b *testing.B) {
							p, _, err := Parse(spec)
							if err != nil {
								b.Fatal(err)
							}
							l := newSlotLoop(n, queues, oneIn, p, nil)
							for range 10 * n {
								l.step()
							}
							start := cpu()
							for b.Loop() {
								l.step()
							}
							b.ReportMetric(float64(cpu()-start)/float64(b.N), "cpu-ns/op")
						},
					)
				}
			}
		}
	}
}
