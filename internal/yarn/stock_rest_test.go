package yarn

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/peer"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// TestStockREST brings Hadoop's ResourceManager, then `sojourn rm` on the same configuration and ports, into the same
// states, by NodeManagers and ApplicationMasters of package peer. In each state both are asked for the same pages, in
// JSON and in XML. Status, members, their kinds and their values must be equal, but for times and for what
// testdata/rest-differs.txt lists with a reason.
func TestStockREST(t *testing.T) {
	whole(t)
	s := newStock(t)
	s.more = map[string]string{
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "100",
		"yarn.nm.liveness-monitor.expiry-interval-ms":             "3000",
		"yarn.resourcemanager.max-completed-applications":         "3",
		"yarn.resourcemanager.am.max-attempts":                    "1",
		"yarn.log-aggregation-enable":                             "true",
		"yarn.cluster.max-application-priority":                   "9",
	}
	s.choosePorts()
	const dominant = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
	s.writeXML(s.dir+"/conf/capacity-scheduler.xml", map[string]string{
		"yarn.scheduler.capacity.resource-calculator":              dominant,
		"yarn.scheduler.capacity.root.queues":                      "default,etl",
		"yarn.scheduler.capacity.root.default.capacity":            "30",
		"yarn.scheduler.capacity.root.default.maximum-capacity":    "30",
		"yarn.scheduler.capacity.root.etl.capacity":                "70",
		"yarn.scheduler.capacity.root.etl.maximum-capacity":        "80",
		"yarn.scheduler.capacity.root.etl.queues":                  "day,night",
		"yarn.scheduler.capacity.root.etl.day.capacity":            "10",
		"yarn.scheduler.capacity.root.etl.day.state":               "STOPPED",
		"yarn.scheduler.capacity.root.etl.night.capacity":          "90",
		"yarn.scheduler.capacity.maximum-am-resource-percent":      "0.1",
		"yarn.scheduler.capacity.root.acl_administer_queue":        "max",
		"yarn.scheduler.capacity.root.acl_submit_applications":     " ",
		"yarn.scheduler.capacity.root.etl.acl_administer_queue":    "lee",
		"yarn.scheduler.capacity.root.etl.acl_submit_applications": "ana",
	})
	hadoop := s.serveJava()
	want := s.restStates("Hadoop")
	hadoop.kill()
	if len(want) == 0 {
		t.FailNow()
	}
	sojourn := s.serveVerb("capacity")
	got := s.restStates("Sojourn")
	sojourn.kill()
	if len(want) == 0 || len(got) == 0 {
		t.Fatal("not both ran")
	}
	t.Run("compared", func(t *testing.T) {
		rules := readMeant(t)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			for _, line := range differences(want[name], got[name]) {
				line = name + " " + line
				i := slices.IndexFunc(rules, func(m meant) bool { return m.pattern.MatchString(line) })
				if i < 0 {
					t.Error(line)
				} else {
					rules[i].used = true
				}
			}
		}
		for _, m := range rules {
			if !m.used {
				t.Logf("nothing differs by %s (%s)", m.pattern, m.reason)
			}
		}
	})
}

// A meant is a difference that is meant, by a pattern of state, page, member and values.
type meant struct {
	reason  string
	pattern *regexp.Regexp
	used    bool
}

// readMeant reads the differences that are meant.
func readMeant(t *testing.T) (list []meant) {
	t.Helper()
	text, err := os.ReadFile("testdata/rest-differs.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if reason, pattern, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			list = append(list, meant{reason: reason, pattern: regexp.MustCompile(pattern)})
		}
	}
	return list
}

// A shown is what a page says: its status, and its values by their paths.
type shown map[string]string

// differences lists the values in which two pages differ.
func differences(want, got shown) (list []string) {
	paths := maps.Clone(want)
	maps.Copy(paths, got)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if w, g := want[path], got[path]; w != g && !near(w, g) {
			list = append(list, fmt.Sprintf("%s: Hadoop %s, Sojourn %s", path, said(want, path), said(got, path)))
		}
	}
	return list
}

// near reports whether two numbers with a point differ by rounding: Hadoop's shares are of amounts that it has rounded.
func near(a, b string) bool {
	a, b = strings.Trim(a, `"`), strings.Trim(b, `"`)
	x, wrong := strconv.ParseFloat(a, 64)
	y, odd := strconv.ParseFloat(b, 64)
	return strings.Contains(a+b, ".") && wrong == nil && odd == nil && math.Abs(x-y) <= 1e-3*math.Abs(x)
}

func said(t shown, path string) string {
	if v, ok := t[path]; ok {
		return v
	}
	return "nothing"
}

// An actor is an ApplicationMaster that does what the test has it do.
type actor struct {
	*peer.Master
	id  wire.ContainerID
	end chan int32 // the exit status
}

// A play brings a ResourceManager into states, and asks for pages in each.
type play struct {
	*cluster
	s      *stock
	actors chan actor
	tasks  chan struct{} // closed: tasks end
	names  []string      // of what differs from run to run, and what stands for each, in turn
	pages  map[string]shown

	masterSize int64 // of ApplicationMasters
}

// restStates goes through the states, and returns what pages said in each.
func (s *stock) restStates(name string) map[string]shown {
	p := &play{s: s, actors: make(chan actor, 8), pages: map[string]shown{}}
	s.t.Run(name, func(t *testing.T) {
		part := s.on(t)
		p.cluster = &cluster{t: t, at: s.at}
		p.client = p.as("alice")
		p.tasks = make(chan struct{})
		p.task = func(ctx context.Context, _ wire.ContainerID) int32 {
			select {
			case <-ctx.Done():
				return 143
			case <-p.tasks:
				return 0
			}
		}
		p.master = func(ctx context.Context, m *peer.Master, id wire.ContainerID) int32 {
			a := actor{m, id, make(chan int32)}
			p.actors <- a
			defer m.Close()
			select {
			case <-ctx.Done():
				return 143
			case exit := <-a.end:
				return exit
			}
		}
		t.Cleanup(func() {
			for _, n := range p.nodes {
				n.Crash()
			}
		})
		p.s = part
		p.play()
	})
	return p.pages
}

// play goes through the states.
func (p *play) play() {
	const k = 1 << 10
	p.masterSize = 512
	_, port, _ := net.SplitHostPort(p.s.at.Web)
	p.names = []string{p.s.at.Web, "WEB", "localhost:" + port, "WEB"}
	p.ask("nothing", "", "/info", "/metrics", "/scheduler", "/nodes", "/apps", "/appstatistics",
		"/apps/application_1_0001", "/apps/nonsense", "/apps/application_1_0001/state", "/nodes/h:1", "/nodes/nonsense",
		"/nodes?states=GLAD", "/nodes?states=running,LOST", "/apps?states=GLAD", "/apps?state=glad",
		"/apps?finalStatus=GLAD", "/apps?queue=none", "/apps?limit=0", "/apps?limit=x", "/apps?startedTimeBegin=soon",
		"/apps?startedTimeBegin=-1", "/apps?startedTimeBegin=2&startedTimeEnd=1", "/appstatistics?states=GLAD",
		"/appstatistics?applicationTypes=a,b", "/appstatistics?states=running&applicationTypes=Tez",
		"/apps/application_1_0001/appattempts", "/apps/application_1_0001/appattempts/appattempt_1_0001_000001",
		"/apps/application_1_0001/timeouts", "/apps/application_1_0001/priority", "/apps/application_1_0001/queue",
		"/scheduler/activities", "beside:/isActive",
		"beside:/conf?name=yarn.resourcemanager.am.max-attempts", "beside:/conf?name=none",
		"/scheduler-conf", "/userinfo", "/userinfo?user.name=ana", "/nonsense",
		"/queues/root.etl/access?user.name=lee&user=ana", "/queues/root.etl.day/access?user.name=max&user=ana",
		"/queues/root.etl/access?user.name=lee&user=lee&queue-acl-type=SUBMIT_APPLICATIONS",
		"/queues/etl/access?user.name=max&user=lee&queue-acl-type=ADMINISTER_QUEUE",
		"/queues/root.etl.none/access?user.name=lee&user=ana", "/queues/none/access?user.name=max&user=ana",
		"/queues/day/access?user.name=lee&user=bo", "/queues/root/access?user.name=max&user=ana",
		"/queues/root.default/access?user.name=lee&user=ana", "/queues/root.etl/access?user=ana",
		"/queues/root.etl/access?user.name=lee", "/queues/root.etl/access?user.name=lee&user=ana&queue-acl-type=x",
		"/queues/root.etl/access?user.name=lee&user=ana&queue-acl-type=")
	first := p.app("night", "first")
	p.settle()
	p.ask("an application without nodes", first, "/apps", "/apps/APP", "/metrics", "/scheduler", "/appstatistics",
		"/apps/APP/appattempts", "/apps/APP/appattempts/ATTEMPT", "/apps/APP/appattempts/ATTEMPT/containers",
		"/apps/APP/state", "/apps/APP/queue", "/apps/APP/priority", "/apps/APP/timeouts", "/apps/APP/timeouts/LIFETIME",
		"/apps/APP/timeouts/NAP")
	p.join("127.0.0.1")
	master := p.actor(first)
	p.settle()
	attempt := []string{"/apps/APP", "/apps/APP/appattempts", "/apps/APP/appattempts/ATTEMPT",
		"/apps/APP/appattempts/ATTEMPT/containers", "/apps/APP/appattempts/ATTEMPT/containers/MASTER"}
	p.ask("an ApplicationMaster that has not registered", first, append(attempt, "/nodes", "/scheduler", "/metrics")...)
	if _, err := master.Register(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	p.grant(master, 3, wire.Resource{Memory: k, VCores: 1})
	p.settle()
	p.ask("three containers", first, append(attempt, "/nodes", "/nodes/NODE", "/nodes?states=LOST", "/scheduler",
		"/metrics", "/apps", "/apps?states=running", "/apps?queue=night", "/apps?queue=root.etl.night",
		"/apps?user=alice&applicationTypes=mapreduce&applicationTags=nightly", "/apps?finalStatus=SUCCEEDED",
		"/appstatistics", "/apps/APP/state", "/apps/APP/queue", "/apps/APP/appattempts/nonsense",
		"/apps/APP/appattempts/ATTEMPT2", "/apps/APP/appattempts/ATTEMPT/containers/MASTER9",
		"/apps/APP/appattempts/ATTEMPT/containers/nonsense")...)
	p.want(master, 4, "h9", wire.Resource{Memory: k, VCores: 1}) // on a host that is not there
	p.masterSize = 3 * k
	second := p.app("night", "second") // whose master has no room among masters, and is too large for queue default
	p.settle()
	p.ask("one waits", second, "/apps", "/apps/APP", "/apps/APP/appattempts", "/scheduler", "/metrics")
	for _, q := range [][3]string{
		{"PUT", "/apps/APP/priority?user.name=alice", `{"priority":7}`},
		{"PUT", "/apps/APP/priority?user.name=alice", `{"priority":"x"}`},
		{"PUT", "/apps/APP/priority?user.name=alice", `{"priority":99}`},
		{"PUT", "/apps/APP/queue?user.name=alice", `{"queue":"none"}`},
		{"PUT", "/apps/APP/queue?user.name=alice", `{"queue":"default"}`},
		{"PUT", "/apps/APP/state?user.name=alice", `{"state":"RUNNING"}`},
		{"PUT", "/apps/APP/state?user.name=alice", ``},
		{"PUT", "/apps/APP/timeout?user.name=alice", `{"timeout":{"type":"NAP","expiryTime":"x"}}`},
		{"PUT", "/apps/APP/timeout?user.name=alice", `{"timeout":{"type":"LIFETIME","expiryTime":"x"}}`},
		{"PUT", "/apps/APP/timeout?user.name=alice",
			`{"timeout":{"type":"LIFETIME","expiryTime":"2999-01-01T00:00:00.000+0000"}}`},
		{"GET", "/apps/APP/timeouts", ""},
		{"POST", "/apps/new-application?user.name=alice", ""},
		{"POST", "/apps?user.name=alice", `{"application-id":"application_1_x"}`},
		{"PUT", "/apps/application_1_0001/state?user.name=alice", `{"state":"KILLED"}`},
		{"PUT", "/apps/APP/state?user.name=alice", `{"state":"KILLED"}`},
	} {
		p.ask("changes", second, q[0]+" "+q[1]+" "+q[2])
	}
	p.until("the second is killed", func() bool {
		id, _ := wire.ParseApplicationID(second)
		return p.report(id).State == wire.AppKilled
	})
	p.ask("one is killed", second, `PUT /apps/APP/state {"state":"KILLED"}`,
		`PUT /apps/APP/state?user.name=alice {"state":"KILLED"}`,
		`PUT /apps/APP/queue?user.name=alice {"queue":"default"}`,
		"/apps/APP", "/apps/APP/state", "/apps/APP/appattempts")
	p.want(master, 0, "h9", wire.Resource{Memory: k, VCores: 1})
	p.ask("one runs again", first, "/scheduler", "/metrics", "/apps/APP")
	close(p.tasks)
	go master.Finish(p.t.Context(), wire.Succeeded)
	time.Sleep(time.Second)
	master.end <- 0
	p.ends(first, wire.AppFinished)
	p.settle()
	p.ask("one has ended", first, append(attempt, "/nodes", "/scheduler", "/metrics", "/apps",
		"/apps?finalStatus=SUCCEEDED", "/appstatistics", "/apps/APP/state")...)
	p.masterSize = 512
	third := p.app("default", "third")
	p.actor(third).end <- 7
	p.ends(third, wire.AppFailed)
	p.settle()
	p.ask("one has failed", third, "/apps/APP", "/apps/APP/appattempts", "/metrics", "/appstatistics")
	fourth := p.app("default", "fourth")
	a := p.actor(fourth)
	if _, err := a.Register(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	go a.Finish(p.t.Context(), wire.Failed)
	time.Sleep(time.Second)
	a.end <- 0
	p.ends(fourth, wire.AppFinished)
	p.settle()
	p.ask("one says that it failed, and the oldest is forgotten", fourth, "/apps/APP", "/metrics", "/apps",
		"/appstatistics", "/scheduler")
	p.join("localhost")
	p.nodes[0].SetHealthy(false)
	p.nodes[1].Crash()
	p.until("one node is unhealthy and one is lost", func() bool {
		m := invoke[wire.ClusterMetrics](p.cluster, p.client, "getClusterMetrics", &wire.Empty{})
		return m.Unhealthy == 1 && m.Lost == 1
	})
	for _, body := range []string{submission("none", 512), submission("default", 999_999), submission("day", 512)} {
		p.ask("queues that there are not, or that are stopped", fourth, "POST /apps?user.name=alice "+body)
	}
	p.ask("nodes are unhealthy and lost", fourth, "POST /apps/new-application ",
		"/nodes", "/nodes?states=LOST", "/nodes?states=UNHEALTHY", "/nodes/NODE",
		"/metrics", "/scheduler")
}

// join adds a node of 8 GiB and 16 cores.
func (p *play) join(host string) {
	p.t.Helper()
	config := p.nodeConfig()
	config.Host, config.Resource = host, wire.Resource{Memory: 8 << 10, VCores: 16}
	config.Use = &wire.Use{Memory: 100, Virtual: 200, Cores: 0.5}
	n, err := peer.StartNode(config)
	if err != nil {
		p.t.Fatal(err)
	}
	p.nodes = append(p.nodes, n)
	p.names = append(p.names, n.ID().String(), fmt.Sprint("NODE", len(p.nodes)))
}

// submission is an application for a queue, by REST, whose id is the one that was given by REST.
func submission(queue string, memory int) string {
	return fmt.Sprintf(`{"application-id":"APP3","application-name":"by REST","queue":%q,"application-type":"YARN",`+
		`"resource":{"memory":%d,"vCores":1},"am-container-spec":{"commands":{"command":"true"}}}`, queue, memory)
}

// settle waits until all have heard of all.
func (p *play) settle() { time.Sleep(time.Second) }

// app submits an application to a queue, and waits until its attempt is with the scheduler: until then Hadoop's
// reports say that -1 containers are used.
func (p *play) app(queue, name string) string {
	p.t.Helper()
	id := p.submit(func(s *wire.Submission) {
		s.Queue, s.Name, s.Tags, s.Resource.Memory = queue, name, []string{"nightly"}, p.masterSize
	})
	p.until("the attempt is with the scheduler", func() bool {
		r := p.report(id)
		return r.State > wire.AppAccepted || r.State == wire.AppAccepted && r.Usage.Containers >= 0
	})
	if len(p.names) == 4 {
		p.names = append(p.names, fmt.Sprint(id.Timestamp), "LIFE")
	}
	return id.String()
}

// actor returns the ApplicationMaster of an application when it has been started and the ResourceManager knows that:
// Hadoop's takes the answer of the node later than the ApplicationMaster may end.
func (p *play) actor(app string) actor {
	p.t.Helper()
	for end := time.After(time.Minute); ; {
		select {
		case a := <-p.actors:
			if a.id.Attempt.App.String() == app {
				p.until("the launch is known", func() bool { return p.report(a.id.Attempt.App).Launched > 0 })
				return a
			}
		case <-end:
			p.t.Fatalf("waited in vain: the ApplicationMaster of %s", app)
		}
	}
}

func (p *play) ends(name string, want wire.AppState) {
	p.t.Helper()
	id, err := wire.ParseApplicationID(name)
	if err != nil {
		p.t.Fatal(err)
	}
	p.cluster.ends(id, want)
}

// want has an ApplicationMaster want containers of a size on a host, or anywhere.
func (p *play) want(a actor, n int32, host string, size wire.Resource) *wire.AllocateResponse {
	p.t.Helper()
	q := &wire.AllocateRequest{Progress: 0.25}
	for _, place := range []string{host, DefaultRack, wire.Anywhere} {
		if host != wire.Anywhere || place == host {
			q.Asks = append(q.Asks, wire.ResourceRequest{Priority: 20, Place: place, Resource: size, Containers: n,
				Relax: place == host, Allocation: -1})
		}
	}
	r, err := a.Allocate(p.t.Context(), q)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// grant has an ApplicationMaster want containers until it has got and started them.
func (p *play) grant(a actor, n int, size wire.Resource) {
	p.t.Helper()
	r := p.want(a, int32(n), wire.Anywhere, size)
	for got := 0; ; {
		for i := range r.Allocated {
			if err := a.Start(p.t.Context(), &r.Allocated[i]); err != nil {
				p.t.Fatal(err)
			}
			got++
		}
		if got == n {
			return
		}
		time.Sleep(50 * time.Millisecond)
		var err error
		if r, err = a.Allocate(p.t.Context(), &wire.AllocateRequest{Progress: 0.25}); err != nil {
			p.t.Fatal(err)
		}
	}
}

// ask asks for pages in a state. In their paths, APP, ATTEMPT, MASTER and NODE stand for ids: of an application, of
// its first attempt, of that one's container, and of the first node. A page may begin with a method, and end with a
// body.
func (p *play) ask(state, app string, pages ...string) {
	p.t.Helper()
	number := strings.TrimPrefix(app, "application_")
	node := ""
	if len(p.nodes) > 0 {
		node = p.nodes[0].ID().String()
	}
	life, _, _ := strings.Cut(number, "_")
	fill := strings.NewReplacer("APP3", "application_"+life+"_0003", "APP", app,
		"ATTEMPT2", "appattempt_"+number+"_000002",
		"ATTEMPT", "appattempt_"+number+"_000001", "MASTER9", "container_"+number+"_01_000009",
		"MASTER", "container_"+number+"_01_000001", "NODE", node)
	for _, page := range pages {
		method, path, body := "GET", page, ""
		if !strings.HasPrefix(page, "/") && !strings.HasPrefix(page, "beside:") {
			parts := strings.SplitN(page, " ", 3)
			method, path, body = parts[0], parts[1], parts[2]
		}
		for _, kind := range []string{"json", "xml"} {
			if method != "GET" && kind == "xml" {
				continue // once
			}
			p.pages[state+", "+page+", "+kind] = p.fetch(method, fill.Replace(path), fill.Replace(body), kind)
		}
	}
}

// fetch asks for a page, and returns what it says.
func (p *play) fetch(method, path, body, kind string) shown {
	p.t.Helper()
	path, beside := strings.CutPrefix(path, "beside:")
	if !beside {
		path = "/ws/v1/cluster" + path
	}
	q, err := http.NewRequestWithContext(p.t.Context(), method, "http://"+p.at.Web+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	q.Header.Set("Accept", "application/"+kind)
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	r, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		p.t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	t := shown{"status": fmt.Sprint(r.StatusCode)}
	if at := r.Header.Get("Location"); at != "" {
		t["location"] = p.name(at)
	}
	if len(text) == 0 {
		return t
	}
	t["kind"] = strings.ToLower(strings.ReplaceAll(r.Header.Get("Content-Type"), " ", ""))
	if strings.HasPrefix(t["kind"], "application/json") {
		var v any
		if json.Unmarshal(text, &v) == nil {
			p.flatten(t, "", v)
			return t
		}
	}
	if strings.HasPrefix(t["kind"], "application/xml") {
		var root element
		if xml.Unmarshal(text, &root) == nil {
			p.elements(t, root.XMLName.Local, &root)
			return t
		}
	}
	t["text"] = p.name(string(text))
	return t
}

// flatten takes the values of an object in. Lists of named objects are ordered by name.
func (p *play) flatten(t shown, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			t[path] = "{}"
		}
		for name, one := range v {
			p.flatten(t, strings.TrimPrefix(path+"."+name, "."), one)
		}
	case []any:
		slices.SortFunc(v, func(a, b any) int { return strings.Compare(p.key(a), p.key(b)) })
		if len(v) == 0 {
			t[path] = "[]"
		}
		for i, one := range v {
			p.flatten(t, fmt.Sprintf("%s[%d]", path, i), one)
		}
	case string:
		t[path] = fmt.Sprintf("%q", p.plain(path, v))
	case float64:
		t[path] = p.plain(path, fmt.Sprint(float32(v)))
		if v > 1e12 || v == float64(int64(v)) {
			t[path] = p.plain(path, fmt.Sprintf("%.0f", v))
		}
	default:
		t[path] = fmt.Sprint(v)
	}
}

// naming are members that name an object.
var naming = []string{"id", "queueName", "containerId", "appAttemptId", "name", "state", "partitionName",
	"resourceName", "key"}

// key is what an object of a list is ordered by.
func (p *play) key(v any) string {
	o, _ := v.(map[string]any)
	for _, name := range naming {
		if text, ok := o[name].(string); ok {
			return p.name(text)
		}
	}
	return p.name(fmt.Sprint(v))
}

// An element is one of XML, with those within it.
type element struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Text    string     `xml:",chardata"`
	Within  []element  `xml:",any"`
}

// elements takes the text of elements in. Those of one name are ordered as lists are in JSON.
func (p *play) elements(t shown, path string, e *element) {
	for _, a := range e.Attrs {
		t[path+"@"+a.Name.Local] = a.Value
	}
	if len(e.Within) == 0 {
		t[path] = fmt.Sprintf("%q", p.plain(path, e.Text))
	}
	slices.SortStableFunc(e.Within, func(a, b element) int { return strings.Compare(p.keyOf(&a), p.keyOf(&b)) })
	count := map[string]int{}
	for i := range e.Within {
		one := &e.Within[i]
		name := one.XMLName.Local
		below := strings.TrimSuffix(fmt.Sprintf("%s.%s[%d]", path, name, count[name]), "[0]")
		count[name]++
		p.elements(t, strings.TrimPrefix(below, "."), one)
	}
}

// keyOf is what an element of a list is ordered by.
func (p *play) keyOf(e *element) string {
	for _, name := range naming {
		for i := range e.Within {
			if one := &e.Within[i]; one.XMLName.Local == name && len(one.Within) == 0 {
				return p.name(one.Text)
			}
		}
	}
	return ""
}

// timed are members whose values differ from run to run, and only whether they are zero counts.
var timed = regexp.MustCompile(`(?i)(started|launch|finished|elapsed|start)time$|startedOn$|clusterInfo.id$|` +
	`clusterId$|` +
	`lastHealthUpdate$|dateTime$|remainingTimeInSeconds$`)

// passing are members whose values may be zero in one run and not in another.
var passing = regexp.MustCompile(`^\w*(memory|vcore)Seconds$|\.(memory|vcore)Seconds$|` +
	`\.resourceSecondsMap.*value$|elapsedTime$`)

// plain is a value without what differs from run to run.
func (p *play) plain(path, text string) string {
	if timed.MatchString(path) && text != "0" && text != "-1" || passing.MatchString(path) {
		return "TIME"
	}
	return p.name(text)
}

// exceptions are Java's, which Hadoop puts before messages.
var exceptions = regexp.MustCompile(`^(java|org\.apache)\.[\w.]*Exception: `)

var dates = regexp.MustCompile(`\w{3} \w{3} \d\d \d\d:\d\d:\d\d [+A-Z0-9:]+ \d{4}`)

// name replaces names that differ from run to run.
func (p *play) name(text string) string {
	for i := 0; i+1 < len(p.names); i += 2 {
		text = strings.ReplaceAll(text, p.names[i], p.names[i+1])
	}
	return dates.ReplaceAllString(exceptions.ReplaceAllString(text, ""), "DATE")
}
