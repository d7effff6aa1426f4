package sim

import (
	"testing"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// contending makes a job of maps that each use half of a node's disk.
func contending(times ...sched.Time) *sched.JobSpec {
	j := mr{maps: int32(len(times)), mapTime: times[0]}.job()
	truth := j.Payload.(*workload.Truth)
	truth.Stages[0].List = nil
	for _, d := range times {
		truth.Stages[0].List = append(truth.Stages[0].List, workload.Task{Compute: d})
	}
	j.Profile = &sched.Profile{}
	j.Profile.Phases[sched.PhaseMap] = sched.Resources{sched.DiskIO: 500_000}
	return j
}

// With a slope of 1 and a power of 2 a map alone takes 1.5 times its time, two take twice theirs, and four, which want
// twice the disk, eight times theirs. So one slot needs 60 s for four maps of 10 s, two slots need 40 s, four need 80
// s. Of a map of 10 s and one of 4 s the short one ends at 8 s; then the long one has 6 s left, which take 9 s alone.
func TestContention(t *testing.T) {
	for _, v := range []struct {
		slots int64
		times []sched.Time
		end   sched.Time
	}{
		{1, []sched.Time{10 * sec, 10 * sec, 10 * sec, 10 * sec}, 60 * sec},
		{2, []sched.Time{10 * sec, 10 * sec, 10 * sec, 10 * sec}, 40 * sec},
		{4, []sched.Time{10 * sec, 10 * sec, 10 * sec, 10 * sec}, 80 * sec},
		{2, []sched.Time{10 * sec, 4 * sec}, 17 * sec},
	} {
		config := Config{Cluster: slotCluster(1, 1, slots(v.slots, 0)), Jobs: source(contending(v.times...))}
		config.Costs.Contention = Contention{Slope: 1, Power: 2}
		l, _ := simulate(t, config)
		wantEnds(t, l, 0, v.end)
	}
}

// A map that is killed or suspended hinders no other, and a suspended one goes on with what it had left: the second of
// two maps of 10 s is suspended at 4 s, when both have done 2 s, and goes on at 10 s, when the first one has done 4 s
// more alone. Both have less than 8 s left then: the first ends at 18 s, after 4 s more, and the second one at 24 s.
func TestContentionEndsWithSuspension(t *testing.T) {
	config := Config{Cluster: slotCluster(1, 1, slots(2, 0)), Jobs: source(contending(10*sec, 10*sec))}
	config.Costs.Contention = Contention{Slope: 1, Power: 2}
	config.Core.Policy = suspends(4*sec, 10*sec)
	l, _ := simulate(t, config)
	wantEnds(t, l, 0, 24*sec)
}

// A reduce that fetches hinders the tasks that compute beside it, and is not hindered itself. With a slope of 1 a map
// of 10 s that uses half of the disk takes 1.5 times as long, and so does the other job's map of 1 s. From 1.5 s on
// that job's reduce fetches 1000 bytes at 100 a second, with the other half of the disk: the map of 10 s has done 1 s
// and does 5 s more until 11.5 s. Then the reduce computes 2 s, which take 3, and the map's 4 s that are left take 6.
func TestContentionOfFetches(t *testing.T) {
	shuffling := mr{maps: 1, mapTime: sec, reduces: 1, redTime: 2 * sec, part: 1, shuffle: 1000}.job()
	shuffling.Profile = &sched.Profile{}
	shuffling.Profile.Phases[sched.PhaseShuffle] = sched.Resources{sched.DiskIO: 500_000}
	config := Config{Cluster: slotCluster(1, 1, slots(2, 1)), Jobs: source(shuffling, contending(10*sec))}
	config.Cluster.Network.Node, config.Cluster.Network.Rack = 100, 100
	config.Costs = withShuffle(1)
	config.Costs.Contention = Contention{Slope: 1, Power: 2}
	l, _ := simulate(t, config)
	wantEnds(t, l, 2, 14500*sec/1000, 17500*sec/1000)
}

// What all nodes offer together is the sum over the classes, with and without a timetable.
func TestExpected(t *testing.T) {
	table, err := sched.NewForecast(40*sec, sched.Supply{Capacity: slots(2, 0)},
		sched.Supply{From: 15 * sec, Capacity: slots(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	c := slotCluster(3, 1, slots(2, 0))
	f, err := Expected(c, map[string]*sched.Forecast{"c": table})
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[sched.Time]int64{0: 6, 14 * sec: 6, 15 * sec: 3, 54 * sec: 6, 56 * sec: 3} {
		if got := f.At(at)[sched.MapSlots]; got != want {
			t.Errorf("at %v %d map slots are expected, want %d", at, got, want)
		}
	}
	if f, err := Expected(c, nil); f != nil || err != nil {
		t.Errorf("without a timetable: %v, %v", f, err)
	}
}
