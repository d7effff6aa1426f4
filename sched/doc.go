// Package sched is the deterministic core of Sojourn: the vocabulary of a cluster and its jobs, the state of both, and
// one function, [Core.Step], that takes what happened at an instant and returns what to do about it.
//
// Facts go in as an [Event], work comes out as an [Action]. Nothing here reads a clock, draws a random number, starts a
// goroutine, takes a lock or does I/O: an engine owns all of that. Equal events therefore give equal actions, in a
// simulation, in a live engine and in a replay.
//
// A [Policy] sees the cluster as a [View] and chooses actions through a [Plan]. Most policies are an order of stages,
// kept by an [Index], and a rule where to put a task; what they remember of a job or a stage lives in a [Per].
//
// # Vocabulary
//
// A job has stages, a stage has tasks, an attempt is one execution of a task on a node. A queue is a named share of the
// cluster, in a tree; a user of a queue is a leaf below it. A shape is an interned vector of resources: what
// one task asks for. Room is unused capacity.
//
// # Conventions
//
// IDs count from 1 and zero means none, except that queue 0 is the root. Slices and rows that a View or a Step hands
// out are lent: they are valid until the next Step, and rows of what has ended stay readable until then. The
// ID of a shape that no stage and no attempt has is lent, too.
//
// # Files
//
//	types.go  event.go  spec.go  rows.go      the vocabulary: IDs and amounts; events and actions; what users, engines
//	                                          and policies hand in; the rows of the state
//	validate.go  terms.go  json.go            checks of specs; terms of a job as text; amounts as JSON
//	core.go  view.go  plan.go  dispatch.go    the core; what a policy reads and asks for; what an engine carries out
//	index.go  tournament.go  per.go           what policies are made of: orders of stages, and memory by row
//	forecast.go  likeness.go                  room that is expected; which stages of different jobs are alike
//	cluster.go  jobs.go  attempts.go          the state: events of nodes, of jobs, of attempts
//	queue.go  tasks.go  wishes.go  tables.go  queues; the tasks of a stage, and where they would run; slots of rows
//	ledger.go  shape.go  nodeset.go  log.go   sums of what is held; nodes with room; which stages have changed
//	state.go  restore.go                      the state as data for a file, and a core made from it
package sched
