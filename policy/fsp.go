package policy

import (
	"math"

	"github.com/sojourn-sched/sojourn/sched"
)

var fspCard = Card{
	Title:  "the job first that would be done first if all shared the cluster",
	Source: "Friedman and Henderson, Fairness and Efficiency in Web Server Protocols, SIGMETRICS 2003",
	Spec:   "docs/spec/policies.md#fsp",
	Params: sizing(placing(taking(optOff, optSuspend, optKill))...),
	Memory: append([]string{"the virtual server that all jobs share", "by job: when it entered there, and when it is done"}, sizedMemory...),
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

// fsp serves jobs in the order in which they would be done on a server that all share by weight (processor sharing). A job that
// should have been done there, but is not, stays where it is in that order: before all that are not late.
type fsp struct {
	order
	sizes
	Server virtualServer
	Shares sched.Per[share] // by job

	lateShare bool // PSBS: late jobs are served by their weights, before all others
}

// A share is a job's part in the virtual server.
type share struct {
	Begin float64 // virtual time at which it entered
	Tag   float64 // virtual time at which it is done, if its size is known
	State shareState
}

type shareState uint8

const (
	shareOpen  shareState = iota + 1 // size unknown
	shareKnown                       // to be done at Tag
	shareLate                        // done there, not here
)

func newFSP(a Args) sched.Policy {
	f := &fsp{sizes: newSizes(a)}
	f.init(a, f.tag)
	f.initTaking(modeOf(a.Choice("preempt")))
	return f
}

func (f *fsp) tag(_ *sched.View, st *sched.Stage, more int32) sched.Key {
	if !f.known(st) {
		return f.unknown(st, f.will(st)+st.Suspended+more)
	}
	s := f.Shares.Of(st.Job)
	if f.lateShare && s.State == shareLate {
		return f.lateness(st, more)
	}
	return sched.Key{Class: ranked, Value: s.Tag}
}

// Decide starts tasks where there is room.
func (f *fsp) Decide(p *sched.Plan) {
	f.advance(p)
	f.fill(p)
}

// advance brings the virtual server up to now.
func (f *fsp) advance(p *sched.Plan) {
	now := p.Now.Seconds()
	for id := f.Server.done(now); id != 0; id = f.Server.done(now) {
		if j := p.Job(id); j != nil {
			f.Shares.Of(j).State = shareLate
			p.TouchJob(j)
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
		switch s := f.Shares.Of(j); {
		case e.Kind == sched.JobSubmitted:
			*s = share{Begin: f.Server.clock(now), State: shareOpen}
			f.Server.open(j.Weight)
		case s.State == shareOpen:
			f.Server.clock(now)
			f.Server.drop(j.Weight)
			s.State = shareLate
		}
	}
	f.learn(p)
	for _, j := range f.news {
		if !j.Ended {
			f.resize(p, j)
		}
	}
	if next := f.Server.next(); f.lateShare && !math.IsInf(next, 1) {
		p.Wake(instant(next))
	}
}

// resize gives a job the size that is known now; what it has received in the virtual server stays received.
func (f *fsp) resize(p *sched.Plan, j *sched.Job) {
	s := f.Shares.Of(j)
	clock := f.Server.clock(p.Now.Seconds())
	switch s.State {
	case shareOpen:
		f.Server.drop(j.Weight)
	case shareKnown:
		if i := f.Server.find(j.ID); i >= 0 {
			f.Server.remove(i)
			f.Server.leave(j.Weight)
		}
	}
	s.Tag = s.Begin + f.size(j)/j.Weight
	s.State = shareLate
	if s.Tag > clock {
		s.State = shareKnown
		f.Server.add(virtualEnd{s.Tag, j.Weight, j.ID})
	}
	p.TouchJob(j)
}
