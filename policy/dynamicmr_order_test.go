package policy

import (
	"math/rand/v2"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/longtest"
	"github.com/sojourn-sched/sojourn/sched"
)

// A plainSEPB is dynamicmr that, after each of its decisions, has every question that SEPB might ask of the order of
// the last look answered by walking over the jobs as well.
type plainSEPB struct {
	*dynamicmr
	t     *testing.T
	r     *rand.Rand
	asked [2]int // questions answered no, yes
}

func (c *plainSEPB) Decide(p *sched.Plan) {
	c.dynamicmr.Decide(p)
	c.Queues.Tree.waits.begin(p)
	for side := range c.Second.Order.Lists {
		l := &c.Second.Order.Lists[side]
		for range min(20, len(l.Jobs)) {
			from := c.r.IntN(len(l.Jobs))
			to := from + 1 + c.r.IntN(len(l.Jobs)-from)
			kind := sched.StageKind(c.r.IntN(2))
			want := false
			for _, id := range l.Jobs[from:to] {
				want = want || waits(p.Job(id), kind)
			}
			if got := l.anyWaits(p, kind, from, to); got != want {
				c.t.Fatalf("at %v, of the jobs in places %d to %d of %d: a %v waits: %v, want %v", p.Now, from, to,
					len(l.Jobs), kind, got, want)
			} else if got {
				c.asked[1]++
			} else {
				c.asked[0]++
			}
		}
	}
}

// Whether any of some jobs has a task that waits is told by bits as by a walk over them, whatever has started, ended
// and come since the look, with caches dropped at times.
func TestWaitingJobsByBits(t *testing.T) {
	for seed := range longtest.Few[uint64](2, 8) {
		r := rand.New(rand.NewPCG(seed, 7))
		for _, spec := range []string{"dynamicmr:min-run=20s,cap=1,checked=0.3",
			"dynamicmr:min-run=20s,cap=1,dhsa=pd,sepb=queue", "dynamicmr:min-run=20s,base=fifo,checked=0.1"} {
			p, _, err := Parse(spec)
			if err != nil {
				t.Fatal(err)
			}
			c := &plainSEPB{dynamicmr: p.(*dynamicmr), t: t, r: r}
			forget := func() bool { return r.IntN(50) == 0 }
			l := newSlotLoop(70+r.IntN(200), 1+r.IntN(30), 10, c, forget)
			for range 6000 {
				l.step()
			}
			if c.asked[0] < 1000 || c.asked[1] < 1000 {
				t.Errorf("seed %d, %s: %v questions were answered no and yes: little was tested", seed, spec, c.asked)
			}
		}
	}
}
