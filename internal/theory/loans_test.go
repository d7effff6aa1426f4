package theory

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Apportion gives whole parts that sum to the total, each its quota rounded down or up.
func TestApportion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(0, 1<<40).Draw(t, "total")
		weights := rapid.SliceOfN(rapid.Int64Range(0, 1<<50), 1, 9).Draw(t, "weights")
		parts, sum, whole := Apportion(total, weights), int64(0), int64(0)
		for i, w := range weights {
			sum, whole = sum+parts[i], whole+w
		}
		if want := total; whole > 0 && sum != want || whole == 0 && sum != 0 {
			t.Fatalf("%v of %v by %v", parts, total, weights)
		}
		for i, w := range weights {
			if quota := float64(total) * float64(w) / float64(whole); whole > 0 &&
				math.Abs(float64(parts[i])-quota) > 1.01 {
				t.Fatalf("part %d is %d of quota %v", i, parts[i], quota)
			}
		}
	})
	wantRows(t, "thirds", [][]int64{Apportion(100, []int64{1, 1, 1})}, [][]int64{{34, 33, 33}})
}

// What is lent and what is borrowed are the same sum, and neither is more than a user's spare or excess.
func TestLoansBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "users")
		share := rapid.SliceOfN(rapid.Int64Range(0, 1e6), n, n).Draw(t, "share")
		held := rapid.SliceOfN(rapid.Int64Range(0, 1e6), n, n).Draw(t, "held")
		lent, borrowed := Loans(share, held)
		var a, b int64
		for i := range share {
			a, b = a+lent[i], b+borrowed[i]
			if lent[i] > max(0, share[i]-held[i]) || borrowed[i] > max(0, held[i]-share[i]) || lent[i] < 0 ||
				borrowed[i] < 0 {
				t.Fatalf("user %d with %d of %d lends %d, borrows %d", i, held[i], share[i], lent[i], borrowed[i])
			}
		}
		if a != b {
			t.Fatalf("%d is lent and %d borrowed", a, b)
		}
	})
}
