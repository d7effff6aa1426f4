package model

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// A Regression is a linear model with a constant term, y ≈ θ0 + Σ θk·xk, fitted to what was observed last by
// generalised least squares.
type Regression struct {
	Rows    [][]float64 // oldest first, equally long, without the constant
	Targets []float64   // of Rows

	theta []float64 // of Rows; nil: to be fitted
}

// Weighting says which observations count how much in a fit: θ = (Xᵀ Ω⁻¹ X)⁻¹ Xᵀ Ω⁻¹ y with a diagonal Ω.
type Weighting uint8

// The weightings.
const (
	// Equal is ordinary least squares, Ω = 1.
	Equal Weighting = iota
	// Relative makes relative errors small (feasible generalised least squares): a first fit with Ω = 1 predicts ŷ, the
	// second has Ω_ii = max(ŷ_i, floor)². The floor is FitConfig.Least, but at least a thousandth of the mean of y.
	Relative
)

// A FitConfig says how a regression is fitted.
type FitConfig struct {
	Weighting Weighting
	Window    int     // observations kept; at least 1
	Ridge     float64 // of standardised columns, where they are not independent; > 0
	Least     float64 // seconds that a task is predicted to take at least; >= 0
}

// DefaultFit is FSPY's: ordinary least squares of the last 500 jobs, whose tasks take a second at least, as every
// container does.
var DefaultFit = FitConfig{Window: 500, Ridge: 1e-6, Least: 1}

// Add takes an observation into account, and forgets the oldest beyond the window. A row of another length than those
// before is not taken.
func (r *Regression) Add(row []float64, y float64, c FitConfig) {
	if len(r.Rows) > 0 && len(r.Rows[0]) != len(row) {
		return
	}
	r.Rows, r.Targets = append(r.Rows, row), append(r.Targets, y)
	if over := len(r.Rows) - c.Window; over > 0 {
		r.Rows, r.Targets = r.Rows[over:], r.Targets[over:]
	}
	r.theta = nil
}

// observed returns the regression with its observations alone.
func (r *Regression) observed() Regression { return Regression{Rows: r.Rows, Targets: r.Targets} }

// Ready reports whether there are twice as many observations as coefficients, from which on a prediction means
// something.
func (r *Regression) Ready() bool { return len(r.Rows) > 0 && len(r.Rows) >= 2*(1+len(r.Rows[0])) }

// Predict returns θ0 + Σ θk·xk for a row as long as those added. At least one row was added. With new observations it
// costs a fit, O(m·k²) for m observations.
func (r *Regression) Predict(row []float64, c FitConfig) float64 {
	if r.theta == nil {
		r.theta = Fit(r.Rows, r.Targets, c)
	}
	return Linear(r.theta, row)
}

// Linear returns θ0 + Σ θk·xk.
func Linear(theta, row []float64) float64 {
	y := theta[0]
	for k, x := range row {
		y += theta[k+1] * x
	}
	return y
}

// Fit returns the coefficients that fit rows to y, the constant first.
func Fit(rows [][]float64, y []float64, c FitConfig) []float64 {
	omega := make([]float64, len(y))
	for i := range omega {
		omega[i] = 1
	}
	theta := LeastSquares(rows, y, omega, c.Ridge)
	if floor := max(c.Least, weightedMean(y, omega)/1000); c.Weighting == Relative && floor > 0 {
		for i, row := range rows {
			p := max(Linear(theta, row), floor)
			omega[i] = p * p
		}
		theta = LeastSquares(rows, y, omega, c.Ridge)
	}
	return theta
}

// LeastSquares returns the coefficients θ, the constant first, that make Σ (y − θ0 − Σ θk·xk)² ÷ Ω smallest, for a
// diagonal Ω > 0. Columns are standardised and the system is solved by QR; where columns are not independent, ridge > 0
// makes the smallest of the solutions the answer.
func LeastSquares(rows [][]float64, y, omega []float64, ridge float64) []float64 {
	m, k := len(rows), len(rows[0])
	mean, scale := moments(rows, omega)
	solve := func(ridge float64) ([]float64, bool) {
		n := m
		if ridge > 0 {
			n += k
		}
		a, b := mat.NewDense(max(n, k+1), k+1, nil), mat.NewVecDense(max(n, k+1), nil)
		for i, row := range rows {
			w := 1 / math.Sqrt(omega[i])
			a.Set(i, 0, w)
			for j, x := range row {
				a.Set(i, j+1, w*(x-mean[j])/scale[j])
			}
			b.SetVec(i, w*y[i])
		}
		if ridge > 0 {
			for j := range k {
				a.Set(m+j, j+1, math.Sqrt(ridge*float64(m)))
			}
		}
		var qr mat.QR
		qr.Factorize(a)
		if ridge == 0 && !(qr.Cond() < dependent) {
			return nil, false
		}
		var theta mat.VecDense
		err := qr.SolveVecTo(&theta, false, b)
		return theta.RawVector().Data, err == nil
	}
	z, ok := solve(0)
	if !ok {
		if z, ok = solve(ridge); !ok {
			z = make([]float64, k+1)
			z[0] = weightedMean(y, omega)
		}
	}
	theta := append([]float64{z[0]}, make([]float64, k)...)
	for j := range k {
		theta[j+1] = z[j+1] / scale[j]
		theta[0] -= theta[j+1] * mean[j]
	}
	return theta
}

// dependent is the condition number from which on columns are not taken for independent.
const dependent = 1e10

// moments returns the mean and the standard deviation of each column, 1 where that is zero.
func moments(rows [][]float64, omega []float64) (mean, scale []float64) {
	k := len(rows[0])
	mean, scale = make([]float64, k), make([]float64, k)
	column := make([]float64, len(rows))
	for j := range k {
		for i, row := range rows {
			column[i] = row[j]
		}
		mean[j] = weightedMean(column, omega)
		for i := range column {
			column[i] = (column[i] - mean[j]) * (column[i] - mean[j])
		}
		if scale[j] = math.Sqrt(weightedMean(column, omega)); !(scale[j] > 1e-12*math.Abs(mean[j])) {
			scale[j] = 1
		}
	}
	return mean, scale
}

func weightedMean(x, omega []float64) float64 {
	sum, weights := 0.0, 0.0
	for i := range x {
		sum += x[i] / omega[i]
		weights += 1 / omega[i]
	}
	return sum / weights
}

// R2 returns 1 − Σ(y − ŷ)² ÷ Σ(y − ȳ)², the part of the variance that predictions explain. It is 1 when all predictions
// are right, below 0 when the mean would have been better, and NaN where y does not vary.
func R2(y, predicted []float64) float64 {
	mean := 0.0
	for _, v := range y {
		mean += v / float64(len(y))
	}
	wrong, all := 0.0, 0.0
	for i, v := range y {
		wrong += (v - predicted[i]) * (v - predicted[i])
		all += (v - mean) * (v - mean)
	}
	if all == 0 {
		return math.NaN()
	}
	return 1 - wrong/all
}
