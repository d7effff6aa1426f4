package policy

import (
	"math"

	"github.com/sojourn-sched/sojourn/sched"
)

var fspCard = Card{
	Title:  "the job first that would be done first if all shared the cluster",
	Source: "Friedman and Henderson, Fairness and Efficiency in Web Server Protocols, SIGMETRICS 2003",
	Spec:   "docs/spec/policies.md#fsp",
	Params: sizing(placing(taking(optOff, optSuspend, optKill), lookingBack)...),
	Memory: append([]string{"the virtual cluster that all jobs share", "by job: when it entered there, and when it is done"}, sizedMemory...),
	Claims: []Claim{WorkConserving, NonPreemptive, TimeInvariant},
}

// fsp serves jobs in the order in which they would be done on a server that all share by weight (processor sharing). A job that
// should have been done there, but is not, stays where it is in that order: before all that are not late.
type fsp struct {
	order
	sizes
	virtualShares

	lateShare bool // PSBS: late jobs are served by their weights, before all others
}

func newFSP(a Args) sched.Policy {
	f := &fsp{sizes: newSizes(a)}
	f.initTaking(a, f.tag)
	return f
}

func (f *fsp) tag(_ *sched.View, st *sched.Stage, more int32) sched.Key {
	if !f.known(st) {
		return f.unknown(st, f.will(st)+st.Suspended+more)
	}
	s := f.Shares.Of(st.Job)
	if f.lateShare && s.Slot == 0 {
		return f.lateness(st, more)
	}
	return sched.Key{Class: ranked, Value: s.Tag}
}

// Decide starts tasks where there is room.
func (f *fsp) Decide(p *sched.Plan) {
	f.retire(p)
	f.follow(p)
	f.learn(p)
	for _, j := range f.news {
		if !j.Ended {
			f.resize(p, j, f.size(j))
		}
	}
	if next := f.divide(); f.lateShare && !math.IsInf(next, 1) {
		p.Wake(instant(next))
	}
	f.fill(p)
}

// virtualShares is a virtual cluster that all jobs share by weight, and what each has there.
type virtualShares struct {
	Cluster virtualCluster   // without caps
	Shares  sched.Per[share] // by job
}

// A share is a job's part in the virtual cluster.
type share struct {
	Slot  int32   // there, plus 1; zero: it is done there
	Begin float64 // virtual time at which it entered
	Tag   float64 // virtual time at which it is done, if its size is known
}

// retire has the jobs leave that are done there by now, and returns them.
func (f *virtualShares) retire(p *sched.Plan) (done []*sched.Job) {
	now := p.Now.Seconds()
	for id := f.Cluster.done(now, nobody); id != 0; id = f.Cluster.done(now, nobody) {
		if j := p.Job(id); j != nil {
			f.Shares.Of(j).Slot = 0
			p.TouchJob(j)
			done = append(done, j)
		}
	}
	return done
}

// follow has jobs share from their arrival on, as ones of unknown size. One that ends as such leaves.
func (f *virtualShares) follow(p *sched.Plan) {
	now := p.Now.Seconds()
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
			f.Cluster.serve(now)
			*s = share{Slot: 1 + f.Cluster.add(virtualJob{ID: j.ID, Open: true, Weight: j.Weight}), Begin: f.Cluster.Clock}
		case s.Slot != 0 && f.Cluster.Jobs[s.Slot-1].Open:
			f.Cluster.serve(now)
			f.Cluster.remove(s.Slot - 1)
			s.Slot = 0
		}
	}
}

// nobody moves in a cluster without caps.
func nobody(sched.JobID) {}

// resize gives a job the size that is known now; what it has received in the virtual cluster stays received.
func (f *virtualShares) resize(p *sched.Plan, j *sched.Job, size float64) {
	s := f.Shares.Of(j)
	f.Cluster.serve(p.Now.Seconds())
	if s.Slot != 0 {
		f.Cluster.remove(s.Slot - 1)
		s.Slot = 0
	}
	got := (f.Cluster.Clock - s.Begin) * j.Weight
	s.Tag = s.Begin + size/j.Weight
	if s.Tag > f.Cluster.Clock {
		s.Slot = 1 + f.Cluster.add(virtualJob{ID: j.ID, Weight: j.Weight, Size: size, Got: got})
	}
	p.TouchJob(j)
}

// divide shares the virtual cluster out anew after changes, and returns the instant at which the next job is done there; +Inf: none is.
func (f *virtualShares) divide() (next float64) {
	f.Cluster.settle(nobody)
	next, _ = f.Cluster.next()
	return next
}
