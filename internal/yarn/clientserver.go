package yarn

import (
	"context"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// newClient returns the server that users' programs and commands call.
func newClient(f *front) *rpc.Server {
	s := &rpc.Server{Protocol: wire.ApplicationClient, Log: f.log.Logger, Impersonate: f.impersonate}
	s.Methods = map[string]rpc.Method{
		"getNewApplication": byUser(f, as, client.newID),
		"submitApplication": byUserAudited(f, "Submit Application Request",
			func(q *wire.SubmitRequest) string { return q.Submission.ID.String() }, client.submit),
		"getApplicationReport": byUser(f, as, client.report),
		"forceKillApplication": rpc.Handle(
			func(_ context.Context, c *rpc.Call, q *wire.KillRequest) (proto.Message, error) {
				f.groups.meet(c.User)
				r, err := f.ask(func(m *manager) (answer, error) { return client{m, c.User}.kill(c.Remote, q) })
				host := rpc.HostOf(c.Remote)
				f.log.audit(deed{c.User, host, "Kill Application Request", targetClients, q.ID.String()}, err)
				return r, err
			},
		),
		"getApplications": rpc.Handle(
			func(_ context.Context, c *rpc.Call, q *wire.ApplicationsRequest) (proto.Message, error) {
				f.groups.meet(c.User)
				if err := checkFilters(valuesOf(q)); err != nil {
					return nil, err
				}
				return f.make(c, func() (proto.Message, error) { return applications(f, c.User, q), nil })
			},
		),
		"getClusterMetrics": byUser(f, as, client.clusterMetrics),
		"getClusterNodes": rpc.Handle(
			func(_ context.Context, c *rpc.Call, q *wire.NodesRequest) (proto.Message, error) {
				if err := checkFilters(len(q.States)); err != nil {
					return nil, err
				}
				return f.make(c, func() (proto.Message, error) { return clusterNodes(f, q), nil })
			},
		),
		"getQueueInfo": rpc.Handle(
			func(_ context.Context, c *rpc.Call, q *wire.QueueRequest) (proto.Message, error) {
				if !q.Apps {
					return f.serve(c, func(m *manager) (answer, error) { return reply(answerQueue(m, q, nil)) })
				}
				f.groups.meet(c.User)
				return f.make(c, func() (proto.Message, error) { return queueWithApps(f, c.User, q), nil })
			},
		),
		"getQueueUserAcls":            byUser(f, as, client.queueACLs),
		"getApplicationAttemptReport": byUser(f, as, client.attemptReport),
		"getApplicationAttempts":      byUser(f, as, client.attemptReports),
		"getContainerReport":          byUser(f, as, client.containerReport),
		"getContainers": rpc.Handle(
			func(_ context.Context, c *rpc.Call, q *wire.AttemptRequest) (proto.Message, error) {
				f.groups.meet(c.User)
				return f.make(c, func() (proto.Message, error) { return containerReports(f, c.User, q) })
			},
		),
		"getResourceTypeInfo": byUser(f, as, client.resourceTypes),
		"updateApplicationPriority": byUserAudited(f, "Update Application Priority",
			func(q *wire.PriorityChange) string { return q.ID.String() }, client.changePriority),
		"moveApplicationAcrossQueues": byUserAudited(f, "Move Application Request",
			func(q *wire.Move) string { return q.ID.String() }, client.move),
		"signalToContainer": byUserAudited(f, "Signal Container Request",
			func(q *wire.Signal) string { return q.Container.String() }, client.signal),
		"failApplicationAttempt": byUserAudited(f, "Fail Attempt Request",
			func(q *wire.AttemptRequest) string { return q.ID.String() }, client.failAttempt),
		"updateApplicationTimeouts": byUserAudited(f, "Update Application Timeouts",
			func(q *wire.TimeoutChange) string { return q.ID.String() }, client.changeTimeouts),
		"getDelegationToken":    kerberized(f, "issued", byUser(f, as, client.giveToken)),
		"renewDelegationToken":  kerberized(f, "renewed", byUser(f, as, client.renewToken)),
		"cancelDelegationToken": kerberized(f, "canceled", byUser(f, as, client.cancelToken)),
	}
	for _, method := range reservations {
		s.Methods[method] = refuse(notSupported("reservations"))
	}
	for _, method := range profiles {
		s.Methods[method] = refuse(rpc.Errorf(classNotEnabled, "Resource profile is not enabled, please enable "+
			"resource profile feature before using its functions. "+
			"(by setting yarn.resourcemanager.resource-profiles.enabled to true)"))
	}
	for _, method := range labels {
		s.Methods[method] = refuse(nil) // an empty message: there are none
	}
	return s
}

// Methods that Hadoop has, and that this ResourceManager refuses or answers with an empty message.
var (
	reservations = []string{"getNewReservation", "submitReservation", "updateReservation", "deleteReservation",
		"listReservations"}
	profiles = []string{"getResourceProfiles", "getResourceProfile"}
	labels   = []string{"getNodeToLabels", "getLabelsToNodes", "getClusterNodeLabels", "getClusterNodeAttributes",
		"getAttributesToNodes", "getNodesToAttributes"}
)

// refuse makes a Method that always answers with err, or with an empty message where that is nil.
func refuse(err error) rpc.Method {
	return func(context.Context, *rpc.Call) (proto.Message, error) { return nil, err }
}
