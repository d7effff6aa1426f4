package sched

import "testing"

// mrorder 4.1: J1 10×4 2×8, J2 4×2 4×2, J3 2×6 4×10, J4 24×6 6×8 on 8 map and 4 reduce slots end at 16, 8, 26, 44 under
// FIFO.
func TestMROrder41(t *testing.T) {
	r := newRig(t, Config{})
	for range 4 {
		r.node(slots(2, 1))
	}
	for i, j := range [][4]int{{10, 4, 2, 8}, {4, 2, 4, 2}, {2, 6, 4, 10}, {24, 6, 6, 8}} {
		r.submit(JobID(i+1), mapReduce(0, int32(j[0]), Time(j[1])*sec, int32(j[2]), Time(j[3])*sec))
	}
	r.run()
	for i, want := range []Time{16, 8, 26, 44} {
		if got := r.ended[JobID(i+1)]; got != want*sec {
			t.Errorf("job %d ends at %v, want %ds", i+1, got, want)
		}
	}
}
