package theory_test

import (
	"math"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/theory"
)

func TestFspyF14LoadLevel(t *testing.T) {
	scale := theory.Scale{Alpha: 1 / math.Ln2, Beta: 6}
	for sum, want := range map[float64]float64{6400: 6, 12800: 7, 800: 3} { // over 100 s on 64
		if got := theory.LoadLevel([]float64{sum / 4, 3 * sum / 4}, 100, 64, scale); !near(got, want) {
			t.Errorf("%v: level %v, want %v", sum, got, want)
		}
	}
	// Of the 5894 jobs of FB-2009, 38 windows of 200 fit; the paper has 37.
	w := theory.Windows(5894, 200, 150)
	if len(w) != 38 || w[1] != (theory.Window{First: 150, End: 350}) ||
		w[36] != (theory.Window{First: 5400, End: 5600}) {
		t.Errorf("%d windows, the second %v, the 37th %v", len(w), w[1], w[36])
	}
}
