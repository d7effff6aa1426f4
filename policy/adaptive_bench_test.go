package policy

import (
	"fmt"
	"testing"
)

// BenchmarkAdaptive is the cost of one completion, core included, on as many nodes as jobs of 4 map slots and 1 reduce
// slot each. The jobs of the closed loop have deadlines of 1000 s in the middle; the submissions are in it, with the
// check of all goals (warn=on), which costs O(n log n).
func BenchmarkAdaptive(b *testing.B) {
	specs := []string{
		"fair", "edf", "minedf", "adaptive:warn=off", "adaptive", "adaptive:delays=3,warn=off",
		"adaptive:shortage=fewest", "hardware", "ras:trigger=off", "reverse:trigger=off",
	}
	for _, spec := range specs {
		for _, n := range []int{1000, 10000} {
			b.Run(fmt.Sprintf("%s/jobs=%d", spec, n), func(b *testing.B) {
				p, _, err := Parse(spec)
				if err != nil {
					b.Fatal(err)
				}
				l := newSlotLoop(n, 1, 0, p, nil)
				l.goals = 40
				for range 40 * n { // until most jobs are from after the deadlines began
					l.step()
				}
				start := cpu()
				for b.Loop() {
					l.step()
				}
				b.ReportMetric(float64(cpu()-start)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}
