package yarn

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/peer"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/sched"
)

// gpus are so many GPUs, as peers write them.
func gpus(n int64) wire.Others { return wire.Others("").Plus(wire.Amount{Kind: gpuKind, Value: n}) }

// disk is so much disk.
func disk(units string, n int64) wire.Others {
	return wire.Others("").Plus(wire.Amount{Kind: "disk", Units: units, Value: n})
}

// withKinds has GPUs, and disk in GiB.
func withKinds(c *Config) {
	c.Sizes.Kinds = []Kind{{Name: "disk", Units: "Gi"}, {Name: gpuKind, Max: 4}}
}

// gpuNode adds a node of 4 GiB and 8 cores with GPUs, and 20 GiB of disk which it says in other units.
func (c *cluster) gpuNode(n int64) *peer.Node {
	c.t.Helper()
	config := c.nodeConfig()
	config.Resource.Others = gpus(n) + disk("Mi", 20<<10)
	node, err := peer.StartNode(config)
	if err != nil {
		c.t.Fatal(err)
	}
	c.nodes = append(c.nodes, node)
	return node
}

func askFor(n int32, r wire.Resource) *wire.AllocateRequest {
	return &wire.AllocateRequest{Asks: []wire.ResourceRequest{{Priority: 20, Place: wire.Anywhere, Resource: r,
		Containers: n, Relax: true, Allocation: -1}}}
}

// granted beats until there are so many containers, with the rest of what was asked for not there.
func (c *cluster) granted(m *peer.Master, q *wire.AllocateRequest, n int) (list []wire.Container) {
	c.t.Helper()
	c.until("containers are granted", func() bool {
		r, err := m.Allocate(c.t.Context(), q)
		if err != nil {
			c.t.Fatal(err)
		}
		q = &wire.AllocateRequest{}
		list = append(list, r.Allocated...)
		return len(list) >= n
	})
	if len(list) != n {
		c.t.Fatalf("%d containers are granted, want %d", len(list), n)
	}
	return list
}

// Containers that ask for GPUs get them on the node that has some, and as many as it has: their containers and tokens
// carry them, so does what is told of node, container and cluster, and what a container gives back another gets.
func TestGPUs(t *testing.T) {
	c := start(t, withKinds)
	n := c.gpuNode(2)
	c.node()
	c.task = func(ctx context.Context, _ wire.ContainerID) int32 { <-ctx.Done(); return 0 }
	id := c.submit(func(s *wire.Submission) { s.Unmanaged = true })
	m := &peer.Master{Address: c.at.Master, Token: *c.report(id).MasterToken}
	defer m.Close()
	r, err := m.Register(t.Context())
	types := []wire.ResourceType{{Name: "memory-mb", Units: "Mi"}, {Name: "vcores"}, {Name: "disk", Units: "Gi"},
		{Name: gpuKind}}
	most := disk("Gi", 20) + gpus(2)
	if err != nil || !slices.Equal(r.Types, types) || r.Maximum.Others != most {
		t.Fatalf("registered: %+v, %v", r, err)
	}
	size := wire.Resource{Memory: 512, VCores: 1, Others: gpus(1) + disk("Mi", 1025)}
	list := c.granted(m, askFor(3, size), 2)
	want := wire.Resource{Memory: 512, VCores: 1, Others: disk("Gi", 1) + gpus(1)}
	for i := range list {
		if list[i].Resource != want || list[i].Node != n.ID() {
			t.Errorf("granted %+v, want %+v on %s", list[i], want, n.ID())
		}
		if err := m.Start(t.Context(), &list[i]); err != nil {
			t.Fatal(err)
		}
	}
	c.until("both run", func() bool { running, _ := n.Running(); return running == 2 })
	c.look(func(m *manager) {
		if node := m.core.Node(1); node.Used[sched.Accelerators] != 2 || node.Used[sched.SlotWeight] != 2 ||
			m.core.Classes[node.Class-1].Name != "gpu" || m.core.Capacity[sched.Accelerators] != 2 {
			t.Errorf("the core has %+v of class %s", node, m.core.Classes[node.Class-1].Name)
		}
	})
	const info = ".resourceInformations.resourceInformation"
	for path, want := range map[string]string{
		"/nodes/" + n.ID().String(): "node.usedResource",
		"/metrics":                  "clusterMetrics.totalUsedResourcesAcrossPartition",
		"/scheduler":                "scheduler.schedulerInfo.resourcesUsed",
	} {
		_, v := c.rest("GET", path, "")
		list, _ := at(v, want+".resourceInformations").(map[string]any)
		kinds, _ := list["resourceInformation"].([]any)
		if len(kinds) != 4 || at(kinds[3], "name") != gpuKind || at(kinds[3], "value") != 2.0 ||
			at(kinds[3], "maximumAllocation") != 4.0 || at(kinds[2], "units") != "Gi" {
			t.Errorf("%s: %s%s is %v", path, want, info, kinds)
		}
	}
	reports := invoke[wire.ContainersResponse](c, c.client, "getContainers",
		&wire.AttemptRequest{ID: list[0].ID.Attempt})
	if len(reports.Reports) != 2 || reports.Reports[0].Resource != want {
		t.Errorf("containers: %+v", reports.Reports)
	}
	again := c.granted(m, &wire.AllocateRequest{Releases: []wire.ContainerID{list[0].ID}}, 1)
	if again[0].Resource != want || again[0].Node != n.ID() {
		t.Errorf("after one was given back: %+v", again[0])
	}
}

// What asks for a kind of resource and cannot get it is refused in Hadoop's words.
func TestKindsAreRefused(t *testing.T) {
	kinds := []Kind{{Name: gpuKind, Max: 4, Min: 2}, {Name: "disk", Units: "Gi"}}
	s := Sizes{MinMemory: 512, Kinds: kinds}.withDefaults()
	text := func(o wire.Others) string {
		err := s.check(wire.Resource{Memory: 512, VCores: 1, Others: o}, s.most())
		if err == nil {
			return ""
		}
		return err.Error()
	}
	one := func(kind, units string, n int64) wire.Others {
		return wire.Others("").Plus(wire.Amount{Kind: kind, Units: units, Value: n})
	}
	const greater, less = "requested resource is greater than maximum allowed allocation. Requested resource type=[",
		"requested resource is less than 0! Requested resource type=["
	for o, want := range map[wire.Others]string{
		gpus(4):                       "",
		gpus(4) + one(gpuKind, "", 5): greater + "yarn.io/gpu], Requested resource=<memory:512, vCores:1, ",
		gpus(5) + one(gpuKind, "", 4): "",
		gpus(5): "yarn.io/gpu: 5>, maximum allowed allocation=<memory:8192, vCores:4, yarn.io/gpu: 4, " +
			"disk: 9223372036854775807Gi>, ",
		gpus(-1): less + "yarn.io/gpu]",
		one("yarn.io/fpga", "", 1): greater + "yarn.io/fpga], Requested resource=<memory:512, vCores:1, " +
			"yarn.io/fpga: 1>, maximum allowed allocation=<memory:8192, ",
		one("disk", "Ti", 64<<20):                        "",
		one("disk", "Ti", 64<<20+1):                      greater + "disk]",
		one("disk", "x", 1):                              greater + "disk]",
		one("disk", "Pi", math.MaxInt64):                 greater + "disk]",
		one(strings.Repeat("x", wire.MostOthers), "", 1): greater + "more kinds than there may be]",
	} {
		if got := text(o); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%q: %q, want %q", o, got, want)
		}
	}
	if got := s.normal(wire.Resource{Memory: 1, Others: gpus(3)}); got.Others != gpus(4) || got.Memory != 512 {
		t.Errorf("normal is %+v", got)
	}
	if got := s.normal(wire.Resource{}); got.Others != gpus(2) {
		t.Errorf("the least is %+v", got)
	}

	// What no node has is refused when nodes have had the time to come, and what one has is not.
	f := newFew(t)
	f.m.config.Sizes.Kinds = placed([]Kind{{Name: gpuKind}})
	ask := func(n int64) error {
		q := asks("* 1 true")
		q.ResponseID, q.Asks[0].Resource.Others = f.id, gpus(n)
		_, err := f.do(func(m *manager) (answer, error) { return master{m, f.master}.allocate(q) })
		if err == nil {
			f.id++
		}
		return err
	}
	if err := ask(1); err != nil {
		t.Errorf("in the first seconds: %v", err)
	}
	f.now = f.now.Add(nodesWait)
	if err := ask(1); class(err) != classInvalidResource || !strings.Contains(err.Error(), "[yarn.io/gpu]") {
		t.Errorf("no node has any: %v", err)
	}
	f.do(func(m *manager) (answer, error) {
		return tracker{m}.register(&wire.RegisterNodeRequest{Node: wire.NodeID{Host: "g", Port: 9},
			Resource: wire.Resource{Memory: 1024, VCores: 4, Others: gpus(1)}}, nil)
	})
	if err := ask(1); err != nil {
		t.Errorf("a node has one: %v", err)
	}
	if err := ask(2); class(err) != classInvalidResource {
		t.Errorf("no node has two: %v", err)
	}
	for _, n := range []int64{mostOfKind + 1, -1} { // a node may not say more than sums can bear, nor less than nothing
		f.do(func(m *manager) (answer, error) {
			return tracker{m}.register(&wire.RegisterNodeRequest{Node: wire.NodeID{Host: "h", Port: 9},
				Resource: wire.Resource{Memory: 1024, VCores: 4, Others: gpus(n)}}, nil)
		})
		if f.m.nodes.byID[wire.NodeID{Host: "h", Port: 9}] != nil {
			t.Errorf("a node with %d GPUs is let in", n)
		}
	}
}

// A node is of the class of the first device that it has some of.
func TestDevice(t *testing.T) {
	s := Sizes{Kinds: placed([]Kind{{Name: gpuKind}, {Name: "disk"}, {Name: fpgaKind}})}
	fpgas := func(n int64) wire.Others { return wire.Others("").Plus(wire.Amount{Kind: fpgaKind, Value: n}) }
	for o, want := range map[wire.Others]string{
		"": "", disk("", 5): "", gpus(1): "gpu", fpgas(2): "fpga",
		gpus(1) + fpgas(2): "gpu", gpus(0) + fpgas(2): "fpga",
	} {
		if got := s.device(wire.Resource{Others: o}); got != want {
			t.Errorf("%q is of class %q, want %q", o, got, want)
		}
	}
}

// Amounts of one unit in another, as Hadoop's UnitsConversionUtil has them.
func TestConvert(t *testing.T) {
	for _, c := range []struct {
		n        int64
		from, to string
		want     int64
		ok       bool
	}{
		{5, "", "", 5, true}, {1, "Gi", "Mi", 1024, true}, {1025, "Mi", "Gi", 1, true}, {-1025, "Mi", "Gi", -1, true},
		{1, "k", "", 1000, true}, {1500, "m", "", 1, true}, {1, "Ki", "k", 1, true}, {1, "M", "Ki", 976, true},
		{1, "P", "p", 0, false}, {3, "T", "n", 0, false}, {9000, "P", "m", 0, false}, {1, "Pi", "Ti", 1024, true},
		{1, "x", "", 0, false}, {1, "", "mi", 0, false}, {math.MaxInt64, "", "m", 0, false}, {7, "x", "x", 7, true},
	} {
		if n, ok := convert(c.n, c.from, c.to); ok != c.ok || ok && n != c.want {
			t.Errorf("%d%s is %d%s, %v; want %d, %v", c.n, c.from, n, c.to, ok, c.want, c.ok)
		}
	}
}

// A folder's resource-types.xml says which kinds there are, and in which steps containers get them.
func TestResourceTypesFile(t *testing.T) {
	read := func(lines string) (Sizes, string) {
		text := "<configuration>"
		for line := range strings.Lines(lines) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			text += "<property><name>yarn.resource-types" + name + "</name><value>" + value + "</value></property>"
		}
		config, notes, err := Site(withFile(t, "yarn.scheduler.minimum-allocation-mb=256", kindsFile,
			text+"</configuration>"))
		if len(notes) > 0 {
			t.Errorf("%s: notes %q", lines, notes)
		}
		if err != nil {
			return config.Sizes, err.Error()
		}
		return config.Sizes, ""
	}
	s, wrong := read(`=disk, yarn.io/gpu , memory-mb,example.org/net
		.disk.units=Gi
		.disk.minimum-allocation=2
		.disk.maximum-allocation=100
		.disk.type=COUNTABLE
		.memory-mb.minimum-allocation=512
		.vcores.maximum-allocation=9
		.yarn.io/gpu.tags=a,b`)
	want := []Kind{{"disk", "Gi", 2, 100, sched.SlotWeight}, {gpuKind, "", 0, math.MaxInt64, sched.Accelerators},
		{"example.org/net", "", 0, math.MaxInt64, sched.NetworkIO}}
	if wrong != "" || !slices.Equal(s.Kinds, want) || s.MinMemory != 512 || s.MaxVCores != 9 {
		t.Errorf("read %+v, %s", s, wrong)
	}
	for lines, want := range map[string]string{
		"=a,b,c,d,e": `yarn.resource-types is "a,b,c,d,e": must be at most 4 kinds beyond memory and cores, and has 5`,
		"=a,a":       `yarn.resource-types is "a,a": must be names that differ: a is there twice`,
		"=memory":    `must be names such as yarn.io/gpu, separated by commas, not "memory"`,
		"=1a":        `not "1a"`,
		"=a\n.a.units=kg": `yarn.resource-types.a.units is "kg": must be nothing, or one of p, n, u, m, k, M, G, ` +
			`T, P, Ki, Mi, Gi, Ti, Pi`,
		"=yarn.io/gpu\n.yarn.io/gpu.units=k":                         "yarn.io/gpu has units of its own",
		"=memory-mb\n.memory-mb.units=Gi":                            "memory-mb has units of its own",
		"=a\n.a.type=EXCLUSIVE":                                      `.a.type is "EXCLUSIVE": must be COUNTABLE`,
		"=a\n.a.maximum-allocation=0":                                "a whole number from 1 to ",
		"=a\n.a.minimum-allocation=7\n.a.maximum-allocation=6":       "a.maximum-allocation, which is 6",
		"=a,b,c,d,memory-mb,vcores\n.memory-mb.minimum-allocation=1": "",
	} {
		if _, wrong := read(lines); !strings.Contains(wrong, want) || want == "" && wrong != "" {
			t.Errorf("%q: %q, want %q", lines, wrong, want)
		}
	}
}

// Queues may have amounts of other kinds, under both schedulers.
func TestQueuesOfKinds(t *testing.T) {
	kinds := placed([]Kind{{Name: gpuKind}, {Name: "disk", Units: "Gi"}})
	want := sched.Resources{sched.Memory: 10240, sched.VCores: 12, sched.Accelerators: 2, sched.SlotWeight: 5}
	if r, ok := amounts("memory=10Gi,vcores=12,yarn.io/gpu=2,disk=5Gi", true, kinds, mebibytes); !ok || r != want {
		t.Errorf("read %v, %v", r, ok)
	}
	for _, bad := range []string{"yarn.io/gpu=2Gi", "disk=5", "yarn.io/fpga=1"} {
		if _, ok := amounts(bad, true, kinds, mebibytes); ok {
			t.Errorf("%s is read", bad)
		}
	}
	var q Queues
	err := q.parseFair("f", []byte(`<allocations><queue name="a"><maxResources>memory-mb=10240, vcores=12,
		yarn.io/gpu=2, disk=5Gi</maxResources></queue></allocations>`), kinds, new([]string))
	if err != nil || q.Tree[0].Max.Amount != want {
		t.Errorf("read %+v, %v", q.Tree, err)
	}
}

// A restart keeps what containers hold of other kinds, and the seconds of what is over.
func TestRestartKeepsGPUs(t *testing.T) {
	state := filepath.Join(t.TempDir(), "rm.db")
	at := newPorts().addresses(t)
	keep := func(config *Config) { withKinds(config); config.Kept.File, config.Addresses = state, at }
	c := start(t, keep)
	n := c.gpuNode(3)
	c.task = func(ctx context.Context, _ wire.ContainerID) int32 { <-ctx.Done(); return 0 }
	id, m := c.unmanaged()
	over, old := c.unmanaged()
	c.granted(old, askFor(1, wire.Resource{Memory: 512, VCores: 1, Others: gpus(1)}), 1)
	c.until("it has used a GPU for a second", func() bool { return c.report(over).Usage.MemorySeconds >= 512 })
	if err := old.Finish(t.Context(), wire.Succeeded); err != nil {
		t.Fatal(err)
	}
	var used wire.Others
	c.until("it is over", func() bool {
		c.look(func(m *manager) { used = m.apps.byID[over].report().Usage.OtherSeconds })
		return c.report(over).State == wire.AppFinished && used != ""
	})
	list := c.granted(m, askFor(1, wire.Resource{Memory: 512, VCores: 1, Others: gpus(2)}), 1)
	if err := m.Start(t.Context(), &list[0]); err != nil {
		t.Fatal(err)
	}
	c.until("it runs", func() bool {
		up := false
		c.look(func(m *manager) { up = m.container(list[0].ID).state == running })
		return up
	})
	c.stop()

	again := start(t, keep)
	again.nodes, c.nodes = append(again.nodes, n), nil
	again.until("the container holds its GPUs again", func() bool {
		held, class := int64(0), ""
		again.look(func(m *manager) {
			if len(m.core.Nodes) > 0 && m.apps.byID[over].report().Usage.OtherSeconds == used {
				held, class = m.core.Node(1).Used[sched.Accelerators], m.core.Classes[0].Name
			}
		})
		return held == 2 && class == "gpu"
	})
	again.look(func(m *manager) {
		if m.apps.byID[id].over {
			t.Error("its application is over")
		}
		for _, l := range m.leases.slots {
			if l != nil && l.resource.Others != gpus(2) {
				t.Errorf("%s has %+v", l.id, l.resource)
			}
		}
	})
}

// Queues that are read again have the kinds with which the ResourceManager was started, whatever the file of kinds says
// now.
func TestRereadQueuesKeepKinds(t *testing.T) {
	dir := site(t, "")
	write := func(file, properties string) {
		t.Helper()
		if err := os.Rename(filepath.Join(site(t, properties), "yarn-site.xml"), filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	write("capacity-scheduler.xml", "yarn.scheduler.capacity.root.queues=a,b\n"+
		"yarn.scheduler.capacity.root.a.capacity=[memory=1024,vcores=1,disk=7]\n"+
		"yarn.scheduler.capacity.root.b.capacity=[memory=1024,vcores=1]")
	write("resource-types.xml", "yarn.resource-types=disk")
	config, _, err := Site(dir)
	if err != nil {
		t.Fatal(err)
	}
	write("resource-types.xml", "yarn.resource-types=net,disk")
	q, err := config.Reread()
	if err != nil || !reflect.DeepEqual(q.Tree, config.Queues.Tree) {
		t.Errorf("%+v, %v; want %+v as before", q.Tree[0].Min, err, config.Queues.Tree[0].Min)
	}
}
