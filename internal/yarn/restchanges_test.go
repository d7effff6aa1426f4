package yarn

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/token"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// An application is submitted, moved, given another priority and lifetime, and killed by REST; a caller without a name
// changes nothing.
func TestRESTChanges(t *testing.T) {
	c := start(t, func(config *Config) {
		config.MostPriority = 9
		config.Queues.Tree = []*sched.QueueSpec{{Name: "default"}, {Name: "etl"}}
	})
	c.master = c.job(2)
	if status, _ := c.rest("POST", "/apps/new-application", ""); status != http.StatusForbidden {
		t.Errorf("without a name: status %d", status)
	}
	status, v := c.rest("POST", "/apps/new-application?user.name=alice", "")
	id, _ := at(v, "application-id").(string)
	if status != http.StatusOK || at(v, "maximum-resource-capability.memory") != 4096.0 {
		t.Fatalf("status %d: %v", status, v)
	}
	submission := `{"application-id":"` + id + `","application-name":"by REST","queue":"etl","priority":3,
		"application-type":"YARN","application-tags":{"tag":["a","b"]},"resource":{"memory":512,"vCores":1},
		"application-timeouts":{"timeout":{"key":"LIFETIME","value":"3600"}},
		"attempt-failures-validity-interval":60000,
		"log-aggregation-context":{"log-include-pattern":"std.*","log-exclude-pattern":"",
			"rolled-log-include-pattern":"sys.*","log-aggregation-policy-class-name":"org.Policy"},
		"am-container-spec":{"commands":{"command":"master"},
			"environment":{"entry":[{"key":"A","value":"1"}]},
			"local-resources":{"entry":[{"key":"jar","value":{"resource":"hdfs://nn:9000/a.jar","type":"FILE",
				"visibility":"APPLICATION","size":12,"timestamp":34}}]},
			"credentials":{"secrets":{"entry":[{"key":"k","value":"c2VjcmV0"}]},
				"tokens":{"entry":{"key":"nn","value":"AmlkAnB3BUtJTkRBB25uOjgwMjA"}}},
			"application-acls":{"entry":[{"key":"VIEW_APP","value":"bo"}]}}}`
	for _, wrong := range []string{
		``, `{}`, `[]`, strings.Replace(submission, id, "application_x", 1),
		strings.Replace(submission, `"FILE"`, `"BALLAD"`, 1), strings.Replace(submission, "c2VjcmV0", "?", 1),
		strings.Replace(submission, "AmlkAnB3", "AmlkAnB3AmlkAnB3", 1),
		strings.Replace(submission, ":60000", `:"soon"`, 1), strings.Replace(submission, `"std.*"`, "[]", 1),
		strings.Replace(submission, "VIEW_APP", "DANCE", 1), strings.Replace(submission, "3600", "-1", 1),
		strings.Replace(submission, `"queue":"etl"`, `"queue":"none"`, 1),
		strings.Replace(submission, `"memory":512`, `"memory":99999`, 1),
	} {
		if status, v := c.rest("POST", "/apps?user.name=alice", wrong); status != http.StatusBadRequest {
			t.Errorf("%.60s: status %d, %v", wrong, status, v)
		}
	}
	if status, _ := c.rest("POST", "/apps", submission); status != http.StatusForbidden {
		t.Errorf("submitted without a name: status %d", status)
	}
	if status, v := c.rest("POST", "/apps?user.name=alice", submission); status != http.StatusAccepted {
		t.Fatalf("submitted: status %d: %v", status, v)
	}
	app, err := wire.ParseApplicationID(id)
	if err != nil {
		t.Fatal(err)
	}
	c.look(func(m *manager) {
		s := &m.apps.byID[app].submission
		if s.Validity != 60000 || string(s.LogAggregation) != "\n\x05std.*\x12\x00\x1a\x05sys.**\norg.Policy" {
			t.Errorf("failures count for %d ms, logs are aggregated by %q", s.Validity, s.LogAggregation)
		}
		tokens, secrets, err := token.ReadCredentials(m.apps.byID[app].submission.Launch.Tokens())
		if err != nil || len(tokens) != 1 || tokens[0].Kind != "KINDA" || tokens[0].Service != "nn:8020" ||
			string(tokens[0].Password) != "pw" || string(secrets["k"]) != "secret" {
			t.Errorf("it has the tokens %+v and the secrets %q: %v", tokens, secrets, err)
		}
	})
	c.node()
	r := c.ends(app, wire.AppFinished)
	if r.Name != "by REST" || r.Queue != "root.etl" || r.Priority != 3 || len(r.Tags) != 2 || r.User != "alice" {
		t.Errorf("it was taken as %+v", r)
	}
	c.look(func(m *manager) {
		if acl := m.apps.byID[app].access[wire.ViewApp]; acl != "bo" {
			t.Errorf("it may be seen by %v", acl)
		}
	})
	c.master = c.endlessJob()
	live := c.submit(nil)
	c.until("it runs", func() bool { return c.report(live).State == wire.AppRunning })
	path := "/apps/" + live.String()
	for _, q := range []struct {
		method, path, body string
		status             int
		at                 string
		want               any
	}{
		{"PUT", "/queue", `{"queue":"etl"}`, 403, "RemoteException.exception", "ForbiddenException"},
		{"PUT", "/queue?user.name=mallory", `{"queue":"etl"}`, 403, "RemoteException.exception", "ForbiddenException"},
		{"PUT", "/queue?user.name=alice", `{"queue":"none"}`, 400, "RemoteException.exception", "BadRequestException"},
		{"PUT", "/queue?user.name=alice", `{"queue":"etl"}`, 200, "queue", "root.etl"},
		{"PUT", "/priority?user.name=alice", `{}`, 400, "RemoteException.exception", "BadRequestException"},
		{"PUT", "/priority?user.name=alice", `{"priority":7}`, 200, "priority", 7.0},
		{"GET", "/timeouts", "", 200, "timeouts.timeout.expiryTime", "UNLIMITED"},
		{"PUT", "/timeout?user.name=alice", `{"timeout":{"type":"NAP","expiryTime":"x"}}`, 400,
			"RemoteException.exception", "BadRequestException"},
		{"PUT", "/timeout?user.name=alice",
			`{"timeout":{"type":"LIFETIME","expiryTime":"2999-01-01T00:00:00.000+0000"}}`, 200,
			"timeout.type", "LIFETIME"},
		{"GET", "/timeouts/LIFETIME", "", 200, "timeout.type", "LIFETIME"},
		{"GET", "/timeouts/NAP", "", 400, "RemoteException.exception", "BadRequestException"},
	} {
		if status, v := c.rest(q.method, path+q.path, q.body); status != q.status || at(v, q.at) != q.want {
			t.Errorf("%s %s %s: status %d, %v; want %d and %v", q.method, q.path, q.body, status, v, q.status, q.want)
		}
	}
	if r := c.report(live); r.Queue != "root.etl" || r.Priority != 7 || !strings.HasPrefix(r.Lifetime.Expires, "2999") {
		t.Errorf("after the changes: %+v", r)
	}
	if status, v := c.rest("PUT", path+"/state?user.name=alice", `{"state":"KILLED"}`); status != http.StatusOK {
		t.Errorf("killed: status %d, %v", status, v)
	}
	c.clean(live)
}

// What programs look for before they ask anything is there, and what is unknown is refused as Hadoop does.
func TestRESTFinds(t *testing.T) {
	c := start(t, func(config *Config) {
		config.Shown.Properties = []Property{{Name: "a", Value: "1", File: "yarn-site.xml"}}
		config.Queues.Tree = []*sched.QueueSpec{
			{Name: "default", Min: sched.Share{Part: 0.3}},
			{Name: "etl", Min: sched.Share{Part: 0.7}, Queues: []*sched.QueueSpec{
				{Name: "day", Min: sched.Share{Part: 0.1}}, {Name: "night", Min: sched.Share{Part: 0.9}},
			}},
		}
		config.Queues.Stopped = []string{"etl.day"}
	})
	c.node()
	c.master = c.endlessJob()
	id := c.submit(func(s *wire.Submission) { s.Queue = "night" })
	c.until("it runs", func() bool { return c.report(id).State == wire.AppRunning })
	for path, want := range map[string]string{
		"/isActive": "", "/cluster": "applications  1, 1 live", "/conf": "<name>a</name><value>1</value>",
		"/conf?format=json": `"key":"a"`, "/jmx": `"NumActiveNMs":1`,
		"/jmx?qry=Hadoop:service=ResourceManager,name=QueueMetrics*": `"AppsRunning":1`,
	} {
		if status, _, text := c.get(path, ""); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: status %d: %s", path, status, text)
		}
	}
	for _, path := range []string{"/ws/v1/cluster", "/ws/v1/cluster/apps", "/"} {
		q, err := http.NewRequestWithContext(t.Context(), "OPTIONS", "http://"+c.at.Web+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != http.StatusOK || !strings.Contains(r.Header.Get("Allow"), "GET") {
			t.Errorf("OPTIONS %s: status %d, Allow %q", path, r.StatusCode, r.Header.Get("Allow"))
		}
	}
	for path, want := range map[string]int{
		"/nodes?states=HAPPY": 400, "/apps?finalStatus=HAPPY": 400, "/apps?queue=none": 400, "/apps?queue=night": 200,
		"/scheduler-conf": 400, "/scheduler/activities": 200, "/userinfo": 200,
	} {
		if status, v := c.rest("GET", path, ""); status != want {
			t.Errorf("%s: status %d, want %d: %v", path, status, want, v)
		}
	}
	_, v := c.rest("GET", "/scheduler", "")
	queues := map[string]map[string]any{}
	var walk func(v any)
	walk = func(v any) {
		o, _ := v.(map[string]any)
		queues[fmt.Sprint(o["queuePath"])] = o
		if list, ok := at(v, "queues.queue").([]any); ok {
			for _, one := range list {
				walk(one)
			}
		}
	}
	walk(at(v, "scheduler.schedulerInfo"))
	for _, q := range []struct {
		path, name string
		want       any
	}{
		{"root", "capacity", 100.0}, {"root", "numApplications", 1.0}, {"root.default", "capacity", 30.0},
		{"root.etl", "capacity", 70.0}, {"root.etl", "absoluteCapacity", 70.0}, {"root.etl", "numApplications", 1.0},
		{"root.etl.night", "capacity", 90.0}, {"root.etl.night", "absoluteCapacity", 63.0},
		{"root.etl.day", "capacity", 10.0}, {"root.etl.day", "state", "STOPPED"}, {"root.etl", "state", "RUNNING"},
		{"root.etl.day", "numApplications", 0.0}, {"root.etl.night", "maxCapacity", 100.0},
	} {
		if got := queues[q.path][q.name]; got != q.want {
			t.Errorf("%s: %s is %v, want %v", q.path, q.name, got, q.want)
		}
	}
	invoke[wire.KillResponse](c, c.client, "forceKillApplication", &wire.KillRequest{ID: id})
	c.clean(id)
}

// Applications that are told of no more still count.
func TestAppsSubmittedCountAll(t *testing.T) {
	c := start(t, func(config *Config) { config.Completed = 2 })
	c.node()
	c.master = c.job(0)
	for range 5 {
		c.ends(c.submit(nil), wire.AppFinished)
	}
	c.until("all five count", func() bool {
		_, v := c.rest("GET", "/metrics", "")
		return at(v, "clusterMetrics.appsSubmitted") == 5.0 && at(v, "clusterMetrics.appsCompleted") == 5.0
	})
	_, _, text := c.get("/jmx?qry=Hadoop:service=ResourceManager,name=QueueMetrics*", "")
	if !strings.Contains(text, `"AppsSubmitted":5`) || !strings.Contains(text, `"AppsCompleted":5`) {
		t.Errorf("JMX says %s", text)
	}
	for _, queue := range []string{"root", "default"} { // yarn top shows these
		q := invoke[wire.QueueResponse](c, c.client, "getQueueInfo", &wire.QueueRequest{Name: queue}).Queue
		if s := q.Statistics; s.Submitted != 5 || s.Completed != 5 || s.Running+s.Pending+s.Failed+s.Killed != 0 {
			t.Errorf("queue %s: %+v", queue, s)
		}
	}
}

// A body takes a bounded multiple of its length while it is decoded: its lists are bounded. The longest list that is
// decoded has an element of 3 bytes for each comma, and takes less than 1 KiB for it with what is freed meanwhile.
func TestRESTBodyTakesLittle(t *testing.T) {
	f := newFleet(t, 1)
	h := restHandler(f.f, nil)
	for elements, want := range map[int]string{
		mostSubmission/3 - 100: "commas, and may have", mostCommas + 1: "application id",
	} {
		text := `{"am-container-spec":{"local-resources":{"entry":[` + strings.Repeat("{},", elements-1) + `{}]}}}`
		r := httptest.NewRequest(http.MethodPost, "/ws/v1/cluster/apps?user.name=ana", strings.NewReader(text))
		r.Header.Set("Content-Type", "application/json")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		runtime.ReadMemStats(&after)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%d elements: status %d: %s, want %q", elements, w.Code, w.Body, want)
		}
		took := (after.TotalAlloc - before.TotalAlloc) >> 20
		t.Logf("%d elements: %d MiB were allocated", elements, took)
		if took > 64 {
			t.Errorf("%d elements: %d MiB were allocated", elements, took)
		}
	}
}

// unreadBody is a body that nothing reads.
type unreadBody struct{ t *testing.T }

func (b unreadBody) Read([]byte) (int, error) {
	b.t.Error("the body was read")
	return 0, io.EOF
}

// A request that names no user is refused before its body is read.
func TestRESTBodyOfNoUserIsNotRead(t *testing.T) {
	h := restHandler(newFleet(t, 1).f, nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/ws/v1/cluster/apps", unreadBody{t}))
	if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "default static user") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// A body must be JSON by its Content-Type. The types that a browser sends for a page of another site, without asking
// this server first, are refused, and change nothing.
func TestRESTBodyMustBeJSON(t *testing.T) {
	f := newFleet(t, 1)
	h := restHandler(f.f, nil)
	for kind, want := range map[string]int{
		"": 415, "text/plain": 415, "text/plain; application/json": 415, "application/x-www-form-urlencoded": 415,
		"multipart/form-data; boundary=application/json": 415, "application/xml": 415, "application/jsonp": 415,
		"application/json": 200, "Application/JSON; charset=UTF-8": 200, "application/json;": 200,
	} {
		app := f.submitOne(true)
		for _, length := range []int64{17, -1} { // -1: chunked
			r := httptest.NewRequest(http.MethodPut, "/ws/v1/cluster/apps/"+app.id.String()+"/state?user.name=user",
				strings.NewReader(`{"state":"KILLED"}`))
			r.ContentLength = length
			r.Header.Set("Content-Type", kind)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != want || app.over != (want == 200) ||
				want == 415 && !strings.Contains(w.Body.String(), "must be application/json, not") {
				t.Errorf("%q: status %d, want %d: %s", kind, w.Code, want, w.Body)
			}
		}
	}
}

// Lists come in three forms, and an object within an object is none of them: a body could nest ten thousand, and each
// would be read once for every one around it.
func TestRESTLists(t *testing.T) {
	for text, want := range map[string]string{`["a","b"]`: "a b", `"a"`: "a", `{"tag":["a","b"]}`: "a b",
		`{"tag":"a"}`: "a", `{"tag":{"tag":"a"}}`: "", `{"tag":[["a"]]}`: "", `3`: ""} {
		var list listOf[string]
		if err := json.Unmarshal([]byte(text), &list); strings.Join(list, " ") != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v, want %q", text, list, err, want)
		}
	}
}

// blocked keeps values only when it is let to.
type blocked struct{ let chan bool }

func (k blocked) Commit(map[string][]byte) error { <-k.let; return nil }
func (k blocked) Close() error                   { return nil }

// A change by REST is answered when it is stored. While that cannot be done, as on a full disk, other callers are
// answered, by REST and by RPC.
func TestChangeThatIsNotStoredHoldsUpNoReply(t *testing.T) {
	c := start(t, nil)
	k := blocked{make(chan bool)}
	var ids []wire.ApplicationID
	for range cap(c.rm.front.making) {
		ids = append(ids, c.submit(nil))
	}
	c.look(func(m *manager) { keepIn(t, m, k) })
	var changes sync.WaitGroup
	for _, id := range ids {
		changes.Go(func() {
			if status, _ := c.rest("PUT", "/apps/"+id.String()+"/state?user.name=alice",
				`{"state":"KILLED"}`); status != http.StatusOK {
				t.Errorf("killed: status %d", status)
			}
		})
	}
	c.until("all are killed", func() bool {
		over := 0
		c.look(func(m *manager) { over = m.apps.gone })
		return over == len(ids)
	})
	if status, v := c.rest("GET", "/apps?states=KILLED", ""); status != http.StatusOK || at(v, "apps.app.id") == nil {
		t.Errorf("a list: status %d, %v", status, v)
	}
	if r := invoke[wire.ApplicationsResponse](c, c.as("bo"), "getApplications",
		&wire.ApplicationsRequest{}); len(r.Reports) != len(ids) {
		t.Errorf("a list by RPC has %d applications", len(r.Reports))
	}
	close(k.let)
	changes.Wait()
}

// A list that is chosen by type YARN has the applications that were submitted without one, which are told of as that.
func TestTypeOfApplications(t *testing.T) {
	c := start(t, nil)
	id := c.submit(func(s *wire.Submission) { s.Type = "" })
	for kind, want := range map[string]int{"yarn": 1, "SPARK": 0} {
		r := invoke[wire.ApplicationsResponse](c, c.client, "getApplications",
			&wire.ApplicationsRequest{Types: []string{kind}})
		if len(r.Reports) != want || want > 0 && r.Reports[0].Type != "YARN" {
			t.Errorf("of type %s: %+v", kind, r.Reports)
		}
		_, v := c.rest("GET", "/appstatistics?states=ACCEPTED&applicationTypes="+kind, "")
		if n := at(v, "appStatInfo.statItem.count"); n != float64(want) {
			t.Errorf("%s are counted as %v, want %d", kind, n, want)
		}
	}
	invoke[wire.KillResponse](c, c.client, "forceKillApplication", &wire.KillRequest{ID: id})
}

// States are asked for as in Hadoop: applications and statistics take the parameter several times.
func TestRESTStatesSeveralTimes(t *testing.T) {
	c := start(t, nil)
	id := c.submit(nil)
	for query, want := range map[string]bool{
		"states=FINISHED&states=accepted": true, "states=ACCEPTED&states=FINISHED": true,
		"states=FINISHED,FAILED&states=KILLED": false, "states=FINISHED&state=ACCEPTED": true,
	} {
		if _, v := c.rest("GET", "/apps?"+query, ""); (at(v, "apps.app.id") == id.String()) != want {
			t.Errorf("%s: found %v, want %v", query, at(v, "apps.app.id"), want)
		}
	}
	_, v := c.rest("GET", "/appstatistics?states=FINISHED&states=ACCEPTED,finished", "")
	if text := fmt.Sprint(at(v, "appStatInfo")); strings.Count(text, "state:") != 2 ||
		!strings.Contains(text, "count:1 state:ACCEPTED") || !strings.Contains(text, "count:0 state:FINISHED") {
		t.Errorf("statistics: %s", text)
	}
	for _, path := range []string{"/apps", "/appstatistics"} {
		if status, _ := c.rest("GET", path+"?states=ACCEPTED&states=HAPPY", ""); status != http.StatusBadRequest {
			t.Errorf("%s by a state that there is not: status %d", path, status)
		}
	}
}

// What may be seen by administrators only where the files say so: configuration and figures.
func TestInstrumentation(t *testing.T) {
	for lines, closed := range map[string]bool{
		"hadoop.security.instrumentation.requires.admin=true\nhadoop.security.authorization=true": true,
		"hadoop.security.instrumentation.requires.admin=true":                                     false,
		"hadoop.security.authorization=true":                                                      false,
	} {
		said, _, err := Site(site(t, lines))
		if err != nil {
			t.Fatal(err)
		}
		c := start(t, func(config *Config) { config.Shown.AdminsOnly = said.Shown.AdminsOnly })
		for path, open := range map[string]bool{"/conf": !closed, "/jmx?user.name=ana": !closed,
			"/conf?user.name=root": true, "/jmx?user.name=root": true, "/isActive": true} {
			if status, _, text := c.get(path, ""); (status == http.StatusOK) != open ||
				!open && !strings.Contains(text, " is unauthorized to access this page.") {
				t.Errorf("%s: %s is answered by %d: %s", lines, path, status, text)
			}
		}
		c.stop()
	}
}

// The part of a local resource's URL before the @, which is a container of abfs, stays.
func TestFilesKeepUserInfo(t *testing.T) {
	for resource, want := range map[string]string{"abfs://fs@acct.example.net/a.jar": "*\x02fs",
		"wasb://fs:p%40x@acct.example.net/a.jar": "*\x06fs:p@x", "hdfs://nn:9000/a.jar": ""} {
		i := launchInfo{}
		i.Files.Entry = listOf[entryOf[fileInfo]]{{Key: "x", Value: fileInfo{Resource: resource, Type: "FILE",
			Visibility: "PUBLIC"}}}
		c, err := i.context()
		if err != nil {
			t.Fatal(err)
		}
		text := string(proto.Append(nil, c))
		if had := strings.Contains(text, "/a.jar"+want); !had || want == "" && strings.Contains(text, "*") {
			t.Errorf("%s: %q, want %q behind the path", resource, text, want)
		}
	}
}
