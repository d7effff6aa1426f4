package policy

import (
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// A Placer decides where a task runs. Place starts one task of st on a node, and reports whether it did. It returns
// false if no node has room, or if the stage should wait for a better node; then the order goes on with the next stage.
type Placer interface {
	Place(p *sched.Plan, st *sched.Stage) bool
}

// An Order decides whose turn it is: Fill starts the waiting tasks in the order of a [Ranking]. Where the card of the
// policy has the parameters of [PreemptParams], the order also takes running tasks back from the last jobs for the sake
// of the first. A policy embeds an Order and calls Init in its constructor.
//
// ApplicationMasters hold at most a part of the cluster, half of it unless the card has the parameter masters
// ([MasterParams]). Else those of many jobs take all room, and wait for each other: no job has room for its tasks. A
// node is kept for a master whose turn it is and which smaller tasks would overtake, unless big=overtaken.
//
// A decision costs O(log n) for each stage that has changed and for each task that starts, with n stages.
//
// Taking and Keep are the memory of an Order. They are exported because memory goes through JSON; a policy leaves them
// to the Order.
type Order struct {
	Taking taker  // attempts that were asked to leave, and for which stage
	Keep   keeper // nodes kept for tasks that need more than the holes of others

	turns  turns
	steady func(*sched.Stage) bool // parting.steady
}

// Init sets up an order by rank. It reads the parameters of [PreemptParams] and [MasterParams], if the card has them.
// The Order must not be copied after that.
func (o *Order) Init(a Args, rank Ranking) { o.initParts(a, rank, onePart(rank)) }

// initParts is Init for an order that is kept in parts.
func (o *Order) initParts(a Args, rank Ranking, in parting) {
	o.Taking.init(a, rank, in)
	o.Keep.init(a)
	o.turns.init(a, in.parts, func(v *sched.View, st *sched.Stage, part int) (sched.Key, bool) {
		if st.Pending == 0 || in.part(st) != part {
			return sched.Key{}, false
		}
		return in.key(v, st, 1), true
	})
	o.steady = in.steady
	o.turns.whole = func(v *sched.View, st *sched.Stage) sched.Key { return rank(v, st, 1) }
}

// Fill starts waiting tasks in order, each where the placer says, until no waiting task finds room. Then it takes back
// room for the first stages from the last ones, if the order does that.
func (o *Order) Fill(p *sched.Plan, place Placer) {
	t := &o.Taking
	o.Keep.settle(p)
	o.yield(p)
	chosen := len(p.Actions())
	if t.mode == never {
		for again := true; again; again = o.Keep.settle(p) {
			o.turns.sync(p)
			o.startAll(p, place)
		}
	} else {
		t.settle(p)
		for again := true; again; again = t.settle(p) || t.release(p) || o.Keep.settle(p) {
			o.turns.sync(p)
			t.resume(p, &o.turns)
			o.startAll(p, place)
			t.resume(p, &o.turns)
		}
		t.take(p, &o.turns)
	}
	if started := p.Actions()[chosen:]; len(started) > 0 && o.Keep.mayKeep(p.View) {
		o.turns.sync(p)
		if st := o.turns.next(); o.overtaken(p, st, started) {
			o.Keep.keep(p, st, started)
		}
	}
}

// overtaken reports whether a task that comes after those of st was started.
func (o *Order) overtaken(p *sched.Plan, st *sched.Stage, started []sched.Action) bool {
	if st == nil {
		return false
	}
	at := o.Taking.rank(p.View, st, 1)
	return slices.ContainsFunc(started, func(a sched.Action) bool {
		if a.Kind != sched.Launch {
			return false
		}
		other := p.Stage(a.Stage)
		k := o.Taking.rank(p.View, other, 0)
		return at.Before(k) || !k.Before(at) && earlier(st.ID, other.ID)
	})
}

// yield gives up nodes that are kept for a stage when it is another's turn by now. It waits for an event, so that a
// call while nothing happens changes nothing, although keys may change with time.
func (o *Order) yield(p *sched.Plan) {
	if len(o.Keep.Kept) == 0 || len(p.Events) == 0 {
		return
	}
	o.turns.sync(p)
	if st := o.turns.next(); st != nil {
		o.Keep.only(p, st)
	}
}

// startAll starts tasks in order until no waiting task finds room.
func (o *Order) startAll(p *sched.Plan, place Placer) {
	for st := o.turns.first(); st != nil; st = o.turns.first() {
		if !o.start(p, place, st) {
			o.turns.skip(st)
		}
	}
}

// start starts a task of st, whose turn it is. It starts as many as there is room for if no start can change whose turn
// it is. It reports whether it started any.
func (o *Order) start(p *sched.Plan, place Placer, st *sched.Stage) bool {
	if d, ok := place.(*DelayPlacer); ok && o.steady != nil && o.steady(st) && !d.near(st) && !o.turns.mastersWait() {
		return p.LaunchMany(st, st.Pending) > 0
	}
	return place.Place(p, st)
}

// Position returns the place of st in the order, and false if no task of st waits (Pending is 0). A policy with a
// method of this name and signature is explained by "sojourn record explain": who comes first, and by which key.
// Embedding an Order is enough. The command asks after each Step about stages that wait; Position must change nothing.
// A policy returns false for a stage that it holds back, and says why by a method Withheld(*sched.View, *sched.Stage)
// string.
func (o *Order) Position(v *sched.View, st *sched.Stage) (sched.Key, bool) {
	if !o.turns.has(st) || o.Withheld(v, st) != "" {
		return sched.Key{}, false
	}
	return o.Taking.rank(v, st, 1), true
}

// Withheld says in words why a master may not start: masters hold all that they may of the cluster; "": it may.
func (o *Order) Withheld(v *sched.View, st *sched.Stage) string {
	return o.turns.masters.withheld(v, st)
}

// attempts returns how many attempts st has once all that was asked for has happened and more have started, suspended
// ones included.
func (o *Order) attempts(st *sched.Stage, more int32) int32 {
	return o.Taking.will(st) + st.Suspended + more
}
