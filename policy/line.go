package policy

import "github.com/sojourn-sched/sojourn/sched"

// A line is an order of stages that is kept in parts. Within a part a stage has a key that changes only when the stage
// is touched. The order of stages of different parts may change at any time, and is computed when it is needed. Most
// orders have one part.
type line struct {
	parts []sched.Index
	// the key of a stage in the whole order; not called if there is one part
	whole func(v *sched.View, st *sched.Stage) sched.Key
	view  *sched.View
}

// A parting says how an order is kept in parts: which part a stage belongs to, and its key there.
type parting struct {
	parts int
	part  func(*sched.Stage) int // or nowhere
	key   Ranking
	falls bool // the key of a stage to take from falls while its tasks run, and nothing says that it did
	// whether a start of a task of the stage, as things stand, changes no key; nil: it may
	steady func(*sched.Stage) bool
}

const nowhere = -1

// onePart returns a parting with one part, in the order of rank.
func onePart(rank Ranking) parting {
	return parting{parts: 1, part: func(*sched.Stage) int { return 0 }, key: rank}
}

// alwaysSteady returns true. It is [parting.steady] for keys that no start changes.
func alwaysSteady(*sched.Stage) bool { return true }

// init sets up the parts in groups; key says whether a stage is in a part.
func (l *line) init(group func(*sched.Stage) int, parts int, key func(v *sched.View, st *sched.Stage,
	part int) (sched.Key, bool)) {
	l.parts = make([]sched.Index, parts)
	for i := range l.parts {
		l.parts[i].Group = group
		l.parts[i].Key = func(v *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) { return key(v, st, i) }
	}
}

// forget makes the next sync compute the keys of all stages.
func (l *line) forget() {
	for i := range l.parts {
		l.parts[i] = sched.Index{Group: l.parts[i].Group, Key: l.parts[i].Key}
	}
}

// sync calls Index.Sync on all parts.
func (l *line) sync(p *sched.Plan) {
	l.view = p.View
	for i := range l.parts {
		l.parts[i].Sync(p)
	}
}

// skip is Index.Skip.
func (l *line) skip(st *sched.Stage) {
	for i := range l.parts {
		l.parts[i].Skip(st)
	}
}

// first is Index.First.
func (l *line) first() (first *sched.Stage) {
	if len(l.parts) == 1 {
		return l.parts[0].First()
	}
	for i := range l.parts {
		first = l.better(first, l.parts[i].First())
	}
	return first
}

// firstOf is Index.FirstOf, for tasks that hold their stage's shape.
func (l *line) firstOf(group int) (first *sched.Stage) {
	for i := range l.parts {
		first = l.better(first, l.parts[i].FirstOf(group, 0))
	}
	return first
}

// head is Index.Head.
func (l *line) head(group int) (first *sched.Stage) {
	for i := range l.parts {
		first = l.better(first, l.parts[i].Head(group))
	}
	return first
}

// better returns the one of two stages that comes first; nil is none.
func (l *line) better(a, b *sched.Stage) *sched.Stage {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	switch ka, kb := l.whole(l.view, a), l.whole(l.view, b); {
	case ka.Before(kb):
		return a
	case kb.Before(ka):
		return b
	}
	if earlier(a.ID, b.ID) {
		return a
	}
	return b
}

// has reports whether a stage has a place.
func (l *line) has(st *sched.Stage) bool {
	for i := range l.parts {
		if _, ok := l.parts[i].Position(st); ok {
			return true
		}
	}
	return false
}

// turns are a line of the waiting stages. Masters that are bounded have a group of their own beside the group of each
// kind of resource, so that those which may not start are passed over at once.
type turns struct {
	line
	masters masterLimit
}

// init sets up the parts, and reads how much of the cluster masters may hold.
func (t *turns) init(a Args, parts int, key func(v *sched.View, st *sched.Stage, part int) (sched.Key, bool)) {
	t.masters = masterLimit{mastersPart, ofAll}
	if a.has("masters") {
		t.masters.part = a.Number("masters")
	}
	t.line.init(func(st *sched.Stage) int {
		group := groupOf(0, kindOf(st))
		if t.masters.bounds(st) {
			return mastersOf(group)
		}
		return group
	}, parts, key)
}

// first returns the first stage that may start a task and has room for it; nil: none has.
func (t *turns) first() (first *sched.Stage) {
	if !t.mastersWait() {
		return t.line.first()
	}
	for k := range sched.ResourceKind(sched.NumResources) {
		first = t.better(first, t.firstOf(k))
	}
	return first
}

// mastersWait reports whether a master waits: a stage's turn then depends on what masters hold, too.
func (t *turns) mastersWait() bool { return t.view.Queues[0].Count[sched.Master].Pending > 0 }

// firstOf is first among the stages that compete for a kind of resource.
func (t *turns) firstOf(k sched.ResourceKind) *sched.Stage {
	tasks := groupOf(0, k)
	return t.better(t.line.firstOf(tasks), t.allowed(t.line.firstOf(mastersOf(tasks))))
}

// head returns the first stage that waits and may start, of those that compete for a kind of resource, with room or
// without; nil: there is none.
func (t *turns) head(k sched.ResourceKind) *sched.Stage {
	tasks := groupOf(0, k)
	return t.better(t.line.head(tasks), t.allowed(t.line.head(mastersOf(tasks))))
}

// next returns the first stage that waits and may start, with room or without; nil: there is none.
func (t *turns) next() (next *sched.Stage) {
	for k := range sched.ResourceKind(sched.NumResources) {
		next = t.better(next, t.head(k))
	}
	return next
}

// allowed returns a master if the cluster may have one more, else nil.
func (t *turns) allowed(master *sched.Stage) *sched.Stage {
	if master == nil || !t.masters.allow(t.view, t.view.Queues[0], master) {
		return nil
	}
	return master
}
