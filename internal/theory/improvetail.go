package theory

import (
	"math/rand/v2"
	"slices"
)

// ImproveTail looks for a better order than start by moving one job at a time to another place; the first fixed jobs
// keep their places. A move is kept when it makes the goal no worse, so that the search wanders over plateaus, and the
// best order seen is returned, never worse than start. It stops after Steps, never by time, or when no order can be
// better.
func (s *SlotSim) ImproveTail(start []int, fixed int, search LocalSearch) ([]int, Result) {
	best, bestResult := slices.Clone(start), s.Run(start)
	n := len(start) - fixed
	if n < 2 {
		return best, bestResult
	}
	least := s.leastPossible(search.Goal)
	chance := rand.New(rand.NewPCG(search.Seed, 0))
	order, here := slices.Clone(best), bestResult
	tail := order[fixed:]
	for range search.Steps {
		if !better(least, search.Goal.Of(bestResult)) {
			break
		}
		from, to := chance.IntN(n), chance.IntN(n-1)
		if to >= from {
			to++
		}
		Move(tail, from, to)
		r := s.Run(order)
		if better(search.Goal.Of(here), search.Goal.Of(r)) {
			Move(tail, to, from)
			continue
		}
		here = r
		if better(search.Goal.Of(r), search.Goal.Of(bestResult)) {
			copy(best, order)
			bestResult = r
		}
	}
	return best, bestResult
}
