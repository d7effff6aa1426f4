package sim

import (
	"math"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// queueing yields jobs of one task: Poisson arrivals at rate λ a second, exponential times of mean 1 s.
func queueing(n int, lambda float64, seed uint64) workload.Source {
	return func(yield func(*sched.JobSpec, error) bool) {
		at := 0.0
		for i := range n {
			c := workload.NewChance(seed).With(uint64(i))
			at += c.With(1).Exponential() / lambda
			j := mr{submit: sched.Time(at * 1e9), maps: 1, mapTime: sched.Time(c.With(2).Exponential() * 1e9)}.job()
			if !yield(j, nil) {
				return
			}
		}
	}
}

// erlangC is the probability that an arrival waits at c servers offered a erlangs (Erlang's second formula).
func erlangC(c int, a float64) float64 {
	b := 1.0 // Erlang's loss formula, by its recurrence over the servers
	for k := 1; k <= c; k++ {
		b = a * b / (float64(k) + a*b)
	}
	return b / (1 - a/float64(c)*(1-b))
}

// Mean sojourn times of M/M/c under FIFO are 1 + C(c, λ) ÷ (c − λ) s at a service rate of 1. The mean of a run is held
// against it by batch means: the mean of 40 batches of 2,500 jobs, after 5,000 to warm up, gets a standard error
// from the batches themselves, and lies within 3.56 of it with probability 0.999 (Student, 39 degrees of freedom).
// Seeds are fixed, so the test either always passes or never.
func TestMMc(t *testing.T) {
	for _, q := range []struct {
		servers int32
		lambda  float64
	}{{1, 0.5}, {1, 0.8}, {4, 3.2}, {20, 18}} {
		const warm, batches, size = 5000, 40, 2500
		l, _ := simulate(
			t,
			Config{
				Cluster: slotCluster(q.servers, 1, slots(1, 0)),
				Jobs:    queueing(warm+batches*size, q.lambda, uint64(q.servers)),
			},
		)
		var means []float64
		for b := range batches {
			sum := 0.0
			for k := range size {
				id := sched.JobID(warm + b*size + k + 1)
				sum += (l.ended[id] - l.submitted[id]).Seconds()
			}
			means = append(means, sum/size)
		}
		mean, sq := 0.0, 0.0
		for _, m := range means {
			mean += m / batches
		}
		for _, m := range means {
			sq += (m - mean) * (m - mean)
		}
		se := math.Sqrt(sq / (batches - 1) / batches)
		want := 1 + erlangC(int(q.servers), q.lambda)/(float64(q.servers)-q.lambda)
		if math.Abs(mean-want) > 3.56*se || se > 0.1*want {
			t.Errorf("M/M/%d at %v: mean sojourn %.4f ± %.4f s, want %.4f", q.servers, q.lambda, mean, se, want)
		}
	}
}
