package paper

import (
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/theory"
)

// PointOf returns a point of a picture: the median of a figure over trials, from the least to the greatest. Trials
// without the figure do not count.
func PointOf(samples []Sample, x float64, figure string) chart.Point {
	var values []float64
	for _, s := range samples {
		if v := s.Of(figure); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return chart.Point{X: x}
	}
	median, low, high := Spread(values)
	return chart.Point{X: x, Y: median, Low: low, High: high}
}

// Spread returns median, least and greatest of at least one value.
func Spread(values []float64) (median, low, high float64) {
	s := slices.Sorted(slices.Values(values))
	return theory.Percentile(s, 50), s[0], s[len(s)-1]
}

// Mean returns the mean of at least one number.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Gain returns by how many percent a time of ours is better than that of a baseline, as speedups are counted:
// base ÷ ours − 1.
func Gain(base, ours float64) float64 { return 100 * (base/ours - 1) }
