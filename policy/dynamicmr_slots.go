package policy

import "github.com/sojourn-sched/sojourn/sched"

// The slots that DynamicMR knows. A pair of values is of map slots and of reduce slots.
var slotKinds = [2]sched.ResourceKind{sched.MapSlots, sched.ReduceSlots}

// sideOfSlots returns the index of a kind of slots in a pair: 0 for map slots, 1 for reduce slots.
func sideOfSlots(k sched.ResourceKind) int { return int(k - sched.MapSlots) }

// otherSlots returns the other kind of slots.
func otherSlots(k sched.ResourceKind) sched.ResourceKind {
	return sched.MapSlots + sched.ReduceSlots - k
}

// isSlots reports whether k is one of the kinds of slots.
func isSlots(k sched.ResourceKind) bool { return k == sched.MapSlots || k == sched.ReduceSlots }

// lendable reports whether tasks of st, which compete for slots of kind k, may hold slots of the other kind.
func lendable(st *sched.Stage, k sched.ResourceKind) bool {
	return st.Kind == sched.Map && k == sched.MapSlots && kindOf(st) == k ||
		st.Kind == sched.Reduce && k == sched.ReduceSlots && kindOf(st) == k
}

// mostLooks bounds how many stages are looked at for one with a task that can use an idle slot.
const mostLooks = 32
