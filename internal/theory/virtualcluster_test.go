package theory_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/theory"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

func nearPair(a, b theory.Pair) bool { return near(a[0], b[0]) && near(a[1], b[1]) }

// The names F1 to F16 are those of docs/spec/fspy.md, section 4.

func TestFspyF1Bound(t *testing.T) {
	cr := theory.Pair{65536, 64}
	maps, reduces := theory.StageLoad{
		Task:  theory.Pair{1024, 1},
		Tasks: 100,
		Mean:  20,
	}, theory.StageLoad{
		Task:  theory.Pair{2048, 1},
		Tasks: 10,
		Mean:  60,
	}
	for _, c := range []struct {
		stages      []theory.StageLoad
		size, bound theory.Pair
		alone       float64
	}{
		{[]theory.StageLoad{maps, reduces}, theory.Pair{3276800, 2600}, theory.Pair{32768, 26}, 100},
		{[]theory.StageLoad{maps, {Task: reduces.Task, Mean: 60}}, theory.Pair{2048000, 2000},
			theory.Pair{51200, 50}, 40},
	} {
		if got := theory.TotalSize(c.stages); got != c.size {
			t.Errorf("size %v, want %v", got, c.size)
		}
		if got := theory.AloneTime(cr, c.stages, false); got != c.alone {
			t.Errorf("alone %v, want %v", got, c.alone)
		}
		if got := theory.AverageBound(cr, theory.Pair{}, c.stages, false); got != c.bound {
			t.Errorf("bound %v, want %v", got, c.bound)
		}
	}
	// Section 2.1: of 8 tasks of 3 units on 8, the dominant ratio makes 3 waves; 2 fit side by side, which makes 4.
	eight := []theory.StageLoad{{Task: theory.Pair{3}, Tasks: 8, Mean: 1}}
	if a, b := theory.AloneTime(theory.Pair{8}, eight, false), theory.AloneTime(theory.Pair{8}, eight, true); a != 3 ||
		b != 4 {
		t.Errorf("%v and %v waves, want 3 and 4", a, b)
	}
}

// AverageBound never exceeds the capacity, whatever the job: R·N·e ≤ CR·waves·e in each stage and resource.
func TestFspyBoundWithinCapacity(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		cr := theory.Pair{float64(1 + r.IntN(100)), float64(1 + r.IntN(20))}
		var stages []theory.StageLoad
		for range 1 + r.IntN(3) {
			stages = append(
				stages,
				theory.StageLoad{
					Task:  theory.Pair{float64(1 + r.IntN(10)), float64(r.IntN(4))},
					Tasks: float64(r.IntN(30)),
					Mean:  r.Float64() * 9,
				},
			)
		}
		alone := theory.AloneTime(cr, stages, false)
		for k, size := range theory.TotalSize(stages) {
			if size > cr[k]*alone*(1+1e-12) {
				t.Fatalf("size %v in %v s on %v", size, alone, cr[k])
			}
		}
	}
}

func TestFspyF4Sampling(t *testing.T) {
	const split = 64 << 20
	for _, c := range []struct {
		maps, reduces, most int
		want                theory.SamplePlan
		bytes               int64 // of each of the splits sampled
	}{
		{40, 8, 5, theory.SamplePlan{Part: 1. / 40, Splits: 5, PartOfSplit: 1. / 5}, 13421772},
		{4, 16, 10, theory.SamplePlan{Part: 1. / 16, Splits: 4, PartOfSplit: 1. / 16}, 4194304},
		{1, 1, 10, theory.SamplePlan{Part: 1, Splits: 1, PartOfSplit: 1}, split},
		{100, 30, 10, theory.SamplePlan{Part: 1. / 100, Splits: 10, PartOfSplit: 1. / 10}, 6710886},
	} {
		got := theory.PlanSample(c.maps, c.reduces, c.most)
		if got.Splits != c.want.Splits || !near(got.Part, c.want.Part) || !near(got.PartOfSplit, c.want.PartOfSplit) {
			t.Errorf("%d maps, %d reduces: %+v, want %+v", c.maps, c.reduces, got, c.want)
		}
		r := rand.New(rand.NewPCG(4, 4))
		sample := theory.SemiRandom(slices.Repeat([]int64{split}, c.maps), got, r.IntN)
		seen := map[int]bool{}
		for _, s := range sample {
			seen[s.Split] = true
			if s.Bytes != c.bytes {
				t.Errorf("%d bytes of split %d, want %d", s.Bytes, s.Split, c.bytes)
			}
		}
		if len(seen) != c.want.Splits {
			t.Errorf("%d different splits, want %d", len(seen), c.want.Splits)
		}
	}
}

// Each split is chosen with the same chance: of 4 of 10 splits, in 10,000 samples each is in 4,000 within 5 standard
// deviations of √(10000·0.4·0.6) = 49.
func TestFspySamplingIsUniform(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	var count [10]int
	for range 10000 {
		for _, s := range theory.SemiRandom(make([]int64, 10), theory.PlanSample(10, 0, 4), r.IntN) {
			count[s.Split]++
		}
	}
	for i, n := range count {
		if n < 3755 || n > 4245 {
			t.Errorf("split %d was chosen %d times of 10000, want 4000 ± 245", i, n)
		}
	}
}

func cluster(bounds ...theory.Pair) *theory.VirtualCluster {
	c := &theory.VirtualCluster{}
	for i, b := range bounds {
		c.Jobs = append(c.Jobs, theory.VirtualJob{ID: int64(i), Bound: b, Open: true})
	}
	return c
}

func TestFspyF5OneResource(t *testing.T) {
	for _, c := range []struct{ bounds, want []float64 }{
		{[]float64{10, 20, 50, 60}, []float64{10, 20, 35, 35}},
		{[]float64{10, 20, 50}, []float64{10, 20, 50}},
		{[]float64{40, 40, 40}, []float64{100. / 3, 100. / 3, 100. / 3}},
		{nil, nil},
		{[]float64{250}, []float64{100}},
	} {
		for _, drf := range []bool{false, true} {
			v := cluster()
			for i, b := range c.bounds {
				v.Jobs = append(v.Jobs, theory.VirtualJob{ID: int64(i), Bound: theory.Pair{b}, Open: true})
			}
			v.Share(theory.Pair{100}, drf)
			for i, want := range c.want {
				if got := v.Jobs[i].Has[0]; !near(got, want) {
					t.Errorf("bounds %v, drf %v: job %d has %v, want %v", c.bounds, drf, i, got, want)
				}
			}
		}
	}
}

func TestFspyF6TwoResources(t *testing.T) {
	for _, c := range []struct {
		capacity     theory.Pair
		bounds       []theory.Pair
		onePass, drf []theory.Pair
	}{
		{theory.Pair{64, 64}, []theory.Pair{{4, 8}, {16, 32}, {40, 16}, {64, 64}},
			[]theory.Pair{{4, 8}, {28. / 3, 56. / 3}, {76. / 3, 152. / 15}, {76. / 3, 76. / 3}},
			[]theory.Pair{{4, 8}, {35. / 3, 70. / 3}, {70. / 3, 28. / 3}, {70. / 3, 70. / 3}}},
		{theory.Pair{100, 100}, []theory.Pair{{10, 90}, {80, 10}},
			[]theory.Pair{{50. / 9, 50}, {80, 10}},
			[]theory.Pair{{10, 90}, {80, 10}}},
	} {
		for _, drf := range []bool{false, true} {
			want := c.onePass
			if drf {
				want = c.drf
			}
			v := cluster(c.bounds...)
			v.Share(c.capacity, drf)
			for i := range want {
				if !nearPair(v.Jobs[i].Has, want[i]) {
					t.Errorf("bounds %v, drf %v: job %d has %v, want %v", c.bounds, drf, i, v.Jobs[i].Has, want[i])
				}
			}
		}
	}
}

func TestFspyF7Serve(t *testing.T) {
	// Shares are 10, 40 and 0 of 50: bounds 10 and 40, and a third that asks for nothing.
	c := &theory.VirtualCluster{Jobs: []theory.VirtualJob{
		{ID: 1, Bound: theory.Pair{10}, Size: theory.Pair{100}},
		{ID: 2, Bound: theory.Pair{40}, Master: theory.Pair{5}, Size: theory.Pair{500}},
		{ID: 3, Size: theory.Pair{30}}}}
	c.Share(theory.Pair{50}, false)
	if done := c.Serve(4); done != nil {
		t.Fatalf("done after 4: %v", done)
	}
	for i, want := range []float64{60, 360, 30} {
		if got := c.Jobs[i].Left()[0]; got != want {
			t.Errorf("after 4, job %d has %v left, want %v", i+1, got, want)
		}
	}
	done := c.Serve(11)
	if len(done) != 1 || done[0].ID != 1 || done[0].Left()[0] != -10 {
		t.Errorf("done after 11: %v, want job 1 with -10", done)
	}
	if a, b := c.Jobs[0].Left()[0], c.Jobs[1].Left()[0]; a != 115 || b != 30 {
		t.Errorf("after 11 there are %v and %v left, want 115 and 30", a, b)
	}
}

func TestFspyF8LateServe(t *testing.T) {
	begin := func() *theory.VirtualCluster {
		c := &theory.VirtualCluster{}
		for i, size := range []float64{3, 2, 1} {
			c.Jobs = append(c.Jobs, theory.VirtualJob{ID: int64(i), Bound: theory.Pair{1}, Size: theory.Pair{size}})
		}
		c.Share(theory.Pair{1}, false)
		return c
	}
	c := begin()
	if done := c.Serve(4); len(done) != 1 || !near(done[0].Left()[0], -1./3) || !near(c.Jobs[0].Left()[0], 5./3) ||
		!near(c.Jobs[1].Left()[0], 2./3) {
		t.Errorf("served late: done %v, jobs %v", done, c.Jobs)
	}
	c = begin()
	zeros := advance(c, theory.Pair{1}, 4)
	c.Serve(4)
	if !near(zeros[2], 3) || len(c.Jobs) != 2 || !near(c.Jobs[0].Left()[0], 1.5) || !near(c.Jobs[1].Left()[0], 0.5) {
		t.Errorf("exactly: zeros %v, jobs %v", zeros, c.Jobs)
	}
	c = begin()
	if zeros := advance(c, theory.Pair{1}, 10); !near(zeros[2], 3) || !near(zeros[1], 5) || !near(zeros[0], 6) {
		t.Errorf("zeros %v, want 6, 5 and 3", zeros)
	}
}

// advance is the exact clock; it returns when each job was done.
func advance(c *theory.VirtualCluster, capacity theory.Pair, at float64) map[int64]float64 {
	zeros := map[int64]float64{}
	for done := c.Deplete(at); done != nil; done = c.Deplete(at) {
		for _, j := range done {
			zeros[j.ID] = c.At
		}
		c.Share(capacity, false)
	}
	return zeros
}

func TestFspyF10Master(t *testing.T) {
	cr, master := theory.Pair{100}, theory.Pair{1.5}
	stages := []theory.StageLoad{{Task: theory.Pair{1}, Tasks: 1, Mean: 10}}
	bound := theory.AverageBound(cr, master, stages, false)
	if bound != (theory.Pair{2.5}) {
		t.Errorf("bound %v, want 2.5", bound)
	}
	c := &theory.VirtualCluster{
		Jobs: []theory.VirtualJob{{ID: 1, Bound: bound, Master: master, Size: theory.TotalSize(stages)}},
	}
	c.Share(cr, false)
	if c.Jobs[0].Rate[0] != 1 {
		t.Errorf("rate %v, want 1", c.Jobs[0].Rate[0])
	}
	if zeros := advance(c, cr, 99); zeros[1] != 10 {
		t.Errorf("done at %v, want 10", zeros[1])
	}
	// As printed, without the master, the bound is 1, less than the master holds: the rate would be -1/2. It is 0 here,
	// which stops the clock for good.
	if bound := theory.AverageBound(cr, theory.Pair{}, stages, false); bound != (theory.Pair{1}) {
		t.Errorf("bound %v as printed, want 1", bound)
	}
}

// Ten jobs with masters of 2 units and bounds of 12 share 20: each has 2, no more than its master. By the guard each
// goes on at 2·(12−2)/12.
func TestFspyFreezeGuard(t *testing.T) {
	c := &theory.VirtualCluster{}
	for i := range int64(10) {
		c.Jobs = append(c.Jobs, theory.VirtualJob{ID: i, Bound: theory.Pair{12}, Master: theory.Pair{2},
			Size: theory.Pair{100}})
	}
	c.Share(theory.Pair{20}, false)
	for _, j := range c.Jobs {
		if !near(j.Rate[0], 5./3) {
			t.Fatalf("rate %v, want 5/3", j.Rate[0])
		}
	}
}

func checkEnds(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if !near(got[i], want[i]) {
			t.Errorf("%s: ends %v, want %v", what, got, want)
			return
		}
	}
}

func TestFspyF11FairSojourn(t *testing.T) {
	for _, c := range []struct {
		jobs      []theory.BoundedJob
		fair, fsp []float64
	}{
		{[]theory.BoundedJob{{0, 3, 1}, {0, 2, 1}, {0, 1, 1}}, []float64{6, 5, 3}, []float64{6, 3, 1}},
		{[]theory.BoundedJob{{0, 10, 1}, {1, 3, 1}, {2, 2, 1}}, []float64{15, 9, 8}, []float64{15, 6, 4}},
		{[]theory.BoundedJob{{0, 100, 1}, {10, 100, 1}, {20, 100, 1}, {30, 10, 1}}, []float64{285, 305, 310, 70},
			[]float64{110, 210, 310, 40}},
	} {
		checkEnds(t, "fair", theory.BoundedFluid(1, c.jobs, false), c.fair)
		checkEnds(t, "by virtual size", theory.BoundedFluid(1, c.jobs, true), c.fsp)
	}
	// The virtual sizes of the second case at 2 and at 4.
	cl := &theory.VirtualCluster{}
	for i, j := range []theory.BoundedJob{{0, 10, 1}, {1, 3, 1}, {2, 2, 1}} {
		cl.Serve(j.Release)
		cl.Jobs = append(cl.Jobs, theory.VirtualJob{ID: int64(i), Bound: theory.Pair{1}, Size: theory.Pair{j.Size}})
		cl.Share(theory.Pair{1}, false)
	}
	for _, want := range [][]float64{{2, 17. / 2, 5. / 2, 2}, {4, 47. / 6, 11. / 6, 4. / 3}} {
		cl.Serve(want[0])
		for i, left := range want[1:] {
			if got := cl.Jobs[i].Left()[0]; !near(got, left) {
				t.Errorf("at %v job %d has %v left, want %v", want[0], i, got, left)
			}
		}
	}
}

func TestFspyF12Bounds(t *testing.T) {
	jobs := []theory.BoundedJob{{0, 1, 1}, {0, 1, 1}, {0, 2, 1}}
	checkEnds(t, "fair", theory.BoundedFluid(2, jobs, false), []float64{1.5, 1.5, 2.5})
	checkEnds(t, "by virtual size", theory.BoundedFluid(2, jobs, true), []float64{1, 1, 3})
	// C's fair slowdown is 3 ÷ 5/2; all the same the mean is 5/3 instead of 11/6.
	fair, got := theory.BoundedFluid(2, jobs, false), theory.BoundedFluid(2, jobs, true)
	if !near(got[2]/fair[2], 6./5) || !near((got[0]+got[1]+got[2])/3, 5./3) ||
		!near((fair[0]+fair[1]+fair[2])/3, 11./6) {
		t.Errorf("ends %v, under fair sharing %v", got, fair)
	}
}

// Section 2.5: jobs that have nothing left virtually, and really have, are served in the order in which that came to
// be, not in that of their names. On 2 units, B of 2 comes at 0 and has all until 1, though virtually only half of it
// until 2; C of 3, which uses 1 unit, has that virtually from 0 to 3 and really from 1 on. A of 2 comes at 2 and has
// the rest: 1 unit, virtually 2 from 3 on, so that it is late from 3.5 on, and C from 3 on. C keeps its unit, and both
// are done at 4; if A were first then, it would be done at 3.75, and C at 4.25.
func TestFspyLateOrder(t *testing.T) {
	jobs := []theory.BoundedJob{{2, 2, 2}, {0, 2, 2}, {0, 3, 1}}
	checkEnds(t, "by virtual size", theory.BoundedFluid(2, jobs, true), []float64{4, 1, 4})
	for _, order := range [][]int{{2, 1, 0}, {1, 2, 0}, {0, 2, 1}} {
		var renamed []theory.BoundedJob
		var want []float64
		for _, i := range order {
			renamed, want = append(renamed, jobs[i]), append(want, []float64{4, 1, 4}[i])
		}
		checkEnds(t, fmt.Sprintf("by virtual size, named %v", order), theory.BoundedFluid(2, renamed, true), want)
	}
}

// Section 2.7: where each job can use the whole cluster, none is done later than under fair sharing; where not, some
// are, by half at most.
func TestFspyFairSlowdown(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 12))
	later, all, worst := 0, 0, 0.0
	for i := range 600 {
		bounded := i%2 == 0
		var jobs []theory.BoundedJob
		for range 2 + r.IntN(5) {
			j := theory.BoundedJob{Release: float64(r.IntN(11)), Size: float64(1 + r.IntN(12)), Bound: 6}
			if bounded {
				j.Bound = float64(1 + r.IntN(6))
			}
			jobs = append(jobs, j)
		}
		fair, got := theory.BoundedFluid(6, jobs, false), theory.BoundedFluid(6, jobs, true)
		for k, j := range jobs {
			slowdown := (got[k] - j.Release) / (fair[k] - j.Release)
			switch {
			case !bounded && slowdown > 1+1e-6:
				t.Fatalf("%v: job %d is done at %v, under fair sharing at %v", jobs, k, got[k], fair[k])
			case bounded:
				all++
				worst = max(worst, slowdown)
				if slowdown > 1+1e-6 {
					later++
				}
			}
		}
	}
	// The page has 15.5 % and 1.52 of 1,500 instances of its own.
	if part := float64(later) / float64(all); part < 0.05 || part > 0.3 || worst > 1.8 {
		t.Errorf("with bounds %.3f of the jobs are late, by %.2f at worst", part, worst)
	}
}

func ExampleVirtualCluster() {
	c := &theory.VirtualCluster{Jobs: []theory.VirtualJob{
		{ID: 1, Bound: theory.Pair{1}, Size: theory.Pair{3}},
		{ID: 2, Bound: theory.Pair{1}, Size: theory.Pair{1}}}}
	c.Share(theory.Pair{1}, false)
	for done := c.Deplete(10); done != nil; done = c.Deplete(10) {
		for _, j := range done {
			fmt.Println("job", j.ID, "at", c.At)
		}
		c.Share(theory.Pair{1}, false)
	}
	// Output:
	// job 2 at 2
	// job 1 at 4
}

// The shares and rates of a cluster that has been shared before are those of one that is shared for the first time, to
// the last digit, whatever has come, gone or got another bound in between.
func TestFspyShareFromBefore(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 9))
		amount := func(most int) theory.Pair { return theory.Pair{float64(r.IntN(most)), float64(r.IntN(most))} }
		c := &theory.VirtualCluster{}
		for id := range int64(150) {
			c.Jobs = append(c.Jobs, theory.VirtualJob{ID: id, Bound: amount(8), Master: amount(2),
				Size: theory.Pair{1 + 50*r.Float64()}})
			if r.IntN(4) == 0 {
				c.Jobs[r.IntN(len(c.Jobs))].Bound = amount(20)
			}
			if r.IntN(4) == 0 {
				c.Remove(c.Jobs[r.IntN(len(c.Jobs))].ID)
			}
			capacity, drf := theory.Pair{float64(20 + r.IntN(60)), float64(20 + r.IntN(60))}, r.IntN(3) == 0
			anew := &theory.VirtualCluster{At: c.At, Jobs: slices.Clone(c.Jobs)}
			c.Share(capacity, drf)
			anew.Share(capacity, drf)
			if !slices.Equal(c.Jobs, anew.Jobs) || c.Next() != anew.Next() {
				t.Fatalf("seed %d, step %d: %v until %v, want %v until %v", seed, id, c.Jobs, c.Next(),
					anew.Jobs, anew.Next())
			}
			used := theory.Pair{}
			for _, j := range c.Jobs {
				used = used.Add(1, j.Has)
			}
			for k := range used {
				if used[k] > capacity[k]*(1+1e-12) {
					t.Fatalf("seed %d, step %d: %v of %v", seed, id, used, capacity)
				}
			}
			switch at := c.At + r.Float64(); {
			case c.Next() < at:
				c.Deplete(at)
			default:
				c.Serve(at)
			}
		}
	}
}

// Jobs of the same bound that share one resource have the same part of it to the last digit, whatever stands between
// them in the order of bounds, or those of equal size would not stay equal.
func TestFspyEqualJobsStayEqual(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		c := &theory.VirtualCluster{}
		for id := range int64(40) {
			c.Jobs = append(
				c.Jobs,
				theory.VirtualJob{
					ID:     id,
					Bound:  theory.Pair{float64(1 + r.IntN(30))},
					Master: theory.Pair{0.1},
					Size:   theory.Pair{100},
				},
			)
		}
		capacity := 20 + 300*r.Float64()
		c.Share(theory.Pair{capacity}, false)
		level := 0.0 // of those who have less than their bound
		for _, j := range c.Jobs {
			switch {
			case j.Has == j.Bound:
			case level == 0:
				level = j.Has[0]
			case j.Has[0] != level:
				t.Fatalf("on %v one job has %v, another %v", capacity, j.Has[0], level)
			}
		}
	}
}

// Of what a job has the master is no service: two jobs of 8 on 10 have 5 each, and 4 of these serve. Where no job has
// more than its master, each is served by the part of what it has that its bound has beyond the master: 2.5 each on 5,
// and which (8 − 3) ÷ 8. What open jobs have is their sum, not that of their bounds.
func TestFspyRates(t *testing.T) {
	job := func(id int64, master float64, open bool) theory.VirtualJob {
		return theory.VirtualJob{
			ID:     id,
			Bound:  theory.Pair{8, 4},
			Master: theory.Pair{master, 0},
			Size:   theory.Pair{100, 100},
			Open:   open,
		}
	}
	for _, c := range []struct{ capacity, master, rate, open float64 }{{10, 1, 4, 5}, {5, 3, 2.5 * 5 / 8, 2.5}} {
		v := &theory.VirtualCluster{Jobs: []theory.VirtualJob{job(1, c.master, true), job(2, c.master, false)}}
		v.Share(theory.Pair{c.capacity, 100}, false)
		for _, j := range v.Jobs {
			if math.Abs(j.Rate[0]-c.rate) > 1e-12 {
				t.Errorf("job %d on %v is served at %v, want %v", j.ID, c.capacity, j.Rate[0], c.rate)
			}
		}
		if math.Abs(v.Open[0]-c.open) > 1e-12 {
			t.Errorf("on %v the open job has %v, want %v", c.capacity, v.Open[0], c.open)
		}
	}
}
