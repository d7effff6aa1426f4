package yarn

import (
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// How containers change their sizes. An ApplicationMaster names the version of the container that it knows, so that two
// changes do not cross. Less is so at once, and the node is told with its next beat. More is asked of the core as
// another container on the same node, of what is missing: policy, queue and room decide of it as of any ask, and what
// does not fit waits. When the core has granted it, it becomes part of the first, and the ApplicationMaster gets a
// token by which the node gives the container more. Where the node has not said in time that it did, it is taken off
// again.

// A growth is what is to become of a container's size.
type growth struct {
	asked  *group        // for what is missing; nil: nothing is asked for
	to     wire.Resource // that the container is to have then
	unsure bool          // its node has not said yet that it gave it more
	known  wire.Resource // what the node gives it until then
}

// A resized container is to be told of to its ApplicationMaster.
type resized struct {
	c    *container
	kind wire.UpdateKind
}

// Why sizes are not changed, as Hadoop says it.
const (
	noContainer  = "INVALID_CONTAINER_ID"
	otherVersion = "INCORRECT_CONTAINER_VERSION_ERROR"
	askedAlready = "UPDATE_OUTSTANDING_ERROR"
	outOfRange   = "RESOURCE_OUTSIDE_ALLOWED_RANGE"
	noSuchUpdate = "UPDATE_NOT_SUPPORTED" // not Hadoop's: of how urgently a container is run
)

// update takes in which sizes an ApplicationMaster wants for its containers.
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

// update begins to give the container another size, or says why not. again: the same call wanted that before.
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

// grow asks for what is missing of a larger size. What was asked before for the container is not wanted any more.
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

// withdraw takes back what was asked for the container and has not been granted.
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

// grown takes in that the core has granted what a container was to have more. What was granted ends at once, and in the
// same Step the container holds it: no other container gets the room between.
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

// become gives the container another size, and has all told who must know.
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
	c.book(to, c.version+1)
	if c.growth.unsure && c.state == running {
		m.live.containers.watch(&c.waits, m.now, c)
	}
	if kind == wire.Decrease || m.config.Sizes.NodesAreTold {
		c.node.sizes.containers = append(c.node.sizes.containers, c)
	}
	c.attempt.dues.resized = append(c.attempt.dues.resized, resized{c, kind})
}

// began says that the container runs, maybe in the size of a token before the last.
func (c *container) began() {
	switch {
	case c.growth == nil:
	case c.growth.unsure:
		c.m.live.containers.watch(&c.waits, c.m.now, c)
	case c.version > 0:
		c.node.sizes.containers = append(c.node.sizes.containers, c)
	}
}

// book tells the core of the container's size.
func (c *container) book(to wire.Resource, version int32) {
	c.resource, c.version = to, version
	amount := c.m.config.Sizes.amount(to)
	c.m.note(sched.Event{Kind: sched.ResizeAsked, Attempt: c.lease, Node: c.node.sched, Job: c.attempt.app.job,
		Body: &amount})
}

// sure says that the node gives the container what it should have.
func (c *container) sure() {
	if c.growth != nil && c.growth.unsure {
		c.growth.unsure = false
		if c.state == running {
			c.waits.leave()
		}
	}
}

// increased takes in which containers a node has given more. Of one that it gives more than it should have, as where an
// ApplicationMaster came with a token of an earlier life, that is booked: it is so.
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
			c.book(s.size(gives), max(c.version+1, one.Version))
		}
		if gives == s.amount(c.resource) {
			c.sure()
		}
	}
}

// sized is what the container's node is told of its size.
func (c *container) sized() wire.Container {
	signed, _ := c.token(nil)
	return c.describe(signed)
}
