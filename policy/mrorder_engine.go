package policy

import (
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/sched"
)

// A RoundJob is a job as mrorder orders it: how many Maps and Reduces are left of it, and the MapTime and ReduceTime of
// one of them in seconds, as the estimator says.
type RoundJob = theory.SlotJob

// RoundSlots are the slots of the whole cluster, Map and Reduce.
type RoundSlots = theory.Slots

// An Ordering puts the jobs of a round of mrorder in order: it returns their indices, and the first one is served
// first. It must depend on its arguments alone. The jobs come in order of arrival.
type Ordering func(jobs []RoundJob, slots RoundSlots) []int

// ruleNamed returns the rule of a choice, or of a goal where nothing is chosen.
func ruleNamed(order, goal string) Ordering {
	switch {
	case order == "mk-tct-jr":
		return flowRule(theory.SplitJohnson)
	case order == "worst":
		return flowRule(func(f []theory.Flow) []int { return theory.Reversed(theory.Johnson(f)) })
	case order == "arrival":
		return arrival
	case order == "mk-jr" || order == "auto" && goal == "makespan":
		return flowRule(theory.Johnson)
	}
	return flowRule(theory.ShortestFirst)
}

// flowRule makes an ordering of a rule for flow shops.
func flowRule(rule func([]theory.Flow) []int) Ordering {
	return func(jobs []theory.SlotJob, slots theory.Slots) []int { return rule(theory.Flows(jobs, slots)) }
}

// arrival is the ordering that leaves jobs as they came.
func arrival(jobs []theory.SlotJob, _ theory.Slots) []int {
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	return order
}

// beginnings is how many beginnings of orders cost about as much as one whole order. So the default effort is enough
// for the 13,699 beginnings of the orders of seven jobs.
const beginnings = 10

// mostBranch is the most jobs for which branch and bound follows the local search. With more jobs, the effort would end
// while it still tries orders of the last few.
const mostBranch = 12

// An orderEngine orders rounds: by a rule, or by what it finds starting from it.
type orderEngine struct {
	rule                Ordering
	searches            bool
	goal                theory.Goal
	sim, search, effort int
}

func newOrderEngine(a Args, rule Ordering) orderEngine {
	e := orderEngine{
		rule:     rule,
		searches: a.Choice("order") == "auto",
		sim:      a.Int("sim"),
		search:   a.Int("search"),
		effort:   a.Int("effort"),
	}
	if e.goal = theory.LeastTotal; a.Choice("goal") == "makespan" {
		e.goal = theory.LeastMakespan
	}
	return e
}

// arrange returns an order of all jobs of a batch in which those that keep their places do. By the simulator of theory
// it is never worse than the rule's.
func (e *orderEngine) arrange(b orderBatch) []int {
	order := arrival(b.jobs[:b.before], b.slots)
	for _, i := range e.rule(b.jobs[b.before:], b.slots) {
		order = append(order, b.before+i)
	}
	if sorted := slices.Sorted(slices.Values(order)); !slices.Equal(sorted, arrival(b.jobs, b.slots)) {
		panic(fmt.Sprintf("policy: an ordering of %d jobs gave %v, which names not each of them once",
			len(b.jobs)-b.before, order))
	}
	n := len(b.jobs) - b.before
	if !e.searches || n < 2 || n > max(e.sim, e.search) {
		return order
	}
	s := theory.NewSlotSim(b.jobs, b.slots)
	orders := e.effort * 10 / max(10, len(b.jobs))
	branch := theory.LocalSearch{Goal: e.goal, Steps: orders * beginnings}
	if n <= e.sim {
		best, _, all := s.BranchBound(order, b.before, branch)
		if all {
			return best
		}
	}
	order, _ = s.ImproveTail(order, b.before, theory.LocalSearch{Goal: e.goal, Steps: orders})
	if n <= mostBranch {
		order, _, _ = s.BranchBound(order, b.before, branch)
	}
	return order
}

// An orderBatch is jobs as the two stages of the model: reduces, and everything else as maps.
type orderBatch struct {
	jobs   []theory.SlotJob
	before int // how many of them, the first, keep their places
	slots  theory.Slots
}

// A side is one of the two stages of all jobs of a batch.
type side struct {
	unit  float64 // part of the cluster that one slot is
	known timeSum // of the stages that the estimator knows
}

// A timeSum is task times added up, in seconds.
type timeSum struct{ time, tasks float64 }

// newOrderBatch asks the estimator about every stage of jobs. What is done of a job is not counted, nor what running
// attempts have behind them. The first jobs, as many as before, keep their places.
//
// A slot is the smallest part of the cluster that a task of the batch takes; one that takes k times as much counts as a
// task k times as long. A stage without an estimate is taken for an average one.
func newOrderBatch(v *sched.View, jobs []*sched.Job, before int) orderBatch {
	var sides [2]side // maps and all others, reduces
	for _, j := range jobs {
		for _, st := range j.Stages {
			s := &sides[sideOf(st)]
			if part := partOf(st.Spec.PerTask, v.Capacity); part > 0 && (s.unit == 0 || part < s.unit) {
				s.unit = part
			}
			if mean, known := taskSeconds(v, st); known {
				s.known.time += mean * float64(unfinished(st))
				s.known.tasks += float64(unfinished(st))
			}
		}
	}
	b := orderBatch{before: before, slots: theory.Slots{Map: sides[0].slots(), Reduce: sides[1].slots()}}
	for _, j := range jobs {
		var sums [2]timeSum
		for _, st := range j.Stages {
			s, tasks := &sides[sideOf(st)], float64(unfinished(st))
			if tasks == 0 {
				continue
			}
			mean, known := taskSeconds(v, st)
			if !known {
				mean = s.average()
			}
			mean = max(0, mean-elapsed(v, st, mean)/tasks)
			sum := &sums[sideOf(st)]
			sum.tasks += tasks
			sum.time += (mean*s.weight(st, v.Capacity) - sum.time) * (tasks / sum.tasks)
		}
		b.jobs = append(b.jobs, theory.SlotJob{
			Maps: int(sums[0].tasks), MapTime: sums[0].time, Reduces: int(sums[1].tasks), ReduceTime: sums[1].time,
		})
	}
	return b
}

// sideOf returns the side of a stage: 1 for reduces, 0 for all others.
func sideOf(st *sched.Stage) int {
	if st.Kind == sched.Reduce {
		return 1
	}
	return 0
}

// partOf returns the largest part of the capacity of any kind that r takes; 0 where the cluster has none of them.
func partOf(r, capacity sched.Resources) (part float64) {
	for k, a := range r {
		if capacity[k] > 0 {
			part = max(part, float64(a)/float64(capacity[k]))
		}
	}
	return part
}

// slots returns how many slots the cluster has. The small number keeps 1 ÷ (1 ÷ n) from falling below n.
func (s *side) slots() int {
	if s.unit == 0 {
		return 1
	}
	return max(1, int(1/s.unit+1e-6))
}

// weight returns how many slots a task of st takes.
func (s *side) weight(st *sched.Stage, capacity sched.Resources) float64 {
	if s.unit == 0 {
		return 1
	}
	return partOf(st.Spec.PerTask, capacity) / s.unit
}

// average returns the mean task time where the estimator knows one: with none known, a second, so that the number of
// tasks decides.
func (s *side) average() float64 {
	if s.known.tasks == 0 {
		return 1
	}
	return s.known.time / s.known.tasks
}

// taskSeconds returns what the estimator says a task of st takes, in seconds, and whether it knows.
func taskSeconds(v *sched.View, st *sched.Stage) (float64, bool) {
	e := v.Estimate(st, 0)
	return e.Mean.Seconds(), e.Known()
}

// elapsed returns for how many seconds the running attempts of st have run together. Each counts for at most mean.
func elapsed(v *sched.View, st *sched.Stage, mean float64) (sum float64) {
	for a := range v.Attempts(st) {
		if a.State == sched.Running {
			sum += min(mean, v.Ran(a, v.Now).Seconds())
		}
	}
	return sum
}
