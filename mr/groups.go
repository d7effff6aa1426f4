package mr

import "iter"

// Groups are the pairs of one part, in order of their keys, cut where SameGroup says. Use:
// for in.Next() { … in.Key() …; for in.NextValue() { … in.Value() … } }.
type Groups struct {
	attempt *Attempt
	same    func(a, b []byte) bool // nil: by the order of keys
	ordering
	from   source
	out    *Emitter
	recs   [fillPairs]rec
	n, at  int    // filled, and the pair that is read
	key    []byte // of the group
	last   rec    // the last pair of what recs held before, its key in kept
	kept   []byte
	fresh  bool // a group begins at recs[at]: its first value has not been asked for
	inside bool // in a group; recs[at] is its current pair
	groups int64
	pairs  int64
	total  int64 // pairs there will be, about; 0: unknown
	failed error
}

func newGroups(t *Task, from source, out *Emitter) *Groups {
	return &Groups{attempt: t.attempt, same: t.Job.SameGroup, ordering: ordering{t.Job.Compare}, from: from, out: out}
}

// load makes recs[at] a pair that was not read yet, and reports whether there is one.
func (g *Groups) load() bool {
	if g.at < g.n {
		return true
	}
	if g.failed != nil || g.out.failed != nil {
		return false
	}
	if g.failed = g.attempt.pass(); g.failed != nil {
		return false
	}
	if g.n > 0 { // to be compared with what comes
		g.kept = append(g.kept[:0], g.recs[g.n-1].key...)
		g.last = rec{prefix: g.recs[g.n-1].prefix, key: g.kept}
		g.key = g.kept
	}
	g.at = 0
	g.n, g.failed = g.from.fill(g.recs[:])
	if g.failed != nil {
		g.n = 0
	}
	if g.total > 0 {
		g.attempt.share.Store(min(400_000+600_000*g.pairs/g.total, 1e6))
	}
	return g.n > 0
}

// sameAsBefore reports whether recs[at] belongs to the group of the pair before it.
func (g *Groups) sameAsBefore() bool {
	before := &g.last
	if g.at > 0 {
		before = &g.recs[g.at-1]
	}
	if g.same != nil {
		return g.same(before.key, g.recs[g.at].key)
	}
	return g.order(before, &g.recs[g.at]) == 0
}

// Next moves to the next group, past what was not read of this one, and reports whether there is one. It waits while
// the attempt is suspended, and is false when it was killed or reading failed: the function then just returns.
func (g *Groups) Next() bool {
	for g.NextValue() {
	}
	if g.at >= g.n && !g.load() {
		return false
	}
	g.groups++
	g.fresh, g.inside = true, true
	g.key = g.recs[g.at].key
	return true
}

// Key returns the key of the group. If SameGroup lets the keys of a group differ, it is the key of the value that was
// read last, or of the first value if none was read. It is lent until Next or NextValue.
func (g *Groups) Key() []byte { return g.key }

// NextValue moves to the next value of the group, the first at first, and reports whether there is one.
func (g *Groups) NextValue() bool {
	if !g.inside {
		return false
	}
	if g.fresh {
		g.fresh = false
		g.pairs++
		return true
	}
	g.at++
	if (g.at < g.n || g.load()) && g.sameAsBefore() {
		g.key = g.recs[g.at].key
		g.pairs++
		return true
	}
	g.inside = false
	return false
}

// Value returns the current value. It is lent until Next or NextValue.
func (g *Groups) Value() []byte { return g.recs[g.at].value }

// Values yields the rest of the group's values, each lent until the next.
func (g *Groups) Values() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for g.NextValue() && yield(g.Value()) {
		}
	}
}
