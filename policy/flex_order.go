package policy

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/sched"
)

// The classes of stages under flex, in that order.
const (
	flexMaster  = iota - 3 // bounded by masterLimit
	flexUnknown            // of unknown task time, and fewer tasks than are to run for it to become known
	flexLacks              // less than its slots
	flexHas
	flexStarves // waits for tasks of its own job that have no room yet
)

// flexOrder makes keys of slots: of a stage in its queue, and of a queue among its siblings.
type flexOrder struct{ wants *flexDivision }

// goal returns the key of st among the stages of a queue. A stage with an unknown task time comes first while it has
// few tasks. Then come stages that hold less than their slots: with base=none the one that lacks most
// (docs/spec/flex.md, 2.11), with base=fair the one that holds the smallest part of its slots, as fair serves minimum
// shares. The other slots, which are left when a job has fewer tasks than slots, go to stages in the order of the
// packing; with base=fair to the job that holds least for its weight.
func (o flexOrder) goal(_ *sched.View, st *sched.Stage, _ int32) sched.Key {
	if st.Kind == sched.Master {
		return sched.Key{Class: flexMaster}
	}
	s := o.wants.Slots.Of(st)
	have, slots, place := int64(st.Running)*s.Each, s.Slots, int64(s.Place)
	switch {
	case starves(st):
		return sched.Key{Class: flexStarves, Value: float64(place)}
	case s.Each == 0 && st.Running == 0, have < slots && !s.Known: // it has just come, or waits for a sample
		return sched.Key{Class: flexUnknown}
	case have < slots && o.wants.fair:
		return sched.Key{Class: flexLacks, Value: float64(have) / float64(slots), Then: place}
	case have < slots:
		return sched.Key{Class: flexLacks, Value: float64(have - slots), Then: place}
	case o.wants.fair:
		return sched.Key{Class: flexHas, Value: float64(have) / st.Job.Weight, Then: place}
	}
	return sched.Key{Class: flexHas, Value: float64(place)}
}

// inWords says a key of goal.
func (o flexOrder) inWords(k sched.Key) string {
	place := fmt.Sprintf("place %d of the division", k.Then)
	switch {
	case k.Class == flexMaster:
		return "an ApplicationMaster"
	case k.Class == flexUnknown:
		return "the time of its tasks is unknown, and a few come first"
	case k.Class == flexStarves:
		return fmt.Sprintf("it waits for tasks of its own job that have no room yet, place %g of the division", k.Value)
	case k.Class == flexLacks && o.wants.fair:
		return fmt.Sprintf("it has %.6g of its slots, %s", k.Value, place)
	case k.Class == flexLacks:
		return fmt.Sprintf("it lacks %g of its slots, %s", -k.Value, place)
	case o.wants.fair:
		return fmt.Sprintf("it has its slots and holds %.6g for its weight, %s", k.Value, place)
	}
	return fmt.Sprintf("it has its slots, place %g of the division", k.Value)
}

// entitled returns the key of queue q among its siblings with base=fair. What the jobs of q are to hold counts as its
// minimum share.
func (o flexOrder) entitled(q *sched.Queue, k sched.ResourceKind) sched.Key {
	used, least := q.Used[k], q.Min[k]
	if s, ok := o.wants.Shares.Has(q); ok {
		least = max(least, s[k])
	}
	if least = min(least, q.Demand[k]); used < least {
		return sched.Key{Class: flexLacks, Value: float64(used) / float64(least)}
	}
	return sched.Key{Value: float64(used) / q.Weight()}
}
