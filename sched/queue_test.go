package sched

import "testing"

// queued is the submission of a job of one map to a queue.
func queued(id JobID, queue string) Event {
	stage := StageSpec{Kind: Map, Tasks: 1, PerTask: slots(1, 0), MaxAttempts: 4}
	return Event{Kind: JobSubmitted, Job: id, Body: &JobSpec{Queue: queue, Stages: []StageSpec{stage}}}
}

// refreshed are the queues from now on.
func refreshed(list ...*QueueSpec) Event { return Event{Kind: SpecChanged, Body: &Queues{List: list}} }

// A queue that is not configured any more goes in the Step in which its last job ends, so that no later Step makes a
// difference to the others. It takes the queues above it along that are empty then. A queue that is configured again
// before that stays.
func TestRetiredQueueGoesWhenEmpty(t *testing.T) {
	a, b := &QueueSpec{Name: "a"}, &QueueSpec{Name: "b", Queues: []*QueueSpec{{Name: "c"}, {Name: "d"}}}
	c := New(Config{Queues: []*QueueSpec{a, b}})
	is := func(name string, want bool) {
		t.Helper()
		if _, ok := c.QueueNamed(name); ok != want {
			t.Errorf("at %v: queue %s is there: %v, want %v", c.Now, name, ok, want)
		}
	}
	c.Step(0, []Event{queued(1, "b.c"), queued(2, "b.d"), queued(3, "a")})
	c.Step(sec, []Event{refreshed()})
	c.Step(2*sec, []Event{{Kind: JobEnded, Job: 1}, {Kind: JobEnded, Job: 3}, refreshed(a)})
	is("b.c", false)
	is("b.d", true)
	is("a", true)
	changes := c.QueueChanges
	c.Step(4*sec, []Event{{Kind: JobEnded, Job: 2}})
	is("b.d", false)
	is("b", false)
	if c.QueueChanges == changes || len(c.Queues[0].Children) != 1 {
		t.Errorf("%d queues below the root, changed %d times, then %d", len(c.Queues[0].Children), changes,
			c.QueueChanges)
	}
	c.Step(6*sec, []Event{refreshed(a, b), queued(4, "b.d")})
	c.Step(7*sec, []Event{refreshed(a)})
	c.Step(8*sec, []Event{refreshed(a, b), {Kind: JobEnded, Job: 4}})
	is("b.d", true)
	c.Step(9*sec, []Event{queued(5, "b.d")})
	c.Step(10*sec, []Event{refreshed(a)})
	c.Step(11*sec, []Event{refreshed(a, &QueueSpec{Name: "b"}), {Kind: JobEnded, Job: 5}})
	is("b.d", false)
	is("b", true)
}

// A retired queue also goes when its last job moves to another queue.
func TestRetiredQueueGoesWithMovedJob(t *testing.T) {
	a := &QueueSpec{Name: "a"}
	c := New(Config{Queues: []*QueueSpec{a, {Name: "b"}}})
	c.Step(0, []Event{queued(1, "b")})
	c.Step(sec, []Event{refreshed(a)})
	c.Step(2*sec, []Event{{Kind: SpecChanged, Job: 1, Body: &JobSpec{Queue: "a", Stages: c.Job(1).Spec.Stages}}})
	if _, ok := c.QueueNamed("b"); ok {
		t.Error("the queue is there without a job")
	}
	if q, ok := c.QueueNamed("a"); !ok || q.Jobs != 1 {
		t.Errorf("queue a: %+v", q)
	}
}

// Rows of queues that have gone are used again, for queues below the same parent: refreshes do not make the core grow.
// What a policy remembers of a queue is not taken for another one's, and a policy notices a queue that is made in such
// a row by QueueChanges.
func TestRowsOfQueuesAreUsedAgain(t *testing.T) {
	a := &QueueSpec{Name: "a"}
	b := &QueueSpec{Name: "b", Queues: []*QueueSpec{{Name: "c", Max: Share{Part: 0.5}}}}
	c := New(Config{Queues: []*QueueSpec{a, b}})
	c.Step(0, []Event{{Kind: NodeJoined, Node: 1, Body: &NodeSpec{Capacity: slots(8, 0)}}})
	var told Per[int]
	was, _ := c.QueueNamed("b.c")
	*told.Of(was) = 7
	for range 100 {
		c.Step(sec, []Event{refreshed(a)})
		c.Step(sec, []Event{refreshed(a, b)})
	}
	q, ok := c.QueueNamed("b.c")
	if !ok || len(c.Queues) != 4 || q.Max[MapSlots] != 4 || q.Parent <= 0 || q.Parent >= q.ID {
		t.Fatalf("%d rows for the root and three queues; the last is %+v", len(c.Queues), q)
	}
	if *told.Of(q) != 0 {
		t.Error("what was remembered of the old queue counts for the new one")
	}
	c.Step(2*sec, []Event{refreshed(a)})
	changes := c.QueueChanges
	c.Step(3*sec, []Event{queued(1, "e.f")})
	if _, ok = c.QueueNamed("e.f"); !ok || len(c.Queues) != 5 || c.QueueChanges == changes { // one more for the user
		t.Errorf("%d rows, changed %d times, then %d", len(c.Queues), changes, c.QueueChanges)
	}
	checkSums(t, c)
}
