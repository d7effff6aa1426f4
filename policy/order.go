package policy

import "github.com/sojourn-sched/sojourn/sched"

// A Placer decides where a task runs. Place starts one task of st on a node, and reports whether it did. It returns
// false if no node has room, or if the stage should wait for a better node; then the order goes on with the next stage.
type Placer interface {
	Place(p *sched.Plan, st *sched.Stage) bool
}

// An Order decides whose turn it is: Fill starts the waiting tasks in the order of a [Ranking]. Where the card of the
// policy has the parameters of [PreemptParams], the order also takes running tasks back from the last jobs for the sake
// of the first. A policy embeds an Order and calls Init in its constructor.
//
// A decision costs O(log n) for each stage that has changed and for each task that starts, with n stages.
type Order struct {
	Taking taker // attempts that were asked to leave, and for which stage

	index line
}

// Init sets up an order by rank. It reads the parameters preempt and check, if the card has them. The Order must not be
// copied after that.
func (o *Order) Init(a Args, rank Ranking) { o.initParts(a, rank, onePart(rank)) }

// initParts is Init for an order that is kept in parts.
func (o *Order) initParts(a Args, rank Ranking, in parting) {
	var group func(*sched.Stage) int
	if o.Taking.init(a, rank, in); o.Taking.mode != keep {
		group = kindGroup
	}
	o.index.init(group, in.parts, func(v *sched.View, st *sched.Stage, part int) (sched.Key, bool) {
		if st.Pending == 0 || in.part(st) != part {
			return sched.Key{}, false
		}
		return in.key(v, st, 1), true
	})
	o.index.whole = func(v *sched.View, st *sched.Stage) sched.Key { return rank(v, st, 1) }
}

// Fill starts waiting tasks in order, each where the placer says, until no waiting task finds room. Then it takes back
// room for the first stages from the last ones, if the order does that.
func (o *Order) Fill(p *sched.Plan, place Placer) {
	t := &o.Taking
	if t.mode == keep {
		o.index.sync(p)
		o.startAll(p, place)
		return
	}
	t.settle(p)
	for again := true; again; again = t.settle(p) || t.release(p) {
		o.index.sync(p)
		t.resume(p, &o.index)
		o.startAll(p, place)
		t.resume(p, &o.index)
	}
	t.take(p, &o.index)
}

func (o *Order) startAll(p *sched.Plan, place Placer) {
	for st := o.index.first(); st != nil; st = o.index.first() {
		if !place.Place(p, st) {
			o.index.skip(st)
		}
	}
}

// Position returns the place of st in the order, and false if no task of st waits (Pending is 0). A policy with a
// method of this name and signature is explained by "sojourn record explain": who comes first, and by which key.
// Embedding an Order is enough. The command asks after each Step about stages that wait; Position must change nothing.
// A policy returns false for a stage that it holds back, and says why by a method Withheld(*sched.View, *sched.Stage)
// string.
func (o *Order) Position(v *sched.View, st *sched.Stage) (sched.Key, bool) {
	if !o.index.has(st) {
		return sched.Key{}, false
	}
	return o.Taking.rank(v, st, 1), true
}

// attempts returns how many attempts st has once all that was asked for has happened and more have started, suspended
// ones included.
func (o *Order) attempts(st *sched.Stage, more int32) int32 {
	return o.Taking.will(st) + st.Suspended + more
}
