package yarn

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// hadoopVersion is the release of stock peers: the one for which Maven Central has all of them.
const hadoopVersion = "3.4.2"

// quick are options of Java processes that live for seconds: compiled once, collected by one thread. The rest Hadoop
// needs on Java 17.
var quick = []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "--add-opens=java.base/java.lang=ALL-UNNAMED",
	"--add-exports=java.base/sun.net.dns=ALL-UNNAMED", "--add-exports=java.base/sun.net.util=ALL-UNNAMED"}

// A stock is a cluster of stock NodeManagers and clients, each a process of its own in a folder of its own, around a
// ResourceManager: of this package, in this process or as `sojourn rm`, or Hadoop's.
type stock struct {
	t     *testing.T
	jars  string
	dir   string
	at    Addresses
	rm    *ResourceManager // nil: another process
	site  map[string]string
	more  map[string]string // of the site, beyond what all clusters here have
	nodes []*daemon
	ports *ports
	asks  func(method string, q proto.Message, r proto.Decoder) error // as a client asks; nil: over the wire
}

// newStock returns a cluster without anything in it, in a folder that is removed in the end; it skips the test where
// there is no stock Hadoop.
func newStock(t *testing.T) *stock {
	t.Helper()
	jars := os.Getenv("SOJOURN_HADOOP")
	switch {
	case jars == "":
		t.Skip("SOJOURN_HADOOP names no folder of stock Hadoop's jars: make test sets it where a JDK and Maven are")
	case testing.Short():
		t.Skip("stock Hadoop takes a minute: not with -short")
	}
	return &stock{t: t, jars: jars, dir: t.TempDir(), ports: newPorts()}
}

// whole skips a test that is not for every `make test`.
func whole(t *testing.T) {
	t.Helper()
	if os.Getenv("SOJOURN_STOCK") != "all" {
		t.Skip("minutes of stock Hadoop: make test-hadoop")
	}
}

// on is the cluster as a part of the test has it.
func (s *stock) on(t *testing.T) *stock {
	part := *s
	part.t = t
	return &part
}

// part runs a part of a test, after which nothing may be left of it.
func (s *stock) part(name string, do func(*stock)) {
	s.t.Run(name, func(t *testing.T) {
		part := s.on(t)
		do(part)
		part.clean()
	})
}

// serve starts a ResourceManager in this process that serves until the test ends.
func (s *stock) serve(policyName string, change func(*Config)) {
	s.t.Helper()
	p, _, err := policy.Parse(policyName)
	if err != nil {
		s.t.Fatal(err)
	}
	logs, err := os.Create(filepath.Join(s.dir, "rm.log"))
	if err != nil {
		s.t.Fatal(err)
	}
	any := "127.0.0.1:0"
	config := Config{
		Addresses: Addresses{Tracker: any, Master: any, Client: any, Admin: any},
		Sizes:     Sizes{MinMemory: 256},
		Log:       slog.New(slog.NewTextHandler(logs, nil)),
	}
	config.Core.Policy = p
	config.Queues.Tree = []*sched.QueueSpec{
		{Name: sched.DefaultQueue, Masters: 0.5},
	} // a tenth of a few GiB is one master, and jobs are to run at once
	if change != nil {
		change(&config)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if s.rm, err = Listen(ctx, config); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.rm.Serve(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Error(err)
		}
		logs.Close()
		s.showTail("rm.log")
	})
	s.at = s.rm.Addresses()
	s.configure()
}

// serveVerb starts `sojourn rm --conf DIR` on the cluster's own configuration files, and waits until it is ready.
func (s *stock) serveVerb(policyName string, more ...string) *daemon {
	s.t.Helper()
	if s.site == nil {
		s.choosePorts()
	}
	args := append([]string{"rm", "--conf", s.dir + "/conf", "--policy", policyName, "-v"}, more...)
	rm := s.start("rm-"+policyName, exec.Command(program(s.t), args...))
	s.until("sojourn rm is ready", time.Minute, func() bool { return strings.Contains(rm.said(), "\nready\n") })
	return rm
}

// serveJava starts Hadoop's own ResourceManager on the same.
func (s *stock) serveJava() *daemon {
	s.t.Helper()
	if s.site == nil {
		s.choosePorts()
	}
	if _, err := os.Stat(s.dir + "/conf/capacity-scheduler.xml"); err != nil {
		s.writeScheduler("0.5")
	}
	rm := s.start(
		"rm-hadoop",
		s.java(
			context.Background(),
			s.dir+"/conf",
			"512m",
			"org.apache.hadoop.yarn.server.resourcemanager.ResourceManager",
		),
	)
	s.until(
		"Hadoop's ResourceManager is active",
		2*time.Minute,
		func() bool { return strings.Contains(rm.said(), "Transitioned to active state") },
	)
	return rm
}

// writeScheduler writes one queue. Masters may hold a part of it.
func (s *stock) writeScheduler(masters string) {
	s.t.Helper()
	s.writeXML(s.dir+"/conf/capacity-scheduler.xml", map[string]string{
		"yarn.scheduler.capacity.root.queues":                 "default",
		"yarn.scheduler.capacity.root.default.capacity":       "100",
		"yarn.scheduler.capacity.maximum-am-resource-percent": masters,
	})
}

// choosePorts gives the ResourceManager ports where no server listens now.
func (s *stock) choosePorts() {
	s.at = s.ports.addresses(s.t)
	s.configure()
}

// configure writes the configuration of all peers.
func (s *stock) configure() {
	local := "file:" + s.dir
	java := "-Xmx384m " + strings.Join(quick[:2], " ")
	s.site = map[string]string{
		"fs.defaultFS": "file:///", "hadoop.tmp.dir": s.dir + "/tmp",
		"yarn.resourcemanager.hostname": "127.0.0.1", "yarn.resourcemanager.connect.retry-interval.ms": "1000",
		"yarn.resourcemanager.resource-tracker.address": s.at.Tracker,
		"yarn.resourcemanager.scheduler.address":        s.at.Master,
		"yarn.resourcemanager.address":                  s.at.Client, "yarn.resourcemanager.admin.address": s.at.Admin,
		"yarn.scheduler.minimum-allocation-mb": "256",
		"yarn.nodemanager.resource.memory-mb":  "3072", "yarn.nodemanager.resource.cpu-vcores": "4",
		"yarn.nodemanager.vmem-check-enabled": "false", "yarn.nodemanager.pmem-check-enabled": "false",
		"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.9",
		"yarn.nodemanager.aux-services":                         "mapreduce_shuffle",
		"yarn.nodemanager.aux-services.mapreduce_shuffle.class": "org.apache.hadoop.mapred.ShuffleHandler",
		"yarn.nodemanager.env-whitelist":                        "JAVA_HOME,HADOOP_CONF_DIR",
		"yarn.nodemanager.delete.debug-delay-sec":               "0",
		"yarn.nodemanager.sleep-delay-before-sigkill.ms":        "100",
		// for a lost node: three minutes else; longer than it takes to be known as lost, or a task fails four times
		"yarn.client.nodemanager-connect.max-wait-ms":             "20000",
		"yarn.client.nodemanager-connect.retry-interval-ms":       "1000",
		"yarn.application.classpath":                              s.dir + "/conf:" + s.jars + "/*",
		"mapreduce.framework.name":                                "yarn",
		"mapreduce.application.classpath":                         s.jars + "/*",
		"yarn.app.mapreduce.am.staging-dir":                       local + "/staging",
		"mapreduce.jobhistory.intermediate-done-dir":              local + "/done-soon",
		"mapreduce.jobhistory.done-dir":                           local + "/done",
		"mapreduce.shuffle.port":                                  "0",
		"yarn.app.mapreduce.am.resource.mb":                       "512",
		"yarn.app.mapreduce.am.command-opts":                      java,
		"mapreduce.map.memory.mb":                                 "512",
		"mapreduce.reduce.memory.mb":                              "512",
		"mapreduce.map.java.opts":                                 java,
		"mapreduce.reduce.java.opts":                              java,
		"mapreduce.job.ubertask.enable":                           "false",
		"mapreduce.map.speculative":                               "false", // the machine is slow, not the task
		"mapreduce.reduce.speculative":                            "false",
		"ipc.client.connect.max.retries.on.timeouts":              "3",
		"yarn.app.mapreduce.client-am.ipc.max-retries":            "1", // an ApplicationMaster that is gone is gone
		"mapreduce.jobhistory.address":                            s.ports.take(s.t),
		"mapreduce.jobhistory.webapp.address":                     s.ports.take(s.t),
		"mapreduce.jobhistory.admin.address":                      s.ports.take(s.t),
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "1000",
	}
	if s.at.Web != "" {
		s.site["yarn.resourcemanager.webapp.address"] = s.at.Web
	}
	maps.Copy(s.site, s.more)
	s.writeConf("conf", nil)
}

// writeConf writes the files of a configuration folder.
func (s *stock) writeConf(name string, more map[string]string) string {
	s.t.Helper()
	dir := filepath.Join(s.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	all := maps.Clone(s.site)
	maps.Copy(all, more)
	for _, file := range []string{"core-site.xml", "yarn-site.xml", "mapred-site.xml", "hdfs-site.xml"} {
		s.writeXML(filepath.Join(dir, file), all)
	}
	s.write(
		filepath.Join(dir, "log4j.properties"),
		"log4j.rootLogger=INFO,c\nlog4j.appender.c=org.apache.log4j.ConsoleAppender\n"+
			"log4j.appender.c.target=System.err\n"+
			"log4j.appender.c.layout=org.apache.log4j.PatternLayout\n"+
			"log4j.appender.c.layout.ConversionPattern=%d{HH:mm:ss,SSS} %p %c{1}: %m%n\n",
	)
	return dir
}

func (s *stock) writeXML(path string, properties map[string]string) {
	s.t.Helper()
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for _, k := range slices.Sorted(maps.Keys(properties)) {
		fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>\n", k, properties[k])
	}
	b.WriteString("</configuration>\n")
	s.write(path, b.String())
}

func (s *stock) write(path, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// java makes a command of a main class.
func (s *stock) java(ctx context.Context, conf, heap string, args ...string) *exec.Cmd {
	all := append([]string{"-Xmx" + heap}, quick...)
	return s.command(
		ctx,
		conf,
		append(append([]string{"java"}, append(all, "-cp", conf+":"+s.jars+"/*")...), args...)...)
}

// command makes a command that ends, with what it started, when ctx does.
func (s *stock) command(ctx context.Context, conf string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+conf, "USER=root")
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// A daemon is a process that lives until it is killed, or the test ends.
type daemon struct {
	cmd  *exec.Cmd
	log  string
	dead bool
}

// start starts a daemon that logs to a file named after it.
func (s *stock) start(name string, cmd *exec.Cmd) *daemon {
	s.t.Helper()
	d := &daemon{cmd: cmd, log: filepath.Join(s.dir, name+".log")}
	out, err := os.Create(d.log)
	if err != nil {
		s.t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		d.kill()
		s.showTail(name + ".log")
	})
	return d
}

// kill ends the process as kill -9 does.
func (d *daemon) kill() {
	if !d.dead {
		d.dead = true
		syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL)
		d.cmd.Wait()
	}
}

// stop ends a daemon by a signal, so that it writes what it keeps.
func (d *daemon) stop() {
	d.cmd.Process.Signal(syscall.SIGTERM)
	d.cmd.Wait()
	d.dead = true
}

// said is what the daemon has logged.
func (d *daemon) said() string {
	text, _ := os.ReadFile(d.log)
	return string(text)
}

// showTail shows the end of a log if the test has failed.
func (s *stock) showTail(name string) {
	if text, _ := os.ReadFile(filepath.Join(s.dir, name)); s.t.Failed() {
		s.t.Logf("%s:\n%s", name, text[max(0, len(text)-4000):])
	}
}

// addNodes starts NodeManagers and waits until they have registered. It also starts the server of job histories, which
// clients ask that are slower than their ApplicationMaster's last five seconds.
func (s *stock) addNodes(n int) {
	s.t.Helper()
	s.start(
		"history",
		s.java(context.Background(), s.dir+"/conf", "256m", "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer"),
	)
	for range n {
		s.nodes = append(s.nodes, nil)
		s.startNode(len(s.nodes) - 1)
	}
	s.t.Cleanup(func() {
		for i := range s.nodes {
			s.endContainers(i)
		}
		for _, name := range []string{"syslog", "stderr"} { // of ApplicationMasters; those of tasks are many
			logs, _ := filepath.Glob(s.dir + "/node*/log/application_*/container_*_000001/" + name)
			for _, log := range logs {
				s.showTail(strings.TrimPrefix(log, s.dir+"/"))
			}
		}
	})
	s.untilNodes(n)
}

func (s *stock) untilNodes(n int) {
	s.t.Helper()
	s.until(fmt.Sprintf("%d NodeManagers are registered", n), 2*time.Minute, func() bool {
		var r wire.ClusterMetrics
		return s.call("getClusterMetrics", &wire.Empty{}, &r) == nil && int(r.Active) == n
	})
}

// home is the folder of a node.
func (s *stock) home(i int) string { return fmt.Sprintf("%s/node%d", s.dir, i) }

func (s *stock) startNode(i int) {
	s.t.Helper()
	name := fmt.Sprint("node", i)
	conf := s.writeConf(
		"conf-"+name,
		map[string]string{"yarn.nodemanager.hostname": "127.0.0.1", "yarn.nodemanager.address": s.ports.take(s.t),
			"yarn.nodemanager.localizer.address": s.ports.take(
				s.t,
			), "yarn.nodemanager.webapp.address": s.ports.take(s.t),
			"yarn.nodemanager.local-dirs": s.home(i) + "/local", "yarn.nodemanager.log-dirs": s.home(i) + "/log"},
	)
	s.nodes[i] = s.start(
		name,
		s.java(context.Background(), conf, "384m", "org.apache.hadoop.yarn.server.nodemanager.NodeManager"),
	)
}

// processes finds what runs in a folder, by its working directory: containers do not end with the process group of
// their NodeManager.
func processes(folder string) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, p := range all {
		var pid int
		if at, err := os.Readlink(p); err == nil && strings.HasPrefix(at, folder+"/") {
			if _, err := fmt.Sscanf(p, "/proc/%d/cwd", &pid); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// endContainers ends what a node runs, as the machine's end does.
func (s *stock) endContainers(i int) {
	for _, pid := range processes(s.home(i)) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

func (s *stock) until(what string, limit time.Duration, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain: %s", what)
		}
	}
}

// rests waits until no application lives and no node has anything in use.
func (s *stock) rests(limit time.Duration) {
	s.t.Helper()
	s.until("no application lives and no node has anything in use", limit, func() bool {
		var apps wire.ApplicationsResponse
		var nodes wire.NodesResponse
		if s.call("getApplications", &wire.ApplicationsRequest{}, &apps) != nil ||
			s.call("getClusterNodes", &wire.NodesRequest{}, &nodes) != nil {
			return false
		}
		lives := func(r wire.ApplicationReport) bool { return r.State < wire.AppFinished }
		busy := func(r wire.NodeReport) bool { return r.Containers > 0 || r.Used.Memory > 0 }
		return !slices.ContainsFunc(apps.Reports, lives) && !slices.ContainsFunc(nodes.Reports, busy)
	})
}

// call asks the ResourceManager as a client does.
func (s *stock) call(method string, q proto.Message, r proto.Decoder) error {
	if s.asks != nil {
		return s.asks(method, q, r)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	d := rpc.Dialer{Protocol: wire.ApplicationClient, User: "root"}
	c, err := d.Dial(ctx, s.at.Client)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Call(ctx, method, q, r)
}

// page asks for a page of the ResourceManager in JSON.
func (s *stock) page(path string) (v any) {
	s.t.Helper()
	r, err := http.Get("http://" + s.at.Web + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
		s.t.Errorf("%s: %v", path, err)
	}
	return v
}

// newest returns the report of the application that was submitted last.
func (s *stock) newest() (last wire.ApplicationReport) {
	var r wire.ApplicationsResponse
	if err := s.call("getApplications", &wire.ApplicationsRequest{}, &r); err == nil {
		for _, one := range r.Reports {
			if one.ID.ID > last.ID.ID {
				last = one
			}
		}
	}
	return last
}

// untilRuns waits until an application other than one before has as many containers as that, and returns its report.
func (s *stock) untilRuns(before wire.ApplicationID, containers int32) (r wire.ApplicationReport) {
	s.t.Helper()
	s.until(fmt.Sprintf("an application runs %d containers", containers), 3*time.Minute, func() bool {
		r = s.newest()
		return r.ID != before && r.State == wire.AppRunning && r.Usage.Containers >= containers
	})
	return r
}

// run runs a client's main class to its end, and returns what it said.
func (s *stock) run(args ...string) string {
	s.t.Helper()
	out, err := s.try(args...)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// commandTime is long: on two busy cores a job of twenty tasks takes minutes, all of it Java's start.
const commandTime = 10 * time.Minute

func (s *stock) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	return s.execute(s.java(ctx, s.dir+"/conf", "256m", args...))
}

// execute runs a command to its end.
func (s *stock) execute(cmd *exec.Cmd) (string, error) {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out), nil
}

// clean waits until nothing of any application is left: no entry in the ResourceManager, and on the nodes no process
// and no folder.
func (s *stock) clean() {
	s.t.Helper()
	const limit = time.Minute
	s.rests(limit)
	if s.rm != nil {
		s.until("the books are empty", limit, func() (empty bool) {
			s.rm.front.ask(func(m *manager) (answer, error) {
				waiting := m.live.containers.count + m.live.masters.count + m.live.finishing.count
				empty = m.nodes.containers+m.leases.count+waiting == 0 &&
					!slices.ContainsFunc(
						m.apps.list,
						func(app *application) bool { return !app.cleared() || len(app.nodes) > 0 },
					)
				return nil, nil
			})
			return empty
		})
	}
	left := func() (list []string) {
		for _, place := range []string{"usercache/*/appcache", "nmPrivate"} {
			folders, _ := filepath.Glob(s.dir + "/node*/local/" + place + "/application_*")
			list = append(list, folders...)
		}
		for i := range s.nodes {
			for _, pid := range processes(s.home(i)) {
				list = append(list, fmt.Sprint("process ", pid))
			}
		}
		return list
	}
	for end := time.Now().Add(limit); len(left()) > 0; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("left on the nodes: %v", left())
		}
	}
}
