package theory

// Flow is a job as the two-machine model sees it: all map slots are one machine, all reduce slots another, a job is
// reduced when it is mapped, and both machines take the jobs in the same order. Exact where every stage fills its slots
// evenly, an estimate otherwise. Source of all formulas of this model: Tang, PhD thesis on MROrder, chapter 3, with its
// equation numbers.
type Flow struct {
	Map, Reduce               float64 // s that the stage takes with all slots of the cluster: work ÷ slots
	LongestMap, LongestReduce float64 // s of the longest single task, which bounds how uneven the end of a stage is
}

// Total returns the size of the job, T_i = T_i^M + T_i^R.
func (f Flow) Total() float64 { return f.Map + f.Reduce }

// FlowMakespan returns the makespan F(φ) of the jobs in the given order:
//
//	F = max_k ( Σ_{i≤k} T_i^M + Σ_{i≥k} T_i^R )    (3.3)
func FlowMakespan(flows []Flow, order []int) float64 {
	mapped, reduced := 0.0, 0.0
	for _, i := range order {
		mapped += flows[i].Map
		reduced = max(reduced, mapped) + flows[i].Reduce
	}
	return reduced
}

// Interval is a range of makespans, in s.
type Interval struct {
	Low  float64
	High float64
	// Safe is a true upper bound. High, the published one, leaves out reduces of earlier jobs that still run when the
	// reduce slots last idle, and is exceeded in rare cases; Safe adds one more longest reduce.
	Safe float64
}

// OrderBound returns bounds on the makespan of one order when the tasks run on slots (Lemma 3.2). Low is zero: F is
// no lower bound for a given order, because reduces overtake. High is
//
//	max_k [ Σ_{i≤k} T_i^M + max_{i≤k} longest map_i + Σ_{i≥k} T_i^R ] + max_i longest reduce_i    (3.5)
func OrderBound(flows []Flow, order []int) Interval {
	mapped, longestMap, longestReduce, reduced := 0.0, 0.0, 0.0, 0.0
	for _, i := range order {
		f := flows[i]
		mapped += f.Map
		longestMap = max(longestMap, f.LongestMap)
		longestReduce = max(longestReduce, f.LongestReduce)
		reduced = max(reduced, mapped+longestMap) + f.Reduce
	}
	return Interval{High: reduced + longestReduce, Safe: reduced + 2*longestReduce}
}

// AnyOrderBound returns bounds on the makespan of every order of the jobs when the tasks run on slots (Lemma 3.3): Low
// is F of Johnson's order, no schedule is shorter; High is F of its reverse plus the longest map and the longest reduce
// (3.6).
func AnyOrderBound(flows []Flow) Interval {
	longestMap, longestReduce := longest(flows)
	best := Johnson(flows)
	low := FlowMakespan(flows, best)
	worst := FlowMakespan(flows, Reversed(best))
	return Interval{Low: low, High: worst + longestMap + longestReduce, Safe: worst + longestMap + 2*longestReduce}
}

// longest returns the longest map and the longest reduce of all jobs.
func longest(flows []Flow) (longestMap, longestReduce float64) {
	for _, f := range flows {
		longestMap = max(longestMap, f.LongestMap)
		longestReduce = max(longestReduce, f.LongestReduce)
	}
	return longestMap, longestReduce
}
