// Package hardware divides slots among jobs on a cluster with accelerated and ordinary nodes, as pure functions of
// numbers. It follows J. Polo, Multi-constraint scheduling of MapReduce workloads (PhD thesis, UPC 2014), 3.4.3 and
// 3.4.4; docs/spec/hardware.md states the corrections.
//
// A pool is a set of slots that are alike for tasks. The home of a job is the pool that its code uses best. Needs
// are in slots of the home. Times may have any unit that is the same everywhere in a call.
package hardware

import (
	"math"

	"github.com/sojourn-sched/sojourn/internal/theory/goals"
)

// Classify returns the speedup of an accelerated pool, the mean task time on regular nodes ÷ the mean task time
// in the pool, and reports whether the job profits: the speedup exceeds the threshold strictly (3.4.3). Both
// means are positive.
func Classify(regular, accelerated, threshold float64) (speedup float64, accelerable bool) {
	speedup = regular / accelerated
	return speedup, speedup > threshold
}

// Demand returns how many slots a job must hold at once to do its work in the time that is left, the slots that
// it holds included (equation 2 in its total form). Work is what is left of the running tasks and all of those
// that wait. Without time left the demand is infinite.
func Demand(work, left float64) float64 {
	if left <= 0 {
		return math.Inf(1)
	}
	return work / left
}

// Remaining returns the work of a stage: for each running task what is left of the mean task time, at least
// nothing, and the whole mean for each waiting task. Elapsed are the times for which tasks have run.
func Remaining(mean float64, waiting int, elapsed []float64) float64 {
	work := mean * float64(waiting)
	for _, ran := range elapsed {
		work += goals.Remaining(mean, ran)
	}
	return work
}

// Extra returns the regular slots that a job needs on top of a whole accelerated pool (equation 3, with the total
// demand): for each accelerated slot that is missing as many as the speedup.
func Extra(speedup, demand float64, pool int) float64 {
	return max(0, speedup*(demand-float64(pool)))
}

// Load returns the part of an accelerated pool that a job demands (equation 4, with the total demand). Above 1
// the job spills over to regular nodes.
func Load(demand float64, pool int) float64 { return demand / float64(pool) }

// NodeShare returns the part of all nodes that a job uses (figure 3.1), where part is the accelerated pool's part
// of all nodes.
func NodeShare(load, speedup, part float64) float64 {
	if load <= 1 {
		return part * load
	}
	return min(1, part+part*speedup*(load-1))
}

// ExhaustingLoad returns the load of the accelerated pool at which a job needs all nodes: the least load for which
// NodeShare is 1.
func ExhaustingLoad(speedup, part float64) float64 { return 1 + (1-part)/(part*speedup) }
