package load

import "testing"

func TestJain(t *testing.T) {
	for _, c := range []struct {
		list []int64
		want float64
	}{
		{[]int64{5, 5, 5, 5}, 1},
		{[]int64{8, 0, 0, 0}, 0.25}, // one of four has everything
		{[]int64{1, 3}, 0.8},        // 4² ÷ (2·10)
		{nil, 0},
	} {
		if got := jain(c.list); got != c.want {
			t.Errorf("jain(%v) = %g, want %g", c.list, got, c.want)
		}
	}
}
