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
