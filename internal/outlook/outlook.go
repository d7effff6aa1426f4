// Package outlook says when a job of a running cluster is expected to start and to end.
package outlook

import (
	"cmp"
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// A Span is an expected time in seconds from now: the median, and the limits between which nine of ten draws lie.
type Span struct {
	Low    float64 `json:"p5_s"`
	Median float64 `json:"p50_s"`
	High   float64 `json:"p95_s"`
}

// An Outlook says when a job is expected to start and to end.
type Outlook struct {
	Start   *Span  `json:"start,omitempty"`   // nil: it has started, or nothing is known
	End     *Span  `json:"end,omitempty"`     // nil: nothing is known
	Unknown string `json:"unknown,omitempty"` // why
}

// Order returns a stage's place in the policy's order now, and whether it has one.
type Order func(*sched.Stage) (sched.Key, bool)

const (
	draws     = 40
	mostTasks = 100_000 // of all jobs: a draw lays each out

	// Estimates of task times are off as a whole. Standard deviations of the logarithm: of a guess without any spread,
	// and of what is left where tasks of the stage itself were seen, to which the error of their mean comes.
	guessError, leastError = 0.5, 0.1
	guessSpread            = 0.5 // of task times around their mean, where none was seen
)

// A Look is a copy of the work that is left of all jobs at an instant. It stays valid while the view changes.
type Look struct {
	works []*work // in order
	free  sched.Resources
	begun map[sched.JobID]bool // of the unfinished jobs, whether a task has started
	why   string               // nothing can be said; "": it can
}

// Of predicts the start and the end of a job. It simulates the remaining tasks of all jobs in the present order of the
// policy, as often as draws says, with task times drawn around the estimates. It treats the free room of all nodes as
// one node, knows no jobs that come later, and assumes that the order does not change.
func (l *Look) Of(job sched.JobID) Outlook {
	begun, unfinished := l.begun[job]
	switch {
	case !unfinished:
		return Outlook{Unknown: "it is over"}
	case l.why != "":
		return Outlook{Unknown: l.why}
	case !slices.ContainsFunc(l.works, func(w *work) bool { return w.job == job }):
		return Outlook{Unknown: "its ApplicationMaster has not asked for tasks"}
	}
	var starts, ends []float64
	for d := range draws {
		begun, ended := l.draw(rand.New(rand.NewPCG(uint64(job), uint64(d))), job)
		if math.IsInf(ended, 1) {
			return Outlook{Unknown: "the cluster has no room for what is left of it"}
		}
		starts, ends = append(starts, begun), append(ends, ended)
	}
	o := Outlook{End: span(ends)}
	if !begun {
		o.Start = span(starts)
	}
	return o
}

func span(list []float64) *Span {
	slices.Sort(list)
	n := len(list)
	return &Span{Low: list[n/20], Median: list[n/2], High: list[n-1-n/20]}
}

// A work is what is left of a stage.
type work struct {
	job         sched.JobID
	key         sched.Key
	placed      bool // it has a key
	waiting     int
	total, done int
	mean, sd    float64 // of a task, in seconds
	off         float64 // of the mean, as the standard deviation of its logarithm
	needs       sched.Resources
	ran         []float64 // of its running attempts
	holds       []sched.Resources
	after       []*work // by its dependencies
	parts       []float64
}

// At collects what is left, in a policy's order.
func At(v *sched.View, order Order) *Look {
	l := &Look{begun: map[sched.JobID]bool{}}
	for _, n := range v.Nodes {
		if !n.Lost {
			for k, x := range n.Free() {
				l.free[k] += max(0, x)
			}
		}
	}
	tasks := 0
	for j := range v.Jobs() {
		if j.Ended {
			continue
		}
		l.begun[j.ID] = false
		var own []*work
		for _, st := range j.Stages {
			w := l.stage(v, st, own)
			own = append(own, w)
			if st.Kind == sched.Master {
				continue
			}
			if st.Running+st.Done+st.Suspended > 0 {
				l.begun[j.ID] = true
			}
			if w.waiting+len(w.ran) == 0 {
				continue
			}
			tasks += w.waiting + len(w.ran)
			if w.mean <= 0 {
				l.why = "no task like those of " + st.Kind.String() + " stages has ended yet"
			}
			w.key, w.placed = order(st)
			l.works = append(l.works, w)
		}
	}
	if tasks > mostTasks {
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
	return l
}

// stage collects what is left of a stage; own are those before it.
func (l *Look) stage(v *sched.View, st *sched.Stage, own []*work) *work {
	w := &work{job: st.ID.Job, needs: st.Spec.PerTask, total: int(st.Total), done: int(st.Done),
		waiting: int(st.Pending)}
	if st.Total >= 0 {
		w.waiting = int(st.Total - st.Done - st.Running - st.Suspended)
	}
	w.waiting = max(0, w.waiting)
	for _, dep := range st.Spec.After {
		if int(dep.Stage) < len(own) {
			w.after, w.parts = append(w.after, own[dep.Stage]), append(w.parts, dep.Part)
		}
	}
	for a := range v.Attempts(st) {
		w.ran = append(w.ran, v.Ran(a, v.Now).Seconds())
		w.holds = append(w.holds, v.Amount(a.Holds))
	}
	e := v.Estimate(st, 0)
	if w.mean, w.sd = e.Mean.Seconds(), e.StdDev.Seconds(); w.mean <= 0 {
		return w
	}
	switch {
	case st.Done > 0 && e.Samples > 0:
		w.off = leastError + w.sd/w.mean/math.Sqrt(float64(min(e.Samples, int(st.Done))))
	case w.sd > 0: // of other jobs' tasks: this job may be any of them
		w.off = math.Sqrt(math.Log1p(w.sd * w.sd / (w.mean * w.mean)))
	default:
		w.off = guessError
	}
	return w
}

// A leave is the end of a task.
type leave struct {
	at   float64
	turn int
	of   *work
	held sched.Resources
}

type leaves []leave

func (l leaves) Len() int { return len(l) }
func (l leaves) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(l[i].at, l[j].at), l[i].turn-l[j].turn) < 0
}
func (l leaves) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *leaves) Push(x any)   { *l = append(*l, x.(leave)) }
func (l *leaves) Pop() any {
	last := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return last
}

// draw lays the rest out once, and returns when a job's first task starts and its last one ends.
func (l *Look) draw(r *rand.Rand, job sched.JobID) (begun, ended float64) {
	left, done := map[*work]int{}, map[*work]int{}
	scale := map[*work]float64{}
	var queue leaves
	push := func(w *work, at float64, held sched.Resources) {
		heap.Push(&queue, leave{at, len(queue), w, held})
	}
	open := 0
	for _, w := range l.works {
		left[w], done[w] = w.waiting, w.done
		scale[w] = math.Exp(w.off * r.NormFloat64())
		for i, ran := range w.ran {
			push(w, w.rest(r, scale[w], ran), w.holds[i])
		}
		if w.job == job {
			open += w.waiting + len(w.ran)
		}
	}
	begun, ended = math.Inf(1), math.Inf(1)
	free := l.free
	for now := 0.0; ; {
		for _, w := range l.works {
			for left[w] > 0 && w.ready(done) && fits(w.needs, free) {
				left[w]--
				free = free.Sub(w.needs)
				push(w, now+w.rest(r, scale[w], 0), w.needs)
				if w.job == job {
					begun = min(begun, now)
				}
			}
		}
		if len(queue) == 0 {
			return begun, ended
		}
		next := heap.Pop(&queue).(leave)
		now = next.at
		free = free.Add(next.held)
		done[next.of]++
		if next.of.job == job {
			if open--; open == 0 {
				return begun, now
			}
		}
	}
}

// rest returns how long a task that has run for some time runs on: it is drawn from the times beyond that one.
func (w *work) rest(r *rand.Rand, scale, ran float64) float64 {
	spread := guessSpread
	if w.sd > 0 {
		spread = w.sd / w.mean
	}
	sigma := math.Sqrt(math.Log1p(spread * spread))
	const tries = 8
	for range tries {
		if t := scale * w.mean * math.Exp(sigma*r.NormFloat64()-sigma*sigma/2); t > ran {
			return t - ran
		}
	}
	return sigma * w.mean // it is late, and how late is not known
}

// ready reports whether the stages that w comes after are far enough.
func (w *work) ready(done map[*work]int) bool {
	for i, a := range w.after {
		n, left := done[a]
		if !left {
			n = a.done
		}
		if a.total > 0 && float64(n) < w.parts[i]*float64(a.total) {
			return false
		}
	}
	return true
}

func fits(needs, free sched.Resources) bool {
	for k, x := range needs {
		if x > free[k] {
			return false
		}
	}
	return true
}
