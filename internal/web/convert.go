package web

import (
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// seconds returns t in seconds; nil if t is negative, which stands for an unknown or future instant.
func seconds(t sched.Time) *float64 {
	if t < 0 {
		return nil
	}
	s := t.Seconds()
	return &s
}

// amounts returns the resources of r by key, without those that are zero or unlimited.
func amounts(r sched.Resources) map[string]int64 {
	m := map[string]int64{}
	for k, a := range r {
		if a != 0 && a < sched.Unlimited {
			m[sched.ResourceKind(k).Key()] = a
		}
	}
	return m
}

// known returns x; nil if x is negative, which stands for an unknown number.
func known(x float64) *float64 {
	if x < 0 {
		return nil
	}
	return &x
}

// spreadOf returns the mean and percentiles of values that are sorted in rising order; nil if there are none.
func spreadOf(sorted []float64) *Spread {
	n := len(sorted)
	if n == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range sorted {
		sum += v
	}
	at := func(percent int) float64 { return sorted[max(0, (n*percent+99)/100-1)] }
	return &Spread{n, sum / float64(n), at(50), at(95), at(99), sorted[n-1]}
}

// run returns the description of the run, which has a number on its site.
func (s *boardCopy) run(id int) Run {
	r := Run{
		ID: id, Name: s.about.Name, Engine: s.about.Engine, Policy: s.about.Policy, Estimator: s.about.Estimator,
		Workload: s.about.Workload, Seed: s.about.Seed, Live: s.over == "", Now: s.now.Seconds(), Version: s.version,
		Jobs: len(s.jobs), Unfinished: int(s.cluster.counts.jobs), Nodes: len(s.nodes),
		Explains: s.about.Explain != nil,
	}
	if s.over != finished {
		r.Note = s.over
	}
	return r
}

// job returns the description of a job.
func (s *boardCopy) job(r *jobRow) Job {
	j := Job{
		ID: int32(r.id), Name: r.name, User: r.user, Queue: r.queue, State: r.state(), Submit: r.submit.Seconds(),
		Start: seconds(r.first), End: seconds(r.end), Sojourn: r.sojourn(s.now).Seconds(),
		Wait:  r.wait(s.now).Seconds(),
		Tasks: r.total, Done: r.done, Running: r.running, Pending: r.pending, Size: known(r.size), Priority: r.priority,
	}
	j.Hidden = s.hides(r.id)
	if r.end >= 0 {
		service := r.service // the row may be given to another job while the answer is written
		j.Service = &service
	}
	if r.deadline > 0 {
		j.Deadline = seconds(r.submit + r.deadline)
	}
	return j
}

// figures returns what became of a job up to now.
func (s *boardCopy) figures(r *jobRow) Figures {
	f := Figures{Attempts: r.attempts, Failed: r.failed, Idle: r.idled(s.now).Seconds()}
	if r.slowdown > 0 && r.outcome == sched.OK {
		slowdown := r.slowdown
		f.Slowdown = &slowdown
	}
	if r.deadline > 0 {
		late := r.late(s.now).Seconds()
		f.Late = &late
	}
	return f
}

// node returns the description of the node at index i, without what fill adds.
func (s *boardCopy) node(i int) Node {
	r := &s.nodes[i]
	return Node{ID: int32(i + 1), Name: r.name, Class: r.class, Rack: int32(r.rack), Lost: r.lost,
		Busy: r.used.DominantShare(r.capacity), Mean: r.mean(s.now), Idle: r.idled(s.now).Seconds(),
		Running: r.running, Done: r.done, Failed: r.failed}
}

// fill adds the capacity and the used resources to the description of a node. Only nodes that are shown need them.
func (s *boardCopy) fill(n *Node) {
	r := &s.nodes[n.ID-1]
	n.Capacity, n.Used = amounts(r.capacity), amounts(r.used)
}

// expected returns when a job is expected to start and to end. It is empty for a job that was submitted after the last
// outlook.
func (s *boardCopy) expected(r *jobRow) (e Expected) {
	if s.ends.look == nil || s.over != "" || r.end >= 0 || !s.ends.look.Has(r.id) {
		return e
	}
	instant := func(t float64) *float64 {
		t = max(s.now.Seconds(), s.ends.at.Seconds()+t)
		return &t
	}
	o := s.ends.look.Of(r.id)
	e.Unknown = o.Unknown
	if o.Start != nil && r.first < 0 {
		e.Start = instant(o.Start.Median)
	}
	if o.End != nil {
		e.End, e.Low, e.High = instant(o.End.Median), instant(o.End.Low), instant(o.End.High)
	}
	return e
}

// clusterAnswer returns the answer about the cluster.
func (s *boardCopy) clusterAnswer() *Cluster {
	v := s.cluster.values
	n := s.cluster.counts
	c := &Cluster{
		Kinds: []Kind{},
		Now:   s.now.Seconds(), Width: s.cluster.width, Jobs: v[curveJobs], Waiting: v[curveWaiting],
		Running: v[curveRunning], Pending: v[curvePending], JobsNow: n.jobs, WaitsNow: n.waiting, RunsNow: n.running,
		PendsNow: n.pending, Nodes: len(s.nodes), Attempts: s.attempts, Forgotten: max(0, s.attempts-mostAttempts),
	}
	for k := range sched.NumResources {
		most := slices.Max(append([]float64{0}, v[curveCapacity+int(k)]...))
		if most == 0 && s.cluster.capacity[k] == 0 {
			continue
		}
		c.Kinds = append(c.Kinds, Kind{sched.ResourceKind(k).String(), s.cluster.used[k], s.cluster.capacity[k],
			v[curveUsed+int(k)], v[curveCapacity+int(k)]})
	}
	for i := range s.nodes {
		if s.nodes[i].lost {
			c.Lost++
		}
	}
	for i := range s.jobs {
		if r := &s.jobs[i]; r.end >= 0 {
			if c.Ended++; r.outcome != sched.OK {
				c.Failed++
			}
		}
	}
	sojourns, waits := s.sojourns()
	c.Sojourn, c.Wait = spreadOf(sojourns), spreadOf(waits)
	return c
}

// queuesAnswer returns the answer about the queues at an instant, parents before children. For an instant before now,
// the figures are averages over the bin of the timeline that contains it.
func (s *boardCopy) queuesAnswer(at sched.Time) *Queues {
	q := &Queues{Now: s.now.Seconds(), At: at.Seconds(), Width: s.owed.width, Queues: []Queue{},
		Left: s.unshown}
	order := make([]int, len(s.queues))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return comparePaths(&s.queues[a], &s.queues[b]) })
	for _, i := range order {
		r, v := &s.queues[i], s.owed.values[queueCurves*i:]
		row := Queue{
			Path: r.path, Depth: r.depth, Leaf: r.leaf, Gone: r.gone, Weight: r.weight, Share: r.share, Used: r.used,
			Demand: r.demand, Owed: r.owed, Jobs: r.jobs, Running: r.running, Pending: r.pends,
			Amount: amounts(r.amount),
			Min:    amounts(r.min), Max: amounts(r.max),
			Uses: v[queueUsed], Demands: v[queueDemand], Debts: v[queueOwed],
			Mean: s.owed.mean(v[queueUsed], s.now), Asked: s.owed.mean(v[queueDemand], s.now),
		}
		if at < s.now {
			value := func(curve int) float64 { return s.owed.at(v[curve], at) }
			row.Used, row.Demand, row.Owed = value(queueUsed), value(queueDemand), value(queueOwed)
			row.Jobs, row.Running = int32(math.Round(value(queueJobs))), int32(math.Round(value(queueRunning)))
			row.Pending, row.Amount = int64(math.Round(value(queuePending))), nil
		}
		q.Queues = append(q.Queues, row)
	}
	sumOwed(q.Queues)
	return q
}

// sumOwed adds to each queue that has others below it what its leaves are owed. Loans among these cancel out. Rows are
// in the order of the tree. The curves of leaves are shared with the copy of the board, and not written.
func sumOwed(rows []Queue) {
	var path []int // from the root to the row
	for i := range rows {
		r := &rows[i]
		path = append(path[:min(r.Depth, len(path))], i)
		if !r.Leaf {
			r.Debts = slices.Clone(r.Debts)
			continue
		}
		for _, above := range path[:len(path)-1] {
			a := &rows[above]
			a.Owed += r.Owed
			for k := range min(len(a.Debts), len(r.Debts)) {
				a.Debts[k] += r.Debts[k]
			}
		}
	}
}

// comparePaths compares queues in the order in which a tree is read: the root first, and the queues below a queue right
// after it.
func comparePaths(a, b *queueRow) int {
	if (a.depth == 0) != (b.depth == 0) {
		return a.depth - b.depth
	}
	x, y := a.path, b.path
	for i := 0; i < len(x) && i < len(y); i++ {
		if x[i] == y[i] {
			continue
		}
		switch { // a dot ends a name, and comes before every letter
		case x[i] == '.':
			return -1
		case y[i] == '.':
			return 1
		}
		return int(x[i]) - int(y[i])
	}
	return len(x) - len(y)
}

// attemptAnswer returns the answer about an attempt.
func attemptAnswer(a *attempt) Attempt {
	x := Attempt{
		Attempt: a.serial, Job: int32(a.job), Stage: a.stage, Kind: a.kind.String(), Task: a.task, Node: int32(a.node),
		Start: a.start.Seconds(), End: seconds(a.end), Second: a.second,
	}
	switch {
	case a.end >= 0:
		x.Outcome = a.outcome.String()
	case a.paused:
		x.Outcome = "suspended"
	default:
		x.Outcome = "running"
	}
	if a.locality >= 0 {
		x.Locality = sched.Locality(a.locality).String()
	}
	return x
}

// mostShown bounds the attempts in one answer.
const mostShown = 20_000

// detail returns the answer about one job; false: the job is not known, or forgotten.
func (b *Board) detail(id sched.JobID) (*JobDetail, bool) {
	listed := b.latest() // so that the job's page expects the same as the list of jobs
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.row(id)
	if r == nil {
		return nil, false
	}
	s := &boardCopy{about: b.about, now: b.now, over: b.over}
	d := &JobDetail{ListedJob: ListedJob{s.job(r), listed.expected(r), s.figures(r)}, Now: b.now.Seconds(),
		Attempts: []Attempt{}}
	for i := range r.stages {
		d.Stages = append(d.Stages, stageAnswer(i, &r.stages[i]))
	}
	b.log.chain(r.tail, false, func(a *attempt) bool {
		d.Attempts = append(d.Attempts, attemptAnswer(a))
		return len(d.Attempts) < mostShown
	})
	slices.Reverse(d.Attempts)
	if c := r.counters; c != nil {
		d.Counters = &JobCounters{c.InputBytes, c.OutputBytes, c.InputRecords, c.OutputRecords, c.LocalBytes,
			c.RemoteBytes, c.SpilledRecords, c.CPU.Seconds(), map[string]float64{}}
		for p, t := range c.Phases {
			if t > 0 {
				d.Counters.Phases[sched.Phase(p).String()] = t.Seconds()
			}
		}
	}
	return d, true
}

// stageAnswer returns the answer about the stage of a number.
func stageAnswer(i int, r *stageRow) Stage {
	st := Stage{
		Stage: i, Kind: r.kind.String(), Tasks: r.total, Done: r.done, Running: r.running, Pending: r.pending,
		Suspended: r.paused, Failed: r.failed, Killed: r.killed, Lost: r.lost, Second: r.second,
		PerTask: amounts(r.perTask), Start: seconds(r.first), End: seconds(r.last),
	}
	if r.estimate > 0 {
		st.Estimate, st.Spread = seconds(r.estimate), seconds(r.spread)
	}
	if r.ended > 0 {
		st.Measured = seconds(r.mean())
	}
	if r.local+r.rack+r.off > 0 {
		st.Locality = &Locality{r.local, r.rack, r.off}
	}
	return st
}

// mean returns the mean time of a task of the stage, measured or else estimated; 0: it is not known.
func (r *stageRow) mean() sched.Time {
	if r.ended > 0 {
		return r.sum / sched.Time(r.ended)
	}
	return r.estimate
}
