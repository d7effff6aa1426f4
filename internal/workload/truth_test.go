package workload

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestAlike draws stages: all tasks that are said to take as long as the first do.
func TestAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := StageTruth{
			Tasks:   rapid.Int32Range(1, 40).Draw(t, "tasks"),
			Base:    time.Duration(rapid.Int64Range(0, 5e9).Draw(t, "base")),
			Rate:    rapid.SampledFrom([]float64{0, 1, 1e6}).Draw(t, "rate"),
			Sigma:   rapid.SampledFrom([]float64{0, 0, 0, 0.5}).Draw(t, "sigma"),
			Block:   rapid.SampledFrom([]int64{0, 7, 100}).Draw(t, "block"),
			Input:   rapid.Int64Range(0, 5000).Draw(t, "input"),
			Shuffle: rapid.SampledFrom([]int64{0, 0, 13, 400}).Draw(t, "shuffle"),
		}
		truth := &Truth{Stages: []StageTruth{s}}
		n := truth.Alike(0)
		if n < 1 || n > s.Tasks {
			t.Fatalf("%d of %d tasks", n, s.Tasks)
		}
		for task := int32(2); task <= n; task++ {
			if first, d := truth.Time(0, 1), truth.Time(0, task); d != first {
				t.Fatalf("task %d of %d takes %v, the first %v", task, n, d, first)
			}
		}
	})
	// A file of three and a half blocks has three that are whole.
	half := &Truth{Stages: []StageTruth{{Tasks: 4, Rate: 1, Block: 100, Input: 350}}}
	if n := half.Alike(0); n != 3 {
		t.Errorf("%d tasks are alike, want 3", n)
	}
	if n := (&Truth{Stages: []StageTruth{listed(make([]Task, 4))}}).Alike(0); n != 1 {
		t.Errorf("of tasks known one by one %d are alike, want 1", n)
	}
}
