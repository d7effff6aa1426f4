// Package theory holds the mathematics of sharing and of sequencing as pure functions of numbers: no clock, no
// randomness of its own, no I/O, nothing of the scheduler's vocabulary. Policies use it to decide, tests use it as an
// oracle, and the fluid simulation is the yardstick against which real schedules are read.
//
//	Fluid                          one divisible server under FIFO, PS, LAS, SRPT, SPT, FSP, PSBS, GITTINS (fluid*.go)
//	GittinsRanks, SizeBelief       which job to serve when sizes are known by their law only
//	BoundedFluid                   the same under FSPY and fair sharing, of jobs that use a part of it at most
//	ScaleToLoad, DataSize          sizes for Fluid from bytes
//	LoadLevel, Windows             how heavy a workload is (FSPY)
//	PlanSample, SemiRandom         what a probe of a job reads (FSPY)
//	MaxMin                         dividing the capacity of one resource; VirtualCluster divides two, in one pass
//	                               (onepass.go) or by dominant resource fairness (drf.go)
//	Race                           an order of amounts that shrink at rates of their own (lineup.go, tournament.go)
//	LongTermRule                   fairness that remembers: LTYARN's models; its engine is in folder reference
//	Karma                          fairness that remembers, by credits for what was donated
//	UnitTime, Apportion, Loans     exact accounts of what was held, lent and borrowed
//	Lend, UsableSlots, CheckedJobs lending map and reduce slots to each other (DynamicMR)
//	Johnson, SplitJohnson, ...     orders for jobs of two stages, and what the two-machine model says of an order
//	SlotSim                        the same jobs task by task on slots; exhaustive and local search over orders
//	Waves, StaticTime, ...         closed forms for one job on slots
//	Percentile, JainIndex          statistics with a stated convention; ConfidenceOf and Compared have intervals
//
// The folders have the theory of single policies:
//
//	goals        adaptive, minedf: what a job needs to complete by its goal
//	hardware     hardware: slots of accelerated and ordinary nodes
//	malleable    flex: dividing slots so that a metric is as good as it can be
//	placement    ras: placing tasks by what they use of each resource
//	reverse      reverse: planning from the last goal back to now
//	reference    algorithms as plainly as their sources print them, for tests and reproductions
//
// Times are in seconds and work is in seconds of the whole server unless a comment says otherwise; nothing depends on
// the unit, only on its being the same everywhere in a call. Jobs are named by their index in the slice given.
package theory
