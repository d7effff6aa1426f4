package policy

import "github.com/sojourn-sched/sojourn/sched"

// A stage may wait that no single attempt helps: its task needs the room of two, or memory that suspended attempts
// keep. So a decision that has looked at some stages in vain asks whether a look at the others is in vain as well.
//
// An attempt helps a task if the task fits on the attempt's node once the attempt has left (taker.fits). That depends
// on the node alone. So it is remembered by node until more may become free there. Reservations, bars and maxima are
// left out, because they only make fewer attempts useful, and victim asks for them. What is remembered is a cache.

// helpers find out, for each kind of resource, whether any stage that runs helps the first stage that waits.
type helpers struct {
	of      [sched.NumResources]helpersOf
	after   int            // helpless answers after so many looks in a Step, and again whenever they have doubled
	dropped []sched.NodeID // where promises were dropped since the last call of follow
	offers  int            // how many of Plan.Offers were followed in this Step
	actions int            // the same of Plan.Actions
}

// helpersOf are the helpers for one kind of resource.
type helpersOf struct {
	need   sched.Resources // of a task that the attempts below help; zero: nothing is remembered
	looks  int             // at stages that run, in this Step
	next   int             // of these, at which helpless answers next
	nodes  []nodeHelpers   // by NodeID
	stages sched.Per[stageHelp]
	line   line // of what runs, as victims: the stages with attempts that help, or that were not seen yet
}

// nodeHelpers are the attempts on one node that help.
type nodeHelpers struct {
	stages []sched.StageID // the stage of each of them
	newest sched.AttemptID // of all that were on the node when it was looked at; later ones were not seen
}

// A stageHelp is what attempts of one stage help.
type stageHelp struct {
	attempts int32           // how many of them help
	newest   sched.AttemptID // of all whose nodes were looked at
}

// init sets up the lines. running is the key of the line of victims, and whole that line's order.
func (h *helpers) init(parts int, victims *line, running func(*sched.View, *sched.Stage, int) (sched.Key, bool)) {
	h.after = mostTries
	for k := range h.of {
		o := &h.of[k]
		o.line.init(kindGroup, parts, func(v *sched.View, st *sched.Stage, part int) (sched.Key, bool) {
			if int(kindOf(st)) != k {
				return sched.Key{}, false
			}
			if s := o.stages.Of(st); s.attempts == 0 && newest(v, st) <= s.newest {
				return sched.Key{}, false
			}
			return running(v, st, part)
		})
		o.line.whole = victims.whole
	}
}

// newest returns the ID of the youngest attempt of st; 0: it has none. O(attempts of st that have ended lately).
func newest(v *sched.View, st *sched.Stage) sched.AttemptID {
	for a := range v.Attempts(st) {
		return a.ID
	}
	return 0
}

// helpless reports whether no stage that runs helps st, the first stage that waits for its kind of resource. A decision
// asks before each look at a stage. It may get false where the answer is not known, and then looks on.
//
// It costs a look at the nodes where stages that come after st run, once while tasks of one size wait. Later it costs
// O(log n) for each stage with attempts that help by what is remembered, and that victim refuses.
func (h *helpers) helpless(p *sched.Plan, t *taker, st *sched.Stage) bool {
	kind := kindOf(st)
	o := &h.of[kind]
	if o.looks++; o.looks < o.next {
		return false
	}
	o.next *= 2 // so that a Step asks O(log n) times, although an answer may pass over many stages that victim refuses
	if o.need != st.Spec.PerTask {
		o.forget()
	}
	o.need = st.Spec.PerTask
	h.follow(p, t)
	o.line.sync(p)
	for {
		last := t.lastOf(p, func() *sched.Stage { return o.line.head(int(kind)) })
		switch {
		case last == nil:
			return true
		case last.Job == st.Job:
			o.line.skip(last)
		case !t.yields(p, st, last):
			return true
		case newest(p.View, last) > o.stages.Of(last).newest:
			o.meet(p, t, last)
		case t.victim(p, st, last) != nil:
			return false
		default:
			o.line.skip(last)
		}
	}
}

// forget makes h remember nothing.
func (h *helpersOf) forget() {
	h.need, h.nodes, h.stages = sched.Resources{}, nil, sched.Per[stageHelp]{}
	h.line.forget()
}

// meet looks at the nodes of the attempts of st that were not seen yet.
func (h *helpersOf) meet(p *sched.Plan, t *taker, st *sched.Stage) {
	seen := h.stages.Of(st).newest
	for a := range p.Attempts(st) {
		if a.ID <= seen {
			break
		}
		if int(a.Node) >= len(h.nodes) || a.ID > h.nodes[a.Node].newest {
			h.look(p, t, a.Node)
		}
	}
	h.stages.Of(st).newest = newest(p.View, st)
	p.Touch(st)
}

// look finds out which attempts on a node help. O(attempts on the node).
func (h *helpersOf) look(p *sched.Plan, t *taker, id sched.NodeID) {
	if more := len(p.Nodes) + 1 - len(h.nodes); more > 0 {
		h.nodes = append(h.nodes, make([]nodeHelpers, more)...)
	}
	n := &h.nodes[id]
	for _, of := range n.stages {
		if st := p.Stage(of); st != nil {
			h.add(p, st, -1)
		}
	}
	n.stages = n.stages[:0]
	for a := range p.AttemptsOn(p.Node(id)) {
		n.newest = max(n.newest, a.ID)
		if a.State == sched.Running && t.fits(p, a, h.need) {
			n.stages = append(n.stages, a.Stage.ID)
			h.add(p, a.Stage, 1)
		}
	}
}

// add changes by d how many attempts of st help.
func (h *helpersOf) add(p *sched.Plan, st *sched.Stage, d int32) {
	s := h.stages.Of(st)
	s.attempts += d
	p.Touch(st)
}

// follow looks again at the nodes where attempts may help now that did not when it was called last: nodes that got
// room, nodes of attempts that the plan ends, suspends or resumes, and nodes where a promise was dropped. Each Step
// calls it at its end. Attempts that start need no look: until helpless meets their stage, the stage has attempts that
// were not seen. O(attempts on these nodes).
//
// A resume offers its node, too, but the plan offers a node once a Step. So a resume on a node that was followed before
// shows among the actions alone.
func (h *helpers) follow(p *sched.Plan, t *taker) {
	for _, id := range p.Offers[h.offers:] {
		h.look(p, t, id)
	}
	for _, a := range p.Actions()[h.actions:] {
		if a.Kind == sched.Kill || a.Kind == sched.Suspend || a.Kind == sched.Resume {
			h.look(p, t, a.Node)
		}
	}
	for _, id := range h.dropped {
		h.look(p, t, id)
	}
	h.offers, h.actions, h.dropped = len(p.Offers), len(p.Actions()), h.dropped[:0]
}

// look looks at a node again, for the kinds that remember something.
func (h *helpers) look(p *sched.Plan, t *taker, id sched.NodeID) {
	for k := range h.of {
		if o := &h.of[k]; o.need != (sched.Resources{}) {
			o.look(p, t, id)
		}
	}
}

// begin begins a Step. It forgets what is remembered for a kind of resource that no stage waits for any more. order has
// been synced.
func (h *helpers) begin(order *turns) {
	h.offers, h.actions = 0, 0
	for k := range h.of {
		o := &h.of[k]
		o.looks, o.next = 0, h.after
		if o.need != (sched.Resources{}) && order.head(sched.ResourceKind(k)) == nil {
			o.forget()
		}
	}
}
