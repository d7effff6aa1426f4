package yarn

import (
	"errors"
	"fmt"
	"iter"
	"net"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// A client carries out the calls of a user's programs and commands within a turn. As in Hadoop's simple mode, users are
// who they say they are.
type client struct {
	m    *manager
	user string
}

// as returns the client of a user.
func as(m *manager, user string) client { return client{m, user} }

// newID gives a client the id of an application that it may submit.
func (u client) newID(*wire.Empty) (answer, error) {
	return reply(&wire.NewApplication{ID: nextID(u.m), Maximum: u.m.nodes.largest(u.m.config.Sizes)})
}

// mostIDs is how many ids of applications have the same timestamp. A caller may ask for ids again and again without
// using them: Hadoop counts on, until its 2^31 are used up and it must be started again. Here the timestamp is renewed
// long before, so that ids never run out, and the set of those that were used stays small.
const mostIDs = 1 << 24

// nextID returns an id that no application has.
func nextID(m *manager) wire.ApplicationID {
	ids := &m.apps.ids
	if ids.last >= mostIDs {
		*ids = appIDs{timestamp: max(m.millis(), ids.timestamp+1)}
		saveLife(m)
		m.log.Info("ids of applications have a new timestamp", "timestamp", ids.timestamp)
	}
	ids.last++
	return wire.ApplicationID{ID: ids.last, Timestamp: ids.timestamp}
}

// gave reports whether an id was given by this ResourceManager. Of an earlier timestamp it is not known how many ids
// were given: any up to mostIDs passes.
func (m *manager) gave(id wire.ApplicationID) bool {
	ids := &m.apps.ids
	if id.Timestamp == ids.timestamp {
		return id.ID >= 1 && id.ID <= ids.last
	}
	return id.ID >= 1 && id.ID <= mostIDs && id.Timestamp >= m.life.first && id.Timestamp < ids.timestamp
}

// submit accepts an application. The same application again is no error for the user who submitted it: a client may not
// have heard that it was accepted. Ids are not used again, even after their applications are forgotten.
func (u client) submit(q *wire.SubmitRequest) (answer, error) {
	s := &q.Submission
	if app := u.m.apps.byID[s.ID]; app != nil && app.user == u.user {
		u.m.saves.await()
		return nil, nil
	}
	if err := u.checkSubmission(s); err != nil {
		return nil, err
	}
	queue, err := u.queueFor(s)
	if err != nil {
		return nil, err
	}
	u.m.queues.make(queue)
	app := newApplication(u.m, u.user, queue, s)
	if s.Unmanaged {
		app.begin().state = wire.AttemptLaunched
	}
	u.m.step() // the core takes the end of a job before its submission, and a kill may come in the same turn
	return nil, nil
}

// checkSubmission returns why an application cannot be submitted, whatever its queue.
func (u client) checkSubmission(s *wire.Submission) error {
	if err := u.checkID(s.ID); err != nil {
		return err
	}
	if u.m.apps.unfinished() >= u.m.config.Apps.Most {
		u.m.log.refused("submission refused", "application", s.ID.String(), "user", u.user, "applications",
			u.m.apps.unfinished())
		return rpc.Errorf(classYARN, "Maximum system application limit reached, cannot accept submission of "+
			"application: %s: there are %d, may be %d (%s)", s.ID, u.m.apps.unfinished(), u.m.config.Apps.Most,
			mostApplications)
	}
	if err := u.checkMasterSize(s); err != nil {
		return rpc.Errorf(classInvalidResource,
			"Invalid resource request, failed to submit application %s: its ApplicationMaster: %v", s.ID, err)
	}
	if err := checkMaster(s); err != nil {
		return err
	}
	if why := u.tooLarge(s); why != "" {
		return rpc.Errorf(classYARN, "Failed to submit application %s: %s", s.ID, why)
	}
	if s.Label != "" {
		return rpc.Errorf(classInvalidLabel, "Invalid resource request! Node label %q: there are none", s.Label)
	}
	return nil
}

// checkID returns why the user cannot submit an application with an id.
func (u client) checkID(id wire.ApplicationID) error {
	ids := &u.m.apps.ids
	switch {
	case !u.m.gave(id):
		return rpc.Errorf(classYARN,
			"Failed to submit application %s: its id was not given by this ResourceManager", id)
	case u.m.apps.byID[id] != nil || id.Timestamp == ids.timestamp && ids.taken.has(id.ID):
		return rpc.Errorf(classYARN,
			"Failed to submit application %s: its id is another application's, ask for a new one", id)
	case u.user == "":
		return rpc.Errorf(classAccess, "Failed to submit application %s: no user", id)
	}
	return nil
}

// checkMasterSize returns what is wrong with the size of an ApplicationMaster.
func (u client) checkMasterSize(s *wire.Submission) error {
	size, ok := s.MasterResource()
	if err := u.m.config.Sizes.check(size, askable(u.m)); err != nil {
		return err
	}
	if !ok && !s.Unmanaged {
		return errors.New("no resources are asked for it")
	}
	return nil
}

// tooLarge says which part of a submission is too large to keep; "": none.
func (u client) tooLarge(s *wire.Submission) string {
	_, lists := accessOf(s.Launch.ACLs())
	switch {
	case len(s.Tags) > mostTags || slices.ContainsFunc(s.Tags, func(tag string) bool { return len(tag) > mostTag }):
		return fmt.Sprintf("its tags must be up to %d of up to %d bytes", mostTags, mostTag)
	case lists > mostAccess:
		return fmt.Sprintf("its access lists must be up to %d bytes", mostAccess)
	case len(s.LogAggregation) > mostLogAggregation || len(s.Queue) > mostPath:
		return fmt.Sprintf("its log aggregation context may have %d bytes, the name of its queue %d",
			mostLogAggregation, mostPath)
	case u.m.apps.footprint+s.Footprint()+int64(lists) > mostFootprint:
		return fmt.Sprintf("applications that live hold %d MiB of launch contexts, may hold %d",
			u.m.apps.footprint>>20, mostFootprint>>20)
	}
	return ""
}

// queueFor returns the path of the queue for an application: the queue that it names, or, if it names none, that a tag
// names. The user must be allowed to submit there.
func (u client) queueFor(s *wire.Submission) (string, error) {
	named := s.Queue
	if h, _ := readHints(s.Tags); h.queue != "" && (named == "" || named == sched.DefaultQueue) {
		named = h.queue
	}
	queue, err := u.m.queues.choose(u.user, named)
	switch {
	case err != nil:
		return "", rpc.Errorf(classYARN, "Failed to submit %s to queue %s: %v", s.ID, named, err)
	case !u.m.maySubmit(u.user, queue):
		u.m.log.refused("submission refused", "application", s.ID.String(), "user", u.user, "queue", queue)
		return "", rpc.Errorf(classAccess, "User %s does not have permission to submit %s to queue root.%s",
			u.user, s.ID, queue)
	}
	return queue, nil
}

// report answers with the report of an application. For the owner of an unmanaged one it has the token of the
// ApplicationMaster, which the owner starts.
func (u client) report(q *wire.ApplicationRequest) (answer, error) {
	app, err := u.m.application(q.ID)
	if err != nil {
		return nil, err
	}
	return func() proto.Message {
		r := &wire.ApplicationResponse{Report: app.seen(u.user)}
		if a := app.current(); app.submission.Unmanaged && u.user == app.user && a != nil &&
			a.state == wire.AttemptLaunched {
			t := a.token()
			r.Report.MasterToken = &t
		}
		return r
	}, nil
}

// kill ends an application as killed. from is the caller's address, for the diagnostics; nil: it is left out.
func (u client) kill(from net.Addr, q *wire.KillRequest) (answer, error) {
	app, err := u.changing(q.ID)
	if err != nil {
		return nil, err
	}
	why := "Application " + app.id.String() + " was killed by user " + u.user
	if a, ok := from.(*net.TCPAddr); ok {
		why += " at " + a.IP.String()
	}
	if q.Diagnostics != "" {
		why += " with diagnostic message: " + cut(q.Diagnostics, mostDiagnostics)
	}
	kill(app, why)
	u.m.saves.await() // if it was over, that may not be stored yet
	return reply(&wire.KillResponse{Done: true})
}

// applications returns the reports of the applications that a user asks for. It is called outside of turns.
func applications(f *front, user string, q *wire.ApplicationsRequest) *wire.ApplicationsResponse {
	r := &wire.ApplicationsResponse{}
	f.list(func(app *application) bool {
		if app.passes(q) && (!q.Own || app.user == user) {
			r.Reports = append(r.Reports, app.seen(user))
		}
		return q.Limit <= 0 || int64(len(r.Reports)) < q.Limit
	})
	return r
}

// mostFilters bounds the values by which a caller chooses from a list: each is compared with each element of the list,
// within turns.
const mostFilters = 1000

// checkFilters refuses more values than mostFilters.
func checkFilters(values int) error {
	if values > mostFilters {
		return rpc.Errorf(classYARN, "A list is asked for by %d values, may be by %d", values, mostFilters)
	}
	return nil
}

// valuesOf counts the values by which applications are chosen.
func valuesOf(q *wire.ApplicationsRequest) int {
	return len(q.Types) + len(q.States) + len(q.Users) + len(q.Queues) + len(q.Tags)
}

// passes reports whether an application is one of those asked for. Empty lists let all pass. As in Hadoop, only types
// are compared without regard to case.
func (app *application) passes(q *wire.ApplicationsRequest) bool {
	one := func(list []string, s string) bool { return len(list) == 0 || slices.Contains(list, s) }
	kind := len(q.Types) == 0 ||
		slices.ContainsFunc(q.Types, func(x string) bool { return strings.EqualFold(x, typeOf(app)) })
	tagged := len(q.Tags) == 0 ||
		slices.ContainsFunc(app.submission.Tags, func(tag string) bool { return slices.Contains(q.Tags, tag) })
	in := func(at int64, r wire.TimeRange) bool { return at >= r.From && (r.Until == 0 || at <= r.Until) }
	if !in(app.times.started, q.Started) || !in(app.times.finished, q.Finished) {
		return false
	}
	return kind && one(q.Users, app.user) && tagged &&
		(q.Name == "" || q.Name == app.submission.Name) &&
		(len(q.States) == 0 || slices.Contains(q.States, int32(app.state))) &&
		(one(q.Queues, app.queue) || one(q.Queues, "root."+app.queue))
}

// clusterMetrics counts nodes by state. Nodes are those that beat.
func (u client) clusterMetrics(*wire.Empty) (answer, error) {
	r := &wire.ClusterMetrics{}
	for _, n := range u.m.nodes.list {
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

// clusterNodes lists the nodes that a request asks for. It is called outside of turns.
func clusterNodes(f *front, q *wire.NodesRequest) *wire.NodesResponse {
	r := &wire.NodesResponse{}
	f.listNodes(func(n *node) {
		if len(q.States) == 0 || slices.Contains(q.States, int32(n.state)) {
			r.Reports = append(r.Reports, n.report())
		}
	})
	return r
}

// standing yields the queues that exist, parents before children. It leaves out the queues of users, and the core's
// rows of queues that no longer exist.
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

// queueACLs says for each queue what the user may do there.
func (u client) queueACLs(_ *wire.Empty) (answer, error) {
	r := &wire.QueueACLs{}
	for q := range u.m.standing() {
		name, path := "root", ""
		if q.ID != 0 {
			path = u.m.core.Path(q)
			name += "." + path
		}
		may := []int32{}
		if !u.m.config.Access.Lists || u.m.queues.allows(path, u.m.listed(u.user), submits) {
			may = append(may, wire.SubmitTo)
		}
		if !u.m.config.Access.Lists || u.m.mayAdminister(u.user, path) {
			may = append(may, wire.Administer)
		}
		r.Queues = append(r.Queues, wire.QueueACL{Queue: name, May: may})
	}
	return reply(r)
}

func (u client) attemptReport(q *wire.AttemptRequest) (answer, error) {
	a, err := u.m.knownAttempt(q.ID)
	if err == nil && !a.app.may(u.user, wire.ViewApp) {
		err = unseen(u.user, "attempt "+q.ID.String())
	}
	if err != nil {
		return nil, err
	}
	return reply(&wire.AttemptsResponse{Reports: []wire.AttemptReport{a.report()}})
}

func (u client) attemptReports(q *wire.ApplicationRequest) (answer, error) {
	app, err := u.m.application(q.ID)
	if err == nil && !app.may(u.user, wire.ViewApp) {
		err = unseen(u.user, "application "+q.ID.String())
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

// report returns the attempt's report for clients.
func (a *attempt) report() wire.AttemptReport {
	r := wire.AttemptReport{
		ID:          a.id,
		Master:      addressOf(a.app, a),
		Diagnostics: a.diagnostics,
		State:       a.state,
		Start:       a.times.started,
		Finish:      a.times.finished,
	}
	if a.master != nil {
		r.Container = &a.master.id
	}
	return r
}

func (u client) containerReport(q *wire.ContainerRequest) (answer, error) {
	c := u.m.container(q.ID)
	switch {
	case c == nil || c.state == done:
		return nil, rpc.Errorf(classNoContainer, "Container with id '%s' doesn't exist in RM.", q.ID)
	case !c.attempt.app.may(u.user, wire.ViewApp):
		return nil, unseen(u.user, "application "+c.attempt.app.id.String())
	}
	return reply(&wire.ContainersResponse{Reports: []wire.ContainerReport{c.report()}})
}

// containerReports returns the reports of the containers of an attempt. It is called outside of turns.
func containerReports(f *front, user string, q *wire.AttemptRequest) (*wire.ContainersResponse, error) {
	r := &wire.ContainersResponse{}
	return r, f.listContainers(func(m *manager) (*attempt, error) {
		a, err := m.knownAttempt(q.ID)
		if err == nil && !a.app.may(user, wire.ViewApp) {
			err = unseen(user, "application "+q.ID.App.String())
		}
		return a, err
	}, func(c *container) {
		if c.state != done {
			r.Reports = append(r.Reports, c.report())
		}
	})
}

// report returns the report for clients of a container that lives.
func (c *container) report() wire.ContainerReport {
	state := wire.ContainerNew
	if c.state == running {
		state = wire.ContainerRunning
	}
	page := c.m.config.scheme() + "://" + c.node.web
	return wire.ContainerReport{ID: c.id, Resource: c.resource, Node: c.node.id, Priority: c.priority, Start: c.created,
		Log: page + "/node/containerlogs/" + c.id.String() + "/" + c.attempt.app.user, State: state, NodeAddress: page}
}

func (u client) resourceTypes(*wire.Empty) (answer, error) {
	return reply(&wire.ResourceTypesResponse{Types: u.m.config.Sizes.types()})
}

// changing finds an application that the user may change, or returns the exception that says why not.
func (u client) changing(id wire.ApplicationID) (*application, error) {
	app, err := u.m.application(id)
	if err != nil {
		return nil, err
	}
	if !app.may(u.user, wire.ModifyApp) {
		u.m.log.refused("change refused", "application", id.String(), "user", u.user)
		return nil, rpc.Errorf(classAccess, "User %s cannot perform operation MODIFY_APP on %s", u.user, id)
	}
	return app, nil
}

// changingLive is changing for what needs the application not to be over.
func (u client) changingLive(id wire.ApplicationID) (*application, error) {
	app, err := u.changing(id)
	if err == nil && (app.over || app.state == wire.AppFinished) {
		err = rpc.Errorf(classYARN, "Application %s is %s: what is over cannot be changed", id, app.state)
	}
	return app, err
}
