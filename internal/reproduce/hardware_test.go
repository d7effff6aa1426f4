package reproduce

import "testing"

// Figure 3.1 and equation 3 come out as printed.
func TestHardwareArithmetic(t *testing.T) {
	for name, r := range rowsOf(t, hardwareArithmetic()) {
		if !r.Same() {
			t.Errorf("%s is %v, want %v", name, r.Median, r.Agrees)
		}
	}
}

// With affinity Montecarlo is more than twice as fast, and WordCount is faster, too.
func TestHardwareExperiment3(t *testing.T) {
	for name, r := range rowsOf(t, hardwareThree(0)) {
		if !r.Same() {
			t.Errorf("%s is %v, want %v", name, r.Median, r.Agrees)
		}
	}
}
