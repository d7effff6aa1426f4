package policy

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// An ownLast is a cluster where a task of job 1 comes last in the order of what runs. Node 1 is full of that and one
// task of each of some other jobs. Job 1 has another stage, and asks for its task later.
type ownLast struct {
	prior      sched.Time // of that other stage; those of the other jobs are 1000 and more
	others     int        // jobs 2 and on
	heartbeats bool
	bounded    bool // the queue of all jobs has its maximum on node 1; node 2 has room
	apart      bool // the tasks run on nodes of their own instead
}

// core returns the core of the cluster, with policy p.
func (o *ownLast) core(p sched.Policy) *sched.Core {
	each := sched.Resources{sched.Memory: 1}
	all := each.Times(int64(1 + o.others))
	q := &sched.QueueSpec{Name: "q"}
	first := jobOf(1, "q", 1, each)
	spec := first.Body.(*sched.JobSpec)
	spec.Stages[0].Prior = 1e9
	spec.Stages = append(spec.Stages,
		sched.StageSpec{PerTask: each, Tasks: 1, Prior: o.prior, MaxAttempts: 4, Asked: true})
	events := []sched.Event{first}
	join := func(capacity sched.Resources) {
		events = append(events, sched.Event{Kind: sched.NodeJoined, Node: sched.NodeID(len(events)),
			Body: &sched.NodeSpec{Class: "c", Capacity: capacity}})
	}
	if o.apart {
		for range 1 + o.others {
			join(each)
		}
	} else {
		join(all)
	}
	if o.bounded {
		q.Max.Amount = all
		join(each)
	}
	for i := range o.others {
		e := jobOf(sched.JobID(i+2), "q", 1, each)
		e.Body.(*sched.JobSpec).Stages[0].Prior = sched.Time(1000 + i)
		events = append(events, e)
	}
	c := sched.New(sched.Config{Policy: p, Can: sched.CanKill, Heartbeats: o.heartbeats,
		Queues: []*sched.QueueSpec{q}})
	c.Step(0, events)
	if c.Step(1, o.report()); c.Queues[1].Used != all {
		panic(fmt.Sprintf("%v are used, want %v", c.Queues[1].Used, all))
	}
	return c
}

// report returns the report of node 1, if nodes report.
func (o *ownLast) report() []sched.Event {
	if !o.heartbeats {
		return nil
	}
	return []sched.Event{{Kind: sched.NodeReported, Node: 1}}
}

// ask returns what happens when job 1 asks for the task of its other stage.
func (o *ownLast) ask() []sched.Event {
	return append(o.report(),
		sched.Event{Kind: sched.AsksChanged, Job: 1, Body: &sched.Asks{Stage: 1, Pending: sched.AskAll}})
}

// A job takes nothing back from itself. If a task of its own comes last, one that comes before it leaves.
func TestOwnTaskThatComesLastIsPassedOver(t *testing.T) {
	for _, c := range []struct {
		what  string
		looks int // after which helpers are asked
		ownLast
	}{
		{"helpers not asked", mostTries, ownLast{}},
		{"helpers asked", 1, ownLast{}},
		{"at the maximum of the queue", mostTries, ownLast{bounded: true}},
		{"under heartbeats", mostTries, ownLast{heartbeats: true}},
	} {
		r := &rankedByPrior{}
		p := r.parsed(t, "kill")
		r.Taking.helpers.after = c.looks
		c.prior, c.others = 1, 1
		core := c.core(p)
		acts := core.Step(2, c.ask())
		if len(acts) == 0 || acts[0].Kind != sched.Kill || core.Attempt(acts[0].Attempt).Stage.Job.ID != 2 {
			t.Errorf("%s: %v, want that the task of job 2 is killed", c.what, acts)
		}
	}
}

// What is passed over for one job may leave for another one, which asks later in the same Step.
func TestOwnTaskLeavesForAnotherJob(t *testing.T) {
	r := &rankedByPrior{}
	o := ownLast{prior: 1, others: 2, apart: true}
	core := o.core(r.parsed(t, "kill"))
	late := jobOf(9, "q", 1, sched.Resources{sched.Memory: 1})
	late.Body.(*sched.JobSpec).Stages[0].Prior = 10
	var killed []sched.JobID
	for _, a := range core.Step(2, append(o.ask(), late)) {
		if a.Kind == sched.Kill {
			killed = append(killed, core.Attempt(a.Attempt).Stage.Job.ID)
		}
	}
	if want := []sched.JobID{3, 1}; !slices.Equal(killed, want) { // the last of the others, and the last of all
		t.Errorf("tasks of jobs %v are killed, want %v", killed, want)
	}
}

// No look at the others follows if the one before the job's own does not come after what waits.
func TestOwnTaskThatComesLastCostsNoLookAtAll(t *testing.T) {
	for _, bounded := range []bool{false, true} {
		counted := func(others int) int {
			r := &rankedByPrior{}
			o := ownLast{prior: 1e6, others: others, bounded: bounded}
			core := o.core(r.parsed(t, "kill"))
			acts := slices.Clone(core.Step(2, o.ask()))
			r.ranked = 0
			if acts = append(acts, core.Step(3, nil)...); len(acts) > 0 {
				t.Errorf("%v, want no actions", acts)
			}
			return r.ranked
		}
		if few, many := counted(10), counted(100); few != many || few == 0 {
			t.Errorf("bounded %v: %d keys beside 10 tasks and %d beside 100, want as many", bounded, few, many)
		}
	}
}
