package yarn

import (
	"context"
	"fmt"
	"math"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// A master carries out the calls of an ApplicationMaster within a turn.
type master struct {
	m *manager
	a *attempt // the attempt whose token the caller has
}

// newMaster returns the server that ApplicationMasters call. Messages do not name their application: it follows from
// the token of the connection.
func newMaster(f *front) *rpc.Server {
	return &rpc.Server{
		Protocol: wire.ApplicationMaster,
		Log:      f.log.Logger,
		Password: func(identifier []byte) ([]byte, error) { return masterPassword(f, identifier) },
		Methods: map[string]rpc.Method{
			"registerApplicationMaster": auditedMaster(f, "Register App Master", registerInParts(f)),
			"allocate":                  allocateInParts(f),
			"finishApplicationMaster":   auditedMaster(f, "Unregister App Master", byMaster(f, master.finish)),
		},
	}
}

// byMaster returns the Method that calls do within a turn.
func byMaster[Q any, P interface {
	*Q
	proto.Described
}](f *front, do func(master, *Q) (answer, error)) rpc.Method {
	return rpc.Handle[Q, P](func(_ context.Context, c *rpc.Call, q *Q) (proto.Message, error) {
		return serveMaster(f, c, q, do)
	})
}

// serveMaster calls do within a turn, for the attempt whose token call c has, and returns the reply to message q.
func serveMaster[Q any](f *front, c *rpc.Call, q *Q, do func(master, *Q) (answer, error)) (proto.Message, error) {
	id, err := token.ReadMaster(c.Token)
	if err != nil {
		return nil, err
	}
	return f.serve(c, forMaster(id, q, do))
}

// forMaster returns a function for a turn that calls do for the attempt of a token. If the attempt has ended it returns
// the exception upon which ApplicationMasters end.
func forMaster[Q any](id token.Master, q *Q, do func(master, *Q) (answer, error)) func(*manager) (answer, error) {
	return func(m *manager) (answer, error) {
		a := m.attempt(id.Attempt)
		if a == nil || a.ended() {
			if _, done := any(q).(*wire.FinishMasterRequest); done && a != nil && a.state == wire.AttemptFinished {
				m.saves.await()
				return reply(&wire.FinishMasterResponse{Unregistered: true}) // the reply to its first call was lost
			}
			return nil, rpc.Errorf(classAttemptNotFound,
				"Application attempt %s doesn't exist in ApplicationMasterService cache.", id.Attempt)
		}
		return do(master{m, a}, q)
	}
}

// registerInParts returns the Method of registerApplicationMaster. An ApplicationMaster whose application keeps
// containers is told of those that it takes over, with a token for each. They are described a page a turn, so that
// other callers wait for one page at most. One that ends meanwhile is told of with its end, by the answer to a later
// call.
func registerInParts(f *front) rpc.Method {
	return rpc.Handle(func(_ context.Context, c *rpc.Call, q *wire.RegisterMasterRequest) (proto.Message, error) {
		id, err := token.ReadMaster(c.Token)
		if err != nil {
			return nil, err
		}
		var at containerPlace
		more := false
		reply, err := f.ask(forMaster(id, q, func(am master, q *wire.RegisterMasterRequest) (answer, error) {
			more = am.a.app.submission.KeepContainers
			return am.register(q)
		}))
		if err != nil {
			return nil, err
		}
		r := reply.(*wire.RegisterMasterResponse)
		for more {
			if _, err := f.ask(forMaster(id, q, func(am master, _ *wire.RegisterMasterRequest) (answer, error) {
				at, more = am.a.previous(at, r)
				return nil, nil
			})); err != nil {
				return nil, err
			}
		}
		return c.Make(r)
	})
}

// allocateInParts returns the Method of allocate. It takes a call with more than partOfCall asks in several turns, so
// that other callers wait for one part at most. The answer is made with the last part, and has what all parts were
// granted. If a part is refused, the call ends. The parts before it remain in effect: a repeated call sends them again,
// and asks are absolute.
func allocateInParts(f *front) rpc.Method {
	return rpc.Handle(func(_ context.Context, c *rpc.Call, q *wire.AllocateRequest) (proto.Message, error) {
		rest := *q
		if len(q.Asks) > partOfCall {
			if err := f.config.Sizes.checkAsks(q.Asks, f.config.Sizes.most()); err != nil {
				return nil, err // before any part is taken
			}
		}
		for len(rest.Asks) > partOfCall || len(rest.Releases) > partOfCall || len(rest.Updates) > partOfCall {
			part := wire.AllocateRequest{ResponseID: q.ResponseID}
			part.Asks, rest.Asks = cutAt(rest.Asks, partOfCall)
			part.Releases, rest.Releases = cutAt(rest.Releases, partOfCall)
			part.Updates, rest.Updates = cutAt(rest.Updates, partOfCall)
			if _, err := serveMaster(f, c, &part, master.takePart); err != nil {
				return nil, err
			}
		}
		return serveMaster(f, c, &rest, master.allocate)
	})
}

// mostUpdates bounds the changes of sizes whose result an ApplicationMaster has not been told.
const mostUpdates = 100_000

// masterPassword returns the password of an ApplicationMaster's token. An ApplicationMaster whose attempt is over can
// still connect, and is then told that it is over. One of an earlier life of the ResourceManager whose state was not
// kept cannot connect, because the keys of that life are lost. It gets the exception upon which it ends; with another
// one it would try again for minutes.
func masterPassword(f *front, identifier []byte) (password []byte, err error) {
	id, err := token.ReadMaster(identifier)
	if err != nil {
		return nil, err
	}
	_, err = f.ask(func(m *manager) (answer, error) {
		if at := id.Attempt.App.Timestamp; m.apps.byID[id.Attempt.App] == nil &&
			(at < m.identity() || at > m.apps.ids.timestamp) {
			return nil, rpc.Errorf(classAttemptNotFound,
				"Application attempt %s is of another life of the ResourceManager.", id.Attempt)
		}
		var ok bool
		if password, ok = m.keys.master.Password(id.Key, identifier); !ok {
			return nil, fmt.Errorf("token of %s is signed with a key that is not known", id.Attempt)
		}
		return nil, nil
	})
	return password, err
}

// register notes that an ApplicationMaster runs, and its address for clients.
func (am master) register(q *wire.RegisterMasterRequest) (answer, error) {
	m, a := am.m, am.a
	switch a.state {
	case wire.AttemptRunning, wire.AttemptFinishing:
		return nil, rpc.Errorf(classInvalidMaster, "Application Master is already registered : %s", a.app.id)
	}
	if err := checkAddress(q.Host, q.Tracking); err != nil {
		return nil, err
	}
	if len(q.Constraints) > 0 {
		return nil, rpc.Errorf(classYARN, "Found non empty placement constraints map in "+
			"RegisterApplicationMasterRequest for application=%s, but the configured "+
			"yarn.resourcemanager.placement-constraints.handler cannot handle placement constraints. "+
			"Rejecting this registerApplicationMaster operation", a.id)
	}
	a.silent.touch(m.now)
	if a.master != nil {
		a.runs()
	}
	a.state, a.app.state = wire.AttemptRunning, wire.AppRunning
	a.app.save()
	a.address = wire.MasterAddress{Host: q.Host, Port: q.Port, Original: q.Tracking}
	a.dues.last = &wire.AllocateResponse{}
	m.log.Info("application master registered", "attempt", a.id.String(), "host", q.Host)
	r := &wire.RegisterMasterResponse{
		Maximum:   m.nodes.largest(m.config.Sizes),
		ClientKey: m.clientKey(a.id),
		ACLs:      a.app.submission.Launch.ACLs(),
		Queue:     "root." + a.app.queue,
		Types:     m.config.Sizes.types(),
	}
	return reply(r)
}

// checkAddress returns an error if a host or a tracking URL is longer than mostAddress.
func checkAddress(host, tracking string) error {
	if n := max(len(host), len(tracking)); n > mostAddress {
		return rpc.Errorf(classInvalidMaster, "the ApplicationMaster's host or tracking URL has %d bytes, may have %d",
			n, mostAddress)
	}
	return nil
}

// allocate applies the asks and the releases of an ApplicationMaster, and answers with the containers that it was
// granted. A repeated call gets the same answer again.
func (am master) allocate(q *wire.AllocateRequest) (answer, error) {
	m, a := am.m, am.a
	a.silent.touch(m.now)
	last := a.dues.last
	switch {
	case last == nil:
		return nil, rpc.Errorf(
			classNotRegistered,
			"AM is not registered for known application attempt: %s or RM had restarted after AM registered. "+
				"AM should re-register.",
			a.id,
		)
	case next(q.ResponseID) == last.ResponseID:
		return reply(last)
	case q.ResponseID != last.ResponseID:
		return nil, rpc.Errorf(
			classInvalidMaster,
			"Invalid responseId in AllocateRequest from application attempt: %s, "+
				"expect responseId to be %d, but get %d",
			a.id,
			last.ResponseID,
			q.ResponseID,
		)
	case a.state == wire.AttemptFinishing:
		return a.answer(q.ResponseID), nil
	}
	if len(q.Scheduling) > 0 {
		return nil, rpc.Errorf(classYARN, "Found non empty SchedulingRequest in AllocateRequest for application=%s, "+
			"but the configured yarn.resourcemanager.placement-constraints.handler cannot handle placement "+
			"constraints. "+
			"Rejecting this allocate operation", a.id)
	}
	if err := checkAddress("", q.Tracking); err != nil {
		return nil, err
	}
	a.called()
	if err := am.take(q); err != nil {
		return nil, err
	}
	if p := q.Progress; p >= 0 { // false for NaN
		a.app.progress = float32(math.Min(1, float64(p)))
	}
	if q.Tracking != "" {
		a.address.Original = q.Tracking
	}
	return a.answer(q.ResponseID), nil
}

// takePart applies a part of a call that is not the last, and makes no answer. If the call must be refused, or its
// answer repeated, takePart does nothing: allocate does that with the last part.
func (am master) takePart(q *wire.AllocateRequest) (answer, error) {
	last := am.a.dues.last
	if last == nil || q.ResponseID != last.ResponseID || am.a.state == wire.AttemptFinishing {
		return nil, nil
	}
	am.a.silent.touch(am.m.now)
	return nil, am.take(q)
}

// take applies the asks, releases and changes of size of q. If it returns an error, it has applied nothing.
func (am master) take(q *wire.AllocateRequest) error {
	m, a := am.m, am.a
	if err := a.app.checkAsks(q); err != nil {
		return err
	}
	if n := len(a.dues.resized) + len(a.dues.refused) + len(q.Updates); n > mostUpdates {
		return rpc.Errorf(classYARN, "%d changes of containers' sizes are asked for or are to be told of, may be %d",
			n, mostUpdates)
	}
	for _, id := range q.Releases {
		if id.Attempt.App != a.id.App {
			return rpc.Errorf(
				classInvalidRelease,
				"Cannot release container : %s not belonging to this application attempt : %s",
				id,
				a.id,
			)
		}
	}
	for _, id := range q.Releases {
		switch c := m.container(id); {
		case c == nil && m.earlier(id):
			m.finds.give(a.app, id)
		case c != nil && c.attempt == a && !c.isMaster():
			c.giveUp(wire.ExitAborted, saidReleased, released(c))
		}
	}
	a.app.ask(q)
	a.update(q.Updates)
	return nil
}

// released returns the outcome, for the core, of a container that was given back. One that never ran is Released, so
// that estimators do not learn from it.
func released(c *container) sched.Outcome {
	if c.state == running {
		return sched.Killed
	}
	return sched.Released
}

// finish notes that an application is over, as its ApplicationMaster says. The ApplicationMaster itself runs on until
// it ends by itself.
func (am master) finish(q *wire.FinishMasterRequest) (answer, error) {
	m, a := am.m, am.a
	if a.dues.last == nil {
		return nil, rpc.Errorf(
			classNotRegistered,
			"Application Master is trying to unregister before registering for: %s",
			a.app.id,
		)
	}
	if err := checkAddress("", q.Tracking); err != nil {
		return nil, err
	}
	a.silent.touch(m.now)
	if a.state == wire.AttemptFinishing {
		m.saves.await()
		return reply(&wire.FinishMasterResponse{Unregistered: true})
	}
	app := a.app
	app.outcome, app.progress = outcome{q.Final, cut(q.Diagnostics, mostDiagnostics)}, 1
	if q.Tracking != "" {
		a.address.Original = q.Tracking
	}
	if a.master == nil {
		app.end(wire.AppFinished, app.outcome)
		return reply(&wire.FinishMasterResponse{Unregistered: true})
	}
	for c := range a.dues.granted.all() { // it does not want them any more
		c.giveUp(wire.ExitAfterApp, saidFinished, sched.Released)
	}
	a.state, app.state, app.times.finished = wire.AttemptFinishing, wire.AppFinished, m.millis()
	app.save()
	app.drop()
	a.silent.leave()
	m.live.finishing.watch(&a.finishing, m.now, (*lingeringMaster)(a))
	return reply(&wire.FinishMasterResponse{Unregistered: true})
}
