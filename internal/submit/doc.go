// Package submit runs jobs on a YARN cluster: the built-in jobs and programs by Hadoop Streaming, and MapReduce jars.
// It runs the commands of a Hadoop installation, so it needs nothing on the cluster but what stock Hadoop has there,
// and works with any ResourceManager.
//
// [Client] runs Hadoop's commands. [Cluster] asks the ResourceManager by REST how jobs are. [Submitter] submits a
// workload at its times, samples of its jobs first where that is asked for ([Sampling]), and tells what became of it. A
// [Worker] is the other end: it runs in the containers of a built-in job as mapper and reducer.
package submit
