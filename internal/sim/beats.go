package sim

import (
	"math/bits"

	"github.com/sojourn-sched/sojourn/sched"
)

// beats are the instants at which nodes report. Beat s is node s mod n's, at s·every ÷ n: each node reports at the
// interval, and all of them are spread evenly over it. Nothing is kept in the queue.
type beats struct {
	*agenda
	tasks  *tasks
	nodes  *machines
	every  sched.Time // zero: there are none
	n      int64
	s      int64 // the next one
	asleep bool  // s is out of date, because there was nothing to do
	tells  bool  // progress
}

func (b *beats) init(r *Reporting) {
	b.n, b.asleep = int64(len(b.nodes.list)), true
	b.every, b.tells = r.Heartbeat, r.Progress > 0
	if b.every == 0 {
		b.every = r.Progress
	}
}

// sleep tells beats that no part needs reports now. The next call of next finds the coming beat again.
func (b *beats) sleep() { b.asleep = true }

// at returns the instant of beat s.
func (b *beats) at(s int64) sched.Time {
	return sched.Time(s/b.n)*b.every + sched.Time(proportion(int64(b.every), s%b.n, b.n))
}

// proportion returns x·a ÷ b, rounded down, for 0 ≤ a < b; the product may be larger than 64 bits.
func proportion(x, a, b int64) int64 {
	high, low := bits.Mul64(uint64(x), uint64(a))
	q, _ := bits.Div64(high, low, uint64(b))
	return int64(q)
}

// next returns the instant of the next beat, which is not before now; never: there is none.
func (b *beats) next() sched.Time {
	if b.every == 0 {
		return never
	}
	if b.asleep {
		b.asleep = false
		b.s = int64(b.now/b.every)*b.n + proportion(b.n, int64(b.now%b.every), int64(b.every))
		if b.at(b.s) < b.now {
			b.s++
		}
	}
	for range b.n {
		if !b.nodes.list[b.s%b.n].lost {
			return b.at(b.s)
		}
		b.s++
	}
	b.asleep = true // no node is there; s says nothing about when the next one will be
	return never
}

// gather adds what the nodes report whose beat is now.
func (b *beats) gather() {
	if b.every == 0 || b.asleep {
		return
	}
	for b.next() == b.now {
		id := sched.NodeID(b.s%b.n + 1)
		b.s++
		n := &b.nodes.list[id-1]
		if b.tells {
			for a := range b.tasks.view.AttemptsOn(b.tasks.view.Node(id)) {
				if r := b.tasks.find(a.ID); r != nil && r.state != over {
					phase, done := b.tasks.progress(r)
					b.evs = append(b.evs, sched.Event{Kind: sched.AttemptProgress, Attempt: a.ID, Phase: phase,
						Progress: done})
				}
			}
		}
		if !b.nodes.held {
			continue
		}
		b.evs = append(b.evs, sched.Event{Kind: sched.NodeReported, Node: id})
		for _, ev := range n.news {
			if ev.Kind == sched.AttemptDone {
				b.tasks.forget(b.tasks.find(ev.Attempt))
			}
			b.evs = append(b.evs, ev)
		}
		n.news = n.news[:0]
	}
}

// progress returns the phase that an attempt is in, and which part of it is done: of a reduce that fetches, a third is
// fetching, as Hadoop's ReduceTask counts its copying.
func (t *tasks) progress(r *attempt) (sched.Phase, float32) {
	part := 1.0
	if r.whole > 0 {
		left := r.due + r.beyond
		if r.state == computing {
			left -= t.now
		}
		part = 1 - float64(left)/float64(r.whole)
	}
	spec := r.core.Stage.Spec
	switch {
	case len(spec.After) == 0:
		return sched.PhaseMap, float32(part)
	case r.fetch != 0:
		return sched.PhaseShuffle, float32(t.net.part(r) / 3)
	}
	return sched.PhaseReduce, float32((1 + 2*part) / 3)
}
