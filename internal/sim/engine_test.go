package sim

import (
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// Three nodes report every 3 s: node 1 at 0, 3, 6 s, node 2 at 1, 4, 7 s, node 3 at 2, 5, 8 s. A job of three maps of
// 3.5 s comes at 0.5 s. They start at the next report of each node: 1 s (node 2), 2 s (node 3), 3 s (node 1); end at
// 4.5, 5.5, 6.5 s; and are told at 7, 8, 9 s.
func TestHeartbeats(t *testing.T) {
	l, _ := simulate(
		t,
		Config{
			Cluster: slotCluster(3, 1, slots(1, 0)),
			Jobs:    source(mr{submit: sec / 2, maps: 3, mapTime: 3500 * sec / 1000}.job()),
			Costs:   Costs{Reporting: Reporting{Heartbeat: 3 * sec}},
		},
	)
	wantTimes(t, "launches", l.when(sched.Launch), 1*sec, 2*sec, 3*sec)
	wantTimes(t, "told", l.ends(sched.OK), 7*sec, 8*sec, 9*sec)
}

// While no job is there no node reports: two jobs of 1 s a day apart cost a few steps, not 86,400 beats.
func TestHeartbeatsSleep(t *testing.T) {
	const later = 86400*sec + sec/4
	l, r := simulate(
		t,
		Config{
			Cluster: slotCluster(1, 1, slots(1, 0)),
			Jobs:    source(mr{maps: 1, mapTime: sec}.job(), mr{submit: later, maps: 1, mapTime: sec}.job()),
			Costs:   Costs{Reporting: Reporting{Heartbeat: sec}},
		},
	)
	// Job 2: starts with the beat at 86401 s, ends at 86402 s, when the node reports.
	wantEnds(t, l, 0, 1*sec, 86402*sec)
	if r.Steps > 20 {
		t.Errorf("%d steps, want no more than 20", r.Steps)
	}
}

// A task of two days under heartbeats is no reason to call the run stuck.
func TestHeartbeatsThroughALongTask(t *testing.T) {
	l, _ := simulate(
		t,
		Config{
			Cluster: slotCluster(1, 1, slots(1, 0)),
			Jobs:    source(mr{maps: 1, mapTime: 172800 * sec}.job()),
			Costs:   Costs{Reporting: Reporting{Heartbeat: sec}},
		},
	)
	wantEnds(t, l, 0, 172800*sec)
}

// A policy that wakes every 10 s is not woken while there is no job: two jobs of 1 s at 0 and 100 s take a step for
// each arrival and each end.
func TestNoWakingWhileIdle(t *testing.T) {
	inner := &inOrder{}
	policy := policyFunc(func(p *sched.Plan) { inner.Decide(p); p.Wake(p.Now + 10*sec) })
	_, r := simulate(
		t,
		Config{
			Cluster: slotCluster(1, 1, slots(1, 0)),
			Jobs:    source(mr{maps: 1, mapTime: sec}.job(), mr{submit: 100 * sec, maps: 1, mapTime: sec}.job()),
			Core:    sched.Config{Policy: policy},
		},
	)
	if r.Steps != 4 {
		t.Errorf("%d steps, want 4", r.Steps)
	}
}

// A trace's measured time of fetching passes where the shuffle is not simulated, and does not where it is: a map of 1
// s, a reduce of 2 s that fetched for 3 s.
func TestMeasuredFetch(t *testing.T) {
	for _, on := range []bool{false, true} {
		j := mr{maps: 1, mapTime: sec, reduces: 1, part: 1}.job()
		j.Payload.(*workload.Truth).Stages[1].List = []workload.Task{{Compute: 2 * sec, Fetch: 3 * sec, Shuffle: 700}}
		want := 6 * sec
		if on {
			want = (1 + 7 + 2) * sec // 700 bytes at 100 bytes/s
		}
		l, _ := simulate(
			t,
			Config{
				Cluster: slotCluster(1, 1, slots(1, 1)),
				Jobs:    source(j),
				Costs:   Costs{Shuffle: Shuffle{On: on, Batch: 1}},
			},
		)
		wantEnds(t, l, 2, want)
	}
}

// Progress at each heartbeat is what part of the task's time has passed.
func TestProgress(t *testing.T) {
	l, _ := simulate(
		t,
		Config{
			Cluster: slotCluster(1, 1, slots(1, 1)),
			Jobs:    source(mr{maps: 1, mapTime: 4 * sec, reduces: 1, redTime: 4 * sec, part: 1, shuffle: 400}.job()),
			Costs:   Costs{Shuffle: Shuffle{On: true, Batch: 1}, Reporting: Reporting{Progress: sec}},
		},
	)
	var got []float32
	for _, ev := range l.events {
		if ev.Kind == sched.AttemptProgress {
			got = append(got, float32(int(ev.Progress*1200+0.5)))
		}
	}
	// In 1200ths: the map at 0, 1, 2, 3 s of 4 (300 each); the reduce, launched at 4 s, fetches a third until 8 s (100
	// each), then computes two thirds until 12 s (200 each).
	if want := []float32{0, 300, 600, 900, 100, 200, 300, 400, 600, 800, 1000}; !slices.Equal(got, want) {
		t.Errorf("progress in 1200ths %v, want %v", got, want)
	}
}

// at wraps a policy: at the instants that it is given it does something more.
func at(do map[sched.Time]func(*sched.Plan)) sched.Policy {
	inner := &inOrder{}
	return policyFunc(func(p *sched.Plan) {
		if f := do[p.Now]; f != nil {
			delete(do, p.Now)
			f(p)
		}
		inner.Decide(p)
		for t := range do {
			p.Wake(t)
		}
	})
}

// only returns the one attempt that a job has.
func only(p *sched.Plan, job sched.JobID, stage int) *sched.Attempt {
	for a := range p.Attempts(p.Job(job).Stages[stage]) {
		return a
	}
	panic("the job has no attempt")
}

// A map of 10 s that is suspended at 3 s and resumed at 20 s has 7 s left: 27 s, to the nanosecond.
func TestSuspendKeepsRemainingTime(t *testing.T) {
	l, _ := simulate(
		t,
		Config{Cluster: slotCluster(1, 1, slots(1, 0)), Jobs: source(mr{maps: 1, mapTime: 10*sec + 7}.job()),
			Core: sched.Config{Policy: at(map[sched.Time]func(*sched.Plan){
				3*sec + 1: func(p *sched.Plan) { p.Suspend(only(p, 1, 0)) },
				20 * sec:  func(p *sched.Plan) { p.Resume(only(p, 1, 0)) },
			})}},
	)
	wantEnds(t, l, 0, 27*sec+6)
}

// A reduce of 1000 bytes at 100 bytes/s begins at 1 s, is suspended at 4 s with 300 bytes and resumed at 10 s: 700
// bytes until 17 s, then 2 s of work.
func TestSuspendWhileFetching(t *testing.T) {
	l, _ := simulate(t, Config{Cluster: slotCluster(1, 1, slots(1, 1)), Costs: withShuffle(1),
		Jobs: source(mr{maps: 1, mapTime: sec, reduces: 1, redTime: 2 * sec, part: 1, shuffle: 1000}.job()),
		Core: sched.Config{Policy: at(map[sched.Time]func(*sched.Plan){
			4 * sec:  func(p *sched.Plan) { p.Suspend(only(p, 1, 1)) },
			10 * sec: func(p *sched.Plan) { p.Resume(only(p, 1, 1)) },
		})}})
	wantEnds(t, l, 5, 19*sec)
}

// A kill with a warning of 2 s at 3 s ends the attempt at 5 s; the task starts again and ends at 15 s. One that ends
// before its warning is over has ended well.
func TestKillWithGrace(t *testing.T) {
	for _, c := range []struct {
		grace, end sched.Time
		killed     []sched.Time
	}{{2 * sec, 15 * sec, []sched.Time{5 * sec}}, {0, 13 * sec, []sched.Time{3 * sec}}, {7 * sec, 10 * sec, nil},
		{20 * sec, 10 * sec, nil}} {
		l, _ := simulate(
			t,
			Config{Cluster: slotCluster(1, 1, slots(1, 0)), Jobs: source(mr{maps: 1, mapTime: 10 * sec}.job()),
				Core: sched.Config{
					Policy: at(
						map[sched.Time]func(*sched.Plan){
							3 * sec: func(p *sched.Plan) { p.Kill(only(p, 1, 0), c.grace) },
						},
					),
				}},
		)
		wantEnds(t, l, 0, c.end)
		wantTimes(t, "killed", l.ends(sched.Killed), c.killed...)
	}
}

// A second attempt on a node twice as fast, from 4 s on, ends at 9 s: the core kills the first, of 10 s, at that
// instant.
func TestSpeculation(t *testing.T) {
	c := slotCluster(1, 1, slots(1, 0))
	c.Classes = append(c.Classes, workload.Class{Name: "fast", Count: 1, Racks: 1, Speed: 2, Resources: slots(1, 0)})
	l, r := simulate(t, Config{Cluster: c, Jobs: source(mr{maps: 1, mapTime: 10 * sec}.job()),
		Core: sched.Config{
			Policy: at(
				map[sched.Time]func(*sched.Plan){
					4 * sec: func(p *sched.Plan) { p.Speculate(only(p, 1, 0), p.Node(2), 0) },
				},
			),
		}})
	wantEnds(t, l, 0, 9*sec)
	wantTimes(t, "killed", l.ends(sched.Killed), 9*sec)
	if r.Launches != 2 {
		t.Errorf("%d launches, want 2", r.Launches)
	}
}

// A shrinking Resize is confirmed at the same instant, and the room is used.
func TestResize(t *testing.T) {
	two := mr{maps: 2, mapTime: 10 * sec, mapEach: slots(2, 0)}.job()
	l, _ := simulate(t, Config{Cluster: slotCluster(1, 1, slots(3, 0)), Jobs: source(two),
		Core: sched.Config{
			Policy: at(
				map[sched.Time]func(*sched.Plan){
					4 * sec: func(p *sched.Plan) { p.Resize(only(p, 1, 0), p.Shape(slots(1, 0))) },
				},
			),
		}})
	wantTimes(t, "launches", l.when(sched.Launch), 0, 4*sec)
	wantEnds(t, l, 0, 14*sec)
}

// A job of 4 maps × 10 s over 400 bytes and 2 reduces × 10 s: its sample is a quarter of that (1 ÷ max(4, 2)). The
// probe's map takes 4·10/4 s, its reduce 2·10/4 s, each 1 s more to start; its sample of 100 bytes comes over the
// network at 50 bytes/s, 2 s.
func TestProbe(t *testing.T) {
	var counted []*sched.Counters
	policy := at(map[sched.Time]func(*sched.Plan){0: func(p *sched.Plan) { p.Probe(p.Job(1)) }})
	l, r := simulate(
		t,
		Config{
			Cluster: slotCluster(1, 1, slots(5, 2)),
			Jobs: source(mr{maps: 4, mapTime: 10 * sec, reduces: 2, redTime: 10 * sec, part: 1, input: 400,
				shuffle: 800}.job()),
			Costs: Costs{
				Probing: Probing{Base: sec},
				Reading: Reading{Rates: [3]float64{100, 100, 50}},
			},
			Core: sched.Config{Policy: policy},
		},
	)
	wantEnds(t, l, 0, 20*sec, (1+10+2)*sec+(1+5)*sec)
	if r.Jobs != 2 {
		t.Errorf("%d jobs, want the job and its probe", r.Jobs)
	}
	for _, ev := range l.events {
		if k, ok := ev.Body.(*sched.Counters); ok && k != nil {
			counted = append(counted, k)
		}
	}
	if len(counted) != 2 || counted[0].InputBytes != 100 || counted[0].OutputBytes != 200 ||
		counted[0].Phases[sched.PhaseMap] != 10*sec ||
		counted[0].Phases[sched.PhaseRead] != 3*sec ||
		counted[1].InputBytes != 200 {
		t.Errorf("counters %+v", counted)
	}
}

// Where it is known what a probe did, as of a recorded run, it does that again: nothing is added to its times.
func TestProbeOfThePast(t *testing.T) {
	job := mr{maps: 4, mapTime: 10 * sec, reduces: 2, redTime: 10 * sec, part: 1, input: 400}.job()
	truth := job.Payload.(*workload.Truth)
	truth.ProbeTimes, truth.ProbeCounts = []sched.Time{
		3 * sec,
		4 * sec,
	}, []sched.Counters{
		{InputBytes: 77},
		{InputRecords: 5},
	}
	policy := at(map[sched.Time]func(*sched.Plan){0: func(p *sched.Plan) { p.Probe(p.Job(1)) }})
	l, _ := simulate(
		t,
		Config{
			Cluster: slotCluster(1, 1, slots(5, 2)),
			Jobs:    source(job),
			Costs:   Costs{Probing: Probing{Base: sec}},
			Core:    sched.Config{Policy: policy},
		},
	)
	wantEnds(t, l, 0, 20*sec, 7*sec)
	var bytes, records int64
	for _, ev := range l.events {
		if k, ok := ev.Body.(*sched.Counters); ok && k != nil {
			bytes += k.InputBytes
			records += k.InputRecords
		}
	}
	if bytes != 77 || records != 5 {
		t.Errorf("counted %d bytes and %d records, want 77 and 5", bytes, records)
	}
}

// A probe ends with the job that it is of: a job of 3 s whose probe takes 1 + 2 s to start and read, and 3 s to map.
func TestProbeEndsWithJob(t *testing.T) {
	policy := at(map[sched.Time]func(*sched.Plan){0: func(p *sched.Plan) { p.Probe(p.Job(1)) }})
	l, _ := simulate(
		t,
		Config{Cluster: slotCluster(1, 1, slots(2, 0)), Jobs: source(mr{maps: 1, mapTime: 3 * sec, input: 100}.job()),
			Costs: Costs{
				Probing: Probing{Base: sec},
				Reading: Reading{Rates: [3]float64{100, 100, 50}},
			}, Core: sched.Config{Policy: policy}},
	)
	wantEnds(t, l, 0, 3*sec, 3*sec)
	for _, ev := range l.events {
		if ev.Kind == sched.AttemptDone && ev.Job == 2 && ev.Outcome != sched.Killed {
			t.Errorf("the probe's attempt came to %v, want killed", ev.Outcome)
		}
	}
}

// A sample is of as many splits as FSPY says, chosen by a seed, and of each no more than its part.
func TestSampleOf(t *testing.T) {
	spec := mr{maps: 100, mapTime: 10 * sec, reduces: 5, redTime: sec, part: 1, input: 100_000, shuffle: 50_000}.job()
	e, err := newEngine(
		&Config{
			Cluster: slotCluster(1, 1, slots(5, 2)),
			Jobs:    source(spec),
			Core:    sched.Config{Policy: at(nil)},
			Seed:    3,
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer e.feed.stop()
	row := &sched.Job{ID: 1, Spec: spec}
	*e.attempts.jobs.Of(row) = &job{truth: spec.Payload.(*workload.Truth)}
	s := e.probes.sampleOf(row)
	// 1 ÷ 100 of the input: a tenth of each of 10 splits of 1000 bytes, and of the reduces' 5 s a hundredth.
	if s.input != 1000 || s.mid != 500 || s.mapTime != float64(10*sec) || s.redTime != float64(5*sec)/100 {
		t.Errorf("a sample of %d bytes to %d, maps %v, reduces %v", s.input, s.mid, sched.Time(s.mapTime),
			sched.Time(s.redTime))
	}
	if again := e.probes.sampleOf(row); again != s {
		t.Errorf("the same job is sampled as %+v and %+v", s, again)
	}
}

// HDFS's placement: three different nodes, the second and third in one rack, which is not the first's; and nodes are
// chosen evenly.
func TestPlacement(t *testing.T) {
	job := mr{maps: 30000, mapTime: sec, input: 30000}.job()
	e, err := newEngine(
		&Config{
			Cluster: slotCluster(12, 3, slots(1, 0)),
			Jobs:    source(job),
			Costs:   Costs{Reading: Reading{Copies: 3}},
			Seed:    3,
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer e.feed.stop()
	spec := e.feed.head.Stages[0]
	if job.Stages[0].Places != nil {
		t.Error("the source's own spec was changed")
	}
	if spec.Copies != 3 || len(spec.Places) != 90000 {
		t.Fatalf("%d copies, %d places", spec.Copies, len(spec.Places))
	}
	rack := func(n sched.NodeID) sched.RackID { return e.nodes.list[n-1].spec.Rack }
	count := [3]map[sched.NodeID]int{{}, {}, {}}
	for i := 0; i < len(spec.Places); i += 3 {
		a, b, c := spec.Places[i], spec.Places[i+1], spec.Places[i+2]
		if a == b || b == c || a == c || rack(a) == rack(b) || rack(b) != rack(c) {
			t.Fatalf("task %d is at nodes %d, %d, %d in racks %d, %d, %d", i/3+1, a, b, c, rack(a), rack(b), rack(c))
		}
		for k := range count {
			count[k][spec.Places[i+k]]++
		}
	}
	for k := range count {
		for n := sched.NodeID(1); n <= 12; n++ {
			if x := count[k][n]; x < 2500-200 || x > 2500+200 { // 30,000 ÷ 12, ±4 standard deviations of 48
				t.Errorf("copy %d is on node %d %d times, want about 2500", k+1, n, x)
			}
		}
	}
}

// Reading 100 bytes takes 1 s at home, 2 s in the rack, 4 s elsewhere, so a task of 10 s takes 10, 11, 13 s. One task a
// job, whose only copy is on node 1; nodes 1 and 2 are in rack 1, 3 and 4 in rack 2.
func TestLocalityCosts(t *testing.T) {
	for node, want := range map[sched.NodeID]sched.Time{1: 10 * sec, 2: 11 * sec, 3: 13 * sec, 4: 13 * sec} {
		j := mr{maps: 1, mapTime: 10 * sec, input: 100}.job()
		j.Stages[0].Copies, j.Stages[0].Places = 1, []sched.NodeID{1}
		there := policyFunc(func(p *sched.Plan) {
			if j := p.Job(1); j != nil && j.Stages[0].Pending > 0 {
				p.Launch(j.Stages[0], p.Node(node))
			}
		})
		l, _ := simulate(
			t,
			Config{Cluster: slotCluster(4, 2, slots(1, 0)), Jobs: source(j), Core: sched.Config{Policy: there},
				Costs: Costs{Reading: Reading{Copies: 3, Rates: [3]float64{100, 50, 25}}}},
		)
		wantEnds(t, l, 0, want)
	}
}

// Many tasks with three copies each over a cluster in one wave: the core takes the nearest task for each slot, so that
// more maps than copies ÷ nodes by luck are local. With 20 nodes and 3 copies a given task is local to a random node
// with probability 0.15; the core finds local ones for nearly all.
func TestLocalityShares(t *testing.T) {
	l, _ := simulate(
		t,
		Config{Cluster: slotCluster(20, 4, slots(2, 0)), Jobs: source(mr{maps: 400, mapTime: sec, input: 40000}.job()),
			Costs: Costs{Reading: Reading{Copies: 3, Rates: [3]float64{100, 50, 25}}}},
	)
	byTime := map[sched.Time]int{}
	began := map[sched.AttemptID]sched.Time{}
	for i, a := range l.actions {
		if a.Kind == sched.Launch {
			began[a.Attempt] = l.acted[i]
		}
	}
	for _, ev := range l.events {
		if ev.Kind == sched.AttemptDone {
			byTime[ev.at-began[ev.Attempt]]++
		}
	}
	// Local 1 s; rack-local 100/50 − 100/100 = 1 s more; off-switch 3 s more.
	if byTime[sec]+byTime[2*sec]+byTime[4*sec] != 400 {
		t.Fatalf("task times %v, want 1, 2 and 4 s only", byTime)
	}
	if byTime[sec] < 380 {
		t.Errorf("%d of 400 maps are node-local, want at least 380", byTime[sec])
	}
}

// Equal runs are equal in every event and action; the seed matters.
func TestDeterminism(t *testing.T) {
	run := func(seed uint64) *log {
		l, _ := simulate(t, everything(seed))
		return l
	}
	a, b, other := run(1), run(1), run(2)
	if len(a.events) != len(b.events) || !slices.Equal(a.actions, b.actions) || !slices.Equal(a.acted, b.acted) {
		t.Fatal("two runs with one seed differ")
	}
	for i := range a.events {
		x, y := a.events[i], b.events[i]
		x.Body, y.Body = nil, nil
		if x != y {
			t.Fatalf("event %d differs: %+v, %+v", i, x, y)
		}
	}
	if slices.Equal(a.actions, other.actions) {
		t.Error("another seed gives the same run")
	}
}

// everything is a run with all costs on.
func everything(seed uint64) Config {
	var jobs []*sched.JobSpec
	for i := range 40 {
		c := workload.NewChance(9).With(uint64(i))
		jobs = append(
			jobs,
			mr{
				submit:  sched.Time(i) * 5 * sec,
				maps:    int32(1 + c.Below(60)),
				mapTime: 10 * sec,
				reduces: int32(c.With(1).Below(8)),
				redTime: 8 * sec,
				part:    0.05,
				input:   6000,
				shuffle: int64(c.With(2).Below(5000)),
			}.job(),
		)
	}
	return Config{Cluster: slotCluster(12, 3, slots(3, 2)), Jobs: source(jobs...), Seed: seed, Costs: Costs{
		Chance:    Variation{Sigma: 0.5, Stragglers: 0.05, SlowNodes: 0.1, Slowdown: 3},
		Reading:   Reading{Copies: 3, Rates: [3]float64{100, 60, 30}},
		Faults:    Faults{Attempts: 0.02, MTBF: 600 * sec, MTTR: 30 * sec},
		Shuffle:   Shuffle{On: true, Batch: 0.05, Interference: 0.1},
		Reporting: Reporting{Heartbeat: sec, Progress: sec},
		Master:    Defaults().Master,
	}}
}

// All times doubled, all bandwidths halved: all ends doubled. Chance is drawn for tasks, not for times, and doubling is
// exact, so only what rounds to whole nanoseconds may differ.
func TestDoubling(t *testing.T) {
	scaled := func(f int64) Config {
		c := everything(4)
		// a loss at an instant that differs by rounding takes another attempt
		c.Costs.Faults.MTBF, c.Costs.Faults.MTTR = 0, 0
		c.Costs.Chance.Sigma = 0
		c.Costs.Chance.Slowdown = 4
		c.Costs.Reading.Rates = [3]float64{float64(128 / f), float64(64 / f), float64(32 / f)}
		c.Cluster.Network = workload.Network{Node: 128 / f, Rack: 128 / f}
		c.Costs.Shuffle.Interference = 0
		c.Costs.Reporting = Reporting{Heartbeat: sched.Time(f) * 3 * sec} // 12 nodes: beats at whole milliseconds
		c.Costs.Faults.Attempts = 0
		c.Costs.Master.Every *= sched.Time(f)
		c.Costs.Master.Patience *= sched.Time(f)
		inner := c.Jobs
		c.Jobs = func(yield func(*sched.JobSpec, error) bool) {
			for j, err := range inner {
				j.Submit *= sched.Time(f)
				for i := range j.Payload.(*workload.Truth).Stages {
					j.Payload.(*workload.Truth).Stages[i].Base *= sched.Time(f)
				}
				if !yield(j, err) {
					return
				}
			}
		}
		return c
	}
	one, _ := simulate(t, scaled(1))
	two, _ := simulate(t, scaled(2))
	if len(one.ended) != 40 || len(two.ended) != 40 {
		t.Fatalf("%d and %d jobs ended, want 40", len(one.ended), len(two.ended))
	}
	for id, at := range one.ended {
		if d := two.ended[id] - 2*at; d != 0 {
			t.Errorf("job %d ends at %v, and at %v with all times doubled", id, at, two.ended[id])
		}
	}
}

// Stages that do not depend on each other go side by side: after a master that takes 3 s to ask for them, one of
// 2 × 4 s on 8 slots and one of 5 s, and after both one of 2 s: 3 + 5 + 2. Stages that the job finds later come after
// all.
func TestAloneSideBySide(t *testing.T) {
	stage := func(tasks int32, after ...int32) sched.StageSpec {
		st := sched.StageSpec{Kind: sched.Other, PerTask: sched.Resources{sched.VCores: 1}, Tasks: tasks, Asked: true}
		for _, of := range after {
			st.After = append(st.After, sched.Dep{Stage: of, Part: 0.05})
		}
		return st
	}
	master := stage(1)
	master.Kind, master.Asked = sched.Master, false
	list := func(times ...sched.Time) workload.StageTruth {
		st := workload.StageTruth{Tasks: int32(len(times))}
		for _, d := range times {
			st.List = append(st.List, workload.Task{Compute: d})
		}
		return st
	}
	truth := &workload.Truth{
		Stages: []workload.StageTruth{list(4*sec, 4*sec), list(5 * sec), list(2 * sec), list(3 * sec)},
	}
	j := &sched.JobSpec{Stages: []sched.StageSpec{stage(2), stage(1), stage(1, 0, 1), master}, Payload: truth}
	cluster, err := workload.ParseCluster("nodes=1,vcores=8")
	if err != nil {
		t.Fatal(err)
	}
	if got := Alone(cluster)(j); got != 10*sec {
		t.Errorf("alone %v, want 10s", got)
	}
	truth.Stages = append(truth.Stages, list(7*sec))
	truth.Later = [][]sched.StageSpec{{stage(1)}}
	if got := Alone(cluster)(j); got != 17*sec {
		t.Errorf("alone with a stage that is found later %v, want 17s", got)
	}
}

// Alone is waves × mean or the longest task, stage by stage: 10 maps of 4 s on 8 slots take 2 waves, 8 s; 2 reduces of
// 8 s on 4 slots 8 s. On nodes twice as fast, half of that.
func TestAlone(t *testing.T) {
	c := slotCluster(4, 1, slots(2, 1))
	j := mrorder41[0].job()
	if got := Alone(c)(j); got != 16*sec {
		t.Errorf("alone %v, want 16s", got)
	}
	c.Classes[0].Speed = 2
	if got := Alone(c)(j); got != 8*sec {
		t.Errorf("alone on fast nodes %v, want 8s", got)
	}
}
