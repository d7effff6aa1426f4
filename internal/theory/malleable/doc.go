// Package malleable divides slots among malleable jobs so that a chosen metric is as good as it can be, with minima and
// maxima kept (FLEX: A Slot Allocation Scheduling Optimizer for MapReduce Workloads; docs/spec/flex.md). A malleable
// job has an amount of work, may use any number of slots from its minimum to its maximum, and may change that number
// at any time; s slots do s slot-seconds of work a second.
//
//	Problem, Job, Penalty     slots, jobs, and what each job costs by the instant at which it completes
//	Metrics                   the penalties of response, stretch, tardiness, service levels and makespan, by name
//	Problem.Pack              malleable packing: an order of jobs becomes a schedule of intervals
//	Problem.Moldable          the best fixed number of slots for each job, which gives the generic order
//	Problem.Orders            the generic order and the orders of the classical one-machine rules
//	Problem.Solve             the best of these orders, improved by moving single jobs
//	Problem.Best              the best of all orders, for few jobs
//	Problem.Bound             a value that no schedule falls below
//	Fair, FIFO                the baselines: an equal waterline above the minima, and arrival order
//
// The package is pure: no clock, no randomness, no I/O. Jobs are named by their index, which is their order of arrival.
package malleable
