package yarn

import (
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// How containers change their sizes. An ApplicationMaster names the version of the container that it knows, so that two
// changes do not cross.
//
// A decrease holds at once, and the node is told with its next heartbeat.
//
// An increase is an ask for a second container on the same node, of the difference. The policy, the queue's limits and
// the node's room decide about it as about any ask, and it waits where it does not fit. When the core grants it, the
// difference is added to the first container, and the ApplicationMaster gets a token by which the node enlarges the
// container. If the node does not confirm the new size in time, the increase is taken back.

// Why sizes are not changed, as Hadoop says it.
const (
	noContainer  = "INVALID_CONTAINER_ID"
	otherVersion = "INCORRECT_CONTAINER_VERSION_ERROR"
	askedAlready = "UPDATE_OUTSTANDING_ERROR"
	outOfRange   = "RESOURCE_OUTSIDE_ALLOWED_RANGE"
	noSuchUpdate = "UPDATE_NOT_SUPPORTED" // not Hadoop's word: for changes of how urgently a container is run
)

// update begins the changes of size that an ApplicationMaster asks for, and notes those that are refused.
func (a *attempt) update(list []wire.UpdateRequest) {
	if len(list) == 0 {
		return
	}
	seen, most := map[wire.ContainerID]bool{}, askable(a.app.m)
	for i := range list {
		u := &list[i]
		c := a.app.m.container(u.Container)
		if c != nil && c.attempt != a {
			c = nil
		}
		why := c.update(u, most, seen[u.Container])
		if why == "" {
			seen[u.Container] = true
			continue
		}
		refused := wire.UpdateError{Reason: why, Request: *u, Version: -1}
		if c != nil {
			refused.Version = c.version
		}
		a.dues.refused = append(a.dues.refused, refused)
	}
}

// update begins a change of the container's size. It returns "", or why the change is refused in Hadoop's words. c may
// be nil. again: an earlier element of the same call changed this container.
func (c *container) update(u *wire.UpdateRequest, most wire.Resource, again bool) string {
	if c == nil || c.state == allocated || c.state == done || c.leaving != nil || c.lease == 0 || c.isMaster() {
		return noContainer
	}
	s := c.m.config.Sizes
	to := s.normal(u.Resource)
	has, wants := s.amount(c.resource), s.amount(to)
	switch {
	case u.Version != c.version:
		return otherVersion
	case again:
		return askedAlready
	case u.Kind != wire.Increase && u.Kind != wire.Decrease:
		return noSuchUpdate
	case s.check(u.Resource, most) != nil, u.Kind == wire.Increase && !has.FitsIn(wants),
		u.Kind == wire.Decrease && !wants.FitsIn(has):
		return outOfRange
	case has == wants:
		c.withdraw()
	case u.Kind == wire.Increase:
		return c.grow(to, s.size(wants.Sub(has)))
	default:
		c.withdraw()
		c.become(to, wire.Decrease)
	}
	return ""
}

// grow asks for missing, which is what the container lacks of size to. The ask replaces one that waits for the
// container. grow returns "", or why there can be no such ask.
func (c *container) grow(to, missing wire.Resource) string {
	c.withdraw()
	app := c.attempt.app
	t, key := &app.asks, groupKey{c.priority, c.group, c.lease}
	if len(t.stages) >= mostStages && len(t.idle[askKind{key.priority, missing}]) == 0 {
		return outOfRange
	}
	if c.growth == nil {
		c.growth = &growth{}
	}
	c.growth.asked, c.growth.to = &group{key: key, size: missing, on: c.node}, to
	t.groups[key] = c.growth.asked
	t.want(c.growth.asked, 1)
	app.settle(c.growth.asked)
	return ""
}

// withdraw takes back an increase of the container that has not been granted.
func (c *container) withdraw() {
	if c.growth == nil || c.growth.asked == nil {
		return
	}
	g, app := c.growth.asked, c.attempt.app
	c.growth.asked = nil
	if app.asks.groups[g.key] == g {
		app.asks.want(g, 0)
		app.settle(g)
	}
}

// grown handles an increase that the core has granted. It ends the granted attempt, and the container holds its room in
// the same Step, so that no other container gets the room in between.
func grown(app *application, a *sched.Action, key groupKey) {
	m := app.m
	end := sched.Event{Kind: sched.AttemptDone, Outcome: sched.Released}
	end.Attempt, end.Node, end.Job = a.Attempt, a.Node, app.job
	m.note(end)
	g := app.asks.groups[key]
	if g == nil {
		return // taken back since
	}
	app.asks.want(g, 0)
	app.asks.forget(g)
	if c := m.leases.at(key.grows); c != nil && c.growth != nil && c.growth.asked == g {
		c.growth.asked = nil
		c.become(c.growth.to, wire.Increase)
	}
}

// become changes the container's size to to, in the core too, and queues the messages to its node and to its
// ApplicationMaster.
func (c *container) become(to wire.Resource, kind wire.UpdateKind) {
	m := c.m
	if c.growth == nil {
		c.growth = &growth{}
	}
	if g := c.growth; kind == wire.Decrease {
		c.sure()
	} else if !g.unsure {
		g.unsure, g.known = true, c.resource
	}
	c.setSize(to, c.version+1)
	if c.growth.unsure && c.state == running {
		m.live.containers.watch(&c.waits, m.now, c)
	}
	if kind == wire.Decrease || m.config.Sizes.NodesAreTold {
		c.queueSize()
	}
	c.attempt.dues.resized = append(c.attempt.dues.resized, resized{c, kind})
}

// began is called when the container begins to run. Its ApplicationMaster may have started it with an older token, of
// another size: so the node must confirm a larger size in time, and is told a smaller one.
func (c *container) began() {
	switch {
	case c.growth == nil:
	case c.growth.unsure:
		c.m.live.containers.watch(&c.waits, c.m.now, c)
	case c.version > 0:
		c.queueSize()
	}
}

// compare is called when the container's node registers again and reports that the container has size there. If the
// size is another one here, compare queues it for the node, unless the ApplicationMaster is to enlarge the container.
func (c *container) compare(there wire.Resource) {
	s := c.m.config.Sizes
	if c.state != running || c.growth == nil || s.amount(there) == s.amount(c.resource) {
		return
	}
	if !c.growth.unsure || s.NodesAreTold {
		c.queueSize()
	}
}

// queueSize queues the container's size for the next answer to its node: once, however often it changes until then.
func (c *container) queueSize() {
	if !c.growth.unsent {
		c.growth.unsent = true
		c.node.sizes.containers = append(c.node.sizes.containers, c)
	}
}

// setSize sets the container's size and version, and notes them for the core.
func (c *container) setSize(to wire.Resource, version int32) {
	c.resource, c.version = to, version
	amount := c.m.config.Sizes.amount(to)
	c.m.note(sched.Event{Kind: sched.ResizeAsked, Attempt: c.lease, Node: c.node.sched, Job: c.attempt.app.job,
		Body: &amount})
}

// sure notes that the node has confirmed the container's size.
func (c *container) sure() {
	if c.growth != nil && c.growth.unsure {
		c.growth.unsure = false
		if c.state == running {
			c.waits.leave()
		}
	}
}

// increased handles a node's report of containers that it has enlarged. Where a container is larger than it should be,
// as when its ApplicationMaster used a token of an earlier life, the size of the report is booked, because it is held.
func (n *node) increased(list []wire.Container) {
	s := n.m.config.Sizes
	for i := range list {
		one := &list[i]
		c := n.m.container(one.ID)
		if c == nil || c.node != n || c.state == done || c.lease == 0 {
			continue
		}
		has, gives := s.amount(c.resource), s.amount(one.Resource)
		if gives != has && has.FitsIn(gives) && s.check(one.Resource, s.most()) == nil {
			c.withdraw()
			c.setSize(s.size(gives), max(c.version+1, one.Version))
		}
		if gives == s.amount(c.resource) {
			c.sure()
		}
	}
}

// sized returns the container for the message that tells its node the new size.
func (c *container) sized() wire.Container {
	signed, _ := c.token(nil)
	return c.describe(signed)
}
