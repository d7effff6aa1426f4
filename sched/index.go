package sched

import "iter"

// A Key orders stages: smaller Class first, then smaller Value, then smaller Then, then by submission.
type Key struct {
	Class int32   `json:"class"` // decides first
	Value float64 `json:"value"` // decides where classes are equal
	Then  int64   `json:"then"`  // decides where values are equal, too
}

// Before reports whether a stage with key k comes before one with key o. Of two equal keys neither does.
func (k Key) Before(o Key) bool {
	switch {
	case k.Class != o.Class:
		return k.Class < o.Class
	case k.Value != o.Value:
		return k.Value < o.Value
	}
	return k.Then < o.Then
}

// Compare returns a negative number if k comes before o, a positive one if o comes before k, and 0 if they are equal.
func (k Key) Compare(o Key) int {
	switch {
	case k.Before(o):
		return -1
	case o.Before(k):
		return 1
	}
	return 0
}

// An Index keeps stages in order. It follows the log of changes and pays O(log n) for each stage that changed. Any
// number of indexes may live in any policy, wrapped or not. An index that fell behind the log, or was just restored,
// builds itself anew.
//
// An Index is a cache: dropping it changes no decision, provided that Key reads only what it may.
//
// Set Key, Group and Every once, before the first Sync. Every method but Sync needs a Sync in the same Step.
type Index struct {
	// Key returns the place of a stage, and whether it has one. It may read the rows of the stage, of its job and of
	// the job's other stages, what the policy remembers of these rows (Touch says that it changed), and at. It must
	// read nothing else.
	Key func(v *View, st *Stage, at Time) (Key, bool)
	// Group returns the order that a stage belongs to, a small number from 0. It may read what never changes, and the
	// queue of the job. Nil: there is one order.
	Group func(*Stage) int
	// Every is for keys that age: at its multiples the index computes all keys anew, for the same at. Zero: keys do not
	// age, and at is 0. For keys that age at rates of their own see Tournament.
	Every Time

	view    *View
	at      Time
	seen    int64 // how far the log has been read
	changes int64 // moves in heaps, so that All sees a use of the index during its walk
	heaps   []stageHeap
	which   map[heapID]int32 // index of heaps + 1
	live    []int32          // heaps that are not empty
	byGroup [][]int32        // the same by group
	where   []spot           // by stage slot
	aside   []int32          // slots
}

// A spot is where a stage is in an Index.
type spot struct {
	heap  int32 // index of heaps + 1; 0: nowhere
	pos   int32
	queue int64 // of its job when it got there
	aside bool  // skipped until the next Sync
}

// A heapID names a heap. Stages share a heap if they find room under the same conditions, so that a look at the first
// one is enough.
type heapID struct {
	group int32
	shape int32 // row of the ShapeID: when a shape is forgotten, the next one in its row gets its heaps
	cap   QueueID
	keeps bool // nodes are reserved for them: each stage must be looked at
}

// A stageHeap is the stages of an Index that find room under the same conditions, the first one on top.
type stageHeap struct {
	id      heapID
	entries []entry  // 4-ary heap
	at      [2]int32 // indices in live and in its group's list, while it is not empty
}

// An entry is a Key with its stage. Its fields are ordered so that two entries share a cache line.
type entry struct {
	value float64
	then  int64
	id    int64 // order of submission
	class int32
	slot  int32
}

// before reports what [Key.Before] does, and for equal keys whether e was submitted first. It is written out, because
// every move in a heap asks it.
func (e *entry) before(o *entry) bool {
	switch {
	case e.class != o.class:
		return e.class < o.class
	case e.value != o.value:
		return e.value < o.value
	case e.then != o.then:
		return e.then < o.then
	}
	return e.id < o.id
}

// Sync brings the index up to date, and ends the effect of Skip.
func (x *Index) Sync(p *Plan) {
	c := p.cluster
	at := Time(0)
	if x.Every > 0 {
		at = p.Now / x.Every * x.Every
	}
	if x.view != p.View || x.at != at || x.seen < c.ledger.log.base || c.config.Forget != nil && c.config.Forget() {
		x.view, x.at = p.View, at
		x.rebuild()
		return
	}
	for _, slot := range x.aside {
		x.where[slot].aside = false
		x.update(c.stages.rows[slot])
	}
	x.aside = x.aside[:0]
	x.follow()
}

// At returns the instant for which the keys are computed; zero where keys do not age.
func (x *Index) At() Time { return x.at }

// rebuild puts all stages in their places anew. O(n log n) for n stages.
func (x *Index) rebuild() {
	c := x.view.cluster
	for i := range x.heaps {
		x.heaps[i].entries = x.heaps[i].entries[:0]
	}
	x.live = x.live[:0]
	for group := range x.byGroup {
		x.byGroup[group] = x.byGroup[group][:0]
	}
	if n := len(c.stages.rows); len(x.where) < n {
		x.where = make([]spot, n)
	}
	clear(x.where)
	x.aside = x.aside[:0]
	for _, st := range c.stages.rows {
		x.update(st)
	}
	x.seen = c.ledger.log.end()
	c.ledger.log.read = x.seen
}

// follow brings the index up to date with the log. O(1) if nothing has changed.
func (x *Index) follow() {
	if c := x.view.cluster; x.seen != c.ledger.log.end() {
		x.catchUp(c)
	}
}

// catchUp updates the stages that the log lists since the last call, one after the other.
func (x *Index) catchUp(c *cluster) {
	rows := c.stages.rows
	if n := len(rows); len(x.where) < n {
		x.where = append(x.where, make([]spot, n-len(x.where))...)
	}
	for _, slot := range c.ledger.log.slots[x.seen-c.ledger.log.base:] {
		x.update(rows[slot])
	}
	x.seen = c.ledger.log.end()
	c.ledger.log.read = x.seen
}

// update computes the key of st and puts st in its place, or removes it if it has none. A stage stays in its heap if
// its ID, queue, shape and limit are as before, and no reservation for it has begun or ended; else it moves to another
// heap. A stage that was skipped stays where it is. O(log n).
func (x *Index) update(st *Stage) {
	w := &x.where[st.slot]
	if w.aside {
		return
	}
	var key Key
	ok := false
	if st.alive {
		key, ok = x.Key(x.view, st, x.at)
	}
	if !ok {
		if w.heap != 0 {
			x.remove(w)
		}
		return
	}
	e := entry{key.Value, key.Then, st.ID.number(), key.Class, st.slot}
	_, queue := st.Job.leaf.row()
	if w.heap != 0 {
		h := &x.heaps[w.heap-1]
		old := &h.entries[w.pos]
		if old.id == e.id && w.queue == queue && h.id.shape == st.Shape.Row() && h.id.cap == st.cap &&
			h.id.keeps == (len(st.reserved) > 0) {
			switch {
			case *old == e:
			case e.before(old):
				x.up(w.heap, w.pos, e)
			default:
				x.down(w.heap, w.pos, e)
			}
			return
		}
		x.remove(w)
	}
	i := x.heapOf(x.heapIDOf(st))
	h := &x.heaps[i-1]
	if len(h.entries) == 0 {
		x.open(i)
	}
	w.queue = queue
	h.entries = append(h.entries, e)
	x.up(i, int32(len(h.entries)-1), e)
}

// heapIDOf returns the heap to which st belongs now.
func (x *Index) heapIDOf(st *Stage) heapID {
	id := heapID{shape: st.Shape.Row(), cap: st.cap, keeps: len(st.reserved) > 0}
	if x.Group != nil {
		id.group = int32(x.Group(st))
	}
	return id
}

// heapOf returns the index + 1 of a heap, which it makes if need be.
func (x *Index) heapOf(id heapID) int32 {
	if i, ok := x.which[id]; ok {
		return i
	}
	if x.which == nil {
		x.which = map[heapID]int32{}
	}
	x.heaps = append(x.heaps, stageHeap{id: id})
	for len(x.byGroup) <= int(id.group) {
		x.byGroup = append(x.byGroup, nil)
	}
	i := int32(len(x.heaps))
	x.which[id] = i
	return i
}

// heapsOf returns the heaps of a group that are not empty.
func (x *Index) heapsOf(group int) []int32 {
	if group < len(x.byGroup) {
		return x.byGroup[group]
	}
	return nil
}

// open puts heap i on the lists of heaps that are not empty.
func (x *Index) open(i int32) {
	h := &x.heaps[i-1]
	group := x.byGroup[h.id.group]
	h.at = [2]int32{int32(len(x.live)), int32(len(group))}
	x.live = append(x.live, i)
	x.byGroup[h.id.group] = append(group, i)
}

// shut takes heap i, which is empty now, off those lists.
func (x *Index) shut(i int32) {
	h := &x.heaps[i-1]
	group := x.byGroup[h.id.group]
	for k, list := range [2][]int32{x.live, group} {
		last := list[len(list)-1]
		list[h.at[k]] = last
		x.heaps[last-1].at[k] = h.at[k]
	}
	x.live = x.live[:len(x.live)-1]
	x.byGroup[h.id.group] = group[:len(group)-1]
}

// remove takes the stage at spot w out of its heap. O(log n).
func (x *Index) remove(w *spot) {
	x.changes++
	i, pos := w.heap, w.pos
	h := &x.heaps[i-1]
	w.heap = 0
	n := int32(len(h.entries) - 1)
	e := h.entries[n]
	h.entries = h.entries[:n]
	if n == 0 {
		x.shut(i)
	}
	if pos == n {
		return
	}
	if e.before(&h.entries[pos]) {
		x.up(i, pos, e)
	} else {
		x.down(i, pos, e)
	}
}

// up moves the gap at position pos of a heap towards the root until e, which goes into the gap, is in order.
func (x *Index) up(heap, pos int32, e entry) {
	x.changes++
	a := x.heaps[heap-1].entries
	for pos > 0 {
		above := (pos - 1) >> 2
		if !e.before(&a[above]) {
			break
		}
		a[pos] = a[above]
		x.put(heap, pos, a[pos].slot)
		pos = above
	}
	a[pos] = e
	x.put(heap, pos, e.slot)
}

// down moves the gap at position pos of a heap away from the root until e, which goes into the gap, is in order.
func (x *Index) down(heap, pos int32, e entry) {
	x.changes++
	a := x.heaps[heap-1].entries
	n := int32(len(a))
	for {
		first := pos*4 + 1
		if first >= n {
			break
		}
		least := first
		for i := first + 1; i < min(first+4, n); i++ {
			if a[i].before(&a[least]) {
				least = i
			}
		}
		if !a[least].before(&e) {
			break
		}
		a[pos] = a[least]
		x.put(heap, pos, a[pos].slot)
		pos = least
	}
	a[pos] = e
	x.put(heap, pos, e.slot)
}

// put notes where the stage in a slot is.
func (x *Index) put(heap, pos, slot int32) {
	w := &x.where[slot]
	w.heap, w.pos = heap, pos
}

// First returns the first stage that has room on some node; nil: none. Blacklists and constraints may still keep the
// stage off every such node: then launching fails, and the caller goes on with Skip. O(groups × shapes in use).
func (x *Index) First() *Stage {
	if t := &x.view.cluster.ledger.shapes; t.kept == 0 && !t.room() {
		return nil // the log is read when there is room: until then the stages may change again
	}
	x.follow()
	var best *entry
	for _, i := range x.live {
		best = x.better(best, &x.heaps[i-1], fitting{})
	}
	return x.stage(best)
}

// FirstOf is First within a group, for tasks that hold a shape (zero: that of their stage). It costs the number of
// shapes.
func (x *Index) FirstOf(group int, shape ShapeID) *Stage {
	if shape != 0 && !knows(x.view.cluster, nil, shape) {
		return nil
	}
	return x.firstOf(group, fitting{shape: shape})
}

// FirstIn is First within a group, for nodes of a class. It costs the number of shapes, and a step for each 64 nodes of
// other classes that have room.
func (x *Index) FirstIn(group int, class ClassID) *Stage {
	return x.firstOf(group, fitting{class: class})
}

// firstOf is First within a group, for tasks that are launched as how says.
func (x *Index) firstOf(group int, how fitting) *Stage {
	if t := &x.view.cluster.ledger.shapes; how.shape == 0 && t.kept == 0 && !t.room() {
		return nil
	}
	x.follow()
	var best *entry
	for _, i := range x.heapsOf(group) {
		best = x.better(best, &x.heaps[i-1], how)
	}
	return x.stage(best)
}

// A fitting says how a task would be launched: with which shape (zero: that of its stage), on which class of nodes
// (zero: any).
type fitting struct {
	shape ShapeID
	class ClassID
}

// better returns the first entry of h that has room, if it comes before best, else best.
func (x *Index) better(best *entry, h *stageHeap, how fitting) *entry {
	if len(h.entries) == 0 || best != nil && !h.id.keeps && !h.entries[0].before(best) {
		return best
	}
	c := x.view.cluster
	s := c.ledger.shapes.list[h.id.shape]
	if how.shape != 0 {
		s = c.ledger.shapes.at(how.shape)
	}
	if h.id.keeps {
		for i := range h.entries {
			if e := &h.entries[i]; (best == nil || e.before(best)) &&
				c.nextFit(c.stages.rows[e.slot], s.id, how.class, 0) != nil {
				best = e
			}
		}
		return best
	}
	if !s.active {
		c.ledger.shapes.activate(s)
	}
	if c.exhausted || !s.fits.any() || how.class != 0 && s.next(c, 0, how.class) == 0 ||
		h.id.cap != 0 && !c.underMax(h.id.cap, s) {
		return best
	}
	return &h.entries[0]
}

// stage returns the stage of an entry; nil: there is none.
func (x *Index) stage(e *entry) *Stage {
	if e == nil {
		return nil
	}
	return x.view.cluster.stages.rows[e.slot]
}

// Head returns the first stage of a group, room or not; nil: none.
func (x *Index) Head(group int) *Stage {
	x.follow()
	var best *entry
	for _, i := range x.heapsOf(group) {
		if h := &x.heaps[i-1]; len(h.entries) > 0 && (best == nil || h.entries[0].before(best)) {
			best = &h.entries[0]
		}
	}
	return x.stage(best)
}

// All yields the stages of a group in order, with room or without, as they are when the walk begins. The first k cost
// O(k log k). The loop may use the plan, but not this index.
func (x *Index) All(group int) iter.Seq[*Stage] {
	return func(yield func(*Stage) bool) {
		x.follow()
		var next []spot // a binary heap of entries whose parents were yielded
		before := func(a, b spot) bool {
			return x.heaps[a.heap-1].entries[a.pos].before(&x.heaps[b.heap-1].entries[b.pos])
		}
		push := func(w spot) {
			next = append(next, w)
			for i := len(next) - 1; i > 0 && before(next[i], next[(i-1)/2]); i = (i - 1) / 2 {
				next[i], next[(i-1)/2] = next[(i-1)/2], next[i]
			}
		}
		for _, i := range x.heapsOf(group) {
			if len(x.heaps[i-1].entries) > 0 {
				push(spot{heap: i})
			}
		}
		changes := x.changes
		for len(next) > 0 {
			w := next[0]
			last := len(next) - 1
			next[0] = next[last]
			next = next[:last]
			for i := 0; ; {
				least := i
				for k := 2*i + 1; k <= 2*i+2 && k < last; k++ {
					if before(next[k], next[least]) {
						least = k
					}
				}
				if least == i {
					break
				}
				next[i], next[least] = next[least], next[i]
				i = least
			}
			h := &x.heaps[w.heap-1]
			for k := w.pos*4 + 1; k <= w.pos*4+4 && int(k) < len(h.entries); k++ {
				push(spot{heap: w.heap, pos: k})
			}
			if !yield(x.stage(&h.entries[w.pos])) {
				return
			}
			if x.changes != changes {
				panic("sched: an index was used while All walks it")
			}
		}
	}
}

// Skip leaves st out of the index until the next Sync.
func (x *Index) Skip(st *Stage) {
	w := &x.where[st.slot]
	if w.heap != 0 {
		x.remove(w)
	}
	if !w.aside {
		w.aside = true
		x.aside = append(x.aside, st.slot)
	}
}

// Len returns how many stages a group has.
func (x *Index) Len(group int) (n int) {
	x.follow()
	for _, i := range x.heapsOf(group) {
		n += len(x.heaps[i-1].entries)
	}
	return n
}

// Only reports whether every stage that has a place is in one group.
func (x *Index) Only(group int) bool {
	x.follow()
	return len(x.heapsOf(group)) == len(x.live)
}

// Alone reports whether st has a place and no other stage has one.
func (x *Index) Alone(st *Stage) bool {
	x.follow()
	at := x.where[st.slot].heap
	return at != 0 && len(x.live) == 1 && len(x.heaps[at-1].entries) == 1
}

// Position returns the key of st, and whether it has a place. It explains an order, and decides nothing.
func (x *Index) Position(st *Stage) (Key, bool) {
	if !st.alive {
		return Key{}, false
	}
	return x.Key(x.view, st, x.at)
}
