package ras

import (
	"math"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
)

// The simulated evaluation of RAS gives every figure that a claim or a picture names; Fair's makespan falls to a
// minimum and rises again over the slots, and RAS is below it.
func TestRASTrials(t *testing.T) {
	for _, part := range Paper().Parts {
		s, err := part.Trial(t.Context(), paper.Lab{}, 1)
		if err != nil {
			t.Fatalf("%s: %v", part.Title, err)
		}
		for _, c := range part.Claims {
			if math.IsNaN(s.Of(c.Figure)) {
				t.Errorf("%s: there is no figure %q", part.Title, c.Figure)
			}
		}
		for _, picture := range part.Charts {
			if len(picture.Draw([]paper.Sample{s}).Lines) != 3 {
				t.Errorf("%s: a picture without its lines", picture.File)
			}
		}
		if best := s.Of("fair 4"); !math.IsNaN(best) &&
			!(s.Of("fair 1") > 1.1*best && s.Of("fair 8") > 1.1*best && s.Of("ras") < best) {
			t.Errorf("%s: no U shape with RAS below it: %v", part.Title, s)
		}
	}
}
