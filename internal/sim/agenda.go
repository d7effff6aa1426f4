package sim

import "github.com/sojourn-sched/sojourn/sched"

// An agenda is what all parts of a run share: the instant, what is due later, and what the core learns next.
type agenda struct {
	now     sched.Time
	queue   *calendar
	pending int           // items in queue that bring some job on, or let one go on that waits
	evs     []sched.Event // of the next Step
}

// await puts an item that brings a job on into the queue.
func (g *agenda) await(at sched.Time, what uint64) (item int32) {
	g.pending++
	return g.queue.push(at, what)
}

// cancel takes an item of await out of the queue before it is due.
func (g *agenda) cancel(item int32) {
	g.queue.drop(item)
	g.pending--
}

// What an item of the queue is about, in the upper three bits; the rest is an ID.
const (
	endOf    = uint64(iota) << kindShift // attempt: it ends
	graceOf                              // attempt: the warning before a Kill is over
	fetchOf                              // rack: one of its reduces has fetched what it was fetching
	lossOf                               // node: is lost by chance
	returnOf                             // node: returns after that
	comeOf                               // node: returns, one nanosecond late
	// index of Script + 1; above its length: place of a class whose timetable changes
	incidentOf
	masterOf  // job: its master looks
	kindShift = 61
	idMask    = 1<<kindShift - 1
)

// What a draw is for. Draws for different purposes do not depend on each other.
const (
	forTaskTime = iota + 1
	forStraggler
	forFailure
	forPlace
	forSlowNode
	forLoss
	forProbe
)
