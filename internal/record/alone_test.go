package record

import (
	"math"
	"testing"

	"github.com/sojourn-sched/sojourn/sched"
)

// The jobs of mrorder 4.1 on 8 map slots and 4 reduce slots, by the times that their tasks took. Alone they take 2
// waves of 4 s and 8 s; 2 s and 2 s; 6 s and 10 s; 3 waves of 6 s and 2 of 8 s: 16, 4, 16 and 34 s. Under FIFO they
// take 16, 8, 26 and 44 s.
func TestSlowdownsByMeasuredTimes(t *testing.T) {
	want := map[sched.JobID]float64{1: 1, 2: 2, 3: 26. / 16, 4: 44. / 34}
	jobs := 0
	tally := NewTally(TallyOptions{Measured: true, Row: func(row *JobRow) {
		if jobs++; math.Abs(row.Slowdown-want[row.ID]) > 1e-9 {
			t.Errorf("job %d: slowdown %v, want %v", row.ID, row.Slowdown, want[row.ID])
		}
	}})
	mrorder41(sched.Config{}, tally).run()
	if c := tally.Result().Costs; jobs != 4 || c["max_stretch"] != 2 {
		t.Errorf("%d jobs, costs %v, want 4 and a largest stretch of 2", jobs, c)
	}
}
