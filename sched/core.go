package sched

import (
	"cmp"
	"fmt"
	"slices"
)

// Config is what a core is made from.
type Config struct {
	Policy     Policy
	Estimator  Estimator // nil: what the specs say (Prior)
	Recorder   Recorder  // nil: none. One with a method Attach(*View) is shown the view before the first Step
	Queues     []*QueueSpec
	Can        Powers
	Heartbeats bool // nodes may be launched on only in a Step in which they report
	Limit      int  // launches a Step, so that live engines stay responsive; zero: no limit
	// Forget is for tests: asked at each Sync of an Index whether that is to be built anew, which may change no
	// decision.
	Forget func() bool
}

// Hadoop's defaults for keeping a job away from nodes on which its tasks fail:
// mapreduce.job.maxtaskfailures.per.tracker, and the part of the nodes that a job may at most avoid
// (yarn.app.mapreduce.am.job.node-blacklisting.ignore-threshold-node-percent).
const (
	failuresToAvoidNode = 3
	mostNodesAvoided    = 0.33
)

// A Core holds the state of a cluster and its jobs, and decides. It is not safe for concurrent use: one goroutine owns
// it.
type Core struct {
	View

	policy    Policy
	estimator Estimator
	recorder  Recorder
	config    Config

	jobs     jobTable
	stages   stageTable
	attempts attemptTable
	shapes   shapes
	queues   queueTable
	log      changeLog
	plan     Plan

	layouts uint32         // changes of which nodes there are, in which racks
	kinds   []ResourceKind // of which nodes have had any
	stepState
}

// stepState is what lasts for one Step.
type stepState struct {
	steps     uint64
	given     []Event // in order; then the derived ones
	derived   []Event
	doomed    []*Attempt // to be killed if they are still there when all events are applied
	opened    []*Node    // by reports, until the Step is over
	launched  int
	exhausted bool // launched has reached the limit
}

// New returns a core without nodes and jobs.
func New(config Config) *Core {
	c := &Core{policy: config.Policy, estimator: config.Estimator, recorder: config.Recorder, config: config}
	c.View.core, c.Can = c, config.Can
	c.shapes = shapes{core: c, byAmt: map[Resources]ShapeID{}}
	c.shapes.intern(Resources{})
	c.jobs = jobTable{first: -1, last: -1, byID: map[JobID]*Job{}}
	c.plan.View = &c.View
	c.queues.init(c, config.Queues)
	if f, ok := config.Recorder.(interface{ Attach(*View) }); ok {
		f.Attach(&c.View)
	}
	return c
}

// Step applies what happened at now, which is not before the last Step, asks the policy once, and returns what to do. A
// second Step at the same instant is legal. Events may be given in any order; both slices are lent until the next call.
//
// Stale facts (the end of an attempt that is gone already) are ignored, as live engines send them. Step panics
// where an engine breaks its contract: time that goes back, a node or a job under a wrong ID, a spec that is not valid.
func (c *Core) Step(now Time, events []Event) []Action {
	if now < c.Now {
		panic(fmt.Sprintf("sched: step at %v after %v", now, c.Now))
	}
	c.begin(now)
	if len(events) > 1 {
		c.given = append(c.given[:0], events...) // engines keep their order
		events = c.given
		if !sorted(events) {
			slices.SortStableFunc(events, compareEvents)
		}
	}
	for i := range events {
		c.apply(&events[i])
	}
	if len(c.derived) > 0 {
		if len(events) == 1 {
			c.given = append(c.given[:0], events...)
		}
		c.given = append(c.given[:len(events)], c.derived...)
		events = c.given
	}
	c.Events = events
	for _, a := range c.doomed {
		if a.State != gone && a.State != Leaving {
			c.plan.evict(a, 0)
		}
	}
	if c.policy != nil {
		c.policy.Decide(&c.plan)
	}
	c.finish()
	if c.recorder != nil {
		c.recorder.Record(now, c.Events, c.plan.actions)
	}
	return c.plan.actions
}

// compareEvents is the one order of the events of an instant.
func compareEvents(a, b Event) int {
	switch {
	case a.Kind != b.Kind:
		return cmp.Compare(a.Kind, b.Kind)
	case a.Attempt != b.Attempt:
		return cmp.Compare(a.Attempt, b.Attempt)
	case a.Job != b.Job:
		return cmp.Compare(a.Job, b.Job)
	}
	return cmp.Compare(a.Node, b.Node)
}

// sorted reports whether events stand in their order, as those of most engines do.
func sorted(events []Event) bool {
	for i := 1; i < len(events); i++ {
		a, b := &events[i-1], &events[i]
		if a.Kind > b.Kind ||
			a.Kind == b.Kind && (a.Attempt > b.Attempt || a.Attempt == b.Attempt && compareEvents(*a, *b) > 0) {
			return false
		}
	}
	return true
}

// begin forgets what ended in the last Step.
func (c *Core) begin(now Time) {
	c.Now = now
	c.steps++
	c.attempts.recycle()
	if len(c.jobs.ended) > 0 {
		c.recycleJobs()
	}
	c.log.trim(len(c.stages.rows))
	c.Offers = c.Offers[:0]
	c.derived, c.doomed, c.opened = c.derived[:0], c.doomed[:0], c.opened[:0]
	c.launched, c.exhausted = 0, false
	c.plan.begin()
}

// finish closes what was open for this Step only, and settles when to be woken.
func (c *Core) finish() {
	for _, n := range c.opened {
		n.Open = false
		c.shapes.note(n)
	}
	c.plan.settleWake()
}

func (c *Core) derive(e Event) {
	e.Derived = true
	c.derived = append(c.derived, e)
}

func (c *Core) apply(e *Event) {
	switch e.Kind {
	case AttemptDone:
		if a := c.Attempt(e.Attempt); a != nil && a.State != gone {
			k, _ := e.Body.(*Counters)
			c.attemptDone(a, e.Outcome, k)
		}
	case JobSubmitted:
		c.submit(e.Job, e.Body.(*JobSpec))
	case NodeJoined:
		c.nodeJoined(e.Node, e.Body.(*NodeSpec))
	case NodeReported:
		spec, _ := e.Body.(*NodeSpec)
		c.nodeReported(c.Node(e.Node), spec)
	case NodeLost:
		c.nodeLost(c.Node(e.Node))
	case AttemptSuspended:
		if a := c.Attempt(e.Attempt); a != nil && a.State == Suspending {
			c.suspended(a)
		}
	case AttemptResized:
		if a := c.Attempt(e.Attempt); a != nil && a.State == Running && a.wants != a.Holds {
			c.rebook(a, a.wants)
		}
	case AttemptProgress:
		if a := c.Attempt(e.Attempt); a != nil && a.State != gone {
			a.Progress, a.Phase = e.Progress, e.Phase
		}
	case TaskUndone:
		u := e.Body.(*Undone)
		if st := c.Stage(StageID{e.Job, u.Stage}); st != nil {
			c.undo(st, u.Tasks)
		}
	case JobEnded:
		if j := c.Job(e.Job); j != nil && !j.Ended {
			c.endJob(j)
		}
	case AsksChanged:
		if j := c.Job(e.Job); j != nil && !j.Ended {
			c.asksChanged(j, e.Body.(*Asks))
		}
	case SpecChanged:
		if q, ok := e.Body.(*Queues); ok {
			c.queues.change(q.List)
		} else if j := c.Job(e.Job); j != nil && !j.Ended {
			c.amend(j, e.Body.(*JobSpec))
		}
	}
}

// Nodes.

func (c *Core) nodeJoined(id NodeID, spec *NodeSpec) {
	switch {
	case id == 0 || int(id) > len(c.Nodes)+1:
		panic(fmt.Sprintf("sched: node %d joins as number %d", id, len(c.Nodes)+1))
	case int(id) == len(c.Nodes)+1:
		c.Nodes = append(c.Nodes, &Node{ID: id, Lost: true, Rack: -1})
		c.shapes.grow(id)
	}
	n := c.Node(id)
	if !n.Lost {
		panic(fmt.Sprintf("sched: node %d joins, and is there already", id))
	}
	if n.Rack != spec.Rack {
		c.layouts++
	}
	n.Name, n.Rack, n.class, n.Lost, n.Open = spec.Name, spec.Rack, c.classNamed(
		spec.Class,
	), false, !c.config.Heartbeats
	n.Class = n.class.ID
	n.class.add(id)
	c.resize(n, spec.Capacity)
	c.offer(n)
}

func (c *Core) classNamed(name string) *Class {
	for _, k := range c.Classes {
		if k.Name == name {
			return k
		}
	}
	k := &Class{ID: ClassID(len(c.Classes) + 1), Name: name}
	c.Classes = append(c.Classes, k)
	return k
}

// add makes the node with an ID a member of class k.
func (k *Class) add(id NodeID) {
	for len(k.members) <= int(id>>6) {
		k.members = append(k.members, 0)
	}
	k.members[id>>6] |= 1 << (id & 63)
	k.Nodes++
}

// remove takes the node with an ID, which is a member, out of class k.
func (k *Class) remove(id NodeID) {
	k.members[id>>6] &^= 1 << (id & 63)
	k.Nodes--
}

// resize sets the capacity of a node.
func (c *Core) resize(n *Node, capacity Resources) {
	d := capacity.Sub(n.Capacity)
	n.Capacity = capacity
	n.class.Capacity = n.class.Capacity.Add(d)
	c.Capacity = c.Capacity.Add(d)
	for k, a := range capacity {
		if kind := ResourceKind(k); a > 0 && !slices.Contains(c.kinds, kind) {
			c.kinds = append(c.kinds, kind)
		}
	}
	c.queues.setLimits()
	c.shapes.note(n)
}

func (c *Core) nodeReported(n *Node, spec *NodeSpec) {
	if n.Lost {
		return
	}
	if spec != nil && spec.Capacity != n.Capacity {
		c.resize(n, spec.Capacity)
	}
	if c.config.Heartbeats && !n.Open {
		n.Open = true
		c.opened = append(c.opened, n)
		c.shapes.note(n)
	}
	c.offer(n)
}

func (c *Core) nodeLost(n *Node) {
	if n.Lost {
		return
	}
	n.Lost, n.Open = true, false
	c.unreserve(n)
	for len(n.slots) > 0 {
		a := c.attempts.at(n.slots[len(n.slots)-1])
		c.derive(Event{Kind: AttemptDone, Outcome: Lost, Attempt: a.ID, Node: n.ID, Job: a.Stage.ID.Job})
		c.attemptDone(a, Lost, nil)
	}
	c.resize(n, Resources{})
	n.class.remove(n.ID)
	lost := n.outputs.list
	n.outputs = outputs{}
	slices.SortFunc(lost, func(a, b output) int {
		return cmp.Or(cmp.Compare(a.id.number(), b.id.number()), cmp.Compare(a.task, b.task))
	})
	for len(lost) > 0 {
		o := lost[0]
		u := &Undone{Stage: o.id.Index}
		for ; len(lost) > 0 && lost[0].id == o.id; lost = lost[1:] {
			if lost[0].needed(n.ID) && o.stage.isNeeded() {
				u.Tasks = append(u.Tasks, lost[0].task)
			}
		}
		if u.Tasks = slices.Compact(u.Tasks); len(u.Tasks) > 0 {
			c.derive(Event{Kind: TaskUndone, Job: o.id.Job, Node: n.ID, Body: u})
			c.undo(o.stage, u.Tasks)
		}
	}
}

// offer says that the room of n is news.
func (c *Core) offer(n *Node) {
	if n.offered != c.steps {
		n.offered = c.steps
		c.Offers = append(c.Offers, n.ID)
	}
}

// Attempts.

// start makes an attempt of a task of st and books its room; pending is how many waiting tasks that takes off.
func (c *Core) start(st *Stage, n *Node, holds ShapeID, pending int32) *Attempt {
	a := c.attempts.get()
	a.Stage, a.Node, a.Start, a.Task, a.Progress, a.Phase, a.State = st, n.ID, c.Now, 0, -1, NoPhase, Running
	a.Holds, a.wants, a.Class, a.parked, a.moot = holds, holds, n.Class, false, false
	a.twin = nil
	st.attempts.add(a)
	st.attempts.starts += c.Now
	n.slots = append(n.slots, a.ID.Row())
	st.Running++
	st.Pending -= pending
	st.waiting -= pending
	st.Job.Running++
	st.Job.attempts++
	c.book(st, n, booking{c.shapes.list[holds], 1, Count{Pending: -pending, Running: 1, Away: a.away()}})
	c.keepNothing(st)
	c.launched++
	c.exhausted = c.config.Limit > 0 && c.launched >= c.config.Limit
	return a
}

// away is what a adds to Count.Away.
func (a *Attempt) away() int32 {
	if a.Holds != a.Stage.Shape && !a.parked {
		return 1
	}
	return 0
}

// attemptDone takes an attempt off its node and draws the consequences for its task.
func (c *Core) attemptDone(a *Attempt, outcome Outcome, counted *Counters) {
	st, n := a.Stage, c.Node(a.Node)
	c.unlink(a, st, n)
	if a.moot || st.Job.Ended {
		return
	}
	alone := c.leaveTwins(a)
	switch {
	case outcome == OK:
		for b := a.twin; b != nil && !b.moot; {
			b.moot = true
			c.doomed = append(c.doomed, b)
			b, b.twin = b.twin, nil
		}
		if c.estimator != nil {
			c.estimator.Observe(a, c.Now, counted)
		}
		c.taskDone(st, a)
	case outcome == Failed && c.failed(st, a, n):
		c.derive(Event{Kind: JobEnded, Outcome: Failed, Job: st.ID.Job})
		c.endJob(st.Job)
	case alone && st.Spec.MaxAttempts > 0 && outcome != Released:
		st.tasks.again = append(st.tasks.again, a.Task)
		c.pend(st, 1)
	}
}

// unlink takes a off its stage's and its node's lists and frees its room.
func (c *Core) unlink(a *Attempt, st *Stage, n *Node) {
	slot := a.ID.Row()
	st.attempts.remove(a, &c.attempts)
	n.slots = without(n.slots, slot)
	c.stay(a)
	b := booking{shape: c.shapes.list[a.Holds], sign: -1}
	if a.parked {
		st.Suspended--
		st.attempts.paused -= c.Ran(a, c.Now)
		c.demand(st, c.missing(a), -1)
	} else {
		st.Running--
		st.Job.Running--
		st.attempts.starts -= c.attempts.shiftedStart(a)
		b.count = Count{Running: -1, Away: -a.away()}
	}
	c.book(st, n, b)
	c.touch(st)
	a.State = gone
	c.attempts.ended = append(c.attempts.ended, slot)
	if st.Job.attempts--; st.Job.Ended && st.Job.attempts == 0 {
		c.jobs.ended = append(c.jobs.ended, st.Job)
	}
	c.offer(n)
}

// without returns list, in its order, without slot, which is in it. Its place cannot be foretold, so that nothing
// branches on it.
func without(list []int32, slot int32) []int32 {
	kept := 0
	for _, other := range list {
		list[kept] = other
		if other != slot {
			kept++
		}
	}
	return list[:kept]
}

// leaveTwins takes a out of the ring of its task's attempts, leaves a.twin at one of the others, and reports whether
// there was none.
func (c *Core) leaveTwins(a *Attempt) (alone bool) {
	if a.twin == nil {
		return true
	}
	last := a.twin
	for last.twin != a {
		last = last.twin
	}
	if last == a.twin {
		last.twin = nil
	} else {
		last.twin = a.twin
	}
	return false
}

// failed counts a failure and reports whether it is one too many for the job.
func (c *Core) failed(st *Stage, a *Attempt, n *Node) bool {
	if st.Spec.MaxAttempts == 0 {
		return false
	}
	j := st.Job
	if j.failures == nil {
		j.failures = map[NodeID]int32{}
	}
	j.failures[n.ID]++
	if j.failures[n.ID] >= failuresToAvoidNode && float64(len(j.banned)+1) <= mostNodesAvoided*float64(len(c.Nodes)) {
		if j.banned == nil {
			j.banned = map[NodeID]bool{}
		}
		j.banned[n.ID] = true
	}
	if st.tasks.failures == nil {
		st.tasks.failures = map[int32]int32{}
	}
	st.tasks.failures[a.Task]++
	return st.tasks.failures[a.Task] >= st.Spec.MaxAttempts
}

func (c *Core) taskDone(st *Stage, a *Attempt) {
	st.Done++
	if st.tasks.ran != nil {
		st.tasks.ran[a.Task-1] = a.Node
		n := c.Node(a.Node)
		n.outputs.add(n.ID, st, a.Task)
	}
	if len(st.Job.Stages) > 1 {
		c.ready(st.Job)
	}
	if st.Done == st.Total {
		if st.Job.open--; st.Job.open == 0 {
			c.derive(Event{Kind: JobEnded, Outcome: OK, Job: st.ID.Job})
			c.endJob(st.Job)
		}
	}
}

// undo makes finished tasks whose output was lost wait again.
func (c *Core) undo(st *Stage, tasks []int32) {
	if !st.alive || st.tasks.ran == nil {
		return
	}
	n := int32(0)
	for _, task := range tasks {
		if task < 1 || task > st.Total || st.tasks.ran[task-1] == 0 {
			continue
		}
		st.tasks.ran[task-1] = 0
		st.tasks.again = append(st.tasks.again, task)
		n++
	}
	if n == 0 {
		return
	}
	if st.Done == st.Total {
		st.Job.open++
	}
	st.Done -= n
	c.pend(st, n)
	c.ready(st.Job)
	c.touchJob(st.Job)
}

// isNeeded reports whether a stage that is not complete reads what st made.
func (st *Stage) isNeeded() bool {
	for _, o := range st.Job.Stages {
		for _, d := range o.Spec.After {
			if d.Stage == st.ID.Index && o.Done < o.Total {
				return true
			}
		}
	}
	return false
}

// leave notes that attempt a was asked to end (to is Leaving) or to suspend (Suspending).
func (c *Core) leave(a *Attempt, to AttemptState) {
	c.stay(a)
	a.State = to
	c.leaving(a, 1)
}

// stay takes back what leave noted, if anything. The caller sets the new state of attempt a.
func (c *Core) stay(a *Attempt) {
	if a.State == Leaving || a.State == Suspending {
		c.leaving(a, -1)
	}
}

// leaves returns what attempt a was asked to give back: all that it holds, or all but its memory.
func (c *Core) leaves(a *Attempt) *shape {
	switch a.State {
	case Leaving:
		return c.shapes.list[a.Holds]
	case Suspending:
		amount := c.Amount(a.Holds)
		amount[Memory] = 0
		return c.shapes.list[c.shapes.intern(amount)]
	}
	return c.shapes.list[0]
}

// leaving adds what attempt a was asked to give back to the sums of its node, its stage and its queues (sign 1), or
// takes it off (sign -1).
func (c *Core) leaving(a *Attempt, sign int64) {
	s, n := c.leaves(a), c.Node(a.Node)
	for _, p := range s.parts {
		n.Leaving[p.kind] += p.amount * sign
	}
	a.Stage.Leaving += int32(sign)
	for q := a.Stage.Job.leaf; q != nil; q = q.above {
		for _, p := range s.parts {
			q.Leaving[p.kind] += p.amount * sign
		}
	}
}

// suspended ends the running of attempt a, which keeps only its memory from now on.
func (c *Core) suspended(a *Attempt) {
	c.stay(a)
	st := a.Stage
	st.attempts.starts -= c.attempts.shiftedStart(a)
	st.attempts.paused += c.Ran(a, c.Now)
	c.attempts.pause(a, c.Now)
	st.Running--
	st.Suspended++
	st.Job.Running--
	c.climb(st, booking{count: Count{Running: -1, Away: -a.away()}})
	var keeps Resources
	keeps[Memory] = c.Amount(a.Holds)[Memory]
	a.State, a.parked, a.wants = Suspended, true, a.Holds
	c.rebook(a, c.shapes.intern(keeps))
	c.demand(st, c.missing(a), 1)
}

// missing is what a suspended attempt lacks to go on.
func (c *Core) missing(a *Attempt) *shape {
	return c.shapes.list[c.shapes.intern(c.Amount(a.wants).Sub(c.Amount(a.Holds)))]
}

// rebook has a hold another shape.
func (c *Core) rebook(a *Attempt, to ShapeID) {
	n, was := c.Node(a.Node), a.away()
	c.book(a.Stage, n, booking{shape: c.shapes.list[a.Holds], sign: -1})
	a.Holds = to
	c.book(a.Stage, n, booking{shape: c.shapes.list[to], sign: 1, count: Count{Away: a.away() - was}})
	c.offer(n)
}

// Sums.

// A booking is a change of what a stage holds and of what it waits for.
type booking struct {
	shape *shape // taken or given back; nil: nothing is
	sign  int64  // 1: taken, -1: given back
	count Count
}

// book applies b at a node, for a job and up the queues.
func (c *Core) book(st *Stage, n *Node, b booking) {
	j, class := st.Job, n.class
	if c.Now != j.since {
		c.accrue(&j.served, &j.Used, c.Now-j.since)
		j.since = c.Now
	}
	for i := range b.shape.parts {
		p := &b.shape.parts[i]
		k, d := p.kind%NumResources, p.amount*b.sign
		n.Used[k] += d
		class.Used[k] += d
		j.Used[k] += d
	}
	c.climb(st, b)
	c.shapes.note(n)
	c.touchJob(j)
}

// climb applies b to the queues from the stage's up to the root.
func (c *Core) climb(st *Stage, b booking) {
	leaf := st.Job.leaf
	if leaf.since != c.Now { // else those above were brought up to now with it
		c.accrueUp(leaf)
	}
	// What is taken is asked for, and what waits is, in the stage's own shape.
	if own, waits := c.shapes.list[st.Shape], int64(b.count.Pending); b.shape == own || b.shape == nil {
		raise(leaf, own.parts, b.sign, b.sign+waits)
	} else {
		raise(leaf, b.shape.parts, b.sign, b.sign)
		raise(leaf, own.parts, 0, waits)
	}
	if st.Kind == Master && b.shape != nil {
		for _, p := range b.shape.parts {
			for q := leaf; q != nil; q = q.above {
				q.Masters[p.kind%NumResources] += p.amount * b.sign
			}
		}
	}
	for q, kind := leaf, st.Kind%NumKinds; q != nil; q = q.above {
		n := &q.Count[kind]
		n.Pending += b.count.Pending
		n.Running += b.count.Running
		n.Away += b.count.Away
	}
}

// raise adds so many times parts to what a queue and those above it use, and to what they ask for.
func raise(leaf *Queue, parts []part, used, asked int64) {
	for i := range parts { // one short walk for each sum keeps it in registers
		p := &parts[i]
		k, used, asked := p.kind%NumResources, p.amount*used, p.amount*asked
		for q := leaf; q != nil; q = q.above {
			q.Used[k] += used
			q.Demand[k] += asked
		}
	}
}

// accrueUp adds what was used since they last changed to the service of a queue and those above it.
func (c *Core) accrueUp(q *Queue) {
	for now := c.Now; q != nil; q = q.above {
		c.accrue(&q.served, &q.Used, now-q.since)
		q.since = now
	}
}

// demand adds (sign 1) what a suspended attempt lacks to the demand of its queues, or takes it off (-1).
func (c *Core) demand(st *Stage, s *shape, sign int64) {
	for q := st.Job.leaf; q != nil; q = q.above {
		for _, p := range s.parts {
			q.Demand[p.kind] += p.amount * sign
		}
	}
}

// accrue adds what was used for a time to served.
func (c *Core) accrue(served *Work, used *Resources, held Time) {
	seconds := float64(held) * 1e-9
	for i := range c.kinds {
		k := c.kinds[i] % NumResources
		served[k] += float64(used[k]) * seconds
	}
}

// pend changes by d how many tasks of st wait for a node, and, where the stage may start, for nothing else.
func (c *Core) pend(st *Stage, d int32) {
	st.waiting += d
	if st.ready && d != 0 {
		st.Pending += d
		c.climb(st, booking{count: Count{Pending: d}})
		c.keepNothing(st)
	}
	c.touch(st)
}

// keepNothing frees the nodes kept for a stage of which nothing waits any more.
func (c *Core) keepNothing(st *Stage) {
	for st.Pending == 0 && st.Suspended == 0 && len(st.reserved) > 0 {
		c.unreserve(c.Node(st.reserved[0]))
	}
}

// ready opens the stages of j that may start now, and closes those that may not any more because what they need was
// lost.
func (c *Core) ready(j *Job) {
	for _, st := range j.Stages {
		ok := true
		for _, d := range st.Spec.After {
			before := j.Stages[d.Stage]
			ok = ok && d.met(before.Done, before.Total)
		}
		if ok == st.ready {
			continue
		}
		d := st.waiting
		if !ok {
			d = -d
		}
		st.ready = ok
		st.Pending += d
		c.climb(st, booking{count: Count{Pending: d}})
		c.touch(st)
	}
}
