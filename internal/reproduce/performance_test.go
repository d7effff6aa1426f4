package reproduce

import (
	"math"
	"testing"
)

// Each claim of the page has a figure, two trials of a seed agree, and the default is nearer to the simulator than the
// same form without variation of tasks, and than the forms as printed.
func TestPerformanceModelTrials(t *testing.T) {
	for _, part := range []Part{solverTable(), toleranceStudy(), predictionGrid()} {
		s, err := part.Trial(t.Context(), Lab{}, 1)
		if err != nil {
			t.Fatalf("%s: %v", part.Title, err)
		}
		again, err := part.Trial(t.Context(), Lab{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range part.Claims {
			if x := s.of(c.Figure); x == 0 || math.IsNaN(x) || math.IsInf(x, 0) || x != again.of(c.Figure) {
				t.Errorf("%s: %q is %v, and then %v", part.Title, c.Figure, x, again.of(c.Figure))
			}
		}
		if len(part.Charts) > 0 {
			for _, name := range gridModels[1:] {
				if name != "ARIA" && s.of("mean default") >= s.of("mean "+name) {
					t.Errorf("default is %v %% off, %s %v %%", s.of("mean default"), name, s.of("mean "+name))
				}
			}
			if c := part.Charts[0].Draw([]Sample{s}); len(c.Lines) != len(gridModels) || len(c.Lines[0].Points) != 36 {
				t.Errorf("the picture has %d lines of %d points", len(c.Lines), len(c.Lines[0].Points))
			}
		}
	}
}
