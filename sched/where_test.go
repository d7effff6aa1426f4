package sched

import "testing"

// Four nodes; a stage whose input is on nodes 2 and 4. FirstWhere goes by level, shape, place in the order and
// condition, all at once.
func TestFirstWhere(t *testing.T) {
	c := New(Config{})
	var events []Event
	for n := NodeID(1); n <= 4; n++ {
		has := Resources{MapSlots: 1, ReduceSlots: 1}
		if n == 2 {
			has[MapSlots] = 0
		}
		events = append(events, Event{Kind: NodeJoined, Node: n, Body: &NodeSpec{Rack: RackID(1 + n/3), Capacity: has}})
	}
	c.Step(0, events)
	c.Step(0, []Event{{Kind: JobSubmitted, Job: 1, Body: &JobSpec{Stages: []StageSpec{
		{Kind: Map, PerTask: Resources{MapSlots: 1}, Tasks: 1, Copies: 2, Places: []NodeID{2, 4}},
		{Kind: Map, PerTask: Resources{MapSlots: 1}, Tasks: 1},
	}}}})
	placed, anywhere := c.Job(1).Stages[0], c.Job(1).Stages[1]
	reduceSlot := c.Shape(Resources{ReduceSlots: 1})
	not4 := func(n *Node) bool { return n.ID != 4 }
	for i, w := range []struct {
		st    *Stage
		where Where
		want  NodeID // zero: none
	}{
		{placed, Where{}, 4}, // node 2 has the input and no map slot
		{placed, Where{Shape: reduceSlot}, 2},
		{placed, Where{Shape: reduceSlot, After: 2}, 4},
		{placed, Where{Ok: not4}, 0},
		{placed, Where{Level: RackLocal}, 1}, // in the rack of node 2
		{placed, Where{Level: RackLocal, After: 1}, 3},
		{placed, Where{Level: OffSwitch, After: 3, Ok: not4}, 0},
		{anywhere, Where{}, 1},
		{anywhere, Where{After: 1, Ok: not4}, 3},
		{anywhere, Where{Shape: reduceSlot, After: 1}, 2},
	} {
		got := NodeID(0)
		if n := c.FirstWhere(w.st, w.where); n != nil {
			got = n.ID
		}
		if got != w.want {
			t.Errorf("case %d: node %d, want %d", i+1, got, w.want)
		}
	}
}

// Nodes 1 and 2 are of class a, node 3 of class b. The index finds the first stage that fits in a class; a stage with
// an attempt knows its class.
func TestFirstInClass(t *testing.T) {
	join := func(id NodeID, class string, room Resources) Event {
		return Event{Kind: NodeJoined, Node: id, Body: &NodeSpec{Class: class, Capacity: room}}
	}
	submit := func(id JobID, needs Resources) Event {
		return Event{Kind: JobSubmitted, Job: id, Body: &JobSpec{
			Stages: []StageSpec{{PerTask: needs, Tasks: 5, MaxAttempts: 4}}}}
	}
	var x Index
	x.Key = func(_ *View, st *Stage, _ Time) (Key, bool) { return Key{}, st.Pending > 0 }
	first := func(class ClassID) (id JobID) {
		if st := x.FirstIn(0, class); st != nil {
			id = st.ID.Job
		}
		return id
	}
	steps := []func(*Plan){
		func(p *Plan) {
			if a, b := first(1), first(2); a != 2 || b != 1 {
				t.Errorf("first in the classes are jobs %d and %d, want 2 and 1", a, b)
			}
			st := p.Job(2).Stages[0]
			if n := p.FirstWhere(st, Where{Class: 2}); n == nil || n.ID != 3 {
				t.Errorf("job 2 in class 2: node %v, want 3", n)
			}
			n := p.FirstWhere(st, Where{Class: 1})
			if n == nil || n.ID != 1 || !p.Launch(st, n) {
				t.Fatalf("job 2 in class 1: node %v, want 1", n)
			}
			if a := youngest(p.View, st); a.Class != 1 {
				t.Errorf("the attempt is in class %d, want 1", a.Class)
			}
			p.Reserve(st, p.Node(2))
		},
		func(p *Plan) {
			if id := first(1); id != 2 {
				t.Errorf("first in class 1 is job %d, want 2, which node 2 is reserved for", id)
			}
			p.Reserve(nil, p.Node(2))
		},
		func(*Plan) {}, // node 2 is lost
		func(p *Plan) { // and comes back in class b
			if a, b := first(1), first(2); a != 0 || b != 1 {
				t.Errorf("first in the classes are jobs %d and %d, want none and 1", a, b)
			}
			if n := p.FirstWhere(p.Job(2).Stages[0], Where{Class: 2}); n == nil || n.ID != 2 {
				t.Errorf("job 2 in class 2: node %v, want 2", n)
			}
		},
	}
	c := New(Config{Policy: policyFunc(func(p *Plan) {
		x.Sync(p)
		steps[0](p)
		steps = steps[1:]
	})})
	c.Step(0, []Event{
		join(1, "a", Resources{VCores: 1}), join(2, "a", Resources{VCores: 1}), join(3, "b", Resources{VCores: 2}),
		submit(1, Resources{VCores: 2}), submit(2, Resources{VCores: 1}),
	})
	c.Step(sec, nil)
	c.Step(2*sec, []Event{{Kind: NodeLost, Node: 2}})
	c.Step(3*sec, []Event{join(2, "b", Resources{VCores: 1})})
}

// A second attempt may hold another kind of slot than the first; it counts as away from its own.
func TestSpeculate(t *testing.T) {
	r := newRig(t, Config{Can: CanNameTasks})
	r.node(slots(1, 1))
	r.submit(1, mapReduce(0, 1, 10*sec, 0, 0))
	r.step()
	r.core.policy = policyFunc(func(p *Plan) {
		st := p.Job(1).Stages[0]
		a := find(t, p.View, st, 1)
		if p.Speculate(a, p.Node(1), 0) {
			t.Error("a second attempt fits where there is no map slot left")
		}
		if !p.Speculate(a, p.Node(1), p.Shape(Resources{ReduceSlots: 1})) {
			t.Error("it does not fit on a reduce slot")
		}
		if n := p.Node(1).Used; n[MapSlots] != 1 || n[ReduceSlots] != 1 ||
			p.Queues[0].Count[Map] != (Count{Running: 2, Away: 1}) {
			t.Errorf("used %v, counted %+v", n, p.Queues[0].Count[Map])
		}
	})
	r.core.Step(sec, nil)
}

// A node has room for a task whose queue may not hold it, unless the node is reserved or not open. Node 1 has two map
// slots; queue q may hold one, and its tasks need more.
func TestRoom(t *testing.T) {
	queues := []*QueueSpec{{Name: "q", Max: Share{Amount: Resources{MapSlots: 1}}}, {Name: "r"}}
	stages := func(slots int64) []StageSpec {
		return []StageSpec{{Kind: Map, PerTask: Resources{MapSlots: slots}, Tasks: 1}}
	}
	var held, big, other *Stage
	rooms := func(p *Plan, want ...bool) {
		t.Helper()
		for i, st := range []*Stage{held, big, other} {
			if got := p.Room(st); got != want[i] {
				t.Errorf("stage %v: %v, want %v", st.ID, got, want[i])
			}
		}
	}
	asked := 0
	c := New(Config{Queues: queues, Heartbeats: true, Policy: policyFunc(func(p *Plan) {
		held, big, other = p.Job(1).Stages[0], p.Job(2).Stages[0], p.Job(3).Stages[0]
		n := p.Node(1)
		asked++
		if !n.Open {
			rooms(p, false, false, false)
			return
		}
		if p.First(held) != nil {
			t.Error("the maximum of q lets a task start")
		}
		rooms(p, true, false, true)
		p.Reserve(other, n)
		rooms(p, false, false, false)
		p.Reserve(nil, n)
		rooms(p, true, false, true)
	})})
	c.Step(0, []Event{
		{Kind: NodeJoined, Node: 1, Body: &NodeSpec{Capacity: Resources{MapSlots: 2}}},
		{Kind: JobSubmitted, Job: 1, Body: &JobSpec{Queue: "q", Stages: stages(2)}},
		{Kind: JobSubmitted, Job: 2, Body: &JobSpec{Queue: "q", Stages: stages(3)}},
		{Kind: JobSubmitted, Job: 3, Body: &JobSpec{Queue: "r", Stages: stages(1)}},
	})
	c.Step(1, []Event{{Kind: NodeReported, Node: 1}})
	c.Step(2, nil)
	if asked != 3 {
		t.Errorf("the policy was asked %d times, want 3", asked)
	}
}

// Of two tasks the master has asked for one. It runs, with a copy, and is done: while the copy leaves, one task waits.
func TestWaitingBesideCopy(t *testing.T) {
	var ran []AttemptID
	c := New(Config{Can: CanNameTasks, Policy: policyFunc(func(p *Plan) {
		st := p.Job(1).Stages[0]
		if n := p.First(st); n != nil && st.Pending > 0 {
			p.Launch(st, n)
		} else if st.Running == 1 && st.Done == 0 {
			p.Speculate(p.Attempt(ran[0]), p.Node(1), 0)
		}
	})})
	step := func(now Time, waiting int32, events ...Event) {
		t.Helper()
		for _, a := range c.Step(now, events) {
			if a.Kind == Launch {
				ran = append(ran, a.Attempt)
			}
		}
		if n := Waiting(&c.View, c.Job(1).Stages[0]); n != waiting {
			t.Errorf("at %v: %d tasks wait, want %d", now, n, waiting)
		}
	}
	slot := Resources{MapSlots: 1}
	step(0, 2, Event{Kind: NodeJoined, Node: 1, Body: &NodeSpec{Capacity: slot.Times(2)}},
		Event{Kind: JobSubmitted, Job: 1, Body: &JobSpec{Stages: []StageSpec{
			{Kind: Map, PerTask: slot, Tasks: 2, Asked: true, MaxAttempts: 4}}}})
	step(1, 1, Event{Kind: AsksChanged, Job: 1, Body: &Asks{Stage: 0, Pending: 1}})
	step(2, 1)
	if len(ran) != 2 {
		t.Fatalf("attempts %v, want a task and its copy", ran)
	}
	step(3, 1, Event{Kind: AttemptDone, Attempt: ran[0]})
}
