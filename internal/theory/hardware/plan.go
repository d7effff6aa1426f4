package hardware

import "math"

// A Job is a claim to slots.
type Job struct {
	// Need is in slots of the first pool of Takes, those that the job holds included. +Inf: as many as there are.
	Need float64
	// Tasks bounds how many tasks of the job can run at once: those that run and those that wait.
	Tasks int
	// Each is how many slots a task takes, at least 1.
	Each int
	// Accelerable jobs precede the others where norms are equal.
	Accelerable bool
	// Goal decides where norms are equal: the earlier one first. Of equal goals the job with the smaller index is
	// first.
	Goal float64
	// Takes lists pools in the order in which the job uses them, each with its speed relative to the first pool.
	// Pools that are missing are not used. It is not empty.
	Takes []Use
}

// A Use is a pool that a job can use.
type Use struct {
	Pool  int
	Speed float64 // tasks of the job per time, relative to the job's first pool; positive
}

// even reports whether the job runs equally fast everywhere.
func (j *Job) even() bool {
	for _, u := range j.Takes {
		if u.Speed != 1 {
			return false
		}
	}
	return true
}

// A Grants is the result of a plan: how many slots of each pool each job is to hold. It is a target. Running
// tasks stay.
type Grants struct {
	pools int
	slots []int
	Rest  []float64 // by job: what it needs beyond its grants, in slots of its first pool; negative: it has more
	Free  []int     // by pool: slots that no job needs
}

// Of returns the slots of a job by pool.
func (g *Grants) Of(job int) []int { return g.slots[job*g.pools : (job+1)*g.pools] }

// rekeys bounds how often the plan computes the norms of all accelerable jobs anew while one pool empties. Pools
// of up to as many slots are planned exactly.
const rekeys = 64

// enough is the part of a slot that is no need.
const enough = 1e-9

// A planner gives slots away one task at a time.
type planner struct {
	jobs  []Job
	free  []int
	out   Grants
	count []int     // by job: tasks granted
	norms []float64 // by job, as the heaps know them
	even  heap      // jobs that run equally fast everywhere: their norm is their rest
	other heap      // jobs whose norm depends on what is free
	keyed []int     // by pool: what was free when the norms of other were computed
	step  []int     // by pool: how much less may be free before they are computed anew
}

// A heap holds indexes of jobs, the first to be served on top.
type heap []int

// Plan gives slots to jobs until no job needs more or nothing is free (docs/spec/hardware.md, 2.5). The next slot
// goes to the job with the largest norm: what it still needs, in the slots that it would have to take. The slot
// comes from the first pool of the job's order that has one free. spread makes jobs with small speedups leave the
// accelerated pool to jobs with large ones that spill over. Plan changes neither slots nor jobs. The cost is
// O(S log n + n) for S slots and n jobs, and O(n) for each of at most 64 recomputations a pool. spread adds O(n)
// for each job that holds accelerated slots and for each slot that changes hands.
func Plan(slots []int, jobs []Job, spread bool) Grants {
	p := &planner{jobs: jobs, free: append([]int(nil), slots...)}
	p.out = Grants{pools: len(slots), slots: make([]int, len(slots)*len(jobs)), Rest: make([]float64, len(jobs))}
	p.count, p.norms = make([]int, len(jobs)), make([]float64, len(jobs))
	p.step, p.keyed = make([]int, len(slots)), make([]int, len(slots))
	for i, n := range slots {
		p.step[i] = max(1, n/rekeys)
	}
	for i := range jobs {
		p.out.Rest[i] = jobs[i].Need
		if jobs[i].even() {
			p.even = append(p.even, i)
		} else {
			p.other = append(p.other, i)
		}
	}
	p.run()
	if spread && p.exchange() {
		p.run()
	}
	p.out.Free = p.free
	return p.out
}

// run gives slots away until no job needs more.
func (p *planner) run() {
	p.rekey(p.even)
	p.rekey(p.other)
	copy(p.keyed, p.free)
	for {
		for i, n := range p.free {
			if p.keyed[i]-n >= p.step[i] {
				p.rekey(p.other)
				copy(p.keyed, p.free)
				break
			}
		}
		from := &p.even
		switch {
		case len(p.even) == 0 && len(p.other) == 0:
			return
		case len(p.even) == 0, len(p.other) > 0 && p.before(p.other[0], p.even[0]):
			from = &p.other
		}
		job := (*from)[0]
		if !p.take(job) {
			p.drop(from)
			continue
		}
		p.norms[job] = p.norm(job)
		p.down(*from, 0)
	}
}

// take gives one task's slots to a job, and reports whether the job needs them and some are free.
func (p *planner) take(job int) bool {
	j := &p.jobs[job]
	if !(p.out.Rest[job] > enough) || p.count[job] >= j.Tasks {
		return false
	}
	for _, u := range j.Takes {
		if p.free[u.Pool] <= 0 {
			continue
		}
		p.free[u.Pool] = max(0, p.free[u.Pool]-j.Each)
		p.out.Of(job)[u.Pool] += j.Each
		p.out.Rest[job] -= float64(j.Each) * u.Speed
		p.count[job]++
		return true
	}
	return false
}

// norm returns how many slots a job still has to take, from what is free in the order of its pools (equation 3).
func (p *planner) norm(job int) (slots float64) {
	rest := p.out.Rest[job]
	if math.IsInf(rest, 1) {
		return rest
	}
	takes := p.jobs[job].Takes
	for _, u := range takes[:len(takes)-1] {
		free := float64(p.free[u.Pool])
		if rest <= free*u.Speed {
			return slots + rest/u.Speed
		}
		slots, rest = slots+free, rest-free*u.Speed
	}
	return slots + rest/takes[len(takes)-1].Speed
}

// before reports whether job a is served before job b.
func (p *planner) before(a, b int) bool {
	x, y := &p.jobs[a], &p.jobs[b]
	switch {
	case p.norms[a] != p.norms[b]:
		return p.norms[a] > p.norms[b]
	case x.Accelerable != y.Accelerable:
		return x.Accelerable
	case x.Goal != y.Goal:
		return x.Goal < y.Goal
	}
	return a < b
}

// rekey computes the norms of a heap anew and orders it. O(n).
func (p *planner) rekey(h heap) {
	for _, job := range h {
		p.norms[job] = p.norm(job)
	}
	for i := len(h)/2 - 1; i >= 0; i-- {
		p.down(h, i)
	}
}

// drop takes the first job off a heap.
func (p *planner) drop(h *heap) {
	last := len(*h) - 1
	(*h)[0] = (*h)[last]
	*h = (*h)[:last]
	p.down(*h, 0)
}

// down moves the job at a position to its place.
func (p *planner) down(h heap, at int) {
	for {
		first := at
		for k := 2*at + 1; k <= 2*at+2 && k < len(h); k++ {
			if p.before(h[k], h[first]) {
				first = k
			}
		}
		if first == at {
			return
		}
		h[at], h[first] = h[first], h[at]
		at = first
	}
}

// exchange moves slots of accelerated pools from jobs with small speedups to jobs with large ones that hold regular
// slots in their place, and reports whether it moved some. Each slot that changes hands frees the difference of both
// speedups. Late jobs keep what they have. O(n²) for the n jobs that hold slots of a pool, and the slots moved.
func (p *planner) exchange() (moved bool) {
	for giver := range p.jobs {
		g := &p.jobs[giver]
		if !g.Accelerable || math.IsInf(g.Need, 1) {
			continue
		}
		for p.out.Of(giver)[g.Takes[0].Pool] >= g.Each {
			taker := p.gainsMost(giver)
			if taker < 0 {
				break
			}
			p.swap(giver, taker)
			moved = true
		}
	}
	if moved {
		p.even, p.other = p.even[:0], p.other[:0]
		for i := range p.jobs {
			if p.jobs[i].even() {
				p.even = append(p.even, i)
			} else {
				p.other = append(p.other, i)
			}
		}
	}
	return moved
}

// gainsMost returns the job that frees most regular slots by a slot of the giver's home; -1: none frees more than the
// giver then needs.
func (p *planner) gainsMost(giver int) int {
	best, speed := -1, p.jobs[giver].last().Speed
	home := p.jobs[giver].Takes[0].Pool
	for i := range p.jobs {
		j := &p.jobs[i]
		if j.Takes[0].Pool != home || j.last().Speed >= speed || j.Each != p.jobs[giver].Each {
			continue
		}
		if float64(p.out.Of(i)[j.last().Pool])*j.last().Speed >= float64(j.Each) {
			best, speed = i, j.last().Speed
		}
	}
	return best
}

// last returns the pool that a job uses last.
func (j *Job) last() Use { return j.Takes[len(j.Takes)-1] }

// swap gives one task's slots of the giver's home to the taker, and frees the slots that the taker used in their
// place.
func (p *planner) swap(giver, taker int) {
	g, t := &p.jobs[giver], &p.jobs[taker]
	home := g.Takes[0].Pool
	p.out.Of(giver)[home] -= g.Each
	p.out.Rest[giver] += float64(g.Each)
	p.count[giver]--
	freed := int(float64(t.Each) / t.last().Speed / float64(t.Each))
	p.out.Of(taker)[home] += t.Each
	p.out.Of(taker)[t.last().Pool] -= freed * t.Each
	p.out.Rest[taker] += float64(freed*t.Each)*t.last().Speed - float64(t.Each)
	p.count[taker] += 1 - freed
	p.free[t.last().Pool] += freed * t.Each
}
