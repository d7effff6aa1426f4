package mr

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// A pace gives an attempt a part of the time, where its node offers less than what runs there.
//
// An attempt that works in this process waits between two batches, in proportion to the time that it worked since it
// last waited. A program that works for the attempt is stopped and continued in turns instead. Neither needs a right
// that a user lacks, as control groups and a higher priority do.
type pace struct {
	rest    atomic.Uint64 // bits of the part of the time in which the attempt does nothing; zero: none
	waiting atomic.Bool   // the attempt waits
	outside atomic.Bool   // a program works for the attempt

	// Only the attempt's own goroutine uses these.
	begun  time.Time     // since when it has worked; zero: it is not slowed
	unpaid time.Duration // that it has worked before, and has not waited for

	// The attempt's mutex guards what follows.
	changed chan struct{} // closed when rest or the program changes
	turning bool          // a goroutine stops and continues the program
	paused  bool          // by that goroutine
	down    bool          // the program is stopped, by that goroutine or because the attempt is suspended
	slowed  time.Duration // for which the attempt waited or its program was stopped by turns
}

// Waits and turns that are shorter are not worth their cost; turns are this long where the parts allow it.
const (
	leastWait = 10 * time.Millisecond
	turnTime  = 100 * time.Millisecond
)

func (p *pace) idle() float64 { return math.Float64frombits(p.rest.Load()) }

// Slow gives the attempt a part of the time from now on, from 0 to 1. With 0 it stands still, and shows no signs of
// life that [Config.Timeout] would miss.
func (a *Attempt) Slow(part float64) {
	rest := 1 - max(0, min(1, part))
	if a.pace.idle() == rest {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pace.rest.Store(math.Float64bits(rest))
	a.repace()
}

// Slowed returns for how long the attempt has done nothing because of Slow.
func (a *Attempt) Slowed() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pace.slowed
}

// halted reports whether no sign of life is to be expected of the attempt now.
func (a *Attempt) halted() bool { return a.held.Load() || a.pace.waiting.Load() }

// repace wakes those who wait for a change of the pace or of the program, and begins turns where they are needed. The
// caller holds the attempt's mutex.
func (a *Attempt) repace() {
	p := &a.pace
	if p.changed != nil {
		close(p.changed)
	}
	p.changed = make(chan struct{})
	if a.child != nil && p.idle() > 0 && !p.turning {
		p.turning = true
		go a.turns()
	}
}

// settle stops or continues the attempt's program, as suspension and turns want it. The caller holds the mutex.
func (a *Attempt) settle() {
	want := a.held.Load() || a.pace.paused
	if a.child == nil || a.pace.down == want {
		return
	}
	if a.pace.down = want; want {
		a.child.Suspend()
	} else {
		a.child.Resume()
	}
}

// turns stops and continues the attempt's program in turns, until there is none or it need not be slowed.
func (a *Attempt) turns() {
	p := &a.pace
	for {
		a.mu.Lock()
		rest := p.idle()
		if a.child == nil || rest == 0 || a.ctx.Err() != nil {
			p.turning, p.paused = false, false
			a.settle()
			a.mu.Unlock()
			return
		}
		p.paused = !p.paused || rest == 1
		a.settle()
		paused, changed := p.paused, p.changed
		a.mu.Unlock()
		passed := a.await(turn(rest, paused), changed)
		if paused {
			a.mu.Lock()
			p.slowed += passed
			a.mu.Unlock()
		}
	}
}

// turn returns how long a program is stopped or runs at a time.
func turn(rest float64, stopped bool) time.Duration {
	run := max(leastWait, time.Duration(float64(turnTime)*(1-rest)))
	switch {
	case !stopped:
		return run
	case rest == 1:
		return math.MaxInt64
	}
	return time.Duration(min(float64(run)*rest/(1-rest), float64(time.Hour)))
}

// pay waits for what the attempt has done since it last paid. Only the attempt's own goroutine calls it.
func (a *Attempt) pay() {
	p := &a.pace
	rest := p.idle()
	if rest == 0 || p.outside.Load() {
		p.begun, p.unpaid = time.Time{}, 0
		return
	}
	now := time.Now()
	if !p.begun.IsZero() {
		p.unpaid += now.Sub(p.begun)
	}
	for ; rest > 0 && a.ctx.Err() == nil; rest = p.idle() {
		wait := time.Duration(math.MaxInt64)
		if rest < 1 {
			if wait = time.Duration(min(float64(p.unpaid)*rest/(1-rest), float64(time.Hour))); wait < leastWait {
				break
			}
		}
		a.mu.Lock()
		changed := p.changed
		a.mu.Unlock()
		if p.idle() != rest {
			continue
		}
		p.waiting.Store(true)
		passed := a.await(wait, changed)
		p.waiting.Store(false)
		a.mu.Lock()
		p.slowed += passed
		a.mu.Unlock()
		p.unpaid -= time.Duration(float64(passed) * (1 - rest) / rest)
	}
	a.sign()
	p.begun = time.Now()
}

// await returns after a time, or earlier where changed is closed or the attempt is to end. It says how long it took.
func (a *Attempt) await(d time.Duration, changed <-chan struct{}) time.Duration {
	begun := time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-changed:
	case <-a.ctx.Done():
	}
	return time.Since(begun)
}

// pacing gives attempts their part of what nodes offer.
type pacing struct {
	nodes []sched.NodeSpec
	parts []float64 // of its capacity, what each node offers; nil: all
	short []bool    // attempts of the node may be slowed
}

// offered notes the part of its capacity that a node offers from now on.
func (p *pacing) offered(id sched.NodeID, part float64) {
	if p.parts == nil {
		p.parts, p.short = make([]float64, len(p.nodes)), make([]bool, len(p.nodes))
	}
	p.parts[id-1], p.short[id-1] = part, true
}

// apply slows the attempts on nodes that offer less than what runs there. Each attempt gets the smallest part over the
// kinds of resources that it holds, but for memory. O(attempts on such nodes).
func (p *pacing) apply(core *sched.Core, attempts map[sched.AttemptID]*Launch) {
	for i := range p.short {
		if !p.short[i] {
			continue
		}
		p.short[i] = p.parts[i] < 1
		n := core.Node(sched.NodeID(i + 1))
		var used sched.Resources
		for a := range core.AttemptsOn(n) {
			used = used.Add(core.Amount(a.Holds))
		}
		for a := range core.AttemptsOn(n) {
			if l := attempts[a.ID]; l != nil {
				l.Attempt.Slow(partOf(core.Amount(a.Holds), used, p.nodes[i].Capacity, p.parts[i]))
			}
		}
	}
}

// partOf returns which part of the time an attempt gets that holds an amount on a node, where attempts use so much of
// its capacity and the node offers a part of that.
func partOf(amount, used, capacity sched.Resources, part float64) float64 {
	least := 1.0
	for k := range amount {
		if k != int(sched.Memory) && amount[k] > 0 {
			least = min(least, part*float64(capacity[k])/float64(used[k]))
		}
	}
	return least
}
