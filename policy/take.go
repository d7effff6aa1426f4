package policy

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// A mode says how an order takes back what less urgent jobs hold.
type mode uint8

const (
	never   mode = iota // not at all
	suspend             // the attempt keeps its memory and goes on later, on the same node
	kill                // its work is lost
)

// PreemptMemory is what an [Order] with PreemptParams remembers, for Card.Memory.
const PreemptMemory = "which running tasks make room for which stage (with preempt)"

// PreemptParams appends the parameters of a policy that embeds an [Order] and lets it take tasks back: preempt, which
// is off, suspend or kill, and check.
func PreemptParams(own ...Param) []Param {
	return append(own, taking(optOff, optSuspend, optKill), lookingBack)
}

// taking returns the parameter preempt with the modes to choose from; the first one is the default.
func taking(first Option, others ...Option) Param {
	return Param{
		Name:    "preempt",
		Kind:    Choice,
		Default: first.Name,
		Choices: append([]Option{first}, others...),
		Voids:   []Claim{NonPreemptive},
		Meaning: "how running tasks of less urgent jobs make room for more urgent jobs",
	}
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
	return never
}

// lookingBack is the parameter of orders that may suspend.
var lookingBack = Param{Name: "check", Kind: Duration, Default: "3s", Min: 0.001,
	Meaning: "on engines without heartbeats: how often the policy looks for suspended tasks that come before what " +
		"runs on their node"}

// A taker takes attempts from the last stages in an order for the sake of the first, keeps the freed room for these,
// and resumes suspended attempts when their turn has come.
//
// A decision costs O(log n) for each stage that it looks at: for an attempt taken these are the stages that come after
// the attempt's. Where none helps, it looks at mostTries at most (helpers), beside those of spared queues. Suspended
// attempts that wait behind less urgent ones on their node are looked at when the node reports. Where nodes do not
// report, they are looked at once in each interval of the parameter check.
type taker struct {
	// Promises are what is leaving, and for which stage. Records know them as Claims.
	Promises []promise        `json:"Claims"`
	Promised sched.Per[int32] `json:"Claimed"` // by stage: how many of Promises are for it
	Barred   []bar            // promises that came to nothing
	Back     ticker           // says when to look at suspended attempts, where nodes do not report

	mode    mode
	falls   bool // as in parting
	check   sched.Time
	rank    Ranking
	victims line               // of what runs and is not spared, the last first, in a group for each kind of resource
	own     sched.JobID        // victims passes over stages of this job until it is synced; 0: of none
	idle    line               // with kill: of masters whose jobs have started nothing else, as victims
	waiting line               // of what is suspended, the first first, in one group
	runs    sched.Per[runners] // by stage: its attempts that may run
	promiseCount
	maxima
	helpers helpers
	parked  []*sched.Attempt // scratch
	coming  sched.Resources  // how much more masters will hold when all promises have been used
}

// A promise is an attempt that leaves a node for the sake of a stage, which gets the room.
type promise struct {
	Stage   sched.StageID
	Node    sched.NodeID
	Attempt sched.AttemptID
	Resumes bool `json:",omitempty"` // a suspended attempt gets the room; it has its memory already
}

// A bar is a node that was kept for a stage in vain: the stage avoids the node, or waits for a node near its input. No
// more promises are made there for the stage.
type bar struct {
	Stage sched.StageID
	Node  sched.NodeID
}

// mostTries bounds how many running attempts of a stage are looked at for one that would make room, and how many stages
// a decision passes over because the maxima of their queues hold them back.
const mostTries = 32

// will returns how many attempts st will have when all promises have been used and all that were asked to leave have
// left.
func (t *taker) will(st *sched.Stage) int32 { return st.Running - st.Leaving + *t.Promised.Of(st) }

// lateness returns the key of st among the stages of late jobs: first comes the job that holds least, for its weight,
// of what st competes for.
func (t *taker) lateness(st *sched.Stage, more int32) sched.Key {
	k := kindOf(st)
	for _, o := range st.Job.Stages {
		if kindOf(o) == k {
			more += t.will(o)
		}
	}
	return sched.Key{Class: overdue, Value: float64(more) / st.Job.Weight}
}

// init reads the parameters preempt and check, if the card has them, and sets up the lines in the parts that in says.
func (t *taker) init(a Args, rank Ranking, in parting) {
	t.rank = rank
	if a.has("preempt") {
		t.mode = modeOf(a.Choice("preempt"))
	}
	if t.mode == never {
		return
	}
	if t.mode == suspend {
		t.check = a.Time(lookingBack.Name)
	}
	t.falls = in.falls
	running := func(v *sched.View, st *sched.Stage, part int) (sched.Key, bool) {
		if st.Running-st.Leaving <= 0 || st.Kind == sched.Master || in.part(st) != part || safe(v, st) {
			return sched.Key{}, false
		}
		return backwards(in.key(v, st, 0), st), true
	}
	t.victims.init(kindGroup, in.parts, running)
	t.victims.whole = func(v *sched.View, st *sched.Stage) sched.Key { return backwards(rank(v, st, 0), st) }
	t.helpers.init(in.parts, &t.victims, running)
	t.byQueue.init(t.byQueue.group, in.parts, running)
	t.byQueue.whole = t.victims.whole
	if t.mode == kill {
		t.initIdle(in)
	}
	t.waiting.init(nil, in.parts, func(v *sched.View, st *sched.Stage, part int) (sched.Key, bool) {
		if st.Suspended == 0 || in.part(st) != part {
			return sched.Key{}, false
		}
		return in.key(v, st, 1), true
	})
	t.waiting.whole = func(v *sched.View, st *sched.Stage) sched.Key { return rank(v, st, 1) }
}

// settle drops the promises that are over: the attempt has left and the stage has used the node, or no task of the
// stage waits or is suspended any more. It reports whether it dropped one: what is left of the node is then for all
// stages, and the caller lets them start tasks and calls settle again, until it drops none. It also forgets the nodes
// that stages of ended jobs avoid (bar). O(promises + bars).
func (t *taker) settle(p *sched.Plan) (freed bool) {
	t.count(p, t.Promises)
	kept := t.Promises[:0]
	for _, c := range t.Promises {
		st := p.Stage(c.Stage)
		switch {
		case st == nil || st.Pending+st.Suspended == 0:
			unreserve(p, c)
			freed = true // also if its last task has just used it: the rest of the node is for all
		case leaving(p, c) || p.Node(c.Node).Reserved == c.Stage:
			kept = append(kept, c)
			continue
		default:
			freed = true // the stage has used it, and the rest of the node is for all
		}
		t.drop(p, c)
	}
	t.Promises = kept
	t.Barred = slices.DeleteFunc(t.Barred, func(b bar) bool { return p.Job(b.Stage.Job) == nil })
	return freed
}

// leaving reports whether the attempt of a promise still holds what it is to give back.
func leaving(p *sched.Plan, c promise) bool {
	a := p.Attempt(c.Attempt)
	return a != nil && (a.State == sched.Suspending || a.State == sched.Leaving)
}

// drop takes promise c out of the counts.
func (t *taker) drop(p *sched.Plan, c promise) {
	t.add(c, -1)
	t.helpers.dropped = append(t.helpers.dropped, c.Node)
	if st := p.Stage(c.Stage); st != nil {
		*t.Promised.Of(st) -= 1
		p.TouchJob(st.Job)
	}
}

// unreserve frees the node of promise c if it is reserved for the stage of c, and reports whether it was.
func unreserve(p *sched.Plan, c promise) bool {
	n := p.Node(c.Node)
	return n.Reserved == c.Stage && p.Reserve(nil, n)
}

// release drops the promises that came to nothing. The attempts have left, the node is open, so that tasks may start on
// it now (under heartbeats: it has just reported), and still the stage has not started there. Such a node is free for
// all again, and is not promised to this stage any more while the stage's job lasts (Barred), unless the maximum of a
// queue keeps the stage from starting: that will pass. Call it when settle has nothing more to do and the stages have
// been offered the room. It reports whether it freed a node.
func (t *taker) release(p *sched.Plan) (freed bool) {
	for _, c := range t.Promises {
		if leaving(p, c) {
			t.nodes[c.Node].leaving = true
		}
	}
	kept := t.Promises[:0]
	for _, c := range t.Promises {
		if !p.Node(c.Node).Open || t.nodes[c.Node].leaving {
			kept = append(kept, c)
			continue
		}
		freed = unreserve(p, c) || freed
		t.drop(p, c)
		if st := p.Stage(c.Stage); !atMaximum(p.View, st, c.need(st)) {
			t.Barred = append(t.Barred, bar{c.Stage, c.Node})
		}
	}
	t.Promises = kept
	for _, c := range t.Promises {
		t.nodes[c.Node].leaving = false
	}
	return freed
}

// resume resumes suspended attempts on the nodes that have new room (Plan.Offers), in the order of their keys. An
// attempt does not resume while a stage with a smaller key waits and has room on some node.
func (t *taker) resume(p *sched.Plan, order *turns) {
	for i := 0; i < len(p.Offers); i++ {
		n := p.Node(p.Offers[i])
		if !someRoom(n) {
			continue
		}
		for _, a := range t.parkedOn(p, n) {
			t.goOn(p, order, a)
		}
	}
}

// goOn resumes a suspended attempt if it may, and reports whether it does.
func (t *taker) goOn(p *sched.Plan, order *turns, a *sched.Attempt) bool {
	st := order.firstOf(kindOf(a.Stage))
	if st != nil && t.rank(p.View, st, 1).Before(t.rank(p.View, a.Stage, 1)) || !p.Resume(a) {
		return false
	}
	t.runsAgain(a)
	return true
}

// someRoom reports whether node n has room of any kind but memory. Suspended attempts keep their memory.
func someRoom(n *sched.Node) bool {
	for k := range n.Used {
		if k != int(sched.Memory) && n.Used[k] < n.Capacity[k] {
			return true
		}
	}
	return false
}

// parkedOn returns the suspended attempts on n in the order of their keys; of equals the oldest first.
func (t *taker) parkedOn(p *sched.Plan, n *sched.Node) []*sched.Attempt {
	t.parked = t.parked[:0]
	for a := range p.AttemptsOn(n) {
		if a.State == sched.Suspended {
			t.parked = append(t.parked, a)
		}
	}
	if len(t.parked) < 2 {
		return t.parked
	}
	slices.SortFunc(t.parked, func(a, b *sched.Attempt) int {
		return cmp.Or(t.rank(p.View, a.Stage, 1).Compare(t.rank(p.View, b.Stage, 1)), cmp.Compare(a.ID, b.ID))
	})
	return t.parked
}

// take makes attempts of the last stages in the order leave, for the first stages that have no room.
func (t *taker) take(p *sched.Plan, order *turns) {
	if t.mode == suspend && p.Can&sched.CanSuspend == 0 || t.mode == kill && p.Can&sched.CanKill == 0 {
		return
	}
	reporting := reporting(p)
	t.foresee(p)
	order.sync(p)
	t.helpers.begin(order)
	// What is kept for one stage may have been the room that another passed over: then that one lacks room as well.
	for n := -1; n < len(t.Promises); {
		n, t.passed = len(t.Promises), 0
		order.sync(p)
		t.victims.sync(p)
		t.own = 0
		for k := range sched.NumResources {
			for t.takeOne(p, order, k, reporting) {
			}
		}
		if t.mode == kill {
			t.exchange(p, order)
		}
		if t.mode == suspend {
			t.takeBack(p, order, reporting)
		}
	}
	t.helpers.follow(p, t)
}

// reporting reports whether tasks can be launched only on nodes that have just reported: all open nodes are among
// Plan.Offers.
func reporting(p *sched.Plan) bool {
	open := 0
	for _, n := range p.Nodes {
		switch {
		case n.Lost:
		case !n.Open:
			return true
		default:
			if open++; open > len(p.Offers) {
				return false
			}
		}
	}
	// A report with a spec says that a node offers something else now, also where nodes are always open.
	return slices.ContainsFunc(p.Events, func(e sched.Event) bool {
		return e.Kind == sched.NodeReported && e.Body == nil
	})
}

// takeBack makes room for suspended attempts on their nodes: attempts there that come after them in the order leave.
// Where nodes do not report, it also resumes suspended attempts that had room before, and had to wait for something
// else: the maximum of their queue.
func (t *taker) takeBack(p *sched.Plan, order *turns, reporting bool) {
	if reporting {
		for i := 0; i < len(p.Offers); i++ {
			for _, a := range t.parkedOn(p, p.Node(p.Offers[i])) {
				t.takeFor(p, a)
			}
		}
		return
	}
	t.waiting.sync(p)
	if !t.Back.dueWhile(p, t.check, t.waiting.head(0) != nil) {
		return
	}
	for st := t.waiting.head(0); st != nil; st = t.waiting.head(0) {
		t.waiting.skip(st)
		for a := range p.Attempts(st) {
			if a.State == sched.Suspended && !t.goOn(p, order, a) {
				t.takeFor(p, a)
			}
		}
	}
}

// takeFor makes room for the suspended attempt a on its node: if lastOn finds an attempt there, takeFor suspends that
// one and promises the room to the stage of a. It does not resume a: resume does so once the room is free. It does
// nothing if the stage has as many promises already as tasks that wait or are suspended.
func (t *taker) takeFor(p *sched.Plan, a *sched.Attempt) {
	st := a.Stage
	if *t.Promised.Of(st) >= st.Pending+st.Suspended {
		return
	}
	need := st.Spec.PerTask
	need[sched.Memory] = 0 // it still has that
	if b := t.lastOn(p, p.Node(a.Node), st, need); b != nil && t.leave(p, b) {
		t.promise(p, promise{Stage: st.ID, Node: b.Node, Attempt: b.ID, Resumes: true})
	}
}

// lastOn returns the attempt on node n that comes last in the order, if it comes after st and if need, the resources of
// a task of st, would fit there and under the maxima of queues once it has left; nil: there is none. Masters, attempts
// of the job of st and jobs of spared queues are left alone.
func (t *taker) lastOn(p *sched.Plan, n *sched.Node, st *sched.Stage, need sched.Resources) (last *sched.Attempt) {
	most := t.rank(p.View, st, 1)
	for b := range p.AttemptsOn(n) {
		if b.State != sched.Running || b.Stage.Job == st.Job || b.Stage.Kind == sched.Master ||
			safe(p.View, b.Stage) {
			continue
		}
		k := t.rank(p.View, b.Stage, 0)
		if most.Before(k) && t.makesRoom(p, st, b, need) && t.underMax(p, st, b, need) {
			last, most = b, k
		}
	}
	return last
}

// takeFrom makes attempt a leave and promises the room to a waiting task of st. It reports whether the plan accepts
// that.
func (t *taker) takeFrom(p *sched.Plan, st *sched.Stage, a *sched.Attempt) bool {
	if !t.leave(p, a) {
		return false
	}
	t.promise(p, promise{Stage: st.ID, Node: a.Node, Attempt: a.ID})
	return true
}

// promise notes promise c, and keeps its node for it.
func (t *taker) promise(p *sched.Plan, c promise) {
	st := p.Stage(c.Stage)
	p.Reserve(st, p.Node(c.Node))
	t.Promises = append(t.Promises, c)
	t.add(c, 1)
	*t.Promised.Of(st) += 1
	p.TouchJob(st.Job)
	t.expect(p, c)
}

// takeOne makes one attempt that holds a kind of resource leave for the first stage, or passes over a stage that cannot
// be helped. It returns false if there is no more to do.
func (t *taker) takeOne(p *sched.Plan, order *turns, kind int, reporting bool) bool {
	st := order.head(sched.ResourceKind(kind))
	if st == nil {
		return false
	}
	if t.own != 0 && t.own != st.Job.ID { // for st these may leave
		t.victims.sync(p)
		t.own = 0
	}
	last := t.last(p, kind)
	if last == nil {
		return false
	}
	if *t.Promised.Of(st) >= st.Pending || p.First(st) != nil || // it has enough coming, or passes over room
		!order.masters.oneMoreFits(p.View, st, t.coming) {
		order.skip(st)
		return true
	}
	own := last.Job == st.Job // stages before it in the order may yield all the same
	if !own && !t.yields(p, st, last) {
		return false
	}
	if !t.underMax(p, st, nil, st.Spec.PerTask) {
		return t.takeWithin(p, order, st, reporting)
	}
	var a *sched.Attempt
	switch {
	case reporting:
		a = t.lastReported(p, st, kind)
	case own: // none of these
	case t.helpers.helpless(p, t, st):
		return false
	default:
		a = t.victim(p, st, last)
	}
	switch {
	case a != nil && t.takeFrom(p, st, a):
	case reporting:
		return false
	default:
		t.victims.skip(last)
		if own {
			t.own = st.Job.ID
		}
	}
	return true
}

// safe reports whether nothing may be taken back from st: its queue is spared.
func safe(v *sched.View, st *sched.Stage) bool { return spared(v, v.Queues[st.Job.Queue]) }

// yields reports whether stage last, of another job than st, comes after st: then an attempt of last may leave for st.
// If the last stage that runs does not yield, no stage of another job does. A job takes nothing back from itself. The
// callers pass over the job's own stages, at O(log n) for each.
func (t *taker) yields(p *sched.Plan, st, last *sched.Stage) bool {
	return t.rank(p.View, st, 1).Before(t.rank(p.View, last, 0))
}

// last returns the last in order of the stages that hold a kind of resource; nil: none.
func (t *taker) last(p *sched.Plan, kind int) *sched.Stage {
	return t.lastOf(p, func() *sched.Stage { return t.victims.head(kind) })
}

// lastOf returns the last in order of some stages that run; nil: none. head returns the first one in victims or in
// byQueue.
//
// Where keys fall while tasks run, a key there may be of an earlier instant: then its stage comes before that place,
// never after it. So the last stage is marked as changed, which computes its key anew, until it stays the last.
func (t *taker) lastOf(p *sched.Plan, head func() *sched.Stage) *sched.Stage {
	last := head()
	if !t.falls {
		return last
	}
	for known := (*sched.Stage)(nil); last != known; last = head() {
		known = last
		p.Touch(last)
	}
	return last
}

// leave kills or suspends attempt a, as the mode says, and reports whether the plan accepts that.
func (t *taker) leave(p *sched.Plan, a *sched.Attempt) bool {
	if t.mode == kill {
		return p.Kill(a, 0)
	}
	return p.Suspend(a)
}

// lastReported returns the last in order of the attempts that hold a kind of resource on nodes that have just reported,
// and whose leaving would make room for a task of st; nil: none. Whether other nodes have room is not known.
func (t *taker) lastReported(p *sched.Plan, st *sched.Stage, kind int) (last *sched.Attempt) {
	for _, id := range p.Offers {
		a := t.lastOn(p, p.Node(id), st, st.Spec.PerTask)
		if a != nil && int(kindOf(a.Stage)) == kind &&
			(last == nil || t.rank(p.View, last.Stage, 0).Before(t.rank(p.View, a.Stage, 0))) {
			last = a
		}
	}
	return last
}

// victim returns the youngest running attempt of stage of that makes room for a task of st when it leaves; nil: there
// is none among the mostTries youngest.
func (t *taker) victim(p *sched.Plan, st, of *sched.Stage) *sched.Attempt {
	r := t.runningOf(p, of)
	tries := 0
	for i := len(r.ids) - 1; i >= 0 && tries < mostTries; i-- {
		a := p.Attempt(r.ids[i])
		if a == nil || a.State != sched.Running {
			r.ids = slices.Delete(r.ids, i, i+1) // near the end: few have to move
			continue
		}
		if tries++; t.makesRoom(p, st, a, st.Spec.PerTask) && t.underMax(p, st, a, st.Spec.PerTask) {
			return a
		}
	}
	return nil
}

// makesRoom reports whether need, the resources of a task of st, fit on the node of attempt a once a has left. What
// other promises on that node are for must fit there as well. The node must be open, and neither reserved for another
// stage nor barred for st.
func (t *taker) makesRoom(p *sched.Plan, st *sched.Stage, a *sched.Attempt, need sched.Resources) bool {
	n := p.Node(a.Node)
	if !n.Open || n.Reserved != (sched.StageID{}) && n.Reserved != st.ID ||
		slices.Contains(t.Barred, bar{st.ID, n.ID}) {
		return false
	}
	return t.fits(p, a, need)
}

// fits reports whether need fits on the node of attempt a once a has left, and as much for each promise there.
func (t *taker) fits(p *sched.Plan, a *sched.Attempt, need sched.Resources) bool {
	n := p.Node(a.Node)
	return need.Times(int64(1 + t.nodes[n.ID].promises)).FitsIn(n.Free().Add(n.Leaving).Add(t.freed(p, a)))
}

// freed returns what is free when attempt a has left. A suspended attempt keeps its memory.
func (t *taker) freed(p *sched.Plan, a *sched.Attempt) sched.Resources {
	freed := p.Amount(a.Holds)
	if t.mode == suspend {
		freed[sched.Memory] = 0
	}
	return freed
}

// runners are the attempts of a stage that may run, in order of launch: those that were seen at the last call of
// runningOf, without some that were found not to run.
type runners struct {
	ids    []sched.AttemptID
	newest sched.AttemptID // of all that were seen
}

// runningOf brings the attempts of a stage up to date, at the cost of those launched since.
func (t *taker) runningOf(p *sched.Plan, st *sched.Stage) *runners {
	r := t.runs.Of(st)
	known := len(r.ids)
	for a := range p.Attempts(st) {
		if a.ID <= r.newest {
			break
		}
		r.ids = append(r.ids, a.ID)
	}
	if len(r.ids) > known {
		r.newest = r.ids[known]
		slices.Reverse(r.ids[known:])
	}
	return r
}

// runsAgain puts an attempt that goes on in its place among those that run, unless it is yet to be seen.
func (t *taker) runsAgain(a *sched.Attempt) {
	r, seen := t.runs.Has(a.Stage)
	if !seen || a.ID > r.newest {
		return
	}
	if i, there := slices.BinarySearch(r.ids, a.ID); !there {
		r.ids = slices.Insert(r.ids, i, a.ID)
	}
}

// A promiseCount is how many promises there are on each node.
type promiseCount struct {
	nodes  []nodePromises // by NodeID
	counts int            // of all nodes together
}

// nodePromises are the promises on one node.
type nodePromises struct {
	promises int32
	leaving  bool // scratch of release
}

// count makes the counts anew if they are not of promises, as after a restart.
func (c *promiseCount) count(p *sched.Plan, promises []promise) {
	if n := len(p.Nodes) + 1; len(c.nodes) < n {
		c.nodes = append(c.nodes, make([]nodePromises, n-len(c.nodes))...)
	}
	if c.counts == len(promises) {
		return
	}
	clear(c.nodes)
	c.counts = 0
	for _, x := range promises {
		c.add(x, 1)
	}
}

// add changes the number of promises on the node of x by n.
func (c *promiseCount) add(x promise, n int) {
	c.nodes[x.Node].promises += int32(n)
	c.counts += n
}
