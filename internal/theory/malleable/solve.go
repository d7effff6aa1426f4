package malleable

import (
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/theory"
)

// A Solution is the best schedule that Solve found.
type Solution struct {
	Order []int
	Rule  string  // where the order comes from; "kept" for the one of last time
	Moved int     // how often moving one job made it better
	Exact bool    // no order is better: the search over all of them came to its end
	Value float64 // of the objective
	Done  []float64
	Slots []int // by job, in the first interval
}

// DefaultEffort lets Solve take 0.4 to 0.7 ms of a processor for 100 jobs, and 4 to 9 for 4,000, by metric.
const DefaultEffort = 60_000

// An Attempt is what Solve may spend and where it begins.
type Attempt struct {
	Effort int     // elementary steps: visits of a job; zero: DefaultEffort
	Keep   []int   // the order of last time, of all jobs; nil: none
	Churn  float64 // part of the objective by which another order must be better than Keep to replace it
	Search Search
}

// A Search says how far Solve goes while effort lasts.
type Search uint8

// The searches; each does what those after it do as well.
const (
	Proof      Search = iota // of at most 10 jobs under the largest penalty: all orders, whatever the effort
	EveryOrder               // of few jobs: all orders, but beginnings that cannot be better
	Moves                    // moves of single jobs
	Rules                    // the orders of the rules only
)

const (
	mostEvery = 12 // jobs up to which Solve tries to go through all orders
	mostProof = 10 // jobs up to which it can be told to come to the end under the largest penalty
)

// Solve returns the best packing among the orders of the rules, improved by moving single jobs and, for few jobs, by
// going through all orders, while effort lasts. With Proof, and at most 10 jobs under the largest penalty, it goes
// through all of them whatever the effort is: mostly in less than a millisecond, and in half a second at worst (500
// random problems of each such metric). Of equally good orders of rules it takes the one with the least mean
// completion, then the one whose rule comes first. The same problem and attempt give the same solution.
func (p *Problem) Solve(a Attempt) Solution {
	if len(p.Jobs) == 0 {
		return Solution{}
	}
	if a.Effort == 0 {
		a.Effort = DefaultEffort
	}
	k := newPacker(p)
	best := Solution{}
	bestMean := 0.0
	for _, o := range p.Orders(&a.Effort) {
		v := k.value(o.Jobs)
		m := mean(k.done)
		if best.Order == nil || less(v, best.Value) || !less(best.Value, v) && less(m, bestMean) {
			best.Order, best.Rule, best.Value, bestMean = o.Jobs, o.Rule, v, m
		}
	}
	if n := len(p.Jobs); a.Search <= Moves && 4*n*n <= a.Effort { // each job can be moved at least once
		best.Order = slices.Clone(best.Order)
		best.Value, best.Moved = k.improve(best.Order, best.Value, &a.Effort)
	}
	if a.Search <= EveryOrder && len(p.Jobs) <= mostEvery {
		if a.Search == Proof && p.Worst && len(p.Jobs) <= mostProof {
			a.Effort = math.MaxInt
		}
		best.Exact = walkOrders(p, &best, a.Effort)
	}
	if a.Keep != nil {
		if v := k.value(a.Keep); !less(best.Value, v-a.Churn*abs(v)) {
			best = Solution{Order: slices.Clone(a.Keep), Rule: "kept", Value: v}
		}
	}
	best.Done = slices.Clone(k.finish(best.Order))
	best.Slots = p.Allocate(best.Order)
	return best
}

// less reports whether a is less than b by more than rounding explains.
func less(a, b float64) bool { return a+1e-9*min(abs(a), abs(b))+1e-12 < b }

func abs(x float64) float64 { return max(x, -x) }

func mean(list []float64) (m float64) {
	for _, x := range list {
		m += x
	}
	return m / float64(len(list))
}

// improve moves single jobs to other places in an order as long as that makes it better and effort lasts, the first
// improvement at once; it returns the value and the number of moves.
func (k *packer) improve(order []int, value float64, effort *int) (float64, int) {
	n := len(order)
	moves := 0
	for again := true; again; {
		again = false
		for from := range n {
			for to := range n {
				if to == from || to == from-1 { // the latter is the former move of the neighbour
					continue
				}
				if *effort -= 4 * n; *effort < 0 {
					return value, moves
				}
				theory.Move(order, from, to)
				if v := k.value(order); less(v, value) {
					value, again = v, true
					moves++
				} else {
					theory.Move(order, to, from)
				}
			}
		}
	}
	return value, moves
}

// Best returns the best of all orders and its objective, and whether the search came to its end within effort steps. It
// stands for the paper's exhaustive search, n! packings at worst; up to 10 jobs it is quick.
func (p *Problem) Best(effort int) (order []int, value float64, exact bool) {
	s := p.Solve(Attempt{Effort: effort})
	return s.Order, s.Value, s.Exact
}
