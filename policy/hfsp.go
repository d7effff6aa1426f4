package policy

import (
	"math"

	"github.com/sojourn-sched/sojourn/sched"
)

var hfspCard = Card{
	Title: "fsp for a cluster: virtual shares bounded by what a job can use, running tasks suspended for " +
		"more urgent ones",
	Source: "Pastorelli, Barbuzzi, Carra, Dell'Amico, Michiardi, HFSP: Size-based Scheduling for Hadoop, IEEE " +
		"BigData 2013; late jobs as in PSBS",
	Spec:   "docs/spec/policies.md#hfsp",
	Params: sizing(PlacingParams(MasterParams(taking(optAuto, optSuspend, optKill, optWait), lookingBack)...)...),
	Memory: append([]string{"the virtual cluster", "by job: where it is there, if it is not done"}, sizedMemory...),
	Claims: []Claim{WorkConserving, TimeInvariant},
}

// hfsp serves jobs in the order in which they would be done on a virtual cluster that they share by weighted max-min,
// no job having more of it than it can use. Jobs that should have been done there share by weight, before all others.
//
// The ends of jobs that share the virtual cluster move whenever a job comes or is done there, but not their order; nor
// do those of jobs that have all they can use. So the order is kept in two parts, and a change costs O(log n) for n
// jobs, and for each that gets into the other part.
type hfsp struct {
	Order
	DelayPlacer
	sizes
	levelShares // by weight, up to what a job can use
}

func newHFSP(a Args) sched.Policy {
	h := &hfsp{DelayPlacer: NewDelayPlacer(a), sizes: newSizes(a), levelShares: levelShares{most: 1}}
	key := func(_ *sched.View, st *sched.Stage, more int32) sched.Key { return h.at(st, more, (*levelJob).end) }
	h.initParts(a, h.projected, parting{parts: 2, part: h.side, key: key})
	return h
}

// projected returns the key of st in the whole order.
func (h *hfsp) projected(_ *sched.View, st *sched.Stage, more int32) sched.Key {
	return h.at(st, more, func(j *levelJob) float64 { return h.Server.instant(j.Side, j.end()) })
}

// InWords says when a stage's job would be done if all jobs shared the cluster.
func (h *hfsp) InWords(_ *sched.View, _ *sched.Stage, k sched.Key) string {
	return sizedInWords(k, func(end float64) string { return "it would end at " + span(end) + " if all shared" })
}

// at returns the key of st, where by returns when a job would be done.
func (h *hfsp) at(st *sched.Stage, more int32, by func(*levelJob) float64) sched.Key {
	if !h.known(st) {
		return h.unknown(st, h.attempts(st, more))
	}
	s := h.Shares.Of(st.Job)
	if s.Slot == 0 {
		return h.Taking.lateness(st, more)
	}
	return sched.Key{Class: ranked, Value: by(&h.Server.Jobs[s.Slot-1])}
}

// side returns the part of the order that st is in.
func (h *hfsp) side(st *sched.Stage) int {
	if s := h.Shares.Of(st.Job); s.Slot != 0 && h.known(st) {
		return int(h.Server.Jobs[s.Slot-1].Side)
	}
	return sharing
}

// Decide starts tasks where there is room, and takes other tasks back to make room.
func (h *hfsp) Decide(p *sched.Plan) {
	h.advance(p)
	h.Fill(p, &h.DelayPlacer)
}

// advance brings the virtual cluster up to now.
func (h *hfsp) advance(p *sched.Plan) {
	moved := func(id sched.JobID) {
		if j := p.Job(id); j != nil && !j.Ended {
			p.TouchJob(j)
		}
	}
	h.retire(p, moved)
	changed := h.follow(p)
	h.learn(p)
	if h.Of.ratio > 0 {
		h.scale(p, h.Of.ratioOf, func(j *sched.Job) float64 { return h.parallelism(p, j) })
		changed = true
	}
	for _, j := range h.news {
		if s := h.Shares.Of(j); s.Slot != 0 && !j.Ended {
			h.know(p, j, s)
			changed = true
		}
	}
	if changed {
		h.Server.settle(moved)
	}
	if next, _ := h.Server.next(); !math.IsInf(next, 1) {
		p.Wake(instant(next))
	}
}

// know sets the size and the cap of a job to what is known now. The service that the job has received in the virtual
// cluster still counts.
func (h *hfsp) know(p *sched.Plan, j *sched.Job, s *share) {
	h.Server.serve(p.Now.Seconds())
	v := h.Server.Jobs[s.Slot-1]
	v.Got, v.Open, v.Size, v.Cap = h.Server.received(&v), false, h.size(j), h.parallelism(p, j)
	h.Server.remove(s.Slot - 1)
	if s.Slot = 0; v.Size > v.Got {
		s.Slot = 1 + h.Server.add(v)
	}
	p.TouchJob(j)
}

// parallelism returns the part of the cluster that job j uses on average when it has the cluster for itself: its size ÷
// the time of its waves.
func (h *hfsp) parallelism(p *sched.Plan, j *sched.Job) float64 {
	size, alone, of := 0.0, 0.0, h.Of.capacity(p.View)
	for _, st := range j.Stages {
		u, tasks := h.Units.Of(st), float64(tasksOf(st))
		size += tasks * u.Seconds
		alone += math.Ceil(tasks*st.Spec.PerTask.DominantShare(of)) * u.Time.Seconds()
	}
	if alone <= 0 || size <= 0 {
		return 1
	}
	return min(1, size/alone)
}
