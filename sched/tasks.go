package sched

import "slices"

// A taskSet is the tasks of a stage that may be started: the ones to run again, then those never started, nearest to
// their input first where the stage has places.
type taskSet struct {
	next     int32           // no task from 1 to next was never started
	again    []int32         // to run again; the last is the next
	taken    []uint64        // tasks above next that were started, by bit; nil: none
	near     *places         // nil until needed
	failures map[int32]int32 // failed attempts by task
	ran      []NodeID        // by task-1: where its output is; nil where no stage needs it
}

func (t *taskSet) isTaken(task int32) bool {
	return t.taken != nil && t.taken[task>>6]>>(task&63)&1 != 0
}

func (t *taskSet) mark(st *Stage, task int32) {
	if t.taken == nil {
		t.taken = make([]uint64, st.Total>>6+1)
	}
	t.taken[task>>6] |= 1 << (task & 63)
}

// take removes and returns the task to start on n; 0 where the engine chooses.
func (t *taskSet) take(c *Core, st *Stage, n *Node) int32 {
	if k := len(t.again); k > 0 {
		task := t.again[k-1]
		t.again = t.again[:k-1]
		return task
	}
	if st.Total < 0 {
		return 0
	}
	if st.Spec.Copies > 0 {
		if task, _ := t.index(c, st).nearest(t, n); task != 0 {
			t.mark(st, task)
			return task
		}
	}
	t.next++
	for t.isTaken(t.next) {
		t.next++
	}
	return t.next
}

// takeNamed removes a task, and reports whether it was there.
func (t *taskSet) takeNamed(st *Stage, task int32) bool {
	if i := slices.Index(t.again, task); i >= 0 {
		t.again = slices.Delete(t.again, i, i+1)
		return true
	}
	if task <= t.next || task > st.Total || t.isTaken(task) {
		return false
	}
	t.mark(st, task)
	return true
}

// level is the locality of the task that take would return.
func (t *taskSet) level(c *Core, st *Stage, n *Node) Locality {
	if st.Spec.Copies == 0 {
		return NodeLocal
	}
	if k := len(t.again); k > 0 {
		return c.levelOf(st, t.again[k-1], n)
	}
	_, l := t.index(c, st).nearest(t, n)
	return l
}

// firstAt returns the first node that fits on which level is at most l.
func (t *taskSet) firstAt(c *Core, st *Stage, l Locality) *Node {
	if st.Spec.Copies == 0 || l == OffSwitch {
		return c.First(st)
	}
	tries := 1 << 30
	if len(t.again) == 0 && l == NodeLocal {
		tries = len(t.index(c, st).byNode.keys)
	}
	n := c.First(st)
	for ; n != nil && tries > 0; n = c.nextFit(st, st.Shape, 0, n.ID) {
		if t.level(c, st, n) <= l {
			return n
		}
		tries--
	}
	if n == nil {
		return nil
	}
	for _, key := range t.near.byNode.keys { // fewer than the nodes with room
		n := c.Node(NodeID(key))
		if t.level(c, st, n) == NodeLocal && c.fitsOn(st, st.Shape, n) {
			return n
		}
	}
	return nil
}

func (t *taskSet) index(c *Core, st *Stage) *places {
	if t.near == nil {
		t.near = newPlaces(c, st)
	}
	return t.near
}

// levelOf is the locality of a task on a node.
func (c *Core) levelOf(st *Stage, task int32, n *Node) Locality {
	if st.Spec.Copies == 0 || task == 0 {
		return NodeLocal
	}
	l := OffSwitch
	for _, p := range st.placesOf(task) {
		if p == n.ID {
			return NodeLocal
		}
		if p != 0 && int(p) <= len(c.Nodes) && c.Node(p).Rack == n.Rack {
			l = RackLocal
		}
	}
	return l
}

// placesOf returns the nodes with the input of a task.
func (st *Stage) placesOf(task int32) []NodeID {
	k := st.Spec.Copies
	return st.Spec.Places[(task-1)*k : task*k]
}

// places finds the tasks of a stage that are near a node. Both lists are made once, in O(n log n) for n tasks; a task that was
// started otherwise is dropped when it is met.
type places struct{ byNode, byRack tasksBy }

// tasksBy is lists of tasks by a key, kept in one array.
type tasksBy struct {
	keys  []int32 // sorted
	from  []int32 // tasks[from[i]:to[i]] are those of keys[i]; from moves on as tasks are started
	to    []int32
	tasks []int32
}

func newPlaces(c *Core, st *Stage) *places {
	var node, rack []uint64 // key<<32 | task
	for task := int32(1); task <= st.Total; task++ {
		for _, p := range st.placesOf(task) {
			if p == 0 || int(p) > len(c.Nodes) {
				continue
			}
			node = append(node, uint64(p)<<32|uint64(task))
			rack = append(rack, uint64(uint32(c.Node(p).Rack))<<32|uint64(task))
		}
	}
	return &places{group(node), group(rack)}
}

func group(pairs []uint64) (t tasksBy) {
	slices.Sort(pairs)
	pairs = slices.Compact(pairs)
	t.tasks = make([]int32, len(pairs))
	for i, p := range pairs {
		t.tasks[i] = int32(uint32(p))
		if key := int32(p >> 32); i == 0 || key != t.keys[len(t.keys)-1] {
			t.keys = append(t.keys, key)
			t.from = append(t.from, int32(i))
			t.to = append(t.to, int32(i))
		}
		t.to[len(t.to)-1]++
	}
	return t
}

// first returns the first task of a key that is not started; 0: none.
func (b *tasksBy) first(t *taskSet, key int32) int32 {
	i, ok := slices.BinarySearch(b.keys, key)
	if !ok {
		return 0
	}
	for b.from[i] < b.to[i] {
		if task := b.tasks[b.from[i]]; task > t.next && !t.isTaken(task) {
			return task
		}
		b.from[i]++
	}
	return 0
}

func (p *places) nearest(t *taskSet, n *Node) (int32, Locality) {
	if task := p.byNode.first(t, int32(n.ID)); task != 0 {
		return task, NodeLocal
	}
	if task := p.byRack.first(t, int32(n.Rack)); task != 0 {
		return task, RackLocal
	}
	return 0, OffSwitch
}

// outputs are finished tasks whose output is on a node.
type outputs struct {
	list []output
	trim int // length at which those that nobody needs any more are dropped
}

type output struct {
	stage *Stage
	id    StageID
	task  int32
}

// needed reports whether the output still is where it was made and a stage may still read it.
func (o output) needed(n NodeID) bool {
	return o.stage.ID == o.id && o.stage.alive && o.stage.tasks.ran != nil && o.stage.tasks.ran[o.task-1] == n
}

func (o *outputs) add(n NodeID, st *Stage, task int32) {
	if len(o.list) >= o.trim {
		o.list = slices.DeleteFunc(o.list, func(x output) bool { return !x.needed(n) })
		o.trim = max(64, 2*len(o.list))
	}
	o.list = append(o.list, output{st, st.ID, task})
}
