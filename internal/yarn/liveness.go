package yarn

import (
	"container/heap"
	"iter"
	"time"
)

// An aging is a list of peers in the order in which they were last heard of, so that peers that have been silent for
// too long are at its front. A peer that was heard of again moves to the end: O(1).
type aging struct {
	limit time.Duration // the silence after which a peer expires
	ring  aged          // its next is the peer that was heard of longest ago
	count int
}

// An aged is the place of a peer in an aging. The zero aged is in none.
type aged struct {
	in         *aging
	prev, next *aged
	heard      time.Time
	thing      expirer
}

// An expirer is a peer in an aging. expired is called when it has been silent for too long, and has left the aging.
type expirer interface{ expired() }

// watch begins to wait for peer thing, which was heard of at now.
func (a *aging) watch(w *aged, now time.Time, thing expirer) {
	w.leave()
	if a.ring.next == nil {
		a.ring.next, a.ring.prev = &a.ring, &a.ring
	}
	*w = aged{in: a, heard: now, thing: thing}
	w.join()
	a.count++
}

// oldest returns the peer that has been silent longest; nil: the aging is empty.
func (a *aging) oldest() *aged {
	if a.count == 0 {
		return nil
	}
	return a.ring.next
}

// join puts w at the end of the list, as heard of last. cut removes w from the list.
func (w *aged) join() {
	end := &w.in.ring
	w.prev, w.next = end.prev, end
	w.prev.next, end.prev = w, w
}

func (w *aged) cut() { w.prev.next, w.next.prev = w.next, w.prev }

// touch notes that the peer was heard of at now.
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

// all yields the peers, the one first that has been silent longest.
func (a *aging) all() iter.Seq[expirer] {
	return func(yield func(expirer) bool) {
		for w, left := a.ring.next, a.count; left > 0 && yield(w.thing); w, left = w.next, left-1 {
		}
	}
}

// An alarm is a function to be called at a time. Its maker keeps it if it may have to cancel it (liveness.off).
type alarm struct {
	at    time.Time
	do    func() // nil: it has gone off, or was cancelled
	index int    // in the heap
}

// alarms are a heap: the first goes off first.
type alarms []*alarm

func (a alarms) Len() int           { return len(a) }
func (a alarms) Less(i, j int) bool { return a[i].at.Before(a[j].at) }
func (a alarms) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].index, a[j].index = i, j
}
func (a *alarms) Push(x any) {
	x.(*alarm).index = len(*a)
	*a = append(*a, x.(*alarm))
}
func (a *alarms) Pop() any {
	last := (*a)[len(*a)-1]
	(*a)[len(*a)-1] = nil
	*a = (*a)[:len(*a)-1]
	return last
}

// liveness has the peers that must be heard of in time, and the alarms.
type liveness struct {
	nodes      aging // since their last heartbeat, until they are quiet
	quiet      aging // since their last heartbeat, until they are lost; and each absentMaster, since the start
	masters    aging // since their last call
	containers aging // since their ApplicationMaster was told of them, or they grew, until their node confirms that
	finishing  aging // ApplicationMasters that have said that their application is over, until they end
	shunned    aging // nodes, since a launch there failed last
	collecting aging // the logs of applications, since these ended
	alarms     alarms
}

// shunTime is how long no ApplicationMaster is started on a node where launches failed.
const shunTime = 10 * time.Minute

// farAway is the longest wait for the next alarm or expiry.
const farAway = time.Hour

// newLiveness returns an empty liveness with expiries e. Nodes are quiet after a silence of quiet.
func newLiveness(e Expiry, quiet time.Duration) (l liveness) {
	l.nodes.limit, l.quiet.limit = min(quiet, e.Node), e.Node
	l.masters.limit, l.containers.limit, l.finishing.limit = e.Master, e.Container, e.Finish
	l.shunned.limit, l.collecting.limit = shunTime, collectionTimeout
	return l
}

// agings returns all lists of peers that expire.
func (l *liveness) agings() [7]*aging {
	return [7]*aging{&l.nodes, &l.quiet, &l.masters, &l.containers, &l.finishing, &l.shunned, &l.collecting}
}

// at returns an alarm that calls do, in a turn, at time t.
func (l *liveness) at(t time.Time, do func()) *alarm {
	a := &alarm{at: t, do: do}
	heap.Push(&l.alarms, a)
	return a
}

// off cancels an alarm. It does nothing if a is nil, has gone off or was cancelled before.
func (l *liveness) off(a *alarm) {
	if a != nil && a.do != nil {
		heap.Remove(&l.alarms, a.index)
		a.do = nil
	}
}

// next returns when an alarm or an expiry is due next, at most farAway from now.
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

// expire calls the alarms and the expirers that are due.
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
