package model

import (
	"math"
	"math/rand/v2"
	"testing"
)

func near(a, b, relative float64) bool {
	return math.Abs(a-b) <= relative*max(1, math.Abs(a), math.Abs(b))
}

func TestFspyF15LeastSquares(t *testing.T) {
	rows, y := [][]float64{{1}, {2}, {3}}, []float64{1, 2, 2}
	for _, c := range []struct{ omega, want []float64 }{
		{[]float64{1, 1, 4}, []float64{4. / 9, 2. / 3}},
		{[]float64{1, 1, 1}, []float64{2. / 3, 1. / 2}},
	} {
		got := LeastSquares(rows, y, c.omega, 1e-6)
		for k := range c.want {
			if !near(got[k], c.want[k], 1e-12) {
				t.Errorf("Ω = %v: θ = %v, want %v", c.omega, got, c.want)
			}
		}
	}
}

// randomJobs are rows as a probe gives them for maps: features of very different size; two of them are n and n·ln n.
func randomJobs(r *rand.Rand, n int) (rows [][]float64) {
	for range n {
		x := Features{
			Maps:       float64(1 + r.IntN(500)),
			Input:      r.Float64() * 1e12,
			MapTime:    r.ExpFloat64() * 1e4,
			MapOut:     r.Float64() * 1e11,
			MapRecords: r.Float64() * 1e9,
		}
		rows = append(rows, x.MapRow())
	}
	return rows
}

var theta = []float64{10, 2, 5e-8, 1.1, 2e-8, 3e-7, 1e-8}

// What is exactly linear is recovered to a millionth, by both weightings, from as many jobs as make a model ready.
func TestFitExact(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 15))
		for _, w := range []Weighting{Equal, Relative} {
			c := DefaultFit
			c.Weighting = w
			var m Regression
			for _, row := range randomJobs(r, 16) {
				m.Add(row, Linear(theta, row), c)
			}
			if !m.Ready() {
				t.Fatal("16 observations are not enough for 7 coefficients")
			}
			for _, row := range randomJobs(r, 10) {
				if got, want := m.Predict(row, c), Linear(theta, row); !near(got, want, 1e-6) {
					t.Fatalf("seed %d, weighting %d: predicted %v, want %v", seed, w, got, want)
				}
			}
		}
	}
}

// With an error that grows with y, the relative fit is nearer to the truth for small jobs: of 100 data sets the one
// with the smaller mean relative error is the relative fit in far more than half. It is so whether jobs take minutes or
// milliseconds.
func TestFitRelative(t *testing.T) {
	for _, unit := range []float64{1, 1e-4} { // seconds
		if better := betterRelative(unit); better < 75 {
			t.Errorf("in units of %v s better in %d of 100, want at least 75", unit, better)
		}
	}
}

// betterRelative returns for how many of 100 data sets the relative fit has the smaller mean relative error. Times are
// in units of so many seconds.
func betterRelative(unit float64) (better int) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 16))
		var rows [][]float64
		var y []float64
		for range 60 {
			x := math.Exp(r.NormFloat64() * 2)
			rows, y = append(rows, []float64{x}), append(y, unit*(5+20*x)*math.Exp(0.3*r.NormFloat64()))
		}
		wrong := func(w Weighting) (sum float64) {
			fit := Fit(rows, y, FitConfig{Weighting: w, Ridge: 1e-6})
			for _, x := range []float64{0.1, 0.5, 1, 2} {
				sum += math.Abs(Linear(fit, []float64{x})/(unit*(5+20*x)) - 1)
			}
			return sum
		}
		if wrong(Relative) < wrong(Equal) {
			better++
		}
	}
	return better
}

// Columns that repeat each other, or do not vary, leave the coefficients open: predictions hold nevertheless.
func TestFitDependent(t *testing.T) {
	var rows [][]float64
	var y []float64
	for i := range 20 {
		x := float64(i)
		rows, y = append(rows, []float64{x, 2 * x, 7}), append(y, 3+5*x)
	}
	fit := Fit(rows, y, DefaultFit)
	if got := Linear(fit, []float64{30, 60, 7}); !near(got, 153, 1e-4) {
		t.Errorf("predicted %v, want 153", got)
	}
	few := Fit(rows[:2], y[:2], DefaultFit) // fewer observations than coefficients
	if got := Linear(few, rows[1]); !near(got, y[1], 1e-3) {
		t.Errorf("of two observations the second is %v, want %v", got, y[1])
	}
}

func TestRegressionWindow(t *testing.T) {
	c := FitConfig{Window: 4, Ridge: 1e-6}
	var m Regression
	for i := range 10 {
		y := 1000.0
		if i >= 6 {
			y = 2 * float64(i)
		}
		m.Add([]float64{float64(i)}, y, c)
	}
	if got := m.Predict([]float64{20}, c); len(m.Rows) != 4 || !near(got, 40, 1e-9) {
		t.Errorf("of %d observations 20 is %v, want 40 of the last 4", len(m.Rows), got)
	}
}

func TestR2(t *testing.T) {
	y := []float64{1, 2, 3} // Σ(y−ȳ)² = 2
	for _, c := range []struct {
		predicted []float64
		want      float64
	}{{[]float64{1, 2, 3}, 1}, {[]float64{2, 2, 2}, 0}, {[]float64{1, 2, 2}, 0.5}, {[]float64{3, 2, 1}, -3}} {
		if got := R2(y, c.predicted); got != c.want {
			t.Errorf("predicted %v: %v, want %v", c.predicted, got, c.want)
		}
	}
	if !math.IsNaN(R2([]float64{2, 2}, []float64{1, 1})) {
		t.Error("targets that do not vary have an R²")
	}
}
