package policy

import "github.com/sojourn-sched/sojourn/sched"

// A Lasting policy remembers something beyond the end of a run: debts between queues, say. An engine that is started
// again gives it back before the first decision. Jobs and attempts of the new run have nothing to do with those of the
// old one, although their IDs may be the same: a policy keeps nothing about them.
type Lasting interface {
	// Left returns what outlasts the run as of now, at or after the last decision, to be written as JSON at once:
	// what has run since the last decision counts up to now. The policy stays as it is.
	Left(now sched.Time) any
	// Recall restores what Left returned in an earlier run of the same policy. The time of this run starts at 0. An
	// error names the content that Left cannot have written.
	Recall(text []byte) error
}
