package yarn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/peer"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// A cluster is a ResourceManager with nodes and a client, all over real sockets.
type cluster struct {
	t      *testing.T
	rm     *ResourceManager
	at     Addresses // as peers are told
	nodes  []*peer.Node
	client *rpc.Client
	master func(ctx context.Context, m *peer.Master, id wire.ContainerID) int32 // what ApplicationMasters do
	task   func(ctx context.Context, id wire.ContainerID) int32                 // what other containers do
	// containers that ApplicationMasters were given
	given atomic.Int32
	ahead time.Duration // of the ResourceManager's clock, of the real time; only turns touch it
	stop  func()
}

// patience is how long tests wait for what must happen: so long that it is no question of how busy the machine is.
const patience = 5 * time.Minute

// ages is longer than any test runs: a silence that is never too long.
const ages = 1000 * 24 * time.Hour

// start runs a ResourceManager until the test ends. Nodes beat every 20 ms, so that tests take no longer than they
// must. They get containers however late they beat, because a busy machine delays beats.
func start(t *testing.T, change func(*Config)) *cluster {
	t.Helper()
	fifo, _, err := policy.Parse("fifo")
	if err != nil {
		t.Fatal(err)
	}
	config := Config{
		Interval: 20 * time.Millisecond,
		Quiet:    ages,
		Sizes:    Sizes{MinMemory: 256, MaxMemory: 4096, MaxVCores: 8},
		Access:   Access{Admins: ACL{Users: []string{"root"}}},
		Addresses: Addresses{
			"127.0.0.1:0",
			"127.0.0.1:0",
			"127.0.0.1:0",
			"127.0.0.1:0",
			"127.0.0.1:0",
		},
		Log: slog.New(slog.DiscardHandler),
	}
	config.Core.Policy = fifo
	if change != nil {
		change(&config)
	}
	ctx, cancel := context.WithCancel(context.Background())
	rm, err := Listen(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, rm: rm, at: rm.Addresses()}
	clock := rm.front.m.clock
	rm.front.m.clock = func() time.Time { return clock().Add(c.ahead) }
	rm.stopTime = patience
	ended := make(chan error, 1)
	go func() { ended <- rm.Serve(ctx) }()
	stopped := false
	c.stop = func() {
		if !stopped {
			stopped = true
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(func() {
		for _, n := range c.nodes {
			n.Crash()
		}
		c.stop()
	})
	c.client = c.as("alice")
	c.task = func(context.Context, wire.ContainerID) int32 { return 0 }
	c.master = c.job(10)
	return c
}

// job is an ApplicationMaster that runs tasks of 512 MiB.
func (c *cluster) job(tasks int32) func(context.Context, *peer.Master, wire.ContainerID) int32 {
	return func(ctx context.Context, m *peer.Master, _ wire.ContainerID) int32 {
		j := peer.Job{Tasks: tasks, Resource: wire.Resource{Memory: 512, VCores: 1}, Interval: 10 * time.Millisecond}
		given, err := j.Run(ctx, m)
		c.given.Add(int32(given))
		if err != nil {
			if ctx.Err() == nil {
				c.t.Logf("ApplicationMaster: %v", err)
			}
			return 1
		}
		return 0
	}
}

// as is a client who claims to be a user.
func (c *cluster) as(user string) *rpc.Client {
	c.t.Helper()
	d := rpc.Dialer{Protocol: wire.ApplicationClient, User: user}
	client, err := d.Dial(context.Background(), c.at.Client)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { client.Close() })
	return client
}

// node adds a node of 4 GiB and 8 cores.
func (c *cluster) node() *peer.Node {
	c.t.Helper()
	n, err := peer.StartNode(c.nodeConfig())
	if err != nil {
		c.t.Fatal(err)
	}
	c.nodes = append(c.nodes, n)
	return n
}

func (c *cluster) nodeConfig() peer.NodeConfig {
	return peer.NodeConfig{Tracker: c.at.Tracker, Host: "127.0.0.1", Resource: wire.Resource{Memory: 4096, VCores: 8},
		Run: func(ctx context.Context, p peer.Process) int32 {
			if p.Master {
				return c.master(ctx, &peer.Master{Address: c.at.Master, Token: p.Token}, p.ID)
			}
			return c.task(ctx, p.ID)
		}}
}

func invoke[R any, P interface {
	*R
	proto.Decoder
}](c *cluster, client *rpc.Client, method string, q proto.Message) R {
	c.t.Helper()
	var r R
	if err := client.Call(context.Background(), method, q, P(&r)); err != nil {
		c.t.Fatal(err)
	}
	return r
}

// submit submits an application whose ApplicationMaster has 512 MiB.
func (c *cluster) submit(change func(*wire.Submission)) wire.ApplicationID {
	c.t.Helper()
	named := invoke[wire.NewApplication](c, c.client, "getNewApplication", &wire.Empty{})
	s := wire.Submission{
		ID:       named.ID,
		Name:     "job",
		Type:     "MAPREDUCE",
		Resource: &wire.Resource{Memory: 512, VCores: 1},
		Launch:   wire.NewLaunchContext("master"),
	}
	if change != nil {
		change(&s)
	}
	invoke[wire.Empty](c, c.client, "submitApplication", &wire.SubmitRequest{Submission: s})
	return s.ID
}

func (c *cluster) report(id wire.ApplicationID) wire.ApplicationReport {
	c.t.Helper()
	return invoke[wire.ApplicationResponse](
		c,
		c.client,
		"getApplicationReport",
		&wire.ApplicationRequest{ID: id},
	).Report
}

// until waits for something that must happen soon, and fails when it does not in a time that is long on any machine.
func (c *cluster) until(what string, ok func() bool) {
	c.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("waited in vain: %s", what)
		}
	}
}

// ends waits for an application's end.
func (c *cluster) ends(id wire.ApplicationID, want wire.AppState) wire.ApplicationReport {
	c.t.Helper()
	var r wire.ApplicationReport
	c.until(fmt.Sprint(id, " is ", want), func() bool {
		r = c.report(id)
		return r.State >= wire.AppFinished
	})
	if r.State != want {
		c.t.Fatalf("%s is %s, want %s: %s", id, r.State, want, r.Diagnostics)
	}
	return r
}

// clean waits until nothing of any application is left: no process on a node, nothing that a node may not forget, no
// room booked, and every node that had a part of it was told.
func (c *cluster) clean(ids ...wire.ApplicationID) {
	c.t.Helper()
	c.until("nodes have nothing left", func() bool {
		for _, n := range c.nodes {
			if _, known := n.Running(); known > 0 {
				return false
			}
		}
		return true
	})
	for _, id := range ids {
		c.until(fmt.Sprint(id, " is cleaned up"), func() bool {
			for _, n := range c.nodes {
				if n.Cleaned(id) {
					return true
				}
			}
			return false
		})
	}
	c.look(func(m *manager) {
		if m.leases.count+m.nodes.containers > 0 {
			c.t.Errorf("%d containers with room and %d known are left", m.leases.count, m.nodes.containers)
		}
		if used := m.core.Queues[0].Used; used != (m.core.Queues[0].Used.Sub(used)) {
			c.t.Errorf("the core has %v in use", used)
		}
		if m.core.Refused() > 0 {
			c.t.Errorf("the core refused %d actions of the policy: %v", m.core.Refused(), m.core.Refusals())
		}
		for i, n := range m.core.Nodes {
			if n.Used[0] != 0 {
				c.t.Errorf("node %d has %v in use", i+1, n.Used)
			}
		}
		for _, app := range m.apps.list {
			for _, a := range app.attempts {
				if a.containers.count > 0 {
					c.t.Errorf("%s has %d containers left", a.id, a.containers.count)
				}
			}
		}
		for _, n := range m.nodes.list {
			if len(n.containers) > 0 {
				c.t.Errorf("node %s has %d containers left", n.id, len(n.containers))
			}
		}
		if l := m.live.containers.count + m.live.masters.count + m.live.finishing.count; l > 0 {
			c.t.Errorf("%d things are still waited for", l)
		}
	})
}

// runs waits until nodes have said of so many containers that they run, which is after they began to.
func (c *cluster) runs(want int) {
	c.t.Helper()
	c.until(fmt.Sprint("the ResourceManager has heard that ", want, " containers run"), func() bool {
		got := 0
		c.look(func(m *manager) {
			for _, lease := range m.leases.slots {
				if lease != nil && lease.state == running {
					got++
				}
			}
		})
		return got == want
	})
}

// silence lets time pass on the ResourceManager's clock until something has happened because a peer was silent for
// Expiry.Node. Nodes that are named beat every while, so that they are not lost. All other expiries of the
// configuration must be longer.
func (c *cluster) silence(what string, happened func() bool, but ...*peer.Node) {
	c.t.Helper()
	for end := time.Now().Add(patience); !happened(); {
		if time.Now().After(end) {
			c.t.Fatalf("waited in vain: %s", what)
		}
		var now time.Time
		var step time.Duration
		c.look(func(m *manager) {
			now, step = m.now, m.config.Expiry.Node*6/10
			c.ahead += step
		})
		for _, n := range but {
			c.until("a node beats", func() (beat bool) {
				c.look(func(m *manager) { beat = m.nodes.byID[n.ID()].heard.Sub(now) >= step })
				return beat
			})
		}
	}
}

// look reads the state in a turn.
func (c *cluster) look(f func(*manager)) {
	c.rm.front.ask(func(m *manager) (answer, error) { f(m); return nil, nil })
}

func TestJob(t *testing.T) {
	c := start(t, nil)
	c.node()
	c.node()
	id := c.submit(nil)
	r := c.ends(id, wire.AppFinished)
	if r.Final != wire.Succeeded || r.User != "alice" || r.Queue != "root.default" || r.Progress != 1 ||
		r.Attempt.Attempt != 1 ||
		r.Finish < r.Start {
		t.Errorf("report %+v", r)
	}
	c.clean(id)
	// Placed and answered in the same call, the ask is never counted twice: as many containers as tasks.
	if got := c.given.Load(); got != 10 {
		t.Errorf("%d containers were given for 10 tasks", got)
	}
}

// More than the cluster holds: waves. Two jobs at once get all their tasks done, whatever order the policy chooses,
// twenty times.
func TestContention(t *testing.T) {
	for _, name := range []string{"fifo", "fair", "capacity", "srpt", "fspy"} {
		t.Run(name, func(t *testing.T) {
			c := start(t, func(config *Config) {
				p, _, err := policy.Parse(name)
				if err != nil {
					t.Fatal(err)
				}
				config.Core.Policy = p
				config.Queues.Tree = []*sched.QueueSpec{
					{Name: sched.DefaultQueue, Masters: 1},
				} // else one master holds all that they may
			})
			c.node()
			c.master = c.job(20)
			for range 4 {
				a, b := c.submit(nil), c.submit(nil)
				c.ends(a, wire.AppFinished)
				c.ends(b, wire.AppFinished)
				c.clean(a, b)
			}
			if got := c.given.Load(); got != 4*2*20 {
				t.Errorf("%d containers were given for 8 jobs of 20 tasks", got)
			}
		})
	}
}

// A task that fails is asked for again.
func TestFailedTasks(t *testing.T) {
	c := start(t, nil)
	c.node()
	var n atomic.Int32
	c.task = func(context.Context, wire.ContainerID) int32 {
		if n.Add(1)%3 == 0 {
			return 1
		}
		return 0
	}
	id := c.submit(nil)
	c.ends(id, wire.AppFinished)
	c.clean(id)
	if got := c.given.Load(); got != 14 { // 10 successes need 14 tries when the third, sixth, ninth and twelfth fail
		t.Errorf("%d containers, want 14", got)
	}
}

func TestSecondAttempt(t *testing.T) {
	c := start(t, nil)
	c.node()
	job := c.job(3)
	c.master = func(ctx context.Context, m *peer.Master, id wire.ContainerID) int32 {
		if id.Attempt.Attempt == 1 { // dies with a container running that it was given
			m.Register(ctx)
			r, err := m.Allocate(
				ctx,
				&wire.AllocateRequest{
					Asks: []wire.ResourceRequest{
						{
							Priority:   1,
							Place:      "*",
							Resource:   wire.Resource{Memory: 256, VCores: 1},
							Containers: 2,
							Relax:      true,
						},
					},
				},
			)
			if err != nil || len(r.Allocated) != 2 || m.Start(ctx, &r.Allocated[0]) != nil {
				t.Errorf("first attempt: %v", err)
			}
			return 137
		}
		return job(ctx, m, id)
	}
	c.task = func(ctx context.Context, id wire.ContainerID) int32 {
		if id.Attempt.Attempt == 1 {
			<-ctx.Done()
		}
		return 0
	}
	id := c.submit(nil)
	if r := c.ends(id, wire.AppFinished); r.Attempt.Attempt != 2 {
		t.Errorf("finished in attempt %d", r.Attempt.Attempt)
	}
	c.clean(id)
	attempts := invoke[wire.AttemptsResponse](
		c,
		c.client,
		"getApplicationAttempts",
		&wire.ApplicationRequest{ID: id},
	).Reports
	if len(attempts) != 2 || attempts[0].State != wire.AttemptFailed || attempts[1].State != wire.AttemptFinished {
		t.Errorf("attempts %+v", attempts)
	}
}

// An ApplicationMaster that ends without having said so has failed, with whatever status; two are one too many.
func TestFailedApplication(t *testing.T) {
	c := start(t, nil)
	c.node()
	c.master = func(context.Context, *peer.Master, wire.ContainerID) int32 { return 0 }
	id := c.submit(nil)
	if r := c.ends(id, wire.AppFailed); r.Attempt.Attempt != 2 || r.Final != wire.Failed {
		t.Errorf("report %+v", r)
	}
	c.clean(id)
	once := c.submit(func(s *wire.Submission) { s.MaxAttempts = 1 })
	if r := c.ends(once, wire.AppFailed); r.Attempt.Attempt != 1 {
		t.Errorf("with one attempt allowed: %+v", r)
	}
	c.clean(once)
}

func TestKill(t *testing.T) {
	c := start(t, nil)
	n := c.node()
	c.task = func(ctx context.Context, _ wire.ContainerID) int32 { <-ctx.Done(); return 0 }
	id := c.submit(nil)
	c.until("7 tasks run beside the ApplicationMaster", func() bool { running, _ := n.Running(); return running == 8 })
	err := c.as("mallory").Call(t.Context(), "forceKillApplication", &wire.KillRequest{ID: id}, nil)
	if e := new(rpc.Error); !errors.As(err, &e) || e.Class != classAccess {
		t.Errorf("another user's kill: %v", err)
	}
	if r := c.report(id); r.State != wire.AppRunning || r.Usage.Containers != 8 || r.Usage.Used.Memory != 4096 {
		t.Errorf("after a refused kill: %+v", r)
	}
	c.until("it is killed", func() bool {
		return invoke[wire.KillResponse](
			c,
			c.client,
			"forceKillApplication",
			&wire.KillRequest{ID: id, Diagnostics: "enough"},
		).Done
	})
	why := fmt.Sprintf("Application %s was killed by user alice at 127.0.0.1 with diagnostic message: enough", id)
	if r := c.ends(id, wire.AppKilled); r.Final != wire.Killed || r.Diagnostics != why {
		t.Errorf("report %+v", r)
	}
	c.clean(id)
	waits := c.submit(nil) // killed before it has begun, because nothing fits
	invoke[wire.KillResponse](c, c.as("root"), "forceKillApplication", &wire.KillRequest{ID: waits})
	c.ends(waits, wire.AppKilled)
	c.clean()
}

// onlyNodesExpire makes silence a matter of nodes alone.
func onlyNodesExpire(config *Config) {
	config.Expiry = Expiry{Node: time.Hour, Master: ages, Container: ages, Finish: ages, Launch: ages}
}

// A node that falls silent takes its containers with it. The job goes on elsewhere.
func TestNodeLost(t *testing.T) {
	c := start(t, onlyNodesExpire)
	first := c.node()
	c.master = c.job(12)
	release := make(chan bool)
	c.task = func(ctx context.Context, _ wire.ContainerID) int32 {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return 0
	}
	id := c.submit(nil)
	c.until("the first node is full", func() bool { running, _ := first.Running(); return running == 8 })
	second := c.node()
	c.until("tasks run on the second node", func() bool { running, _ := second.Running(); return running == 5 })
	second.Crash()
	c.nodes = c.nodes[:1]
	c.silence("the node is lost", func() bool {
		return invoke[wire.ClusterMetrics](c, c.client, "getClusterMetrics", &wire.Empty{}).Lost == 1
	}, first)
	close(release)
	c.ends(id, wire.AppFinished)
	c.clean(id)
	if got := c.given.Load(); got != 17 { // 12, and the five lost ones again
		t.Errorf("%d containers, want 17", got)
	}
}

// A node that is cut off for longer than is borne runs on. What it ran is given to others; when it comes back, it ends
// that, and is given work anew.
func TestNodeCutOff(t *testing.T) {
	c := start(t, onlyNodesExpire)
	first := c.node()
	c.master = c.job(12)
	var started atomic.Int32
	release := make(chan bool)
	c.task = func(ctx context.Context, _ wire.ContainerID) int32 {
		started.Add(1)
		select {
		case <-release:
		case <-ctx.Done():
		}
		return 0
	}
	id := c.submit(nil)
	c.until("the first node is full", func() bool { running, _ := first.Running(); return running == 8 })
	p, err := peer.StartProxy(c.at.Tracker, func(int) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	config := c.nodeConfig()
	config.Tracker = p.Address()
	second, err := peer.StartNode(config)
	if err != nil {
		t.Fatal(err)
	}
	c.nodes = append(c.nodes, second)
	c.until("tasks run on the second node", func() bool { running, _ := second.Running(); return running == 5 })
	p.Cut(true)
	c.silence("the node is lost", func() bool {
		return invoke[wire.ClusterMetrics](c, c.client, "getClusterMetrics", &wire.Empty{}).Lost == 1
	}, first)
	if running, _ := second.Running(); running != 5 || started.Load() != 12 {
		t.Errorf("%d containers run on the lost node, %d tasks have begun; want 5 of 12", running, started.Load())
	}
	p.Cut(false)
	c.until(
		"the node has ended what it ran, and runs the same tasks anew",
		func() bool { running, _ := second.Running(); return running == 5 && started.Load() == 17 },
	)
	close(release)
	c.ends(id, wire.AppFinished)
	c.clean(id)
	if got := c.given.Load(); got != 17 { // 12, and the five lost ones again
		t.Errorf("%d containers, want 17", got)
	}
}

// Every seventh reply to nodes and to ApplicationMasters is lost after the call was carried out. Nothing is lost or
// doubled by that.
func TestLostReplies(t *testing.T) {
	c := start(t, nil)
	for _, at := range []*string{&c.at.Tracker, &c.at.Master} {
		p, err := peer.StartProxy(*at, func(n int) bool { return n%7 == 0 })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if p.Close(); p.Lost() < 2 {
				t.Errorf("%d replies were lost: too few for the test to say anything", p.Lost())
			}
		})
		*at = p.Address()
	}
	c.node()
	c.node()
	c.master = c.job(200)
	id := c.submit(nil)
	c.ends(id, wire.AppFinished)
	c.clean(id)
	if got := c.given.Load(); got != 200 {
		t.Errorf("%d containers were given for 200 tasks", got)
	}
}

// All keys change four times while a job runs, each time after its nodes learned the new ones. Tasks start under every
// key, before and after it is used. The test moves the clock of the ResourceManager, a day for each change.
func TestKeysRoll(t *testing.T) {
	const (
		rolls, tasks = 4, 40
		full         = 7 // tasks on the node, beside the ApplicationMaster
		day          = 24 * time.Hour
	)
	c := start(t, func(config *Config) {
		config.Keys = Keys{Roll: day, Delay: time.Hour}
		config.Expiry = Expiry{Node: ages, Master: ages, Container: ages, Finish: ages, Launch: ages}
	})
	n := c.node()
	c.master = c.job(tasks)
	var started atomic.Int32
	release := make(chan bool, tasks)
	c.task = func(ctx context.Context, _ wire.ContainerID) int32 {
		started.Add(1)
		select {
		case <-release:
		case <-ctx.Done():
		}
		return 0
	}
	var key int32
	c.look(func(m *manager) { key = m.keys.container.Current().ID })
	id := c.submit(nil)
	want := int32(full)
	replace := func(tasks int32) { // so many tasks end, and others start in their place
		for range tasks {
			release <- true
		}
		want += tasks
		c.until("tasks run in place of those that ended", func() bool { return started.Load() == want })
	}
	replace(0)
	for range rolls {
		key++
		c.look(func(*manager) { c.ahead += day })
		seen := int32(-1) // the reply to the node that was the last when the keys were offered
		c.until("new keys are offered", func() (offered bool) {
			c.look(func(m *manager) {
				last := m.nodes.byID[n.ID()].last // nil: all tasks have started before the node beat once
				if offered = last != nil && m.keys.container.Offered().ID == key; offered {
					seen = last.ResponseID
				}
			})
			return offered
		})
		c.until("the node says that it knows them", func() (known bool) {
			c.look(func(m *manager) {
				r := m.nodes.byID[n.ID()].last
				known = r.ResponseID != seen && r.ContainerKey == nil && r.NodeKey == nil
			})
			return known
		})
		replace(4)
		c.look(func(*manager) { c.ahead += time.Hour })
		c.until("the new keys are used", func() (used bool) {
			c.look(func(m *manager) { used = m.keys.container.Current().ID == key })
			return used
		})
		replace(4)
	}
	close(release)
	c.ends(id, wire.AppFinished)
	c.clean(id)
	if got := c.given.Load(); got != tasks {
		t.Errorf("%d containers were given for %d tasks", got, tasks)
	}
}

// A node that joins after keys were offered and before they are used starts containers before and after they are.
func TestNodeJoinsWhileKeysRoll(t *testing.T) {
	const day = 24 * time.Hour
	c := start(t, func(config *Config) {
		config.Keys = Keys{Roll: day, Delay: time.Hour}
		config.Expiry = Expiry{Node: ages, Master: ages, Container: ages, Finish: ages, Launch: ages}
	})
	var old int32
	c.look(func(m *manager) { old, c.ahead = m.keys.container.Current().ID, day })
	c.until("new keys are offered", func() (offered bool) {
		c.look(func(m *manager) {
			k := m.keys.container
			offered = k.Offered().ID != old && k.Current().ID == old
		})
		return offered
	})
	c.node()
	c.master = c.job(3)
	c.ends(c.submit(nil), wire.AppFinished)
	c.look(func(*manager) { c.ahead += time.Hour })
	c.until("the new keys are used", func() (used bool) {
		c.look(func(m *manager) { used = m.keys.container.Current().ID != old })
		return used
	})
	c.ends(c.submit(nil), wire.AppFinished)
}

// An ApplicationMaster that the user runs himself: its token comes with the report, and its last word ends the
// application.
func TestUnmanaged(t *testing.T) {
	c := start(t, nil)
	c.node()
	id := c.submit(func(s *wire.Submission) { s.Unmanaged = true })
	r := c.report(id)
	if r.MasterToken == nil || !r.Unmanaged {
		t.Fatalf("report %+v", r)
	}
	if other := invoke[wire.ApplicationResponse](c, c.as("mallory"), "getApplicationReport",
		&wire.ApplicationRequest{ID: id}).Report; other.MasterToken != nil {
		t.Error("another user is given the token")
	}
	if exit := c.job(9)(t.Context(), &peer.Master{Address: c.at.Master, Token: *r.MasterToken},
		wire.ContainerID{}); exit != 0 {
		t.Fatalf("exit status %d", exit)
	}
	c.ends(id, wire.AppFinished)
	c.clean(id)
}

// What ApplicationMasters may not do is refused, by the exceptions that Hadoop's act on, and disturbs nothing.
func TestRefused(t *testing.T) {
	c := start(t, nil)
	c.node()
	unmanaged := func() (wire.ApplicationID, *peer.Master) {
		id := c.submit(func(s *wire.Submission) { s.Unmanaged = true })
		return id, &peer.Master{Address: c.at.Master, Token: *c.report(id).MasterToken}
	}
	_, a := unmanaged()
	id, b := unmanaged()
	ctx := t.Context()
	ask := func(r wire.ResourceRequest) *wire.AllocateRequest {
		return &wire.AllocateRequest{Asks: []wire.ResourceRequest{r}}
	}
	refused := func(what string, err error, class string) {
		t.Helper()
		if e := new(rpc.Error); !errors.As(err, &e) || e.Class != class {
			t.Errorf("%s: %v, want %s", what, err, class)
		}
	}
	_, err := a.Allocate(ctx, &wire.AllocateRequest{})
	refused("a call before registering", err, classNotRegistered)
	refused("an end before registering", a.Finish(ctx, wire.Succeeded), classNotRegistered)
	for _, m := range []*peer.Master{a, b} {
		if _, err := m.Register(ctx); err != nil {
			t.Fatal(err)
		}
	}
	_, err = a.Register(ctx)
	refused("a second registration", err, classInvalidMaster)
	_, err = a.Allocate(
		ctx,
		ask(wire.ResourceRequest{Place: "*", Resource: wire.Resource{Memory: 4097, VCores: 1}, Containers: 1}),
	)
	refused("an ask above the maximum", err, classInvalidResource)
	_, err = a.Allocate(
		ctx,
		ask(wire.ResourceRequest{Place: "*", Resource: wire.Resource{Memory: 1, VCores: 1}, Containers: -1}),
	)
	refused("an ask for less than nothing", err, classInvalidResource)
	_, err = a.Allocate(ctx, ask(wire.ResourceRequest{Place: "*", Label: "gpu", Containers: 1}))
	refused("an ask with a label", err, classInvalidLabel)
	_, err = a.Allocate(ctx, &wire.AllocateRequest{Blacklist: wire.Blacklist{Add: []string{"*"}}})
	refused("a blacklist of everything", err, classInvalidBlacklist)
	got, err := b.Allocate(
		ctx,
		ask(
			wire.ResourceRequest{
				Place:      "*",
				Resource:   wire.Resource{Memory: 256, VCores: 1},
				Containers: 1,
				Relax:      true,
			},
		),
	)
	if err != nil || len(got.Allocated) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	_, err = a.Allocate(ctx, &wire.AllocateRequest{Releases: []wire.ContainerID{got.Allocated[0].ID}})
	refused("a release of another's container", err, classInvalidRelease)
	forged := b.Token
	forged.Password = append([]byte(nil), forged.Password...)
	forged.Password[0]++
	_, err = (&peer.Master{Address: c.at.Master, Token: forged}).Register(ctx)
	refused("a forged token", err, "javax.security.sasl.SaslException")
	err = c.client.Call(
		ctx,
		"getApplicationReport",
		&wire.ApplicationRequest{ID: wire.ApplicationID{ID: 99, Timestamp: 1}},
		nil,
	)
	refused("a report of an unknown application", err, classAppNotFound)
	named := invoke[wire.NewApplication](c, c.client, "getNewApplication", &wire.Empty{}).ID
	for _, queue := range []string{"nowhere", "root.default.alice", "root"} {
		err = c.client.Call(
			ctx,
			"submitApplication",
			&wire.SubmitRequest{Submission: wire.Submission{ID: named, Queue: queue, Unmanaged: true}},
			nil,
		)
		refused("a submission to queue "+queue, err, classYARN)
	}
	err = c.client.Call(ctx, "submitReservation", &wire.Empty{}, nil)
	refused("what is not done here", err, classYARN)
	if _, err := b.Allocate(ctx, &wire.AllocateRequest{}); err != nil {
		t.Errorf("b was disturbed: %v", err)
	}
	invoke[wire.KillResponse](c, c.client, "forceKillApplication", &wire.KillRequest{ID: id})
	_, err = b.Allocate(ctx, &wire.AllocateRequest{})
	refused("a call after the end", err, classAttemptNotFound)
	a.Close()
	b.Close()
}

// A call that comes again because its reply was lost is answered by the same reply; one out of turn is refused.
func TestRepeatedAllocate(t *testing.T) {
	c := start(t, nil)
	c.node()
	id := c.submit(func(s *wire.Submission) { s.Unmanaged = true })
	token := c.report(id).MasterToken
	d := rpc.Dialer{
		Protocol: wire.ApplicationMaster,
		Secret:   &rpc.Secret{Identifier: token.Identifier, Password: token.Password},
	}
	m, err := d.Dial(t.Context(), c.at.Master)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	invoke[wire.RegisterMasterResponse](c, m, "registerApplicationMaster", &wire.RegisterMasterRequest{})
	q := &wire.AllocateRequest{
		Asks: []wire.ResourceRequest{
			{Place: "*", Resource: wire.Resource{Memory: 256, VCores: 1}, Containers: 3, Relax: true},
		},
	}
	first := invoke[proto.Raw](c, m, "allocate", q)
	again := invoke[proto.Raw](c, m, "allocate", q)
	if string(first) != string(again) {
		t.Errorf("repeated, the call is answered by\n%x, was\n%x", again, first)
	}
	err = m.Call(t.Context(), "allocate", &wire.AllocateRequest{ResponseID: 5}, nil)
	if e := new(rpc.Error); !errors.As(err, &e) || e.Class != classInvalidMaster ||
		!strings.HasSuffix(e.Message, "expect responseId to be 1, but get 5") {
		t.Errorf("a call out of turn: %v", err)
	}
	var r wire.AllocateResponse
	if r.Decode(first); len(r.Allocated) != 3 || len(r.NodeTokens) != 1 {
		t.Errorf("%d containers, %d node tokens", len(r.Allocated), len(r.NodeTokens))
	}
	// Given back, the containers are reported over in the next answer, and their room is free at once because they
	// never ran.
	next := invoke[wire.AllocateResponse](
		c,
		m,
		"allocate",
		&wire.AllocateRequest{ResponseID: 1, Releases: []wire.ContainerID{r.Allocated[0].ID, r.Allocated[1].ID}},
	)
	if len(next.Completed) != 2 || next.Completed[0].Exit != wire.ExitAborted ||
		next.Completed[0].Diagnostics != saidReleased ||
		next.Headroom.Memory != 4096-256 {
		t.Errorf("after the release: %+v", next)
	}
}

// Unhealthy nodes are not used and lose what runs there; excluded ones end, gracefully when nothing runs there any
// more.
func TestNodesLeave(t *testing.T) {
	var excluded atomic.Pointer[[]string]
	c := start(t, func(config *Config) {
		config.Hosts = func() (Hosts, error) {
			if list := excluded.Load(); list != nil {
				return Hosts{Excluded: *list}, nil
			}
			return Hosts{}, nil
		}
	})
	n := c.node()
	release := make(chan bool)
	c.task = func(ctx context.Context, _ wire.ContainerID) int32 {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return 0
	}
	states := func() wire.ClusterMetrics {
		return invoke[wire.ClusterMetrics](c, c.client, "getClusterMetrics", &wire.Empty{})
	}
	n.SetHealthy(false)
	c.until("the node is unhealthy", func() bool { return states().Unhealthy == 1 })
	id := c.submit(nil)
	if r := c.report(id); r.State != wire.AppAccepted || !r.Usage.Known {
		t.Errorf("without a node: %+v", r)
	}
	n.SetHealthy(true)
	c.until("tasks run", func() bool { running, _ := n.Running(); return running == 8 })
	admin := rpc.Dialer{Protocol: wire.Administration, User: "root"}
	root, err := admin.Dial(t.Context(), c.at.Admin)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	stranger := rpc.Dialer{Protocol: wire.Administration, User: "mallory"}
	mallory, err := stranger.Dial(t.Context(), c.at.Admin)
	if err != nil {
		t.Fatal(err)
	}
	defer mallory.Close()
	if e := new(rpc.Error); !errors.As(mallory.Call(t.Context(), "refreshNodes", &wire.RefreshNodes{}, nil), &e) ||
		e.Class != classAccess {
		t.Errorf("a stranger administers: %v", e)
	}
	excluded.Store(&[]string{"127.0.0.1"})
	invoke[wire.Empty](c, root, "refreshNodes", &wire.RefreshNodes{How: wire.DecommissionGraceful, Timeout: -1})
	if s := states(); s.Decommissioning != 1 || s.Active != 0 {
		t.Errorf("leaving gracefully: %+v", s)
	}
	invoke[wire.KillResponse](c, c.client, "forceKillApplication", &wire.KillRequest{ID: id})
	c.until("the node has ended", func() bool { return n.Shutdown() != "" })
	if s := states(); s.Decommissioned != 1 {
		t.Errorf("gone: %+v", s)
	}
	if _, err := peer.StartNode(c.nodeConfig()); err == nil {
		t.Error("an excluded node may register")
	}
	c.look(func(m *manager) {
		if m.leases.count > 0 {
			t.Errorf("%d containers hold room", m.leases.count)
		}
	})
}

// Containers that an ApplicationMaster took and never started are taken back.
func TestUnusedContainers(t *testing.T) {
	c := start(t, func(config *Config) { config.Expiry.Container = 100 * time.Millisecond })
	c.node()
	id := c.submit(func(s *wire.Submission) { s.Unmanaged = true })
	m := &peer.Master{Address: c.at.Master, Token: *c.report(id).MasterToken}
	defer m.Close()
	m.Register(t.Context())
	r, err := m.Allocate(
		t.Context(),
		&wire.AllocateRequest{
			Asks: []wire.ResourceRequest{
				{Place: "*", Resource: wire.Resource{Memory: 256, VCores: 1}, Containers: 2, Relax: true},
			},
		},
	)
	if err != nil || len(r.Allocated) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	var over []wire.ContainerStatus
	c.until("the containers are over", func() bool {
		r, err := m.Allocate(t.Context(), &wire.AllocateRequest{})
		if err != nil {
			t.Fatal(err)
		}
		over = append(over, r.Completed...)
		return len(over) == 2
	})
	if over[0].Exit != wire.ExitAborted || over[0].Diagnostics != saidExpired {
		t.Errorf("%+v", over[0])
	}
	if err := m.Finish(t.Context(), wire.Succeeded); err != nil {
		t.Fatal(err)
	}
	c.ends(id, wire.AppFinished)
	c.clean()
}

// An ApplicationMaster that falls silent is taken for dead.
func TestSilentMaster(t *testing.T) {
	c := start(t, func(config *Config) { config.Expiry.Master = 150 * time.Millisecond })
	c.node()
	c.master = func(ctx context.Context, m *peer.Master, _ wire.ContainerID) int32 {
		m.Register(ctx)
		m.Close()
		<-ctx.Done()
		return 0
	}
	id := c.submit(nil)
	if r := c.ends(id, wire.AppFailed); r.Attempt.Attempt != 2 {
		t.Errorf("report %+v", r)
	}
	c.clean(id)
}

// endlessJob is an ApplicationMaster that registers, and beats until it is ended.
func (c *cluster) endlessJob() func(context.Context, *peer.Master, wire.ContainerID) int32 {
	return func(ctx context.Context, m *peer.Master, _ wire.ContainerID) int32 {
		defer m.Close()
		if _, err := m.Register(ctx); err != nil {
			return 1
		}
		<-ctx.Done()
		return 0
	}
}
