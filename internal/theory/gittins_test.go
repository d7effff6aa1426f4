package theory

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

func TestGittinsRanksByHand(t *testing.T) {
	for _, c := range []struct {
		name                string
		sizes, masses, want []float64
	}{
		// Nothing to doubt: what is left.
		{"one size", []float64{5}, []float64{1}, []float64{5}},
		// At age 0 stopping at 1 costs 1 for half a job; going on to 9 would cost 1 + 8/2 for a whole one. A job that
		// is older than 1 is 9.
		{"coin", []float64{1, 9}, []float64{1, 1}, []float64{2, 8}},
		// Here going on is worth it: 1 + 0.9·1 for a whole job, where stopping at 1 costs 1 for a tenth.
		{"rarely short", []float64{1, 2}, []float64{1, 9}, []float64{1.9, 1}},
		// Sizes that no job has do not count.
		{"gaps", []float64{1, 2, 3, 4}, []float64{0, 1, 0, 0}, []float64{2, 1, math.Inf(1), math.Inf(1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := GittinsRanks(c.sizes, c.masses)
			for i := range c.want {
				if math.Abs(got[i]-c.want[i]) > 1e-12 && got[i] != c.want[i] {
					t.Errorf("ranks %v, want %v", got, c.want)
				}
			}
		})
	}
}

// Against the definition, every stopping age tried.
func TestGittinsRanksAgainstDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "n")
		sizes, masses := make([]float64, n), make([]float64, n)
		at := 0.0
		for i := range n {
			at += rapid.Float64Range(0.1, 5).Draw(t, "gap")
			sizes[i], masses[i] = at, float64(rapid.IntRange(0, 5).Draw(t, "mass"))
		}
		got := GittinsRanks(sizes, masses)
		for k := range n {
			age := 0.0
			if k > 0 {
				age = sizes[k-1]
			}
			want := math.Inf(1)
			for stop := k; stop < n; stop++ {
				cost, done := 0.0, 0.0
				for i := k; i < n; i++ {
					cost += masses[i] * (min(sizes[i], sizes[stop]) - age)
					if i <= stop {
						done += masses[i]
					}
				}
				if done > 0 {
					want = min(want, cost/done)
				}
			}
			if got[k] != want && math.Abs(got[k]-want) > 1e-9*want {
				t.Fatalf("sizes %v, masses %v: rank %d is %v, by definition %v", sizes, masses, k, got[k], want)
			}
		}
	})
}

// Of jobs that are all there, whose sizes are 1 to 4 by laws that are known, no rule that does not know the sizes has a
// lower expected sum of sojourn times: the best of all is found by trying which job to serve next from every state.
func TestGittinsIsOptimal(t *testing.T) {
	const longest = 4
	sizes := []float64{1, 2, 3, 4}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "jobs")
		masses, ranks := make([][]float64, n), make([][]float64, n)
		for i := range n {
			masses[i] = make([]float64, longest)
			for k := range longest {
				masses[i][k] = float64(rapid.IntRange(0, 4).Draw(t, "mass"))
			}
			masses[i][longest-1]++ // that some size is possible
			ranks[i] = GittinsRanks(sizes, masses[i])
		}
		ages := make([]int, n) // longest: done
		var sum func(choose bool) float64
		sum = func(best bool) float64 {
			here, first := 0, -1
			for i, a := range ages {
				if a < longest {
					if here++; first < 0 || ranks[i][a] < ranks[first][ages[first]] {
						first = i
					}
				}
			}
			if here == 0 {
				return 0
			}
			least := math.Inf(1)
			for i, a := range ages {
				if a == longest || !best && i != first {
					continue
				}
				older := 0.0
				for _, m := range masses[i][a:] {
					older += m
				}
				p, value := masses[i][a]/older, float64(here)
				if p > 0 {
					ages[i] = longest
					value += p * sum(best)
				}
				if p < 1 {
					ages[i] = a + 1
					value += (1 - p) * sum(best)
				}
				ages[i] = a
				least = min(least, value)
			}
			return least
		}
		if gittins, best := sum(false), sum(true); gittins > best+1e-9 {
			t.Fatalf("masses %v: expected sum of sojourn times %v, the least is %v", masses, gittins, best)
		}
	})
}

// taught is a belief that has seen sizes and errors of lognormal laws, each quantile once, in an order without meaning.
func taught(size, miss distuv.Normal, n int) SizeBelief {
	var b SizeBelief
	chance := rand.New(rand.NewPCG(1, 2))
	order := chance.Perm(n)
	for i := range n {
		u, v := (float64(i)+0.5)/float64(n), (float64(order[i])+0.5)/float64(n)
		s := size.Quantile(u)
		b.Learn(math.Exp(s), math.Exp(s+miss.Quantile(v)))
	}
	return b
}

// Where sizes are lognormal the posterior is so as well, with weights by precision (normal prior, normal error; bias
// taken off): mean (m/τ² + (ln e − bias)/σ²) ÷ (1/τ² + 1/σ²), variance 1 ÷ (1/τ² + 1/σ²).
func TestPosteriorOfLognormal(t *testing.T) {
	size, miss := distuv.Normal{Mu: 2, Sigma: 1.5}, distuv.Normal{Mu: 0.3, Sigma: 1}
	b := taught(size, miss, 20000)
	if bias, spread := b.Error(); math.Abs(bias-0.3) > 1e-3 || math.Abs(spread-1) > 2e-3 {
		t.Errorf("error law of mean %v and deviation %v, want 0.3 and 1", bias, spread)
	}
	for _, estimate := range []float64{0, 2, 4} {
		sizes, masses := b.Posterior(math.Exp(estimate))
		logs := make([]float64, len(sizes))
		for i, s := range sizes {
			logs[i] = math.Log(s)
		}
		mean, deviation := stat.MeanStdDev(logs, masses)
		precision := 1/(1.5*1.5) + 1.
		want := (2/(1.5*1.5) + (estimate - 0.3)) / precision
		// A block is a quarter of an octave wide and a cell a sixteenth, which shifts a mean by less than a tenth of a
		// deviation.
		if math.Abs(mean-want) > 0.05 || math.Abs(deviation-1/math.Sqrt(precision)) > 0.03 {
			t.Errorf("of an estimate of e^%v: ln size of mean %.3f and deviation %.3f, want %.3f and %.3f", estimate,
				mean, deviation, want, 1/math.Sqrt(precision))
		}
		if got, want := b.Table().Expect(math.Exp(estimate)), math.Exp(want+1/precision/2); math.Abs(got-
			want) > 0.06*want {
			t.Errorf("of an estimate of e^%v: a mean size of %.3f, want %.3f", estimate, got, want)
		}
	}
}

// The table is the ranks of the posterior, with the ages at which they change.
func TestRankTable(t *testing.T) {
	b := taught(distuv.Normal{Mu: 1, Sigma: 2}, distuv.Normal{Sigma: 0.7}, 500)
	table := b.Table()
	middle := cellMiddle(cell(3.))
	sizes, masses := b.Posterior(middle)
	ranks := GittinsRanks(sizes, masses)
	age := 0.0
	for i, want := range ranks {
		got, until := table.Rank(middle, age)
		if math.Abs(got-want) > 1e-9*want || until < sizes[i] {
			t.Fatalf("at age %v: rank %v until %v, want %v until %v or later", age, got, until, want, sizes[i])
		}
		half, next := (age+sizes[i])/2, want
		if i+1 < len(ranks) {
			next = min(want, ranks[i+1])
		}
		evenly := (want + next) / 2
		if i == 0 {
			evenly = want - half
		}
		if got, same := table.Rank(middle, half); same != until || math.Abs(got-evenly) > 1e-9*want {
			t.Fatalf("at age %v: rank %v until %v, want %v until %v", half, got, same, evenly, until)
		}
		if until == sizes[i] && next < want {
			t.Fatalf("the rank %v at age %v is not to fall from %v on, where it is %v", want, age, until, next)
		}
		age = sizes[i]
	}
	if got, until := table.Rank(middle, 10*age); got != 10*age || until <= 10*age {
		t.Errorf("older than believed possible: rank %v until %v, want %v until more", got, until, 10*age)
	}
	for _, x := range []float64{0, 1e-300, 1e100} {
		for _, age := range []float64{0, 1e-300, 1, 1e100} {
			if rank, until := table.Rank(x, age); !(rank >= 0) || !(until > age) {
				t.Errorf("estimate %v, age %v: rank %v until %v", x, age, rank, until)
			}
		}
	}
	clear(table.rows)
	before, _ := table.Rank(3, 1)
	b.Counts[len(b.Counts)/2] += 1e6
	clear(table.rows)
	if after, _ := table.Rank(3, 1); after != before {
		t.Errorf("a table follows its belief: rank %v, then %v", before, after)
	}
}

// A belief that has learned nothing takes estimates for right within a factor of e; without errors ranks are what is
// left.
func TestSizeBeliefEnds(t *testing.T) {
	var none SizeBelief
	if bias, spread := none.Error(); bias != 0 || spread != 1 {
		t.Errorf("an error law of mean %v and deviation %v before anything is known, want 0 and 1", bias, spread)
	}
	var sure SizeBelief
	for i := range 100000 {
		sure.Learn(math.Exp(float64(i%100)/10), math.Exp(float64(i%100)/10))
	}
	table := sure.Table()
	for _, age := range []float64{0, 10, 40, 70} {
		rank, _ := table.Rank(80, age)
		if want := 80 - age; math.Abs(rank-want) > 0.05*80 {
			t.Errorf("of 80, known exactly, at age %v: rank %v, want %v within a cell", age, rank, want)
		}
	}
	var odd SizeBelief
	for _, x := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		odd.Learn(x, 1)
	}
	if odd.Learn(3, 0); odd.N != 0 || len(odd.Counts) != 1 {
		t.Errorf("sizes that are none, and one job without an estimate: %+v, want one size and no error", odd)
	}
	odd.Learn(1e-5, 1)
	odd.Learn(1e5, 1)
	if sum := odd.Counts[0] + odd.count(floorDiv(cell(3.), cellsPerBlock)) + odd.Counts[len(odd.Counts)-1]; sum != 3 {
		t.Errorf("three jobs far apart are counted as %v", odd.Counts)
	}
}

// The discipline against itself with nothing kept sorted: every job's rank looked up at every event.
func TestFluidGittinsPlainly(t *testing.T) {
	for seed := range uint64(40) {
		chance := rand.New(rand.NewPCG(seed, 1))
		jobs := make([]FluidJob, 40)
		at := 0.0
		for i := range jobs {
			at += chance.ExpFloat64()
			size := math.Exp(2*chance.NormFloat64() - 2)
			jobs[i] = FluidJob{Arrival: at, Size: size, Estimate: size * math.Exp(chance.NormFloat64())}
		}
		got := finish(t, GITTINS, jobs)
		want := plainGittins(jobs)
		for i := range jobs {
			if math.Abs(got[i]-want[i]) > 1e-6 {
				t.Fatalf("seed %d, job %d: done at %v, plainly at %v", seed, i, got[i], want[i])
			}
		}
	}
}

func plainGittins(jobs []FluidJob) []float64 {
	done, age := make([]float64, len(jobs)), make([]float64, len(jobs))
	order := indices(len(jobs))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(jobs[a].Arrival, jobs[b].Arrival) })
	var belief SizeBelief
	table, finished, relearn := belief.Table(), 0, 0
	for now, left := jobs[order[0]].Arrival, len(jobs); left > 0; {
		next, serve := math.Inf(1), -1
		var rank, until float64
		for _, i := range order {
			switch j := jobs[i]; {
			case j.Arrival > now:
				next = min(next, j.Arrival)
			case done[i] == 0:
				if r, u := table.Rank(j.Estimate, age[i]); serve < 0 || r < rank {
					serve, rank, until = i, r, u
				}
			}
		}
		if serve < 0 {
			now = next
			continue
		}
		j := jobs[serve]
		switch end := now + min(j.Size, until) - age[serve]; {
		case next < end:
			age[serve] += next - now
			now = next
		case j.Size <= until:
			now, done[serve] = end, end
			left--
			belief.Learn(j.Size, j.Estimate)
			if finished++; finished >= relearn {
				relearn = finished + finished/8 + 1
				table = belief.Table()
			}
		default:
			now, age[serve] = end, until
		}
	}
	return done
}

// FB-2009 at load 0.9 with lognormal errors: whatever their size, no discipline that goes by estimates, and none that
// goes by none, has a lower mean sojourn time. What it costs to learn from nothing is seen beside a server that knows
// the laws from the start.
func TestFluidGittinsOnFacebook(t *testing.T) {
	jobs := swimJobs(t, fb2009)
	const seeds = 3
	for _, sigma := range []float64{0.5, 1, 2} {
		means := map[Discipline]float64{}
		knowing := 0.0
		for seed := range uint64(seeds) {
			chance := rand.New(rand.NewPCG(seed, 5))
			var belief SizeBelief
			for i := range jobs {
				jobs[i].Estimate = jobs[i].Size * math.Exp(sigma*chance.NormFloat64())
				belief.Learn(jobs[i].Size, jobs[i].Estimate)
			}
			for _, d := range []Discipline{SRPT, FSP, PSBS, SPT, LAS, GITTINS} {
				means[d] += stat.Mean(sojourns(t, d, jobs), nil) / seeds
			}
			for i, at := range serveAll(newUncertain(len(jobs), belief), jobs) {
				knowing += (at - jobs[i].Arrival) / float64(len(jobs)) / seeds
			}
		}
		t.Logf("sigma %v: %.1f, knowing the laws %.1f; %v", sigma, means[GITTINS], knowing, means)
		for d, mean := range means {
			if d != GITTINS && mean <= means[GITTINS] {
				t.Errorf("sigma %v: %s has a mean of %.2f s, gittins %.2f", sigma, d, mean, means[GITTINS])
			}
		}
		if knowing > means[GITTINS] || means[GITTINS] > 1.1*knowing {
			t.Errorf("sigma %v: %.2f s, knowing the laws %.2f: want up to a tenth more", sigma, means[GITTINS], knowing)
		}
	}
	for i := range jobs {
		jobs[i].Estimate = jobs[i].Size
	}
	if got, srpt := stat.Mean(sojourns(t, GITTINS, jobs), nil), stat.Mean(sojourns(t, SRPT, jobs),
		nil); got > 1.01*srpt {
		t.Errorf("without errors %.2f s, under srpt %.2f: want within a hundredth", got, srpt)
	}
	chance := rand.New(rand.NewPCG(7, 7))
	for i := range jobs { // estimates that have nothing to do with the sizes
		jobs[i].Estimate = math.Exp(5 * chance.NormFloat64())
	}
	if got, las := stat.Mean(sojourns(t, GITTINS, jobs), nil), stat.Mean(sojourns(t, LAS, jobs), nil); got > 1.1*las {
		t.Errorf("with worthless estimates %.2f s, under las %.2f: want within a tenth", got, las)
	}
	if !slices.Contains(Disciplines(), GITTINS) {
		t.Error("gittins is not among the disciplines")
	}
}

// Errors of a factor of e and of e³ lie 1 about a mean of 2; with the one that stands for what was thought before, the
// bias is 2·2 ÷ 3 and the spread √((1 + 1 + 1) ÷ 3).
func TestSizeBeliefError(t *testing.T) {
	var b SizeBelief
	b.Learn(10, 10*math.E)
	b.Learn(4, 4*math.Exp(3))
	b.Learn(7, 0) // no estimate: nothing of errors
	bias, spread := b.Error()
	near(t, "bias", bias, 4.0/3, 1e-12)
	near(t, "spread", spread, 1, 1e-12)
}
