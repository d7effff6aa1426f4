package yarn

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
	"github.com/sojourn-sched/sojourn/yarn/internal/wire"
)

// Limits on those who ask by REST.
const (
	restHeader = 10 * time.Second // for a request's head
	restIdle   = time.Minute
	restBody   = 64 << 10 // bytes of a request
)

// serveREST serves what Hadoop has under /ws/v1/cluster, in JSON, until ctx is done.
func serveREST(ctx context.Context, m *manager, ln net.Listener) error {
	s := &http.Server{Handler: restHandler(m), ReadHeaderTimeout: restHeader, ReadTimeout: restIdle, IdleTimeout: restIdle}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// An object is one of JSON. Names and nesting are Hadoop's, which tools know.
type object map[string]any

func restHandler(m *manager) http.Handler {
	mux := http.NewServeMux()
	get := func(path string, do func(*manager, *http.Request) (object, error)) {
		mux.HandleFunc("GET /ws/v1/cluster"+path, func(w http.ResponseWriter, r *http.Request) { rest(m, w, r, do) })
	}
	get("", (*manager).restInfo)
	get("/info", (*manager).restInfo)
	get("/metrics", (*manager).restMetrics)
	get("/scheduler", (*manager).restScheduler)
	get("/nodes", (*manager).restNodes)
	get("/nodes/{node}", (*manager).restNode)
	get("/apps", (*manager).restApps)
	get("/apps/{app}", (*manager).restApp)
	get("/apps/{app}/state", (*manager).restState)
	get("/apps/{app}/appattempts", (*manager).restAttempts)
	mux.HandleFunc("PUT /ws/v1/cluster/apps/{app}/state", func(w http.ResponseWriter, r *http.Request) { rest(m, w, r, (*manager).restKill) })
	return mux
}

// A restError is what is told of a request that cannot be served.
type restError struct {
	status  int
	class   string
	message string
}

func (e *restError) Error() string { return e.message }

// rest has the owner make an object and writes it.
func rest(m *manager, w http.ResponseWriter, r *http.Request, do func(*manager, *http.Request) (object, error)) {
	r.Body = http.MaxBytesReader(w, r.Body, restBody)
	var reply object
	var err error
	if r.Method == http.MethodPut {
		err = killWanted(r) // reads the body, which the owner must not wait for
	}
	if err == nil {
		_, err = m.ask(func(m *manager) (answer, error) {
			var err error
			reply, err = do(m, r)
			return nil, err
		})
	}
	status := http.StatusOK
	if err != nil {
		e := &restError{http.StatusBadRequest, "BadRequestException", err.Error()}
		errors.As(err, &e)
		status = e.status
		reply = object{"RemoteException": object{"exception": e.class, "javaClassName": "org.apache.hadoop.yarn.webapp." + e.class, "message": e.message}}
	}
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(reply)
}

func (m *manager) restInfo(*http.Request) (object, error) {
	return object{"clusterInfo": object{"id": m.identity(), "startedOn": m.identity(), "state": "STARTED", "haState": "ACTIVE",
		"rmStateStoreName": "none", "resourceManagerVersion": wire.Version, "resourceManagerBuildVersion": "sojourn", "hadoopVersion": wire.Version,
		"hadoopBuildVersion": "sojourn", "haZooKeeperConnectionState": "Could not find leader elector. Verify both HA and automatic failover are enabled."}}, nil
}

func (m *manager) restMetrics(*http.Request) (object, error) {
	count := map[wire.AppState]int{}
	for _, app := range m.apps.list {
		count[app.state]++
	}
	nodes := map[wire.NodeState]int{}
	for _, n := range m.nodes.list {
		nodes[n.state]++
	}
	root, all := m.core.Queues[0], m.core.Capacity
	waits := root.Demand.Sub(root.Used)
	return object{"clusterMetrics": object{
		"appsSubmitted": len(m.apps.list), "appsCompleted": count[wire.AppFinished], "appsPending": count[wire.AppAccepted],
		"appsRunning": count[wire.AppRunning], "appsFailed": count[wire.AppFailed], "appsKilled": count[wire.AppKilled],
		"reservedMB": 0, "availableMB": all[sched.Memory] - root.Used[sched.Memory], "allocatedMB": root.Used[sched.Memory],
		"pendingMB": waits[sched.Memory], "totalMB": all[sched.Memory],
		"reservedVirtualCores": 0, "availableVirtualCores": all[sched.VCores] - root.Used[sched.VCores], "allocatedVirtualCores": root.Used[sched.VCores],
		"pendingVirtualCores": waits[sched.VCores], "totalVirtualCores": all[sched.VCores],
		"containersAllocated": m.leases.count, "containersReserved": 0, "containersPending": root.Pending(),
		"totalNodes": len(m.nodes.list), "activeNodes": nodes[wire.NodeRunning], "lostNodes": nodes[wire.NodeLost], "unhealthyNodes": nodes[wire.NodeUnhealthy],
		"decommissioningNodes": nodes[wire.NodeDecommissioning], "decommissionedNodes": nodes[wire.NodeDecommissioned], "rebootedNodes": 0,
		"shutdownNodes": nodes[wire.NodeShutdown]}}, nil
}

func (m *manager) restScheduler(*http.Request) (object, error) {
	root := m.tellQueue(m.core.Queues[0], &wire.QueueRequest{Recursive: true, Children: true})
	info := restQueue(root)
	info["type"] = "capacityScheduler"
	return object{"scheduler": object{"schedulerInfo": info}}, nil
}

func restQueue(q *wire.QueueInfo) object {
	children := []object{}
	for i := range q.Children {
		children = append(children, restQueue(&q.Children[i]))
	}
	s := &q.Statistics
	o := object{"queueName": q.Name, "queuePath": q.Path, "capacity": 100 * q.Capacity, "usedCapacity": 100 * q.Current, "maxCapacity": 100 * q.Max,
		"absoluteCapacity": 100 * q.Shares.Absolute, "absoluteMaxCapacity": 100 * q.Shares.AbsoluteMax, "absoluteUsedCapacity": 100 * q.Current,
		"state": "RUNNING", "numApplications": s.Running + s.Pending, "resourcesUsed": object{"memory": s.UsedMemory, "vCores": s.UsedVCores}}
	if len(children) > 0 {
		o["queues"] = object{"queue": children}
	} else {
		o["type"] = "capacitySchedulerLeafQueueInfo"
	}
	return o
}

var nodeStates = map[wire.NodeState]string{wire.NodeNew: "NEW", wire.NodeRunning: "RUNNING", wire.NodeUnhealthy: "UNHEALTHY",
	wire.NodeDecommissioned: "DECOMMISSIONED", wire.NodeLost: "LOST", wire.NodeDecommissioning: "DECOMMISSIONING", wire.NodeShutdown: "SHUTDOWN"}

func restNodeObject(n *node) object {
	r := n.tell()
	return object{"rack": r.Rack, "state": nodeStates[r.State], "id": r.ID.String(), "nodeHostName": r.ID.Host, "nodeHTTPAddress": r.HTTPAddress,
		"lastHealthUpdate": r.HealthTime, "version": wire.Version, "healthReport": r.Health, "numContainers": r.Containers,
		"usedMemoryMB": r.Used.Memory, "availMemoryMB": r.Capacity.Memory - r.Used.Memory,
		"usedVirtualCores": r.Used.VCores, "availableVirtualCores": r.Capacity.VCores - r.Used.VCores}
}

func (m *manager) restNodes(r *http.Request) (object, error) {
	want := splitUpper(r.FormValue("states"))
	list := []object{}
	for _, n := range m.nodes.list {
		if name := nodeStates[n.state]; slices.Contains(want, name) || len(want) == 0 && (n.usable() || n.state == wire.NodeUnhealthy) {
			list = append(list, restNodeObject(n))
		}
	}
	return object{"nodes": object{"node": list}}, nil
}

func (m *manager) restNode(r *http.Request) (object, error) {
	for _, n := range m.nodes.list {
		if n.id.String() == r.PathValue("node") {
			return object{"node": restNodeObject(n)}, nil
		}
	}
	return nil, &restError{http.StatusNotFound, "NotFoundException", "nodeId, " + r.PathValue("node") + ", is not found"}
}

func splitUpper(s string) []string {
	return strings.FieldsFunc(strings.ToUpper(s), func(r rune) bool { return r == ',' || r == ' ' })
}

var finalNames = []string{"UNDEFINED", "SUCCEEDED", "FAILED", "KILLED"}

func finalName(f wire.FinalStatus) string {
	if f < 0 || int(f) >= len(finalNames) {
		return finalNames[0]
	}
	return finalNames[f]
}

func (m *manager) restAppObject(app *application) object {
	r := app.report()
	o := object{"id": r.ID.String(), "user": r.User, "name": r.Name, "queue": r.Queue, "state": r.State.String(), "finalStatus": finalName(r.Final),
		"progress": 100 * r.Progress, "trackingUI": "ApplicationMaster", "trackingUrl": r.Master.Tracking, "diagnostics": r.Diagnostics,
		"clusterId": m.identity(), "applicationType": r.Type, "applicationTags": strings.Join(r.Tags, ","), "priority": r.Priority,
		"startedTime": r.Start, "launchTime": r.Launched, "finishedTime": r.Finish, "elapsedTime": max(r.Finish, m.millis()) - r.Start,
		"allocatedMB": -1, "allocatedVCores": -1, "reservedMB": -1, "reservedVCores": -1, "runningContainers": -1,
		"memorySeconds": r.Usage.MemorySeconds, "vcoreSeconds": r.Usage.VCoreSeconds, "queueUsagePercentage": r.Usage.QueuePercent,
		"clusterUsagePercentage": r.Usage.ClusterPercent, "preemptedResourceMB": 0, "preemptedResourceVCores": 0, "numNonAMContainerPreempted": 0,
		"numAMContainerPreempted": 0, "logAggregationStatus": "DISABLED", "unmanagedApplication": r.Unmanaged}
	if r.Finish > 0 {
		o["elapsedTime"] = r.Finish - r.Start
	}
	if r.Usage.Known {
		o["allocatedMB"], o["allocatedVCores"], o["runningContainers"] = r.Usage.Used.Memory, r.Usage.Used.VCores, r.Usage.Containers
		o["reservedMB"], o["reservedVCores"] = 0, 0
	}
	if a := app.current(); a != nil && a.master != nil {
		n := a.master.node
		o["masterNodeId"], o["amHostHttpAddress"] = n.id.String(), n.web
		o["amContainerLogs"] = "http://" + n.web + "/node/containerlogs/" + a.master.id.String() + "/" + app.user
	}
	if r.Master.Port > 0 {
		o["amRPCAddress"] = net.JoinHostPort(r.Master.Host, strconv.Itoa(int(r.Master.Port)))
	}
	return o
}

// restApps lists applications; its filters are those of Hadoop: states, finalStatus, user, queue, limit, applicationTypes, applicationTags and the
// time ranges by start and finish.
func (m *manager) restApps(r *http.Request) (object, error) {
	q := &wire.ApplicationsRequest{}
	for _, name := range splitUpper(r.FormValue("states") + "," + r.FormValue("state")) {
		state := stateNamed(name)
		if state == 0 {
			return nil, &restError{http.StatusBadRequest, "BadRequestException", "Invalid application-state " + name}
		}
		q.States = append(q.States, int32(state))
	}
	list := func(name string) []string {
		return strings.FieldsFunc(r.FormValue(name), func(r rune) bool { return r == ',' })
	}
	q.Types, q.Tags, q.Users, q.Queues = list("applicationTypes"), list("applicationTags"), list("user"), list("queue")
	times := [4]int64{0, 1 << 62, 0, 1 << 62}
	for i, name := range []string{"startedTimeBegin", "startedTimeEnd", "finishedTimeBegin", "finishedTimeEnd"} {
		if s := r.FormValue(name); s != "" {
			t, err := strconv.ParseInt(s, 10, 64)
			if err != nil || t < 0 {
				return nil, &restError{http.StatusBadRequest, "BadRequestException", name + " must be a time in ms, not " + s}
			}
			times[i] = t
		}
	}
	limit := len(m.apps.list)
	if s := r.FormValue("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n <= 0 {
			return nil, &restError{http.StatusBadRequest, "BadRequestException", "limit value must be greater then 0"}
		}
		limit = n
	}
	final := strings.ToUpper(r.FormValue("finalStatus"))
	apps := []object{}
	for _, app := range m.apps.list {
		t := app.times
		if len(apps) < limit && app.passes(q) && (final == "" || final == finalName(app.outcome.final)) &&
			t.started >= times[0] && t.started <= times[1] && t.finished >= times[2] && t.finished <= times[3] {
			apps = append(apps, m.restAppObject(app))
		}
	}
	return object{"apps": object{"app": apps}}, nil
}

func stateNamed(name string) wire.AppState {
	for s := wire.AppNew; s <= wire.AppKilled; s++ {
		if s.String() == name {
			return s
		}
	}
	return 0
}

// restNamed finds the application that a path names.
func (m *manager) restNamed(r *http.Request) (*application, error) {
	id, err := wire.ParseApplicationID(r.PathValue("app"))
	if err != nil {
		return nil, err
	}
	app := m.apps.byID[id]
	if app == nil {
		return nil, &restError{http.StatusNotFound, "NotFoundException", "app with id: " + id.String() + " not found"}
	}
	return app, nil
}

func (m *manager) restApp(r *http.Request) (object, error) {
	app, err := m.restNamed(r)
	if err != nil {
		return nil, err
	}
	return object{"app": m.restAppObject(app)}, nil
}

func (m *manager) restState(r *http.Request) (object, error) {
	app, err := m.restNamed(r)
	if err != nil {
		return nil, err
	}
	return object{"state": app.state.String()}, nil
}

func (m *manager) restAttempts(r *http.Request) (object, error) {
	app, err := m.restNamed(r)
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, a := range app.attempts {
		o := object{"id": a.id.Attempt, "appAttemptId": a.id.String(), "startTime": a.times.started, "finishedTime": a.times.finished}
		if a.master != nil {
			n := a.master.node
			o["containerId"], o["nodeId"], o["nodeHttpAddress"] = a.master.id.String(), n.id.String(), n.web
			o["logsLink"] = "http://" + n.web + "/node/containerlogs/" + a.master.id.String() + "/" + app.user
		}
		list = append(list, o)
	}
	return object{"appAttempts": object{"appAttempt": list}}, nil
}

// killWanted reads the only change that may be asked for.
func killWanted(r *http.Request) error {
	var q struct{ State string }
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || strings.ToUpper(q.State) != "KILLED" {
		return &restError{http.StatusBadRequest, "BadRequestException", `the body must be {"state":"KILLED"}`}
	}
	return nil
}

// restKill kills an application for its owner or an administrator: who that is, the caller says in user.name, as everywhere in simple mode.
func (m *manager) restKill(r *http.Request) (object, error) {
	app, err := m.restNamed(r)
	if err != nil {
		return nil, err
	}
	user := r.URL.Query().Get("user.name")
	if user == "" || !m.mayChange(user, app.user) {
		m.log.Warn("kill refused", "application", app.id.String(), "user", user, "by", "REST")
		return nil, &restError{http.StatusForbidden, "ForbiddenException", "User " + user + " cannot perform operation MODIFY_APP on " + app.id.String()}
	}
	app.end(wire.AppKilled, outcome{wire.Killed, "Application " + app.id.String() + " was killed by user " + user})
	return object{"state": app.state.String()}, nil
}
