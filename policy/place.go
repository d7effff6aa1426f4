package policy

import "github.com/sojourn-sched/sojourn/sched"

// PlacingMemory is what a [DelayPlacer] remembers, for Card.Memory.
const PlacingMemory = "by stage: since when it waits for a node near its input (with a delay)"

// PlacingParams appends the parameters that a [DelayPlacer] reads: delay, rack-delay and locality.
func PlacingParams(own ...Param) []Param {
	waits := []Claim{WorkConserving, InOrder}
	return append(
		own,
		Param{
			Name:    "delay",
			Kind:    Duration,
			Default: "0s",
			Voids:   waits,
			Meaning: "how long a stage waits for a node with its input before it takes a node in the same rack",
		},
		Param{
			Name:    "rack-delay",
			Kind:    Duration,
			Default: "0s",
			Voids:   waits,
			Meaning: "how long a stage then waits for a node in a rack with its input before it takes any node",
		},
		Param{
			Name:    "locality",
			Kind:    Choice,
			Default: "on",
			Choices: []Option{{Name: "on"}, {Name: "off"}},
			Meaning: "whether nodes near a task's input are preferred",
		},
	)
}

// A DelayPlacer starts tasks near their input: delay scheduling (Zaharia et al., Delay Scheduling, EuroSys 2010,
// algorithm 3). A stage passes over nodes without its input for a time, first those outside the rack, too, then only
// those. The wait is measured in time, not in opportunities, so extra calls change nothing. Without a delay the nearest
// node with room is taken at once. Place costs the places of the stage's waiting tasks, or the nodes with room,
// whichever are fewer; O(1) where it does not matter where a task runs.
type DelayPlacer struct {
	Waits sched.Per[wait] // by stage: its memory, exported because memory goes through JSON

	by      nearness
	byQueue func(*sched.Stage) *nearness // of the stage's queue; nil: by for all stages
}

// A nearness says how much a stage does for locality.
type nearness struct {
	delay, rackDelay sched.Time
	blind            bool // where the input is makes no difference
}

// A wait is what a stage has passed over for the sake of locality.
type wait struct {
	Waiting bool
	Since   sched.Time     // of a stage that waits: when it first passed over a node
	Level   sched.Locality // at which it last started a task
}

// NewDelayPlacer returns a placer with the parameters of [PlacingParams].
func NewDelayPlacer(a Args) DelayPlacer { return DelayPlacer{by: newNearness(a)} }

func newNearness(a Args) nearness { return nearness{}.with(a) }

// with returns n with the parameters that are given.
func (n nearness) with(given Args) nearness {
	if given.has("delay") {
		n.delay = given.Time("delay")
	}
	if given.has("rack-delay") {
		n.rackDelay = given.Time("rack-delay")
	}
	if given.has("locality") {
		n.blind = given.Choice("locality") == "off"
	}
	return n
}

// waits reports whether stages pass over nodes.
func (n *nearness) waits() bool { return n.delay != 0 || n.rackDelay != 0 }

// until returns until when a stage waits for a node with its input, and until when it waits for one in the same rack.
func (n *nearness) until(m *wait) (rack, off sched.Time) {
	switch m.Level {
	case sched.NodeLocal:
		return m.Since + n.delay, m.Since + n.delay + n.rackDelay
	case sched.RackLocal:
		return m.Since, m.Since + n.rackDelay
	}
	return m.Since, m.Since
}

// allowed returns how far from its input a task may start now.
func (n *nearness) allowed(now sched.Time, m *wait) sched.Locality {
	at := *m
	if !at.Waiting {
		at.Since = now
	}
	switch rack, off := n.until(&at); {
	case now >= off:
		return sched.OffSwitch
	case now >= rack:
		return sched.RackLocal
	}
	return sched.NodeLocal
}

// Place starts one task of st, and reports whether it did.
func (w *DelayPlacer) Place(p *sched.Plan, st *sched.Stage) bool {
	if !w.near(st) { // the common case, by the short way
		return p.LaunchMany(st, 1) > 0
	}
	return w.placeWhere(p, st, sched.Where{})
}

// placeWhere is Place on the nodes that where allows. It sets the Level of where itself.
func (w *DelayPlacer) placeWhere(p *sched.Plan, st *sched.Stage, where sched.Where) bool {
	by := w.of(st)
	switch {
	case !w.near(st):
		n := firstWhere(p, st, sched.OffSwitch, where)
		return n != nil && p.LaunchAs(st, n, sched.As{Shape: where.Shape})
	case !by.waits():
		return w.nearest(p, st, sched.OffSwitch, where)
	}
	m := w.Waits.Of(st)
	if w.nearest(p, st, by.allowed(p.Now, m), where) {
		return true
	}
	if firstWhere(p, st, sched.OffSwitch, where) == nil {
		return false // it did not pass over anything
	}
	if !m.Waiting {
		m.Waiting, m.Since = true, p.Now
	}
	rack, off := by.until(m)
	if p.Now < rack {
		p.Wake(rack)
	}
	p.Wake(off)
	return false
}

// near reports whether it matters where a task of st runs.
func (w *DelayPlacer) near(st *sched.Stage) bool { return st.Placed() && !w.of(st).blind }

// of returns how much st does for locality.
func (w *DelayPlacer) of(st *sched.Stage) *nearness {
	if w.byQueue == nil {
		return &w.by
	}
	return w.byQueue(st)
}

// nearest starts a task of st as near its input as there is room where where allows, but not farther than l.
func (w *DelayPlacer) nearest(p *sched.Plan, st *sched.Stage, l sched.Locality, where sched.Where) bool {
	for at := sched.NodeLocal; at <= l; at++ {
		if n := firstWhere(p, st, at, where); n != nil {
			at = p.Level(st, n)
			if !p.LaunchAs(st, n, sched.As{Shape: where.Shape}) {
				return false
			}
			if w.of(st).waits() {
				*w.Waits.Of(st) = wait{Level: at}
			}
			return true
		}
	}
	return false
}

// firstWhere returns the first node that where allows and that is not farther than l from the input of st; nil: none.
func firstWhere(p *sched.Plan, st *sched.Stage, l sched.Locality, where sched.Where) *sched.Node {
	where.Level = l
	return p.FirstWhere(st, where)
}
