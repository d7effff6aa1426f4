// Package predict computes how long MapReduce jobs will take before they run: a closed queueing network for the
// delays at processors, disks and the network, and a tree of tasks for the waits that their order causes. A timeline
// of container grants, rebuilt in each iteration, joins the two.
//
// The model is that of Glushkova, "MapReduce Performance Models for Hadoop 2.x" (UPC, 2016), which follows Vianna et
// al. (2013) and Liang and Tripathi (2000). docs/spec/performance-model.md defines every formula.
//
// There are three forms. Usual, in which running tasks slow each other down on a timeline, is what users get. Fifo
// has the queueing network of the spec's preset fifo. Thesis is the model as printed.
//
// The command "sojourn model" prints what this package computes. Estimators, which learn task times and sizes while
// jobs run, are in package model.
//
// The package also has the references and baselines that the model is held against: exact mean value analysis,
// Bard-Schweitzer, Herodotou's static cost model and ARIA's bounds.
//
//	cluster.go                          the input: clusters, jobs and their subtasks
//	profile.go  static.go               a job as a user describes it, and demands from its data (Herodotou)
//	history.go                          a job as histories of its runs, or times of its past tasks, describe it
//	learn.go                            demands on one machine, learned from measured runs
//	predict.go                          Predict: settings, results, and the iteration that joins the parts below
//	timeline.go  mapqueue.go            when each subtask runs, by a simulation of the grants of containers
//	share.go                            the same where running tasks slow each other down; no queueing network then
//	tree.go  overlap.go  estimate.go    the tree of tasks; which tasks overlap, and a job's time, by the tree
//	law.go                              laws of times, by mean and variance
//	sweep.go                            one sweep over the queueing network: new times of all tasks
//	mva.go  baseline.go                 the references and baselines
package predict
