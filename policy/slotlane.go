package policy

import (
	"math"

	"github.com/sojourn-sched/sojourn/sched"
)

// A slotLane is the slots of one kind and the stages that compete for them. Map slots and reduce slots are counted as
// they are. In a cluster of containers a slot is the smallest dominant share that a task of any of the stages has: a
// larger task takes several. With tasks of one shape these are the containers that fit by the scarcest resource.
type slotLane struct {
	kind   sched.ResourceKind
	slots  int     // that the stages may have
	part   float64 // of the cluster that a slot is; zero: slots of a kind that is counted as it is
	stages []*sched.Stage
}

// mostSlots bounds the slots of a lane, where the tasks of one stage are tiny.
const mostSlots = 1 << 20

// each returns how many slots a task of st takes.
func (l *slotLane) each(v *sched.View, st *sched.Stage) int64 {
	if l.part == 0 {
		return st.Spec.PerTask[l.kind]
	}
	return max(1, int64(math.Round(st.Spec.PerTask.DominantShare(v.Capacity)/l.part)))
}

// atMost returns how many slots an amount of resources allows, where kinds with zero, or with more than there is, set
// no bound.
func (l *slotLane) atMost(v *sched.View, r sched.Resources) int64 {
	most := int64(mostSlots)
	for k, n := range r {
		switch {
		case n == 0 || n >= v.Capacity[k]:
		case l.part == 0 && sched.ResourceKind(k) == l.kind:
			most = min(most, n)
		case l.part > 0:
			most = min(most, int64(float64(n)/float64(v.Capacity[k])/l.part+1e-9))
		}
	}
	return most
}

// atLeast returns how many slots an amount of resources is a right to.
func (l *slotLane) atLeast(v *sched.View, r sched.Resources) int64 {
	if l.part == 0 {
		return min(r[l.kind], mostSlots)
	}
	return int64(r.DominantShare(v.Capacity)/l.part + 1e-9)
}

// laneOf returns the slots of a kind and the stages that compete for them. O(jobs).
func laneOf(v *sched.View, k sched.ResourceKind) *slotLane {
	l := &slotLane{kind: k}
	for j := range v.Jobs() {
		for _, st := range j.Stages {
			if runnable(st) && kindOf(st) == k {
				l.stages = append(l.stages, st)
			}
		}
	}
	if k == sched.MapSlots || k == sched.ReduceSlots {
		l.slots = int(v.Capacity[k])
		return l
	}
	l.part = 1.0
	for _, st := range l.stages {
		if s := st.Spec.PerTask.DominantShare(v.Capacity); s > 0 {
			l.part = min(l.part, s)
		}
	}
	l.part = max(l.part, 1.0/mostSlots)
	masters := v.Queues[0].Masters.DominantShare(v.Capacity)
	l.slots = int(max(0, (1-masters)/l.part+1e-9))
	return l
}

// slotsFor returns how many tasks of st the empty cluster holds.
func slotsFor(v *sched.View, st *sched.Stage) int64 {
	return min(math.MaxInt32, fitting(v.Capacity, st.Spec.PerTask))
}

// fitting returns how many tasks of a shape an amount of resources is enough for.
func fitting(capacity, each sched.Resources) int64 {
	n := int64(math.MaxInt64)
	for k, a := range each {
		if a > 0 {
			n = min(n, capacity[k]/a)
		}
	}
	return max(0, n)
}
