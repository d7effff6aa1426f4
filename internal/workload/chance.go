package workload

import (
	"math"

	"github.com/sojourn-sched/sojourn/internal/splitmix"
)

// Chance is a random number that is a function of what it is for: a seed, then a job, a stage, a task, one With each.
// So a draw depends neither on the order in which tasks run nor on the policy, and nothing has to be stored.
type Chance uint64

// NewChance returns the chance of a seed.
func NewChance(seed uint64) Chance { return Chance(0).With(seed) }

// With returns the chance of n, given c.
func (c Chance) With(n uint64) Chance {
	return Chance(splitmix.Mix(((uint64(c) + splitmix.Increment) ^ n) * splitmix.Multiplier))
}

// Uniform returns a number in (0, 1), never an end of it.
func (c Chance) Uniform() float64 { return (float64(c>>12) + 0.5) / (1 << 52) }

// Below returns a number in [0, n); n is positive.
func (c Chance) Below(n int) int { return int(c.Uniform() * float64(n)) }

// Normal returns a standard normal number, by inversion of its distribution function.
func (c Chance) Normal() float64 { return normal(c.Uniform()) }

// Exponential returns an exponential number of mean 1.
func (c Chance) Exponential() float64 { return -math.Log(c.Uniform()) }

// Factor returns exp(sigma·N − sigma²/2), N standard normal: lognormal with mean 1.
func (c Chance) Factor(sigma float64) float64 {
	return math.Exp(float64(sigma*c.Normal()) - float64(sigma*sigma/2))
}

// normal returns the quantile at u, in (0, 1), of the standard normal distribution.
func normal(u float64) float64 { return math.Sqrt2 * math.Erfinv(2*u-1) }
