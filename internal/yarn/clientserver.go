package yarn

import (
	"context"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// newClient returns the server that users' programs and commands call.
func newClient(f *front) *rpc.Server {
	s := &rpc.Server{Protocol: wire.ApplicationClient, Log: f.log.Logger, Methods: map[string]rpc.Method{
		"getNewApplication":    byUser(f, as, client.newID),
		"submitApplication":    byUser(f, as, client.submit),
		"getApplicationReport": byUser(f, as, client.report),
		"forceKillApplication": rpc.Handle(
			func(_ context.Context, c *rpc.Call, q *wire.KillRequest) (proto.Message, error) {
				f.groups.meet(c.User)
				return f.ask(func(m *manager) (answer, error) { return client{m, c.User}.kill(c.Remote, q) })
			},
		),
		"getApplications": rpc.Handle(
			func(_ context.Context, c *rpc.Call, q *wire.ApplicationsRequest) (proto.Message, error) {
				f.groups.meet(c.User)
				return applications(f, c.User, q), nil
			},
		),
		"getClusterMetrics": byUser(f, as, client.clusterMetrics),
		"getClusterNodes": rpc.Handle(
			func(_ context.Context, _ *rpc.Call, q *wire.NodesRequest) (proto.Message, error) {
				return clusterNodes(f, q), nil
			},
		),
		"getQueueInfo":                byUser(f, as, client.queueInfo),
		"getQueueUserAcls":            byUser(f, as, client.queueACLs),
		"getApplicationAttemptReport": byUser(f, as, client.attemptReport),
		"getApplicationAttempts":      byUser(f, as, client.attemptReports),
		"getContainerReport":          byUser(f, as, client.containerReport),
		"getContainers":               byUser(f, as, client.containerReports),
		"getResourceTypeInfo":         byUser(f, as, client.resourceTypes),
		"updateApplicationPriority":   byUser(f, as, client.changePriority),
		"moveApplicationAcrossQueues": byUser(f, as, client.move),
		"signalToContainer":           byUser(f, as, client.signal),
		"failApplicationAttempt":      byUser(f, as, client.failAttempt),
		"updateApplicationTimeouts":   byUser(f, as, client.changeTimeouts),
		"getDelegationToken":          byUser(f, as, client.giveToken),
		"renewDelegationToken":        byUser(f, as, client.renewToken),
		"cancelDelegationToken":       byUser(f, as, client.cancelToken),
	}}
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

// Methods that Hadoop has and this ResourceManager refuses, or answers with nothing.
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
