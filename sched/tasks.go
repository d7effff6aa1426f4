package sched

import (
	"cmp"
	"math/bits"
	"slices"
)

// A taskSet is the tasks of a stage that may be started: first those that must run again, then those never started. Of
// the latter those nearest their input come first, where the stage has places.
type taskSet struct {
	next     int32           // each task from 1 to next was started at least once
	again    []int32         // to run again; the last is the next
	taken    []uint64        // tasks above next that were started, by bit; nil: none
	near     *places         // nil until needed
	wishes   *wishes         // where they would run, of a stage whose tasks the engine chooses; nil: anywhere
	failures map[int32]int32 // failed attempts by task
	ran      []NodeID        // by task-1: where its output is; nil where no stage needs it
}

// isTaken reports whether a task above next has been started.
func (t *taskSet) isTaken(task int32) bool {
	return t.taken != nil && t.taken[task>>6]>>(task&63)&1 != 0
}

// mark notes that a task of st above next has been started.
func (t *taskSet) mark(st *Stage, task int32) {
	if t.taken == nil {
		t.taken = make([]uint64, st.Total>>6+1)
	}
	t.taken[task>>6] |= 1 << (task & 63)
}

// startable returns how many tasks of st may be taken, whether they wait or not: those that must run again, and those
// never started. A task whose attempts are all asked to end is not one of them until the core knows the end. O(tasks of
// st ÷ 64).
func (t *taskSet) startable(st *Stage) int32 {
	first := t.next + 1
	n := int32(len(t.again)) + st.Total - t.next
	for i := int(first >> 6); i < len(t.taken); i++ {
		w := t.taken[i]
		if i == int(first>>6) {
			w >>= first & 63
		}
		n -= int32(bits.OnesCount64(w))
	}
	return n
}

// take removes the task that is to start on n, and returns its number, which counts from 1. Tasks that must run again
// come first, wherever their input is, the last one added first. Then come those with input on n, those with input in
// the rack of n, and the others, of each the lowest number first. If the engine chooses the task, take returns 0, and
// notes in the wishes that a task has started on n. The caller makes sure that a task is pending.
func (t *taskSet) take(c *cluster, st *Stage, n *Node) int32 {
	if k := len(t.again); k > 0 {
		task := t.again[k-1]
		t.again = t.again[:k-1]
		return task
	}
	if st.Total < 0 {
		if t.wishes != nil {
			t.wishes.take(st, n)
		}
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

// peek returns the task that take would return.
func (t *taskSet) peek(c *cluster, st *Stage, n *Node) int32 {
	if k := len(t.again); k > 0 {
		return t.again[k-1]
	}
	if st.Total < 0 {
		return 0
	}
	if st.Spec.Copies > 0 {
		if task, _ := t.index(c, st).nearest(t, n); task != 0 {
			return task
		}
	}
	task := t.next + 1
	for t.isTaken(task) {
		task++
	}
	return task
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

// level returns the locality on n of the task that take would return.
func (t *taskSet) level(c *cluster, st *Stage, n *Node) Locality {
	if t.wishes != nil {
		return t.wishes.level(st, n)
	}
	if st.Spec.Copies == 0 {
		return NodeLocal
	}
	if k := len(t.again); k > 0 {
		return c.levelOf(st, t.again[k-1], n)
	}
	_, l := t.index(c, st).nearest(t, n)
	return l
}

// firstWhere returns the first node that fits and that w allows.
func (t *taskSet) firstWhere(c *cluster, st *Stage, w Where) *Node {
	if w.Level != OffSwitch {
		switch {
		case t.wishes != nil:
			if w.Shape == st.Shape && w.Class == 0 && w.After == 0 && w.Ok == nil {
				return t.wishes.firstAt(c, st, w.Level)
			}
		case st.Spec.Copies > 0 && len(t.again) == 0:
			return t.firstNear(c, st, w)
		}
	}
	for n := range around(c, st, w) {
		if (w.Level == OffSwitch || t.level(c, st, n) <= w.Level) && (w.Ok == nil || w.Ok(n)) {
			return n
		}
	}
	return nil
}

// firstNear does what firstWhere does, for tasks that were never started: it finds a node that stores the input of such
// a task, or, at level RackLocal, a node in its rack.
func (t *taskSet) firstNear(c *cluster, st *Stage, w Where) (first *Node) {
	s := c.ledger.shapes.at(w.Shape)
	if c.exhausted || st.cap != 0 && !c.underMax(st.cap, s) {
		return nil
	}
	c.ledger.shapes.activate(s)
	near := t.index(c, st)
	ok := func(n *Node) bool {
		return (w.Class == 0 && st.free() || c.allows(st, n, w.Class)) && (w.Ok == nil || w.Ok(n))
	}
	switch {
	case w.Level == RackLocal:
		rack, has := RackID(-1), false
		for i := s.fits.after(w.After); i != 0 && first == nil; i = s.fits.after(i) {
			n := c.view.Nodes[i-1]
			if n.Rack != rack { // nodes of a rack often follow each other
				rack, has = n.Rack, near.byRack.first(t, int32(n.Rack)) != 0
			}
			if has && ok(n) {
				first = n
			}
		}
	case 64*len(near.byNode.open) < s.fits.count:
		first = t.firstOpen(c, func(n *Node) bool { return n.ID > w.After && s.fits.has(n.ID) && ok(n) })
	default:
		for i := s.fits.afterIn(w.After, near.has); i != 0 && first == nil; i = s.fits.afterIn(i, near.has) {
			if near.byNode.first(t, int32(i)) == 0 {
				near.has[i>>6] &^= 1 << (i & 63)
			} else if n := c.view.Nodes[i-1]; ok(n) {
				first = n
			}
		}
	}
	for _, r := range st.reserved {
		if n := c.view.Node(r); r > w.After && (first == nil || r < first.ID) && n.Open && n.hasRoom(s) &&
			t.level(c, st, n) <= w.Level &&
			ok(n) {
			first = n
		}
	}
	return first
}

// firstOpen returns the first node that has the input of a task never started and for which ok is true; nil: none.
func (t *taskSet) firstOpen(c *cluster, ok func(*Node) bool) (first *Node) {
	near := &t.near.byNode
	kept, i := 0, 0
	for ; i < len(near.open) && first == nil; i++ {
		l := &near.lists[near.open[i]]
		if near.head(t, l) == 0 {
			continue
		}
		near.open[kept] = near.open[i]
		kept++
		if n := c.view.Node(NodeID(l.key)); ok(n) {
			first = n
		}
	}
	if kept < i { // drop the lists that are empty
		near.open = near.open[:kept+copy(near.open[kept:], near.open[i:])]
	}
	return first
}

// index returns the tasks of st by the places of their input. It builds the lists, in O(copies of input), when they are
// needed for the first time, and anew when the layout of nodes has changed.
func (t *taskSet) index(c *cluster, st *Stage) *places {
	if t.near == nil {
		t.near = &places{}
	}
	if t.near.layout != c.layouts {
		t.near.build(c, st)
	}
	return t.near
}

// levelOf returns the locality of a task of st on n.
func (c *cluster) levelOf(st *Stage, task int32, n *Node) Locality {
	if st.Spec.Copies == 0 || task == 0 {
		return NodeLocal
	}
	l := OffSwitch
	for _, p := range st.placesOf(task) {
		if p == n.ID {
			return NodeLocal
		}
		if p != 0 && int(p) <= len(c.view.Nodes) && c.view.Node(p).Rack == n.Rack {
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

// places finds the tasks of a stage that have their input near a node. Both lists are built once for a layout of nodes,
// in O(n) for n copies of input. A task that was started in another way is dropped when it is met. The storage is used
// again for the next stage in the row.
type places struct {
	layout         uint32 // cluster.layouts when they were made; 0: not for this stage
	byNode, byRack tasksBy
	has            []uint64    // by node, as bits: whether it may have a list that is not empty
	pairs          []keyedTask // scratch
}

// A keyedTask is a task and a node or a rack that has a copy of its input.
type keyedTask struct{ key, task int32 }

// tasksBy is lists of tasks by a key, kept in one array and found through a hash table of keys.
type tasksBy struct {
	table []int32    // open addressing: index of lists + 1
	lists []taskList // in order of first mention
	open  []int32    // indices of the lists that are not known to be empty, by key
	tasks []int32
}

// A taskList is tasks[from:to]; from moves on as tasks are started.
type taskList struct{ key, from, to int32 }

// build makes the lists of a stage.
func (p *places) build(c *cluster, st *Stage) {
	p.layout = c.layouts
	p.pairs = p.pairs[:0]
	for task := int32(1); task <= st.Total; task++ {
		for _, n := range st.placesOf(task) {
			if n != 0 && int(n) <= len(c.view.Nodes) {
				p.pairs = append(p.pairs, keyedTask{int32(n), task})
			}
		}
	}
	p.byNode.build(p.pairs, len(c.view.Nodes))
	words := len(c.view.Nodes)>>6 + 1
	p.has = slices.Grow(p.has[:0], words)[:words]
	clear(p.has)
	for _, l := range p.byNode.lists {
		p.has[l.key>>6] |= 1 << (l.key & 63)
	}
	for i := range p.pairs {
		p.pairs[i].key = int32(c.view.Node(NodeID(p.pairs[i].key)).Rack)
	}
	p.byRack.build(p.pairs, len(c.view.Nodes))
}

// build makes the lists of pairs, which come in order of tasks: a list of tasks for each key. Of equal pairs it keeps
// one. keys is a bound on the number of different keys, for the size of the table.
func (b *tasksBy) build(pairs []keyedTask, keys int) {
	size := 4
	for size < 2*min(len(pairs), keys) {
		size *= 2
	}
	b.table = slices.Grow(b.table[:0], size)[:size]
	clear(b.table)
	b.lists = b.lists[:0]
	for _, p := range pairs { // count: to is the number of tasks, from the last one counted
		i := b.find(p.key)
		if b.table[i] == 0 {
			b.lists = append(b.lists, taskList{key: p.key})
			b.table[i] = int32(len(b.lists))
		}
		if l := &b.lists[b.table[i]-1]; l.from != p.task {
			l.from = p.task
			l.to++
		}
	}
	total := int32(0)
	b.open = b.open[:0]
	for i := range b.lists {
		b.open = append(b.open, int32(i))
		l := &b.lists[i]
		n := l.to
		l.from, l.to = total, total
		total += n
	}
	slices.SortFunc(b.open, func(i, j int32) int { return cmp.Compare(b.lists[i].key, b.lists[j].key) })
	b.tasks = slices.Grow(b.tasks[:0], int(total))[:total]
	for _, p := range pairs {
		l := &b.lists[b.table[b.find(p.key)]-1]
		if l.to == l.from || b.tasks[l.to-1] != p.task {
			b.tasks[l.to] = p.task
			l.to++
		}
	}
}

// find returns the place in the table of a key, or the empty one where it belongs.
func (b *tasksBy) find(key int32) uint32 {
	mask := uint32(len(b.table) - 1)
	i := uint32(key) * 0x9e3779b1 >> 7 & mask
	for b.table[i] != 0 && b.lists[b.table[i]-1].key != key {
		i = (i + 1) & mask
	}
	return i
}

// first returns the first task of a key that is not started; 0: none.
func (b *tasksBy) first(t *taskSet, key int32) int32 {
	at := b.table[b.find(key)]
	if at == 0 {
		return 0
	}
	return b.head(t, &b.lists[at-1])
}

// head returns the first task of a list that is not started; 0: none.
func (b *tasksBy) head(t *taskSet, l *taskList) int32 {
	for ; l.from < l.to; l.from++ {
		if task := b.tasks[l.from]; task > t.next && !t.isTaken(task) {
			return task
		}
	}
	return 0
}

// nearest returns the lowest task never started that has input on n, else in the rack of n; 0: there is none.
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
	trim int // length at which outputs that no stage needs are dropped
}

// An output is a finished task whose output is on a node.
type output struct {
	stage *Stage
	id    StageID
	task  int32
}

// needed reports whether the output still is where it was made and a stage may still read it.
func (o output) needed(n NodeID) bool {
	return o.stage.ID == o.id && o.stage.alive && o.stage.tasks.ran != nil && o.stage.tasks.ran[o.task-1] == n
}

// add notes that the output of a task of st is on n. When the list has doubled it drops the outputs that no stage needs
// any more, so that add is O(1) on average.
func (o *outputs) add(n NodeID, st *Stage, task int32) {
	if len(o.list) >= o.trim {
		o.list = slices.DeleteFunc(o.list, func(x output) bool { return !x.needed(n) })
		o.trim = max(64, 2*len(o.list))
	}
	o.list = append(o.list, output{st, st.ID, task})
}
