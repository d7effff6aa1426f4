// Package reverse plans from the last deadline back to now against the capacity that is expected to be available
// (Reverse-Adaptive scheduler; Polo, Multi-constraint Scheduling of MapReduce Workloads, PhD thesis, UPC 2014, section
// 5.3; docs/spec/reverse.md). What does not fit into the time that is left must run now.
//
//	Plan.Fit        how many maps of each job must be placed now, so that all goals stay within reach
//	Utility         how well off a job is, by that number and by its average requirement
//	Divide          equal slots given one by one to the job that is worst off
//
// The package is pure: no clock, no randomness, no I/O. Times are in seconds.
package reverse
