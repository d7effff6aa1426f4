package sched

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// breachOf returns how do breaks the contract of the core; "": it does not.
func breachOf(do func()) (what string) {
	defer func() {
		switch why := recover().(type) {
		case nil:
		case Breach:
			what = why.What
		default:
			panic(why)
		}
	}()
	do()
	return ""
}

// Asks that cannot be are a breach that says what is wrong. One stage has 3 maps, and one map runs; the other stage has
// any number of tasks.
func TestAsksAreChecked(t *testing.T) {
	spec := func(kind StageKind, tasks int32, after ...Dep) *StageSpec {
		return &StageSpec{Kind: kind, Tasks: tasks, PerTask: slots(1, 0), After: after}
	}
	placed, nothing, below := spec(Map, 1), spec(Map, -1), spec(Map, -1)
	placed.Copies, nothing.PerTask, below.PerTask = 1, Resources{}, slots(-1, 2)
	for _, x := range []struct {
		want string // how the breach begins after its job; "": there is none
		asks Asks
	}{
		{"", Asks{Pending: 2}},
		{"", Asks{Stage: 1, Pending: 9, Near: []Near{{Node: 7, Tasks: 1}, {Rack: 0, Tasks: -1}}}},
		{"", Asks{Stage: 1, Spec: spec(Other, -1, Dep{0, 1})}},
		{"", Asks{Stage: 2, Spec: spec(Reduce, 2, Dep{1, 0.5}), Pending: 2}},
		{"", Asks{Stage: 2, Spec: spec(Reduce, 2, Dep{1, 0.5}), Pending: 1}},
		{"stage -1: must be from 0 to 65534", Asks{Stage: -1}},
		{"stage 65535: must be from 0 to 65534", Asks{Stage: 1<<16 - 1, Spec: spec(Map, 1)}},
		{"stage 3: the job has 2, and 2 makes a new one", Asks{Stage: 3, Spec: spec(Map, 1)}},
		{"stage 2: a new one needs its spec", Asks{Stage: 2}},
		{"", Asks{Pending: AskAll}},
		{"pending: -1, must not be negative", Asks{Stage: 1, Pending: AskAll}},
		{"pending: -1, must not be negative", Asks{Stage: 2, Spec: spec(Map, 1), Pending: AskAll}},
		{"pending: -2, must not be negative", Asks{Pending: -2}},
		{"pending: 3, must be at most the tasks that neither run nor are done, 2", Asks{Pending: 3}},
		{"pending: 2, must be at most the tasks that neither run nor are done, 1",
			Asks{Stage: 2, Spec: spec(Map, 1), Pending: 2}},
		{"near node -1: must be a node", Asks{Stage: 1, Near: []Near{{Node: -1}}}},
		{"", Asks{Stage: 1, Near: []Near{{Node: 2}, {Node: 7}, {Rack: 0}, {Rack: 3}}, Only: []NodeID{1, 4}}},
		{"near: must be in order", Asks{Stage: 1, Near: []Near{{Node: 7}, {Node: 2}}}},
		{"near: must be in order", Asks{Stage: 1, Near: []Near{{Rack: 1}, {Node: 2}}}},
		{"near: must be in order", Asks{Stage: 1, Near: []Near{{Rack: 3}, {Rack: 1}}}},
		{"only: must be in order", Asks{Stage: 1, Only: []NodeID{2, 1}}},
		{"banned: must be in order", Asks{Stage: 1, Banned: []NodeID{2, 1}}},
		{"stage 2: kind 4, must be below 4", Asks{Stage: 2, Spec: spec(NumKinds, 1)}},
		{"stage 2 (map): a task asks for no resources", Asks{Stage: 2, Spec: nothing}},
		{"stage 2 (map): map-slots per task: -1, must be", Asks{Stage: 2, Spec: below}},
		{"stage 2 (map): places: 0, must be copies (1)", Asks{Stage: 2, Spec: placed}},
		{"stage 2 (map): starts after stage 2: must be", Asks{Stage: 2, Spec: spec(Map, 1, Dep{2, 1})}},
		{"stage 2 (map): starts after stage -1: must be", Asks{Stage: 2, Spec: spec(Map, 1, Dep{-1, 1})}},
		{"stage 1: 5 tasks (other), must stay -1 (other)", Asks{Stage: 1, Spec: spec(Other, 5)}},
		{"stage 1: -1 tasks (map), must stay -1 (other)", Asks{Stage: 1, Spec: spec(Map, -1)}},
	} {
		c := New(Config{Policy: &inOrder{}})
		c.Step(0, []Event{
			{Kind: NodeJoined, Node: 1, Body: &NodeSpec{Capacity: slots(1, 5)}},
			{Kind: JobSubmitted, Job: 1, Body: &JobSpec{Open: true,
				Stages: []StageSpec{*spec(Map, 3), *spec(Other, -1)}}},
		})
		got := breachOf(func() {
			c.Step(sec, []Event{{Kind: AsksChanged, Job: 1, Body: &x.asks}})
			c.Step(2*sec, nil)
		})
		if x.want == "" && got != "" || !strings.HasPrefix(got, "asks of job 1: "+x.want) && x.want != "" {
			t.Errorf("asks %+v: breach %q, want %q", x.asks, got, x.want)
		}
	}
}

// What refers to a stage that a job cannot have is ignored, as what refers to one that it does not have.
func TestEventsOfUnknownStages(t *testing.T) {
	c := New(Config{Policy: &inOrder{}})
	c.Step(0, []Event{
		{Kind: NodeJoined, Node: 1, Body: &NodeSpec{Capacity: slots(1, 0)}},
		{Kind: JobSubmitted, Job: 1, Body: mapReduce(0, 1, sec, 0, 0)},
	})
	for _, stage := range []int32{-1, 1} {
		acts := c.Step(c.Now+sec, []Event{
			{Kind: TaskUndone, Job: 1, Body: &Undone{Stage: stage, Tasks: []int32{1}}},
			{Kind: AttemptFound, Job: 1, Node: 1, Body: &Found{Stage: stage}},
		})
		if len(acts) > 0 || c.Events[1].Attempt != 0 || c.Stage(StageID{1, stage}) != nil || c.Job(1).Running != 1 {
			t.Errorf("stage %d: %v, events %v", stage, acts, c.Events)
		}
	}
}

// Tasks that wait in a queue are counted beyond 31 bits: three applications ask for a billion containers each.
func TestManyTasksWait(t *testing.T) {
	c := New(Config{Policy: policyFunc(func(*Plan) {})})
	const most = 1_000_000_000
	stages := []StageSpec{{Kind: Other, Tasks: -1, PerTask: slots(1, 0)}}
	for job := JobID(1); job <= 3; job++ {
		c.Step(c.Now+sec, []Event{{Kind: JobSubmitted, Job: job, Body: &JobSpec{Open: true, Stages: stages}}})
		c.Step(c.Now+sec, []Event{{Kind: AsksChanged, Job: job, Body: &Asks{Pending: most}}})
	}
	root := c.Queues[0]
	if got := root.Pending(); got != 3*most || root.Demand != slots(3*most, 0) {
		t.Errorf("%d tasks wait, want %d; the demand is %v", got, 3*most, root.Demand)
	}
}

// What an application asks for in one stage moves all its stages in an order whose keys sum over them.
func TestAsksMoveSiblings(t *testing.T) {
	x := Index{Key: func(_ *View, st *Stage, _ Time) (Key, bool) {
		sum := int32(0)
		for _, o := range st.Job.Stages {
			sum += o.Pending
		}
		return Key{Value: float64(sum)}, st.Pending > 0
	}}
	var order []StageID
	c := New(Config{Policy: policyFunc(func(p *Plan) {
		x.Sync(p)
		order = order[:0]
		for st := range x.All(0) {
			order = append(order, st.ID)
		}
	})})
	stage := func() StageSpec { return StageSpec{Kind: Other, Tasks: -1, PerTask: slots(1, 0)} }
	asks := func(job JobID, index, pending int32) Event {
		e := Event{Kind: AsksChanged, Job: job, Body: &Asks{Stage: index, Pending: pending}}
		if index > 0 {
			s := stage()
			e.Body.(*Asks).Spec = &s
		}
		return e
	}
	open := func() *JobSpec { return &JobSpec{Open: true, Stages: []StageSpec{stage()}} }
	c.Step(0, []Event{{Kind: JobSubmitted, Job: 1, Body: open()}, {Kind: JobSubmitted, Job: 2, Body: open()}})
	c.Step(sec, []Event{asks(1, 0, 3), asks(2, 0, 5)})
	c.Step(2*sec, []Event{asks(1, 1, 9)})
	want := []StageID{{2, 0}, {1, 0}, {1, 1}} // job 1 waits for 12 tasks, job 2 for 5
	for i := range want {
		if len(order) != len(want) || order[i] != want[i] {
			t.Fatalf("order %v, want %v", order, want)
		}
	}
}

// Tasks that must be asked for do not wait before, though their number is known; what a queue's masters hold is a sum
// of its own, that follows a job which moves.
func TestAskedFor(t *testing.T) {
	var launch StageID
	c := New(Config{Policy: policyFunc(func(p *Plan) {
		if st := p.Stage(launch); st != nil {
			p.Launch(st, p.Nodes[0])
		}
		launch = StageID{}
	})})
	spec := &JobSpec{
		Queue: "a",
		Stages: []StageSpec{
			{Kind: Map, Tasks: 3, PerTask: slots(1, 0), MaxAttempts: 1, Asked: true},
			{Kind: Master, Tasks: 1, PerTask: slots(2, 0), MaxAttempts: 1},
		},
	}
	launch = StageID{1, 1}
	c.Step(
		0,
		[]Event{
			{Kind: NodeJoined, Node: 1, Body: &NodeSpec{Capacity: slots(9, 0)}},
			{Kind: JobSubmitted, Job: 1, Body: spec},
		},
	)
	maps := c.Stage(StageID{1, 0})
	if maps.Pending != 0 || maps.Total != 3 {
		t.Errorf("%d of %d maps wait before they are asked for", maps.Pending, maps.Total)
	}
	launch = StageID{1, 0}
	c.Step(sec, []Event{{Kind: AsksChanged, Job: 1, Body: &Asks{Stage: 0, Pending: 3}}})
	if maps.Pending != 2 || maps.Running != 1 {
		t.Errorf("%d maps wait and %d run, want 2 and 1", maps.Pending, maps.Running)
	}
	moved := *spec
	moved.Queue = "b"
	c.Step(2*sec, []Event{{Kind: SpecChanged, Job: 1, Body: &moved}})
	for path, want := range map[string]Resources{"a": {}, "b": slots(2, 0)} {
		if q, _ := c.QueueNamed(path); q.Masters != want {
			t.Errorf("masters hold %v of queue %s, want %v", q.Masters, path, want)
		}
	}
	ends := []Event{{Kind: JobEnded, Job: 1, Outcome: Killed}}
	for _, st := range c.Job(1).Stages {
		for a := range c.Attempts(st) {
			ends = append(ends, Event{Kind: AttemptDone, Attempt: a.ID, Outcome: Killed})
		}
	}
	c.Step(3*sec, ends)
	if root := c.Queues[0]; root.Masters != (Resources{}) || root.Used != (Resources{}) {
		t.Errorf("masters hold %v of %v when nothing is left", root.Masters, root.Used)
	}
}

// AskAll asks for the tasks that may be started when the ends and the losses of the Step are applied. Of six maps, 1
// and 2 run on node 1, and 3 on node 2 with a second attempt on node 3; 4 to 6 were never started. Map 3 is done, and
// its second attempt leaves, when node 1 is lost.
func TestAskAll(t *testing.T) {
	var decide func(*Plan)
	c := New(Config{Can: CanNameTasks | CanKill, Policy: policyFunc(func(p *Plan) { decide(p) })})
	maps := func() *Stage { return c.Stage(StageID{1, 0}) }
	attempt := func(task int32) (found *Attempt) { // the eldest
		for a := range c.Attempts(maps()) {
			if a.Task == task {
				found = a
			}
		}
		return found
	}
	decide = func(p *Plan) {
		for _, n := range []NodeID{1, 1, 2} {
			p.Launch(maps(), p.Node(n))
		}
		if !p.Speculate(attempt(3), p.Node(3), 0) {
			t.Fatal("no second attempt")
		}
	}
	all, more := &Asks{Pending: AskAll}, &Asks{Pending: AskAll}
	ask := Event{Kind: AsksChanged, Job: 1, Body: all}
	join := func(n NodeID) Event { return Event{Kind: NodeJoined, Node: n, Body: &NodeSpec{Capacity: slots(2, 0)}} }
	c.Step(0, []Event{join(1), join(2), join(3), {Kind: JobSubmitted, Job: 1, Body: &JobSpec{Stages: []StageSpec{
		{Kind: Map, Tasks: 6, PerTask: slots(1, 0), MaxAttempts: 4}}}}})
	decide = func(*Plan) {}
	c.Step(sec, []Event{{Kind: AttemptDone, Attempt: attempt(3).ID}})
	if attempt(3) == nil || attempt(3).State != Leaving {
		t.Fatal("the second attempt does not leave")
	}
	c.Step(2*sec, []Event{ask})
	if all.Pending != 3 || maps().Pending != 3 {
		t.Errorf("asks for %d, and %d wait; want 3", all.Pending, maps().Pending)
	}
	ask.Body = more
	c.Step(3*sec, []Event{ask, {Kind: NodeLost, Node: 1}})
	if more.Pending != 5 || maps().Pending != 5 {
		t.Errorf("asks for %d, and %d wait; want 5 when node 1 is lost", more.Pending, maps().Pending)
	}
	c.Step(4*sec, []Event{{Kind: AttemptDone, Attempt: attempt(3).ID, Outcome: Killed}})
	if maps().Pending != 5 {
		t.Errorf("%d wait, want 5 when the second attempt has ended", maps().Pending)
	}
	for range 2 { // in the Step in which the job ends, and in the next one
		last := &Asks{Pending: AskAll}
		ask.Body = last
		if c.Step(c.Now+sec, []Event{{Kind: JobEnded, Job: 1}, ask}); last.Pending != 0 {
			t.Errorf("a job that has ended asks for %d, want 0", last.Pending)
		}
	}
}

// An application that changes what it asks for in all of its stages at once marks each stage a few times, not once for
// each of the others.
func TestAsksOfManyStages(t *testing.T) {
	const stages = 500
	x := Index{Key: func(_ *View, st *Stage, _ Time) (Key, bool) { return Key{}, st.Pending > 0 }}
	c := New(Config{Policy: policyFunc(func(p *Plan) { x.Sync(p) })})
	spec := &JobSpec{Open: true}
	var change []Event
	for i := range int32(stages) {
		spec.Stages = append(spec.Stages, StageSpec{Kind: Other, Tasks: -1, PerTask: slots(1, 0)})
		change = append(change, Event{Kind: AsksChanged, Job: 1, Body: &Asks{Stage: i, Pending: i + 1}})
	}
	c.Step(0, []Event{{Kind: JobSubmitted, Job: 1, Body: spec}})
	for i := range 3 {
		for k := range change {
			change[k].Body.(*Asks).Pending++
		}
		before := c.state.ledger.log.end()
		c.Step(Time(i+1)*sec, change)
		if marked := c.state.ledger.log.end() - before; marked < stages || marked > 3*stages {
			t.Errorf("%d marks of %d stages", marked, stages)
		}
	}
}

// New stages of one Step cost the same each, however many the application has.
func TestNewStagesCostTheSame(t *testing.T) {
	took := func(stages int32) time.Duration {
		best := time.Hour
		for range 5 {
			c := New(Config{})
			c.Step(0, []Event{{Kind: JobSubmitted, Job: 1, Body: &JobSpec{Open: true, Stages: []StageSpec{
				{Kind: Master, Tasks: 1, PerTask: slots(1, 0)}}}}})
			var asks []Event
			for i := range stages {
				spec := &StageSpec{Kind: Other, Tasks: -1, PerTask: slots(1, 0)}
				asks = append(asks, Event{Kind: AsksChanged, Job: 1, Body: &Asks{Stage: i + 1, Spec: spec, Pending: 1}})
			}
			began := processorTime(t)
			c.Step(sec, asks)
			best = min(best, processorTime(t)-began)
		}
		return best
	}
	// 32 times as much where each costs the same, 1,000 times where each walks all. The best of some tries counts.
	few, many := time.Hour, time.Hour
	for range 10 {
		if few, many = min(few, took(500)), min(many, took(16_000)); many <= 200*few {
			return
		}
	}
	t.Errorf("500 new stages take %v, 16,000 take %v", few, many)
}

// processorTime returns the processor time of this process, which a busy machine does not stretch.
func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
