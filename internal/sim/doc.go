// Package sim is the engine that simulates: a clock of whole nanoseconds that jumps from event to event, and a cluster
// that exists as a description. What it drives is sched.Core, the same code that live engines drive.
//
// Jobs come from a workload.Source with the truth about their tasks in JobSpec.Payload (*workload.Truth). Costs say
// what else happens on the way: chance, remote reads, stragglers, failures, lost nodes, a shared network, heartbeats.
// The zero Costs add nothing: a task takes its true time divided by the speed of its node.
//
// All chance is a function of Config.Seed and of what it is for (which job, stage, task, node), never of the order in
// which things happen. So one seed gives policies that are compared the same jobs on the same cluster with the same
// accidents, and two runs are equal.
//
// The parts. Each gets only what it needs of those before it:
//
//	agenda    the instant, the queue of what is due, and the facts for the next Step; all parts share it
//	attempts  the attempts that run and the jobs they are of
//	machines  nodes: they join, are lost, return and follow timetables
//	network   links, and what reduces fetch over them
//	probes    jobs that run samples of other jobs
//	tasks     carry out attempts: when each ends, and what the core learns of it
//	masters, rampDown, sequel, beats, feed  what ApplicationMasters, nodes and the source of jobs do
//	engine    joins the parts and goes from instant to instant
//
// docs/spec/simulator.md states the whole model: every cost, its default, where the default is from, and its flag.
package sim
