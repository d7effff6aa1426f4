package mr

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// A throttle limits an attempt to a part of the time while its node offers less than the attempts there hold.
//
// An attempt that works in this process waits between two batches, in proportion to the time that it has worked (pay).
// A program that works for the attempt is stopped and continued in turns instead (turns). Neither needs privileges,
// unlike control groups or a raised priority.
type throttle struct {
	rest    atomic.Uint64 // bits of the part of the time in which the attempt does nothing; zero: none
	waiting atomic.Bool   // the attempt waits: because of Slow, or for a pipe (its turn, or what comes next)
	outside atomic.Bool   // a program works for the attempt

	// Only the attempt's own goroutine uses these.
	begun  time.Time     // when it began to work after the last wait; zero: it is not slowed
	unpaid time.Duration // time that it worked before begun, and for which pay has not waited yet

	// The attempt's mutex guards what follows.
	changed chan struct{} // closed when rest or the program changes
	turning bool          // a goroutine stops and continues the program
	paused  bool          // that goroutine wants the program stopped now
	down    bool          // the program is stopped, by that goroutine or because the attempt is suspended
	slowed  time.Duration // how long pay waited, or turns stopped the program
}

const (
	// leastWait is the shortest wait of an attempt and the shortest run of a program: switching more often costs too
	// much.
	leastWait = 10 * time.Millisecond
	// turnTime is how long one run and one stop of a program take together, unless the run would be below leastWait.
	turnTime = 100 * time.Millisecond
)

// idle returns the part of the time in which the attempt does nothing.
func (t *throttle) idle() float64 { return math.Float64frombits(t.rest.Load()) }

// Slow limits the attempt to a part of the time from now on, from 0 to 1. With 0 the attempt stands still.
// [Config.Timeout] does not count the time in which it stands still.
func (a *Attempt) Slow(part float64) {
	rest := 1 - max(0, min(1, part))
	if a.throttle.idle() == rest {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.throttle.rest.Store(math.Float64bits(rest))
	a.rethrottle()
}

// Slowed returns for how long the attempt has done nothing because of Slow.
func (a *Attempt) Slowed() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.throttle.slowed
}

// standBy waits until one of two channels is closed. It returns the error with which the attempt is to end; nil: the
// attempt goes on. [Config.Timeout] does not count the wait.
func (a *Attempt) standBy(one, other <-chan struct{}) error {
	a.throttle.waiting.Store(true)
	defer a.throttle.waiting.Store(false)
	select {
	case <-one:
	case <-other:
	case <-a.ctx.Done():
	}
	return context.Cause(a.ctx)
}

// halted reports whether the attempt is suspended, or waits for a pipe or because of Slow, so that it shows no signs of
// life.
func (a *Attempt) halted() bool { return a.held.Load() || a.throttle.waiting.Load() }

// rethrottle wakes pay and turns after a change of rest or of the program, and starts turns if the program must be
// slowed. The caller holds the attempt's mutex.
func (a *Attempt) rethrottle() {
	t := &a.throttle
	if t.changed != nil {
		close(t.changed)
	}
	t.changed = make(chan struct{})
	if a.child != nil && t.idle() > 0 && !t.turning {
		t.turning = true
		go a.turns()
	}
}

// settle stops the attempt's program if the attempt is suspended or turns wants it stopped, and else continues it. The
// caller holds the mutex.
func (a *Attempt) settle() {
	want := a.held.Load() || a.throttle.paused
	if a.child == nil || a.throttle.down == want {
		return
	}
	a.throttle.down = want
	if want {
		a.guard(a.child.Suspend)
	} else {
		a.guard(a.child.Resume)
	}
}

// guard calls a method of the attempt's program. If it panics, the attempt ends with that.
func (a *Attempt) guard(method func()) {
	if err := guarded(func() error { method(); return nil }); err != nil {
		a.end(err)
	}
}

// turns stops and continues the attempt's program in turns. It ends when there is no program, when the program need not
// be slowed any more, or when the attempt ends.
func (a *Attempt) turns() {
	t := &a.throttle
	for {
		a.mu.Lock()
		rest := t.idle()
		if a.child == nil || rest == 0 || a.ctx.Err() != nil {
			t.turning, t.paused = false, false
			a.settle()
			a.mu.Unlock()
			return
		}
		t.paused = !t.paused || rest == 1
		a.settle()
		paused, changed := t.paused, t.changed
		a.mu.Unlock()
		passed := a.await(turn(rest, paused), changed)
		if paused {
			a.mu.Lock()
			t.slowed += passed
			a.mu.Unlock()
		}
	}
}

// turn returns how long a program stays stopped, or runs, so that it does nothing for the part rest of the time.
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

// pay makes the attempt wait in proportion to the time that it has worked: rest ÷ (1 − rest) times as long. A change of
// rest meanwhile holds for what is left of the wait. Only the attempt's own goroutine calls it, between two batches.
func (a *Attempt) pay() {
	t := &a.throttle
	rest := t.idle()
	if rest == 0 || t.outside.Load() {
		t.begun, t.unpaid = time.Time{}, 0
		return
	}
	now := time.Now()
	if !t.begun.IsZero() {
		t.unpaid += now.Sub(t.begun)
	}
	for ; rest > 0 && a.ctx.Err() == nil; rest = t.idle() {
		wait := time.Duration(math.MaxInt64)
		if rest < 1 {
			if wait = time.Duration(min(float64(t.unpaid)*rest/(1-rest), float64(time.Hour))); wait < leastWait {
				break
			}
		}
		a.mu.Lock()
		changed := t.changed
		a.mu.Unlock()
		if t.idle() != rest {
			continue
		}
		t.waiting.Store(true)
		passed := a.await(wait, changed)
		t.waiting.Store(false)
		a.mu.Lock()
		t.slowed += passed
		a.mu.Unlock()
		t.unpaid -= time.Duration(float64(passed) * (1 - rest) / rest)
	}
	t.begun = time.Now()
}

// await returns after d, or earlier when changed is closed or the attempt is told to end. It returns how long it took.
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

// throttling slows the attempts on nodes that offer less than their capacity.
type throttling struct {
	nodes []sched.NodeSpec
	parts []float64 // by node: the part of its capacity that it offers; nil: all nodes offer all
	short []bool    // by node: it offers less than its capacity, or did at the last call of apply
}

// offered notes the part of its capacity that a node offers from now on.
func (t *throttling) offered(id sched.NodeID, part float64) {
	if t.parts == nil {
		t.parts, t.short = make([]float64, len(t.nodes)), make([]bool, len(t.nodes))
	}
	t.parts[id-1], t.short[id-1] = part, true
}

// apply slows the attempts on nodes that offer less than what runs there, each to its [sched.Resources.Pace].
// O(attempts on such nodes).
func (t *throttling) apply(core *sched.Core, attempts map[sched.AttemptID]*Launch) {
	for i := range t.short {
		if !t.short[i] {
			continue
		}
		t.short[i] = t.parts[i] < 1
		n := core.Node(sched.NodeID(i + 1))
		var used sched.Resources
		for a := range core.AttemptsOn(n) {
			used = used.Add(core.Amount(a.Holds))
		}
		for a := range core.AttemptsOn(n) {
			if l := attempts[a.ID]; l != nil {
				l.Attempt.Slow(core.Amount(a.Holds).Pace(used, t.nodes[i].Capacity, t.parts[i]))
			}
		}
	}
}
