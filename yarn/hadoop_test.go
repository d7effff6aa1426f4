package yarn

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/yarn/internal/wire"
)

// hadoopVersion is the release of stock peers: the one for which Maven Central has all of them.
const hadoopVersion = "3.4.2"

// hadoopJars is the class path of stock Hadoop: `make test-hadoop` fetches it.
func hadoopJars(t *testing.T) string {
	t.Helper()
	if os.Getenv("SOJOURN_STOCK") == "" {
		t.Skip("stock Hadoop takes minutes and much of a machine: make test-hadoop")
	}
	cache := os.Getenv("SOJOURN_CACHE")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Skip("no home folder to look for Hadoop in")
		}
		cache = filepath.Join(home, ".cache", "sojourn")
	}
	jars := filepath.Join(cache, "hadoop-"+hadoopVersion, "jars")
	if _, err := os.Stat(filepath.Join(jars, "hadoop-yarn-server-nodemanager-"+hadoopVersion+".jar")); err != nil {
		t.Skipf("stock Hadoop is not in %s: make test-hadoop fetches it", jars)
	}
	if _, err := exec.LookPath("java"); err != nil {
		t.Skip("no java to run stock Hadoop with")
	}
	if testing.Short() {
		t.Skip("stock Hadoop takes a minute: not with -short")
	}
	return jars
}

// A stock is a cluster of stock NodeManagers and clients around a ResourceManager of this package.
type stock struct {
	t    *testing.T
	jars string
	dir  string
	rm   *ResourceManager
	at   Addresses
	site map[string]string
}

// startStock serves until the test ends, and starts NodeManagers.
func startStock(t *testing.T, policyName string, nodes int) *stock {
	t.Helper()
	s := &stock{t: t, jars: hadoopJars(t), dir: t.TempDir()}
	p, _, err := policy.Parse(policyName)
	if err != nil {
		t.Fatal(err)
	}
	logs, err := os.Create(filepath.Join(s.dir, "rm.log"))
	if err != nil {
		t.Fatal(err)
	}
	any := "127.0.0.1:0"
	config := Config{Addresses: Addresses{Tracker: any, Master: any, Client: any, Admin: any}, Sizes: Sizes{MinMemory: 256}, Log: slog.New(slog.NewTextHandler(logs, nil))}
	config.Core.Policy = p
	ctx, cancel := context.WithCancel(context.Background())
	if s.rm, err = Listen(ctx, config); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.rm.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		logs.Close()
		if text, _ := os.ReadFile(logs.Name()); t.Failed() {
			t.Logf("ResourceManager:\n%s", text)
		}
	})
	s.at = s.rm.Addresses()
	s.site = s.common()
	s.writeConf("conf", nil)
	for i := range nodes {
		s.startNode(i)
	}
	return s
}

// common is the configuration of all peers.
func (s *stock) common() map[string]string {
	local := "file:" + s.dir
	return map[string]string{
		"fs.defaultFS": "file:///", "hadoop.tmp.dir": s.dir + "/tmp",
		"yarn.resourcemanager.hostname": "127.0.0.1", "yarn.resourcemanager.connect.retry-interval.ms": "1000",
		"yarn.resourcemanager.resource-tracker.address": s.at.Tracker, "yarn.resourcemanager.scheduler.address": s.at.Master,
		"yarn.resourcemanager.address": s.at.Client, "yarn.resourcemanager.admin.address": s.at.Admin,
		"yarn.scheduler.minimum-allocation-mb": "256",
		"yarn.nodemanager.resource.memory-mb":  "4096", "yarn.nodemanager.resource.cpu-vcores": "4",
		"yarn.nodemanager.vmem-check-enabled": "false", "yarn.nodemanager.pmem-check-enabled": "false",
		"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.9",
		"yarn.nodemanager.aux-services":                         "mapreduce_shuffle",
		"yarn.nodemanager.aux-services.mapreduce_shuffle.class": "org.apache.hadoop.mapred.ShuffleHandler",
		"yarn.nodemanager.env-whitelist":                        "JAVA_HOME,HADOOP_CONF_DIR", "yarn.nodemanager.delete.debug-delay-sec": "0",
		"yarn.nodemanager.sleep-delay-before-sigkill.ms": "100",
		"yarn.application.classpath":                     s.dir + "/conf:" + s.jars + "/*",
		"mapreduce.framework.name":                       "yarn", "mapreduce.application.classpath": s.jars + "/*",
		"yarn.app.mapreduce.am.staging-dir": local + "/staging", "mapreduce.jobhistory.intermediate-done-dir": local + "/done-soon",
		"mapreduce.jobhistory.done-dir": local + "/done", "mapreduce.shuffle.port": "0",
		"yarn.app.mapreduce.am.resource.mb": "512", "yarn.app.mapreduce.am.command-opts": "-Xmx384m",
		"mapreduce.map.memory.mb": "512", "mapreduce.reduce.memory.mb": "512",
		"mapreduce.map.java.opts": "-Xmx384m", "mapreduce.reduce.java.opts": "-Xmx384m", "mapreduce.job.ubertask.enable": "false",
	}
}

func (s *stock) writeConf(name string, more map[string]string) string {
	s.t.Helper()
	dir := filepath.Join(s.dir, name)
	all := maps.Clone(s.site)
	maps.Copy(all, more)
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for _, k := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>\n", k, all[k])
	}
	b.WriteString("</configuration>\n")
	log4j := "log4j.rootLogger=INFO,c\nlog4j.appender.c=org.apache.log4j.ConsoleAppender\nlog4j.appender.c.target=System.err\n" +
		"log4j.appender.c.layout=org.apache.log4j.PatternLayout\nlog4j.appender.c.layout.ConversionPattern=%d{HH:mm:ss,SSS} %p %c{1}: %m%n\n"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	for file, text := range map[string]string{"core-site.xml": b.String(), "yarn-site.xml": b.String(), "mapred-site.xml": b.String(), "log4j.properties": log4j} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	return dir
}

// java makes a command of a main class.
func (s *stock) java(ctx context.Context, conf, heap string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "java", append([]string{"-Xmx" + heap, "--add-opens=java.base/java.lang=ALL-UNNAMED",
		"--add-exports=java.base/sun.net.dns=ALL-UNNAMED", "--add-exports=java.base/sun.net.util=ALL-UNNAMED", "-cp", conf + ":" + s.jars + "/*"}, args...)...)
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+conf)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// startNode starts a NodeManager and waits until it has registered.
func (s *stock) startNode(i int) {
	s.t.Helper()
	port := func() string {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			s.t.Fatal(err)
		}
		defer ln.Close()
		return ln.Addr().String()
	}
	name := fmt.Sprint("node", i)
	conf := s.writeConf("conf-"+name, map[string]string{"yarn.nodemanager.hostname": "127.0.0.1", "yarn.nodemanager.address": port(),
		"yarn.nodemanager.localizer.address": port(), "yarn.nodemanager.webapp.address": port(),
		"yarn.nodemanager.local-dirs": s.dir + "/" + name + "/local", "yarn.nodemanager.log-dirs": s.dir + "/" + name + "/log"})
	ctx, cancel := context.WithCancel(context.Background())
	cmd := s.java(ctx, conf, "384m", "org.apache.hadoop.yarn.server.nodemanager.NodeManager")
	out, err := os.Create(filepath.Join(s.dir, name+".log"))
	if err != nil {
		s.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		cancel()
		cmd.Wait()
		out.Close()
		if text, _ := os.ReadFile(out.Name()); s.t.Failed() {
			s.t.Logf("%s:\n%s", name, text[max(0, len(text)-20_000):])
		}
	})
	s.until("a NodeManager registers", time.Minute, func(m *manager) bool { return int(m.nodes.usable()) == i+1 })
}

func (s *stock) until(what string, limit time.Duration, ok func(*manager) bool) {
	s.t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(100 * time.Millisecond) {
		yes := false
		s.rm.manager.ask(func(m *manager) (answer, error) { yes = ok(m); return nil, nil })
		if yes {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain: %s", what)
		}
	}
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

// commandTime is long: on two busy cores a job of twenty tasks takes two minutes, all of it Java's start.
const commandTime = 6 * time.Minute

func (s *stock) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	began := time.Now()
	out, err := s.java(ctx, s.dir+"/conf", "256m", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	s.t.Logf("%s: %v", strings.Join(args[:min(2, len(args))], " "), time.Since(began).Round(100*time.Millisecond))
	return string(out), nil
}

// clean waits until nothing of any application is left, here and on the nodes: no container, no process, no folder of an application.
func (s *stock) clean() {
	s.t.Helper()
	s.until("no container is left", 30*time.Second, func(m *manager) bool { return len(m.known)+len(m.leases) == 0 })
	s.until("no process and no folder of a container is left", 30*time.Second, func(*manager) bool {
		left, _ := filepath.Glob(s.dir + "/node*/local/usercache/*/appcache/application_*")
		procs, _ := filepath.Glob("/proc/[0-9]*/cwd")
		for _, p := range procs {
			if at, err := os.Readlink(p); err == nil && strings.HasPrefix(at, s.dir+"/node") {
				return false
			}
		}
		return len(left) == 0
	})
}

func TestStockDistributedShell(t *testing.T) {
	s := startStock(t, "fifo", 1)
	out := s.run("org.apache.hadoop.yarn.applications.distributedshell.Client", "-jar", s.jars+"/hadoop-yarn-applications-distributedshell-"+hadoopVersion+".jar",
		"-shell_command", "date", "-num_containers", "3", "-container_memory", "256", "-master_memory", "256")
	if !strings.Contains(out, "Application completed successfully") {
		t.Errorf("distributed shell said:\n%s", out)
	}
	s.clean()
}

func TestStockWordCount(t *testing.T) {
	s := startStock(t, "capacity", 1)
	in := filepath.Join(s.dir, "in")
	want := map[string]int{}
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		var b bytes.Buffer
		for k := range 2000 {
			word := fmt.Sprint("word", (k*7+i)%311)
			want[word]++
			fmt.Fprintln(&b, word)
		}
		if err := os.WriteFile(filepath.Join(in, fmt.Sprint("part", i)), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.run("org.apache.hadoop.examples.ExampleDriver", "wordcount", in, s.dir+"/out")
	got, err := os.ReadFile(s.dir + "/out/part-r-00000")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for word, n := range want {
		lines = append(lines, fmt.Sprintf("%s\t%d\n", word, n))
	}
	slices.Sort(lines)
	if string(got) != strings.Join(lines, "") {
		t.Errorf("the output has %d bytes, want %d", len(got), len(strings.Join(lines, "")))
	}
	s.clean()
	list := s.run("org.apache.hadoop.yarn.client.cli.ApplicationCLI", "application", "-list", "-appStates", "ALL")
	if !strings.Contains(list, "SUCCEEDED") || !strings.Contains(list, "word count") {
		t.Errorf("yarn application -list says:\n%s", list)
	}
	d := rpc.Dialer{Protocol: wire.ApplicationClient, User: "tester"}
	c, err := d.Dial(t.Context(), s.at.Client)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var r wire.ApplicationsResponse
	if err := c.Call(t.Context(), "getApplications", &wire.ApplicationsRequest{}, &r); err != nil || len(r.Reports) != 1 || r.Reports[0].State != wire.AppFinished {
		t.Errorf("%+v, %v", r.Reports, err)
	}
}

// TestStockAll is the rest of what stock MapReduce must find working, on two NodeManagers. It takes several minutes: SOJOURN_STOCK=all.
func TestStockAll(t *testing.T) {
	if os.Getenv("SOJOURN_STOCK") != "all" {
		t.Skip("several minutes of stock MapReduce: SOJOURN_STOCK=all")
	}
	s := startStock(t, "capacity", 2)
	const cli = "org.apache.hadoop.yarn.client.cli.ApplicationCLI"
	sleep := func(maps, reduces, ms string) []string {
		return []string{"org.apache.hadoop.mapreduce.SleepJob", "-m", maps, "-r", reduces, "-mt", ms, "-rt", ms}
	}
	t.Run("20 maps and 3 reduces", func(t *testing.T) {
		s.run(sleep("20", "3", "100")...)
		s.clean()
	})
	t.Run("pi", func(t *testing.T) {
		if out := s.run("org.apache.hadoop.examples.ExampleDriver", "pi", "4", "10"); !strings.Contains(out, "Estimated value of Pi is 3.4") { // of these 40 points
			t.Errorf("pi said:\n%s", out)
		}
		s.clean()
	})
	t.Run("two jobs in contention", func(t *testing.T) {
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if _, err := s.try(sleep("6", "2", "500")...); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		s.clean()
	})
	t.Run("an ApplicationMaster is killed", func(t *testing.T) {
		var job sync.WaitGroup
		job.Go(func() {
			if _, err := s.try(sleep("2", "1", "4000")...); err != nil {
				t.Error(err)
			}
		})
		s.until("the job runs", time.Minute, func(m *manager) bool { return len(m.known) >= 3 })
		s.killMaster()
		job.Wait()
		s.clean()
		attempts := 0
		s.until("the job has ended", time.Minute, func(m *manager) bool {
			attempts = len(m.apps.list[len(m.apps.list)-1].attempts)
			return true
		})
		if attempts != 2 {
			t.Errorf("it took %d attempts", attempts)
		}
	})
	t.Run("kill from the command line", func(t *testing.T) {
		var id string
		var job sync.WaitGroup
		job.Go(func() {
			if _, err := s.try(sleep("2", "1", "600000")...); err == nil {
				t.Error("a job that was killed succeeded")
			}
		})
		s.until("the job runs", time.Minute, func(m *manager) bool {
			id = m.apps.list[len(m.apps.list)-1].id.String()
			return len(m.known) >= 3
		})
		if out := s.run(cli, "application", "-kill", id); !strings.Contains(out, "Killed application "+id) {
			t.Errorf("kill said:\n%s", out)
		}
		job.Wait()
		s.clean()
		if out := s.run(cli, "application", "-status", id); !strings.Contains(out, "State : KILLED") {
			t.Errorf("status said:\n%s", out)
		}
	})
	t.Run("commands", func(t *testing.T) {
		for _, c := range []struct {
			args []string
			want string
		}{
			{[]string{"org.apache.hadoop.yarn.client.cli.NodeCLI", "-list"}, "Total Nodes:2"},
			{[]string{"org.apache.hadoop.yarn.client.cli.QueueCLI", "-status", "default"}, "Queue Name : default"},
			{[]string{cli, "application", "-list", "-appStates", "ALL"}, "Total number of applications"},
			{[]string{"org.apache.hadoop.mapred.JobClient", "-list", "all"}, "Total jobs:"},
		} {
			if out := s.run(c.args...); !strings.Contains(out, c.want) {
				t.Errorf("%v said:\n%s", c.args, out)
			}
		}
	})
}

// killMaster ends the process of the one ApplicationMaster that runs, as the kernel might: the child of the shell in its folder.
func (s *stock) killMaster() {
	s.t.Helper()
	procs, _ := filepath.Glob("/proc/[0-9]*/cwd")
	killed := 0
	for _, p := range procs {
		at, err := os.Readlink(p)
		if err != nil || !strings.HasPrefix(at, s.dir+"/node") || !strings.HasSuffix(at, "_01_000001") {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(p, "/proc/%d/cwd", &pid); err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	if killed == 0 {
		s.t.Fatal("no ApplicationMaster to kill")
	}
}
