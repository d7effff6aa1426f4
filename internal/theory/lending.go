package theory

// SlotKind is one kind of slots of a cluster, map or reduce, as DynamicMR's lending sees it.
type SlotKind struct {
	Slots  int64 // of this kind
	Demand int64 // tasks of this kind that run, on whatever slots, or wait
	Away   int64 // of the running ones, those on slots of the other kind
	Lent   int64 // of Slots, those that tasks of the other kind hold
}

// Excess returns how many tasks find no slot of their kind; negative: how many slots are left over.
func (k SlotKind) Excess() int64 { return k.Demand - k.Away - (k.Slots - k.Lent) }

// Lend returns how many more tasks of the other kind may be let onto slots of k now, where quota is how many may be
// there in all:
//
//	min( quota − other.Away, other.Excess )    where k has slots left over, and at least 0
//
// Source: Tang, PhD thesis on DynamicMR, algorithm 6. There excess is Demand − Slots, which is wrong while slots are
// lent: it counts tasks that run on lent slots, and slots that are lent, as if they were not.
func Lend(k, other SlotKind, quota int64) int64 {
	if k.Excess() >= 0 {
		return 0
	}
	return max(0, min(quota-other.Away, other.Excess()))
}

// UsableSlots returns how many of a node's slots of a kind may be used so that all nodes are used alike:
//
//	ceil( min(1, demand ÷ capacity) × slots )
//
// with demand and capacity of the whole cluster, slots that are lent in both. Source: Hadoop 1's load manager
// (CapBasedLoadManager); the same thesis, 4.2.4. capacity > 0.
func UsableSlots(demand, capacity, slots int64) int64 {
	return (min(demand, capacity)*slots + capacity - 1) / capacity
}

// CheckedJobs returns how many jobs SEPB looks at for pending tasks before it starts a second attempt: a part of all,
// in [0, 1], rounded up. Source: the same thesis, 4.2.3.
func CheckedJobs(part float64, jobs int) int {
	n := int(part * float64(jobs))
	if float64(n) < part*float64(jobs) {
		n++
	}
	return n
}
