// Package placement places tasks on nodes by what they use of each resource, so that the job which is worst off is as
// well off as it can be (RAS; Polo, Multi-constraint Scheduling of MapReduce Workloads, PhD thesis, UPC 2014, chapter
// 4; docs/spec/ras.md). A job has maps and reduces to place and a utility of how many of each it has.
//
//	Required                 the maps that a job must run at once to meet its goal
//	Utility                  how well off a job is with its maps and reduces
//	Problem, Job             nodes, jobs and what their tasks use
//	State                    a placement: how many maps and reduces of each job are on each node
//	State.PlaceReduces       step 1 of algorithm 1: reduces, spread over the nodes
//	State.PlaceMaps          step 2 of algorithm 1: maps, from the best off to the worst off
//
// The package is pure: no clock, no randomness, no I/O. Amounts are thousandths of the unit of a resource, as integers,
// so that sums are exact. Jobs and nodes are named by their index.
package placement
