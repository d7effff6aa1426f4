package testbed

import (
	"math"
	"math/rand/v2"

	"github.com/sojourn-sched/sojourn/sched"
)

// Block is the size of a block, which is the input of a map, in bytes.
const Block = 64 << 20

// Evenly returns the nodes with the copies of so many blocks, block by block, on a cluster of 60 nodes: 60 blocks in
// turn lie on 60 different nodes, in an order drawn anew for each turn, and copies of a block on different nodes.
func Evenly(r *rand.Rand, blocks, copies int) (places []sched.NodeID) {
	const nodes = 60
	var order []int
	for t := range blocks {
		if t%nodes == 0 {
			order = r.Perm(nodes)
		}
		for c := range copies {
			places = append(places, sched.NodeID(1+order[(t+c*nodes/copies)%nodes]))
		}
	}
	return places
}

// SpreadOf returns the standard deviation of ln(x) for a lognormal x with a coefficient of variation.
func SpreadOf(cv float64) float64 { return math.Sqrt(math.Log(1 + cv*cv)) }
