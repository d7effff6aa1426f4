package theory

import "testing"

// The numbers in the names of these tests are those of the vectors in docs/spec/dynamicmr.md.

// Nine nodes of 10 map and 2 reduce slots.
func TestDynamicMR44(t *testing.T) {
	const slotsM, slotsR = 90, 18
	for _, c := range []struct {
		demandM, demandR, lentM, lentR int64 // lentM: map slots that run reduces
		quotaM, quotaR                 int64
		extraR, extraM                 int64 // tasks that may be let onto slots of the other kind
		usableM, usableR               int64 // of a node's slots, with lent ones counted
	}{
		{40, 10, 0, 0, 90, 18, 0, 0, 5, 2},
		{120, 30, 0, 0, 90, 18, 0, 0, 10, 2},
		{40, 100, 0, 0, 90, 18, 82, 0, 10, 2},
		{40, 100, 0, 0, 45, 18, 45, 0, 10, 2},
		{40, 100, 30, 0, 45, 18, 15, 0, 10, 2},
		{40, 100, 45, 0, 45, 18, 0, 0, 10, 2},
		{200, 0, 0, 0, 90, 4, 0, 4, 10, 1}, // floor(0.25 · 18)
		{200, 6, 0, 5, 90, 18, 0, 13, 10, 2},
		{90, 18, 0, 0, 90, 18, 0, 0, 10, 2},
		{90, 100, 0, 0, 90, 18, 0, 0, 10, 2}, // no map slot is left over
		// 20 reduces run on map slots; for the 80 maps there are 70: nothing may be lent, though 80 is less than 90.
		{80, 100, 20, 0, 45, 18, 0, 0, 10, 2},
	} {
		maps, reduces := SlotKind{slotsM, c.demandM, c.lentR, c.lentM}, SlotKind{slotsR, c.demandR, c.lentM, c.lentR}
		extraR, extraM := Lend(maps, reduces, c.quotaM), Lend(reduces, maps, c.quotaR)
		if extraR != c.extraR || extraM != c.extraM {
			t.Errorf("%+v: %d reduces and %d maps may be let in", c, extraR, extraM)
		}
		usableM, usableR := UsableSlots(c.demandM+c.lentM+extraR, slotsM, 10),
			UsableSlots(c.demandR+c.lentR+extraM, slotsR, 2)
		if usableM != c.usableM || usableR != c.usableR {
			t.Errorf("%+v: %d and %d slots of a node are usable", c, usableM, usableR)
		}
	}
	// Four of four reduce slots run maps, two more are on map slots, and six of these idle while three reduces wait.
	// Algorithm 6 lends none of them: the demand for reduces, 3, is below their slots, 4.
	maps, reduces := SlotKind{8, 6, 4, 0}, SlotKind{4, 3, 0, 4}
	if n := Lend(maps, reduces, 8); n != 3 {
		t.Errorf("with all reduce slots lent %d reduces may be let onto idle map slots, want 3", n)
	}
}

// Lending by Lend, slot by slot as slots come free, leaves no slot idle while a task waits that a quota would let in:
// tried on all small cases.
func TestLendLeavesNothingIdle(t *testing.T) {
	for i := range 4 * 4 * 5 * 5 * 3 * 3 {
		d := func(n int) int64 { r := i % n; i /= n; return int64(r) }
		slots := [2]int64{d(4), d(4)}
		waits := [2]int64{d(5), d(5)}
		ran := [2]int64{min(d(3), slots[0]), min(d(3), slots[1])} // tasks of the other kind that are on these slots
		idle := [2]int64{slots[0] - ran[0], slots[1] - ran[1]}
		var own [2]int64
		for k := range 2 {
			own[k] = min(waits[k], idle[k])
			waits[k] -= own[k]
			idle[k] -= own[k]
		}
		for k := range 2 {
			kind := SlotKind{slots[k], own[k] + waits[k] + ran[1-k], ran[1-k], ran[k]}
			other := SlotKind{slots[1-k], own[1-k] + waits[1-k] + ran[k], ran[k], ran[1-k]}
			n := Lend(kind, other, slots[k])
			if want := waits[1-k]; idle[k] > 0 && n < min(want, idle[k]) {
				t.Errorf("%v slots, %v lent: %d of %d idle slots of kind %d would be lent while %d tasks wait", slots,
					ran, n, idle[k], k, want)
			}
		}
	}
}

func TestDynamicMR47CheckedJobs(t *testing.T) {
	for _, c := range []struct {
		part       float64
		jobs, want int
	}{{0.5, 6, 3}, {0, 6, 0}, {1, 6, 6}, {0.8, 6, 5}, {0.1, 1, 1}} {
		if n := CheckedJobs(c.part, c.jobs); n != c.want {
			t.Errorf("%v of %d jobs: %d, want %d", c.part, c.jobs, n, c.want)
		}
	}
}
