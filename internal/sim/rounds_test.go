package sim

import (
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// inRounds is a job of two maps of 5 s, which then finds two maps of 3 s and, after them, a reduce of 2 s, and in the
// end a map of 4 s.
func inRounds() *sched.JobSpec {
	stage := func(kind sched.StageKind, tasks int32, needs sched.Resources, after ...sched.Dep) sched.StageSpec {
		return sched.StageSpec{Kind: kind, Tasks: tasks, PerTask: needs, MaxAttempts: 4, After: after}
	}
	truth := &workload.Truth{
		Stages: []workload.StageTruth{
			{Tasks: 2, Base: 5 * sec},
			{Tasks: 2, Base: 3 * sec},
			{Tasks: 1, Base: 2 * sec},
			{Tasks: 1, Base: 4 * sec},
		},
	}
	truth.Later = [][]sched.StageSpec{
		{stage(sched.Map, 2, slots(1, 0)), stage(sched.Reduce, 1, slots(0, 1), sched.Dep{Stage: 1, Part: 1})},
		{stage(sched.Map, 1, slots(1, 0), sched.Dep{Stage: 2, Part: 1})},
	}
	return &sched.JobSpec{
		Name:    "rounds",
		Open:    true,
		Stages:  []sched.StageSpec{stage(sched.Map, 2, slots(1, 0))},
		Payload: truth,
	}
}

// Two maps that end at the same instant find one round, not two. Policies hear of a round when it is found, and no
// sooner; its probe ends with the job.
func TestRounds(t *testing.T) {
	known := map[sched.Time]int{}
	first := inOrder{}
	policy := policyFunc(func(p *sched.Plan) {
		if j := p.Job(1); j != nil {
			known[p.Now] = len(j.Stages)
		}
		first.Decide(p)
	})
	l, r := simulate(t, Config{Cluster: slotCluster(1, 1, slots(2, 1)), Jobs: source(inRounds()),
		Core: sched.Config{Policy: policy}})
	wantEnds(t, l, 0, 14*sec)
	for at, want := range map[sched.Time]int{0: 1, 5 * sec: 3, 8 * sec: 3, 10 * sec: 4} {
		if known[at] != want {
			t.Errorf("at %v: %d stages are known, want %d", at, known[at], want)
		}
	}
	if r.Jobs != 1 || r.Failed != 0 || r.End != 14*sec {
		t.Errorf("%+v", r)
	}
	probe := policyFunc(func(p *sched.Plan) {
		for i := range p.Events {
			if e := &p.Events[i]; e.Kind == sched.JobSubmitted && e.Job == 1 {
				p.Probe(p.Job(1))
			}
		}
		first.Decide(p)
	})
	job := inRounds()
	job.Payload.(*workload.Truth).ProbeTimes = []sched.Time{100 * sec}
	if l, _ := simulate(t, Config{Cluster: slotCluster(1, 1, slots(3, 1)), Jobs: source(job),
		Core: sched.Config{Policy: probe}}); len(
		l.ends(sched.Killed),
	) != 1 {
		t.Errorf("the probe of a job that is over: %v", l.ends(sched.Killed))
	}
	bad := inRounds()
	bad.Open = false
	if _, err := Run(t.Context(), Config{Cluster: slotCluster(1, 1, slots(2, 1)), Jobs: source(bad),
		Core: sched.Config{Policy: policy}}); err == nil ||
		!strings.Contains(err.Error(), "not open") {
		t.Errorf("a job that is not open: %v", err)
	}
}

// Size and time alone are of all rounds: 10 + 6 + 4 map-seconds and 2 reduce-seconds; 5 + 3 + 2 + 4 s on two map slots.
func TestRoundsCount(t *testing.T) {
	job := inRounds()
	size := job.Payload.(*workload.Truth).Size(job)
	if size[sched.MapSlots] != 20 || size[sched.ReduceSlots] != 2 {
		t.Errorf("size %v", size)
	}
	if alone := Alone(slotCluster(1, 1, slots(2, 1)))(job); alone != 14*sec {
		t.Errorf("alone %v", alone)
	}
}
