package policy

import (
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// A keeper keeps nodes free for big tasks (Hadoop's reserved containers). Without it smaller tasks take every hole that
// opens, and a big task waits until enough of them end on one node at the same time.
type keeper struct {
	Kept []keptNode

	on          bool // nodes are kept; else smaller tasks overtake big ones
	mastersOnly bool // nodes are kept for masters only
}

// A keptNode is a node that is kept for a stage.
type keptNode struct {
	Stage sched.StageID
	Node  sched.NodeID
}

// Values of the parameter big: for which tasks nodes are kept.
const (
	keptForNone    = "overtaken"
	keptForMasters = "masters"
	keptForAll     = "kept"
)

// keepingFor returns the parameter big, with its default.
func keepingFor(standard string) Param {
	return Param{
		Name:    "big",
		Kind:    Choice,
		Default: standard,
		Choices: []Option{{Name: keptForNone}, {Name: keptForMasters}, {Name: keptForAll}},
		Voids:   []Claim{WorkConserving},
		Meaning: "when the next task fits on no node: overtaken, smaller tasks go first; masters, a node is kept " +
			"free for it if it is an ApplicationMaster; kept, for any task",
	}
}

// init reads the parameter big. A policy without that parameter keeps nodes for masters.
func (k *keeper) init(a Args) {
	keeps := keptForMasters
	if a.has("big") {
		keeps = a.Choice("big")
	}
	k.on, k.mastersOnly = keeps != keptForNone, keeps == keptForMasters
}

// mayKeep reports whether the keeper may have something to do: it keeps nodes for all, or a master waits.
func (k *keeper) mayKeep(v *sched.View) bool {
	return k.on && (!k.mastersOnly || v.Queues[0].Count[sched.Master].Pending > 0)
}

// fill starts tasks of a tree until no waiting task has room, and keeps nodes for big tasks that smaller ones overtook.
func (k *keeper) fill(p *sched.Plan, t *tree) {
	if !k.on {
		t.fill(p)
		return
	}
	k.settle(p)
	chosen := len(p.Actions())
	for again := true; again; again = k.settle(p) {
		t.fill(p)
	}
	started := p.Actions()[chosen:]
	for kind := range sched.ResourceKind(sched.NumResources) {
		if t.has(kind) && len(started) > 0 {
			k.keep(p, t.next(p, t.waiting(kind, false)), started)
		}
	}
}

// settle gives up the nodes that are kept for stages that do not need them any more, and reports whether there were
// any.
func (k *keeper) settle(p *sched.Plan) (freed bool) {
	kept := k.Kept[:0]
	for _, x := range k.Kept {
		n, st := p.Node(x.Node), p.Stage(x.Stage)
		switch {
		case n.Reserved != x.Stage:
			freed = true // the stage has started its task there
		case st == nil || st.Pending == 0 || n.Open && st.Spec.PerTask.FitsIn(n.Free()) && p.First(st) == nil:
			p.Reserve(nil, n) // no task of the stage waits any more, or the stage avoids this node
			freed = true
		default:
			kept = append(kept, x)
		}
	}
	k.Kept = kept
	return freed
}

// keep keeps a node for st, the stage that is served next, if no node has room for its task and a smaller task has
// started instead. At most one node is kept for a stage. st may be nil.
//
// A queue of st may be at its maximum. Then no node is looked for while one has room: the task starts there once the
// maximum permits it. Where none has room, a node is kept, because what drains from it may be of that queue.
//
// O(nodes) if it looks for a node. While a node is kept it does not look. It looks in each call if no node can be kept,
// or if the stage avoids the node with most room.
func (k *keeper) keep(p *sched.Plan, st *sched.Stage, started []sched.Action) {
	if st == nil || k.mastersOnly && st.Kind != sched.Master || !overtaken(p, st, started) || k.keeps(st) ||
		p.First(st) != nil || atMaximum(p.View, st, st.Spec.PerTask) && p.Room(st) {
		return
	}
	n := emptiest(p, st, kindOf(st))
	if n == nil || n.Open && st.Spec.PerTask.FitsIn(n.Free()) {
		return // keeping a node would not help: the stage avoids the node
	}
	if p.Reserve(st, n) {
		k.Kept = append(k.Kept, keptNode{st.ID, n.ID})
	}
}

// atMaximum reports whether a maximum of the queues of st keeps st from taking need. O(depth of the queue tree).
func atMaximum(v *sched.View, st *sched.Stage, need sched.Resources) bool {
	for id := st.Job.Queue; id != 0; id = v.Queues[id].Parent {
		if q := v.Queues[id]; !need.FitsIn(q.Max.Sub(q.Used)) {
			return true
		}
	}
	return false
}

// only gives up the nodes that are kept for stages other than st; nil: all nodes.
func (k *keeper) only(p *sched.Plan, st *sched.Stage) {
	k.Kept = slices.DeleteFunc(k.Kept, func(x keptNode) bool {
		return (st == nil || x.Stage != st.ID) && p.Reserve(nil, p.Node(x.Node))
	})
}

// keeps reports whether a node is kept for st.
func (k *keeper) keeps(st *sched.Stage) bool {
	for _, x := range k.Kept {
		if x.Stage == st.ID {
			return true
		}
	}
	return false
}

// reserved returns how many of the kept nodes no task has taken yet.
func (k *keeper) reserved(v *sched.View) (n int) {
	for _, x := range k.Kept {
		if v.Node(x.Node).Reserved == x.Stage {
			n++
		}
	}
	return n
}

// overtaken reports whether one of the started tasks competes with the tasks of st and needs less than one of them.
func overtaken(p *sched.Plan, st *sched.Stage, started []sched.Action) bool {
	for _, a := range started {
		if r := p.Amount(a.Shape); a.Kind == sched.Launch && r[kindOf(st)] > 0 && !st.Spec.PerTask.FitsIn(r) {
			return true
		}
	}
	return false
}

// emptiest returns the node, reserved for no stage, that could hold a task of st and has the most room of kind k; nil:
// there is none. Room that is leaving counts.
func emptiest(p *sched.Plan, st *sched.Stage, k sched.ResourceKind) (best *sched.Node) {
	most := int64(-1)
	for _, n := range p.Nodes {
		if n.Lost || n.Reserved != (sched.StageID{}) || !st.Spec.PerTask.FitsIn(n.Capacity) {
			continue
		}
		if room := n.Capacity[k] - n.Used[k] + n.Leaving[k]; room > most {
			best, most = n, room
		}
	}
	return best
}
