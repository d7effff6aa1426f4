package yarn

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// begin adds the application's next attempt, in state allocated, which becomes the current one. The application is
// accepted (again), and is saved. It is called when the core has granted the ApplicationMaster's container: the caller
// sets a.master and calls launch. It is also called for an unmanaged application: the caller sets a.state to launched.
// The attempt takes over what the last one left (inherit), and fails if its ApplicationMaster does not call in time.
func (app *application) begin() *attempt {
	a := &attempt{
		app:   app,
		id:    wire.AttemptID{App: app.id, Attempt: int32(len(app.attempts) + 1)},
		state: wire.AttemptAllocated,
		times: times{started: app.m.millis()},
	}
	a.dues.tokens, a.dues.news = map[*node]nodeToken{}, app.m.nodes.lastNews
	if last := app.current(); last != nil {
		a.inherit(last)
		if len(app.asks.banned) > 0 {
			app.ban()
			app.rebanned()
		}
	}
	app.attempts = append(app.attempts, a)
	if n := len(app.attempts) - mostInFull; n > 0 { // where failures expire, there is no end to attempts
		old := app.attempts[n-1]
		old.diagnostics = cut(old.diagnostics, mostLogged)
	}
	app.state = wire.AppAccepted
	app.save()
	a.watch()
	return a
}

// inherit takes over the containers that the last attempt left, if the application keeps containers, and the reports of
// ended containers that no attempt has received.
func (a *attempt) inherit(last *attempt) {
	for _, c := range last.own() {
		if last.keeps(c) {
			c.attempt = a
		}
	}
	a.dues.completed, a.app.missed = a.app.missed, nil
}

// keeps reports whether container c outlives this attempt: the application keeps containers, the attempt has failed,
// and another attempt may follow.
func (a *attempt) keeps(c *container) bool {
	return a.app.submission.KeepContainers && a.state == wire.AttemptFailed && !a.app.over && a.master != nil &&
		!c.isMaster() && (c.state == acquired || c.state == running) && c.leaving == nil
}

// own returns the attempt's containers in order of allocation, with those that it has taken over first.
func (a *attempt) own() (list []*container) {
	for _, of := range a.holders() {
		list = append(list, slices.DeleteFunc(of.sorted(), func(c *container) bool { return c.attempt != a })...)
	}
	return list
}

// holders returns the attempts to which containers were granted that may be this attempt's now, itself last.
func (a *attempt) holders() []*attempt {
	upTo := a.app.attempts[:a.id.Attempt]
	if a.app.submission.KeepContainers {
		return upTo
	}
	return upTo[a.id.Attempt-1:]
}

// A containerPlace is a container's place in the order of own. The zero containerPlace is before all.
type containerPlace struct {
	attempt int32 // to which it was granted
	id      int64
}

// pageOfContainers is how many containers one turn looks at for a list of them.
const pageOfContainers = 500

// page calls visit for those of the next pageOfContainers containers after a place that are the attempt's. It returns
// the place to go on after, and whether to go on.
func (a *attempt) page(after containerPlace, visit func(*container)) (last containerPlace, more bool) {
	left := pageOfContainers
	for _, of := range a.holders() {
		number, first := of.id.Attempt, int64(0)
		if number < after.attempt {
			continue
		}
		if number == after.attempt {
			first = after.id + 1
		}
		for c := range of.containers.from(first) {
			if left == 0 {
				return last, true
			}
			left--
			if last = (containerPlace{number, c.id.ID}); c.attempt == a {
				visit(c)
			}
		}
	}
	return last, false
}

// previous adds containers that the attempt has taken over to reply r, for its ApplicationMaster: those of a page after
// a place. It returns the place to go on after, and whether to go on.
func (a *attempt) previous(after containerPlace, r *wire.RegisterMasterResponse) (last containerPlace, more bool) {
	return a.page(after, func(c *container) {
		if c.id.Attempt == a.id || c.state == done || c.leaving != nil {
			return
		}
		signed, _ := c.token(nil)
		r.Containers = append(r.Containers, c.describe(signed))
		if t, ok := a.tokenFor(c.node); ok {
			r.NodeTokens = append(r.NodeTokens, t)
		}
	})
}

// tokenFor returns a token for a node, unless the ApplicationMaster has one that is still valid.
func (a *attempt) tokenFor(n *node) (wire.NodeToken, bool) {
	have := nodeToken{a.app.m.keys.node.Current().ID, n.registration}
	if a.dues.tokens[n] == have {
		return wire.NodeToken{}, false
	}
	a.dues.tokens[n] = have
	return wire.NodeToken{Node: n.id, Token: a.nodeToken(n)}, true
}

// watch begins to wait for calls of the ApplicationMaster.
func (a *attempt) watch() {
	m := a.app.m
	m.live.masters.watch(&a.silent, m.now, (*silentMaster)(a))
}

// A silentMaster is an attempt whose ApplicationMaster has not called for too long.
type silentMaster attempt

// expired ends the attempt as failed.
func (s *silentMaster) expired() {
	a := (*attempt)(s)
	a.fail(fmt.Sprintf("ApplicationMaster for attempt %s timed out", a.id))
}

// A lingeringMaster is an attempt whose ApplicationMaster has said that it is over, and does not end.
type lingeringMaster attempt

// expired ends the application as its ApplicationMaster has said.
func (s *lingeringMaster) expired() { s.app.end(wire.AppFinished, s.app.outcome) }

// token returns the token by which the ApplicationMaster authenticates to the ResourceManager.
func (a *attempt) token() wire.Token {
	k := a.app.m.keys.master
	a.dues.key = k.Current().ID
	id := token.Master{Attempt: a.id, Key: a.dues.key}
	identifier := id.Append(nil)
	return wire.Token{Identifier: identifier, Password: k.Sign(identifier), Kind: token.KindMaster}
}

// nodeToken returns a token by which the ApplicationMaster authenticates to a node.
func (a *attempt) nodeToken(n *node) wire.Token {
	k := a.app.m.keys.node
	id := token.Node{Attempt: a.id, Node: n.id, User: a.app.user, Key: k.Current().ID}
	identifier := id.Append(nil)
	return wire.Token{Identifier: identifier, Password: k.Sign(identifier), Kind: token.KindNode, Service: n.service}
}

// launch starts the ApplicationMaster on its node.
func (a *attempt) launch() {
	m, s := a.app.m, &a.app.submission
	blob, err := token.AddCredential(s.Launch.Tokens(), a.token())
	if err != nil {
		a.fail(err.Error())
		return
	}
	env := []wire.Variable{{Name: "APPLICATION_WEB_PROXY_BASE", Value: "/proxy/" + a.app.id.String()},
		{
			Name:  "APP_SUBMIT_TIME_ENV",
			Value: fmt.Sprint(a.app.times.started),
		}} // MapReduce's ApplicationMaster ends at once without
	signed, _ := a.master.sign(nil)
	request := &wire.StartContainersRequest{Launch: s.Launch.With(blob, env), Token: signed}
	n := a.master.node
	a.cancel = m.start.launch(
		launchOrder{node: n.id, quiet: n.quiet, waitStored: m.saves.waiter(), token: a.nodeToken(n), request: request},
		func(err error) {
			m.post(func() { a.launched(err) })
		},
	)
}

// launched is called when the launch has ended; err is nil if the node has started the ApplicationMaster. It does
// nothing if the launch was cancelled, as it is once the ApplicationMaster is known to run.
func (a *attempt) launched(err error) {
	switch {
	case a.cancel == nil:
	case err == nil:
		a.runs()
	default:
		a.unlaunch()
		n := a.master.node
		a.blameless = errors.Is(err, errSilent)
		n.distrust()
		a.app.shun(n)
		a.app.m.step()
		a.fail(fmt.Sprintf("Error launching %s. Got exception: %v", a.id, err))
	}
}

// runs is called when the ApplicationMaster is known to have been started: the node has replied to the launch, the node
// reports the container, or the ApplicationMaster registers. Any of these may come first, and runs may be called again.
func (a *attempt) runs() {
	if a.cancel != nil {
		a.unlaunch()
		a.master.node.trust()
	}
	if a.state == wire.AttemptAllocated {
		a.state = wire.AttemptLaunched
	}
	if a.app.times.launched == 0 {
		a.app.times.launched = a.app.m.millis()
		a.app.save()
	}
}

// unlaunch cancels the launch, if it is in progress.
func (a *attempt) unlaunch() {
	if a.cancel != nil {
		a.cancel()
		a.cancel = nil
	}
}

// fail ends the attempt because its ApplicationMaster cannot be reached any more. The core begins another attempt when
// the ApplicationMaster's container has ended.
func (a *attempt) fail(why string) {
	if a.ended() {
		return
	}
	a.finish(wire.AttemptFailed, why)
	if a.master == nil {
		a.app.end(wire.AppFailed, outcome{wire.Failed, why})
	}
}

// masterOver is called when the ApplicationMaster's container has ended. It returns the outcome for the core: an
// ApplicationMaster that ends without having said that it is over has failed, whatever its exit status.
func (a *attempt) masterOver(end *wire.ContainerStatus, o sched.Outcome) sched.Outcome {
	switch {
	case a.app.over:
		return o
	case a.state == wire.AttemptFinishing:
		a.app.end(wire.AppFinished, a.app.outcome)
		return sched.OK
	case !a.ended():
		a.finish(
			wire.AttemptFailed,
			fmt.Sprintf("AM Container for %s exited with exitCode: %d: %s", a.id, end.Exit, end.Diagnostics),
		)
	}
	if o == sched.OK || o == sched.Released {
		return sched.Failed
	}
	return o
}

// finish ends the attempt and its containers, and withdraws its asks.
func (a *attempt) finish(state wire.AttemptState, why string) {
	if a.ended() {
		return
	}
	a.state, a.diagnostics, a.times.finished = state, cut(why, mostDiagnostics), a.app.m.millis()
	a.app.save()
	a.silent.leave()
	a.finishing.leave()
	a.unlaunch()
	if !a.app.over {
		a.app.drop()
	}
	if a.app.submission.KeepContainers {
		a.app.missed = append(a.app.missed, a.dues.completed...)
	}
	a.dues = dues{key: a.dues.key}
	if f := &a.app.m.finds; f.given[a.app] != nil {
		f.restart(a.app)
	}
	for _, c := range a.own() {
		if a.keeps(c) {
			continue
		}
		o := sched.Killed
		if c.isMaster() && state == wire.AttemptFailed {
			if o = sched.Failed; a.blameless {
				o = sched.Lost
			}
		}
		c.giveUp(wire.ExitAfterApp, saidFinished, o)
		c.settle()
	}
	a.app.m.log.Info("attempt ended", "attempt", a.id.String(), "diagnostics", cut(why, mostLogged))
}

// sorted returns the containers in order of allocation.
func (a *attempt) sorted() []*container { return a.containers.sorted() }

// notify adds the end of container c, once, to the ApplicationMaster's next answer. A container that the
// ApplicationMaster has not heard of is asked for again instead.
func (a *attempt) notify(c *container, end wire.ContainerStatus) {
	if c.notice == none && a.ended() && a.app.submission.KeepContainers && !a.app.over && !c.isMaster() {
		kept, _ := end.Keep(nil)
		a.app.missed = append(a.app.missed, kept) // for the next attempt
	}
	if c.notice > unheard || c.isMaster() || a.ended() {
		return
	}
	if c.notice == unheard {
		a.dues.granted.remove(c)
		c.notice = heard
		a.app.unplaced(c)
		return
	}
	c.notice = queued
	var kept wire.ContainerStatus
	kept, a.dues.strings = end.Keep(a.dues.strings)
	a.dues.completed = append(a.dues.completed, kept)
	a.dues.ending = append(a.dues.ending, c)
}

// called is called when the ApplicationMaster calls again, which shows that it has received the last answer.
func (a *attempt) called() {
	a.silent.touch(a.app.m.now)
	for _, c := range a.dues.sent {
		c.notice = heard
		c.settle()
	}
	clear(a.dues.sent)
	a.dues.sent = a.dues.sent[:0]
}

// answer begins the answer to a call, and returns the function that completes it after the Step with the attempt's
// dues. The answer is kept from now on, so that a repetition of the call, before the Step or after it, gets the same
// answer. It takes the memory of the answer before, which no call can ask for any more.
func (a *attempt) answer(id int32) func() proto.Message {
	r := a.dues.last
	*r = wire.AllocateResponse{
		ResponseID: next(id),
		Allocated:  r.Allocated[:0],
		Completed:  r.Completed[:0],
		NodeTokens: r.NodeTokens[:0],
	}
	return func() proto.Message {
		a.pay(r)
		return r
	}
}

// Limits on one answer, so that it stays far below the 128 MB that Hadoop's clients accept, and turns are short. The
// rest is in the next answer.
const (
	mostGranted   = 2000    // containers, of about 300 bytes each; and those of other sizes, and changes refused
	mostCompleted = 2000    // ends of containers
	mostSaid      = 8 << 20 // bytes of their diagnostics
)

// report moves ends of containers into answer r. The containers of d.ending are the last ones of d.completed.
func (d *dues) report(r *wire.AllocateResponse) {
	n, said := 0, 0
	for n < len(d.completed) && n < mostCompleted && said < mostSaid {
		said += len(d.completed[n].Diagnostics)
		n++
	}
	if n == len(d.completed) {
		r.Completed, d.completed = d.completed, r.Completed
		d.text.completed, d.strings = d.strings, d.text.completed[:0]
		d.sent, d.ending = d.ending, d.sent
	} else {
		ended := max(0, n-(len(d.completed)-len(d.ending)))
		r.Completed, d.completed = slices.Clone(d.completed[:n]), d.completed[n:] // O(n), however many are left
		d.text.completed, d.strings = nil, nil                                    // both parts refer to what was kept
		d.sent, d.ending = slices.Clone(d.ending[:ended]), d.ending[ended:]
	}
	for _, c := range d.sent {
		c.notice = sent
	}
}

// pay moves the attempt's dues into answer r.
func (a *attempt) pay(r *wire.AllocateResponse) {
	m, d := a.app.m, &a.dues
	d.report(r)
	r.Nodes, r.Priority = m.nodes.up, a.app.submission.Priority
	r.Cores, r.Pending = int32(m.core.Capacity[sched.VCores]), int32(min(a.app.asks.pending, math.MaxInt32))
	text := d.text.tokens[:0]
	for left := mostGranted; left > 0; left-- {
		c := d.granted.next()
		if c == nil {
			break
		}
		c.notice = none
		var signed wire.Token
		signed, text = c.sign(text)
		a.app.asks.heard(c)
		r.Allocated = append(r.Allocated, c.describe(signed))
		if t, ok := a.tokenFor(c.node); ok {
			r.NodeTokens = append(r.NodeTokens, t)
		}
	}
	r.UpdatedNodes, d.news = m.nodes.newsAfter(d.news)
	if len(d.wanted) > 0 {
		r.Preempt = &wire.Preemption{Containers: d.wanted}
	}
	if d.key != m.keys.master.Current().ID {
		t := a.token()
		r.MasterToken = &t
	}
	if j := m.core.Job(a.app.job); j != nil && !j.Ended {
		r.Headroom = m.config.Sizes.size(m.core.Headroom(j))
	}
	changed, later := cutAt(d.resized, mostGranted)
	for _, one := range changed {
		if c := one.c; c.state != done && c.leaving == nil {
			var signed wire.Token
			signed, text = c.token(text)
			r.Updated = append(r.Updated, wire.UpdatedContainer{Kind: one.kind, Container: c.describe(signed)})
			if t, ok := a.tokenFor(c.node); ok {
				r.NodeTokens = append(r.NodeTokens, t)
			}
		}
	}
	r.Refused, d.refused = cutAt(d.refused, mostGranted)
	d.text.tokens = text
	d.wanted, d.resized = nil, later
}
