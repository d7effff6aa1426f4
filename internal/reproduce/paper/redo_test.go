package paper

import (
	"context"
	"sync/atomic"
	"testing"
)

// Trials that measure the machine run one at a time, after all others.
func TestRedoAlone(t *testing.T) {
	var running, others atomic.Int32
	trial := func(alone bool) func(context.Context, Lab, uint64) (Sample, error) {
		return func(context.Context, Lab, uint64) (Sample, error) {
			defer running.Add(-1)
			if n := running.Add(1); alone && (n > 1 || others.Load() != 4) {
				t.Errorf("alone: %d trials at once, %d of the others are through", n, others.Load())
			}
			if !alone {
				others.Add(1)
			}
			return Sample{}, nil
		}
	}
	p := &Paper{
		Name: "alone",
		Parts: []Part{
			{Title: "Alone", Trials: 3, Alone: true, Trial: trial(true)},
			{Title: "Others", Trials: 4, Trial: trial(false)},
		},
	}
	last := 0
	if _, err := Redo(t.Context(), p, Lab{}, Options{Workers: 3, Progress: func(done, total int, _ string) {
		if done != last+1 || total != 7 {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last = done
	}}); err != nil || last != 7 {
		t.Errorf("%d trials, %v", last, err)
	}
}
