package web

import "github.com/sojourn-sched/sojourn/sched"

// mostBins bounds the points of a curve over time. It is even, so that bins can be merged in pairs.
const mostBins = 720

// firstWidth is the width of a bin at the beginning of a run. It doubles whenever the run outgrows mostBins bins.
const firstWidth = sched.Time(1e6)

// A timeline keeps averages over time of any number of curves, in at most mostBins bins of equal width. The averages
// are exact, because each bin holds an integral. To add an interval costs O(curves) for each bin that it covers.
type timeline struct {
	width  sched.Time
	end    sched.Time // up to which values were added
	curves []curve
}

// A curve is the integral of a value over each bin, in units × seconds, and the value from now on.
type curve struct {
	sums []float64
	now  float64
}

// newTimeline returns a timeline of n curves.
func newTimeline(n int) *timeline {
	return &timeline{width: firstWidth, curves: make([]curve, n)}
}

// grow makes room for n curves in all. New curves were 0 until now.
func (t *timeline) grow(n int) {
	for len(t.curves) < n {
		t.curves = append(t.curves, curve{})
	}
}

// pass adds the present values of the curves for the time up to now.
func (t *timeline) pass(now sched.Time) {
	for now > t.width*mostBins {
		t.merge()
	}
	for t.end < now {
		bin := int(t.end / t.width)
		to := min(now, sched.Time(bin+1)*t.width)
		held := (to - t.end).Seconds()
		for i := range t.curves {
			c := &t.curves[i]
			for len(c.sums) <= bin {
				c.sums = append(c.sums, 0)
			}
			c.sums[bin] += c.now * held
		}
		t.end = to
	}
}

// merge makes bins twice as wide.
func (t *timeline) merge() {
	t.width *= 2
	for i := range t.curves {
		c := &t.curves[i]
		n := (len(c.sums) + 1) / 2
		for k := range n {
			sum := c.sums[2*k]
			if 2*k+1 < len(c.sums) {
				sum += c.sums[2*k+1]
			}
			c.sums[k] = sum
		}
		c.sums = c.sums[:n]
	}
}

// averages returns the average of curve i in each bin up to the end, the last bin as far as it goes.
func (t *timeline) averages(i int) []float64 {
	c := &t.curves[i]
	list := make([]float64, len(c.sums))
	for k, sum := range c.sums {
		from := sched.Time(k) * t.width
		if held := (min(from+t.width, t.end) - from).Seconds(); held > 0 {
			list[k] = sum / held
		}
	}
	return list
}
