package sim

import "github.com/sojourn-sched/sojourn/sched"

// An agenda is what all parts of a run share: the present instant, what is due later, and the events of the next Step.
type agenda struct {
	now     sched.Time
	queue   *calendar
	pending int           // items in queue after which some job makes progress (those of await)
	evs     []sched.Event // of the next Step
}

// await adds an item to the queue that lets a job make progress. While there is one, the run is not stuck.
func (g *agenda) await(at sched.Time, what uint64) (item int32) {
	g.pending++
	return g.queue.push(at, what)
}

// cancel removes an item, as returned by await, from the queue before it is due.
func (g *agenda) cancel(item int32) {
	g.queue.drop(item)
	g.pending--
}

// The kinds of items in the queue, in the upper three bits of an item. The lower bits are the ID of an attempt, a rack,
// a node or a job.
const (
	endOf    = uint64(iota) << kindShift // attempt: it ends
	graceOf                              // attempt: the warning before a Kill is over
	fetchOf                              // rack: one of its reduces has fetched what it was fetching
	lossOf                               // node: it is lost by chance
	returnOf                             // node: it returns after that
	comeOf                               // node: it returns one nanosecond late (machines.restore)
	// ID: index of Config.Script + 1; above its length, index of the class whose timetable changes; after the classes,
	// the part of the throttle changes
	incidentOf
	masterOf  // job: its master looks whether maps starve (rampDown.look)
	kindShift = 61
	idMask    = 1<<kindShift - 1
)

// The purposes of random numbers. Numbers for different purposes are independent.
const (
	forTaskTime = iota + 1
	forStraggler
	forFailure
	forPlace
	forSlowNode
	forLoss
	forProbe
)
