// Package streaming runs programs in any language as mappers, combiners and reducers, by the contract of Hadoop
// Streaming (hadoop.apache.org, "Hadoop Streaming"): a program reads lines on its standard input and writes lines on
// its standard output; in a pair, the key is what stands before the first TAB. It finds the job's configuration in its
// environment, and speaks to the engine by lines on standard error that begin with "reporter:".
//
// [Job] makes a job of command lines (job.go, command.go, options.go); [Start] runs one program (process.go,
// stderr.go), in a process group that ends with the engine (group_*.go, guard.go).
//
// Where it departs from Hadoop: quoted words of a command line join as in a shell; a program that stops reading its
// input and exits with success has succeeded; a combiner's pairs are put in order.
package streaming
