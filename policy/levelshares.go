package policy

import "github.com/sojourn-sched/sojourn/sched"

// levelShares is a virtual cluster that all jobs share by weight, and what each has there.
type levelShares struct {
	Server levelServer
	Shares sched.Per[share] // by job

	most float64 // the cap of a job of unknown size; zero: none
}

// A share is a job's part in the virtual cluster.
type share struct {
	Slot  int32   // there, plus 1; zero: it is done there
	Begin float64 // virtual time at which it entered
	Tag   float64 // virtual time at which it is done, if its size is known
}

// retire removes the jobs that the virtual cluster has finished by now, and returns those that still have a row. It
// calls moved for each job that changes sides (see levelServer) because of that.
func (f *levelShares) retire(p *sched.Plan, moved func(sched.JobID)) (done []*sched.Job) {
	now := p.Now.Seconds()
	for id := f.Server.done(now, moved); id != 0; id = f.Server.done(now, moved) {
		if j := p.Job(id); j != nil {
			// Also if the job ends at this instant: another job may take the slot before follow sees the end.
			f.Shares.Of(j).Slot = 0
			p.TouchJob(j)
			done = append(done, j)
		}
	}
	return done
}

// follow adds each job to the virtual cluster at its arrival, as a job of unknown size, and removes each job that ends
// while its size is unknown. It reports whether anything changed.
func (f *levelShares) follow(p *sched.Plan) (changed bool) {
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
			f.Server.serve(now)
			*s = share{
				Slot:  1 + f.Server.add(levelJob{ID: j.ID, Open: true, Weight: j.Weight, Cap: f.most}),
				Begin: f.Server.Clock,
			}
			changed = true
		case s.Slot != 0 && f.Server.Jobs[s.Slot-1].Open:
			f.Server.serve(now)
			f.Server.remove(s.Slot - 1)
			s.Slot = 0
			changed = true
		}
	}
	return changed
}

// unmoved does nothing. It stands for the function moved where no job has a cap, so that no job changes sides.
func unmoved(sched.JobID) {}

// resize gives a job the size that is known now; what it has received in the virtual cluster stays received.
func (f *levelShares) resize(p *sched.Plan, j *sched.Job, size float64) {
	s := f.Shares.Of(j)
	f.Server.serve(p.Now.Seconds())
	if s.Slot != 0 {
		f.Server.remove(s.Slot - 1)
		s.Slot = 0
	}
	got := (f.Server.Clock - s.Begin) * j.Weight
	s.Tag = s.Begin + size/j.Weight
	if s.Tag > f.Server.Clock {
		s.Slot = 1 + f.Server.add(levelJob{ID: j.ID, Weight: j.Weight, Size: size, Got: got})
	}
	p.TouchJob(j)
}

// uncapped returns 0. It stands for the cap of a job where no job has one.
func uncapped(*sched.Job) float64 { return 0 }

// scale multiplies the sizes of all jobs in the virtual cluster, after a change of the unit that sizes are in: by what
// ratio returns for a job (nil: for a job that is over). A job has received the same part of its size as before. most
// returns the new cap of a job of known size. The caller must call settle afterwards. O(n log n) for n jobs.
func (f *levelShares) scale(p *sched.Plan, ratio, most func(*sched.Job) float64) {
	f.Server.serve(p.Now.Seconds())
	for slot := range f.Server.Jobs {
		v := &f.Server.Jobs[slot]
		if v.ID == 0 {
			continue
		}
		j, limit := p.Job(v.ID), v.Cap
		if j != nil && !j.Ended && !v.Open {
			limit = most(j)
		}
		if by := ratio(j); by != 1 || limit != v.Cap {
			f.Server.scale(int32(slot), by, limit)
		}
	}
	for j := range p.Jobs() {
		by, s := ratio(j), f.Shares.Of(j)
		at := f.Server.Clock
		if s.Slot == 0 {
			at = s.Tag // it was done then
		}
		if by != 1 {
			s.Begin, s.Tag = at-by*(at-s.Begin), at-by*(at-s.Tag)
		}
		p.TouchJob(j)
	}
}

// divide shares the virtual cluster out anew after changes, and returns the instant at which the next job is done
// there; +Inf: none is.
func (f *levelShares) divide() (next float64) {
	f.Server.settle(unmoved)
	next, _ = f.Server.next()
	return next
}
