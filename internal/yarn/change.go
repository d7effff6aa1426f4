package yarn

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// What clients change of applications that are there: their owners may, and who administers, and where access lists
// count those who are on them.

// changing finds an application that a user may change.
func (m *manager) changing(user string, id wire.ApplicationID) (*application, error) {
	app, err := m.application(id)
	if err != nil {
		return nil, err
	}
	if !app.may(user, wire.ModifyApp) {
		m.log.refused("change refused", "application", id.String(), "user", user)
		return nil, rpc.Errorf(classAccess, "User %s cannot perform operation MODIFY_APP on %s", user, id)
	}
	return app, nil
}

// changingLive is changing for what needs the application not to be over.
func (m *manager) changingLive(user string, id wire.ApplicationID) (*application, error) {
	app, err := m.changing(user, id)
	if err == nil && (app.over || app.state == wire.AppFinished) {
		err = rpc.Errorf(classYARN, "Application %s is %s: what is over cannot be changed", id, app.state)
	}
	return app, err
}

// respecify tells the core what is said of an application now, at once: the next change begins with that.
func (app *application) respecify(change func(*sched.JobSpec)) {
	spec := *app.m.core.Job(app.job).Spec
	change(&spec)
	app.m.note(sched.Event{Kind: sched.SpecChanged, Job: app.job, Body: &spec})
	app.m.step()
}

// priority is what an application gets that wants a priority.
func (m *manager) priority(wanted wire.Priority) wire.Priority {
	return min(wanted, wire.Priority(m.config.MostPriority))
}

func (m *manager) changePriority(user string, q *wire.PriorityChange) (answer, error) {
	app, err := m.changing(user, q.ID)
	if err != nil {
		return nil, err
	}
	if to := m.priority(q.Priority); !app.over &&
		app.submission.Priority != to { // one that is over keeps its own, and is told it, as in Hadoop
		app.submission.Priority = to
		app.respecify(func(s *sched.JobSpec) { s.Priority = int32(to) })
	}
	return reply(&wire.PriorityChanged{Priority: app.submission.Priority})
}

func (m *manager) move(user string, q *wire.Move) (answer, error) {
	app, err := m.changingLive(user, q.ID)
	if err != nil {
		return nil, err
	}
	path, ok := m.queues.leaves.find(q.Queue)
	switch {
	case !ok:
		return nil, rpc.Errorf(classYARN, "Failed to move %s to queue %s: there is no such leaf queue", q.ID, q.Queue)
	case slices.Contains(m.queues.Stopped, path):
		return nil, rpc.Errorf(classYARN, "Failed to move %s to queue %s: it is STOPPED", q.ID, q.Queue)
	}
	if !m.maySubmit(user, path) {
		m.log.refused("move refused", "application", q.ID.String(), "user", user, "queue", path)
		return nil, rpc.Errorf(
			classAccess,
			"User %s cannot submit applications to target queue or the target queue doesn't exist: %s while moving %s",
			user,
			q.Queue,
			q.ID,
		)
	}
	if path != app.queue {
		app.queue = path
		app.respecify(func(s *sched.JobSpec) { s.Queue = path })
		m.log.Info("application moved", "application", q.ID.String(), "queue", path, "by", user)
	}
	return nil, nil
}

func (m *manager) signal(user string, q *wire.Signal) (answer, error) {
	app, err := m.changing(user, q.Container.Attempt.App)
	if err != nil {
		return nil, err
	}
	c := m.container(q.Container)
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
	c.node.signals = append(c.node.signals, *q)
	m.log.Info(
		"container signalled",
		"container",
		q.Container.String(),
		"application",
		app.id.String(),
		"command",
		int32(q.Command),
		"by",
		user,
	)
	return nil, nil
}

func (m *manager) failAttempt(user string, q *wire.AttemptRequest) (answer, error) {
	if _, err := m.changing(user, q.ID.App); err != nil {
		return nil, err
	}
	a, err := m.knownAttempt(q.ID)
	if err != nil {
		return nil, err
	}
	if a == a.app.current() && !a.app.over {
		a.fail(fmt.Sprintf("Attempt failed by user %s.", user))
	}
	return nil, nil
}

// instant is how clients write when an application is to be ended.
const instant = "2006-01-02T15:04:05.000-0700"

// unlimited is how they write that it is not.
const unlimited = "UNLIMITED"

func (m *manager) changeTimeouts(user string, q *wire.TimeoutChange) (answer, error) {
	app, err := m.changingLive(user, q.ID)
	if err != nil {
		return nil, err
	}
	at := app.expires
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
		} else if at, err = time.Parse(instant, t.Expires); err != nil || !at.After(m.now) {
			return nil, rpc.Errorf(classYARN, "timeout %q of %s: must be an instant to come like %s", t.Expires, q.ID, m.now.Add(time.Hour).UTC().Format(instant))
		}
	}
	app.expire(at)
	return func() proto.Message {
		return &wire.TimeoutsChanged{Timeouts: []wire.Timeout{{Kind: wire.TimeoutLifetime, Expires: app.expiry()}}}
	}, nil
}

// expire has an application killed at an instant; zero: never.
func (app *application) expire(at time.Time) {
	app.m.live.off(app.alarm)
	if app.expires = at; at.IsZero() {
		return
	}
	app.alarm = app.m.live.at(at, func() {
		app.end(
			wire.AppKilled,
			outcome{
				wire.Killed,
				fmt.Sprintf(
					"Application %s is killed by ResourceManager as it has exceeded the lifetime period.",
					app.id,
				),
			},
		)
	})
}

// expiry tells when that is.
func (app *application) expiry() string {
	if app.expires.IsZero() {
		return unlimited
	}
	return app.expires.Format(instant)
}
