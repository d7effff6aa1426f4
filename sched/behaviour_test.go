package sched

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// find returns the only attempt of a stage's task that runs.
func find(t *testing.T, c *View, st *Stage, task int32) *Attempt {
	t.Helper()
	for a := range c.Attempts(st) {
		if a.Task == task {
			return a
		}
	}
	t.Fatalf("task %d of %v does not run", task, st.ID)
	return nil
}

// youngest returns the attempt of a stage that was launched last.
func youngest(c *View, st *Stage) *Attempt {
	for a := range c.Attempts(st) {
		return a
	}
	return nil
}

// The first attempt of task 1 would take 100 s. A second one, started at 10 s on a node where it ends at 20 s, wins;
// the core kills the first.
func TestSpeculationKillsTheLoser(t *testing.T) {
	var first, second AttemptID
	fill := &inOrder{}
	r := newRig(t, Config{Can: CanKill | CanNameTasks, Policy: policyFunc(func(p *Plan) {
		fill.Decide(p)
		if p.Now == 10*sec && second == 0 {
			st := p.Job(1).Stages[0]
			a := find(t, p.View, st, 1)
			first = a.ID
			if !p.Speculate(a, p.Node(2), 0) {
				t.Error("the second attempt does not fit on an empty node")
			}
			second = find(t, p.View, st, 1).ID
			if p.Twins(a) != 2 {
				t.Errorf("%d twins, want 2", p.Twins(a))
			}
		}
	})})
	r.node(slots(1, 0))
	r.node(slots(1, 0))
	r.submit(1, mapReduce(0, 1, 100*sec, 0, 0))
	r.at(10*sec, Event{Kind: Tick})
	for r.step() {
		if second != 0 && r.core.Now == 10*sec {
			r.at(20*sec, Event{Kind: AttemptDone, Attempt: second})
		}
	}
	if r.ended[1] != 20*sec || r.how[1] != OK {
		t.Errorf("the job ends %v at %v, want ok at 20s", r.how[1], r.ended[1])
	}
	if !slices.ContainsFunc(r.acts, func(a Action) bool { return a.Kind == Kill && a.Attempt == first }) {
		t.Error("the loser was not killed")
	}
}

// When both attempts of a task succeed at one instant, the task is done once, nothing is killed, and the stage does not
// count twice.
func TestTwinsThatEndTogether(t *testing.T) {
	r := newRig(t, Config{Can: CanKill | CanNameTasks})
	r.node(slots(2, 0))
	r.submit(1, mapReduce(0, 1, 10*sec, 0, 0))
	r.step()
	r.core.policy = policyFunc(func(p *Plan) {
		for a := range p.Attempts(p.Job(1).Stages[0]) {
			if p.Twins(a) == 1 {
				p.Speculate(a, p.Node(1), 0)
			}
		}
	})
	r.core.Step(sec, nil)
	r.core.policy = policyFunc(func(*Plan) {})
	var both []Event
	for a := range r.core.Attempts(r.core.Job(1).Stages[0]) {
		both = append(both, Event{Kind: AttemptDone, Attempt: a.ID})
	}
	if len(both) != 2 {
		t.Fatalf("%d attempts run, want 2", len(both))
	}
	acts := r.core.Step(10*sec, both)
	if len(acts) != 0 || r.core.LiveJobs() > 0 {
		t.Errorf("actions %v, %d jobs left", acts, r.core.LiveJobs())
	}
}

// A task that fails four times fails its job, and what else runs of it is killed; the failures of different tasks do
// not add up.
func TestFourFailuresFailTheJob(t *testing.T) {
	r := newRig(t, Config{})
	for range 12 { // enough that avoiding bad nodes leaves some
		r.node(slots(1, 0))
	}
	r.submit(1, mapReduce(0, 3, 10*sec, 0, 0))
	fails := 0
	for i := 0; i < 100; i++ {
		for k := range r.due {
			e := &r.due[k].ev
			if e.Kind != AttemptDone || e.Outcome != OK {
				continue
			}
			switch a := r.core.Attempt(e.Attempt); {
			case a == nil:
			case a.Task == 1:
				e.Outcome = Failed
			case r.due[k].at < 1000*sec:
				r.due[k].at = 1000 * sec
			}
		}
		if !r.step() {
			break
		}
		for _, e := range r.core.Events {
			if e.Kind == AttemptDone && e.Outcome == Failed {
				fails++
			}
		}
	}
	if fails != 4 || r.how[1] != Failed || r.ended[1] != 40*sec {
		t.Errorf("%d failures, the job ends %v at %v; want 4, failed at 40s", fails, r.how[1], r.ended[1])
	}
	kills := 0
	for _, a := range r.acts {
		if a.Kind == Kill {
			kills++
		}
	}
	if kills != 2 {
		t.Errorf("%d kills, want the 2 other tasks", kills)
	}
}

// A job avoids a node after three of its attempts failed there, as long as it avoids no more than a third of the nodes.
func TestBlacklist(t *testing.T) {
	r := newRig(t, Config{})
	for range 4 {
		r.node(slots(10, 0))
	}
	j := mapReduce(0, 8, sec, 0, 0)
	r.submit(1, j)
	r.step()
	st := r.core.Job(1).Stages[0]
	fail := func(n NodeID) { // three attempts on n
		k := 0
		for a := range r.core.AttemptsOn(r.core.Node(n)) {
			if k++; k <= 3 {
				r.core.Step(r.core.Now, []Event{{Kind: AttemptDone, Outcome: Failed, Attempt: a.ID}})
			}
		}
	}
	fail(1)
	if !contains(st.Job.banned, 1) {
		t.Fatal("node 1 is not avoided after three failures")
	}
	for n := range r.core.Fits(st, 0) {
		if n.ID == 1 {
			t.Error("Fits yields the node that is avoided")
		}
	}
	if n := r.core.First(st); n == nil || n.ID != 2 {
		t.Errorf("First is %v, want node 2", n)
	}
	fail(2) // would be 2 of 4 nodes
	if contains(st.Job.banned, 2) {
		t.Error("half of the nodes are avoided")
	}
	for _, c := range []struct{ said, avoided []NodeID }{{nil, []NodeID{1}}, {[]NodeID{3}, []NodeID{3}},
		{[]NodeID{1, 4}, []NodeID{1, 4}}, {nil, []NodeID{1}}} {
		r.core.Step(r.core.Now, []Event{{Kind: AsksChanged, Job: 1, Body: &Asks{Pending: AskAll, Banned: c.said}}})
		if !slices.Equal(st.Job.banned, c.avoided) {
			t.Errorf("with %v said by the engine, %v are avoided; want %v", c.said, st.Job.banned, c.avoided)
		}
	}
}

// Node 1 holds the outputs of maps 1 and 2 and runs a reduce when it is lost at 15 s: the reduce is lost, both maps run
// again before a reduce may start, and the job ends at 15 + 10 + 20 = 45 s on the other node.
func TestNodeLossRunsMapsAgain(t *testing.T) {
	r := newRig(t, Config{})
	r.node(slots(2, 1))
	r.submit(1, mapReduce(0, 2, 10*sec, 1, 20*sec))
	r.at(12*sec, Event{Kind: NodeJoined, Node: 2, Body: &NodeSpec{Class: "c", Capacity: slots(2, 1)}})
	r.at(15*sec, Event{Kind: NodeLost, Node: 1})
	r.run()
	if r.ended[1] != 45*sec || r.how[1] != OK {
		t.Errorf("the job ends %v at %v, want ok at 45s", r.how[1], r.ended[1])
	}
	launches := map[StageID]int{}
	for _, a := range r.acts {
		if a.Kind == Launch {
			launches[a.Stage]++
		}
	}
	if want := (map[StageID]int{{1, 0}: 4, {1, 1}: 2}); !maps.Equal(launches, want) {
		t.Errorf("launches %v, want %v", launches, want)
	}
}

// Outputs that no reduce needs any more are not made again: the job has ended, or all its reduces have.
func TestNodeLossAfterTheReduces(t *testing.T) {
	r := newRig(t, Config{})
	r.node(slots(2, 0))
	r.node(slots(0, 1))
	j := mapReduce(0, 2, 10*sec, 1, 20*sec)
	j.Stages = append(j.Stages, StageSpec{Kind: Other, PerTask: slots(0, 1), Tasks: 1, Prior: 30 * sec, MaxAttempts: 4,
		After: []Dep{{1, 1}}})
	r.submit(1, j)
	r.at(35*sec, Event{Kind: NodeLost, Node: 1}) // reduce done at 30 s
	r.run()
	if r.ended[1] != 60*sec {
		t.Errorf("the job ends at %v, want 60s", r.ended[1])
	}
}

// times are the task times that an estimator is told.
type times []Time

func (l *times) Observe(_ *Attempt, took Time, _ *Counters) { *l = append(*l, took) }
func (*times) Estimate(*Stage, ClassID) Estimate            { return Estimate{} }
func (*times) Size(*Job) (Work, bool)                       { return Work{}, false }

// The attempt runs from 0 to 1 s and from 3 to 4 s, and is suspended between: the pause does not count, for an
// estimator neither.
func TestElapsedWithoutPauses(t *testing.T) {
	told := times{}
	c := New(Config{Can: CanSuspend, Policy: &inOrder{}, Estimator: &told})
	c.Step(0, []Event{
		{Kind: NodeJoined, Node: 1, Body: &NodeSpec{Capacity: slots(2, 0)}},
		{Kind: JobSubmitted, Job: 1, Body: mapReduce(0, 2, 100*sec, 0, 0)},
	})
	st := c.Job(1).Stages[0]
	a := find(t, &c.View, st, 1)
	expect := func(ran, elapsed Time) {
		t.Helper()
		if c.Ran(a, c.Now) != ran || st.Elapsed(c.Now) != elapsed {
			t.Errorf("at %v: ran %v, elapsed %v, want %v and %v", c.Now, c.Ran(a, c.Now),
				st.Elapsed(c.Now), ran, elapsed)
		}
	}
	c.policy = policyFunc(func(p *Plan) { p.Suspend(a) })
	c.Step(1*sec, nil)
	c.policy = nil
	expect(1*sec, 2*sec)
	c.Step(1*sec, []Event{{Kind: AttemptSuspended, Attempt: a.ID}})
	c.Step(2*sec, nil)
	expect(1*sec, 2*sec)
	c.policy = policyFunc(func(p *Plan) { p.Resume(a) })
	c.Step(3*sec, nil)
	c.policy = nil
	c.Step(4*sec, []Event{{Kind: AttemptDone, Attempt: a.ID}})
	expect(2*sec, 4*sec)
	if !slices.Equal(told, times{2 * sec}) {
		t.Errorf("the estimator is told %v, want 2s", told)
	}
	c.Step(5*sec, nil)
	if len(c.state.attempts.pauses) != 0 || st.Elapsed(c.Now) != 5*sec {
		t.Errorf("%d pauses are kept, elapsed %v", len(c.state.attempts.pauses), st.Elapsed(c.Now))
	}
}

// A suspended attempt frees its cores and keeps its memory; resumed, it has both again, on the same node.
func TestSuspendKeepsMemory(t *testing.T) {
	r := newRig(t, Config{Can: CanSuspend})
	r.node(Resources{Memory: 4, VCores: 2})
	j := &JobSpec{
		Stages: []StageSpec{
			{Kind: Map, PerTask: Resources{Memory: 3, VCores: 2}, Tasks: 1, Prior: 50 * sec, MaxAttempts: 4},
		},
	}
	r.submit(1, j)
	r.step()
	c := r.core
	st := c.Job(1).Stages[0]
	a := find(t, &c.View, st, 1)
	n := c.Node(1)
	c.policy = policyFunc(func(p *Plan) { p.Suspend(a) })
	c.Step(sec, nil)
	if a.State != Suspending || n.Leaving != (Resources{VCores: 2}) || n.Used != (Resources{Memory: 3, VCores: 2}) {
		t.Errorf("asked to suspend: %v, leaving %v, used %v", a.State, n.Leaving, n.Used)
	}
	c.policy = policyFunc(func(*Plan) {})
	c.Step(sec, []Event{{Kind: AttemptSuspended, Attempt: a.ID}})
	root := c.Queues[0]
	if a.State != Suspended || n.Leaving != (Resources{}) || n.Used != (Resources{Memory: 3}) || st.Suspended != 1 ||
		st.Running != 0 ||
		root.Demand != (Resources{Memory: 3, VCores: 2}) {
		t.Errorf("suspended: %v, leaving %v, used %v, demand %v", a.State, n.Leaving, n.Used, root.Demand)
	}
	checkSums(t, c)
	resumed := false
	c.policy = policyFunc(func(p *Plan) { resumed = p.Resume(a) })
	c.Step(2*sec, nil)
	if !resumed || a.State != Running || n.Used != (Resources{Memory: 3, VCores: 2}) ||
		root.Count[Map] != (Count{Running: 1}) {
		t.Errorf("resumed %v: %v, used %v, count %v", resumed, a.State, n.Used, root.Count[Map])
	}
	checkSums(t, c)
}

// What becomes more is booked at once; what becomes less when the engine has said so.
func TestResize(t *testing.T) {
	r := newRig(t, Config{Can: CanResize})
	r.node(Resources{Memory: 10, VCores: 4})
	r.submit(
		1,
		&JobSpec{
			Stages: []StageSpec{
				{Kind: Map, PerTask: Resources{Memory: 4, VCores: 1}, Tasks: 1, Prior: 50 * sec, MaxAttempts: 4},
			},
		},
	)
	r.step()
	c := r.core
	a, n := find(t, &c.View, c.Job(1).Stages[0], 1), c.Node(1)
	ask := func(r Resources) (ok bool) {
		c.policy = policyFunc(func(p *Plan) { ok = p.Resize(a, p.Shape(r)) })
		c.Step(c.Now+sec, nil)
		c.policy = policyFunc(func(*Plan) {})
		checkSums(t, c)
		return ok
	}
	if ask(Resources{Memory: 11, VCores: 1}) || n.Used[Memory] != 4 {
		t.Error("grew beyond the node")
	}
	if !ask(Resources{Memory: 2, VCores: 3}) || n.Used != (Resources{Memory: 4, VCores: 3}) {
		t.Errorf("asked for less memory and more cores: used %v, want 4 and 3", n.Used)
	}
	c.Step(c.Now, []Event{{Kind: AttemptResized, Attempt: a.ID}})
	if n.Used != (Resources{Memory: 2, VCores: 3}) {
		t.Errorf("resized: used %v, want 2 and 3", n.Used)
	}
	checkSums(t, c)
}

// What becomes more stays below the maxima of queues, and leaves alone nodes that are reserved for another stage.
func TestResizeKeepsTo(t *testing.T) {
	each := StageSpec{Kind: Map, PerTask: Resources{Memory: 2, VCores: 1}, Tasks: 1, MaxAttempts: 4}
	large := each
	large.PerTask[Memory] = 9
	r := newRig(t, Config{Can: CanResize, Queues: []*QueueSpec{{Name: "q", Max: Share{Amount: Resources{Memory: 6}}}}})
	r.node(Resources{Memory: 10, VCores: 4})
	r.submit(1, &JobSpec{Queue: "q", Stages: []StageSpec{each}})
	r.submit(2, &JobSpec{Stages: []StageSpec{large}})
	r.step()
	c := r.core
	a, n := find(t, &c.View, c.Job(1).Stages[0], 1), c.Node(1)
	for _, x := range []struct {
		memory   int64
		reserved *Stage
		ok       bool
	}{{7, nil, false}, {6, c.Job(2).Stages[0], false}, {1, c.Job(2).Stages[0], true}} {
		var ok bool
		c.policy = policyFunc(func(p *Plan) {
			p.Reserve(x.reserved, n)
			ok = p.Resize(a, p.Shape(Resources{Memory: x.memory, VCores: 1}))
		})
		c.Step(c.Now+sec, nil)
		if ok != x.ok || a.Resizing() != x.ok || n.Used[Memory] != 2 {
			t.Errorf("%d MiB: %v, it uses %v", x.memory, ok, n.Used)
		}
		checkSums(t, c)
	}
	c.policy = policyFunc(func(p *Plan) { p.Reserve(nil, n) })
	c.Step(c.Now, []Event{{Kind: AttemptResized, Attempt: a.ID}})
	var ok bool
	c.policy = policyFunc(func(p *Plan) { ok = p.Resize(a, p.Shape(Resources{Memory: 6, VCores: 1})) })
	if c.Step(c.Now+sec, nil); !ok || a.Resizing() || n.Used[Memory] != 6 {
		t.Errorf("6 MiB below the maximum: %v, it uses %v", ok, n.Used)
	}
}

// A reserved node is for one stage: others do not see it, and it is free again once that stage has launched there or
// ends.
func TestReserve(t *testing.T) {
	r := newRig(t, Config{Policy: policyFunc(func(*Plan) {})})
	r.node(slots(2, 0))
	r.node(slots(2, 0))
	r.submit(1, mapReduce(0, 2, sec, 0, 0))
	r.submit(2, mapReduce(0, 2, sec, 0, 0))
	r.step()
	c := r.core
	one, two := c.Job(1).Stages[0], c.Job(2).Stages[0]
	c.policy = policyFunc(func(p *Plan) {
		if !p.Reserve(two, p.Node(1)) || p.Reserve(one, p.Node(1)) {
			t.Error("a node is reserved once")
		}
		if n := p.First(one); n.ID != 2 {
			t.Errorf("job 1 is offered node %d", n.ID)
		}
		if n := p.First(two); n.ID != 1 {
			t.Errorf("job 2 is offered node %d, want its reserved one", n.ID)
		}
		if p.Launch(one, p.Node(1)) {
			t.Error("job 1 launches on the node reserved for job 2")
		}
		if !p.Launch(two, p.Node(1)) || p.Node(1).Reserved != (StageID{}) {
			t.Error("the reservation ends with the launch")
		}
		p.Reserve(two, p.Node(2))
	})
	c.Step(0, nil)
	c.policy = nil
	c.Step(sec, []Event{{Kind: JobEnded, Job: 2, Outcome: Killed}})
	if c.Node(2).Reserved != (StageID{}) {
		t.Error("the reservation outlives its job")
	}
}

// An Index finds the stage whose node is reserved although no other room is left, and it only.
func TestIndexSeesReservedRoom(t *testing.T) {
	r := newRig(t, Config{Policy: policyFunc(func(*Plan) {})})
	r.node(slots(1, 0))
	r.submit(1, mapReduce(0, 2, sec, 0, 0))
	r.submit(2, mapReduce(0, 2, sec, 0, 0))
	r.step()
	x := &Index{Key: func(_ *View, st *Stage, _ Time) (Key, bool) { return Key{}, st.Pending > 0 }}
	r.core.policy = policyFunc(func(p *Plan) {
		x.Sync(p)
		if st := x.First(); st.ID.Job != 1 {
			t.Errorf("first is job %d", st.ID.Job)
		}
		p.Reserve(p.Job(2).Stages[0], p.Node(1))
		if st := x.First(); st == nil || st.ID.Job != 2 {
			t.Errorf("first is %v, want the stage with the reservation", st)
		}
	})
	r.core.Step(0, nil)
}

// A queue's maximum holds whatever the policy: 3 of 10 slots for a, half of what is left above for its child.
func TestQueueMaximum(t *testing.T) {
	r := newRig(
		t,
		Config{
			Queues: []*QueueSpec{
				{Name: "a", Max: Share{Amount: slots(4, 0)}, Queues: []*QueueSpec{{Name: "b", Max: Share{Part: 0.5}}}},
				{Name: "c"},
			},
		},
	)
	for range 10 {
		r.node(slots(1, 0))
	}
	for i, q := range []string{"a.b", "a", "c"} {
		j := mapReduce(0, 9, 10*sec, 0, 0)
		j.Queue = q
		r.submit(JobID(i+1), j)
	}
	r.step()
	for path, want := range map[string]int64{"a.b": 2, "a": 4, "c": 6} {
		if q, ok := r.core.QueueNamed(path); !ok || q.Used[MapSlots] != want {
			t.Errorf("queue %s uses %d slots, want %d", path, q.Used[MapSlots], want)
		}
	}
	if room := r.core.Headroom(r.core.Job(1)); room[MapSlots] != 0 {
		t.Errorf("headroom %d in a full queue", room[MapSlots])
	}
}

// Users of a queue are leaves of it, gone with their last job, and their rows are used again for others.
func TestUserQueues(t *testing.T) {
	r := newRig(t, Config{})
	r.node(slots(10, 0))
	for i, user := range []string{"ana", "bo", "ana", ""} {
		j := mapReduce(Time(i)*5*sec, 1, 12*sec, 0, 0)
		j.User = user
		r.submit(JobID(i+1), j)
	}
	users := func() string {
		q, _ := r.core.QueueNamed(DefaultQueue)
		s := ""
		for _, id := range q.Children {
			s += fmt.Sprint(r.core.Queues[id].Spec.Name, r.core.Queues[id].Jobs, " ")
		}
		return s
	}
	for r.step() {
		if r.core.Now == 10*sec {
			if got := users(); got != "ana2 bo1 " {
				t.Errorf("users %s", got)
			}
		}
	}
	r.core.Step(r.core.Now, nil)
	if got := users(); got != "" {
		t.Errorf("users at the end: %s", got)
	}
	if n := len(r.core.Queues); n > 5 { // root, default, and at most three users at once
		t.Errorf("%d rows of queues", n)
	}
}

// Under heartbeats a node is launched on only when it reports.
func TestHeartbeats(t *testing.T) {
	r := newRig(t, Config{Heartbeats: true})
	r.node(slots(1, 0))
	r.node(slots(1, 0))
	r.submit(1, mapReduce(0, 2, 10*sec, 0, 0))
	r.at(3*sec, Event{Kind: NodeReported, Node: 2})
	r.at(4*sec, Event{Kind: NodeReported, Node: 1})
	r.at(14*sec, Event{Kind: NodeReported, Node: 1})
	var starts []string
	for r.step() {
		for _, a := range r.acts {
			if a.Kind == Launch {
				starts = append(starts, fmt.Sprintf("%v on %d", r.core.Now, a.Node))
			}
		}
		r.acts = nil
	}
	if want := []string{"3s on 2", "4s on 1"}; !slices.Equal(starts, want) {
		t.Errorf("starts %v, want %v", starts, want)
	}
}

// An open job may be older than the core, as after a restart; one that is complete may not.
func TestOlderJob(t *testing.T) {
	r := newRig(t, Config{})
	j := mapReduce(-3*sec, 1, 10*sec, 0, 0)
	if err := j.Validate(); err == nil {
		t.Error("a complete job may be submitted before the beginning")
	}
	j.Open = true
	r.at(sec, Event{Kind: JobSubmitted, Job: 1, Body: j})
	r.step()
	if got := r.core.Job(1).Submitted; got != -3*sec {
		t.Errorf("submitted at %v, want -3s", got)
	}
}

// A live engine's limit stops a Step after so many launches, and has it go on at once.
func TestLimit(t *testing.T) {
	r := newRig(t, Config{Limit: 3})
	r.node(slots(10, 0))
	r.submit(1, mapReduce(sec, 8, 10*sec, 0, 0))
	r.step()
	for _, want := range []int32{3, 6, 8} {
		var acts []Action
		if want == 3 {
			r.step()
			acts = r.acts
		} else {
			acts = r.core.Step(sec, nil)
		}
		if got := r.core.Job(1).Running; got != want {
			t.Errorf("%d run, want %d", got, want)
		}
		last := acts[len(acts)-1]
		if again := last.Kind == Wake && last.At == sec; again != (want < 8) {
			t.Errorf("after %d launches: last action %v", want, last)
		}
		r.acts = nil
	}
}

// The task that fails is the next to start; else the one on the node, then on the rack, then any.
func TestTaskNearestItsData(t *testing.T) {
	r := newRig(t, Config{Policy: policyFunc(func(*Plan) {})})
	for i := range 4 { // racks 1, 1, 2, 2
		r.at(
			0,
			Event{
				Kind: NodeJoined,
				Node: NodeID(i + 1),
				Body: &NodeSpec{Class: "c", Rack: RackID(1 + i/2), Capacity: slots(9, 0)},
			},
		)
	}
	j := mapReduce(0, 4, sec, 0, 0)
	j.Stages[0].Copies, j.Stages[0].Places = 2, []NodeID{3, 4, 1, 3, 2, 0, 3, 4}
	r.submit(1, j)
	r.step()
	c := r.core
	st := c.Job(1).Stages[0]
	c.policy = policyFunc(func(p *Plan) {
		for i, want := range []struct {
			node  NodeID
			level Locality
			task  int32
		}{{1, NodeLocal, 2}, {1, RackLocal, 3}, {2, OffSwitch, 1}, {4, NodeLocal, 4}} {
			n := p.Node(want.node)
			if l := p.Level(st, n); l != want.level {
				t.Errorf("%d: level on node %d is %v, want %v", i, want.node, l, want.level)
			}
			p.Launch(st, n)
			if got := youngest(&c.View, st).Task; got != want.task {
				t.Errorf("%d: task %d starts on node %d, want %d", i, got, want.node, want.task)
			}
		}
	})
	c.Step(0, nil)
	failed := find(t, &c.View, st, 3)
	c.policy = policyFunc(func(p *Plan) {
		if n := p.FirstWhere(st, Where{Level: NodeLocal}); n == nil || n.ID != 2 {
			t.Errorf("first node with the data of task 3 is %v, want node 2", n)
		}
		if l := p.Level(st, p.Node(1)); l != RackLocal {
			t.Errorf("level of the failed task on node 1: %v, want rack-local", l)
		}
		p.Launch(st, p.Node(1))
		if youngest(&c.View, st).Task != 3 {
			t.Errorf("task %d starts, want the failed 3", youngest(&c.View, st).Task)
		}
	})
	c.Step(sec, []Event{{Kind: AttemptDone, Outcome: Failed, Attempt: failed.ID}})
}

// Invalid actions are refused, counted and reported, and change nothing.
func TestRefusals(t *testing.T) {
	r := newRig(t, Config{Can: CanKill | CanNameTasks, Policy: policyFunc(func(*Plan) {})})
	r.node(slots(1, 0))
	r.submit(1, mapReduce(0, 1, sec, 1, sec))
	r.step()
	c := r.core
	maps, reduces := c.Job(1).Stages[0], c.Job(1).Stages[1]
	c.policy = policyFunc(func(p *Plan) {
		n := p.Node(1)
		p.Launch(reduces, n)                // waits for the map
		p.LaunchAs(maps, n, As{Task: 2})    // no such task
		if p.Suspend(nil) || p.Probe(nil) { // without the power nothing is looked at
			t.Error("did what the engine cannot")
		}
		p.Launch(maps, n)
		p.Launch(maps, n) // nothing is pending
		a := youngest(&c.View, maps)
		p.Kill(a, 0)
		p.Kill(a, 0)
	})
	acts := c.Step(0, nil)
	if len(acts) != 2 || c.Refused() != 4 || len(c.Refusals()) != 4 {
		t.Errorf("actions %v, %d refused: %v", acts, c.Refused(), c.Refusals())
	}
}

// Service is what was held, times how long, also while nothing happens.
func TestService(t *testing.T) {
	r := newRig(t, Config{})
	r.node(slots(2, 0))
	r.submit(1, mapReduce(0, 3, 10*sec, 0, 0))
	r.step()
	r.step() // at 10 s two are done, the third runs
	c := r.core
	j := c.Job(1)
	if got := c.Service(j, 15*sec)[MapSlots]; got != 25 {
		t.Errorf("at 15s the job has had %v slot-seconds, want 2×10 + 1×5 = 25", got)
	}
	if got := c.QueueService(c.Queues[0], 15*sec)[MapSlots]; got != 25 {
		t.Errorf("the root has had %v, want 25", got)
	}
}

// A Wake is told once, the earliest only, and taken back when no job is left.
func TestWake(t *testing.T) {
	r := newRig(t, Config{})
	r.node(slots(1, 0))
	r.submit(1, mapReduce(0, 1, 10*sec, 0, 0))
	fill := &inOrder{}
	r.core.policy = policyFunc(func(p *Plan) {
		fill.Decide(p)
		p.Wake(30 * sec)
		p.Wake(20 * sec)
		p.Wake(25 * sec)
	})
	r.run()
	var wakes []Time
	for _, a := range r.acts {
		if a.Kind == Wake {
			wakes = append(wakes, a.At)
		}
	}
	if want := []Time{20 * sec, 0}; !slices.Equal(wakes, want) {
		t.Errorf("wakes %v, want %v", wakes, want)
	}
}

// A Per forgets a row when its slot has another owner, and survives JSON into slots that are given anew.
func TestPer(t *testing.T) {
	var m Per[int]
	a, b := &Job{ID: 1, slot: 0}, &Job{ID: 7, slot: 3}
	*m.Of(a) = 10
	*m.Of(b) = 70
	text, err := json.Marshal(m)
	if err != nil || string(text) != `[{"ID":1,"Val":10},{"ID":7,"Val":70}]` {
		t.Fatalf("%s, %v", text, err)
	}
	if v := *m.Of(&Job{ID: 2, slot: 0}); v != 0 {
		t.Errorf("a new owner of the slot finds %d", v)
	}
	var back Per[int]
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if v, ok := back.Has(&Job{ID: 7, slot: 0}); !ok || *v != 70 {
		t.Errorf("restored under another slot: %v %v", v, ok)
	}
	if _, ok := back.Has(&Job{ID: 9, slot: 5}); ok {
		t.Error("holds what was never asked for")
	}
}

// An index that follows the log is in the order that sorting all stages gives, whatever happens in between.
func TestIndexAgainstSorting(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		rank := Per[float64]{}
		x := &Index{Group: func(st *Stage) int { return int(st.Kind) },
			Key: func(_ *View, st *Stage, _ Time) (Key, bool) {
				return Key{Class: st.Running % 3, Value: *rank.Of(st)}, st.Pending > 0
			}}
		fill := &inOrder{}
		g := newRig(t, Config{Policy: policyFunc(func(p *Plan) {
			for j := range p.Jobs() {
				if r.IntN(3) == 0 {
					*rank.Of(j.Stages[0]) = float64(r.IntN(5))
					p.Touch(j.Stages[0])
				}
			}
			if r.IntN(4) > 0 {
				x.Sync(p)
				var all []*Stage
				for kind := range NumKinds {
					var want []*Stage
					for j := range p.Jobs() {
						for _, st := range j.Stages {
							if int(st.Kind) == kind && st.Pending > 0 {
								want = append(want, st)
							}
						}
					}
					slices.SortFunc(want, func(a, b *Stage) int {
						ka, _ := x.Key(p.View, a, 0)
						kb, _ := x.Key(p.View, b, 0)
						ea, eb := entry{
							ka.Value,
							ka.Then,
							a.ID.number(),
							ka.Class,
							0,
						}, entry{
							kb.Value,
							kb.Then,
							b.ID.number(),
							kb.Class,
							0,
						}
						if ea.before(&eb) {
							return -1
						}
						return 1
					})
					if got := slices.Collect(x.All(kind)); !slices.Equal(got, want) {
						t.Fatalf("seed %d at %v: order %v, want %v", seed, p.Now, got, want)
					}
					if len(want) > 0 && x.Head(kind) != want[0] || len(want) != x.Len(kind) {
						t.Fatalf("seed %d at %v: head or length are wrong", seed, p.Now)
					}
					all = append(all, want...)
				}
				for kind := range NumKinds {
					if only := x.Len(kind) == len(all); x.Only(kind) != only {
						t.Fatalf("seed %d at %v: that all stages are in group %d is %v", seed, p.Now, kind, !only)
					}
				}
				for _, st := range all {
					if x.Alone(st) != (len(all) == 1) {
						t.Fatalf("seed %d at %v: a stage is alone among %d", seed, p.Now, len(all))
					}
				}
			}
			fill.Decide(p)
		})})
		g.node(slots(3, 2))
		for i := range 40 {
			g.submit(JobID(i+1), mapReduce(Time(i)*sec, int32(1+r.IntN(5)), Time(1+r.IntN(9))*sec, int32(r.IntN(3)),
				Time(1+r.IntN(5))*sec))
		}
		g.run()
		if len(g.ended) != 40 {
			t.Fatalf("seed %d: %d jobs ended", seed, len(g.ended))
		}
	}
}

// The set of nodes finds what a plain set finds.
func TestNodeSet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, size := range []int{10, 70, 5000, 300000} {
		var s nodeSet
		s.grow(NodeID(size))
		plain := map[NodeID]bool{}
		for range 2000 {
			n := NodeID(1 + r.IntN(size))
			switch {
			case r.IntN(3) > 0 && !plain[n]:
				s.flip(n)
				plain[n] = true
			case plain[n]:
				s.flip(n)
				delete(plain, n)
			}
			if s.has(n) != plain[n] {
				t.Fatalf("size %d: has %d is %v", size, n, s.has(n))
			}
		}
		var got []NodeID
		for n := s.after(0); n != 0; n = s.after(n) {
			got = append(got, n)
		}
		if want := slices.Sorted(maps.Keys(plain)); !slices.Equal(got, want) {
			t.Errorf("size %d: %d members, want %d", size, len(got), len(want))
		}
		if s.any() != (len(plain) > 0) {
			t.Errorf("size %d: any is %v", size, s.any())
		}
	}
}

// A job whose stages are added as it goes ends when the engine says so.
func TestOpenJob(t *testing.T) {
	r := newRig(t, Config{})
	r.node(slots(1, 1))
	j := mapReduce(0, 1, 10*sec, 1, 5*sec)
	j.Open = true
	r.submit(1, j)
	r.run()
	if len(r.ended) != 0 {
		t.Fatal("an open job ended by itself")
	}
	next := &StageSpec{Kind: Map, PerTask: slots(1, 0), Tasks: 2, Prior: 10 * sec, MaxAttempts: 4, After: []Dep{{1, 1}}}
	r.at(15*sec, Event{Kind: AsksChanged, Job: 1, Body: &Asks{Stage: 2, Spec: next, Pending: 2}})
	r.run()
	if st := r.core.Job(1).Stages[2]; st.Done != 2 || r.core.Now != 35*sec {
		t.Errorf("%d tasks of the added stage are done at %v, want 2 at 35s", st.Done, r.core.Now)
	}
	r.at(40*sec, Event{Kind: JobEnded, Job: 1})
	r.run()
	if r.core.LiveJobs() > 0 {
		t.Error("the job goes on")
	}
}

// Resources are written by key, and read back, also by the names that users type; an unknown name is an error.
func TestResourcesJSON(t *testing.T) {
	r := Resources{Memory: 6026, VCores: 2, NetworkIO: 7}
	text, err := json.Marshal(r)
	if want := `{"memory":6026,"vcores":2,"network_io":7}`; err != nil || string(text) != want {
		t.Fatalf("%s, %v; want %s", text, err, want)
	}
	var back Resources
	if err := json.Unmarshal(text, &back); err != nil || back != r {
		t.Errorf("read back %v, %v", back, err)
	}
	typed := `{"memory":6026,"vcores":2,"network-io":7}`
	if err := json.Unmarshal([]byte(typed), &back); err != nil || back != r {
		t.Errorf("as users type it: %v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"disks":1}`), &back); err == nil {
		t.Error("an unknown resource is no error")
	}
}

// The task that starts is the first of those nearest the node, as a scan of all pending tasks finds it, also where a
// row's storage is used again.
func TestNearestAgainstScan(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	g := newRig(t, Config{Policy: policyFunc(func(*Plan) {})})
	const nodes = 12
	for i := range nodes {
		g.at(
			0,
			Event{
				Kind: NodeJoined,
				Node: NodeID(i + 1),
				Body: &NodeSpec{Class: "c", Rack: RackID(i % 4), Capacity: slots(1000, 0)},
			},
		)
	}
	g.step()
	c := g.core
	for id := JobID(1); id <= 30; id++ {
		spec := mapReduce(0, int32(1+r.IntN(40)), sec, 0, 0)
		st0 := &spec.Stages[0]
		st0.Copies = int32(1 + r.IntN(3))
		for range st0.Tasks * st0.Copies {
			st0.Places = append(st0.Places, NodeID(r.IntN(nodes+2))) // some name no node, or one that never joined
		}
		pending := map[int32]bool{}
		for task := range st0.Tasks {
			pending[task+1] = true
		}
		c.policy = policyFunc(func(p *Plan) {
			st := p.Job(id).Stages[0]
			for st.Pending > 0 {
				n := p.Node(NodeID(1 + r.IntN(nodes)))
				want, level := int32(0), OffSwitch
				for task := int32(1); task <= st.Total; task++ {
					if l := c.state.levelOf(st, task, n); pending[task] && (want == 0 || l < level) {
						want, level = task, l
					}
				}
				if got := p.Level(st, n); got != level {
					t.Fatalf("job %d: level on node %d is %v, want %v", id, n.ID, got, level)
				}
				for l := NodeLocal; l <= OffSwitch; l++ {
					i := slices.IndexFunc(p.Nodes, func(n *Node) bool { return p.Level(st, n) <= l })
					if first := p.FirstWhere(st, Where{Level: l}); i < 0 && first != nil || i >= 0 &&
						first != p.Nodes[i] {
						t.Fatalf("job %d: first node at %v is %v, a scan finds node %d", id, l, first, i+1)
					}
				}
				p.Launch(st, n)
				if got := youngest(&c.View, st).Task; got != want {
					t.Fatalf("job %d: task %d starts on node %d, want %d", id, got, n.ID, want)
				}
				delete(pending, want)
			}
		})
		c.Step(c.Now, []Event{{Kind: JobSubmitted, Job: id, Body: spec}})
		c.policy = policyFunc(func(*Plan) {})
		c.Step(c.Now+sec, []Event{{Kind: JobEnded, Job: id, Outcome: Killed}})
		var done []Event
		for _, n := range c.Nodes {
			for a := range c.AttemptsOn(n) {
				done = append(done, Event{Kind: AttemptDone, Outcome: Killed, Attempt: a.ID})
			}
		}
		c.Step(c.Now, done)
	}
}

// A key that reads the job's row is computed anew for all of the job's stages when that changes.
func TestSiblingsAreTouched(t *testing.T) {
	x := Index{Key: func(_ *View, st *Stage, _ Time) (Key, bool) {
		return Key{Value: float64(st.Job.Running)}, st.Pending > 0
	}}
	r := newRig(t, Config{Policy: policyFunc(func(p *Plan) {
		x.Sync(p)
		a := p.Job(1)
		if a == nil || a.Running > 0 {
			return
		}
		p.Launch(a.Stages[0], p.Node(1))
		if st := x.Head(0); st.Job.ID != 2 {
			t.Errorf("head is %v: the other stage of the job that runs", st.ID)
		}
	})})
	r.node(slots(1, 0))
	two := mapReduce(0, 1, sec, 1, sec)
	two.Stages[1].After = nil
	r.submit(1, two)
	r.submit(2, mapReduce(0, 1, sec, 0, 0))
	r.step()
}

// A node is kept for a stage no longer than something of the stage waits.
func TestReservationEndsWithTheNeed(t *testing.T) {
	first := true
	r := newRig(t, Config{Policy: policyFunc(func(p *Plan) {
		j := p.Job(1)
		if j == nil {
			return
		}
		st := j.Stages[0]
		if first {
			first = false
			p.Reserve(st, p.Node(2))
		}
		for st.Pending > 0 && p.Launch(st, p.Node(1)) {
		}
	})})
	r.node(slots(1, 0))
	r.node(slots(1, 0))
	r.submit(1, mapReduce(0, 1, 10*sec, 0, 0))
	r.step()
	if n := r.core.Node(2); n.Reserved != (StageID{}) {
		t.Errorf("node 2 is still kept for %v", n.Reserved)
	}
}
