package yarn

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/yarn/internal/proto"
	"github.com/sojourn-sched/sojourn/internal/yarn/internal/wire"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// roomWorld is a ResourceManager with one node of 2048 MiB and 4 vcores beside a service.
func roomWorld(t *testing.T, s Room) (*world, func(use *[2]float32) sched.Resources) {
	t.Helper()
	w := &world{t: t, now: time.Unix(1_700_000_000, 0)}
	config := &Config{Room: s}
	var err error
	if config.Core.Policy, _, err = policy.Parse("fifo"); err != nil {
		t.Fatal(err)
	}
	w.open(config.withDefaults(), Hosts{}, w, func() time.Time { return w.now })
	q := &wire.RegisterNodeRequest{
		Node: wire.NodeID{Host: "h", Port: 1}, Resource: wire.Resource{Memory: 2048, VCores: 4},
	}
	if _, err := w.do(func(m *manager) (answer, error) { return tracker{m}.register(q, &net.TCPAddr{}) }); err != nil {
		t.Fatal(err)
	}
	id := int32(0)
	return w, func(use *[2]float32) sched.Resources {
		t.Helper()
		beat := wire.HeartbeatRequest{
			Status: wire.NodeStatus{Node: q.Node, ResponseID: id, Health: wire.Health{OK: true}},
		}
		if use != nil {
			beat.Status.Machine = proto.Append(nil, &wire.Use{Cores: use[0]})
			beat.Status.Utilization = proto.Append(nil, &wire.Use{Cores: use[1]})
		}
		r, err := w.do(func(m *manager) (answer, error) { return tracker{m}.heartbeat(&beat) })
		if err != nil {
			t.Fatal(err)
		}
		id = r.(*wire.HeartbeatResponse).ResponseID
		return w.m.core.Capacity
	}
}

// A timetable leaves a half of each node from 10 s to 20 s, and nothing from then to 30 s.
func TestRoomByTimetable(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	parts := []float64{1, 0.5, 0, 1}
	w, beat := roomWorld(t, Room{Part: func(at time.Time) (float64, time.Time) {
		i := min(int(at.Sub(start)/(10*time.Second)), 3)
		if i == 3 {
			return parts[3], time.Time{}
		}
		return parts[i], start.Add(time.Duration(i+1) * 10 * time.Second)
	}})
	for second := range 45 {
		w.now = start.Add(time.Duration(second) * time.Second)
		got, part := beat(nil), parts[min(second/10, 3)]
		if got[sched.Memory] != int64(2048*part) || got[sched.VCores] != int64(4*part) {
			t.Errorf("at %d s the node offers %v, want the part %v", second, got, part)
		}
	}
}

// Where processes beside containers use 2.4 of 4 processors, a node comes to offer two vcores, and at least one however
// much they use. What containers use themselves does not count, and a node that says nothing offers all.
func TestRoomMeasured(t *testing.T) {
	_, beat := roomWorld(t, Room{Measured: true})
	for i, c := range []struct {
		use    *[2]float32
		vcores int64
	}{
		{nil, 4}, {&[2]float32{3.5, 3.5}, 4}, {&[2]float32{2.4, 0}, 3}, {&[2]float32{2.9, 0.5}, 2},
		{&[2]float32{99, 0}, 1}, {&[2]float32{99, 0}, 1}, {&[2]float32{1, 2}, 2}, {&[2]float32{1, 2}, 3}, {nil, 3},
		{&[2]float32{0, 0}, 4},
	} {
		if got := beat(c.use); got[sched.VCores] != c.vcores || got[sched.Memory] != 2048 {
			t.Errorf("beat %d, use %v: the node offers %v, want %d vcores", i, c.use, got, c.vcores)
		}
	}
}

// A host whose class is said is of that class; other nodes are of one by their size. Wrong lines are named.
func TestClasses(t *testing.T) {
	classes, err := parseClasses("classes", []byte("# accelerated\na gpu\n\nb  fast # by vectors\n"))
	if err != nil {
		t.Fatal(err)
	}
	f := newFew(t)
	f.m.config.Room.Classes = classes
	for i, want := range []string{"gpu", "fast", "1024MiB-4"} {
		if got := f.m.nodes.list[i].spec().Class; got != want {
			t.Errorf("node %d is of class %q, want %q", i+1, got, want)
		}
	}
	for text, says := range map[string]string{
		"a gpu\nb":         "classes:2: must be a host and a class",
		"a gpu fast":       "classes:1: must be a host and a class",
		"a gpu\n\na fast":  "classes:3: host a is of class gpu already",
		"a \x00gpu":        "classes:1: must be a host and a class",
		"a gpu\na gpu\n#x": "",
	} {
		_, err := parseClasses("classes", []byte(text))
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%q: error %v, want %q", text, err, says)
		}
	}
}

// Every host of a table that can be read has one class, and no text makes the reader panic.
func FuzzClasses(f *testing.F) {
	f.Add("a gpu\n# b\nc fast # x\n")
	f.Fuzz(func(t *testing.T, text string) {
		classes, err := parseClasses("x", []byte(text))
		if err != nil {
			return
		}
		for host, class := range classes {
			if host == "" || !wellNamed(class) {
				t.Errorf("%q: host %q is of class %q", text, host, class)
			}
		}
	})
}
