// Package outlook says when a job of a running cluster is expected to start and to end. It copies the work that is left
// (outlook.go), takes task times to follow laws around the estimates (work.go), and draws timelines of that work on the
// cluster (timeline.go).
package outlook

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/sojourn-sched/sojourn/sched"
)

// A Span is an expected time in seconds from now: the median, and the limits between which nine of ten draws lie.
type Span struct {
	Low    float64 `json:"p5_s"`  // the lower limit
	Median float64 `json:"p50_s"` // as many draws are shorter as are longer
	High   float64 `json:"p95_s"` // the upper limit
}

// An Outlook says when a job is expected to start and to end.
type Outlook struct {
	Start   *Span  `json:"start,omitempty"`   // of the first task; nil: it has started, or nothing is known
	End     *Span  `json:"end,omitempty"`     // of the job; nil: nothing is known
	Unknown string `json:"unknown,omitempty"` // why nothing is known
}

// Order returns a stage's place in the policy's order now, and whether it has one.
type Order func(*sched.Stage) (sched.Key, bool)

// OrderOf returns the present order of a policy: a policy that cannot tell places no stage, and jobs come in the order
// of their submission.
func OrderOf(p sched.Policy, v *sched.View) Order {
	if r, ok := p.(interface {
		Position(*sched.View, *sched.Stage) (sched.Key, bool)
	}); ok {
		return func(st *sched.Stage) (sched.Key, bool) { return r.Position(v, st) }
	}
	return func(*sched.Stage) (sched.Key, bool) { return sched.Key{}, false }
}

// draws says how many timelines are drawn, by the number of tasks: the first entry with at least as many tasks counts.
// The limits of a Span are order statistics between which nine of ten further draws lie: the fifth from either end of
// 99, the second of 39, the ends of 19.
var draws = [...]struct{ tasks, timelines int }{{2_000, 99}, {20_000, 39}, {mostTasks, 19}}

const mostTasks = 100_000 // of all jobs: a timeline lays each out

// A Look is a copy of the work that is left of all jobs at an instant. It stays valid while the view changes, and
// several goroutines may ask it.
type Look struct {
	works []*work // in order
	free  sched.Resources
	begun map[sched.JobID]bool // of the unfinished jobs, whether a task has started
	why   string               // nothing can be said; "": it can
	tasks int

	once sync.Once
	laid map[sched.JobID]*times
}

// times are when a job started and ended in each draw, in seconds from now; infinite: it did not.
type times struct{ starts, ends []float64 }

// Has reports whether a job was submitted and unfinished at the instant of the look.
func (l *Look) Has(job sched.JobID) bool {
	_, ok := l.begun[job]
	return ok
}

// Of predicts the start and the end of a job. It simulates the remaining tasks of all jobs in the present order of the
// policy, 19 to 99 times, with task times drawn around the estimates. It treats the free room of all nodes as one node,
// knows no jobs that come later, and assumes that the order does not change. The first call lays out all jobs, and
// takes milliseconds to some seconds; later calls take no time.
func (l *Look) Of(job sched.JobID) Outlook {
	switch {
	case !l.Has(job):
		return Outlook{Unknown: "it is over"}
	case l.why != "":
		return Outlook{Unknown: l.why}
	}
	l.once.Do(l.lay)
	at := l.laid[job]
	switch {
	case at == nil:
		return Outlook{Unknown: "its ApplicationMaster has not asked for tasks"}
	case math.IsInf(slices.Max(at.ends), 1):
		return Outlook{Unknown: "the cluster has no room for what is left of it"}
	}
	o := Outlook{End: span(at.ends)}
	if !l.begun[job] {
		o.Start = span(at.starts)
	}
	return o
}

// Tasks returns how many tasks are left of all jobs.
func (l *Look) Tasks() int { return l.tasks }

// Lay lays out all jobs, unless that was done, so that Of takes no time from then on. It takes seconds where 100,000
// tasks are left.
func (l *Look) Lay() {
	if l.why == "" {
		l.once.Do(l.lay)
	}
}

// lay draws the timelines of all jobs.
func (l *Look) lay() {
	l.laid = map[sched.JobID]*times{}
	for _, w := range l.works {
		l.laid[w.job] = &times{}
	}
	n := 0
	for _, d := range draws {
		if n = d.timelines; l.tasks <= d.tasks {
			break
		}
	}
	for _, w := range l.works {
		w.strata = rand.New(rand.NewPCG(uint64(w.job), uint64(w.place))).Perm(n)
	}
	for d := range n {
		newTimeline(l, d).run()
	}
	for _, t := range l.laid {
		slices.Sort(t.starts)
		slices.Sort(t.ends)
	}
}

// span returns the median of sorted draws, and the limits that nine of ten further draws are expected to lie between.
func span(list []float64) *Span {
	n := len(list)
	edge := (n+1)/20 - 1
	return &Span{Low: list[edge], Median: list[n/2], High: list[n-1-edge]}
}

// At collects what is left of all jobs now, in a policy's order. O(tasks that run, and stages).
func At(v *sched.View, order Order) *Look {
	l := &Look{begun: map[sched.JobID]bool{}}
	for _, n := range v.Nodes {
		if !n.Lost {
			for k, x := range n.Free() {
				l.free[k] += max(0, x)
			}
		}
	}
	for j := range v.Jobs() {
		if j.Ended {
			continue
		}
		l.begun[j.ID] = false
		var own []*work
		for _, st := range j.Stages {
			w := newWork(v, st, own)
			own = append(own, w)
			if st.Kind == sched.Master {
				continue
			}
			if st.Running+st.Done+st.Suspended > 0 {
				l.begun[j.ID] = true
			}
			if w.open() == 0 {
				continue
			}
			l.tasks += w.open()
			if w.mean <= 0 {
				l.why = "no task like those of " + st.Kind.String() + " stages has ended yet"
			}
			w.key, w.placed = order(st)
			l.works = append(l.works, w)
		}
	}
	if l.tasks > mostTasks {
		l.why = "too many tasks wait"
	}
	slices.SortStableFunc(l.works, func(a, b *work) int {
		switch {
		case a.placed && b.placed:
			return cmp.Or(a.key.Compare(b.key), int(a.job-b.job))
		case a.placed:
			return -1
		case b.placed:
			return 1
		}
		return int(a.job - b.job)
	})
	for i, w := range l.works {
		w.place = i
	}
	return l
}
