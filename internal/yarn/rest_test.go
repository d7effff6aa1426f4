package yarn

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/peer"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// rest calls REST and returns the status and the answer.
func (c *cluster) rest(method, path, body string) (int, any) {
	c.t.Helper()
	q, err := http.NewRequestWithContext(
		c.t.Context(),
		method,
		"http://"+c.at.Web+"/ws/v1/cluster"+path,
		strings.NewReader(body),
	)
	if err != nil {
		c.t.Fatal(err)
	}
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		c.t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil && r.StatusCode == http.StatusOK {
		c.t.Fatalf("%s: %v: %s", path, err, text)
	}
	return r.StatusCode, v
}

// at finds what is at a path of names, separated by dots, in nested objects; of lists, in their first element.
func at(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		if list, ok := v.([]any); ok {
			if len(list) == 0 {
				return nil
			}
			v = list[0]
		}
		o, _ := v.(map[string]any)
		v = o[name]
	}
	return v
}

// tenSeconds knows that each task takes 10 s, give or take one.
type tenSeconds struct{}

func (tenSeconds) Observe(*sched.Attempt, sched.Time, *sched.Counters) {}
func (tenSeconds) Size(*sched.Job) (sched.Work, bool)                  { return sched.Work{}, false }
func (tenSeconds) Estimate(*sched.Stage, sched.ClassID) sched.Estimate {
	return sched.Estimate{Mean: 10 * time.Second, StdDev: time.Second, Samples: 9}
}

func TestREST(t *testing.T) {
	c := start(t, func(config *Config) {
		config.Core.Estimator = tenSeconds{}
		config.Debts.Statement = func(sched.Time) any { return []map[string]string{{"kind": "memory"}} }
	})
	c.look(func(m *manager) { // time stands still: when a task is expected to end does not depend on the machine
		now := m.now
		m.clock = func() time.Time { return now }
	})
	n := c.node()
	c.task = func(ctx context.Context, _ wire.ContainerID) int32 { <-ctx.Done(); return 0 }
	c.master = c.job(20)
	id := c.submit(func(s *wire.Submission) { s.Tags = []string{"nightly"} })
	c.runs(8) // 7 tasks beside the ApplicationMaster
	const kind = ".resourceInformations.resourceInformation"
	app := "/apps/" + id.String()
	for _, q := range []struct {
		path, at string
		want     any
	}{
		{"/info", "clusterInfo.state", "STARTED"},
		{"/info/", "clusterInfo.state", "STARTED"},
		{"/", "clusterInfo.state", "STARTED"},
		{"/apps/?states=running", "apps.app.id", id.String()},
		{app + "/", "app.id", id.String()},
		{app + "?deSelects=resourceRequests,timeouts", "app.resourceRequests", nil},
		{app + "?deSelects=resourceRequests,TIMEOUTS", "app.timeouts", nil},
		{app + "?deSelects=resourceInfo&deSelects=amNodeLabelExpression", "app.resourceInfo", nil},
		{app + "?deSelects=resourceInfo&deSelects=amNodeLabelExpression", "app.amNodeLabelExpression", nil},
		{app + "?deSelects=resourceInfo&deSelects=appNodeLabelExpression", "app.amNodeLabelExpression", ""},
		{"/apps?deSelects=resourceInfo", "apps.app.resourceInfo", nil},
		{"/apps?deSelects=resourceInfo", "apps.app.resourceRequests.numContainers", 13.0},
		{"/fairness", "fairness.kind.kind", "memory"},
		{"", "clusterInfo.haState", "ACTIVE"},
		{"/metrics", "clusterMetrics.totalMB", 4096.0},
		{"/metrics", "clusterMetrics.appsRunning", 1.0},
		{"/metrics", "clusterMetrics.allocatedMB", 4096.0},
		{"/metrics", "clusterMetrics.containersPending", 13.0}, // 20 tasks, 7 run
		{"/metrics", "clusterMetrics.totalAllocatedContainersAcrossPartition", 8.0},
		{"/metrics", "clusterMetrics.totalReservedResourcesAcrossPartition.memory", 0.0},
		{"/metrics", "clusterMetrics.crossPartitionMetricsAvailable", true},
		{"/nodes", "nodes.node.numContainers", 8.0},
		{"/nodes?states=lost", "nodes.node.id", nil},
		{"/nodes/" + n.ID().String(), "node.state", "RUNNING"},
		{"/apps", "apps.app.id", id.String()},
		{"/apps?states=running&user=alice&limit=1&applicationTags=nightly", "apps.app.user", "alice"},
		{"/apps?states=FINISHED", "apps.app.id", nil},
		{"/apps?startedTimeBegin=99999999999999", "apps.app.id", nil},
		{app, "app.runningContainers", 8.0},
		{app, "app.queue", "root.default"},
		{app + "/state", "state", "RUNNING"},
		{app + "/appattempts", "appAttempts.appAttempt.id", 1.0},
		{app + "/queue", "queue", "root.default"},
		{app, "app.timeouts.timeout.expiryTime", "UNLIMITED"},
		{app, "app.trackingUI", "ApplicationMaster"},
		{app, "app.logAggregationStatus", "DISABLED"},
		{app, "app.resourceInfo.resourceUsagesByPartition.amUsed.memory", 512.0},
		{app, "app.resourceInfo.resourceUsagesByPartition.used.memory", 4096.0},
		{app, "app.resourceInfo.resourceUsagesByPartition.pending.memory", 13 * 512.0},
		{app, "app.resourceRequests.numContainers", 13.0},
		{app, "app.resourceRequests.resourceName", "*"},
		{app, "app.resourceRequests.capability.memory", 512.0},
		{app, "app.resourceRequests.capability" + kind + ".value", 512.0},
		{app, "app.resourceRequests.capability" + kind + ".minimumAllocation", 0.0},
		{app, "app.resourceRequests.capability" + kind + ".maximumAllocation", float64(math.MaxInt64)},
		{app, "app.resourceInfo.resourceUsagesByPartition.amLimit.memory", 0.0},
		{app, "app.resourceInfo.resourceUsagesByPartition.userAmLimit" + kind + ".name", "memory-mb"},
		{"/nodes", "nodes.node.totalResource.memory", 4096.0},
		{"/nodes", "nodes.node.resourceUtilization.nodePhysicalMemoryMB", 0.0},
		{"/scheduler", "scheduler.schedulerInfo.queueType", "parent"},
		{"/scheduler", "scheduler.schedulerInfo.queues.queue.queueType", "leaf"},
		{"/scheduler", "scheduler.schedulerInfo.queues.queue.numActiveApplications", 1.0},
		{"/scheduler", "scheduler.schedulerInfo.queues.queue.numPendingApplications", 0.0},
		{"/scheduler", "scheduler.schedulerInfo.queues.queue.numContainers", 8.0},
		{"/scheduler", "scheduler.schedulerInfo.queues.queue.pendingContainers", 13.0},
		{"/scheduler", "scheduler.schedulerInfo.queues.queue.usedAMResource.memory", 512.0},
		{"/scheduler", "scheduler.schedulerInfo.queues.queue.users.user.username", "alice"},
		{"/scheduler", "scheduler.schedulerInfo.queues.queue.users.user.resourcesUsed.memory", 4096.0},
		{"/scheduler", "scheduler.schedulerInfo.queues.queue.type", "capacitySchedulerLeafQueueInfo"},
		{app + "/priority", "priority", 0.0},
		{app + "/appattempts/appattempt_" + id.String()[len("application_"):] + "_000001", "appAttemptState",
			"RUNNING"},
		{app + "/appattempts/appattempt_" + id.String()[len("application_"):] + "_000001/containers",
			"container.containerState", "RUNNING"},
		{app + "/appattempts/appattempt_" + id.String()[len("application_"):] + "_000001/containers/container_" +
			id.String()[len("application_"):] + "_01_000002", "allocatedMB", "512"},
		{"/appstatistics?states=running&applicationTypes=mapreduce", "appStatInfo.statItem.count", 1.0},
		{"/apps?name=job&finalStatus=UNDEFINED", "apps.app.id", id.String()},
		{"/apps?name=another", "apps.app.id", nil},
		{"/apps?finishedTimeEnd=1", "apps.app.id", id.String()}, // what runs has finished at 0, as in Hadoop
		{"/scheduler", "scheduler.schedulerInfo.type", "capacityScheduler"},
		{"/scheduler", "scheduler.schedulerInfo.queues.queue.queueName", "default"},
	} {
		if status, v := c.rest("GET", q.path, ""); status != 200 || at(v, q.at) != q.want {
			t.Errorf("%s: status %d, %s is %v, want %v", q.path, status, q.at, at(v, q.at), q.want)
		}
	}
	// 7 tasks of 20 run, and each takes 10 s: there are three rounds.
	_, v := c.rest("GET", app+"/expected", "")
	low, _ := at(v, "expected.end.p5_s").(float64)
	end, _ := at(v, "expected.end.p50_s").(float64)
	if end < 22 || end > 40 || low <= 0 || low >= end || at(v, "expected.start") != nil {
		t.Errorf("expected: %v", v)
	}
	for _, path := range []string{"/apps", app} { // the list and the application say the same
		_, v := c.rest("GET", path, "")
		name := map[string]string{"/apps": "apps.app.", app: "app."}[path]
		low, _ := at(v, name+"expected_end_low_s").(float64)
		end, _ := at(v, name+"expected_end_s").(float64)
		high, _ := at(v, name+"expected_end_high_s").(float64)
		if end < 22 || end > 40 || low <= 0 || low >= end || high <= end || at(v, name+"expected_start_s") != nil {
			t.Errorf("%s: %v", path, v)
		}
	}
	for path, want := range map[string]int{"/apps/application_1_0001": 404, "/apps/application_1_0001/expected": 404,
		"/apps/nonsense/expected": 400, "/apps/nonsense": 400, "/nodes/h:1": 404,
		"/apps?states=HAPPY": 400, "/apps?limit=0": 400, "/apps?deSelects=all": 400, app + "?deSelects=timeouts,x": 400,
		"/apps?startedTimeEnd=soon": 400,
		"/nodes/nonsense":           400, app + "/appattempts/nonsense": 400,
		"/apps?startedTimeBegin=2&startedTimeEnd=1": 400, "/apps?limit=many": 400,
		app + "/appattempts/appattempt_1_0001_000001": 404, "/appstatistics?states=HAPPY": 400} {
		if status, v := c.rest("GET", path, ""); status != want || at(v, "RemoteException.message") == nil {
			t.Errorf("%s: status %d, want %d: %v", path, status, want, v)
		}
	}
	kill := `{"state":"KILLED"}`
	for _, q := range []struct {
		path, body string
		want       int
	}{
		{"/state", kill, 403}, {"/state?user.name=mallory", kill, 403},
		{"/state?user.name=alice", `{"state":"RUNNING"}`, 400}, {"/state?user.name=alice", "", 400},
		{"/state?user.name=alice", kill, 200},
	} {
		if status, v := c.rest("PUT", app+q.path, q.body); status != q.want {
			t.Errorf("PUT %s %s: status %d, want %d: %v", q.path, q.body, status, q.want, v)
		}
	}
	c.ends(id, wire.AppKilled)
	c.clean(id)
	if _, v := c.rest("GET", app, ""); at(v, "app.finalStatus") != "KILLED" || at(v, "app.trackingUI") != "History" ||
		at(v, "app.resourceInfo") != nil || at(v, "app.resourceRequests") != nil ||
		at(v, "app.runningContainers") != -1.0 {
		t.Errorf("after the end: %v", v)
	}
}

// get fetches a path of the web address as a browser that follows nothing, and returns the status, the header and the
// text.
func (c *cluster) get(path, accept string) (int, http.Header, string) {
	c.t.Helper()
	q, err := http.NewRequestWithContext(c.t.Context(), "GET", "http://"+c.at.Web+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	q.Header.Set("Accept", accept)
	r, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		c.t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return r.StatusCode, r.Header, string(text)
}

// As in Hadoop, lists are asked for by types and tags in any case, with spaces around them, and by users in their own
// case. Tags of a submission by REST are in lower case, unless they are hints or the configuration says otherwise.
func TestRESTReadsTagsAndTypes(t *testing.T) {
	f := newFleet(t, 1)
	f.submitOne(true, "etl")
	h := restHandler(f.f, nil)
	found := func(query string, want bool) {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ws/v1/cluster/apps?"+query, nil))
		if got := strings.Contains(w.Body.String(), `"application_`); got != want || w.Code != http.StatusOK {
			t.Errorf("%s: status %d, found %v, want %v", query, w.Code, got, want)
		}
	}
	for query, want := range map[string]bool{
		"applicationTags=etl":                        true,
		"applicationTags=ETL":                        true,
		"applicationTags=x,%20Etl%20":                true,
		"applicationTags=x&applicationTags=etl":      true,
		"applicationTags=x":                          false,
		"applicationTags=%20,":                       true, // asks for none
		"applicationTypes=yarn":                      true, // which it is without a type
		"applicationTypes=MAPREDUCE,%20Yarn":         true,
		"applicationTypes=MAPREDUCE":                 false,
		"applicationTypes=YARN&applicationTags=etl":  true,
		"applicationTypes=YARN&applicationTags=none": false,
		"user=user": true,
		"user=User": false,
	} {
		found(query, want)
	}
	for query, want := range map[string]int{
		"applicationTypes=%20MapReduce,,": http.StatusOK, "applicationTypes=a,A": http.StatusOK,
		"applicationTypes=a,b": http.StatusBadRequest,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ws/v1/cluster/appstatistics?"+query, nil))
		if w.Code != want {
			t.Errorf("statistics by %s: status %d, want %d", query, w.Code, want)
		}
	}
	submit := func(tag string) {
		r, _ := f.do(func(m *manager) (answer, error) { return client{m, ""}.newID(nil) })
		q := httptest.NewRequest(http.MethodPost, "http://rm:8088/ws/v1/cluster/apps/?user.name=ana", strings.NewReader(
			fmt.Sprintf(`{"application-id":%q,"unmanaged-AM":true,"application-tags":[%q],
				"resource":{"memory":512,"vCores":1}}`, r.(*wire.NewApplication).ID, tag)))
		q.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		if w.Code != http.StatusAccepted {
			t.Fatalf("submitted: status %d: %s", w.Code, w.Body)
		}
		id := r.(*wire.NewApplication).ID.String()
		if at := w.Header().Get("Location"); at != "http://rm:8088/ws/v1/cluster/apps/"+id {
			t.Errorf("%s is at %q", id, at)
		}
	}
	submit("Nightly")
	found("applicationTags=nightly", true)
	found("applicationTags=Nightly", true)
	site, _, err := Site(withFile(t, "", capacityFile,
		capacityXML("root.queues=Prod,default\nroot.Prod.capacity=50\nroot.default.capacity=50")))
	if err != nil {
		t.Fatal(err)
	}
	f.do(func(m *manager) (answer, error) { return admin{m, "root"}.refreshQueues(site.Queues) })
	submit("sojourn.queue=Prod")
	found("applicationTags=sojourn.queue%3DProd&queue=Prod", true)
	found("applicationTags=sojourn.queue%3Dprod", false)
	f.m.config.Apps.TagsKeepCase = true
	submit("Weekly")
	found("applicationTags=weekly", false)
	r := applications(f.f, "ana", &wire.ApplicationsRequest{Tags: []string{"Weekly"}})
	if len(r.Reports) != 1 {
		t.Errorf("%d applications have the tag that was submitted", len(r.Reports))
	}
}

func TestRESTInXML(t *testing.T) {
	c := start(t, nil)
	for _, q := range []struct{ path, accept, want string }{
		{"/ws/v1/cluster/info", "application/xml", "<state>STARTED</state>"},
		{"/ws/v1/cluster/info", "text/html,application/xml;q=0.9", "<clusterInfo>"},
		{"/ws/v1/cluster/info", "application/json, application/xml", `{"clusterInfo":{`},
		{"/ws/v1/cluster/nodes/a&b:1", "application/xml", "<message>nodeId, a&amp;b:1, is not found</message>"},
	} {
		if _, h, text := c.get(q.path, q.accept); !strings.Contains(text, q.want) ||
			strings.HasPrefix(q.want, "<") != strings.HasPrefix(h.Get("Content-Type"), "application/xml") {
			t.Errorf("%s for %s: %s: %s", q.path, q.accept, h.Get("Content-Type"), text)
		}
	}
	var text strings.Builder
	type app struct {
		ID   int    `xml:"id"`
		Name string `xml:"name,omitempty"`
	}
	type none struct{}
	type apps struct {
		App []any `xml:"app"`
		N   *int  `xml:"n"`
	}
	writeXML(&text, body{"apps", apps{App: []any{app{1, "a<b"}, parts{app{ID: 2}, none{}}}}})
	got := text.String()
	want := `<?xml version="1.0" encoding="UTF-8"?><apps><app><id>1</id><name>a&lt;b</name></app>` +
		`<app><id>2</id></app></apps>`
	if got != want {
		t.Errorf("wrote %s, want %s", got, want)
	}
}

// The pages of an ApplicationMaster are shown under /proxy, without what is this address's own; once it is over,
// browsers go to what it left.
func TestProxy(t *testing.T) {
	c := start(t, nil)
	c.node()
	master := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cookie, _ := r.Cookie("proxy-user")
		secret, _ := r.Cookie("secret")
		if cookie == nil || secret != nil {
			t.Errorf("cookies %v", r.Header["Cookie"])
		}
		io.WriteString(w, "page "+r.URL.Path+"?"+r.URL.RawQuery+" for "+cookie.Value)
	}))
	defer master.Close()
	register := func(tracking string) (wire.ApplicationID, *peer.Master) {
		id := c.submit(func(s *wire.Submission) { s.Unmanaged = true })
		m := &peer.Master{Address: c.at.Master, Token: *c.report(id).MasterToken}
		t.Cleanup(m.Close)
		if status, _, _ := c.get("/proxy/"+id.String()+"/", ""); status != http.StatusOK {
			t.Errorf("before it has registered: %d", status)
		}
		if _, err := m.Register(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.look(func(m *manager) { m.apps.byID[id].current().address.Original = tracking })
		return id, m
	}
	id, m := register(master.URL + "/base")
	for path, want := range map[string]string{"": "/base? for dr.who", "/": "/base? for dr.who",
		"/jobs/1?x=y": "/base/jobs/1?x=y for dr.who", "/jobs?user.name=ana": "/base/jobs?user.name=ana for ana"} {
		if status, _, text := c.get("/proxy/"+id.String()+path, ""); status != 200 || text != "page "+want {
			t.Errorf("%q: %d %s, want %s", path, status, text, want)
		}
	}
	if status, _, text := c.get("/proxy/redirect/"+id.String()+"/jobs", ""); status != 200 ||
		!strings.HasPrefix(text, "page /base/jobs") {
		t.Errorf("sent back by the ApplicationMaster: %d %s", status, text)
	}
	if err := m.Finish(t.Context(), wire.Succeeded); err != nil {
		t.Fatal(err)
	}
	if status, h, _ := c.get("/proxy/"+id.String()+"/", ""); status != http.StatusFound ||
		h.Get("Location") != master.URL+"/base" {
		t.Errorf("after its end: %d to %s", status, h.Get("Location"))
	}
	loop, _ := register("http://" + c.at.Web + "/proxy/" + id.String())
	c.look(func(m *manager) {
		a := m.apps.byID[loop].current()
		a.address.Original = "http://" + c.at.Web + "/proxy/" + loop.String()
	})
	if status, _, _ := c.get("/proxy/"+loop.String()+"/", ""); status != http.StatusLoopDetected {
		t.Errorf("pages that are the proxy's own: %d", status)
	}
	_, port, _ := net.SplitHostPort(c.at.Web)
	for _, to := range []string{"http://" + c.at.Web + "/metrics", "http://localhost:" + port + "/ws/v1/cluster/info",
		"http://" + c.at.Tracker} {
		own, _ := register(to)
		if status, _, text := c.get("/proxy/"+own.String()+"/", ""); status != http.StatusLoopDetected {
			t.Errorf("pages at %s, the ResourceManager's own: %d %s", to, status, text)
		}
	}
	silent, _ := register("127.0.0.1:1") // no server listens there
	if status, _, _ := c.get("/proxy/"+silent.String()+"/", ""); status != http.StatusBadGateway {
		t.Errorf("pages that no server has: %d", status)
	}
	odd, _ := register("file:///etc/passwd")
	if status, _, text := c.get("/proxy/"+odd.String()+"/", ""); status != http.StatusOK ||
		!strings.Contains(text, "has no pages yet") {
		t.Errorf("what is not a page: %d %s", status, text)
	}
	for path, want := range map[string]int{"/proxy/nonsense": 400, "/proxy/application_1_0001/": 404,
		"/cluster/app/application_1_0001": 404} {
		if status, _, _ := c.get(path, ""); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
	invoke[wire.KillResponse](c, c.client, "forceKillApplication", &wire.KillRequest{ID: odd, Diagnostics: "<script>"})
	if status, h, _ := c.get("/proxy/"+odd.String()+"/", ""); status != http.StatusFound ||
		h.Get("Location") != "/cluster/app/"+odd.String() {
		t.Errorf("killed without pages: %d to %s", status, h.Get("Location"))
	}
	if status, _, text := c.get("/cluster/app/"+odd.String(), ""); status != 200 || !strings.Contains(text, "KILLED") ||
		strings.Contains(text, "<script>") {
		t.Errorf("%d %s", status, text)
	}
}

func TestMetrics(t *testing.T) {
	c := start(t, nil)
	n := c.node()
	c.task = func(ctx context.Context, _ wire.ContainerID) int32 { <-ctx.Done(); return 0 }
	c.master = c.job(20)
	id := c.submit(nil)
	c.until("7 tasks run beside the ApplicationMaster", func() bool { running, _ := n.Running(); return running == 8 })
	_, _, text := c.get("/metrics", "")
	for _, want := range []string{
		`sojourn_rm_nodes{state="running"} 1`, `sojourn_rm_applications{state="running"} 1`,
		`sojourn_rm_resources{resource="memory",what="used"} 4096`,
		`sojourn_rm_resources{resource="memory",what="total"} 4096`, `sojourn_rm_containers_running 8`,
		`sojourn_rm_containers_pending 13`,
		`sojourn_rm_queue_resources{queue="root.default",resource="memory",what="used"} 4096`,
		`sojourn_rm_containers_granted_total 8`, `sojourn_rm_policy_refused_total 0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	invoke[wire.KillResponse](c, c.client, "forceKillApplication", &wire.KillRequest{ID: id})
	c.clean(id)
	if _, _, text := c.get("/metrics", ""); !strings.Contains(
		text,
		`sojourn_rm_containers_ended_total{outcome="killed"} 8`+"\n",
	) {
		t.Errorf("after the end:\n%s", text)
	}
}

// What a policy asks for and cannot have is counted, and logged once.
func TestRefusalsAreCounted(t *testing.T) {
	var text strings.Builder
	c := start(t, func(config *Config) {
		config.Log = slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelWarn}))
		config.Core.Policy = greedy{}
	})
	c.node()
	id := c.submit(nil)
	refused := int64(0)
	c.look(func(m *manager) { refused = m.count.refused })
	invoke[wire.KillResponse](c, c.client, "forceKillApplication", &wire.KillRequest{ID: id})
	c.stop()
	if refused < 1 || strings.Count(text.String(), "nothing of the stage is pending") != 1 {
		t.Errorf("refused %d, logged %q", refused, text.String())
	}
}

// greedy starts each task twice.
type greedy struct{}

func (greedy) Decide(p *sched.Plan) {
	for j := range p.Jobs() {
		if st := j.Stages[0]; st.Pending > 0 {
			p.Launch(st, p.Node(1))
			p.Launch(st, p.Node(1))
		}
	}
}

// A request whose filters are longer than the head of a request may be is refused. The connection may end before all of
// the request was sent.
func TestRESTHeader(t *testing.T) {
	c := start(t, nil)
	for states, refused := range map[int]bool{10_000: false, 20_000: true} {
		path := "/ws/v1/cluster/appstatistics?states=" + strings.Repeat("NEW,", states)
		r, err := http.Get("http://" + c.at.Web + path)
		if err == nil {
			r.Body.Close()
		}
		if (err != nil || r.StatusCode == http.StatusRequestHeaderFieldsTooLarge) != refused {
			t.Errorf("%d states: refused %v, want %v", states, !refused, refused)
		}
	}
}

// Numbers of a node that JSON does not have spoil no reply, and what cannot be written is an error, not an empty reply.
func TestNumbersThatJSONHasNot(t *testing.T) {
	for _, accept := range []string{"application/json", "application/xml"} {
		reply := func(b body) (int, string) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("Accept", accept)
			w := httptest.NewRecorder()
			write, _ := makeREST(w, r, b, nil)
			write()
			if text := w.Body.String(); accept == "application/json" && !json.Valid([]byte(text)) {
				t.Errorf("the reply is no JSON: %s", text)
			}
			return w.Code, w.Body.String()
		}
		for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32} {
			f := newFew(t)
			n := f.m.nodes.list[0]
			use := proto.Append(nil, &wire.Use{Cores: float32(odd)})
			f.do(func(m *manager) (answer, error) {
				s := wire.NodeStatus{Node: n.id, Health: wire.Health{OK: true}, Utilization: use, Machine: use}
				return tracker{m}.heartbeat(&wire.HeartbeatRequest{Status: s})
			})
			status, text := reply(body{"nodes", nodeList{[]parts{bodyOfNode(n), bodyOfNode(f.m.nodes.list[1])}}})
			if status != http.StatusOK || !strings.Contains(text, "b:2") {
				t.Errorf("%v: status %d: %s", odd, status, text)
			}
		}
		status, text := reply(body{"broken", map[string]any{"f": func() {}}})
		if status != http.StatusInternalServerError || !strings.Contains(text, "RemoteException") {
			t.Errorf("what cannot be written: status %d: %s", status, text)
		}
	}
}

// An amount that a caller describes by REST is what was meant, or too large, and never wraps around.
func TestAmountsDoNotWrap(t *testing.T) {
	for said, want := range map[int64]int32{1: 1, 1 << 32: math.MaxInt32, 1<<32 + 1: math.MaxInt32,
		-1 << 40: math.MinInt32} {
		if got := (&amountInfo{VCores: said}).resource().VCores; got != want {
			t.Errorf("%d cores are taken for %d, want %d", said, got, want)
		}
	}
}
