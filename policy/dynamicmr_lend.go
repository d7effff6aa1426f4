package policy

import (
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/sched"
)

// A lender knows how many slots of each kind may be lent, and how many slots of a node may be used so that all nodes
// are used alike.
//
// If tasks ask for slot-weight, the slot-weight of a node is the sum of the weights of its slots, and a task away from
// its own slots holds weight only. So the weight of all idle slots of a node serves as many such tasks as it is enough
// for, whichever slots it comes from.
type lender struct {
	Loans map[sched.AttemptID]bool // maps on reduce slots near their input
	Owed  int                      // how many loans no reduce has made up for yet
	Seen  [2]int64                 // weight of a map, of a reduce, as seen last; zero: none with a weight was seen

	lends         bool
	pooledLine    bool // the line is of both kinds of slots together
	prescheduling bool
	parts         [2]float64 // of map slots, of reduce slots, that may be lent
	mostLoans     int
	slotState
}

// slotState is what holds for one Step, by kind of slots.
type slotState struct {
	weights  [2]int64 // of a map slot, of a reduce slot; zero: they have none
	demand   [2]int64 // slots wanted, lent ones included: what the balancing line is drawn for
	capacity [2]int64
	extra    [2]int64 // how many more tasks of the other kind may use slots of this kind
	line     [2]func(*sched.Node) bool
	// at is by stage, for slots of its own kind: all nodes up to this one are full or at the line.
	at map[sched.StageID]sched.NodeID
}

func newLender(a Args) lender {
	return lender{
		Loans:         map[sched.AttemptID]bool{},
		lends:         a.Choice("dhsa") != "off",
		pooledLine:    a.Choice("dhsa") == "pd",
		prescheduling: a.Choice("prescheduling") == "on",
		parts:         [2]float64{a.Number("lend-maps"), a.Number("lend-reduces")},
		mostLoans:     a.Int("most-borrowed"),
		slotState:     slotState{at: map[sched.StageID]sched.NodeID{}},
	}
}

// repaid removes the loans of maps that have ended.
func (l *lender) repaid(p *sched.Plan) {
	if len(l.Loans) == 0 {
		return
	}
	for i := range p.Events {
		if e := &p.Events[i]; e.Kind == sched.AttemptDone {
			delete(l.Loans, e.Attempt)
		}
	}
	l.Owed = min(l.Owed, len(l.Loans))
}

// lend notes that a map runs on a reduce slot near its input.
func (l *lender) lend(id sched.AttemptID) {
	l.Loans[id] = true
	l.Owed++
}

// mayBorrow reports whether a map may take a reduce slot because its input is there.
func (l *lender) mayBorrow() bool {
	return l.prescheduling && l.lends && l.parts[1] > 0 && l.Owed < l.mostLoans
}

// weigh learns what tasks weigh from the jobs that come. As long as it has seen tasks of one kind only, slots of the
// other weigh what those leave of a node's weight.
func (l *lender) weigh(p *sched.Plan) {
	l.weights = [2]int64{}
	whole := p.Capacity[sched.SlotWeight]
	if whole == 0 {
		return
	}
	for i := range p.Events {
		e := &p.Events[i]
		if e.Kind != sched.JobSubmitted {
			continue
		}
		for _, st := range p.Job(e.Job).Stages {
			if w := st.Spec.PerTask[sched.SlotWeight]; w > 0 &&
				(lendable(st, sched.MapSlots) || lendable(st, sched.ReduceSlots)) {
				l.Seen[sideOfSlots(kindOf(st))] = w
			}
		}
	}
	l.weights = l.Seen
	for i := range slotKinds {
		if has := p.Capacity[slotKinds[i]]; l.weights[i] == 0 && has > 0 {
			l.weights[i] = max(0, whole-p.Capacity[slotKinds[1-i]]*l.weights[1-i]) / has
		}
	}
}

// weighted reports whether tasks away from their own slots hold weight alone.
func (l *lender) weighted() bool { return l.weights[0] > 0 && l.weights[1] > 0 }

// idle reports whether a slot of either kind is idle. With weights (see weighted) it is always true.
func (l *lender) idle(p *sched.Plan) bool {
	return l.weighted() || l.spare(p, sched.MapSlots) > 0 || l.spare(p, sched.ReduceSlots) > 0
}

// spare returns how many slots of kind k are idle.
func (l *lender) spare(p *sched.Plan, k sched.ResourceKind) int64 {
	return p.Capacity[k] - p.Queues[0].Used[k]
}

// balance returns the numbers of map slots and of reduce slots from which package theory computes what may be lent.
func (l *lender) balance(p *sched.Plan) (kinds [2]theory.SlotKind) {
	root := p.Queues[0]
	away := [2]int64{int64(root.Count[sched.Map].Away), int64(root.Count[sched.Reduce].Away)}
	for i, k := range slotKinds {
		lent := away[1-i]
		kinds[i] = theory.SlotKind{
			Slots:  p.Capacity[k],
			Demand: root.Demand[k] + away[i] - lent,
			Away:   away[i],
			Lent:   lent,
		}
		if l.weighted() {
			kinds[i].Demand = root.Demand[k] + away[i]
			kinds[i].Lent = (lent*l.weights[1-i] + l.weights[i] - 1) / l.weights[i]
		}
	}
	return kinds
}

// quota returns how many tasks of the other kind may run on slots of kind i at the same time.
func (l *lender) quota(p *sched.Plan, i int) int64 {
	if !l.lends {
		return 0
	}
	n := int64(float64(p.Capacity[slotKinds[i]]) * l.parts[i])
	if l.weighted() {
		n = n * l.weights[i] / l.weights[1-i]
	}
	return n
}

// mayLend reports whether one more task of the other kind may use slots of kind k in this Step.
func (l *lender) mayLend(k sched.ResourceKind) bool { return l.extra[sideOfSlots(k)] > 0 }

// away returns how many tasks may yet be away from slots of kind k, by the quota alone.
func (l *lender) away(p *sched.Plan, k sched.ResourceKind) int64 {
	i := sideOfSlots(k)
	return l.quota(p, 1-i) - l.balance(p)[i].Away
}

// byQuotas lets a queue borrow up to the quotas, whatever the other queues need.
func (l *lender) byQuotas(p *sched.Plan) {
	kinds := l.balance(p)
	for i := range slotKinds {
		l.extra[i] = max(0, l.quota(p, i)-kinds[1-i].Away)
	}
}

// measure computes what may be lent in this Step, and where the balancing lines are.
func (l *lender) measure(p *sched.Plan) {
	clear(l.at)
	kinds := l.balance(p)
	for i, k := range slotKinds {
		l.extra[i] = theory.Lend(kinds[i], kinds[1-i], l.quota(p, i))
		l.capacity[i], l.demand[i] = p.Capacity[k], kinds[i].Demand
		if !l.weighted() {
			l.demand[i] += kinds[i].Lent + l.extra[i]
		}
	}
	if l.pooledLine {
		l.demand[0] = p.Queues[0].Demand[sched.MapSlots] + p.Queues[0].Demand[sched.ReduceSlots]
		l.capacity[0] += l.capacity[1]
		l.demand[1], l.capacity[1] = l.demand[0], l.capacity[0]
	}
	if l.line[0] == nil {
		l.line = [2]func(*sched.Node) bool{
			func(n *sched.Node) bool { return l.under(n, 0) },
			func(n *sched.Node) bool { return l.under(n, 1) },
		}
	}
}

// under reports whether node n is below the balancing line: fewer of its slots of kind i are used than may be, so that
// all nodes are used alike.
func (l *lender) under(n *sched.Node, i int) bool {
	used, has := n.Used[slotKinds[i]], n.Capacity[slotKinds[i]]
	if l.pooledLine {
		used, has = used+n.Used[slotKinds[1-i]], has+n.Capacity[slotKinds[1-i]]
	}
	return used < theory.UsableSlots(l.demand[i], l.capacity[i], has)
}

// below returns the nodes on which st may take a slot of kind k by the balancing line. Where all slots are wanted there
// is no line.
func (l *lender) below(p *sched.Plan, st *sched.Stage, k sched.ResourceKind) sched.Where {
	i := sideOfSlots(k)
	lent := k != kindOf(st)
	if l.demand[i] >= l.capacity[i] || l.weighted() && lent {
		return sched.Where{}
	}
	if lent {
		return sched.Where{Ok: l.line[i]}
	}
	return sched.Where{After: l.at[st.ID], Ok: l.line[i]}
}

// passed is called after a task of st has started on the first node that where allows. It notes that all nodes before
// that one are full or at the line for st, so that the next search begins there.
func (l *lender) passed(p *sched.Plan, st *sched.Stage, where sched.Where) {
	if where.Ok != nil && !st.Placed() {
		acts := p.Actions()
		l.at[st.ID] = acts[len(acts)-1].Node - 1
	}
}

// shape returns what a task of st holds away from the slots of its kind.
func (l *lender) shape(p *sched.Plan, st *sched.Stage) sched.ShapeID {
	r, k := st.Spec.PerTask, kindOf(st)
	if r[sched.SlotWeight] == 0 {
		r[otherSlots(k)] = r[k]
	}
	r[k] = 0
	return p.Shape(r)
}
