package policy

import "github.com/sojourn-sched/sojourn/sched"

// masters starts the ApplicationMasters of a policy that orders its other stages by plans of its own: in order of
// submission, or of keys, and together no more than the parameter masters allows. The first one that may start and that
// no node has room for gets a node kept, so that smaller tasks do not overtake it. O(log n) for each master of n that
// wait.
type masters struct {
	Keep keeper // nodes kept for masters

	index sched.Index // that wait
	limit masterLimit
	key   func(v *sched.View, st *sched.Stage) sched.Key // orders them; nil: all keys are equal
}

// mastersMemory is what masters remember.
const mastersMemory = "nodes kept for ApplicationMasters"

// init reads the parameter masters. The masters must not be copied after that.
func (m *masters) init(a Args) {
	m.Keep.init(a)
	m.limit = masterLimit{a.Number("masters"), ofAll}
	m.index.Key = func(v *sched.View, st *sched.Stage, _ sched.Time) (key sched.Key, waits bool) {
		if waits = st.Kind == sched.Master && st.Pending > 0; waits && m.key != nil {
			key = m.key(v, st)
		}
		return key, waits
	}
}

// start starts masters, each where the placer says, while the first one that has room may start. The policy calls it
// before it starts other tasks.
func (m *masters) start(p *sched.Plan, place Placer) {
	m.begin(p)
	for st := m.first(p); st != nil; st = m.first(p) {
		m.try(p, place, st)
	}
}

// begin brings the masters up to date at the start of a decision.
func (m *masters) begin(p *sched.Plan) {
	m.Keep.settle(p)
	m.index.Sync(p)
}

// first returns the first master that has room, if it may start; nil: there is none, or it may not.
func (m *masters) first(p *sched.Plan) *sched.Stage {
	if st := m.index.First(); st != nil && m.limit.allow(p.View, p.Queues[0], st) {
		return st
	}
	return nil
}

// try starts a master where the placer says, or leaves it out until the next decision.
func (m *masters) try(p *sched.Plan, place Placer, st *sched.Stage) {
	if !place.Place(p, st) {
		m.index.Skip(st)
	}
}

// keep keeps a node for the first master that waits, if it may start and a smaller task was started now instead. The
// policy calls it at the end of a decision.
func (m *masters) keep(p *sched.Plan) {
	if st := m.head(p); st != nil && len(p.Actions()) > 0 {
		m.Keep.keep(p, st, p.Actions())
	}
}

// head returns the first master that waits, with room or without, if it may start and nodes may be kept for it; nil:
// there is none.
func (m *masters) head(p *sched.Plan) *sched.Stage {
	if !m.Keep.mayKeep(p.View) {
		return nil
	}
	m.index.Sync(p)
	if st := m.index.Head(0); st != nil && m.limit.allow(p.View, p.Queues[0], st) {
		return st
	}
	return nil
}

// withheld says in words why a master may not start; "": it may.
func (m *masters) withheld(v *sched.View, st *sched.Stage) string { return m.limit.withheld(v, st) }

// anywhere is a placer that takes the first node with room.
type anywhere struct{}

// Place implements [Placer].
func (anywhere) Place(p *sched.Plan, st *sched.Stage) bool {
	n := p.First(st)
	return n != nil && p.Launch(st, n)
}
