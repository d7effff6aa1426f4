package mr

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn/mr/input"
	"github.com/sojourn-sched/sojourn/mr/internal/mem"
	"github.com/sojourn-sched/sojourn/sched"
)

// Task tells a function which attempt it runs in.
type Task struct {
	Job     *Job
	JobID   sched.JobID // the job's number in its run; 0: no engine runs the task
	Stage   Stage       // map or reduce; of a combiner that of the attempt it runs in
	Index   int         // of the task in its stage, from 0
	Attempt int         // of the task, from 0
	Parts   int         // parts of the job's output
	Split   input.Split // what a map task reads; zero in reduces

	attempt *Attempt
}

// Stage is map or reduce.
type Stage uint8

const (
	MapStage Stage = iota
	ReduceStage
)

// String returns "map" or "reduce".
func (s Stage) String() string {
	if s == MapStage {
		return "map"
	}
	return "reduce"
}

// Phase is a part inside a task.
type Phase uint8

const (
	Read Phase = iota
	Map
	Sort
	Spill
	Shuffle
	Merge
	Reduce
	Write
	NumPhases // how many there are
)

// String returns the name of the phase.
func (p Phase) String() string {
	return [NumPhases]string{"read", "map", "sort", "spill", "shuffle", "merge", "reduce", "write"}[p]
}

// Attempt is one execution of a task, for the engine to suspend, resume and watch. Its methods may be called from any
// goroutine. An Attempt is used once.
type Attempt struct {
	Task   int // from 0
	Number int // of the attempt at the task, from 0

	job      sched.JobID // that it belongs to; 0: no engine runs it
	hardware string      // class of nodes whose hardware it may use; "": none

	ctx     context.Context
	end     context.CancelCauseFunc // ends ctx
	account *mem.Account            // opened by Run.attempt
	held    atomic.Bool             // it is suspended
	signs   atomic.Int64            // of life, so far
	loseAt  int64                   // the sign of life at which the chaos option loses the attempt; 0: it does not
	share   atomic.Int64            // progress in ppm

	throttle throttle
	ration   ration

	mu     sync.Mutex    // guards what follows
	gate   chan struct{} // closed by Resume
	child  Suspendable   // what runs for the attempt outside this process; nil: nothing
	counts Counters
	status string

	since   time.Time // when phase began; this and what follows: only the attempt's own goroutine
	phase   Phase
	phases  [NumPhases]time.Duration // in each phase until since
	cpu     time.Duration            // processor time used
	clocked time.Duration            // of the goroutine's thread, when clockIn was called
}

// NewAttempt prepares an attempt that ends with an error soon after ctx does. ctx refers to the attempt until it ends:
// it should end with the work that the attempt is for.
func NewAttempt(ctx context.Context, task, number int) *Attempt {
	a := &Attempt{Task: task, Number: number}
	a.ctx, a.end = context.WithCancelCause(ctx)
	return a
}

// Suspend stops the attempt at its next batch; it keeps its memory.
func (a *Attempt) Suspend() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.held.Swap(true) {
		a.gate = make(chan struct{})
		a.settle()
	}
}

// Resume lets a suspended attempt go on.
func (a *Attempt) Resume() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held.Swap(false) {
		close(a.gate)
		a.settle()
	}
}

// Suspendable is something that can be stopped where it is and continued: a program. A panic of a method fails the
// attempt, unless its work is over by then.
type Suspendable interface {
	Suspend()
	Resume()
}

// Suspends makes the engine suspend, resume and slow child, which works for the attempt, instead of the attempt's own
// code, which only waits for it. nil: there is no child any more. It returns the child before, which goes on if it was
// stopped. That one can take the place again, as a mapper does when its output was combined. Only the attempt's own
// goroutine calls it, or, while there is a child, the one that emits what the child writes.
func (t *Task) Suspends(child Suspendable) (before Suspendable) {
	a := t.attempt
	if had := a.throttle.outside.Load(); child != nil && !had {
		a.clockOut() // feeding a program would have to wait for the thread again and again
	} else if child == nil && had {
		a.clockIn()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if before = a.child; a.throttle.down { // settle stops what takes its place
		a.guard(before.Resume)
	}
	a.child, a.throttle.down = child, false
	a.throttle.outside.Store(child != nil)
	a.settle()
	a.rethrottle()
	return before
}

// Alive gives a sign of life. It is for functions that wait for something else than their input.
func (t *Task) Alive() { t.attempt.sign() }

// sign counts a sign of life.
func (a *Attempt) sign() {
	if n := a.signs.Add(1); n == a.loseAt {
		a.end(errChaos)
	}
}

// Progress returns the share of the work that is done, 0 to 1.
func (a *Attempt) Progress() float32 { return float32(a.share.Load()) / 1e6 }

// Signs returns how many signs of life the attempt has shown. An attempt that shows none for long hangs.
func (a *Attempt) Signs() int64 { return a.signs.Load() }

// Status returns what the job last said that the attempt is doing; empty at first.
func (a *Attempt) Status() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status
}

// Report is what an attempt leaves behind besides its output.
type Report struct {
	Counters Counters
	Phases   [NumPhases]time.Duration // suspended time included, where it fell
	// CPU is the processor time of the attempt's programs (Task.Uses) and of its own goroutine while no program works
	// for it (Task.Suspends). On systems other than Linux it is that of programs alone.
	CPU time.Duration
}

// Report returns what the attempt has done. It must have ended.
func (a *Attempt) Report() *Report {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &Report{Counters: a.counts, Phases: a.phases, CPU: a.cpu}
}

// pass waits while the attempt is suspended, and as long as its throttle demands. It returns the error with which the
// attempt is to end; nil: the attempt goes on.
func (a *Attempt) pass() error {
	a.sign()
	if a.ration.due() {
		a.keep()
	}
	a.pay()
	if a.held.Load() {
		a.mu.Lock()
		gate := a.gate
		a.mu.Unlock()
		select {
		case <-gate:
		case <-a.ctx.Done():
		}
		a.throttle.begun = time.Time{}
	}
	return context.Cause(a.ctx)
}

// enter begins phase p and returns the phase that p interrupts. Only the attempt's own goroutine calls it.
func (a *Attempt) enter(p Phase) (before Phase) {
	now := time.Now()
	before = a.phase
	if !a.since.IsZero() {
		a.phases[before] += now.Sub(a.since)
	}
	a.phase, a.since = p, now
	return before
}

func (a *Attempt) count(c Counter, n int64) { a.counts.Of[c] += n }

// clockIn begins to count the processor time of the attempt's own goroutine, which stays on one thread until clockOut,
// because the system counts that time by threads.
func (a *Attempt) clockIn() {
	runtime.LockOSThread()
	a.clocked = threadTime()
}

// clockOut counts the processor time since clockIn.
func (a *Attempt) clockOut() {
	a.cpu += threadTime() - a.clocked
	runtime.UnlockOSThread()
}

// PanicError is a panic of a job's function, or of a method of its Work.
type PanicError struct {
	Value any
	Stack string // its end: the innermost calls
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// stackTail is how much of a panic's stack is worth showing, in bytes.
const stackTail = 2 << 10

// guarded calls f and makes an error of its panic.
func guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			stack := debug.Stack()
			err = &PanicError{Value: v, Stack: string(stack[:min(len(stack), stackTail)])}
		}
	}()
	return f()
}

// Context returns a context that ends when the attempt is to end, for functions that wait for something else than their
// input, such as a child.
func (t *Task) Context() context.Context { return t.attempt.ctx }

// Uses counts processor time that a program used for the attempt. Only the attempt's own goroutine calls it.
func (t *Task) Uses(cpu time.Duration) { t.attempt.cpu += cpu }

// Count adds n to a count of the job's own. It takes a lock: count in a local variable what happens for every record.
func (t *Task) Count(group, name string, n int64) {
	t.attempt.sign()
	t.attempt.mu.Lock()
	defer t.attempt.mu.Unlock()
	t.attempt.counts.addUser(UserCounter{group, name}, n)
}

// Status says in a few words what the attempt is doing, for the user. It also counts as a sign of life.
func (t *Task) Status(s string) {
	t.attempt.sign()
	t.attempt.mu.Lock()
	defer t.attempt.mu.Unlock()
	t.attempt.status = s
}
