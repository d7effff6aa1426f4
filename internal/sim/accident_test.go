package sim

import (
	"context"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// sorted returns jobs by submission.
func sorted(jobs []*sched.JobSpec) []*sched.JobSpec {
	jobs = slices.Clone(jobs)
	slices.SortStableFunc(jobs, func(a, b *sched.JobSpec) int { return int(a.Submit - b.Submit) })
	return jobs
}

func taskOf(payload any, stage, task int32) workload.Task {
	return payload.(*workload.Truth).Task(stage, task)
}

// Two nodes with one map slot each, three maps of 10 s. Node 2 is lost at 4 s and returns at 20 s. Its map runs again
// on node 1 from 10 s to 20 s (a lost task goes first); the third on node 1 or 2 from 20 s to 30 s.
func TestLossOfRunning(t *testing.T) {
	l, r := simulate(
		t,
		Config{Cluster: slotCluster(2, 1, slots(1, 0)), Jobs: source(mr{maps: 3, mapTime: 10 * sec}.job()),
			Script: []Incident{{At: 4 * sec, Node: 2}, {At: 20 * sec, Node: 2, Returns: true}}},
	)
	wantEnds(t, l, 0, 30*sec)
	wantTimes(t, "attempts lost", l.ends(sched.Lost), 4*sec)
	if r.Launches != 4 {
		t.Errorf("%d launches, want 4", r.Launches)
	}
}

// Two nodes with one map and one reduce slot each; two maps of 10 s, one reduce of 10 s on node 1 from 10 s. Node 2,
// where a finished map's output is, is lost at 12 s. Without a simulated shuffle the reduce has its input and ends at
// 20 s; the map runs again on node 1 from 12 s in vain.
func TestLossOfOutputNotMissed(t *testing.T) {
	l, _ := simulate(
		t,
		Config{
			Cluster: slotCluster(2, 1, slots(1, 1)),
			Jobs:    source(mr{maps: 2, mapTime: 10 * sec, reduces: 1, redTime: 10 * sec, part: 1}.job()),
			Script:  []Incident{{At: 12 * sec, Node: 2}},
		},
	)
	wantTimes(t, "launches", l.when(sched.Launch), 0, 0, 10*sec, 12*sec)
	wantEnds(t, l, 0, 22*sec)
}

// The same with a shuffle of 400 bytes at 100 bytes/s from 10 s on: at 12 s the reduce has 200 bytes, which is what one
// of two maps left, so it waits. The map runs again from 12 to 22 s, the other 200 bytes take until 24 s, and the
// reduce computes until 34 s.
func TestLossOfOutputMissed(t *testing.T) {
	l, _ := simulate(
		t,
		Config{
			Cluster: slotCluster(2, 1, slots(1, 1)),
			Jobs:    source(mr{maps: 2, mapTime: 10 * sec, reduces: 1, redTime: 10 * sec, part: 1, shuffle: 400}.job()),
			Script:  []Incident{{At: 12 * sec, Node: 2}},
			Costs:   withShuffle(0.05),
		},
	)
	wantEnds(t, l, 5, 34*sec)
}

// Half a second earlier it has 150 bytes and goes on until it has 200, at 12 s; the rest as before, but half a second
// earlier.
func TestLossOfOutputPartlyFetched(t *testing.T) {
	l, _ := simulate(
		t,
		Config{
			Cluster: slotCluster(2, 1, slots(1, 1)),
			Jobs:    source(mr{maps: 2, mapTime: 10 * sec, reduces: 1, redTime: 10 * sec, part: 1, shuffle: 400}.job()),
			Script:  []Incident{{At: 11500 * sec / 1000, Node: 2}},
			Costs:   withShuffle(0.05),
		},
	)
	wantEnds(t, l, 5, 33500*sec/1000)
}

// Losses and returns by chance come at the stated means: with an MTBF of 90 h and an MTTR of 10 h a node is there 90 %
// of the time. 100 nodes over 2000 h have about 2000 cycles; a node's share has a standard error of 0.2 %, and four
// of these are allowed.
func TestMeanTimes(t *testing.T) {
	const hour = 3600 * sec
	up, since := sched.Time(0), map[sched.NodeID]sched.Time{}
	l, _ := simulate(
		t,
		Config{
			Cluster: slotCluster(100, 1, slots(1, 0)),
			Jobs:    source(mr{maps: 1, mapTime: 2000 * hour}.job(), mr{submit: 2000 * hour, maps: 1}.job()),
			Costs:   Costs{Faults: Faults{MTBF: 90 * hour, MTTR: 10 * hour}},
			Until:   2000 * hour,
		},
	)
	for _, ev := range l.events {
		switch ev.Kind {
		case sched.NodeJoined:
			since[ev.Node] = ev.at
		case sched.NodeLost:
			up += ev.at - since[ev.Node]
			delete(since, ev.Node)
		}
	}
	for _, at := range since {
		up += 2000*hour - at
	}
	// Nodes start up: the share over time T is above 0.9 by about 0.1·(mean cycle 9 h)/T = 0.0005.
	if part := up.Seconds() / (100 * 2000 * 3600); part < 0.9-0.008 || part > 0.9+0.008 {
		t.Errorf("nodes are there %.4f of the time, want 0.9", part)
	}
}

// An attempt fails with the stated probability, after a uniform part of its time: 20,000 tasks of 10 s, 20 % fail (se
// 0.28 %), after 5 s on average (se 0.05 s). Four failures of one task would fail the job; a task's attempts are drawn
// anew.
func TestFailures(t *testing.T) {
	j := mr{maps: 20000, mapTime: 10 * sec}.job()
	j.Stages[0].MaxAttempts = 30
	l, r := simulate(
		t,
		Config{
			Cluster: slotCluster(1, 1, slots(30000, 0)),
			Jobs:    source(j),
			Costs:   Costs{Faults: Faults{Attempts: 0.2}},
			Seed:    5,
		},
	)
	failed := l.ends(sched.Failed)
	if p := float64(len(failed)) / float64(r.Launches); p < 0.188 || p > 0.212 {
		t.Errorf("%.4f of the attempts fail, want 0.2", p)
	}
	first, n := sched.Time(0), 0
	for _, at := range failed {
		if at < 10*sec { // of the first attempts, which all began at 0, and second ones, which did not
			first += at
			n++
		}
	}
	if l.how[1] != sched.OK || r.Failed != 0 {
		t.Errorf("the job ended %v", l.how[1])
	}
	// Second attempts begin when first ones fail, uniformly in 0 to 10 s; a fifth of them fails, half of those before
	// 10 s. So n = 4000 + 400, and the mean (4000·5 + 400·6⅔) ÷ 4400 = 5.15 s.
	if mean := first.Seconds() / float64(n); mean < 4.95 || mean > 5.35 {
		t.Errorf("attempts fail after %.3f s on average, want 5.15", mean)
	}
}

// A task whose attempts all fail fails its job after Hadoop's four.
func TestFailedJob(t *testing.T) {
	l, r := simulate(
		t,
		Config{
			Cluster: slotCluster(1, 1, slots(2, 0)),
			Jobs:    source(mr{maps: 1, mapTime: 10 * sec}.job()),
			Costs:   Costs{Faults: Faults{Attempts: 1}},
		},
	)
	if l.how[1] != sched.Failed || r.Failed != 1 || r.Launches != 4 {
		t.Errorf("job ended %v after %d attempts, %d failed; want failed after 4", l.how[1], r.Launches, r.Failed)
	}
}

// Maps and reduces share 2 GiB on one node, 1 GiB each. Both reduces of the job start after the first of three maps and
// hold everything, so that the other maps find no room. The master looks a second later and ends one reduce: half of
// the job's 2 GiB is one container. Without a master the run is stuck.
func TestMaster(t *testing.T) {
	gib := sched.Resources{sched.Memory: 1024}
	job := func() *sched.JobSpec {
		return mr{maps: 3, mapTime: 10 * sec, reduces: 2, redTime: 4 * sec, part: 0.3, mapEach: gib, redEach: gib}.job()
	}
	// Reduces go before maps, as on a queue where they are asked for at a higher priority.
	reducesFirst := func() sched.Policy {
		return policyFunc(func(p *sched.Plan) {
			for j := range p.Jobs() {
				for i := len(j.Stages) - 1; i >= 0; i-- {
					for n := p.First(j.Stages[i]); n != nil && j.Stages[i].Pending > 0; n = p.First(j.Stages[i]) {
						p.Launch(j.Stages[i], n)
					}
				}
			}
		})
	}
	cluster := slotCluster(1, 1, sched.Resources{sched.Memory: 2048})
	// Maps 1 and 2 run 0–10 s; at 10 s both reduces start. At 11 s the master ends the youngest. Its place goes to a
	// reduce again, if the policy insists: so it does here, and the master ends one each second. A policy that lets the
	// map go first gets on.
	mapsAfterKill := func() sched.Policy {
		inner := reducesFirst()
		return policyFunc(func(p *sched.Plan) {
			for _, ev := range p.Events {
				if ev.Kind == sched.AttemptDone && ev.Outcome == sched.Killed {
					st := p.Job(1).Stages[0]
					p.Launch(st, p.First(st))
				}
			}
			inner.Decide(p)
		})
	}
	l, _ := simulate(
		t,
		Config{
			Cluster: cluster,
			Jobs:    source(job()),
			Core:    sched.Config{Policy: mapsAfterKill()},
			Costs:   Costs{Master: Defaults().Master},
		},
	)
	wantTimes(t, "killed", l.ends(sched.Killed), 11*sec)
	// The third map runs 11–21 s; the reduce that stayed and the one that starts again at 21 s compute until 25 s.
	wantEnds(t, l, 0, 25*sec)
	_, err := Run(t.Context(), Config{Cluster: cluster, Jobs: source(job()),
		Core: sched.Config{Policy: reducesFirst()}})
	if err == nil {
		t.Error("without a master the run ends, though reduces hold all room and wait for maps")
	}
}

// Four containers, seven maps: four run 0–10 s, then four reduces take their place, and three maps wait. The master
// frees half of what the job can get: two containers, of the youngest reduces, which are no less advanced than the
// others: none has bytes to fetch.
func TestMasterFreesHalf(t *testing.T) {
	gib := sched.Resources{sched.Memory: 1024}
	inner := &inOrder{}
	policy := policyFunc(func(p *sched.Plan) {
		if j := p.Job(1); j != nil && p.Now == 10*sec {
			for n := p.First(j.Stages[1]); n != nil; n = p.First(j.Stages[1]) {
				p.Launch(j.Stages[1], n)
			}
		}
		inner.Decide(p)
	})
	l, _ := simulate(
		t,
		Config{
			Cluster: slotCluster(1, 1, sched.Resources{sched.Memory: 4096}),
			Core:    sched.Config{Policy: policy},
			Costs:   Costs{Master: Defaults().Master},
			Jobs: source(mr{maps: 7, mapTime: 10 * sec, reduces: 4, redTime: sec, part: 0.5, mapEach: gib,
				redEach: gib}.job()),
		},
	)
	wantTimes(t, "killed", l.ends(sched.Killed), 11*sec, 11*sec)
	for _, ev := range l.events {
		if ev.Outcome == sched.Killed && ev.Attempt.Serial() < 7 { // 1 to 4 were maps, 5 to 8 the reduces
			t.Errorf("attempt %d was ended, want the youngest, 7 and 8", ev.Attempt.Serial())
		}
	}
	// Maps 11–21 s and, the third, 21–31 s; two reduces waited for it and two start at 21 s, or when it ends: all
	// compute until 32 s.
	wantEnds(t, l, 0, 32*sec)
}

// A map that the policy kills leaves its job's reduce waiting for one that does not run: another job has taken the
// room. The master sees it all the same. Two of three maps are done at 10 s, the reduce and the third map run; at 13 s
// the map is killed for job 2. At 14 s the master ends the reduce, the map runs 14–24 s, and the reduce 24–28 s.
func TestMasterAfterKill(t *testing.T) {
	gib := sched.Resources{sched.Memory: 1024}
	inner := at(map[sched.Time]func(*sched.Plan){13 * sec: func(p *sched.Plan) { p.Kill(only(p, 1, 0), 0) }})
	given := false
	policy := policyFunc(func(p *sched.Plan) {
		for _, ev := range p.Events {
			if ev.Outcome == sched.Killed && !given {
				given = true
				st := p.Job(2).Stages[0]
				p.Launch(st, p.First(st))
			}
		}
		inner.Decide(p)
	})
	l, _ := simulate(
		t,
		Config{
			Cluster: slotCluster(1, 1, sched.Resources{sched.Memory: 2048}),
			Core:    sched.Config{Policy: policy},
			Costs:   Costs{Master: Defaults().Master},
			Jobs: source(
				mr{
					maps:    3,
					mapTime: 10 * sec,
					reduces: 1,
					redTime: 4 * sec,
					part:    0.3,
					mapEach: gib,
					redEach: gib,
				}.job(),
				mr{submit: 12 * sec, maps: 1, mapTime: 100 * sec, mapEach: gib}.job(),
			),
		},
	)
	wantTimes(t, "killed", l.ends(sched.Killed), 13*sec, 14*sec)
	wantEnds(t, l, 0, 28*sec, 113*sec)
}

// A node that is lost and comes back at one instant, as two causes may have it, is back a nanosecond later.
func TestLostAndBackAtOnce(t *testing.T) {
	l := newLog()
	e, err := newEngine(
		&Config{
			Cluster: slotCluster(1, 1, slots(1, 0)),
			Jobs:    source(mr{maps: 1, mapTime: 10 * sec}.job()),
			Core:    sched.Config{Policy: &inOrder{}, Recorder: l},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer e.feed.stop()
	for i := 0; ; i++ {
		at, err := e.next()
		if err != nil {
			t.Fatal(err)
		}
		if at == sched.Never {
			break
		}
		e.instant(at)
		if i == 0 {
			e.nodes.lose(1)
			e.nodes.restore(1)
		}
	}
	wantEnds(t, l, 0, 10*sec+1)
}

// A second attempt's luck is its own: half of 400 tasks straggle (40 s instead of 10 s), all get a second attempt at 1
// s, and of the stragglers half end with that at 11 s: 100 ± 4 standard deviations of 8.7.
func TestSecondAttemptsLuck(t *testing.T) {
	inner := &inOrder{}
	policy := policyFunc(func(p *sched.Plan) {
		if j := p.Job(1); j != nil && p.Now == sec {
			for a := range p.Attempts(j.Stages[0]) {
				if p.Twins(a) == 1 {
					p.Speculate(a, p.Node(1), 0)
				}
			}
		}
		inner.Decide(p)
		p.Wake(sec)
	})
	l, _ := simulate(
		t,
		Config{
			Cluster: slotCluster(1, 1, slots(1000, 0)),
			Jobs:    source(mr{maps: 400, mapTime: 10 * sec}.job()),
			Core:    sched.Config{Policy: policy},
			Costs:   Costs{Chance: Variation{Stragglers: 0.5, Slowdown: 4}},
		},
	)
	n := 0
	for _, at := range l.ends(sched.OK) {
		if at == 11*sec {
			n++
		}
	}
	if n < 65 || n > 135 {
		t.Errorf("%d tasks end with their second attempt at 11 s, want about 100", n)
	}
}

// Stragglers by attempt: with probability ¼ and slowdown 4, the mean time is 10·(¾ + ¼·4) = 17.5 s (se of 20,000: 0.09
// s).
func TestStragglers(t *testing.T) {
	l, _ := simulate(
		t,
		Config{Cluster: slotCluster(1, 1, slots(20000, 0)), Jobs: source(mr{maps: 20000, mapTime: 10 * sec}.job()),
			Costs: Costs{Chance: Variation{Stragglers: 0.25, Slowdown: 4}}},
	)
	sum := 0.0
	for _, at := range l.ends(sched.OK) {
		sum += at.Seconds()
	}
	if mean := sum / 20000; mean < 17.5-0.4 || mean > 17.5+0.4 {
		t.Errorf("mean %.2f s, want 17.5", mean)
	}
}

// Slow nodes are slow for every task: of 1000 nodes a tenth, ±4 standard errors of 0.95 %.
func TestSlowNodes(t *testing.T) {
	l, _ := simulate(
		t,
		Config{Cluster: slotCluster(1000, 1, slots(2, 0)), Jobs: source(mr{maps: 2000, mapTime: 10 * sec}.job()),
			Costs: Costs{Chance: Variation{SlowNodes: 0.1, Slowdown: 3}}},
	)
	slow := map[sched.NodeID]int{}
	for _, ev := range l.events {
		if ev.Kind == sched.AttemptDone && ev.at == 30*sec {
			slow[sched.NodeID(1)]++
		}
	}
	if n := slow[1]; n < 2*62 || n > 2*138 || n%2 != 0 {
		t.Errorf("%d attempts were slow, want about 200, two on each slow node", n)
	}
}

// Nodes report again, in time, when one returns after all were lost.
func TestBeatsAfterAllWereLost(t *testing.T) {
	costs := Costs{Faults: Faults{MTBF: 1800 * sec, MTTR: 600 * sec}, Reporting: Reporting{Heartbeat: 3 * sec}}
	for seed := range uint64(20) {
		jobs := source(mr{maps: 40, mapTime: 300 * sec}.job())
		r, err := Run(
			context.Background(),
			Config{
				Cluster: slotCluster(1, 1, slots(2, 1)),
				Jobs:    jobs,
				Seed:    seed,
				Costs:   costs,
				Core:    sched.Config{Policy: &inOrder{}},
			},
		)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if least := 20 * 300 * sec; r.End < least {
			t.Errorf("seed %d: ends at %v, and two slots need %v", seed, r.End, least)
		}
	}
}
