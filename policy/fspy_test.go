package policy

import (
	"math"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/sched"
)

// tenSeconds is an estimator by which every task takes 10 s; it knows the sizes of the jobs that it is told to know.
type tenSeconds struct{ knows map[sched.JobID]bool }

func (tenSeconds) Observe(*sched.Attempt, sched.Time, *sched.Counters) {}

func (tenSeconds) Estimate(*sched.Stage, sched.ClassID) sched.Estimate {
	return sched.Estimate{Mean: 10 * time.Second, Samples: 1}
}

func (e tenSeconds) Size(j *sched.Job) (w sched.Work, known bool) {
	for _, st := range j.Stages {
		w.Add(st.Spec.PerTask.Times(int64(st.Total)), 10*time.Second)
	}
	return w, e.knows[j.ID]
}

// A fspyRig is a core of one node of so many MiB under fspy.
type fspyRig struct {
	t     *testing.T
	core  *sched.Core
	f     *fspy
	knows map[sched.JobID]bool
}

func newFspyRig(t *testing.T, spec string, memory int64) *fspyRig {
	t.Helper()
	p, _, err := Registry{"fspy": {fspyCard, newFSPY}}.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	r := &fspyRig{t: t, f: p.(*fspy), knows: map[sched.JobID]bool{}}
	r.core = sched.New(sched.Config{Policy: p, Estimator: tenSeconds{r.knows}, Can: sched.CanProbe})
	r.step(
		0,
		sched.Event{
			Kind: sched.NodeJoined,
			Node: 1,
			Body: &sched.NodeSpec{Name: "n1", Capacity: sched.Resources{sched.Memory: memory}},
		},
	)
	return r
}

func (r *fspyRig) step(at float64, events ...sched.Event) []sched.Action {
	return r.core.Step(seconds(at), events)
}

func submission(id sched.JobID, spec *sched.JobSpec) sched.Event {
	return sched.Event{Kind: sched.JobSubmitted, Job: id, Body: spec}
}

func memoryStage(kind sched.StageKind, tasks int32, each int64, after ...sched.Dep) sched.StageSpec {
	return sched.StageSpec{
		Kind:        kind,
		Tasks:       tasks,
		PerTask:     sched.Resources{sched.Memory: each},
		MaxAttempts: 4,
		After:       after,
	}
}

// virtual returns what a job has left and what it has of the virtual cluster, in MiB·s and MiB.
func (r *fspyRig) virtual(id sched.JobID) (left, has float64, v theory.VirtualJob) {
	at, ok := r.f.Virtual.Cluster.Find(int64(id))
	if !ok {
		return 0, 0, v
	}
	v = r.f.Virtual.Cluster.Jobs[at]
	return v.Left()[0] / 1e9, v.Has[0], v
}

func (r *fspyRig) wants(what string, got, want float64) {
	r.t.Helper()
	if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
		r.t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// Section 4, F9: job 1 is normal, probed by job 2, job 3 is an uber job. The master of job 1 does its work in a stage
// of its own.
func TestFspyF9EndToEnd(t *testing.T) {
	r := newFspyRig(t, "fspy:uber-maps=3", 100)
	job1 := &sched.JobSpec{
		Stages: []sched.StageSpec{
			memoryStage(sched.Master, 1, 2),
			memoryStage(sched.Map, 100, 2),
			memoryStage(sched.Reduce, 20, 5, sched.Dep{Stage: 1, Part: 1}),
		},
	}
	acts := r.step(0, submission(1, job1))
	if len(acts) == 0 || acts[0].Kind != sched.Probe || acts[0].Stage.Job != 1 {
		t.Fatalf("the first action is %v, want a probe of job 1", acts[0])
	}
	_, has, v := r.virtual(1)
	r.wants("bound of job 1", v.Bound[0], 100) // min(2 + 2·100, 100)
	r.wants("share of job 1", has, 100)
	if m := r.f.Virtual.Jobs.Of(r.core.Job(1)); m.Queue != fairQueue || r.f.Virtual.Target != 100 {
		t.Errorf("job 1 is in queue %d with a target of %v, want the fair one with 100", m.Queue, r.f.Virtual.Target)
	}
	r.step(0, submission(2, &sched.JobSpec{Probes: 1, Stages: []sched.StageSpec{memoryStage(sched.Map, 1, 1)}}))
	r.knows[1] = true
	r.step(10, sched.Event{Kind: sched.JobEnded, Job: 2})
	left, has, v := r.virtual(1)
	r.wants("size left of job 1 at 10", left, 2020) // 3000 − (100−2)·10
	r.wants("bound of job 1", v.Bound[0], 100)
	r.wants("share of job 1", has, 100)
	if r.f.Virtual.Jobs.Of(r.core.Job(1)).Queue != sizedQueue {
		t.Error("job 1 is not among those of known size")
	}
	r.step(20,
		submission(3, &sched.JobSpec{Stages: []sched.StageSpec{memoryStage(sched.Master, 1, 2),
			memoryStage(sched.Map, 3, 2)}}))
	left, has, _ = r.virtual(1)
	r.wants("size left of job 1 at 20", left, 1040)
	r.wants("share of job 1 at 20", has, 98)
	left, has, v = r.virtual(3)
	r.wants("size left of job 3 at 20", left, 60)
	r.wants("share of job 3 at 20", has, 2)
	r.wants("bound of job 3", v.Bound[0], 2)
	ranks := func() (a, b float64) {
		return *r.f.Virtual.ranks.Of(r.core.Job(1)), *r.f.Virtual.ranks.Of(r.core.Job(3))
	}
	if a, b := ranks(); a < b {
		t.Error("job 1 ranks before job 3 at 20")
	}
	r.wants("instant at which the ranks cross", (r.f.Virtual.Cluster.At+r.f.Virtual.race.Next())/1e9, 20+980./94)
	r.step(30.42)
	if a, b := ranks(); a < b {
		t.Error("job 1 ranks before job 3 at 30.42")
	}
	r.step(30.43)
	if a, b := ranks(); a > b {
		t.Error("job 3 ranks before job 1 at 30.43")
	}
	r.step(31)
	r.wants("virtual end of job 1", r.f.Virtual.Jobs.Of(r.core.Job(1)).Finish/1e9, 20+1040./96)
	r.wants("instant of the last change", r.f.Virtual.Cluster.At/1e9, 20+1040./96)
	left, has, _ = r.virtual(3)
	r.wants("size left of job 3 then", left, 115./3)
	r.wants("share of job 3 then", has, 2)
	if m := r.f.Virtual.Jobs.Of(r.core.Job(1)); !m.Late || m.Queue != sizedQueue {
		t.Error("job 1 is not late in the queue of known sizes")
	}
	r.step(60)
	r.wants("virtual end of job 3", r.f.Virtual.Jobs.Of(r.core.Job(3)).Finish/1e9, 50)
	if n := len(r.f.Virtual.Cluster.Jobs); n != 0 {
		t.Errorf("%d jobs in the virtual cluster after 50 s", n)
	}
}

// Section 4, F2.
func TestFspyF2Uber(t *testing.T) {
	r := newFspyRig(t, "fspy", 65536)
	capacity := sched.Resources{sched.Memory: 65536, sched.VCores: 64}
	r.step(0, sched.Event{Kind: sched.NodeReported, Node: 1, Body: &sched.NodeSpec{Name: "n1", Capacity: capacity}})
	stage := func(kind sched.StageKind, tasks int32, memory int64) sched.StageSpec {
		st := memoryStage(kind, tasks, memory)
		st.PerTask[sched.VCores] = 1
		return st
	}
	r.f.Virtual.Small = [2]average{{1, 12e9}, {1, 20e9}}
	r.step(
		1,
		submission(
			1,
			&sched.JobSpec{
				Stages: []sched.StageSpec{
					stage(sched.Master, 1, 1536),
					stage(sched.Map, 2, 1024),
					stage(sched.Reduce, 1, 1024),
				},
			},
		),
	)
	_, _, v := r.virtual(1)
	if v.Bound != (theory.Pair{1536, 1}) || v.Size != (theory.Pair{67584e9, 44e9}) || v.Master != (theory.Pair{}) {
		t.Errorf("bound %v, size %v, master %v; want (1536, 1), (67584, 44) s and none", v.Bound, v.Size, v.Master)
	}
	for i, c := range []struct {
		maps int32
		want theory.Pair
	}{{100, theory.Pair{65536, 64}}, {10, theory.Pair{11776, 11}}} {
		id := sched.JobID(2 + i)
		r.step(
			1,
			submission(
				id,
				&sched.JobSpec{Stages: []sched.StageSpec{stage(sched.Master, 1, 1536), stage(sched.Map, c.maps, 1024),
					memoryStage(sched.Reduce, 5, 1024, sched.Dep{Stage: 1, Part: 1})}},
			),
		)
		if _, _, v := r.virtual(id); v.Bound != c.want || !v.Open {
			t.Errorf("first bound of a job of %d maps is %v, open %v; want %v, open", c.maps, v.Bound, v.Open, c.want)
		}
	}
}

// Section 4, F13: the fair queue is offered room first while it holds less than its jobs have virtually, and in it the
// job that holds least.
func TestFspyF13Arbitration(t *testing.T) {
	f := &fspy{Virtual: fspyCluster{fspySizes: fspySizes{probing: 0.1}}}
	for _, c := range []struct {
		held   [sizedQueue + 1]int64
		target float64
		want   [3]fspyQueue
	}{
		{[4]int64{fairQueue: 25 + 20}, 50, [3]fspyQueue{probeQueue, fairQueue, sizedQueue}},
		{[4]int64{fairQueue: 30 + 22}, 50, [3]fspyQueue{probeQueue, sizedQueue, fairQueue}},
		// 5 ÷ 0.1 = 45 ÷ 0.9: production first
		{[4]int64{fairQueue: 45, probeQueue: 5}, 50, [3]fspyQueue{fairQueue, sizedQueue, probeQueue}},
		{[4]int64{fairQueue: 45, probeQueue: 4}, 50, [3]fspyQueue{probeQueue, fairQueue, sizedQueue}},
		{[4]int64{}, 0, [3]fspyQueue{sizedQueue, fairQueue, probeQueue}},
	} {
		f.Virtual.Held, f.Virtual.Target = c.held, c.target
		if got := f.turn(); got != c.want {
			t.Errorf("held %v, target %v: queues %v, want %v", c.held, c.target, got, c.want)
		}
	}
	// Two jobs of unknown size with tasks of 5 and 7 MiB on 30: 5, 7, 5 (5 < 7), 7 (7 < 10), 5 (10 < 14): 15 and 14,
	// and 1 is left.
	r := newFspyRig(t, "fspy:uber-maps=0", 30)
	r.step(1, submission(1, &sched.JobSpec{Stages: []sched.StageSpec{memoryStage(sched.Map, 9, 5)}}),
		submission(2, &sched.JobSpec{Stages: []sched.StageSpec{memoryStage(sched.Map, 9, 7)}}))
	if a, b := r.core.Job(1).Used[sched.Memory], r.core.Job(2).Used[sched.Memory]; a != 15 || b != 14 {
		t.Errorf("the jobs hold %d and %d, want 15 and 14", a, b)
	}
}

// A probe that fails is run once more; one that is not through in time is not waited for.
func TestFspyProbeTrouble(t *testing.T) {
	r := newFspyRig(t, "fspy:uber-maps=0", 10)
	probes := func(acts []sched.Action) (n int) {
		for _, a := range acts {
			if a.Kind == sched.Probe {
				n++
			}
		}
		return n
	}
	r.step(1, submission(1, &sched.JobSpec{Stages: []sched.StageSpec{memoryStage(sched.Map, 9, 2)}}))
	ends := func(id sched.JobID, at float64, outcome sched.Outcome) int {
		r.step(at, submission(id, &sched.JobSpec{Probes: 1, Stages: []sched.StageSpec{memoryStage(sched.Map, 1, 1)}}))
		return probes(r.step(at+1, sched.Event{Kind: sched.JobEnded, Job: id, Outcome: outcome}))
	}
	if n := ends(2, 1, sched.Failed); n != 1 {
		t.Errorf("%d probes after the first failed, want 1", n)
	}
	if n := ends(3, 5, sched.Failed); n != 0 {
		t.Errorf("%d probes after the second failed, want none", n)
	}
	queue := func() fspyQueue { return r.f.Virtual.Jobs.Of(r.core.Job(1)).Queue }
	r.knows[1] = true
	if ends(4, 130, sched.OK); queue() != fairQueue {
		t.Errorf("a probe that came after 129 s has moved its job to queue %d", queue())
	}
	r.f.Virtual.Jobs.Of(r.core.Job(1)).Since = seconds(130)
	if ends(5, 140, sched.OK); queue() != sizedQueue {
		t.Errorf("a probe in time has left its job in queue %d", queue())
	}
}

// Section 3.1: finished tasks tell the size of a job that cannot be probed. The size of a probed job is known when its
// probe has told, and not before, although the estimator would say it as soon as one task is done.
func TestFspyWaitsForProbe(t *testing.T) {
	for _, c := range []struct {
		can  sched.Powers
		want fspyQueue
	}{{sched.CanProbe, fairQueue}, {0, sizedQueue}} {
		r := newFspyRig(t, "fspy:uber-maps=0", 10)
		r.core = sched.New(sched.Config{Policy: r.f, Estimator: tenSeconds{r.knows}, Can: c.can})
		r.step(0, sched.Event{Kind: sched.NodeJoined, Node: 1,
			Body: &sched.NodeSpec{Name: "n1", Capacity: sched.Resources{sched.Memory: 10}}})
		launched := r.step(1, submission(1, &sched.JobSpec{Stages: []sched.StageSpec{memoryStage(sched.Map, 9, 2)}}))
		r.knows[1] = true
		r.step(2, sched.Event{Kind: sched.AttemptDone, Attempt: launched[len(launched)-1].Attempt})
		queue := func() fspyQueue { return r.f.Virtual.Jobs.Of(r.core.Job(1)).Queue }
		if got := queue(); got != c.want {
			t.Errorf("an engine that can %b: after its first task the job is in queue %d, want %d", c.can, got, c.want)
		}
		if c.can == 0 {
			continue
		}
		r.step(3, submission(2, &sched.JobSpec{Probes: 1, Stages: []sched.StageSpec{memoryStage(sched.Map, 1, 1)}}))
		if r.step(4, sched.Event{Kind: sched.JobEnded, Job: 2}); queue() != sizedQueue {
			t.Errorf("its probe is through, and the job is in queue %d", queue())
		}
	}
}

// Jobs that are late: with late=age, one whose tasks take longer than was said gets the size that its unfinished tasks
// say, and is not first for that.
func TestFspyLateAges(t *testing.T) {
	for _, c := range []struct {
		spec string
		late bool
	}{{"fspy:uber-maps=0", true}, {"fspy:uber-maps=0,late=age", false}} {
		r := newFspyRig(t, c.spec, 10)
		r.knows[1] = true
		r.step(1, submission(1, &sched.JobSpec{Stages: []sched.StageSpec{memoryStage(sched.Map, 5, 2)}}))
		// It is 5·2·10 MiB·s with the cluster to itself: done virtually at 11, really not.
		r.step(12)
		if got := r.f.Virtual.Jobs.Of(r.core.Job(1)).Late; got != c.late {
			t.Errorf("%s: late %v, want %v", c.spec, got, c.late)
		}
		if left, _, _ := r.virtual(1); !c.late && (math.Abs(left-100) > 1e-6 || r.f.Virtual.Cluster.At != 11e9) {
			t.Errorf("%s: %v left at %v, want 100 anew at 11 s", c.spec, left, r.f.Virtual.Cluster.At)
		}
	}
}

// When a probe is through, a policy by size asks again: of two jobs of unknown size the probed one is known then.
func TestProbeMakesSizesKnown(t *testing.T) {
	p, _, err := Parse("probe{srpt}")
	if err != nil {
		t.Fatal(err)
	}
	known := map[sched.JobID]bool{}
	core := sched.New(sched.Config{Policy: p, Estimator: onceKnown{known}, Can: sched.CanProbe})
	core.Step(
		0,
		[]sched.Event{
			{
				Kind: sched.NodeJoined,
				Node: 1,
				Body: &sched.NodeSpec{Name: "n1", Capacity: sched.Resources{sched.Memory: 10}},
			},
		},
	)
	job := func() *sched.JobSpec { return &sched.JobSpec{Stages: []sched.StageSpec{memoryStage(sched.Map, 9, 2)}} }
	core.Step(seconds(1), []sched.Event{submission(1, job()), submission(2, job())})
	core.Step(
		seconds(1),
		[]sched.Event{
			submission(3, &sched.JobSpec{Probes: 2, Stages: []sched.StageSpec{memoryStage(sched.Map, 1, 1)}}),
		},
	)
	known[2] = true
	core.Step(seconds(2), []sched.Event{{Kind: sched.JobEnded, Job: 3}})
	units := &p.(*probe).Inner.(*bySize).Units
	if a, b := units.Of(core.Job(1).Stages[0]), units.Of(core.Job(2).Stages[0]); a.Known || !b.Known ||
		b.Time != 10*time.Second {
		t.Errorf("the job that was not probed is known: %v; the other: %v, of %v a task, want 10 s", a.Known,
			b.Known, b.Time)
	}
}

// onceKnown is tenSeconds that knows nothing of the jobs that it is not told to know.
type onceKnown struct{ knows map[sched.JobID]bool }

func (onceKnown) Observe(*sched.Attempt, sched.Time, *sched.Counters) {}

func (e onceKnown) Estimate(st *sched.Stage, c sched.ClassID) sched.Estimate {
	if !e.knows[st.ID.Job] {
		return sched.Estimate{}
	}
	return tenSeconds{}.Estimate(st, c)
}

func (e onceKnown) Size(j *sched.Job) (sched.Work, bool) { return tenSeconds(e).Size(j) }
