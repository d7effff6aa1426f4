package yarn

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
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

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/peer"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// unmanaged submits an application whose ApplicationMaster the test is, and registers it.
func (c *cluster) unmanaged() (wire.ApplicationID, *peer.Master) {
	c.t.Helper()
	id := c.submit(func(s *wire.Submission) { s.Unmanaged = true })
	m := &peer.Master{Address: c.at.Master, Token: *c.report(id).MasterToken}
	c.t.Cleanup(m.Close)
	if _, err := m.Register(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	return id, m
}

// forgotten fails the test unless an application of a former life is not known: to clients, and to its own
// ApplicationMaster, who ends on hearing it.
func (c *cluster) forgotten(id wire.ApplicationID, m *peer.Master) {
	c.t.Helper()
	err := c.client.Call(c.t.Context(), "getApplicationReport", &wire.ApplicationRequest{ID: id}, nil)
	if e := new(rpc.Error); !errors.As(err, &e) || e.Class != classAppNotFound {
		c.t.Errorf("a client asks for an application of the old life: %v", err)
	}
	for _, what := range []func() error{
		func() error { _, err := m.Allocate(c.t.Context(), &wire.AllocateRequest{}); return err },
		func() error { _, err := m.Register(c.t.Context()); return err },
	} {
		err := what()
		if e := new(rpc.Error); !errors.As(err, &e) || e.Class != classAttemptNotFound {
			c.t.Errorf("its ApplicationMaster calls: %v", err)
		}
	}
}

// The ResourceManager ends and another takes its ports, which knows nothing of the first's life.
func TestRestart(t *testing.T) {
	at := newPorts().addresses(t)
	ports := func(config *Config) { config.Addresses = at }
	c := start(t, ports)
	n := c.node()
	unmanaged, m := c.unmanaged()
	c.task = func(ctx context.Context, _ wire.ContainerID) int32 { <-ctx.Done(); return 0 }
	managed := c.submit(nil)
	c.until("7 tasks run beside the ApplicationMaster", func() bool { running, _ := n.Running(); return running == 8 })
	identity, ids := c.rm.front.m.identity(), c.rm.front.m.keys.container.Current().ID
	c.stop()
	again := start(t, ports)
	again.nodes = append(again.nodes, n)
	c.nodes = nil
	again.until("the node is back, and what it ran has ended", func() bool {
		_, known := n.Running()
		return known == 0 &&
			invoke[wire.ClusterMetrics](again, again.client, "getClusterMetrics", &wire.Empty{}).Active == 1
	})
	if m := again.rm.front.m; m.identity() == identity || m.keys.container.Current().ID == ids {
		t.Error("the second has the identity or the key id of the first")
	}
	again.forgotten(managed, m)
	again.forgotten(unmanaged, m)
	if !n.Cleaned(managed) {
		t.Error("the node was not told that the old life's application is over")
	}
	c.at, c.task = again.at, func(context.Context, wire.ContainerID) int32 { return 0 } // the node runs what c says
	id := again.submit(nil)
	again.ends(id, wire.AppFinished)
	again.clean(id)
}

// `sojourn rm` is killed by signal 9 in the middle of jobs, three times, and started anew on the same configuration.
// Each time the nodes come back by themselves, what the old life ran ends, and a new job runs; no container of any life
// has another's id. Asked to end, it leaves a record of its last life that can be simulated under other policies.
func TestKill9(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program: not with -short")
	}
	c, binary, dir := verbCluster(t)
	var seen sync.Map // of container ids
	once := func(id wire.ContainerID) {
		if _, twice := seen.LoadOrStore(id, true); twice {
			t.Errorf("two containers are called %s", id)
		}
	}
	release := make(chan bool) // what ends by itself
	job := c.job(20)
	c.master = func(ctx context.Context, m *peer.Master, id wire.ContainerID) int32 { once(id); return job(ctx, m, id) }
	c.task = func(ctx context.Context, id wire.ContainerID) int32 {
		once(id)
		select {
		case <-release:
		case <-ctx.Done():
		}
		return 0
	}
	rm := startVerb(t, binary, dir, "1.rec")
	t.Cleanup(func() {
		for _, n := range c.nodes {
			n.Crash()
		}
	})
	c.node()
	c.node()
	for life := range 3 {
		c.client = c.as("alice")
		unmanaged, m := c.unmanaged()
		managed := c.submit(nil)
		c.until("the cluster is full", func() bool {
			a, _ := c.nodes[0].Running()
			b, _ := c.nodes[1].Running()
			return a+b == 16 // of 512 MiB in 8 GiB
		})
		rm.end(syscall.SIGKILL)
		rm = startVerb(t, binary, dir, fmt.Sprint(life+2, ".rec"))
		c.client = c.as("alice")
		for i, n := range c.nodes {
			c.until(
				fmt.Sprintf("what node %d ran has ended", i),
				func() bool { _, known := n.Running(); return known == 0 },
			)
		}
		c.until("the nodes are back", func() bool {
			return invoke[wire.ClusterMetrics](c, c.client, "getClusterMetrics", &wire.Empty{}).Active == 2
		})
		c.forgotten(managed, m)
		c.forgotten(unmanaged, m)
	}
	close(release)
	id := c.submit(nil)
	c.ends(id, wire.AppFinished)
	for i, n := range c.nodes {
		c.until(fmt.Sprintf("node %d is empty", i), func() bool { _, known := n.Running(); return known == 0 })
	}
	if err := rm.end(syscall.SIGTERM); err != nil {
		t.Errorf("asked to end: %v", err)
	}
	for _, args := range [][]string{{"record", "summary", "4.rec"},
		{"sim", "--from-record", "4.rec", "--policy", "fifo,fair", "--cluster", "nodes=2,memory=4GiB,vcores=8"}} {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("sojourn %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// The ResourceManager goes on with the debts that it had when it is started again: a queue that had all containers in
// the first life gets none in the second until the queue that lent them has drawn level. The statement of the first
// life says what was lent.
func TestRestartKeepsDebts(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program: not with -short")
	}
	c, binary, dir := verbCluster(t)
	queues := filepath.Join(dir, "queues.yaml")
	if err := os.WriteFile(queues, []byte("queues: [{name: lender}, {name: borrower}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	life := func(record string) *verb {
		v := startVerb(t, binary, dir, record, "--policy", "longterm:guaranteed=0,quantum=0s", "--queues", queues,
			"--state", filepath.Join(dir, "state"), "--fairness")
		c.client = c.as("alice")
		return v
	}
	c.task = func(ctx context.Context, _ wire.ContainerID) int32 { <-ctx.Done(); return 0 }
	t.Cleanup(func() {
		for _, n := range c.nodes {
			n.Crash()
		}
	})
	want := func(queue string) *peer.Master { // eight containers, all that there are
		id := c.submit(func(s *wire.Submission) { s.Unmanaged, s.Queue = true, queue })
		m := &peer.Master{Address: c.at.Master, Token: *c.report(id).MasterToken}
		c.t.Cleanup(m.Close)
		if _, err := m.Register(t.Context()); err != nil {
			t.Fatal(err)
		}
		one := wire.ResourceRequest{Place: "*", Containers: 8, Relax: true}
		one.Resource = wire.Resource{Memory: 512, VCores: 1}
		if _, err := m.Allocate(t.Context(), &wire.AllocateRequest{Asks: []wire.ResourceRequest{one}}); err != nil {
			t.Fatal(err)
		}
		return m
	}
	used := func(queue string) (memory float64) {
		_, doc := c.rest("GET", "/fairness", "")
		kinds, _ := at(doc, "fairness.kind").([]any)
		for _, k := range kinds {
			if at(k, "kind") != "memory" {
				continue
			}
			list, _ := at(k, "queues").([]any)
			for _, q := range list {
				if at(q, "queue") == queue {
					fmt.Sscan(at(q, "borrowed").(string), &memory)
				}
			}
		}
		return memory
	}

	rm := life("1.rec")
	want("borrower")
	c.node()
	c.until("the borrower has had 4 GiB·s of the lender's", func() bool { return used("borrower") > 4096 })
	lent := used("borrower")
	rm.end(syscall.SIGTERM) // nothing has happened since the containers were given
	c.nodes[0].Crash()

	rm = life("2.rec")
	if now := used("borrower"); now < lent {
		t.Errorf("the statement goes on with %v MiB·s that were borrowed, of %v", now, lent)
	}
	borrower, lender := want("borrower"), want("lender")
	c.node()
	got := map[*peer.Master]int{}
	c.until("all containers are given", func() bool {
		for _, m := range []*peer.Master{borrower, lender} {
			r, err := m.Allocate(t.Context(), &wire.AllocateRequest{})
			if err != nil {
				t.Fatal(err)
			}
			got[m] += len(r.Allocated)
		}
		return got[borrower]+got[lender] == 8
	})
	if got[lender] != 8 {
		t.Errorf("after the restart the lender has %d of 8 containers", got[lender])
	}
	if err := rm.end(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

// verbCluster takes the program of all tests, and writes a configuration into a folder, for a ResourceManager that is a
// process.
func verbCluster(t *testing.T) (c *cluster, binary, dir string) {
	t.Helper()
	dir, binary = t.TempDir(), program(t)
	c = &cluster{t: t, at: newPorts().addresses(t)}
	c.writeSite(dir, map[string]string{
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "20",
		"yarn.scheduler.skip.node.multiplier":                     "1000000", // a busy machine delays beats
	})
	return c, binary, dir
}

// A verb is a process of `sojourn rm`.
type verb struct {
	cmd  *exec.Cmd
	once sync.Once
	said []string // before it was ready

	mu     sync.Mutex
	logged []string // since then
}

// logs reports whether the process has written a line with all of parts since it was ready.
func (v *verb) logs(parts ...string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.ContainsFunc(v.logged, func(line string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) })
	})
}

// startVerb starts `sojourn rm` on a folder of configuration files, under capacity unless more arguments say otherwise,
// and waits until it says that it is ready. It leaves a record there, and is killed in the end.
func startVerb(t *testing.T, binary, dir, record string, more ...string) *verb {
	t.Helper()
	if more == nil {
		more = []string{"--policy", "capacity"}
	}
	v := &verb{
		cmd: exec.Command(
			binary,
			append([]string{"rm", "--conf", dir, "--record", filepath.Join(dir, record)}, more...)...),
	}
	said, err := v.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.end(syscall.SIGKILL) })
	ready := make(chan bool, 1)
	go func() {
		lines, isReady := bufio.NewScanner(said), false
		for lines.Scan() {
			switch {
			case isReady:
				v.mu.Lock()
				v.logged = append(v.logged, lines.Text())
				v.mu.Unlock()
			case lines.Text() == "ready":
				isReady = true
				ready <- true
			default:
				v.said = append(v.said, lines.Text())
			}
		}
		close(ready)
	}()
	if !<-ready {
		t.Fatal("sojourn rm ended before it was ready")
	}
	return v
}

// end sends the process a signal, once, and waits for its end. The error is what `sojourn` ended with.
func (v *verb) end(signal os.Signal) (err error) {
	v.once.Do(func() {
		v.cmd.Process.Signal(signal)
		err = v.cmd.Wait()
	})
	return err
}

// ports gives ports of this machine on which no server listens. They are below those that the system gives to those
// that connect: a peer that tries a dead server again and again would take its port, or connect to itself.
type ports struct{ last int }

const firstPort, mostPorts = 20_000, 12_000

func newPorts() *ports { return &ports{last: os.Getpid() % mostPorts} }

// take returns the next address. The UDP port of the same number, which no server here uses, is held until the test
// ends, so that no other test takes the address, in this process or in another one.
func (p *ports) take(t *testing.T) string {
	t.Helper()
	for range mostPorts {
		p.last = (p.last + 1) % mostPorts
		address := fmt.Sprintf("127.0.0.1:%d", firstPort+p.last)
		held, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		if ln, err := net.Listen("tcp", address); err == nil {
			ln.Close()
			t.Cleanup(func() { held.Close() })
			return address
		}
		held.Close()
	}
	t.Fatal("no port is free")
	return ""
}

// addresses are those of a ResourceManager.
func (p *ports) addresses(t *testing.T) Addresses {
	t.Helper()
	return Addresses{p.take(t), p.take(t), p.take(t), p.take(t), p.take(t)}
}

// Tests that run at the same time have no port in common, although their servers do not listen yet.
func TestPortsAreOneTests(t *testing.T) {
	a, b := newPorts(), newPorts()
	seen := map[string]bool{}
	for range 20 {
		for _, at := range []string{a.take(t), b.take(t)} {
			if seen[at] {
				t.Fatalf("%s is given twice", at)
			}
			seen[at] = true
		}
	}
}

// writeSite writes a cluster's configuration.
func writeSite(t *testing.T, dir string, properties map[string]string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for name, value := range properties {
		fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>\n", name, value)
	}
	b.WriteString("</configuration>\n")
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeSite writes the configuration of a ResourceManager at the ports of the cluster. It allocates 256 MiB at least.
func (c *cluster) writeSite(dir string, more map[string]string) {
	c.t.Helper()
	all := map[string]string{
		"yarn.resourcemanager.resource-tracker.address": c.at.Tracker,
		"yarn.resourcemanager.scheduler.address":        c.at.Master,
		"yarn.resourcemanager.address":                  c.at.Client,
		"yarn.resourcemanager.admin.address":            c.at.Admin,
		"yarn.resourcemanager.webapp.address":           c.at.Web,
		"yarn.scheduler.minimum-allocation-mb":          "256",
	}
	maps.Copy(all, more)
	writeSite(c.t, dir, all)
}

// An application that is killed while its ApplicationMaster is being launched: the node is not called any more, and
// when it has had the order already, it is told of the application's end again.
func TestKilledWhileLaunched(t *testing.T) {
	c := start(t, nil)
	ln, err := net.Listen("tcp", "127.0.0.1:0") // a node that takes calls and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	tracker := rpc.Dialer{Protocol: wire.ResourceTracker, User: "yarn"}
	client, err := tracker.Dial(t.Context(), c.at.Tracker)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	id := wire.NodeID{Host: "127.0.0.1", Port: int32(ln.Addr().(*net.TCPAddr).Port)}
	invoke[wire.RegisterNodeResponse](
		c,
		client,
		"registerNodeManager",
		&wire.RegisterNodeRequest{Node: id, HTTPPort: 8042,
			Resource: wire.Resource{Memory: 4096, VCores: 8}, Version: wire.Version},
	)
	var last int32
	beat := func(list ...wire.ContainerStatus) wire.HeartbeatResponse {
		r := invoke[wire.HeartbeatResponse](
			c,
			client,
			"nodeHeartbeat",
			&wire.HeartbeatRequest{Status: wire.NodeStatus{Node: id, ResponseID: last,
				Health: wire.Health{OK: true}, Containers: list}},
		)
		last = r.ResponseID
		return r
	}
	beat()
	app := c.submit(nil)
	called, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer called.Close()
	invoke[wire.KillResponse](c, c.client, "forceKillApplication", &wire.KillRequest{ID: app})
	called.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.Copy(io.Discard, called); err != nil {
		t.Errorf("the launch goes on after the kill: %v", err)
	}
	if r := beat(); !slices.Contains(r.CleanupApps, app) {
		t.Errorf("after the kill the node is to clean %v, want %s", r.CleanupApps, app)
	}
	master := wire.ContainerStatus{
		ID:    wire.ContainerID{Attempt: wire.AttemptID{App: app, Attempt: 1}, ID: 1},
		State: wire.ContainerRunning,
	}
	if r := beat(master, master); !slices.Equal(r.CleanupApps, []wire.ApplicationID{app}) ||
		!slices.Contains(r.Cleanup, master.ID) {
		t.Errorf(
			"what was started all the same: the node is to clean %v and to end %v, want %s and %s once",
			r.CleanupApps,
			r.Cleanup,
			app,
			master.ID,
		)
	}
}
