package policy

import (
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// sepb decides between tasks that wait and second attempts of stragglers (SEPB, algorithm 8). Stragglers are those that
// LATE finds, at each look. A second attempt takes its job's turn, but not while a task waits that might use the slot,
// of that job or of those that come next.
type sepb struct {
	stragglers
	Slow   sched.Per[[]sched.AttemptID] // by stage: stragglers without a second attempt at the last look, the one with most time left first
	Stages []sched.StageID              // those with stragglers
	Nodes  []bool                       // by NodeID-1: slow at the last look
	Order  [2]turnList                  // by kind of slots: all jobs at the last look
	Ran    sched.Per[ranTasks]          // by stage
	Killed sched.Per[[]int32]           // by stage: tasks of which an attempt was killed
	Urgent []sched.StageID              // stages that are to start such a task again

	speculates, perQueue, kills bool
	checked, overdueAfter       float64
	suspects                    crowd // stages with stragglers
	marked                      bool  // the queues that they are in are marked
	turns                       []jobTurn
}

// ranTasks are attempts that succeeded.
type ranTasks struct {
	Tasks int64
	Time  sched.Time // of all together
}

// leastFinished is how many tasks of a stage must have been finished before another is held against them.
const leastFinished = 3

func newSEPB(a Args) sepb {
	return sepb{speculates: a.Choice("sepb") != "off", perQueue: a.Choice("sepb") == "queue",
		kills: a.Choice("overdue") == "kill", checked: a.Number("checked"), overdueAfter: a.Number("overdue-after")}
}

// learn remembers how long tasks took, and reports whether it is time to look for stragglers.
func (s *sepb) learn(p *sched.Plan) bool {
	if !s.speculates {
		return false
	}
	s.count(p)
	for i := range p.Events {
		if e := &p.Events[i]; s.kills && e.Kind == sched.AttemptDone && e.Outcome == sched.OK {
			if a := p.Attempt(e.Attempt); a != nil {
				r := s.Ran.Of(a.Stage)
				r.Tasks++
				r.Time += p.Now - a.Start
			}
		}
	}
	return s.due(p, s.check)
}

// suspected reports whether a stage has stragglers.
func (s *sepb) suspected(st *sched.Stage) bool {
	slow, ok := s.Slow.Has(st)
	return ok && len(*slow) > 0
}

// lookAround finds the stragglers there are now.
func (d *dynamicmr) lookAround(p *sched.Plan) {
	for _, id := range d.Stages {
		if st := p.Stage(id); st != nil {
			*d.Slow.Of(st) = nil
			p.Touch(st)
		}
	}
	d.Stages = d.Stages[:0]
	for _, c := range d.stragglers.find(p, true) {
		st := c.attempt.Stage
		slow := d.Slow.Of(st)
		if len(*slow) == 0 {
			d.Stages = append(d.Stages, st.ID)
			p.Touch(st)
		}
		*slow = append(*slow, c.attempt.ID)
	}
	d.marked = false
	if len(d.Stages) == 0 {
		return
	}
	threshold := d.scoreNodes(p)
	d.Nodes = d.Nodes[:0]
	for _, score := range d.scores {
		d.Nodes = append(d.Nodes, score < threshold)
	}
	d.arrange(p)
}

// overtaken starts a second attempt on a slot of kind k for a job that comes before that of st, which waits for one, if
// no job checked has a task that waits; and reports whether it did.
func (d *dynamicmr) overtaken(p *sched.Plan, st *sched.Stage, k sched.ResourceKind) bool {
	if len(d.Stages) == 0 || d.checked == 1 && !d.perQueue || d.left(p) <= 0 {
		return false
	}
	l := &d.Order[sideOfSlots(k)]
	mine, queue := l.turn(st.Job), d.queueOf(p.View, st.Job)
	if mine == 0 || mine < l.Reach && !d.perQueue {
		return false
	}
	s := d.suspectsOf(p, k, false)
	for range mostLooks {
		b := d.choose(p, s)
		if b == nil {
			return false
		}
		at := l.turn(b.Job)
		if at == 0 || at >= mine {
			return false
		}
		if mine < at+d.window(p, b) && (!d.perQueue || d.queueOf(p.View, b.Job) == queue) {
			return false // st is checked for b, and for those that come between them
		}
		if !d.tasksFirst(p, b, k) && d.startSecond(p, b, b.Shape) {
			return true
		}
		d.suspects.skip(b)
	}
	return false
}

// suspectsOf are the stages with stragglers of kind k, every one in its place again.
func (d *dynamicmr) suspectsOf(p *sched.Plan, k sched.ResourceKind, lent bool) sought {
	if !d.marked {
		d.mark(p)
	}
	d.suspects.begin(p)
	return d.seek(sought{of: &d.suspects, kind: k, lane: suspectLane(k), room: true, lent: lent})
}

func suspectLane(k sched.ResourceKind) lane { return suspectMaps + lane(sideOfSlots(k)) }

// mark marks the queues that have stages with stragglers.
func (d *dynamicmr) mark(p *sched.Plan) {
	d.marked = true
	d.lanes |= 1<<suspectMaps | 1<<suspectReduces
	d.marks = append(d.marks[:0], make([]uint32, len(p.Queues))...)
	for _, id := range d.Stages {
		st := p.Stage(id)
		if st == nil || !isSlots(kindOf(st)) {
			continue
		}
		in := suspectLane(kindOf(st))
		for q := p.Queue(d.queueOf(p.View, st.Job)); q.ID != 0 && d.marks[q.ID]>>in&1 == 0; q = p.Queue(q.Parent) {
			d.marks[q.ID] |= 1 << in
		}
		d.siblings.changed(p.View, st.Job.Queue)
	}
}

// startSecond starts a second attempt of a stage's straggler that has most time left, holding a shape, and reports
// whether it did.
func (d *dynamicmr) startSecond(p *sched.Plan, st *sched.Stage, holds sched.ShapeID) bool {
	a := d.slowest(p, st)
	if a == nil || d.left(p) <= 0 {
		return false
	}
	for n := range p.FitsAs(st, 0, holds) {
		if n.ID == a.Node || int(n.ID) <= len(d.Nodes) && d.Nodes[n.ID-1] {
			continue
		}
		if d.second(p, a, n, holds) {
			d.slowest(p, st)
			return true
		}
	}
	return false
}

// slowest returns the first straggler of st that still is one; nil: none. It forgets those that are not.
func (d *dynamicmr) slowest(p *sched.Plan, st *sched.Stage) *sched.Attempt {
	slow := d.Slow.Of(st)
	for len(*slow) > 0 {
		if a := p.Attempt((*slow)[0]); a != nil && a.Stage == st && a.State == sched.Running && p.Twins(a) == 1 {
			return a
		}
		if *slow = (*slow)[1:]; len(*slow) == 0 {
			p.Touch(st)
		}
	}
	return nil
}

// startSeconds starts second attempts on slots that are idle still: of their own kind first, then, as lending allows,
// of the other.
func (d *dynamicmr) startSeconds(p *sched.Plan) {
	if len(d.Stages) == 0 || !d.idle(p) || d.left(p) <= 0 {
		return
	}
	d.crowd.begin(p) // tells what waits
	for _, lent := range [2]bool{false, true} {
		for _, k := range slotKinds {
			d.startSecondsOf(p, k, lent)
		}
	}
}

func (d *dynamicmr) startSecondsOf(p *sched.Plan, k sched.ResourceKind, lent bool) {
	limit := int64(math.MaxInt64) // what is idle of its own kind is limit enough
	if i := sideOfSlots(k); lent {
		limit = d.quota(p, 1-i) - d.balance(p)[i].Away
	}
	s := d.suspectsOf(p, k, lent)
	for looks := 0; limit > 0 && looks < mostLooks; looks++ {
		st := d.choose(p, s)
		if st == nil {
			return
		}
		holds := st.Shape
		if lent {
			holds = d.lentShape(p, st)
		}
		if d.tasksFirst(p, st, k) || lent && !lendable(st, k) || !d.startSecond(p, st, holds) {
			d.suspects.skip(st)
			continue
		}
		limit--
		looks = 0
	}
}

// killOverdue ends stragglers that have no second attempt and have run much longer than the finished tasks of their
// stage, each task's once. They are to start again before everything else.
func (d *dynamicmr) killOverdue(p *sched.Plan) {
	if !d.kills || p.Can&sched.CanKill == 0 {
		return
	}
	for _, id := range d.Stages {
		st := p.Stage(id)
		if st == nil {
			continue
		}
		r := d.Ran.Of(st)
		for _, a := range *d.Slow.Of(st) {
			a := p.Attempt(a)
			if a == nil || a.State != sched.Running || p.Twins(a) > 1 || r.Tasks < leastFinished {
				continue
			}
			killed := d.Killed.Of(st)
			if float64(p.Now-a.Start)*float64(r.Tasks) <= d.overdueAfter*float64(r.Time) ||
				slices.Contains(*killed, a.Task) ||
				!p.Kill(a, 0) {
				continue
			}
			*killed = append(*killed, a.Task)
			if !slices.Contains(d.Urgent, id) {
				d.Urgent = append(d.Urgent, id)
			}
		}
	}
}

// startUrgent starts again what was killed.
func (d *dynamicmr) startUrgent(p *sched.Plan) {
	d.Urgent = slices.DeleteFunc(d.Urgent, func(id sched.StageID) bool {
		st := p.Stage(id)
		if st == nil {
			return true
		}
		for st.Pending > 0 {
			if !d.nearest(p, st, sched.OffSwitch, sched.Where{}) && !d.startUrgentLent(p, st) {
				return false
			}
		}
		return st.Leaving == 0
	})
}

func (d *dynamicmr) startUrgentLent(p *sched.Plan, st *sched.Stage) bool {
	k := kindOf(st)
	extra := &d.extra[sideOfSlots(otherSlots(k))]
	if *extra <= 0 || !lendable(st, k) || !d.nearest(p, st, sched.OffSwitch, sched.Where{Shape: d.lentShape(p, st)}) {
		return false
	}
	*extra--
	return true
}
