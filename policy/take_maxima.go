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
	held    []demand          // for which no attempt was found that makes room below the maximum
	passed  int               // stages that were passed over since the order was brought up to date
	byQueue lineByQueue       // of what runs, as victims
}

// A demand is what a task needs that a queue holds back, because of its maximum.
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
	need := c.need(st)
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

// need returns what the task of promise c, of stage st, will take.
func (c promise) need(st *sched.Stage) sched.Resources {
	need := st.Spec.PerTask
	if c.Resumes {
		need[sched.Memory] = 0
	}
	return need
}

// underMax reports whether the queues of st stay within their maxima with need once attempt a has left and all promises
// have been used.
func (t *taker) underMax(p *sched.Plan, st *sched.Stage, a *sched.Attempt, need sched.Resources) bool {
	return t.full(p, st, a, need) == 0
}

// full returns the lowest queue of st that would exceed its maximum with need once attempt a has left and all promises
// have been used; 0: none would. If a is nil, no attempt leaves. O(depth of the queue tree).
func (t *taker) full(p *sched.Plan, st *sched.Stage, a *sched.Attempt, need sched.Resources) sched.QueueID {
	for id := st.Job.Queue; id != 0; id = p.Queues[id].Parent {
		q := p.Queues[id]
		if !need.FitsIn(q.Max.Sub(q.Used).Sub(t.owed[id]).Add(t.freedIn(p, id, a))) {
			return id
		}
	}
	return 0
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

// takeWithin is takeOne for a stage that the maximum of a queue holds back: only an attempt of that queue helps. If
// none makes room, takeWithin passes over the stage, because attempts of other queues may help a later one. It passes
// over at most mostTries stages. It does not search if a search for a smaller task that the same queue holds back has
// failed in this decision.
func (t *taker) takeWithin(p *sched.Plan, order *turns, st *sched.Stage, reporting bool) bool {
	d := demand{t.full(p, st, nil, st.Spec.PerTask), st.Spec.PerTask}
	if !slices.ContainsFunc(t.held, d.covers) {
		if a := t.search(p, st, d.queue, reporting); a != nil && t.takeFrom(p, st, a) {
			return true
		}
		t.held = append(t.held, d)
	}
	return t.pass(order, st)
}

// pass passes over st, which a maximum holds back, and reports whether it may pass over another one.
func (t *taker) pass(order *turns, st *sched.Stage) bool {
	order.skip(st)
	t.passed++
	return t.passed < mostTries
}

// covers reports whether d is a demand of the same queue as o, and at least as large in each kind.
func (d demand) covers(o demand) bool { return d.queue == o.queue && o.need.FitsIn(d.need) }

// search returns the attempt in queue full that is to leave for st; nil: there is none. It looks at the stages that run
// in that queue and come after st, at the cost of headBelow for each, until one helps.
func (t *taker) search(p *sched.Plan, st *sched.Stage, full sched.QueueID, reporting bool) *sched.Attempt {
	kind := kindOf(st)
	if reporting {
		return t.lastReported(p, st, int(kind))
	}
	t.byQueue.sync(p)
	for {
		last := t.lastOf(p, func() *sched.Stage { return t.byQueue.headBelow(full, kind) })
		if last == nil {
			return nil
		}
		if last.Job != st.Job {
			if !t.yields(p, st, last) {
				return nil
			}
			if a := t.victim(p, st, last); a != nil {
				return a
			}
		}
		t.byQueue.skip(last)
	}
}

// A lineByQueue is a line in one group for each queue and kind of resource. Users have no maxima: what runs for them is
// in the group of their queue.
type lineByQueue struct{ line }

// group returns the group of st.
func (l *lineByQueue) group(st *sched.Stage) int {
	return groupOf(l.view.Queues[st.Job.Queue].Parent, kindOf(st))
}

// headBelow returns the first stage in queue id or below it that competes for kind k; nil: there is none.
// O(queues and users below id).
func (l *lineByQueue) headBelow(id sched.QueueID, k sched.ResourceKind) *sched.Stage {
	first := l.head(groupOf(id, k))
	for _, child := range l.view.Queues[id].Children {
		if !l.view.Queues[child].User {
			first = l.better(first, l.headBelow(child, k))
		}
	}
	return first
}
