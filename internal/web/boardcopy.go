package web

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// A boardCopy is an immutable copy of a board, without attempts and stages: answers read these from the board itself.
type boardCopy struct {
	about   About
	version int64
	now     sched.Time
	over    string
	made    time.Time
	jobs    []jobRow // in order of submission; their stages belong to the board and must not be read
	nodes   []nodeRow
	queues  []queueRow
	unshown int // queues beyond those that a board keeps
	cluster clusterCopy
	owed    curvesCopy
	// attempts counts launches since the run began.
	attempts int64
	ends     foresight

	viewer string                 // the user who may not see all jobs' names; "": no names are hidden
	may    func(sched.JobID) bool // whether the viewer may look at a job; nil: every user may look at all jobs

	sorting sync.Mutex         // guards orders
	orders  map[string][]int32 // by name of the column: the indexes of jobs, ascending by that column
}

// A clusterCopy has the figures of the whole cluster: now, and their curves over time.
type clusterCopy struct {
	used, capacity sched.Resources
	counts         liveCounts
	curvesCopy
}

// A curvesCopy has averages over bins of time. All bins have one width, in seconds.
type curvesCopy struct {
	width  float64
	values [][]float64
}

// at returns the value of a curve in the bin of instant t.
func (c *curvesCopy) at(curve []float64, t sched.Time) float64 {
	if len(curve) == 0 || c.width == 0 {
		return 0
	}
	return curve[min(len(curve)-1, int(t.Seconds()/c.width))]
}

// mean returns the average of a curve from the beginning of the run until now.
func (c *curvesCopy) mean(curve []float64, now sched.Time) float64 {
	if now <= 0 {
		return 0
	}
	var sum float64
	for i, v := range curve {
		sum += v * max(0, min(c.width, now.Seconds()-float64(i)*c.width))
	}
	return sum / now.Seconds()
}

// copyOf returns a copy of a timeline's averages. Without a timeline it has no curves.
func copyOf(t *timeline) curvesCopy {
	if t == nil {
		return curvesCopy{}
	}
	c := curvesCopy{width: t.width.Seconds()}
	for i := range t.curves {
		c.values = append(c.values, t.averages(i))
	}
	return c
}

// freshness is the greatest age of an answer about a live run.
const freshness = time.Second

// latest returns a copy of the board that is at most freshness old.
func (b *Board) latest() *boardCopy {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ends.asked = true
	if s := b.last; s != nil && (s.version == b.version || b.over == "" && time.Since(s.made) < freshness) {
		return s
	}
	s := &boardCopy{
		about: b.about, version: b.version, now: b.now, over: b.over, made: time.Now(),
		jobs: slices.Clone(b.jobs), nodes: slices.Clone(b.nodes), queues: slices.Clone(b.queues.rows),
		orders: map[string][]int32{},
	}
	s.cluster.counts, s.attempts, s.ends, s.unshown = b.counts, b.log.next, b.ends, b.queues.left
	for k := range sched.NumResources { // the view belongs to the engine, which may be in a Step
		s.cluster.capacity[k] = int64(b.line.curves[curveCapacity+k].now)
		s.cluster.used[k] = int64(b.line.curves[curveUsed+k].now)
	}
	uses := make([]jobUse, 0, b.counts.jobs)
	for i := range s.jobs {
		if r := &s.jobs[i]; r.end < 0 && r.use != nil {
			uses = append(uses, *r.use)
			r.use = &uses[len(uses)-1]
		}
	}
	s.cluster.curvesCopy, s.owed = copyOf(b.line), copyOf(b.queues.line)
	b.last = s
	return s
}

// state returns the state of a job, one of jobStates.
func (r *jobRow) state() string {
	switch {
	case r.end >= 0 && r.outcome == sched.OK:
		return "done"
	case r.end >= 0:
		return r.outcome.String()
	case r.first < 0:
		return "waiting"
	case r.running == 0:
		return "stalled"
	default:
		return "running"
	}
}

// jobStates are the values of the filter by state. "unfinished" stands for waiting, stalled and running.
var jobStates = []string{"waiting", "stalled", "running", "done", "failed", "killed", "unfinished"}

// sojourn returns the time from the submission to the end, or to now if the job has not ended.
func (r *jobRow) sojourn(now sched.Time) sched.Time {
	if r.end >= 0 {
		now = r.end
	}
	return now - r.submit
}

// wait returns the time from the submission to the first launch. Without a launch, it is the time to the job's end, or
// to now if the job has not ended.
func (r *jobRow) wait(now sched.Time) sched.Time {
	switch {
	case r.first >= 0:
		now = r.first
	case r.end >= 0:
		now = r.end
	}
	return now - r.submit
}

// late returns by how much a job ended after its deadline, or is past it now, negative if it is not; a job without a
// deadline is never late.
func (r *jobRow) late(now sched.Time) sched.Time {
	if r.deadline == 0 {
		return math.MinInt64
	}
	return r.sojourn(now) - r.deadline
}

// idled returns how long nothing of a job has run, from its submission to its end or to now.
func (r *jobRow) idled(now sched.Time) sched.Time {
	switch {
	case r.running > 0:
		return r.idle
	case r.end >= 0:
		now = r.end
	}
	return r.idle + now - r.idleSince
}

// jobColumns are the columns that jobs can be sorted by. Jobs that are equal stand in order of submission.
var jobColumns = map[string]func(now sched.Time, a, b *jobRow) int{
	"job":      func(_ sched.Time, a, b *jobRow) int { return cmp.Compare(a.id, b.id) },
	"name":     func(_ sched.Time, a, b *jobRow) int { return cmp.Compare(a.name, b.name) },
	"user":     func(_ sched.Time, a, b *jobRow) int { return cmp.Compare(a.user, b.user) },
	"queue":    func(_ sched.Time, a, b *jobRow) int { return cmp.Compare(a.queue, b.queue) },
	"state":    func(_ sched.Time, a, b *jobRow) int { return cmp.Compare(a.state(), b.state()) },
	"submit":   func(_ sched.Time, a, b *jobRow) int { return cmp.Compare(a.submit, b.submit) },
	"sojourn":  func(now sched.Time, a, b *jobRow) int { return cmp.Compare(a.sojourn(now), b.sojourn(now)) },
	"wait":     func(now sched.Time, a, b *jobRow) int { return cmp.Compare(a.wait(now), b.wait(now)) },
	"tasks":    func(_ sched.Time, a, b *jobRow) int { return cmp.Compare(a.total, b.total) },
	"running":  func(_ sched.Time, a, b *jobRow) int { return cmp.Compare(a.running, b.running) },
	"size":     func(_ sched.Time, a, b *jobRow) int { return cmp.Compare(a.measure(), b.measure()) },
	"slowdown": func(_ sched.Time, a, b *jobRow) int { return cmp.Compare(a.slowdown, b.slowdown) },
	"idle":     func(now sched.Time, a, b *jobRow) int { return cmp.Compare(a.idled(now), b.idled(now)) },
	"failed":   func(_ sched.Time, a, b *jobRow) int { return cmp.Compare(a.failed, b.failed) },
	"late":     func(now sched.Time, a, b *jobRow) int { return cmp.Compare(a.late(now), b.late(now)) },
	"priority": func(_ sched.Time, a, b *jobRow) int { return cmp.Compare(a.priority, b.priority) },
}

// measure returns the service that an ended job received, or the estimated size of another job. Both are in seconds of
// the whole cluster.
func (r *jobRow) measure() float64 {
	if r.end >= 0 {
		return r.service
	}
	return r.size
}

// order returns the indexes of all jobs, ascending by a column. It sorts once for each copy and column.
func (s *boardCopy) order(column string) []int32 {
	s.sorting.Lock()
	defer s.sorting.Unlock()
	if o, ok := s.orders[column]; ok {
		return o
	}
	o := make([]int32, len(s.jobs))
	for i := range o {
		o[i] = int32(i)
	}
	by := jobColumns[column]
	slices.SortStableFunc(o, func(x, y int32) int { return by(s.now, &s.jobs[x], &s.jobs[y]) })
	s.orders[column] = o
	return o
}

// A jobFilter says which jobs are asked for. An empty field does not restrict.
type jobFilter struct {
	text               string // a part of the name, the user or the queue, in lower case
	queue, user, state string
	there              bool // jobs that were there at an instant: submitted, and not ended
	at                 sched.Time
}

// has reports whether a job is asked for.
func (f *jobFilter) has(r *jobRow) bool {
	if f.queue != "" && r.queue != f.queue && !strings.HasPrefix(r.queue, f.queue+".") ||
		f.user != "" && r.user != f.user {
		return false
	}
	if f.state != "" && (f.state != "unfinished" || r.end >= 0) && r.state() != f.state {
		return false
	}
	if f.there && (r.submit > f.at || r.end >= 0 && r.end <= f.at) {
		return false
	}
	return f.text == "" || contains(r.name, f.text) || contains(r.user, f.text) || contains(r.queue, f.text)
}

// contains reports whether text contains part, which is in lower case, whatever the case of text's letters.
func contains(text, part string) bool {
	if strings.Contains(text, part) {
		return true
	}
	return strings.Contains(strings.ToLower(text), part)
}

// sojourns returns the sojourn times of the jobs that succeeded, and the waits of those among them that were launched.
// Both are in seconds, ascending.
func (s *boardCopy) sojourns() (sojourns, waits []float64) {
	for i := range s.jobs {
		r := &s.jobs[i]
		if r.end >= 0 && r.outcome == sched.OK {
			sojourns = append(sojourns, r.sojourn(s.now).Seconds())
			if r.first >= 0 {
				waits = append(waits, r.wait(s.now).Seconds())
			}
		}
	}
	slices.Sort(sojourns)
	slices.Sort(waits)
	return sojourns, waits
}
