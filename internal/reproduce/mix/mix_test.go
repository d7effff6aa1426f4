package mix

import (
	"errors"
	"maps"
	"math"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/papertest"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
)

// A trial has every figure that claims and pictures ask for; the first policy is predicted from its own record, which
// is the same simulation.
func TestMixTrial(t *testing.T) {
	policies := []string{"fifo", "fspy:uber-maps=0"}
	s, err := runTrial(t.Context(), papertest.SmallMix(t), policies)
	if err != nil {
		t.Fatal(err)
	}
	part := policiesPart("Small", "small", testbed.Machine, policies)
	wrong := maps.Clone(s)
	s.Set("was right "+policies[1], 100)
	wrong.Set("was right "+policies[1], 0)
	maps.Copy(s, part.Over([]paper.Sample{s, s, wrong, s}))
	if right := s.Of("right " + policies[1]); right != 75 {
		t.Errorf("right in %v %% of the trials, want 75: in three of four", right)
	}
	for _, c := range part.Claims {
		if math.IsNaN(s.Of(c.Figure)) {
			t.Errorf("no figure %q", c.Figure)
		}
	}
	if own, other := s.Of("sim, own record fifo"), s.Of("sim, record of fifo fifo"); own != other {
		t.Errorf("fifo from its own record: %v and %v", own, other)
	}
	if len(s["sojourns fifo"]) != 3 {
		t.Errorf("sojourn times %v", s["sojourns fifo"])
	}
	if _, err := Paper().Parts[0].Trial(t.Context(), paper.Lab{}, 1); !errors.As(err, new(paper.Missing)) {
		t.Errorf("without a folder: %v", err)
	}
}
