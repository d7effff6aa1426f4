package yarn

import (
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// Diagnostics, in Hadoop's words, of containers that the ResourceManager itself ends.
const (
	saidReleased  = "Container released by application"
	saidLost      = "Container released on a *lost* node"
	saidExpired   = "Container expired since it was unused"
	saidPreempted = "Container preempted by scheduler"
	saidFinished  = "Container of a finished application"
	saidUnknown   = "Container not known to its node any more"
)

// sign appends to b the token by which the container's node starts it, and returns the token and b. From then on the
// container must be reported as running within Expiry.Container.
func (c *container) sign(b []byte) (wire.Token, []byte) {
	c.state = acquired
	c.m.live.containers.watch(&c.waits, c.m.now, c)
	return c.token(b)
}

// describe returns the description of the container for its ApplicationMaster; t is its token.
func (c *container) describe(t wire.Token) wire.Container {
	return wire.Container{
		ID:          c.id,
		Node:        c.node.id,
		HTTPAddress: c.node.web,
		Resource:    c.resource,
		Priority:    c.priority,
		Token:       t,
		Allocation:  c.group,
		Version:     c.version,
	}
}

// token appends to b the identifier and the signature by which the node knows that it may start the container. It
// returns the token and b.
func (c *container) token(b []byte) (wire.Token, []byte) {
	m, app := c.m, c.attempt.app
	kind := wire.TaskContainer
	if c.isMaster() {
		kind = wire.MasterContainer
	}
	id := token.Container{ID: c.id, Node: c.node.name, User: app.user, Resource: c.resource,
		Expires: m.now.Add(m.config.Expiry.Container).
			UnixMilli(),
		Key: m.keys.container.Current().ID, ResourceManager: m.identity(),
		Priority: c.priority, Created: c.created, Version: c.version,
		LogAggregation: app.submission.LogAggregation, Type: kind,
		Allocation: c.group}
	at := len(b)
	b = id.Append(b)
	signed := len(b)
	b = m.keys.container.AppendSign(b, b[at:])
	return wire.Token{
		Identifier: b[at:signed:signed],
		Password:   b[signed:len(b):len(b)],
		Kind:       token.KindContainer,
		Service:    c.node.service,
	}, b
}

// expired is called when the node has not reported in time that the container runs, or that it has its larger size. The
// container is given up, or gets its former size back.
func (c *container) expired() {
	if c.state == running {
		c.become(c.growth.known, wire.Decrease)
		return
	}
	c.giveUp(wire.ExitAborted, saidExpired, sched.Released)
}

// follow updates the container by status s, which its node has reported.
func (c *container) follow(s *wire.ContainerStatus) {
	if c.isMaster() && c.state != done {
		c.attempt.runs() // the reply to the launch may be on its way, or lost
	}
	switch {
	case s.State == wire.ContainerComplete:
		c.completed(s)
	case c.state < running:
		c.state = running
		c.waits.leave()
		c.began()
	case c.state == done: // it was given up before its node reported that it runs
		c.node.stop(c.id)
	}
}

// blamelessExit reports whether an exit status is not the application's fault.
func blamelessExit(status int32) bool {
	switch status {
	case wire.ExitAborted, wire.ExitDisks, wire.ExitPreempted, wire.ExitByRM:
		return true
	}
	return false
}

// completed is called when the node reports, by s, that the container has ended.
func (c *container) completed(s *wire.ContainerStatus) {
	switch {
	case c.state == done:
		c.settle()
	case c.leaving != nil:
		c.over(c.leaving.end, c.leaving.outcome)
	default:
		outcome := sched.Failed
		switch {
		case s.Exit == 0:
			outcome = sched.OK
		case blamelessExit(s.Exit):
			outcome = sched.Killed
		}
		c.over(*s, outcome)
	}
}

// preempt ends the container because the core wants its room. Its ApplicationMaster is asked to give the container back
// within grace; afterwards the container is killed. A container that has not started, an ApplicationMaster, and a
// container of an attempt that has ended are ended at once.
func (c *container) preempt(grace sched.Time) {
	kill := func() { c.giveUp(wire.ExitPreempted, saidPreempted, sched.Killed) }
	switch {
	case c.attempt.ended():
		c.giveUp(wire.ExitAfterApp, saidFinished, sched.Killed)
	case grace <= 0 || c.state == allocated || c.isMaster():
		kill()
	default:
		c.attempt.dues.wanted = append(c.attempt.dues.wanted, c.id)
		c.grace = c.m.live.at(c.m.now.Add(grace), kill)
	}
}

// giveUp ends the container. Its ApplicationMaster is told the exit status and why. A container that runs holds its
// room until its node reports its end. Any other is over at once, because its node may never hear of it.
func (c *container) giveUp(exit int32, why string, outcome sched.Outcome) {
	if c.state == done || c.leaving != nil {
		return
	}
	c.withdraw()
	end := wire.ContainerStatus{ID: c.id, State: wire.ContainerComplete, Diagnostics: why, Exit: exit}
	if c.state != allocated {
		c.node.stop(c.id)
	}
	if c.state == running && c.node.usable() {
		c.leaving = &leaving{end, outcome}
		c.attempt.notify(c, end)
		return
	}
	c.over(end, outcome)
}

// lost ends the container because its node does not have it any more.
func (c *container) lost(why string) {
	if c.state != done {
		c.over(
			wire.ContainerStatus{ID: c.id, State: wire.ContainerComplete, Diagnostics: why, Exit: wire.ExitAborted},
			sched.Lost,
		)
	}
}

// over frees the container's room, and tells its ApplicationMaster of the end. The strings of end are lent.
func (c *container) over(end wire.ContainerStatus, outcome sched.Outcome) {
	c.withdraw()
	c.state, c.leaving = done, nil
	c.waits.leave()
	c.m.live.off(c.grace)
	c.m.leases.remove(c)
	c.node.drop(c)
	if c.isMaster() {
		outcome = c.attempt.masterOver(&end, outcome)
		if c.attempt.failed = outcome == sched.Failed; c.attempt.failed && c.attempt.app.forgiving() {
			outcome = sched.Lost // the core counts failures for ever
		}
		c.attempt.app.save()
		c.notice = heard
	}
	c.m.count.ended[outcome]++
	if c.lease == 0 {
		c.attempt.app.unfound(c)
	} else {
		done := sched.Event{
			Kind:    sched.AttemptDone,
			Outcome: outcome,
			Attempt: c.lease,
			Node:    c.node.sched,
			Job:     c.attempt.app.job,
		}
		if outcome == sched.OK {
			done.Body = c.counters()
		}
		c.m.note(done)
	}
	if app := c.attempt.app; c.isMaster() && c.attempt.failed && !app.over && blamesNode(end.Exit) {
		app.shun(c.node)
	}
	c.attempt.notify(c, end)
	c.settle()
}

// settle lets the container's node forget the container, if the container is over, and its ApplicationMaster knows that
// or the attempt has ended.
func (c *container) settle() {
	if c.state != done || c.notice != heard && !c.attempt.ended() {
		return
	}
	if c.attempt.app.attempts[c.id.Attempt.Attempt-1].containers.remove(c) { // of the attempt that it was granted to
		c.m.nodes.containers--
		c.node.remove = append(c.node.remove, c.id)
		if app := c.attempt.app; app.over && app.cleared() {
			c.m.apps.trim(c.m.config.Completed)
		}
	}
}
