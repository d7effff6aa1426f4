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

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// Limits on those who ask by REST.
const (
	restHeader = 10 * time.Second // for a request's head
	restIdle   = time.Minute
	restWrite  = 5 * time.Minute // from a request's head to the last byte of the reply, which may be an ApplicationMaster's
	restBody   = 64 << 10        // bytes of a request
)

// serveREST serves what Hadoop has under /ws/v1/cluster, in JSON or XML, the pages of ApplicationMasters under /proxy,
// and /metrics, until ctx is done. own is where the ResourceManager listens: no pages are fetched from there.
func serveREST(ctx context.Context, m *manager, ln net.Listener, own []net.Addr) error {
	s := &http.Server{
		Handler:           restHandler(m, own),
		ReadHeaderTimeout: restHeader,
		ReadTimeout:       restIdle,
		WriteTimeout:      restWrite,
		IdleTimeout:       restIdle,
	}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// An object is one of JSON. Names and nesting are Hadoop's, which tools know.
type object map[string]any

func restHandler(m *manager, own []net.Addr) http.Handler {
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
	get("/apps/{app}/appattempts/{attempt}", (*manager).restAttempt)
	get("/apps/{app}/appattempts/{attempt}/containers", (*manager).restContainers)
	get("/apps/{app}/appattempts/{attempt}/containers/{container}", (*manager).restContainer)
	get("/apps/{app}/queue", (*manager).restQueueOf)
	get("/apps/{app}/priority", (*manager).restPriority)
	get("/appstatistics", (*manager).restStatistics)
	mux.HandleFunc("GET /cluster/app/{app}", m.appPage)
	mux.Handle("GET /metrics", metricsHandler(m))
	proxied := newProxy(m, own)
	mux.Handle("GET /proxy/", proxied)
	mux.Handle("PUT /proxy/", proxied)
	mux.HandleFunc(
		"PUT /ws/v1/cluster/apps/{app}/state",
		func(w http.ResponseWriter, r *http.Request) { rest(m, w, r, (*manager).restKill) },
	)
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
		m.meet(visitor(r))
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
		reply = object{
			"RemoteException": object{
				"exception":     e.class,
				"javaClassName": "org.apache.hadoop.yarn.webapp." + e.class,
				"message":       e.message,
			},
		}
	}
	if wantsXML(r) {
		w.Header().Set("Content-Type", "application/xml;charset=utf-8")
		w.WriteHeader(status)
		w.Write(appendXML(nil, reply))
		return
	}
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(reply)
}

func (m *manager) restInfo(*http.Request) (object, error) {
	return object{
		"clusterInfo": object{"id": m.identity(), "startedOn": m.identity(), "state": "STARTED", "haState": "ACTIVE",
			"rmStateStoreName": "none", "resourceManagerVersion": wire.Version, "resourceManagerBuildVersion": "sojourn", "hadoopVersion": wire.Version,
			"hadoopBuildVersion": "sojourn", "haZooKeeperConnectionState": "Could not find leader elector. Verify both HA and automatic failover are enabled."},
	}, nil
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
		"appsSubmitted": len(
			m.apps.list,
		), "appsCompleted": count[wire.AppFinished], "appsPending": count[wire.AppAccepted],
		"appsRunning": count[wire.AppRunning], "appsFailed": count[wire.AppFailed], "appsKilled": count[wire.AppKilled],
		"reservedMB": 0, "availableMB": all[sched.Memory] - root.Used[sched.Memory], "allocatedMB": root.Used[sched.Memory],
		"pendingMB": waits[sched.Memory], "totalMB": all[sched.Memory],
		"reservedVirtualCores": 0, "availableVirtualCores": all[sched.VCores] - root.Used[sched.VCores], "allocatedVirtualCores": root.Used[sched.VCores],
		"pendingVirtualCores": waits[sched.VCores], "totalVirtualCores": all[sched.VCores],
		"containersAllocated": m.leases.count, "containersReserved": 0, "containersPending": root.Pending(),
		"totalNodes": len(
			m.nodes.list,
		), "activeNodes": nodes[wire.NodeRunning], "lostNodes": nodes[wire.NodeLost], "unhealthyNodes": nodes[wire.NodeUnhealthy],
		"decommissioningNodes": nodes[wire.NodeDecommissioning], "decommissionedNodes": nodes[wire.NodeDecommissioned], "rebootedNodes": 0,
		"shutdownNodes": nodes[wire.NodeShutdown]}}, nil
}

func (m *manager) restScheduler(*http.Request) (object, error) {
	root := m.tellQueue("", m.core.Queues[0], &wire.QueueRequest{Recursive: true, Children: true})
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
	o := object{
		"queueName":            q.Name,
		"queuePath":            q.Path,
		"capacity":             100 * q.Capacity,
		"usedCapacity":         100 * q.Current,
		"maxCapacity":          100 * q.Max,
		"absoluteCapacity":     100 * q.Shares.Absolute,
		"absoluteMaxCapacity":  100 * q.Shares.AbsoluteMax,
		"absoluteUsedCapacity": 100 * q.Current,
		"state":                "RUNNING",
		"numApplications":      s.Running + s.Pending,
		"resourcesUsed":        object{"memory": s.UsedMemory, "vCores": s.UsedVCores},
	}
	if len(children) > 0 {
		o["queues"] = object{"queue": children}
	} else {
		o["type"] = "capacitySchedulerLeafQueueInfo"
	}
	return o
}

var nodeStates = map[wire.NodeState]string{
	wire.NodeNew:             "NEW",
	wire.NodeRunning:         "RUNNING",
	wire.NodeUnhealthy:       "UNHEALTHY",
	wire.NodeDecommissioned:  "DECOMMISSIONED",
	wire.NodeLost:            "LOST",
	wire.NodeDecommissioning: "DECOMMISSIONING",
	wire.NodeShutdown:        "SHUTDOWN",
}

func restNodeObject(n *node) object {
	r := n.tell()
	return object{
		"rack":                  r.Rack,
		"state":                 nodeStates[r.State],
		"id":                    r.ID.String(),
		"nodeHostName":          r.ID.Host,
		"nodeHTTPAddress":       r.HTTPAddress,
		"lastHealthUpdate":      r.HealthTime,
		"version":               wire.Version,
		"healthReport":          r.Health,
		"numContainers":         r.Containers,
		"usedMemoryMB":          r.Used.Memory,
		"availMemoryMB":         r.Capacity.Memory - r.Used.Memory,
		"usedVirtualCores":      r.Used.VCores,
		"availableVirtualCores": r.Capacity.VCores - r.Used.VCores,
	}
}

func (m *manager) restNodes(r *http.Request) (object, error) {
	want := splitUpper(r.FormValue("states"))
	list := []object{}
	for _, n := range m.nodes.list {
		if name := nodeStates[n.state]; slices.Contains(want, name) ||
			len(want) == 0 && (n.usable() || n.state == wire.NodeUnhealthy) {
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
	return nil, &restError{
		http.StatusNotFound,
		"NotFoundException",
		"nodeId, " + r.PathValue("node") + ", is not found",
	}
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

func (m *manager) restAppObject(user string, app *application) object {
	r := app.seen(user)
	o := object{
		"id":                         r.ID.String(),
		"user":                       r.User,
		"name":                       r.Name,
		"queue":                      r.Queue,
		"state":                      r.State.String(),
		"finalStatus":                finalName(r.Final),
		"progress":                   100 * r.Progress,
		"trackingUI":                 "ApplicationMaster",
		"trackingUrl":                r.Master.Tracking,
		"diagnostics":                r.Diagnostics,
		"clusterId":                  m.identity(),
		"applicationType":            r.Type,
		"applicationTags":            strings.Join(r.Tags, ","),
		"priority":                   r.Priority,
		"startedTime":                r.Start,
		"launchTime":                 r.Launched,
		"finishedTime":               r.Finish,
		"elapsedTime":                max(r.Finish, m.millis()) - r.Start,
		"allocatedMB":                -1,
		"allocatedVCores":            -1,
		"reservedMB":                 -1,
		"reservedVCores":             -1,
		"runningContainers":          -1,
		"memorySeconds":              r.Usage.MemorySeconds,
		"vcoreSeconds":               r.Usage.VCoreSeconds,
		"queueUsagePercentage":       r.Usage.QueuePercent,
		"clusterUsagePercentage":     r.Usage.ClusterPercent,
		"preemptedResourceMB":        0,
		"preemptedResourceVCores":    0,
		"numNonAMContainerPreempted": 0,
		"numAMContainerPreempted":    0,
		"logAggregationStatus":       "DISABLED",
		"unmanagedApplication":       r.Unmanaged,
	}
	if r.Finish > 0 {
		o["elapsedTime"] = r.Finish - r.Start
	}
	if r.Usage.Known {
		o["allocatedMB"], o["allocatedVCores"], o["runningContainers"] = r.Usage.Used.Memory, r.Usage.Used.VCores, r.Usage.Containers
		o["reservedMB"], o["reservedVCores"] = 0, 0
	}
	if a := app.current(); a != nil && a.master != nil && app.may(user, wire.ViewApp) {
		n := a.master.node
		o["masterNodeId"], o["amHostHttpAddress"] = n.id.String(), n.web
		o["amContainerLogs"] = "http://" + n.web + "/node/containerlogs/" + a.master.id.String() + "/" + app.user
	}
	if r.Master.Port > 0 {
		o["amRPCAddress"] = net.JoinHostPort(r.Master.Host, strconv.Itoa(int(r.Master.Port)))
	}
	return o
}

// restApps lists applications; its filters are those of Hadoop: states, finalStatus, user, queue, limit,
// applicationTypes, applicationTags and the time ranges by start and finish.
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
	for name, to := range map[string]*int64{"startedTimeBegin": &q.Started.From, "startedTimeEnd": &q.Started.Until, "finishedTimeBegin": &q.Finished.From, "finishedTimeEnd": &q.Finished.Until} {
		if s := r.FormValue(name); s != "" {
			t, err := strconv.ParseInt(s, 10, 64)
			if err != nil || t < 0 {
				return nil, &restError{
					http.StatusBadRequest,
					"BadRequestException",
					name + " must be a time in ms, not " + s,
				}
			}
			*to = t
		}
	}
	q.Name = r.FormValue("name")
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
		if len(apps) < limit && app.passes(q) && (final == "" || final == finalName(app.outcome.final)) {
			apps = append(apps, m.restAppObject(visitor(r), app))
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
	return object{"app": m.restAppObject(visitor(r), app)}, nil
}

func (m *manager) restState(r *http.Request) (object, error) {
	app, err := m.restNamed(r)
	if err != nil {
		return nil, err
	}
	return object{"state": app.state.String()}, nil
}

// restSeen finds the application that a path names, for who may see what it is made of.
func (m *manager) restSeen(r *http.Request) (*application, error) {
	app, err := m.restNamed(r)
	if user := visitor(r); err == nil && !app.may(user, wire.ViewApp) {
		return nil, &restError{
			http.StatusForbidden,
			"ForbiddenException",
			"User " + user + " does not have privilege to see this application " + app.id.String(),
		}
	}
	return app, err
}

func (m *manager) restAttempts(r *http.Request) (object, error) {
	app, err := m.restSeen(r)
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, a := range app.attempts {
		list = append(list, restAttemptObject(a))
	}
	return object{"appAttempts": object{"appAttempt": list}}, nil
}

func restAttemptObject(a *attempt) object {
	r := a.report()
	o := object{
		"id":                  a.id.Attempt,
		"appAttemptId":        a.id.String(),
		"startTime":           a.times.started,
		"finishedTime":        a.times.finished,
		"appAttemptState":     attemptNames[a.state],
		"diagnosticsInfo":     a.diagnostics,
		"trackingUrl":         r.Master.Tracking,
		"originalTrackingUrl": r.Master.Original,
		"host":                r.Master.Host,
		"rpcPort":             r.Master.Port,
	}
	if a.master != nil {
		n := a.master.node
		o["containerId"], o["nodeId"], o["nodeHttpAddress"] = a.master.id.String(), n.name, n.web
		o["logsLink"] = "http://" + n.web + "/node/containerlogs/" + a.master.id.String() + "/" + a.app.user
	}
	return o
}

var attemptNames = map[wire.AttemptState]string{
	wire.AttemptSubmitted: "SUBMITTED",
	wire.AttemptScheduled: "SCHEDULED",
	wire.AttemptAllocated: "ALLOCATED",
	wire.AttemptLaunched:  "LAUNCHED",
	wire.AttemptRunning:   "RUNNING",
	wire.AttemptFinishing: "FINISHING",
	wire.AttemptFinished:  "FINISHED",
	wire.AttemptFailed:    "FAILED",
	wire.AttemptKilled:    "KILLED",
}

// restNamedAttempt finds the attempt that a path names.
func (m *manager) restNamedAttempt(r *http.Request) (*attempt, error) {
	app, err := m.restSeen(r)
	if err != nil {
		return nil, err
	}
	for _, a := range app.attempts {
		if a.id.String() == r.PathValue("attempt") {
			return a, nil
		}
	}
	return nil, &restError{
		http.StatusNotFound,
		"NotFoundException",
		"app attempt with id: " + r.PathValue("attempt") + " not found",
	}
}

func (m *manager) restAttempt(r *http.Request) (object, error) {
	a, err := m.restNamedAttempt(r)
	if err != nil {
		return nil, err
	}
	return object{"appAttempt": restAttemptObject(a)}, nil
}

func restContainerObject(c *container) object {
	r := c.tell()
	state := "NEW"
	if c.state == running {
		state = "RUNNING"
	}
	return object{
		"containerId":     c.id.String(),
		"allocatedMB":     r.Resource.Memory,
		"allocatedVCores": r.Resource.VCores,
		"assignedNodeId":  c.node.name,
		"priority":        r.Priority,
		"startedTime":     r.Start,
		"finishedTime":    0,
		"elapsedTime":     c.m.millis() - r.Start,
		"logUrl":          r.Log,
		"containerState":  state,
		"nodeHttpAddress": r.NodeAddress,
	}
}

func (m *manager) restContainers(r *http.Request) (object, error) {
	a, err := m.restNamedAttempt(r)
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, c := range a.own() {
		if c.state != done {
			list = append(list, restContainerObject(c))
		}
	}
	return object{"containers": object{"container": list}}, nil
}

func (m *manager) restContainer(r *http.Request) (object, error) {
	a, err := m.restNamedAttempt(r)
	if err != nil {
		return nil, err
	}
	for _, c := range a.own() {
		if c.state != done && c.id.String() == r.PathValue("container") {
			return object{"container": restContainerObject(c)}, nil
		}
	}
	return nil, &restError{
		http.StatusNotFound,
		"NotFoundException",
		"container with id: " + r.PathValue("container") + " not found",
	}
}

func (m *manager) restQueueOf(r *http.Request) (object, error) {
	app, err := m.restNamed(r)
	if err != nil {
		return nil, err
	}
	return object{"queue": app.queue}, nil
}

func (m *manager) restPriority(r *http.Request) (object, error) {
	app, err := m.restNamed(r)
	if err != nil {
		return nil, err
	}
	return object{"priority": app.submission.Priority}, nil
}

// restStatistics counts applications by state and type; the filters are states and applicationTypes, of which there may
// be one, as in Hadoop.
func (m *manager) restStatistics(r *http.Request) (object, error) {
	kind := r.FormValue("applicationTypes")
	if strings.Contains(kind, ",") {
		return nil, &restError{
			http.StatusBadRequest,
			"BadRequestException",
			"applicationTypes must be one type, not " + kind,
		}
	}
	names := splitUpper(r.FormValue("states"))
	if len(names) == 0 {
		for s := wire.AppNew; s <= wire.AppKilled; s++ {
			names = append(names, s.String())
		}
	}
	list := []object{}
	for _, name := range names {
		state, n := stateNamed(name), 0
		if state == 0 {
			return nil, &restError{http.StatusBadRequest, "BadRequestException", "Invalid application-state " + name}
		}
		for _, app := range m.apps.list {
			if app.state == state && (kind == "" || strings.EqualFold(kind, app.submission.Type)) {
				n++
			}
		}
		typed := kind
		if typed == "" {
			typed = "*"
		}
		list = append(list, object{"state": name, "type": typed, "count": n})
	}
	return object{"appStatInfo": object{"statItem": list}}, nil
}

// killWanted reads the only change that may be asked for.
func killWanted(r *http.Request) error {
	var q struct{ State string }
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || strings.ToUpper(q.State) != "KILLED" {
		return &restError{http.StatusBadRequest, "BadRequestException", `the body must be {"state":"KILLED"}`}
	}
	return nil
}

// restKill kills an application for who may change it: who that is, the caller says in user.name, as everywhere in
// simple mode.
func (m *manager) restKill(r *http.Request) (object, error) {
	app, err := m.restNamed(r)
	if err != nil {
		return nil, err
	}
	user := r.URL.Query().Get("user.name")
	if user == "" || !app.may(user, wire.ModifyApp) {
		m.log.refused("kill refused", "application", app.id.String(), "user", user, "by", "REST")
		return nil, &restError{
			http.StatusForbidden,
			"ForbiddenException",
			"User " + user + " cannot perform operation MODIFY_APP on " + app.id.String(),
		}
	}
	app.end(wire.AppKilled, outcome{wire.Killed, "Application " + app.id.String() + " was killed by user " + user})
	return object{"state": app.state.String()}, nil
}
