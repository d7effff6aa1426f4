package reference

import "math"

// A LongTermOrder says how an element of a LongTermTree chooses among those below it.
type LongTermOrder uint8

// The orders.
const (
	LongTermMaxMin   LongTermOrder = iota // least accumulated for its weight (formula 5.11)
	MemorylessMaxMin                      // least allocated now for its weight
	ArrivalOrder                          // the one that came first
)

// A LongTermNode is a queue, or an application: one without others below it. The exported fields are set before the
// node is added.
type LongTermNode struct {
	Name    string
	Weight  float64 // > 0
	Min     float64 // units that it gets before the order is asked, while it wants them
	Max     float64 // most units that it may hold; 0: no limit
	Quantum float64 // assumed run time of its tasks, in seconds
	Order   LongTermOrder
	Size    float64 // of an application: units that a task holds
	Pending int     // of an application: tasks that wait

	arrived  float64 // when it was active for the first time
	came     bool    // it was
	above    *LongTermNode
	below    []*LongTermNode
	running  []*LongTermTask
	counted  float64 // unit·s in this round
	pseudo   float64 // PAR
	entered  float64 // round arrival, if active once in this round
	hasEnter bool
}

// A LongTermTask is a running task of an application.
type LongTermTask struct {
	of    *LongTermNode
	start float64
}

// A LongTermTree is LTYARN's engine, written down plainly: the resource controller (Tick) and the resource allocator
// (Next), each O(elements and running tasks). It is what quicker implementations are held against. Times are in
// seconds and do not go back.
//
// What an element has accumulated is the sum of three parts: what it was counted for in this round, with the discount
// on what is above its share; what its running tasks will have used when they have run for a quantum; and its pseudo
// accumulated resources. Source: S. Tang's thesis on LTYARN, 5.3 and 5.4, formulas 5.7 to 5.16.
type LongTermTree struct {
	Root     *LongTermNode
	Capacity float64 // units
	Discount float64 // η, in [0, 1]
	Round    float64 // length of a round; 0: one that never ends

	now, roundStart float64
}

// Add puts a node below another one. Both are in the tree from now on.
func (t *LongTermTree) Add(above, node *LongTermNode) *LongTermNode {
	node.above = above
	above.below = append(above.below, node)
	return node
}

// Tick brings all accounts up to now. Time before the round of now is forgotten.
func (t *LongTermTree) Tick(now float64) {
	if t.Round > 0 {
		if start := RoundStart(now, t.Round); start > t.roundStart {
			t.roundStart, t.now = start, start
			t.each(t.Root, func(n *LongTermNode) { n.counted, n.pseudo, n.hasEnter = 0, 0, false })
		}
	}
	passed := now - t.now
	t.each(t.Root, func(n *LongTermNode) { n.counted += t.countedRate(n) * passed })
	t.now = now
	t.each(t.Root, t.enter)
}

// enter gives an element that is active for the first time in this round its pseudo accumulated resources.
func (t *LongTermTree) enter(n *LongTermNode) {
	if n.hasEnter || n.above == nil || !n.active() {
		return
	}
	if !n.came {
		n.arrived, n.came = t.now, true
	}
	var ok bool
	if n.entered, ok = RoundArrival(n.arrived, t.roundStart, t.spans(n)); !ok {
		n.entered = t.now // it waits: none of its tasks has started in the round
	}
	n.hasEnter = true
	var earlier []Early
	for _, o := range n.above.below {
		if o != n && o.hasEnter && o.active() && o.entered < n.entered {
			earlier = append(earlier, Early{o.Weight, t.Accumulated(o)})
		}
	}
	n.pseudo = PseudoAccumulated(n.Weight, earlier)
}

// spans returns the tasks that run below n.
func (t *LongTermTree) spans(n *LongTermNode) (list []TaskSpan) {
	t.each(n, func(n *LongTermNode) {
		for _, task := range n.running {
			list = append(list, TaskSpan{Start: task.start, Started: true})
		}
	})
	return list
}

// each calls do for n and all elements below it.
func (t *LongTermTree) each(n *LongTermNode, do func(*LongTermNode)) {
	do(n)
	for _, b := range n.below {
		t.each(b, do)
	}
}

// active reports whether anything below n runs or waits.
func (n *LongTermNode) active() bool {
	if n.Pending > 0 || len(n.running) > 0 {
		return true
	}
	for _, b := range n.below {
		if b.active() {
			return true
		}
	}
	return false
}

// held is what an element holds now, in units.
func (t *LongTermTree) held(n *LongTermNode) (sum float64) {
	t.each(n, func(n *LongTermNode) { sum += float64(len(n.running)) * n.Size })
	return sum
}

// Share is an element's current share: its part by weight of what the one above it has, in units (formula 5.2).
func (t *LongTermTree) Share(n *LongTermNode) float64 {
	if n.above == nil {
		return t.Capacity
	}
	sum := 0.0
	for _, o := range n.above.below {
		sum += o.Weight
	}
	return t.Share(n.above) * n.Weight / sum
}

// countedRate is what an element is counted for now, in units (formula 5.7).
func (t *LongTermTree) countedRate(n *LongTermNode) float64 {
	held, share := t.held(n), t.Share(n)
	return min(held, share) + t.Discount*max(0, held-share)
}

// Accumulated returns f, in unit·s, as of the last Tick (formula 5.13).
func (t *LongTermTree) Accumulated(n *LongTermNode) float64 {
	part := 1.0
	if held := t.held(n); held > 0 {
		part = t.countedRate(n) / held
	}
	ahead := 0.0
	t.each(n, func(n *LongTermNode) {
		for _, task := range n.running {
			ahead += n.Size * part * max(0, n.Quantum-(t.now-max(t.roundStart, task.start)))
		}
	})
	return n.counted + ahead + n.pseudo
}

// Next returns the application whose task starts next if free units are free on a node; nil: none that waits fits.
func (t *LongTermTree) Next(free float64) *LongTermNode {
	n := t.Root
	for len(n.below) > 0 {
		var best *LongTermNode
		for _, b := range n.below {
			if t.wants(b, free) && (best == nil || t.comesFirst(b, best, n.Order)) {
				best = b
			}
		}
		if best == nil {
			return nil
		}
		n = best
	}
	return n
}

// wants reports whether something below n waits and fits.
func (t *LongTermTree) wants(n *LongTermNode, free float64) bool {
	if len(n.below) == 0 {
		return n.Pending > 0 && n.Size <= free && t.mayGrow(n, n.Size)
	}
	for _, b := range n.below {
		if t.wants(b, free) {
			return t.mayGrow(n, 0)
		}
	}
	return false
}

// mayGrow reports whether n may hold more by so many units.
func (t *LongTermTree) mayGrow(n *LongTermNode, by float64) bool {
	return n.Max == 0 || t.held(n)+by <= n.Max
}

// comesFirst reports whether a is before b: below their minimum shares first, then by the order. Of equals the one with
// less allocated for its weight, then the one that was added first.
func (t *LongTermTree) comesFirst(a, b *LongTermNode, order LongTermOrder) bool {
	la, lb := t.lack(a), t.lack(b)
	if la != lb {
		return la < lb
	}
	if la < 1 {
		return false
	}
	heldA, heldB := t.held(a)/a.Weight, t.held(b)/b.Weight
	fa, fb := heldA, heldB
	switch order {
	case LongTermMaxMin:
		fa, fb = t.Accumulated(a)/a.Weight, t.Accumulated(b)/b.Weight
	case ArrivalOrder:
		return a.arrived < b.arrived
	}
	return fa < fb || fa == fb && heldA < heldB
}

// lack is the part of its minimum share that an element has: 1 if it has it, or wants no more.
func (t *LongTermTree) lack(n *LongTermNode) float64 {
	held := t.held(n)
	least := min(n.Min, held+t.waiting(n))
	if held >= least || math.IsInf(least, 1) {
		return 1
	}
	return held / least
}

// waiting is what the pending tasks below n would hold.
func (t *LongTermTree) waiting(n *LongTermNode) (sum float64) {
	t.each(n, func(n *LongTermNode) { sum += float64(n.Pending) * n.Size })
	return sum
}

// Start starts a pending task of an application at the last Tick. It counts for a quantum at once.
func (t *LongTermTree) Start(n *LongTermNode) *LongTermTask {
	task := &LongTermTask{of: n, start: t.now}
	n.Pending--
	n.running = append(n.running, task)
	return task
}

// Finish ends a task at the last Tick and returns how long it ran.
func (t *LongTermTree) Finish(task *LongTermTask) float64 {
	n := task.of
	for i, o := range n.running {
		if o == task {
			n.running = append(n.running[:i:i], n.running[i+1:]...)
			break
		}
	}
	return t.now - task.start
}
