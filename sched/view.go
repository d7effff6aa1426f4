package sched

import (
	"fmt"
	"iter"
)

// A View is the cluster as a policy may read it. All of it is lent for one call, and must not be changed.
type View struct {
	Now          Time
	Can          Powers    // what the engine can do beyond launching
	Capacity     Resources // of all nodes
	Forecast     *Forecast // what all nodes together are expected to offer over time; nil: not known
	Nodes        []*Node   // Nodes[id-1]
	Classes      []*Class  // Classes[id-1]
	Queues       []*Queue  // Queues[id]; parents before children
	QueueChanges int       // how often the configured queues have changed, or one that is not configured any more went
	Events       []Event   // what happened at this instant, each seen in exactly one Step
	Offers       []NodeID  // nodes that in this Step joined, reported, got room or lost a reservation

	cluster *cluster
}

// Node returns the node with an ID, which must exist.
func (v *View) Node(id NodeID) *Node { return v.Nodes[id-1] }

// Jobs yields the unfinished jobs in order of submission, in O(jobs). It is for what happens once a job or once an
// epoch.
func (v *View) Jobs() iter.Seq[*Job] {
	return func(yield func(*Job) bool) {
		t := &v.cluster.jobs
		for s := t.first; s >= 0; {
			j := t.rows[s]
			s = j.next
			if !yield(j) {
				return
			}
		}
	}
}

// Job returns the job with an ID; nil when it ended before this Step, or never was.
func (v *View) Job(id JobID) *Job { return v.cluster.jobs.byID[id] }

// LiveJobs returns how many jobs are unfinished.
func (v *View) LiveJobs() int { return v.cluster.jobs.live }

// Stage returns the stage with an ID; nil when its job ended before this Step, or never was.
func (v *View) Stage(id StageID) *Stage {
	if j := v.Job(id.Job); j != nil && id.Index >= 0 && int(id.Index) < len(j.Stages) {
		return j.Stages[id.Index]
	}
	return nil
}

// Attempt returns the attempt with an ID, until the end of the Step in which it ends; nil after that.
func (v *View) Attempt(id AttemptID) *Attempt { return v.cluster.attempts.find(id) }

// Attempts yields the attempts of a stage that run or are suspended, youngest first. The one yielded may be acted on.
func (v *View) Attempts(st *Stage) iter.Seq[*Attempt] {
	return func(yield func(*Attempt) bool) {
		slots := st.attempts.slots
		for i := len(slots) - 1; i >= 0; i-- {
			if slots[i] >= 0 && !yield(v.cluster.attempts.at(slots[i])) {
				return
			}
		}
	}
}

// AttemptsOn yields the attempts on a node that run or are suspended, youngest first. The one yielded may be acted on.
func (v *View) AttemptsOn(n *Node) iter.Seq[*Attempt] {
	return func(yield func(*Attempt) bool) {
		slots := n.slots
		for i := len(slots) - 1; i >= 0; i-- {
			if !yield(v.cluster.attempts.at(slots[i])) {
				return
			}
		}
	}
}

// Ran returns how long attempt a has run up to the instant at, which is not before Now. The time for which a was
// suspended does not count.
func (v *View) Ran(a *Attempt, at Time) Time {
	if a.parked {
		at = v.cluster.attempts.pauses[a.ID].since
	}
	return at - v.cluster.attempts.shiftedStart(a)
}

// Elapsed returns the sum of [View.Ran] over the running attempts of s, without the suspended ones, in O(1). So the
// work that is left of a stage with a known task time costs no walk over its attempts. The sum stays exact up to 292
// years of attempts.
func (s *Stage) Elapsed(at Time) Time { return Time(s.Running)*at - s.attempts.starts }

// Paused returns the sum of [View.Ran] over the suspended attempts of s, in O(1).
func (s *Stage) Paused() Time { return s.attempts.paused }

// Twins returns how many attempts of a's task run, a included.
func (v *View) Twins(a *Attempt) int {
	n := 1
	for b := a.twin; b != nil && b != a; b = b.twin {
		n++
	}
	return n
}

// Amount returns the resources of a shape. It panics if the core does not know the shape, because the caller has kept
// its ID for longer than [View.Shape] says. That is no Breach: mostly it is a policy that asks.
func (v *View) Amount(s ShapeID) Resources {
	known := v.cluster.ledger.shapes.find(s)
	if known == nil {
		panic(fmt.Sprintf("sched: the amount of shape %d: %s", s, forgotten))
	}
	return known.amount
}

// Shape returns the ID of a vector, a new one where need be. It is valid until the next Step begins. The IDs of stages
// and attempts are valid as long as the rows that have them. The core may forget every other vector when a Step begins,
// and gives its row (ShapeID.Row) to another one. So a policy keeps no ID of this method: it asks again in each Decide,
// which costs a look into a map. If the core does not know a shape any more, verbs and searches for nodes refuse it
// (Core.Refusals), and Amount panics.
func (v *View) Shape(r Resources) ShapeID { return v.cluster.ledger.shapes.intern(r) }

// Estimate predicts the time of one task of st on a class of nodes (zero: any).
func (v *View) Estimate(st *Stage, class ClassID) Estimate {
	if v.cluster.estimator == nil {
		return Estimate{Mean: st.Spec.Prior}
	}
	return v.cluster.estimator.Estimate(st, class)
}

// Size returns the size of a job as far as the estimator knows it, and whether it does.
func (v *View) Size(j *Job) (Work, bool) {
	if v.cluster.estimator == nil {
		return priorSize(j)
	}
	return v.cluster.estimator.Size(j)
}

// priorSize returns the size of job j as its spec says, and whether it says the number and the time of all tasks.
func priorSize(j *Job) (w Work, known bool) {
	known = true
	for _, st := range j.Stages {
		known = known && st.Total >= 0 && st.Spec.Prior > 0
		w.Add(st.Spec.PerTask.Times(int64(max(0, st.Total))), st.Spec.Prior)
	}
	return w, known
}

// Service returns the resource-seconds that a job has received up to at, which is not before Now.
func (v *View) Service(j *Job, at Time) Work {
	w := j.served
	w.Add(j.Used, at-j.since)
	return w
}

// QueueService returns the resource-seconds that all jobs of a queue have received up to at, which is not before Now.
func (v *View) QueueService(q *Queue, at Time) Work {
	w := q.served
	w.Add(q.Used, at-q.since)
	return w
}

// Headroom returns what a job could still get now: the room of the cluster under the maxima of its queues.
func (v *View) Headroom(j *Job) Resources {
	room := v.Capacity.Sub(v.Queues[0].Used)
	for q := v.Queues[j.Queue]; ; q = v.Queues[q.Parent] {
		for k := range room {
			room[k] = max(0, min(room[k], q.Max[k]-q.Used[k]))
		}
		if q.ID == 0 {
			return room
		}
	}
}

// Fits yields the nodes of a class (zero: of any) on which a task of st may be launched now, in order of ID. It leaves
// out what blacklists, constraints, reservations, queue maxima and closed nodes exclude. Nodes without room cost
// nothing.
func (v *View) Fits(st *Stage, class ClassID) iter.Seq[*Node] { return v.FitsAs(st, class, st.Shape) }

// FitsAs is Fits for a task that holds another shape than its stage's own.
func (v *View) FitsAs(st *Stage, class ClassID, shape ShapeID) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		if !knows(v.cluster, st, shape) {
			return
		}
		for n := v.cluster.nextFit(st, shape, class, 0); n != nil; n = v.cluster.nextFit(st, shape, class, n.ID) {
			if !yield(n) {
				return
			}
		}
	}
}

// First returns the first node that Fits would yield for any class; nil: none. Under Config.Spread it is the first
// behind the node of the last launch.
func (v *View) First(st *Stage) *Node {
	if v.cluster.config.Spread {
		if n := v.cluster.nextFit(st, st.Shape, 0, v.cluster.started); n != nil {
			return n
		}
	}
	return v.cluster.nextFit(st, st.Shape, 0, 0)
}

// Placed reports whether it matters where the tasks of s run: some have their input on some nodes.
func (s *Stage) Placed() bool { return s.Spec.Copies > 0 || s.tasks.wishes != nil }

// Room reports whether a node that is open and reserved for no stage has room for a task of st. It does not ask whether
// st may start there: maxima of queues, constraints and failures do not count. O(1).
func (v *View) Room(st *Stage) bool {
	s := v.cluster.ledger.shapes.at(st.Shape)
	v.cluster.ledger.shapes.activate(s)
	return s.fits.any()
}

// Level returns how near its input the nearest pending task of st would be on n. A stage without places is local
// everywhere.
func (v *View) Level(st *Stage, n *Node) Locality { return st.tasks.level(v.cluster, st, n) }

// Waiting returns how many tasks of st neither run nor are done, whether they may start yet or not. Tasks that the
// engine does not want any more (Asks.Pending) do not count; those of a stage that is Asked do, because its master may
// ask for them later. O(attempts of st).
func Waiting(v *View, st *Stage) int32 {
	if !st.alive || !st.Spec.Asked || st.Total < 0 {
		return st.waiting
	}
	live := map[int32]bool{}
	for a := range v.Attempts(st) {
		if !a.moot { // the task of one that is moot counts as done
			live[a.Task] = true
		}
	}
	return max(0, st.Total-st.Done-int32(len(live)))
}

// NextTask returns the task that Launch would start for st on n: the last task that must run again, else the first of
// the tasks nearest their input there. Zero: no task waits, or the engine chooses. It costs O(1), or O(log n) for n
// waiting tasks with their input near.
func (v *View) NextTask(st *Stage, n *Node) int32 {
	if st.waiting == 0 {
		return 0
	}
	return st.tasks.peek(v.cluster, st, n)
}

// A Where says for which nodes FirstWhere looks, among those that Fits would yield for the shape.
type Where struct {
	Shape ShapeID          // what the task would hold; zero: its stage's shape
	Class ClassID          // only nodes of this class; zero: of any
	Level Locality         // it is no farther from its input than this
	After NodeID           // only nodes after this one
	Ok    func(*Node) bool // only nodes for which this is true; nil: all
}

// FirstWhere returns the first node that Fits would yield and that where allows; nil: none. It costs a look at each
// node with room up to that one. At level NodeLocal it costs the places of the pending tasks of st instead where these
// are fewer, but not while a task of st must run again.
func (v *View) FirstWhere(st *Stage, where Where) *Node {
	if where.Shape == 0 {
		where.Shape = st.Shape
	} else if !knows(v.cluster, st, where.Shape) {
		return nil
	}
	return st.tasks.firstWhere(v.cluster, st, where)
}
