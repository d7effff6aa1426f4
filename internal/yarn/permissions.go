package yarn

import (
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// listed returns a function that reports whether a user is on a list. It knows the groups that are cached.
func (m *manager) listed(user string) func(ACL) bool {
	return func(a ACL) bool {
		var groups []string
		if len(a.Groups) > 0 {
			groups = m.groups.of(user)
		}
		return a.has(user, groups)
	}
}

// administrates reports whether a user administers the cluster.
func (m *manager) administrates(user string) bool {
	return user != "" && m.listed(user)(m.config.Access.Admins)
}

// maySubmit reports whether a user may submit to a queue.
func (m *manager) maySubmit(user, queue string) bool {
	return !m.config.Access.Lists || m.queues.allows(queue, m.listed(user), submits) || m.mayAdminister(user, queue)
}

// mayAdminister reports whether a user is on the list of those who administer a queue.
func (m *manager) mayAdminister(user, queue string) bool {
	return m.queues.allows(queue, m.listed(user), administers)
}

// may reports whether a user may see (wire.ViewApp) or change (wire.ModifyApp) the application.
func (app *application) may(user string, do int32) bool { return app.m.judge(user).may(app, do) }

// A judge says what a user may do, within one turn. It finds out once for each queue whether the user administers it.
type judge struct {
	m      *manager
	user   string
	admin  bool // the user administers the cluster
	queues map[string]bool
}

// judge returns the judge of what a user may do in this turn.
func (m *manager) judge(user string) *judge {
	return &judge{m: m, user: user, admin: m.administrates(user)}
}

// may reports whether the user may see or change an application.
func (j *judge) may(app *application, do int32) bool {
	switch {
	case j.user != "" && j.user == app.user || j.admin:
		return true
	case !j.m.config.Access.Lists:
		return do == wire.ViewApp
	}
	if list := app.access[do]; list != "" && list.has(j.user, j.m.groups.of(j.user)) {
		return true
	}
	may, known := j.queues[app.queue]
	if !known {
		if j.queues == nil {
			j.queues = map[string]bool{}
		}
		may = j.m.mayAdminister(j.user, app.queue)
		j.queues[app.queue] = may
	}
	return may
}

// seen returns the report of an application for a user. A user who may not see the application gets a report without
// diagnostics, progress, use, attempt and addresses.
func (app *application) seen(user string) wire.ApplicationReport {
	r := app.report()
	if !app.may(user, wire.ViewApp) {
		r.Diagnostics, r.Progress, r.Usage, r.Attempt.Attempt = wire.NotAvailable, 0, wire.Usage{}, -1
		r.Master = wire.MasterAddress{
			Host:     wire.NotAvailable,
			Port:     -1,
			Tracking: wire.NotAvailable,
			Original: wire.NotAvailable,
		}
	} else if a := app.current(); a != nil && a.state == wire.AttemptRunning {
		r.ClientToken = app.m.clientToken(a.id, user)
	}
	return r
}

// unseen returns the exception for a user who may not see what it names.
func unseen(user, what string) error {
	return rpc.Errorf(classYARN, "User %s does not have privilege to see this %s", user, what)
}
