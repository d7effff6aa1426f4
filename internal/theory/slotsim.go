package theory

import (
	"cmp"
	"slices"
)

// SlotSim runs MapReduce jobs task by task on fixed slots, in FIFO order: the simulator that MROrder calls HSim (Tang,
// PhD thesis, chapter 3). A free map slot takes the next map of the first job in the order that has one. The reduces of
// a job become eligible when all its maps are done (full barrier). A free reduce slot takes the next reduce of the
// first eligible job, so that a later job may overtake. Whatever ends at an instant ends before anything starts at it.
// A job without reduces is complete when its maps are.
//
// It keeps its scratch space, so that a run after the first allocates nothing. Not for concurrent use.
type SlotSim struct {
	jobs  []SlotJob
	slots Slots

	mapped []float64 // by job: when its maps are done
	done   []float64 // by job: when all of it is done
	stage  stageSim
}

// NewSlotSim returns a simulator of the jobs on the slots, which are positive. The jobs are not copied.
func NewSlotSim(jobs []SlotJob, slots Slots) *SlotSim {
	n := len(jobs)
	return &SlotSim{
		jobs: jobs, slots: slots,
		mapped: make([]float64, n), done: make([]float64, n),
		stage: stageSim{
			coming: make([]int, 0, n),
			rank:   make([]int, n),
			left:   make([]int, n),
			ready:  make(queue, 0, n),
		},
	}
}

// Result is what an order of jobs comes to.
type Result struct {
	Makespan float64 // s until the last job is complete
	Total    float64 // s, sum of the completion times
}

// Run submits the jobs in the given order, a permutation of their indices, all at time 0.
func (s *SlotSim) Run(order []int) Result { return s.RunReleased(order, nil) }

// RunReleased is Run with jobs that are released later: release[i] is the instant, in s and >= 0, at which job i may
// start; nil means 0 for all. Completion times count from time 0.
func (s *SlotSim) RunReleased(order []int, release []float64) Result {
	if release == nil {
		clear(s.mapped)
		release = s.mapped // all zero; each job's is read before it is written
	}
	s.stage.run(stageInput{order, release, s.mapped, s.slots.Map}, func(i int) (int, float64) {
		return s.jobs[i].Maps, s.jobs[i].MapTime
	})
	s.stage.run(stageInput{order, s.mapped, s.done, s.slots.Reduce}, func(i int) (int, float64) {
		return s.jobs[i].Reduces, s.jobs[i].ReduceTime
	})
	var r Result
	for _, i := range order {
		r.Makespan = max(r.Makespan, s.done[i])
		r.Total += s.done[i]
	}
	return r
}

// stageInput is one stage of all jobs: in which order, from when on each may start, where the ends go, on how many
// slots.
type stageInput struct {
	order    []int
	eligible []float64
	ended    []float64
	slots    int
}

// stageSim runs one stage of all jobs. Maps do not depend on reduces, so the two stages run one after the other. Tasks
// of a job are alike, so the slots that start the same job at the same instant are one batch: the cost is that of the
// waves, not of the tasks.
type stageSim struct {
	coming []int // jobs by the instant from which they are eligible
	rank   []int // by job: its place in the order
	left   []int // by job: tasks not started
	ready  queue // eligible jobs with tasks left, by rank
	busy   batches
}

// run simulates one stage of all jobs, and sets in.ended.
func (s *stageSim) run(in stageInput, tasks func(job int) (count int, time float64)) {
	s.coming = append(s.coming[:0], in.order...)
	for place, i := range in.order {
		s.rank[i] = place
		s.left[i], _ = tasks(i)
	}
	eligible, rank := in.eligible, s.rank
	slices.SortFunc(s.coming, func(a, b int) int {
		return cmp.Or(cmp.Compare(eligible[a], eligible[b]), rank[a]-rank[b])
	})
	s.ready, s.busy = s.ready[:0], s.busy[:0]
	free, next, now := in.slots, 0, 0.0
	for next < len(s.coming) || len(s.ready) > 0 {
		// On to the next instant at which something can start.
		switch {
		case len(s.ready) == 0:
			now = eligible[s.coming[next]] // later than now, or it would be ready
		case free == 0:
			now = s.busy[0].until
		}
		for len(s.busy) > 0 && s.busy[0].until <= now {
			free += s.busy.pop().slots
		}
		for ; next < len(s.coming) && eligible[s.coming[next]] <= now; next++ {
			i := s.coming[next]
			if s.left[i] == 0 {
				in.ended[i] = eligible[i]
				continue
			}
			s.ready.push(entry{float64(rank[i]), int32(i)})
		}
		for free > 0 && len(s.ready) > 0 {
			i := int(s.ready[0].seq)
			_, time := tasks(i)
			n := min(free, s.left[i])
			free -= n
			s.busy.push(batch{until: now + time, slots: n})
			if s.left[i] -= n; s.left[i] == 0 {
				in.ended[i] = now + time
				s.ready.pop()
			}
		}
	}
}

// batch is a number of slots that become free at the same instant.
type batch struct {
	until float64
	slots int
}

// batches is a binary min-heap by instant.
type batches []batch

func (h *batches) push(b batch) {
	q := append(*h, b)
	i := len(q) - 1
	for i > 0 && b.until < q[(i-1)/2].until {
		q[i] = q[(i-1)/2]
		i = (i - 1) / 2
	}
	q[i] = b
	*h = q
}

func (h *batches) pop() batch {
	q := *h
	first, last := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	*h = q
	i := 0
	for child := 1; child < len(q); child = 2*i + 1 {
		if child+1 < len(q) && q[child+1].until < q[child].until {
			child++
		}
		if last.until <= q[child].until {
			break
		}
		q[i] = q[child]
		i = child
	}
	if len(q) > 0 {
		q[i] = last
	}
	return first
}
