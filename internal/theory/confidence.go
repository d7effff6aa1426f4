package theory

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// A Confidence is a mean of independent values with a confidence interval: the true mean lies within Half of Mean with
// the probability that was asked for, if the values are normally distributed, or many.
type Confidence struct {
	Mean float64  `json:"mean"`
	Half *float64 `json:"half_width"` // nil: one value, which says nothing of chance
}

// Text writes the mean and half of the interval by a function that writes a number: 12.3 ± 0.4. An interval that is
// not known is a dash.
func (c Confidence) Text(number func(float64) string) string {
	half := "-"
	if c.Half != nil {
		half = number(*c.Half)
	}
	return number(c.Mean) + " ± " + half
}

// ConfidenceOf returns the mean of values with its interval at a level of confidence between 0 and 1: Student's t of
// n−1 degrees of freedom times the standard error.
func ConfidenceOf(values []float64, level float64) Confidence {
	n := float64(len(values))
	if len(values) < 2 {
		return Confidence{Mean: stat.Mean(values, nil)}
	}
	mean, deviation := stat.MeanStdDev(values, nil)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(1 - (1-level)/2)
	half := t * stat.StdErr(deviation, n)
	return Confidence{mean, &half}
}

// A Paired is how values differ from others that were had under the same conditions: the mean of a[i] − b[i], with its
// interval, and the probability of so large a mean, or a larger one, were there no difference (paired t-test).
type Paired struct {
	Confidence
	P float64 `json:"p"`
}

// Compared returns the paired difference of a against b, of equal length, at a level of confidence. P is 1 of fewer
// than two pairs. Where all pairs differ by the same it is 0, or 1 where they do not differ.
func Compared(a, b []float64, level float64) Paired {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	p := Paired{ConfidenceOf(d, level), 1}
	if len(d) < 2 {
		return p
	}
	n := float64(len(d))
	e := stat.StdErr(stat.StdDev(d, nil), n)
	switch {
	case e > 0:
		p.P = 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Survival(math.Abs(p.Mean)/e)
	case p.Mean != 0:
		p.P = 0
	}
	return p
}
