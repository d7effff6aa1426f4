package sim

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// A share is the part of its capacity that each node offers from an instant on.
type share struct {
	from sched.Time
	part float64
}

// offering makes the nodes of a configuration of one class offer shares of what they have, in whole units, and the
// tasks on them get what the shares say. The shares repeat after a period, if it is not zero.
func offering(t *testing.T, c *Config, period sched.Time, shares ...share) {
	t.Helper()
	var steps []sched.Supply
	for _, s := range shares {
		offers := c.Cluster.Classes[0].Resources
		for k := range offers {
			offers[k] = int64(float64(offers[k])*s.part + 1e-9)
		}
		steps = append(steps, sched.Supply{From: s.from, Capacity: offers})
	}
	table, err := sched.NewForecast(period, steps...)
	if err != nil {
		t.Fatal(err)
	}
	c.Timetables = map[string]*sched.Forecast{c.Cluster.Classes[0].Name: table}
	c.Throttle = func(at sched.Time) (float64, sched.Time) {
		in := at
		if period > 0 {
			in = at % period
		}
		part := 0.0
		for _, s := range shares {
			if s.from <= in {
				part = s.part
			}
		}
		return part, table.Next(at)
	}
}

// The vectors of the engine mr (TestOffersSlow and TestThrottleFollowsWhatRuns of package mr), whose tasks are really
// slowed.
//
// Two maps of 4 s run on two slots. From 1 s on the node offers three quarters of its slots, which is one whole slot:
// the maps share the three quarters, so that the 3 s of each that are left take 4 s. The third map starts when both are
// over and has the slot for itself, but for a minute from 6 s on in which nothing is offered.
//
// Of maps of 2 s and 6 s that share three quarters from 1 s on, the first is over at 2.33 s. The second has done 2 s
// then and has all the time for what is left.
func TestThrottleAsMR(t *testing.T) {
	config := Config{Cluster: slotCluster(1, 1, slots(2, 0)), Jobs: source(mr{maps: 3, mapTime: 4 * sec}.job())}
	offering(t, &config, 0, share{0, 1}, share{sec, 0.75}, share{6 * sec, 0}, share{66 * sec, 1})
	l, _ := simulate(t, config)
	wantTimes(t, "launches", l.when(sched.Launch), 0, 0, 5*sec)
	wantTimes(t, "ends", l.ends(sched.OK), 5*sec, 5*sec, 69*sec)

	config.Jobs = source(contending(2*sec, 6*sec))
	offering(t, &config, 0, share{0, 1}, share{sec, 0.75})
	l, _ = simulate(t, config)
	for i, want := range []sched.Time{7 * sec / 3, 19 * sec / 3} {
		if at := l.ends(sched.OK)[i]; (at - want).Abs() > 2 {
			t.Errorf("map %d ends at %v, want %v", i+1, at, want)
		}
	}
}

// What is slowed, and how much.
func TestThrottle(t *testing.T) {
	containers := sched.Resources{sched.VCores: 2, sched.Memory: 1000}
	one := sched.Resources{sched.VCores: 1, sched.Memory: 400}
	reducing := func() *sched.JobSpec {
		return mr{maps: 2, mapTime: 10 * sec, reduces: 1, redTime: 4 * sec, part: 0.5, mapEach: one, redEach: one}.job()
	}
	for _, v := range []struct {
		what   string
		config Config
		period sched.Time
		shares []share
		set    func(*Config)
		ends   []sched.Time // of attempts that succeed
	}{
		{
			what:   "each of two maps takes twice as long on a half of the slots",
			config: Config{Cluster: slotCluster(1, 1, slots(2, 0)), Jobs: source(mr{maps: 2, mapTime: 10 * sec}.job())},
			shares: []share{{0, 1}, {4 * sec, 0.5}}, ends: []sched.Time{16 * sec, 16 * sec},
		},
		{
			what:   "a map that leaves room for the service is not slowed",
			config: Config{Cluster: slotCluster(1, 1, slots(2, 0)), Jobs: source(mr{maps: 1, mapTime: 10 * sec}.job())},
			shares: []share{{0, 1}, {4 * sec, 0.5}}, ends: []sched.Time{10 * sec},
		},
		{
			what:   "in turns: 4 s of every 8 at full speed, 4 s at a quarter",
			config: Config{Cluster: slotCluster(1, 1, slots(1, 0)), Jobs: source(mr{maps: 1, mapTime: 10 * sec}.job())},
			shares: []share{{0, 1}, {4 * sec, 0.25}}, period: 8 * sec, ends: []sched.Time{16 * sec},
		},
		{
			// 2 s of each are done when the second is suspended. The first gets all of the slot that is offered.
			what:   "a suspended map leaves its part to the other one",
			config: Config{Cluster: slotCluster(1, 1, slots(2, 0)), Jobs: source(mr{maps: 2, mapTime: 10 * sec}.job())},
			shares: []share{{0, 1}, {2 * sec, 0.5}}, set: func(c *Config) { c.Core.Policy = suspends(2*sec, 10*sec) },
			ends: []sched.Time{10 * sec, 18 * sec},
		},
		{
			// The reduce starts with the second map, at 10 s, and waits for it. While it waits it holds a core: the
			// map, which has done 2 s at 12 s, needs 16 s more on half of a core. Then the reduce has a core to itself.
			what:   "a reduce that waits counts, as it holds a core",
			config: Config{Cluster: slotCluster(1, 1, containers), Jobs: source(reducing())},
			shares: []share{{0, 1}, {12 * sec, 0.5}},
			set:    func(c *Config) { c.Core.Policy = &staggered{} },
			ends:   []sched.Time{10 * sec, 28 * sec, 32 * sec},
		},
		{
			// Alone each map of 10 s takes 15 s, two take 20 s together (TestContention). At 10 s both have done a
			// half; at half the pace the rest takes 20 s.
			what:   "contention slows besides",
			config: Config{Cluster: slotCluster(1, 1, slots(2, 0)), Jobs: source(contending(10*sec, 10*sec))},
			shares: []share{{0, 1}, {10 * sec, 0.5}},
			set:    func(c *Config) { c.Costs.Contention = Contention{Slope: 1, Power: 2} },
			ends:   []sched.Time{30 * sec, 30 * sec},
		},
		{
			// 4.5 s are done when the part changes, between two heartbeats, and 5 s take 10 then. The end at 14.5 s is
			// told by the next heartbeat.
			what: "heartbeats",
			config: Config{
				Cluster: slotCluster(1, 1, slots(2, 0)), Jobs: source(mr{maps: 2, mapTime: 19 * sec / 2}.job()),
			},
			shares: []share{{0, 1}, {9 * sec / 2, 0.5}},
			set:    func(c *Config) { c.Costs.Reporting.Heartbeat = sec },
			ends:   []sched.Time{15 * sec, 15 * sec},
		},
		{
			// Lost at 6 s, when each had done 5 s of 10, and back at 8 s: one at a time on the slot that is offered.
			what:   "a node that is lost and returns",
			config: Config{Cluster: slotCluster(1, 1, slots(2, 0)), Jobs: source(mr{maps: 2, mapTime: 10 * sec}.job())},
			shares: []share{{0, 1}, {4 * sec, 0.5}},
			set: func(c *Config) {
				c.Script = []Incident{{At: 6 * sec, Node: 1}, {At: 8 * sec, Node: 1, Returns: true}}
			},
			ends: []sched.Time{18 * sec, 28 * sec},
		},
	} {
		t.Run(v.what, func(t *testing.T) {
			offering(t, &v.config, v.period, v.shares...)
			if v.set != nil {
				v.set(&v.config)
			}
			l, _ := simulate(t, v.config)
			wantTimes(t, "ends", l.ends(sched.OK), v.ends...)
		})
	}
}

// staggered starts the first map at once, and the rest when it is done.
type staggered struct{ inOrder }

func (s *staggered) Decide(p *sched.Plan) {
	for j := range p.Jobs() {
		if st := j.Stages[0]; st.Done == 0 {
			if st.Running == 0 {
				p.Launch(st, p.Node(1))
			}
			return
		}
	}
	s.inOrder.Decide(p)
}

// A throttled run that nothing will ever bring on says why, and one without timetables is refused.
func TestThrottleStuck(t *testing.T) {
	config := Config{Cluster: slotCluster(1, 1, slots(1, 0)), Jobs: source(mr{maps: 2, mapTime: 10 * sec}.job())}
	config.Core.Policy = &inOrder{}
	offering(t, &config, 0, share{0, 1}, share{sec, 0})
	_, err := Run(context.Background(), config)
	if want := "1 attempt stands still, because its node offers nothing"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one that says %q", err, want)
	}
	config.Timetables = nil
	_, err = Run(context.Background(), config)
	if err == nil || !strings.Contains(err.Error(), "no class has a timetable") {
		t.Errorf("error %v", err)
	}
}

// A map that stands still goes on with exactly what it had left, however long it would have taken at a pace that is
// next to nothing.
func TestThrottleNextToNothing(t *testing.T) {
	config := Config{Cluster: slotCluster(1, 1, slots(1, 0)), Jobs: source(mr{maps: 1, mapTime: 1000 * sec}.job())}
	offering(t, &config, 0, share{0, 1}, share{sec, 1e-9}, share{100 * sec, 1})
	l, _ := simulate(t, config)
	wantTimes(t, "ends", l.ends(sched.OK), 1099*sec)
}

// With all accidents, policies that suspend and kill, contention and heartbeats: what each attempt has computed when it
// succeeds is the time that it takes where nothing hinders it, if at each instant it computes at the pace that follows
// from what then runs on its node and from what the node then offers. Progress stays from 0 to 1.
func TestThrottleConservesWork(t *testing.T) {
	slowed, ended := 0, 0
	for seed := range uint64(8) {
		c := few(everything(seed), 12)
		c.Costs.Reporting.Heartbeat = sched.Time(seed%2) * sec
		if seed%3 == 1 {
			c.Costs.Contention = Contention{Slope: 1, Power: 2}
		}
		c.Core.Policy = &chaos{chance: workload.NewChance(seed)}
		dice := workload.NewChance(100 + seed)
		var shares []share
		for i := range 1 + dice.Below(5) {
			parts := []float64{0, 0.2, 1. / 3, 0.5, 0.9, 1}
			shares = append(shares, share{sched.Time(i) * 40 * sec, parts[dice.With(uint64(i)).Below(len(parts))]})
		}
		offering(t, &c, 240*sec+1, append(shares, share{200 * sec, 1})...)
		l := newLog()
		c.Core.Recorder = l
		e, err := newEngine(&c)
		if err != nil {
			t.Fatal(err)
		}
		work, whole := map[sched.AttemptID]float64{}, map[sched.AttemptID]sched.Time{}
		seen, steps := 0, 0
		for {
			paces := e.pacesNow()
			before := e.now
			at, err := e.next()
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if at == sched.Never {
				break
			}
			e.instant(at)
			if steps++; steps%64 == 0 {
				if broken := e.disagrees(); broken != "" {
					t.Fatalf("seed %d at %v: %s", seed, e.now, broken)
				}
			}
			for id, pace := range paces {
				if pace < 1 && at > before {
					slowed++
				}
				work[id] += pace * float64(at-before)
			}
			for i := range e.attempts.rows {
				r := &e.attempts.rows[i]
				if r.id == 0 {
					continue
				}
				whole[r.id] = r.whole
				if r.core.Stage.Kind == sched.Master || r.state == over {
					continue
				}
				if _, p := e.tasks.progress(r); p < -1e-6 || p > 1 {
					t.Fatalf("seed %d at %v: progress %v of %+v", seed, e.now, p, r)
				}
			}
			for ; seen < len(l.events); seen++ {
				ev := l.events[seen]
				if ev.Kind != sched.AttemptDone || ev.Outcome != sched.OK {
					continue
				}
				ended++
				if off := math.Abs(work[ev.Attempt] - float64(whole[ev.Attempt])); off > 1000 {
					t.Errorf("seed %d: attempt %v computed %v when it ended, and takes %v", seed, ev.Attempt,
						sched.Time(work[ev.Attempt]), whole[ev.Attempt])
				}
			}
		}
		e.feed.stop()
		if len(l.ended) != int(e.total.Jobs) || e.attempts.alive != 0 || e.pending != 0 {
			t.Errorf("seed %d: %d of %d jobs ended, %d attempts are left, %d items are due", seed, len(l.ended),
				e.total.Jobs, e.attempts.alive, e.pending)
		}
	}
	if slowed == 0 || ended < 1000 {
		t.Errorf("%d spans were slowed, %d attempts succeeded", slowed, ended)
	}
}

// few leaves the first n jobs of a configuration.
func few(c Config, n int) Config {
	all := c.Jobs
	c.Jobs = func(yield func(*sched.JobSpec, error) bool) {
		left := n
		for j, err := range all {
			if left--; !yield(j, err) || left == 0 {
				return
			}
		}
	}
	return c
}

// pacesNow returns the part of the time in which each attempt computes now, by what nodes and attempts hold.
func (e *engine) pacesNow() map[sched.AttemptID]float64 {
	paces := map[sched.AttemptID]float64{}
	part, _ := e.config.Throttle(e.now)
	held := map[sched.NodeID]sched.Resources{}
	for i := range e.attempts.rows {
		if r := &e.attempts.rows[i]; r.id != 0 && r.state != frozen && r.state != over {
			held[r.core.Node] = held[r.core.Node].Add(e.core.Amount(r.core.Holds))
		}
	}
	for i := range e.attempts.rows {
		r := &e.attempts.rows[i]
		if r.id == 0 || r.state != computing {
			continue
		}
		pace := 1.0
		for k, amount := range e.core.Amount(r.core.Holds) {
			if amount > 0 && sched.ResourceKind(k) != sched.Memory {
				offered := part * float64(e.nodes.list[r.core.Node-1].spec.Capacity[k])
				pace = min(pace, offered/float64(held[r.core.Node][k]))
			}
		}
		if e.tasks.contention.on() {
			pace /= e.tasks.contention.node(r).factor
		}
		paces[r.id] = pace
	}
	return paces
}

// Where nodes offer all their capacity to what runs, whatever they offer to what is to start, a throttled run is the
// same as one that is not, fact for fact and action for action.
func TestThrottleAtFullSpeed(t *testing.T) {
	for seed := range uint64(4) {
		var logs [2]*log
		for i := range logs {
			c := few(everything(seed), 20)
			c.Costs.Contention = Contention{Slope: float64(seed % 2), Power: 1}
			c.Core.Policy = &chaos{chance: workload.NewChance(seed)}
			offering(t, &c, 90*sec, share{0, 1}, share{30 * sec, 0.4})
			c.Throttle = nil
			if i == 1 {
				c.Throttle = func(at sched.Time) (float64, sched.Time) { return 1, at + 7*sec }
			}
			logs[i], _ = simulate(t, c)
		}
		a, b := logs[0], logs[1]
		if len(a.events) != len(b.events) || !reflect.DeepEqual(a.acted, b.acted) ||
			!reflect.DeepEqual(a.actions, b.actions) || !reflect.DeepEqual(a.ended, b.ended) {
			t.Errorf("seed %d: the runs differ: %d and %d events, %d and %d actions", seed, len(a.events),
				len(b.events), len(a.actions), len(b.actions))
		}
	}
}
