package policy

import (
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/internal/theory/goals"
	"github.com/sojourn-sched/sojourn/internal/theory/placement"
	"github.com/sojourn-sched/sojourn/sched"
)

// A matrix is RAS's placement of tasks on nodes, which it computes in cycles and remembers (docs/spec/ras.md, 2.5). At
// any time a job takes part with one stage of maps and one of reduces: the first of each kind that has tasks to run.
// Reduces of a job without maps take part as its maps.
type matrix struct {
	Placed  sched.Per[placed]         // by job
	Lengths sched.Per[goals.Lengths]  // by stage
	Used    sched.Per[footprint]      // by stage
	Known   footprints                // of stages that have ended, in this run and in earlier ones
	Shunned sched.Per[[]sched.NodeID] // by stage: nodes that the core does not let it use
	Most    sched.Resources           // by kind: the most that a node has offered at a cycle
	Dirty   bool                      // the next Decide begins a cycle
	Clock   ticker
	Burst   burst // cycles of one instant
	Masters masters
	// Stranded has the stages whose tasks only waited at the last cycle, in order of submission.
	Stranded []sched.StageID

	need   func(p *sched.Plan, rows []row)
	offers func(*sched.Plan) func(*sched.Node) sched.Resources // how much each node offers until the next cycle
	byNode [][]spotRef                                         // cache of Placed by node; nil: not made yet
	rasOptions
}

// rasOptions are the parameters of a matrix.
type rasOptions struct {
	cycle                           sched.Time
	rounds, copies                  int
	trigger, literal, waves, learns bool
	resizes                         bool
	soft                            float64
	disk, network                   float64 // bytes/s
}

// A placed is the placement of a job's tasks.
type placed struct {
	On   []spot // in ascending order of nodes
	Rank int32  // the job's place by utility among all jobs, from 0: the worst off first
	Dry  bool   // a node on which tasks of the job are placed was served while none of its tasks waited
	// Wanted is wanted(job) at the last cycle.
	Wanted [2]int32
}

// A spot says how many maps and reduces of a job are placed on a node.
type spot struct {
	Node          sched.NodeID
	Maps, Reduces int32
}

// A spotRef is the spot of a job on one node.
type spotRef struct {
	job  sched.JobID
	spot spot
}

// A row is a job in a cycle.
type row struct {
	placement.Job
	job           *sched.Job
	maps, reduces *sched.Stage // the stages that take part; nil: none; if Alone, maps is the stage of the reduces
	mean          float64      // length of a map in seconds; zero: unknown
}

func (m *matrix) init(a Args, need func(*sched.Plan, []row)) {
	m.need = need
	m.rasOptions = rasOptions{
		cycle:   a.Time("cycle"),
		rounds:  a.Int("rounds"),
		copies:  a.Int("copies"),
		trigger: a.Choice("trigger") == "on",
		literal: a.Choice("candidates") == "literal",
		waves:   a.Choice("waves") == "on",
		learns:  a.Choice("profiles") == "learned",
		resizes: a.Choice("resize") == "on",
		soft:    a.Number("soft"),
		disk:    a.Number("disk") * 1e6,
		network: a.Number("network") * 1e6,
	}
	m.offers = func(*sched.Plan) func(*sched.Node) sched.Resources {
		return func(n *sched.Node) sched.Resources { return n.Capacity }
	}
	m.Masters.init(a)
}

// decide implements Decide for policies with a matrix.
func (m *matrix) decide(p *sched.Plan) {
	m.notice(p)
	m.refit(p)
	m.Masters.start(p, anywhere{})
	m.startPlaced(p)
	m.Masters.keep(p)
}

// startPlaced starts tasks on the nodes where they are placed, after a cycle if one is due.
func (m *matrix) startPlaced(p *sched.Plan) {
	if due := m.Clock.due(p, m.cycle); due || m.Dirty {
		if m.Dirty = m.Burst.tooLong(p); !m.Dirty {
			m.place(p)
			for _, n := range p.Nodes {
				m.refitOn(p, n) // below the maximum of a queue there may be room again
				m.serve(p, n)
			}
			m.findStranded(p)
			m.rescue(p)
			return
		}
	}
	for _, id := range p.Offers {
		m.serve(p, p.Node(id))
	}
	m.serveMoist(p)
	if len(p.Offers) > 0 {
		m.rescue(p)
	}
}

// notice learns from the events of this instant, and sets Dirty if one of them calls for a cycle.
func (m *matrix) notice(p *sched.Plan) {
	for i := range p.Events {
		switch e := &p.Events[i]; e.Kind {
		case sched.AttemptDone:
			if a := p.Attempt(e.Attempt); a != nil {
				m.ended(p, a, e)
			}
		case sched.JobSubmitted, sched.SpecChanged, sched.AsksChanged:
			if j := p.Job(e.Job); j != nil {
				m.recall(j)
			}
			m.Dirty = m.Dirty || m.trigger && e.Kind != sched.AsksChanged
		case sched.JobEnded:
			m.Dirty = m.Dirty || m.trigger
			m.byNode = nil
		case sched.NodeJoined, sched.NodeLost:
			m.Dirty = m.Dirty || m.trigger
		case sched.NodeReported:
			m.Dirty = m.Dirty || m.trigger && e.Body != nil
		}
	}
	if p.LiveJobs() == 0 {
		m.Dirty = false
	}
}

// ended takes note that attempt a has ended by event e. Of an attempt that succeeded it learns the length of the
// stage's tasks and, from the counters, what they use. When all tasks of the stage have ended, later jobs like this one
// begin with what was learned. ended also asks for a new plan where the job now wants another number of tasks.
func (m *matrix) ended(p *sched.Plan, a *sched.Attempt, e *sched.Event) {
	if at, ok := m.Placed.Has(a.Stage.Job); m.trigger && ok && at.Wanted != wanted(a.Stage.Job) {
		m.Dirty = true
	}
	if e.Outcome != sched.OK {
		return
	}
	m.Lengths.Of(a.Stage).Add(p.Ran(a, p.Now).Seconds())
	if c, ok := e.Body.(*sched.Counters); ok && c != nil && m.learns {
		used := m.Used.Of(a.Stage)
		used.learn(a.Stage, c, p.Ran(a, p.Now))
		if used.N > 0 && unfinished(a.Stage) == 0 {
			m.Known.put(a.Stage.Job.Spec.Likeness(a.Stage.Kind), *used)
		}
	}
}

// place runs a cycle: it computes the placement of the tasks of all jobs. O(nodes + attempts + jobs), and the cost of
// placement.State.
func (m *matrix) place(p *sched.Plan) {
	for _, n := range p.Nodes {
		for k, has := range &n.Capacity {
			m.Most[k] = max(m.Most[k], has)
		}
	}
	rows := m.rows(p)
	m.need(p, rows)
	problem := &placement.Problem{
		Nodes:   make([]placement.Demand, len(p.Nodes)),
		Soft:    softKinds,
		Copies:  m.copies,
		Rounds:  m.rounds,
		Literal: m.literal,
	}
	byJob := make(map[sched.JobID]int, len(rows))
	for i := range rows {
		byJob[rows[i].job.ID] = i
		problem.Jobs = append(problem.Jobs, rows[i].Job)
	}
	reduces := make([][]spot, len(rows)) // by row: the reduces that run
	offers := m.offers(p)
	for i, n := range p.Nodes {
		if n.Lost {
			continue
		}
		problem.Nodes[i] = m.room(n, offers(n))
		for a := range p.AttemptsOn(n) {
			r, ok := byJob[a.Stage.Job.ID]
			switch {
			case ok && a.Stage == rows[r].maps && a.State == sched.Running:
			case ok && a.Stage == rows[r].reduces && a.State == sched.Running:
				if k := len(reduces[r]); k == 0 || reduces[r][k-1].Node != n.ID {
					reduces[r] = append(reduces[r], spot{Node: n.ID})
				}
				reduces[r][len(reduces[r])-1].Reduces++
			default: // the matrix does not place it, and it takes room
				problem.Nodes[i] = minus(problem.Nodes[i], m.demand(p, a))
			}
		}
	}
	s := placement.New(problem)
	m.carryOver(p, s, rows, reduces)
	s.PlaceReduces()
	s.PlaceMaps()
	m.keep(p, s, rows)
}

// carryOver puts the reduces that run into s, and the tasks placed in the last cycle as far as there is room for them.
func (m *matrix) carryOver(p *sched.Plan, s *placement.State, rows []row, running [][]spot) {
	for r := range rows {
		for _, at := range running[r] {
			s.Put(r, int(at.Node)-1, 0, int(at.Reduces))
		}
	}
	for r := range rows {
		on := m.Placed.Of(rows[r].job).On
		excess, run := -rows[r].Pending, running[r]
		for _, at := range on {
			excess += int(*at.in(&rows[r]))
			for len(run) > 0 && run[0].Node < at.Node {
				run = run[1:]
			}
			k := int32(0)
			if len(run) > 0 && run[0].Node == at.Node {
				k = run[0].Reduces
			}
			for ; k < at.Reduces && s.AdmitsReduce(r, int(at.Node)-1); k++ {
				s.Put(r, int(at.Node)-1, 0, 1)
			}
		}
		for _, at := range on {
			maps := int(*at.in(&rows[r]))
			if excess > 0 { // maps that do not run are dropped first
				drop := min(excess, max(0, maps-int(runningOn(p, rows[r].maps, at.Node))))
				excess -= drop
				maps -= drop
			}
			for ; maps > 0 && s.AdmitsMap(r, int(at.Node)-1); maps-- {
				s.Put(r, int(at.Node)-1, 1, 0)
			}
		}
	}
}

// in returns the number of tasks of a spot that are the maps of a row.
func (s *spot) in(x *row) *int32 {
	if x.Alone {
		return &s.Reduces
	}
	return &s.Maps
}

// runningOn returns how many tasks of stage st, which may be nil, run on a node.
func runningOn(p *sched.Plan, st *sched.Stage, id sched.NodeID) (n int32) {
	if st == nil {
		return 0
	}
	for a := range p.AttemptsOn(p.Node(id)) {
		if a.Stage == st {
			n++
		}
	}
	return n
}

// keep remembers the placement in s.
func (m *matrix) keep(p *sched.Plan, s *placement.State, rows []row) {
	order := make([]int, len(rows))
	for r := range rows {
		order[r] = r
		*m.Placed.Of(rows[r].job) = placed{Wanted: wanted(rows[r].job)}
	}
	slices.SortFunc(order, func(a, b int) int {
		if s.IsWorseOff(a, b) {
			return -1
		}
		return 1
	})
	for rank, r := range order {
		m.Placed.Of(rows[r].job).Rank = int32(rank)
	}
	for i := range p.Nodes {
		for _, c := range s.On(i) {
			if c.Maps > 0 || c.Reduces > 0 {
				at := m.Placed.Of(rows[c.Job].job)
				here := spot{Node: sched.NodeID(i + 1), Reduces: c.Reduces}
				*here.in(&rows[c.Job]) += c.Maps
				at.On = append(at.On, here)
			}
		}
	}
	m.byNode = nil
}

// rows returns the jobs that take part in a cycle, in order of submission. O(jobs).
func (m *matrix) rows(p *sched.Plan) (rows []row) {
	for j := range p.Jobs() {
		if j.Ended {
			continue
		}
		x := row{job: j, maps: takesPart(j, false), reduces: takesPart(j, true)}
		if x.maps == nil && x.reduces == nil {
			m.Placed.Of(j).On = nil
			continue
		}
		x.Goal, x.ID = endless, int64(j.ID)
		if j.Spec.Deadline > 0 {
			x.Goal = (j.Submitted + j.Spec.Deadline).Seconds()
		}
		if x.Alone = x.maps == nil; x.Alone {
			x.maps, x.reduces = x.reduces, nil
		}
		if st := x.maps; st != nil {
			x.Pending = int(min(int64(unfinished(st)), mostAtOnce(st)))
			x.mean = m.Lengths.Of(st).Mean()
			x.Map = m.mapDemand(st)
			x.Guard = m.guard(st)
			x.Shunned = m.shunned(st)
		}
		if x.Alone {
			_, _, x.Map = m.reduceDemands(x.maps)
			x.Guard, x.Reduce, x.Reducing = placement.Demand{}, x.Map, true
		}
		if st := x.reduces; st != nil {
			x.Reduces = int(min(int64(unfinished(st)), mostAtOnce(st)))
			x.Shuffle, x.Copy, x.Reduce = m.reduceDemands(st)
			if x.Reducing = m.isReducing(p, j); x.Reducing {
				x.Guard = placement.Demand{}
			}
		}
		rows = append(rows, x)
	}
	return rows
}

// takesPart returns the stage with which a job takes part: of its reduces, or else of its other stages except masters.
// It is the first with tasks that wait, or else the first with tasks that run; nil: there is none.
func takesPart(j *sched.Job, reduces bool) (part *sched.Stage) {
	for _, st := range j.Stages {
		if st.Kind == sched.Master || (st.Kind == sched.Reduce) != reduces || !runnable(st) {
			continue
		}
		if st.Pending > 0 {
			return st
		}
		if part == nil {
			part = st
		}
	}
	return part
}

// wanted returns, for maps and for reduces, the index + 1 of the stage with which a job takes part; it is negative if
// no task of the stage is pending; 0: there is no such stage.
func wanted(j *sched.Job) (of [2]int32) {
	for i := range of {
		if st := takesPart(j, i == 1); st != nil {
			if of[i] = st.ID.Index + 1; st.Pending == 0 {
				of[i] = -of[i]
			}
		}
	}
	return of
}

// mostAtOnce returns how many tasks of st its job allows at once.
func mostAtOnce(st *sched.Stage) int64 {
	if n := tasksIn(&st.Job.Spec.Max, st); n > 0 {
		return n
	}
	if st.Job.Spec.Max != (sched.Resources{}) && !mayGrow(st) {
		return max(1, int64(st.Running))
	}
	return int64(unfinished(st))
}

// shunned returns the indexes (NodeID-1) of the nodes that st may not use; nil: it may use all.
func (m *matrix) shunned(st *sched.Stage) map[int]bool {
	list, ok := m.Shunned.Has(st)
	if !ok {
		return nil
	}
	places := make(map[int]bool, len(*list))
	for _, id := range *list {
		places[int(id)-1] = true
	}
	return places
}

// Why returns in words what the last cycle decided for stage st, for the command explain; "": nothing.
func (m *matrix) Why(_ *sched.View, st *sched.Stage) string {
	at, ok := m.Placed.Has(st.Job)
	if !ok || st.Kind == sched.Master {
		return ""
	}
	tasks, nodes := int32(0), 0
	for _, s := range at.On {
		n := s.Maps
		if st.Kind == sched.Reduce {
			n = s.Reduces
		}
		if tasks += n; n > 0 {
			nodes++
		}
	}
	return fmt.Sprintf(
		"%s placed on %s, %d run; its job is number %d of those that are worst off",
		spelling.Count(tasks, st.Kind.String()+" is", st.Kind.String()+"s are"),
		spelling.Count(nodes, "node"), st.Running, at.Rank+1,
	)
}
