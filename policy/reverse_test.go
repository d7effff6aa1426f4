package policy

import (
	"math"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// An asker asks what reverse expects, in the place of deciding.
type asker struct {
	reverse *backward
	areas   []float64 // of vcores in the next two hours, at each Step
	dips    []float64 // what of them is left at least until the next cycle
}

func (a *asker) Decide(p *sched.Plan) {
	a.reverse.measure(p)
	a.reverse.Days.observe(p)
	now := p.Now.Seconds()
	a.areas = append(a.areas, a.reverse.expect(p).area(now, now+7200)[sched.VCores])
	a.dips = append(a.dips, a.reverse.dip(p)[sched.VCores])
}

// A forecast in parts says of two nodes what the same forecast in amounts says of them, goes on to do so when a third
// node comes, and remembers what the nodes have while they offer nothing.
func TestForecastInParts(t *testing.T) {
	const hour = time.Hour
	cores := func(n int64) sched.Resources { return sched.Resources{sched.VCores: n} }
	parts := []sched.Supply{
		{Capacity: cores(1e6)}, {From: hour, Capacity: cores(0)}, {From: 2 * hour, Capacity: cores(5e5)},
	}
	whole := int64(8) // of both nodes
	amounts := make([]sched.Supply, len(parts))
	for i, s := range parts {
		amounts[i] = sched.Supply{From: s.From, Capacity: cores(whole * s.Capacity[sched.VCores] / 1e6)}
	}
	var told [2]asker
	for i, steps := range [][]sched.Supply{amounts, parts} {
		f, err := sched.NewForecast(3*hour, steps...)
		if err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			f = f.InParts()
		}
		p, _, err := Parse("reverse:cycle=40m")
		if err != nil {
			t.Fatal(err)
		}
		told[i].reverse = p.(*backward)
		c := sched.New(sched.Config{Policy: &told[i], Forecast: f})
		node := func(k sched.EventKind, id sched.NodeID, n int64) sched.Event {
			return sched.Event{Kind: k, Node: id, Body: &sched.NodeSpec{Capacity: cores(n)}}
		}
		c.Step(0, []sched.Event{node(sched.NodeJoined, 1, 4), node(sched.NodeJoined, 2, 4)})
		c.Step(30*time.Minute, nil)
		c.Step(hour, []sched.Event{node(sched.NodeReported, 1, 0), node(sched.NodeReported, 2, 0)})
		c.Step(2*hour, []sched.Event{node(sched.NodeReported, 1, 2), node(sched.NodeReported, 2, 2)})
		if i == 1 {
			c.Step(3*hour, []sched.Event{
				node(sched.NodeReported, 1, 4), node(sched.NodeReported, 2, 4), node(sched.NodeJoined, 3, 4),
			})
		}
	}
	for i, want := range told[0].areas {
		if got := told[1].areas[i]; math.Abs(got-want) > 1e-6*want || told[0].dips[i] != told[1].dips[i] {
			t.Errorf("step %d: %v core-seconds, at least the part %v, in parts; %v and %v in amounts", i, got,
				told[1].dips[i], want, told[0].dips[i])
		}
	}
	if got := told[1].areas[4]; math.Abs(got-12*3600) > 1e-3 {
		t.Errorf("with a third node %v core-seconds in an hour of all and one of none, want %v", got, 12*3600)
	}
	if want := []float64{1, 0}; told[1].dips[0] != want[0] || told[1].dips[1] != want[1] {
		t.Errorf("at least the parts %v are left until the next cycle, want %v at first", told[1].dips, want)
	}
}

// What past days teach costs no more after a long time without a Step: the days of 300 s are as many, and teach the
// same, where they are looked at one by one and where the clock jumps over 1000 of them; and a jump over a century of
// days of 10 ms, in 1440 parts each, comes to an end.
func TestProfileOfLongQuietTimes(t *testing.T) {
	profiles := make([]dayCurve, 2)
	core := sched.New(sched.Config{Policy: observer(func(p *sched.Plan) {
		profiles[0].observe(p)
		if p.Now <= 1000*time.Second || p.Now >= 300_000*time.Second {
			profiles[1].observe(p)
		}
	})})
	for i := range profiles {
		profiles[i] = newDayCurve(300*time.Second, 3, 0)
	}
	report := func(kind sched.EventKind, cores int64) []sched.Event {
		return []sched.Event{{Kind: kind, Node: 1,
			Body: &sched.NodeSpec{Class: "c", Capacity: sched.Resources{sched.VCores: cores}}}}
	}
	core.Step(0, report(sched.NodeJoined, 8))
	core.Step(130*time.Second, report(sched.NodeReported, 2))
	core.Step(1000*time.Second, report(sched.NodeReported, 4))
	for at := 1100 * time.Second; at <= 301_000*time.Second; at += 100 * time.Second {
		core.Step(at, nil)
	}
	for i, one := range profiles[0].Bins {
		jump := profiles[1].Bins[i]
		if one.Days != jump.Days || math.Abs(one.Mean[sched.VCores]-jump.Mean[sched.VCores]) > 1e-9 ||
			math.Abs(one.Error[sched.VCores]-jump.Error[sched.VCores]) > 1e-9 || one.Days < 1000 {
			t.Errorf("part %d: day by day %+v, at once %+v", i, one, jump)
		}
	}
	quick := newDayCurve(10*time.Millisecond, 1440, 0)
	core = sched.New(sched.Config{Policy: observer(quick.observe)})
	core.Step(0, report(sched.NodeJoined, 8))
	core.Step(100*365*24*time.Hour, nil)
	if b := quick.Bins[7]; b.Mean[sched.VCores] != 8 || b.Days < 300e9 {
		t.Errorf("after a century: %+v", b)
	}
}

// An observer does something in the place of deciding.
type observer func(*sched.Plan)

// Decide calls the function.
func (o observer) Decide(p *sched.Plan) { o(p) }
