package reverse

import (
	"container/heap"
	"math"
)

// Utility returns how well off a job is with maps placed (equations 13 to 15; docs/spec/reverse.md, 2.5): below 0 with
// fewer than must run now (fit), up to 0.5 with as many as it needs on average (required), and up to 1 with all pending
// maps. Reduces that are not placed take off as in package placement.
func Utility(maps int, fit, required float64, pending int) float64 {
	s, all := float64(maps), float64(pending)
	switch {
	case pending == 0 || maps >= pending:
		return 1
	case s < fit && maps == 0:
		return math.Inf(-1)
	case s < fit:
		return math.Log(s)/math.Log(fit) - 1
	case required <= fit:
		return (s - fit) / (all - fit)
	case s <= required:
		return (s - fit) / (2 * (required - fit))
	}
	return (s-required)/(2*(all-required)) + 0.5
}

// A Claimant is a job that competes for equal slots.
type Claimant struct {
	Pending int
	Goal    float64
	ID      int64
	Utility func(maps int) float64
}

// Divide gives slots one by one to the job that is worst off and has maps left to place, and returns how many each job
// has (docs/spec/reverse.md, 2.6). Of equals the job with the earlier goal comes first, then the one with the lower ID.
// O((slots + n) log n).
func Divide(slots int, jobs []Claimant) []int {
	d := division{jobs: jobs, has: make([]int, len(jobs))}
	for i := range jobs {
		if jobs[i].Pending > 0 {
			d.heap = append(d.heap, i)
		}
		d.u = append(d.u, jobs[i].Utility(0))
	}
	heap.Init(&d)
	for ; slots > 0 && len(d.heap) > 0; slots-- {
		i := d.heap[0]
		d.has[i]++
		if d.has[i] == jobs[i].Pending {
			heap.Pop(&d)
			continue
		}
		d.u[i] = jobs[i].Utility(d.has[i])
		heap.Fix(&d, 0)
	}
	return d.has
}

// A division is the jobs that slots are divided among, the worst off first.
type division struct {
	jobs []Claimant
	has  []int
	u    []float64
	heap []int
}

// Len returns how many jobs may have more slots.
func (d *division) Len() int { return len(d.heap) }

// Less reports whether the job at place a is worse off than the one at b.
func (d *division) Less(a, b int) bool {
	a, b = d.heap[a], d.heap[b]
	if d.u[a] != d.u[b] {
		return d.u[a] < d.u[b]
	}
	if d.jobs[a].Goal != d.jobs[b].Goal {
		return d.jobs[a].Goal < d.jobs[b].Goal
	}
	return d.jobs[a].ID < d.jobs[b].ID
}

// Swap exchanges two places.
func (d *division) Swap(a, b int) { d.heap[a], d.heap[b] = d.heap[b], d.heap[a] }

// Push adds a job.
func (d *division) Push(x any) { d.heap = append(d.heap, x.(int)) }

// Pop takes the job at the last place out.
func (d *division) Pop() any {
	last := len(d.heap) - 1
	x := d.heap[last]
	d.heap = d.heap[:last]
	return x
}
