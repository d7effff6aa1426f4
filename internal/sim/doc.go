// Package sim is a discrete-event simulator: an engine whose clock, in whole nanoseconds, jumps from event to event,
// and whose cluster exists as a description only. It drives the same sched.Core as the live engines.
//
// Jobs come from a workload.Source. The true times of their tasks are in JobSpec.Payload (*workload.Truth). Costs
// describe what else may happen: chance, remote reads, stragglers, failures, lost nodes, a shared network, heartbeats.
// The zero Costs add nothing: a task takes its true time divided by the speed of its node.
//
// A random number is a function of Config.Seed and of what it is for (which job, stage, task, node), never of the order
// in which things happen. So policies that are compared under one seed get the same jobs on the same cluster with the
// same accidents, and a run can be repeated exactly.
//
// The parts. Each gets only what it needs of the parts above it:
//
//	agenda    the present instant, the queue of what is due, and the facts for the next Step; all parts share it
//	          (agenda.go; calendar.go is the queue)
//	attempts  the running attempts, and their jobs (attempt.go)
//	machines  nodes: they join, are lost, return and follow timetables (node.go, timetable.go); place.go has the racks
//	network   links, and what reduces fetch over them (shuffle.go, ranking.go)
//	probes    jobs that run samples of other jobs (probe.go)
//	tasks     carry out attempts: when each ends, and what the core learns of it (attempt.go); contention.go and
//	          throttle.go slow them
//	masters, rampDown, sequel, beats, feed  what ApplicationMasters, nodes and the source of jobs do
//	engine    joins the parts and goes from instant to instant (run.go); stuck.go finds runs without progress
//
// Config and Costs are in config.go. Alone (alone.go) estimates the time of a job without others, and takes no part in
// a run.
//
// docs/spec/simulator.md states the whole model: every cost, its default, where the default is from, and its flag.
package sim
