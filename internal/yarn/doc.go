// Package yarn is the third engine: a ResourceManager that speaks Hadoop's own protocols, so that stock NodeManagers,
// MapReduce, Spark and the commands run unmodified while the policies of this project decide.
//
// Files in layers, the highest first. A file rarely uses names of the files above it (TestTidyArrows counts):
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
//	masterlaunch.go  topology.go  doors.go  log.go  what runs outside of turns: calls to nodes and programs, the log
//	site.go  properties.go  capacity.go  fairscheduler.go  hosts.go
//	                                                Hadoop's configuration files, as they stand
//	config.go  queues.go  access.go  hints.go  names.go  exceptions.go
//	                                                what comes of them: addresses, limits, queues, who may do what
//
// For the core an application is a job, an ask group (priority, size, allocation id) is a stage, and a container is an
// attempt; the ApplicationMaster's own container is stage 0. The core keeps room, queues and headroom; this package
// keeps tokens, replies, and containers by their attempt. The core chooses the stage and the node of a container, and
// the ApplicationMaster chooses what to run in it. So a launch of the core is the grant of a container here. A launch
// here is, as in Hadoop, the start of an ApplicationMaster by its NodeManager.
//
// All state has one owner at a time: one of the callers' goroutines, which serves the queue of calls (owner.go). Each
// call of a peer is a function that runs within a turn. It takes in the facts of the call, and returns a function that
// makes the answer; the owner calls that after the Step to which the facts led. So an allocate call is answered with
// the containers that its own asks were granted, and many calls share one Step when many arrive at once.
package yarn
