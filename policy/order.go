package policy

import "github.com/sojourn-sched/sojourn/sched"

// An order serves stages by rank, each where its placer says, and may take back from the last what the first lacks.
type order struct {
	placer
	taker
	index sched.Index
}

// A ranking is a stage's place in an order: with one attempt more than it has when it is about whether to start the next, with none more
// when it is about whether to take one back. So nobody takes what would at once be taken back.
type ranking func(v *sched.View, st *sched.Stage, more int32) sched.Key

// init sets up an order by rank. The policy must not be copied after that.
func (o *order) init(a Args, rank ranking) {
	o.placer = newPlacer(a)
	o.taker.rank = rank
	o.index.Key = func(v *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) {
		if st.Pending == 0 {
			return sched.Key{}, false
		}
		return rank(v, st, 1), true
	}
}

// initTaking has the order take back in a mode.
func (o *order) initTaking(mode mode) {
	if o.mode = mode; mode == keep {
		return
	}
	o.index.Group = func(st *sched.Stage) int { return int(kindOf(st)) }
	o.initVictims()
}

// fill starts tasks in order until nothing that waits has room, and then takes back for the first what the last hold.
func (o *order) fill(p *sched.Plan) {
	if o.mode == keep {
		o.index.Sync(p)
		o.startAll(p)
		return
	}
	o.settle(p)
	for again := true; again; again = o.settle(p) || o.release(p) {
		o.index.Sync(p)
		o.resume(p, &o.index)
		o.startAll(p)
		o.resume(p, &o.index)
	}
	o.take(p, &o.index)
}

func (o *order) startAll(p *sched.Plan) {
	for st := o.index.First(); st != nil; st = o.index.First() {
		if !o.place(p, st) {
			o.index.Skip(st)
		}
	}
}

// Position tells a stage's place in the order, for explanations.
func (o *order) Position(_ *sched.View, st *sched.Stage) (sched.Key, bool) {
	return o.index.Position(st)
}

// kindOf returns the kind of resource in which st competes with others: the first that a task has any of.
func kindOf(st *sched.Stage) sched.ResourceKind {
	for k, a := range st.Spec.PerTask {
		if a > 0 {
			return sched.ResourceKind(k)
		}
	}
	panic("policy: a task that asks for nothing")
}

// A ticker divides time into equal parts for what is done once in a while.
type ticker struct {
	Next sched.Time // the next multiple; zero: there is nothing to be done while no job is there
}

// due reports whether a multiple of every has come, and asks to be woken for the next one. The first one of a busy period is the
// one after its beginning, so that it does not matter whether anybody asked in the quiet before.
func (t *ticker) due(p *sched.Plan, every sched.Time) bool {
	if p.Idle() {
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
