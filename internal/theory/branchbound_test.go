package theory

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// With enough steps the order is the one of Exhaustive, whatever the start; with a few jobs fixed, the first of the
// best orders that begin so.
func TestBranchBoundAgainstAllOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs, slots := drawJobs(t, 6), drawSlots(t)
		s := NewSlotSim(jobs, slots)
		start := rapid.Permutation(indices(len(jobs))).Draw(t, "start")
		fixed := rapid.IntRange(0, len(jobs)).Draw(t, "fixed")
		for _, goal := range []Goal{LeastMakespan, LeastTotal} {
			want, least := s.Exhaustive(goal)
			got, r, complete := s.BranchBound(start, 0, LocalSearch{Goal: goal, Steps: 10_000})
			if !complete || !slices.Equal(got, want) || r != least {
				t.Fatalf("goal %d: %v %v complete %v, want %v %v", goal, got, r, complete, want, least)
			}
			order, value, first := indices(len(jobs)), math.Inf(1), []int(nil)
			for ok := true; ok; ok = nextPermutation(order) {
				if v := goal.Of(s.Run(order)); slices.Equal(order[:fixed], start[:fixed]) && v < value {
					value, first = v, slices.Clone(order)
				}
			}
			got, r, complete = s.BranchBound(start, fixed, LocalSearch{Goal: goal, Steps: 10_000})
			if !complete || !slices.Equal(got, first) || goal.Of(r) != value {
				t.Fatalf("goal %d, %d fixed: %v %v complete %v, want %v %v", goal, fixed, got, r,
					complete, first, value)
			}
		}
	})
}

// Too few steps, and a local search behind fixed jobs, give a permutation that keeps those places and is no worse than
// the start.
func TestSearchesAreNeverWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs, slots := drawJobs(t, 9), drawSlots(t)
		s := NewSlotSim(jobs, slots)
		start := rapid.Permutation(indices(len(jobs))).Draw(t, "start")
		fixed := rapid.IntRange(0, len(jobs)).Draw(t, "fixed")
		steps := rapid.IntRange(0, 80).Draw(t, "steps")
		for _, goal := range []Goal{LeastMakespan, LeastTotal} {
			search := LocalSearch{Goal: goal, Steps: steps, Seed: 1}
			check := func(what string, got []int, r Result) {
				if !slices.Equal(got[:fixed], start[:fixed]) || s.Run(got) != r || goal.Of(r) > goal.Of(s.Run(start)) {
					t.Fatalf("%s: %v %v from %v %v, %d fixed", what, got, r, start, s.Run(start), fixed)
				}
				if sorted := slices.Sorted(slices.Values(got)); !slices.Equal(sorted, indices(len(jobs))) {
					t.Fatalf("%s: not a permutation: %v", what, got)
				}
			}
			got, r := s.ImproveTail(start, fixed, search)
			check("improve", got, r)
			got, r, _ = s.BranchBound(start, fixed, search)
			check("branch and bound", got, r)
			if fixed == 0 {
				all, _ := s.Improve(start, search)
				if tail, _ := s.ImproveTail(start, 0, search); !slices.Equal(tail, all) {
					t.Fatalf("with none fixed %v, improve %v", tail, all)
				}
			}
		}
	})
}

// The nine Purdue jobs have 362,880 orders; the least makespan is 1086 and the least total 4598 (all of them run).
// There are 986,409 beginnings; 54,811 and 165,302 have to be looked at.
func TestBranchBoundPrunes(t *testing.T) {
	s := NewSlotSim(batch42, slots42)
	flows := Flows(batch42, slots42)
	for _, c := range []struct {
		goal  Goal
		start []int
		steps int
		want  float64
	}{
		{LeastMakespan, Johnson(flows), 54_811, 1086},
		{LeastTotal, ShortestFirst(flows), 165_302, 4598},
	} {
		_, r, complete := s.BranchBound(c.start, 0, LocalSearch{Goal: c.goal, Steps: c.steps})
		if got := c.goal.Of(r); got != c.want || !complete {
			t.Errorf("goal %d: %v, complete %v, want %v within %d steps", c.goal, got, complete, c.want, c.steps)
		}
	}
}
