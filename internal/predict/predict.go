package predict

import (
	"errors"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/workload"
)

// Settings choose the form of the model (spec 4).
type Settings struct {
	Closed     bool    // one job's timeline and as many equal copies as there are jobs; else all jobs on one timeline
	Aggregate  bool    // one centre of each kind for the cluster; else one for each node
	ByKind     bool    // tasks of one job and kind share their mean time after each sweep
	ByTree     bool    // overlaps from the precedence tree; else from the timeline
	Binary     bool    // the fork/join estimator goes down a binary tree
	Tripathi   bool    // the estimate is Tripathi's; else fork/join
	CV         float64 // of tasks' times: c of fork/join, cv of Tripathi
	Interleave bool    // reduces and maps take turns; else Hadoop's ramp-up
	SlowStart  float64 // mapreduce.job.reduce.slowstart.completedmaps
	RampLimit  float64 // yarn.app.mapreduce.am.job.reduce.rampup.limit
	Copiers    int     // of a reduce; 0: as many as maps

	Shared bool    // tasks slow each other down as they go along, in place of the queueing network and its estimators
	Draws  int     // where Shared: timelines with task times drawn by their variation, whose mean is the estimate
	Seed   uint64  // of the draws
	Error  float64 // where Shared: of the model itself, the standard deviation of ln(measured ÷ predicted)

	Epsilon       float64 // seconds that no task's time may change by any more
	MaxIterations int
	Window        int // iterations whose mean estimate is returned where there is no convergence
}

// Usual are the settings of the prediction that users get: tasks that share, and that vary.
func Usual() Settings {
	s := Fifo()
	s.Shared, s.Draws, s.Seed, s.Error = true, 200, 1, usualError
	return s
}

// usualError is what predictions of real jobs from one small run were off by, as the root mean square of ln(measured ÷
// predicted) (docs/reproduction/performance-model.md; a test of that page holds it).
const usualError = 0.15

// drawnTasks bounds the subtasks of all drawn timelines, so that a prediction for many tasks has fewer draws.
const drawnTasks = 8_000

// leastDraws are made for any number of tasks.
const leastDraws = 5

// Fifo are the settings of the preset fifo (spec 4): a queueing network, and tasks of a kind that do not vary.
func Fifo() Settings {
	return Settings{SlowStart: 0.05, RampLimit: 0.5, Copiers: 5, Epsilon: 1e-7, MaxIterations: 60, Window: 20}
}

// Thesis are the settings of the model as printed.
func Thesis() Settings {
	s := Fifo()
	s.Closed, s.Aggregate, s.ByKind, s.ByTree, s.Binary, s.Interleave = true, true, true, true, true, true
	s.CV, s.Copiers = 1, 0
	return s
}

// A Prediction is what comes out for a list of jobs.
type Prediction struct {
	Jobs        []JobPrediction // one for each job; of a closed model one for all
	Mean        float64         // response time over the jobs, in seconds
	Iterations  int
	Converged   bool
	Utilization [resources]float64 // of the busiest centre of each kind, 0 to 1 and beyond where the model overloads it
	Timeline    [][]Interval       // by job, in the order of its subtasks
	drawn       drawn              // mean response times
}

// Quantile returns the mean response time that the jobs have at most with probability q, in (0, 1); without drawn
// times, Mean.
func (p *Prediction) Quantile(q float64) float64 {
	if p.drawn.times == nil {
		return p.Mean
	}
	return p.drawn.quantile(q)
}

// drawn are times of drawn timelines, ascending, and the error that the model makes with each.
type drawn struct {
	times []float64
	error float64 // standard deviation of the logarithm
}

// quantile returns the time that is not exceeded with probability p.
func (d *drawn) quantile(p float64) float64 {
	if n := len(d.times); d.error == 0 || d.times[n-1] == 0 {
		return d.times[min(int(p*float64(n)), n-1)]
	}
	below := func(t float64) (q float64) {
		for _, x := range d.times {
			if x <= 0 {
				q += 1 / float64(len(d.times))
				continue
			}
			q += 0.5 * math.Erfc(-math.Log(t/x)/d.error/math.Sqrt2) / float64(len(d.times))
		}
		return q
	}
	low, high := 0.0, 2*d.times[len(d.times)-1]
	for below(high) < p {
		high *= 2
	}
	for range 60 {
		if middle := (low + high) / 2; below(middle) < p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// Bottleneck returns the kind of the busiest centre.
func (p *Prediction) Bottleneck() Resource {
	most := CPU
	for z := range resources {
		if p.Utilization[z] > p.Utilization[most] {
			most = z
		}
	}
	return most
}

// A JobPrediction is what comes out for one job. Times are in seconds.
type JobPrediction struct {
	Response float64        // from submission to the end
	Wait     float64        // of Response, until the first task starts
	Launched float64        // of Wait, until the master has started
	Tasks    [kinds]float64 // mean time of each kind of subtask
	Service  [kinds]float64 // of it, without any queueing
	Tree     string         // precedence tree, as S(P(m1, m2), ...): m maps, ss shuffle-sorts, mg merges
	spread   Moments        // of the time from the first task on
	drawn    drawn
}

// Quantile returns the time that the job takes at most with probability p, in (0, 1): of the drawn times, or of the
// law that follows from the variation of the job's tasks, with Response as its mean.
func (j *JobPrediction) Quantile(p float64) float64 {
	if j.drawn.times != nil {
		return j.drawn.quantile(p)
	}
	if j.spread.Mean <= 0 {
		return j.Response
	}
	return j.Wait + (j.Response-j.Wait)*j.spread.Quantile(p)/j.spread.Mean
}

// Predict computes the response times of jobs that share a cluster, first come first served. Errors say which node or
// job is invalid; ErrUnschedulable is among them.
func Predict(c Cluster, jobs []Job, s Settings) (*Prediction, error) {
	if err := check(&c, jobs); err != nil {
		return nil, err
	}
	if s.MaxIterations < 1 || s.Window < 1 || s.Epsilon < 0 {
		return nil, errors.New("iterations and window must be at least 1, epsilon not negative")
	}
	copies := 1
	if s.Closed {
		copies, jobs = len(jobs), jobs[:1]
	}
	m := newModel(&c, jobs, s)
	m.copies = copies
	if s.Shared {
		return m.share(), nil
	}
	return m.solve(), nil
}

// model is the state of one prediction.
type model struct {
	set Settings
	layout
	jobs   []Job
	copies int   // of a closed model: equal jobs in the network
	offset []int // of each job's first subtask among the customers
	customers
	lines [][]Interval
}

func newModel(c *Cluster, jobs []Job, s Settings) *model {
	m := &model{set: s, layout: layout{c, s.Aggregate}, jobs: jobs}
	for i := range jobs {
		j := &jobs[i]
		m.offset = append(m.offset, len(m.demand))
		for task := range j.tasks() {
			kind := j.kind(task)
			m.demand = append(m.demand, j.Demands[kind])
			first := j.Initial[kind]
			if first == 0 {
				first = j.Demands[kind].Total()
			}
			m.response = append(m.response, first)
		}
	}
	n := len(m.demand)
	m.queueing, m.delay = make([]Cost, n), make([]float64, n)
	m.residence, m.presence, m.interval = make([]Cost, n), make([]Cost, n), make([]Interval, n)
	return m
}

// solve iterates: timeline, overlaps, one sweep of the network, until no task's time changes (spec 5 to 11).
func (m *model) solve() *Prediction {
	p := &Prediction{}
	window := make([][]float64, 0, m.set.Window) // estimates of the last iterations
	for first := true; p.Iterations < m.set.MaxIterations && !p.Converged; first = false {
		p.Iterations++
		m.lay()
		if first {
			m.begin()
		}
		var trees []*node
		last := p.Iterations > m.set.MaxIterations-m.set.Window
		if m.set.Closed || last {
			trees = m.trees()
			window = append(window, m.estimates(trees))
			if len(window) > m.set.Window {
				window = window[1:]
			}
		}
		var next []Cost
		if m.set.Closed {
			next = m.sweepClosed(m.copies, m.within(trees[0]), window[len(window)-1][0])
		} else {
			next = m.sweepTimeline(m.layout)
		}
		p.Converged = m.replace(next) <= m.set.Epsilon
	}
	m.lay()
	trees := m.trees()
	estimates := m.estimates(trees)
	if !p.Converged {
		average(estimates, window)
	}
	m.describe(p, trees, estimates)
	return p
}

// average replaces values by the means of earlier ones.
func average(values []float64, past [][]float64) {
	clear(values)
	for _, p := range past {
		for i, x := range p {
			values[i] += x / float64(len(past))
		}
	}
}

// share lays the timeline out once, with tasks that share.
func (m *model) share() *Prediction {
	p := &Prediction{Iterations: 1, Converged: true}
	lines, courses := sharedTimeline(m.cluster, m.jobs, nil, m.ramp())
	m.lines = lines
	times := make([]float64, len(courses))
	for i, line := range lines {
		copy(m.interval[m.offset[i]:], line)
		times[i] = courses[i].end - m.jobs[i].Submit
	}
	for i, iv := range m.interval {
		m.response[i] = iv.End - iv.Start
		m.split(i, m.serversOn(iv.Node))
	}
	m.describe(p, m.trees(), times)
	for i := range p.Jobs {
		p.Jobs[i].Launched = courses[i].launched - m.jobs[i].Submit
	}
	m.draw(p)
	return p
}

// draw replaces the estimates by those of timelines in which each task's time is drawn: lognormal, with the mean that
// was found and the variation of its job. An estimator knows the largest of parallel tasks only by a formula; a drawn
// timeline also knows which task waits for which container. It costs a timeline a draw.
func (m *model) draw(p *Prediction) {
	factors := make([][]float64, len(m.jobs))
	sigma := make([]float64, len(m.jobs))
	draws := 1
	for i := range m.jobs {
		factors[i] = make([]float64, m.jobs[i].tasks()+1)
		if cv := m.jobs[i].CV; cv > 0 {
			sigma[i] = math.Sqrt(math.Log1p(cv * cv))
			draws = min(max(1, m.set.Draws), max(leastDraws, drawnTasks/max(1, len(m.demand))))
		}
	}
	times := make([][]float64, len(m.jobs)+1) // of jobs, and their mean
	for d := range draws {
		for i, list := range factors {
			chance := workload.NewChance(m.set.Seed).With(uint64(d)).With(uint64(i))
			for task := range list {
				n := chance.With(uint64(task)).Normal()
				list[task] = math.Exp(sigma[i]*n - sigma[i]*sigma[i]/2)
			}
		}
		mean := 0.0
		_, courses := sharedTimeline(m.cluster, m.jobs, factors, m.ramp())
		for i, c := range courses {
			t := c.end - m.jobs[i].Submit
			times[i] = append(times[i], t)
			mean += t / float64(len(m.jobs))
		}
		times[len(m.jobs)] = append(times[len(m.jobs)], mean)
	}
	for i := range p.Jobs {
		p.Jobs[i].Response = sum(times[i]) / float64(draws)
		slices.Sort(times[i])
		p.Jobs[i].drawn = drawn{times[i], m.set.Error}
	}
	all := times[len(m.jobs)]
	p.Mean = sum(all) / float64(draws)
	slices.Sort(all)
	p.drawn = drawn{all, m.set.Error}
}

// ramp returns how early reduces may hold containers, by the settings.
func (m *model) ramp() ramp {
	return ramp{m.set.Interleave, m.set.SlowStart, m.set.RampLimit, m.set.Copiers}
}

// lay lays the timeline out anew, and splits each task's demand by the servers of the node where it now runs.
func (m *model) lay() {
	response := make([][]float64, len(m.jobs))
	for i := range m.jobs {
		response[i] = m.response[m.offset[i]:][:m.jobs[i].tasks()]
	}
	m.lines = timeline(m.cluster, m.jobs, response, m.ramp())
	nodes := make([][resources]float64, len(m.cluster.Nodes))
	for node := range nodes {
		nodes[node] = m.serversOn(node)
	}
	for i, line := range m.lines {
		copy(m.interval[m.offset[i]:], line)
	}
	for i := range m.interval {
		m.split(i, nodes[max(0, m.interval[i].Node)])
	}
}

// begin divides the first response times among the centres: R·S ÷ (delay + ΣS) at each (spec 5.1).
func (m *model) begin() {
	for i, r := range m.response {
		if whole := m.delay[i] + m.queueing[i].Total(); whole > 0 {
			m.residence[i] = m.queueing[i].times(r / whole)
		}
		m.response[i] = m.delay[i] + m.residence[i].Total()
	}
}

// replace puts new residence times in the place of the old ones, and returns the largest change of a task's time.
func (m *model) replace(next []Cost) (change float64) {
	if m.set.ByKind {
		m.average(next)
	}
	for i, r := range next {
		response := m.delay[i] + r.Total()
		change = max(change, math.Abs(response-m.response[i]))
		m.residence[i], m.response[i] = r, response
	}
	return change
}

// average gives all tasks of one job and kind their mean residence times.
func (m *model) average(next []Cost) {
	for i := range m.jobs {
		j := &m.jobs[i]
		ends := [kinds]int{j.Maps, j.Maps + j.Maps*j.Reduces, j.tasks()}
		from := 0
		for _, to := range ends {
			var mean Cost
			part := next[m.offset[i]+from : m.offset[i]+to]
			for _, r := range part {
				mean = mean.plus(r)
			}
			for k := range part {
				part[k] = mean.times(1 / float64(len(part)))
			}
			from = to
		}
	}
}

// trees returns the precedence tree of each job.
func (m *model) trees() []*node {
	list := make([]*node, len(m.lines))
	for i, line := range m.lines {
		list[i] = tree(line)
	}
	return list
}

// within returns the overlaps of the tasks of the closed model's job.
func (m *model) within(root *node) [][]overlap {
	if root == nil {
		return make([][]overlap, len(m.response))
	}
	if m.set.ByTree {
		return treeOverlaps(root.binary(), m.response, m.treeCV())
	}
	pairs := make([][]overlap, len(m.response))
	all := make([]int, 0, len(pairs))
	for i, iv := range m.interval {
		if iv.End > iv.Start {
			all = append(all, i)
		}
	}
	m.pairs(all, func(i, j int, meets meeting) { pairs[i] = append(pairs[i], overlap{j, meets.weight}) })
	return pairs
}

// treeCV is the variation of tasks in the tree's overlaps, which always come from Tripathi's moments.
func (m *model) treeCV() float64 {
	if m.set.CV > 0 {
		return m.set.CV
	}
	return 1
}

// estimates returns each job's response time by the chosen estimator: the wait for its first task, and its tree.
func (m *model) estimates(trees []*node) []float64 {
	list := make([]float64, len(trees))
	for i, root := range trees {
		if root == nil {
			list[i] = m.wait(i)
			continue
		}
		response := m.response[m.offset[i]:][:m.jobs[i].tasks()]
		switch {
		case m.set.Tripathi:
			list[i] = root.binary().moments(response, m.set.CV, nil).Mean
		case m.set.Binary:
			list[i], _ = root.binary().forkJoin(response, m.set.CV)
		default:
			list[i], _ = root.forkJoin(response, m.set.CV)
		}
		list[i] += m.wait(i) + m.jobs[i].Commit
	}
	return list
}

// wait returns how long job i waits for its first task. Tasks that take no time count only in a job of no others, as
// the tree leaves them out.
func (m *model) wait(i int) float64 {
	first, idle := math.Inf(1), math.Inf(1)
	for _, iv := range m.lines[i] {
		if iv.End > iv.Start {
			first = min(first, iv.Start)
		}
		idle = min(idle, iv.Start)
	}
	switch {
	case !math.IsInf(first, 1):
		return first - m.jobs[i].Submit
	case !math.IsInf(idle, 1):
		return idle - m.jobs[i].Submit
	}
	return 0
}

// describe fills in a prediction from the timeline, the trees and the estimates of the jobs' times.
func (m *model) describe(p *Prediction, trees []*node, estimates []float64) {
	p.Timeline = m.lines
	horizon := 0.0
	for i := range m.jobs {
		j := &m.jobs[i]
		job := JobPrediction{Response: estimates[i], Wait: m.wait(i)}
		response := m.response[m.offset[i]:][:j.tasks()]
		for task, r := range response {
			job.Tasks[j.kind(task)] += r
			job.Service[j.kind(task)] += j.Demands[j.kind(task)].Total()
			horizon = max(horizon, m.lines[i][task].End)
		}
		for k, n := range [kinds]int{j.Maps, j.Maps * j.Reduces, j.Reduces} {
			job.Tasks[k] /= float64(max(1, n))
			job.Service[k] /= float64(max(1, n))
		}
		if trees[i] != nil {
			if j.CV > 0 && !m.set.Shared {
				job.spread = trees[i].binary().moments(response, j.CV, nil)
			}
			job.Tree = trees[i].text(j)
		}
		p.Jobs = append(p.Jobs, job)
		p.Mean += estimates[i] / float64(len(m.jobs))
	}
	rate := 0.0 // of jobs, or of all jobs at once
	if m.set.Closed && estimates[0] > 0 {
		rate = float64(m.copies) / estimates[0]
	} else if horizon > 0 {
		rate = 1 / horizon
	}
	busy := map[[2]int]float64{}
	for i, s := range m.queueing {
		for z, x := range s {
			at := [2]int{z, m.interval[i].Node}
			if m.aggregate || m.cluster.OneMachine || Resource(z) == Net {
				at[1] = 0
			}
			busy[at] += rate * x
			p.Utilization[z] = max(p.Utilization[z], busy[at])
		}
	}
}
