package policy

import (
	"math"

	"github.com/sojourn-sched/sojourn/internal/theory/placement"
	"github.com/sojourn-sched/sojourn/sched"
)

// endless is the goal of a job that has none.
var endless = math.Inf(1)

// softKinds are the resources that a task may use more of than there is, if it is alone on its node.
var softKinds = [placement.Kinds]bool{sched.VCores: true, sched.DiskIO: true, sched.NetworkIO: true}

// booked is the kinds of package placement for what tasks of soft kinds ask for. The core starts no task that asks for
// more than is left of a node, whatever tasks use.
var booked = [...]struct{ soft, kind int }{
	{int(sched.VCores), sched.NumResources},
	{int(sched.DiskIO), sched.NumResources + 1},
	{int(sched.NetworkIO), sched.NumResources + 2},
}

// wholeNode is the disk and the network bandwidth of a node that does not say how much it has, in ppm.
const wholeNode = 1_000_000

// room returns what placed tasks may use together of what a node offers. They may ask for its whole capacity.
func (m *matrix) room(n *sched.Node, offered sched.Resources) placement.Demand {
	d := inThousandths(&offered)
	for _, k := range [...]sched.ResourceKind{sched.DiskIO, sched.NetworkIO} {
		if offered[k] == 0 && offered != (sched.Resources{}) {
			d[k] = wholeNode * 1000
		}
	}
	if offered[sched.VCores] == 0 && offered[sched.Memory] == 0 { // a cluster of slots does not count cores
		d[sched.VCores] = sched.Unlimited
	}
	for k, soft := range softKinds {
		if soft && d[k] < sched.Unlimited {
			d[k] = int64(math.Round(float64(d[k]) * m.soft))
		}
	}
	has := inThousandths(&n.Capacity)
	for _, b := range booked {
		d[b.kind] = has[b.kind]
	}
	return d
}

// inThousandths returns an amount in the unit of package placement. It counts as used and as booked.
func inThousandths(r *sched.Resources) (d placement.Demand) {
	for k, n := range r {
		d[k] = min(n, sched.Unlimited/1000) * 1000
	}
	for _, b := range booked {
		d[b.kind] = d[b.soft]
	}
	return d
}

func minus(a, b placement.Demand) placement.Demand {
	for k := range a {
		a[k] = max(0, a[k]-b[k])
	}
	return a
}

// A footprint is what finished tasks of a stage used on average.
type footprint struct {
	N             int64   // how many tasks
	Cores         float64 // busy while the task works
	Disk, Network float64 // bytes/s while the task works
	ShuffleNet    float64 // bytes/s while it copies
}

// learn adds a task that ran for a time. Its CPU time and the bytes that it read and wrote count for the time in which
// it worked; those that a reduce copied, for the time in which it copied.
func (f *footprint) learn(st *sched.Stage, c *sched.Counters, ran sched.Time) {
	copying := c.Phases[sched.PhaseShuffle].Seconds()
	working := ran.Seconds() - copying
	if working <= 0 {
		return
	}
	f.N++
	add := func(mean *float64, x float64) { *mean += (x - *mean) / float64(f.N) }
	add(&f.Cores, c.CPU.Seconds()/working)
	bytes := float64(c.OutputBytes)
	if st.Kind != sched.Reduce {
		bytes += float64(c.InputBytes)
	}
	add(&f.Disk, bytes/working)
	add(&f.Network, float64(c.RemoteBytes)/ran.Seconds())
	if st.Kind == sched.Reduce && copying > 0 {
		add(&f.ShuffleNet, float64(c.InputBytes)/copying)
	}
}

// part returns a rate as a part of what a node does, in ppm, in steps of a twentieth: so that shapes stay few.
func part(rate, all float64) int64 {
	return int64(math.Ceil(rate/all*20-0.25)) * (wholeNode / 20)
}

// said returns how much of a kind, in thousandths, a task is taken to use if a profile says n. If the kind is not soft,
// that is at most what the largest node has: a task never starts where it does not fit, and a wrong profile must not
// keep it from starting at all.
func (m *matrix) said(k int, n int64) int64 {
	if !softKinds[k] {
		n = min(n, m.Most[k])
	}
	return n * 1000
}

// demandIn returns what a task of st uses in the phases from from to to. For each kind it is the most that the profile
// of its job says, or else what was learned; but at least what the task holds.
func (m *matrix) demandIn(st *sched.Stage, from, to sched.Phase) placement.Demand {
	held := m.hold(st, from != sched.PhaseShuffle)
	each := inThousandths(&held)
	if p := st.Job.Spec.Profile; p != nil && p.Phases != ([sched.NumPhases]sched.Resources{}) {
		for ph := from; ph <= to; ph++ {
			for k, n := range p.Phases[ph] {
				each[k] = max(each[k], m.said(k, n))
			}
		}
		return each
	}
	f, ok := m.Used.Has(st)
	if !ok || f.N == 0 {
		return each
	}
	if from == sched.PhaseShuffle {
		each[sched.NetworkIO] = max(each[sched.NetworkIO], max(0, part(f.ShuffleNet, m.network))*1000)
		return each
	}
	each[sched.VCores] = max(each[sched.VCores], int64(math.Ceil(f.Cores*20-0.25))*50)
	each[sched.DiskIO] = max(each[sched.DiskIO], max(0, part(f.Disk, m.disk))*1000)
	each[sched.NetworkIO] = max(each[sched.NetworkIO], max(0, part(f.Network, m.network))*1000)
	return each
}

// mapDemand returns what a map of st uses.
func (m *matrix) mapDemand(st *sched.Stage) placement.Demand {
	return m.demandIn(st, sched.PhaseRead, sched.PhaseSpill)
}

// guard returns what reduces that wait must leave free, so that a map of st can run beside them: what the map asks for,
// and of kinds that are not soft what it uses.
func (m *matrix) guard(st *sched.Stage) placement.Demand {
	d, uses := inThousandths(&st.Spec.PerTask), m.mapDemand(st)
	for k, soft := range softKinds {
		if !soft {
			d[k] = uses[k]
		}
	}
	return d
}

// reduceDemands returns what a reduce of st uses while it waits, for each placed map besides, and when it has all its
// input. What the profile says of disk and network in the phase shuffle is for each map from which it copies.
func (m *matrix) reduceDemands(st *sched.Stage) (shuffle, each, reduce placement.Demand) {
	held := m.hold(st, false)
	shuffle = inThousandths(&held)
	reduce = m.demandIn(st, sched.PhaseMerge, sched.PhaseWrite)
	if p := st.Job.Spec.Profile; p != nil {
		for k, said := range &p.Phases[sched.PhaseShuffle] {
			if k == int(sched.DiskIO) || k == int(sched.NetworkIO) {
				each[k] = said * 1000
			} else {
				shuffle[k] = max(shuffle[k], m.said(k, said))
			}
		}
		return shuffle, each, reduce
	}
	return m.demandIn(st, sched.PhaseShuffle, sched.PhaseShuffle), each, reduce
}

// isReducing reports whether the reduces of a job have all their input, or will have it within a cycle: all maps that
// are left run, and the youngest of them is to end by then (docs/spec/ras.md, 2.5). O(stages).
func (m *matrix) isReducing(p *sched.Plan, j *sched.Job) bool {
	for _, st := range j.Stages {
		if st.Kind != sched.Map || !runnable(st) {
			continue
		}
		known := m.Lengths.Of(st)
		if st.Pending > 0 || !known.Known() {
			return false
		}
		for a := range p.Attempts(st) { // the youngest first
			if known.Mean()-p.Ran(a, p.Now).Seconds() > m.cycle.Seconds() {
				return false
			}
			break
		}
	}
	return true
}

// demand returns what a running attempt uses now.
func (m *matrix) demand(p *sched.Plan, a *sched.Attempt) placement.Demand {
	st := a.Stage
	held := p.Amount(a.Holds)
	switch {
	case a.State == sched.Suspended || st.Kind == sched.Master:
		return inThousandths(&held)
	case st.Kind != sched.Reduce:
		return m.mapDemand(st)
	}
	shuffle, each, reduce := m.reduceDemands(st)
	if m.isReducing(p, st.Job) {
		return reduce
	}
	copies := int64(0)
	for _, o := range st.Job.Stages {
		if o.Kind == sched.Map {
			copies += int64(o.Running)
		}
	}
	return shuffle.Plus(min(copies, int64(m.copies)), &each)
}
