package workload

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

func TestClusterShorthand(t *testing.T) {
	c, err := ParseCluster("nodes=5, map-slots=3,reduce-slots=1,racks=2,speed=1.5,node-bandwidth=100Mbit")
	if err != nil {
		t.Fatal(err)
	}
	slots := sched.Resources{sched.MapSlots: 3, sched.ReduceSlots: 1}
	want := &Cluster{
		Classes: []Class{{Name: "node", Count: 5, Racks: 2, Speed: 1.5, Resources: slots}},
		Network: Network{Node: 12_500_000, Rack: 1_250_000_000},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, want %+v", c, want)
	}
	// Five nodes in two racks: three and two.
	racks := []sched.RackID{1, 1, 1, 2, 2}
	k := 0
	for n, class := range c.Nodes() {
		if n.Rack != racks[k] || n.Capacity != slots || n.Class != "node" || class.Speed != 1.5 ||
			n.Name != "node-"+string(rune('1'+k)) {
			t.Errorf("node %d: %+v of %+v", k+1, n, class)
		}
		k++
	}
	if k != 5 || c.Count() != 5 || c.Capacity() != (sched.Resources{sched.MapSlots: 15, sched.ReduceSlots: 5}) {
		t.Errorf("%d nodes, %v", k, c.Capacity())
	}
	if o := c.Options(); o.MaxReduces != 5 || o.Nodes != 5 || o.ReduceTask != (sched.Resources{sched.ReduceSlots: 1}) {
		t.Errorf("options %+v", o)
	}
}

func TestClusterOptions(t *testing.T) {
	for text, want := range map[string]struct {
		maxReduces int32
		mapTask    sched.Resources
	}{
		// nowhere to run a reduce
		"nodes=600,map-slots=5": {-1, sched.Resources{sched.MapSlots: 1}},
		// by cores, 4 × 4
		"nodes=4,memory=8GiB,vcores=4": {16, sched.Resources{sched.Memory: 1024, sched.VCores: 1}},
		// by memory, 4 × 2
		"nodes=4,memory=2560MiB,vcores=9": {8, sched.Resources{sched.Memory: 1024, sched.VCores: 1}},
		"nodes=4,vcores=3":                {12, sched.Resources{sched.VCores: 1}},
	} {
		c, err := ParseCluster(text)
		if err != nil {
			t.Fatal(err)
		}
		if o := c.Options(); o.MaxReduces != want.maxReduces || o.MapTask != want.mapTask || o.Validate() != nil {
			t.Errorf("%s: %+v, want %+v", text, o, want)
		}
	}
}

// Tasks that ask for nothing find room everywhere, as many as there may be, and the sum does not overflow.
func TestClusterRoomForNothing(t *testing.T) {
	for _, nodes := range []int32{1, 2, 3, MaxNodes} {
		c := &Cluster{Classes: []Class{{Name: "node", Count: nodes, Resources: sched.Resources{sched.Memory: 1024}}}}
		if got, want := c.room(sched.Resources{}), int64(nodes)*MaxTasks; got != want {
			t.Errorf("%d nodes have room for %d tasks, want %d", nodes, got, want)
		}
	}
}

const clusterByHand = `
classes:
  - {name: fast, count: 2, racks: 2, speed: 2, resources: {memory: 8GiB, vcores: 4}}
  - {name: slow, count: 1, resources: {memory: 4096MiB, vcores: 2, accelerators: 1}}
network: {node: 1Gbit, rack: 40Gbit}
queues:
  - name: etl
    weight: 2
    min: 20%
    max: {memory: 4GiB}
    policy: fair
    queues: [{name: daily, masters: 25%}, {name: hourly}]
  - name: adhoc
`

func TestClusterFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(path, []byte(clusterByHand), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := OpenCluster(path)
	if err != nil {
		t.Fatal(err)
	}
	want := &Cluster{
		Classes: []Class{
			{
				Name:      "fast",
				Count:     2,
				Racks:     2,
				Speed:     2,
				Resources: sched.Resources{sched.Memory: 8192, sched.VCores: 4},
			},
			{
				Name:      "slow",
				Count:     1,
				Racks:     1,
				Speed:     1,
				Resources: sched.Resources{sched.Memory: 4096, sched.VCores: 2, sched.Accelerators: 1},
			},
		},
		Network: Network{Node: 125_000_000, Rack: 5_000_000_000},
		Queues: []*sched.QueueSpec{
			{
				Name:   "etl",
				Weight: 2,
				Policy: "fair",
				Min:    sched.Share{Part: 0.2},
				Max:    sched.Share{Amount: sched.Resources{sched.Memory: 4096}},
				Queues: []*sched.QueueSpec{{Name: "daily", Masters: 0.25}, {Name: "hourly"}},
			},
			{Name: "adhoc"},
		},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, want %+v", c, want)
	}
}

func TestClusterErrors(t *testing.T) {
	for text, want := range map[string]string{
		"nodes=0,vcores=1": `nodes: "0" must be a whole number from 1 to 1048576`,
		"nodes=2": "class node: no resources: give map-slots and reduce-slots, or " +
			"memory and vcores",
		"nodes=3,accelerators=1": "classes: no class has memory, vcores, map-slots or reduce-slots: give it one, as " +
			"in memory=8GiB; tasks of jobs that name no resources need it",
		"nodes=2,disk-io=100":                 "classes: no class has memory, vcores, map-slots or reduce-slots",
		"nodes=2,racks=3,vcores=1":            "racks 3: must be from 1 to the number of nodes, 2",
		"nodes=2,vcores=1,vcores=2":           "vcores is given twice",
		"nodes=2,cores=1":                     "cores: unknown; known are nodes, racks, speed",
		"nodes=2,vcores":                      `"vcores" must be key=value`,
		"nodes=2,vcores=-1":                   `vcores: "-1" must be a whole number from 0`,
		"nodes=2,memory=1":                    `memory: "1" must be a whole number of MiB`,
		"nodes=2,vcores=1,speed=0":            "speed 0: must be positive",
		"nodes=2,vcores=1,speed=NaN":          `speed: "NaN" is not a number`,
		"nodes=2,vcores=1,node-bandwidth=0":   `node-bandwidth: "0" is not a bandwidth; write 1Gbit`,
		"nodes=2,vcores=99999999999999999999": `vcores: "99999999999999999999" must be a whole number`,
		"no such file":                        "open cluster",
	} {
		_, err := OpenCluster(text)
		wantError(t, err, want)
	}
	for _, c := range []struct{ old, new, want string }{
		{"count: 2", "count: two", `c.yaml:3:25: classes.count: "two" must be a whole number from 1 to 1048576`},
		{"name: slow", "name: fast", `classes: name "fast": must be there, and different`},
		{"40Gbit", "40Gparsec", `c.yaml:5:30: network.rack: "40Gparsec" is not a bandwidth`},
		{"min: 20%", "min: 20", `c.yaml:9:10: queues.min: "20" must be a part such as 20%`},
		{"masters: 25%", "masters: 0%", `queues.masters: "0%" must be a part above 0%, up to 100% for no limit`},
		{"policy: fair", "polcy: fair", "queues.polcy: is not known here; known are name, weight"},
		{"accelerators", "gpus", "classes.resources.gpus: is not known here; known are memory, vcores"},
		{"classes:", "klasses:", "c.yaml:2:1: klasses: is not known here; known are classes, network, queues"},
	} {
		_, err := ReadCluster("c.yaml", strings.NewReader(strings.Replace(clusterByHand, c.old, c.new, 1)))
		wantError(t, err, c.want)
	}
}

func TestUnits(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "4096": 4096, "128MiB": 128 << 20, "1.5GB": 1.5e9, "1 kB": 1000,
		"2KiB": 2048, "7B": 7, "1PiB": 1 << 50, "1e3": 1000} {
		if n, err := ParseSize(text); err != nil || n != want {
			t.Errorf("size %s: %d, %v, want %d", text, n, err, want)
		}
	}
	for text, want := range map[string]int64{"1Gbit": 125e6, "100Mbit/s": 12.5e6, "125MB": 125e6, "8bit": 1,
		"64kbit": 8000} {
		if n, err := ParseRate(text); err != nil || n != want {
			t.Errorf("rate %s: %d, %v, want %d", text, n, err, want)
		}
	}
	for _, bad := range []string{"", "MiB", "1XB", "-1", "NaN", "Inf", "1e300", "2EiB", "1 2"} {
		if n, err := ParseSize(bad); err == nil {
			t.Errorf("size %q: %d, want an error", bad, n)
		}
	}
	for _, bad := range []string{"", "bit", "Gbit", "-1Gbit", "0", "1e300Gbit", "NaNbit"} {
		if n, err := ParseRate(bad); err == nil {
			t.Errorf("rate %q: %d, want an error", bad, n)
		}
	}
}
