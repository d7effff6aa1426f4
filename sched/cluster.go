package sched

import (
	"cmp"
	"slices"
)

// A cluster is the state that Step changes: one method for each kind of event. What attempts hold is booked in its
// ledger.
type cluster struct {
	view      *View
	config    Config
	estimator Estimator
	plan      Plan

	jobs     jobTable
	stages   stageTable
	attempts attemptTable
	queues   queueTable
	ledger   ledger
	started  NodeID // of the last launch
	layouts  uint32 // changes of the nodes and of their racks
	stepState
}

// stepState is what lasts for one Step.
type stepState struct {
	steps     uint64
	given     []Event // in order; then the derived ones
	derived   []Event
	doomed    []*Attempt // to be killed if they are still there when all events are applied
	opened    []*Node    // by reports, until the Step is over
	spent     int        // of Config.Limit
	exhausted bool       // spent has reached the limit
}

func (c *cluster) init(v *View, config Config) {
	c.view, c.config, c.estimator = v, config, config.Estimator
	v.cluster, v.Can, v.Forecast = c, config.Can, config.Forecast
	c.ledger = ledger{view: v, shapes: shapes{view: v, byAmt: map[Resources]ShapeID{}}}
	c.ledger.shapes.intern(Resources{})
	c.jobs = jobTable{first: -1, last: -1, byID: map[JobID]*Job{}}
	c.plan.View = v
	c.queues.init(c, config.Queues)
}

// applyAll puts the events of an instant into their order, applies them, and shows them to the policy with those that
// follow from them.
func (c *cluster) applyAll(events []Event) {
	if len(events) > 1 {
		c.given = append(c.given[:0], events...) // engines keep their order
		events = c.given
		if !sorted(events) {
			slices.SortStableFunc(events, compareEvents)
		}
	}
	for i := range events {
		if events[i].Kind != AttemptDone {
			c.ledger.settle()
		}
		c.apply(&events[i])
	}
	c.ledger.settle()
	c.queues.dropEmptied(c.jobs.ended)
	if len(c.derived) > 0 {
		if len(events) == 1 {
			c.given = append(c.given[:0], events...)
		}
		c.given = append(c.given[:len(events)], c.derived...)
		events = c.given
	}
	c.view.Events = events
	for _, a := range c.doomed {
		if a.State != gone && a.State != Leaving {
			c.evict(a, 0)
		}
	}
}

// begin starts a Step: it forgets what ended in the last one, and now and then the shapes that no row has.
func (c *cluster) begin(now Time) {
	c.view.Now = now
	c.steps++
	c.attempts.recycle()
	if len(c.jobs.ended) > 0 {
		c.recycleJobs()
	}
	c.ledger.shapes.sweepIfDue(&c.stages, &c.attempts, c.config.Forget)
	c.ledger.log.trim(len(c.stages.rows))
	c.view.Offers = c.view.Offers[:0]
	c.derived, c.doomed, c.opened = c.derived[:0], c.doomed[:0], c.opened[:0]
	c.spent, c.exhausted = 0, false
	c.plan.out.reset(now)
}

// finish closes the nodes that were open for this Step only, and settles when the core is woken.
func (c *cluster) finish() {
	for _, n := range c.opened {
		n.Open = false
		c.ledger.shapes.note(n)
	}
	c.settleWake()
}

// derive adds an event that follows from others.
func (c *cluster) derive(e Event) {
	e.Derived = true
	c.derived = append(c.derived, e)
}

// apply changes the state by one event. It ignores stale facts of attempts and jobs that have ended.
func (c *cluster) apply(e *Event) {
	switch e.Kind {
	case AttemptDone:
		if a := c.view.Attempt(e.Attempt); a != nil && a.State != gone {
			k, _ := e.Body.(*Counters)
			c.attemptDone(a, e.Outcome, k)
		}
	case JobSubmitted:
		c.submit(e.Job, e.Body.(*JobSpec))
	case NodeJoined:
		c.nodeJoined(e.Node, e.Body.(*NodeSpec))
	case NodeReported:
		spec, _ := e.Body.(*NodeSpec)
		c.nodeReported(nodeOf(c.view, e), spec)
	case NodeLost:
		c.nodeLost(nodeOf(c.view, e))
	case AttemptSuspended:
		if a := c.view.Attempt(e.Attempt); a != nil && a.State == Suspending {
			c.suspended(a)
		}
	case AttemptResized:
		if a := c.view.Attempt(e.Attempt); a != nil && c.ledger.shrinks(a) {
			resizeAsked(c, a, c.view.Amount(a.wants))
		}
	case ResizeAsked:
		if a := c.view.Attempt(e.Attempt); a != nil && a.State != gone && (a.parked || a.wants == a.Holds) {
			resizeAsked(c, a, *e.Body.(*Resources))
		}
	case AttemptProgress:
		if a := c.view.Attempt(e.Attempt); a != nil && a.State != gone {
			a.Progress, a.Phase = e.Progress, e.Phase
		}
	case TaskUndone:
		u := e.Body.(*Undone)
		if st := c.view.Stage(StageID{e.Job, u.Stage}); st != nil {
			c.undo(st, u.Tasks)
		}
	case JobEnded:
		if j := c.view.Job(e.Job); j != nil && !j.Ended {
			c.endJob(j)
		}
	case AsksChanged:
		j, asks := c.view.Job(e.Job), e.Body.(*Asks)
		asks.countAll(j)
		if j != nil && !j.Ended {
			c.asksChanged(j, asks)
		}
	case SpecChanged:
		if q, ok := e.Body.(*Queues); ok {
			c.queues.change(q.List)
		} else if j := c.view.Job(e.Job); j != nil && !j.Ended {
			c.amend(j, e.Body.(*JobSpec))
		}
	case AttemptFound:
		e.Attempt = 0
		if j := c.view.Job(e.Job); j != nil && !j.Ended {
			e.Attempt = c.found(j, nodeOf(c.view, e), e.Body.(*Found))
		}
	}
}

// nodeOf returns the node of an event. It panics with a Breach if no such node has joined.
func nodeOf(v *View, e *Event) *Node {
	if e.Node <= 0 || int(e.Node) > len(v.Nodes) {
		breach("%v of node %d, and %d have joined", e.Kind, e.Node, len(v.Nodes))
	}
	return v.Node(e.Node)
}

// Nodes.

// nodeJoined adds a node, or takes a lost one back, with the spec that it now has. It panics if the engine skips a
// number or lets a node join twice.
func (c *cluster) nodeJoined(id NodeID, spec *NodeSpec) {
	switch {
	case id <= 0 || int(id) > len(c.view.Nodes)+1:
		breach("node %d joins as number %d", id, len(c.view.Nodes)+1)
	case int(id) == len(c.view.Nodes)+1:
		c.view.Nodes = append(c.view.Nodes, &Node{ID: id, Lost: true, Rack: -1})
		c.ledger.shapes.grow(id)
	}
	n := c.view.Node(id)
	if !n.Lost {
		breach("node %d joins, and is there already", id)
	}
	if n.Rack != spec.Rack {
		c.layouts++
	}
	n.Name, n.Rack, n.class = spec.Name, spec.Rack, c.classNamed(spec.Class)
	n.Lost, n.Open = false, !c.config.Heartbeats
	n.Class = n.class.ID
	n.class.add(id)
	c.resize(n, spec.Capacity)
	c.offer(n)
}

// classNamed returns the class with a name, and makes it if there is none.
func (c *cluster) classNamed(name string) *Class {
	for _, k := range c.view.Classes {
		if k.Name == name {
			return k
		}
	}
	k := &Class{ID: ClassID(len(c.view.Classes) + 1), Name: name}
	c.view.Classes = append(c.view.Classes, k)
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

// resize sets the capacity of node n, and with it the shares of all queues: O(queues).
func (c *cluster) resize(n *Node, capacity Resources) {
	d := capacity.Sub(n.Capacity)
	n.Capacity = capacity
	n.class.Capacity = n.class.Capacity.Add(d)
	c.view.Capacity = c.view.Capacity.Add(d)
	for k, a := range capacity {
		if kind := ResourceKind(k); a > 0 && !slices.Contains(c.ledger.kinds, kind) {
			c.ledger.kinds = append(c.ledger.kinds, kind)
		}
	}
	c.queues.setLimits()
	c.ledger.shapes.note(n)
}

// nodeReported notes a report of node n, with a new capacity where spec says one. Under heartbeats n is open until the
// Step ends.
func (c *cluster) nodeReported(n *Node, spec *NodeSpec) {
	if n.Lost {
		return
	}
	if spec != nil && spec.Capacity != n.Capacity {
		c.resize(n, spec.Capacity)
	}
	if c.config.Heartbeats && !n.Open {
		n.Open = true
		c.opened = append(c.opened, n)
		c.ledger.shapes.note(n)
	}
	c.offer(n)
}

// nodeLost ends the attempts on node n as lost. Finished tasks whose output was on n, and is still needed, wait again.
func (c *cluster) nodeLost(n *Node) {
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

// offer adds node n to View.Offers, once a Step.
func (c *cluster) offer(n *Node) {
	if n.offered != c.steps {
		n.offered = c.steps
		c.view.Offers = append(c.view.Offers, n.ID)
	}
}
