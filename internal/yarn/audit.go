package yarn

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// Where users' operations arrive, as Hadoop's RMAuditLogger names it.
const (
	targetClients = "ClientRMService"
	targetMasters = "ApplicationMasterService"
	targetAdmin   = "AdminService"
	targetREST    = "RMWebServices"
	targetManager = "RMAppManager"
)

// How operations end, as RMAuditLogger names it.
const (
	auditSucceeded = "SUCCESS"
	auditFailed    = "FAILURE"
)

// A deed is what a user did or tried, for the audit log. Operations have the names that Hadoop's RMAuditLogger has
// for them, where it has one.
type deed struct {
	user, host        string // host: the caller's IP address; "": none called
	operation, target string
	app               string // id of the application or of its attempt; "": none
}

// audit logs what a user did, or, if err is not nil, tried: who, from where, what, on what, and how it ended. One
// failure of an operation is logged a second, with the number of those left out: strangers must not fill the log.
func (l *logbook) audit(d deed, err error) {
	args := []any{"user", cut(d.user, mostName), "ip", d.host, "operation", d.operation, "target", d.target}
	if d.app != "" {
		args = append(args, "appid", d.app)
	}
	if err != nil {
		if silent, ok := l.brake.Pass("audit "+d.operation, time.Now()); ok {
			args = append(args, "result", auditFailed, "description", cut(err.Error(), mostLogged), "more", silent)
			l.deeds.Warn("audit", args...)
		}
		return
	}
	l.deeds.Info("audit", append(args, "result", auditSucceeded)...)
}

// byUserAudited is byUser for calls that change something. about names the application of a call.
func byUserAudited[Q any, P interface {
	*Q
	proto.Described
}](f *front, operation string, about func(*Q) string, do func(client, *Q) (answer, error)) rpc.Method {
	return rpc.Handle[Q, P](func(_ context.Context, c *rpc.Call, q *Q) (proto.Message, error) {
		f.groups.meet(c.User)
		r, err := f.serve(c, func(m *manager) (answer, error) { return do(client{m, c.User}, q) })
		f.log.audit(deed{c.User, rpc.HostOf(c.Remote), operation, targetClients, about(q)}, err)
		return r, err
	})
}

// auditedOperator returns method, with each call logged as an operation of that name.
func auditedOperator(f *front, operation string, method rpc.Method) rpc.Method {
	return func(ctx context.Context, c *rpc.Call) (proto.Message, error) {
		r, err := method(ctx, c)
		f.log.audit(deed{c.User, rpc.HostOf(c.Remote), operation, targetAdmin, ""}, err)
		return r, err
	}
}

// auditedMaster returns method, for ApplicationMasters, with each call logged as an operation of that name, by the user
// whose application it is.
func auditedMaster(f *front, operation string, method rpc.Method) rpc.Method {
	return func(ctx context.Context, c *rpc.Call) (proto.Message, error) {
		r, err := method(ctx, c)
		d := deed{host: rpc.HostOf(c.Remote), operation: operation, target: targetMasters}
		if id, err := token.ReadMaster(c.Token); err == nil {
			d.app = id.Attempt.String()
			f.look(func(m *manager) {
				if app := m.apps.byID[id.Attempt.App]; app != nil {
					d.user = app.user
				}
			})
		}
		f.log.audit(d, err)
		return r, err
	}
}

// restOperations names the requests by REST that change something.
var restOperations = map[string]string{
	"PUT /apps/{app}/state":    "Kill Application Request",
	"PUT /apps/{app}/queue":    "Move Application Request",
	"PUT /apps/{app}/priority": "Update Application Priority",
	"PUT /apps/{app}/timeout":  "Update Application Timeouts",
	"POST /apps":               "Submit Application Request",
}

// auditREST logs a request of restChanges.
func (f *front) auditREST(pattern string, r *http.Request, err error) {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	f.log.audit(deed{visitor(r), host, restOperations[pattern], targetREST, r.PathValue("app")}, err)
}

// finishOperations are how applications end.
var finishOperations = map[wire.AppState]string{
	wire.AppFinished: "Application Finished - Succeeded",
	wire.AppFailed:   "Application Finished - Failed",
	wire.AppKilled:   "Application Finished - Killed",
}
