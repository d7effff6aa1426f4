package performance

import (
	"math"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
)

// Each claim of the page has a figure, two trials of a seed agree, and the default is nearer to the simulator than the
// same form without variation of tasks, and than the forms as printed.
func TestPerformanceModelTrials(t *testing.T) {
	for _, part := range []paper.Part{solverPart(), tolerancePart(), gridPart()} {
		s, err := part.Trial(t.Context(), paper.Lab{}, 1)
		if err != nil {
			t.Fatalf("%s: %v", part.Title, err)
		}
		again, err := part.Trial(t.Context(), paper.Lab{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range part.Claims {
			if x := s.Of(c.Figure); x == 0 || math.IsNaN(x) || math.IsInf(x, 0) || x != again.Of(c.Figure) {
				t.Errorf("%s: %q is %v, and then %v", part.Title, c.Figure, x, again.Of(c.Figure))
			}
		}
		if len(part.Charts) > 0 {
			for _, name := range gridModels[1:] {
				if name != "ARIA" && s.Of("mean default") >= s.Of("mean "+name) {
					t.Errorf("default is %v %% off, %s %v %%", s.Of("mean default"), name, s.Of("mean "+name))
				}
			}
			c := part.Charts[0].Draw([]paper.Sample{s})
			if len(c.Lines) != len(gridModels) || len(c.Lines[0].Points) != 36 {
				t.Errorf("the picture has %d lines of %d points", len(c.Lines), len(c.Lines[0].Points))
			}
		}
	}
}
