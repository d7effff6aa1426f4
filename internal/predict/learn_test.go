package predict

import (
	"math"
	"testing"
)

// runsOf are what a machine of known demands would measure for each shape: the model's own times.
func runsOf(t *testing.T, truth *Learned, shapes []Shape) (runs []Run) {
	t.Helper()
	for _, s := range shapes {
		p, err := truth.PredictBy(s, Usual())
		if err != nil {
			t.Fatal(err)
		}
		r := Run{Nodes: s.Nodes}
		for i := range s.Jobs {
			j := Measured{Launched: p.Jobs[i].Launched, End: p.Jobs[i].Response}
			for _, iv := range p.Timeline[i] {
				o := Observed{Start: iv.Start + truth.Grant, End: iv.End}
				switch iv.Kind {
				case MapTask:
					o.CPU = truth.Task[ofMaps].CPU * 0.8 // the system's part is not counted
					j.Tasks[ofMaps] = append(j.Tasks[ofMaps], o)
				case MergeTask:
					o.CPU = truth.Task[ofReduces].CPU * 0.8
					j.Tasks[ofReduces] = append(j.Tasks[ofReduces], o)
				}
			}
			r.Jobs = append(r.Jobs, j)
		}
		runs = append(runs, r)
	}
	return runs
}

var learningMachine = Machine{Cores: 2, NodeRoom: 4, TaskRoom: 1, MasterRoom: 0.5}

// From runs of a machine that is as the model has it, Learn finds times with which jobs of other shapes are predicted
// within 4 %, and with which the runs are told apart from those of tasks that interfere.
func TestLearn(t *testing.T) {
	for _, interference := range []float64{0, 0.1} {
		truth := &Learned{Machine: learningMachine, Interference: interference, Threads: 2, Start: Cost{CPU: 6},
			Grant: 0.4, Ask: 0.3, Commit: 0.2, Task: [2]TaskDemand{{CPU: 3}, {CPU: 2}}}
		var shapes []Shape
		for _, maps := range []int{2, 6} {
			for _, nodes := range []int{1, 3} {
				for _, jobs := range []int{1, 3} {
					shapes = append(shapes, Shape{maps, 1, nodes, jobs})
				}
			}
		}
		l, err := Learn(runsOf(t, truth, shapes), learningMachine, WithoutVariation|WithGrants)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "grant and ask", l.Grant+l.Ask, truth.Grant+truth.Ask, 0.15)
		near(t, "interference", l.Interference, interference, 0.021)
		predicts(t, l, truth, 0.04, Shape{4, 1, 2, 2}, Shape{12, 1, 3, 4}, Shape{1, 1, 1, 1})
	}
}

// predicts fails where what was learned is off by more than a part of the true time.
func predicts(t *testing.T, l, truth *Learned, part float64, shapes ...Shape) {
	t.Helper()
	for _, s := range shapes {
		want, err := truth.PredictBy(s, Usual())
		if err != nil {
			t.Fatal(err)
		}
		got, err := l.PredictBy(s, Usual())
		if err != nil {
			t.Fatal(err)
		}
		if off := math.Abs(got.Mean/want.Mean - 1); off > part {
			t.Errorf("%+v: predicted %.2f s, want %.2f (%+v)", s, got.Mean, want.Mean, *l)
		}
	}
}

// Two runs of a kind of job are too few to see that tasks interfere. Runs of another kind on the same machine say it:
// demands of the first kind are its own, and jobs of it are predicted within 5 %.
func TestLearnOfTheMachineFromOtherJobs(t *testing.T) {
	truth := &Learned{Machine: learningMachine, Interference: 0.1, Threads: 1, Start: Cost{CPU: 4},
		Task: [2]TaskDemand{{CPU: 3}, {CPU: 2}}}
	other := *truth
	other.Task = [2]TaskDemand{{CPU: 6}, {CPU: 1}}
	few := runsOf(t, truth, []Shape{{2, 1, 1, 1}, {2, 1, 3, 1}})
	more := runsOf(t, &other, []Shape{{2, 1, 1, 1}, {6, 1, 1, 3}, {2, 1, 3, 3}, {6, 1, 3, 1}, {6, 1, 3, 3}})
	l, err := Learn(few, learningMachine, WithoutVariation, more)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "interference", l.Interference, truth.Interference, 0.021)
	predicts(t, l, truth, 0.05, Shape{6, 1, 3, 3}, Shape{4, 1, 2, 2})
}

// A single run of one job is enough: it is predicted within 5 %, and so is more of it.
func TestLearnFromOneRun(t *testing.T) {
	truth := &Learned{Machine: learningMachine, Start: Cost{CPU: 4}, Grant: 0.4, Ask: 0.3}
	truth.Task = [2]TaskDemand{{CPU: 3}, {CPU: 2}}
	one := Shape{4, 1, 1, 1}
	l, err := Learn(runsOf(t, truth, []Shape{one}), learningMachine, WithoutVariation)
	if err != nil {
		t.Fatal(err)
	}
	predicts(t, l, truth, 0.05, one, Shape{8, 1, 1, 1}, Shape{8, 1, 2, 3})
	if _, err := Learn(nil, learningMachine, 0); err == nil {
		t.Error("nothing taught something")
	}
}
