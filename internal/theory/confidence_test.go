package theory

import (
	"math"
	"testing"
)

// Student's own data of 1908: the hours of sleep that two drugs gave ten patients. The mean difference is 1.58 h, t is
// 4.0621 with 9 degrees of freedom, p is 0.00283; the 95 % interval is 0.70 to 2.46 (the data set sleep of R).
func TestComparedStudent(t *testing.T) {
	a := []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	b := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	p := Compared(a, b, 0.95)
	if math.Abs(p.Mean-1.58) > 1e-9 || math.Abs(*p.Half-0.8799) > 1e-4 || math.Abs(p.P-0.002833) > 1e-6 {
		t.Errorf("%+v", p)
	}
	if one := Compared(a[:1], b[:1], 0.95); one.P != 1 || one.Half != nil || math.Abs(one.Mean-1.2) > 1e-9 {
		t.Errorf("one pair: %+v", one)
	}
	if same := Compared(a, a, 0.95); same.Mean != 0 || *same.Half != 0 || same.P != 1 {
		t.Errorf("no difference: %+v", same)
	}
}
