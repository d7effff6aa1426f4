package theory

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// known makes jobs from (arrival, size) pairs, with exact estimates.
func known(pairs ...[2]float64) []FluidJob {
	jobs := make([]FluidJob, len(pairs))
	for i, p := range pairs {
		jobs[i] = FluidJob{Arrival: p[0], Size: p[1], Estimate: p[1]}
	}
	return jobs
}

// FSPY's specification, F11: the fair-sojourn property on three small cases.
func TestFluidF11(t *testing.T) {
	for _, c := range []struct {
		jobs    []FluidJob
		ps, fsp []float64
	}{
		{known([2]float64{0, 3}, [2]float64{0, 2}, [2]float64{0, 1}), []float64{6, 5, 3}, []float64{6, 3, 1}},
		{known([2]float64{0, 10}, [2]float64{1, 3}, [2]float64{2, 2}), []float64{15, 9, 8}, []float64{15, 6, 4}},
		{known([2]float64{0, 100}, [2]float64{10, 100}, [2]float64{20, 100}, [2]float64{30, 10}),
			[]float64{285, 305, 310, 70}, []float64{110, 210, 310, 40}},
	} {
		nearAll(t, "ps", finish(t, PS, c.jobs), c.ps, exact)
		nearAll(t, "fsp", finish(t, FSP, c.jobs), c.fsp, exact)
		nearAll(t, "psbs", finish(t, PSBS, c.jobs), c.fsp, exact)
	}
	// F8, exact zeros: C 3, B 5, A 6.
	nearAll(t, "ps", finish(t, PS, known([2]float64{0, 3}, [2]float64{0, 2}, [2]float64{0, 1})),
		[]float64{6, 5, 3}, exact)
}

// Cases small enough to follow by hand.
func TestFluidByHand(t *testing.T) {
	starvation := known([2]float64{0, 15}, [2]float64{0, 10}, [2]float64{10, 10}, [2]float64{20, 10})
	for _, c := range []struct {
		name string
		d    Discipline
		jobs []FluidJob
		want []float64
	}{
		{"nobody", PS, nil, nil},
		{"in turn", FIFO, known([2]float64{0, 10}, [2]float64{5, 10}, [2]float64{30, 1}), []float64{10, 20, 31}},
		// A nothing behind a something waits for it in FIFO; everywhere else it goes first.
		{"nothing waits", FIFO, known([2]float64{0, 10}, [2]float64{5, 0}), []float64{10, 10}},
		{"nothing first", PS, known([2]float64{0, 10}, [2]float64{5, 0}), []float64{10, 5}},
		{"nothing first", LAS, known([2]float64{0, 10}, [2]float64{5, 0}), []float64{10, 5}},
		{"nothing first", SRPT, known([2]float64{0, 10}, [2]float64{5, 0}), []float64{10, 5}},
		{"nothing first", FSP, known([2]float64{0, 10}, [2]float64{5, 0}), []float64{10, 5}},
		{"input order is not arrival order", FIFO, known([2]float64{5, 10}, [2]float64{0, 10}), []float64{20, 10}},
		// A alone to 5; both at ½ until A's other 5 are done at 15, when B has had 5; B alone to 20.
		{"half each", PS, known([2]float64{0, 10}, [2]float64{5, 10}), []float64{15, 20}},
		// Weights 3:1: A at ¾ is done at 8, when B has had 2 of its 6; B alone to 12.
		{"by weight", PS, []FluidJob{{0, 6, 6, 3}, {0, 6, 6, 1}}, []float64{8, 12}},
		{"no weight is weight 1", PS, []FluidJob{{0, 6, 6, 3}, {0, 6, 6, 0}}, []float64{8, 12}},
		// The long job has had 20 at 20; the new one is served alone until it is done.
		{"newcomer first", LAS, known([2]float64{0, 100}, [2]float64{20, 10}), []float64{110, 30}},
		// A has had 4 at 4; B alone to 8, where it has caught up; both at ½ until B's other 2 are done at 12; A's 4 to
		// 16.
		{"catching up", LAS, known([2]float64{0, 10}, [2]float64{4, 6}), []float64{16, 12}},
		// Job 1 and 2 have had 5 each at 10; 3 catches up at 15; 4, from 20 (each has had 6⅔ of 10), at 26⅔;
		// then four at ¼: 3⅓ each take 13⅓ to 40; job 1's last 5 to 45.
		{"groups merge", LAS, starvation, []float64{45, 40, 40, 40}},
		{"shortest remaining", SRPT, starvation, []float64{45, 10, 20, 30}},
		// Virtually the first pair has had 5 each at 10, the three 3⅓ more by 20; then 4 jobs: job 2's 1⅔ and job 1's
		// 6⅔ come before the others' 6⅔ and 10; ties go to the earlier.
		{"first under sharing", FSP, starvation, []float64{25, 10, 35, 45}},
		// SRPT lets A (2 left at 8) end before B of 5; SPT does not look at what is left and lets B (5 < 10) go first.
		{"remaining counts", SRPT, known([2]float64{0, 10}, [2]float64{8, 5}), []float64{10, 15}},
		{"original counts", SPT, known([2]float64{0, 10}, [2]float64{8, 5}), []float64{15, 13}},
		// All but the last have had 2 at 12, where A and E end: in thirds and fifths that sum to a little more than 12.
		// G, which arrives there, must not come before what is left of them. It has caught up at 14; five at ⅕ to 19,
		// where B, F and G end; C and D at ½ to 21, C to 23.
		{"end and arrival at once", LAS, known([2]float64{0, 2}, [2]float64{0, 3}, [2]float64{2, 6}, [2]float64{0, 4},
			[2]float64{1, 2}, [2]float64{0, 3}, [2]float64{12, 3}), []float64{12, 19, 23, 21, 12, 19, 19}},
		// Equal jobs: no preemption.
		{"tie", SRPT, known([2]float64{0, 10}, [2]float64{0, 10}, [2]float64{0, 10}), []float64{10, 20, 30}},
	} {
		t.Run(c.name+" "+string(c.d), func(t *testing.T) {
			nearAll(t, "done", finish(t, c.d, c.jobs), c.want, exact)
		})
	}
}

// What wrong estimates do, by hand.
func TestFluidLateJobs(t *testing.T) {
	for _, c := range []struct {
		name string
		d    Discipline
		jobs []FluidJob // arrival, size, estimate, weight
		want []float64
	}{
		// A is believed to be 2 and is 10: from 2 on its estimated remaining size is below zero, so B of 1 waits.
		{"srpt late job stays first", SRPT, []FluidJob{{0, 10, 2, 1}, {5, 1, 1, 1}}, []float64{10, 11}},
		// Not yet late at 1: A is believed to have 1 left, B ½, so B goes first.
		{"srpt before it is late", SRPT, []FluidJob{{0, 10, 2, 1}, {1, 0.5, 0.5, 1}}, []float64{10.5, 1.5}},
		// SPT never notices: B of 1 preempts A believed to be 2.
		{"spt", SPT, []FluidJob{{0, 10, 2, 1}, {5, 1, 1, 1}}, []float64{11, 6}},
		// A and B (estimates 2, 3) are virtually done at 4 and 5; A runs to 6 before B, C (arrived 5) waits for both.
		{"fsp late jobs in virtual order", FSP, []FluidJob{{0, 6, 2, 1}, {0, 6, 3, 1}, {5, 1, 1, 1}},
			[]float64{6, 12, 13}},
		// The same: A (1 left) and B (6) share from 5; C, virtually alone, is late at 6, and three share: A's last ½ is
		// done at 7½, C's other ½ at 8½, B's 4½ at 13.
		{"psbs late jobs share", PSBS, []FluidJob{{0, 6, 2, 1}, {0, 6, 3, 1}, {5, 1, 1, 1}}, []float64{7.5, 13, 8.5}},
		// Weight 3 for B: virtual rates ¼ and ¾; tags A 2, B 1: B runs first and is late at 4 of its 6; A is late at 5
		// (B has had 5). B at ¾ has its last 1 at 6⅓, A ⅓ of it meanwhile; A's other 5⅔ end at 12.
		{"psbs late jobs share by weight", PSBS, []FluidJob{{0, 6, 2, 1}, {0, 6, 3, 3}}, []float64{12, 6 + 1.0/3}},
		// Over-estimated: A believed to be 100 is really done at 2; its virtual twin goes on and only slows the virtual
		// clock of others. B (5, of 4) then runs alone.
		{"fsp over-estimate", FSP, []FluidJob{{0, 2, 100, 1}, {5, 4, 4, 1}}, []float64{2, 9}},
		{"psbs over-estimate", PSBS, []FluidJob{{0, 2, 100, 1}, {5, 4, 4, 1}}, []float64{2, 9}},
		// An estimate of nothing makes a job late at once: it runs before all that are not.
		{"psbs estimate zero", PSBS, []FluidJob{{0, 10, 10, 1}, {1, 3, 0, 1}}, []float64{13, 4}},
		// LAS, PS and FIFO do not read estimates.
		{"las ignores estimates", LAS, []FluidJob{{0, 10, 1, 1}, {4, 6, 99, 1}}, []float64{16, 12}},
	} {
		t.Run(c.name, func(t *testing.T) { nearAll(t, "done", finish(t, c.d, c.jobs), c.want, exact) })
	}
}

// A leftist heap of n has a right spine of at most log2(n+1), whatever the order of insertion: that bounds the cost of
// an event, and the depth of recursion, under LAS.
func TestAttainedMergesInLogarithmicTime(t *testing.T) {
	const n = 1023
	for name, size := range map[string]func(int) float64{
		"rising":  func(i int) float64 { return float64(i) },
		"falling": func(i int) float64 { return float64(-i) },
		"mixed":   func(i int) float64 { return float64(i * 7919 % n) },
	} {
		s := newAttained(n)
		for i := range n {
			s.add(int32(i), FluidJob{Size: size(i)})
		}
		spine := 0
		for i := s.groups[0].root; i >= 0; i = s.heap[i].right {
			spine++
		}
		if spine > 10 {
			t.Errorf("%s sizes: right spine of %d, want at most 10", name, spine)
		}
	}
}

func TestFluidRefusesBadJobs(t *testing.T) {
	good := FluidJob{1, 1, 1, 1}
	for _, c := range []struct {
		job  FluidJob
		want string
	}{
		{FluidJob{math.NaN(), 1, 1, 1}, "arrival NaN"},
		{FluidJob{1, -1, 1, 1}, "size -1"},
		{FluidJob{1, math.Inf(1), 1, 1}, "size +Inf"},
		{FluidJob{1, 1, math.NaN(), 1}, "estimate NaN"},
		{FluidJob{1, 1, 1, -2}, "weight -2"},
	} {
		_, err := Fluid(PS, []FluidJob{good, c.job})
		if err == nil || !strings.Contains(err.Error(), "job 1: "+c.want) {
			t.Errorf("%+v: error %v, want one that says job 1: %s", c.job, err, c.want)
		}
	}
	if _, err := Fluid("gps", []FluidJob{good}); err == nil || !strings.Contains(err.Error(), `"gps"`) {
		t.Errorf("unknown discipline: error %v", err)
	}
}

// drawFluid yields jobs with true sizes, and estimates equal to them if known.
func drawFluid(t *rapid.T, exactSizes bool) []FluidJob {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) FluidJob {
		j := FluidJob{
			Arrival: float64(rapid.IntRange(0, 60).Draw(t, "arrival")),
			Size:    float64(rapid.IntRange(0, 40).Draw(t, "size")) / 4,
			Weight:  float64(rapid.IntRange(1, 4).Draw(t, "weight")),
		}
		j.Estimate = j.Size
		if !exactSizes {
			j.Estimate = float64(rapid.IntRange(0, 40).Draw(t, "estimate")) / 4
		}
		return j
	}), 1, 30).Draw(t, "jobs")
}

func latest(done []float64) float64 { return slices.Max(done) }

// tolerance of sums of a few hundred float64 operations on numbers below 1000.
const rounding = 1e-9

// All disciplines keep the server busy while there is work: in every busy period the last completion is the same, exact
// sizes or not, and no job is done before it could be alone.
func TestFluidConservesWork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawFluid(t, false)
		fifo, err := Fluid(FIFO, jobs)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range Disciplines() {
			done, err := Fluid(d, jobs)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(latest(done)-latest(fifo)) > rounding {
				t.Fatalf("%s: last completion %v, FIFO's %v", d, latest(done), latest(fifo))
			}
			for i, j := range jobs {
				if done[i] < j.Arrival+j.Size-rounding {
					t.Fatalf("%s: job %d done at %v, before %v", d, i, done[i], j.Arrival+j.Size)
				}
			}
			// By any instant at which FIFO has just finished a job, no discipline has finished more work than has been
			// done at all: the busy time so far.
			for _, at := range fifo {
				if work, busy := workDone(jobs, done, at), busyTime(jobs, at); work > busy+rounding {
					t.Fatalf("%s: %v s of work finished by %v, only %v s busy", d, work, at, busy)
				}
			}
		}
	})
}

func workDone(jobs []FluidJob, done []float64, at float64) float64 {
	sum := 0.0
	for i, j := range jobs {
		if done[i] <= at-rounding {
			sum += j.Size
		}
	}
	return sum
}

func busyTime(jobs []FluidJob, at float64) float64 {
	sorted := slices.Clone(jobs)
	slices.SortStableFunc(sorted, func(a, b FluidJob) int { return int(a.Arrival - b.Arrival) })
	busy, until := 0.0, 0.0
	for _, j := range sorted {
		start := max(until, j.Arrival)
		until = start + j.Size
		busy += max(0, min(until, at)-start)
	}
	return busy
}

// With exact sizes: no job is later under FSP than under PS (Friedman and Henderson), nor under PSBS than under PS by
// the same weights (Dell'Amico et al.); with equal weights PSBS is FSP; no discipline has a lower mean than SRPT.
func TestFluidFairSojourn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weighted := drawFluid(t, true)
		equal := slices.Clone(weighted)
		for i := range equal {
			equal[i].Weight = 0
		}
		run := func(d Discipline, jobs []FluidJob) []float64 {
			done, err := Fluid(d, jobs)
			if err != nil {
				t.Fatal(err)
			}
			return done
		}
		ps, fsp, psbs := run(PS, equal), run(FSP, equal), run(PSBS, equal)
		dps, wpsbs := run(PS, weighted), run(PSBS, weighted)
		for i := range equal {
			if fsp[i] > ps[i]+rounding {
				t.Fatalf("job %d: FSP %v after PS %v", i, fsp[i], ps[i])
			}
			if math.Abs(fsp[i]-psbs[i]) > rounding {
				t.Fatalf("job %d: FSP %v, PSBS %v", i, fsp[i], psbs[i])
			}
			if wpsbs[i] > dps[i]+rounding {
				t.Fatalf("job %d: PSBS %v after weighted PS %v", i, wpsbs[i], dps[i])
			}
		}
		least := stat.Mean(run(SRPT, equal), nil)
		for _, d := range Disciplines() {
			if m := stat.Mean(run(d, equal), nil); m < least-rounding {
				t.Fatalf("%s: mean completion %v below SRPT's %v", d, m, least)
			}
		}
	})
}

// Doubled times are doubled results, exactly, for doubling loses no bit. GITTINS takes logarithms of sizes, where
// doubling adds a number that is rounded: its results double within rounding. The order of the input has no part in
// the results as long as jobs of equal arrival keep theirs.
func TestFluidMetamorphic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawFluid(t, false)
		twice := slices.Clone(jobs)
		for i := range twice {
			twice[i].Arrival *= 2
			twice[i].Size *= 2
			twice[i].Estimate *= 2
		}
		sorted := slices.Clone(jobs)
		slices.SortStableFunc(sorted, func(a, b FluidJob) int { return int(a.Arrival - b.Arrival) })
		for _, d := range Disciplines() {
			if d == GITTINS && slices.ContainsFunc(jobs, func(j FluidJob) bool { return j.Estimate == 0 }) {
				continue // an estimate of nothing has no scale
			}
			one, _ := Fluid(d, jobs)
			two, _ := Fluid(d, twice)
			inOrder, _ := Fluid(d, sorted)
			for i := range one {
				if two[i] != 2*one[i] && !(d == GITTINS && math.Abs(two[i]-2*one[i]) <= rounding) {
					t.Fatalf("%s job %d: %v, doubled %v", d, i, one[i], two[i])
				}
			}
			slices.Sort(one)
			slices.Sort(inOrder)
			if !slices.Equal(one, inOrder) {
				t.Fatalf("%s: %v, in order of arrival %v", d, one, inOrder)
			}
		}
	})
}

// Each discipline against its rule written down as plainly as possible: what every job gets now, and when that changes.
func TestFluidAgainstPlainRules(t *testing.T) {
	// An arrival finds a job in service that is older than was believed possible. Its rank has risen with its age, so
	// that another job that waited goes first. Job 8 of the first case ends at 6.2523 s, and not 0.019 s later.
	for _, c := range []struct {
		seed uint64
		jobs int
	}{{0x27e14, 11}, {2182, 6}, {11051, 9}} {
		againstPlainRules(t, chanceJobs(c.seed, c.jobs))
	}
	rapid.Check(t, func(t *rapid.T) {
		againstPlainRules(t, chanceJobs(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 12).Draw(t, "jobs")))
	})
}

// chanceJobs draws n jobs. Fractions from a generator of its own keep nearly equal numbers away, for there a rule may
// go either way.
func chanceJobs(seed uint64, n int) []FluidJob {
	chance := rand.New(rand.NewPCG(seed, 0))
	jobs := make([]FluidJob, n)
	for i := range jobs {
		jobs[i] = FluidJob{
			Arrival:  float64(chance.IntN(20)), // several may come at once
			Size:     3 * chance.ExpFloat64(),
			Estimate: 3 * chance.ExpFloat64(),
			Weight:   float64(1 + chance.IntN(3)),
		}
	}
	return jobs
}

// againstPlainRules fails the test where Fluid and plainly differ by more than 1e-6 s.
func againstPlainRules(t rapid.TB, jobs []FluidJob) {
	t.Helper()
	for _, d := range Disciplines() {
		got, err := Fluid(d, jobs)
		if err != nil {
			t.Fatal(err)
		}
		want := plainly(d, jobs)
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-6 {
				t.Fatalf("%s job %d: %v, plainly %v, of %v", d, i, got, want, jobs)
			}
		}
	}
}

// plainly serves the jobs with everything kept for each job and looked through at each event.
func plainly(d Discipline, jobs []FluidJob) []float64 {
	if d == GITTINS {
		return plainGittins(jobs)
	}
	const little = 1e-9 // what is left below it is nothing
	n := len(jobs)
	left, virtual, attained := make([]float64, n), make([]float64, n), make([]float64, n)
	done, late := make([]float64, n), make([]int, n) // late: turn in which it finished virtually
	order := indices(n)
	slices.SortStableFunc(order, func(a, b int) int { return int(jobs[a].Arrival - jobs[b].Arrival) })
	for i, j := range jobs {
		left[i], virtual[i] = j.Size, j.Estimate
	}
	weight := func(i int) float64 {
		if d == FSP {
			return 1
		}
		return jobs[i].Weight
	}
	equal := func(int) float64 { return 1 }
	shares := func(served []int, weight func(int) float64) map[int]float64 {
		rates, sum := map[int]float64{}, 0.0
		for _, i := range served {
			sum += weight(i)
		}
		for _, i := range served {
			rates[i] = weight(i) / sum
		}
		return rates
	}
	for now, turn := 0.0, 0; ; {
		var here, virtually, lateJobs []int
		next := math.Inf(1) // the next instant at which anything changes
		for _, i := range order {
			if jobs[i].Arrival > now {
				next = min(next, jobs[i].Arrival)
				continue
			}
			if left[i] > little {
				here = append(here, i)
				if virtual[i] <= little {
					lateJobs = append(lateJobs, i)
				}
			}
			if virtual[i] > little {
				virtually = append(virtually, i)
			}
		}
		least := func(key func(int) float64) []int {
			var best []int
			for _, i := range here {
				if len(best) == 0 || key(i) < key(best[0]) {
					best = []int{i}
				}
			}
			return best
		}
		var rates map[int]float64
		switch {
		case d == PS:
			rates = shares(here, weight)
		case d == FIFO:
			rates = shares(here[:min(1, len(here))], equal)
		case d == SRPT:
			rates = shares(least(func(i int) float64 { return jobs[i].Estimate - attained[i] }), equal)
		case d == SPT:
			rates = shares(least(func(i int) float64 { return jobs[i].Estimate }), equal)
		case d == LAS:
			var youngest, others []int
			for _, i := range here {
				if attained[i] < attained[least(func(i int) float64 { return attained[i] })[0]]+little {
					youngest = append(youngest, i)
				} else {
					others = append(others, i)
				}
			}
			for _, i := range others {
				next = min(next, now+(attained[i]-attained[youngest[0]])*float64(len(youngest)))
			}
			rates = shares(youngest, equal)
		case len(lateJobs) > 0 && d == PSBS:
			rates = shares(lateJobs, weight)
		case len(lateJobs) > 0:
			here = lateJobs
			rates = shares(least(func(i int) float64 { return float64(late[i]) }), equal)
		default:
			rates = shares(least(func(i int) float64 { return virtual[i] / weight(i) }), equal)
		}
		virtualRates := shares(virtually, weight)
		for i, rate := range rates {
			next = min(next, now+left[i]/rate)
		}
		for i, rate := range virtualRates {
			next = min(next, now+virtual[i]/rate)
		}
		if math.IsInf(next, 1) {
			return done
		}
		for i, rate := range rates {
			left[i] -= rate * (next - now)
			attained[i] += rate * (next - now)
			if left[i] <= little {
				done[i] = next
			}
		}
		turn++
		for i, rate := range virtualRates {
			if virtual[i] -= rate * (next - now); virtual[i] <= little {
				late[i] = turn
			}
		}
		now = next
	}
}

// The mean sojourn of M/G/1 under PS is E[S] ÷ (1 − ρ), whatever the distribution of sizes (Kleinrock, Queueing Systems
// II, 4.4), within the confidence interval of the run itself by batch means; FIFO's of M/M/1 is the same number.
func TestFluidAgreesWithMG1(t *testing.T) {
	const (
		load    = 0.7
		jobs    = 200_000
		batches = 20
	)
	for _, c := range []struct {
		name string
		d    Discipline
		size func(*rand.Rand) float64 // of mean 1
	}{
		{"exponential", PS, func(r *rand.Rand) float64 { return r.ExpFloat64() }},
		{"constant", PS, func(*rand.Rand) float64 { return 1 }},
		// e^(σN−σ²/2) has mean 1; with σ = 1 its squared coefficient of variation is e−1.
		{"lognormal", PS, func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64() - 0.5) }},
		{"exponential", FIFO, func(r *rand.Rand) float64 { return r.ExpFloat64() }},
	} {
		chance := rand.New(rand.NewPCG(2009, 2010))
		input := make([]FluidJob, jobs)
		now := 0.0
		for i := range input {
			now += chance.ExpFloat64() / load
			input[i] = FluidJob{Arrival: now, Size: c.size(chance)}
		}
		all := sojourns(t, c.d, input)[jobs/10:] // the first tenth fills the empty server
		means := make([]float64, batches)
		for b := range means {
			means[b] = stat.Mean(all[b*len(all)/batches:(b+1)*len(all)/batches], nil)
		}
		mean, deviation := stat.MeanStdDev(means, nil)
		// 99.9 %: four cases of a fixed seed shall not fail by chance.
		half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: batches - 1}.Quantile(0.9995) * stat.StdErr(deviation, batches)
		want := 1 / (1 - load)
		t.Logf("%s sizes under %s: %.4f ± %.4f, formula %.4f", c.name, c.d, mean, half, want)
		if math.Abs(mean-want) > half || half > 0.2*want {
			t.Errorf("%s sizes under %s: mean sojourn %.4f ± %.4f, formula %.4f", c.name, c.d, mean, half, want)
		}
	}
}

func TestBatchCompletionsAgainstFluid(t *testing.T) {
	nearAll(t, "ps", PSCompletions([]float64{3, 2, 1}), []float64{6, 5, 3}, 0) // F11
	nearAll(t, "fsp", FSPCompletions([]float64{3, 2, 1}), []float64{6, 3, 1}, 0)
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Float64Range(0, 100), 0, 20).Draw(t, "sizes")
		jobs := make([]FluidJob, len(sizes))
		for i, s := range sizes {
			jobs[i] = FluidJob{Size: s, Estimate: s}
		}
		ps, _ := Fluid(PS, jobs)
		fsp, _ := Fluid(FSP, jobs)
		for i := range sizes {
			if p := PSCompletions(sizes)[i]; math.Abs(p-ps[i]) > rounding {
				t.Fatalf("PS job %d: %v, served %v", i, p, ps[i])
			}
			if f := FSPCompletions(sizes)[i]; math.Abs(f-fsp[i]) > rounding {
				t.Fatalf("FSP job %d: %v, served %v", i, f, fsp[i])
			}
		}
	})
}

func TestScaleToLoad(t *testing.T) {
	sizes := []float64{DataSize(100, 10, 30, 4), DataSize(20, 0, 0, 4)} // 100 + 5·10 + 30 = 180, and 20
	factor, err := ScaleToLoad(sizes, 0.5, 1000)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "factor", factor, 2.5, 0) // 0.5·1000 ÷ 200
	nearAll(t, "sizes", sizes, []float64{450, 50}, 0)
	for _, bad := range [][]float64{nil, {0, 0}, {-1}, {math.NaN()}} {
		if _, err := ScaleToLoad(bad, 0.5, 1000); err == nil {
			t.Errorf("sizes %v scaled", bad)
		}
	}
	for _, bad := range [][2]float64{{0, 1}, {-1, -1}, {1, 0}, {math.Inf(1), 1}} {
		if _, err := ScaleToLoad([]float64{1}, bad[0], bad[1]); err == nil {
			t.Errorf("load %v over %v accepted", bad[0], bad[1])
		}
	}
}

// The cost of a job must grow with the logarithm of their number: compare ns/job down the table.
func BenchmarkFluid(b *testing.B) {
	for _, d := range Disciplines() {
		for _, n := range []int{1_000, 10_000, 100_000} {
			chance := rand.New(rand.NewPCG(1, 1))
			jobs := make([]FluidJob, n)
			now := 0.0
			for i := range jobs {
				now += chance.ExpFloat64() / 0.9
				size := math.Exp(2*chance.NormFloat64() - 2) // lognormal of mean 1, σ = 2
				jobs[i] = FluidJob{Arrival: now, Size: size, Estimate: size * math.Exp(0.5*chance.NormFloat64())}
			}
			b.Run(fmt.Sprintf("%s/jobs=%d", d, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					finish(b, d, jobs)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/job")
			})
		}
		// All at once: the queue is as long as it can be.
		b.Run(fmt.Sprintf("%s/batch=100000", d), func(b *testing.B) {
			chance := rand.New(rand.NewPCG(1, 1))
			jobs := make([]FluidJob, 100_000)
			for i := range jobs {
				size := chance.ExpFloat64()
				jobs[i] = FluidJob{
					Arrival:  float64(i) * 1e-6,
					Size:     size,
					Estimate: size * math.Exp(0.5*chance.NormFloat64()),
				}
			}
			for b.Loop() {
				finish(b, d, jobs)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e5, "ns/job")
		})
	}
}

func BenchmarkFluidDay(b *testing.B) {
	jobs := swimJobs(b, fb2010)
	for _, d := range Disciplines() {
		b.Run(string(d), func(b *testing.B) {
			for b.Loop() {
				finish(b, d, jobs)
			}
		})
	}
}

// FSPY's specification, F16: 30 s under fair sharing, 24 s under FSPY, 12 s alone. A job that takes no time alone has
// no slowdown.
func TestFspyF16Slowdowns(t *testing.T) {
	fair, fspy, alone := []float64{30, 5}, []float64{24, 1}, []float64{12, 0}
	nearAll(t, "common slowdown under FSPY", Slowdowns(fspy, alone), []float64{2}, 0)
	nearAll(t, "common slowdown under fair sharing", Slowdowns(fair, alone), []float64{2.5}, 0)
	nearAll(t, "fair slowdown", Slowdowns(fspy, fair), []float64{0.8, 0.2}, exact)
}
