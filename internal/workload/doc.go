// Package workload says where jobs come from: traces and histories of real clusters read, loads
// generated, sources taken, stretched and merged; and the cluster that they run on.
//
// Everything is a Source: jobs in order of submission, one at a time, so that ten million take the memory of ten. What
// a job asks for is its sched.JobSpec; what then really happens in its tasks, which no policy may know, is its Payload:
// a *Truth for the simulator, or a *Program for an engine that runs real jobs.
package workload
