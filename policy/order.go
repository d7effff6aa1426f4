package policy

import "github.com/sojourn-sched/sojourn/sched"

// An order serves stages by their keys, each where its placer says.
type order struct {
	placer
	index sched.Index
	whole bool // keys read what other stages of the job do
}

func newOrder(a Args) order { return order{placer: newPlacer(a)} }

// fill starts tasks in order until nothing that waits has room.
func (o *order) fill(p *sched.Plan) {
	o.index.Sync(p)
	for st := o.index.First(); st != nil; st = o.index.First() {
		if !o.start(p, st) {
			o.index.Skip(st)
		}
	}
}

// start starts a task of st, and reports whether it did.
func (o *order) start(p *sched.Plan, st *sched.Stage) bool {
	if !o.place(p, st) {
		return false
	}
	if o.whole {
		touchSiblings(p, st)
	}
	return true
}

// touchSiblings has all stages of a job ordered anew after something of one of them changed, which the core says of that one only.
func touchSiblings(p *sched.Plan, st *sched.Stage) {
	if len(st.Job.Stages) > 1 {
		p.TouchJob(st.Job)
	}
}

// touchEnded is touchSiblings for the attempts that ended at this instant.
func touchEnded(p *sched.Plan) {
	for i := range p.Events {
		if e := &p.Events[i]; e.Kind == sched.AttemptDone {
			if a := p.Attempt(e.Attempt); a != nil {
				touchSiblings(p, a.Stage)
			}
		}
	}
}
