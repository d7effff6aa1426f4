package workload

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
)

// A Distribution gives its quantile at u, in (0, 1): the number that a part u of draws do not exceed. One uniform
// number makes a draw.
type Distribution interface{ Quantile(u float64) float64 }

// Constant is always itself.
type Constant float64

// Quantile returns the constant.
func (c Constant) Quantile(float64) float64 { return float64(c) }

// Uniform is evenly spread from Min to Max, Min ≤ Max.
type Uniform struct{ Min, Max float64 }

// Quantile returns Min + u·(Max − Min).
func (d Uniform) Quantile(u float64) float64 { return d.Min + float64(u*(d.Max-d.Min)) }

// Exponential has a positive Mean.
type Exponential struct{ Mean float64 }

// Quantile returns −Mean·ln(1 − u).
func (d Exponential) Quantile(u float64) float64 { return -d.Mean * math.Log1p(-u) }

// Lognormal is exp of a normal with mean ln(Median) and standard deviation Sigma; Median positive, Sigma from 0. Its
// mean is Median·exp(Sigma²/2).
type Lognormal struct{ Median, Sigma float64 }

// Quantile returns Median·exp(Sigma·Φ⁻¹(u)).
func (d Lognormal) Quantile(u float64) float64 {
	return d.Median * math.Exp(d.Sigma*normal(u))
}

// Pareto is the Pareto distribution from Min with tail index Alpha, cut at Max; all positive, Min < Max, Max may be
// infinite. Below an Alpha of 1 the mean of the uncut one is infinite.
type Pareto struct{ Min, Max, Alpha float64 }

// Quantile returns Min·(1 − u·(1 − (Min ÷ Max)^Alpha))^(−1 ÷ Alpha).
func (d Pareto) Quantile(u float64) float64 {
	within := 1 - math.Pow(d.Min/d.Max, d.Alpha) // of the uncut distribution's mass
	return d.Min * math.Pow(1-u*within, -1/d.Alpha)
}

// Zipf is Unit·k, k from 1 to n, with a probability proportional to k^(−s).
type Zipf struct {
	Unit       float64
	cumulative []float64
}

// zipfMax bounds the table that a Zipf keeps: eight bytes for each k.
const zipfMax = 1 << 22

// NewZipf returns the distribution; n is from 1 to 2^22, s is from 0, unit is positive.
func NewZipf(n int, s, unit float64) (*Zipf, error) {
	if n < 1 || n > zipfMax || !(s >= 0) || !(unit > 0) {
		return nil, fmt.Errorf("zipf n=%d, s=%v, unit=%v: n must be from 1 to %d, s from 0, unit positive", n, s,
			unit, zipfMax)
	}
	z := &Zipf{Unit: unit, cumulative: make([]float64, n)}
	sum := 0.0
	for k := range z.cumulative {
		sum += math.Pow(float64(k+1), -s)
		z.cumulative[k] = sum
	}
	return z, nil
}

// Quantile returns Unit·k for the smallest k that as much of the mass does not exceed.
func (z *Zipf) Quantile(u float64) float64 {
	n := len(z.cumulative)
	k := sort.SearchFloat64s(z.cumulative, u*z.cumulative[n-1])
	return z.Unit * float64(min(k, n-1)+1)
}

// A family is a kind of distribution that ParseDistribution knows.
type family struct {
	needs, may []string // parameters that must, and that may be given
	make       func(p map[string]float64) (Distribution, error)
}

// families are the kinds of distributions, by name.
var families = map[string]family{
	"uniform": {[]string{"min", "max"}, nil, func(p map[string]float64) (Distribution, error) {
		return checked(Uniform{p["min"], p["max"]}, p["min"] >= 0 && p["min"] <= p["max"])
	}},
	"exponential": {[]string{"mean"}, nil, func(p map[string]float64) (Distribution, error) {
		return checked(Exponential{p["mean"]}, p["mean"] > 0)
	}},
	"lognormal": {[]string{"median", "sigma"}, nil, func(p map[string]float64) (Distribution, error) {
		return checked(Lognormal{p["median"], p["sigma"]},
			p["median"] > 0 && p["sigma"] >= 0 && p["sigma"] <= sigmaMax)
	}},
	"pareto": {[]string{"min", "alpha"}, []string{"max"}, func(p map[string]float64) (Distribution, error) {
		return checked(Pareto{p["min"], p["max"], p["alpha"]},
			p["min"] > 0 && p["alpha"] > 0 && p["min"] < p["max"])
	}},
	"zipf": {[]string{"n", "s"}, []string{"unit"}, func(p map[string]float64) (Distribution, error) {
		if n := p["n"]; n != math.Trunc(n) || math.Abs(n) > zipfMax {
			return nil, fmt.Errorf("n must be a whole number from 1 to %d", zipfMax)
		}
		return NewZipf(int(p["n"]), p["s"], p["unit"])
	}},
}

// checked returns d if its parameters are allowed, else an error that says which are.
func checked(d Distribution, allowed bool) (Distribution, error) {
	if !allowed {
		return nil, fmt.Errorf("parameters must be positive, min below max, sigma at most %d", sigmaMax)
	}
	return d, nil
}

// ParseDistribution reads name:key=value,...: 1GiB (always that), uniform:min=0,max=2, exponential:mean=1GiB,
// lognormal:median=256MiB,sigma=2, pareto:min=64MiB,max=1TiB,alpha=1.2, zipf:n=1000,s=1.1,unit=64MiB.
// Numbers may be sizes.
func ParseDistribution(text string) (Distribution, error) {
	name, list, ok := strings.Cut(text, ":")
	if !ok {
		x, err := parseScalar(text)
		if err != nil || x < 0 {
			return nil, fmt.Errorf("distribution %q: must be a number, a size, or one of lognormal, pareto, zipf, "+
				"exponential, uniform with parameters", text)
		}
		return Constant(x), nil
	}
	f, ok := families[name]
	if !ok {
		return nil, fmt.Errorf("distribution %q: %s: known are lognormal, pareto, zipf, exponential, uniform", text,
			name)
	}
	p, err := f.parse(list)
	if err != nil {
		return nil, fmt.Errorf("distribution %q: %w", text, err)
	}
	d, err := f.make(p)
	if err != nil {
		return nil, fmt.Errorf("distribution %q: %w", text, err)
	}
	return d, nil
}

// parse reads the parameters of a distribution: key=value, with commas between them. Those that may be given, and are
// not, have their defaults.
func (f family) parse(list string) (p map[string]float64, err error) {
	p = map[string]float64{"max": math.Inf(1), "unit": 1}
	given := map[string]bool{}
	for item := range strings.SplitSeq(list, ",") {
		key, value, _ := strings.Cut(item, "=")
		if p[key], err = parseScalar(value); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if !slices.Contains(f.needs, key) && !slices.Contains(f.may, key) {
			return nil, fmt.Errorf("parameters must be among %s", strings.Join(slices.Concat(f.needs, f.may), " "))
		}
		given[key] = true
	}
	for _, key := range f.needs {
		if !given[key] {
			return nil, fmt.Errorf("needs %s", strings.Join(f.needs, " and "))
		}
	}
	return p, nil
}

// parseScalar reads a number or a size.
func parseScalar(text string) (float64, error) {
	if x, err := parseNumber(text); err == nil {
		return x, nil
	}
	n, err := ParseSize(text)
	if err != nil {
		return 0, fmt.Errorf("%q must be a number or a size", text)
	}
	return float64(n), nil
}
