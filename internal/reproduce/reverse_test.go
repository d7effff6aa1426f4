package reproduce

import (
	"math"
	"testing"
)

// The motivating example comes out as in docs/spec/reverse.md, 4.3, and a short run of one configuration gives every
// figure that a claim on it names.
func TestReverseAdaptiveTrials(t *testing.T) {
	for n, want := range map[int][2][3]int{
		800: {{18, 34, 34}, {17, 34, 34}},
		900: {{20, 38, 51}, {17, 38, 51}},
		940: {{20, 41, 56}, {17, 38, 56}},
		950: {{21, 42, 57}, {17, 38, 57}},
		960: {{21, 43, 58}, {17, 28, 58}},
	} {
		if got := [2][3]int{reverseExampleRun(n, false), reverseExampleRun(n, true)}; got != want {
			t.Errorf("%d tasks a job: done at %v, want %v", n, got, want)
		}
	}
	s, c := Sample{}, reverseCase{0.25, 0.2, 8}
	if err := c.run(t.Context(), s, 1); err != nil {
		t.Fatal(err)
	}
	part := reversePart(Part{}, []reverseCase{c}, "")
	for _, claim := range append(part.Claims, reverseMisses(Part{}, "", []reverseCase{c}).Claims...) {
		if math.IsNaN(s.of(claim.Figure)) {
			t.Errorf("there is no figure %q", claim.Figure)
		}
	}
	if len(part.Charts[0].Draw([]Sample{s}).Lines) != len(reverseRivals) {
		t.Error("a picture without its lines")
	}
}
