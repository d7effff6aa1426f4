package web

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// A snapshot is an immutable copy of what a board knows, but for attempts and stages, which are asked of the board one
// job or one node at a time.
type snapshot struct {
	about   About
	version int64
	now     sched.Time
	over    string
	made    time.Time
	jobs    []jobRow // in order of submission; their stages are not to be read
	nodes   []nodeRow
	queues  []queueRow
	cluster clusterCopy
	owed    curvesCopy
	// attempts counts launches since the run began.
	attempts int64
	ends     foresight

	viewer string                 // the user that it is for, where something is hidden
	may    func(sched.JobID) bool // whether the user may look at a job; nil: every user may look at all

	sorting sync.Mutex
	orders  map[string][]int32 // of jobs, rising, by name of the column
}

// A clusterCopy is what holds of the whole cluster now, and over time.
type clusterCopy struct {
	used, capacity sched.Resources
	counts         liveCounts
	curvesCopy
}

// A curvesCopy is averages over time: of bins of one width, in seconds.
type curvesCopy struct {
	width  float64
	values [][]float64
}

// at returns the value of a curve in the bin of an instant.
func (c *curvesCopy) at(curve []float64, t sched.Time) float64 {
	if len(curve) == 0 || c.width == 0 {
		return 0
	}
	return curve[min(len(curve)-1, int(t.Seconds()/c.width))]
}

// mean returns the average of a curve from the beginning until now.
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

// freshness is how old an answer about a live run may be.
const freshness = time.Second

// snapshot returns a copy of the board that is at most freshness old.
func (b *Board) snapshot() *snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ends.asked = true
	if s := b.last; s != nil && (s.version == b.version || b.over == "" && time.Since(s.made) < freshness) {
		return s
	}
	s := &snapshot{
		about: b.about, version: b.version, now: b.now, over: b.over, made: time.Now(),
		jobs: slices.Clone(b.jobs), nodes: slices.Clone(b.nodes), queues: slices.Clone(b.queues.rows),
		orders: map[string][]int32{},
	}
	s.cluster.counts, s.attempts, s.ends = b.counts, b.log.next, b.ends
	if b.view != nil {
		s.cluster.capacity, s.cluster.used = b.view.Capacity, b.view.Queues[0].Used
	}
	s.cluster.curvesCopy, s.owed = copyOf(b.line), copyOf(b.queues.line)
	b.last = s
	return s
}

// state returns what a job does, in a word.
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

// jobStates are the values of the filter by state. "unfinished" is waiting, stalled or running.
var jobStates = []string{"waiting", "stalled", "running", "done", "failed", "killed", "unfinished"}

// sojourn returns the time from the submission to the end, or to now while there is none.
func (r *jobRow) sojourn(now sched.Time) sched.Time {
	if r.end >= 0 {
		now = r.end
	}
	return now - r.submit
}

// wait returns the time from the submission to the first launch, or to the end or now while there is none.
func (r *jobRow) wait(now sched.Time) sched.Time {
	switch {
	case r.first >= 0:
		now = r.first
	case r.end >= 0:
		now = r.end
	}
	return now - r.submit
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
	"priority": func(_ sched.Time, a, b *jobRow) int { return cmp.Compare(a.priority, b.priority) },
}

// measure returns the service that an ended job received, else its estimated size.
func (r *jobRow) measure() float64 {
	if r.end >= 0 {
		return r.service
	}
	return r.size
}

// order returns the places of all jobs in the order of a column. It sorts once a snapshot and column.
func (s *snapshot) order(column string) []int32 {
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

// A jobFilter says which jobs are asked for. What is empty does not restrict.
type jobFilter struct {
	text               string // a part of the name, the user or the queue, in lower case
	queue, user, state string
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
	return f.text == "" || contains(r.name, f.text) || contains(r.user, f.text) || contains(r.queue, f.text)
}

// contains reports whether a text has a part, without regard to the case of letters. The part is in lower case.
func contains(text, part string) bool {
	if strings.Contains(text, part) {
		return true
	}
	return strings.Contains(strings.ToLower(text), part)
}

// sojourns returns the sojourn times, in seconds and rising, of the jobs that succeeded, and the waits of those that
// were launched.
func (s *snapshot) sojourns() (sojourns, waits []float64) {
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
