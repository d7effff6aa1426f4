package yarn

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// The main classes of commands that look at a cluster and administer it.
const (
	topCLI   = "org.apache.hadoop.yarn.client.cli.TopCLI"
	adminCLI = "org.apache.hadoop.yarn.client.cli.RMAdminCLI"
)

// TestStockCommands has the commands of users and operators change an application that runs, and the cluster.
func TestStockCommands(t *testing.T) {
	whole(t)
	s := newStock(t)
	s.more = map[string]string{"yarn.cluster.max-application-priority": "9"}
	s.choosePorts()
	queues := map[string]string{
		"yarn.scheduler.capacity.root.queues":                 "default,other",
		"yarn.scheduler.capacity.root.default.capacity":       "60",
		"yarn.scheduler.capacity.root.other.capacity":         "40",
		"yarn.scheduler.capacity.maximum-am-resource-percent": "0.5",
	}
	s.writeXML(s.dir+"/conf/capacity-scheduler.xml", queues)
	s.serveVerb("capacity")
	s.addNodes(1)
	s.part("of users", func(s *stock) {
		r, wait := s.endless()
		id := r.ID.String()
		s.top(id)
		for _, args := range [][]string{
			{"-appId", id, "-updatePriority", "5"}, {"-appId", id, "-changeQueue", "other"},
			{"-appId", id, "-updateLifetime", "3600"},
		} {
			s.run(append([]string{applicationCLI, "application"}, args...)...)
		}
		now := s.newest()
		if now.Priority != 5 || now.Queue != "root.other" || now.Lifetime.Left < 3000 || now.Lifetime.Left > 3600 {
			s.t.Errorf("after the changes: %+v", now)
		}
		for _, args := range [][]string{
			{nodeCLI, "-list", "-all"}, {queueCLI, "-status", "other"}, {applicationCLI, "application", "-list"},
		} {
			want := map[string]string{nodeCLI: "RUNNING", queueCLI: "Capacity : 40.00%", applicationCLI: "root.other"}
			if out := s.run(args...); !strings.Contains(out, want[args[0]]) {
				s.t.Errorf("%v said:\n%s", args, out)
			}
		}
		s.run(applicationCLI, "application", "-kill", id)
		wait()
	})
	s.part("of operators", func(s *stock) {
		queues["yarn.scheduler.capacity.root.default.capacity"] = "55"
		queues["yarn.scheduler.capacity.root.other.capacity"] = "45"
		s.writeXML(s.dir+"/conf/capacity-scheduler.xml", queues)
		for _, args := range [][]string{
			{"-refreshQueues"}, {"-refreshNodes"}, {"-refreshSuperUserGroupsConfiguration"},
			{"-refreshUserToGroupsMappings"}, {"-refreshAdminAcls"}, {"-refreshClusterMaxPriority"},
			{"-refreshNodesResources"}, {"-updateNodeResource", s.onlyNode(), "2048", "3"},
		} {
			s.run(append([]string{adminCLI}, args...)...)
		}
		if out := s.run(adminCLI, "-getGroups", "root"); !strings.Contains(out, "root : root") {
			s.t.Errorf("the groups of root: %s", out)
		}
		if out := s.run(queueCLI, "-status", "other"); !strings.Contains(out, "Capacity : 45.00%") {
			s.t.Errorf("after -refreshQueues:\n%s", out)
		}
		var r wire.NodesResponse
		if err := s.call("getClusterNodes", &wire.NodesRequest{}, &r); err != nil || len(r.Reports) != 1 ||
			r.Reports[0].Capacity.Memory != 2048 || r.Reports[0].Capacity.VCores != 3 {
			s.t.Errorf("after -updateNodeResource: %v, %+v", err, r.Reports)
		}
	})
	s.part("of monitoring programs", func(s *stock) {
		if v := s.page("/conf?format=json&name=yarn.cluster.max-application-priority"); at(v, "property.value") != "9" {
			s.t.Errorf("/conf: %v", v)
		}
		v := s.page("/jmx?qry=Hadoop:service=ResourceManager,name=ClusterMetrics")
		if at(v, "beans.NumActiveNMs") != 1.0 {
			s.t.Errorf("/jmx: %v", v)
		}
		if v := s.page("/ws/v1/cluster/userinfo?user.name=ana"); at(v, "requestedUser") != "ana" {
			s.t.Errorf("/userinfo: %v", v)
		}
	})
}

// top looks at the cluster with `yarn top` on a terminal, until that shows an application that runs.
func (s *stock) top(id string) {
	s.t.Helper()
	if _, err := exec.LookPath("script"); err != nil {
		s.t.Log("yarn top is left out: script, which makes a terminal, is missing")
		return
	}
	top := s.java(context.Background(), s.dir+"/conf", "256m", topCLI, "-rows", "40", "-cols", "150", "-delay", "1")
	line := "exec " + strings.Join(top.Args, " ")
	d := s.start("top", s.command(context.Background(), s.dir+"/conf", "script", "-qec", line, "/dev/null"))
	number := strings.TrimPrefix(id, "application_")
	s.until("yarn top shows the application", 2*time.Minute, func() bool {
		said := d.said()
		return strings.Contains(said, number) && strings.Contains(said, "Queue(s) Applications: 1 running")
	})
	d.stop() // script ends what runs on its terminal, which is no part of its process group
	if said := d.said(); !strings.Contains(said, "NodeManager(s): 1 total, 1 active") {
		s.t.Errorf("yarn top said:\n%.3000s", said)
	}
}
