package workload

import (
	"fmt"
	"math"
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

// ParseDistribution reads name:key=value,...: 1GiB (always that), uniform:min=0,max=2, exponential:mean=1GiB,
// lognormal:median=256MiB,sigma=2, pareto:min=64MiB,max=1TiB,alpha=1.2, zipf:n=1000,s=1.1,unit=64MiB.
// Numbers may be sizes.
func ParseDistribution(text string) (Distribution, error) {
	name, list, ok := strings.Cut(text, ":")
	if !ok {
		x, err := parseScalar(text)
		if err != nil || x < 0 {
			return nil, fmt.Errorf(
				"distribution %q: must be a number, a size, or one of lognormal, pareto, zipf, exponential, uniform "+
					"with parameters",
				text,
			)
		}
		return Constant(x), nil
	}
	p := map[string]float64{"max": math.Inf(1), "unit": 1, "min": 0}
	given := map[string]bool{}
	for item := range strings.SplitSeq(list, ",") {
		key, value, _ := strings.Cut(item, "=")
		x, err := parseScalar(value)
		if err != nil {
			return nil, fmt.Errorf("distribution %q: %s: %w", text, key, err)
		}
		p[key], given[key] = x, true
	}
	need := map[string]string{"uniform": "min max", "exponential": "mean", "lognormal": "median sigma",
		"pareto": "min alpha", "zipf": "n s"}[name]
	may := need + map[string]string{"pareto": " max", "zipf": " unit"}[name]
	if need == "" {
		return nil, fmt.Errorf("distribution %q: %s: known are lognormal, pareto, zipf, exponential, uniform", text,
			name)
	}
	for _, key := range strings.Fields(need) {
		if !given[key] {
			return nil, fmt.Errorf("distribution %q: needs %s", text, strings.ReplaceAll(need, " ", " and "))
		}
		delete(given, key)
	}
	for key := range given {
		if !strings.Contains(" "+may+" ", " "+key+" ") {
			return nil, fmt.Errorf("distribution %q: parameters must be among %s", text, may)
		}
	}
	var d Distribution
	bad := false
	switch name {
	case "uniform":
		d, bad = Uniform{p["min"], p["max"]}, p["min"] < 0 || p["min"] > p["max"]
	case "exponential":
		d, bad = Exponential{p["mean"]}, p["mean"] <= 0
	case "lognormal":
		d, bad = Lognormal{p["median"], p["sigma"]}, p["median"] <= 0 || p["sigma"] < 0 || p["sigma"] > sigmaMax
	case "pareto":
		d, bad = Pareto{p["min"], p["max"], p["alpha"]}, p["min"] <= 0 || p["alpha"] <= 0 || p["min"] >= p["max"]
	case "zipf":
		if p["n"] != math.Trunc(p["n"]) || math.Abs(p["n"]) > zipfMax {
			return nil, fmt.Errorf("distribution %q: n must be a whole number from 1 to %d", text, zipfMax)
		}
		return NewZipf(int(p["n"]), p["s"], p["unit"])
	}
	if bad {
		return nil, fmt.Errorf("distribution %q: parameters must be positive, min below max, sigma at most %d",
			text, sigmaMax)
	}
	return d, nil
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
