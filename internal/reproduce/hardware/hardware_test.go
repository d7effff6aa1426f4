package hardware

import (
	"testing"

	"github.com/sojourn-sched/sojourn/internal/reproduce/papertest"
)

// Figure 3.1 and equation 3 come out as printed.
func TestHardwareArithmetic(t *testing.T) {
	for name, r := range papertest.Rows(t, arithmeticPart()) {
		if !r.Same() {
			t.Errorf("%s is %v, want %v", name, r.Median, r.Agrees)
		}
	}
}

// With affinity Montecarlo is more than twice as fast, and WordCount is faster, too.
func TestHardwareExperiment3(t *testing.T) {
	for name, r := range papertest.Rows(t, threePart(0)) {
		if !r.Same() {
			t.Errorf("%s is %v, want %v", name, r.Median, r.Agrees)
		}
	}
}
