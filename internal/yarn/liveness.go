package yarn

import (
	"container/heap"
	"iter"
	"time"
)

// An aging keeps things in the order in which they were last heard of, so that those silent for too long are found at
// its front. Touching a thing costs no more than moving it to the end.
type aging struct {
	limit time.Duration
	ring  aged // its next is what was heard of longest ago
	count int
}

// An aged is a thing's place in an aging. The zero aged is in none.
type aged struct {
	in         *aging
	prev, next *aged
	heard      time.Time
	thing      expirer
}

// An expirer is told when it has been silent for too long; it has left the aging then.
type expirer interface{ expired() }

// watch begins to wait for a thing that was heard of at now.
func (a *aging) watch(w *aged, now time.Time, thing expirer) {
	w.leave()
	if a.ring.next == nil {
		a.ring.next, a.ring.prev = &a.ring, &a.ring
	}
	*w = aged{in: a, heard: now, thing: thing}
	w.join()
	a.count++
}

// oldest is what was heard of longest ago; nil: nothing is waited for.
func (a *aging) oldest() *aged {
	if a.count == 0 {
		return nil
	}
	return a.ring.next
}

// join puts w at the end of the list, as the one that was heard of last. cut takes w out of the list.
func (w *aged) join() {
	end := &w.in.ring
	w.prev, w.next = end.prev, end
	w.prev.next, end.prev = w, w
}

func (w *aged) cut() { w.prev.next, w.next.prev = w.next, w.prev }

// touch notes that the thing was heard of at now.
func (w *aged) touch(now time.Time) {
	if w.in != nil {
		w.heard = now
		w.cut()
		w.join()
	}
}

// leave ends the wait. It may be called twice.
func (w *aged) leave() {
	if w.in != nil {
		w.cut()
		w.in.count--
		*w = aged{}
	}
}

// all yields what is waited for, longest silent first.
func (a *aging) all() iter.Seq[expirer] {
	return func(yield func(expirer) bool) {
		for w, left := a.ring.next, a.count; left > 0 && yield(w.thing); w, left = w.next, left-1 {
		}
	}
}

// An alarm is something to do at a time of its own. Who may not want it any more before then keeps it, to take it back.
type alarm struct {
	at    time.Time
	do    func() // nil: it has gone off, or was taken back
	place int    // in the heap
}

type alarms []*alarm

func (a alarms) Len() int           { return len(a) }
func (a alarms) Less(i, j int) bool { return a[i].at.Before(a[j].at) }
func (a alarms) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}
func (a *alarms) Push(x any) {
	x.(*alarm).place = len(*a)
	*a = append(*a, x.(*alarm))
}
func (a *alarms) Pop() any {
	last := (*a)[len(*a)-1]
	(*a)[len(*a)-1] = nil
	*a = (*a)[:len(*a)-1]
	return last
}

// liveness is everything that must be heard of, and what happens at a time of its own.
type liveness struct {
	nodes      aging // since their last heartbeat, until they are quiet
	quiet      aging // since their last heartbeat, from when they are quiet until they are lost
	masters    aging // since their last call
	containers aging // from when they are handed out until they run
	finishing  aging // from when an application has said that it ends until its ApplicationMaster has
	shunned    aging // nodes, since a launch there failed last
	alarms     alarms
}

// shunTime is how long no ApplicationMaster is started on a node where launches failed.
const shunTime = 10 * time.Minute

// farAway is the wait of an engine on which nothing happens.
const farAway = time.Hour

// newLiveness returns what waits for peers with expiries e. Nodes are quiet after a silence of quiet.
func newLiveness(e Expiry, quiet time.Duration) (l liveness) {
	l.nodes.limit, l.quiet.limit = min(quiet, e.Node), e.Node
	l.masters.limit, l.containers.limit, l.finishing.limit = e.Master, e.Container, e.Finish
	l.shunned.limit = shunTime
	return l
}

func (l *liveness) agings() [6]*aging {
	return [6]*aging{&l.nodes, &l.quiet, &l.masters, &l.containers, &l.finishing, &l.shunned}
}

// at has something done at a time.
func (l *liveness) at(t time.Time, do func()) *alarm {
	a := &alarm{at: t, do: do}
	heap.Push(&l.alarms, a)
	return a
}

// off takes an alarm back. It may be nil, have gone off or have been taken back: then there is nothing to do.
func (l *liveness) off(a *alarm) {
	if a != nil && a.do != nil {
		heap.Remove(&l.alarms, a.place)
		a.do = nil
	}
}

// next is when something may have to be done, at most farAway from now.
func (l *liveness) next(now time.Time) time.Time {
	at := now.Add(farAway)
	for _, a := range l.agings() {
		if w := a.oldest(); w != nil {
			if t := w.heard.Add(a.limit); t.Before(at) {
				at = t
			}
		}
	}
	if len(l.alarms) > 0 && l.alarms[0].at.Before(at) {
		at = l.alarms[0].at
	}
	return at
}

// expire does what is due.
func (l *liveness) expire(now time.Time) {
	for _, a := range l.agings() {
		for w := a.oldest(); w != nil && !now.Before(w.heard.Add(a.limit)); w = a.oldest() {
			thing := w.thing
			w.leave()
			thing.expired()
		}
	}
	for len(l.alarms) > 0 && !now.Before(l.alarms[0].at) {
		a := heap.Pop(&l.alarms).(*alarm)
		do := a.do
		a.do = nil
		do()
	}
}
