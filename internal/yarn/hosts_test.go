package yarn

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/rpc"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
)

// fakeNames is a name server that knows the addresses of hosts.
type fakeNames struct {
	mu    sync.Mutex
	known map[string][]netip.Addr
	asked []string // hosts
}

// say sets the addresses of a host.
func (f *fakeNames) say(host string, list ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.known = map[string][]netip.Addr{}
	}
	f.known[host] = nil
	for _, a := range list {
		f.known[host] = append(f.known[host], netip.MustParseAddr(a))
	}
}

// lookUp is a resolver.lookUp.
func (f *fakeNames) lookUp(_ context.Context, host string) ([]netip.Addr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, host)
	if list := f.known[host]; list != nil {
		return list, nil
	}
	return nil, errors.New("no such host")
}

// forget returns which hosts were asked for since the last call, sorted.
func (f *fakeNames) forget() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.asked
	f.asked = nil
	slices.Sort(list)
	return list
}

// listed are lists of hosts as their files have them.
type listed struct{ included, excluded string }

// read writes the files, and returns what is read from them.
func (l listed) read(t *testing.T) Hosts {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"in": l.included, "out": l.excluded} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h, err := readHosts(dir, "in", "out")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// lists are the lists of hosts of a cluster, which a test changes.
type lists struct {
	mu  sync.Mutex
	now Hosts
}

func (l *lists) set(h Hosts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = h
}

// read is a Config.Hosts.
func (l *lists) read() (Hosts, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now, nil
}

// resolve replaces the look-ups of the cluster, before its first node registers.
func (c *cluster) resolve(lookUp func(context.Context, string) ([]netip.Addr, error)) {
	c.look(func(m *manager) { m.nodes.resolver.lookUp = lookUp })
}

// registers has a NodeManager of a host register, and returns what it is told to do.
func (c *cluster) registers(tracker *rpc.Client, host string) wire.NodeAction {
	c.t.Helper()
	q := registration(7, wire.Resource{Memory: 4096, VCores: 4})
	q.Node.Host = host
	return invoke[wire.RegisterNodeResponse](c, tracker, "registerNodeManager", q).Action
}

// beats has a NodeManager of a host beat for the first time, and returns what it is told to do.
func (c *cluster) beats(tracker *rpc.Client, host string) wire.NodeAction {
	c.t.Helper()
	q := &wire.HeartbeatRequest{Status: wire.NodeStatus{Node: wire.NodeID{Host: host, Port: 7},
		Health: wire.Health{OK: true}}}
	return invoke[wire.HeartbeatResponse](c, tracker, "nodeHeartbeat", q).Action
}

// state returns the state of the node of a host.
func (c *cluster) state(host string) (s wire.NodeState) {
	c.look(func(m *manager) {
		if n := m.nodes.byID[wire.NodeID{Host: host, Port: 7}]; n != nil {
			s = n.state
		}
	})
	return s
}

// Lists of hosts may spell an address in any way.
func TestHostsSpellAddresses(t *testing.T) {
	h := listed{"a 10.0.0.7 FD00:0::7 ::ffff:10.0.0.8 010.0.0.9 A # 10.0.0.10",
		"<hosts><host><name>fd00::0:9, b</name><timeout>60</timeout></host></hosts>"}.read(t)
	want := Hosts{Included: []string{"a", "10.0.0.7", "fd00::7", "10.0.0.8", "010.0.0.9", "A"},
		Excluded: []string{"fd00::9", "b"},
		Patience: map[string]time.Duration{"fd00::9": time.Minute, "b": time.Minute}}
	if !reflect.DeepEqual(h, want) {
		t.Errorf("%+v", h)
	}
	for _, c := range []struct {
		lists listed
		want  bool
	}{
		{listed{"a b", "c"}, false}, {listed{"", ""}, false},
		{listed{"a ::1", ""}, true}, {listed{"", "10.0.0.1"}, true},
	} {
		if s := c.lists.read(t).set(); s.addressed != c.want {
			t.Errorf("%+v: an address is named: %v", c.lists, s.addressed)
		}
	}
}

// A host is allowed by its name and its addresses together: one that is excluded counts before one that is included.
func TestNodesByAddress(t *testing.T) {
	const shutdown, normal = wire.NodeActShutdown, wire.NodeNormal
	for _, one := range []struct {
		what  string
		lists listed
		host  string
		want  wire.NodeAction
		asked []string
	}{
		{"by name", listed{"", "a 10.9.9.9"}, "a", shutdown, []string{"a"}},
		{"by address", listed{"", "10.0.0.1"}, "a", shutdown, []string{"a"}},
		{"by its second address", listed{"", "FD00::0:1"}, "a", shutdown, []string{"a"}},
		{"by an address that was mapped", listed{"", "10.0.0.2"}, "b", shutdown, []string{"b"}},
		{"another address", listed{"", "10.0.0.1"}, "b", normal, []string{"b"}},
		{"included by address", listed{"10.0.0.1", ""}, "a", normal, []string{"a"}},
		{"another is", listed{"10.0.0.1", ""}, "b", shutdown, []string{"b"}},
		{"included by address, excluded by name", listed{"10.0.0.1", "a"}, "a", shutdown, []string{"a"}},
		{"included by name, excluded by address", listed{"a", "10.0.0.1"}, "a", shutdown, []string{"a"}},
		{"unknown, included by name", listed{"z 10.0.0.1", ""}, "z", normal, []string{"z"}},
		{"unknown, not included", listed{"10.0.0.1", ""}, "z", shutdown, []string{"z"}},
		{"unknown, not excluded", listed{"", "10.0.0.1"}, "z", normal, []string{"z"}},
		{"no list names an address", listed{"a", "b"}, "a", normal, nil},
		{"no lists", listed{}, "a", normal, nil},
		{"its name is an address", listed{"", "10.0.0.1"}, "10.0.0.1", shutdown, nil},
		{"its name is an address in another spelling", listed{"FD00:0::7", ""}, "fd00::0:7", normal, nil},
		{"its name is another address", listed{"10.0.0.1", ""}, "10.0.0.2", shutdown, nil},
		{"its name is none", listed{"", "10.0.0.1"}, "a\x01", shutdown, nil},
	} {
		t.Run(one.what, func(t *testing.T) {
			var names fakeNames
			names.say("a", "10.0.0.1", "fd00::1")
			names.say("b", "::ffff:10.0.0.2")
			c := start(t, func(config *Config) {
				config.Hosts = func() (Hosts, error) { return one.lists.read(t), nil }
			})
			c.resolve(names.lookUp)
			if got := c.registers(c.tracker(), one.host); got != one.want {
				t.Errorf("told %v, want %v", got, one.want)
			}
			if asked := names.forget(); !slices.Equal(asked, one.asked) {
				t.Errorf("asked for %q, want %q", asked, one.asked)
			}
		})
	}
}

// A node that is not known, as after a restart, registers again and is not shut down: until then its addresses were not
// looked up. The script is asked for the rack of a node that is included by its address.
func TestUnknownNodeByAddress(t *testing.T) {
	var names fakeNames
	names.say("a", "10.0.0.1")
	c := start(t, func(config *Config) {
		config.RackScript = rackScript(t, "echo /one\n")
		config.Hosts = func() (Hosts, error) { return listed{"10.0.0.1", ""}.read(t), nil }
	})
	c.resolve(names.lookUp)
	tracker := c.tracker()
	for _, host := range []string{"a", "b"} {
		if got := c.beats(tracker, host); got != wire.NodeResync {
			t.Errorf("%s, before it registers: told %v", host, got)
		}
	}
	if a, b := c.registers(tracker, "a"), c.registers(tracker, "b"); a != wire.NodeNormal || b != wire.NodeActShutdown {
		t.Errorf("told %v and %v", a, b)
	}
	if got := c.beats(tracker, "b"); got != wire.NodeActShutdown {
		t.Errorf("b, which is not included: told %v", got)
	}
	c.look(func(m *manager) {
		if rack := m.nodes.list[0].rack; rack != "/one" {
			t.Errorf("rack %s", rack)
		}
	})
}

// -refreshNodes looks up the hosts of the nodes that are there, once each, where the lists name addresses now. A host
// that is not found any more keeps its addresses.
func TestRefreshByAddress(t *testing.T) {
	var names fakeNames
	var now lists
	names.say("a", "10.0.0.1")
	names.say("b", "10.0.0.2")
	c := start(t, func(config *Config) { config.Hosts = now.read })
	c.resolve(names.lookUp)
	tracker, root := c.tracker(), c.operator("root")
	refresh := func(l listed) {
		t.Helper()
		now.set(l.read(t))
		invoke[wire.Empty](c, root, "refreshNodes", &wire.RefreshNodes{How: wire.DecommissionNormal})
	}
	for _, host := range []string{"a", "b", "z"} {
		if got := c.registers(tracker, host); got != wire.NodeNormal {
			t.Fatalf("%s: told %v", host, got)
		}
	}
	if refresh(listed{"", "y"}); names.forget() != nil {
		t.Error("looked up although no list names an address")
	}
	refresh(listed{"", "10.0.0.1"})
	if got := names.forget(); !slices.Equal(got, []string{"a", "b", "z"}) {
		t.Errorf("asked for %q", got)
	}
	if a, b, z := c.state("a"), c.state("b"), c.state("z"); a != wire.NodeDecommissioned || b != wire.NodeRunning ||
		z != wire.NodeRunning {
		t.Errorf("in states %v, %v and %v", a, b, z)
	}
	if got := c.beats(tracker, "a"); got != wire.NodeActShutdown {
		t.Errorf("the node that is excluded: told %v", got)
	}
	names.say("b") // is not found
	refresh(listed{"10.0.0.2 z", ""})
	if b, z := c.state("b"), c.state("z"); b != wire.NodeRunning || z != wire.NodeRunning {
		t.Errorf("in states %v and %v", b, z)
	}
	names.say("b", "10.0.0.3")
	if refresh(listed{"10.0.0.2 z", ""}); c.state("b") != wire.NodeDecommissioned {
		t.Errorf("a host with another address now: in state %v", c.state("b"))
	}
	names.say("b", "10.0.0.2")
	if got := c.registers(tracker, "b"); got != wire.NodeNormal {
		t.Errorf("a host that has its address again: told %v", got)
	}
}

// A timeout of an address in the file is that of the node with it. One of the node's name counts before.
func TestPatienceOfAnAddress(t *testing.T) {
	var names fakeNames
	names.say("a", "10.0.0.1")
	for _, one := range []struct {
		file string
		want time.Duration
	}{
		{"<host><name>10.0.0.1</name><timeout>60</timeout></host>", time.Minute},
		{"<host><name>10.0.0.1</name><timeout>60</timeout></host><host><name>a</name><timeout>90</timeout></host>",
			90 * time.Second},
		{"<host><name>10.0.0.1</name></host>", 5 * time.Minute},
		{"<host><name>10.0.0.1</name><timeout>-1</timeout></host>", mostTime},
	} {
		f := newFew(t)
		n := f.runOn("a").node
		f.f.resolver.lookUp = names.lookUp
		if err := f.f.resolver.learn(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		refresh := func(l listed) {
			f.do(func(m *manager) (answer, error) {
				q := &wire.RefreshNodes{How: wire.DecommissionGraceful, Timeout: 300}
				return admin{m, "root"}.refreshNodes(l.read(t), q), nil
			})
		}
		refresh(listed{"", "<hosts>" + one.file + "</hosts>"})
		if n.state != wire.NodeDecommissioning {
			t.Errorf("%s: the node is in state %v", one.file, n.state)
			continue
		}
		if got := n.farewell.patience.at.Sub(f.now); got != one.want {
			t.Errorf("%s: the node may take %v, want %v", one.file, got, one.want)
		}
		if refresh(listed{"10.0.0.1", ""}); n.state != wire.NodeRunning {
			t.Errorf("%s: a node that is allowed again is in state %v", one.file, n.state)
		}
	}
}

// While a name server does not answer, all others are served. A node that registers while -refreshNodes waits is looked
// up as well.
func TestSlowNamesHoldNoTurn(t *testing.T) {
	var now lists
	came, answer := make(chan string), make(chan netip.Addr)
	c := start(t, func(config *Config) { config.Hosts = now.read })
	c.resolve(func(_ context.Context, host string) ([]netip.Addr, error) {
		came <- host
		return []netip.Addr{<-answer}, nil
	})
	bad, good := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	tracker := c.tracker()
	if got := c.registers(tracker, "a"); got != wire.NodeNormal {
		t.Fatalf("a is told %v", got)
	}
	now.set(listed{"", "10.0.0.1"}.read(t))
	root, refreshed := c.operator("root"), make(chan error, 1)
	refresh := func() { refreshed <- root.Call(context.Background(), "refreshNodes", &wire.RefreshNodes{}, nil) }
	go refresh()
	if host := <-came; host != "a" {
		t.Fatalf("asked for %s", host)
	}
	if got := c.registers(tracker, "b"); got != wire.NodeNormal { // its turn comes: the old lists name no address
		t.Errorf("b is told %v", got)
	}
	if got := c.beats(tracker, "a"); got != wire.NodeNormal {
		t.Errorf("a is told %v", got)
	}
	answer <- good
	if host := <-came; host != "b" {
		t.Fatalf("asked for %s, and b has come meanwhile", host)
	}
	answer <- bad
	if err := <-refreshed; err != nil || c.state("a") != wire.NodeRunning || c.state("b") != wire.NodeDecommissioned {
		t.Errorf("%v: a is in state %v, b in state %v", err, c.state("a"), c.state("b"))
	}

	told := make(chan wire.NodeAction, 1)
	other := c.tracker()
	go func() { told <- c.registers(other, "c") }()
	if host := <-came; host != "c" {
		t.Fatalf("asked for %s", host)
	}
	if got := c.beats(tracker, "b"); got != wire.NodeActShutdown {
		t.Errorf("b is told %v", got)
	}
	answer <- good
	if got := <-told; got != wire.NodeNormal {
		t.Errorf("c is told %v", got)
	}
}

// Lists that come to name addresses while a node is about to register count for it.
func TestListsChangeWhileANodeRegisters(t *testing.T) {
	var names fakeNames
	var now lists
	names.say("a", "10.0.0.1")
	script := rackScript(t, "echo > $0.runs\nwhile [ ! -e $0.end ]; do sleep 0.01; done\necho /one\n")
	c := start(t, func(config *Config) { config.RackScript, config.Hosts = script, now.read })
	c.resolve(names.lookUp)
	told, tracker := make(chan wire.NodeAction, 1), c.tracker()
	go func() { told <- c.registers(tracker, "a") }()
	c.until("the script runs", func() bool { _, err := os.Stat(script + ".runs"); return err == nil })
	now.set(listed{"", "10.0.0.1"}.read(t))
	invoke[wire.Empty](c, c.operator("root"), "refreshNodes", &wire.RefreshNodes{})
	if err := os.WriteFile(script+".end", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := <-told; got != wire.NodeActShutdown {
		t.Errorf("a node that is excluded by its address is told %v", got)
	}
}

// Look-ups end in time, however many hosts there are and however slow the name server is. Few run at once.
func TestLookUpsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := 0, 0
		count := func(d int) {
			mu.Lock()
			defer mu.Unlock()
			running += d
			most = max(most, running)
		}
		r := newResolver(func(ctx context.Context, _ string) ([]netip.Addr, error) {
			count(1)
			defer count(-1)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		began := time.Now()
		err := r.learn(t.Context(), "a")
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != lookupTime {
			t.Errorf("one host, after %v: %v", took, err)
		}
		if !r.knows("a") || !slices.Equal(r.names("a"), []string{"a"}) {
			t.Errorf("a is %q, known: %v", r.names("a"), r.knows("a"))
		}
		hosts := make([]string, 100*mostLookUps)
		for i := range hosts {
			hosts[i] = "h" + string(rune('0'+i))
		}
		began = time.Now()
		err = r.learnAll(t.Context(), hosts, func(string, error) {})
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != lookUpsTime {
			t.Errorf("%d hosts, after %v: %v", len(hosts), took, err)
		}
		if most != mostLookUps {
			t.Errorf("%d ran at once, want %d", most, mostLookUps)
		}
	})
}

// Hosts whose addresses were dropped while -refreshNodes looks up others are looked up again.
func TestDroppedAddressesAreLookedUp(t *testing.T) {
	f := newFew(t)
	f.join("a", 9) // a second NodeManager of the host
	learned := map[string]bool{}
	for _, want := range [][]string{{"a", "b", "c"}, nil, {"b"}} {
		if got := f.m.nodes.hostsBeside(learned); !slices.Equal(got, want) {
			t.Errorf("hosts %q, want %q", got, want)
		}
		if want == nil {
			delete(f.f.resolver.known, "b")
			continue
		}
		for _, host := range want {
			f.f.resolver.known[host] = nil
		}
	}
}

// A bounded number of addresses are kept, of a bounded number of hosts.
func TestKnownAddressesAreBounded(t *testing.T) {
	var names fakeNames
	names.say("many", slices.Repeat([]string{"10.0.0.1"}, mostAddresses+1)...)
	names.say("a", "10.0.0.1")
	r := newResolver(names.lookUp)
	if err := r.learn(t.Context(), "many"); err != nil || len(r.names("many")) != 1+mostAddresses {
		t.Errorf("%v: %d names of a host", err, len(r.names("many")))
	}
	for i := range mostHosts {
		r.known["h"+time.Duration(i).String()] = nil
	}
	if err := r.learn(t.Context(), "a"); err != nil || len(r.known) > mostHosts {
		t.Errorf("%v: %d hosts", err, len(r.known))
	}
	if got := r.names("a"); !slices.Equal(got, []string{"a", "10.0.0.1"}) {
		t.Errorf("a is %q", got)
	}
}
