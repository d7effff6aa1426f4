package yarn

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

const rmAdmin = "org.apache.hadoop.yarn.client.cli.RMAdminCLI"

// A turns is a cluster with two ResourceManagers that take turns.
type turns struct {
	*stock
	addresses [2]Addresses
	serving   [2]*daemon
}

// newTurns starts ZooKeeper, and writes the configuration of a cluster that has two ResourceManagers.
func newTurns(t *testing.T) *turns {
	s := &turns{stock: newStock(t)}
	zoo := s.ports.take(t)
	s.write(s.dir+"/zoo.cfg", fmt.Sprintf("tickTime=1000\ndataDir=%s/zoo\nclientPort=%s\nclientPortAddress=127.0.0.1\n"+
		"admin.enableServer=false\n", s.dir, zoo[strings.LastIndexByte(zoo, ':')+1:]))
	s.start("zookeeper", s.java(context.Background(), s.dir, "128m",
		"org.apache.zookeeper.server.ZooKeeperServerMain", s.dir+"/zoo.cfg"))
	s.at = s.ports.addresses(t)
	s.configure()
	maps.Copy(s.site, map[string]string{
		"yarn.resourcemanager.ha.enabled":                 "true",
		"yarn.resourcemanager.ha.rm-ids":                  "one,two",
		"yarn.resourcemanager.cluster-id":                 "blue",
		"yarn.client.failover-sleep-base-ms":              "300",
		"yarn.client.failover-sleep-max-ms":               "1000",
		"yarn.resourcemanager.zk-state-store.parent-path": "/rmstore",
		"hadoop.zk.address":                               zoo,
		"hadoop.zk.timeout-ms":                            "4000",
		"hadoop.zk.auth":                                  "digest:rm:secret",
	})
	for i, id := range []string{"one", "two"} {
		at := s.ports.addresses(t)
		s.addresses[i] = at
		for name, address := range map[string]string{
			"resource-tracker.address": at.Tracker, "scheduler.address": at.Master, "address": at.Client,
			"admin.address": at.Admin, "webapp.address": at.Web,
		} {
			delete(s.site, "yarn.resourcemanager."+name)
			s.site["yarn.resourcemanager."+name+"."+id] = address
		}
		delete(s.site, "yarn.resourcemanager.hostname")
		s.site["yarn.resourcemanager.hostname."+id] = "127.0.0.1"
	}
	s.writeConf("conf", nil)
	return s
}

// confOf writes the configuration of one of the two, and returns its folder.
func (s *turns) confOf(i int) (id, conf string) {
	s.t.Helper()
	id = [...]string{"one", "two"}[i]
	conf = s.writeConf("conf-rm-"+id, map[string]string{"yarn.resourcemanager.ha.id": id})
	s.writeXML(conf+"/capacity-scheduler.xml", map[string]string{
		"yarn.scheduler.capacity.root.queues":                 "default",
		"yarn.scheduler.capacity.root.default.capacity":       "100",
		"yarn.scheduler.capacity.maximum-am-resource-percent": "0.5",
	})
	return id, conf
}

// begin starts one of the two, which is a standby until it says ready.
func (s *turns) begin(i int) {
	s.t.Helper()
	id, conf := s.confOf(i)
	name := fmt.Sprintf("rm-%s-%d", id, time.Now().UnixNano())
	s.serving[i] = s.start(name, exec.Command(program(s.t), "rm", "--conf", conf, "--policy", "capacity", "-v"))
	s.until("it is a standby at least", time.Minute, func() bool {
		return strings.Contains(s.serving[i].said(), "standby\n")
	})
}

// active waits until one of the two is ready, and has the test's own calls go there.
func (s *turns) active(i int) {
	s.t.Helper()
	s.until("the ResourceManager is active", time.Minute, func() bool {
		return strings.Contains(s.serving[i].said(), "\nready\n")
	})
	s.at = s.addresses[i]
}

// goesOn waits until an application runs containers under the active one.
func (s *turns) goesOn(id wire.ApplicationID) {
	s.t.Helper()
	s.until("the job goes on", time.Minute, func() bool {
		now := s.newest()
		return now.ID == id && now.State == wire.AppRunning && now.Usage.Containers >= 2
	})
}

// TestStockFailover has stock NodeManagers, an ApplicationMaster and a client go on when the active ResourceManager is
// killed, when the next one stands still until it was replaced, and when the third is stopped as an operator does.
func TestStockFailover(t *testing.T) {
	whole(t)
	s := newTurns(t)
	s.begin(0)
	s.active(0)
	s.begin(1)
	s.addNodes(2)
	standbySends(s)
	const maps, reduces = 12, 1
	done := make(chan error, 1)
	var out string
	go func() {
		var err error
		out, err = s.try(sleepArgs(maps, reduces, 12_000)...)
		done <- err
	}()
	job := s.untilRuns(wire.ApplicationID{}, 3).ID

	s.serving[0].kill()
	began := time.Now()
	s.active(1)
	ready := time.Since(began)
	s.goesOn(job)
	t.Logf("killed: another is ready after %v, and the job runs under it after %v", ready, time.Since(began))

	s.begin(0)
	pid := s.serving[1].cmd.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	s.active(0)
	t.Logf("stands still: another is ready after %v", time.Since(began))
	// Peers wait for the answers of one that stands still, by Hadoop's default for two minutes. It ends without any.
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	s.until("the one that was replaced has ended", time.Minute, func() bool {
		return strings.Contains(s.serving[1].said(), "not active any more")
	})
	if !s.goesDown(1) {
		t.Error("the one that was replaced goes on")
	}
	s.goesOn(job)
	t.Logf("it was let go on: it has ended, and the job runs under the other, after %v", time.Since(began))

	s.begin(1)
	if err := syscall.Kill(s.serving[0].cmd.Process.Pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	s.active(1)
	s.goesOn(job)
	t.Logf("stopped: the job runs under another after %v", time.Since(began))

	if err := <-done; err != nil {
		t.Fatal(err)
	}
	s.ranOnce(out, maps, reduces)
}

// goesDown waits for the end of one of the two.
func (s *turns) goesDown(i int) bool {
	ended := make(chan error, 1)
	go func() { ended <- s.serving[i].cmd.Wait() }()
	select {
	case <-ended:
		s.serving[i].dead = true
		return true
	case <-time.After(30 * time.Second):
		return false
	}
}

// standbySends checks what Hadoop's commands and scripts read of a standby: it is one, and where the active one is.
func standbySends(s *turns) {
	s.t.Helper()
	for id, want := range map[string]string{"one": "active", "two": "standby"} {
		if said := s.run(rmAdmin, "-getServiceState", id); !strings.Contains(said, want+"\n") {
			s.t.Errorf("rmadmin says of %s: %s, want %s", id, said, want)
		}
	}
	stay := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := stay.Get("http://" + s.addresses[1].Web + "/ws/v1/cluster/apps?user=ana")
	if err != nil {
		s.t.Fatal(err)
	}
	r.Body.Close()
	want := "http://" + s.addresses[0].Web + "/ws/v1/cluster/apps?user=ana"
	if r.StatusCode != http.StatusTemporaryRedirect || r.Header.Get("Location") != want {
		s.t.Errorf("a standby sends on with %s to %q, want %q", r.Status, r.Header.Get("Location"), want)
	}
}

// What files say of several ResourceManagers is checked: each mistake is named with its property.
func TestSeveralManagers(t *testing.T) {
	good := map[string]string{
		"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "one, two",
		"yarn.resourcemanager.ha.id": "two", "yarn.resourcemanager.cluster-id": "blue",
		"hadoop.zk.address": "z1:2181, z2:2181", "hadoop.zk.auth": "digest:rm:secret",
		"yarn.resourcemanager.hostname.one": "h1", "yarn.resourcemanager.hostname.two": "h2",
		"yarn.resourcemanager.scheduler.address.one": "h1:98",
		"yarn.resourcemanager.webapp.address.one":    "h1:80", "yarn.resourcemanager.admin.address.two": "h2:99",
		"yarn.resourcemanager.recovery.enabled": "true",
	}
	read := func(name, value string) (Config, []string, error) {
		all := maps.Clone(good)
		if all[name] = value; name == "" {
			delete(all, name)
		}
		dir := t.TempDir()
		writeSite(t, dir, all)
		return Site(dir)
	}
	c, notes, err := read("", "")
	if err != nil || len(notes) > 0 {
		t.Fatalf("%v; notes %q", err, notes)
	}
	if h := c.Kept.HA; h == nil || h.ID != "two" || h.Peers["one"] != "h1:80" || h.User != "rm:secret" ||
		len(h.ZooKeeper) != 2 || h.Lock != "/yarn-leader-election/blue/ActiveStandbyElectorLock" ||
		h.State != "/rmstore/sojourn/blue" || h.Timeout != usualSession {
		t.Errorf("read %+v", h)
	}
	if a := c.Addresses; a.Tracker != "h2:8031" || a.Admin != "h2:99" || c.Web != "h2:8088" {
		t.Errorf("it listens at %+v, and its pages are at %s", a, c.Web)
	}
	// What is left over from one ResourceManager says nothing of several.
	for name, value := range map[string]string{"resource-tracker.address": "h1:9031", "webapp.address": "h1:9088",
		"hostname": "h1"} {
		c, _, err := read("yarn.resourcemanager."+name, value)
		if err != nil || c.Addresses.Tracker != "h2:8031" || c.Web != "h2:8088" || c.Kept.HA.Peers["two"] != "h2:8088" {
			t.Errorf("with %s: it listens at %+v, peers %v, %v", name, c.Addresses, c.Kept.HA.Peers, err)
		}
	}
	secret := filepath.Join(t.TempDir(), "auth")
	if err := os.WriteFile(secret, []byte("digest:other:word\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, _, err := read("hadoop.zk.auth", "@"+secret); err != nil || c.Kept.HA.User != "other:word" {
		t.Errorf("a password from a file: %v", err)
	}
	if c, _, err := read("hadoop.zk.auth", ""); err != nil || c.Check() == nil {
		t.Errorf("keys that anybody may read are kept: %v", err)
	}
	delete(good, "hadoop.zk.address")
	if _, _, err := read("", ""); err == nil || !strings.Contains(err.Error(), ": property hadoop.zk.address is not "+
		"set: must be host:port") {
		t.Errorf("without ZooKeeper: %v", err)
	}
	good["hadoop.zk.address"] = "z1:2181"
	for _, address := range []string{"z1:2181,z2:2181/yarn", "z1:0", "z1:x"} {
		_, _, err := read("hadoop.zk.address", address)
		if err == nil || !strings.Contains(err.Error(), "and no path") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, _, err := read("hadoop.zk.auth", "digest:rm:x,digest:other:y"); err == nil ||
		!strings.Contains(err.Error(), "must be one digest:USER:PASSWORD") {
		t.Errorf("two passwords: %v", err)
	}
	for name, value := range map[string]string{
		"yarn.resourcemanager.ha.rm-ids": "two", "yarn.resourcemanager.ha.id": "three",
		"yarn.resourcemanager.cluster-id": "", "hadoop.zk.address": "z1", "hadoop.zk.auth": "secret",
		"yarn.resourcemanager.ha.automatic-failover.enabled": "false", "hadoop.zk.timeout-ms": "soon",
	} {
		if _, _, err := read(name, value); err == nil {
			t.Errorf("%s = %q is accepted", name, value)
		} else if named := name; !strings.Contains(err.Error(), named) &&
			!(name == "yarn.resourcemanager.ha.id" && strings.Contains(err.Error(), "ha.rm-ids")) {
			t.Errorf("%s = %q: %v", name, value, err)
		}
	}
}
