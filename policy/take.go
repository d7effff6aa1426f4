package policy

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// A mode says how an order takes back what less urgent jobs hold.
type mode uint8

const (
	keep    mode = iota // not at all
	suspend             // the attempt keeps its memory and goes on later, on the same node
	kill                // its work is lost
)

// taking are the modes of a parameter preempt; the first is the default.
func taking(first Option, others ...Option) Param {
	return Param{Name: "preempt", Kind: Choice, Default: first.Name, Choices: append([]Option{first}, others...),
		Meaning: "how the tasks of jobs that are less urgent make room for the others"}
}

var (
	optOff     = Option{Name: "off"}
	optAuto    = Option{Name: "auto"}
	optWait    = Option{Name: "wait"}
	optSuspend = Option{Name: "suspend", Needs: sched.CanSuspend}
	optKill    = Option{Name: "kill", Needs: sched.CanKill}
)

// modeOf returns the mode that a choice names; auto suspends, which an engine that cannot suspend takes for waiting.
func modeOf(choice string) mode {
	switch choice {
	case "suspend", "auto":
		return suspend
	case "kill":
		return kill
	}
	return keep
}

// A taker takes attempts from the last of an order for the sake of the first, keeps their room for those, and has suspended
// attempts go on when their turn has come.
type taker struct {
	Claims  []claim          // what is leaving for whom
	Claimed sched.Per[int32] // by stage: how many of Claims are for it
	Barred  []bar            // claims that came to nothing

	mode    mode
	rank    ranking
	victims sched.Index // of what runs, the last first, in one group for each kind of resource
	waiting sched.Index // of what is suspended, the first first, in one group
	parked  []*sched.Attempt
}

// A claim is an attempt that leaves a node for the sake of a stage.
type claim struct {
	Stage   sched.StageID
	Node    sched.NodeID
	Attempt sched.AttemptID
}

// A bar is a node that a stage did not use although it was kept for it: it avoids it, or waits for one near its input.
type bar struct {
	Stage sched.StageID
	Node  sched.NodeID
}

// mostTries bounds how many attempts of a stage are looked at for one that would make room.
const mostTries = 32

// will is how many attempts a stage has once all that was asked for has happened.
func (t *taker) will(st *sched.Stage) int32 { return st.Running - st.Leaving + *t.Claimed.Of(st) }

// lateness orders jobs that are late: the one first that has least for its weight of what st competes for.
func (t *taker) lateness(st *sched.Stage, more int32) sched.Key {
	k := kindOf(st)
	for _, o := range st.Job.Stages {
		if kindOf(o) == k {
			more += t.will(o)
		}
	}
	return sched.Key{Class: overdue, Value: float64(more) / st.Job.Weight}
}

func (t *taker) initVictims() {
	t.victims.Group = func(st *sched.Stage) int { return int(kindOf(st)) }
	t.victims.Key = func(v *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) {
		if st.Running-st.Leaving <= 0 || st.Kind == sched.Master {
			return sched.Key{}, false
		}
		k := t.rank(v, st, 0)
		return sched.Key{Class: -k.Class, Value: -k.Value, Then: -int64(st.ID.Job)}, true
	}
	t.waiting.Key = func(v *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) {
		if st.Suspended == 0 {
			return sched.Key{}, false
		}
		return t.rank(v, st, 1), true
	}
}

// settle drops the claims that have been used and those that nobody needs any more, and reports whether a node got free by that.
func (t *taker) settle(p *sched.Plan) (freed bool) {
	t.Claims = slices.DeleteFunc(t.Claims, func(c claim) bool {
		st := p.Stage(c.Stage)
		switch {
		case st == nil || st.Pending+st.Suspended == 0:
			freed = unreserve(p, c) || freed
		case leaving(p, c) || p.Node(c.Node).Reserved == c.Stage:
			return false
		default:
			freed = true // the stage has used it, and the rest of the node is for all
		}
		t.drop(p, c)
		return true
	})
	t.Barred = slices.DeleteFunc(t.Barred, func(b bar) bool { return p.Job(b.Stage.Job) == nil })
	return freed
}

// leaving reports whether the attempt of a claim still holds what it is to give back.
func leaving(p *sched.Plan, c claim) bool {
	a := p.Attempt(c.Attempt)
	return a != nil && (a.State == sched.Suspending || a.State == sched.Leaving)
}

// drop counts a claim off.
func (t *taker) drop(p *sched.Plan, c claim) {
	if st := p.Stage(c.Stage); st != nil {
		*t.Claimed.Of(st) -= 1
		p.TouchJob(st.Job)
	}
}

// unreserve frees the node of a claim, and reports whether it was kept for it.
func unreserve(p *sched.Plan, c claim) bool {
	n := p.Node(c.Node)
	return n.Reserved == c.Stage && p.Reserve(nil, n)
}

// release frees the nodes on which everything has left that was to leave, and which the stage does not use although it may, and
// reports whether there were any. The stage will not ask for them again.
func (t *taker) release(p *sched.Plan) (freed bool) {
	for i := 0; i < len(t.Claims); {
		c := t.Claims[i]
		if !p.Node(c.Node).Open || slices.ContainsFunc(t.Claims, func(o claim) bool { return o.Node == c.Node && leaving(p, o) }) {
			i++
			continue
		}
		t.Claims = slices.Delete(t.Claims, i, i+1)
		freed = unreserve(p, c) || freed
		t.Barred = append(t.Barred, bar{c.Stage, c.Node})
		t.drop(p, c)
	}
	return freed
}

// resume has suspended attempts go on where room is news, the first in order first, but not before stages that are more urgent and
// have room somewhere.
func (t *taker) resume(p *sched.Plan, index *sched.Index) {
	for i := 0; i < len(p.Offers); i++ {
		for _, a := range t.parkedOn(p, p.Node(p.Offers[i])) {
			st := index.FirstOf(int(kindOf(a.Stage)), 0)
			if st == nil || !before(t.rank(p.View, st, 1), t.rank(p.View, a.Stage, 1)) {
				p.Resume(a)
			}
		}
	}
}

// parkedOn returns the suspended attempts on n, those first in order first, of equals the oldest.
func (t *taker) parkedOn(p *sched.Plan, n *sched.Node) []*sched.Attempt {
	t.parked = t.parked[:0]
	for a := range p.AttemptsOn(n) {
		if a.State == sched.Suspended {
			t.parked = append(t.parked, a)
		}
	}
	slices.SortFunc(t.parked, func(a, b *sched.Attempt) int {
		switch ka, kb := t.rank(p.View, a.Stage, 1), t.rank(p.View, b.Stage, 1); {
		case before(ka, kb):
			return -1
		case before(kb, ka):
			return 1
		}
		return cmp.Compare(a.ID, b.ID)
	})
	return t.parked
}

// take has attempts of the last in order leave for the first ones that have no room.
func (t *taker) take(p *sched.Plan, index *sched.Index) {
	if t.mode == suspend && p.Can&sched.CanSuspend == 0 || t.mode == kill && p.Can&sched.CanKill == 0 {
		return
	}
	// What is kept for one stage may have been the room that another passed over: then that one lacks room as well.
	for n := -1; n < len(t.Claims); {
		n = len(t.Claims)
		index.Sync(p)
		t.victims.Sync(p)
		for k := range sched.NumResources {
			for t.takeOne(p, index, k) {
			}
		}
		t.takeBack(p)
	}
}

// takeBack has attempts leave the nodes on which suspended ones of stages wait that come before them.
func (t *taker) takeBack(p *sched.Plan) {
	t.waiting.Sync(p)
	for st := t.waiting.Head(0); st != nil; st = t.waiting.Head(0) {
		t.waiting.Skip(st)
		last := t.victims.Head(int(kindOf(st)))
		if last == nil || !before(t.rank(p.View, st, 1), t.rank(p.View, last, 0)) {
			continue
		}
		tries := 0
		for a := range p.Attempts(st) {
			if tries++; tries > mostTries || *t.Claimed.Of(st) >= st.Pending+st.Suspended {
				break
			}
			if a.State == sched.Suspended {
				if b := t.behind(p, a); b != nil && t.leave(p, b) {
					t.claim(p, st, b)
				}
			}
		}
	}
}

// behind returns the last in order of the attempts on the node of a suspended one that come after it, and would make room for it; nil: none.
func (t *taker) behind(p *sched.Plan, a *sched.Attempt) (last *sched.Attempt) {
	most := t.rank(p.View, a.Stage, 1)
	need := a.Stage.Spec.PerTask
	need[sched.Memory] = 0 // it still has that
	for b := range p.AttemptsOn(p.Node(a.Node)) {
		if b.State != sched.Running || b.Stage.Job == a.Stage.Job || b.Stage.Kind == sched.Master {
			continue
		}
		if k := t.rank(p.View, b.Stage, 0); before(most, k) && t.makesRoom(p, a.Stage, b, need) {
			last, most = b, k
		}
	}
	return last
}

// claim notes that a leaves for the sake of st, and keeps its node for that.
func (t *taker) claim(p *sched.Plan, st *sched.Stage, a *sched.Attempt) {
	p.Reserve(st, p.Node(a.Node))
	t.Claims = append(t.Claims, claim{st.ID, a.Node, a.ID})
	*t.Claimed.Of(st) += 1
	p.TouchJob(st.Job)
}

// takeOne has one attempt leave that holds a kind of resource, or finds out that a stage cannot be helped; false: there is no more to do.
func (t *taker) takeOne(p *sched.Plan, index *sched.Index, kind int) bool {
	st, last := index.Head(kind), t.victims.Head(kind)
	if st == nil || last == nil {
		return false
	}
	if *t.Claimed.Of(st) >= st.Pending || p.First(st) != nil { // it has enough coming, or passes over room that is not near its input
		index.Skip(st)
		return true
	}
	if st.Job == last.Job || !before(t.rank(p.View, st, 1), t.rank(p.View, last, 0)) {
		return false
	}
	a := t.victim(p, st, last)
	if a == nil || !t.leave(p, a) {
		t.victims.Skip(last)
		return true
	}
	t.claim(p, st, a)
	return true
}

func (t *taker) leave(p *sched.Plan, a *sched.Attempt) bool {
	if t.mode == kill {
		return p.Kill(a, 0)
	}
	return p.Suspend(a)
}

// victim returns the youngest attempt of a stage whose leaving would make room for a task of st, or one on a node whose room is news; nil:
// none. Under heartbeats only nodes that have just reported are considered: of the others nobody knows whether they have room.
func (t *taker) victim(p *sched.Plan, st, of *sched.Stage) *sched.Attempt {
	tries := 0
	for a := range p.Attempts(of) {
		if tries++; tries > mostTries {
			break
		}
		if a.State == sched.Running && t.makesRoom(p, st, a, st.Spec.PerTask) {
			return a
		}
	}
	for _, id := range p.Offers {
		for a := range p.AttemptsOn(p.Node(id)) {
			if a.Stage == of && a.State == sched.Running && t.makesRoom(p, st, a, st.Spec.PerTask) {
				return a
			}
		}
	}
	return nil
}

// makesRoom reports whether what a task of st needs fits on a's node once a has left, beside what others leave for.
func (t *taker) makesRoom(p *sched.Plan, st *sched.Stage, a *sched.Attempt, need sched.Resources) bool {
	n := p.Node(a.Node)
	if !n.Open || n.Reserved != (sched.StageID{}) && n.Reserved != st.ID || slices.Contains(t.Barred, bar{st.ID, n.ID}) {
		return false
	}
	freed := p.Amount(a.Holds)
	if t.mode == suspend {
		freed[sched.Memory] = 0
	}
	tasks := int64(1)
	for _, c := range t.Claims {
		if c.Node == n.ID {
			tasks++
		}
	}
	return need.Times(tasks).FitsIn(n.Free().Add(n.Leaving).Add(freed))
}
