package theory

import (
	"cmp"
	"slices"
)

// Here are formulas that no policy needs and that tests hold against what policies use: closed forms, plain searches,
// and the one-call forms of what VirtualCluster does step by step.

// PSCompletions returns when each of the jobs, all present at time 0, is done under processor sharing on a server of
// rate 1. With the sizes in rising order s_1 ≤ … ≤ s_n:
//
//	c_k = s_1 + … + s_k + (n − k)·s_k
func PSCompletions(sizes []float64) []float64 {
	order := bySize(sizes)
	done := make([]float64, len(sizes))
	sum := 0.0
	for k, i := range order {
		sum += sizes[i]
		done[i] = sum + float64(len(order)-k-1)*sizes[i]
	}
	return done
}

// FSPCompletions returns when each of the jobs, all present at time 0, is done under FSP with exact sizes: then the
// order of completion under processor sharing is that of the sizes, so c_k = s_1 + … + s_k; SRPT and SPT do the same.
func FSPCompletions(sizes []float64) []float64 {
	done := make([]float64, len(sizes))
	sum := 0.0
	for _, i := range bySize(sizes) {
		sum += sizes[i]
		done[i] = sum
	}
	return done
}

// bySize returns the indices of sizes in rising order; equal ones keep their order.
func bySize(sizes []float64) []int {
	order := indices(len(sizes))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[a], sizes[b]) })
	return order
}

// DRF divides the capacity by weighted dominant resource fairness (Ghodsi et al., NSDI 2011) and returns each user's
// number of tasks, as a real number: the dominant shares
//
//	s_i = max_k tasks_i × Task_i[k] ÷ capacity[k]
//
// grow together, in proportion to the weights, until a user has reached its Limit or a resource that it needs is used
// up (progressive filling). With one resource this is MaxMin without minima. A user that needs a resource of capacity
// zero gets nothing; one whose task takes nothing gets its Limit. O(n log n + n·k) for n users and k resources.
func DRF(capacity []float64, users []TaskClaim) []float64 {
	f := newFilling(capacity, users)
	byLimit := make([]int32, len(users))
	for i := range byLimit {
		byLimit[i] = int32(i)
	}
	slices.SortStableFunc(byLimit, func(a, b int32) int { return cmp.Compare(f.reaches(a), f.reaches(b)) })
	for _, i := range byLimit {
		f.serve(i)
	}
	return f.tasks
}

// OnePassShares divides the capacity of several resources in one pass over the jobs, smallest bound in the first
// resource first (equal ones in the order given), and returns the fraction of its bound that each job gets, from 0 to
// 1:
//
//	fair = rest ÷ (jobs left),  fraction = min(1, min_k fair[k] ÷ bound[k]),  rest −= bound × fraction
//
// This is the virtual resource allocation of FSPY (its Algorithm 2, with the componentwise minimum for vectors). With
// one resource it is max-min fair; with more it may leave room that a job could still use, which DRF with Limit 1 does
// not. bounds[i] has a number >= 0 for each resource. O(n log n).
func OnePassShares(capacity []float64, bounds [][]float64) []float64 {
	order := make([]int, len(bounds))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(bounds[a][0], bounds[b][0]) })
	pass := newOnePass(capacity, len(bounds))
	has, fractions := make([]float64, len(capacity)), make([]float64, len(bounds))
	for _, i := range order {
		fractions[i] = pass.share(bounds[i], has)
	}
	return fractions
}

// WorkBound returns the least makespan of the jobs on slots that run either kind of task: all work ÷ all slots.
func WorkBound(jobs []SlotJob, s Slots) float64 {
	work := 0.0
	for _, j := range jobs {
		work += float64(j.Maps)*j.MapTime + float64(j.Reduces)*j.ReduceTime
	}
	return work / float64(s.Map+s.Reduce)
}

// AloneBound returns the time that a job of these stages, one after another, is taken to need alone on the empty
// cluster:
//
//	Σ over the stages of max( ceil(tasks ÷ slots) × mean, longest )
//
// Slowdown is sojourn ÷ this. Stages without tasks count nothing.
func AloneBound(stages ...StageTimes) float64 {
	sum := 0.0
	for _, s := range stages {
		if s.Tasks > 0 {
			sum += max(float64(Waves(s.Tasks, s.Slots))*s.Mean, s.Longest)
		}
	}
	return sum
}

// FlowTotal returns the sum of the completion times of the jobs in the given order (3.4), by the recurrence
//
//	c_u = max(c_{u−1}, Σ_{i≤u} T_i^M) + T_u^R
func FlowTotal(flows []Flow, order []int) float64 {
	mapped, reduced, sum := 0.0, 0.0, 0.0
	for _, i := range order {
		mapped += flows[i].Map
		reduced = max(reduced, mapped) + flows[i].Reduce
		sum += reduced
	}
	return sum
}

// FlowIdle returns X_k, the time for which the reduce machine idles immediately before the k-th job of the order (3.1):
//
//	X_k = max( Σ_{i≤k} T_i^M − Σ_{i<k} T_i^R − Σ_{i<k} X_i, 0 )
func FlowIdle(flows []Flow, order []int) []float64 {
	idle := make([]float64, len(order))
	mapped, reduced := 0.0, 0.0
	for k, i := range order {
		mapped += flows[i].Map
		idle[k] = max(mapped-reduced, 0)
		reduced += idle[k] + flows[i].Reduce
	}
	return idle
}

// JohnsonGap returns δ: on slots, Johnson's order takes at most 1+δ times the shortest makespan (Theorem 3.1),
//
//	δ = (longest map + longest reduce) ÷ F(Johnson)
//
// safe is the same with twice the longest reduce, see Interval. Small for batches much larger than the cluster, above 1
// for tiny ones. Both are zero for jobs without work.
func JohnsonGap(flows []Flow) (delta, safe float64) {
	longestMap, longestReduce := longest(flows)
	low := FlowMakespan(flows, Johnson(flows))
	if low == 0 {
		return 0, 0
	}
	return (longestMap + longestReduce) / low, (longestMap + 2*longestReduce) / low
}

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

// Improve is ImproveTail for an order in which every job may move.
func (s *SlotSim) Improve(start []int, search LocalSearch) ([]int, Result) {
	return s.ImproveTail(start, 0, search)
}

// Completions returns when each job was complete in the last run, by index of job; it is lent until the next run.
func (s *SlotSim) Completions() []float64 { return s.done }

// StageTimes describes the tasks of one stage on an empty cluster.
type StageTimes struct {
	Tasks         int     // >= 0
	Slots         int     // how many of them run at once, > 0
	Mean, Longest float64 // s of one task
}
