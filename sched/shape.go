package sched

import "iter"

// keepIdle is how many shapes that no stage uses are kept up to date, because the next job is likely to ask for one of
// them.
const keepIdle = 32

// A shape is one of the few distinct vectors that tasks ask for, and the set of open nodes with room for it.
type shape struct {
	amount Resources
	parts  []part  // of amount, those that are not zero
	users  int32   // live stages with it
	active bool    // fits is kept up to date
	fits   nodeSet // empty while the shape is not active
}

// A part is the amount of one kind.
type part struct {
	kind   ResourceKind
	amount int64
}

// shapes interns vectors, and keeps for each active one the set of nodes with room for it.
type shapes struct {
	view   *View
	list   []*shape // by ShapeID; list[0] is the empty vector
	byAmt  map[Resources]ShapeID
	active []*shape
	kept   int // nodes reserved, whose room is in no set
}

// intern returns the ID of a vector, a new one if the vector was never seen. IDs are never used again.
func (t *shapes) intern(r Resources) ShapeID {
	if id, ok := t.byAmt[r]; ok {
		return id
	}
	s := &shape{amount: r}
	for k, a := range r {
		if a != 0 {
			s.parts = append(s.parts, part{ResourceKind(k), a})
		}
	}
	id := ShapeID(len(t.list))
	t.list = append(t.list, s)
	t.byAmt[r] = id
	return id
}

// use notes that a stage with the shape has come (d is 1) or gone (-1). When too many idle shapes are active, their
// sets are forgotten. Their vectors keep their IDs.
func (t *shapes) use(id ShapeID, d int32) {
	s := t.list[id]
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
// Nodes that are reserved for st come in their place in the order.
func (c *cluster) nextFit(st *Stage, id ShapeID, class ClassID, after NodeID) *Node {
	s := c.ledger.shapes.list[id]
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
	s := c.ledger.shapes.list[id]
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
