package sim

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

func itoa(n int) string { return strconv.Itoa(n) }

// mrorder41 is the batch of mrorder 4.1: maps × seconds, reduces × seconds, on 8 map and 4 reduce slots.
var mrorder41 = [4]mr{
	{maps: 10, mapTime: 4 * sec, reduces: 2, redTime: 8 * sec, part: 1},
	{maps: 4, mapTime: 2 * sec, reduces: 4, redTime: 2 * sec, part: 1},
	{maps: 2, mapTime: 6 * sec, reduces: 4, redTime: 10 * sec, part: 1},
	{maps: 24, mapTime: 6 * sec, reduces: 6, redTime: 8 * sec, part: 1},
}

// All 24 orders: the makespan and the sum of the completion times in seconds, as mrorder 4.1 lists them.
func TestMROrder41AllOrders(t *testing.T) {
	for line := range strings.SplitSeq(`1234 44/94 · 1243 52/118 · 1324 44/94 · 1342 44/114 · 1423 52/136 · 1432 52/136
· 		2134 44/90 · 2143 52/114 · 2314 44/88 · 2341 40/100 · 2413 46/122 · 2431 46/132 · 3124 42/102 · 3142 42/120
· 3214 44/88 · 		3241 40/100 · 3412 42/138 · 3421 40/118 · 4123 46/150 · 4132 46/158 · 4213 48/150 · 4231 48/156
· 4312 46/168 · 4321 48/166`, "·") {
		order, want, _ := strings.Cut(strings.TrimSpace(line), " ")
		var jobs []*sched.JobSpec
		for _, d := range order {
			jobs = append(jobs, mrorder41[d-'1'].job())
		}
		l, r := simulate(t, Config{Cluster: slotCluster(4, 1, slots(2, 1)), Jobs: source(jobs...)})
		sum := sched.Time(0)
		for _, at := range l.ended {
			sum += at
		}
		if got := itoa(int(r.End/sec)) + "/" + itoa(int(sum/sec)); got != want {
			t.Errorf("order %s: makespan/sum %s, want %s", order, got, want)
		}
	}
}

// The first 50 jobs of a day of Facebook's cluster all end well.
func TestSWIM(t *testing.T) {
	const path = "../workload/testdata/traces/swim-FB-2009_samples_24_times_1hr_0_first50jobs.tsv"
	c, err := workload.ParseCluster("nodes=600,map-slots=5,reduce-slots=2,racks=15")
	if err != nil {
		t.Fatal(err)
	}
	f, err := workload.Open(path, c.Options())
	if err != nil {
		t.Fatal(err)
	}
	l, r := simulate(t, Config{Cluster: c, Jobs: f.Jobs})
	if len(l.ended) != 50 || r.Jobs != 50 || r.Failed != 0 {
		t.Errorf("%d jobs ended of %d, %d failed; want 50 of 50", len(l.ended), r.Jobs, r.Failed)
	}
}

// What nothing will bring on is an error that says what and why, not an endless run.
func TestStuck(t *testing.T) {
	tooBig := mr{maps: 1, mapTime: sec, mapEach: slots(3, 0)}.job()
	starved := mr{maps: 2, mapTime: sec}.job()
	lazy := policyFunc(func(p *sched.Plan) { p.Wake(p.Now + sec) })
	for _, c := range []struct {
		name   string
		config Config
		want   string
	}{
		{"no node holds it", Config{Jobs: source(tooBig), Core: sched.Config{Policy: &inOrder{}}},
			"map-slots 3, more than any node has (map-slots 2, reduce-slots 1)"},
		{"no policy", Config{Jobs: source(starved)}, "2 tasks wait, node 1 has room, and the policy starts none"},
		{"a policy that wakes for ever", Config{Jobs: source(starved), Core: sched.Config{Policy: lazy}},
			"the policy starts none"},
		{"under heartbeats", Config{Jobs: source(starved), Costs: Costs{Reporting: Reporting{Heartbeat: sec}}},
			"2 tasks wait"},
		{"with nodes that come and go",
			Config{Jobs: source(starved), Costs: Costs{Faults: Faults{MTBF: 60 * sec, MTTR: sec}}}, "2 tasks wait"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Cluster = slotCluster(2, 1, slots(2, 1))
			_, err := Run(context.Background(), c.config)
			if !errors.Is(err, ErrStuck) || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "job 1 (j)") {
				t.Errorf("got %v, want ErrStuck with job 1 (j) and %q", err, c.want)
			}
		})
	}
}

// A run in which nodes are lost faster than tasks end, which no failure of a task ends, ends with an error.
func TestInVain(t *testing.T) {
	costs := Costs{Faults: Faults{MTBF: sec, MTTR: sec}}
	_, err := Run(
		context.Background(),
		Config{Cluster: slotCluster(2, 1, slots(2, 1)), Jobs: source(mr{maps: 2, mapTime: 3600 * sec}.job()),
			Core: sched.Config{Policy: &inOrder{}}, Costs: costs},
	)
	if !errors.Is(err, ErrStuck) || !strings.Contains(err.Error(), "since a job last got further") {
		t.Errorf("got %v, want ErrStuck as no attempt succeeds", err)
	}
}

// What is wrong with a source, and limits, end a run with an error that says where.
func TestRunErrors(t *testing.T) {
	cluster := slotCluster(1, 1, slots(1, 1))
	plain := mr{maps: 1, mapTime: sec}.job
	broken := errors.New("line 7: no number")
	noTruth, wrongTasks := plain(), plain()
	noTruth.Payload = nil
	wrongTasks.Payload.(*workload.Truth).Stages[0].Tasks = 2
	done, cancel := context.WithCancel(context.Background())
	cancel()
	forever := func(yield func(*sched.JobSpec, error) bool) {
		for i := 0; yield(mr{submit: sched.Time(i) * sec, maps: 1, mapTime: sec}.job(), nil); i++ {
		}
	}
	for _, c := range []struct {
		name   string
		config Config
		want   string
		is     error
	}{
		{"source fails", Config{Jobs: func(yield func(*sched.JobSpec, error) bool) {
			_ = yield(plain(), nil) && yield(nil, broken)
		}}, "line 7", broken},
		{"jobs out of order", Config{Jobs: source(mr{submit: 5 * sec, maps: 1}.job(), plain())},
			"job 2 (j): submitted at 0s, before", nil},
		{"no truth", Config{Jobs: source(noTruth)}, "job 1 (j): payload is a <nil>", nil},
		{"other tasks", Config{Jobs: source(wrongTasks)}, "2 tasks in stage 0", nil},
		{"too many events", Config{Jobs: forever, MostEvents: 1000}, "limit of events", ErrLimit},
		{"cancelled", Config{Jobs: forever}, "canceled", context.Canceled},
		{"a probability of 2", Config{Jobs: source(), Costs: Costs{Faults: Faults{Attempts: 2}}},
			"failures 2: must be from 0 to 1", nil},
		{"an incident nowhere", Config{Jobs: source(), Script: []Incident{{Node: 2}}}, "node 2: the cluster has " +
			"nodes 1 to 1", nil},
		{"two incidents at once", Config{Jobs: source(), Script: []Incident{{Node: 1}, {Node: 1, Returns: true}}},
			"node 1 has two incidents at 0s", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Cluster, c.config.Core.Policy = cluster, &inOrder{}
			_, err := Run(done, c.config)
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// Until ends a run of jobs that never end.
func TestUntil(t *testing.T) {
	_, r := simulate(
		t,
		Config{
			Cluster: slotCluster(1, 1, slots(1, 0)),
			Until:   100 * sec,
			Jobs: func(yield func(*sched.JobSpec, error) bool) {
				for i := 0; yield(mr{submit: sched.Time(i) * sec, maps: 1, mapTime: sec}.job(), nil); i++ {
				}
			},
		},
	)
	if r.End != 100*sec || r.Jobs != 101 {
		t.Errorf("ends at %v with %d jobs, want 100s with those of 0 to 100 s", r.End, r.Jobs)
	}
}

// A run can do what both its configuration and the simulator can: nothing said is all, and what the simulator cannot do
// does not count as nothing said.
func TestPowers(t *testing.T) {
	for can, want := range map[sched.Powers]sched.Powers{0: Powers, sched.CanKill: sched.CanKill, ^Powers: 0,
		^Powers | sched.CanProbe: sched.CanProbe} {
		e, err := newEngine(
			&Config{
				Cluster: slotCluster(1, 1, slots(1, 0)),
				Jobs:    source(),
				Core:    sched.Config{Can: can, Policy: &inOrder{}},
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		e.feed.stop()
		if e.core.Can != want {
			t.Errorf("Can %b is %b, want %b", can, e.core.Can, want)
		}
	}
}
