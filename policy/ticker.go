package policy

import "github.com/sojourn-sched/sojourn/sched"

// A ticker divides time into equal intervals, for work that a policy does once in a while.
type ticker struct {
	Next sched.Time // the next multiple of the interval; zero: there is nothing to do
}

// due reports whether a multiple of every has come while there are jobs.
func (t *ticker) due(p *sched.Plan, every sched.Time) bool {
	return t.dueWhile(p, every, p.LiveJobs() > 0)
}

// dueWhile reports whether a multiple of every has come, and asks to be woken at the next one, as long as busy says
// that there is something to do. The first multiple of a busy period is the one after its beginning. So extra calls in
// the quiet time before it change nothing.
func (t *ticker) dueWhile(p *sched.Plan, every sched.Time, busy bool) bool {
	if !busy {
		t.Next = 0
		return false
	}
	due := t.Next != 0 && p.Now >= t.Next
	if t.Next <= p.Now {
		t.Next = (p.Now/every + 1) * every
	}
	p.Wake(t.Next)
	return due
}

// mostPlans is how many plans for all jobs a policy makes at one instant.
const mostPlans = 32

// A burst counts the plans for all jobs that a policy makes at one instant. A plan of n jobs costs O(n) at least, so
// one for each of n jobs that come in Steps of their own at one instant would cost O(n²).
type burst struct {
	At    sched.Time // the instant of the last plan
	Plans int32      // of that instant
}

// tooLong counts one more plan at this instant. If there have been mostPlans already it returns true, and asks for a
// Step at the next instant, where the plan is to be made.
func (b *burst) tooLong(p *sched.Plan) bool {
	if b.At != p.Now {
		*b = burst{At: p.Now}
	}
	if b.Plans == mostPlans {
		p.Wake(p.Now + 1)
		return true
	}
	b.Plans++
	return false
}

// A since says whether a condition holds, and since when.
type since struct {
	Is bool
	At sched.Time
}

// lasted notes whether the condition holds now (is), and reports whether it has held for at least long.
func (s *since) lasted(now sched.Time, is bool, long sched.Time) bool {
	if !is {
		*s = since{}
		return false
	}
	if !s.Is {
		*s = since{true, now}
	}
	return now-s.At >= long
}
