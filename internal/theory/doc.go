// Package theory holds the mathematics of sharing and of sequencing as pure functions of numbers: no clock, no
// randomness of its own, no I/O, nothing of the scheduler's vocabulary. Policies use it to decide, tests use it as an
// oracle, and the fluid simulation is the yardstick against which real schedules are read.
//
//	Fluid                          one divisible server under FIFO, PS, LAS, SRPT, SPT, FSP, PSBS, GITTINS
//	GittinsRanks, SizeBelief       which job to serve when sizes are known by their law only
//	BoundedFluid                   the same under FSPY and fair sharing, of jobs that use a part of it at most
//	ScaleToLoad, DataSize          sizes for Fluid from bytes
//	MaxMin                         dividing the capacity of one resource; VirtualCluster divides several
//	LongTermRule                   fairness that remembers: LTYARN's models; its engine is in folder reference
//	Karma                          fairness that remembers, by credits for what was donated
//	UnitTime, Apportion, Loans     exact accounts of what was held, lent and borrowed
//	Johnson, SplitJohnson, ...     orders for jobs of two stages, and what the two-machine model says of an order
//	SlotSim                        the same jobs task by task on slots; exhaustive and local search over orders
//	Waves, StaticTime, ...         closed forms for one job on slots
//	malleable                      a folder: dividing slots so that a metric is as good as it can be (FLEX)
//	Percentile, JainIndex          statistics with a stated convention
//
// Times are in seconds and work is in seconds of the whole server unless a comment says otherwise; nothing depends on
// the unit, only on its being the same everywhere in a call. Jobs are named by their index in the slice given.
package theory
