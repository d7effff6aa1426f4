package theory

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// ask is a claim of weight 1 up to a demand.
func ask(demands ...float64) []Claim {
	claims := make([]Claim, len(demands))
	for i, d := range demands {
		claims[i] = Claim{Weight: 1, Max: d}
	}
	return claims
}

func TestMaxMinByHand(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name     string
		capacity float64
		claims   []Claim
		want     []float64
	}{
		// FSPY F5.
		{"two short", 100, ask(10, 20, 50, 60), []float64{10, 20, 35, 35}},
		{"all fit", 100, ask(10, 20, 50), []float64{10, 20, 50}},
		{"equal", 100, ask(40, 40, 40), []float64{100. / 3, 100. / 3, 100. / 3}},
		{"nobody", 100, nil, nil},
		{"one too large", 100, ask(250), []float64{100}},
		// LTYARN 4.3: 300 units, weights 2 and 1.
		{"weights t1", 300, []Claim{{2, 0, 40}, {1, 0, 300}}, []float64{40, 260}},
		{"weights t3", 300, []Claim{{2, 0, 300}, {1, 0, 200}}, []float64{200, 100}},
		// FLEX X7: 12 slots, then 10 with a job at its minimum's edge.
		{"flex", 12, []Claim{{1, 1, 3}, {1, 1, 12}, {1, 2, 5}, {1, 2, 12}}, []float64{3, 3, 3, 3}},
		{"flex X5", 10, []Claim{{1, 1, 6}, {1, 2, 8}, {1, 1, 4}}, []float64{10. / 3, 10. / 3, 10. / 3}},
		// The minimum of 60 leaves 40 for the level of the other two.
		{"minimum above level", 100, []Claim{{1, 60, 90}, {1, 0, 90}, {1, 0, 90}}, []float64{60, 20, 20}},
		// Minima of 150 on 100: each is cut to two thirds, and users without one get nothing.
		{"minima too large", 100, []Claim{{1, 60, 90}, {1, 90, 90}, {1, 0, 90}}, []float64{40, 60, 0}},
		{"minimum above maximum", 100, []Claim{{1, 60, 10}, {1, 0, 50}}, []float64{10, 50}},
		{"no maximum", 100, []Claim{{1, 0, inf}, {3, 0, inf}}, []float64{25, 75}},
		{"weight zero gets its minimum", 100, []Claim{{0, 10, inf}, {1, 0, inf}}, []float64{10, 90}},
		{"nothing to divide", 0, ask(1, 2), []float64{0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) { nearAll(t, "share", MaxMin(c.capacity, c.claims), c.want, exact) })
	}
}

func drawClaims(t *rapid.T) []Claim {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Claim {
		c := Claim{
			Weight: float64(rapid.IntRange(0, 4).Draw(t, "weight")),
			Min:    float64(rapid.IntRange(0, 10).Draw(t, "min")),
			Max:    float64(rapid.IntRange(0, 40).Draw(t, "max")),
		}
		if rapid.IntRange(0, 5).Draw(t, "unbounded") == 0 {
			c.Max = math.Inf(1)
		}
		return c
	}), 1, 12).Draw(t, "claims")
}

// Against bisection on the level, which knows nothing of bends.
func TestMaxMinAgainstBisection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		claims := drawClaims(t)
		capacity := float64(rapid.IntRange(0, 150).Draw(t, "capacity"))
		got := MaxMin(capacity, claims)
		at := func(level float64) (shares []float64, sum float64) {
			for _, c := range claims {
				s := min(c.Max, max(c.Min, level*c.Weight))
				shares = append(shares, s)
				sum += s
			}
			return shares, sum
		}
		want, minima := at(0)
		if minima >= capacity {
			for i := range want {
				if minima > 0 {
					want[i] *= capacity / minima
				}
			}
		} else {
			low, high := 0.0, 1e6
			for range 200 {
				if _, sum := at((low + high) / 2); sum > capacity {
					high = (low + high) / 2
				} else {
					low = (low + high) / 2
				}
			}
			want, _ = at(low)
		}
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-9 {
				t.Fatalf("capacity %v: %v, want %v", capacity, got, want)
			}
		}
	})
}

// FSPY F5 and F6, and its drf option.
func TestOnePassShares(t *testing.T) {
	for _, c := range []struct {
		demands, want []float64
	}{
		{[]float64{10, 20, 50, 60}, []float64{10, 20, 35, 35}},
		{[]float64{60, 10, 50, 20}, []float64{35, 10, 35, 20}}, // the same in another order
		{[]float64{10, 20, 50}, []float64{10, 20, 50}},
		{[]float64{40, 40, 40}, []float64{100. / 3, 100. / 3, 100. / 3}},
		{nil, nil},
		{[]float64{250}, []float64{100}},
	} {
		bounds := make([][]float64, len(c.demands))
		for i, d := range c.demands {
			bounds[i] = []float64{d}
		}
		got := OnePassShares([]float64{100}, bounds)
		for i := range got {
			near(t, fmt.Sprintf("%v[%d]", c.demands, i), got[i]*c.demands[i], c.want[i], exact)
		}
	}
	a := [][]float64{{4, 8}, {16, 32}, {40, 16}, {64, 64}}
	nearAll(t, "F6a", OnePassShares([]float64{64, 64}, a), []float64{1, 7. / 12, 19. / 30, 19. / 48}, exact)
	nearAll(t, "F6a drf", DRF([]float64{64, 64}, wholeJobs(a)), []float64{1, 35. / 3 / 16, 70. / 3 / 40, 70. / 3 / 64},
		exact)
	b := [][]float64{{10, 90}, {80, 10}}
	nearAll(t, "F6b", OnePassShares([]float64{100, 100}, b), []float64{5. / 9, 1}, exact)
	nearAll(t, "F6b drf", DRF([]float64{100, 100}, wholeJobs(b)), []float64{1, 1}, exact)
}

// wholeJobs asks for each vector once: the result is a fraction of it.
func wholeJobs(vectors [][]float64) []TaskClaim {
	users := make([]TaskClaim, len(vectors))
	for i, v := range vectors {
		users[i] = TaskClaim{Weight: 1, Task: v, Limit: 1}
	}
	return users
}

func TestOnePassSharesNeverExceedCapacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity, users := drawTasks(t)
		bounds := make([][]float64, len(users))
		for i, u := range users {
			bounds[i] = u.Task
		}
		fractions := OnePassShares(capacity, bounds)
		for k := range capacity {
			used := 0.0
			for i, f := range fractions {
				if f < 0 || f > 1 {
					t.Fatalf("fraction %v", f)
				}
				used += f * bounds[i][k]
			}
			if used > capacity[k]+rounding {
				t.Fatalf("resource %d: %v of %v", k, used, capacity[k])
			}
		}
		// With one resource it is max-min fair.
		single, demands := make([][]float64, len(users)), make([]float64, len(users))
		for i, b := range bounds {
			single[i], demands[i] = b[:1], b[0]
		}
		fractions = OnePassShares(capacity[:1], single)
		for i, want := range MaxMin(capacity[0], ask(demands...)) {
			if math.Abs(fractions[i]*demands[i]-want) > rounding {
				t.Fatalf("one resource: %v, want %v", fractions[i]*demands[i], want)
			}
		}
	})
}

// The example of the DRF paper (NSDI 2011, section 4.1): 9 CPUs and 18 GB; tasks of (1, 4) and (3, 1): 3 and 2 tasks.
// With the first user's weight doubled, shares 2:1: x·4/18 = 2·(y·3/9), x + 3y = 9 gives x = 9/2, y = 3/2, but 4x + y =
// 19.5 GB exceed 18; memory binds: 4x + y = 18 with x = 3y gives x = 54/13, y = 18/13.
func TestDRFByHand(t *testing.T) {
	capacity := []float64{9, 18}
	inf := math.Inf(1)
	a, b := TaskClaim{1, []float64{1, 4}, inf}, TaskClaim{1, []float64{3, 1}, inf}
	nearAll(t, "paper", DRF(capacity, []TaskClaim{a, b}), []float64{3, 2}, exact)
	a.Weight = 2
	nearAll(t, "weighted", DRF(capacity, []TaskClaim{a, b}), []float64{54. / 13, 18. / 13}, exact)
	// User 1 stops at 1 task (1, 4); the other takes the CPUs left, 8 ÷ 3.
	a.Limit = 1
	nearAll(t, "limited", DRF(capacity, []TaskClaim{a, b}), []float64{1, 8. / 3}, exact)
	nearAll(t, "none of it", DRF([]float64{9, 0}, []TaskClaim{a, {1, []float64{3, 0}, inf}}), []float64{0, 3}, exact)
	nearAll(t, "takes nothing", DRF(capacity, []TaskClaim{{1, []float64{0, 0}, 7}, b}), []float64{7, 3}, exact)
	nearAll(t, "no weight", DRF(capacity, []TaskClaim{{0, []float64{1, 1}, 7}, b}), []float64{0, 3}, exact)
}

func drawTasks(t *rapid.T) (capacity []float64, users []TaskClaim) {
	kinds := rapid.IntRange(1, 3).Draw(t, "kinds")
	for range kinds {
		capacity = append(capacity, float64(rapid.IntRange(20, 100).Draw(t, "capacity")))
	}
	users = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) TaskClaim {
		u := TaskClaim{Weight: float64(rapid.IntRange(1, 3).Draw(t, "weight")), Limit: math.Inf(1)}
		for range kinds {
			u.Task = append(u.Task, float64(rapid.IntRange(0, 10).Draw(t, "need")))
		}
		u.Task[rapid.IntRange(0, kinds-1).Draw(t, "needed")]++ // every task needs something
		if rapid.Bool().Draw(t, "limited") {
			u.Limit = float64(rapid.IntRange(0, 8).Draw(t, "limit"))
		}
		return u
	}), 1, 7).Draw(t, "users")
	return capacity, users
}

// smallFilling grows all dominant shares by small steps until none can grow.
func smallFilling(capacity []float64, users []TaskClaim) []float64 {
	const step = 1e-4
	tasks, rest := make([]float64, len(users)), slices.Clone(capacity)
	growing := make([]bool, len(users))
	for i := range growing {
		growing[i] = true
	}
	for slices.Contains(growing, true) {
		for i, u := range users {
			if !growing[i] {
				continue
			}
			more := min(step*u.Weight/dominantShare(capacity, u.Task), u.Limit-tasks[i])
			for k, need := range u.Task {
				if need*more > rest[k] {
					growing[i] = false
				}
			}
			if growing[i] {
				tasks[i] += more
				for k, need := range u.Task {
					rest[k] -= need * more
				}
				growing[i] = tasks[i] < u.Limit
			}
		}
	}
	return tasks
}

func TestDRFProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity, users := drawTasks(t)
		tasks := DRF(capacity, users)
		weights := 0.0
		for _, u := range users {
			weights += u.Weight
		}
		rest := slices.Clone(capacity)
		for i, u := range users {
			for k, need := range u.Task {
				rest[k] -= tasks[i] * need
			}
		}
		for k, r := range rest {
			if r < -rounding {
				t.Fatalf("resource %d over by %v", k, -r)
			}
		}
		for i, u := range users {
			if tasks[i] > u.Limit {
				t.Fatalf("user %d: %v tasks, limit %v", i, tasks[i], u.Limit)
			}
			satisfied := tasks[i] >= u.Limit-rounding
			// Pareto efficiency: a user that wants more needs something that is used up.
			blocked := false
			for k, need := range u.Task {
				blocked = blocked || (need > 0 && rest[k] < rounding)
			}
			if !satisfied && !blocked {
				t.Fatalf("user %d could have more: %v, rest %v", i, tasks, rest)
			}
			// Sharing incentive: no worse than with its part of the cluster to itself.
			if own := u.Weight / weights / dominantShare(capacity, u.Task); !satisfied && tasks[i] < own-rounding {
				t.Fatalf("user %d: %v tasks, %v alone on its part", i, tasks[i], own)
			}
			// Envy-freeness: what another has, scaled by the weights, would not let it run more.
			for other, o := range users {
				could := math.Inf(1)
				for k, need := range u.Task {
					if need > 0 {
						could = min(could, tasks[other]*o.Task[k]*u.Weight/o.Weight/need)
					}
				}
				if !satisfied && could > tasks[i]+rounding {
					t.Fatalf("user %d with %v envies %d, with whose part it would run %v", i, tasks[i], other, could)
				}
			}
		}
		for i, want := range smallFilling(capacity, users) {
			// Each step is at most 3·1e-4 of a dominant share (weights to 3), at most 7 are missed, a task is at least
			// a hundredth.
			if math.Abs(tasks[i]-want)*dominantShare(capacity, users[i].Task) > 5e-3 {
				t.Fatalf("user %d: %v, by small steps %v", i, tasks, want)
			}
		}
	})
}

// Strategy-proofness, spot check: asking for more of one resource than a task needs never lets one run more tasks.
func TestDRFLyingDoesNotPay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity, users := drawTasks(t)
		liar := rapid.IntRange(0, len(users)-1).Draw(t, "liar")
		honest := DRF(capacity, users)[liar]
		lie := slices.Clone(users)
		lie[liar].Task = slices.Clone(users[liar].Task)
		lie[liar].Task[rapid.IntRange(0, len(capacity)-1).Draw(t, "kind")] += float64(rapid.IntRange(1,
			10).Draw(t, "more"))
		if got := DRF(capacity, lie)[liar]; got > honest+rounding {
			t.Fatalf("user %d: %v tasks when lying, %v when honest", liar, got, honest)
		}
	})
}

func TestDRFOfOneResourceIsMaxMin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, users := drawTasks(t)
		claims := make([]Claim, len(users))
		for i := range users {
			users[i].Task = []float64{1}
			claims[i] = Claim{Weight: users[i].Weight, Max: users[i].Limit}
		}
		got := DRF([]float64{17}, users)
		for i, want := range MaxMin(17, claims) {
			if math.Abs(got[i]-want) > rounding {
				t.Fatalf("%v, max-min %v", got, want)
			}
		}
	})
}

func TestPercentile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	for _, c := range []struct {
		values  []float64
		p, want float64
	}{
		{hundred, 7, 7}, // 0.07·100 is above 7 in float64: a fraction would give 8
		{hundred, 95, 95},
		{hundred, 95.5, 96},
		{hundred, 0, 1},
		{hundred, 100, 100},
		{[]float64{3, 5, 8, 9}, 50, 5}, // the lower of the two in the middle
		{[]float64{3, 5, 8, 9}, 51, 8},
		{[]float64{4}, 99, 4},
	} {
		near(t, fmt.Sprintf("p%v of %d", c.p, len(c.values)), Percentile(c.values, c.p), c.want, 0)
	}
	if !math.IsNaN(Percentile(nil, 50)) {
		t.Error("percentile of nothing is a number")
	}
}

func TestJainIndex(t *testing.T) {
	near(t, "equal", JainIndex([]float64{2, 2, 2, 2}), 1, exact)
	near(t, "one has all", JainIndex([]float64{0, 0, 5, 0}), 0.25, exact)
	near(t, "1,2,3", JainIndex([]float64{1, 2, 3}), 36.0/42, exact) // 6² ÷ (3·14)
	near(t, "nothing", JainIndex([]float64{0, 0}), 1, exact)
	near(t, "nobody", JainIndex(nil), 1, exact)
}

func BenchmarkMaxMin(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		claims := make([]Claim, n)
		for i := range claims {
			claims[i] = Claim{Weight: float64(1 + i%3), Min: float64(i % 7), Max: float64(10 + i*7919%1009)}
		}
		b.Run(fmt.Sprintf("claims=%d", n), func(b *testing.B) {
			for b.Loop() {
				MaxMin(float64(20*n), claims)
			}
		})
	}
}

func BenchmarkDRF(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		users := make([]TaskClaim, n)
		for i := range users {
			users[i] = TaskClaim{1, []float64{float64(1 + i%5), float64(1 + i%3)}, float64(1 + i*7919%1009)}
		}
		b.Run(fmt.Sprintf("users=%d", n), func(b *testing.B) {
			for b.Loop() {
				DRF([]float64{100 * float64(n), 60 * float64(n)}, users)
			}
		})
	}
}
