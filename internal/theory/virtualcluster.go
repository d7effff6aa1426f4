package theory

import (
	"cmp"
	"math"
	"slices"
)

// A Pair is an amount of two resources, or of resource-time. Where one number is needed it is the first: memory, in
// FSPY's reading.
type Pair [2]float64

// Add returns a + f·b.
func (a Pair) Add(f float64, b Pair) Pair { return Pair{a[0] + f*b[0], a[1] + f*b[1]} }

// Min returns the smaller of each component.
func (a Pair) Min(b Pair) Pair { return Pair{min(a[0], b[0]), min(a[1], b[1])} }

// A StageLoad is the tasks of one stage of a job: Tasks >= 0 of them, each holding Task for Mean >= 0.
type StageLoad struct {
	Task  Pair
	Tasks float64
	Mean  float64
}

// TotalSize returns Σ Task × Tasks × Mean over the stages, in resource-time (FSPY, eq. 5).
func TotalSize(stages []StageLoad) (size Pair) {
	for _, s := range stages {
		size = size.Add(s.Tasks*s.Mean, s.Task)
	}
	return size
}

// AloneTime returns the time that stages need one after another without competition, Σ Mean × waves, where
//
//	waves = ceil(max_k Task[k]·Tasks ÷ capacity[k]),  or, whole, ceil(Tasks ÷ floor(min_k capacity[k] ÷ Task[k]))
//
// (FSPY, eq. 4, with the dominant ratio where it divides vectors). The whole form counts containers that fit side by
// side. A stage that asks for a resource that the cluster lacks takes for ever.
func AloneTime(capacity Pair, stages []StageLoad, whole bool) (t float64) {
	for _, s := range stages {
		if s.Tasks == 0 || s.Mean == 0 {
			continue
		}
		ratio, fit := 0.0, math.Inf(1)
		for k, need := range s.Task {
			if need > 0 {
				ratio = max(ratio, need*s.Tasks/capacity[k])
				fit = min(fit, capacity[k]/need)
			}
		}
		if whole {
			ratio = s.Tasks / math.Floor(fit)
		}
		t += s.Mean * math.Ceil(ratio)
	}
	return t
}

// AverageBound returns a job's average parallelism bound: min(master + TotalSize ÷ AloneTime, capacity), what it holds
// on average when it has the cluster to itself (FSPY, eq. 3). The master, which runs all the while and does none of the
// work, is counted as the initial bound counts it; with a zero master it is the equation as printed. A job without work
// has its master alone.
func AverageBound(capacity, master Pair, stages []StageLoad, whole bool) Pair {
	bound := master
	if t := AloneTime(capacity, stages, whole); t > 0 {
		bound = bound.Add(1/t, TotalSize(stages))
	}
	return bound.Min(capacity)
}

// A VirtualJob is a job of a VirtualCluster.
type VirtualJob struct {
	ID     int64 // the caller's; of jobs that are alike the smaller comes first
	Bound  Pair  // average parallelism bound, >= 0: never has more than this
	Master Pair  // of what it has, the part that does no work; zero where all does (an uber job)
	Size   Pair  // resource-time in all; of an open job nothing
	Served Pair  // of it
	Rate   Pair  // at which it is served, since the last Share
	Has    Pair  // of the capacity, since the last Share
	Open   bool  // of unknown size: served without end
}

// Left returns what is still to be served, in resource-time; of an open job, nothing that means anything.
func (j *VirtualJob) Left() Pair { return j.Size.Add(-1, j.Served) }

// End returns how long the job still takes at its rate; +Inf: it does not end so.
func (j *VirtualJob) End() float64 {
	switch left := j.Left()[0]; {
	case j.Open:
		return math.Inf(1)
	case left <= 0:
		return 0
	case j.Rate[0] <= 0:
		return math.Inf(1)
	default:
		return left / j.Rate[0]
	}
}

// A VirtualCluster is what all jobs would have received from the instant of their submission to At if they had shared a
// cluster fairly (FSPY, III-B): two resources, shared in one pass or by dominance, each job up to its bound. Between
// changes nothing is computed, so that looking more often changes no digit. Any unit of time does.
type VirtualCluster struct {
	At   float64
	Jobs []VirtualJob // by rising ID
	Open Pair         // what open jobs have of the capacity together, since the last Share

	next    depletion // as of the last Share
	sharing lineup    // jobs in the order in which they are given their shares
	numbers []Racer   // that stand still: only their order at the start is wanted
	bounds  []Pair    // of Jobs: there is less to walk through than in these
	has     []Pair
}

// A depletion is when a job has nothing left.
type depletion struct {
	known bool
	job   int // of Jobs; -1: none ever has
	at    float64
}

// Share divides the capacity among the jobs anew, by the one-pass form of the paper (its Algorithm 2) or by dominant
// resource fairness, and sets at what rate each is served: by what it has beyond its master. Where no job has more than
// that, each is served by the part of its share that its bound has beyond the master, or virtual time would stand
// still. O(n), and O(m log m) for the m jobs that came or have other bounds than at the last Share.
func (c *VirtualCluster) Share(capacity Pair, drf bool) {
	c.bounds, c.has = c.bounds[:0], slices.Grow(c.has[:0], len(c.Jobs))[:len(c.Jobs)]
	for i := range c.Jobs {
		c.bounds = append(c.bounds, c.Jobs[i].Bound)
	}
	if drf {
		c.fill(capacity)
	} else {
		c.onePass(capacity)
	}
	frozen := true
	c.Open = Pair{}
	for i := range c.Jobs {
		j := &c.Jobs[i]
		j.Has = c.has[i]
		j.Rate = Pair{max(0, j.Has[0]-j.Master[0]), max(0, j.Has[1]-j.Master[1])}
		frozen = frozen && j.Rate[0] == 0
		if j.Open {
			c.Open = c.Open.Add(1, j.Has)
		}
	}
	if frozen {
		c.thaw()
	}
	c.next = c.first()
}

// thaw serves all jobs although each holds only its master.
func (c *VirtualCluster) thaw() {
	for i := range c.Jobs {
		j := &c.Jobs[i]
		for k := range j.Rate {
			if j.Bound[k] > 0 {
				j.Rate[k] = j.Has[k] * max(0, j.Bound[k]-j.Master[k]) / j.Bound[k]
			}
		}
	}
}

// onePass divides in one pass by rising bound.
func (c *VirtualCluster) onePass(capacity Pair) {
	pass := newOnePass(capacity[:], len(c.bounds))
	for _, s := range c.inOrder(func(i int32) float64 { return c.bounds[i][0] }) {
		pass.share(c.bounds[s.who][:], c.has[s.who][:])
	}
}

// fill divides by dominant resource fairness (see filling).
func (c *VirtualCluster) fill(capacity Pair) {
	users := make([]TaskClaim, len(c.bounds))
	for i := range c.bounds {
		users[i] = TaskClaim{Weight: 1, Task: c.bounds[i][:], Limit: 1}
	}
	f := newFilling(capacity[:], users)
	for _, s := range c.inOrder(f.reaches) {
		f.serve(s.who)
	}
	for i, part := range f.tasks {
		c.has[i] = Pair{}.Add(part, c.bounds[i])
	}
}

// inOrder returns the jobs by a number, of equals the smaller ID first.
func (c *VirtualCluster) inOrder(by func(i int32) float64) []spot {
	c.numbers = c.numbers[:0]
	for i := range c.Jobs {
		c.numbers = append(c.numbers, Racer{ID: c.Jobs[i].ID, Left: by(int32(i))})
	}
	c.sharing.enter(c.numbers)
	return c.sharing.spots
}

// Serve brings the cluster to an instant, at the rates of the last Share, and removes and returns the jobs that have
// nothing left (FSPY, Algorithm 3). It is exact if none had nothing left before that instant: see Deplete. O(n).
func (c *VirtualCluster) Serve(at float64) (done []VirtualJob) {
	return c.serve(at, -1)
}

// Deplete serves up to the first instant, not after at, at which a job has nothing left, and removes and returns the
// jobs that have nothing left then; nil: there is none, and nothing has changed. Called until then, with a Share after
// each call, it is the exact clock:
//
//	for done := c.Deplete(now); done != nil; done = c.Deplete(now) { c.Share(capacity, drf) }
func (c *VirtualCluster) Deplete(at float64) []VirtualJob {
	next := c.depletion()
	if next.job < 0 || next.at > at {
		return nil
	}
	return c.serve(next.at, next.job)
}

// Next returns the next instant at which a job has nothing left; +Inf: there is none at these rates.
func (c *VirtualCluster) Next() float64 { return c.depletion().at }

func (c *VirtualCluster) depletion() depletion {
	if !c.next.known {
		c.next = c.first()
	}
	return c.next
}

// first finds the job that has nothing left first.
func (c *VirtualCluster) first() depletion {
	job, least := -1, math.Inf(1)
	for i := range c.Jobs {
		if t := c.Jobs[i].End(); t < least {
			job, least = i, t
		}
	}
	return depletion{true, job, c.At + least}
}

// roundOff is the part of a job's size below which what is left of it is an error of rounding.
const roundOff = 1e-9

// serve brings the cluster to an instant at which one job, or -1, has exactly nothing left, and takes out the jobs that
// have nothing left.
func (c *VirtualCluster) serve(at float64, exact int) (done []VirtualJob) {
	c.next = depletion{}
	kept := 0
	for i := range c.Jobs {
		j := &c.Jobs[i]
		if j.Served = j.Served.Add(at-c.At, j.Rate); i == exact {
			j.Served = j.Size
		}
		switch {
		case !j.Open && j.Size[0]-j.Served[0] <= roundOff*j.Size[0]:
			done = append(done, *j)
			continue
		case kept < i:
			c.Jobs[kept] = *j
		}
		kept++
	}
	c.At, c.Jobs = at, c.Jobs[:kept]
	return done
}

// Find returns where a job is in Jobs, and whether it is.
func (c *VirtualCluster) Find(id int64) (int, bool) {
	return slices.BinarySearchFunc(c.Jobs, id, func(j VirtualJob, id int64) int { return cmp.Compare(j.ID, id) })
}

// Remove takes a job out, if it is there.
func (c *VirtualCluster) Remove(id int64) {
	if i, ok := c.Find(id); ok {
		c.next = depletion{}
		c.Jobs = slices.Delete(c.Jobs, i, i+1)
	}
}
