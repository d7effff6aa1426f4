package predict

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// runsOf are what a machine of known demands would measure for each shape: the model's own times.
func runsOf(t *testing.T, truth *Learned, shapes []Shape) (runs []Run) {
	t.Helper()
	for _, s := range shapes {
		p, err := truth.predict(s, 0)
		if err != nil {
			t.Fatal(err)
		}
		r := Run{Slots: s.Slots}
		for i := range s.Jobs {
			began := truth.MasterTime(s.Jobs)
			j := Measured{Launched: began, End: p.Jobs[i].Response}
			for _, iv := range p.Timeline[i] {
				o := Observed{Start: began + iv.Start + truth.Grant, End: began + iv.End}
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

// From runs of a machine that is as the model has it, Learn finds times with which jobs of other shapes are predicted
// within 5 %: the parameters need not be found, as a little more of one and less of another give the same times.
func TestLearn(t *testing.T) {
	truth := &Learned{Cores: 2, Master: [2]float64{4, 1.5}, Grant: 0.7, Commit: 0.2,
		Task: [2]TaskDemand{{CPU: 2, Wait: 1}, {CPU: 1.5, Wait: 2}}}
	var shapes []Shape
	for _, maps := range []int{2, 6} {
		for _, slots := range []int{2, 6} {
			for _, jobs := range []int{1, 3} {
				shapes = append(shapes, Shape{maps, 1, slots, jobs})
			}
		}
	}
	l, err := Learn(runsOf(t, truth, shapes), 2, WithoutVariation)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "time of a master", l.MasterTime(4), truth.MasterTime(4), 1e-9)
	near(t, "grant", l.Grant, truth.Grant, 0.02)
	for _, s := range []Shape{{4, 1, 4, 2}, {12, 1, 6, 4}, {1, 1, 2, 1}} {
		want, err := truth.predict(s, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := l.Predict(s)
		if err != nil {
			t.Fatal(err)
		}
		if off := math.Abs(got.Mean/want.Mean - 1); off > 0.05 {
			t.Errorf("%+v: predicted %.2f s, want %.2f (%+v)", s, got.Mean, want.Mean, *l)
		}
	}
}

// A single run of one job is enough: it is predicted within 5 %, and so is more of it.
func TestLearnFromOneRun(t *testing.T) {
	truth := &Learned{Cores: 2, Master: [2]float64{4, 2}, Grant: 0.7}
	truth.Task = [2]TaskDemand{{CPU: 2, Wait: 1}, {CPU: 1.5, Wait: 2}}
	one := Shape{4, 1, 2, 1}
	l, err := Learn(runsOf(t, truth, []Shape{one}), 2, WithoutVariation)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []Shape{one, {8, 1, 2, 1}} {
		want, _ := truth.predict(s, 0)
		got, err := l.Predict(s)
		if err != nil {
			t.Fatal(err)
		}
		if off := math.Abs(got.Mean/want.Mean - 1); off > 0.05 {
			t.Errorf("%+v: predicted %.2f s, want %.2f (%+v)", s, got.Mean, want.Mean, *l)
		}
	}
	if _, err := Learn(nil, 2, 0); err == nil {
		t.Error("nothing taught something")
	}
}

// The rounds that users get give what hundreds of rounds give, within 0.3 % on average and 2.5 % at worst.
func TestUsualRounds(t *testing.T) {
	worst, sum, n := 0.0, 0.0, 0.0
	for _, nodes := range []int{2, 8} {
		for _, maps := range []int{7, 40} {
			for _, reduces := range []int{0, 1, 4} {
				for _, jobs := range []int{1, 4} {
					c := Cluster{Nodes: slices.Repeat([]Node{{Capacity: []float64{8}, CPUs: 2, Disks: 1}}, nodes)}
					j := Job{Maps: maps, Reduces: reduces, MapSize: []float64{1}, ReduceSize: []float64{1}}
					j.Demands = [kinds]Cost{{6, 4}, {0, 0.05, 0.15}, {3, 2}}
					exact, usual := Default(), Usual()
					exact.MaxIterations, exact.Window = 150, 100
					list := slices.Repeat([]Job{j}, jobs)
					want, err := Predict(c, list, exact)
					if err != nil {
						t.Fatal(err)
					}
					got, err := Predict(c, list, usual)
					if err != nil {
						t.Fatal(err)
					}
					off := math.Abs(got.Mean/want.Mean - 1)
					worst, sum, n = max(worst, off), sum+off, n+1
					if off > 0.025 {
						t.Errorf("%s: %.2f s, want %.2f", fmt.Sprint(nodes, maps, reduces, jobs), got.Mean, want.Mean)
					}
				}
			}
		}
	}
	if sum/n > 0.003 {
		t.Errorf("%.4f off on average, %.4f at worst", sum/n, worst)
	}
	t.Logf("%.4f off on average, %.4f at worst", sum/n, worst)
}
