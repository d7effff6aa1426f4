package yarn

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// masterServer is what ApplicationMasters call. No message of theirs says whose it is: that is known by their token
// alone.
func masterServer(m *manager) *rpc.Server {
	return &rpc.Server{
		Protocol: wire.ApplicationMaster,
		Log:      m.log.Logger,
		Password: m.masterPassword,
		Methods: map[string]rpc.Method{
			"registerApplicationMaster": byMaster(m, (*manager).registerMaster),
			"allocate":                  byMaster(m, (*manager).allocate),
			"finishApplicationMaster":   byMaster(m, (*manager).finishMaster),
		},
	}
}

// byMaster makes a method of a function of the owner that takes the attempt whose token the caller has.
func byMaster[Q any, P interface {
	*Q
	proto.Decoder
}](m *manager, do func(*manager, *attempt, *Q) (answer, error)) rpc.Method {
	return rpc.Handle[Q, P](func(_ context.Context, c *rpc.Call, q *Q) (proto.Message, error) {
		id, err := token.ReadMaster(c.Token)
		if err != nil {
			return nil, err
		}
		return m.serve(c, func(m *manager) (answer, error) {
			a := m.attempt(id.Attempt)
			if a == nil || a.ended() {
				return nil, rpc.Errorf(
					classAttemptNotFound,
					"Application attempt %s doesn't exist in ApplicationMasterService cache.",
					id.Attempt,
				)
			}
			return do(m, a, q)
		})
	})
}

// masterPassword is the password of an ApplicationMaster's token. One whose attempt is over still gets in, to be told
// so. One of a life of the ResourceManager before this one cannot get in, as the keys of that life are lost: it is
// refused by the exception that ends it, or it would try again for minutes.
func (m *manager) masterPassword(identifier []byte) ([]byte, error) {
	id, err := token.ReadMaster(identifier)
	if err != nil {
		return nil, err
	}
	var password []byte
	_, err = m.ask(func(m *manager) (answer, error) {
		if id.Attempt.App.Timestamp != m.identity() {
			return nil, rpc.Errorf(
				classAttemptNotFound,
				"Application attempt %s is of another life of the ResourceManager.",
				id.Attempt,
			)
		}
		var ok bool
		if password, ok = m.keys.master.Password(id.Key, identifier); !ok {
			return nil, fmt.Errorf("token of %s is signed with a key that is not known", id.Attempt)
		}
		return nil, nil
	})
	return password, err
}

// attempt finds an attempt; nil: it is not known.
func (m *manager) attempt(id wire.AttemptID) *attempt {
	app := m.apps.byID[id.App]
	if app == nil || id.Attempt < 1 || int(id.Attempt) > len(app.attempts) {
		return nil
	}
	return app.attempts[id.Attempt-1]
}

// registerMaster takes in that an ApplicationMaster lives, and where clients find it.
func (m *manager) registerMaster(a *attempt, q *wire.RegisterMasterRequest) (answer, error) {
	switch a.state {
	case wire.AttemptRunning, wire.AttemptFinishing:
		return nil, rpc.Errorf(classInvalidMaster, "Application Master is already registered : %s", a.app.id)
	}
	a.silent.touch(m.now)
	a.state, a.app.state = wire.AttemptRunning, wire.AppRunning
	a.address = wire.MasterAddress{Host: q.Host, Port: q.Port, Original: q.Tracking}
	a.dues.last = &wire.AllocateResponse{}
	m.log.Info("application master registered", "attempt", a.id.String(), "host", q.Host)
	r := &wire.RegisterMasterResponse{
		Maximum: m.largest(),
		ACLs:    a.app.submission.Launch.ACLs(),
		Queue:   "root." + a.app.queue,
	}
	a.previous(r)
	return reply(r)
}

// allocate takes in what an ApplicationMaster wants and gives back, and answers with what it is granted by that. A
// repeated call gets the same answer again.
func (m *manager) allocate(a *attempt, q *wire.AllocateRequest) (answer, error) {
	a.silent.touch(m.now)
	last := a.dues.last
	switch {
	case last == nil:
		return nil, rpc.Errorf(
			classNotRegistered,
			"AM is not registered for known application attempt: %s or RM had restarted after AM registered. AM should re-register.",
			a.id,
		)
	case next(q.ResponseID) == last.ResponseID:
		return reply(last)
	case q.ResponseID != last.ResponseID:
		return nil, rpc.Errorf(
			classInvalidMaster,
			"Invalid responseId in AllocateRequest from application attempt: %s, expect responseId to be %d, but get %d",
			a.id,
			last.ResponseID,
			q.ResponseID,
		)
	case a.state == wire.AttemptFinishing:
		return a.answer(q.ResponseID), nil
	}
	if err := a.app.checkAsks(q); err != nil {
		return nil, err
	}
	for _, id := range q.Releases {
		if id.Attempt.App != a.id.App {
			return nil, rpc.Errorf(
				classInvalidRelease,
				"Cannot release container : %s not belonging to this application attempt : %s",
				id,
				a.id,
			)
		}
	}
	a.called()
	if p := q.Progress; p >= 0 { // false for what is not a number
		a.app.progress = float32(math.Min(1, float64(p)))
	}
	if q.Tracking != "" {
		a.address.Original = q.Tracking
	}
	for _, id := range q.Releases {
		if c := m.container(id); c != nil && c.attempt == a && !c.isMaster() {
			c.giveUp(wire.ExitAborted, saidReleased, released(c))
		}
	}
	a.app.ask(q)
	later := a.answer(q.ResponseID)
	for _, u := range q.Updates {
		a.dues.last.Refused = append(a.dues.last.Refused, wire.UpdateError{Reason: "UPDATE_NOT_SUPPORTED", Request: u})
	}
	return later, nil
}

// released is how the core is to see a container that was given back: one that never ran says nothing of how long such
// containers run.
func released(c *container) sched.Outcome {
	if c.state == running {
		return sched.Killed
	}
	return sched.Released
}

// finishMaster takes in that an application is over, as its ApplicationMaster sees it. The ApplicationMaster lives on
// until it ends by itself.
func (m *manager) finishMaster(a *attempt, q *wire.FinishMasterRequest) (answer, error) {
	if a.dues.last == nil {
		return nil, rpc.Errorf(
			classNotRegistered,
			"Application Master is trying to unregister before registering for: %s",
			a.app.id,
		)
	}
	a.silent.touch(m.now)
	if a.state == wire.AttemptFinishing {
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
	for _, c := range slices.Clone(a.dues.granted) { // it does not want them any more
		c.giveUp(wire.ExitAfterApp, saidFinished, sched.Released)
	}
	a.state, app.state, app.times.finished = wire.AttemptFinishing, wire.AppFinished, m.millis()
	app.drop()
	a.silent.leave()
	m.live.finishing.watch(&a.finishing, m.now, (*lingeringMaster)(a))
	return reply(&wire.FinishMasterResponse{Unregistered: true})
}
