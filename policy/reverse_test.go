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

// A day of 100 s has two halves. In the first one a node offers 8, 4 and 7 cores on three days, in the second one 8. So
// 19/3 cores are expected of the first half of the fourth day, and days differed by 4 and by 1 from what was expected
// of them, 2.5 on average. There are 5 cores when that day begins, 4/3 less than expected. The difference is added to
// what is expected, and fades. After seven days each day counts a seventh.
func TestProfileOfDays(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		caution string
		first   float64 // cores that are expected in the first half of the day
	}{{"0", 19.0 / 3}, {"2", 19.0/3 - 2*2.5}, {"10", 0}} {
		p, _, err := Parse("reverse:forecast=learned,day=100s,bins=2,correction=100s,caution=" + c.caution)
		if err != nil {
			t.Fatal(err)
		}
		b, got := p.(*backward), 0.0
		core := sched.New(sched.Config{Policy: observer(func(p *sched.Plan) {
			b.Days.observe(p)
			got = b.expect(p).area(300, 400)[sched.VCores]
		})})
		offer := func(at time.Duration, cores int64) {
			kind := sched.NodeReported
			if at == 0 {
				kind = sched.NodeJoined
			}
			core.Step(at, []sched.Event{{Kind: kind, Node: 1,
				Body: &sched.NodeSpec{Class: "c", Capacity: sched.Resources{sched.VCores: cores}}}})
		}
		for i, cores := range []int64{8, 4, 7} {
			offer(time.Duration(i)*100*s, cores)
			offer(time.Duration(i)*100*s+50*s, 8)
		}
		offer(300*s, 5)
		want := 50*c.first + 50*8 + (5-c.first)*100*(1-math.Exp(-1))
		if math.Abs(got-want) > 1e-9*want {
			t.Errorf("caution %s: %v core-seconds are expected of the fourth day, want %v", c.caution, got, want)
		}
		if first := b.Days.Bins[0]; math.Abs(first.Error[sched.VCores]-2.5) > 1e-9 {
			t.Errorf("days differ by %v on average, want 2.5", first.Error[sched.VCores])
		}
	}
	days := newDayCurve(100*s, 1, 0)
	core := sched.New(sched.Config{Policy: observer(days.observe)})
	for i, cores := range []int64{7, 7, 7, 7, 7, 7, 7, 7, 14, 7} {
		kind := sched.NodeReported
		if i == 0 {
			kind = sched.NodeJoined
		}
		core.Step(time.Duration(i)*100*s, []sched.Event{{Kind: kind, Node: 1,
			Body: &sched.NodeSpec{Class: "c", Capacity: sched.Resources{sched.VCores: cores}}}})
	}
	if got := days.Bins[0].Mean[sched.VCores]; math.Abs(got-8) > 1e-9 {
		t.Errorf("after eight days of 7 cores and one of 14 %v are expected, want 8", got)
	}
}

// A job has 12 maps of 10 s and 60 s. Four slots run four maps until 10 s, and four more from then on. At 12.5 s the
// node comes to offer one slot, which no forecast knew of. Of the 8 maps that are not through, those must run now that
// do not fit into the time between a map's length from now and the goal: none at first; without a forecast all but 3.75
// when the node offers less, at once or (trigger=off) in the next cycle, at 15 s, all but 3.5. By a forecast of four
// slots for ever the three that are missing come back little by little, unless forecast=now. With window=cycle the time
// begins a cycle from now, and with fractions=off whole maps count. With trigger=off the first maps start in the first
// cycle, so that all is 5 s later.
func TestPlanFollowsWhatNodesOffer(t *testing.T) {
	const s = time.Second
	missing := func(now float64) float64 { // slot-seconds, of three slots
		return 3 * 1800 * (math.Exp(-10/1800.0) - math.Exp(-(60-now)/1800))
	}
	forever, err := sched.NewForecast(0, sched.Supply{Capacity: sched.Resources{sched.MapSlots: 4}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		options  string
		begins   time.Duration
		forecast *sched.Forecast
		fits     [3]float64 // 12 s, 12.5 s and 15 s after it begins
	}{
		{"", 0, nil, [3]float64{0, 8 - 3.75, 8 - 3.5}},
		{",trigger=off", 5 * s, nil, [3]float64{0, 0, 8 - 3.5}},
		{"", 0, forever, [3]float64{0, 8 - (4*37.5-missing(12.5))/10, 8 - (4*35-missing(15))/10}},
		{",forecast=now", 0, forever, [3]float64{0, 8 - 3.75, 8 - 3.5}},
		{",window=cycle", 0, nil, [3]float64{0, 8 - 4.25, 8 - 4}},
		{",fractions=off", 0, nil, [3]float64{0, 8 - 3, 8 - 3}},
	} {
		p, _, err := Parse("reverse:cycle=5s" + c.options)
		if err != nil {
			t.Fatal(err)
		}
		core := sched.New(sched.Config{Policy: p, Can: sched.CanNameTasks, Forecast: c.forecast})
		node := func(kind sched.EventKind, slots int64) sched.Event {
			return sched.Event{Kind: kind, Node: 1,
				Body: &sched.NodeSpec{Class: "c", Capacity: sched.Resources{sched.MapSlots: slots}}}
		}
		var done []sched.Event
		step := func(at time.Duration, events ...sched.Event) {
			for _, a := range core.Step(at, events) {
				if a.Kind == sched.Launch {
					done = append(done, sched.Event{Kind: sched.AttemptDone, Job: 1, Attempt: a.Attempt})
				}
			}
		}
		step(0, node(sched.NodeJoined, 4), sched.Event{Kind: sched.JobSubmitted, Job: 1, Body: &sched.JobSpec{
			Deadline: c.begins + 60*s, Stages: []sched.StageSpec{
				{Kind: sched.Map, Tasks: 12, PerTask: sched.Resources{sched.MapSlots: 1}}}}})
		step(5 * s)
		core.Step(c.begins+10*s, done)
		for i, at := range []time.Duration{12 * s, 12500 * time.Millisecond, 15 * s} {
			var events []sched.Event
			if i == 1 {
				events = []sched.Event{node(sched.NodeReported, 1)}
			}
			core.Step(c.begins+at, events)
			if got := p.(*backward).Fits.Of(core.Job(1)).Fit; math.Abs(got-c.fits[i]) > 1e-6 {
				t.Errorf("%q, forecast %v, at %v: %v maps must run now, want %v", c.options, c.forecast != nil, at,
					got, c.fits[i])
			}
		}
	}
}

// An observer does something in the place of deciding.
type observer func(*sched.Plan)

// Decide calls the function.
func (o observer) Decide(p *sched.Plan) { o(p) }
