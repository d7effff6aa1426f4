package predict

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestSpec14_6Fits(t *testing.T) {
	for _, row := range []struct {
		of     Moments
		stages int
		rates  []float64
		p      float64
	}{
		{Moments{3, 9}, 1, []float64{1. / 3}, 1},
		{Moments{3, 3}, 3, []float64{1}, 1},
		{Moments{2, 1}, 4, []float64{2}, 1},
		{Moments{10, 0}, 100, []float64{10}, 1},
		{Moments{5, 50}, 1, []float64{0.31547005383792515, 0.08452994616207485}, 0.7886751345948129},
	} {
		l := fit(row.of)
		if l.n != len(row.rates) || l.parts[0].stages != row.stages {
			t.Errorf("%v: %+v", row.of, l)
		}
		for i, rate := range row.rates {
			near(t, "rate", l.parts[i].rate, rate, 1e-12)
		}
		near(t, "weight", l.parts[0].weight, row.p, 1e-12)
	}
}

func TestSpec14_6Minima(t *testing.T) {
	for _, row := range []struct {
		x, y          Moments
		first, second float64
		most          Moments
	}{
		{Moments{1, 1}, Moments{1, 1}, 0.5, 0.5, Moments{1.5, 1.25}},
		{Moments{2, 4}, Moments{3, 9}, 1.2, 2.88, Moments{3.8, 8.68}},
		{Moments{3, 3}, Moments{5, 50}, 1.9419440786976, 5.8161086407335, Moments{6.0580559213024, 44.483849813640}},
		{Moments{4, 2}, Moments{4, 2}, 3.2144775390625, 11.3230590820313, Moments{4.7855224609375, 1.7757156938314}},
		{Moments{5, 50}, Moments{5, 50}, 2.0833333333333, 10.4166666666667, Moments{7.9166666666667, 76.9097222222222}},
	} {
		first, second := minimum(fit(row.x), fit(row.y))
		near(t, "E[min]", first, row.first, 1e-12)
		near(t, "E[min²]", second, row.second, 1e-12)
		most := larger(row.x, row.y)
		near(t, "mean of the larger", most.Mean, row.most.Mean, 1e-12)
		near(t, "variance of the larger", most.Variance, row.most.Variance, 1e-12)
	}
}

// Property 8 of spec 14.15: a fit keeps the mean, and of a hyperexponential the variance too.
func TestSpec14_15FitKeepsMoments(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		m := Moments{Mean: math.Exp(r.NormFloat64())}
		m.Variance = m.Mean * m.Mean * math.Exp(2*r.NormFloat64())
		first, second := fit(m).raw()
		near(t, "mean", first, m.Mean, 1e-12)
		if m.Variance > m.Mean*m.Mean {
			near(t, "variance", second-first*first, m.Variance, 1e-9)
		}
	}
}

func TestQuantile(t *testing.T) {
	near(t, "median of an exponential", Moments{2, 4}.Quantile(0.5), 2*math.Ln2, 1e-12)
	near(t, "p95 of an exponential", Moments{2, 4}.Quantile(0.95), 2*math.Log(20), 1e-12)
	if got := (Moments{}).Quantile(0.95); got != 0 {
		t.Errorf("a time of zero has quantile %v", got)
	}
	// Two stages of rate 1: P(T > t) = (1 + t)·exp(−t), which is a half at 1.6783469900166605.
	near(t, "median of two stages", Moments{2, 2}.Quantile(0.5), 1.6783469900166605, 1e-12)
}
