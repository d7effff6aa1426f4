package sched

import "slices"

// A Plan is a View and the actions that the policy has chosen so far in this Step. The methods that choose an action
// (verbs) book at once what the action needs, so that the View is right after each. A verb returns false if the engine
// lacks the power for it (View.Can), if there is no room, or if the action is invalid. Core.Refusals lists the invalid
// actions.
type Plan struct {
	*View
	out choices
}

// choices are the actions of a Step, and the actions that were refused, with reasons.
type choices struct {
	actions  []Action
	refusals []Refusal
	refused  int     // in the whole run
	first    Refusal // of the whole run
	now      Time
	wake     Time // the earliest instant asked for and not reached; zero: none
	told     Time // the instant that the engine was last told; zero: none
}

const mostRefusals = 16 // how many of a Step are kept

// forgotten is the reason why a shape is refused that the core does not know.
const forgotten = "the shape is not known: one that no stage and no attempt has is valid in the Step that asked for it"

// reset forgets the actions of the last Step, and the instants of Wake that have passed.
func (o *choices) reset(now Time) {
	o.actions, o.refusals, o.now = o.actions[:0], o.refusals[:0], now
	if o.wake <= now {
		o.wake = 0
	}
	if o.told <= now {
		o.told = 0
	}
}

// refuse notes that action a is invalid, and returns false.
func (o *choices) refuse(a Action, reason string) bool {
	if o.refused++; o.refused == 1 {
		o.first = Refusal{a, reason, o.now}
	}
	if len(o.refusals) < mostRefusals {
		o.refusals = append(o.refusals, Refusal{a, reason, o.now})
	}
	return false
}

// knows reports whether there is the shape that a policy names for tasks of st (nil: of any stage). If not, it notes an
// invalid launch.
func knows(c *cluster, st *Stage, id ShapeID) bool {
	if c.ledger.shapes.find(id) != nil {
		return true
	}
	a := Action{Kind: Launch, Shape: id}
	if st != nil {
		a.Stage = st.ID
	}
	return c.plan.out.refuse(a, forgotten)
}

// do adds an action.
func (o *choices) do(a Action) { o.actions = append(o.actions, a) }

// launched adds the launch of attempt a. It fills the action in place, because a copy of bytes that were just written
// would wait for the writes.
func (o *choices) launched(a *Attempt) {
	o.actions = append(o.actions, Action{})
	l := &o.actions[len(o.actions)-1]
	l.Kind, l.Stage, l.Node, l.Task, l.Shape, l.Attempt = Launch, a.Stage.ID, a.Node, a.Task, a.Holds, a.ID
}

// Actions returns the actions chosen so far in this Step, including those of the core.
func (p *Plan) Actions() []Action { return p.out.actions }

// An As says which task LaunchAs starts, and what that holds. The zero As stands for the choices of Launch.
type As struct {
	Task  int32   // the task; zero: the one that View.NextTask returns
	Shape ShapeID // the shape that the attempt holds; zero: its stage's shape
}

// Launch starts a task of st on n, and reports whether it fits.
func (p *Plan) Launch(st *Stage, n *Node) bool { return p.LaunchAs(st, n, As{}) }

// LaunchAs is Launch with a task or a shape of the policy's choice. To name the task needs CanNameTasks.
func (p *Plan) LaunchAs(st *Stage, n *Node, as As) bool {
	c := p.cluster
	switch {
	case as.Shape == 0:
		as.Shape = st.Shape
	case c.ledger.shapes.find(as.Shape) == nil:
		return p.out.refuse(launchOf(st, n, as), forgotten)
	}
	switch {
	case !st.alive || st.Pending == 0:
		return p.out.refuse(launchOf(st, n, as), "nothing of the stage is pending")
	case n.Lost:
		return p.out.refuse(launchOf(st, n, as), "the node is lost")
	case !c.fitsOn(st, as.Shape, n):
		return false
	case as.Task == 0:
		as.Task = st.tasks.take(c, st, n)
	case p.Can&CanNameTasks == 0:
		return p.out.refuse(launchOf(st, n, as), "this engine chooses the task")
	case !st.tasks.takeNamed(st, as.Task):
		return p.out.refuse(launchOf(st, n, as), "the task is not pending")
	}
	a := c.start(st, n, as.Shape, 1)
	a.Task = as.Task
	c.ledger.begin(a, 1)
	c.dropReservations(st)
	p.out.launched(a)
	if n.Reserved == st.ID {
		c.unreserve(n)
	}
	return true
}

// LaunchMany starts up to most tasks of st, each on the node that First then returns, and returns how many it has
// started. The result is that of as many calls of Launch, but the tasks are booked all at once. It stops after a node
// that was reserved for st, because another stage may get the rest of that node now.
func (p *Plan) LaunchMany(st *Stage, most int32) (started int32) {
	c := p.cluster
	if st.cap != 0 || len(st.reserved) > 0 { // whether the next task may start depends on the booking of this one
		if n := p.First(st); n != nil && p.Launch(st, n) {
			return 1
		}
		return 0
	}
	for most = min(most, st.Pending); started < most; started++ {
		n := p.First(st)
		if n == nil {
			break
		}
		task := st.tasks.take(c, st, n)
		a := c.start(st, n, st.Shape, 1)
		a.Task = task
		p.out.launched(a)
	}
	if started > 0 {
		s := c.ledger.shapes.at(st.Shape)
		c.ledger.charge(st, booking{s, int64(started), Count{Pending: int64(-started), Running: started}})
	}
	return started
}

// launchOf returns the action that was asked for, to be refused.
func launchOf(st *Stage, n *Node, as As) Action {
	return Action{Kind: Launch, Stage: st.ID, Node: n.ID, Task: as.Task, Shape: as.Shape}
}

// Speculate starts another attempt of the task of attempt a on n, and reports whether it fits. The new attempt holds
// the shape holds (zero: that of the stage). When one attempt of the task succeeds, the core kills the others.
// Speculate needs CanNameTasks.
func (p *Plan) Speculate(a *Attempt, n *Node, holds ShapeID) bool {
	c, st := p.cluster, a.Stage
	if holds == 0 {
		holds = st.Shape
	}
	asked := Action{Kind: Launch, Stage: st.ID, Node: n.ID, Task: a.Task, Shape: holds, Attempt: a.ID}
	switch {
	case p.Can&CanNameTasks == 0:
		return false
	case c.ledger.shapes.find(holds) == nil:
		return p.out.refuse(asked, forgotten)
	case a.State == gone || a.moot || a.Task == 0:
		return p.out.refuse(asked, "the attempt has ended or its task is done")
	case n.Lost:
		return p.out.refuse(asked, "the node is lost")
	case !c.fitsOn(st, holds, n):
		return false
	}
	b := c.start(st, n, holds, 0)
	b.Task = a.Task
	c.ledger.begin(b, 0)
	if b.twin = a.twin; b.twin == nil {
		b.twin = a
	}
	a.twin = b
	p.out.launched(b)
	return true
}

// actionOn returns an action of a kind on attempt a.
func actionOn(k ActionKind, a *Attempt) Action {
	return Action{Kind: k, Stage: a.Stage.ID, Node: a.Node, Attempt: a.ID}
}

// Kill asks the engine to end attempt a after a warning of length grace. The room of a is free when the engine has
// reported the end, and its task waits again. Kill needs CanKill.
func (p *Plan) Kill(a *Attempt, grace Time) bool {
	if p.Can&CanKill == 0 {
		return false
	}
	if a.State == Leaving || a.State == gone {
		return p.out.refuse(actionOn(Kill, a), "the attempt has ended or was killed before")
	}
	p.cluster.evict(a, grace)
	return true
}

// evict asks the engine to end attempt a. Engines without CanKill must do that too, when the core itself asks.
func (c *cluster) evict(a *Attempt, grace Time) {
	c.ledger.leave(a, Leaving)
	k := actionOn(Kill, a)
	k.At = grace
	c.plan.out.do(k)
	c.ledger.log.touchJob(a.Stage.Job)
}

// Suspend asks the engine to stop attempt a, which then keeps only its memory. The rest of its room is free when the
// engine has reported that it stopped. If a is Resizing, it still gives up the memory that it was asked to give up.
// Suspend needs CanSuspend.
func (p *Plan) Suspend(a *Attempt) bool {
	if p.Can&CanSuspend == 0 {
		return false
	}
	if a.State != Running {
		return p.out.refuse(actionOn(Suspend, a), "the attempt does not run")
	}
	p.cluster.ledger.leave(a, Suspending)
	p.out.do(actionOn(Suspend, a))
	p.cluster.ledger.log.touchJob(a.Stage.Job)
	return true
}

// Resume lets the suspended attempt a run again, and reports whether its node has room for it. If a was Resizing when
// it was suspended, it runs again with what it was resized to, and is Resizing while it holds more memory than that.
// Resume needs CanSuspend.
func (p *Plan) Resume(a *Attempt) bool {
	if p.Can&CanSuspend == 0 {
		return false
	}
	if a.State != Suspended {
		return p.out.refuse(actionOn(Resume, a), "the attempt is not suspended")
	}
	c, st, n := p.cluster, a.Stage, p.Node(a.Node)
	lacks := c.ledger.missing(a)
	if n.Lost || !n.hasRoom(lacks) || n.Reserved != (StageID{}) && n.Reserved != st.ID || !c.underMax(st.cap, lacks) {
		return false
	}
	c.ledger.demand(st, lacks, -1)
	c.rebook(a, c.ledger.shapes.intern(p.Amount(a.Holds).Add(lacks.amount)))
	st.attempts.paused -= p.Ran(a, p.Now)
	a.State, a.parked = Running, false
	c.attempts.resume(a, p.Now)
	st.attempts.starts += c.attempts.shiftedStart(a)
	st.Suspended--
	st.Running++
	st.Job.Running++
	c.ledger.climb(st, booking{count: Count{Running: 1, Away: a.away()}})
	if n.Reserved == st.ID {
		c.unreserve(n)
	}
	p.out.do(actionOn(Resume, a))
	return true
}

// Resize changes the shape that attempt a holds to another one, and reports whether there is room: on its node, unless
// that is reserved for another stage, and below the maxima of its queues. Amounts that grow are booked at once. Amounts
// that shrink are free when the engine has reported AttemptResized; until then the attempt is Resizing. If there is no
// room, Resize returns false and books nothing: the policy asks again when the node's room has changed (View.Offers),
// or makes room. Resize needs CanResize.
func (p *Plan) Resize(a *Attempt, to ShapeID) bool {
	if p.Can&CanResize == 0 {
		return false
	}
	asked := actionOn(Resize, a)
	asked.Shape = to
	switch {
	case a.State != Running || a.Resizing():
		return p.out.refuse(asked, "the attempt does not run, or is being resized")
	case p.cluster.ledger.shapes.find(to) == nil:
		return p.out.refuse(asked, forgotten)
	}
	c, n, st := p.cluster, p.Node(a.Node), a.Stage
	has, will := p.Amount(a.Holds), p.Amount(to)
	most := has
	for k := range most {
		most[k] = max(has[k], will[k])
	}
	if most != has {
		more := c.ledger.shapes.at(c.ledger.shapes.intern(most.Sub(has)))
		if !n.hasRoom(more) || n.Reserved != (StageID{}) && n.Reserved != st.ID || !c.underMax(st.cap, more) {
			return false
		}
		c.rebook(a, c.ledger.shapes.intern(most))
	}
	a.wants = to
	p.out.do(asked)
	return true
}

// Reserve keeps n for st: no other stage may launch there until st has launched a task there, or has no waiting task
// any more. A nil st frees n.
func (p *Plan) Reserve(st *Stage, n *Node) bool {
	c := p.cluster
	if st == nil {
		if n.Reserved != (StageID{}) {
			c.unreserve(n)
			p.out.do(Action{Kind: Reserve, Node: n.ID})
		}
		return true
	}
	asked := Action{Kind: Reserve, Stage: st.ID, Node: n.ID}
	switch {
	case !st.alive || st.Pending == 0 && st.Suspended == 0:
		return p.out.refuse(asked, "nothing of the stage waits")
	case n.Lost:
		return p.out.refuse(asked, "the node is lost")
	case n.Reserved == st.ID:
		return true
	case n.Reserved != (StageID{}):
		return p.out.refuse(asked, "the node is reserved for another")
	}
	n.Reserved = st.ID
	c.ledger.shapes.kept++
	st.reserved = append(st.reserved, n.ID)
	c.ledger.shapes.note(n)
	c.ledger.log.touch(st)
	p.out.do(asked)
	return true
}

// unreserve frees node n for all stages.
func (c *cluster) unreserve(n *Node) {
	if n.Reserved == (StageID{}) {
		return
	}
	if st := c.view.Stage(n.Reserved); st != nil {
		if i := slices.Index(st.reserved, n.ID); i >= 0 {
			st.reserved = slices.Delete(st.reserved, i, i+1)
		}
		c.ledger.log.touch(st)
	}
	n.Reserved = StageID{}
	c.ledger.shapes.kept--
	c.ledger.shapes.note(n)
	c.offer(n)
}

// Probe asks the engine to run a probe of job j. The probe is submitted as a job whose Spec.Probes names j. Probe needs
// CanProbe.
func (p *Plan) Probe(j *Job) bool {
	if p.Can&CanProbe == 0 {
		return false
	}
	asked := Action{Kind: Probe, Stage: StageID{Job: j.ID}}
	if j.Ended {
		return p.out.refuse(asked, "the job has ended")
	}
	p.out.do(asked)
	return true
}

// Touch marks st as changed, so that every Index computes its key again. The policy calls it when what it remembers of
// st has changed.
func (p *Plan) Touch(st *Stage) { p.cluster.ledger.log.touch(st) }

// TouchJob is Touch for all stages of job j.
func (p *Plan) TouchJob(j *Job) { p.cluster.ledger.log.touchJob(j) }

// Wake asks for a Step at an instant after Now, with or without events. The core keeps the earliest instant that it was
// asked for, in this Step or before, until it has passed, and forgets all later ones. So a policy that waits for an
// instant asks again in every Decide. While no job is unfinished the core keeps none.
func (p *Plan) Wake(at Time) {
	if at > p.Now && (p.out.wake == 0 || at < p.out.wake) {
		p.out.wake = at
	}
}

// settleWake tells the engine when to wake the core, if that has changed.
func (c *cluster) settleWake() {
	o := &c.plan.out
	at := o.wake
	if c.view.LiveJobs() == 0 {
		o.wake, at = 0, 0
	}
	if c.exhausted {
		at = max(c.view.Now, 1) // zero would mean that no Step is needed
	}
	if at != o.told {
		o.told = at
		o.do(Action{Kind: Wake, At: at})
	}
}
