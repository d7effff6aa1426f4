package policy

import (
	"fmt"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
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

// A planning policy plans once more whenever it decides, if it is told to, and counts the processor time of that.
type planning struct {
	inner sched.Policy
	plan  func(*sched.Plan)
	on    bool
	took  time.Duration
}

// Decide asks the inner policy to decide, and then to plan.
func (c *planning) Decide(p *sched.Plan) {
	c.inner.Decide(p)
	if c.on {
		start := cpu()
		c.plan(p)
		c.took += cpu() - start
	}
}

// BenchmarkPlanning is the cost of one planning cycle of the policies that plan for the whole cluster, on as many nodes
// as jobs, as in BenchmarkAdaptive: the plan of hardware, and the placement of ras and reverse. One task has ended
// since the cycle before.
func BenchmarkPlanning(b *testing.B) {
	for _, spec := range []string{"hardware", "ras:trigger=off", "reverse:trigger=off"} {
		for _, n := range []int{100, 1000, 10000} {
			b.Run(fmt.Sprintf("%s/nodes=%d", spec, n), func(b *testing.B) {
				p, _, err := Parse(spec)
				if err != nil {
					b.Fatal(err)
				}
				c := &planning{inner: p}
				switch p := p.(type) {
				case *hardware:
					c.plan = p.planAll
				case *ras:
					c.plan = p.place
				case *backward:
					c.plan = p.Matrix.place
				}
				l := newSlotLoop(n, 1, 0, c, nil)
				l.goals = 40
				for range 10 * n {
					l.step()
				}
				c.on = true
				for b.Loop() {
					l.step()
				}
				b.ReportMetric(float64(c.took)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}
