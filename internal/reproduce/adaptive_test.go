package reproduce

import (
	"math/rand/v2"
	"testing"
)

// With relaxed goals adaptive meets more goals than fair, and Fair lets the joins pay.
func TestAdaptiveRelaxed(t *testing.T) {
	s, mix := Sample{}, adaptiveMix{adaptiveJobs, false}
	for _, policy := range []string{"adaptive", "fair"} {
		if err := mix.under(t.Context(), s, adaptiveRun{policy, policy, 3}); err != nil {
			t.Fatal(err)
		}
	}
	if s.of("adaptive met") <= s.of("fair met") || s.of("fair J4") < 3 || s.of("adaptive J2") > 1.02 {
		t.Errorf("goals: %v", s)
	}
}

// On short jobs the thesis's order meets fewer goals than earliest deadline first, and giving up the goals that do not
// fit meets at least as many, over 20 draws at each load.
func TestAdaptiveShortJobs(t *testing.T) {
	for _, load := range []float64{0.7, 1.2} {
		met := map[string]float64{}
		for _, by := range shortWorld.rivals {
			if by.policy != "edf" && by.policy != "adaptive" && by.policy != shortWorld.own {
				continue
			}
			for seed := range uint64(20) {
				n, err := shortWorld.met(t.Context(), by, goalPoint{load, 4, seed})
				if err != nil {
					t.Fatal(err)
				}
				met[by.policy] += n / 20
			}
		}
		if met["adaptive"] >= met["edf"] || met[shortWorld.own] < met["edf"] {
			t.Errorf("load %v: goals met %v %%", load, met)
		}
	}
}

// Copies of a block are on different nodes, and each node holds as many blocks as the others, but for one turn.
func TestEvenly(t *testing.T) {
	for _, copies := range []int{1, 3} {
		const blocks = 130
		places := evenly(rand.New(rand.NewPCG(1, 2)), blocks, copies)
		count := map[int]int{}
		for t0 := range blocks {
			seen := map[int]bool{}
			for _, n := range places[t0*copies : (t0+1)*copies] {
				seen[int(n)] = true
				count[int(n)]++
			}
			if len(seen) != copies {
				t.Fatalf("block %d lies on %v", t0, places[t0*copies:(t0+1)*copies])
			}
		}
		for n := 1; n <= 60; n++ {
			if least := blocks / 60 * copies; count[n] < least || count[n] > least+copies {
				t.Errorf("%d copies: node %d holds %d blocks", copies, n, count[n])
			}
		}
	}
}
