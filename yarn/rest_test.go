package yarn

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/yarn/internal/wire"
)

// rest calls REST and returns the status and the answer.
func (c *cluster) rest(method, path, body string) (int, any) {
	c.t.Helper()
	q, err := http.NewRequestWithContext(c.t.Context(), method, "http://"+c.at.Web+"/ws/v1/cluster"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
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

func TestREST(t *testing.T) {
	c := start(t, nil)
	n := c.node()
	c.task = func(ctx context.Context, _ wire.ContainerID) int32 { <-ctx.Done(); return 0 }
	c.master = c.job(20)
	id := c.submit(func(s *wire.Submission) { s.Tags = []string{"nightly"} })
	c.until("7 tasks run beside the ApplicationMaster", func() bool { running, _ := n.Running(); return running == 8 })
	c.until("the ResourceManager knows", func() bool { return c.report(id).State == wire.AppRunning })
	app := "/apps/" + id.String()
	for _, q := range []struct {
		path, at string
		want     any
	}{
		{"/info", "clusterInfo.state", "STARTED"},
		{"", "clusterInfo.haState", "ACTIVE"},
		{"/metrics", "clusterMetrics.totalMB", 4096.0},
		{"/metrics", "clusterMetrics.appsRunning", 1.0},
		{"/metrics", "clusterMetrics.allocatedMB", 4096.0},
		{"/metrics", "clusterMetrics.containersPending", 13.0}, // 20 tasks, 7 run
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
		{"/scheduler", "scheduler.schedulerInfo.type", "capacityScheduler"},
		{"/scheduler", "scheduler.schedulerInfo.queues.queue.queueName", "default"},
	} {
		if status, v := c.rest("GET", q.path, ""); status != 200 || at(v, q.at) != q.want {
			t.Errorf("%s: status %d, %s is %v, want %v", q.path, status, q.at, at(v, q.at), q.want)
		}
	}
	for path, want := range map[string]int{"/apps/application_1_0001": 404, "/apps/nonsense": 400, "/nodes/h:1": 404, "/apps?states=HAPPY": 400, "/apps?limit=0": 400,
		"/apps?startedTimeEnd=soon": 400} {
		if status, v := c.rest("GET", path, ""); status != want || at(v, "RemoteException.message") == nil {
			t.Errorf("%s: status %d, want %d: %v", path, status, want, v)
		}
	}
	kill := `{"state":"KILLED"}`
	for _, q := range []struct {
		path, body string
		want       int
	}{
		{"/state", kill, 403}, {"/state?user.name=mallory", kill, 403}, {"/state?user.name=alice", `{"state":"RUNNING"}`, 400}, {"/state?user.name=alice", "", 400},
		{"/state?user.name=alice", kill, 200},
	} {
		if status, v := c.rest("PUT", app+q.path, q.body); status != q.want {
			t.Errorf("PUT %s %s: status %d, want %d: %v", q.path, q.body, status, q.want, v)
		}
	}
	c.ends(id, wire.AppKilled)
	c.clean(id)
	if _, v := c.rest("GET", app, ""); at(v, "app.finalStatus") != "KILLED" || at(v, "app.runningContainers") != -1.0 {
		t.Errorf("after the end: %v", v)
	}
}
