package theory

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// By hand: three users of 4 slices each, half of them guaranteed, 6 credits to begin with. A asks for 1 and donates 1;
// B
// asks for 8, C for 3. The 6 common slices and the donated one are for B and C, who pay a credit for each above 2.
// Credits with the 2 that each is given: A 8, B 8, C 8. Slices go B, C, B, B, B, B, B: C has its third after one, and B
// 8 in all, and 6 of them cost. A earns one for the slice that it donated, which is used first.
func TestKarmaByHand(t *testing.T) {
	got := Karma{Guaranteed: WholeShare / 2, Strict: true}.Divide([]KarmaUser{
		{Share: 4, Demand: 1, Credits: 6}, {Share: 4, Demand: 8, Credits: 6}, {Share: 4, Demand: 3, Credits: 6},
	})
	want := []KarmaGrant{
		{Slices: 1, Earned: 1, Credits: 9}, {Slices: 8, Paid: 6, Credits: 2}, {Slices: 3, Paid: 1, Credits: 7},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	// Without credits nothing can be borrowed, unless slices would stay idle.
	poor := []KarmaUser{{Share: 2, Demand: 0, Credits: -2}, {Share: 2, Demand: 4, Credits: -2}}
	if got := (Karma{Guaranteed: WholeShare, Strict: true}).Divide(poor); got[1].Slices != 2 {
		t.Errorf("strict: %+v", got)
	}
	if got := (Karma{Guaranteed: WholeShare}).Divide(poor); got[1].Slices != 4 || got[0].Earned != 2 {
		t.Errorf("work-conserving: %+v", got)
	}
}

// demands draws a small case: users, and what they ask for in each quantum.
func drawDemands(t *rapid.T, users, quanta, most int) [][]int64 {
	rows := make([][]int64, quanta)
	for q := range rows {
		for range users {
			rows[q] = append(rows[q], int64(rapid.IntRange(0, most).Draw(t, "demand")))
		}
	}
	return rows
}

func drawKarma(t *rapid.T) Karma {
	return Karma{
		Guaranteed: int64(rapid.IntRange(0, 4).Draw(t, "guaranteed")) * WholeShare / 4,
		Strict:     rapid.Bool().Draw(t, "strict"),
	}
}

const plenty = 1000 // credits that never run out in these cases

// Karma is Pareto-efficient: no slice is idle while anyone asks for more, and no user has more than it asks for.
func TestKarmaParetoEfficient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, n := drawKarma(t), rapid.IntRange(1, 5).Draw(t, "users")
		demands := drawDemands(t, n, 6, 12)
		for q, got := range k.Play(slices.Repeat([]int64{4}, n), plenty, demands) {
			var given, asked int64
			for i, g := range got {
				if g > demands[q][i] {
					t.Fatalf("user %d has %d of %d", i, g, demands[q][i])
				}
				given, asked = given+g, asked+demands[q][i]
			}
			if given != min(asked, int64(4*n)) {
				t.Fatalf("quantum %d: %d given of %d asked for and %d there", q, given, asked, 4*n)
			}
		}
	})
}

// No user gains by asking for more than it has use for: whatever it over-reports in a quantum, what it has got up to
// then
// that was of use to it is no more.
func TestKarmaOverReportingGainsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, n := drawKarma(t), rapid.IntRange(2, 4).Draw(t, "users")
		k.Strict = true
		shares, real := slices.Repeat([]int64{4}, n), drawDemands(t, n, 5, 12)
		liar, lies := make([][]int64, len(real)), false
		for q := range real {
			liar[q] = slices.Clone(real[q])
			if more := int64(rapid.IntRange(0, 6).Draw(t, "more")); more > 0 {
				liar[q][0] += more
				lies = true
			}
		}
		if !lies {
			return
		}
		honest, gamed := k.Play(shares, plenty, real), k.Play(shares, plenty, liar)
		for q := range real {
			if a, b := Useful(honest[:q+1], real)[0], Useful(gamed[:q+1], real)[0]; b > a {
				t.Fatalf("up to quantum %d lying gives %d of use instead of %d: %v instead of %v", q, b, a,
					gamed, honest)
			}
		}
	})
}

// With nothing guaranteed, each quantum makes the least total as large as any division of that quantum could, then the
// second to least, and so on: against all divisions.
func TestKarmaLongTermWelfareAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 3
		shares, demands := slices.Repeat([]int64{2}, n), drawDemands(t, n, 5, 7)
		totals := make([]int64, n)
		for q, got := range (Karma{Strict: true}).Play(shares, plenty, demands) {
			best := []int64{-1}
			each(demands[q], min(6, sum(demands[q])), func(given []int64) {
				after := slices.Clone(totals)
				for i, g := range given {
					after[i] += g
				}
				slices.Sort(after)
				if slices.Compare(after, best) > 0 {
					best = after
				}
			})
			for i, g := range got {
				totals[i] += g
			}
			if sorted := slices.Sorted(slices.Values(totals)); !slices.Equal(sorted, best) {
				t.Fatalf("quantum %d: totals %v, the best are %v", q, sorted, best)
			}
		}
	})
}

func sum(list []int64) (s int64) {
	for _, x := range list {
		s += x
	}
	return s
}

// each calls f with every way to give left slices away so that no user has more than most; the slice is lent.
func each(most []int64, left int64, f func([]int64)) {
	given := make([]int64, len(most))
	var next func(i int, left int64)
	next = func(i int, left int64) {
		if i == len(most) {
			if left == 0 {
				f(given)
			}
			return
		}
		for given[i] = 0; given[i] <= min(most[i], left); given[i]++ {
			next(i+1, left-given[i])
		}
		given[i] = 0
	}
	next(0, left)
}

// With nothing guaranteed, most credits for its share and least used for its weight are the same order.
func TestKarmaWithoutGuaranteeIsLTRF(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "users")
		shares, capacity := make([]int64, n), int64(0)
		for i := range shares {
			shares[i] = int64(rapid.IntRange(1, 4).Draw(t, "share"))
			capacity += shares[i]
		}
		demands := drawDemands(t, n, 6, 10)
		var karma [][]int64
		credits, used := make([]KarmaUser, n), make([]LongTermUser, n)
		for i := range shares {
			credits[i], used[i] = KarmaUser{
				Share:   shares[i],
				Credits: plenty * shares[i],
			}, LongTermUser{
				Weight: shares[i],
			}
		}
		for q := range demands {
			for i := range shares {
				credits[i].Demand, used[i].Demand = demands[q][i], demands[q][i]
			}
			var row []int64
			for i, g := range (Karma{Strict: true}).Divide(credits) {
				credits[i].Credits = g.Credits
				row = append(row, g.Slices)
			}
			karma = append(karma, row)
		}
		ltrf := LongTermRule{Capacity: capacity, Discount: WholeShare}.PlayLongTerm(shares, demands)
		for q := range demands {
			if !slices.Equal(karma[q], ltrf[q]) {
				t.Fatalf("quantum %d: %v by credits, %v by use", q, karma[q], ltrf[q])
			}
		}
	})
}
