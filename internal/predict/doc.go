// Package predict computes how long MapReduce jobs will take before they run: a closed queueing network for the
// delays at processors, disks and the network, and a tree of tasks for the waits that their order causes. A timeline
// of container grants, rebuilt in each iteration, joins the two.
//
// The model is that of Glushkova, "MapReduce Performance Models for Hadoop 2.x" (UPC, 2016), which follows Vianna et
// al. (2013) and Liang and Tripathi (2000). docs/spec/performance-model.md defines every formula. Two presets exist:
// Default, which is accurate, and Thesis, which is the model as printed.
//
// The command "sojourn model" prints what this package computes. Estimators, which learn task times and sizes while
// jobs run, are in package model.
//
// The package also has the references and baselines that the model is held against: exact mean value analysis,
// Bard-Schweitzer, Herodotou's static cost model and ARIA's bounds.
package predict
