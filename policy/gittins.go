package policy

import (
	"math"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/sched"
)

var gittinsCard = Card{
	Title: "first the job that is likeliest to end soon, judged by the sizes of finished jobs and by the errors of " +
		"their estimates",
	Source: "Gittins, Bandit Processes and Dynamic Allocation Indices, J. R. Statist. Soc. B 41(2), 1979; jobs that " +
		"starve as in PSBS",
	Spec: "docs/spec/gittins.md#parameters",
	Params: append([]Param{{Name: "aging", Kind: Number, Default: "4",
		Meaning: "a job comes first once it has waited so many times as long as it would take if all jobs shared " +
			"the cluster; 0: waiting does not count"}},
		sizing(PlacingParams(MasterParams(taking(optOff, optSuspend), lookingBack)...)...)...),
	Memory: append([]string{
		"sizes of finished jobs and errors of their estimates, and those of them by which jobs are ranked",
		"by job: its estimate, first and last, what it had received when its last attempt ended, its rank",
		"the virtual server that all jobs share; by job: when it entered there, and when it is done",
	}, sizedMemory...),
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

// gittins serves the job of the smallest Gittins rank: the least expected service for each job done, under the
// posterior distribution of the job's size, given its estimate and the service that it has received. The prior and the
// distribution of errors are learned from the jobs that have finished. Sizes are in seconds of the whole cluster.
//
// A job starves if it has received less than expected although a server shared by all jobs would have done aging times
// as much for it. Such jobs go before all others, and share by weight, as late jobs do under PSBS.
//
// A task event costs O(log n) for n jobs. Each time an eighth more jobs have finished, all jobs are ranked again.
type gittins struct {
	Order
	DelayPlacer
	sizes
	levelShares
	Learned  theory.SizeBelief // from all jobs that have finished
	Believed theory.SizeBelief // the copy of Learned from which ranks are computed
	Finished int
	Relearn  int            // the number of finished jobs at which Believed becomes Learned
	Bets     sched.Per[bet] // by job
	// Scale is by what sizes are multiplied before they are learned or looked up, since sizes have been measured anew:
	// beliefs are in the unit in which learning began. Zero is 1.
	Scale beliefScale `json:",omitzero"`

	aging float64
	table *theory.RankTable // of Believed; nil: not computed yet
}

// A beliefScale is a factor. The zero value is 1.
type beliefScale float64

// factor returns the factor.
func (s beliefScale) factor() float64 {
	if s == 0 {
		return 1
	}
	return float64(s)
}

// A bet is the belief about the size of a job.
type bet struct {
	First, Estimate float64 // estimates of its size: the last before an attempt had ended, and the present one; 0: none
	Age             float64 // the service that it had received when an attempt last ended
	Seen            float64 // its size as computed from its finished tasks; 0: they are too few
	Goal            float64 // with this much service, a job that is late does not starve, but is large
	Rank            float64
}

func newGittins(a Args) sched.Policy {
	g := &gittins{DelayPlacer: NewDelayPlacer(a), sizes: newSizes(a), aging: a.Number("aging")}
	g.Init(a, g.rank)
	return g
}

// rank returns the key of st: by the Gittins rank of its job, or, for a job that starves, by what it holds.
func (g *gittins) rank(_ *sched.View, st *sched.Stage, more int32) sched.Key {
	if !g.known(st) {
		return g.unknown(st, g.attempts(st, more))
	}
	if g.aging > 0 && g.Shares.Of(st.Job).Slot == 0 {
		return g.Taking.lateness(st, more)
	}
	return sched.Key{Class: ranked, Value: g.Bets.Of(st.Job).Rank / st.Job.Weight}
}

// InWords returns the rank of a stage's job in words.
func (g *gittins) InWords(_ *sched.View, _ *sched.Stage, k sched.Key) string {
	return sizedInWords(k, func(rank float64) string { return "rank " + work(rank) + " for its weight" })
}

// Decide starts tasks where there is room.
func (g *gittins) Decide(p *sched.Plan) {
	if g.aging > 0 {
		for _, j := range g.retire(p, unmoved) {
			g.promise(p, j)
		}
		g.follow(p)
	}
	g.learn(p)
	if g.Of.ratio > 0 {
		g.measured(p)
	}
	for i := range p.Events {
		switch e := &p.Events[i]; e.Kind {
		case sched.AttemptDone:
			if a := p.Attempt(e.Attempt); a != nil && !a.Stage.Job.Ended {
				g.grow(p, a.Stage.Job)
			}
		case sched.JobEnded:
			if j := p.Job(e.Job); j != nil && e.Outcome == sched.OK && j.Spec.Probes == 0 {
				g.finish(p, j)
			}
		}
	}
	for _, j := range g.news {
		if !j.Ended {
			g.bet(p, j)
		}
	}
	if g.Finished >= g.Relearn && g.Finished > 0 {
		g.relearn(p)
	}
	if next := g.divide(); !math.IsInf(next, 1) {
		p.Wake(instant(next))
	}
	g.Fill(p, &g.DelayPlacer)
}

// measured follows sizes that were measured anew at this instant. O(n log n) for n jobs.
func (g *gittins) measured(p *sched.Plan) {
	g.Scale = beliefScale(g.Scale.factor() / g.Of.ratio)
	if g.aging > 0 {
		g.scale(p, g.Of.ratioOf, uncapped)
	}
	scale := func(j *sched.Job) {
		b, by := g.Bets.Of(j), g.Of.ratioOf(j)
		b.First, b.Estimate, b.Age, b.Seen, b.Goal = by*b.First, by*b.Estimate, by*b.Age, by*b.Seen, by*b.Goal
	}
	for j := range p.Jobs() {
		scale(j)
		g.rerank(p, j)
	}
	for _, e := range p.Events {
		if j := p.Job(e.Job); e.Kind == sched.JobEnded && j != nil {
			scale(j) // finish learns from it
		}
	}
}

// finish learns the size of a job that is done, and the error of its estimate.
func (g *gittins) finish(p *sched.Plan, j *sched.Job) {
	g.Learned.Learn(g.Scale.factor()*g.received(p, j), g.Scale.factor()*g.Bets.Of(j).First)
	g.Finished++
}

// relearn computes all ranks again, from all that is learned so far.
func (g *gittins) relearn(p *sched.Plan) {
	g.Relearn = g.Finished + g.Finished/8 + 1
	g.Believed, g.table = g.Learned.Clone(), nil
	for j := range p.Jobs() {
		g.rerank(p, j)
	}
}

// received returns the service that a job has received so far.
func (g *gittins) received(p *sched.Plan, j *sched.Job) float64 {
	w := p.Service(j, p.Now)
	return w.Seconds(g.Of.capacity(p.View))
}

// grow updates the belief about a job when one of its attempts has ended.
func (g *gittins) grow(p *sched.Plan, j *sched.Job) {
	b := g.Bets.Of(j)
	b.Age = g.received(p, j)
	b.Seen = g.seen(j, b)
	g.rerank(p, j)
	if g.aging > 0 {
		g.promise(p, j)
	}
}

// seen returns a job's size as computed from its tasks so far, where running tasks count as half done. It is zero until
// a sample of tasks has finished.
func (g *gittins) seen(j *sched.Job, b *bet) float64 {
	done, expected := int32(0), 0.0
	for _, st := range j.Stages {
		done += st.Done
		expected += (float64(st.Done) + float64(st.Running)/2) * g.Units.Of(st).Seconds
	}
	if done < g.sample || expected == 0 {
		return 0
	}
	return b.Estimate * b.Age / expected
}

// bet updates the belief about a job whose estimate has changed.
func (g *gittins) bet(p *sched.Plan, j *sched.Job) {
	b := g.Bets.Of(j)
	if b.Estimate = g.size(j); b.First == 0 || b.Age == 0 {
		b.First = b.Estimate
	}
	g.rerank(p, j)
	if b.Goal = g.ranks().Expect(g.Scale.factor()*b.Estimate) / g.Scale.factor(); g.aging > 0 && b.Estimate > 0 {
		g.resize(p, j, g.aging*b.Goal)
		g.promise(p, j)
	}
}

// promise doubles the goal of a job that is late although it has received the service that was expected: such a job
// does not starve, but is large.
func (g *gittins) promise(p *sched.Plan, j *sched.Job) {
	b := g.Bets.Of(j)
	for b.Goal > 0 && b.Age >= b.Goal && g.Shares.Of(j).Slot == 0 && !j.Ended {
		b.Goal *= 2
		g.resize(p, j, g.aging*b.Goal)
	}
}

// rerank computes the rank of a job again.
func (g *gittins) rerank(p *sched.Plan, j *sched.Job) {
	b := g.Bets.Of(j)
	if b.Estimate == 0 {
		return
	}
	rank, _ := g.ranks().Rank(g.Scale.factor()*b.Estimate, g.Scale.factor()*b.Age)
	rank /= g.Scale.factor()
	if b.Seen > 0 {
		rank = max(0, b.Seen-b.Age)
	}
	if rank != b.Rank {
		b.Rank = rank
		p.TouchJob(j)
	}
}

// ranks returns the table of ranks under Believed, and computes it when it is first needed.
func (g *gittins) ranks() *theory.RankTable {
	if g.table == nil {
		g.table = g.Believed.Table()
	}
	return g.table
}
