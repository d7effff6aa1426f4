package web

import (
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/internal/outlook"
	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/sched"
)

// mostJobs bounds the jobs that a board remembers. Ended jobs are forgotten, the oldest first.
const mostJobs = 200_000

// mostQueues bounds the queues that a board draws over time.
const mostQueues = 200

// A Board keeps the data that the page shows of one run. It follows the run's core, and a Site reads it.
type Board struct {
	about About

	mu      sync.Mutex
	view    *sched.View // of the core; only Record may read it
	now     sched.Time
	version int64                 // rises with each change
	over    string                // "": the run goes on; finished; or why the end is not shown completely
	jobs    []jobRow              // in order of submission
	place   map[sched.JobID]int32 // index in jobs
	nodes   []nodeRow             // by NodeID-1
	queues  queueBoard
	log     *attemptLog
	line    *timeline // of the cluster
	counts  liveCounts

	figures *record.Tally // computes slowdowns as jobs end; nil: they are not known

	last  *boardCopy      // the latest copy
	views map[string]view // by user, if the site has a guard
	ends  foresight
}

// A foresight has the last outlook: a simulation of the tasks that are left, from which follows when jobs are expected
// to end. Outlooks are made while some page asks.
type foresight struct {
	policy sched.Policy // of the run; nil: not known, so there is no outlook
	asked  bool         // a page has asked since the last outlook
	laying bool         // the next outlook is being computed
	look   *outlook.Look
	at     sched.Time // the instant of look
	due    time.Time  // the earliest time of the next outlook
}

const (
	// fewLeft is the most tasks for which an outlook is computed by the request that needs it, in some milliseconds.
	fewLeft = 2_000
	// rest is how many times as long as an outlook took the next must wait, so that outlooks take a tenth of one
	// processor at most.
	rest = 9
)

// Rank implements run.Ranked: p is the policy of the run.
func (b *Board) Rank(p sched.Policy) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ends.policy = p
}

// foresee makes a new outlook, if a page has asked since the last one, and that one is old. If many tasks are left, the
// outlook is computed on a goroutine of its own, and pages show the one before until it is ready.
func (b *Board) foresee() {
	f := &b.ends
	if !f.asked || f.policy == nil || f.laying || time.Now().Before(f.due) {
		return
	}
	look, at, begun := outlook.At(b.view, outlook.OrderOf(f.policy, b.view)), b.now, time.Now()
	f.asked, f.due = false, begun.Add(freshness)
	if look.Tasks() <= fewLeft {
		f.look, f.at = look, at
		return
	}
	f.laying = true
	go func() {
		look.Lay()
		b.mu.Lock()
		defer b.mu.Unlock()
		f.look, f.at, f.laying = look, at, false
		f.due = time.Now().Add(max(freshness, rest*time.Since(begun)))
		b.version++ // pages ask again
	}()
}

// Figure implements run.Figured. Slowdowns are computed only if o says from which times of
// jobs: true or measured ones.
func (b *Board) Figure(o record.TallyOptions) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if o.Truth == nil && !o.Measured {
		return
	}
	o.Row = func(row *record.JobRow) {
		if r := b.row(row.ID); r != nil {
			r.slowdown = row.Slowdown
		}
	}
	b.figures = record.NewTally(o)
}

// About describes a run: its name, and what it was made from.
type About struct {
	Name      string // of the run on its site: a file, or a policy
	Engine    string
	Policy    string
	Estimator string
	Workload  string
	Seed      uint64
	Explain   Explainer // nil: the run cannot explain why a job waits
	Logs      string    // the folder with the standard error of attempts' programs; "": there is none
}

// An Explainer says why a job waited at an instant of a run.
type Explainer func(job sched.JobID, at sched.Time) (*record.Explanation, error)

// liveCounts are the numbers of unfinished jobs, of attempts and of tasks now.
type liveCounts struct {
	jobs, waiting    int32 // unfinished jobs; those among them without a launch
	running, pending int64 // attempts; tasks that may start
}

// A jobRow is a board's row of a job.
type jobRow struct {
	id                 sched.JobID
	name, user, queue  string
	submit, first, end sched.Time // first and end are -1 before the first launch and the end
	deadline           sched.Time // after submit; 0: none
	outcome            sched.Outcome
	priority           int32
	size               float64    // seconds of the whole cluster, estimated at the submission; -1: not known
	service            float64    // seconds of the whole cluster that the job received; known at its end
	slowdown           float64    // known at the end; 0: not known
	idle, idleSince    sched.Time // while nothing of it ran, up to idleSince, when the last attempt ended
	total, done        int32      // tasks; total is -1 where the engine cannot know
	running            int32
	pending            int64
	attempts, failed   int32 // attempts launched; those among them that failed, were killed or were lost
	tail               int64 // number of its last attempt
	stages             []stageRow
	counters           *sched.Counters // the sum over its successful attempts; nil: the engine counts nothing
	use                *jobUse         // nil: it has not held anything. That of an ended job does not change any more
}

// A jobUse is the resources that a job holds, and those that it has held up to an instant.
type jobUse struct {
	used   sched.Resources
	served sched.Work // up to since
	since  sched.Time
}

// until returns the resource-seconds that a job has received up to an instant, which is not before u.since. A nil u has
// received none.
func (u *jobUse) until(now sched.Time) (w sched.Work) {
	if u != nil {
		w = u.served
		w.Add(u.used, now-u.since)
	}
	return w
}

// A stageRow is a board's row of a stage.
type stageRow struct {
	kind                         sched.StageKind
	total, done, running         int32
	pending, after               int32      // after: index of the last stage that must come before; -1: none
	estimate                     sched.Time // of a task's time, made when the first was launched; 0: not known
	spread                       sched.Time // the standard deviation of estimate
	sum                          sched.Time // of the times of successful attempts
	ended                        int32      // how many successful attempts there are
	perTask                      sched.Resources
	first, last                  sched.Time // instants of the first launch and of the last success; -1: none
	local, rack, off, second     int32      // attempts by locality; second attempts
	failed, killed, lost, paused int32
}

// A nodeRow is a board's row of a node.
type nodeRow struct {
	name, class    string
	rack           sched.RackID
	lost           bool
	capacity, used sched.Resources
	running        int32
	done, failed   int32
	tail           int64 // number of its last attempt
	joined, seen   sched.Time
	busy           float64    // Σ of the used dominant share of its capacity × seconds, from joined to seen
	idle           sched.Time // of the time from joined to seen: while it was there and nothing ran on it
}

// mean returns the used dominant share of the node's capacity, averaged from when it joined until now.
func (n *nodeRow) mean(now sched.Time) float64 {
	if now <= n.joined {
		return n.used.DominantShare(n.capacity)
	}
	return (n.busy + n.used.DominantShare(n.capacity)*(now-n.seen).Seconds()) / (now - n.joined).Seconds()
}

// idled returns how long nothing has run on a node, from when it joined until now, while it was not lost.
func (n *nodeRow) idled(now sched.Time) sched.Time {
	if n.running > 0 || n.lost || now <= n.seen {
		return n.idle
	}
	return n.idle + now - n.seen
}

// NewBoard returns the board of a run that has not begun.
func NewBoard(about About) *Board {
	return &Board{
		about: about,
		place: map[sched.JobID]int32{},
		log:   newAttemptLog(mostAttempts),
		line:  newTimeline(clusterCurves),
	}
}

// The curves of a timeline: those of the cluster, and six for each queue.
const (
	curveJobs = iota
	curveWaiting
	curveRunning
	curvePending
	curveUsed     // + kind of resource
	curveCapacity = curveUsed + int(sched.NumResources)
	clusterCurves = curveCapacity + int(sched.NumResources)
)

const (
	queueUsed = iota
	queueDemand
	queueOwed
	queueJobs
	queueRunning
	queuePending
	queueCurves
)

// Attach implements record.Follower.
func (b *Board) Attach(v *sched.View) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.view = v
	if b.figures != nil {
		b.figures.Attach(v)
	}
}

// Record implements sched.Recorder.
func (b *Board) Record(now sched.Time, events []sched.Event, actions []sched.Action) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.line.pass(now)
	b.queues.pass(now)
	b.now = now
	b.version++
	for i := range events {
		b.event(&events[i])
	}
	for i := range actions {
		b.action(&actions[i])
	}
	if b.figures != nil {
		b.figures.Record(now, events, actions)
	}
	b.sample()
	b.foresee()
}

// finished is Board.over of a run that has ended and is shown completely.
const finished = "over"

// Finish notes that the run is over. why says why it is not shown completely; "": it is.
func (b *Board) Finish(why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if why == "" {
		why = finished
	}
	b.over = why
	b.version++
}

// event updates the board by an event of the core.
func (b *Board) event(e *sched.Event) {
	switch e.Kind {
	case sched.NodeJoined, sched.NodeReported, sched.NodeLost:
		b.node(e.Node)
	case sched.JobSubmitted:
		b.submit(e.Job, e.Body.(*sched.JobSpec))
	case sched.SpecChanged:
		if spec, ok := e.Body.(*sched.JobSpec); ok {
			b.amend(e.Job, spec)
		}
	case sched.AttemptDone:
		b.ended(e)
	case sched.AttemptSuspended:
		b.pause(e.Attempt, true)
	case sched.AttemptResized, sched.ResizeAsked:
		b.resize(e.Attempt)
	case sched.AsksChanged, sched.TaskUndone:
		b.tasks(e.Job)
	case sched.JobEnded:
		b.close(e)
	}
}

// action updates the board by an action of the core.
func (b *Board) action(a *sched.Action) {
	switch a.Kind {
	case sched.Launch:
		b.launch(a)
	case sched.Resume:
		b.pause(a.Attempt, false)
	case sched.Resize:
		b.resize(a.Attempt)
	}
}

// resize updates the rows of the node and the job of an attempt whose resources have changed.
func (b *Board) resize(id sched.AttemptID) {
	if a := b.log.find(id); a != nil {
		b.node(a.node)
		b.tasks(a.job)
	}
}

// node updates the row of a node from the view.
func (b *Board) node(id sched.NodeID) {
	for len(b.nodes) < int(id) {
		b.nodes = append(b.nodes, nodeRow{tail: none, joined: b.now, seen: b.now})
	}
	n, v := &b.nodes[id-1], b.view.Node(id)
	if b.now > n.seen {
		n.busy += n.used.DominantShare(n.capacity) * (b.now - n.seen).Seconds()
		n.idle = n.idled(b.now)
		n.seen = b.now
	}
	if n.name == "" {
		n.name, n.class, n.rack = v.Name, b.view.Classes[v.Class-1].Name, v.Rack
	}
	n.lost, n.capacity, n.used = v.Lost, v.Capacity, v.Used
}

// row returns the row of a job; nil: the job is not known, or forgotten.
func (b *Board) row(id sched.JobID) *jobRow {
	if at, ok := b.place[id]; ok {
		return &b.jobs[at]
	}
	return nil
}

// submit adds the row of a new job.
func (b *Board) submit(id sched.JobID, spec *sched.JobSpec) {
	if len(b.jobs) >= mostJobs {
		b.forget()
	}
	b.place[id] = int32(len(b.jobs))
	b.jobs = append(b.jobs, jobRow{id: id, name: spec.Name, user: spec.User, submit: b.now, idleSince: b.now,
		first: -1, end: -1, deadline: spec.Deadline, priority: spec.Priority, size: -1, tail: none})
	r := &b.jobs[len(b.jobs)-1]
	b.counts.jobs++
	b.counts.waiting++
	if j := b.view.Job(id); j != nil {
		r.queue = b.view.Path(b.view.Queues[j.Queue])
		if w, ok := b.view.Size(j); ok {
			r.size = w.Seconds(b.view.Capacity)
		}
	}
	b.tasks(id)
}

// forget drops ended jobs, the oldest first: half of all jobs, or, if fewer have ended, those.
func (b *Board) forget() {
	drop := len(b.jobs) / 2
	kept := b.jobs[:0]
	for i := range b.jobs {
		if drop > 0 && b.jobs[i].end >= 0 {
			drop--
			delete(b.place, b.jobs[i].id)
			continue
		}
		b.place[b.jobs[i].id] = int32(len(kept))
		kept = append(kept, b.jobs[i])
	}
	b.jobs = kept
}

// amend updates the row of a job whose specification has changed.
func (b *Board) amend(id sched.JobID, spec *sched.JobSpec) {
	r, j := b.row(id), b.view.Job(id)
	if r == nil || j == nil {
		return
	}
	r.priority, r.deadline = spec.Priority, spec.Deadline
	r.queue = b.view.Path(b.view.Queues[j.Queue])
}

// tasks updates the counts of a job's tasks from the view.
func (b *Board) tasks(id sched.JobID) {
	r, j := b.row(id), b.view.Job(id)
	if r == nil || j == nil {
		return
	}
	b.counts.running -= int64(r.running)
	b.counts.pending -= r.pending
	before := r.running
	r.total, r.done, r.running, r.pending = 0, 0, 0, 0
	for i, st := range j.Stages {
		if i == len(r.stages) {
			row := stageRow{kind: st.Kind, after: -1, perTask: st.Spec.PerTask, first: -1, last: -1}
			for _, d := range st.Spec.After {
				row.after = max(row.after, d.Stage)
			}
			r.stages = append(r.stages, row)
		}
		row := &r.stages[i]
		row.total, row.done, row.running, row.pending = st.Total, st.Done, st.Running, st.Pending
		row.paused = st.Suspended
		if st.Total < 0 {
			r.total = -1
		} else if r.total >= 0 {
			r.total += st.Total
		}
		r.done += st.Done
		r.running += st.Running
		if !j.Ended {
			r.pending += int64(st.Pending)
		}
	}
	switch {
	case r.end >= 0 || r.use == nil && j.Used == (sched.Resources{}):
	case r.use == nil:
		r.use = &jobUse{j.Used, b.view.Service(j, b.now), b.now}
	default:
		*r.use = jobUse{j.Used, b.view.Service(j, b.now), b.now}
	}
	switch {
	case before == 0 && r.running > 0:
		r.idle += b.now - r.idleSince
	case before > 0 && r.running == 0:
		r.idleSince = b.now
	}
	b.counts.running += int64(r.running)
	b.counts.pending += r.pending
}

// launch adds an attempt to the log, and updates the rows of its stage, job and node.
func (b *Board) launch(a *sched.Action) {
	at, r := b.view.Attempt(a.Attempt), b.row(a.Stage.Job)
	if at == nil || r == nil {
		return
	}
	b.tasks(r.id)
	b.node(a.Node)
	n := &b.nodes[a.Node-1]
	n.running++
	r.attempts++
	if r.first < 0 {
		r.first = b.now
		b.counts.waiting--
	}
	st := &r.stages[a.Stage.Index]
	if st.first < 0 {
		st.first = b.now
		e := b.view.Estimate(at.Stage, 0)
		st.estimate, st.spread = e.Mean, e.StdDev
	}
	row := attempt{serial: a.Attempt.Serial(), start: b.now, end: -1, job: a.Stage.Job, task: a.Task, node: a.Node,
		stage: uint16(a.Stage.Index), kind: at.Stage.Kind, locality: -1, second: a.Task > 0 && b.view.Twins(at) > 1}
	if row.second {
		st.second++
	}
	if at.Stage.Spec.Copies > 0 {
		level := record.LocalityOf(b.view, at)
		row.locality = int8(level)
		switch level {
		case sched.NodeLocal:
			st.local++
		case sched.RackLocal:
			st.rack++
		default:
			st.off++
		}
	}
	number := b.log.add(row, r.tail, n.tail)
	b.log.hold(a.Attempt, number)
	r.tail, n.tail = number, number
}

// ended updates the rows of an attempt, and of its stage, job and node, when the attempt has ended. The log may have
// forgotten an attempt that ran for long: the other rows change all the same.
func (b *Board) ended(e *sched.Event) {
	v := b.view.Attempt(e.Attempt)
	if v == nil || !e.Derived && b.view.Node(v.Node).Lost {
		return // it was lost with its node: the core adds an event for that
	}
	if a := b.log.find(e.Attempt); a != nil {
		if a.end >= 0 {
			return
		}
		a.end, a.outcome, a.paused = b.now, e.Outcome, false
	}
	b.node(v.Node)
	n := &b.nodes[v.Node-1]
	n.running--
	r := b.row(v.Stage.ID.Job)
	if r == nil {
		return
	}
	b.tasks(r.id)
	st := &r.stages[v.Stage.ID.Index]
	switch e.Outcome {
	case sched.OK:
		n.done++
		st.ended++
		st.sum += b.view.Ran(v, b.now)
		st.last = b.now
		if c, _ := e.Body.(*sched.Counters); c != nil {
			if r.counters == nil {
				r.counters = &sched.Counters{}
			}
			addCounters(r.counters, c)
		}
		return
	case sched.Failed:
		st.failed++
		n.failed++
	case sched.Killed:
		st.killed++
	case sched.Lost:
		st.lost++
	}
	if e.Outcome != sched.Released {
		r.failed++
	}
}

// addCounters adds c, the counters of an attempt, to the sum to.
func addCounters(to, c *sched.Counters) {
	to.InputBytes += c.InputBytes
	to.OutputBytes += c.OutputBytes
	to.InputRecords += c.InputRecords
	to.OutputRecords += c.OutputRecords
	to.LocalBytes += c.LocalBytes
	to.RemoteBytes += c.RemoteBytes
	to.SpilledRecords += c.SpilledRecords
	to.CPU += c.CPU
	for i, t := range c.Phases {
		to.Phases[i] += t
	}
}

// pause notes that an attempt was suspended, or that it runs again.
func (b *Board) pause(id sched.AttemptID, paused bool) {
	if a := b.log.find(id); a != nil && a.end < 0 {
		a.paused = paused
		b.node(a.node)
		b.tasks(a.job)
	}
}

// close updates the row of a job that has ended. If both the engine and the core tell its end, the core's event counts.
func (b *Board) close(e *sched.Event) {
	r := b.row(e.Job)
	if r == nil || r.end >= 0 && !e.Derived {
		return
	}
	if r.end < 0 {
		b.counts.jobs--
		if r.first < 0 {
			b.counts.waiting--
		}
	}
	r.end, r.outcome = b.now, e.Outcome
	b.tasks(e.Job)
	if j := b.view.Job(e.Job); j != nil {
		served := b.view.Service(j, b.now)
		r.service, r.use = served.Seconds(b.view.Capacity), &jobUse{served: served, since: b.now}
	}
	b.counts.pending -= r.pending
	r.pending = 0
}

// sample sets the present values of the curves of the cluster and of the queues.
func (b *Board) sample() {
	c := b.line.curves
	c[curveJobs].now, c[curveWaiting].now = float64(b.counts.jobs), float64(b.counts.waiting)
	c[curveRunning].now, c[curvePending].now = float64(b.counts.running), float64(b.counts.pending)
	root := b.view.Queues[0]
	for k := range root.Used {
		c[curveUsed+k].now, c[curveCapacity+k].now = float64(root.Used[k]), float64(b.view.Capacity[k])
	}
	b.queues.sample(b.view)
}

// A queueBoard keeps the data that the page shows of queues. Users are not shown: they count with their queue.
type queueBoard struct {
	rows  []queueRow
	place map[string]int // index of rows, by path
	live  []int          // by QueueID: index of rows; -1: the queue is a user's, or beyond mostQueues
	left  int            // queues of the view beyond mostQueues
	line  *timeline

	changes, count int     // View.QueueChanges and the number of queues when live was made
	leaves         []int   // IDs of the queues without children
	share, held    []int64 // of the leaves, in millionths of the cluster
}

// A queueRow is a board's row of a queue.
type queueRow struct {
	path         string
	depth        int
	gone, leaf   bool
	weight       float64
	share        float64 // of the cluster, by weight
	used, demand float64 // dominant shares of the cluster now
	min, max     sched.Resources
	amount       sched.Resources // used now
	jobs         int32
	running      int32
	pends        int64
	owed         float64 // seconds of the whole cluster lent and not returned; negative: borrowed
}

// lay makes the list of the queues again, from view v.
func (q *queueBoard) lay(v *sched.View) {
	if q.place == nil {
		q.place, q.line = map[string]int{}, newTimeline(0)
		q.line.end = 0
	}
	q.changes, q.count = v.QueueChanges, len(v.Queues)
	for i := range q.rows {
		q.rows[i].gone = true
	}
	q.live = q.live[:0]
	q.leaves = q.leaves[:0]
	q.left = 0
	for _, of := range v.Queues {
		q.live = append(q.live, -1)
		if of == nil || of.Spec == nil || of.User || of.Gone() {
			continue
		}
		path := v.Path(of)
		at, ok := q.place[path]
		if !ok {
			if len(q.rows) >= mostQueues {
				q.left++
				continue
			}
			at = len(q.rows)
			q.place[path] = at
			q.rows = append(q.rows, queueRow{path: path})
		}
		q.live[of.ID] = at
		r := &q.rows[at]
		r.gone, r.leaf, r.weight, r.share, r.depth = false, true, of.Weight(), 1, 0
		r.min, r.max = of.Min, of.Max
		for _, child := range of.Children {
			if c := v.Queues[child]; c != nil && !c.User {
				r.leaf = false
			}
		}
		if of.ID != 0 {
			q.divide(v, of, r)
		}
		if r.leaf {
			q.leaves = append(q.leaves, int(of.ID))
		}
	}
	q.share, q.held = make([]int64, len(q.leaves)), make([]int64, len(q.leaves))
	for i, id := range q.leaves {
		q.share[i] = int64(q.rows[q.live[id]].share * millionths)
	}
	end := q.line.end
	q.line.grow(queueCurves * len(q.rows))
	q.line.end = end
}

// millionths is the whole cluster, in the unit of the shares for theory.Loans.
const millionths = 1e6

// divide sets, in r, the share and the depth of queue of: its part, by weight, of the share of the queue above.
func (q *queueBoard) divide(v *sched.View, of *sched.Queue, r *queueRow) {
	above, sum := v.Queues[of.Parent], 0.0
	for _, id := range above.Children {
		if c := v.Queues[id]; c != nil && !c.User {
			sum += c.Weight()
		}
	}
	if at := q.live[above.ID]; at >= 0 && sum > 0 {
		r.share, r.depth = q.rows[at].share*of.Weight()/sum, q.rows[at].depth+1
	}
}

// pass adds the present values, which have held since the last call, to the sums over time, up to now.
func (q *queueBoard) pass(now sched.Time) {
	if q.line == nil {
		return
	}
	held := (now - q.line.end).Seconds()
	if held > 0 && len(q.leaves) > 1 {
		lent, borrowed := theory.Loans(q.share, q.held)
		for i, id := range q.leaves {
			if id < len(q.live) && q.live[id] >= 0 {
				q.rows[q.live[id]].owed += held * float64(lent[i]-borrowed[i]) / millionths
			}
		}
	}
	q.line.pass(now)
}

// sample sets the present values of the queues from view v.
func (q *queueBoard) sample(v *sched.View) {
	if q.line == nil || q.changes != v.QueueChanges || q.count != len(v.Queues) {
		before := q.line
		q.lay(v)
		if before == nil {
			q.line.pass(v.Now)
		}
	}
	for id, at := range q.live {
		if at < 0 {
			continue
		}
		r, of := &q.rows[at], v.Queues[id]
		r.used, r.demand = of.Used.DominantShare(v.Capacity), of.Demand.DominantShare(v.Capacity)
		r.amount, r.jobs, r.running, r.pends = of.Used, of.Jobs, of.Running(), of.Pending()
		c := q.line.curves[queueCurves*at:]
		c[queueUsed].now, c[queueDemand].now, c[queueOwed].now = r.used, r.demand, r.owed
		c[queueJobs].now, c[queueRunning].now = float64(r.jobs), float64(r.running)
		c[queuePending].now = float64(r.pends)
	}
	for i, id := range q.leaves {
		q.held[i] = int64(q.rows[q.live[id]].used * millionths)
	}
}
