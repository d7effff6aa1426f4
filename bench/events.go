package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sojourn-sched/sojourn/sched"
)

// eventPolicies are the policies whose events are measured apart: those that do more work at a job event, and one that
// does little.
var eventPolicies = []string{"fifo", "mrorder", "dynamicmr", "fspy", "gittins"}

// mostTimed is how many events of a kind are timed at most, leastTimed how many of those in which a job ends at least,
// if that does not take too long.
const (
	mostTimed  = 1 << 17
	leastTimed = 100
)

// runEvents measures apart what completions cost after which their job goes on, and those that end it and bring the
// next one.
func runEvents(ctx context.Context, b *bench) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	specs := b.policies
	if len(specs) == 0 {
		specs = eventPolicies
	}
	for _, spec := range specs {
		for _, n := range decisionSizes {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			l, ok := newLoad(newConfig(spec), scale{n, 1})
			if !ok {
				b.say("%s, %d jobs: over %v to fill", spec, n, decisionSetUp)
				break
			}
			task, job := l.apart(time.Now())
			for _, kind := range []struct {
				name  string
				costs []float64
			}{{"task", task}, {"job", job}} {
				r := row{
					Case:  fmt.Sprintf("%s event, %d jobs", kind.name, n),
					Who:   spec,
					Unit:  "µs",
					Value: spreadOver(kind.costs),
				}
				if len(kind.costs) == 0 {
					r.Skipped = "none"
				}
				b.say("%s, %s: %s µs%s", spec, r.Case, number(r.Value.Median), r.Skipped)
				b.rows = append(b.rows, r)
			}
		}
	}
	return nil
}

// apart runs completions for a while, and returns what those cost after which the job goes on, and those that end one,
// in µs of processor time.
func (l *load) apart(begun time.Time) (task, job []float64) {
	var idle []float64
	for range 1000 {
		idle = append(idle, -threadTime()+threadTime())
	}
	clock := spreadOver(idle).Median
	for steps := 0; steps&15 != 0 || time.Since(begun) < decisionTime || len(job) < leastTimed &&
		time.Since(begun) < decisionSetUp; steps++ {
		e, ok := l.next()
		if !ok {
			break
		}
		costs := &task
		if st := l.core.Attempt(sched.AttemptID(e.id)).Stage; st.Done+1 == st.Total {
			costs = &job
		}
		before := threadTime()
		l.complete(e)
		if cost := threadTime() - before - clock; len(*costs) < mostTimed {
			*costs = append(*costs, max(0, cost))
		}
	}
	return task, job
}

// threadTime is the processor time of the calling thread in µs, which other work on the machine does not stretch.
func threadTime() float64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return float64(t.Nano()) / 1e3
}
