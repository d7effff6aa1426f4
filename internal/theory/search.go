package theory

// Goal is what a search over orders makes small.
type Goal uint8

const (
	LeastMakespan Goal = iota // Result.Makespan
	LeastTotal                // Result.Total
)

// Of returns the value of the result under the goal, in s.
func (g Goal) Of(r Result) float64 {
	if g == LeastTotal {
		return r.Total
	}
	return r.Makespan
}

// gain is by how much, relatively, a value must be lower to count as better: sums of the same tasks in another order
// may differ by rounding, and that must not decide between orders.
const gain = 1e-9

// better reports whether a is lower than b by more than rounding explains.
func better(a, b float64) bool { return a < b-gain*b }

// LocalSearch bounds and seeds ImproveTail.
type LocalSearch struct {
	Goal  Goal
	Steps int    // orders that may be simulated; about 50 for each job is a good start
	Seed  uint64 // equal seeds give equal results
}

// leastPossible returns a value below which the goal cannot fall.
func (s *SlotSim) leastPossible(goal Goal) float64 {
	if goal == LeastMakespan {
		return AnyOrderBound(Flows(s.jobs, s.slots)).Low
	}
	return 0
}

// Move takes the element at from out and puts it back at to. The elements between move by one place.
func Move(order []int, from, to int) {
	job := order[from]
	if from < to {
		copy(order[from:to], order[from+1:to+1])
	} else {
		copy(order[to+1:from+1], order[to:from])
	}
	order[to] = job
}
