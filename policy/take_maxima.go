package policy

import (
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// The maxima of queues bound what may be taken for a stage. An attempt leaves only if the stage's queues stay within
// their maxima once all promises have been used: promises are kept at different instants, and those that are yet to be
// kept must find the room that was seen when they were made.

// maxima are what a decision remembers of the maxima of queues.
type maxima struct {
	owed    []sched.Resources // by QueueID: how much more the queue will hold, at most, once all promises are used
	owing   []sched.QueueID   // the queues that owe something
	refused bool              // underMax has refused an attempt
	held    []demand          // tasks for which the maxima refuse all attempts that would make room
	passed  int               // stages that were passed over since the order was brought up to date
}

// A demand is what a task of a queue needs.
type demand struct {
	queue sched.QueueID
	need  sched.Resources
}

// foresee sums up what the promises will change when all of them have been used, and forgets what was found of maxima.
// O(promises × depth of the queue tree).
func (t *taker) foresee(p *sched.Plan) {
	t.coming, t.held = sched.Resources{}, t.held[:0]
	for _, id := range t.owing {
		t.owed[id] = sched.Resources{}
	}
	t.owing = t.owing[:0]
	if n := len(p.Queues); len(t.owed) < n {
		t.owed = append(t.owed, make([]sched.Resources, n-len(t.owed))...)
	}
	for _, c := range t.Promises {
		t.expect(p, c)
	}
}

// expect adds promise c to the sums of foresee. A queue owes what the task of c needs, less what the attempt of c gives
// back to the same queue. What an attempt gives back beyond that does not count, because other promises may be used
// before it has left. O(depth of the queue tree).
func (t *taker) expect(p *sched.Plan, c promise) {
	t.coming = t.coming.Add(comes(p, c))
	st := p.Stage(c.Stage)
	if st == nil {
		return
	}
	need := st.Spec.PerTask
	if c.Resumes {
		need[sched.Memory] = 0
	}
	var a *sched.Attempt
	if leaving(p, c) {
		a = p.Attempt(c.Attempt)
	}
	for id := st.Job.Queue; id != 0; id = p.Queues[id].Parent {
		more := need.Sub(t.freedIn(p, id, a))
		for k := range more {
			more[k] = max(0, more[k])
		}
		if more != (sched.Resources{}) {
			t.owed[id] = t.owed[id].Add(more)
			t.owing = append(t.owing, id)
		}
	}
}

// underMax reports whether the queues of st stay within their maxima with need once attempt a has left and all promises
// have been used. If a is nil, no attempt leaves. O(depth of the queue tree).
func (t *taker) underMax(p *sched.Plan, st *sched.Stage, a *sched.Attempt, need sched.Resources) bool {
	for id := st.Job.Queue; id != 0; id = p.Queues[id].Parent {
		q := p.Queues[id]
		if !need.FitsIn(q.Max.Sub(q.Used).Sub(t.owed[id]).Add(t.freedIn(p, id, a))) {
			t.refused = true
			return false
		}
	}
	return true
}

// freedIn returns what queue id gets back when attempt a has left: nothing if a is nil or of another queue.
func (t *taker) freedIn(p *sched.Plan, id sched.QueueID, a *sched.Attempt) sched.Resources {
	if a == nil || !within(p.View, a.Stage.Job.Queue, id) {
		return sched.Resources{}
	}
	return t.freed(p, a)
}

// within reports whether queue is above, or lies below it.
func within(v *sched.View, queue, above sched.QueueID) bool {
	for queue != above && queue != 0 {
		queue = v.Queues[queue].Parent
	}
	return queue == above
}

// takeWithin is takeOne for a stage that a maximum of its queues holds back: only an attempt of such a queue helps. If
// the maximum refuses all attempts that make room, takeWithin passes over the stage, because these attempts may help a
// later one. It passes over at most mostTries stages. Equal tasks of the same queue are searched for once in a
// decision. A search costs O(log n) for each stage that runs, and O(log n) for each stage that is passed over.
func (t *taker) takeWithin(p *sched.Plan, order *turns, st *sched.Stage, reporting bool) bool {
	d := demand{st.Job.Queue, st.Spec.PerTask}
	if !slices.Contains(t.held, d) {
		t.refused = false
		if a := t.search(p, st, reporting); a != nil && t.takeFrom(p, st, a) {
			return true
		}
		if !t.refused {
			return false
		}
		t.held = append(t.held, d)
		t.victims.sync(p)
	}
	order.skip(st)
	t.passed++
	return t.passed < mostTries
}

// search returns the attempt that is to leave for st, of all stages that st comes before; nil: there is none. It passes
// over stages that do not help.
func (t *taker) search(p *sched.Plan, st *sched.Stage, reporting bool) *sched.Attempt {
	kind := int(kindOf(st))
	if reporting {
		return t.lastReported(p, st, kind)
	}
	for last := t.last(p, kind); last != nil && t.yields(p, st, last); last = t.last(p, kind) {
		if !spared(p.View, p.Queues[last.Job.Queue]) {
			if a := t.victim(p, st, last); a != nil {
				return a
			}
		}
		t.victims.skip(last)
	}
	return nil
}
