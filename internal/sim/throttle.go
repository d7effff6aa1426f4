package sim

import (
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// A throttle slows the attempts that compute on nodes that offer less than what runs there (Config.Throttle), each to
// its [sched.Resources.Pace], as the engine mr does. When what a node offers or what runs there changes, its attempts
// are due anew, once an instant.
type throttle struct {
	parts func(at sched.Time) (part float64, until sched.Time) // nil: nothing is slowed
	item  uint64                                               // of the queue: the part changes
	part  float64                                              // of their capacity that nodes offer now
	paces []float64                                            // by slot of AttemptID, of attempts that compute
	nodes []bool                                               // by NodeID-1: the node is in dirty
	dirty []sched.NodeID                                       // nodes whose attempts may have another pace now
}

// init begins with full speed on n nodes. The change to the part that parts tells of now is due at item.
func (h *throttle) init(parts func(sched.Time) (float64, sched.Time), n int, item uint64) {
	h.parts, h.nodes, h.item, h.part = parts, make([]bool, n), item, 1
}

// on reports whether attempts may be slowed.
func (h *throttle) on() bool { return h.parts != nil }

// halts reports whether nodes offer nothing, so that what runs there stands still.
func (h *throttle) halts() bool { return h.on() && h.part == 0 }

// begin gives an attempt that begins to compute its full pace, until settlePaces computes the pace that it has.
func (h *throttle) begin(r *attempt) {
	if !h.on() {
		return
	}
	slot := int(r.id.Row())
	for len(h.paces) <= slot {
		h.paces = append(h.paces, 0)
	}
	h.paces[slot] = 1
	h.touch(r)
}

// pace returns the part of the time in which attempt r, which computes, does so; zero: it stands still, and nothing is
// due.
func (h *throttle) pace(r *attempt) float64 {
	if !h.on() {
		return 1
	}
	return h.paces[r.id.Row()]
}

// touch notes that an attempt begins or ceases to use what it holds.
func (h *throttle) touch(r *attempt) {
	if h.part < 1 {
		h.mark(r.core.Node)
	}
}

// mark puts a node among those whose attempts are due anew.
func (h *throttle) mark(id sched.NodeID) {
	if h.on() && !h.nodes[id-1] {
		h.nodes[id-1] = true
		h.dirty = append(h.dirty, id)
	}
}

// rethrottle takes in the part of their capacity that nodes offer from now on. O(nodes).
func (t *tasks) rethrottle() {
	h := &t.throttle
	before := h.part
	part, until := h.parts(t.now)
	h.part = max(0, min(1, part))
	if until != sched.Never {
		t.queue.push(max(until, t.now+1), h.item)
	}
	if h.part == before {
		return
	}
	for i := range h.nodes {
		h.mark(sched.NodeID(i + 1))
	}
}

// settlePaces computes anew how fast attempts run, and so when they end, on nodes whose offer or whose use has changed.
// O(attempts there).
func (t *tasks) settlePaces() {
	h := &t.throttle
	for _, id := range h.dirty {
		h.nodes[id-1] = false
		n, capacity := t.view.Node(id), t.nodes.list[id-1].spec.Capacity
		var used sched.Resources
		for a := range t.view.AttemptsOn(n) {
			if r := t.find(a.ID); r != nil && r.state != frozen && r.state != over {
				used = used.Add(t.view.Amount(a.Holds))
			}
		}
		for a := range t.view.AttemptsOn(n) {
			if r := t.find(a.ID); r != nil && r.state == computing {
				t.repace(r, t.view.Amount(a.Holds).Pace(used, capacity, h.part))
			}
		}
	}
	h.dirty = h.dirty[:0]
}

// repace makes attempt r, which computes, go on at another pace. An attempt that would take more than ten years stands
// still.
func (t *tasks) repace(r *attempt, pace float64) {
	p := &t.throttle.paces[r.id.Row()]
	if pace == *p {
		return
	}
	t.unqueue(r)
	if pace*float64(workload.MaxTime) < float64(r.due) {
		pace = 0
	}
	*p = pace
	if pace > 0 {
		r.due = t.now + prolonged(r.due, 1/pace)
		r.item = t.await(r.due, endOf|uint64(r.id))
	}
}

// unqueue takes the end of attempt r, which computes, out of the queue. From then on r.due is how long it has yet to
// compute at its full pace.
func (t *tasks) unqueue(r *attempt) {
	pace := t.throttle.pace(r)
	if pace == 0 {
		return
	}
	t.cancel(r.item)
	r.due = prolonged(r.due-t.now, pace)
}
