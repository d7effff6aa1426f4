package policy

import "github.com/sojourn-sched/sojourn/sched"

// A Ranking returns the place of stage st in an order: the smallest key first, and of equal keys the job that was
// submitted first. It may read the row of st, the rows of its job and of the job's other stages, and what the policy
// remembers of these in a [sched.Per]. If that memory changes, the policy calls [sched.Plan.Touch] or TouchJob. A key
// that read anything else would be out of date unnoticed.
//
// The argument more is 1 when the order is about to start a task of st, and 0 when it considers taking one back. A
// ranking by running tasks adds it to their number: else a task could be taken back right after its start. Other
// rankings ignore it.
type Ranking func(v *sched.View, st *sched.Stage, more int32) sched.Key

// earlier reports whether stage a was submitted before stage b. It decides between stages with equal keys.
func earlier(a, b sched.StageID) bool { return a.Job < b.Job || a.Job == b.Job && a.Index < b.Index }

// backwards returns the key of st in the order from the last stage to the first, where k is its key in the order.
func backwards(k sched.Key, st *sched.Stage) sched.Key {
	return sched.Key{Class: -k.Class, Value: -k.Value, Then: -int64(st.ID.Job)}
}

// kindOf returns the kind of resource in which st competes with other stages: the first kind that a task asks for.
func kindOf(st *sched.Stage) sched.ResourceKind {
	each := &st.Spec.PerTask // a range over the vector itself would copy it
	for k := range each {
		if each[k] > 0 {
			return sched.ResourceKind(k)
		}
	}
	panic("policy: a task that asks for nothing")
}

// kindGroup returns the group of st in an index with one group for each kind of resource.
func kindGroup(st *sched.Stage) int { return int(kindOf(st)) }
