package sim

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// memory is a vector of MiB.
func memory(mib int64) sched.Resources { return sched.Resources{sched.Memory: mib} }

// withMasters makes jobs whose masters hold 1536 MiB and start in 5 s; their tasks hold 1024.
func withMasters(uber bool, c *workload.Cluster, jobs ...mr) workload.Source {
	m := workload.Master{Size: memory(1536), Start: 5 * sec, Uber: uber, Block: 100}
	var list []*sched.JobSpec
	for _, j := range jobs {
		j.mapEach, j.redEach = memory(1024), memory(1024)
		spec := j.job()
		spec.Type, spec.Stages[0].InputBytes = "MAPREDUCE", j.input
		list = append(list, spec)
	}
	return m.AddTo(source(list...), c)
}

// A master is granted first, asks for the maps when it has started, for the reduces when these may start, and goes with
// the last task. On a node of 4096 MiB it leaves room for two tasks: maps 5-15, 5-15 and 15-25, the reduce 25-32.
func TestMasterHoldsItsContainer(t *testing.T) {
	c := slotCluster(1, 1, memory(4096))
	l, r := simulate(t,
		Config{Cluster: c, Jobs: withMasters(false, c,
			mr{maps: 3, mapTime: 10 * sec, reduces: 1, redTime: 7 * sec, part: 1})})
	wantEnds(t, l, 0, 32*sec)
	wantTimes(t, "launches", l.when(sched.Launch), 0, 5*sec, 5*sec, 15*sec, 25*sec)
	wantTimes(t, "ends", l.ends(sched.OK), 15*sec, 15*sec, 25*sec, 32*sec, 32*sec)
	if first := l.actions[0]; first.Stage.Index != 2 || r.Refused != 0 {
		t.Errorf("first action %v, %d refused; want the master, which is stage 2", first, r.Refused)
	}
}

// Under heartbeats the end of the master, and so the job's, is known with the next report of its node: the maps end at
// 15, which the node says at 16; the master then ends, which it says at 20.
func TestMasterUnderHeartbeats(t *testing.T) {
	c := slotCluster(1, 1, memory(4096))
	l, _ := simulate(
		t,
		Config{
			Cluster: c,
			Jobs:    withMasters(false, c, mr{maps: 2, mapTime: 7 * sec}),
			Costs:   Costs{Reporting: Reporting{Heartbeat: 4 * sec}},
		},
	)
	wantTimes(t, "launches", l.when(sched.Launch), 0, 8*sec, 8*sec)
	wantEnds(t, l, 0, 20*sec)
}

// Tasks have the same luck with and without a master.
func TestMasterChangesNoLuck(t *testing.T) {
	c := slotCluster(1, 1, memory(16384))
	costs := Costs{Chance: Variation{Sigma: 0.7}}
	job := mr{maps: 4, mapTime: 10 * sec, mapEach: memory(1024)}
	bare, _ := simulate(t, Config{Cluster: c, Jobs: source(job.job()), Costs: costs})
	with, _ := simulate(t, Config{Cluster: c, Jobs: withMasters(false, c, job), Costs: costs})
	first := with.when(sched.Launch)[1]
	for i, at := range bare.ends(sched.OK) {
		if got := with.ends(sched.OK)[i] - first; got != at {
			t.Errorf("task %d takes %v, without a master %v", i, got, at)
		}
	}
}

// A small job runs in the container of its master: 5 s of start, two maps of 10 s and a reduce of 7 s, one after the
// other. The one with too many maps, and the one with too much input, do not.
func TestUberJobs(t *testing.T) {
	c := slotCluster(1, 1, memory(32768))
	l, r := simulate(
		t,
		Config{
			Cluster: c,
			Jobs: withMasters(true, c,
				mr{maps: 2, mapTime: 10 * sec, reduces: 1, redTime: 7 * sec, part: 1, input: 100},
				mr{maps: 10, mapTime: 10 * sec}, mr{maps: 2, mapTime: 10 * sec, input: 101}),
		},
	)
	wantEnds(t, l, 0, 32*sec, 15*sec, 15*sec)
	if r.Launches != 1+11+3 || r.Failed != 0 {
		t.Errorf("%d launches, %d jobs failed; want 15 and none", r.Launches, r.Failed)
	}
	alone := Alone(c)
	for spec, err := range withMasters(true, c, mr{maps: 2, mapTime: 10 * sec, reduces: 1, redTime: 7 * sec, part: 1}) {
		if got := alone(spec); err != nil || got != 32*sec {
			t.Errorf("alone %v, %v; want 32 s", got, err)
		}
	}
}

// A master that is lost with its node takes what runs with it; what is done stays done. Node 1 has the master and two
// maps (5-15), node 2 four (5-15). At 8 node 1 is lost: all six end, the next master starts on node 2 (8-13), where two
// maps run at a time: 13-23, 23-33, 33-43.
func TestMasterLost(t *testing.T) {
	c := slotCluster(2, 1, memory(4096))
	script := []Incident{{At: 8 * sec, Node: 1}}
	jobs := withMasters(false, c, mr{maps: 6, mapTime: 10 * sec})
	l, _ := simulate(t, Config{Cluster: c, Jobs: jobs, Script: script})
	wantEnds(t, l, 0, 43*sec)
	wantTimes(t, "launches", l.when(sched.Launch)[:9], 0, 5*sec, 5*sec, 5*sec, 5*sec, 5*sec, 5*sec, 8*sec, 13*sec)

	// Four maps are done when it is lost at 18, and none of them has to run again: two are left, 23-33.
	script[0].At = 18 * sec
	jobs = withMasters(false, c, mr{maps: 8, mapTime: 10 * sec})
	l, _ = simulate(t, Config{Cluster: c, Jobs: jobs, Script: script})
	if lost, killed := len(l.ends(sched.Lost)), len(l.ends(sched.Killed)); lost != 3 ||
		killed != 2 { // the last two maps and the master; the maps again, at once
		t.Errorf("%d attempts are lost and %d killed, want 3 and 2", lost, killed)
	}
	wantEnds(t, l, 0, 33*sec)

	// Under heartbeats ends are told late; nothing of the job starts without a master all the same.
	l, _ = simulate(
		t,
		Config{
			Cluster: c,
			Jobs:    withMasters(false, c, mr{maps: 8, mapTime: 10 * sec}),
			Script:  script,
			Costs:   Costs{Reporting: Reporting{Heartbeat: sec}},
		},
	)
	for i, a := range l.actions {
		if at := l.acted[i]; a.Kind == sched.Launch && a.Stage.Index == 0 && at > 18*sec && at < 23*sec {
			t.Errorf("a map starts at %v, without a master", at)
		}
	}
	// Each of the two masters asks once. In between, asks are taken back in the report of 18.5 that tells of the ends
	// of the first one's maps, and in none of those after it.
	asked := 0
	for _, ev := range l.events {
		if ev.Kind == sched.AsksChanged {
			asked++
		}
	}
	if asked != 3 {
		t.Errorf("asks change %d times, want 3", asked)
	}
}

// A master asks at the very instant at which a node tells that it has killed tasks of the one before: those tasks are
// asked for too. Nodes 1 to 3 report at 0, 3 and 6 s past each multiple of 9 s, and masters start in 6 s. The first one
// runs on node 1, with two maps, and is lost with it at 13. Node 3 reports at 15 and gets the next one, which asks at
// 21: then node 2 reports the end of its four maps.
func TestMasterAsksWhileEndsAreTold(t *testing.T) {
	c := slotCluster(3, 1, memory(4096))
	spec := mr{maps: 10, mapTime: 10 * sec, mapEach: memory(1024)}.job()
	spec.Type = "MAPREDUCE"
	jobs := workload.Master{Size: memory(1536), Start: 6 * sec}.AddTo(source(spec), c)
	l, _ := simulate(t, Config{Cluster: c, Jobs: jobs,
		Script: []Incident{{At: 13 * sec, Node: 1}}, Costs: Costs{Reporting: Reporting{Heartbeat: 9 * sec}}})
	if got, want := l.pendingAsked(0), []int32{10, 0, 10}; !slices.Equal(got, want) {
		t.Errorf("asks %v, want %v", got, want)
	}
	if n := len(l.ends(sched.OK)); n != 11 {
		t.Errorf("%d attempts succeed, want the ten maps and a master", n)
	}
}

// pendingAsked returns what the events of a log ask for of a stage.
func (l *log) pendingAsked(stage int32) (pending []int32) {
	for _, ev := range l.events {
		if ev.Kind != sched.AsksChanged {
			continue
		}
		if asks := ev.Body.(*sched.Asks); asks.Stage == stage {
			pending = append(pending, asks.Pending)
		}
	}
	return pending
}

// A master asks while the second attempt of a task that is done has been killed and its node has not said so. Nodes 1
// to 4 report at 0, 10, 20 and 30 s past each multiple of 40 s. The first master runs on node 1 and is lost at 53. Maps
// 1 and 2 run on node 2 (10-35, told at 50), 3 and 4 on node 3 (20-45, told at 60), 5 and the second attempt of 1 on
// node 4 from 30, 6 and 7 on node 2 from 50. The second attempt of map 1 is killed at 50, maps 5 to 7 at 53. Node 3
// gets the next master at 60, which asks at 65 for maps 8 and 9. Maps 5 to 7 wait when nodes 4 and 2 tell their ends.
func TestMasterAsksWhileASecondAttemptLeaves(t *testing.T) {
	c := slotCluster(4, 1, memory(2048))
	l, _ := simulate(t, Config{Cluster: c, Jobs: withMasters(false, c, mr{maps: 9, mapTime: 25 * sec}),
		Script: []Incident{{At: 53 * sec, Node: 1}}, Costs: Costs{Reporting: Reporting{Heartbeat: 40 * sec}},
		Core: sched.Config{Policy: at(map[sched.Time]func(*sched.Plan){
			30 * sec: func(p *sched.Plan) {
				for a := range p.Attempts(p.Job(1).Stages[0]) {
					if a.Task == 1 && !p.Speculate(a, p.Node(4), 0) {
						t.Error("no second attempt")
					}
				}
			},
		})}})
	wantTimes(t, "killed", l.ends(sched.Killed), 70*sec, 70*sec, 90*sec, 90*sec)
	if got, want := l.pendingAsked(0), []int32{9, 0, 2}; !slices.Equal(got, want) {
		t.Errorf("asks %v, want %v", got, want)
	}
	if n := len(l.ends(sched.OK)); n != 10 {
		t.Errorf("%d attempts succeed, want the nine maps and a master", n)
	}
}

// A master asks at the very instant at which a node with outputs of its job is lost: those maps are asked for too. Maps
// 1 and 2 run on node 1 beside the master, 3 to 6 on node 2, 7 to 10 on node 3, all 5-15. Node 1 is lost at 18 with the
// master, two outputs and a reduce. The next master starts on node 2 (18-23), and at 23 node 3 is lost with four
// outputs. Six maps run again on node 2, two at a time: 23-33, 33-43 and 43-53, and the reduce 53-60.
func TestMasterAsksWhileANodeIsLost(t *testing.T) {
	c := slotCluster(3, 1, memory(4096))
	l, _ := simulate(t, Config{Cluster: c,
		Jobs:   withMasters(false, c, mr{maps: 10, mapTime: 10 * sec, reduces: 1, redTime: 7 * sec, part: 1}),
		Script: []Incident{{At: 18 * sec, Node: 1}, {At: 23 * sec, Node: 3}}})
	if got, want := l.pendingAsked(0), []int32{10, 0, 6}; !slices.Equal(got, want) {
		t.Errorf("asks %v, want %v", got, want)
	}
	wantEnds(t, l, 0, 60*sec)
}

// A master that the policy ends takes the running tasks of its job with it. Two of six maps are done at 15 s, two run
// when the master ends at 18 s; the next one starts 18-23, and the four maps left run 23-33 and 33-43.
func TestMasterKilled(t *testing.T) {
	c := slotCluster(1, 1, memory(4096))
	l, _ := simulate(t, Config{Cluster: c, Jobs: withMasters(false, c, mr{maps: 6, mapTime: 10 * sec}),
		Core: sched.Config{Policy: at(map[sched.Time]func(*sched.Plan){
			18 * sec: func(p *sched.Plan) { p.Kill(only(p, 1, 1), 0) },
		})}})
	wantEnds(t, l, 0, 43*sec)
	wantTimes(t, "killed", l.ends(sched.Killed), 18*sec, 18*sec, 18*sec)
	wantTimes(t, "launches", l.when(sched.Launch), 0, 5*sec, 5*sec, 15*sec, 15*sec, 18*sec, 23*sec, 23*sec, 33*sec,
		33*sec)
}

// Masters that fill the cluster leave no room for tasks, and each waits for the others to go: Hadoop hangs, and the
// simulator says so. With room for one task beside them all jobs end.
func TestMastersFillTheCluster(t *testing.T) {
	jobs := []mr{{maps: 1, mapTime: sec}, {maps: 1, mapTime: sec}, {maps: 1, mapTime: sec}}
	full := slotCluster(1, 1, memory(3*1536))
	_, err := Run(context.Background(), Config{Cluster: full, Jobs: withMasters(false, full, jobs...),
		Core: sched.Config{Policy: &inOrder{}}})
	if !errors.Is(err, ErrStuck) ||
		!strings.Contains(err.Error(), "1 task waits for room, while 1 attempt of the job itself holds room and "+
			"waits for them") {
		t.Errorf("got %v, want ErrStuck that says that masters hold the room", err)
	}
	c := slotCluster(1, 1, memory(3*1536+1024))
	l, _ := simulate(t, Config{Cluster: c, Jobs: withMasters(false, c, jobs...)})
	if len(l.ended) != 3 {
		t.Errorf("%d jobs end, want 3", len(l.ended))
	}
}

// Masters are containers: there are none on a cluster of slots, nor where none fits.
func TestMastersNeedContainers(t *testing.T) {
	for want, c := range map[string]*workload.Cluster{"the cluster has slots": slotCluster(1, 1, slots(2, 1)),
		"no node of the cluster has room for it": slotCluster(4, 1, memory(1024))} {
		_, err := Run(context.Background(), Config{Cluster: c, Jobs: withMasters(false, c, mr{maps: 1}),
			Core: sched.Config{Policy: &inOrder{}}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A master that no task must be asked of, as in a record of applications, is a task like others: what comes after it
// starts when it has ended.
func TestMasterAsTask(t *testing.T) {
	j := mr{
		maps:    1,
		mapTime: 4 * sec,
		reduces: 2,
		redTime: 3 * sec,
		part:    1,
		mapEach: memory(1024),
		redEach: memory(1024),
	}.job()
	j.Stages[0].Kind = sched.Master
	l, _ := simulate(t, Config{Cluster: slotCluster(1, 1, memory(4096)), Jobs: source(j)})
	wantEnds(t, l, 0, 7*sec)
}
