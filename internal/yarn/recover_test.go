package yarn

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/peer"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// patient is a job whose ApplicationMaster outlives its ResourceManager.
func (c *cluster) patient(tasks int32) func(context.Context, *peer.Master, wire.ContainerID) int32 {
	job := c.job(tasks)
	return func(ctx context.Context, m *peer.Master, id wire.ContainerID) int32 {
		m.Patience = patience
		return job(ctx, m, id)
	}
}

// A ResourceManager that keeps its state takes everything over from the one before: applications and their containers
// go on, tokens stay good, what is over is reported, and ids of containers differ between the lives. So it is, too, if
// its state was handed over to Hadoop's ResourceManager and taken over from that one's store.
func TestRestartTakesOver(t *testing.T) {
	t.Run("after itself", func(t *testing.T) { takesOver(t, func(string) {}) })
	t.Run("by way of Hadoop's store", func(t *testing.T) {
		takesOver(t, func(state string) {
			for range 2 { // what came from Hadoop's goes back to it
				hadoop := t.TempDir()
				out, err := HandOver(t.Context(), HadoopStore{Folder: hadoop}, Config{}, state)
				if err != nil {
					t.Fatal(err)
				}
				in, err := TakeOver(t.Context(), HadoopStore{Folder: hadoop}, Config{}, state)
				if err != nil {
					t.Fatal(err)
				}
				want := Moved{Apps: 2, Running: 1, Tokens: 1, To: state}
				there := want
				there.To, there.Aside = hadoop, out.Aside
				if !reflect.DeepEqual(in, want) || !reflect.DeepEqual(out, there) {
					t.Errorf("handed over %+v, taken over %+v, want %+v", out, in, want)
				}
			}
		})
	})
}

// takesOver has a second life follow a first one, and does something to the file of the state in between.
func takesOver(t *testing.T, between func(state string)) {
	state := filepath.Join(t.TempDir(), "rm.db")
	at := newPorts().addresses(t)
	keep := func(config *Config) { config.Kept.File, config.Addresses = state, at }
	c := start(t, keep)
	n := c.node()
	over := c.submit(nil)
	c.ends(over, wire.AppFinished)
	release := make(chan bool)
	c.task = func(ctx context.Context, _ wire.ContainerID) int32 {
		select {
		case <-release:
			return 0
		case <-ctx.Done():
			return 1
		}
	}
	c.until("its ApplicationMaster has ended", func() bool { return c.given.Swap(0) > 0 })
	c.master = c.patient(10)
	id := c.submit(func(s *wire.Submission) { s.Name, s.Tags = "kept", []string{"a", "b"} })
	c.until("7 tasks run beside the ApplicationMaster", func() bool { running, _ := n.Running(); return running == 8 })
	token := invoke[wire.TokenGiven](c, c.client, "getDelegationToken", &wire.TokenWanted{Renewer: "alice"})
	unsent := invoke[wire.NewApplication](c, c.client, "getNewApplication", &wire.Empty{}).ID
	identity := c.rm.front.m.identity()
	before := c.report(over)
	c.stop()
	between(state)

	again := start(t, keep)
	again.nodes, c.nodes = append(again.nodes, n), nil
	c.at, c.client = again.at, again.client
	c.rm = again.rm
	c.rm.front.look(func(m *manager) {
		app := m.apps.byID[id]
		job := m.core.Job(app.job)
		if want := time.UnixMilli(app.times.started).Sub(m.started); job.Submitted != want || want >= 0 {
			t.Errorf("policies see a job that was submitted at %v of this life, want %v", job.Submitted, want)
		}
	})
	if m := c.rm.front.m; m.identity() <= identity || m.life.epoch < 1 {
		t.Errorf("the second life is %d, epoch %d; the first was %d", m.identity(), m.life.epoch, identity)
	}
	if r := c.report(over); r.State != wire.AppFinished || r.Final != wire.Succeeded || r.Finish != before.Finish ||
		r.Usage.MemorySeconds != before.Usage.MemorySeconds || r.User != "alice" || r.Attempt != before.Attempt {
		t.Errorf("what was over is told of as %+v, was %+v", r, before)
	}
	c.until("it runs again", func() bool { return c.report(id).State == wire.AppRunning })
	c.until("all 8 containers hold room", func() bool {
		held := 0
		c.look(func(m *manager) { held = m.leases.count })
		return held == 8
	})
	if running, _ := n.Running(); running != 8 {
		t.Errorf("%d containers run after the restart, want the 8 from before", running)
	}
	if r := c.report(id); r.Name != "kept" || len(r.Tags) != 2 || r.Usage.Containers != 8 || len(r.Diagnostics) > 0 {
		t.Errorf("it is told of as %+v", r)
	}
	invoke[wire.TokenRenewed](c, c.client, "renewDelegationToken", &token)
	s := wire.Submission{ID: unsent, Name: "late", Type: "YARN", Resource: &wire.Resource{Memory: 512, VCores: 1},
		Launch: wire.NewLaunchContext("master"), Unmanaged: true}
	invoke[wire.Empty](c, c.client, "submitApplication", &wire.SubmitRequest{Submission: s})
	invoke[wire.KillResponse](c, c.client, "forceKillApplication", &wire.KillRequest{ID: unsent})
	close(release)
	if r := c.ends(id, wire.AppFinished); r.Attempt.Attempt != 1 {
		t.Errorf("attempt %d ended it, want the first", r.Attempt.Attempt)
	}
	c.until("its ApplicationMaster has counted what it was given", func() bool { return c.given.Load() > 0 })
	if n := c.given.Load(); n != 10 {
		t.Errorf("it was given %d containers for 10 tasks", n)
	}
	c.master, c.task = c.job(3), func(context.Context, wire.ContainerID) int32 { return 0 }
	next := c.submit(nil)
	c.ends(next, wire.AppFinished)
	again.nodes = []*peer.Node{n}
	again.clean(next)
}

// An ApplicationMaster that died with its node, or whose node comes back without it, is started again elsewhere; one
// that ended without a ResourceManager counts as failed. What an ApplicationMaster gives back before its node is there
// ends.
func TestRestartWithoutMaster(t *testing.T) {
	state := filepath.Join(t.TempDir(), "rm.db")
	at := newPorts().addresses(t)
	keep := func(config *Config) {
		onlyNodesExpire(config)
		config.Kept.File, config.Addresses = state, at
	}
	c := start(t, keep)
	gone, stays := c.node(), c.node()
	var masters atomic.Int32
	die := make(chan bool)
	c.task = func(ctx context.Context, _ wire.ContainerID) int32 { <-ctx.Done(); return 1 }
	c.master = func(ctx context.Context, m *peer.Master, id wire.ContainerID) int32 {
		m.Patience = patience
		if masters.Add(1) > 8 { // the second of each
			return c.job(0)(ctx, m, id)
		}
		if _, err := m.Register(ctx); err != nil {
			return 1
		}
		select {
		case <-ctx.Done():
		case <-die:
		}
		return 7
	}
	var ids []wire.ApplicationID
	for range 8 {
		ids = append(ids, c.submit(nil))
	}
	c.until("all run", func() bool {
		for _, id := range ids {
			if c.report(id).State != wire.AppRunning {
				return false
			}
		}
		return true
	})
	c.stop()
	gone.Crash()
	close(die) // the others end while no ResourceManager is there
	again := start(t, keep)
	again.nodes, c.nodes = append(again.nodes, stays), nil
	c.at, c.client, c.rm = again.at, again.client, again.rm
	again.until("the other node is back", func() bool {
		return invoke[wire.ClusterMetrics](again, again.client, "getClusterMetrics", &wire.Empty{}).Active == 1
	})
	again.silence("all have another attempt", func() bool {
		for _, id := range ids {
			if c.report(id).Attempt.Attempt != 2 {
				return false
			}
		}
		return true
	}, stays)
	for _, id := range ids {
		if r := c.ends(id, wire.AppFinished); r.Attempt.Attempt != 2 {
			t.Errorf("%s ended with attempt %d, want the second", id, r.Attempt.Attempt)
		}
	}
}

// `sojourn rm` is killed by signal 9 again and again, with 200 nodes and 10 applications that have 1,600 containers.
// None is lost, none is granted twice, and each time they hold their room again within seconds.
func TestKilledAgainAndAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program: not with -short")
	}
	const nodes, apps, lives = 200, 10, 3
	dir, binary := t.TempDir(), program(t)
	c := &cluster{t: t, at: newPorts().addresses(t)}
	c.writeSite(dir, map[string]string{
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "200",
		"yarn.scheduler.skip.node.multiplier":                     "1000000",
		"yarn.scheduler.capacity.maximum-am-resource-percent":     "1",
		"yarn.scheduler.capacity.root.default.maximum-capacity":   "100",
		"yarn.scheduler.capacity.root.default.user-limit-factor":  "100",
		"yarn.scheduler.capacity.maximum-applications":            "1000",
		"yarn.resourcemanager.am.max-attempts":                    "1",
	})
	var seen sync.Map // of container ids
	release := make(chan bool)
	const tasks = nodes*8/apps - 1 // beside the ApplicationMaster
	job := c.patient(tasks)
	c.master = func(ctx context.Context, m *peer.Master, id wire.ContainerID) int32 { return job(ctx, m, id) }
	var ended atomic.Int32
	c.task = func(ctx context.Context, id wire.ContainerID) int32 {
		if _, twice := seen.LoadOrStore(id, true); twice {
			t.Errorf("two containers are called %s", id)
		}
		select {
		case <-release:
			return 0
		case <-ctx.Done():
			ended.Add(1)
			return 1
		}
	}
	more := []string{"--policy", "fifo", "--state", filepath.Join(dir, "state")}
	rm := startVerb(t, binary, dir, "1.rec", more...)
	t.Cleanup(func() {
		var wait sync.WaitGroup
		for _, n := range c.nodes {
			wait.Go(n.Crash)
		}
		wait.Wait()
	})
	for range nodes {
		c.node()
	}
	c.client = c.as("alice")
	var ids []wire.ApplicationID
	for range apps {
		ids = append(ids, c.submit(nil))
	}
	full := func() bool { return c.allocated() == nodes*8 }
	c.until("the cluster is full", full)
	for life := range lives {
		rm.end(syscall.SIGKILL)
		began := time.Now()
		rm = startVerb(t, binary, dir, fmt.Sprint(life+2, ".rec"), more...)
		c.client = c.as("alice")
		ready := time.Since(began)
		c.until("every container holds its room again", full)
		t.Logf("life %d: ready after %v, %d containers known again after %v", life+2, ready, nodes*8, time.Since(began))
	}
	if n := ended.Load(); n > 0 {
		t.Errorf("%d containers were ended by restarts", n)
	}
	close(release)
	for _, id := range ids {
		if r := c.ends(id, wire.AppFinished); r.Attempt.Attempt != 1 {
			t.Errorf("%s needed attempt %d", id, r.Attempt.Attempt)
		}
	}
	count := 0
	seen.Range(func(any, any) bool { count++; return true })
	if count != apps*tasks {
		t.Errorf("%d containers ran for %d tasks", count, apps*tasks)
	}
	if err := rm.end(syscall.SIGTERM); err != nil {
		t.Errorf("asked to end: %v", err)
	}
}

// allocated returns how many containers the ResourceManager says there are; -1: it does not answer.
func (c *cluster) allocated() int {
	r, err := http.Get("http://" + c.at.Web + "/ws/v1/cluster/metrics")
	if err != nil {
		return -1
	}
	defer r.Body.Close()
	var said struct {
		ClusterMetrics struct {
			ContainersAllocated int `json:"containersAllocated"`
		} `json:"clusterMetrics"`
	}
	if json.NewDecoder(r.Body).Decode(&said) != nil {
		return -1
	}
	return said.ClusterMetrics.ContainersAllocated
}

// A container of an earlier life that its ApplicationMaster gives back before its node has registered ends when the
// node registers, however late that is and whatever other applications give back. What is noted of that is bounded for
// each application and for all together, and ends with the attempt and with the application.
func TestGivenBackBeforeTheNodeRegisters(t *testing.T) {
	f, k := newFleet(t, 1), &memory{values: map[string][]byte{}}
	keepIn(t, f.m, k)
	var ids []wire.ApplicationID
	for range 4 {
		ids = append(ids, f.submitOne(true).id)
	}
	f.do(func(m *manager) (answer, error) { // as a start does
		saveLife(m)
		m.saveKeys()
		return nil, nil
	})
	p, err := readPast(k.values)
	if err != nil {
		t.Fatal(err)
	}

	f = newFleet(t, 0)
	keepIn(t, f.m, &memory{values: map[string][]byte{}})
	f.do(func(m *manager) (answer, error) { m.restore(p); return nil, nil })
	begin := func(app *application) *attempt {
		f.do(func(m *manager) (answer, error) {
			return master{m, app.current()}.register(&wire.RegisterMasterRequest{})
		})
		return app.current()
	}
	giveBack := func(a *attempt, first, count int64) {
		q := &wire.AllocateRequest{}
		for i := range count {
			q.Releases = append(q.Releases, wire.ContainerID{Attempt: a.id, ID: first + i})
		}
		if _, err := f.do(func(m *manager) (answer, error) { return nil, master{m, a}.take(q) }); err != nil {
			t.Fatal(err)
		}
	}
	noted := func(what string, app *application, want int) {
		t.Helper()
		if got := len(f.m.finds.given[app]); got != want {
			t.Errorf("%s: %d containers are noted, want %d", what, got, want)
		}
		all := 0
		for _, of := range f.m.finds.given {
			all += len(of)
		}
		if all != f.m.finds.allGiven {
			t.Errorf("%s: %d containers of all applications are noted, %d are counted", what, all, f.m.finds.allGiven)
		}
	}
	rogue, honest, failing := begin(f.m.apps.byID[ids[0]]), begin(f.m.apps.byID[ids[1]]), begin(f.m.apps.byID[ids[2]])
	giveBack(rogue, 1_000_000, mostGiven+500)
	noted("given back by one application", rogue.app, mostGiven)
	giveBack(honest, 7, 1)
	giveBack(failing, 7, 1)
	fresh := begin(f.submitOne(true))
	giveBack(fresh, 7, 1)
	noted("of this life", fresh.app, 0)

	arrive := func(node int32, id int64) {
		t.Helper()
		q := registration(node, wire.Resource{Memory: 4096, VCores: 8})
		q.Containers = []wire.NodeContainer{{ID: wire.ContainerID{Attempt: honest.id, ID: id},
			State: wire.ContainerRunning, Resource: wire.Resource{Memory: 512, VCores: 1}}}
		f.do(func(m *manager) (answer, error) { return tracker{m}.register(q, &net.TCPAddr{}) })
		if c := f.m.container(q.Containers[0].ID); c == nil || c.leaving == nil || !c.node.stopped[c.id] {
			t.Errorf("the container that was given back goes on: %+v", c)
		}
		noted("of the node that registered", honest.app, 0)
	}
	arrive(1, 7)

	f.do(func(m *manager) (answer, error) { failing.finish(wire.AttemptFailed, ""); return nil, nil })
	noted("after the end of the attempt", failing.app, 0)
	f.do(func(m *manager) (answer, error) {
		return client{m, "user"}.kill(nil, &wire.KillRequest{ID: rogue.app.id})
	})
	if _, there := f.m.finds.given[rogue.app]; there {
		t.Error("an application that is over may give containers back")
	}
	giveBack(honest, 8, 1)
	f.now = f.now.Add(f.m.config.Expiry.Node)
	f.f.turn(nil)
	noted("after the time in which nodes that are silent are lost", honest.app, 1)
	arrive(2, 8)

	f.m.finds.allGiven = mostAllGiven - 1
	giveBack(honest, 9, 2)
	if got := len(f.m.finds.given[honest.app]); got != 1 || f.m.finds.allGiven != mostAllGiven {
		t.Errorf("%d containers are noted where there is room for one, %d of all", got, f.m.finds.allGiven)
	}
}

// An application is submitted in a message that has the field of the submission twice, as protobuf allows. It runs, and
// after a restart it is the same application still.
func TestSubmissionInPartsIsKept(t *testing.T) {
	state, at := filepath.Join(t.TempDir(), "state"), newPorts().addresses(t)
	keep := func(config *Config) { config.Kept.File, config.Addresses = state, at }
	c := start(t, keep)
	named := invoke[wire.NewApplication](c, c.client, "getNewApplication", &wire.Empty{})
	one := wire.Submission{ID: named.ID, Name: "one", Resource: &wire.Resource{Memory: 512, VCores: 1},
		Launch: wire.NewLaunchContext("master")}
	q := proto.Raw(proto.AppendMessage(nil, 1, &one))
	q = proto.AppendMessage(q, 1, proto.Raw(proto.AppendString(nil, 2, "two")))
	if err := c.client.Call(t.Context(), "submitApplication", &q, nil); err != nil {
		t.Fatal(err)
	}
	c.stop()
	c = start(t, keep)
	c.node()
	c.master = c.job(1)
	if r := c.ends(named.ID, wire.AppFinished); r.Name != "two" {
		t.Errorf("the application is named %q", r.Name)
	}
}
