package policy

import (
	"cmp"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
	"github.com/sojourn-sched/sojourn/theory"
)

var hfspCard = Card{
	Title:  "fsp for a cluster: virtual shares bounded by what a job can use, running tasks suspended for more urgent ones",
	Source: "Pastorelli, Barbuzzi, Carra, Dell'Amico, Michiardi, HFSP: Size-based Scheduling for Hadoop, IEEE BigData 2013; late jobs as in PSBS",
	Spec:   "docs/spec/policies.md#hfsp",
	Params: sizing(placing(taking(optAuto, optSuspend, optKill, optWait))...),
	Memory: append([]string{"the virtual cluster", "by job: when it would be done there"}, sizedMemory...),
	Claims: []Claim{WorkConserving, TimeInvariant},
}

// hfsp serves jobs in the order in which they would be done on a virtual cluster that they share by weighted max-min, no job having more
// of it than it can use. Jobs that should have been done there share by weight, before all others.
//
// Virtual shares change when a job comes or is virtually done, at O(n log n) for n jobs; a task event costs O(log n).
type hfsp struct {
	order
	sizes
	Cluster virtualCluster
	Finish  sched.Per[projected] // by job

	claims []theory.Claim
}

// A projected end is when a job would be done virtually, as things stand.
type projected struct {
	At   float64 // seconds
	Late bool
}

// A virtualCluster is jobs and what each has of it, from an instant on. Work is in seconds of the whole cluster.
type virtualCluster struct {
	At   float64
	Jobs []virtualJob
}

// A virtualJob has Left to do at the instant At, at Rate; of a job of unknown size there is no end to it.
type virtualJob struct {
	ID                  sched.JobID
	Open                bool // size unknown
	Got                 float64
	Left, Rate          float64
	Weight, Parallelism float64 // Parallelism: the part of the cluster that it can use, in (0, 1]
}

func newHFSP(a Args) sched.Policy {
	h := &hfsp{sizes: newSizes(a)}
	h.init(a, h.projected)
	h.initTaking(modeOf(a.Choice("preempt")))
	return h
}

func (h *hfsp) projected(_ *sched.View, st *sched.Stage, more int32) sched.Key {
	if !h.known(st) {
		return h.unknown(st, h.will(st)+st.Suspended+more)
	}
	f := h.Finish.Of(st.Job)
	if f.Late {
		return h.lateness(st, more)
	}
	return sched.Key{Class: ranked, Value: f.At}
}

// Decide starts tasks where there is room, and has others make room.
func (h *hfsp) Decide(p *sched.Plan) {
	h.advance(p)
	h.fill(p)
}

// advance brings the virtual cluster up to now.
func (h *hfsp) advance(p *sched.Plan) {
	now := p.Now.Seconds()
	for next := h.Cluster.next(); next <= now; next = h.Cluster.next() {
		h.Cluster.serve(next)
		h.retire(p)
		h.divide(p)
	}
	changed := false
	change := func() {
		if !changed {
			h.Cluster.serve(now)
			changed = true
		}
	}
	for i := range p.Events {
		e := &p.Events[i]
		if e.Kind != sched.JobSubmitted && e.Kind != sched.JobEnded {
			continue
		}
		j := p.Job(e.Job)
		if j == nil {
			continue // stale: it ended before
		}
		at, there := h.Cluster.find(j.ID)
		switch {
		case e.Kind == sched.JobSubmitted:
			change()
			h.Cluster.Jobs = append(h.Cluster.Jobs, virtualJob{ID: j.ID, Open: true, Weight: j.Weight, Parallelism: 1})
		case there && h.Cluster.Jobs[at].Open:
			change()
			h.Cluster.Jobs = slices.Delete(h.Cluster.Jobs, at, at+1)
		}
	}
	h.learn(p)
	for _, j := range h.news {
		if at, there := h.Cluster.find(j.ID); there && !j.Ended {
			change()
			v := &h.Cluster.Jobs[at]
			v.Open, v.Left, v.Parallelism = false, h.size(j)-v.Got, h.parallelism(p, j)
		}
	}
	if changed {
		h.retire(p)
		h.divide(p)
	}
	if next := h.Cluster.next(); !math.IsInf(next, 1) {
		p.Wake(instant(next))
	}
}

// parallelism is the part of the cluster that a job uses on average when it has the cluster for itself: its size over the time of its waves.
func (h *hfsp) parallelism(p *sched.Plan, j *sched.Job) float64 {
	size, alone := 0.0, 0.0
	for _, st := range j.Stages {
		u, tasks := h.Units.Of(st), float64(unfinished(st)+st.Done)
		size += tasks * u.Seconds
		alone += math.Ceil(tasks*st.Spec.PerTask.DominantShare(p.Capacity)) * u.Time.Seconds()
	}
	if alone <= 0 || size <= 0 {
		return 1
	}
	return min(1, size/alone)
}

// retire takes jobs out of the virtual cluster that are done there, and notes those that are late.
func (h *hfsp) retire(p *sched.Plan) {
	h.Cluster.Jobs = slices.DeleteFunc(h.Cluster.Jobs, func(v virtualJob) bool {
		if v.Open || v.Left > 0 {
			return false
		}
		if j := p.Job(v.ID); j != nil && !j.Ended {
			h.Finish.Of(j).Late = true
			p.TouchJob(j)
		}
		return true
	})
}

// divide shares the virtual cluster out anew.
func (h *hfsp) divide(p *sched.Plan) {
	h.claims = h.claims[:0]
	for _, v := range h.Cluster.Jobs {
		h.claims = append(h.claims, theory.Claim{Weight: v.Weight, Max: v.Parallelism})
	}
	for i, rate := range theory.MaxMin(1, h.claims) {
		v := &h.Cluster.Jobs[i]
		v.Rate = rate
		if j := p.Job(v.ID); j != nil && !j.Ended && !v.Open {
			if f := (projected{At: h.Cluster.At + v.Left/v.Rate}); *h.Finish.Of(j) != f {
				*h.Finish.Of(j) = f
				p.TouchJob(j)
			}
		}
	}
}

// next returns the instant at which the next job is done; +Inf: none.
func (c *virtualCluster) next() float64 {
	left := math.Inf(1)
	for _, v := range c.Jobs {
		if !v.Open {
			left = min(left, v.Left/v.Rate)
		}
	}
	return c.At + left
}

// serve brings the cluster to an instant by which no job is done. What is done then has exactly nothing left.
func (c *virtualCluster) serve(at float64) {
	for i := range c.Jobs {
		v := &c.Jobs[i]
		if !v.Open && c.At+v.Left/v.Rate <= at {
			v.Got, v.Left = v.Got+v.Left, 0
			continue
		}
		got := v.Rate * (at - c.At)
		v.Got += got
		v.Left -= got
	}
	c.At = at
}

func (c *virtualCluster) find(id sched.JobID) (int, bool) {
	return slices.BinarySearchFunc(c.Jobs, id, func(v virtualJob, id sched.JobID) int { return cmp.Compare(v.ID, id) })
}
