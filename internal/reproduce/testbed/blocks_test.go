package testbed

import (
	"math/rand/v2"
	"testing"
)

// Copies of a block are on different nodes, and each node holds as many blocks as the others, but for one turn.
func TestEvenly(t *testing.T) {
	for _, copies := range []int{1, 3} {
		const blocks = 130
		places := Evenly(rand.New(rand.NewPCG(1, 2)), blocks, copies)
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
