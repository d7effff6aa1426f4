// Package yarn is the third engine: a ResourceManager that speaks Hadoop's own protocols, so that stock NodeManagers,
// MapReduce, Spark and the commands run unmodified while the policies of this project decide.
//
// Files in layers, the highest first. A file rarely uses names of the files above it (TestTidyArrows counts):
//
//	takeover.go  hadoopstate.go                     exchanging the state with Hadoop's ResourceManager
//	serve.go  failover.go  page.go                  wiring it together; taking turns with others; the page
//	rest.go  rest*.go  queueinfo.go                 the web address: pages and changes, with typed bodies
//	metrics.go  proxy.go  spnego.go                 what else is served there
//	admin.go  tracker.go  master.go  client*.go     one type a protocol: what a call does to the state, its answer
//	change.go  delegation.go  dynamic.go  audit.go  what clients and operators change, and the log of that
//	kerberos.go  services.go  superusers.go         who may call
//	front.go  owner.go                              what servers use outside of turns; whose turn it is
//	recover.go  saved.go                            how the state comes back; what of it outlives the process
//	decide.go                                       a Step of the core, and its actions carried out
//	application.go  attempt.go  masterplace.go  shun.go
//	                                                applications, and where their ApplicationMasters start
//	node.go  use.go  room.go  collection.go         nodes: what they use, offer, and do with logs
//	container.go  asks.go  resize.go  permissions.go
//	                                                containers: grants, asks, sizes, and who may see them
//	manager.go  tables.go  nodetable.go  apptable.go  liveness.go
//	                                                how these are found; what happens when
//	state.go                                        the types of the state, each with its states at the top
//	masterlaunch.go  topology.go  resolver.go  doors.go  log.go
//	                                                what runs outside of turns: calls to nodes, programs and name
//	                                                servers, the log
//	site*.go  properties.go  xmlfile.go  capacity.go  fairscheduler.go  hosts.go  unread.go
//	                                                Hadoop's configuration files, as they stand
//	config.go  active.go  tls.go  sizes.go  queues.go  access.go  hints.go  names.go  lookup.go  exceptions.go
//	files_*.go                                      what comes of them: addresses, limits, queues, who may do what
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
