package policy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/priority"
	"github.com/sojourn-sched/sojourn/sched"
)

// A closed loop: attempts that end, and always the same number of jobs; when one ends, the next comes.
type loop struct {
	core   *sched.Core
	due    priority.Queue[ending]
	times  []sched.Time
	draws  uint32
	newest sched.JobID
	tasks  []int32
	events []sched.Event
	wake   sched.Time // that the policy asked for; 0: none
}

type ending struct {
	at sched.Time
	id sched.AttemptID
}

// Before reports whether e ends before other.
func (e ending) Before(other ending) bool { return e.at < other.at }

func (l *loop) draw() sched.Time {
	l.draws++
	return l.times[l.draws&(1<<16-1)]
}

func newLoop(nodes, jobs int, p sched.Policy, queues int) *loop {
	l := &loop{core: sched.New(sched.Config{Policy: p, Can: sched.CanKill | sched.CanSuspend | sched.CanNameTasks})}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1 << 16 {
		l.times = append(l.times, sched.Time(25e9*math.Exp(r.NormFloat64()*0.5-0.125)))
		l.tasks = append(l.tasks, int32(math.Exp(r.NormFloat64()*1.5+4.5))+1)
	}
	for i := range nodes {
		l.events = append(l.events, sched.Event{Kind: sched.NodeJoined, Node: sched.NodeID(i + 1),
			Body: &sched.NodeSpec{Class: "c", Capacity: sched.Resources{sched.MapSlots: 5}}})
	}
	l.do(l.core.Step(0, l.events))
	for range jobs {
		l.submit(queues)
	}
	return l
}

func (l *loop) submit(queues int) {
	l.newest++
	spec := &sched.JobSpec{Queue: fmt.Sprint("q", int(l.newest)%queues), Stages: []sched.StageSpec{{Kind: sched.Map,
		PerTask: sched.Resources{
			sched.MapSlots: 1,
		}, Tasks: l.tasks[int(l.newest)&(1<<16-1)], Prior: 25e9, MaxAttempts: 4}}}
	l.do(l.core.Step(l.core.Now, []sched.Event{{Kind: sched.JobSubmitted, Job: l.newest, Body: spec}}))
}

func (l *loop) do(acts []sched.Action) {
	for i := range acts {
		if acts[i].Kind == sched.Launch {
			l.due.Push(ending{l.core.Now + l.draw(), acts[i].Attempt})
		}
		if acts[i].Kind == sched.Wake {
			l.wake = acts[i].At
		}
	}
}

// step is one completion.
func (l *loop) step(queues int) {
	e := l.due.Pop()
	l.events = append(l.events[:0], sched.Event{Kind: sched.AttemptDone, Attempt: e.id})
	l.do(l.core.Step(e.at, l.events))
	if n := len(l.core.Events); l.core.Events[n-1].Kind == sched.JobEnded {
		l.submit(queues)
	}
}

// cpu returns the processor time of this process, which a busy machine does not stretch.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkDecide is the cost of one completion, core included, for as many jobs as nodes of 5 slots each.
func BenchmarkDecide(b *testing.B) {
	for _, spec := range []string{"fifo", "srpt", "fair", "psbs"} {
		for _, n := range []int{600, 1000, 10000, 100000} {
			b.Run(fmt.Sprintf("%s/nodes=%d", spec, n), func(b *testing.B) {
				p, _, err := Parse(spec)
				if err != nil {
					b.Fatal(err)
				}
				l := newLoop(n, n, p, 1)
				b.ReportAllocs()
				start := cpu()
				for b.Loop() {
					l.step(1)
				}
				b.ReportMetric(float64(cpu()-start)/float64(b.N), "cpu-ns/op")
			})
		}
	}
	for _, queues := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("fair/nodes=1000/queues=%d", queues), func(b *testing.B) {
			p, _, _ := Parse("fair")
			l := newLoop(1000, 1000, p, queues)
			start := cpu()
			for b.Loop() {
				l.step(queues)
			}
			b.ReportMetric(float64(cpu()-start)/float64(b.N), "cpu-ns/op")
		})
	}
}
