package workload

import (
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// A job that came with two stages and found one, and then two more, finds them so again; a job of one round is not
// open.
func TestPastRounds(t *testing.T) {
	c, err := ParseCluster("nodes=1,map-slots=1,reduce-slots=1")
	if err != nil {
		t.Fatal(err)
	}
	spec := &sched.JobSpec{Name: "j", Stages: make([]sched.StageSpec, 5)}
	times := make([][]sched.Time, 5)
	for i := range times {
		times[i] = make([]sched.Time, i+1)
	}
	j := Past{Spec: spec, Times: times, Rounds: []int32{0, 0, 1, 2, 2}}.On(c, nil)
	truth := j.Payload.(*Truth)
	if !j.Open || len(j.Stages) != 2 || len(truth.Later) != 2 || len(truth.Later[0]) != 1 || len(truth.Later[1]) != 2 {
		t.Fatalf("%d stages, then %v", len(j.Stages), truth.Later)
	}
	for i, st := range truth.All(j) { // the k-th has k tasks
		if st.Tasks != int32(i+1) || truth.Stages[i].Tasks != st.Tasks {
			t.Errorf("stage %d has %d tasks", i, st.Tasks)
		}
	}
	if j = (Past{Spec: spec, Times: times, Rounds: make([]int32, 5)}).On(c, nil); j.Open || len(j.Stages) != 5 ||
		len(spec.Stages) != 5 {
		t.Errorf("one round: open %v, %d stages", j.Open, len(j.Stages))
	}
}

// A job whose master asked for its tasks comes without it, wherever its stage stood: each other stage keeps its times,
// its round and what it is after.
func TestPastWithoutMaster(t *testing.T) {
	c, err := ParseCluster("nodes=1,map-slots=1,reduce-slots=1")
	if err != nil {
		t.Fatal(err)
	}
	maps := sched.StageSpec{Kind: sched.Map, Asked: true}
	reduces := sched.StageSpec{Kind: sched.Reduce, Asked: true}
	master := sched.StageSpec{Kind: sched.Master}
	times := map[sched.StageKind][]sched.Time{sched.Master: {9}, sched.Map: {1, 2}, sched.Reduce: {3}}
	for at := range 3 {
		after := []sched.Dep{{Stage: 0, Part: 1}}
		if at == 0 {
			after[0].Stage = 1
		}
		reduces.After = after
		p := Past{
			Spec:   &sched.JobSpec{Stages: slices.Insert([]sched.StageSpec{maps, reduces}, at, master)},
			Rounds: slices.Insert([]int32{0, 1}, at, 0),
		}
		for _, st := range p.Spec.Stages {
			p.Times = append(p.Times, times[st.Kind])
		}
		was := after[0].Stage
		j := p.On(c, nil)
		all := j.Payload.(*Truth).All(j)
		if len(j.Stages) != 1 || len(all) != 2 || all[0].Kind != sched.Map || all[1].Kind != sched.Reduce ||
			all[1].After[0].Stage != 0 {
			t.Fatalf("master at %d: %+v come, of all %+v", at, j.Stages, all)
		}
		for i, st := range all {
			for k, want := range times[st.Kind] {
				if got := j.Payload.(*Truth).Time(int32(i), int32(k+1)); got != want ||
					int(st.Tasks) != len(times[st.Kind]) {
					t.Errorf("master at %d: task %d of %d %v takes %d, want %d", at, k+1, st.Tasks, st.Kind, got, want)
				}
			}
		}
		if after[0].Stage != was || len(p.Spec.Stages) != 3 {
			t.Errorf("master at %d: the recorded spec has changed", at)
		}
	}
}
