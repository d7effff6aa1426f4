package yarn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/internal/outlook"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// Limits on callers of REST.
const (
	restHeader = 10 * time.Second // for a request's head
	restIdle   = time.Minute
	// from a request's head to the last byte of the reply, which may be an ApplicationMaster's
	restWrite = 5 * time.Minute
	// of a request's head, in bytes, as in Hadoop (hadoop.http.max.request.header.size): filters of a list are looked
	// through for each application, within turns
	mostHeader = 64 << 10
)

// serveREST serves what Hadoop has under /ws/v1/cluster, in JSON or XML, the pages of ApplicationMasters under /proxy,
// and /metrics, until ctx is done. own are the addresses of the ResourceManager: no pages are fetched from there.
func serveREST(ctx context.Context, f *front, ln net.Listener, own []net.Addr) error {
	s := &http.Server{
		Handler:           restHandler(f, own),
		ReadHeaderTimeout: restHeader,
		MaxHeaderBytes:    mostHeader,
		ReadTimeout:       restIdle,
		WriteTimeout:      restWrite,
		IdleTimeout:       restIdle,
		ErrorLog:          log.New(io.Discard, "", 0), // handshakes of strangers that fail
	}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// restPages are the pages of /ws/v1/cluster that only read, and read within one turn. They have the members of Hadoop's
// pages (Hadoop's document "ResourceManager REST API's").
var restPages = map[string]func(rest) (body, error){
	"":                                  rest.info,
	"/info":                             rest.info,
	"/metrics":                          rest.metrics,
	"/scheduler":                        rest.scheduler,
	"/nodes/{node}":                     rest.node,
	"/apps/{app}/state":                 rest.state,
	"/apps/{app}/queue":                 rest.queueOf,
	"/apps/{app}/priority":              rest.priority,
	"/apps/{app}/timeouts":              rest.timeouts,
	"/apps/{app}/timeouts/{kind}":       rest.timeout,
	"/scheduler-conf":                   rest.schedulerConf,
	"/scheduler-conf/version":           rest.schedulerConf,
	"/scheduler/activities":             rest.activities,
	"/scheduler/app-activities/{app}":   rest.activities,
	"/userinfo":                         rest.userInfo,
	"/apps/{app}/appattempts":           rest.attempts,
	"/appstatistics":                    rest.statistics,
	"/fairness":                         rest.fairness,
	"/apps/{app}/appattempts/{attempt}": rest.attempt,
	"/apps/{app}/appattempts/{attempt}/containers/{container}": rest.container,
}

// restLists are the pages of /ws/v1/cluster that take more than one turn.
var restLists = map[string]func(*front, *http.Request) (body, error){
	"/apps":                appsOf,
	"/apps/{app}":          appOf,
	"/nodes":               nodesOf,
	"/apps/{app}/expected": expectedOf,
	"/apps/{app}/appattempts/{attempt}/containers": containersOf,
}

// restHandler serves all paths of the web address. own are the addresses of the ResourceManager, for newProxy.
func restHandler(f *front, own []net.Addr) http.Handler {
	mux := http.NewServeMux()
	const cluster = "/ws/v1/cluster"
	for path, do := range restPages {
		mux.HandleFunc("GET "+cluster+path, func(w http.ResponseWriter, r *http.Request) {
			f.answerREST(w, r, func() (body, error) { return f.inTurn(r, do) })
		})
	}
	for path, list := range restLists {
		mux.HandleFunc("GET "+cluster+path, func(w http.ResponseWriter, r *http.Request) {
			f.answerREST(w, r, func() (body, error) { return list(f, r) })
		})
	}
	mux.HandleFunc("GET "+cluster+"/queues/{queue}/access", f.serveAccess)
	changeREST(mux, f, cluster)
	servePages(mux, f)
	mux.HandleFunc("GET /cluster/app/{app}", func(w http.ResponseWriter, r *http.Request) { appPage(f, w, r) })
	mux.Handle("GET /metrics", metricsHandler(f))
	servePage(mux, f.config.Page)
	proxied := newProxy(f, own)
	mux.Handle("GET /proxy/", proxied)
	mux.Handle("PUT /proxy/", proxied)
	return f.proving(withOptions(withoutSlash(mux, cluster+"/")))
}

func (q rest) info() (body, error) {
	elector := "Could not find leader elector. Verify both HA and automatic failover are enabled."
	if q.m.config.Kept.Active != nil {
		elector = "CONNECTED"
	}
	return body{"clusterInfo", clusterInfo{
		ID:                   q.m.identity(),
		StartedOn:            q.m.identity(),
		State:                "STARTED",
		HAState:              "ACTIVE",
		Store:                q.m.store(),
		ResourceManager:      wire.Version,
		ResourceManagerBuild: "sojourn",
		Hadoop:               wire.Version,
		HadoopBuild:          "sojourn",
		Connection:           elector,
	}}, nil
}

// fairness is the statement of lent and borrowed, which Hadoop has not.
func (q rest) fairness() (body, error) {
	if q.m.config.Debts.Statement == nil {
		return body{}, notFound("no statement of lent and borrowed is kept: start sojourn rm with --fairness")
	}
	return body{"fairness", statement{q.m.config.Debts.Statement(q.m.at())}}, nil
}

func (q rest) metrics() (body, error) {
	m := q.m
	apps := m.apps.tallies()[""]
	nodes := map[wire.NodeState]int{}
	for _, n := range m.nodes.list {
		nodes[n.state]++
	}
	root, all := m.core.Queues[0], m.core.Capacity
	waits := root.Demand.Sub(root.Used)
	return body{"clusterMetrics", parts{
		appCounts{
			Submitted: apps.submitted,
			Completed: apps.completed,
			Pending:   apps.pending,
			Running:   apps.running,
			Failed:    apps.failed,
			Killed:    apps.killed,
		},
		memoryCounts{
			Available: all[sched.Memory] - root.Used[sched.Memory],
			Allocated: root.Used[sched.Memory],
			Pending:   waits[sched.Memory],
			Total:     all[sched.Memory],
		},
		coreCounts{
			Available:           all[sched.VCores] - root.Used[sched.VCores],
			Allocated:           root.Used[sched.VCores],
			Pending:             waits[sched.VCores],
			Total:               all[sched.VCores],
			ContainersAllocated: m.leases.count,
			ContainersPending:   int(root.Pending()),
		},
		nodeCounts{
			Total:           len(m.nodes.list),
			Active:          nodes[wire.NodeRunning],
			Lost:            nodes[wire.NodeLost],
			Unhealthy:       nodes[wire.NodeUnhealthy],
			Decommissioning: nodes[wire.NodeDecommissioning],
			Decommissioned:  nodes[wire.NodeDecommissioned],
			Shutdown:        nodes[wire.NodeShutdown],
		},
		amountCounts{
			Used:       m.config.Sizes.infoOf(root.Used),
			Total:      m.config.Sizes.infoOf(all),
			Reserved:   m.config.Sizes.info(wire.Resource{}),
			Containers: m.leases.count,
			Known:      true,
		},
	}}, nil
}

func (q rest) scheduler() (body, error) {
	root := describeQueue(q.m, q.m.core.Queues[0], &wire.QueueRequest{Recursive: true, Children: true}, nil)
	info := bodyOfQueues(q.m, root, queueUses(q.m))
	info.kind = rootKind
	return body{"scheduler", schedulerInfo{info}}, nil
}

// nodesOf lists the nodes that a request asks for. It is called outside of turns.
func nodesOf(f *front, r *http.Request) (body, error) {
	want := splitUpper(r.FormValue("states"))
	if err := checkFilters(len(want)); err != nil {
		return body{}, asREST(nil, err)
	}
	for _, name := range want {
		if !slices.Contains(slices.Collect(maps.Values(nodeStates)), name) && name != "REBOOTED" {
			return body{}, badRequest("No enum constant org.apache.hadoop.yarn.api.records.NodeState." + name)
		}
	}
	var list nodeList
	f.listNodes(func(n *node) {
		if name := nodeStates[n.state]; slices.Contains(want, name) ||
			len(want) == 0 {
			list.Node = append(list.Node, bodyOfNode(n))
		}
	})
	return body{"nodes", list}, nil
}

func (q rest) node() (body, error) {
	name := q.r.PathValue("node")
	if _, port, ok := strings.Cut(name, ":"); !ok || port == "" {
		return body{}, badRequest("Invalid NodeId [" + name + "]. Expected host:port")
	}
	for _, n := range q.m.nodes.list {
		if n.name == name {
			return body{"node", bodyOfNode(n)}, nil
		}
	}
	return body{}, notFound("nodeId, " + name + ", is not found")
}

// lowerValues returns the values of a parameter as Hadoop reads types and tags: split at commas, without the spaces
// around them, in lower case as by lower, and each once. The parameter may be there several times.
func lowerValues(r *http.Request, name string, lower func(string) string) (list []string) {
	for _, said := range r.URL.Query()[name] {
		for value := range strings.SplitSeq(said, ",") {
			if value = lower(strings.TrimSpace(value)); value != "" {
				list = append(list, value)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// joined returns the values of a parameter that may be there several times, with commas between them.
func joined(r *http.Request, name string) string { return strings.Join(r.URL.Query()[name], ",") }

func splitUpper(s string) []string { return fields(strings.ToUpper(s)) }

// fields splits a list at commas and spaces.
func fields(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// noState returns the message for a name that no state of applications has.
func noState(name string) string {
	var all []string
	for s := wire.AppNew; s <= wire.AppKilled; s++ {
		all = append(all, s.String())
	}
	return "Invalid application-state " + name + " specified. It should be one of [" + strings.Join(all, ", ") + "]"
}

// A seenApp is what a user may see of an application. It can be used outside of turns.
type seenApp struct {
	job          sched.JobID
	report       wire.ApplicationReport
	at           masterPlace
	now, cluster int64 // ms
	more         appDetails
}

// see returns what a user may see of an application.
func see(app *application, user string) seenApp {
	s := seenApp{job: app.job, report: app.seen(user), now: app.m.millis(), cluster: app.m.identity()}
	may := app.may(user, wire.ViewApp)
	if a := app.current(); a != nil && a.master != nil && may {
		n := a.master.node
		s.at = masterPlace{n.name, app.m.config.scheme(), n.web, a.master.id.String()}
	}
	s.report.Logs, s.more = logsOf(app), detailsOf(app, may)
	return s
}

// body describes the application as Hadoop does, and says when it is expected to start and to end, which Hadoop does
// not.
func (s *seenApp) body(f *front) parts {
	b := append(bodyOfApp(&s.report, s.now, s.cluster, s.at), s.more)
	if s.report.State < wire.AppFinished {
		b = append(b, f.outlook.expects(f, s.job))
	}
	return b
}

// An appFilter says which applications a request asks for.
type appFilter struct {
	wire.ApplicationsRequest
	limit int
	final string // name of a final status; "": all
}

// filterOf reads the filters of a request, which are Hadoop's: states, finalStatus, user, queue, limit,
// applicationTypes, applicationTags, name and the time ranges of start and finish, in ms.
func filterOf(r *http.Request) (f appFilter, err error) {
	for _, name := range fields(joined(r, "states") + "," + r.FormValue("state")) {
		state := stateNamed(strings.ToUpper(name))
		if state == 0 {
			return f, badRequest(noState(name))
		}
		f.States = append(f.States, int32(state))
	}
	list := func(name string) []string {
		return strings.FieldsFunc(r.FormValue(name), func(r rune) bool { return r == ',' })
	}
	f.Types = lowerValues(r, "applicationTypes", strings.ToLower)
	f.Tags = lowerValues(r, "applicationTags", lowerTag)
	f.Users, f.Queues = list("user"), list("queue")
	for _, one := range []struct {
		name string
		to   *int64
	}{
		{"startedTimeBegin", &f.Started.From}, {"startedTimeEnd", &f.Started.Until},
		{"finishedTimeBegin", &f.Finished.From}, {"finishedTimeEnd", &f.Finished.Until},
	} {
		if s := r.FormValue(one.name); s != "" {
			t, err := strconv.ParseInt(s, 10, 64)
			switch {
			case err != nil:
				return f, badRequest(one.name + " value must be a number!")
			case t < 0:
				return f, badRequest(one.name + " must be greater than 0")
			}
			*one.to = t
		}
	}
	if err := checkFilters(valuesOf(&f.ApplicationsRequest)); err != nil {
		return f, asREST(nil, err)
	}
	begins := func(t wire.TimeRange) bool { return t.Until > 0 && t.From > t.Until }
	switch {
	case begins(f.Started):
		return f, badRequest("startedTimeEnd must be greater than startTimeBegin")
	case begins(f.Finished):
		return f, badRequest("finishTimeEnd must be greater than finishTimeBegin")
	}
	f.Name, f.limit = r.FormValue("name"), math.MaxInt
	if s := r.FormValue("limit"); s != "" {
		n, err := strconv.Atoi(s)
		switch {
		case err != nil:
			return f, badRequest("limit value must be a number!")
		case n <= 0:
			return f, badRequest("limit value must be greater then 0")
		}
		f.limit = n
	}
	if f.final = strings.ToUpper(r.FormValue("finalStatus")); f.final != "" && !slices.Contains(finalNames, f.final) {
		return f, badRequest("No enum constant org.apache.hadoop.yarn.api.records.FinalApplicationStatus." + f.final)
	}
	return f, nil
}

// appsOf lists the applications that a request asks for. It is called outside of turns, and makes the bodies there.
func appsOf(f *front, r *http.Request) (body, error) {
	want, err := filterOf(r)
	if err != nil {
		return body{}, err
	}
	shorten, err := unselected(r)
	if err != nil {
		return body{}, err
	}
	user := visitor(r)
	f.groups.meet(user)
	if len(want.Queues) > 0 {
		unknown := ""
		f.look(func(m *manager) {
			for i, name := range want.Queues {
				if !m.queueNamed(name) {
					unknown = name
				}
				if path, leaf := m.queues.leaves.find(name); leaf {
					want.Queues[i] = path
				}
			}
		})
		if unknown != "" {
			return body{}, badRequest("Unknown queue: " + unknown)
		}
	}
	var found []seenApp
	f.list(func(app *application) bool {
		if app.passes(&want.ApplicationsRequest) && (want.final == "" || want.final == finalName(app.outcome.final)) {
			found = append(found, see(app, user))
			shorten(&found[len(found)-1].more)
		}
		return len(found) < want.limit
	})
	var list appList
	for i := range found {
		list.App = append(list.App, found[i].body(f))
	}
	return body{"apps", list}, nil
}

// named finds the application that the path names.
func (q rest) named() (*application, error) {
	id, err := wire.ParseApplicationID(q.r.PathValue("app"))
	if err != nil {
		return nil, badRequest("Invalid ApplicationId: " + err.Error())
	}
	app := q.m.apps.byID[id]
	if app == nil {
		return nil, notFound("app with id: " + id.String() + " not found")
	}
	return app, nil
}

// seen finds the application that the path names, if the user may see its attempts and containers.
func (q rest) seen() (*application, error) {
	app, err := q.named()
	if err == nil && !app.may(q.user, wire.ViewApp) {
		return nil, forbidden("User " + q.user + " does not have privilege to see this application " + app.id.String())
	}
	return app, err
}

// expectedOf says when what an application has asked for is expected to start and to end. Hadoop has no such page.
func expectedOf(f *front, r *http.Request) (body, error) {
	var job sched.JobID
	_, err := f.inTurn(r, func(q rest) (body, error) {
		app, err := q.named()
		if err == nil {
			job = app.job
		}
		return body{}, err
	})
	if err != nil {
		return body{}, err
	}
	look, _ := f.outlook.now(f)
	return body{"expected", look.Of(job)}, nil
}

// appOf describes one application.
func appOf(f *front, r *http.Request) (body, error) {
	var s seenApp
	shorten, err := unselected(r)
	if err != nil {
		return body{}, err
	}
	_, err = f.inTurn(r, func(q rest) (body, error) {
		app, err := q.named()
		if err == nil {
			s = see(app, q.user)
		}
		return body{}, err
	})
	if err != nil {
		return body{}, err
	}
	shorten(&s.more)
	return body{"app", s.body(f)}, nil
}

// An outlookCache keeps the last look at what is left of all applications, for callers that ask again and again.
type outlookCache struct {
	mu   sync.Mutex
	look *outlook.Look // nil: none was taken
	at   sched.Time
}

// outlookFresh is the greatest age of a look that callers get.
const outlookFresh = sched.Time(time.Second)

// now returns a look that is at most outlookFresh old, and its age. The turn only copies what is left to do; the rest
// is computed outside of turns.
func (c *outlookCache) now(f *front) (*outlook.Look, sched.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var age sched.Time
	f.look(func(m *manager) {
		now := m.at()
		if c.look == nil || now-c.at > outlookFresh {
			v := &m.core.View
			c.look, c.at = outlook.At(v, outlook.OrderOf(m.config.Core.Policy, v)), now
		}
		age = now - c.at
	})
	return c.look, age
}

// expects returns when an unfinished application's tasks are expected to start and to end. The limits are those of
// nine of ten draws.
func (c *outlookCache) expects(f *front, job sched.JobID) (e appExpected) {
	look, age := c.now(f)
	o := look.Of(job)
	from := func(t float64) *float64 {
		t = max(0, t-age.Seconds())
		return &t
	}
	if o.Start != nil {
		e.Start = from(o.Start.Median)
	}
	if o.End != nil {
		e.End, e.Low, e.High = from(o.End.Median), from(o.End.Low), from(o.End.High)
	}
	return e
}

func (q rest) state() (body, error) {
	app, err := q.named()
	if err != nil {
		return body{}, err
	}
	return body{alone + "appstate", struct {
		State string `json:"state" xml:"state"`
	}{app.state.String()}}, nil
}

func (q rest) queueOf() (body, error) {
	app, err := q.named()
	if err != nil {
		return body{}, err
	}
	return body{alone + "appqueue", struct {
		Queue string `json:"queue" xml:"queue"`
	}{"root." + app.queue}}, nil
}

func (q rest) priority() (body, error) {
	app, err := q.named()
	if err != nil {
		return body{}, err
	}
	return body{alone + "applicationpriority", struct {
		Priority int32 `json:"priority" xml:"priority"`
	}{int32(app.submission.Priority)}}, nil
}

// statistics counts applications by state and type. The filters are states and applicationTypes; as in Hadoop there may
// be one type only.
func (q rest) statistics() (body, error) {
	kinds := lowerValues(q.r, "applicationTypes", strings.ToLower)
	if len(kinds) > 1 {
		return body{}, badRequest(fmt.Sprintf(
			"# of applicationTypes = %d, we temporarily support at most one applicationType", len(kinds)))
	}
	kind := strings.Join(kinds, "") // "": all
	names := splitUpper(joined(q.r, "states"))
	if len(names) == 0 {
		for s := wire.AppNew; s <= wire.AppKilled; s++ {
			names = append(names, s.String())
		}
	}
	list := statistics{Item: []statistic{}}
	for _, name := range names {
		if slices.ContainsFunc(list.Item, func(s statistic) bool { return s.State == name }) {
			continue // once, however often it is asked for
		}
		state, n := stateNamed(name), 0
		if state == 0 {
			return body{}, badRequest(noState(name))
		}
		for _, app := range q.m.apps.list {
			if app.state == state && (kind == "" || strings.EqualFold(kind, typeOf(app))) {
				n++
			}
		}
		list.Item = append(list.Item, statistic{name, cmp.Or(kind, "*"), n})
	}
	return body{"appStatInfo", list}, nil
}
