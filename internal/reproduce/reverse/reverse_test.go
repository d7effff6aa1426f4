package reverse

import (
	"math"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
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
		if got := [2][3]int{exampleRun(n, false), exampleRun(n, true)}; got != want {
			t.Errorf("%d tasks a job: done at %v, want %v", n, got, want)
		}
	}
	s, tables := paper.Sample{}, []loadTable{{name: "t", axis: "load", xs: []float64{0.2, 0.3},
		cases: []configuration{{0.25, 0.2, 8}, {0.25, 0.3, 8}}}}
	if err := tables[0].run(t.Context(), s, 1); err != nil {
		t.Fatal(err)
	}
	part := tablesPart(paper.Part{}, tables, nil)
	for _, claim := range missClaims(&tables[0]) {
		if math.IsNaN(s.Of(claim.Figure)) {
			t.Errorf("there is no figure %q", claim.Figure)
		}
	}
	for _, row := range part.Grids[0].Rows {
		if len(row.Figures) != 2 || math.IsNaN(s.Of(row.Figures[0])) || math.IsNaN(s.Of(row.Figures[1])) {
			t.Errorf("there are no figures %q", row.Figures)
		}
	}
	low, high := s.Of("swing 0.25 load 0.2 most 8 missed FIFO"), s.Of("swing 0.25 load 0.3 most 8 missed FIFO")
	mean, least, most := s.Of("t missed FIFO"), s.Of("t least missed FIFO"), s.Of("t most missed FIFO")
	if math.Abs(mean-(low+high)/2) > 1e-9 || least != min(low, high) || most != max(low, high) {
		t.Errorf("of %v %% and %v %% the mean is %v %%", low, high, mean)
	}
	if len(tables[0].picture().Draw([]paper.Sample{s}).Lines) != len(rivals) {
		t.Error("a picture without its lines")
	}
}
