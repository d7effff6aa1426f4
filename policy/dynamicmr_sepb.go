package policy

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
	"github.com/sojourn-sched/sojourn/theory"
)

// sepb decides between tasks that wait and second attempts of stragglers (SEPB, algorithm 8). Stragglers are those that LATE finds, at each look. A second
// attempt takes its job's turn, but not while a task waits that might use the slot, of that job or of those that come next.
type sepb struct {
	stragglers
	Slow    sched.Per[[]sched.AttemptID] // by stage: stragglers without a second attempt at the last look, the one with most time left first
	Stages  []sched.StageID              // those with stragglers
	Nodes   []bool                       // by NodeID-1: slow at the last look
	Order   [2][]sched.JobID             // by kind of slots: all jobs at the last look, in the order beneath
	Turns   sched.Per[[2]int32]          // by job: its place in Order, from 1
	Reach   [2]int                       // the first place in Order before which no straggler has all the jobs that are checked for it
	Ran     sched.Per[ranTasks]          // by stage
	Killed  sched.Per[[]int32]           // by stage: tasks of which an attempt was killed
	Urgent  []sched.StageID              // stages that are to start such a task again
	visited map[sched.JobID]bool         // in this Step, for maps

	speculates, perQueue, kills bool
	checked                     float64
	suspects                    sched.Index // stages with stragglers, in the order beneath
}

// ranTasks are attempts that succeeded.
type ranTasks struct {
	Tasks int64
	Time  sched.Time // of all together
}

// leastFinished is how many tasks of a stage must have been finished before another is held against them.
const leastFinished = 3

func newSEPB(a Args) sepb {
	return sepb{stragglers: newStragglers(a), speculates: a.Choice("sepb") != "off", perQueue: a.Choice("sepb") == "queue",
		kills: a.Choice("overdue") == "kill", checked: a.Number("checked"), visited: map[sched.JobID]bool{}}
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

// arrange remembers the order of all jobs, for maps and for reduces. It costs O(n log n) for n jobs, and is of use only while tasks wait.
func (d *dynamicmr) arrange(p *sched.Plan) {
	waits := p.Queues[0].Pending() > 0
	for i, k := range slotKinds {
		d.Order[i] = d.Order[i][:0]
		if waits {
			d.listJobs(p, k)
		}
		for at, id := range d.Order[i] {
			d.Turns.Of(p.Job(id))[i] = int32(at + 1)
		}
		d.Reach[i] = len(d.Order[i]) + 1
		for _, id := range d.Stages {
			if st := p.Stage(id); kindOf(st) == k {
				d.Reach[i] = min(d.Reach[i], d.turnOf(st.Job, i)+d.window(p, st))
			}
		}
	}
}

// listJobs puts all jobs into Order: queue by queue as their turns are, in each as its jobs' are.
func (d *dynamicmr) listJobs(p *sched.Plan, k sched.ResourceKind) {
	type job struct {
		queue int
		key   sched.Key
		id    sched.JobID
	}
	var jobs []job
	rank := d.rankQueues(p, k)
	for j := range p.Jobs() {
		st := j.Stages[0]
		for _, o := range j.Stages {
			if kindOf(o) == k {
				st = o
				break
			}
		}
		jobs = append(jobs, job{rank[d.queueOf(p.View, j)], d.within(p.View, st, 1), j.ID})
	}
	slices.SortFunc(jobs, func(a, b job) int {
		return cmp.Or(a.queue-b.queue, compareKeys(a.key, b.key), int(a.id-b.id))
	})
	order := &d.Order[sideOfSlots(k)]
	for _, j := range jobs {
		*order = append(*order, j.id)
	}
}

// rankQueues returns the places of the queues in the order of their turns, by QueueID.
func (d *dynamicmr) rankQueues(p *sched.Plan, k sched.ResourceKind) []int {
	rank, n := make([]int, len(p.Queues)), 0
	var walk func(q *sched.Queue)
	walk = func(q *sched.Queue) {
		n++
		rank[q.ID] = n
		var children []*sched.Queue
		for _, id := range q.Children {
			if c := p.Queues[id]; !c.User {
				children = append(children, c)
			}
		}
		slices.SortStableFunc(children, func(a, b *sched.Queue) int { return compareKeys(d.queueTurn(a, k), d.queueTurn(b, k)) })
		for _, c := range children {
			walk(c)
		}
	}
	walk(p.Queues[0])
	return rank
}

// window returns how many jobs are checked for a straggler of st's job, its own included.
func (d *dynamicmr) window(p *sched.Plan, st *sched.Stage) int {
	if d.perQueue {
		return theory.CheckedJobs(d.checked, int(p.Queue(d.queueOf(p.View, st.Job)).Jobs))
	}
	return theory.CheckedJobs(d.checked, p.LiveJobs())
}

// tasksFirst reports whether the jobs that are checked for a straggler of kind k, from its own on, have tasks that wait and might use the slot. A job that has
// no place in the order yet counts as one that has. It costs as many jobs as are passed until one is found.
func (d *dynamicmr) tasksFirst(p *sched.Plan, st *sched.Stage, k sched.ResourceKind) bool {
	root, i := p.Queues[0], sideOfSlots(k)
	own, other := sched.Map, sched.Reduce
	if i == 1 {
		own, other = other, own
	}
	lends := d.quota(p, i) > 0
	if d.checked == 0 || root.Count[own].Pending == 0 && !(lends && root.Count[other].Pending > 0) {
		return false
	}
	at := d.turnOf(st.Job, i)
	if at == 0 {
		return true
	}
	queue := d.queueOf(p.View, st.Job)
	last := min(at-1+d.window(p, st), len(d.Order[i]))
	for _, id := range d.Order[i][at-1 : last] {
		j := p.Job(id)
		switch {
		case j == nil || j.Ended:
			continue
		case d.perQueue && d.queueOf(p.View, j) != queue:
			return false
		}
		for _, o := range j.Stages {
			if o.Pending > 0 && (o.Kind == own || lends && o.Kind == other) {
				return true
			}
		}
	}
	return false
}

// turnOf returns a job's place in the order of the last look, from 1; 0: it has none.
func (d *dynamicmr) turnOf(j *sched.Job, side int) int {
	at, ok := d.Turns.Has(j)
	if !ok || at[side] == 0 || int(at[side]) > len(d.Order[side]) || d.Order[side][at[side]-1] != j.ID {
		return 0
	}
	return int(at[side])
}

// overtaken starts a second attempt on a slot of kind k for a job that comes before that of st, which waits for one, if no job checked has a
// task that waits; and reports whether it did.
func (d *dynamicmr) overtaken(p *sched.Plan, st *sched.Stage, k sched.ResourceKind) bool {
	if len(d.Stages) == 0 || d.checked == 1 && !d.perQueue || d.left(p) <= 0 {
		return false
	}
	i := sideOfSlots(k)
	mine, queue := d.turnOf(st.Job, i), d.queueOf(p.View, st.Job)
	if mine == 0 || mine < d.Reach[i] && !d.perQueue {
		return false
	}
	looking := d.search
	defer func() { d.search = looking }()
	d.suspects.Sync(p)
	for range mostLooks {
		b := d.nextSuspect(p, k, false)
		if b == nil {
			return false
		}
		at := d.turnOf(b.Job, i)
		if at == 0 || at >= mine {
			return false
		}
		if mine < at+d.window(p, b) && (!d.perQueue || d.queueOf(p.View, b.Job) == queue) {
			return false // st is checked for b, and for those that come between them
		}
		if !d.tasksFirst(p, b, k) && d.startSecond(p, b, b.Shape) {
			return true
		}
		d.suspects.Skip(b)
	}
	return false
}

// nextSuspect returns the stage with stragglers of kind k whose turn it is, among those that have room; nil: none.
func (d *dynamicmr) nextSuspect(p *sched.Plan, k sched.ResourceKind, lent bool) *sched.Stage {
	d.seek(&d.suspects, lent)
	d.all = true
	st := d.next(p, k)
	d.all = false
	d.pass++
	return st
}

// startSecond starts a second attempt of a stage's straggler that has most time left, holding a shape, and reports whether it did.
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

// startSeconds starts second attempts on slots that are idle still: of their own kind first, then, as lending allows, of the other.
func (d *dynamicmr) startSeconds(p *sched.Plan) {
	if len(d.Stages) == 0 || !d.idle(p) || d.left(p) <= 0 {
		return
	}
	for _, lent := range [2]bool{false, true} {
		for _, k := range slotKinds {
			d.startSecondsOf(p, k, lent)
		}
	}
}

func (d *dynamicmr) startSecondsOf(p *sched.Plan, k sched.ResourceKind, lent bool) {
	limit := int64(1) << 32
	if i := sideOfSlots(k); lent {
		limit = d.quota(p, 1-i) - d.balance(p)[i].Away
	}
	d.suspects.Sync(p)
	for looks := 0; limit > 0 && looks < mostLooks; looks++ {
		st := d.nextSuspect(p, k, lent)
		if st == nil {
			return
		}
		holds := st.Shape
		if lent {
			holds = d.lentShape(p, st)
		}
		if d.tasksFirst(p, st, k) || lent && !lendable(st, k) || !d.startSecond(p, st, holds) {
			d.suspects.Skip(st)
			continue
		}
		limit--
		looks = 0
	}
}

// killOverdue ends stragglers that have no second attempt and have run longer than twice the finished tasks of their stage, each task's once. They are
// to start again before everything else.
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
			if (p.Now-a.Start)*sched.Time(r.Tasks) <= 2*r.Time || slices.Contains(*killed, a.Task) || !p.Kill(a, 0) {
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
