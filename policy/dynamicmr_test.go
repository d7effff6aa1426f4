package policy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/policy/policytest"
	"github.com/sojourn-sched/sojourn/sched"
)

// The numbers in the names of these tests, and of the scenarios in testdata/dynamicmr, are those of the vectors in
// docs/spec/dynamicmr.md.

func TestDynamicMRConforms(t *testing.T) {
	for _, spec := range []string{
		"dynamicmr:sepb=off,prescheduling=off", "dynamicmr:dhsa=off,prescheduling=off,min-run=5s,cap=0.5",
		"dynamicmr:dhsa=off,sepb=off,delay=4s", "dynamicmr:base=fifo,min-run=5s,checked=0.5,delay=2s,rack-delay=1s",
		"dynamicmr:dhsa=pd,min-run=5s,checked=0,cap=0.3",
		"dynamicmr:dhsa=pd,base=fifo,lend-maps=0.5,lend-reduces=0.5,delay=3s",
		"dynamicmr:dhsa=pd,sepb=queue,min-run=4s,checked=0.6,most-borrowed=1",
		"dynamicmr:sepb=queue,checked=1,lend-reduces=0.4,min-run=3s,cap=1,overdue=wait",
		"dynamicmr:overdue=every,overdue-after=1.5",
		"dynamicmr:checked=0.3,min-run=3s,cap=1,slow-node=0,slow-task=0.5", "late{dynamicmr:sepb=off}:min-run=5s",
		"late{dynamicmr:dhsa=pd,min-run=8s}:min-run=5s,cap=0.5", "probe{dynamicmr}",
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			policytest.Conform(t, policy.All, spec, *seeds)
		})
	}
}

// nine returns nine nodes of so many map and reduce slots.
func nine(maps, reduces int64) (nodes []sched.NodeSpec) {
	for i := range 9 {
		nodes = append(
			nodes,
			sched.NodeSpec{
				Name:     fmt.Sprint("n", i+1),
				Capacity: sched.Resources{sched.MapSlots: maps, sched.ReduceSlots: reduces},
			},
		)
	}
	return nodes
}

// Sort of table 3.2, alone: 320 maps of 9 s and 200 reduces of 24 s. With lending the time does not depend on how the
// 108 slots are divided.
func TestDynamicMR42(t *testing.T) {
	sort := theory.SlotJob{Maps: 320, Reduces: 200, MapTime: 9, ReduceTime: 24}
	for k := int64(1); k <= 11; k++ {
		slots := theory.Slots{Map: int(9 * k), Reduce: int(9 * (12 - k))}
		for spec, want := range map[string]float64{
			"dynamicmr:dhsa=off": sort.StaticTime(slots), "dynamicmr": sort.PooledTime(slots),
			"dynamicmr:base=fifo": 75, "dynamicmr:dhsa=pd": 75,
		} {
			s := slotSetup([]theory.SlotJob{sort}, slots)
			s.Nodes = nine(k, 12-k)
			if r, _ := offline(t, s, parsed(t, spec)); r.Makespan != want {
				t.Errorf("%d map slots a node, %s: %v s, want %v", k, spec, r.Makespan, want)
			}
		}
	}
}

// stageTasks describes a job of one stage, or of maps and then reduces.
func stageTasks(queue string, maps, reduces int32) *sched.JobSpec {
	j := &sched.JobSpec{Name: queue, Queue: queue}
	if maps > 0 {
		j.Stages = append(
			j.Stages,
			sched.StageSpec{
				Kind:    sched.Map,
				PerTask: sched.Resources{sched.MapSlots: 1},
				Tasks:   maps,
				Prior:   10 * time.Second,
			},
		)
	}
	if reduces > 0 {
		st := sched.StageSpec{
			Kind:    sched.Reduce,
			PerTask: sched.Resources{sched.ReduceSlots: 1},
			Tasks:   reduces,
			Prior:   10 * time.Second,
		}
		if maps > 0 {
			st.After = []sched.Dep{{Stage: 0, Part: 1}}
		}
		j.Stages = append(j.Stages, st)
	}
	return j
}

// A launched is how many tasks of a queue were started at an instant: their kind, and that of their slots.
type launched struct {
	queue string
	kind  sched.StageKind
	lent  bool
}

// startsAt returns what was started at an instant, in order of queues.
func startsAt(res policytest.Result, at sched.Time) map[launched]int {
	starts := map[launched]int{}
	for _, e := range res.Log {
		if e.Kind == sched.Launch && e.At == at {
			j := res.Jobs[e.Stage.Job-1]
			st := j.Stages[e.Stage.Index]
			starts[launched{queue: j.Queue, kind: st.Kind, lent: e.Holds != st.PerTask}]++
		}
	}
	return starts
}

// Three equal queues, first with maps only, 108 slots: 36 tasks each. Then p1 has only reduces.
func TestDynamicMR45(t *testing.T) {
	type starts = map[launched]int
	maps, reduces := sched.Map, sched.Reduce
	for _, c := range []struct {
		spec string
		then starts
	}{
		{"dynamicmr", starts{
			{queue: "p1", kind: reduces}: 18, {queue: "p2", kind: maps}: 45, {queue: "p3", kind: maps}: 45}},
		{"dynamicmr:dhsa=pd", starts{
			{queue: "p1", kind: reduces}: 18, {queue: "p1", kind: reduces, lent: true}: 18,
			{queue: "p2", kind: maps}: 36, {queue: "p3", kind: maps}: 36}},
	} {
		s := policytest.Setup{
			Nodes: nine(10, 2),
			Take:  func(x policytest.Try) (sched.Time, sched.Outcome) { return x.Job.Stages[x.Stage].Prior, sched.OK },
		}
		s.Jobs = []*sched.JobSpec{stageTasks("p1", 36, 1000), stageTasks("p2", 1000, 0), stageTasks("p3", 1000, 0)}
		res, err := policytest.Run(s, parsed(t, c.spec))
		if err != nil {
			t.Fatal(err)
		}
		each := map[string]int{}
		for l, n := range startsAt(res, 0) {
			each[l.queue] += n
		}
		if fmt.Sprint(each) != "map[p1:36 p2:36 p3:36]" {
			t.Errorf("%s: at first %v, want 36 each", c.spec, each)
		}
		if got := startsAt(res, 10*time.Second); fmt.Sprint(got) != fmt.Sprint(c.then) {
			t.Errorf("%s: at 10 s %v, want %v", c.spec, got, c.then)
		}
	}
}

// The same queues, each with 30 map and 6 reduce slots as its share, under PD-DHSA. (a) A queue with 40 reduces and
// nothing else has its own 6 and 30 slots first; (b) one with 100 maps likewise; (c) one with 10 maps and 2 reduces
// leaves 24 slots to the others; (d) both kinds in excess.
func TestDynamicMR45Shares(t *testing.T) {
	// tasks of p1 at once; of p2 and p3, which have maps and reduces in plenty
	for _, c := range []struct{ maps, reduces, want, others int }{
		{0, 40, 36, 36}, {100, 0, 36, 36}, {10, 2, 12, 48}, {50, 20, 36, 36},
	} {
		s := policytest.Setup{
			Nodes: nine(10, 2),
			Take:  func(x policytest.Try) (sched.Time, sched.Outcome) { return x.Job.Stages[x.Stage].Prior, sched.OK },
		}
		s.Jobs = []*sched.JobSpec{
			stageTasks("p1", int32(c.maps), 0),
			stageTasks("p1", 0, int32(c.reduces)),
			stageTasks("p2", 500, 0),
			stageTasks("p2", 0, 500),
			stageTasks("p3", 500, 0),
			stageTasks("p3", 0, 500),
		}
		if c.maps == 0 {
			s.Jobs = s.Jobs[1:]
		} else if c.reduces == 0 {
			s.Jobs = append(s.Jobs[:1:1], s.Jobs[2:]...)
		}
		res, err := policytest.Run(s, parsed(t, "dynamicmr:dhsa=pd"))
		if err != nil {
			t.Fatal(err)
		}
		each := map[string]int{}
		for l, n := range startsAt(res, 0) {
			each[l.queue] += n
		}
		if each["p1"] != c.want || each["p2"] != c.others || each["p3"] != c.others {
			t.Errorf("p1 with %d maps and %d reduces: %v tasks run, want %d of p1 and %d each of the others", c.maps,
				c.reduces, each, c.want, c.others)
		}
	}
}

// The first decision of algorithm 7 where node 1 has the idle slots and node 2, without slots, the input that is not
// local.
func TestDynamicMR46(t *testing.T) {
	const (
		none = iota
		local
		remote
	)
	for _, c := range []struct {
		maps, reduces int64 // idle
		pending       int   // maps
		waiting       int32 // reduces
		kind          sched.StageKind
		lent          bool
	}{
		{1, 0, local, 0, sched.Map, false},
		{1, 0, local, 3, sched.Map, false},
		{1, 1, remote, 3, sched.Reduce, false},
		{0, 1, local, 0, sched.Map, true},
		{1, 0, none, 3, sched.Reduce, true},
		{1, 0, remote, 0, sched.Map, false},
		{0, 1, remote, 0, sched.Map, true},
	} {
		core := sched.New(sched.Config{Policy: parsed(t, "dynamicmr:dhsa=pd")})
		events := []sched.Event{
			{
				Kind: sched.NodeJoined,
				Node: 1,
				Body: &sched.NodeSpec{Capacity: sched.Resources{sched.MapSlots: c.maps, sched.ReduceSlots: c.reduces}},
			},
			{
				Kind: sched.NodeJoined,
				Node: 2,
				Body: &sched.NodeSpec{Rack: 1, Capacity: sched.Resources{sched.VCores: 1}},
			},
		}
		if c.pending != none {
			j := stageTasks("p", 3, 0)
			j.Stages[0].Copies = 1
			for range j.Stages[0].Tasks {
				j.Stages[0].Places = append(j.Stages[0].Places, sched.NodeID(c.pending))
			}
			events = append(events, sched.Event{Kind: sched.JobSubmitted, Job: 1, Body: j})
		}
		if c.waiting > 0 {
			events = append(events, sched.Event{Kind: sched.JobSubmitted, Job: 2, Body: stageTasks("p", 0, c.waiting)})
		}
		acts := core.Step(0, events)
		if len(acts) == 0 || acts[0].Kind != sched.Launch {
			t.Errorf("%+v: %v", c, acts)
			continue
		}
		st := core.Stage(acts[0].Stage)
		if lent := acts[0].Shape != st.Shape; st.Kind != c.kind || lent != c.lent {
			t.Errorf("%+v: a %v is started, on a slot of the other kind: %v", c, st.Kind, lent)
		}
	}
}

// Four nodes of 4 map slots on which 1, 2, 1 and 2 maps run; two more wait, so that each may use 2. J1's map has its
// input on nodes 2 and 4, the other's input is elsewhere. A node with input but no slot below the line lends one beyond
// it; one without input waits for the delay.
func TestDynamicMR48(t *testing.T) {
	for node, want := range map[sched.NodeID]int{1: 0, 2: 1, 3: 0, 4: 1} {
		for spec, want := range map[string]int{"dynamicmr:delay=1h": want, "dynamicmr:delay=1h,dhsa=off,sepb=off": want,
			"dynamicmr:delay=1h,dhsa=pd": want, "dynamicmr:delay=1h,prescheduling=off": 0} {
			core := sched.New(sched.Config{Policy: parsed(t, spec), Heartbeats: true, Can: sched.CanNameTasks})
			var events []sched.Event
			for n := sched.NodeID(1); n <= 5; n++ {
				slots := sched.Resources{sched.MapSlots: 4}
				if n == 5 {
					slots = sched.Resources{sched.VCores: 1}
				}
				events = append(
					events,
					sched.Event{
						Kind: sched.NodeJoined,
						Node: n,
						Body: &sched.NodeSpec{Class: "c", Rack: sched.RackID(n), Capacity: slots},
					},
				)
			}
			newest := sched.JobID(0)
			submit := func(tasks int32, places ...sched.NodeID) {
				j := stageTasks("q", tasks, 0)
				j.Stages[0].Copies = int32(len(places))
				for range tasks {
					j.Stages[0].Places = append(j.Stages[0].Places, places...)
				}
				newest++
				events = append(events, sched.Event{Kind: sched.JobSubmitted, Job: newest, Body: j})
			}
			for n, running := range []int32{1, 2, 1, 2} {
				submit(running, sched.NodeID(n+1))
			}
			core.Step(0, events)
			for n := sched.NodeID(1); n <= 4; n++ {
				core.Step(0, []sched.Event{{Kind: sched.NodeReported, Node: n}})
			}
			events = nil
			submit(1, 2, 4)
			submit(1, 5)
			core.Step(time.Second, events)
			for n, used := range []int64{1, 2, 1, 2} {
				if u := core.Node(sched.NodeID(n + 1)).Used[sched.MapSlots]; u != used {
					t.Fatalf("%d maps run on node %d, want %d", u, n+1, used)
				}
			}
			started := 0
			for _, a := range core.Step(2*time.Second, []sched.Event{{Kind: sched.NodeReported, Node: node}}) {
				if a.Kind == sched.Launch {
					started++
					if a.Stage.Job != 5 {
						t.Errorf("%s: job %d starts on node %d", spec, a.Stage.Job, node)
					}
				}
			}
			if started != want {
				t.Errorf("%s: %d maps start on node %d, want %d", spec, started, node, want)
			}
		}
	}
}

// No reduces, plenty of maps, 9 nodes of 10 map and 2 reduce slots that report one after the other, and all reduce
// slots may be lent: all 18 are. With the load as printed it would be 14: 2 on each of the first nodes, until the slots
// lent so far count as used but not as wanted.
func TestDynamicMRLendsAllUnderHeartbeats(t *testing.T) {
	core := sched.New(sched.Config{Policy: parsed(t, "dynamicmr"), Heartbeats: true, Can: sched.CanNameTasks})
	var events []sched.Event
	for i, n := range nine(10, 2) {
		events = append(events, sched.Event{Kind: sched.NodeJoined, Node: sched.NodeID(i + 1), Body: &n})
	}
	core.Step(0, append(events, sched.Event{Kind: sched.JobSubmitted, Job: 1, Body: stageTasks("q", 1000, 0)}))
	for n := sched.NodeID(1); n <= 9; n++ {
		core.Step(time.Duration(n)*time.Second, []sched.Event{{Kind: sched.NodeReported, Node: n}})
	}
	if lent := core.Queues[0].Count[sched.Map].Away; lent != 18 {
		t.Errorf("%d reduce slots are lent, want 18", lent)
	}
}

// The loads of conformance make the policy do all that it can: lend both ways, borrow near input, start second
// attempts, kill.
func TestDynamicMRConformanceReachesAll(t *testing.T) {
	lent, second, killed := [2]int{}, 0, 0
	for seed := range uint64(40) {
		s := policytest.RandomSetup(seed, 1)
		s.Can |= sched.CanNameTasks
		res, err := policytest.Run(s, parsed(t, "dynamicmr:min-run=3s,cap=1,slow-node=0,slow-task=0.5"))
		if err != nil {
			t.Fatal(err)
		}
		type task struct {
			stage sched.StageID
			task  int32
		}
		running := map[task]int{}
		for _, e := range res.Log {
			st := res.Jobs[e.Stage.Job-1].Stages[e.Stage.Index]
			switch e.Kind {
			case sched.Launch:
				if e.Holds != st.PerTask {
					lent[st.Kind]++
				}
				running[task{e.Stage, e.Task}]++
				if running[task{e.Stage, e.Task}] == 2 {
					second++
				}
			case sched.Kill:
				killed++
			}
		}
	}
	if lent[0] < 20 || lent[1] < 20 || second < 20 || killed < 5 {
		t.Errorf("lent to maps and to reduces %v times, tasks started twice %d, kills %d", lent, second, killed)
	}
}
