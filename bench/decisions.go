package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"syscall"
	"time"

	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// decisionSizes are how many nodes there are, and as many jobs.
var decisionSizes = []int{1_000, 10_000, 100_000}

// decisionTime is for how long one figure is measured, and decisionSetUp how long getting there may take.
const (
	decisionTime  = time.Second
	decisionSetUp = 15 * time.Second
)

// manyQueues and burst are the sizes of the two other cases, on decisionSizes[0] nodes: how many queues the jobs are
// in, and how many jobs come at one instant, which is tried burstTries times.
const (
	manyQueues = 1_000
	burst      = 20_000
	burstTries = 5
)

// runDecisions measures what one completion costs the core and a policy, launches in the place of what ended included,
// in a cluster that is always full: when a job ends, another arrives. The heap that such a loop needs is in the time;
// the first line has nothing else.
func runDecisions(ctx context.Context, b *bench) error {
	for _, n := range decisionSizes {
		b.rows = append(b.rows, decided("(heap alone)", scale{nodes: n}, func(end time.Time) (steps int, ok bool) {
			return idle(n, end), true
		}))
	}
	for _, name := range b.measured() {
		for _, n := range decisionSizes {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !b.decisions(name, scale{n, 1}) {
				break
			}
		}
		b.decisions(name, scale{decisionSizes[0], manyQueues})
		b.atOnce(name)
	}
	return nil
}

// measured returns the specs of the policies whose decisions are measured: those asked for, or all.
func (b *bench) measured() (specs []string) {
	if len(b.policies) > 0 {
		return b.policies
	}
	for _, name := range policy.All.Names() {
		if policy.All[name].Card.Wraps {
			name += "{fifo}"
		}
		specs = append(specs, name)
	}
	return specs
}

// A scale is how many nodes and jobs there are, and in how many queues.
type scale struct{ nodes, queues int }

func (s scale) String() string {
	if s.queues > 1 {
		return fmt.Sprintf("%d nodes, %d queues", s.nodes, s.queues)
	}
	return fmt.Sprintf("%d nodes", s.nodes)
}

// newConfig is that of a core under a policy.
func newConfig(spec string) sched.Config {
	p, _, err := policy.Parse(spec)
	if err != nil {
		panic(err) // specs were checked
	}
	return sched.Config{Policy: p, Estimator: &model.Mean{}, Can: sim.Powers}
}

// decisions adds the row of one policy at one scale; false: it takes too long to get there.
func (b *bench) decisions(spec string, s scale) bool {
	l, ok := newLoad(newConfig(spec), s)
	r := row{Case: s.String(), Who: spec, Unit: "µs", Skipped: fmt.Sprintf("over %v to fill", decisionSetUp)}
	if ok {
		r = decided(spec, s, l.until)
	}
	b.say("%s, %v: %s µs%s", spec, s, number(r.Value.Median), r.Skipped)
	b.rows = append(b.rows, r)
	return ok
}

// atOnce adds the row of one policy for many jobs at one instant. Each try has a cluster of its own and begins without
// garbage: a collection in the time of some of them would be most of the figure.
func (b *bench) atOnce(spec string) {
	var costs []float64
	for range burstTries {
		l := newEmptyLoad(newConfig(spec), decisionSizes[0])
		for range burst {
			l.submit(l.chance.task(), 0)
		}
		runtime.GC()
		before := processorTime()
		l.step(l.core.Now)
		costs = append(costs, (processorTime()-before).Seconds()*1e6/burst)
	}
	r := row{Case: fmt.Sprintf("%d at once", burst), Who: spec, Unit: "µs", Value: spreadOver(costs)}
	b.say("%s, %d jobs at once: %s µs a job", spec, burst, number(r.Value.Median))
	b.rows = append(b.rows, r)
}

// decided calls a loop until an instant, and makes a row of the processor time of a step.
func decided(who string, s scale, until func(end time.Time) (steps int, ok bool)) row {
	before := processorTime()
	steps, ok := until(time.Now().Add(decisionTime))
	if !ok {
		return row{Case: s.String(), Who: who, Unit: "µs", Skipped: "nothing runs any more"}
	}
	each := (processorTime() - before).Seconds() * 1e6 / float64(max(steps, 1))
	return row{Case: s.String(), Who: who, Unit: "µs", Value: spread{each, each, each, 1}}
}

// processorTime is that of this process: what other processes do does not change it much.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A chance has lognormal task times of mean 25 s and numbers of tasks of median 90, drawn once.
type chance struct {
	times [1 << 16]sched.Time
	tasks [1 << 16]int32
	draws uint32
}

func newChance() *chance {
	c := &chance{}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range c.times {
		c.times[i] = sched.Time(25e9 * math.Exp(r.NormFloat64()*0.5-0.125))
		c.tasks[i] = int32(math.Exp(r.NormFloat64()*1.5+4.5)) + 1
	}
	return c
}

func (c *chance) task() int32 {
	c.draws++
	return c.tasks[c.draws&(1<<16-1)]
}

func (c *chance) time() sched.Time {
	c.draws++
	return c.times[c.draws&(1<<16-1)]
}

// idle counts, until end, how many times the heap of all tasks of so many nodes can be popped and pushed. That is the
// cost of the bench itself, without a core.
func idle(nodes int, end time.Time) (steps int) {
	var h heap
	c := newChance()
	for i := range 5 * nodes {
		h.push(ending{c.time(), uint64(i)})
	}
	for ; steps&1023 != 0 || time.Now().Before(end); steps++ {
		e := h.pop()
		h.push(ending{e.at + c.time(), e.id})
	}
	return steps
}

// A load is a cluster that is always full: the least engine that a policy can live in.
type load struct {
	core    *sched.Core
	running heap
	actions sched.Dispatcher
	tries   []try // by the row of the AttemptID
	chance  *chance
	newest  sched.JobID
	wake    sched.Time    // 0: not asked for
	events  []sched.Event // to be given
	users   [10]string    // whose jobs they are
	queues  int           // which they are in, in turns
}

// A try is an attempt: when it ends, or, where it is suspended, how much is left.
type try struct {
	id         sched.AttemptID
	ends, left sched.Time
}

// newEmptyLoad is a cluster of n nodes.
func newEmptyLoad(config sched.Config, n int) *load {
	l := &load{core: sched.New(config), chance: newChance(), queues: 1}
	l.actions = l.dispatcher()
	for i := range l.users {
		l.users[i] = fmt.Sprint("user", i)
	}
	for i := range n {
		l.events = append(l.events, sched.Event{Kind: sched.NodeJoined, Node: sched.NodeID(i + 1),
			Body: &sched.NodeSpec{Class: "node", Capacity: sched.Resources{sched.MapSlots: 5}}})
	}
	l.step(0)
	return l
}

// newLoad fills a cluster with as many jobs as nodes; ok is false where that takes too long.
func newLoad(config sched.Config, s scale) (l *load, ok bool) {
	end := time.Now().Add(decisionSetUp)
	l = newEmptyLoad(config, s.nodes)
	l.queues = s.queues
	for range s.nodes {
		l.submit(l.chance.task(), 0)
	}
	l.step(l.core.Now)
	if time.Now().After(end) {
		return l, false
	}
	_, ok = l.until(time.Now().Add(decisionTime / 4)) // what is done once is done
	return l, ok
}

// submit adds the arrival of a job, which may be a sample of another.
func (l *load) submit(tasks int32, of sched.JobID) {
	l.newest++
	spec := &sched.JobSpec{
		Queue:  fmt.Sprint("q", int(l.newest)%l.queues),
		User:   l.users[int(l.newest)%len(l.users)],
		Probes: of,
		Stages: []sched.StageSpec{{Kind: sched.Map,
			PerTask: sched.Resources{
				sched.MapSlots: 1,
			}, Tasks: tasks, Prior: 25e9, MaxAttempts: sched.DefaultMaxAttempts}},
	}
	l.events = append(l.events, sched.Event{Kind: sched.JobSubmitted, Job: l.newest, Body: spec})
}

// step gives the core what has happened, and then what follows from that, until nothing does.
func (l *load) step(now sched.Time) {
	for again := true; again; again = len(l.events) > 0 {
		actions := l.core.Step(now, l.events)
		l.events = l.events[:0]
		for i := range l.core.Events {
			e := &l.core.Events[i]
			if e.Kind == sched.JobEnded && l.core.Job(e.Job).Spec.Probes == 0 {
				l.submit(l.chance.task(), 0)
			}
		}
		l.actions.Do(actions)
	}
}

// dispatcher returns what the load does for each kind of action.
func (l *load) dispatcher() sched.Dispatcher {
	return sched.Dispatcher{
		Launch: func(a *sched.Action) {
			for len(l.tries) <= int(a.Attempt.Row()) {
				l.tries = append(l.tries, try{})
			}
			l.run(a.Attempt, l.core.Now+l.chance.time())
		},
		Kill: func(id sched.AttemptID, _ sched.Time) {
			l.tries[id.Row()] = try{}
			l.events = append(l.events, sched.Event{Kind: sched.AttemptDone, Outcome: sched.Killed, Attempt: id})
		},
		Suspend: func(id sched.AttemptID) {
			l.tries[id.Row()] = try{id: id, left: l.tries[id.Row()].ends - l.core.Now}
			l.events = append(l.events, sched.Event{Kind: sched.AttemptSuspended, Attempt: id})
		},
		Resume: func(id sched.AttemptID) { l.run(id, l.core.Now+l.tries[id.Row()].left) },
		Probe:  func(job sched.JobID) { l.submit(1, job) },
		Wake:   func(at sched.Time) { l.wake = at },
	}
}

// run lets an attempt run until an instant.
func (l *load) run(id sched.AttemptID, ends sched.Time) {
	l.tries[id.Row()] = try{id: id, ends: ends}
	l.running.push(ending{ends, uint64(id)})
}

// until runs completions, each with what is launched in its place, until end by the machine's clock. It looks at that
// clock after every 16 completions, so it runs at least 16. steps is how many it ran. ok is false if it stopped before
// end, because no attempt runs any more and the policy has not asked to be woken.
func (l *load) until(end time.Time) (steps int, ok bool) {
	for steps == 0 || steps&15 != 0 || time.Now().Before(end) {
		e, ok := l.next()
		if !ok {
			return steps, false
		}
		l.complete(e)
		steps++
	}
	return steps, true
}

// next returns the next completion, after the wakes before it; ok is false where nothing runs any more.
func (l *load) next() (e ending, ok bool) {
	for len(l.running) > 0 || l.wake > 0 {
		if at := l.wake; at > 0 && (len(l.running) == 0 || at <= l.running[0].at) {
			l.wake = 0
			l.step(max(at, l.core.Now))
			continue
		}
		e = l.running.pop()
		if t := &l.tries[sched.AttemptID(e.id).Row()]; uint64(t.id) == e.id && t.ends == e.at {
			return e, true
		} // else it was ended or suspended meanwhile
	}
	return e, false
}

// complete runs a completion, and what follows from it.
func (l *load) complete(e ending) {
	l.events = append(l.events, sched.Event{Kind: sched.AttemptDone, Attempt: sched.AttemptID(e.id)})
	l.step(e.at)
}
