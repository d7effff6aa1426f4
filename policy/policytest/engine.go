package policytest

import (
	"container/heap"
	"fmt"
	"math/rand/v2"

	"github.com/sojourn-sched/sojourn/sched"
)

// A Setup is a cluster, the jobs that come to it, and what happens to both: all that a run depends on besides the
// policy.
type Setup struct {
	Nodes  []sched.NodeSpec
	Queues []*sched.QueueSpec
	Jobs   []*sched.JobSpec
	// Take says how long an attempt takes once its input is there, and how it ends.
	Take    func(Try) (sched.Time, sched.Outcome)
	Trouble []Trouble
	Can     sched.Powers // what the engine can do beyond launching
	// Estimator makes the estimator of the core that the function core returns; nil: the estimates are the specs' own.
	Estimator func(core func() *sched.Core) sched.Estimator
	Forecast  *sched.Forecast // what the policy is told that nodes will offer; nil: nothing
	Heartbeat sched.Time      // between two reports of a node; zero: nodes are always open
	Progress  sched.Time      // between two reports of an attempt; zero: none
	Lag       sched.Time      // until a Suspend has happened
	// Patience is how long an attempt waits for input before it gives way to the tasks that make it; zero: for ever.
	Patience sched.Time
}

// A Try is one attempt: the Nth of its task, from 0, on a node.
type Try struct {
	Job   *sched.JobSpec
	Stage int32 // index in the job, from 0
	Task  int32 // from 1
	Nth   int
	Node  *sched.Node
	Class string // of Node
	Holds sched.Resources
}

// Trouble is a node that is lost, or returns, or comes to offer something else: its devices have failed, or a service
// beside it takes more. Or the application of the oldest attempt that runs there asks for another amount.
type Trouble struct {
	At     sched.Time
	Node   sched.NodeID
	Back   bool
	Offers *sched.Resources // from then on; nil: the node is lost or returns
	Asks   Eighths          // of what the attempt holds, as far as the node has them free; zero: the node changes
}

// Eighths say how much an application asks for, as a multiple of what an attempt holds: 8 is as much, 4 half of it.
type Eighths int64

// A Result is what came of a run.
type Result struct {
	Log   []Entry          // all actions, in their order
	Jobs  []*sched.JobSpec // by JobID-1, probes included
	Ends  map[*sched.JobSpec]Ended
	Steps int
	Core  *sched.Core // as it is at the end
}

// An Entry is an action and when it was asked for. Wakes are left out: they are how a policy asks, not what it decides.
type Entry struct {
	At           sched.Time
	sched.Action                 // its Shape is zero, as the ID need not be valid when the run has ended
	Holds        sched.Resources // of a launch and a resize: the amount of the shape
}

// entryOf returns the entry of an action in the last Step of the core whose view is v.
func entryOf(v *sched.View, a sched.Action) Entry {
	e := Entry{v.Now, a, v.Amount(a.Shape)}
	e.Shape = 0
	return e
}

// Ended says when a job ended, and how.
type Ended struct {
	At      sched.Time
	Outcome sched.Outcome
}

// knobs are what a run may be disturbed with; the zero value disturbs nothing.
type knobs struct {
	forget  *rand.Rand            // drops caches
	shuffle *rand.Rand            // puts the events of an instant into another order
	extra   *rand.Rand            // asks at odd instants
	after   func(*engine)         // is called after each Step
	swap    func(sched.Estimator) // is given the estimator, to put through JSON now and then
}

// mostSteps bounds a run: a load that has not ended by then never will.
const mostSteps = 200_000

// An engine runs a Setup to its end.
type engine struct {
	Setup
	core    *sched.Core
	actions sched.Dispatcher
	knobs   knobs
	due     dueHeap
	seq     int
	tries   map[sched.AttemptID]*try
	nth     map[Try]int // attempts so far, by Try without Nth and Node
	newest  sched.JobID
	wake    sched.Time
	left    int // jobs that have not ended, or not come yet
	events  []sched.Event
	acts    []sched.Action // of the last Step, lent by the core
	result  Result
}

// A try is an attempt as the engine sees it.
type try struct {
	attempt *sched.Attempt
	take    sched.Time // what is left of it, once its input is there
	outcome sched.Outcome
	ends    sched.Time // zero: it waits for input, or is suspended
	start   sched.Time // of what it does since it last went on
	total   sched.Time
	parked  bool
	over    bool // it has been said how it ended
}

// Run runs a setup under a policy to its end. An error says what kept it from ending.
func Run(s Setup, p sched.Policy) (Result, error) { return run(s, p, knobs{}) }

// run is Run, disturbed as k says.
func run(s Setup, p sched.Policy, k knobs) (Result, error) {
	e := &engine{Setup: s, knobs: k, tries: map[sched.AttemptID]*try{}, nth: map[Try]int{}, left: len(s.Jobs)}
	e.result.Ends = map[*sched.JobSpec]Ended{}
	config := sched.Config{Policy: p, Queues: s.Queues, Can: s.Can, Heartbeats: s.Heartbeat > 0, Forecast: s.Forecast}
	if s.Estimator != nil {
		config.Estimator = s.Estimator(func() *sched.Core { return e.core })
	}
	if k.forget != nil {
		config.Forget = func() bool { return k.forget.IntN(4) == 0 }
	}
	e.core, e.actions = sched.New(config), e.dispatcher()
	e.result.Core = e.core
	for i := range s.Nodes {
		e.push(0, due{event: sched.Event{Kind: sched.NodeJoined, Node: sched.NodeID(i + 1), Body: &s.Nodes[i]}})
		if s.Heartbeat > 0 {
			e.push(s.Heartbeat*sched.Time(i)/sched.Time(len(s.Nodes)),
				due{event: sched.Event{Kind: sched.NodeReported, Node: sched.NodeID(i + 1)}})
		}
	}
	for _, j := range s.Jobs {
		e.push(j.Submit, due{event: sched.Event{Kind: sched.JobSubmitted, Body: j}})
	}
	for _, t := range s.Trouble {
		ev := sched.Event{Kind: sched.NodeLost, Node: t.Node}
		switch {
		case t.Asks > 0:
			ev = sched.Event{Kind: sched.ResizeAsked, Node: t.Node, Body: t.Asks}
		case t.Offers != nil:
			spec := s.Nodes[t.Node-1]
			spec.Capacity = *t.Offers
			ev = sched.Event{Kind: sched.NodeReported, Node: t.Node, Body: &spec}
		case t.Back:
			ev = sched.Event{Kind: sched.NodeJoined, Node: t.Node, Body: &s.Nodes[t.Node-1]}
		}
		e.push(t.At, due{event: ev})
	}
	for e.left > 0 || e.core.LiveJobs() > 0 {
		if err := e.step(config.Estimator); err != nil {
			return e.result, err
		}
	}
	return e.result, nil
}

// A due is an event to come, or, with check set, a look at whether an attempt has waited too long.
type due struct {
	at    sched.Time
	seq   int
	event sched.Event
	check bool
}

type dueHeap []due

func (h dueHeap) Len() int { return len(h) }
func (h dueHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h dueHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)   { *h = append(*h, x.(due)) }
func (h *dueHeap) Pop() any {
	o := *h
	d := o[len(o)-1]
	*h = o[:len(o)-1]
	return d
}

func (e *engine) push(at sched.Time, d due) {
	e.seq++
	d.at, d.seq = at, e.seq
	heap.Push(&e.due, d)
}

// step runs the next instant.
func (e *engine) step(est sched.Estimator) error {
	if e.result.Steps++; e.result.Steps > mostSteps {
		return fmt.Errorf("not at its end after %d steps, at %v: %s", mostSteps, e.core.Now, e.stuck())
	}
	if len(e.due) == 0 && e.wake == 0 {
		return fmt.Errorf("nothing happens any more after %v: %s", e.core.Now, e.stuck())
	}
	now := e.wake
	if len(e.due) > 0 && (now == 0 || e.due[0].at < now) {
		now = e.due[0].at
	}
	if k := e.knobs.extra; k != nil && now > e.core.Now+1 && k.IntN(3) == 0 {
		now = e.core.Now + 1 + sched.Time(k.Int64N(int64(now-e.core.Now-1)))
	}
	e.events = e.events[:0]
	for len(e.due) > 0 && e.due[0].at <= now {
		e.happen(now, heap.Pop(&e.due).(due))
	}
	if k := e.knobs.shuffle; k != nil {
		k.Shuffle(len(e.events), func(i, j int) { e.events[i], e.events[j] = e.events[j], e.events[i] })
	}
	if e.wake <= now {
		e.wake = 0
	}
	if e.knobs.swap != nil && est != nil {
		e.knobs.swap(est)
	}
	acts := e.core.Step(now, e.events)
	e.acts = acts
	for _, ev := range e.core.Events {
		switch ev.Kind {
		case sched.JobEnded:
			j := e.core.Job(ev.Job).Spec
			e.result.Ends[j] = Ended{now, ev.Outcome}
			if j.Probes == 0 {
				e.left--
			}
		case sched.AttemptDone:
			delete(e.tries, ev.Attempt)
			if j := e.core.Job(ev.Job); j != nil {
				e.feed(now, j)
			}
		}
	}
	e.actions.Do(acts)
	for _, a := range acts {
		if a.Kind != sched.Wake {
			e.result.Log = append(e.result.Log, entryOf(&e.core.View, a))
		}
	}
	if e.knobs.after != nil {
		e.knobs.after(e)
	}
	return nil
}

// happen adds what is due to the events of this instant, unless it has been overtaken.
func (e *engine) happen(now sched.Time, d due) {
	ev := d.event
	t := e.tries[ev.Attempt]
	switch ev.Kind {
	case sched.JobSubmitted:
		e.newest++
		ev.Job = e.newest
		e.result.Jobs = append(e.result.Jobs, ev.Body.(*sched.JobSpec))
	case sched.NodeReported:
		if ev.Body != nil {
			if int(ev.Node) <= len(e.core.Nodes) && e.core.Node(ev.Node).Lost {
				return
			}
			break // also in the instant in which the node joins
		}
		if e.left > 0 || e.core.LiveJobs() > 0 {
			e.push(now+e.Heartbeat, due{event: ev})
		}
	case sched.AttemptDone:
		switch {
		case t == nil || t.over:
			return
		case d.check:
			if t.ends != 0 || t.parked || !e.starves(t) {
				e.push(now+e.Patience, d)
				return
			}
		case ev.Outcome != sched.Killed && t.ends != now:
			return
		}
		ev.Job = t.attempt.Stage.ID.Job
		t.ends, t.over = 0, true
	case sched.AttemptProgress:
		if t == nil || t.ends == 0 {
			return
		}
		ev.Progress = float32(1 - float64(t.ends-now)/float64(t.total))
		e.push(now+e.Progress, due{event: ev})
	case sched.ResizeAsked:
		a := e.oldest(ev.Node)
		if a == nil {
			return
		}
		amount := e.sized(a, ev.Body.(Eighths))
		ev.Attempt, ev.Job, ev.Body = a.ID, a.Stage.ID.Job, &amount
	case sched.AttemptSuspended:
		if t == nil {
			return
		}
		if t.ends != 0 {
			t.take, t.ends = t.ends-now, 0
		}
		t.parked = true
	}
	e.events = append(e.events, ev)
}

// oldest returns the attempt on a node that began first of those that run; nil: none.
func (e *engine) oldest(n sched.NodeID) (first *sched.Attempt) {
	for a := range e.core.AttemptsOn(e.core.Node(n)) {
		t := e.tries[a.ID]
		if t != nil && !t.over && !t.parked && (first == nil || a.ID.Serial() < first.ID.Serial()) {
			first = a
		}
	}
	return first
}

// sized returns n eighths of what attempt a holds, but something of each kind, and no more than its node has.
func (e *engine) sized(a *sched.Attempt, n Eighths) (amount sched.Resources) {
	holds, free := e.core.Amount(a.Holds), e.core.Node(a.Node).Free()
	for k, held := range holds {
		amount[k] = min(max(min(held, 1), held*int64(n)/8), held+max(0, free[k]))
	}
	return amount
}

// starves reports whether an attempt waits for tasks that wait for room.
func (e *engine) starves(t *try) bool {
	st := t.attempt.Stage
	for _, d := range st.Spec.After {
		if before := st.Job.Stages[d.Stage]; before.Pending+before.Suspended > 0 {
			return true
		}
	}
	return false
}

// feed lets the attempts of a job go on whose input is there now.
func (e *engine) feed(now sched.Time, j *sched.Job) {
	for _, st := range j.Stages {
		if len(st.Spec.After) == 0 {
			continue
		}
		for a := range e.core.Attempts(st) {
			if t := e.tries[a.ID]; t != nil && t.ends == 0 && !t.parked && e.fed(st) {
				e.run(now, a.ID, t)
			}
		}
	}
}

// fed reports whether the input of a stage is complete.
func (e *engine) fed(st *sched.Stage) bool {
	for _, d := range st.Spec.After {
		if before := st.Job.Stages[d.Stage]; before.Done < before.Total {
			return false
		}
	}
	return true
}

// run lets an attempt go on whose input is there, and plans its end.
func (e *engine) run(now sched.Time, id sched.AttemptID, t *try) {
	t.ends = now + t.take
	e.push(t.ends, due{event: sched.Event{Kind: sched.AttemptDone, Outcome: t.outcome, Attempt: id}})
}

// dispatcher returns what the engine does for each kind of action.
func (e *engine) dispatcher() sched.Dispatcher {
	plan := func(after sched.Time, ev sched.Event) { e.push(e.core.Now+after, due{event: ev}) }
	return sched.Dispatcher{
		Launch: e.launch,
		Kill: func(id sched.AttemptID, grace sched.Time) {
			plan(grace, sched.Event{Kind: sched.AttemptDone, Outcome: sched.Killed, Attempt: id})
		},
		Suspend: func(id sched.AttemptID) {
			plan(e.Lag, sched.Event{Kind: sched.AttemptSuspended, Attempt: id})
		},
		Resume: func(id sched.AttemptID) {
			t := e.tries[id]
			t.parked = false
			if e.fed(t.attempt.Stage) {
				e.run(e.core.Now, id, t)
			}
		},
		Resize: func(id sched.AttemptID, _ sched.ShapeID) {
			plan(0, sched.Event{Kind: sched.AttemptResized, Attempt: id})
		},
		Probe: func(job sched.JobID) {
			plan(0, sched.Event{Kind: sched.JobSubmitted, Body: probeOf(job, e.core.Job(job).Spec)})
		},
		Wake: func(at sched.Time) { e.wake = at },
	}
}

// launch starts attempt a.Attempt at the instant of the present Step.
func (e *engine) launch(a *sched.Action) {
	now, attempt := e.core.Now, e.core.Attempt(a.Attempt)
	job := attempt.Stage.Job.Spec
	which := Try{Job: job, Stage: a.Stage.Index, Task: a.Task}
	how := which
	how.Nth, how.Node = e.nth[which], e.core.Node(a.Node)
	how.Class, how.Holds = e.core.Classes[how.Node.Class-1].Name, e.core.Amount(a.Shape)
	e.nth[which]++
	t := &try{attempt: attempt, start: now}
	t.take, t.outcome = e.Take(how)
	t.total = t.take
	e.tries[a.Attempt] = t
	if e.fed(attempt.Stage) {
		e.run(now, a.Attempt, t)
	} else if e.Patience > 0 {
		e.push(now+e.Patience, due{check: true, event: sched.Event{Kind: sched.AttemptDone, Outcome: sched.Killed,
			Attempt: a.Attempt}})
	}
	if e.Progress > 0 {
		e.push(now+e.Progress, due{event: sched.Event{Kind: sched.AttemptProgress, Attempt: a.Attempt}})
	}
}

// probeOf returns a job of one small task that stands for a sample of job id.
func probeOf(id sched.JobID, j *sched.JobSpec) *sched.JobSpec {
	st := j.Stages[0]
	st.Tasks, st.Places, st.Copies = 1, nil, 0
	return &sched.JobSpec{
		Name:   "probe of " + j.Name,
		User:   j.User,
		Queue:  j.Queue,
		Stages: []sched.StageSpec{st},
		Probes: id,
	}
}

// stuck says what did not end.
func (e *engine) stuck() string {
	s := ""
	for j := range e.core.Jobs() {
		s += fmt.Sprintf("job %d (%s):", j.ID, j.Spec.Name)
		for _, st := range j.Stages {
			s += fmt.Sprintf(" %v %d waiting %d running %d suspended %d of %d done;", st.Kind, st.Pending, st.Running,
				st.Suspended, st.Done, st.Total)
		}
		s += " "
	}
	return s
}
