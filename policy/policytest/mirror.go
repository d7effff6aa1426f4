package policytest

import (
	"fmt"
	"hash/maphash"

	"github.com/sojourn-sched/sojourn/sched"
)

// A mirror is a second core that gets the same events and is asked for the same actions. If a policy only reads the
// view, the two are equal after every Step.
type mirror struct {
	core   *sched.Core
	replay *replay
}

func newMirror(s Setup) *mirror {
	m := &mirror{replay: &replay{}}
	config := sched.Config{Policy: m.replay, Queues: s.Queues, Can: s.Can, Heartbeats: s.Heartbeat > 0}
	m.core = sched.New(config)
	return m
}

// follow repeats the last Step of an engine and compares.
func (m *mirror) follow(e *engine, chosen []sched.Action) error {
	m.replay.actions, m.replay.from = chosen, &e.core.View
	m.replay.err = nil
	m.core.Step(e.core.Now, e.events)
	if m.replay.err != nil {
		return fmt.Errorf("at %v: %w", e.core.Now, m.replay.err)
	}
	if digest(&e.core.View) != digest(&m.core.View) {
		return fmt.Errorf("at %v: the view was written to: a core with the same events and actions "+
			"is not equal", e.core.Now)
	}
	return nil
}

// A replay asks for given actions.
type replay struct {
	actions []sched.Action
	from    *sched.View // in which their shapes are known
	err     error
}

// Decide asks for them.
func (r *replay) Decide(p *sched.Plan) {
	for _, a := range r.actions {
		if r.err == nil && !r.do(p, a) {
			r.err = fmt.Errorf("%v %+v cannot be repeated", a.Kind, a)
		}
	}
}

// do asks for an action again, and reports whether the core took it.
func (r *replay) do(p *sched.Plan, a sched.Action) bool {
	attempt, st := p.Attempt(a.Attempt), p.Stage(a.Stage)
	switch a.Kind {
	case sched.Launch:
		for o := range p.Attempts(st) {
			if a.Task != 0 && o.Task == a.Task {
				return p.Speculate(o, p.Node(a.Node), r.shape(p, a))
			}
		}
		return p.LaunchAs(st, p.Node(a.Node), sched.As{Task: a.Task, Shape: r.shape(p, a)})
	case sched.Kill:
		return p.Kill(attempt, a.At)
	case sched.Suspend:
		return p.Suspend(attempt)
	case sched.Resume:
		return p.Resume(attempt)
	case sched.Resize:
		return p.Resize(attempt, r.shape(p, a))
	case sched.Reserve:
		return p.Reserve(st, p.Node(a.Node))
	case sched.Probe:
		return p.Probe(p.Job(a.Stage.Job))
	}
	return true
}

// shape returns what an action asks for as the mirror knows it.
func (r *replay) shape(p *sched.Plan, a sched.Action) sched.ShapeID {
	return p.Shape(r.from.Amount(a.Shape))
}

var digestSeed = maphash.MakeSeed()

// digest hashes every exported field of the rows of a view.
func digest(v *sched.View) uint64 {
	var h maphash.Hash
	h.SetSeed(digestSeed)
	for _, n := range v.Nodes {
		add(&h, nodeFields{n.ID, n.Class, n.Rack, n.Open, n.Lost, n.Reserved, n.Capacity, n.Used, n.Leaving})
		for a := range v.AttemptsOn(n) {
			add(&h, attemptFields{a.ID, a.Stage.ID, a.Start, a.Node, a.Task, a.Progress, a.Phase, a.State, a.Class})
			add(&h, v.Amount(a.Holds))
		}
	}
	for _, c := range v.Classes {
		add(&h, classFields{c.ID, c.Name, c.Nodes, c.Capacity, c.Used})
	}
	for _, q := range v.Queues {
		add(&h, queueFields{q.ID, q.Parent, q.User, len(q.Children), q.Jobs, q.Count})
		add(&h, [...]sched.Resources{q.Used, q.Masters, q.Leaving, q.Demand, q.Min, q.Max})
	}
	for j := range v.Jobs() {
		add(&h, jobFields{j.ID, j.Queue, j.Weight, j.Submitted, j.Running, j.Ended, j.Used, len(j.Stages)})
		for _, st := range j.Stages {
			add(&h, stageFields{st.ID, st.Kind, v.Amount(st.Shape)})
			add(&h, [...]int32{st.Total, st.Pending, st.Running, st.Suspended, st.Done, st.Leaving})
		}
	}
	return h.Sum64()
}

// add hashes a value without making an interface of it.
func add[T comparable](h *maphash.Hash, x T) { maphash.WriteComparable(h, x) }

// The exported fields of rows, as digest hashes them.
type (
	nodeFields struct {
		id                        sched.NodeID
		class                     sched.ClassID
		rack                      sched.RackID
		open, lost                bool
		reserved                  sched.StageID
		capacity, used, isLeaving sched.Resources
	}
	attemptFields struct {
		id       sched.AttemptID
		stage    sched.StageID
		start    sched.Time
		node     sched.NodeID
		task     int32
		progress float32
		phase    sched.Phase
		state    sched.AttemptState
		class    sched.ClassID
	}
	classFields struct {
		id             sched.ClassID
		name           string
		nodes          int
		capacity, used sched.Resources
	}
	queueFields struct {
		id, parent sched.QueueID
		user       bool
		children   int
		jobs       int32
		count      [sched.NumKinds]sched.Count
	}
	jobFields struct {
		id        sched.JobID
		queue     sched.QueueID
		weight    float64
		submitted sched.Time
		running   int32
		ended     bool
		used      sched.Resources
		stages    int
	}
	stageFields struct {
		id      sched.StageID
		kind    sched.StageKind
		perTask sched.Resources
	}
)
