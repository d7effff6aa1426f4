// Package yarn is the third engine: a ResourceManager that speaks Hadoop's own protocols, so that stock NodeManagers,
// MapReduce, Spark and the commands run unmodified while the policies of this project decide.
//
// Files from the top to the bottom; few names of those above it are used (TestTidyArrows counts):
//
//	serve.go                                        wires it together
//	rest.go  restchanges.go  restpages.go  restbodies.go  queueinfo.go
//	proxy.go  metrics.go                            the web address: pages, their typed bodies
//	admin.go  tracker.go  master.go  clientserver.go  client.go  change.go  delegation.go
//	                                                one type a protocol: what a call does to the state, and its answer
//	front.go  owner.go                              what servers use outside of turns; whose turn it is
//	saved.go  recover.go                            what outlives the process, and how it comes back
//	decide.go                                       a Step of the core, and its actions carried out
//	node.go  application.go  permissions.go  attempt.go  container.go  asks.go  shun.go  use.go
//	                                                what happens to each part of the state
//	manager.go  nodetable.go  apptable.go  tables.go  liveness.go
//	                                                how parts are found; what happens when
//	state.go                                        the types of the state, each with its states at the top
//	launcher.go  topology.go  doors.go  log.go      what works beside the state
//	site.go  properties.go  capacity.go  fairscheduler.go  hosts.go
//	                                                Hadoop's configuration files, as they stand
//	config.go  queues.go  access.go  hints.go  names.go  exceptions.go
//	                                                what comes of them: addresses, limits, queues, who may do what
//
// An application is a job, an ask group (priority, size, allocation id) a stage, a container an attempt; the
// ApplicationMaster's own container is stage 0. Room, queues and headroom exist in sched.Core alone; here are tokens,
// replies, and containers by their attempt. The core chooses the stage and the node of a container, the
// ApplicationMaster what to run in it.
//
// All state has one owner at a time: the goroutine that leads the line of calls, which is one of the callers
// (owner.go). Each call of a peer is a function that runs within a turn: it takes the facts of the call in and returns
// how to answer, which is asked after the Step that those facts led to. So an allocate call is answered with what its
// own asks were granted, and many calls share one Step when many arrive at once.
package yarn
