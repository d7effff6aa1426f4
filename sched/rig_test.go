package sched

import (
	"container/heap"
	"iter"
	"slices"
	"testing"
	"time"
)

const sec = time.Second

// inOrder is the least policy there is: stages by submission, first node with room.
type inOrder struct {
	index Index
	many  int32 // tasks that LaunchMany may start at once; zero: it uses Launch
}

func (f *inOrder) Decide(p *Plan) {
	if f.index.Key == nil {
		f.index.Key = func(_ *View, st *Stage, _ Time) (Key, bool) { return Key{}, st.Pending > 0 }
	}
	f.index.Sync(p)
	for st := f.index.First(); st != nil; st = f.index.First() {
		if !f.start(p, st) {
			f.index.Skip(st)
		}
	}
}

func (f *inOrder) start(p *Plan, st *Stage) bool {
	if f.many > 0 {
		return p.LaunchMany(st, f.many) > 0
	}
	n := p.First(st)
	return n != nil && p.Launch(st, n)
}

// policyFunc is a policy for one test.
type policyFunc func(*Plan)

func (f policyFunc) Decide(p *Plan) { f(p) }

// A rig is a cluster whose tasks take their stage's Prior, and a job list, run to the end on a core.
type rig struct {
	t     *testing.T
	core  *Core
	due   dueHeap
	seq   int
	ended map[JobID]Time
	how   map[JobID]Outcome
	acts  []Action
	given []Event // in the last Step
}

type dueEvent struct {
	at  Time
	seq int
	ev  Event
}
type dueHeap []dueEvent

func (h dueHeap) Len() int { return len(h) }
func (h dueHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h dueHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)   { *h = append(*h, x.(dueEvent)) }
func (h *dueHeap) Pop() any {
	o := *h
	e := o[len(o)-1]
	*h = o[:len(o)-1]
	return e
}

func newRig(t *testing.T, config Config) *rig {
	if config.Policy == nil {
		config.Policy = &inOrder{}
	}
	return &rig{t: t, core: New(config), ended: map[JobID]Time{}, how: map[JobID]Outcome{}}
}

func (r *rig) at(t Time, e Event) {
	r.seq++
	heap.Push(&r.due, dueEvent{t, r.seq, e})
}

func (r *rig) node(capacity Resources) NodeID {
	id := NodeID(1)
	for _, d := range r.due {
		if d.ev.Kind == NodeJoined {
			id++
		}
	}
	r.at(0, Event{Kind: NodeJoined, Node: id, Body: &NodeSpec{Name: "n", Class: "c", Capacity: capacity}})
	return id
}

func (r *rig) submit(id JobID, spec *JobSpec) {
	r.at(spec.Submit, Event{Kind: JobSubmitted, Job: id, Body: spec})
}

// step runs one instant.
func (r *rig) step() bool {
	if len(r.due) == 0 {
		return false
	}
	now := r.due[0].at
	var evs []Event
	for len(r.due) > 0 && r.due[0].at == now {
		evs = append(evs, heap.Pop(&r.due).(dueEvent).ev)
	}
	r.given = slices.Clone(evs)
	acts := r.core.Step(now, evs)
	r.acts = append(r.acts, acts...)
	for _, a := range acts {
		switch a.Kind {
		case Launch:
			r.at(now+r.core.Stage(a.Stage).Spec.Prior, Event{Kind: AttemptDone, Attempt: a.Attempt})
		case Kill:
			r.at(now, Event{Kind: AttemptDone, Outcome: Killed, Attempt: a.Attempt})
		case Suspend:
			r.at(now, Event{Kind: AttemptSuspended, Attempt: a.Attempt})
		}
	}
	for _, e := range r.core.Events {
		if e.Kind == JobEnded {
			r.ended[e.Job], r.how[e.Job] = now, e.Outcome
		}
	}
	checkSums(r.t, r.core)
	return true
}

func (r *rig) run() {
	for i := 0; r.step(); i++ {
		if i > 100000 {
			r.t.Fatal("the run does not end")
		}
	}
}

// waiting yields the tasks of st that wait, also while the stage may not start yet: first those that must run again,
// then those never started. It yields nothing where the engine chooses tasks.
func waiting(st *Stage) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		t, left := &st.tasks, st.waiting
		for _, task := range t.again {
			if left--; left < 0 || !yield(task) {
				return
			}
		}
		for task := t.next + 1; task <= st.Total; task++ {
			if !t.isTaken(task) {
				if left--; left < 0 || !yield(task) {
					return
				}
			}
		}
	}
}

// checkSums recomputes every sum that the core keeps from the attempts there are.
func checkSums(t *testing.T, c *Core) {
	t.Helper()
	type sums struct{ used, leaving, demand Resources }
	queues := map[QueueID]*sums{}
	nodes := map[NodeID]*sums{}
	for _, q := range c.Queues {
		queues[q.ID] = &sums{}
	}
	for _, n := range c.Nodes {
		nodes[n.ID] = &sums{}
		for a := range c.AttemptsOn(n) {
			amount, left := c.Amount(a.Holds), c.state.ledger.leaves(a).amount
			s := nodes[n.ID]
			s.used, s.leaving = s.used.Add(amount), s.leaving.Add(left)
			for q := c.Queues[a.Stage.Job.Queue]; ; q = c.Queues[q.Parent] {
				s := queues[q.ID]
				s.used, s.leaving, s.demand = s.used.Add(amount), s.leaving.Add(left), s.demand.Add(amount)
				if a.parked {
					more := c.Amount(a.wants).Sub(amount)
					more[Memory] = max(0, more[Memory]) // it may have memory to give up
					s.demand = s.demand.Add(more)
				}
				if q.ID == 0 {
					break
				}
			}
		}
		if n.Used != nodes[n.ID].used || n.Leaving != nodes[n.ID].leaving {
			t.Fatalf("at %v node %d: used %v leaving %v, attempts say %v", c.Now, n.ID, n.Used, n.Leaving, *nodes[n.ID])
		}
		for _, s := range c.state.ledger.shapes.active {
			if s.fits.has(n.ID) != (n.forAll() && n.hasRoom(s)) {
				t.Fatalf("at %v node %d: set of nodes for %v is out of date", c.Now, n.ID, s.amount)
			}
		}
	}
	for j := range c.Jobs() {
		running := int32(0)
		for _, st := range j.Stages {
			live := map[int32]bool{}
			nRun, nSus := int32(0), int32(0)
			ran, paused := Time(0), Time(0)
			for a := range c.Attempts(st) {
				if a.parked {
					nSus++
					paused += c.Ran(a, c.Now+7)
				} else {
					nRun++
					ran += c.Ran(a, c.Now+7)
				}
				if !a.moot {
					live[a.Task] = true
				}
			}
			running += nRun
			if nRun != st.Running || nSus != st.Suspended {
				t.Fatalf("at %v stage %v: %d run, %d suspended, has %d and %d", c.Now, st.ID, st.Running,
					st.Suspended, nRun, nSus)
			}
			if st.Elapsed(c.Now+7) != ran || st.Paused() != paused {
				t.Fatalf("at %v stage %v: Elapsed %v and Paused %v, attempts say %v and %v",
					c.Now, st.ID, st.Elapsed(c.Now+7), st.Paused(), ran, paused)
			}
			wait := int32(0)
			for task := range waiting(st) {
				if wait++; live[task] || task < 1 || task > st.Total {
					t.Fatalf("at %v stage %v: task %d waits and runs, or is none", c.Now, st.ID, task)
				}
			}
			if st.Total > 0 && wait != st.waiting {
				t.Fatalf("at %v stage %v: %d tasks wait, want %d", c.Now, st.ID, wait, st.waiting)
			}
			if st.Total > 0 && st.waiting+int32(len(live))+st.Done != st.Total {
				t.Fatalf("at %v stage %v: %d wait + %d run + %d done is not %d", c.Now, st.ID, st.waiting, len(live),
					st.Done, st.Total)
			}
			for q := c.Queues[j.Queue]; ; q = c.Queues[q.Parent] {
				s := queues[q.ID]
				s.demand = s.demand.Add(st.Spec.PerTask.Times(int64(st.Pending)))
				if q.ID == 0 {
					break
				}
			}
		}
		if running != j.Running {
			t.Fatalf("at %v job %d: running %d, has %d", c.Now, j.ID, j.Running, running)
		}
	}
	for _, q := range c.Queues {
		if s := queues[q.ID]; q.Used != s.used || q.Leaving != s.leaving || q.Demand != s.demand {
			t.Fatalf("at %v queue %d: used %v leaving %v demand %v, attempts say %v", c.Now, q.ID, q.Used,
				q.Leaving, q.Demand, *s)
		}
	}
}

// slots is a vector of map and reduce slots.
func slots(maps, reduces int64) Resources {
	return Resources{MapSlots: maps, ReduceSlots: reduces}
}

// mapReduce is a job with a full barrier between its stages.
func mapReduce(submit Time, maps int32, mapTime Time, reduces int32, reduceTime Time) *JobSpec {
	j := &JobSpec{
		Submit: submit,
		Stages: []StageSpec{
			{Kind: Map, PerTask: slots(1, 0), Tasks: maps, Prior: mapTime, MaxAttempts: DefaultMaxAttempts},
		},
	}
	if reduces > 0 {
		j.Stages = append(
			j.Stages,
			StageSpec{
				Kind:        Reduce,
				PerTask:     slots(0, 1),
				Tasks:       reduces,
				Prior:       reduceTime,
				MaxAttempts: DefaultMaxAttempts,
				After:       []Dep{{0, 1}},
			},
		)
	}
	return j
}
