package policy

import (
	"fmt"
	"math"

	"github.com/sojourn-sched/sojourn/internal/theory/placement"
	"github.com/sojourn-sched/sojourn/internal/theory/reverse"
	"github.com/sojourn-sched/sojourn/sched"
)

var reverseCard = Card{
	Title:  "goals met on capacity that changes: planned from the last goal back to now, against a forecast",
	Source: "Polo, Multi-constraint Scheduling of MapReduce Workloads, PhD thesis, UPC 2014, section 5.3",
	Spec:   "docs/spec/reverse.md#3-parameters",
	Params: append(
		rasParams("on"),
		Param{
			Name: "forecast", Kind: Choice, Default: "given",
			Choices: []Option{{Name: "given"}, {Name: "learned"}, {Name: "now"}},
			Meaning: "expected capacity: given, the timetable of the engine (learned, where there is none); " +
				"learned, what past days had; now, what there is now",
		},
		Param{
			Name: "day", Kind: Duration, Default: "24h", Min: 0.01,
			Meaning: "period after which the capacity repeats",
		},
		Param{
			Name: "bins", Kind: Integer, Default: "48", Min: 1, Max: 1440,
			Meaning: "how many equal parts of a day are learned, each by itself",
		},
		Param{
			Name: "caution", Kind: Number, Default: "0", Max: 10,
			Meaning: "safety margin of the learned forecast, in mean errors of the past",
		},
		Param{
			Name: "correction", Kind: Duration, Default: "30m", Min: 0.01,
			Meaning: "time in which a difference between the present capacity and the forecast is expected to " +
				"shrink to a third",
		},
		Param{
			Name: "window", Kind: Choice, Default: "task", Choices: []Option{{Name: "task"}, {Name: "cycle"}},
			Meaning: "how long a task placed now is planned to keep its room: for a task's time, or, as in the " +
				"source, for a cycle",
		},
		Param{
			Name: "fractions", Kind: Choice, Default: "on", Choices: []Option{{Name: "off"}, {Name: "on"}},
			Meaning: "whether a plan may put parts of tasks into the time between two goals",
		},
		Param{
			Name: "burst", Kind: Choice, Default: "off", Voids: []Claim{NonPreemptive},
			Choices: []Option{
				{Name: "off"},
				{Name: "suspend", Needs: sched.CanSuspend},
				{Name: "kill", Needs: sched.CanKill},
			},
			Meaning: "what happens to the youngest maps of a node whose capacity falls below what runs there",
		},
	),
	Memory: append(
		[]string{
			"for each part of the day: what was available on past days, and how far from what was expected",
			"what nodes have altogether (where the timetable says parts)",
		},
		rasMemory...,
	),
	Claims: []Claim{NonPreemptive, TimeInvariant},
	Limits: append(
		rasLimits("reverse"),
		Limit{Verb: "rm", Text: "policy reverse is told the timetable of --availability FILE; without one it expects " +
			"what past days of this run teach, and until then what there is now"},
		Limit{Verb: "rm", Text: "policy reverse cannot slow or suspend containers when their node comes to offer " +
			"less than they hold: burst=kill ends them"},
	),
}

// backward is the Reverse-Adaptive scheduler: RAS with the utility of package reverse.
type backward struct {
	Matrix matrix
	Days   dayCurve
	Whole  sched.Resources   // how much all nodes have altogether, if the forecast is in parts
	Fits   sched.Per[fitted] // by job

	given, constant    bool // the forecast is the core's, or that nothing changes; else it is learned
	byCycle, fractions bool
	suspends, kills    bool
	correction         sched.Time
}

// A fitted is the result of the last cycle for a job.
type fitted struct {
	Fit, Required float64 // maps that must run now, and that must run on average
}

func newReverse(a Args) sched.Policy {
	b := &backward{
		Days:       newDayCurve(a.Time("day"), a.Int("bins"), a.Number("caution")),
		given:      a.Choice("forecast") == "given",
		constant:   a.Choice("forecast") == "now",
		byCycle:    a.Choice("window") == "cycle",
		fractions:  a.Choice("fractions") == "on",
		suspends:   a.Choice("burst") == "suspend",
		kills:      a.Choice("burst") == "kill",
		correction: a.Time("correction"),
	}
	b.Matrix.init(a, b.plan)
	b.Matrix.offers = b.least
	return b
}

// Decide learns how much is available, makes room on nodes that have come to offer less, and places and starts tasks.
func (b *backward) Decide(p *sched.Plan) {
	b.measure(p)
	b.Days.observe(p)
	if b.suspends || b.kills {
		for _, id := range p.Offers {
			b.relieve(p, p.Node(id))
		}
	}
	b.Matrix.decide(p)
}

// plan fits the jobs backwards from the last goal to now, and sets their utilities.
func (b *backward) plan(p *sched.Plan, rows []row) {
	jobs := make([]reverse.Job, len(rows))
	for i := range rows {
		x := &rows[i]
		jobs[i] = reverse.Job{
			Pending: x.Pending, Goal: x.Goal, Mean: x.mean, ID: x.ID,
			Window: reverse.Window(b.Matrix.cycle.Seconds(), x.mean, b.byCycle),
		}
		for k, there := range &p.Capacity {
			if there > 0 { // the forecast says nothing of other kinds
				jobs[i].Map[k] = float64(x.Map[k]) / 1000
			}
		}
	}
	now := p.Now.Seconds()
	plan := reverse.Plan{Now: now, Area: b.expect(p).area, Fractions: b.fractions}
	for i, fit := range plan.Fit(jobs) {
		x := &rows[i]
		required := b.Matrix.required(p, x)
		pending, reduces := x.Pending, x.Reduces
		x.Utility = func(maps, placed int) float64 {
			return min(1, reverse.Utility(maps, fit, required, pending)+placement.UtilityOfReduces(placed, reduces))
		}
		*b.Fits.Of(x.job) = fitted{fit, required}
	}
}

// least returns a function that returns the least that a node is expected to offer until the next cycle: the same part
// of what it offers now as dip says for all nodes together.
func (b *backward) least(p *sched.Plan) func(*sched.Node) sched.Resources {
	part := b.dip(p)
	return func(n *sched.Node) sched.Resources {
		offers := n.Capacity
		for k := range offers {
			if part[k] < 1 {
				offers[k] = int64(float64(offers[k])*part[k] + 1e-9)
			}
		}
		return offers
	}
}

// dip returns the least that all nodes together will offer until the next cycle, as a part of what they offer now. It
// costs O(n log n) for n steps of the forecast at most, however often these repeat within a cycle.
func (b *backward) dip(p *sched.Plan) (part [sched.NumResources]float64) {
	for k := range part {
		part[k] = 1
	}
	f := p.Forecast
	if !b.given || f == nil {
		return part
	}
	scale := b.scale(p)
	steps, _ := f.Steps()
	at := f.Next(p.Now)
	for seen := 0; seen <= len(steps) && at <= p.Now+b.Matrix.cycle; seen, at = seen+1, f.Next(at) {
		for k, n := range f.At(at) {
			if p.Capacity[k] > 0 {
				part[k] = min(part[k], float64(n)*scale[k]/float64(p.Capacity[k]))
			}
		}
	}
	return part
}

// relieve suspends or kills the youngest maps of a node whose attempts hold more than it offers, until the rest fits.
// If there is room again, it resumes suspended maps. A suspended map keeps its memory, so maps are not suspended if
// memory is short.
func (b *backward) relieve(p *sched.Plan, n *sched.Node) {
	if n.Lost {
		return
	}
	var maps []*sched.Attempt // the youngest first
	for a := range p.AttemptsOn(n) {
		if a.Stage.Kind != sched.Reduce && a.Stage.Kind != sched.Master {
			maps = append(maps, a)
		}
	}
	for _, a := range maps {
		over := n.Used.Sub(n.Leaving)
		if b.suspends {
			over[sched.Memory] = 0
		}
		if a.State != sched.Running || over.FitsIn(n.Capacity) {
			continue
		}
		if b.kills {
			p.Kill(a, 0)
		} else {
			p.Suspend(a)
		}
	}
	for i := len(maps) - 1; i >= 0; i-- {
		if maps[i].State == sched.Suspended {
			p.Resume(maps[i])
		}
	}
}

// Left implements Lasting, as ras does.
func (b *backward) Left(now sched.Time) any { return b.Matrix.Left(now) }

// Recall implements Lasting.
func (b *backward) Recall(text []byte) error { return b.Matrix.Recall(text) }

// Why returns in words what the last cycle found and decided for stage st, for the command explain.
func (b *backward) Why(v *sched.View, st *sched.Stage) string {
	text := b.Matrix.Why(v, st)
	if f, ok := b.Fits.Has(st.Job); ok && text != "" && !math.IsNaN(f.Fit) {
		text += fmt.Sprintf("; %.4g maps must run now, %.4g on average", f.Fit, f.Required)
	}
	return text
}
