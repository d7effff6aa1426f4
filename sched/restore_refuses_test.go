package sched

import (
	"strings"
	"testing"
)

// An edit changes one place of a state, so that no core can have it, or so that it is at the edge of what one can.
type edit struct {
	name string
	want string              // how the error goes on after "sched: no core has such a state: "; "": there is none
	do   func(s *State) bool // false: the state has nothing to change
}

// set returns an edit's function that sets a field which every state has.
func set[T any](field func(*State) *T, to func(*State) T) func(*State) bool {
	return func(s *State) bool {
		*field(s) = to(s)
		return true
	}
}

// constant is the same value for every state.
func constant[T any](v T) func(*State) T { return func(*State) T { return v } }

// ofAll returns an edit's function that changes the first element of a list for which it can.
func ofAll[T any](list func(*State) []T, do func(*State, *T) bool) func(*State) bool {
	return func(s *State) bool {
		all := list(s)
		for i := range all {
			if do(s, &all[i]) {
				return true
			}
		}
		return false
	}
}

func onNode(do func(*State, *SavedNode) bool) func(*State) bool {
	return ofAll(func(s *State) []SavedNode { return s.Nodes }, do)
}

func onJob(do func(*State, *SavedJob) bool) func(*State) bool {
	return ofAll(func(s *State) []SavedJob { return s.Jobs }, do)
}

// onStage changes a stage that has tasks, with a spec of its own that it does not share.
func onStage(do func(*State, *SavedStage) bool) func(*State) bool {
	return ofAll(func(s *State) []SavedStage { return s.Stages }, func(s *State, st *SavedStage) bool {
		if st.Total < 1 {
			return false
		}
		for i := range s.Jobs {
			for k, slot := range s.Jobs[i].Stages {
				if slot == st.Slot && st.Spec == nil {
					st.Spec = &s.Jobs[i].Spec.Stages[k]
				}
			}
		}
		spec := *st.Spec
		st.Spec = &spec
		return do(s, st)
	})
}

func onAttempt(do func(*State, *SavedAttempt) bool) func(*State) bool {
	return ofAll(func(s *State) []SavedAttempt { return s.Attempts }, do)
}

// The numbers of rows of a state.
func jobRows(s *State) int32   { return int32(len(s.Jobs) + len(s.FreeJobs)) }
func stageRows(s *State) int32 { return int32(len(s.Stages) + len(s.FreeStages)) }
func attemptRows(s *State) int32 {
	return int32(len(s.Attempts) + len(s.FreeAttempts) + len(s.EndedAttempts))
}

// editsOfCluster are of nodes, resources and queues.
func editsOfCluster() []edit {
	started := func(s *State) *NodeID { return &s.Started }
	const launched = "the last launch was on a node that is not there"
	class := func(to func(*State) ClassID) func(*State) bool {
		return onNode(func(s *State, n *SavedNode) bool {
			n.Class = to(s)
			return true
		})
	}
	parent := func(queue int, to QueueID) func(*State) bool {
		return func(s *State) bool {
			if len(s.Queues) <= queue {
				return false
			}
			s.Queues[queue].Parent = to
			return true
		}
	}
	const before = "a queue comes before the one above"
	list := []edit{
		{"no launch", "", set(started, constant(NodeID(0)))},
		{"a launch on the last node", "", set(started, func(s *State) NodeID { return NodeID(len(s.Nodes)) })},
		{"a launch beyond", launched, set(started, func(s *State) NodeID { return NodeID(len(s.Nodes) + 1) })},
		{"a launch on node -1", launched, set(started, constant(NodeID(-1)))},
		{"the last kind", "", set(func(s *State) *[]ResourceKind { return &s.Kinds },
			constant([]ResourceKind{NumResources - 1}))},
		{"a kind beyond", "there is no such kind of resource", set(func(s *State) *[]ResourceKind { return &s.Kinds },
			constant([]ResourceKind{0, NumResources}))},
		{"a shape twice", "a shape stands twice", func(s *State) bool {
			s.Shapes = append(s.Shapes, s.Shapes[1])
			return true
		}},
		{"a class of its own", "", func(s *State) bool {
			s.Classes = append(s.Classes, "other")
			s.Nodes[0].Class = ClassID(len(s.Classes))
			return true
		}},
		{"no class", "a node has no class", class(constant(ClassID(0)))},
		{"a class beyond", "a node has no class", class(func(s *State) ClassID { return ClassID(len(s.Classes) + 1) })},
		{"no queues", "there is no root", set(func(s *State) *[]SavedQueue { return &s.Queues },
			constant[[]SavedQueue](nil))},
		{"a root below", before, parent(0, 1)},
		{"below itself", before, parent(1, 1)},
		{"below the next", before, parent(1, 2)},
		{"below none", before, parent(1, -1)},
		{"one path", "two queues have one path", func(s *State) bool {
			var with []*SavedQueue
			for i := range s.Queues {
				if s.Queues[i].Path != "" {
					with = append(with, &s.Queues[i])
				}
			}
			if len(with) < 2 {
				return false
			}
			with[1].Path = with[0].Path
			return true
		}},
	}
	for name, id := range map[string]func(s *State) QueueID{
		"the root": constant(QueueID(0)), "queue -1": constant(QueueID(-1)),
		"a queue beyond": func(s *State) QueueID { return QueueID(len(s.Queues)) },
		"a queue below another": func(s *State) QueueID {
			for i := range s.Queues {
				if s.Queues[i].Parent > 0 {
					return QueueID(i)
				}
			}
			return 0
		},
	} {
		list = append(list,
			edit{name + " is spare", "a queue that has gone is not below its queue", func(s *State) bool {
				s.Queues[0].Spare = []QueueID{id(s)}
				return true
			}},
			edit{name + " is a child", "a queue is not below its queue", func(s *State) bool {
				s.Queues[0].Children = append(s.Queues[0].Children, id(s))
				return true
			}})
	}
	return list
}

// editsOfRows are of what says which rows are used.
func editsOfRows() (list []edit) {
	for _, rows := range []struct {
		name  string
		n     func(*State) int32
		first func(*State) *int32 // the slot of a row that is used
		other func(*State) *int32 // another one
		free  func(*State) []int32
	}{
		{"jobs", jobRows, func(s *State) *int32 { return &s.Jobs[0].Slot },
			func(s *State) *int32 { return &s.Jobs[1].Slot }, func(s *State) []int32 { return s.FreeJobs }},
		{"stages", stageRows, func(s *State) *int32 { return &s.Stages[0].Slot },
			func(s *State) *int32 { return &s.Stages[1].Slot }, func(s *State) []int32 { return s.FreeStages }},
	} {
		want := "the slots of " + rows.name + " are not each used once"
		list = append(list,
			edit{rows.name + ": slot -1", want, set(rows.first, constant(int32(-1)))},
			edit{rows.name + ": a slot beyond", want, set(rows.first, rows.n)},
			edit{rows.name + ": a slot twice", want, set(rows.first, func(s *State) int32 { return *rows.other(s) })},
			edit{rows.name + ": a used slot is free", want, func(s *State) bool {
				if len(rows.free(s)) == 0 {
					return false
				}
				rows.free(s)[0] = *rows.first(s)
				return true
			}})
	}
	const attempts = "the slots of attempts are not each used once"
	id := func(s *State) *AttemptID { return &s.Attempts[0].ID }
	list = append(list,
		edit{"attempts: a slot beyond", attempts, set(id, func(s *State) AttemptID {
			return NewAttemptID(1, attemptRows(s))
		})},
		edit{"attempts: a slot twice", attempts, set(id, func(s *State) AttemptID { return s.Attempts[1].ID })})
	for name, slots := range map[string]func(*State) []int32{
		"free":  func(s *State) []int32 { return s.FreeAttempts },
		"ended": func(s *State) []int32 { return s.EndedAttempts },
	} {
		for what, to := range map[string]func(*State) int32{"-1": constant(int32(-1)), "beyond": attemptRows,
			"in use": func(s *State) int32 { return s.Attempts[0].ID.Row() }} {
			list = append(list, edit{"attempts: a " + name + " slot " + what, attempts, func(s *State) bool {
				if len(slots(s)) == 0 {
					return false
				}
				slots(s)[0] = to(s)
				return true
			}})
		}
	}
	for what, to := range map[string]func(*State) int32{"-1": constant(int32(-1)), "beyond": jobRows,
		"of a job that goes on": func(s *State) int32 {
			for i := range s.Jobs {
				if !s.Jobs[i].Ended {
					return s.Jobs[i].Slot
				}
			}
			return -1
		}} {
		list = append(list, edit{"an ended job: slot " + what, "a job that ended is not there",
			set(func(s *State) *[]int32 { return &s.EndedJobs }, func(s *State) []int32 { return []int32{to(s)} })})
	}
	return list
}

// editsOfJobs are of jobs and the lists of their stages.
func editsOfJobs() []edit {
	spec := func(change func(*JobSpec)) func(*State) bool {
		return onJob(func(_ *State, j *SavedJob) bool {
			other := *j.Spec
			change(&other)
			j.Spec = &other
			return true
		})
	}
	to := func(change func(*State, *SavedJob)) func(*State) bool {
		return onJob(func(s *State, j *SavedJob) bool {
			change(s, j)
			return true
		})
	}
	// ofTwo changes the second of two jobs that have not been forgotten, when it has the first.
	ofTwo := func(change func(a, b *SavedJob)) func(*State) bool {
		return func(s *State) bool {
			if len(s.Jobs) < 2 || s.Jobs[0].Gone || s.Jobs[1].Gone {
				return false
			}
			change(&s.Jobs[0], &s.Jobs[1])
			return true
		}
	}
	const never, queue, stage = "a job was never submitted", "a job has no queue", "a job has a stage that is not there"
	return []edit{
		{"job 0", never, to(func(_ *State, j *SavedJob) { j.ID = 0 })},
		{"a job beyond", never, to(func(s *State, j *SavedJob) { j.ID = s.Newest + 1 })},
		{"no spec", "a job has no spec", to(func(_ *State, j *SavedJob) { j.Spec = nil })},
		{"a bad spec", "job ", spec(func(j *JobSpec) { j.Weight = -1 })},
		{"queue -1", queue, to(func(_ *State, j *SavedJob) { j.Leaf = -1 })},
		{"the root", "", to(func(_ *State, j *SavedJob) { j.Leaf = 0 })},
		{"a queue beyond", queue, to(func(s *State, j *SavedJob) { j.Leaf = QueueID(len(s.Queues)) })},
		{"the last queue", "", to(func(s *State, j *SavedJob) { j.Leaf = QueueID(len(s.Queues) - 1) })},
		{"stage -1", stage, to(func(_ *State, j *SavedJob) { j.Stages = append(j.Stages, -1) })},
		{"a stage beyond", stage, to(func(s *State, j *SavedJob) { j.Stages = append(j.Stages, stageRows(s)) })},
		{"a stage of another", "a stage has two jobs", ofTwo(func(a, b *SavedJob) { b.Stages[0] = a.Stages[0] })},
		{"an ID of another", "two jobs have one ID", ofTwo(func(a, b *SavedJob) { b.ID = a.ID })},
		{"banned in order", "", to(func(_ *State, j *SavedJob) { j.Banned = []NodeID{1, 2} })},
		{"banned out of order", "the nodes that a job avoids are not in order",
			to(func(_ *State, j *SavedJob) { j.Banned = []NodeID{2, 1} })},
		{"a stage without its job", "a stage has no job", onJob(func(_ *State, j *SavedJob) bool {
			j.Stages = j.Stages[:len(j.Stages)-1]
			return true
		})},
		{"a stage without a spec", "a stage has no spec", onJob(func(s *State, j *SavedJob) bool {
			if len(j.Spec.Stages) < 2 {
				return false
			}
			other := *j.Spec
			other.Stages = other.Stages[:1]
			j.Spec = &other
			for i := range s.Stages {
				if s.Stages[i].Slot == j.Stages[1] {
					s.Stages[i].Spec = nil
				}
			}
			return true
		})},
	}
}

// editsOfStages are of stages and their tasks.
func editsOfStages() []edit {
	to := func(change func(*State, *SavedStage)) func(*State) bool {
		return onStage(func(s *State, st *SavedStage) bool {
			change(s, st)
			return true
		})
	}
	nodes := func(s *State) NodeID { return NodeID(len(s.Nodes)) }
	// ran changes where the output of the first task is.
	ran := func(where func(*State) NodeID) func(*State) bool {
		return to(func(s *State, st *SavedStage) {
			st.Ran = make([]NodeID, st.Total)
			st.Ran[0] = where(s)
		})
	}
	const (
		kind, after  = "there is no such kind of stage", "a stage waits for one that does not come before it"
		outputs      = "a stage has outputs of other tasks"
		taken        = "a stage has started other tasks"
		next         = "a stage has started tasks that it does not have"
		again        = "a stage runs tasks again that it does not have"
		places       = "a stage lacks places of its input"
		kept, output = "a node that is kept for a stage is not there", "an output is on a node that is not there"
	)
	return []edit{
		{"the last kind", "", to(func(_ *State, st *SavedStage) { st.Spec.Kind = NumKinds - 1 })},
		{"a kind beyond", kind, to(func(_ *State, st *SavedStage) { st.Spec.Kind = NumKinds })},
		{"after stage -1", after, to(func(_ *State, st *SavedStage) { st.Spec.After = []Dep{{-1, 1}} })},
		{"the first after itself", after, to(func(_ *State, st *SavedStage) { st.Spec.After = []Dep{{0, 1}} })},
		{"all outputs", "", ran(constant(NodeID(0)))},
		{"an output more", outputs, to(func(_ *State, st *SavedStage) { st.Ran = make([]NodeID, st.Total+1) })},
		{"all taken", "", to(func(_ *State, st *SavedStage) { st.Taken = make([]uint64, st.Total>>6+1) })},
		{"taken words more", taken, to(func(_ *State, st *SavedStage) { st.Taken = make([]uint64, st.Total>>6+2) })},
		{"all pending", "", to(func(_ *State, st *SavedStage) { st.Pending = st.Total })},
		{"one more pending", "more tasks wait than there are",
			to(func(_ *State, st *SavedStage) { st.Pending = st.Total + 1 })},
		{"pending of unknown", "", onStage(func(_ *State, st *SavedStage) bool {
			if len(st.Attempts) > 0 {
				return false
			}
			st.Total, st.Next, st.Again, st.Taken, st.Ran, st.Pending, st.Spec.Copies = -1, 0, nil, nil, nil, 5, 0
			return true
		})},
		{"next -1", next, to(func(_ *State, st *SavedStage) { st.Next = -1 })},
		{"the last is next", "", to(func(_ *State, st *SavedStage) { st.Next = st.Total })},
		{"next beyond", next, to(func(_ *State, st *SavedStage) { st.Next = st.Total + 1 })},
		{"task 0 again", again, to(func(_ *State, st *SavedStage) { st.Again = []int32{0} })},
		{"the last task again", "", to(func(_ *State, st *SavedStage) { st.Again = []int32{st.Total} })},
		{"a task beyond again", again, to(func(_ *State, st *SavedStage) { st.Again = []int32{st.Total + 1} })},
		{"-1 copies", places, to(func(_ *State, st *SavedStage) { st.Spec.Copies = -1 })},
		{"all places", "", to(func(_ *State, st *SavedStage) {
			st.Spec.Copies, st.Spec.Places = 2, make([]NodeID, 2*st.Total)
		})},
		{"a place less", places, to(func(_ *State, st *SavedStage) {
			st.Spec.Copies, st.Spec.Places = 2, make([]NodeID, 2*st.Total-1)
		})},
		{"node 0 kept", kept, to(func(_ *State, st *SavedStage) { st.Reserved = []NodeID{0} })},
		{"the last node kept", "", to(func(s *State, st *SavedStage) { st.Reserved = []NodeID{nodes(s)} })},
		{"a node beyond kept", kept, to(func(s *State, st *SavedStage) { st.Reserved = []NodeID{nodes(s) + 1} })},
		{"output on the last node", "", ran(nodes)},
		{"output on a node beyond", output, ran(func(s *State) NodeID { return nodes(s) + 1 })},
		{"output on node -1", output, ran(constant(NodeID(-1)))},
		{"a wish for node 1", "", to(func(_ *State, st *SavedStage) {
			st.Wishes = &SavedWishes{Nodes: []SavedCount{{1, 1}}}
		})},
		{"a wish for node 0", "a stage wishes for a node that cannot be", to(func(_ *State, st *SavedStage) {
			st.Wishes = &SavedWishes{Nodes: []SavedCount{{0, 1}}}
		})},
	}
}

// stageOf returns the stage of an attempt.
func stageOf(s *State, a *SavedAttempt) *SavedStage {
	for i := range s.Stages {
		if s.Stages[i].Slot == a.Stage {
			return &s.Stages[i]
		}
	}
	return nil
}

// editsOfAttempts are of attempts, and of the lists that refer to them.
func editsOfAttempts() []edit {
	to := func(change func(*State, *SavedAttempt)) func(*State) bool {
		return onAttempt(func(s *State, a *SavedAttempt) bool {
			change(s, a)
			return true
		})
	}
	shapes := func(s *State) int32 { return int32(len(s.Shapes)) }
	free := func(s *State) int32 {
		s.Shapes = append(s.Shapes, Resources{})
		return shapes(s) - 1
	}
	// beside changes an attempt, and has another one that is of the same stage, or not.
	beside := func(same bool, change func(a, b *SavedAttempt)) func(*State) bool {
		return onAttempt(func(s *State, a *SavedAttempt) bool {
			for i := range s.Attempts {
				if b := &s.Attempts[i]; b != a && (b.Stage == a.Stage) == same && a.Twin < 0 && b.Twin < 0 {
					change(a, b)
					return true
				}
			}
			return false
		})
	}
	// listed adds a row to the attempts of the stage of an attempt, and onto adds one to those of its node.
	adding := func(list func(*State, *SavedAttempt) *[]int32, row func(*State, *SavedAttempt) int32) func(*State) bool {
		return onAttempt(func(s *State, a *SavedAttempt) bool {
			slot := row(s, a)
			if slot != none {
				*list(s, a) = append(*list(s, a), slot)
			}
			return slot != none
		})
	}
	listed := func(row func(*State, *SavedAttempt) int32) func(*State) bool {
		return adding(func(s *State, a *SavedAttempt) *[]int32 { return &stageOf(s, a).Attempts }, row)
	}
	onto := func(row func(*State, *SavedAttempt) int32) func(*State) bool {
		return adding(func(s *State, a *SavedAttempt) *[]int32 { return &s.Nodes[a.Node-1].Slots }, row)
	}
	other := func(is func(a, b *SavedAttempt) bool) func(*State, *SavedAttempt) int32 {
		return func(s *State, a *SavedAttempt) int32 {
			for i := range s.Attempts {
				if is(a, &s.Attempts[i]) {
					return s.Attempts[i].ID.Row()
				}
			}
			return none
		}
	}
	row := func(to func(*State) int32) func(*State, *SavedAttempt) int32 {
		return func(s *State, _ *SavedAttempt) int32 { return to(s) }
	}
	const (
		stage, class = "an attempt is of a stage that is not there", "an attempt has no class"
		node, shape  = "an attempt has no node", "an attempt has no shape"
		task         = "an attempt is of a task that is not there"
		gonePlace    = "an attempt is not there"
		ring         = "the attempts of a task are no ring"
		onOther      = "a node has no such attempt"
	)
	return []edit{
		{"stage -1", stage, to(func(_ *State, a *SavedAttempt) { a.Stage = -1 })},
		{"a stage beyond", stage, to(func(s *State, a *SavedAttempt) { a.Stage = stageRows(s) })},
		{"a free stage", "an attempt has no stage", onAttempt(func(s *State, a *SavedAttempt) bool {
			if len(s.FreeStages) == 0 {
				return false
			}
			a.Stage = s.FreeStages[0]
			return true
		})},
		{"class 0", class, to(func(_ *State, a *SavedAttempt) { a.Class = 0 })},
		{"a class beyond", class, to(func(s *State, a *SavedAttempt) { a.Class = ClassID(len(s.Classes) + 1) })},
		{"node 0", node, to(func(_ *State, a *SavedAttempt) { a.Node = 0 })},
		{"a node beyond", node, to(func(s *State, a *SavedAttempt) { a.Node = NodeID(len(s.Nodes) + 1) })},
		{"the last phase", "", to(func(_ *State, a *SavedAttempt) { a.Phase = NumPhases - 1 })},
		{"a phase beyond", "an attempt is in no phase", to(func(_ *State, a *SavedAttempt) { a.Phase = NumPhases })},
		{"holds shape -1", shape, to(func(_ *State, a *SavedAttempt) { a.Holds = -1 })},
		{"wants shape -1", shape, to(func(_ *State, a *SavedAttempt) { a.Wants = -1 })},
		{"the first shape", "", to(func(_ *State, a *SavedAttempt) { a.Holds, a.Wants = 0, 0 })},
		{"the last shape", "", to(func(s *State, a *SavedAttempt) { a.Holds, a.Wants = shapes(s)-1, shapes(s)-1 })},
		{"holds a shape beyond", shape, to(func(s *State, a *SavedAttempt) { a.Holds = shapes(s) })},
		{"wants a shape beyond", shape, to(func(s *State, a *SavedAttempt) { a.Wants = shapes(s) })},
		{"holds a shape in a free row", shape, to(func(s *State, a *SavedAttempt) { a.Holds = free(s) })},
		{"wants a shape in a free row", shape, to(func(s *State, a *SavedAttempt) { a.Wants = free(s) })},
		{"the last state", "", to(func(_ *State, a *SavedAttempt) { a.State = gone - 1 })},
		{"gone", "an attempt that runs has ended", to(func(_ *State, a *SavedAttempt) { a.State = gone })},
		{"task -1", task, to(func(_ *State, a *SavedAttempt) { a.Task = -1 })},
		{"task 0", "", to(func(_ *State, a *SavedAttempt) { a.Task = 0 })},
		{"the last task", "", to(func(s *State, a *SavedAttempt) { a.Task = stageOf(s, a).Total })},
		{"a task beyond", task, to(func(s *State, a *SavedAttempt) { a.Task = stageOf(s, a).Total + 1 })},
		{"a twin beyond", "an attempt has a twin that is not there",
			to(func(s *State, a *SavedAttempt) { a.Twin = attemptRows(s) })},
		{"no twin", "", onAttempt(func(_ *State, a *SavedAttempt) bool {
			was := a.Twin
			a.Twin = -2
			return was == -1
		})},
		{"twins", "", beside(true, func(a, b *SavedAttempt) { a.Twin, b.Twin = b.ID.Row(), a.ID.Row() })},
		{"twins of two stages", ring, beside(false, func(a, b *SavedAttempt) { a.Twin = b.ID.Row() })},
		{"twins in a circle beside", ring, beside(true, func(a, b *SavedAttempt) {
			a.Twin, b.Twin = b.ID.Row(), b.ID.Row()
		})},
		{"a stage with attempt -1", gonePlace, listed(row(constant(int32(-1))))},
		{"a stage with an attempt beyond", gonePlace, listed(row(attemptRows))},
		{"a stage with another's", "a stage has an attempt of another",
			listed(other(func(a, b *SavedAttempt) bool { return a.Stage != b.Stage }))},
		{"a node with attempt -1", gonePlace, onto(row(constant(int32(-1))))},
		{"a node with an attempt beyond", gonePlace, onto(row(attemptRows))},
		{"a node with another's", onOther, onto(other(func(a, b *SavedAttempt) bool { return a.Node != b.Node }))},
		{"a node with none's", onOther, onto(func(s *State, _ *SavedAttempt) int32 {
			if len(s.FreeAttempts) == 0 {
				return none
			}
			return s.FreeAttempts[0]
		})},
	}
}

// none is no row.
const none = -99

// TestRestoreRefuses edits states of runs under chaos, one place at a time. Restore says of each edit why no core can
// have the state, and accepts the values next to those that it refuses. Each edit is tried on a few states.
func TestRestoreRefuses(t *testing.T) {
	const often = 3
	var edits []edit
	for _, list := range [][]edit{editsOfCluster(), editsOfRows(), editsOfJobs(), editsOfStages(), editsOfAttempts()} {
		edits = append(edits, list...)
	}
	tried := make([]int, len(edits))
	for seed := range uint64(12) {
		steps := 0
		watchChaos(t, seed, 0, func(g *rig) {
			if steps++; steps%9 != 0 {
				return
			}
			state := StateOf(&g.core.View)
			if len(state.Attempts) < 2 || len(state.Jobs) < 2 {
				return
			}
			for i, e := range edits {
				if tried[i] == often {
					continue
				}
				s := copyOf(state)
				if !e.do(s) {
					continue
				}
				tried[i]++
				switch _, err := restoreQuietly(s); {
				case e.want == "" && err != nil:
					t.Errorf("seed %d at %v: %s: %v", seed, g.core.Now, e.name, err)
				case e.want != "" && (err == nil || !strings.HasPrefix(err.Error(),
					"sched: no core has such a state: "+e.want)):
					t.Errorf("seed %d at %v: %s: error %v, want %s", seed, g.core.Now, e.name, err, e.want)
				}
			}
		})
	}
	for i, e := range edits {
		if tried[i] == 0 {
			t.Errorf("%s: no state has it", e.name)
		}
	}
}
