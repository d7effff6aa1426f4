package policy

import (
	"slices"

	"github.com/sojourn-sched/sojourn/internal/theory/placement"
	"github.com/sojourn-sched/sojourn/sched"
)

// spots returns the placements on a node, those of the jobs that are worst off first.
func (m *matrix) spots(p *sched.Plan, id sched.NodeID) []spotRef {
	if m.byNode == nil {
		m.byNode = make([][]spotRef, len(p.Nodes))
		for j := range p.Jobs() {
			for _, s := range m.Placed.Of(j).On {
				m.byNode[s.Node-1] = append(m.byNode[s.Node-1], spotRef{j.ID, s})
			}
		}
		for _, list := range m.byNode {
			slices.SortStableFunc(list, func(a, b spotRef) int {
				return int(m.Placed.Of(p.Job(a.job)).Rank - m.Placed.Of(p.Job(b.job)).Rank)
			})
		}
	}
	if int(id) > len(m.byNode) {
		return nil
	}
	return m.byNode[id-1]
}

// serve starts tasks on a node as they are placed there and as it has room for what they use (docs/spec/ras.md, 2.6).
// O(tasks there · jobs placed there).
func (m *matrix) serve(p *sched.Plan, n *sched.Node) {
	if n.Lost || !n.Open {
		return
	}
	var load nodeLoad
	for _, at := range m.spots(p, n.ID) {
		j := p.Job(at.job)
		if j == nil || j.Ended {
			continue
		}
		for _, side := range [...]struct {
			st   *sched.Stage
			most int32
		}{{takesPart(j, true), at.spot.Reduces}, {takesPart(j, false), at.spot.Maps}} {
			if side.most == 0 {
				continue
			}
			if side.st == nil || side.st.Pending == 0 {
				m.Placed.Of(j).Dry = true
				continue
			}
			load.of(m, p, n)
			for running := load.running(side.st); running < side.most && m.start(p, side.st, n, &load); running++ {
			}
		}
	}
}

// A nodeLoad says how much the attempts on a node use now.
type nodeLoad struct {
	placement.Room
	known    bool
	attempts []*sched.Stage
}

// of looks at the attempts on a node, once.
func (l *nodeLoad) of(m *matrix, p *sched.Plan, n *sched.Node) {
	if l.known {
		return
	}
	l.known, l.Offers, l.Soft = true, m.room(n, n.Capacity), &softKinds
	for a := range p.AttemptsOn(n) {
		d := m.demand(p, a)
		l.add(m, p, a.Stage, &d)
	}
}

// add adds an attempt.
func (l *nodeLoad) add(m *matrix, p *sched.Plan, st *sched.Stage, d *placement.Demand) {
	l.Use = l.Use.Plus(1, d)
	l.attempts = append(l.attempts, st)
	switch st.Kind {
	case sched.Master:
	case sched.Reduce:
		l.Busy = l.Busy || m.isReducing(p, st.Job)
	default:
		l.Busy = true
	}
}

// running returns how many attempts of a stage are on the node.
func (l *nodeLoad) running(st *sched.Stage) (n int32) {
	for _, s := range l.attempts {
		if s == st {
			n++
		}
	}
	return n
}

// start starts a task of st on a node if there is room for what it uses, and reports whether it did.
func (m *matrix) start(p *sched.Plan, st *sched.Stage, n *sched.Node, l *nodeLoad) bool {
	if st.Pending == 0 || !mayGrow(st) || !m.leavesMaps(p, st) {
		return false
	}
	d := m.demandOf(p, st)
	if !l.Fits(&d) {
		return false
	}
	if !p.LaunchAs(st, n, sched.As{Shape: m.shape(p, st)}) {
		m.shun(p, st, n)
		return false
	}
	l.add(m, p, st, &d)
	return true
}

// leavesMaps reports whether one more reduce of a job leaves room, below the maxima of its queues, for a map of the
// job, if maps wait. Reduces hold their room until all maps are done, and the placement ignores maxima. O(depth of the
// queues).
func (m *matrix) leavesMaps(p *sched.Plan, st *sched.Stage) bool {
	maps := takesPart(st.Job, false)
	if st.Kind != sched.Reduce || maps == nil || maps.Pending == 0 {
		return true
	}
	held := m.hold(st, false)
	for q := p.Queues[st.Job.Queue]; ; q = p.Queues[q.Parent] {
		for k, each := range &maps.Spec.PerTask {
			if each > 0 && q.Used[k]+held[k]+each > q.Max[k] {
				return false
			}
		}
		if q.ID == 0 {
			return true
		}
	}
}

// demandOf returns how much a task of st will use if it starts now.
func (m *matrix) demandOf(p *sched.Plan, st *sched.Stage) placement.Demand {
	if st.Kind != sched.Reduce {
		return m.mapDemand(st)
	}
	shuffle, each, reduce := m.reduceDemands(st)
	if m.isReducing(p, st.Job) {
		return reduce
	}
	return shuffle.Plus(int64(m.copies), &each)
}

// shun notes that the core does not let a stage use a node, although the node has room and is not reserved for another
// stage.
func (m *matrix) shun(p *sched.Plan, st *sched.Stage, n *sched.Node) {
	each := m.hold(st, !mapsLeft(st.Job))
	if !each.FitsIn(n.Free()) || n.Reserved != (sched.StageID{}) || !each.FitsIn(p.Headroom(st.Job)) {
		return
	}
	if list := m.Shunned.Of(st); !slices.Contains(*list, n.ID) {
		*list = append(*list, n.ID)
	}
}

// serveMoist serves the nodes of jobs which are placed there, had no waiting task when the node was last served, and
// have one now.
func (m *matrix) serveMoist(p *sched.Plan) {
	for i := range p.Events {
		var j *sched.Job
		switch e := &p.Events[i]; e.Kind {
		case sched.AttemptDone:
			if a := p.Attempt(e.Attempt); a != nil {
				j = a.Stage.Job
			}
		case sched.TaskUndone, sched.AsksChanged:
			j = p.Job(e.Job)
		}
		if j == nil || j.Ended {
			continue
		}
		at, ok := m.Placed.Has(j)
		if !ok || !at.Dry || !waitsForTasks(j) {
			continue
		}
		at.Dry = false
		for _, s := range slices.Clone(at.On) {
			m.serve(p, p.Node(s.Node))
		}
	}
}

// waitsForTasks reports whether tasks of j wait.
func waitsForTasks(j *sched.Job) bool {
	for _, st := range j.Stages {
		if st.Kind != sched.Master && st.Pending > 0 {
			return true
		}
	}
	return false
}

// findStranded notes the first stages whose tasks only wait (isStranded), at most mostLooks. The matrix does not know
// the maxima of queues and the nodes that a job must not use, so the tasks that it places may never start. O(jobs),
// once a cycle.
func (m *matrix) findStranded(p *sched.Plan) {
	m.Stranded = m.Stranded[:0]
	for j := range p.Jobs() {
		if j.Ended {
			continue
		}
		for _, st := range [...]*sched.Stage{takesPart(j, false), takesPart(j, true)} {
			if len(m.Stranded) < mostLooks && m.isStranded(p, st) {
				m.Stranded = append(m.Stranded, st.ID)
			}
		}
		if len(m.Stranded) == mostLooks {
			return
		}
	}
}

// isStranded reports whether tasks of st wait and could run, and none runs.
func (m *matrix) isStranded(p *sched.Plan, st *sched.Stage) bool {
	return st != nil && st.Pending > 0 && st.Running == 0 && (st.Kind != sched.Reduce || m.isReducing(p, st.Job))
}

// rescue starts one task of each stranded stage on any node with room for what it uses. It is called whenever nodes
// have room, not only at cycles: under heartbeats a node can be used only when it reports, which may never be at a
// cycle.
func (m *matrix) rescue(p *sched.Plan) {
	m.Stranded = slices.DeleteFunc(m.Stranded, func(id sched.StageID) bool {
		st := p.Stage(id)
		if !m.isStranded(p, st) {
			return true
		}
		d := m.demandOf(p, st)
		shape := m.shape(p, st)
		n := p.FirstWhere(st, sched.Where{Shape: shape, Level: sched.OffSwitch, Ok: func(n *sched.Node) bool {
			var l nodeLoad
			l.of(m, p, n)
			return l.Fits(&d)
		}})
		return n != nil && mayGrow(st) && p.LaunchAs(st, n, sched.As{Shape: shape})
	})
}
