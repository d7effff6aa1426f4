package yarn

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

func TestHints(t *testing.T) {
	h, wrong := readHints([]string{"nightly", "sojourn.deadline=10m", "sojourn.size=2h", "sojourn.queue=etl"})
	want := hints{terms: sched.JobSpec{Deadline: 10 * time.Minute}, size: 2 * time.Hour, queue: "etl"}
	if !reflect.DeepEqual(h, want) || len(wrong) != 0 {
		t.Errorf("%+v, %v", h, wrong)
	}
	costs, wrong := readHints([]string{"sojourn.weight=3", "sojourn.goal=5m:1/10m:4"})
	steps := []sched.CostStep{{After: 5 * time.Minute, Cost: 1}, {After: 10 * time.Minute, Cost: 4}}
	if g := costs.terms.Goal; len(wrong) != 0 || g.Metric != sched.MetricSteps || g.Weight != 3 ||
		!slices.Equal(g.Steps, steps) {
		t.Errorf("%+v, %v", g, wrong)
	}
	uses, wrong := readHints([]string{"sojourn.accelerators=gpu/cell", "sojourn.map=vcores:2", "sojourn.delays=3"})
	if p := uses.terms.Profile; len(wrong) != 0 || uses.terms.Delays != 3 ||
		p.Phases[sched.PhaseMap][sched.VCores] != 2 ||
		!slices.Equal(p.Accelerators, []string{"gpu", "cell"}) {
		t.Errorf("%+v, %v", uses.terms, wrong)
	}
	for _, bad := range []string{
		"sojourn.deadline=soon", "sojourn.deadline=-5m", "sojourn.size=0s", "sojourn.sise=2h", "sojourn.",
		"sojourn.goal=tardiness", "sojourn.goal=late", "sojourn.goal=10m:1/5m:4", "sojourn.goal=steps",
		"sojourn.weight=NaN",
		"sojourn.weight=-1", "sojourn.delays=-1", "sojourn.accelerators=gpu/gpu", "sojourn.map=cores:2",
	} {
		if h, wrong := readHints([]string{bad}); len(wrong) != 1 || !reflect.DeepEqual(h, hints{}) ||
			!strings.Contains(wrong[0].Error(), bad) {
			t.Errorf("%s: %+v, %v", bad, h, wrong)
		}
	}
	if h.prior(0, 1) != 2*time.Hour || h.prior(1, 60) != 2*time.Minute || h.prior(2, 60) != 0 || h.prior(1, 0) != 0 {
		t.Error("2 h are 60 tasks of 2 min; of later stages nothing is said")
	}
}

// contended returns whose containers come in which order under a policy, when four of six slots that a first
// application holds are given back, and two others wait for two each.
func contended(
	t *testing.T,
	spec string,
	tags func(name string) []string,
	past map[string][]sched.Time,
) (order []string) {
	t.Helper()
	f := newFew(t)
	p, _, err := policy.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	config := *f.m.config
	history := &model.History{Past: map[string][]model.PastTask{}}
	for key, times := range past {
		for _, took := range times {
			history.Past[key] = append(history.Past[key], model.PastTask{Took: took})
		}
	}
	config.Core.Policy, config.Core.Estimator = p, history
	f.open(&config, Hosts{}, f.world, func() time.Time { return f.now })
	for i, host := range []string{"a", "b", "c"} {
		f.join(host, int32(i+1))
	}
	begin := func(name string) *attempt {
		r, _ := f.do(func(m *manager) (answer, error) { return client{m, ""}.newID(nil) })
		id := r.(*wire.NewApplication).ID
		if _, err := f.do(func(m *manager) (answer, error) {
			return client{m, "ana"}.submit(&wire.SubmitRequest{Submission: wire.Submission{ID: id, Name: name,
				Type: "MAPREDUCE", Unmanaged: true, Tags: tags(name)}})
		}); err != nil {
			t.Fatal(err)
		}
		a := f.m.apps.byID[id].current()
		f.do(func(m *manager) (answer, error) { return master{m, a}.register(&wire.RegisterMasterRequest{}) })
		return a
	}
	beats := map[*attempt]int32{}
	beat := func(a *attempt, q *wire.AllocateRequest) []wire.Container {
		q.ResponseID = beats[a]
		r, err := f.do(func(m *manager) (answer, error) { return master{m, a}.allocate(q) })
		if err != nil {
			t.Fatal(err)
		}
		beats[a]++
		return append([]wire.Container(nil), r.(*wire.AllocateResponse).Allocated...)
	}
	want := func(n int32) *wire.AllocateRequest {
		return &wire.AllocateRequest{
			Asks: []wire.ResourceRequest{
				{
					Priority:   20,
					Place:      "*",
					Resource:   wire.Resource{Memory: 512, VCores: 1},
					Containers: n,
					Relax:      true,
					Allocation: -1,
				},
			},
		}
	}
	first := begin("first")
	held := beat(first, want(6))
	long, short := begin("long"), begin("short")
	beat(long, want(2))
	beat(short, want(2))
	for _, c := range held[:4] {
		beat(first, &wire.AllocateRequest{Releases: []wire.ContainerID{c.ID}})
		for _, a := range []*attempt{long, short} {
			for range beat(a, &wire.AllocateRequest{}) {
				order = append(order, a.app.submission.Name)
			}
		}
	}
	return order
}

// Sizes that were seen, or that a user hints at, decide whose containers come first; without either, who came first.
func TestPredictedSizes(t *testing.T) {
	none := func(string) []string { return nil }
	hinted := func(name string) []string {
		return map[string][]string{"first": {"sojourn.size=1h"}, "long": {"sojourn.size=30m"},
			"short": {"sojourn.size=2m"}}[name]
	}
	due := func(app string) func(string) []string {
		return func(name string) []string {
			if name == app {
				return []string{"sojourn.deadline=90s", "sojourn.weight=2", "sojourn.goal=tardiness"}
			}
			return nil
		}
	}
	past := map[string][]sched.Time{}
	for name, took := range map[string]time.Duration{"first": time.Second, "long": time.Hour, "short": time.Minute} {
		past[(&sched.JobSpec{User: "ana", Name: name, Type: "MAPREDUCE"}).Likeness(sched.Map)] = []sched.Time{
			took,
			took,
		}
	}
	for _, c := range []struct {
		what, policy string
		tags         func(string) []string
		past         map[string][]sched.Time
		want         string
	}{
		{"order of submission", "fifo", none, past, "long long short short"},
		{"predicted", "srpt", none, past, "short short long long"},
		{"hinted", "srpt", hinted, map[string][]sched.Time{}, "short short long long"},
		{"equal shares", "fair", due("short"), past, "long short long short"},
		{"by deadline", "flex:metric=tardiness,least=0", due("short"), past, "short short long long"},
		{"by deadline, the other", "flex:metric=tardiness,least=0", due("long"), past, "long long short short"},
	} {
		if got := strings.Join(contended(t, c.policy, c.tags, c.past), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

// A tag names the queue where the submission does not, and the deadline that policies see.
func TestHintsReachTheCore(t *testing.T) {
	c := start(t, func(config *Config) { config.Queues.Tree = []*sched.QueueSpec{{Name: "default"}, {Name: "etl"}} })
	id := c.submit(func(s *wire.Submission) {
		s.Queue, s.Tags = "default", []string{"sojourn.queue=etl", "sojourn.deadline=90s"}
	})
	other := c.submit(func(s *wire.Submission) { s.Queue, s.Tags = "root.default", []string{"sojourn.queue=etl"} })
	c.look(func(m *manager) {
		if s := m.core.Job(m.apps.byID[id].job).Spec; s.Queue != "etl" || s.Deadline != 90*time.Second {
			t.Errorf("queue %s, deadline %v", s.Queue, s.Deadline)
		}
	})
	if q := c.report(other).Queue; q != "root.default" {
		t.Errorf("a queue that was named is overridden: %s", q)
	}
}

// What was learned of task times is there in the next life, and in its record; the configuration's oddities are told of
// once, before it is ready.
func TestHistoryIsKept(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program: not with -short")
	}
	dir, binary := t.TempDir(), program(t)
	c := &cluster{t: t, at: newPorts().addresses(t)}
	writeSite(t, dir, map[string]string{
		"yarn.resourcemanager.resource-tracker.address": c.at.Tracker,
		"yarn.resourcemanager.scheduler.address":        c.at.Master,
		"yarn.resourcemanager.address":                  c.at.Client, "yarn.resourcemanager.admin.address": c.at.Admin,
		"yarn.resourcemanager.webapp.address":  c.at.Web,
		"yarn.scheduler.minimum-allocation-mb": "256", "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "20",
		"yarn.scheduler.skip.node.multiplier": "1000000",
		"yarn.resourcemanager.oddity":         "7",
	})
	if err := os.WriteFile(filepath.Join(dir, capacityFile),
		[]byte(capacityXML("root.queues=default,etl\nroot.default.capacity=40\nroot.etl.capacity=60")),
		0o644); err != nil {
		t.Fatal(err)
	}
	c.master = c.job(20)
	c.task = func(context.Context, wire.ContainerID) int32 { return 0 }
	state := []string{"--policy", "srpt", "--state", filepath.Join(dir, "state")}
	rm := startVerb(t, binary, dir, "1.rec", state...)
	for what, n := range map[string]int{
		"yarn.resourcemanager.oddity = 7: not understood": 1,
		"a user is who the client says":                   1,
	} {
		if got := strings.Count(strings.Join(rm.said, "\n"), what); got != n {
			t.Errorf("%q is said %d times before it is ready:\n%s", what, got, strings.Join(rm.said, "\n"))
		}
	}
	c.client = c.as("alice")
	c.nodes = append(c.nodes, c.node())
	t.Cleanup(func() { c.nodes[0].Crash() })
	c.ends(c.submit(func(s *wire.Submission) { s.Name, s.Queue = "nightly 2026-01-31", "etl" }), wire.AppFinished)
	if err := rm.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(
		filepath.Join(dir, "state", "history.db"),
		0o600,
		&bolt.Options{ReadOnly: true, Timeout: patience},
	)
	if err != nil {
		t.Fatal(err)
	}
	key := strings.Join([]string{"alice", "nightly #-#-#", "MAPREDUCE", "map"}, "\x00")
	times := 0
	db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bolt.Bucket) error {
			times += bytes.Count(b.Get([]byte(key)), []byte(`"Took"`))
			return nil
		})
	})
	if times != 20 {
		t.Errorf("of 20 maps the history has %d", times)
	}
	db.Close()
	rm = startVerb(t, binary, dir, "2.rec", state...)
	if err := rm.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if header, err := os.ReadFile(filepath.Join(dir, "2.rec")); err != nil ||
		!bytes.Contains(header, []byte("nightly #-#-#")) ||
		!bytes.Contains(header, []byte(`"name":"etl"`)) && !bytes.Contains(header, []byte(`"Name":"etl"`)) {
		t.Errorf("the second record does not begin with what was learned and the queues: %v, %.600q", err, header)
	}
}

// What the policy finds out about goals is in the log of a ResourceManager: 100 hours of work are not done in a minute
// by the 8 cores of a node. An hour of work that is due in a day is not remarked on.
func TestNotesAreLogged(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program: not with -short")
	}
	c, binary, dir := verbCluster(t)
	c.master = c.job(1)
	c.task = func(context.Context, wire.ContainerID) int32 { return 0 }
	rm := startVerb(t, binary, dir, "1.rec", "--policy", "adaptive")
	c.client = c.as("alice")
	n := c.node()
	t.Cleanup(func() { n.Crash() })
	for _, one := range [][]string{
		{"modest", "sojourn.size=1h", "sojourn.deadline=24h"},
		{"hopeless", "sojourn.size=100h", "sojourn.deadline=1m"},
	} {
		c.submit(func(s *wire.Submission) { s.Name, s.Tags = one[0], one[1:] })
	}
	c.until("the log says which goal cannot be met", func() bool {
		return rm.logs("level=WARN", `"policy adaptive"`, "(hopeless)", "be met")
	})
	if rm.logs(`"policy adaptive"`, "(modest)") {
		t.Error("the log says that a goal cannot be met which can")
	}
}

// Strangers who send random bytes to every port are turned away and disturb no caller. A log does not fill with them.
func TestStrangers(t *testing.T) {
	var mu sync.Mutex
	var text strings.Builder
	c := start(t, func(config *Config) {
		config.Log = slog.New(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return text.Write(b)
		}), &slog.HandlerOptions{Level: slog.LevelWarn}))
	})
	c.node()
	c.master = c.job(40)
	began := time.Now()
	id := c.submit(nil)
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		for _, address := range []string{c.at.Tracker, c.at.Master, c.at.Client, c.at.Admin, c.at.Web} {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			b := make([]byte, random.IntN(200))
			for i := range b {
				b[i] = byte(random.Uint32())
			}
			if random.IntN(2) == 0 { // a good beginning
				b = append([]byte("hrpc\x09\x00\x00\x00\x00\x00\x20"), b...)
			}
			conn.Write(b)
			conn.Close()
		}
	}
	c.ends(id, wire.AppFinished)
	c.clean(id)
	c.stop()
	mu.Lock()
	defer mu.Unlock()
	if lines, most := strings.Count(text.String(), "msg=refused"), 4*(int(time.Since(began).Seconds())+2); lines < 1 ||
		lines > most { // one a second for each of four protocols
		t.Errorf("%d lines of strangers in the log, want 1 to %d:\n%s", lines, most, text.String())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
