package policy

import "github.com/sojourn-sched/sojourn/sched"

// masters starts the ApplicationMasters of a policy that orders its other stages by plans of its own: in order of
// submission, and together no more than the parameter masters allows. The first one that may start and that no node has
// room for gets a node kept, so that smaller tasks do not overtake it. O(log n) for each master of n that wait.
type masters struct {
	Keep keeper // nodes kept for masters

	index sched.Index // that wait
	limit masterLimit
}

// mastersMemory is what masters remember.
const mastersMemory = "nodes kept for ApplicationMasters"

// init reads the parameter masters. The masters must not be copied after that.
func (m *masters) init(a Args) {
	m.Keep.init(a)
	m.limit = masterLimit{a.Number("masters"), ofAll}
	m.index.Key = func(_ *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) {
		return sched.Key{}, st.Kind == sched.Master && st.Pending > 0
	}
}

// start starts masters, each where the placer says, while the first one that has room may start. The policy calls it
// before it starts other tasks.
func (m *masters) start(p *sched.Plan, place Placer) {
	m.Keep.settle(p)
	m.index.Sync(p)
	for st := m.index.First(); st != nil && m.limit.allow(p.View, p.Queues[0], st); st = m.index.First() {
		if !place.Place(p, st) {
			m.index.Skip(st)
		}
	}
}

// keep keeps a node for the first master that waits, if it may start and a smaller task was started now instead. The
// policy calls it at the end of a decision.
func (m *masters) keep(p *sched.Plan) {
	if len(p.Actions()) == 0 || !m.Keep.mayKeep(p.View) {
		return
	}
	m.index.Sync(p)
	if st := m.index.Head(0); st != nil && m.limit.allow(p.View, p.Queues[0], st) {
		m.Keep.keep(p, st, p.Actions())
	}
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
