// Package yarn is the third engine: a ResourceManager that speaks Hadoop's own protocols, so that stock NodeManagers,
// MapReduce, Spark and the commands run unmodified while the policies of this project decide.
//
//	tracker.go  master.go  client.go  admin.go      one protocol a file: what a call does to the state, and what it is answered
//	manager.go                                      the owner: calls in, a Step of the core, actions out, answers
//	node.go  application.go  attempt.go  container.go  asks.go   the state, each a small machine with its states named at the top
//	change.go  delegation.go  hints.go              what clients change of applications, the tokens they ask for, what they say in tags
//	tables.go  liveness.go                          how containers are found; who has not been heard of, and what is to happen when
//	site.go  properties.go  capacity.go  fairscheduler.go  hosts.go  topology.go      Hadoop's files of configuration, as they stand
//	config.go  queues.go                            what comes of them: addresses, limits, queues, where an application goes
//	launcher.go                                     starts ApplicationMasters on NodeManagers, as their client
//	rest.go  restxml.go  proxy.go  metrics.go       the web address
//	serve.go                                        wires it together
//
// An application is a job, an ask group (priority, size, allocation id) a stage, a container an attempt; the
// ApplicationMaster's own container is stage 0. Room, queues and headroom exist in sched.Core alone; here are tokens,
// replies, and containers by their attempt. The core chooses the stage and the node of a container, the
// ApplicationMaster what to run in it.
//
// All state has one owner at a time: the goroutine that leads the line of calls, one of those that called. Each call of
// a peer is a function that the owner runs: it takes the facts of the call in and returns how to answer, which is asked
// after the Step that those facts led to. So an allocate call is answered with what its own asks were granted, and many
// calls share one Step when many come at once.
package yarn
