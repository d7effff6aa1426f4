package sched

import "testing"

// asked is a job of one open stage, as YARN applications have them, after its asks have been taken in.
func asked(r *rig, nodes int, asks *Asks) (*Core, *Stage) {
	r.t.Helper()
	var evs []Event
	for i := range nodes { // nodes 1, 2 in rack 1, nodes 3, 4 in rack 2, ...
		evs = append(
			evs,
			Event{
				Kind: NodeJoined,
				Node: NodeID(i + 1),
				Body: &NodeSpec{Name: "n", Class: "c", Rack: RackID(i/2 + 1), Capacity: slots(2, 0)},
			},
		)
	}
	c := r.core
	c.Step(
		0,
		append(
			evs,
			Event{
				Kind: JobSubmitted,
				Job:  1,
				Body: &JobSpec{Open: true, Stages: []StageSpec{{Kind: Master, PerTask: slots(0, 1)}}},
			},
		),
	)
	asks.Stage, asks.Spec = 1, &StageSpec{Kind: Map, PerTask: slots(1, 0), Tasks: -1}
	c.Step(0, []Event{{Kind: AsksChanged, Job: 1, Body: asks}})
	return c, c.Job(1).Stages[1]
}

// idle launches nothing by itself.
var idle = policyFunc(func(*Plan) {})

// Two tasks have their input on nodes 2 and 3 of racks 1 and 2: counted at both, and in both racks.
func TestNearIsSpent(t *testing.T) {
	r := newRig(t, Config{Policy: idle})
	c, st := asked(
		r,
		6,
		&Asks{
			Pending: 2,
			Near:    []Near{{Node: 2, Tasks: 2}, {Node: 3, Tasks: 2}, {Rack: 1, Tasks: 2}, {Rack: 2, Tasks: 2}},
		},
	)
	if !st.Placed() {
		t.Fatal("the stage has places")
	}
	levels := func(want ...Locality) {
		t.Helper()
		for i, l := range want {
			if got := c.Level(st, c.Node(NodeID(i+1))); got != l {
				t.Errorf("node %d is %v, want %v", i+1, got, l)
			}
		}
	}
	levels(RackLocal, NodeLocal, NodeLocal, RackLocal, OffSwitch, OffSwitch)
	for l, want := range map[Locality]NodeID{NodeLocal: 2, RackLocal: 1, OffSwitch: 1} {
		if n := c.FirstWhere(st, Where{Level: l}); n == nil || n.ID != want {
			t.Errorf("first at most %v: %v, want node %d", l, n, want)
		}
	}
	c.state.plan.Launch(st, c.Node(2)) // node-local: counts at the node and in its rack
	c.state.plan.Launch(st, c.Node(2))
	levels(OffSwitch, OffSwitch, NodeLocal, RackLocal)
	checkSums(t, c)
	// The application then says what is left: nothing.
	c.Step(1, []Event{{Kind: AsksChanged, Job: 1, Body: &Asks{Stage: 1}}})
	if st.Placed() || st.Pending != 0 {
		t.Errorf("%d wait, and have places: %v", st.Pending, st.Placed())
	}
}

// Of three tasks one has its input somewhere: to the others all nodes are alike, so they need not wait. The one that is
// left is not.
func TestNearOfSome(t *testing.T) {
	r := newRig(t, Config{Policy: idle})
	c, st := asked(r, 4, &Asks{Pending: 3, Near: []Near{{Node: 4, Tasks: 1}, {Rack: 2, Tasks: 1}}})
	for range 2 {
		if l := c.Level(st, c.Node(1)); l != NodeLocal {
			t.Errorf("a task without places is %v", l)
		}
		c.state.plan.Launch(st, c.Node(1))
	}
	if l := c.Level(st, c.Node(2)); l != OffSwitch {
		t.Errorf("the task with a place is %v elsewhere", l)
	}
	if n := c.FirstWhere(st, Where{Level: NodeLocal}); n == nil || n.ID != 4 {
		t.Errorf("its node is %v", n)
	}
}

// What must run on some nodes runs there as often as was asked for, and nowhere else.
func TestNearIsABound(t *testing.T) {
	fill := &inOrder{}
	r := newRig(t, Config{Policy: fill})
	c, st := asked(r, 4, &Asks{Pending: 4, Only: []NodeID{2, 3, 4}, Near: []Near{{Node: 2, Tasks: 1},
		{Rack: 2, Tasks: 1}}})
	if st.Running != 2 || c.Node(2).Used != slots(1, 0) || c.Node(3).Used != slots(1, 0) {
		t.Errorf("%d run; node 2 has %v, node 3 %v, node 4 %v", st.Running, c.Node(2).Used, c.Node(3).Used,
			c.Node(4).Used)
	}
	checkSums(t, c)
}

// Queues change while jobs are in them: what is new gets jobs, what is bounded is, what is said no more goes when it is
// empty, and not before.
func TestQueuesChange(t *testing.T) {
	r := newRig(
		t,
		Config{
			Can:    CanKill,
			Queues: []*QueueSpec{{Name: "a", Queues: []*QueueSpec{{Name: "x"}, {Name: "y"}}}, {Name: "b"}},
		},
	)
	for range 4 {
		r.node(slots(2, 0))
	}
	x, b := mapReduce(0, 20, 10*sec, 0, 0), mapReduce(0, 20, 10*sec, 0, 0)
	x.Queue, b.Queue = "a.x", "b"
	r.submit(1, x)
	r.submit(2, b)
	half := Share{Part: 0.5}
	r.at(
		15*sec,
		Event{
			Kind: SpecChanged,
			Body: &Queues{
				[]*QueueSpec{{Name: "a", Queues: []*QueueSpec{{Name: "x", Max: half, Weight: 3}}}, {Name: "c"}},
			},
		},
	)
	r.step()
	if q, _ := r.core.QueueNamed("a.x"); q.Running() != 8 {
		t.Fatalf("%d tasks of the first job run, all 8 slots are its", q.Running())
	}
	for r.core.Now < 20*sec {
		r.step()
	}
	q, _ := r.core.QueueNamed("a.x")
	if q.Running() != 4 || q.Weight() != 3 {
		t.Errorf("with a maximum of half of the slots, %d run; weight %v", q.Running(), q.Weight())
	}
	if _, ok := r.core.QueueNamed("a.y"); ok {
		t.Error("an empty queue that no configuration names is still there")
	}
	if _, ok := r.core.QueueNamed("b"); !ok {
		t.Error("a queue with a job is gone")
	}
	if _, ok := r.core.QueueNamed("c"); !ok || r.core.QueueChanges != 1 {
		t.Errorf("the new queue is not there; changed %d times", r.core.QueueChanges)
	}
	r.run()
	if len(r.ended) != 2 {
		t.Errorf("%d jobs ended", len(r.ended))
	}
	r.core.Step(r.core.Now+1, nil)
	r.core.Step(r.core.Now+1, []Event{{Kind: SpecChanged, Body: &Queues{[]*QueueSpec{{Name: "c"}}}}})
	if _, ok := r.core.QueueNamed("b"); ok || len(r.core.Queues[0].Children) != 1 {
		t.Errorf("the root has %d queues, one is configured", len(r.core.Queues[0].Children))
	}
}

// A job moves to another queue with all that it holds and waits for, in the midst of its work, and is more urgent from
// then on.
func TestJobChanges(t *testing.T) {
	r := newRig(t, Config{Can: CanKill, Queues: []*QueueSpec{{Name: "a"}, {Name: "b", Max: Share{Part: 0.25}}}})
	r.node(slots(4, 0))
	r.node(slots(4, 0))
	job := mapReduce(0, 24, 10*sec, 0, 0)
	job.Queue, job.User = "a", "ana"
	r.submit(1, job)
	moved := *job
	moved.Queue, moved.Priority, moved.Weight, moved.Deadline = "b", 7, 2, 60*sec
	r.at(5*sec, Event{Kind: SpecChanged, Job: 1, Body: &moved})
	r.step()
	r.step() // checks all sums
	j := r.core.Job(1)
	a, _ := r.core.QueueNamed("a")
	b, _ := r.core.QueueNamed("b")
	if a.Running() != 0 || a.Jobs != 0 || len(a.Children) != 0 || b.Running() != 8 || b.Pending() != 16 || b.Jobs != 1 {
		t.Errorf("a has %d jobs, %d running; b has %d, %d and %d pending", a.Jobs, a.Running(), b.Jobs,
			b.Running(), b.Pending())
	}
	if j.Spec.Priority != 7 || j.Weight != 2 || j.Spec.Deadline != 60*sec ||
		r.core.Path(r.core.Queues[j.Queue]) != "b" {
		t.Errorf("job %+v", j.Spec)
	}
	r.run() // 8 in the first 10 s, then 2 at a time, a quarter of 8
	if r.ended[1] != 90*sec {
		t.Errorf("ended at %v, want 90s", r.ended[1])
	}
	// 8 slots for the 5 s after the move, then 16 tasks of 10 s
	if got := r.core.QueueService(b, r.core.Now)[MapSlots]; got != 8*5+16*10 {
		t.Errorf("service in b is %v, want 200", got)
	}
}
