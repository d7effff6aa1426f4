package outlook

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// A leave is the end of a task.
type leave struct {
	at   float64
	turn int // of equal times, the first launched ends first
	of   *work
	held sched.Resources
}

// leaves are a heap of ends to come, the earliest first.
type leaves []leave

func (l leaves) Len() int { return len(l) }
func (l leaves) Less(i, j int) bool {
	return l[i].at < l[j].at || l[i].at == l[j].at && l[i].turn < l[j].turn
}
func (l leaves) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *leaves) Push(x any)   { *l = append(*l, x.(leave)) }
func (l *leaves) Pop() any {
	last := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return last
}

// A timeline lays the rest of all jobs out once. It costs the tasks times their logarithm, and for each end of a task
// and each work that starts tasks then a look at each kind of need.
type timeline struct {
	*Look
	r      *rand.Rand
	now    float64
	free   sched.Resources
	queue  leaves
	turns  int
	states []progress // by place of the work
	needs  []need
	jobs   map[sched.JobID]*life
}

// A progress is how far a work has come.
type progress struct {
	left, done int
	factor     float64
	followers  []int // places of the works that depend on it
	begun      bool  // it is or was ready
	need       int   // its place among the needs
}

// A need is what tasks of some works hold.
type need struct {
	of    sched.Resources
	ready []int // places of works that have tasks to start and may start them, rising
}

// A life is when a job starts and ends, and how many of its tasks are left.
type life struct {
	start, end float64
	left       int
}

// newTimeline begins a draw, which is one of those that lay makes.
func newTimeline(l *Look, draw int) *timeline {
	r := rand.New(rand.NewPCG(uint64(draw), 1))
	t := &timeline{Look: l, r: r, free: l.free, states: make([]progress, len(l.works)), jobs: map[sched.JobID]*life{}}
	for i, w := range l.works {
		s := &t.states[i]
		s.left, s.done, s.factor = w.waiting, w.done, w.drawFactor(draw, r)
		s.need = slices.IndexFunc(t.needs, func(n need) bool { return n.of == w.needs })
		if s.need < 0 {
			s.need = len(t.needs)
			t.needs = append(t.needs, need{of: w.needs})
		}
		if t.jobs[w.job] == nil {
			t.jobs[w.job] = &life{math.Inf(1), math.Inf(1), 0}
		}
		t.jobs[w.job].left += w.open()
		for k, ran := range w.ran {
			t.push(w, w.rest(r, s.factor, ran), w.holds[k])
		}
	}
	for i, w := range l.works {
		for _, a := range w.after {
			if a.place >= 0 {
				t.states[a.place].followers = append(t.states[a.place].followers, i)
			}
		}
	}
	for i := range l.works {
		t.admit(i)
	}
	return t
}

// push adds the end of a task of w, which holds an amount until then.
func (t *timeline) push(w *work, at float64, held sched.Resources) {
	t.turns++
	heap.Push(&t.queue, leave{at, t.turns, w, held})
}

// run lays all tasks out, and adds when jobs start and end to the look's times.
func (t *timeline) run() {
	for {
		t.start()
		if len(t.queue) == 0 {
			break
		}
		next := heap.Pop(&t.queue).(leave)
		t.now, t.free = next.at, t.free.Add(next.held)
		s := &t.states[next.of.place]
		s.done++
		for _, i := range s.followers {
			t.admit(i)
		}
		if j := t.jobs[next.of.job]; j.left == 1 {
			j.left, j.end = 0, t.now
		} else {
			j.left--
		}
	}
	for id, j := range t.jobs {
		l := t.laid[id]
		l.starts, l.ends = append(l.starts, j.start), append(l.ends, j.end)
	}
}

// admit adds a work to those that are ready, once what it comes after is far enough.
func (t *timeline) admit(place int) {
	w, s := t.works[place], &t.states[place]
	if s.begun || s.left == 0 {
		return
	}
	for i, a := range w.after {
		done := a.done
		if a.place >= 0 {
			done = t.states[a.place].done
		}
		if a.total > 0 && float64(done) < w.parts[i]*float64(a.total) {
			return
		}
	}
	s.begun = true
	n := &t.needs[s.need]
	at, _ := slices.BinarySearch(n.ready, place)
	n.ready = slices.Insert(n.ready, at, place)
}

// start starts tasks of ready works in order, as long as one fits. It costs a look at each need for each work that it
// starts tasks of: nothing that runs ends meanwhile, so a work that does not fit is not asked again.
func (t *timeline) start() {
	for n := t.first(); n != nil; n = t.first() {
		w, s := t.works[n.ready[0]], &t.states[n.ready[0]]
		for s.left > 0 && w.needs.FitsIn(t.free) {
			s.left--
			t.free = t.free.Sub(w.needs)
			t.push(w, t.now+w.rest(t.r, s.factor, 0), w.needs)
			if j := t.jobs[w.job]; t.now < j.start {
				j.start = t.now
			}
		}
		if s.left == 0 {
			n.ready = n.ready[1:]
		}
	}
}

// first returns the need of the first ready work that fits; nil: none fits.
func (t *timeline) first() (first *need) {
	for i := range t.needs {
		n := &t.needs[i]
		if len(n.ready) > 0 && (first == nil || n.ready[0] < first.ready[0]) && n.of.FitsIn(t.free) {
			first = n
		}
	}
	return first
}
