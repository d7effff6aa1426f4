package goals_test

import (
	"math"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/theory/goals"
)

// By hand: 100 maps and 25 reduces, less half a task each, have 400 and 100 slot-seconds, with roots 20 and 10, and
// 4 s for the longest tasks. In 34 s they need 20·30/30 = 20 and 10·30/30 = 10 slots.
func TestMinimumSlots(t *testing.T) {
	parts := []goals.Part{{Tasks: 100, Mean: 400 / 99.5, Longest: 4}, {Tasks: 25, Mean: 100 / 24.5, Longest: 4}, {}}
	slots := goals.MinimumSlots(parts, 34)
	equal(t, "maps", slots[0], 20, near)
	equal(t, "reduces", slots[1], 10, near)
	equal(t, "no tasks", slots[2], 0, 0)
	equal(t, "the time on them", 400/slots[0]+100/slots[1]+4, 34, near)
	equal(t, "maps in no time", goals.MinimumSlots(parts, 4)[0], math.Inf(1), 0)
}

// No other division of as many slots is faster.
func TestMinimumSlotsIsLeast(t *testing.T) {
	parts := []goals.Part{{Tasks: 70, Mean: 9, Longest: 12}, {Tasks: 8, Mean: 50, Longest: 60}}
	slots := goals.MinimumSlots(parts, 300)
	time := func(a, b float64) float64 { return 69.5*9/a + 7.5*50/b + (12.0+60)/2 }
	best := time(slots[0], slots[1])
	equal(t, "the time", best, 300, near)
	for shift := -0.9 * slots[0]; shift < 0.9*slots[1]; shift += 0.05 {
		if x := time(slots[0]+shift, slots[1]-shift); x < best-near {
			t.Errorf("%v and %v slots take %v", slots[0]+shift, slots[1]-shift, x)
		}
	}
}

// The quantile of 0.5 is the mean; that of 0.975 lies 1.96 deviations higher: for 25 tasks that deviate by 5, known
// from 100, by 1.96·√(25/25 + 25/100).
func TestQuantile(t *testing.T) {
	l := goals.Law{Mean: 20, StdDev: 5, Samples: 100}
	equal(t, "the middle", l.Quantile(25, 0.5).Mean, 20, near)
	high := l.Quantile(25, 0.975)
	equal(t, "the mean", high.Mean, 20+1.959964*math.Sqrt(1.25), near)
	equal(t, "the longest", high.Longest, 20+1.959964*5, 1e-5)
}

// 25 tasks of 20 ± 5 s on 5 slots take 100 ± 5 s: within 100 with an even chance, within 105 with one of 0.841.
func TestChance(t *testing.T) {
	legs := []goals.Leg{{Law: goals.Law{Mean: 20, StdDev: 5}, Tasks: 25, Slots: 5}}
	equal(t, "at the mean", goals.Chance(legs, 100), 0.5, near)
	equal(t, "a deviation later", goals.Chance(legs, 105), 0.841345, near)
	sure := []goals.Leg{{Law: goals.Law{Mean: 20}, Tasks: 25, Slots: 5}}
	equal(t, "without a deviation", goals.Chance(sure, 100), 1, 0)
	equal(t, "too early", goals.Chance(sure, 99), 0, 0)
}
