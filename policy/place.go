package policy

import "github.com/sojourn-sched/sojourn/sched"

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
			Meaning: "how long a stage waits for a node with its input before it takes one in the same rack",
		},
		Param{
			Name:    "rack-delay",
			Kind:    Duration,
			Default: "0s",
			Voids:   waits,
			Meaning: "how long it then waits for such a rack before it takes any node",
		},
		Param{
			Name:    "locality",
			Kind:    Choice,
			Default: "on",
			Choices: []Option{{Name: "on"}, {Name: "off"}},
			Meaning: "whether nodes near the input are preferred",
		},
	)
}

// A DelayPlacer starts tasks near their input: delay scheduling (Zaharia et al., Delay Scheduling, EuroSys 2010, algorithm
// 3). Waiting is measured in time, not in opportunities, so being asked often changes nothing; without a delay the
// nearest node with room is taken at once.
type DelayPlacer struct {
	Waits sched.Per[wait] // by stage

	delay, rackDelay sched.Time
	blind            bool
}

// A wait is what a stage has passed over for the sake of locality.
type wait struct {
	Waiting bool
	Since   sched.Time     // of a stage that waits: when it first passed over a node
	Level   sched.Locality // at which it last started a task
}

// NewDelayPlacer returns a placer with the parameters of [PlacingParams].
func NewDelayPlacer(a Args) DelayPlacer {
	return DelayPlacer{delay: a.Time("delay"), rackDelay: a.Time("rack-delay"), blind: a.Choice("locality") == "off"}
}

// Place starts one task of st, and reports whether it did.
func (w *DelayPlacer) Place(p *sched.Plan, st *sched.Stage) bool {
	if !w.near(st) { // the common case, by the short way
		n := p.First(st)
		return n != nil && p.Launch(st, n)
	}
	return w.placeWhere(p, st, sched.Where{})
}

// placeWhere is Place on nodes that where allows, but for its Level.
func (w *DelayPlacer) placeWhere(p *sched.Plan, st *sched.Stage, where sched.Where) bool {
	switch {
	case !w.near(st):
		n := firstWhere(p, st, sched.OffSwitch, where)
		return n != nil && p.LaunchAs(st, n, sched.As{Shape: where.Shape})
	case w.delay == 0 && w.rackDelay == 0:
		return w.nearest(p, st, sched.OffSwitch, where)
	}
	m := w.Waits.Of(st)
	if w.nearest(p, st, w.allowed(p, m), where) {
		return true
	}
	if firstWhere(p, st, sched.OffSwitch, where) == nil {
		return false // it did not pass over anything
	}
	if !m.Waiting {
		m.Waiting, m.Since = true, p.Now
	}
	rack, off := w.turns(m)
	if p.Now < rack {
		p.Wake(rack)
	}
	p.Wake(off)
	return false
}

// near reports whether it matters where a task of st runs.
func (w *DelayPlacer) near(st *sched.Stage) bool { return st.Placed() && !w.blind }

// firstWhere returns the first node not farther from the input of st than l that where allows; nil: none.
func firstWhere(p *sched.Plan, st *sched.Stage, l sched.Locality, where sched.Where) *sched.Node {
	if where.Shape != 0 || where.Ok != nil || where.After != 0 {
		where.Level = l
		return p.FirstWhere(st, where)
	}
	return p.FirstAt(st, l)
}

// allowed is how far from its input a task may start now.
func (w *DelayPlacer) allowed(p *sched.Plan, m *wait) sched.Locality {
	now := *m
	if !now.Waiting {
		now.Since = p.Now
	}
	switch rack, off := w.turns(&now); {
	case p.Now >= off:
		return sched.OffSwitch
	case p.Now >= rack:
		return sched.RackLocal
	}
	return sched.NodeLocal
}

// turns returns from when on a stage takes a node in the rack of its input, and from when on any.
func (w *DelayPlacer) turns(m *wait) (rack, off sched.Time) {
	switch m.Level {
	case sched.NodeLocal:
		return m.Since + w.delay, m.Since + w.delay + w.rackDelay
	case sched.RackLocal:
		return m.Since, m.Since + w.rackDelay
	}
	return m.Since, m.Since
}

// nearest starts a task of st as near its input as there is room where where allows, but not farther than l.
func (w *DelayPlacer) nearest(p *sched.Plan, st *sched.Stage, l sched.Locality, where sched.Where) bool {
	for at := sched.NodeLocal; at <= l; at++ {
		if n := firstWhere(p, st, at, where); n != nil {
			at = p.Level(st, n)
			if !p.LaunchAs(st, n, sched.As{Shape: where.Shape}) {
				return false
			}
			if w.delay != 0 || w.rackDelay != 0 {
				*w.Waits.Of(st) = wait{Level: at}
			}
			return true
		}
	}
	return false
}
