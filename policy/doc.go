// Package policy holds the scheduling policies, each headed by its source, and the little language in which the command
// line names them: fair:delay=5s,preempt=kill or late{fair:delay=5s}:cap=0.1.
//
// Most policies are an [Order] of stages (whose turn it is) and a [Placer] (where), joined by [Order.Fill]. The memory
// of a policy is in its exported fields and goes through JSON. Everything else is a parameter or a cache. So a decision
// is a function of the view and the memory. A policy knows the engine through package sched alone, and runs on each.
//
// A program outside this module writes a policy with the same parts, see the example. It gives the policy a [Card] and
// an [Entry], adds it to the command line by cli.Main(cli.With(cli.Policy{...})), and tests it with package policytest.
//
// A policy has the file of its name. If it needs several files, they are named after it (dynamicmr_lend.go). Variants
// build on the file of another policy: minedf on edf, distributions on minedf, psbs on fsp, dynamicmr on late. The
// other files are shared, those below by those above:
//
//	all.go  card.go  parse.go                  the registry; what a policy says of itself; specs such as fair:delay=5s
//	tree.go  siblings.go  queueorder.go        policies with queues: from the root down to a stage
//	candidates.go                              the stages that a tree looks for, by queue
//	reclaim.go                                 taking tasks back from queues that hold more than their shares
//	order.go  key.go  line.go                  policies that are one order of stages; an order kept in parts
//	take.go  take_helpers.go  take_maxima.go   taking tasks back from the last jobs of such an order
//	take_masters.go                            the same where an ApplicationMaster waits
//	bysize.go  sized.go  sized_measure.go      orders by size: what is known of the sizes of jobs and stages
//	levelshares.go  levelserver.go             the virtual cluster of fsp, psbs, hfsp and gittins
//	slotlane.go                                slots of one kind, for policies that divide them among stages
//	place.go  keep.go                          on which node a task starts; nodes kept for big tasks
//	capacity_limits.go  capacity_users.go      what queues and users may hold under capacity
//	masters.go  master_limit.go                ApplicationMasters: starting them, and how much they may hold
//	ticker.go                                  work once in a while; for how long a condition has held
//	explain.go  words.go  lasting.go           what a policy tells of its decisions, and what it keeps beyond a run
//
// A policy of this package is a section in docs/spec/policies.md, a file with its card and its constructor, a line in
// All, and scenarios in testdata/<name>. The conformance suite runs on each policy of All.
package policy
