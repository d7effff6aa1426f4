package mr

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/policy"
	"github.com/sojourn-sched/sojourn/sched"
)

// steps writes down what a core was given and what it said, a line an event or action, apart from what only one engine
// can know.
type steps []string

func (s *steps) Record(now sched.Time, events []sched.Event, actions []sched.Action) {
	for _, e := range events {
		if !e.Derived {
			*s = append(*s, fmt.Sprintf("%v %v %v node %d job %d attempt %d", now, e.Kind, e.Outcome, e.Node,
				e.Job, e.Attempt))
		}
	}
	for _, a := range actions {
		*s = append(*s, fmt.Sprintf("%v do %v %v task %d node %d attempt %d at %v", now, a.Kind, a.Stage, a.Task,
			a.Node, a.Attempt, a.At))
	}
}

// The same jobs under the same policy leave the same events and the same actions at the same instants on this engine,
// its tasks asleep under a fake clock, and in the simulator.
func TestSameAsSim(t *testing.T) {
	type job struct{ at, maps, mapTime, reduces, reduceTime int }
	jobs := []job{
		{0, 10, 4, 2, 8},
		{1, 4, 2, 4, 2},
		{1, 2, 6, 4, 10},
		{3, 24, 6, 6, 8},
		{7, 1, 1, 0, 0},
		{9, 6, 3, 1, 5},
	}
	cluster, err := workload.ParseCluster("nodes=4,map-slots=2,reduce-slots=1")
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range []string{
		"fifo", "fair", "capacity", "drf", "srpt", "las", "fsp", "psbs", "hfsp:preempt=wait",
		"longterm:users=on,round=8s,quantum=3s", "longterm:jobs=longterm,credit=karma,quantum=2s",
		"mrorder:interval=2s", "dynamicmr", "dynamicmr:dhsa=pd,base=fifo",
		"dynamicmr:lend-maps=0.5,min-run=3s,checked=0.5,cap=0.5", "late{dynamicmr:sepb=off}:min-run=4s",
		"fifo:delay=1s",
	} {
		t.Run(spec, func(t *testing.T) {
			core := func(r sched.Recorder) sched.Config {
				p, _, err := policy.Parse(spec)
				if err != nil {
					t.Fatal(err)
				}
				return sched.Config{Policy: p, Recorder: r}
			}
			var real, simulated steps
			var specs []*sched.JobSpec
			for i, j := range jobs {
				s := &sched.JobSpec{
					Name:   fmt.Sprint("J", i+1),
					User:   [...]string{"ana", "bo"}[i%2],
					Submit: time.Duration(j.at) * time.Second,
					Stages: mapReduce(int32(j.maps), time.Duration(j.mapTime)*time.Second, int32(j.reduces),
						time.Duration(j.reduceTime)*time.Second),
				}
				truth := &workload.Truth{}
				for _, st := range s.Stages {
					truth.Stages = append(truth.Stages, workload.StageTruth{Tasks: st.Tasks, Base: st.Prior})
				}
				s.Payload = truth
				specs = append(specs, s)
			}
			if _, err := sim.Run(t.Context(), sim.Config{Cluster: cluster, Jobs: workload.Of(specs...),
				Core: core(&simulated)}); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				var submissions []Submission
				for _, s := range specs {
					bare := *s
					bare.Stages = nil
					submissions = append(submissions, Submission{Spec: &bare, Work: &sleeper{stages: s.Stages}})
				}
				var nodes []sched.NodeSpec
				for n := range cluster.Nodes() {
					nodes = append(nodes, *n)
				}
				if _, err := Serve(t.Context(), Config{Core: core(&real), Nodes: nodes, Settle: synctest.Wait},
					submissions); err != nil {
					t.Fatal(err)
				}
			})
			if len(real) < 100 {
				t.Fatalf("only %d lines", len(real))
			}
			if !slices.Equal(real, simulated) {
				for i := range min(len(real), len(simulated)) {
					if real[i] != simulated[i] {
						t.Fatalf("line %d: %s\nin the simulator: %s", i, real[i], simulated[i])
					}
				}
				t.Fatalf("%d lines, %d in the simulator", len(real), len(simulated))
			}
		})
	}
}
