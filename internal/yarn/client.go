package yarn

import (
	"context"
	"iter"
	"net"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// clientServer is what users' programs and commands call. As in Hadoop's simple mode, a caller is who he says he is.
func clientServer(m *manager) *rpc.Server {
	s := &rpc.Server{Protocol: wire.ApplicationClient, Log: m.log.Logger, Methods: map[string]rpc.Method{
		"getNewApplication":    byUser(m, (*manager).newApplication),
		"submitApplication":    byUser(m, (*manager).submitApplication),
		"getApplicationReport": byUser(m, (*manager).applicationReport),
		"forceKillApplication": rpc.Handle(
			func(_ context.Context, c *rpc.Call, q *wire.KillRequest) (proto.Message, error) {
				m.meet(c.User)
				return m.ask(func(m *manager) (answer, error) { return m.killApplication(c.User, c.Remote, q) })
			},
		),
		"getApplications":             byUser(m, (*manager).applications),
		"getClusterMetrics":           byUser(m, (*manager).clusterMetrics),
		"getClusterNodes":             byUser(m, (*manager).clusterNodes),
		"getQueueInfo":                byUser(m, (*manager).queueInfo),
		"getQueueUserAcls":            byUser(m, (*manager).queueACLs),
		"getApplicationAttemptReport": byUser(m, (*manager).attemptReport),
		"getApplicationAttempts":      byUser(m, (*manager).attemptReports),
		"getContainerReport":          byUser(m, (*manager).containerReport),
		"getContainers":               byUser(m, (*manager).containerReports),
		"getResourceTypeInfo":         byUser(m, (*manager).resourceTypes),
		"updateApplicationPriority":   byUser(m, (*manager).changePriority),
		"moveApplicationAcrossQueues": byUser(m, (*manager).move),
		"signalToContainer":           byUser(m, (*manager).signal),
		"failApplicationAttempt":      byUser(m, (*manager).failAttempt),
		"updateApplicationTimeouts":   byUser(m, (*manager).changeTimeouts),
		"getDelegationToken":          byUser(m, (*manager).giveToken),
		"renewDelegationToken":        byUser(m, (*manager).renewToken),
		"cancelDelegationToken":       byUser(m, (*manager).cancelToken),
	}}
	for method, what := range notServed {
		s.Methods[method] = func(context.Context, *rpc.Call) (proto.Message, error) { return nil, notSupported(what) }
	}
	for _, method := range []string{"getResourceProfiles", "getResourceProfile"} {
		s.Methods[method] = func(context.Context, *rpc.Call) (proto.Message, error) {
			return nil, rpc.Errorf(
				classNotEnabled,
				"Resource profile is not enabled, please enable resource profile feature before using its functions. (by setting yarn.resourcemanager.resource-profiles.enabled to true)",
			)
		}
	}
	for _, method := range []string{"getNodeToLabels", "getLabelsToNodes", "getClusterNodeLabels", "getClusterNodeAttributes", "getAttributesToNodes", "getNodesToAttributes"} {
		s.Methods[method] = func(context.Context, *rpc.Call) (proto.Message, error) { return nil, nil } // there are none
	}
	return s
}

// notServed are methods that Hadoop has and this ResourceManager does not, yet or at all.
var notServed = map[string]string{
	"getNewReservation": "reservations", "submitReservation": "reservations", "updateReservation": "reservations", "deleteReservation": "reservations",
	"listReservations": "reservations",
}

// byUser makes a method of a function of the owner that takes who calls.
func byUser[Q any, P interface {
	*Q
	proto.Decoder
}](m *manager, do func(*manager, string, *Q) (answer, error)) rpc.Method {
	return rpc.Handle[Q, P](func(_ context.Context, c *rpc.Call, q *Q) (proto.Message, error) {
		m.meet(c.User)
		return m.serve(c, func(m *manager) (answer, error) { return do(m, c.User, q) })
	})
}

func (m *manager) newApplication(string, *wire.Empty) (answer, error) {
	m.apps.named++
	return reply(
		&wire.NewApplication{ID: wire.ApplicationID{ID: m.apps.named, Timestamp: m.identity()}, Maximum: m.largest()},
	)
}

// submitApplication takes an application in. The same one again is no error to who submitted it: a client may not have
// heard that it was taken. Ids are not used again, also when their applications are forgotten.
func (m *manager) submitApplication(user string, q *wire.SubmitRequest) (answer, error) {
	s := &q.Submission
	if app := m.apps.byID[s.ID]; app != nil && app.user == user {
		return nil, nil
	}
	size, ok := s.MasterResource()
	access, length := accessOf(s.Launch.ACLs())
	switch err := m.config.Sizes.check(size); {
	case s.ID.Timestamp != m.identity() || s.ID.ID < 1 || s.ID.ID > m.apps.named:
		return nil, rpc.Errorf(
			classYARN,
			"Failed to submit application %s: its id was not given by this ResourceManager",
			s.ID,
		)
	case m.apps.taken.has(s.ID.ID):
		return nil, rpc.Errorf(
			classYARN,
			"Failed to submit application %s: its id is another application's, ask for a new one",
			s.ID,
		)
	case user == "":
		return nil, rpc.Errorf(classAccess, "Failed to submit application %s: no user", s.ID)
	case !ok && !s.Unmanaged || err != nil:
		return nil, rpc.Errorf(
			classInvalidResource,
			"Invalid resource request, failed to submit application %s: its ApplicationMaster: %v",
			s.ID,
			err,
		)
	case len(s.Tags) > mostTags || slices.ContainsFunc(s.Tags, func(tag string) bool { return len(tag) > mostTag }):
		return nil, rpc.Errorf(
			classYARN,
			"Failed to submit application %s: its tags must be up to %d of up to %d bytes",
			s.ID,
			mostTags,
			mostTag,
		)
	case length > mostAccess:
		return nil, rpc.Errorf(
			classYARN,
			"Failed to submit application %s: its access lists must be up to %d bytes",
			s.ID,
			mostAccess,
		)
	case s.Label != "":
		return nil, rpc.Errorf(classInvalidLabel, "Invalid resource request! Node label %q: there are none", s.Label)
	}
	named := s.Queue
	if h, _ := readHints(s.Tags); h.queue != "" && (named == "" || named == sched.DefaultQueue) {
		named = h.queue
	}
	queue, err := m.queues.place(user, named)
	switch {
	case err != nil:
		return nil, rpc.Errorf(classYARN, "Failed to submit %s to queue %s: %v", s.ID, named, err)
	case !m.maySubmit(user, queue):
		m.log.refused("submission refused", "application", s.ID.String(), "user", user, "queue", queue)
		return nil, rpc.Errorf(
			classAccess,
			"User %s does not have permission to submit %s to queue root.%s",
			user,
			s.ID,
			queue,
		)
	}
	m.queues.make(queue)
	app := m.submit(user, queue, s)
	app.access = access
	if s.Unmanaged {
		app.begin().state = wire.AttemptLaunched
	}
	m.step() // the core takes the end of a job before its submission, and a kill may come in the same turn
	return nil, nil
}

// application finds an application, or says that there is none.
func (m *manager) application(id wire.ApplicationID) (*application, error) {
	app := m.apps.byID[id]
	if app == nil {
		return nil, rpc.Errorf(
			classAppNotFound,
			"Application with id '%s' doesn't exist in RM. Please check that the job submission was successful.",
			id,
		)
	}
	return app, nil
}

func (m *manager) applicationReport(user string, q *wire.ApplicationRequest) (answer, error) {
	app, err := m.application(q.ID)
	if err != nil {
		return nil, err
	}
	return func() proto.Message {
		r := &wire.ApplicationResponse{Report: app.seen(user)}
		if a := app.current(); app.submission.Unmanaged && user == app.user && a != nil &&
			a.state == wire.AttemptLaunched {
			t := a.token()
			r.Report.MasterToken = &t
		}
		return r
	}, nil
}

func (m *manager) killApplication(user string, from net.Addr, q *wire.KillRequest) (answer, error) {
	app, err := m.changing(user, q.ID)
	if err != nil {
		return nil, err
	}
	why := "Application " + app.id.String() + " was killed by user " + user
	if a, ok := from.(*net.TCPAddr); ok {
		why += " at " + a.IP.String()
	}
	if q.Diagnostics != "" {
		why += " with diagnostic message: " + cut(q.Diagnostics, mostDiagnostics)
	}
	app.end(wire.AppKilled, outcome{wire.Killed, why})
	return reply(&wire.KillResponse{Done: true})
}

func (m *manager) applications(user string, q *wire.ApplicationsRequest) (answer, error) {
	r := &wire.ApplicationsResponse{}
	for _, app := range m.apps.list {
		if q.Limit > 0 && int64(len(r.Reports)) >= q.Limit {
			break
		}
		if app.passes(q) && (!q.Own || app.user == user) {
			r.Reports = append(r.Reports, app.seen(user))
		}
	}
	return reply(r)
}

// passes reports whether an application is one of those asked for. Empty lists let all pass.
func (app *application) passes(q *wire.ApplicationsRequest) bool {
	one := func(list []string, s string) bool {
		return len(list) == 0 || slices.ContainsFunc(list, func(x string) bool { return strings.EqualFold(x, s) })
	}
	tagged := len(q.Tags) == 0 ||
		slices.ContainsFunc(app.submission.Tags, func(tag string) bool { return slices.Contains(q.Tags, tag) })
	in := func(at int64, r wire.TimeRange) bool { return at >= r.From && (r.Until == 0 || at <= r.Until) }
	if !in(app.times.started, q.Started) || !in(app.times.finished, q.Finished) {
		return false
	}
	return one(q.Types, app.submission.Type) && one(q.Users, app.user) && tagged &&
		(q.Name == "" || q.Name == app.submission.Name) &&
		(len(q.States) == 0 || slices.Contains(q.States, int32(app.state))) &&
		(one(q.Queues, app.queue) || one(q.Queues, "root."+app.queue))
}

func (m *manager) clusterMetrics(string, *wire.Empty) (answer, error) {
	r := &wire.ClusterMetrics{}
	for _, n := range m.nodes.list {
		switch n.state {
		case wire.NodeRunning:
			r.Active++
		case wire.NodeUnhealthy:
			r.Unhealthy++
		case wire.NodeDecommissioned:
			r.Decommissioned++
		case wire.NodeLost:
			r.Lost++
		case wire.NodeDecommissioning:
			r.Decommissioning++
		case wire.NodeShutdown:
			r.Shutdown++
		}
	}
	r.Nodes = r.Active + r.Unhealthy + r.Decommissioning
	return reply(r)
}

func (m *manager) clusterNodes(_ string, q *wire.NodesRequest) (answer, error) {
	r := &wire.NodesResponse{}
	for _, n := range m.nodes.list {
		if len(q.States) == 0 || slices.Contains(q.States, int32(n.state)) {
			r.Reports = append(r.Reports, n.tell())
		}
	}
	return reply(r)
}

// queueInfo tells a user of a queue; users' own queues below it are not shown, as Hadoop has none.
func (m *manager) queueInfo(user string, q *wire.QueueRequest) (answer, error) {
	queue, ok := m.core.Queues[0], q.Name == "root" || q.Name == ""
	if !ok {
		queue, ok = m.core.QueueNamed(q.Name)
	}
	if !ok {
		return reply(&wire.QueueResponse{}) // an exception would have clients try again
	}
	return reply(&wire.QueueResponse{Queue: m.tellQueue(user, queue, q)})
}

func (m *manager) tellQueue(user string, queue *sched.Queue, q *wire.QueueRequest) *wire.QueueInfo {
	path, below := "root", ""
	if queue.ID != 0 {
		below = m.core.Path(queue)
		path += "." + below
	}
	whole := m.core.Capacity
	share := func(r sched.Resources) float32 { return float32(min(1, max(0, r.DominantShare(whole)))) }
	most := queue.Max
	for k := range most {
		most[k] = min(most[k], whole[k])
	}
	info := &wire.QueueInfo{
		Name:               queue.Spec.Name,
		Path:               path,
		Capacity:           share(queue.Min),
		Max:                share(most),
		Current:            share(queue.Used),
		PreemptionDisabled: true,
		Scheduler:          "CapacityScheduler",
		Shares: wire.QueueShares{
			Capacity:    share(queue.Min),
			Absolute:    share(queue.Min),
			Max:         share(most),
			AbsoluteMax: share(most),
			MasterPart:  1,
			Min:         size(queue.Min),
			MaxAmount:   size(most),
		},
	}
	free := most.Sub(queue.Used)
	s := &info.Statistics
	*s = wire.QueueStatistics{
		FreeMemory:        max(0, free[sched.Memory]),
		UsedMemory:        queue.Used[sched.Memory],
		FreeVCores:        max(0, free[sched.VCores]),
		UsedVCores:        queue.Used[sched.VCores],
		RunningContainers: int64(queue.Running()),
		PendingContainers: int64(queue.Pending()),
		Users:             int64(len(queue.Children)),
	}
	waits := queue.Demand.Sub(queue.Used)
	s.PendingMemory, s.PendingVCores = waits[sched.Memory], waits[sched.VCores]
	for _, app := range m.apps.list {
		if below != "" && app.queue != below {
			continue
		}
		s.Submitted++
		switch app.state {
		case wire.AppAccepted:
			s.Pending++
		case wire.AppRunning:
			s.Running++
		case wire.AppFinished:
			s.Completed++
		case wire.AppFailed:
			s.Failed++
		case wire.AppKilled:
			s.Killed++
		}
		if q.Apps && !app.over {
			info.Apps = append(info.Apps, app.seen(user))
		}
	}
	if q.Children || q.Recursive {
		for _, id := range queue.Children {
			if child := m.core.Queues[id]; child != nil && !child.User {
				deeper := *q
				deeper.Children = q.Recursive
				info.Children = append(info.Children, *m.tellQueue(user, child, &deeper))
			}
		}
	}
	return info
}

// standing are the queues that there are, parents before children; rows of those that have gone wait for others.
func (m *manager) standing() iter.Seq[*sched.Queue] {
	var walk func(q *sched.Queue, yield func(*sched.Queue) bool) bool
	walk = func(q *sched.Queue, yield func(*sched.Queue) bool) bool {
		if q.User {
			return true
		}
		if !yield(q) {
			return false
		}
		for _, id := range q.Children {
			if !walk(m.core.Queues[id], yield) {
				return false
			}
		}
		return true
	}
	return func(yield func(*sched.Queue) bool) { walk(m.core.Queues[0], yield) }
}

func (m *manager) queueACLs(user string, _ *wire.Empty) (answer, error) {
	r := &wire.QueueACLs{}
	for q := range m.standing() {
		name, path := "root", ""
		if q.ID != 0 {
			path = m.core.Path(q)
			name += "." + path
		}
		may := []int32{}
		if !m.config.Access.Lists || m.queues.allows(path, m.listed(user), submits) {
			may = append(may, wire.SubmitTo)
		}
		if !m.config.Access.Lists || m.mayAdminister(user, path) {
			may = append(may, wire.Administer)
		}
		r.Queues = append(r.Queues, wire.QueueACL{Queue: name, May: may})
	}
	return reply(r)
}

func (m *manager) attemptReport(user string, q *wire.AttemptRequest) (answer, error) {
	a, err := m.knownAttempt(q.ID)
	if err == nil && !a.app.may(user, wire.ViewApp) {
		err = unseen(user, "attempt "+q.ID.String())
	}
	if err != nil {
		return nil, err
	}
	return reply(&wire.AttemptsResponse{Reports: []wire.AttemptReport{a.report()}})
}

func (m *manager) knownAttempt(id wire.AttemptID) (*attempt, error) {
	if _, err := m.application(id.App); err != nil {
		return nil, err
	}
	a := m.attempt(id)
	if a == nil {
		return nil, rpc.Errorf(classAttemptNotFound, "ApplicationAttempt with id '%s' doesn't exist in RM.", id)
	}
	return a, nil
}

func (m *manager) attemptReports(user string, q *wire.ApplicationRequest) (answer, error) {
	app, err := m.application(q.ID)
	if err == nil && !app.may(user, wire.ViewApp) {
		err = unseen(user, "application "+q.ID.String())
	}
	if err != nil {
		return nil, err
	}
	r := &wire.AttemptsResponse{}
	for _, a := range app.attempts {
		r.Reports = append(r.Reports, a.report())
	}
	return reply(r)
}

func (a *attempt) report() wire.AttemptReport {
	r := wire.AttemptReport{
		ID: a.id,
		Master: wire.MasterAddress{
			Host:     wire.NotAvailable,
			Port:     -1,
			Tracking: a.app.m.proxied(a.app.id),
			Original: wire.NotAvailable,
		},
		Diagnostics: a.diagnostics,
		State:       a.state,
		Start:       a.times.started,
		Finish:      a.times.finished,
	}
	if a.address.Host != "" {
		r.Master.Host, r.Master.Port = a.address.Host, a.address.Port
	}
	if a.address.Original != "" {
		r.Master.Original = a.address.Original
	}
	if a.master != nil {
		r.Container = &a.master.id
	}
	return r
}

func (m *manager) containerReport(user string, q *wire.ContainerRequest) (answer, error) {
	c := m.container(q.ID)
	switch {
	case c == nil || c.state == done:
		return nil, rpc.Errorf(classNoContainer, "Container with id '%s' doesn't exist in RM.", q.ID)
	case !c.attempt.app.may(user, wire.ViewApp):
		return nil, unseen(user, "application "+c.attempt.app.id.String())
	}
	return reply(&wire.ContainersResponse{Reports: []wire.ContainerReport{c.tell()}})
}

func (m *manager) containerReports(user string, q *wire.AttemptRequest) (answer, error) {
	a, err := m.knownAttempt(q.ID)
	if err == nil && !a.app.may(user, wire.ViewApp) {
		err = unseen(user, "application "+q.ID.App.String())
	}
	if err != nil {
		return nil, err
	}
	r := &wire.ContainersResponse{}
	for _, c := range a.own() {
		if c.state != done {
			r.Reports = append(r.Reports, c.tell())
		}
	}
	return reply(r)
}

// tell makes a report of a container that lives.
func (c *container) tell() wire.ContainerReport {
	state := wire.ContainerNew
	if c.state == running {
		state = wire.ContainerRunning
	}
	page := "http://" + c.node.web
	return wire.ContainerReport{ID: c.id, Resource: c.resource, Node: c.node.id, Priority: c.priority, Start: c.created,
		Log: page + "/node/containerlogs/" + c.id.String() + "/" + c.attempt.app.user, State: state, NodeAddress: page}
}

func (m *manager) resourceTypes(string, *wire.Empty) (answer, error) {
	return reply(&wire.ResourceTypesResponse{Types: wire.ResourceTypes()})
}
