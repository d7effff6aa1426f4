package policy

import "github.com/sojourn-sched/sojourn/sched"

var dynamicmrCard = Card{
	Title:    "lends idle slots of one kind to tasks of the other; waiting tasks before second attempts; idle slots for tasks whose input is there",
	Source:   "Tang, PhD thesis on job scheduling and resource allocation for MapReduce, chapter 4 (DynamicMR: DHSA, SEPB, Slot PreScheduling), over Hadoop 1's Fair Scheduler",
	Spec:     "docs/spec/dynamicmr.md#7-parameters",
	Needs:    sched.CanNameTasks,
	Slots:    true,
	Progress: true,
	Params: sizing(PlacingParams(speculating(
		Param{
			Name:    "base",
			Kind:    Choice,
			Default: "fair",
			Choices: []Option{{Name: "fair"}, {Name: "fifo"}, {Name: "srpt"}},
			Meaning: "the order beneath: queues and in them jobs by what runs of them, all jobs by priority and age, or all jobs by what work is left of them",
		},
		Param{Name: "dhsa", Kind: Choice, Default: "pi", Choices: []Option{{Name: "pi"}, {Name: "pd"}, {Name: "off"}},
			Meaning: "how slots are lent: once maps and reduces have been served, each kind shared for itself; or by each queue to itself first, both kinds shared as one; or not"},
		Param{
			Name:    "lend-maps",
			Kind:    Number,
			Default: "1",
			Max:     1,
			Meaning: "part of the map slots that reduces may hold (Pec_M)",
		},
		Param{
			Name:    "lend-reduces",
			Kind:    Number,
			Default: "1",
			Max:     1,
			Meaning: "part of the reduce slots that maps may hold (Pec_R)",
		},
		Param{
			Name:    "sepb",
			Kind:    Choice,
			Default: "cluster",
			Choices: []Option{{Name: "cluster"}, {Name: "queue"}, {Name: "off"}},
			Meaning: "whose waiting tasks go before second attempts: those of jobs of the whole cluster, or of the queue; off: there are no second attempts",
		},
		Param{
			Name:    "checked",
			Kind:    Number,
			Default: "0.8",
			Max:     1,
			Meaning: "part of the jobs, from the straggler's on, that is looked at for such tasks; 0: each job's second attempts come right after its own tasks, as in Hadoop 1",
		},
		Param{
			Name:    "overdue",
			Kind:    Choice,
			Default: "kill",
			Choices: []Option{{Name: "kill", Needs: sched.CanKill}, {Name: "wait"}},
			Meaning: "what becomes of a straggler without a second attempt that has run much longer than its stage's finished tasks",
		},
		Param{
			Name:    "overdue-after",
			Kind:    Number,
			Default: "4",
			Min:     1,
			Max:     1e6,
			Meaning: "how many times as long as their mean",
		},
		Param{Name: "prescheduling", Kind: Choice, Default: "on", Choices: []Option{{Name: "on"}, {Name: "off"}},
			Meaning: "whether a map may take a slot near its input that load balancing or a lending limit would leave idle"},
		Param{
			Name:    "most-borrowed",
			Kind:    Integer,
			Default: "100000",
			Meaning: "how many reduce slots maps may hold by that at once",
		},
	)...)...),
	Memory: []string{
		"tasks that were slow when last looked, nodes that were, and the order of the jobs then",
		"second attempts that run; by node: how many tasks were finished there",
		"by stage: how long its finished tasks took, which were killed; stages that are to start such a task again",
		"maps that hold a reduce slot near their input, and how many of them no reduce has made up for",
		"what a map and a reduce weigh, where slots have weights",
		"by stage: since when it waits for a node near its input (with a delay)",
		"by stage: the size of a task, as the estimator last said (with base=srpt)",
	},
	Claims: []Claim{TimeInvariant},
}

// dynamicmr serves maps on map slots and reduces on reduce slots in the order beneath, and then lets each kind have
// what the other leaves idle. Tasks that ask for no slots are served as by the order beneath.
//
// A decision costs what the order beneath does, some times over: O(log n) for n jobs, or siblings in the queue tree. A
// look for stragglers costs what they are, and O(n log n) where there are any while tasks wait.
type dynamicmr struct {
	tree
	sepb
	lender
	Sizes sizes // known where jobs are served by size

	bySize  bool
	pooled  bool                 // PD-DHSA
	visited map[sched.JobID]bool // PD-DHSA: jobs of which a map near its input was looked for in this Step
}

// The slots that DynamicMR knows.
var slotKinds = [2]sched.ResourceKind{sched.MapSlots, sched.ReduceSlots}

// sideOfSlots returns the place of a kind of slots in pairs.
func sideOfSlots(k sched.ResourceKind) int { return int(k - sched.MapSlots) }

// otherSlots returns the other kind of slots.
func otherSlots(k sched.ResourceKind) sched.ResourceKind {
	return sched.MapSlots + sched.ReduceSlots - k
}

func newDynamicMR(a Args) sched.Policy {
	d := &dynamicmr{
		sepb:    newSEPB(a),
		lender:  newLender(a),
		pooled:  a.Choice("dhsa") == "pd",
		visited: map[sched.JobID]bool{},
	}
	d.Sizes, d.bySize = newSizes(a), a.Choice("base") == "srpt"
	d.stragglers.set(a)
	d.flat = a.Choice("base") != "fair"
	d.turn, d.leaf = d.queueTurn, d.pick
	d.tree.init(a, d.within)
	if d.pooled {
		d.lanes = 1 << eitherSlots
	}
	key := d.index.Key
	d.index.Key = func(v *sched.View, st *sched.Stage, at sched.Time) (sched.Key, bool) {
		if st.Pending > 0 {
			d.Order[0].note(st)
			d.Order[1].note(st)
		}
		return key(v, st, at)
	}
	d.suspects.index.Group, d.suspects.some.Group = d.group, kindGroup
	d.suspects.index.Key = func(v *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) {
		return d.within(v, st, 1), d.suspected(st)
	}
	d.suspects.some.Key = func(_ *sched.View, st *sched.Stage, _ sched.Time) (sched.Key, bool) {
		return sched.Key{}, d.suspected(st)
	}
	return d
}

// Decide starts tasks and second attempts where there is room, and now and then looks for stragglers.
func (d *dynamicmr) Decide(p *sched.Plan) {
	d.repaid(p)
	d.weigh(p)
	looks := d.learn(p)
	if d.bySize {
		d.Sizes.learn(p)
	}
	d.tree.begin(p)
	d.suspects.skipped = false
	if looks {
		d.lookAround(p)
	}
	if d.idle(p) {
		d.serveSlots(p)
	}
	for k := range sched.ResourceKind(sched.NumResources) {
		if d.has(k) && k != sched.MapSlots && k != sched.ReduceSlots {
			d.fillKind(p, k)
		}
	}
	if looks {
		d.killOverdue(p)
	}
}

// serveSlots hands out the slots that are idle.
func (d *dynamicmr) serveSlots(p *sched.Plan) {
	d.measure(p)
	d.startUrgent(p)
	if d.pooled {
		d.serveQueues(p)
	} else {
		d.servePhases(p)
	}
	d.startSeconds(p)
}

// servePhases is PI-DHSA (algorithm 6): each kind of tasks on its own slots, and then on what the other leaves. A stage
// that waits for a node near its input begins to wait anew when a task of it was started away from its slots, so it is
// asked again.
func (d *dynamicmr) servePhases(p *sched.Plan) {
	for again := true; again; {
		for _, k := range slotKinds {
			d.serveOwn(p, k)
		}
		own := len(p.Actions())
		for _, k := range slotKinds {
			d.serveLent(p, k)
		}
		d.preschedule(p)
		again = len(p.Actions()) > own && d.delay+d.rackDelay > 0
	}
}

// waitsFor is what waits of kind k, for slots of its own or lent ones, every stage in its place again.
func (d *dynamicmr) waitsFor(p *sched.Plan, k sched.ResourceKind, lent bool) sought {
	d.crowd.begin(p)
	s := d.waiting(k, true)
	s.lent = lent
	return s
}

// serveOwn starts tasks of kind k on slots of their own.
func (d *dynamicmr) serveOwn(p *sched.Plan, k sched.ResourceKind) {
	if !d.has(k) {
		return
	}
	for s := d.waitsFor(p, k, false); ; {
		st := d.choose(p, s)
		switch {
		case st == nil:
			return
		case d.overtaken(p, st, k):
		case !d.placeOwn(p, st, k):
			d.skip(st)
		}
	}
}

// serveLent starts tasks of kind k on slots of the other kind, as many as may be lent.
func (d *dynamicmr) serveLent(p *sched.Plan, k sched.ResourceKind) {
	extra := &d.extra[sideOfSlots(otherSlots(k))]
	if *extra <= 0 || !d.has(k) {
		return
	}
	for s := d.waitsFor(p, k, true); *extra > 0; {
		st := d.choose(p, s)
		switch {
		case st == nil:
			return
		case d.placeLent(p, st, k):
			*extra--
		default:
			d.skip(st)
		}
	}
}

// placeOwn starts a task of st on a slot of its own kind k: near its input, if need be on a slot beyond the balancing
// line (Slot PreScheduling, case 1), else where the line and the delay allow it.
func (d *dynamicmr) placeOwn(p *sched.Plan, st *sched.Stage, k sched.ResourceKind) bool {
	where := d.below(p, st, k)
	if d.prescheduling && st.Kind == sched.Map && d.near(st) && where.Ok != nil &&
		(d.nearest(p, st, sched.NodeLocal, where) || d.nearest(p, st, sched.NodeLocal, sched.Where{})) {
		return true
	}
	if !d.placeWhere(p, st, where) {
		return false
	}
	d.passed(p, st, where)
	return true
}

// placeLent starts a task of st, of kind k, on a slot of the other kind.
func (d *dynamicmr) placeLent(p *sched.Plan, st *sched.Stage, k sched.ResourceKind) bool {
	if !lendable(st, k) {
		return false
	}
	where := d.below(p, st, otherSlots(k))
	where.Shape = d.lentShape(p, st)
	return d.placeWhere(p, st, where)
}

// mostLooks bounds how many stages are looked at for one with a task whose input is on a node with an idle slot.
const mostLooks = 32

// preschedule starts maps on reduce slots that lending leaves idle, on nodes with their input and no idle map slot
// (Slot PreScheduling, case 2).
func (d *dynamicmr) preschedule(p *sched.Plan) {
	if !d.mayBorrow() || !d.has(sched.MapSlots) || d.spare(p, sched.ReduceSlots) <= 0 {
		return
	}
	s := d.waitsFor(p, sched.MapSlots, true)
	for range mostLooks {
		st := d.choose(p, s)
		if st == nil || !d.mayBorrow() {
			return
		}
		if !d.borrow(p, st) {
			d.skip(st)
		}
	}
}

// borrow starts a map on a reduce slot near its input.
func (d *dynamicmr) borrow(p *sched.Plan, st *sched.Stage) bool {
	if !d.near(st) || !lendable(st, sched.MapSlots) {
		return false
	}
	where := sched.Where{Shape: d.lentShape(p, st), Ok: fullOfMaps}
	if !d.nearest(p, st, sched.NodeLocal, where) {
		return false
	}
	acts := p.Actions()
	d.lend(acts[len(acts)-1].Attempt)
	return true
}

func fullOfMaps(n *sched.Node) bool { return n.Used[sched.MapSlots] >= n.Capacity[sched.MapSlots] }
