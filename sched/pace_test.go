package sched

import "testing"

// A task gets the smallest part over what it holds of a node, but for memory, and never more than all of the time.
func TestPace(t *testing.T) {
	capacity := Resources{VCores: 4, Memory: 1000, DiskIO: 100}
	used := Resources{VCores: 2, Memory: 1000, DiskIO: 80}
	for _, c := range []struct {
		what   string
		amount Resources
		part   float64 // that the node offers
		want   float64
	}{
		{"cores", Resources{VCores: 1}, 0.25, 0.5},
		{"memory besides", Resources{VCores: 1, Memory: 1000}, 0.25, 0.5},
		{"memory alone", Resources{Memory: 1000}, 0.25, 1},
		{"cores and disk", Resources{VCores: 1, DiskIO: 40}, 0.25, 0.3125},
		{"more is offered than used", Resources{VCores: 2, DiskIO: 80}, 0.9, 1},
		{"nothing is offered", Resources{VCores: 2}, 0, 0},
	} {
		if got := c.amount.Pace(used, capacity, c.part); got != c.want {
			t.Errorf("%s: %g of the time, want %g", c.what, got, c.want)
		}
	}
}
