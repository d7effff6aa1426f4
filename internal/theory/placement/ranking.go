package placement

import "math"

// A ranking keeps the jobs that may be given more maps in the order of how well off they are, the worst off first: a
// heap for each distinct demand of maps, so that finding the first job with room costs one look for each demand.
type ranking struct {
	u      []float64 // by job: its utility
	shapes []shape
	shape  []int32 // by job: index in shapes
	place  []int32 // by job: in the heap of its shape, from 1; 0: all its maps are placed
}

// A shape is the jobs whose maps use the same.
type shape struct {
	demand Demand
	heap   []int32
}

func newRanking(jobs []Job) ranking {
	r := ranking{u: make([]float64, len(jobs)), shape: make([]int32, len(jobs)), place: make([]int32, len(jobs))}
	byDemand := map[Demand]int32{}
	for i := range jobs {
		x, known := byDemand[jobs[i].Map]
		if !known {
			x = int32(len(r.shapes))
			byDemand[jobs[i].Map] = x
			r.shapes = append(r.shapes, shape{demand: jobs[i].Map})
		}
		r.shape[i] = x
		r.u[i] = jobs[i].Utility(0, 0)
		if jobs[i].Pending > 0 {
			r.push(jobs, i)
		}
	}
	return r
}

// before reports whether job a is worse off than b: by utility, then by goal, then by ID.
func (r *ranking) before(jobs []Job, a, b int) bool {
	if r.u[a] != r.u[b] {
		return r.u[a] < r.u[b]
	}
	if jobs[a].Goal != jobs[b].Goal {
		return jobs[a].Goal < jobs[b].Goal
	}
	return jobs[a].ID < jobs[b].ID
}

// rank computes the utility of a job anew and puts it in its place.
func (r *ranking) rank(s *State, job int) {
	r.u[job] = s.Jobs[job].Utility(s.maps[job], s.reduces[job])
	switch in := s.maps[job] < s.Jobs[job].Pending; {
	case in && r.place[job] == 0:
		r.push(s.Jobs, job)
	case in:
		r.fix(s.Jobs, job)
	case r.place[job] != 0:
		r.remove(s.Jobs, job)
	}
}

// push adds a job, which is not there, to the heap of its demand.
func (r *ranking) push(jobs []Job, job int) {
	h := &r.shapes[r.shape[job]]
	h.heap = append(h.heap, int32(job))
	r.place[job] = int32(len(h.heap))
	r.fix(jobs, job)
}

// remove takes a job out of the heap of its demand.
func (r *ranking) remove(jobs []Job, job int) {
	h := &r.shapes[r.shape[job]]
	at, last := r.place[job]-1, len(h.heap)-1
	other := h.heap[last]
	h.heap[at], r.place[other] = other, at+1
	h.heap, r.place[job] = h.heap[:last], 0
	if int(other) != job {
		r.fix(jobs, int(other))
	}
}

// fix moves a job whose key has changed up or down.
func (r *ranking) fix(jobs []Job, job int) {
	heap := r.shapes[r.shape[job]].heap
	at := int(r.place[job] - 1)
	for at > 0 && r.before(jobs, job, int(heap[(at-1)/2])) {
		heap[at] = heap[(at-1)/2]
		r.place[heap[at]] = int32(at + 1)
		at = (at - 1) / 2
	}
	for {
		c := 2*at + 1
		if c+1 < len(heap) && r.before(jobs, int(heap[c+1]), int(heap[c])) {
			c++
		}
		if c >= len(heap) || !r.before(jobs, int(heap[c]), job) {
			break
		}
		heap[at] = heap[c]
		r.place[heap[at]] = int32(at + 1)
		at = c
	}
	heap[at], r.place[job] = int32(job), int32(at+1)
}

// worst returns the utility of the job that is worst off of those that may be given more maps; +Inf: there is none.
func (r *ranking) worst() float64 {
	u := math.Inf(1)
	for i := range r.shapes {
		if heap := r.shapes[i].heap; len(heap) > 0 {
			u = min(u, r.u[heap[0]])
		}
	}
	return u
}

// first returns the job that is worst off of those whose demand and which themselves are allowed; -1: none. It costs a
// look for each demand, and O(log n) for each job that is not allowed.
func (r *ranking) first(jobs []Job, shapes func(*Demand) bool, allowed func(job int) bool) int {
	found := -1
	var aside []int32
	for i := range r.shapes {
		x := &r.shapes[i]
		if len(x.heap) == 0 || !shapes(&x.demand) {
			continue
		}
		aside = aside[:0]
		for len(x.heap) > 0 {
			head := int(x.heap[0])
			if found >= 0 && !r.before(jobs, head, found) {
				break
			}
			if allowed(head) {
				found = head
				break
			}
			aside = append(aside, int32(head))
			r.remove(jobs, head)
		}
		for _, job := range aside {
			r.push(jobs, int(job))
		}
	}
	return found
}
