package sim

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// withShuffle is costs of nothing but a shuffle, whose reduces fetch again when a batch of the maps is done.
func withShuffle(batch float64) Costs { return Costs{Shuffle: Shuffle{On: true, Batch: batch}} }

// All examples run on links of 100 bytes/s a node and, where there are several racks, 100 bytes/s a rack; byte counts
// are small so that seconds are whole. A nanosecond more is what rounding up may add at each end of a fetch.
func TestShuffleByHand(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes int32
		racks int32
		each  sched.Resources
		batch float64
		seek  float64
		jobs  []mr
		want  []sched.Time
	}{
		// One map of 1 s, then a reduce that fetches 1000 bytes at 100 bytes/s, 10 s, and computes 2 s.
		{"alone", 1, 1, slots(1, 1), 1, 0,
			[]mr{{maps: 1, mapTime: sec, reduces: 1, redTime: 2 * sec, part: 1, shuffle: 1000}},
			[]sched.Time{13 * sec}},
		// Two jobs' reduces share the node's link: both begin at 1 s; 500 bytes each at 50 bytes/s end at 11 s. The
		// second, of 1500 bytes, has 1000 left then, and 100 bytes/s: 21 s. Each computes 2 s.
		{"two share a node's link", 1, 1, slots(2, 2), 1, 0,
			[]mr{{maps: 1, mapTime: sec, reduces: 1, redTime: 2 * sec, part: 1, shuffle: 500},
				{maps: 1, mapTime: sec, reduces: 1, redTime: 2 * sec, part: 1, shuffle: 1500}},
			[]sched.Time{13 * sec, 23 * sec}},
		// The same with interference 0.25: together they get 100 ÷ 1.25 = 80, 40 each. 500 bytes end at 13.5 s; then
		// 1000 bytes at 100: 23.5 s.
		{"two disturb each other", 1, 1, slots(2, 2), 1, 0.25,
			[]mr{{maps: 1, mapTime: sec, reduces: 1, redTime: 2 * sec, part: 1, shuffle: 500},
				{maps: 1, mapTime: sec, reduces: 1, redTime: 2 * sec, part: 1, shuffle: 1500}},
			[]sched.Time{15500 * sec / 1000, 25500 * sec / 1000}},
		// Four nodes in two racks: half of a reduce's bytes come from the other rack (φ = 1/2). Four maps and four
		// reduces, one on each node, 400 bytes each: two in each rack share its uplink of 100, which allows 100 ÷ (2·½)
		// = 100 each, no less than the node's link: 4 s.
		{"an uplink as fast as its nodes need", 4, 2, slots(1, 1), 1, 0,
			[]mr{{maps: 4, mapTime: sec, reduces: 4, part: 1, shuffle: 1600}},
			[]sched.Time{5 * sec}},
		// Eight nodes in two racks: four reduces in each share 100 ÷ (4·½) = 50 bytes/s each: 400 bytes take 8 s.
		{"an uplink that is full", 8, 2, slots(1, 1), 1, 0,
			[]mr{{maps: 8, mapTime: sec, reduces: 8, part: 1, shuffle: 3200}},
			[]sched.Time{9 * sec}},
		// One rack: its uplink does not matter.
		{"no other rack", 8, 1, slots(1, 1), 1, 0,
			[]mr{{maps: 8, mapTime: sec, reduces: 8, part: 1, shuffle: 3200}},
			[]sched.Time{5 * sec}},
		// Two maps of 4 s in turn on one slot; the reduce starts after the first (slow start ½) and fetches that half
		// of its 400 bytes from 4 to 6 s, waits, fetches the other half from 8 to 10 s, and computes 1 s. Without
		// overlap it would end at 8 + 4 + 1.
		{"overlapped with maps", 1, 1, slots(1, 1), 0.5, 0,
			[]mr{{maps: 2, mapTime: 4 * sec, reduces: 1, redTime: sec, part: 0.5, shuffle: 400}},
			[]sched.Time{11 * sec}},
		// The same where a reduce goes on only when all is there: it fetches the first half when it starts, and the
		// rest after 8 s all the same.
		{"overlapped, one batch", 1, 1, slots(1, 1), 1, 0,
			[]mr{{maps: 2, mapTime: 4 * sec, reduces: 1, redTime: sec, part: 0.5, shuffle: 400}},
			[]sched.Time{11 * sec}},
		// A fetch longer than the next map: 2 maps of 1 s, 400 bytes. Half from 1 to 3 s; the other half has been there
		// since 2 s: to 5 s.
		{"overlapped, slower than the maps", 1, 1, slots(1, 1), 0.5, 0,
			[]mr{{maps: 2, mapTime: sec, reduces: 1, redTime: sec, part: 0.5, shuffle: 400}},
			[]sched.Time{6 * sec}},
		// Ten maps of 1 s in turn, a reduce from the start, batches of 1/5: it goes on at 2, 4, 6, 8, 10 s, each time
		// for 200 of 1000 bytes, 2 s. So at 10 s it has 800 bytes and fetches the rest until 12 s.
		{"in batches", 1, 1, slots(1, 1), 0.2, 0,
			[]mr{{maps: 10, mapTime: sec, reduces: 1, part: 0, shuffle: 1000}},
			[]sched.Time{12 * sec}},
		// A reduce without a byte to fetch still computes only after the last map.
		{"nothing to fetch", 1, 1, slots(1, 1), 0.5, 0,
			[]mr{{maps: 2, mapTime: 4 * sec, reduces: 1, redTime: sec, part: 0}},
			[]sched.Time{9 * sec}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var jobs []*sched.JobSpec
			for _, m := range c.jobs {
				jobs = append(jobs, m.job())
			}
			costs := withShuffle(c.batch)
			costs.Shuffle.Interference = c.seek
			l, _ := simulate(t, Config{Cluster: slotCluster(c.nodes, c.racks, c.each), Jobs: source(jobs...),
				Costs: costs})
			wantEnds(t, l, 5, c.want...)
		})
	}
}

// Where the shuffle is not simulated, a reduce that started early waits for the maps all the same.
func TestWaitsWithoutShuffle(t *testing.T) {
	l, _ := simulate(
		t,
		Config{
			Cluster: slotCluster(1, 1, slots(1, 1)),
			Jobs:    source(mr{maps: 2, mapTime: 4 * sec, reduces: 1, redTime: sec, part: 0, shuffle: 400}.job()),
		},
	)
	wantEnds(t, l, 0, 9*sec)
}

// A rack's clocks give the same ends as stepping all fetches through time: rates recomputed for each at each change.
func TestShuffleAgainstSteps(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 7))
		nodes, racks := int32(1+r.IntN(9)), int32(1+r.IntN(3))
		racks = min(racks, nodes)
		var jobs []*sched.JobSpec
		for range 12 {
			jobs = append(
				jobs,
				mr{
					submit:  sched.Time(r.IntN(20)) * sec,
					maps:    1,
					mapTime: sec,
					reduces: int32(1 + r.IntN(6)),
					part:    1,
					shuffle: int64(100 + r.IntN(5000)),
				}.job(),
			)
		}
		costs := withShuffle(1)
		costs.Shuffle.Interference = float64(r.IntN(2)) * 0.3
		cluster := slotCluster(nodes, racks, slots(30, 80))
		l, _ := simulate(t, Config{Cluster: cluster, Jobs: source(sorted(jobs)...), Costs: costs})
		rackOf := []sched.RackID{}
		size := map[sched.RackID]float64{}
		for spec := range cluster.Nodes() {
			rackOf = append(rackOf, spec.Rack)
			size[spec.Rack]++
		}
		type flow struct {
			node  sched.NodeID
			begin float64
			left  float64
			end   float64
		}
		var flows []*flow
		byAttempt := map[sched.AttemptID]*flow{}
		for i, a := range l.actions {
			if a.Kind == sched.Launch && a.Stage.Index == 1 {
				truth := sorted(jobs)[a.Stage.Job-1].Payload
				f := &flow{node: a.Node, begin: l.acted[i].Seconds(), left: float64(taskOf(truth, 1, a.Task).Shuffle)}
				flows = append(flows, f)
				byAttempt[a.Attempt] = f
			}
		}
		now := 0.0
		for {
			onNode, inRack := map[sched.NodeID]float64{}, map[sched.RackID]float64{}
			next := math.Inf(1)
			for _, f := range flows {
				switch {
				case f.begin > now+1e-12:
					next = min(next, f.begin)
				case f.left > 0:
					onNode[f.node]++
					inRack[rackOf[f.node-1]]++
				}
			}
			rate := func(f *flow) float64 {
				k, rack := onNode[f.node], rackOf[f.node-1]
				v := 100 / (k * (1 + costs.Shuffle.Interference*(k-1)))
				if out := 1 - size[rack]/float64(nodes); out > 0 {
					v = min(v, 100/(inRack[rack]*out))
				}
				return v
			}
			for _, f := range flows {
				if f.begin <= now+1e-12 && f.left > 0 {
					next = min(next, now+f.left/rate(f))
				}
			}
			if math.IsInf(next, 1) {
				break
			}
			for _, f := range flows {
				if f.begin <= now+1e-12 && f.left > 0 {
					if f.left -= rate(f) * (next - now); f.left < 1e-6 {
						f.left, f.end = 0, next
					}
				}
			}
			now = next
		}
		for _, ev := range l.events {
			if f := byAttempt[ev.Attempt]; ev.Kind == sched.AttemptDone && f != nil &&
				math.Abs(ev.at.Seconds()-f.end) > 1e-6 {
				t.Errorf("seed %d: a fetch on node %d from %.6f s ends at %.6f s, stepping says %.6f s", seed, f.node,
					f.begin, ev.at.Seconds(), f.end)
			}
		}
	}
}

// Fetched is told of every byte once, of no instant twice, and never of more than the links carry: 4 nodes of 100
// bytes/s.
func TestFetched(t *testing.T) {
	for _, batch := range []float64{0.1, 1} {
		total, last, most := 0.0, sched.Time(0), 0.0
		config := Config{Cluster: slotCluster(4, 1, slots(2, 2)), Costs: withShuffle(batch), Jobs: source(
			mr{
				maps:    9,
				mapTime: 3 * sec,
				reduces: 5,
				redTime: sec,
				part:    0.3,
				shuffle: 4000,
			}.job(),
			mr{maps: 4, mapTime: sec, reduces: 7, redTime: 2 * sec, part: 1, shuffle: 2100}.job(),
		),
			Fetched: func(from, to sched.Time, bytes float64) {
				if from < last || to <= from {
					t.Errorf("from %v to %v, after %v", from, to, last)
				}
				last = to
				total += bytes
				most = max(most, bytes/(to-from).Seconds())
			}}
		simulate(t, config)
		if math.Abs(total-6100) > 1e-3 || most > 400*(1+1e-9) {
			t.Errorf("batch %v: %v bytes at up to %v a second, want 6100 at up to 400", batch, total, most)
		}
	}
}
