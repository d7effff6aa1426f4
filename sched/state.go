package sched

import (
	"maps"
	"slices"
)

// A State is what a core knows between two Steps, as data that can be written to a file: [StateOf] takes it, and
// [Restore] makes a core that goes on from there. It has no policy, estimator or configuration. It leaves out what
// follows from its other parts: sums over the nodes of a class, nodes with room, the order of jobs, where outputs are.
// Rows keep their slots, so that later attempts get the IDs that they would have got.
type State struct {
	Now           Time
	Kinds         []ResourceKind // that some node has had
	Shapes        []Resources    // by ShapeID.Row, the last in use; an empty vector after the first: the row is free
	Classes       []string       // names, by ClassID from 1
	Nodes         []SavedNode    // by NodeID from 1
	Queues        []SavedQueue   // by QueueID
	QueueChanges  int
	Jobs          []SavedJob // in slots that rise, as the next two; the others are free
	Stages        []SavedStage
	Attempts      []SavedAttempt
	FreeJobs      []int32 // slots, in the order in which they became free
	FreeStages    []int32
	FreeAttempts  []int32
	EndedJobs     []int32 // slots of the jobs that the next Step forgets
	EndedAttempts []int32 // slots that the next Step frees
	Newest        JobID
	Serial        uint64 // of the last attempt
	Started       NodeID // of the last launch
	Wake, Told    Time   // the instant that the policy waits for, and the one that the engine was told
}

// A SavedNode is the state of a node.
type SavedNode struct {
	Spec     NodeSpec // its Class is left out
	Class    ClassID
	Lost     bool
	Reserved StageID
	Used     Resources
	Leaving  Resources
	Slots    []int32 // of the attempts there, in order of launch
}

// A SavedQueue is the state of a queue.
type SavedQueue struct {
	Spec     QueueSpec // without the queues below it
	Path     string    // of a configured queue; "": it is a user's, or was taken away
	Parent   QueueID
	Uses     int64 // queues that had this row before
	User     bool
	Retired  bool // not configured any more: it goes when it is empty
	Children []QueueID
	Spare    []QueueID // rows below it of users that have gone, in the order in which they went, then of other queues
	Jobs     int32
	Used     Resources
	Masters  Resources
	Leaving  Resources
	Demand   Resources
	Count    [NumKinds]Count
	Served   Work
	Since    Time
}

// A SavedJob is the state of a job that has not ended, or that has an attempt which has not.
type SavedJob struct {
	Slot      int32
	ID        JobID
	Spec      *JobSpec
	Leaf      QueueID
	Submitted Time
	Ended     bool
	Gone      bool // it ended before the last Step
	Chained   bool // some stage starts after another
	Running   int32
	Attempts  int32 // running or suspended
	Open      int32 // stages that are not complete, and one more if Spec.Open
	Used      Resources
	Served    Work
	Since     Time
	Failures  []SavedCount // by node
	Banned    []NodeID
	Stages    []int32 // slots
}

// A SavedStage is the state of a stage.
type SavedStage struct {
	Slot           int32
	Spec           *StageSpec // nil: the one that the job's spec has
	Total, Pending int32
	Running        int32
	Suspended      int32
	Done, Leaving  int32
	Waiting        int32
	Ready          bool
	Attempts       []int32 // slots, in order of launch
	Starts, Paused Time    // sums over the attempts
	Reserved, Only []NodeID
	Next           int32 // no task up to this one waits
	Again          []int32
	Taken          []uint64     // tasks above Next that were started, as bits
	Failures       []SavedCount // by task
	Ran            []NodeID     // by task - 1: where its output is; nil: no stage needs it
	Wishes         *SavedWishes
}

// A SavedCount is a count of something at a task, a node or a rack.
type SavedCount struct{ ID, Count int32 }

// SavedWishes say where the waiting tasks of a stage would run.
type SavedWishes struct {
	Nodes, Racks []SavedCount
	Listed       int32
}

// A SavedAttempt is an attempt that has not ended.
type SavedAttempt struct {
	ID           AttemptID
	Stage        int32 // slot
	Twin         int32 // slot of the next attempt in the ring of its task's; -1: it is alone
	Node         NodeID
	Class        ClassID
	Task         int32
	Start        Time
	Progress     float32
	Phase        Phase
	State        AttemptState
	Holds, Wants int32 // rows of State.Shapes
	Parked, Moot bool
	Suspensions  bool // it was suspended before, as the next two say
	PausedSince  Time
	PausedFor    Time
}

// StateOf returns the state of the core whose view is v. Call it between two Steps, or from the core's recorder. The
// core goes on to own the specs in the state; all else is a copy. O(all that the core knows).
func StateOf(v *View) *State {
	c := v.cluster
	s := &State{
		Now: v.Now, Kinds: copied(c.ledger.kinds), QueueChanges: v.QueueChanges,
		FreeJobs: copied(c.jobs.free), FreeStages: copied(c.stages.free),
		FreeAttempts: copied(c.attempts.free), EndedAttempts: copied(c.attempts.ended),
		Newest: c.jobs.newest, Serial: c.attempts.serial, Started: c.started,
		Wake: c.plan.out.wake, Told: c.plan.out.told,
	}
	for _, sh := range c.ledger.shapes.used() {
		s.Shapes = append(s.Shapes, sh.amount)
	}
	for _, k := range v.Classes {
		s.Classes = append(s.Classes, k.Name)
	}
	for _, n := range v.Nodes {
		s.Nodes = append(s.Nodes, SavedNode{
			Spec:  NodeSpec{Name: n.Name, Rack: n.Rack, Capacity: n.Capacity},
			Class: n.Class, Lost: n.Lost, Reserved: n.Reserved, Used: n.Used, Leaving: n.Leaving,
			Slots: copied(n.slots),
		})
	}
	s.saveQueues(&c.queues)
	for _, j := range c.jobs.ended {
		s.EndedJobs = append(s.EndedJobs, j.slot)
	}
	free := slotSet(c.jobs.free)
	for _, j := range c.jobs.rows {
		if !free[j.slot] {
			s.Jobs = append(s.Jobs, saveJob(c, j))
		}
	}
	free = slotSet(c.stages.free)
	for _, st := range c.stages.rows {
		if !free[st.slot] {
			s.Stages = append(s.Stages, st.save())
		}
	}
	free = slotSet(c.attempts.free, c.attempts.ended)
	for slot := range c.attempts.n {
		if !free[slot] {
			s.Attempts = append(s.Attempts, saveAttempt(c, c.attempts.at(slot)))
		}
	}
	return s
}

// copied returns a copy of a list; nil if the list is empty.
func copied[T any](list []T) []T { return append([]T(nil), list...) }

// slotSet returns the slots of all lists as a set.
func slotSet(lists ...[]int32) map[int32]bool {
	set := map[int32]bool{}
	for _, list := range lists {
		for _, slot := range list {
			set[slot] = true
		}
	}
	return set
}

// saveQueues copies all queues into the state.
func (s *State) saveQueues(t *queueTable) {
	paths := map[QueueID]string{}
	for path, id := range t.byPath {
		paths[id] = path
	}
	for _, q := range t.cluster.view.Queues {
		spec := *q.Spec
		spec.Queues = nil
		s.Queues = append(s.Queues, SavedQueue{
			Spec: spec, Path: paths[q.ID], Parent: q.Parent, Uses: q.uses, User: q.User, Retired: q.retired,
			Spare:    slices.Concat(t.spare[spareOf{q.ID, true}], t.spare[spareOf{q.ID, false}]),
			Children: copied(q.Children), Jobs: q.Jobs, Used: q.Used, Masters: q.Masters, Leaving: q.Leaving,
			Demand: q.Demand, Count: q.Count, Served: q.served, Since: q.since,
		})
	}
}

func saveJob(c *cluster, j *Job) SavedJob {
	s := SavedJob{
		Slot: j.slot, ID: j.ID, Spec: j.Spec, Leaf: j.leaf.ID, Submitted: j.Submitted, Ended: j.Ended,
		Gone: c.jobs.byID[j.ID] != j, Chained: j.chained, Running: j.Running, Attempts: j.attempts, Open: j.open,
		Used: j.Used, Served: j.served, Since: j.since, Banned: copied(j.banned),
	}
	for _, n := range slices.Sorted(maps.Keys(j.failures)) {
		s.Failures = append(s.Failures, SavedCount{int32(n), j.failures[n]})
	}
	for _, st := range j.Stages {
		s.Stages = append(s.Stages, st.slot)
	}
	return s
}

func (st *Stage) save() SavedStage {
	t := &st.tasks
	s := SavedStage{
		Slot: st.slot, Total: st.Total, Pending: st.Pending, Running: st.Running, Suspended: st.Suspended,
		Done: st.Done, Leaving: st.Leaving, Waiting: st.waiting, Ready: st.ready, Starts: st.attempts.starts,
		Paused: st.attempts.paused, Reserved: copied(st.reserved), Only: st.only, Next: t.next,
		Again: copied(t.again), Taken: copied(t.taken), Ran: slices.Clone(t.ran),
	}
	if own := st.Job.Spec.Stages; int(st.ID.Index) >= len(own) || st.Spec != &own[st.ID.Index] {
		s.Spec = st.Spec
	}
	for _, slot := range st.attempts.slots {
		if slot >= 0 {
			s.Attempts = append(s.Attempts, slot)
		}
	}
	for _, task := range slices.Sorted(maps.Keys(t.failures)) {
		s.Failures = append(s.Failures, SavedCount{task, t.failures[task]})
	}
	if w := t.wishes; w != nil {
		s.Wishes = &SavedWishes{Listed: w.listed}
		for _, one := range w.nodes {
			s.Wishes.Nodes = append(s.Wishes.Nodes, SavedCount{one.id, one.tasks})
		}
		for _, one := range w.racks {
			s.Wishes.Racks = append(s.Wishes.Racks, SavedCount{one.id, one.tasks})
		}
	}
	return s
}

// saveAttempt returns the state of attempt a. A twin that has ended, or whose row has another attempt, is left out.
func saveAttempt(c *cluster, a *Attempt) SavedAttempt {
	s := SavedAttempt{
		ID: a.ID, Stage: a.Stage.slot, Twin: -1, Node: a.Node, Class: a.Class, Task: a.Task, Start: a.Start,
		Progress: a.Progress, Phase: a.Phase, State: a.State, Holds: a.Holds.Row(), Wants: a.wants.Row(),
		Parked: a.parked, Moot: a.moot,
	}
	if b := a.twin; b != nil && !a.moot && b.State != gone && b.Stage == a.Stage && b.Task == a.Task {
		s.Twin = b.ID.Row()
	}
	if p, ok := c.attempts.pauses[a.ID]; ok {
		s.Suspensions, s.PausedSince, s.PausedFor = true, p.since, p.total
	}
	return s
}
