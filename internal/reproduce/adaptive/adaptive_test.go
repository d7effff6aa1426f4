package adaptive

import (
	"testing"

	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
)

// With relaxed goals adaptive meets more goals than fair, and Fair lets the joins pay.
func TestAdaptiveRelaxed(t *testing.T) {
	s, mix := paper.Sample{}, jobMix{mixJobs, false}
	for _, policy := range []string{"adaptive", "fair"} {
		if err := mix.under(t.Context(), s, mixRun{policy, policy, 3}); err != nil {
			t.Fatal(err)
		}
	}
	if s.Of("adaptive met") <= s.Of("fair met") || s.Of("fair J4") < 3 || s.Of("adaptive J2") > 1.02 {
		t.Errorf("goals: %v", s)
	}
}
