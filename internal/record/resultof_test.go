package record

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// Figures of jobs from their rows alone.
func TestResultOf(t *testing.T) {
	s := func(n int) sched.Time { return sched.Time(n) * time.Second }
	rows := []JobRow{
		{ID: 1, Submit: s(5), FirstLaunch: s(7), Finish: s(15)},
		{ID: 2, Submit: s(1), FirstLaunch: -1, Finish: s(31)},
		{ID: 3, Submit: s(2), FirstLaunch: s(3), Finish: s(4), Outcome: sched.Failed},
		{ID: 4, Submit: s(2), FirstLaunch: -1, Finish: s(4), Outcome: sched.Killed},
	}
	r := ResultOf("capacityScheduler", rows, []sched.Time{s(10), s(20), s(9), 0})
	if r.Policy != "capacityScheduler" || r.Jobs != 4 || r.Failed != 1 || r.Killed != 1 || r.Unfinished != 0 ||
		r.Makespan != 30 || r.Sojourn.Mean != 20 || r.Wait.Mean != 2 || r.Slowdown != nil || r.Utilization != nil {
		t.Errorf("%+v, %+v, %+v", r, r.Sojourn, r.Wait)
	}
	if d := r.Deadlines; d == nil || d.Met != 1 || d.Missed != 2 || d.Tardiness != 5 {
		t.Errorf("deadlines %+v", d)
	}
}
