package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A Server says which ResourceManager to start: this project's, if Sojourn is not empty, else Hadoop's.
type Server struct {
	Sojourn   string // this project's program
	Policy    string // of this project's ResourceManager
	Jars      string // folder with Hadoop's jars
	Scheduler string // of Hadoop's ResourceManager: capacity or fair
	Shipped   bool   // Hadoop's scheduler as shipped, a container for each node and beat; else as an expert tunes it
	Heap      string // of Java, such as 4g
	Dir       string // an empty folder, for configuration and logs
}

// A Started is a ResourceManager that runs.
type Started struct {
	Addresses Addresses
	Process   int

	cmd   *exec.Cmd
	stop  context.CancelFunc
	ended chan struct{}
	log   *os.File
}

// Start starts a ResourceManager on free ports of the loopback network, and waits until it serves.
func (s *Server) Start(ctx context.Context) (*Started, error) {
	ports, err := freePorts(5)
	if err != nil {
		return nil, err
	}
	if err := s.configure(ports); err != nil {
		return nil, err
	}
	r := &Started{
		Addresses: Addresses{Tracker: ports[0], Master: ports[1], Client: ports[2], Web: ports[4]},
		ended:     make(chan struct{}),
	}
	if r.log, err = os.Create(filepath.Join(s.Dir, "log")); err != nil {
		return nil, err
	}
	ctx, r.stop = context.WithCancel(ctx)
	r.cmd = s.command(ctx)
	r.cmd.Stdout, r.cmd.Stderr = r.log, r.log
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL} // it ends with this process
	r.cmd.Cancel = func() error { return syscall.Kill(-r.cmd.Process.Pid, syscall.SIGTERM) }
	r.cmd.WaitDelay = 10 * time.Second
	if err := r.cmd.Start(); err != nil {
		r.stop()
		r.log.Close()
		return nil, err
	}
	r.Process = r.cmd.Process.Pid
	go func() {
		r.cmd.Wait()
		close(r.ended)
	}()
	if err := r.await(ctx); err != nil {
		r.Stop()
		return nil, err
	}
	return r, nil
}

// freePorts returns n ports that no process listened on a moment ago.
func freePorts(n int) (ports []string, err error) {
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer ln.Close()
		ports = append(ports, ln.Addr().String())
	}
	return ports, nil
}

// command returns the command that runs the ResourceManager.
func (s *Server) command(ctx context.Context) *exec.Cmd {
	if s.Sojourn != "" {
		return exec.CommandContext(ctx, s.Sojourn, "rm", "--conf", s.Dir, "--policy", s.Policy, "--quiet")
	}
	cmd := exec.CommandContext(ctx, "java", "-Xmx"+s.Heap, "--add-opens=java.base/java.lang=ALL-UNNAMED",
		"--add-exports=java.base/sun.net.dns=ALL-UNNAMED", "--add-exports=java.base/sun.net.util=ALL-UNNAMED",
		"-cp", s.Dir+":"+filepath.Join(s.Jars, "*"), "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager")
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+s.Dir)
	cmd.Dir = s.Dir
	return cmd
}

// configure writes the configuration, which is the same for both ResourceManagers: a cluster with one queue.
func (s *Server) configure(ports []string) error {
	const rm, node = "yarn.resourcemanager.", "yarn.scheduler.capacity.per-node-heartbeat."
	site := map[string]string{
		"fs.defaultFS": "file:///", "hadoop.tmp.dir": filepath.Join(s.Dir, "tmp"),
		rm + "hostname": "127.0.0.1", rm + "resource-tracker.address": ports[0], rm + "scheduler.address": ports[1],
		rm + "address":       ports[2],
		rm + "admin.address": ports[3], rm + "webapp.address": ports[4],
		"yarn.scheduler.minimum-allocation-mb": "1024", "yarn.scheduler.maximum-allocation-mb": "8192",
		rm + "scheduler.class": "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler",
	}
	if s.Scheduler == "fair" {
		site[rm+"scheduler.class"] = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"
		if !s.Shipped {
			site["yarn.scheduler.fair.assignmultiple"] = "true"
			site["yarn.scheduler.fair.dynamic.max.assign"] = "false"
			site["yarn.scheduler.fair.max.assign"] = "100"
		}
	}
	queues := map[string]string{
		"yarn.scheduler.capacity.root.queues": "default", "yarn.scheduler.capacity.root.default.capacity": "100",
		"yarn.scheduler.capacity.root.default.maximum-capacity": "100",
		"yarn.scheduler.capacity.root.default.state":            "RUNNING",
		"yarn.scheduler.capacity.maximum-am-resource-percent":   "1",
		"yarn.scheduler.capacity.root.default.ordering-policy":  "fair",
	}
	if !s.Shipped {
		queues[node+"multiple-assignments-enabled"] = "true"
		queues[node+"maximum-container-assignments"] = "-1"
		queues[node+"maximum-offswitch-assignments"] = "100"
	}
	log := "log4j.rootLogger=WARN,c\nlog4j.appender.c=org.apache.log4j.ConsoleAppender\n" +
		"log4j.appender.c.target=System.err\n" +
		"log4j.appender.c.layout=org.apache.log4j.PatternLayout\n" +
		"log4j.appender.c.layout.ConversionPattern=%d{HH:mm:ss,SSS} %p %c{1}: %m%n\n"
	fair := "<allocations><queue name=\"default\"/></allocations>\n"
	for name, text := range map[string]string{"core-site.xml": properties(site), "yarn-site.xml": properties(site),
		"capacity-scheduler.xml": properties(queues),
		"fair-scheduler.xml":     fair, "log4j.properties": log} {
		if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// properties returns a configuration file of Hadoop's with the values.
func properties(values map[string]string) string {
	var b bytes.Buffer
	b.WriteString("<configuration>\n")
	for _, k := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>\n", k, values[k])
	}
	b.WriteString("</configuration>\n")
	return b.String()
}

// startTime is how long a ResourceManager may take to serve: Java on busy cores needs a while.
const startTime = 2 * time.Minute

// await waits until the ResourceManager takes connections at all three ports.
func (r *Started) await(ctx context.Context) error {
	for end := time.Now().Add(startTime); ; {
		up := 0
		for _, at := range []string{r.Addresses.Tracker, r.Addresses.Master, r.Addresses.Client} {
			if conn, err := net.DialTimeout("tcp", at, time.Second); err == nil {
				conn.Close()
				up++
			}
		}
		if up == 3 {
			return nil
		}
		select {
		case <-r.ended:
			return fmt.Errorf("the ResourceManager ended before it served: %v\n%s", r.cmd.ProcessState, r.said())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		if time.Now().After(end) {
			return errors.New("the ResourceManager does not serve after two minutes\n" + r.said())
		}
	}
}

// said returns the end of the log.
func (r *Started) said() string {
	text, err := os.ReadFile(r.log.Name())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-4000):]))
}

// Stop ends the ResourceManager.
func (r *Started) Stop() {
	r.stop()
	<-r.ended
	r.log.Close()
}
