package sim

import (
	"context"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// One node offers two map slots until 15 s, one until 40 s, and so on again. Six maps of 10 s: two at 0 s and two at
// 10 s, and both of these go on beyond 15 s and end at 20 s; then one at a time, at 20 s and at 30 s. Under heartbeats
// every second and after a loss at 2 s with the return at 16 s the node offers one slot when it returns.
func TestTimetable(t *testing.T) {
	table, err := sched.NewForecast(40*sec, sched.Supply{Capacity: slots(2, 0)},
		sched.Supply{From: 15 * sec, Capacity: slots(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	config := Config{
		Cluster:    slotCluster(1, 1, slots(2, 0)),
		Jobs:       source(mr{maps: 6, mapTime: 10 * sec}.job()),
		Timetables: map[string]*sched.Forecast{"c": table},
	}
	l, _ := simulate(t, config)
	wantTimes(t, "launches", l.when(sched.Launch), 0, 0, 10*sec, 10*sec, 20*sec, 30*sec)
	wantEnds(t, l, 0, 40*sec)

	config.Jobs = source(mr{maps: 6, mapTime: 10 * sec}.job())
	config.Costs.Reporting.Heartbeat = sec
	config.Script = []Incident{{At: 2 * sec, Node: 1}, {At: 16 * sec, Node: 1, Returns: true}}
	l, _ = simulate(t, config)
	wantTimes(t, "launches", l.when(sched.Launch), 0, 0, 16*sec, 26*sec, 36*sec, 40*sec, 46*sec, 50*sec)
	wantEnds(t, l, 0, 60*sec)

	config.Timetables = map[string]*sched.Forecast{"d": table}
	if _, err := Run(context.Background(), config); err == nil ||
		!strings.Contains(err.Error(), `timetable of class "d": the cluster has no such class`) {
		t.Errorf("error %v", err)
	}
	config.Timetables = map[string]*sched.Forecast{"c": table}
	config.Cluster = slotCluster(1, 1, slots(1, 0))
	if _, err := Run(context.Background(), config); err == nil ||
		!strings.Contains(err.Error(), "from 0s it offers more than a node has") {
		t.Errorf("error %v", err)
	}
}

// A node of two slots offers one of them until 5 s and both from there on, by the script, whatever its timetable says:
// of three tasks of 10 s, one runs 0-10, one 5-15 and one 10-20.
func TestIncidentOffers(t *testing.T) {
	table, err := sched.NewForecast(0, sched.Supply{})
	if err != nil {
		t.Fatal(err)
	}
	one, two := slots(1, 0), slots(2, 0)
	config := Config{Cluster: slotCluster(1, 1, two), Timetables: map[string]*sched.Forecast{"c": table},
		Script: []Incident{{At: 5 * sec, Node: 1, Offers: &two}, {Node: 1, Offers: &one}}}
	ends := func(want ...sched.Time) {
		t.Helper()
		config.Jobs = source(mr{maps: 3, mapTime: 10 * sec}.job())
		l, _ := simulate(t, config)
		wantTimes(t, "ends of tasks", l.ends(sched.OK), want...)
	}
	ends(10*sec, 15*sec, 20*sec)
	below := slots(-1, 0)
	for says, x := range map[string][]Incident{
		"incident 1: map-slots: -1, must not be negative": {{Node: 1, Offers: &below}},
		"node 1 has two incidents at 1s": {{At: sec, Node: 1, Offers: &one}, {At: sec, Node: 1},
			{At: sec, Node: 1, Offers: &two}},
	} {
		config.Script = x
		if _, err := Run(context.Background(), config); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	config.Script = []Incident{{At: sec, Node: 1}, {At: 2 * sec, Node: 1, Returns: true}, {At: 2 * sec, Node: 1,
		Offers: &two}, {Node: 1, Offers: &one}}
	ends(12*sec, 12*sec, 22*sec)
}
