package theory

import (
	"slices"
)

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

func better(a, b float64) bool { return a < b-gain*b }

// Exhaustive runs every order of the simulator's jobs and returns the best, of equal ones the first in lexicographic
// order of job index: the ordering engine SIM of MROrder, which uses it for up to 7 jobs. It costs n! runs, so ten jobs
// are many; without jobs the order is empty.
func (s *SlotSim) Exhaustive(goal Goal) ([]int, Result) {
	order := indices(len(s.jobs))
	best, bestResult := slices.Clone(order), s.Run(order)
	for nextPermutation(order) {
		if r := s.Run(order); better(goal.Of(r), goal.Of(bestResult)) {
			copy(best, order)
			bestResult = r
		}
	}
	return best, bestResult
}

// nextPermutation moves p on to the next order in lexicographic order, or reports false at the last.
func nextPermutation(p []int) bool {
	i := len(p) - 2
	for i >= 0 && p[i] > p[i+1] {
		i--
	}
	if i < 0 {
		return false
	}
	j := len(p) - 1
	for p[j] < p[i] {
		j--
	}
	p[i], p[j] = p[j], p[i]
	slices.Reverse(p[i+1:])
	return true
}

// LocalSearch bounds and seeds Improve.
type LocalSearch struct {
	Goal  Goal
	Steps int    // orders that may be simulated; about 50 for each job is a good start
	Seed  uint64 // equal seeds give equal results
}

// Improve looks for a better order than start by moving one job at a time to another place: a move is kept when it
// makes the goal no worse, so that the search wanders over plateaus, and the best order seen is returned, never worse
// than start. It stops after Steps, never by time, or when no order can be better. For the numbers of jobs between what
// Exhaustive affords and what a rule alone should decide.
func (s *SlotSim) Improve(start []int, search LocalSearch) ([]int, Result) {
	return s.ImproveTail(start, 0, search)
}

// leastPossible returns a value below which the goal cannot fall.
func (s *SlotSim) leastPossible(goal Goal) float64 {
	if goal == LeastMakespan {
		return AnyOrderBound(Flows(s.jobs, s.slots)).Low
	}
	return 0
}

// move takes the element at from out and puts it back at to.
func move(order []int, from, to int) {
	job := order[from]
	if from < to {
		copy(order[from:to], order[from+1:to+1])
	} else {
		copy(order[to+1:from+1], order[to:from])
	}
	order[to] = job
}
