package sched

import (
	"iter"
	"math"
	"slices"
)

const (
	// keepIdle is how many shapes that no stage uses stay kept up to date when a stage ends, because the next job is
	// likely to ask for one of them. Searches for other shapes may add more until the next stage ends or a sweep comes.
	keepIdle = 32
	// sweepAfter is how many new vectors come at least between two sweeps.
	sweepAfter = 1024
	// rowsOfVector is how many rows a sweep may look at for each vector that has come since the last one.
	rowsOfVector = 8
)

// A shape is one of the few distinct vectors that tasks ask for, and the set of open nodes with room for it.
type shape struct {
	id     ShapeID
	amount Resources
	parts  []part  // of amount, those that are not zero
	users  int32   // live stages with it
	active bool    // fits is kept up to date
	marked bool    // by a sweep: some row has it
	free   bool    // it is forgotten, and its row is for the next new vector
	fits   nodeSet // empty while the shape is not active
}

// A part is the amount of one kind.
type part struct {
	kind   ResourceKind
	amount int64
}

// shapes interns vectors, and keeps for each active one the set of nodes with room for it.
//
// Vectors that no stage and no attempt has are forgotten, because a core lives for months, and its applications and its
// policy may ask for ever new ones. Launches and ends count nothing. Instead, before the events of a Step, a sweep
// marks the vectors that the rows of stages and attempts have, and forgets the others. It comes when so many new
// vectors have come that it looks at O(1) rows for each of them. So it adds O(1) to the cost of a new vector, and
// nothing to that of a launch.
//
// The invariant: an ID that a stage or an attempt has, or that intern has returned in this Step, stands for its vector.
// Any other ID, such as one that a policy has kept, stands for its vector or for none (find returns nil), and not for
// another vector, because the ID counts the vectors that had its row before. The count begins anew after 2,048 vectors
// of a row, which takes as many sweeps.
//
// Beside the vectors in use, about sweepAfter others are known at most, or one for each rowsOfVector rows if these are
// more. What is kept by ShapeID.Row, here and in each Index, is bounded by that.
type shapes struct {
	view   *View
	list   []*shape // by ShapeID.Row; list[0] is the empty vector, which is never forgotten
	byAmt  map[Resources]ShapeID
	free   []int32 // rows of forgotten vectors, the lowest last
	fresh  int     // new vectors since the last sweep
	active []*shape
	kept   int // nodes reserved, whose room is in no set
}

// intern returns the ID of a vector, a new one if the vector is not known. It panics with a Breach if more vectors are
// known than there are rows.
func (t *shapes) intern(r Resources) ShapeID {
	if id, ok := t.byAmt[r]; ok {
		return id
	}
	s := t.row()
	s.amount, s.parts = r, s.parts[:0]
	for k, a := range r {
		if a != 0 {
			s.parts = append(s.parts, part{ResourceKind(k), a})
		}
	}
	t.byAmt[r] = s.id
	t.fresh++
	return s.id
}

// row returns a row for a new vector, with the ID of that: the lowest free row, or one more.
func (t *shapes) row() *shape {
	if k := len(t.free); k > 0 {
		s := t.list[t.free[k-1]]
		t.free = t.free[:k-1]
		s.id, s.free = (s.id+1<<shapeBits)&math.MaxInt32, false
		return s
	}
	if len(t.list) == MaxShapes {
		breach("tasks ask for more than %d different vectors of resources at once", len(t.list))
	}
	s := &shape{id: ShapeID(len(t.list))}
	t.list = append(t.list, s)
	return s
}

// at returns the shape with an ID that the row of a stage or of an attempt has, or that intern has returned in this
// Step.
func (t *shapes) at(id ShapeID) *shape { return t.list[id.Row()] }

// find returns the shape with any ID; nil: it is forgotten, or there was never one.
func (t *shapes) find(id ShapeID) *shape {
	if row := int(id.Row()); row < len(t.list) {
		if s := t.list[row]; s.id == id && !s.free {
			return s
		}
	}
	return nil
}

// sweepIfDue sweeps if enough new vectors have come, or if forget says so; nil: it never does.
func (t *shapes) sweepIfDue(stages *stageTable, attempts *attemptTable, forget func() bool) {
	rows := len(stages.rows) + int(attempts.n) + len(t.list)
	if t.fresh >= max(sweepAfter, rows/rowsOfVector) || forget != nil && forget() {
		t.sweep(stages, attempts)
	}
}

// sweep forgets the vectors that no stage and no attempt has. It is called before the events of a Step, when the rows
// of what has ended are free. O(stages + attempts + vectors).
func (t *shapes) sweep(stages *stageTable, attempts *attemptTable) {
	for _, st := range stages.rows {
		t.at(st.Shape).marked = true
	}
	for slot := range attempts.n {
		if a := attempts.at(slot); a.ID != 0 {
			t.at(a.Holds).marked, t.at(a.wants).marked = true, true
		}
	}
	t.list[0].marked = true
	t.free, t.fresh = t.free[:0], 0
	for row := len(t.list) - 1; row >= 0; row-- {
		s := t.list[row]
		if !s.marked {
			if !s.free {
				delete(t.byAmt, s.amount)
			}
			t.free = append(t.free, int32(row))
			s.amount, s.free, s.active, s.fits = Resources{}, true, false, nodeSet{}
		}
		s.marked = false
	}
	t.active = slices.DeleteFunc(t.active, func(s *shape) bool { return s.free })
}

// used returns the rows up to the last that is not free. Without the others, new vectors get the same rows.
func (t *shapes) used() []*shape {
	n := len(t.list)
	for t.list[n-1].free {
		n--
	}
	return t.list[:n]
}

// restore takes over vectors by row, as State.Shapes has them, into a table that has the empty vector only. It returns
// false if a vector stands twice.
func (t *shapes) restore(byRow []Resources) bool {
	for row, r := range byRow {
		switch _, known := t.byAmt[r]; {
		case row == 0 && r == (Resources{}):
		case r == (Resources{}):
			t.list = append(t.list, &shape{id: ShapeID(row), free: true})
		case row == 0 || known:
			return false
		default:
			t.intern(r)
		}
	}
	for row := len(t.list) - 1; row > 0; row-- {
		if t.list[row].free {
			t.free = append(t.free, int32(row))
		}
	}
	t.fresh = 0
	return true
}

// use notes that a stage with the shape has come (d is 1) or gone (-1). When too many idle shapes are active, their
// sets are dropped. Their vectors are still known.
func (t *shapes) use(id ShapeID, d int32) {
	s := t.at(id)
	s.users += d
	if d > 0 {
		t.activate(s)
		return
	}
	if len(t.active) <= keepIdle || s.users > 0 {
		return
	}
	idle := 0
	for _, o := range t.active {
		if o.users == 0 {
			idle++
		}
	}
	if idle <= keepIdle {
		return
	}
	kept := t.active[:0]
	for _, o := range t.active {
		if o.active = o.users > 0; o.active {
			kept = append(kept, o)
		} else {
			o.fits = nodeSet{}
		}
	}
	t.active = kept
}

// activate brings the set of nodes with room for s up to date and keeps it so. O(nodes) for a shape that was not
// active.
func (t *shapes) activate(s *shape) {
	if s.active {
		return
	}
	s.active = true
	t.active = append(t.active, s)
	for _, n := range t.view.Nodes {
		s.fits.grow(n.ID)
		if n.forAll() && n.hasRoom(s) {
			s.fits.flip(n.ID)
		}
	}
}

// forAll reports whether n is open and reserved for no stage.
func (n *Node) forAll() bool { return n.Open && n.Reserved.Job == 0 }

// hasRoom reports whether n has room for s.
func (n *Node) hasRoom(s *shape) bool {
	for i := range s.parts {
		p := &s.parts[i]
		if k := p.kind % NumResources; n.Used[k]+p.amount > n.Capacity[k] { // % saves the check of bounds
			return false
		}
	}
	return true
}

// room reports whether some node has room for some active shape, reserved nodes apart.
func (t *shapes) room() bool {
	for _, s := range t.active {
		if s.fits.count > 0 {
			return true
		}
	}
	return false
}

// note brings the sets of nodes up to date after n changed. O(shapes in use).
func (t *shapes) note(n *Node) {
	forAll := n.forAll()
	for _, s := range t.active {
		if fits := forAll && n.hasRoom(s); fits != s.fits.has(n.ID) {
			s.fits.flip(n.ID)
		}
	}
}

// grow makes space for node n in the sets.
func (t *shapes) grow(n NodeID) {
	for _, s := range t.active {
		s.fits.grow(n)
	}
}

// nextFit returns the first node after another on which st may launch a task with a shape now, of a class (zero: any).
// The core knows the shape. Nodes that are reserved for st come in their place in the order.
func (c *cluster) nextFit(st *Stage, id ShapeID, class ClassID, after NodeID) *Node {
	s := c.ledger.shapes.at(id)
	if c.exhausted || st.cap != 0 && !c.underMax(st.cap, s) {
		return nil
	}
	if !s.active {
		c.ledger.shapes.activate(s)
	}
	var own *Node // the first reserved one
	for _, r := range st.reserved {
		n := c.view.Node(r)
		if r > after && n.Open && n.hasRoom(s) && (own == nil || r < own.ID) && c.allows(st, n, class) {
			own = n
		}
	}
	for i := s.next(c, after, class); i != 0; i = s.next(c, i, class) {
		if own != nil && own.ID < i {
			return own
		}
		if n := c.view.Nodes[i-1]; st.free() || c.allows(st, n, 0) {
			return n
		}
	}
	return own
}

// around yields the nodes that nextFit returns one after another. Under Config.Spread, and where after is zero, those
// behind the node of the last launch come first.
func around(c *cluster, st *Stage, w Where) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		from := NodeID(0)
		if c.config.Spread && w.After == 0 {
			from = c.started
			for n := c.nextFit(st, w.Shape, w.Class, from); n != nil; n = c.nextFit(st, w.Shape, w.Class, n.ID) {
				if !yield(n) {
					return
				}
			}
		}
		for n := c.nextFit(st, w.Shape, w.Class, w.After); n != nil && (from == 0 || n.ID <= from); {
			if !yield(n) {
				return
			}
			n = c.nextFit(st, w.Shape, w.Class, n.ID)
		}
	}
}

// next returns the first open node of a class (zero: of any) after another that has room for s; 0: none. Nodes of other
// classes cost a step for each 64 of them.
func (s *shape) next(c *cluster, after NodeID, class ClassID) NodeID {
	if class == 0 {
		return s.fits.after(after)
	}
	return s.fits.afterIn(after, c.view.Classes[class-1].members)
}

// fitsOn reports whether st may launch a task that holds a shape on n now.
func (c *cluster) fitsOn(st *Stage, id ShapeID, n *Node) bool {
	s := c.ledger.shapes.at(id)
	if c.exhausted || !n.Open || n.Reserved != (StageID{}) && n.Reserved != st.ID || !n.hasRoom(s) {
		return false
	}
	return (st.free() || c.allows(st, n, 0)) && (st.cap == 0 || c.underMax(st.cap, s))
}

// free reports whether neither constraints nor failures keep st off any node.
func (st *Stage) free() bool { return st.only == nil && st.Job.banned == nil }

// allows reports whether the constraints of st and of its job permit node n of a class (zero: any). Room and
// reservations do not count.
func (c *cluster) allows(st *Stage, n *Node, class ClassID) bool {
	if class != 0 && n.Class != class {
		return false
	}
	if st.only != nil &&
		(!contains(st.only, n.ID) || st.tasks.wishes != nil && st.tasks.wishes.level(st, n) == OffSwitch) {
		return false
	}
	return st.Job.banned == nil || !contains(st.Job.banned, n.ID)
}

// underMax reports whether the queues from cap up stay within their maxima with one more task with s.
func (c *cluster) underMax(cap QueueID, s *shape) bool {
	for cap != 0 {
		q := c.view.Queues[cap]
		for _, p := range s.parts {
			if q.Used[p.kind]+p.amount > q.Max[p.kind] {
				return false
			}
		}
		if q.ID == q.Parent {
			break
		}
		cap = c.view.Queues[q.Parent].cap
	}
	return true
}

// contains reports whether sorted contains n.
func contains(sorted []NodeID, n NodeID) bool {
	lo, hi := 0, len(sorted)
	for lo < hi {
		if m := (lo + hi) / 2; sorted[m] < n {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo < len(sorted) && sorted[lo] == n
}
