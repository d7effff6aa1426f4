package policy

import (
	"fmt"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn/internal/priority"
	"github.com/sojourn-sched/sojourn/internal/theory/goals"
	"github.com/sojourn-sched/sojourn/sched"
)

// The classes of stages that package goals does not have, in their order.
const (
	probed  = goals.Background + 1 + iota // without a finished task, and as many running as may
	givenUp                               // of a job whose goal cannot be met together with the others'
	behind                                // behind a stage of the same job
)

// A lineup keeps the stages that wait in the order of their ranks (package goals), which change while time passes.
// There is a lane for each shape of tasks, with a kinetic tournament of the stages whose goal has not passed, and one
// of those whose goal has. All but what goalTerms export is a cache.
//
// A stage that changes costs O(log n), and one that comes to be past its goal as well.
type lineup struct {
	goalTerms
	GivenUp sched.Per[bool] // by job: its goal cannot be met together with the others' (with shortage=fewest)

	waits   sched.Index // stages that wait, in a group for each shape: it tells what has changed, and what has room
	members sched.Per[int32]
	rows    []goalRow                // by member, from 1
	free    []int32                  // members
	lanes   []goalLane               // by ShapeID.Row of their stages
	used    []int32                  // lanes that have had a stage
	due     priority.Indexed[dueKey] // by member: stages whose goals are to come
	dueAt   []int32                  // places in due
	total   sched.Resources
	late    sched.Resources // what stages past their goal hold
	view    *sched.View

	needWaves, background bool
	fewest                bool // in a shortage as few jobs as possible are late
	probe                 int32
	lateCap               float64
}

// A goalRow is a stage in a lineup.
type goalRow struct {
	stage *sched.Stage
	id    sched.StageID // zero: the row is free
	facts stageFacts
	runs  runs
	lane  int32           // in lineup.lanes; zero: none yet
	slots float64         // of the cluster, for tasks of the stage
	late  bool            // its goal has passed
	last  bool            // it is behind a stage of its job
	held  sched.Resources // by its running tasks, as counted in lineup.late
}

// A goalLane is the stages whose tasks have one shape.
type goalLane struct{ planned, late sched.Tournament }

// A dueKey is the place of a stage among those whose goals are to come.
type dueKey struct {
	goal sched.Time
	id   sched.StageID
}

// Before compares goals, and for equal ones which stage was submitted first.
func (a dueKey) Before(b dueKey) bool {
	return a.goal < b.goal || a.goal == b.goal && earlier(a.id, b.id)
}

// init sets the lineup up. It must not be copied after that.
func (l *lineup) init(a Args) {
	l.goalTerms = newGoalTerms(a)
	l.needWaves, l.background = a.Choice("need") == "waves", a.Choice("no-goal") == "background"
	l.fewest = a.Choice("shortage") == "fewest"
	l.probe, l.lateCap = int32(a.Int("probe-slots")), a.Number("late-cap")
	l.rows, l.dueAt = make([]goalRow, 1), make([]int32, 1)
	l.waits.Group = func(st *sched.Stage) int { return int(st.Shape.Row()) }
	l.waits.Key = func(v *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) {
		if st.Kind == sched.Master {
			return sched.Key{}, false
		}
		l.update(v, st)
		return sched.Key{}, st.Pending > 0
	}
}

// begin brings the lineup up to date with what has happened.
func (l *lineup) begin(p *sched.Plan) {
	l.view = p.View
	if l.estimated {
		l.learn(p)
	}
	if l.total != p.Capacity {
		l.total = p.Capacity
		l.touchSlots(p)
	}
	for i := range p.Events {
		switch e := &p.Events[i]; e.Kind {
		case sched.AttemptDone:
			if a := p.Attempt(e.Attempt); a != nil {
				l.ended(p, a, e.Outcome)
			}
		case sched.JobEnded:
			if j := p.Job(e.Job); j != nil {
				for _, st := range j.Stages {
					l.forget(st)
				}
			}
		case sched.SpecChanged, sched.AsksChanged: // goals and shapes of all stages
			if j := p.Job(e.Job); j != nil {
				p.TouchJob(j)
			}
		}
	}
	l.waits.Sync(p)
	for len(l.due) > 0 && l.due[0].Key.goal <= p.Now {
		m := l.due[0].ID
		l.due.Remove(l.dueAt, m)
		l.enter(p.View, m)
	}
}

// touchSlots marks the jobs that the number of the cluster's slots matters to, after a change of the capacity. To a
// stage it matters whether and by how much they are fewer than its tasks: if its job has no goal, so that it wants all
// of them, or if the time until the goal is divided by waves. O(stages).
func (l *lineup) touchSlots(p *sched.Plan) {
	if l.fewest && !l.waves {
		return
	}
	for i := range l.rows {
		r := &l.rows[i]
		if r.id == (sched.StageID{}) {
			continue
		}
		j, tasks := r.stage.Job, float64(tasksOf(r.stage))
		matters := min(tasks, r.slots) != min(tasks, float64(slotsFor(p.View, r.stage)))
		if j.Spec.Deadline > 0 { // the waves of stages that may not start yet are part of the goal
			matters = l.waves && len(j.Stages) > 1
		}
		if matters {
			p.TouchJob(j)
		}
	}
}

// ended takes an attempt that has ended out of the row of its stage, and learns from one that succeeded.
func (l *lineup) ended(p *sched.Plan, a *sched.Attempt, out sched.Outcome) {
	st := a.Stage
	if m, ok := l.members.Has(st); ok && *m != 0 {
		l.rows[*m].runs.remove(a.Start)
	}
	if out != sched.OK || st.Kind == sched.Master {
		return
	}
	l.Lengths.Of(st).Add(p.Ran(a, p.Now).Seconds())
}

// update puts a stage in its place, after it has changed.
func (l *lineup) update(v *sched.View, st *sched.Stage) {
	m := l.members.Of(st)
	if *m == 0 {
		if n := len(l.free); n > 0 {
			*m, l.free = l.free[n-1], l.free[:n-1]
		} else {
			l.rows, l.dueAt = append(l.rows, goalRow{}), append(l.dueAt, 0)
			*m = int32(len(l.rows) - 1)
		}
		starts := l.rows[*m].runs.starts
		l.rows[*m] = goalRow{
			id:    st.ID,
			facts: stageFacts{goal: sched.Never},
			runs:  runs{starts: starts[:0], base: st.Job.Submitted},
		}
	}
	r := &l.rows[*m]
	if r.stage = st; r.lane != st.Shape.Row() {
		l.leave(*m)
		r.lane = st.Shape.Row()
		l.open(r.lane)
	}
	r.facts, r.slots, r.last = l.facts(v, st), float64(slotsFor(v, st)), starves(st)
	if len(r.runs.starts) != int(st.Running) {
		r.runs.set(v, st)
	}
	l.enter(v, *m)
	l.expect(v, *m)
}

// expect puts a member among those whose goals are to come, or takes it out.
func (l *lineup) expect(v *sched.View, member int32) {
	switch r := &l.rows[member]; {
	case r.facts.goal > v.Now && r.facts.goal != sched.Never && !r.last:
		l.due.Put(l.dueAt, priority.Entry[dueKey]{Key: dueKey{r.facts.goal, r.id}, ID: member})
	case l.dueAt[member] != 0:
		l.due.Remove(l.dueAt, member)
	}
}

// open makes a lane if there is none.
func (l *lineup) open(at int32) {
	for len(l.lanes) <= int(at) {
		l.lanes = append(l.lanes, goalLane{})
	}
	if lane := &l.lanes[at]; lane.planned.Order == nil {
		lane.planned.Order, lane.late.Order = l.before, l.before
		l.used = append(l.used, at)
	}
}

// enter puts a member among those past their goal, or among the others, if it waits, and counts what it holds.
func (l *lineup) enter(v *sched.View, member int32) {
	r := &l.rows[member]
	l.late = l.late.Sub(r.held)
	r.held = sched.Resources{}
	if r.late = v.Now >= r.facts.goal && !r.last && !l.fewest; r.late {
		r.held = r.stage.Spec.PerTask.Times(int64(r.stage.Running))
		l.late = l.late.Add(r.held)
	}
	lane := &l.lanes[r.lane]
	in, out := &lane.planned, &lane.late
	if r.late {
		in, out = out, in
	}
	out.Remove(member)
	if r.stage.Pending > 0 {
		in.Set(member)
	} else {
		in.Remove(member)
	}
}

// leave takes a member out of its lane.
func (l *lineup) leave(member int32) {
	if r := &l.rows[member]; r.lane != 0 {
		l.lanes[r.lane].planned.Remove(member)
		l.lanes[r.lane].late.Remove(member)
	}
}

// forget drops the row of a stage whose job has ended.
func (l *lineup) forget(st *sched.Stage) {
	m, ok := l.members.Has(st)
	if !ok || *m == 0 {
		return
	}
	l.leave(*m)
	if l.dueAt[*m] != 0 {
		l.due.Remove(l.dueAt, *m)
	}
	r := &l.rows[*m]
	l.late = l.late.Sub(r.held)
	*r = goalRow{runs: runs{starts: r.runs.starts[:0]}}
	l.free = append(l.free, *m)
	*m = 0
}

// pass leaves a stage out until the next decision.
func (l *lineup) pass(st *sched.Stage) {
	l.waits.Skip(st)
	l.leave(*l.members.Of(st))
}

// launched notes that a task of st has started.
func (l *lineup) launched(p *sched.Plan, st *sched.Stage) { l.rows[*l.members.Of(st)].runs.add(p.Now) }

// first returns the stage whose turn it is among those that have room; nil: none has.
func (l *lineup) first(p *sched.Plan) *sched.Stage {
	if l.waits.First() == nil {
		return nil
	}
	best, bestTurn := int32(0), inOrder
	for _, at := range l.used {
		if l.waits.FirstOf(int(at), 0) == nil {
			continue
		}
		m, turn := l.firstIn(at, p)
		switch {
		case m == 0 || best != 0 && turn > bestTurn:
		case best == 0 || turn < bestTurn:
			best, bestTurn = m, turn
		default:
			if before, _ := l.before(m, best, p.Now); before {
				best = m
			}
		}
	}
	if best == 0 {
		return nil
	}
	return l.rows[best].stage
}

// A goalTurn says which stages come before others, whatever their ranks.
type goalTurn int

const (
	inOrder goalTurn = iota // by rank
	capped                  // past its goal, while such stages hold as much of the cluster as they may
	isLast                  // behind a stage of its job, which may be capped
)

// firstIn returns the member whose turn it is in a lane (0: none waits), and when its turn is.
func (l *lineup) firstIn(at int32, p *sched.Plan) (int32, goalTurn) {
	lane := &l.lanes[at]
	late, waits := lane.late.First(p.Now)
	if waits && !l.isCapped(p, l.rows[late].stage) {
		return late, inOrder
	}
	m, ok := lane.planned.First(p.Now)
	switch {
	case ok && !l.rows[m].last:
		return m, inOrder
	case waits:
		return late, capped
	case ok:
		return m, isLast
	}
	return 0, inOrder
}

// isCapped reports whether one more task of st would give stages that are past their goal too large a part of the
// cluster (lateCap).
func (l *lineup) isCapped(p *sched.Plan, st *sched.Stage) bool {
	if l.lateCap >= 1 {
		return false
	}
	for k, each := range &st.Spec.PerTask {
		if each > 0 && float64(l.late[k]+each) > l.lateCap*float64(p.Capacity[k]) {
			return true
		}
	}
	return false
}

// before implements the order of the tournaments (sched.Tournament.Order).
func (l *lineup) before(a, b int32, at sched.Time) (bool, sched.Time) {
	x, until := l.curve(a, at)
	y, untilY := l.curve(b, at)
	until = min(until, untilY)
	if wait := x.Crosses(y, 0) * 1e9; wait < float64(until-at) {
		until = at + sched.Time(wait)
	}
	switch c := x.At(0).Compare(y.At(0)); {
	case c != 0:
		return c < 0, until
	default:
		return earlier(l.rows[a].stage.ID, l.rows[b].stage.ID), until
	}
}

// curve returns the rank of a member as a function of the time from an instant on, and up to when that holds.
func (l *lineup) curve(member int32, at sched.Time) (goals.Curve, sched.Time) {
	r := &l.rows[member]
	s, young := r.facts.at(at, &r.runs)
	fixed := func(class goals.Class, value float64) goals.Curve {
		return goals.Curve{Class: class, Goal: s.Goal, Base: value}
	}
	switch {
	case r.last:
		return fixed(behind, r.facts.submitted.Seconds()), sched.Never
	case l.fewest:
		return fixed(l.inTime(r)), sched.Never
	case r.facts.goal <= at:
		return s.Course(0, young), r.runs.next(r.facts.mean)
	case !r.facts.known && l.probe > 0 && s.Running >= int(l.probe):
		return fixed(probed, r.facts.submitted.Seconds()), sched.Never
	case !r.facts.known:
		return fixed(goals.Unmeasured, r.facts.submitted.Seconds()), sched.Never
	case r.facts.goal == sched.Never && l.background:
		return fixed(goals.Background, r.facts.submitted.Seconds()), sched.Never
	case r.facts.goal == sched.Never:
		return fixed(goals.Planned, -s.RequiredAtOnce(r.slots)), sched.Never
	case l.needWaves:
		return fixed(goals.Planned, -s.RequiredInWaves(0)), min(r.runs.next(r.facts.mean), at+seconds(steps(s, young)))
	}
	return s.Course(0, young), r.runs.next(r.facts.mean)
}

// inTime returns the class and the value of a stage if as few jobs as possible are to be late. Stages come by their
// goals: this order meets all goals if any order does. Jobs that are given up come last, the least work first.
func (l *lineup) inTime(r *goalRow) (goals.Class, float64) {
	switch {
	case *l.GivenUp.Of(r.stage.Job):
		return givenUp, float64(r.facts.unstarted) * r.facts.mean
	case r.facts.goal == sched.Never:
		return goals.Background, r.facts.submitted.Seconds()
	}
	return goals.Planned, r.facts.goal.Seconds()
}

// key returns the place of a stage in the order: its class, less s_req or the lateness, and its goal. A master has a
// place with shortage=fewest only.
func (l *lineup) key(v *sched.View, st *sched.Stage) sched.Key {
	if st.Kind == sched.Master {
		return l.masterKey(v, st)
	}
	m := *l.members.Of(st)
	c, _ := l.curve(m, v.Now)
	return sched.Key{Class: int32(c.Class), Value: c.At(0).Value, Then: int64(l.rows[m].facts.goal)}
}

// masterKey returns the place of a master with shortage=fewest: by the earliest goal among the stages of its job. If
// the job is given up, it comes by the work of the job. O(stages² of the job).
func (l *lineup) masterKey(v *sched.View, st *sched.Stage) sched.Key {
	goal, work := l.goal(v, st), 0.0
	for _, other := range st.Job.Stages {
		if other.Kind != sched.Master {
			mean, _ := l.mean(other)
			goal, work = min(goal, l.goal(v, other)), work+float64(unfinished(other))*mean
		}
	}
	switch {
	case *l.GivenUp.Of(st.Job):
		return sched.Key{Class: int32(givenUp), Value: max(work, told(st).Seconds()), Then: int64(goal)}
	case goal == sched.Never:
		return sched.Key{Class: int32(goals.Background), Value: st.Job.Submitted.Seconds(), Then: int64(goal)}
	}
	return sched.Key{Class: int32(goals.Planned), Value: goal.Seconds(), Then: int64(goal)}
}

// told returns the sum of the times of a job's tasks, as the user has stated it. It stands for the tasks until the
// job's master has asked for some; 0: the user has stated nothing, or the master has asked.
func told(master *sched.Stage) sched.Time {
	if !counts(master) {
		return 0
	}
	return master.Spec.Prior
}

// precedes reports whether st comes before a master in the order, with shortage=fewest.
func (l *lineup) precedes(v *sched.View, st, master *sched.Stage) bool {
	a, b := l.key(v, st), l.key(v, master)
	return a.Before(b) || !b.Before(a) && earlier(st.ID, master.ID)
}

// steps returns for how many seconds RequiredInWaves stays as it is: until one wave fewer fits before the goal, or
// until one slot fewer is enough for the work that is left. Each second, that work falls by one second for each of the
// young tasks.
func steps(s goals.Stage, young int) float64 {
	waves := s.WholeWaves(0)
	if s.Mean <= 0 {
		return s.Goal
	}
	wait := s.Goal - waves*s.Mean
	if young > 0 && waves >= 1 {
		each := waves * s.Mean // what one slot does
		slots := math.Ceil(s.Work()/each - 1e-9)
		wait = min(wait, (s.Work()-(slots-1)*each)/float64(young))
	}
	return max(0, wait)
}

// enough reports whether a stage holds the slots that it needs: there is a plan for it, and s_req is not above 0.
func (l *lineup) enough(now sched.Time, st *sched.Stage) bool {
	m := *l.members.Of(st)
	if r := &l.rows[m]; l.fewest {
		s, _ := r.facts.at(now, &r.runs)
		return s.Known && s.Goal > 0 && s.Required(0) <= goals.SameValue
	}
	c, _ := l.curve(m, now)
	return c.Class == goals.Planned && c.At(0).Value >= -goals.SameValue
}

// enoughUntil returns the instant up to which (excluded) a stage that holds enough slots certainly holds enough, if
// nothing happens before; Never: for ever.
func (l *lineup) enoughUntil(now sched.Time, st *sched.Stage) sched.Time {
	m := *l.members.Of(st)
	_, until := l.curve(m, now)
	r := &l.rows[m]
	if l.fewest {
		until = r.runs.next(r.facts.mean)
	}
	until = max(now+1, min(until, r.facts.goal))
	if until == sched.Never || l.enough(until, st) {
		return until
	}
	for now+1 < until { // s_req only rises or only falls before until
		if middle := now + (until-now)/2; l.enough(middle, st) {
			now = middle
		} else {
			until = middle
		}
	}
	return until
}

// Position returns the place of a stage that waits, except masters, as key does.
func (l *lineup) Position(v *sched.View, st *sched.Stage) (sched.Key, bool) {
	if st.Pending == 0 || st.Kind == sched.Master {
		return sched.Key{}, false
	}
	if m, ok := l.members.Has(st); !ok || *m == 0 {
		return sched.Key{}, false
	}
	return l.key(v, st), true
}

// inWords says a key of Position.
func (l *lineup) inWords(k sched.Key) string {
	goal := ", no goal"
	if k.Then != int64(sched.Never) {
		goal = fmt.Sprintf(", goal at %v", sched.Time(k.Then).Round(time.Millisecond))
	}
	since := ", of a job that came at " + span(k.Value)
	switch goals.Class(k.Class) {
	case goals.Late:
		return "late by " + span(-k.Value) + goal
	case goals.Unmeasured:
		return "the time of its tasks is unknown" + since + goal
	case goals.Planned:
		if l.fewest {
			return "served by its goal" + goal
		}
		return fmt.Sprintf("it needs %.6g more slots", -k.Value) + goal
	case probed:
		return "the time of its tasks is unknown, and enough run to tell it" + since + goal
	case givenUp:
		return "its goal is given up, with " + span(k.Value) + " of tasks to start" + goal
	case behind:
		return "an earlier stage of its job comes first" + since + goal
	}
	return "served after all with a goal" + since + goal
}
