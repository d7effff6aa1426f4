package workload

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

func TestChance(t *testing.T) {
	// Uniform numbers of n draws: mean 1/2 with a standard error of sqrt(1/12n), here 0.0009; normal ones: mean 0 ±
	// 0.0032, variance 1 ± 0.0045. Four standard errors are allowed.
	const n = 100_000
	var u, z, zz float64
	for k := range uint64(n) {
		c := NewChance(7).With(k)
		if x := c.Uniform(); x <= 0 || x >= 1 {
			t.Fatalf("draw %d: %v is not inside 0 and 1", k, x)
		}
		u += c.Uniform()
		z += c.Normal()
		zz += c.Normal() * c.Normal()
	}
	if math.Abs(u/n-0.5) > 0.0036 || math.Abs(z/n) > 0.0128 || math.Abs(zz/n-1) > 0.018 {
		t.Errorf("means of uniform %v, normal %v, normal² %v; want 0.5, 0, 1", u/n, z/n, zz/n)
	}
	for _, c := range []Chance{0, math.MaxUint64} {
		if x := c.Uniform(); x <= 0 || x >= 1 || math.IsInf(c.Normal(), 0) {
			t.Errorf("the ends of the range: %v, %v", x, c.Normal())
		}
	}
	if NewChance(1).With(2).With(3) == NewChance(1).With(3).With(2) {
		t.Error("order must matter: task 3 of stage 2 is not task 2 of stage 3")
	}
}

func TestDistributions(t *testing.T) {
	zipf, err := NewZipf(3, 1, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		d       Distribution
		u, want float64
	}{
		{Constant(5), 0.3, 5},
		{Uniform{2, 6}, 0.25, 3},
		{Exponential{10}, 1 - math.Exp(-2), 20},                    // 1 − exp(−x ÷ 10) at x = 20
		{Lognormal{8, 2}, 0.5, 8},                                  // the median
		{Lognormal{8, 2}, 0.8413447460685429, 8 * math.E * math.E}, // Φ(1)
		{Pareto{1, math.Inf(1), 2}, 0.75, 2},                       // 1 − x^−2 = 0.75 at 2
		{Pareto{1, 2, 1}, 1, 2},                                    // cut at 2
		{Pareto{1, 2, 1}, 0.5, 4.0 / 3},                            // (1 − 1/x) ÷ (1 − 1/2) = 0.5 at 4/3
		// Masses 1, 1/2, 1/3 of 11/6: up to 6/11 it is 10, up to 9/11 it is 20.
		{zipf, 0.54, 10}, {zipf, 0.55, 20}, {zipf, 0.81, 20}, {zipf, 0.82, 30}, {zipf, 1, 30},
	} {
		if got := c.d.Quantile(c.u); math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("%+v at %v: %v, want %v", c.d, c.u, got, c.want)
		}
	}
}

func TestParseDistribution(t *testing.T) {
	for text, want := range map[string]Distribution{
		"1GiB":                            Constant(1 << 30),
		"0.5":                             Constant(0.5),
		"uniform:min=0,max=2":             Uniform{0, 2},
		"exponential:mean=1KiB":           Exponential{1024},
		"lognormal:median=256MiB,sigma=2": Lognormal{256 << 20, 2},
		"pareto:min=1,alpha=1.2":          Pareto{1, math.Inf(1), 1.2},
		"pareto:min=1,max=1KiB,alpha=1.2": Pareto{1, 1024, 1.2},
	} {
		if d, err := ParseDistribution(text); err != nil || d != want {
			t.Errorf("%s: %+v, %v, want %+v", text, d, err, want)
		}
	}
	if d, err := ParseDistribution("zipf:n=100,s=1.1,unit=64MiB"); err != nil || d.Quantile(0) != 64<<20 {
		t.Errorf("zipf: %+v, %v", d, err)
	}
	for text, want := range map[string]string{
		"much":                         "must be a number, a size, or one of",
		"-1":                           "must be a number, a size",
		"gamma:k=1":                    "known are lognormal, pareto, zipf, exponential, uniform",
		"pareto:min=1":                 "needs min and alpha",
		"pareto:min=2,max=1,alpha=1":   "parameters must be positive, min below max",
		"lognormal:median=1,sigma=NaN": "sigma: \"NaN\" must be a number",
		"lognormal:median=1,sigma=9":   "sigma at most 5",
		"exponential:mean=1,min=2":     "parameters must be among mean",
		"zipf:n=1e9,s=1":               "n must be a whole number",
		"zipf:n=0,s=1":                 "n must be from 1",
	} {
		_, err := ParseDistribution(text)
		wantError(t, err, want)
	}
}

// instants returns when the first n jobs arrive, in seconds.
func instants(t *testing.T, a Arrivals, n int) []float64 {
	t.Helper()
	if err := a.Validate(); err != nil {
		t.Fatal(err)
	}
	c := a.clock(1)
	var all []float64
	for k := range uint64(n) {
		at, err := c.next(k + 1)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, at.Seconds())
	}
	if !slices.IsSorted(all) {
		t.Error("arrivals are not in order")
	}
	return all
}

// dispersion returns the variance of the numbers of arrivals in windows ÷ their mean: 1 for a Poisson process.
func dispersion(at []float64, width float64) float64 {
	counts := make([]float64, int(at[len(at)-1]/width))
	for _, x := range at {
		if k := int(x / width); k < len(counts) {
			counts[k]++
		}
	}
	var sum, squares float64
	for _, c := range counts {
		sum += c
		squares += c * c
	}
	mean := sum / float64(len(counts))
	return (squares/float64(len(counts)) - mean*mean) / mean
}

func TestArrivals(t *testing.T) {
	const n = 200_000
	poisson := instants(t, Arrivals{Gap: time.Second}, n)
	// The last of n arrivals is at n ± sqrt(n) s. The dispersion of m windows of mean 10 is 1 ± sqrt(2/m) = 0.01. Four
	// errors each.
	if last := poisson[n-1]; math.Abs(last-n) > 4*math.Sqrt(n) {
		t.Errorf("%d arrivals in %v s", n, last)
	}
	if d := dispersion(poisson, 10); math.Abs(d-1) > 0.04 {
		t.Errorf("Poisson arrivals have a dispersion of %v, want 1", d)
	}
	// On and off for 10 s and 30 s on average, 4 a second while on. Long counts of an interrupted Poisson process have
	// the dispersion 1 + 2·rate on·off² ÷ (on + off)², here 1 + 2·4·10·900 ÷ 1600 = 46. Windows of 400 s see 10
	// switches: nearly all of it.
	bursty := instants(t, Arrivals{Gap: time.Second, Burst: 4, On: 10 * time.Second}, n)
	if last := bursty[n-1]; math.Abs(last-n) > 4*math.Sqrt(46*n) {
		t.Errorf("%d bursty arrivals in %v s", n, last)
	}
	if d := dispersion(bursty, 400); d < 35 || d > 55 {
		t.Errorf("bursty arrivals have a dispersion of %v, want about 45", d)
	}
	if batch := instants(t, Arrivals{}, 3); batch[2] != 0 {
		t.Errorf("a batch arrives at %v", batch)
	}
	for _, bad := range []Arrivals{{Gap: -1}, {Gap: 1, Burst: 0.5}, {Gap: 1, Burst: math.NaN()},
		{Gap: time.Hour, On: time.Second}} {
		if bad.Validate() == nil {
			t.Errorf("%+v passes", bad)
		}
	}
}

func generator() Generator {
	return Generator{
		Jobs:     1000,
		Arrivals: Arrivals{Gap: time.Second},
		Input:    Lognormal{256 << 20, 1.5},
		Shuffle:  Uniform{0, 1},
		Output:   Constant(0.1),
		Users:    3,
		Queues:   []string{"etl", "adhoc"},
	}
}

func TestGenerator(t *testing.T) {
	g := generator()
	jobs, err := all(g.Source(Defaults()))
	if err != nil || len(jobs) != 1000 {
		t.Fatal(len(jobs), err)
	}
	again, _ := all(g.Source(Defaults()))
	if !reflect.DeepEqual(jobs, again) {
		t.Error("two passes differ")
	}
	g.Jobs, g.Arrivals.Gap = 10, time.Hour
	few, _ := all(g.Source(Defaults()))
	if !reflect.DeepEqual(few[9].Payload, jobs[9].Payload) || few[9].User != jobs[9].User {
		t.Error("job 10 depends on how many come, or when")
	}
	o := Defaults()
	o.Seed = 2
	other, _ := all(g.Source(o))
	if reflect.DeepEqual(few[0].Payload, other[0].Payload) {
		t.Error("another seed, the same job")
	}
	users := map[string]int{}
	for _, j := range jobs {
		users[j.User+" "+j.Queue]++
		if err := j.Validate(); err != nil {
			t.Errorf("%s: %v", j.Name, err)
		}
	}
	// Six kinds of 1000/6 = 167 ± 12 each: four standard errors.
	for _, u := range []string{"user1 etl", "user2 etl", "user3 etl", "user1 adhoc", "user2 adhoc", "user3 adhoc"} {
		if users[u] < 119 || users[u] > 215 {
			t.Errorf("%s has %d jobs of 1000", u, users[u])
		}
	}
	g.Input = Pareto{1 << 50, math.Inf(1), 0.1}
	_, err = all(g.Source(Defaults()))
	wantError(t, err, "bytes: must be from 0 to 2^60; cut the distribution")
	g.Input = nil
	_, err = all(g.Source(Defaults()))
	wantError(t, err, "input: needs a distribution")
}

func TestForLoad(t *testing.T) {
	c, err := ParseCluster("nodes=10,map-slots=3,reduce-slots=1,speed=2")
	if err != nil {
		t.Fatal(err)
	}
	g := generator()
	g, err = g.ForLoad(0.8, c, c.Options())
	if err != nil {
		t.Fatal(err)
	}
	var maps, reduces, last float64
	for job, err := range g.Source(c.Options()) {
		if err != nil {
			t.Fatal(err)
		}
		w := truth(job).Size(job)
		maps, reduces, last = maps+w[sched.MapSlots], reduces+w[sched.ReduceSlots], job.Submit.Seconds()
	}
	// 30 map slots and 10 reduce slots of speed 2. The time to the last of 1000 arrivals has a standard deviation of
	// 1/sqrt(1000) = 3.2 %.
	if load := max(maps/60, reduces/20) / last; math.Abs(load-0.8) > 0.8*4*0.032 {
		t.Errorf("load %v, want 0.8", load)
	}
	_, err = g.ForLoad(math.NaN(), c, c.Options())
	wantError(t, err, "load NaN: must be positive")
}

func TestFacebookMix(t *testing.T) {
	for _, n := range []int64{50, 100, 150} {
		jobs, err := all(FacebookMix(n, Arrivals{}, Defaults()))
		if err != nil || int64(len(jobs)) != n {
			t.Fatal(len(jobs), err)
		}
		sizes := map[int32]int64{}
		small := int64(0)
		for _, j := range jobs {
			maps, reduces := j.Stages[0].Tasks, j.Stages[1].Tasks
			if j.Name[:4] == "bin0" {
				if small++; maps > 25 {
					t.Errorf("%s has %d maps, want 1 to 25", j.Name, maps)
				}
			} else {
				sizes[maps]++
			}
			// From 5 % to 25 %, rounded, at least one.
			if lo, hi := math.Floor(0.05*float64(maps)), math.Ceil(0.25*float64(maps)); reduces < max(1, int32(lo)) ||
				reduces > max(1, int32(hi)) {
				t.Errorf("%s: %d reduces of %d maps", j.Name, reduces, maps)
			}
			if j.Submit != 0 {
				t.Errorf("%s submitted at %v", j.Name, j.Submit)
			}
		}
		if small != 29*n/50 {
			t.Errorf("%d jobs of %d in bin 0, want %d", small, n, 29*n/50)
		}
		for _, m := range []int32{25, 30, 35, 40, 50, 60, 80, 90, 100, 120, 150, 180, 200, 250, 320, 400, 600, 800,
			1200, 2400, 4800} {
			if sizes[m] != n/50 {
				t.Errorf("%d jobs of %d have %d maps, want %d", sizes[m], n, m, n/50)
			}
		}
	}
	// Medians of task times are exp(9.9511) ms = 20.98 s and exp(12.375) ms = 236.8 s; of n = 5000 jobs the logarithm's
	// median has a standard error of 1.2533·sigma ÷ sqrt(n) = 0.03: four of them.
	var maps, reduces []float64
	for job, err := range FacebookMix(5000, Arrivals{Gap: time.Second}, Defaults()) {
		if err != nil {
			t.Fatal(err)
		}
		m, _ := truth(job).Times(0)
		r, _ := truth(job).Times(1)
		maps, reduces = append(maps, m.Seconds()), append(reduces, r.Seconds())
	}
	slices.Sort(maps)
	slices.Sort(reduces)
	if m, r := math.Log(maps[2500]/20.98), math.Log(reduces[2500]/236.8); math.Abs(m) > 0.12 || math.Abs(r) > 0.12 {
		t.Errorf("medians of %v s and %v s, want 20.98 s and 236.8 s", maps[2500], reduces[2500])
	}
}
