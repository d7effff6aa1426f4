package sim

import (
	"math/bits"

	"github.com/sojourn-sched/sojourn/sched"
)

// beats are the instants at which nodes report. At beat s, the instant s·every ÷ n, node s mod n reports. So each node
// reports once in each interval, and the reports are spread evenly over it. Beats are computed: the queue has none.
type beats struct {
	*agenda
	tasks  *tasks
	nodes  *machines
	every  sched.Time // the interval; zero: no node reports
	n      int64      // how many nodes
	s      int64      // the next beat
	asleep bool       // s is out of date, because no report was needed for a time
	tells  bool       // reports tell the progress of attempts
}

func (b *beats) init(r *Reporting) {
	b.n, b.asleep = int64(len(b.nodes.list)), true
	b.every, b.tells = r.Heartbeat, r.Progress > 0
	if b.every == 0 {
		b.every = r.Progress
	}
}

// sleep says that no reports are needed now. The next call of next computes which beat comes next.
func (b *beats) sleep() { b.asleep = true }

// at returns the instant of beat s.
func (b *beats) at(s int64) sched.Time {
	return sched.Time(s/b.n)*b.every + sched.Time(proportion(int64(b.every), s%b.n, b.n))
}

// proportion returns x·a ÷ b, rounded down, for 0 ≤ a < b. The product may have more than 64 bits.
func proportion(x, a, b int64) int64 {
	high, low := bits.Mul64(uint64(x), uint64(a))
	q, _ := bits.Div64(high, low, uint64(b))
	return int64(q)
}

// next returns the instant of the next beat, which may be now; sched.Never: there is none.
func (b *beats) next() sched.Time {
	if b.every == 0 {
		return sched.Never
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
	return sched.Never
}

// gather adds the reports of the nodes whose beat is now to the events of the next Step.
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

// progress returns the phase of an attempt, and which part of the attempt is done. Fetching counts as a third of a
// reduce, as Hadoop's ReduceTask counts its copy phase.
func (t *tasks) progress(r *attempt) (sched.Phase, float32) {
	part := 1.0
	if r.whole > 0 {
		part = 1 - float64(t.left(r)+r.beyond)/float64(r.whole)
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

// left returns how long an attempt has yet to compute where nothing hinders it.
func (t *tasks) left(r *attempt) sched.Time {
	if r.state != computing {
		return r.due
	}
	left := r.due
	if pace := t.throttle.pace(r); pace > 0 {
		left = prolonged(left-t.now, pace)
	}
	if t.contention.on() {
		left = prolonged(left, 1/t.contention.node(r).factor)
	}
	return left
}
