// Package submit runs jobs on a YARN cluster: the built-in jobs and programs by Hadoop Streaming, and MapReduce jars.
// It runs the commands of a Hadoop installation, so it needs nothing on the cluster but what stock Hadoop has there,
// and works with any ResourceManager.
//
// [Client] runs Hadoop's commands. [Cluster] asks the ResourceManager by REST how jobs are. A [Submitter] submits the
// jobs of a workload at their times, and tells what became of them. If that is asked for ([Sampling]), it runs a sample
// of each job first, from which [Sizes] predict the job's size. A [Worker] is the other end: it runs in the containers
// of a built-in job as mapper and reducer.
//
// submit.go follows a job from its arrival to its end. job.go makes the command that submits it, and tags.go the tags.
// sample.go looks at a job's input and runs samples, and cuts.go finds the cut points of jobs whose parts are in order.
// pairs.go has the lines by which mappers and reducers of built-in jobs exchange pairs.
package submit
