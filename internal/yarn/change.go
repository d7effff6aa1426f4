package yarn

import (
	"fmt"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// What clients change of applications. The owner of an application may change it, and so may administrators. If access
// lists apply, so may the users on the application's list.

// respecify changes the specification that the core has of an application. It makes a Step at once, because the next
// change begins with the changed specification.
func (app *application) respecify(change func(*sched.JobSpec)) {
	spec := *app.m.core.Job(app.job).Spec
	change(&spec)
	app.m.note(sched.Event{Kind: sched.SpecChanged, Job: app.job, Body: &spec})
	app.m.step()
}

// changePriority gives an application another priority, and answers with the one that it has then.
func (u client) changePriority(q *wire.PriorityChange) (answer, error) {
	app, err := u.changing(q.ID)
	if err != nil {
		return nil, err
	}
	if to := u.m.priority(q.Priority); !app.over &&
		app.submission.Priority != to { // one that is over keeps its own, and is told it, as in Hadoop
		app.submission.Priority = to
		app.save()
		app.respecify(func(s *sched.JobSpec) { s.Priority = int32(to) })
	}
	u.m.saves.await() // it may have had the priority before, which may not be stored yet
	return reply(&wire.PriorityChanged{Priority: app.submission.Priority})
}

// move moves an application to another queue. The user must be allowed to submit there.
func (u client) move(q *wire.Move) (answer, error) {
	app, err := u.changingLive(q.ID)
	if err != nil {
		return nil, err
	}
	path, ok := u.m.queues.leaves.find(q.Queue)
	switch {
	case !ok:
		return nil, rpc.Errorf(classYARN, "Failed to move %s to queue %s: there is no such leaf queue", q.ID, q.Queue)
	case u.m.queues.stopped(path):
		return nil, rpc.Errorf(classYARN, "Failed to move %s to queue %s: it is STOPPED", q.ID, q.Queue)
	}
	if !u.m.maySubmit(u.user, path) {
		u.m.log.refused("move refused", "application", q.ID.String(), "user", u.user, "queue", path)
		return nil, rpc.Errorf(
			classAccess,
			"User %s cannot submit applications to target queue or the target queue doesn't exist: %s while moving %s",
			u.user,
			q.Queue,
			q.ID,
		)
	}
	if path != app.queue {
		app.queue = path
		app.save()
		app.respecify(func(s *sched.JobSpec) { s.Queue = path })
		u.m.log.Info("application moved", "application", q.ID.String(), "queue", path, "by", u.user)
	}
	u.m.saves.await() // it may have been there before, which may not be stored yet
	return nil, nil
}

// mostSignals bounds the signals that a node was not told of yet.
const mostSignals = 1000

// signal notes a signal for a container. The container's node gets it with its next heartbeat.
func (u client) signal(q *wire.Signal) (answer, error) {
	app, err := u.changing(q.Container.Attempt.App)
	if err != nil {
		return nil, err
	}
	c := u.m.container(q.Container)
	switch {
	case c == nil || c.state != running:
		return nil, rpc.Errorf(classYARN, "Container %s does not run: it gets no signal", q.Container)
	case q.Command < wire.SignalThreadDump || q.Command > wire.SignalForceful:
		return nil, rpc.Errorf(
			classYARN,
			"Signal %d for %s: must be OUTPUT_THREAD_DUMP, GRACEFUL_SHUTDOWN or FORCEFUL_SHUTDOWN",
			q.Command,
			q.Container,
		)
	}
	if len(c.node.signals) >= mostSignals {
		return nil, rpc.Errorf(classYARN, "Container %s gets no signal: %d wait for the next heartbeat of its node",
			q.Container, mostSignals)
	}
	c.node.signals = append(c.node.signals, *q)
	u.m.log.Info(
		"container signalled",
		"container",
		q.Container.String(),
		"application",
		app.id.String(),
		"command",
		int32(q.Command),
		"by",
		u.user,
	)
	return nil, nil
}

// failAttempt ends an attempt as failed, if it is the current one of its application.
func (u client) failAttempt(q *wire.AttemptRequest) (answer, error) {
	if _, err := u.changing(q.ID.App); err != nil {
		return nil, err
	}
	a, err := u.m.knownAttempt(q.ID)
	if err != nil {
		return nil, err
	}
	if a == a.app.current() && !a.app.over && a.state != wire.AttemptFinishing {
		a.fail(fmt.Sprintf("Attempt failed by user %s.", u.user))
	}
	u.m.saves.await() // it may have ended before, which may not be stored yet
	return nil, nil
}

// mostTimeouts bounds the timeouts in one call.
const mostTimeouts = 16

// changeTimeouts changes when an application is killed, and answers with that instant.
func (u client) changeTimeouts(q *wire.TimeoutChange) (answer, error) {
	app, err := u.changingLive(q.ID)
	if err != nil {
		return nil, err
	}
	if len(q.Timeouts) > mostTimeouts {
		return nil, rpc.Errorf(classYARN, "%d timeouts of %s: there is one kind, and may be %d", len(q.Timeouts), q.ID,
			mostTimeouts)
	}
	at := app.lifetime.ends
	for _, t := range q.Timeouts {
		if t.Kind != wire.TimeoutLifetime {
			return nil, rpc.Errorf(
				classYARN,
				"timeout %d of %s: only a lifetime (%d) can be changed",
				t.Kind,
				q.ID,
				wire.TimeoutLifetime,
			)
		}
		if strings.EqualFold(t.Expires, unlimited) {
			at = time.Time{}
		} else if at, err = time.Parse(instant, t.Expires); err != nil || !at.After(u.m.now) {
			return nil, rpc.Errorf(classYARN, "timeout %q of %s: must be an instant to come like %s", t.Expires, q.ID,
				u.m.now.Add(time.Hour).UTC().Format(instant))
		}
	}
	app.expire(at)
	return func() proto.Message {
		return &wire.TimeoutsChanged{Timeouts: []wire.Timeout{{Kind: wire.TimeoutLifetime, Expires: app.expiry()}}}
	}, nil
}
