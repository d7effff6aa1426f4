package workload

import (
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// A job that came with two stages and found one, and then two more, finds them so again; a job of one round is not open.
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
	j := Past{Spec: spec, Times: times, Rounds: []int32{0, 0, 1, 2, 2}}.On(c)
	truth := j.Payload.(*Truth)
	if !j.Open || len(j.Stages) != 2 || len(truth.Later) != 2 || len(truth.Later[0]) != 1 || len(truth.Later[1]) != 2 {
		t.Fatalf("%d stages, then %v", len(j.Stages), truth.Later)
	}
	for i, st := range truth.All(j) { // the k-th has k tasks
		if st.Tasks != int32(i+1) || truth.Stages[i].Tasks != st.Tasks {
			t.Errorf("stage %d has %d tasks", i, st.Tasks)
		}
	}
	if j = (Past{Spec: spec, Times: times, Rounds: make([]int32, 5)}).On(c); j.Open || len(j.Stages) != 5 || len(spec.Stages) != 5 {
		t.Errorf("one round: open %v, %d stages", j.Open, len(j.Stages))
	}
}
