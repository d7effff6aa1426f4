package policy

import (
	"math"

	"github.com/sojourn-sched/sojourn/sched"
)

var fspCard = Card{
	Title:  "first the job that would end first if all jobs shared the cluster",
	Source: "Friedman and Henderson, Fairness and Efficiency in Web Server Protocols, SIGMETRICS 2003",
	Spec:   "docs/spec/policies.md#fsp",
	Params: sizing(PlacingParams(MasterParams(taking(optOff, optSuspend, optKill), lookingBack)...)...),
	Memory: append(
		[]string{"the virtual cluster that all jobs share", "by job: when it entered the virtual cluster, and when " +
			"it ends there"},
		sizedMemory...),
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

// fsp serves jobs in the order in which they would be done on a server that all jobs share by weight (processor
// sharing). A late job is done there, but not here. It keeps its place in that order, so it comes before all jobs that
// are not late.
type fsp struct {
	Order
	DelayPlacer
	sizes
	levelShares

	lateShare bool // PSBS: late jobs are served by their weights, before all others
}

func newFSP(a Args) sched.Policy {
	f := &fsp{DelayPlacer: NewDelayPlacer(a), sizes: newSizes(a)}
	f.Init(a, f.tag)
	return f
}

// tag returns the key of st: by the virtual time at which its job is done, or, for a late job of psbs, by what the job
// holds.
func (f *fsp) tag(_ *sched.View, st *sched.Stage, more int32) sched.Key {
	if !f.known(st) {
		return f.unknown(st, f.attempts(st, more))
	}
	s := f.Shares.Of(st.Job)
	if f.lateShare && s.Slot == 0 {
		return f.Taking.lateness(st, more)
	}
	return sched.Key{Class: ranked, Value: s.Tag}
}

// InWords says when a stage's job would be done if all jobs shared the cluster.
func (f *fsp) InWords(_ *sched.View, _ *sched.Stage, k sched.Key) string {
	return sizedInWords(k, func(tag float64) string { return "done at virtual time " + span(tag) })
}

// Decide starts tasks where there is room.
func (f *fsp) Decide(p *sched.Plan) {
	f.retire(p, unmoved)
	f.follow(p)
	f.learn(p)
	if f.Of.ratio > 0 {
		f.scale(p, f.Of.ratioOf, uncapped)
	}
	for _, j := range f.news {
		if !j.Ended {
			f.resize(p, j, f.size(j))
		}
	}
	if next := f.divide(); f.lateShare && !math.IsInf(next, 1) {
		p.Wake(instant(next))
	}
	f.Fill(p, &f.DelayPlacer)
}
