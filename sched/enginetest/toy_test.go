package enginetest_test

import (
	"container/heap"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
	"github.com/sojourn-sched/sojourn/sched/enginetest"
)

// A toy is the smallest engine that can do everything but probe: a virtual clock, and tasks that take their stage's
// Prior. Read it from run down.
type toy struct {
	core  *sched.Core
	hands sched.Dispatcher
	now   sched.Time
	due   due                         // what will happen, by instant
	wake  sched.Time                  // when the core asked to be woken; zero: not
	runs  map[sched.AttemptID]*sprint // attempts that have not ended
	order int
}

// A sprint is an attempt of the toy.
type sprint struct {
	left  sched.Time // work that is left when it started or was resumed
	since sched.Time // that instant
	turn  int        // how often it was stopped: an end that was planned before is void
}

// An item is a fact that the core learns at an instant, or the planned end of an attempt.
type item struct {
	at    sched.Time
	order int // of equal instants: the one planned first
	event sched.Event
	turn  int // of AttemptDone, with outcome OK
}

type due []item

func (d due) Len() int { return len(d) }
func (d due) Less(i, j int) bool {
	return d[i].at < d[j].at || d[i].at == d[j].at && d[i].order < d[j].order
}
func (d due) Swap(i, j int) { d[i], d[j] = d[j], d[i] }
func (d *due) Push(x any)   { *d = append(*d, x.(item)) }
func (d *due) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}

// run runs jobs on nodes until all have ended. One turn of the loop is one instant: the toy collects what happens,
// tells the core by Step, and does what the core wants.
func run(config sched.Config, nodes []sched.NodeSpec, jobs []*sched.JobSpec) *sched.Core {
	e := &toy{runs: map[sched.AttemptID]*sprint{}}
	e.hands = sched.Dispatcher{
		Launch: func(a *sched.Action) {
			e.runs[a.Attempt] = &sprint{left: e.core.Stage(a.Stage).Spec.Prior}
			e.start(a.Attempt)
		},
		Kill: func(id sched.AttemptID, grace sched.Time) {
			e.plan(e.now+grace, item{event: sched.Event{Kind: sched.AttemptDone, Outcome: sched.Killed, Attempt: id}})
		},
		Suspend: func(id sched.AttemptID) {
			s := e.runs[id]
			s.left -= e.now - s.since
			s.turn++
			e.plan(e.now, item{event: sched.Event{Kind: sched.AttemptSuspended, Attempt: id}})
		},
		Resume: e.start,
		Resize: func(id sched.AttemptID, _ sched.ShapeID) {
			e.plan(e.now, item{event: sched.Event{Kind: sched.AttemptResized, Attempt: id}})
		},
		Wake: func(at sched.Time) { e.wake = at },
	}
	config.Can = e.hands.Powers() | sched.CanNameTasks
	e.core = sched.New(config)
	for i := range nodes {
		e.plan(0, item{event: sched.Event{Kind: sched.NodeJoined, Node: sched.NodeID(i + 1), Body: &nodes[i]}})
	}
	for i, spec := range jobs {
		e.plan(spec.Submit, item{event: sched.Event{Kind: sched.JobSubmitted, Job: sched.JobID(i + 1), Body: spec}})
	}
	for e.next() {
		e.hands.Do(e.core.Step(e.now, e.gather()))
	}
	return e.core
}

// start lets an attempt run for the work that is left.
func (e *toy) start(id sched.AttemptID) {
	s := e.runs[id]
	s.since = e.now
	e.plan(e.now+s.left, item{event: sched.Event{Kind: sched.AttemptDone, Attempt: id}, turn: s.turn})
}

func (e *toy) plan(at sched.Time, it item) {
	e.order++
	it.at, it.order = at, e.order
	heap.Push(&e.due, it)
}

// next goes on to the next instant, and reports whether there is one.
func (e *toy) next() bool {
	switch {
	case len(e.due) > 0 && (e.wake == 0 || e.due[0].at <= e.wake):
		e.now = e.due[0].at
	case e.wake > 0:
		e.now = e.wake
	default:
		return false
	}
	if e.now >= e.wake {
		e.wake = 0
	}
	return true
}

// gather takes what happens now. What is planned for an attempt that has ended, or has been stopped since, is left out;
// the core would ignore the former, but not the latter.
func (e *toy) gather() (events []sched.Event) {
	for len(e.due) > 0 && e.due[0].at <= e.now {
		it := heap.Pop(&e.due).(item)
		if s := e.runs[it.event.Attempt]; it.event.Attempt != 0 {
			if s == nil || it.event.Kind == sched.AttemptDone && it.event.Outcome == sched.OK && it.turn != s.turn {
				continue
			}
			if it.event.Kind == sched.AttemptDone {
				delete(e.runs, it.event.Attempt)
			}
		}
		events = append(events, it.event)
	}
	return events
}

// load is two jobs of 10 maps on two nodes with room for three maps each.
func load() ([]sched.NodeSpec, []*sched.JobSpec) {
	node := sched.NodeSpec{Name: "n", Class: "c", Capacity: sched.Resources{sched.Memory: 6, sched.VCores: 6}}
	job := &sched.JobSpec{Stages: []sched.StageSpec{{
		PerTask: sched.Resources{sched.Memory: 2, sched.VCores: 2}, Tasks: 10, Prior: 10 * time.Second, MaxAttempts: 4,
	}}}
	return []sched.NodeSpec{node, node}, []*sched.JobSpec{job, job}
}

func TestToy(t *testing.T) {
	enginetest.Check(t, enginetest.Kit{Run: func(_ *testing.T, config sched.Config) {
		nodes, jobs := load()
		run(config, nodes, jobs)
	}})
}

// Six at a time of twenty tasks of 10 s: four waves.
func TestToyTakesItsTime(t *testing.T) {
	nodes, jobs := load()
	if c := run(sched.Config{Policy: launchAll{}}, nodes, jobs); c.Now != 40*time.Second || c.LiveJobs() != 0 {
		t.Errorf("ends at %v with %d jobs left, want 40s and none", c.Now, c.LiveJobs())
	}
}

// launchAll launches whatever has room, by submission.
type launchAll struct{}

func (launchAll) Decide(p *sched.Plan) {
	for j := range p.Jobs() {
		for n := p.First(j.Stages[0]); n != nil && j.Stages[0].Pending > 0; n = p.First(j.Stages[0]) {
			p.Launch(j.Stages[0], n)
		}
	}
}
