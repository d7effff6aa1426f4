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

// An event of a node that never joined breaks the contract of engines, and the panic says so.
func TestEventsOfUnknownNodes(t *testing.T) {
	for _, e := range []Event{
		{Kind: NodeReported, Node: 2},
		{Kind: NodeLost, Node: 2},
		{Kind: NodeLost},
		{Kind: AttemptFound, Job: 1, Node: 2, Body: &Found{}},
	} {
		c := New(Config{})
		c.Step(0, []Event{
			{Kind: NodeJoined, Node: 1, Body: &NodeSpec{Capacity: slots(1, 0)}},
			{Kind: JobSubmitted, Job: 1, Body: mapReduce(0, 1, sec, 0, 0)},
		})
		func() {
			defer func() {
				if _, ok := recover().(Breach); !ok {
					t.Errorf("%v of node %d is no breach", e.Kind, e.Node)
				}
			}()
			c.Step(sec, []Event{e})
		}()
	}
}
