package sched

import "slices"

// A Plan is a View and the actions chosen so far. Verbs book what they ask for at once, so that the View is true after
// each.
type Plan struct {
	*View
	actions  []Action
	refusals []Refusal
	refused  int  // in the whole run
	wake     Time // the earliest instant asked for and not reached; zero: none
	told     Time // the instant the engine was last told
}

const mostRefusals = 16 // kept of one Step

func (p *Plan) begin() {
	p.actions, p.refusals = p.actions[:0], p.refusals[:0]
	if p.wake <= p.Now {
		p.wake = 0
	}
	if p.told <= p.Now {
		p.told = 0
	}
}

// Actions returns the actions chosen so far in this Step, the core's own among them.
func (p *Plan) Actions() []Action { return p.actions }

// Refusals returns invalid actions of this Step, the first few of them.
func (c *Core) Refusals() []Refusal { return c.plan.refusals }

// Refused returns how many actions were invalid in the whole run.
func (c *Core) Refused() int { return c.plan.refused }

func (p *Plan) refuse(a Action, reason string) bool {
	p.refused++
	if len(p.refusals) < mostRefusals {
		p.refusals = append(p.refusals, Refusal{a, reason})
	}
	return false
}

// An As says how a task is launched otherwise than it would be by itself.
type As struct {
	Task  int32   // that one; zero: the one to run again, else the one nearest its input
	Shape ShapeID // what it holds; zero: its stage's shape
}

// Launch starts a task of st on n, and reports whether it fits.
func (p *Plan) Launch(st *Stage, n *Node) bool { return p.LaunchAs(st, n, As{}) }

// LaunchAs starts a task of st on n, and reports whether it fits.
func (p *Plan) LaunchAs(st *Stage, n *Node, as As) bool {
	c := p.core
	if as.Shape == 0 {
		as.Shape = st.Shape
	}
	switch {
	case !st.alive || st.Pending == 0:
		return p.refuseLaunch(st, n, as, "nothing of the stage is pending")
	case n.Lost:
		return p.refuseLaunch(st, n, as, "the node is lost")
	case !c.fitsOn(st, as.Shape, n):
		return false
	case as.Task == 0:
		as.Task = st.tasks.take(c, st, n)
	case p.Can&CanNameTasks == 0:
		return p.refuseLaunch(st, n, as, "this engine chooses the task")
	case !st.tasks.takeNamed(st, as.Task):
		return p.refuseLaunch(st, n, as, "the task is not pending")
	}
	a := c.start(st, n, as.Shape, 1)
	a.Task = as.Task
	p.launched(a)
	if n.Reserved == st.ID {
		c.unreserve(n)
	}
	return true
}

func (p *Plan) refuseLaunch(st *Stage, n *Node, as As, reason string) bool {
	return p.refuse(Action{Kind: Launch, Stage: st.ID, Node: n.ID, Task: as.Task, Shape: as.Shape}, reason)
}

// Speculate starts another attempt of the task of a on n, and reports whether it fits. When one succeeds, the core
// kills the others.
func (p *Plan) Speculate(a *Attempt, n *Node) bool { return p.SpeculateAs(a, n, a.Stage.Shape) }

// SpeculateAs is Speculate for an attempt that holds a shape of its own.
func (p *Plan) SpeculateAs(a *Attempt, n *Node, holds ShapeID) bool {
	c, st := p.core, a.Stage
	asked := Action{Kind: Launch, Stage: st.ID, Node: n.ID, Task: a.Task, Shape: holds, Attempt: a.ID}
	switch {
	case p.Can&CanNameTasks == 0:
		return false
	case a.State == gone || a.moot || a.Task == 0:
		return p.refuse(asked, "the attempt has ended or its task is done")
	case n.Lost:
		return p.refuse(asked, "the node is lost")
	case !c.fitsOn(st, holds, n):
		return false
	}
	b := c.start(st, n, holds, 0)
	b.Task = a.Task
	if b.twin = a.twin; b.twin == nil {
		b.twin = a
	}
	a.twin = b
	p.launched(b)
	return true
}

func (p *Plan) launched(a *Attempt) {
	p.actions = append(p.actions, Action{})
	said := &p.actions[len(p.actions)-1] // filled where it stands: what is copied right after it was written waits for the writes
	said.Kind, said.Stage, said.Node, said.Task, said.Shape, said.Attempt = Launch, a.Stage.ID, a.Node, a.Task, a.Holds, a.ID
}

// fitsOn reports whether st may launch a task that holds a shape on n now.
func (c *Core) fitsOn(st *Stage, id ShapeID, n *Node) bool {
	s := c.shapes.list[id]
	if c.exhausted || !n.Open || n.Reserved != (StageID{}) && n.Reserved != st.ID || !n.hasRoom(s) {
		return false
	}
	return (st.free() || c.allows(st, n, 0)) && (st.cap == 0 || c.underMax(st.cap, s))
}

func (p *Plan) act(k ActionKind, a *Attempt) Action {
	return Action{Kind: k, Stage: a.Stage.ID, Node: a.Node, Attempt: a.ID}
}

// Kill asks for an attempt's end, after a warning for grace. Its room is free when the engine has said so, and its task
// waits again.
func (p *Plan) Kill(a *Attempt, grace Time) bool {
	if p.Can&CanKill == 0 {
		return false
	}
	if a.State == Leaving || a.State == gone {
		return p.refuse(p.act(Kill, a), "the attempt has ended or was killed before")
	}
	p.evict(a, grace)
	return true
}

// evict is Kill without asking whether the engine can: what the core itself ends, every engine can end.
func (p *Plan) evict(a *Attempt, grace Time) {
	p.core.leave(a, Leaving)
	k := p.act(Kill, a)
	k.At = grace
	p.actions = append(p.actions, k)
	p.core.touchJob(a.Stage.Job)
}

// Suspend asks for an attempt to stop and to keep its memory only. The rest of its room is free when the engine has
// said so.
func (p *Plan) Suspend(a *Attempt) bool {
	if p.Can&CanSuspend == 0 {
		return false
	}
	if a.State != Running {
		return p.refuse(p.act(Suspend, a), "the attempt does not run")
	}
	p.core.leave(a, Suspending)
	p.actions = append(p.actions, p.act(Suspend, a))
	p.core.touchJob(a.Stage.Job)
	return true
}

// Resume has a suspended attempt go on, and reports whether its node has room for it.
func (p *Plan) Resume(a *Attempt) bool {
	if p.Can&CanSuspend == 0 {
		return false
	}
	if a.State != Suspended {
		return p.refuse(p.act(Resume, a), "the attempt is not suspended")
	}
	c, st, n := p.core, a.Stage, p.Node(a.Node)
	lacks := c.missing(a)
	if n.Lost || !n.hasRoom(lacks) || n.Reserved != (StageID{}) && n.Reserved != st.ID || !c.underMax(st.cap, lacks) {
		return false
	}
	c.demand(st, lacks, -1)
	c.rebook(a, a.wants)
	st.attempts.paused -= c.Ran(a, c.Now)
	a.State, a.parked = Running, false
	c.attempts.resume(a, c.Now)
	st.attempts.starts += c.attempts.shiftedStart(a)
	st.Suspended--
	st.Running++
	st.Job.Running++
	c.climb(st, booking{count: Count{Running: 1, Away: a.away()}})
	if n.Reserved == st.ID {
		c.unreserve(n)
	}
	p.actions = append(p.actions, p.act(Resume, a))
	return true
}

// Resize has an attempt hold another shape, and reports whether its node has room. What becomes more is booked at once,
// what becomes less is free when the engine has said so.
func (p *Plan) Resize(a *Attempt, to ShapeID) bool {
	if p.Can&CanResize == 0 {
		return false
	}
	asked := p.act(Resize, a)
	asked.Shape = to
	if a.State != Running || a.wants != a.Holds {
		return p.refuse(asked, "the attempt does not run, or is being resized")
	}
	c, n := p.core, p.Node(a.Node)
	has, will := p.Amount(a.Holds), p.Amount(to)
	most := has
	for k := range most {
		most[k] = max(has[k], will[k])
		if d := most[k] - has[k]; d > 0 && n.Used[k]+d > n.Capacity[k] {
			return false
		}
	}
	if most != has {
		c.rebook(a, c.shapes.intern(most))
	}
	a.wants = to
	p.actions = append(p.actions, asked)
	return true
}

// Reserve keeps n for st: nobody else may launch there until st has, or has nothing pending any more. A nil st frees n.
func (p *Plan) Reserve(st *Stage, n *Node) bool {
	c := p.core
	if st == nil {
		if n.Reserved != (StageID{}) {
			c.unreserve(n)
			p.actions = append(p.actions, Action{Kind: Reserve, Node: n.ID})
		}
		return true
	}
	asked := Action{Kind: Reserve, Stage: st.ID, Node: n.ID}
	switch {
	case !st.alive || st.Pending == 0 && st.Suspended == 0:
		return p.refuse(asked, "nothing of the stage waits")
	case n.Lost:
		return p.refuse(asked, "the node is lost")
	case n.Reserved == st.ID:
		return true
	case n.Reserved != (StageID{}):
		return p.refuse(asked, "the node is reserved for another")
	}
	n.Reserved = st.ID
	c.shapes.kept++
	st.reserved = append(st.reserved, n.ID)
	c.shapes.note(n)
	c.touch(st)
	p.actions = append(p.actions, asked)
	return true
}

// unreserve frees a node for all.
func (c *Core) unreserve(n *Node) {
	if n.Reserved == (StageID{}) {
		return
	}
	if st := c.Stage(n.Reserved); st != nil {
		if i := slices.Index(st.reserved, n.ID); i >= 0 {
			st.reserved = slices.Delete(st.reserved, i, i+1)
		}
		c.touch(st)
	}
	n.Reserved = StageID{}
	c.shapes.kept--
	c.shapes.note(n)
	c.offer(n)
}

// Probe asks the engine to run a probe of a job. It comes back as a job whose Spec.Probes names j.
func (p *Plan) Probe(j *Job) bool {
	if p.Can&CanProbe == 0 {
		return false
	}
	asked := Action{Kind: Probe, Stage: StageID{Job: j.ID}}
	if j.Ended {
		return p.refuse(asked, "the job has ended")
	}
	p.actions = append(p.actions, asked)
	return true
}

// Touch has every index order st anew, because what a policy remembers of it changed.
func (p *Plan) Touch(st *Stage) { p.core.touch(st) }

// TouchJob is Touch for all stages of a job.
func (p *Plan) TouchJob(j *Job) { p.core.touchJob(j) }

// Wake asks for a Step at an instant after Now, events or not. The core keeps the earliest and forgets the others, so a
// policy asks again in every Decide; and it keeps none when no job is left.
func (p *Plan) Wake(at Time) {
	if at > p.Now && (p.wake == 0 || at < p.wake) {
		p.wake = at
	}
}

// settleWake tells the engine when to wake the core, where that has changed.
func (p *Plan) settleWake() {
	at := p.wake
	if p.Idle() {
		p.wake, at = 0, 0
	}
	if p.core.exhausted {
		at = max(p.Now, 1) // zero would be: not needed
	}
	if at != p.told {
		p.told = at
		p.actions = append(p.actions, Action{Kind: Wake, At: at})
	}
}
