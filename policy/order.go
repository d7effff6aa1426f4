package policy

import "github.com/sojourn-sched/sojourn/sched"

// An order serves stages by rank, each where its placer says, and may take back from the last what the first lacks.
type order struct {
	placer
	taker
	index line
}

// A ranking is a stage's place in an order: with one attempt more than it has when it is about whether to start the
// next, with none more when it is about whether to take one back. So nobody takes what would at once be taken back.
type ranking func(v *sched.View, st *sched.Stage, more int32) sched.Key

// init sets up an order by rank that takes nothing back. The policy must not be copied after that.
func (o *order) init(a Args, rank ranking) { o.set(a, rank, onePart(rank)) }

// initTaking sets up an order by rank that takes back as the parameter preempt says.
func (o *order) initTaking(a Args, rank ranking) { o.initParts(a, rank, onePart(rank)) }

// initParts is initTaking for an order that is kept in parts.
func (o *order) initParts(a Args, rank ranking, in parting) {
	if o.mode = modeOf(a.Choice("preempt")); o.mode == suspend {
		o.check = a.Time(lookingBack.Name)
	}
	o.set(a, rank, in)
}

// set sets up an order that is kept in parts and takes back in the mode that is set.
func (o *order) set(a Args, rank ranking, in parting) {
	o.placer = newPlacer(a)
	o.taker.rank = rank
	var group func(*sched.Stage) int
	if o.mode != keep {
		group = func(st *sched.Stage) int { return int(kindOf(st)) }
		o.initTaker(in)
	}
	o.index.init(group, in.parts, func(v *sched.View, st *sched.Stage, part int) (sched.Key, bool) {
		if st.Pending == 0 || in.part(st) != part {
			return sched.Key{}, false
		}
		return in.key(v, st, 1), true
	})
	o.index.whole = func(v *sched.View, st *sched.Stage) sched.Key { return rank(v, st, 1) }
}

// fill starts tasks in order until nothing that waits has room, and then takes back for the first what the last hold.
func (o *order) fill(p *sched.Plan) {
	if o.mode == keep {
		o.index.sync(p)
		o.startAll(p)
		return
	}
	o.settle(p)
	for again := true; again; again = o.settle(p) || o.release(p) {
		o.index.sync(p)
		o.resume(p, &o.index)
		o.startAll(p)
		o.resume(p, &o.index)
	}
	o.take(p, &o.index)
}

func (o *order) startAll(p *sched.Plan) {
	for st := o.index.first(); st != nil; st = o.index.first() {
		if !o.place(p, st) {
			o.index.skip(st)
		}
	}
}

// Position tells a stage's place in the order, for explanations.
func (o *order) Position(v *sched.View, st *sched.Stage) (sched.Key, bool) {
	if !o.index.has(st) {
		return sched.Key{}, false
	}
	return o.rank(v, st, 1), true
}

// positionIn returns where a policy has a stage; false also where it cannot tell.
func positionIn(p sched.Policy, v *sched.View, st *sched.Stage) (sched.Key, bool) {
	if r, ok := p.(interface {
		Position(*sched.View, *sched.Stage) (sched.Key, bool)
	}); ok {
		return r.Position(v, st)
	}
	return sched.Key{}, false
}

// withheldIn says in words why a policy lets a stage not start; "": it may, or the policy cannot tell.
func withheldIn(p sched.Policy, v *sched.View, st *sched.Stage) string {
	if r, ok := p.(interface {
		Withheld(*sched.View, *sched.Stage) string
	}); ok {
		return r.Withheld(v, st)
	}
	return ""
}

// kindOf returns the kind of resource in which st competes with others: the first that a task has any of.
func kindOf(st *sched.Stage) sched.ResourceKind {
	each := &st.Spec.PerTask // a range over the vector itself would copy it
	for k := range each {
		if each[k] > 0 {
			return sched.ResourceKind(k)
		}
	}
	panic("policy: a task that asks for nothing")
}

// A ticker divides time into equal parts for what is done once in a while.
type ticker struct {
	Next sched.Time // the next multiple; zero: there is nothing to be done
}

// due reports whether a multiple of every has come while there are jobs.
func (t *ticker) due(p *sched.Plan, every sched.Time) bool { return t.dueWhile(p, every, !p.Idle()) }

// dueWhile reports whether a multiple of every has come, and asks to be woken for the next one, as long as there is
// something to do. The first one of such a period is the one after its beginning, so that it does not matter whether
// anybody asked in the quiet before.
func (t *ticker) dueWhile(p *sched.Plan, every sched.Time, busy bool) bool {
	if !busy {
		t.Next = 0
		return false
	}
	due := t.Next != 0 && p.Now >= t.Next
	if t.Next <= p.Now {
		t.Next = (p.Now/every + 1) * every
	}
	p.Wake(t.Next)
	return due
}
