package yarn

import (
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// What nodes say of the logs of an application is summed up as Hadoop does, and forgotten with the application.
func TestLogsAreCollected(t *testing.T) {
	c := start(t, func(config *Config) {
		config.Shown.Collects = true
		config.Completed = 1
	})
	nodes := []*node{}
	for range 2 {
		n := c.node()
		c.look(func(m *manager) { nodes = append(nodes, m.nodes.byID[n.ID()]) })
	}
	over := func(id wire.ApplicationID) {
		t.Helper()
		c.ends(id, wire.AppFinished)
		c.until("the container of its master has ended", func() (over bool) {
			c.look(func(m *manager) { over = m.apps.byID[id].over })
			return over
		})
	}
	id := c.submit(nil)
	over(id)
	app := "/apps/" + id.String()
	c.look(func(m *manager) { // as if both had run something
		delete(m.apps.logs, id)
		for _, n := range nodes {
			collects(m.apps.byID[id], n)
		}
	})
	if _, v := c.rest("GET", app, ""); at(v, "app.logAggregationStatus") != "NOT_START" {
		t.Errorf("before a node has said anything: %v", at(v, "app.logAggregationStatus"))
	}
	for _, step := range []struct {
		node   int
		status wire.LogStatus
		want   string
	}{
		{0, wire.LogsRunning, "RUNNING"}, {0, 99, "RUNNING"}, {0, wire.LogsSucceeded, "RUNNING"},
		{1, wire.LogsFailing, "RUNNING_WITH_FAILURE"}, {1, wire.LogsFailed, "FAILED"},
		{1, wire.LogsTimedOut, "TIME_OUT"}, {1, wire.LogsSucceeded, "SUCCEEDED"},
	} {
		c.look(func(m *manager) {
			unknown := wire.LogReport{App: wire.ApplicationID{ID: 9}, Status: wire.LogsRunning}
			nodes[step.node].collected([]wire.LogReport{{App: id, Status: step.status}, unknown})
		})
		_, v := c.rest("GET", app, "")
		if got := at(v, "app.logAggregationStatus"); got != step.want {
			t.Errorf("node %d says %d: %v, want %s", step.node, step.status, got, step.want)
		}
		if r := c.report(id); r.Logs.String() != step.want {
			t.Errorf("node %d says %d: clients are told %s, want %s", step.node, step.status, r.Logs, step.want)
		}
	}
	c.ends(c.submit(nil), wire.AppFinished)
	c.until("the first is forgotten", func() bool {
		left := 0
		c.look(func(m *manager) { left = len(m.apps.logs) })
		return left == 1
	})
	late := c.submit(nil)
	over(late)
	c.look(func(m *manager) { m.apps.byID[late].times.finished -= 2 * collectionTimeout.Milliseconds() })
	if _, v := c.rest("GET", "/apps/"+late.String(), ""); at(v, "app.logAggregationStatus") != "TIME_OUT" {
		t.Errorf("nodes that say nothing: %v", at(v, "app.logAggregationStatus"))
	}
}
