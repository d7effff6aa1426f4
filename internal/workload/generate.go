package workload

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/sojourn-sched/sojourn/sched"
)

// What a draw is for, so that no two draws of a job are the same number.
const (
	drawGap = iota + 1
	drawOn
	drawOff
	drawInput
	drawShuffle
	drawOutput
	drawUser
	drawQueue
	drawBlock
	drawMaps
	drawReduces
	drawMapTime
	drawReduceTime
)

// Arrivals say when jobs come. The zero Arrivals have all of them at 0.
type Arrivals struct {
	Gap sched.Time // mean time from one job to the next
	// Burst is the rate of arrivals while they come ÷ their mean rate. At 1 (or 0) they are a Poisson process; above,
	// one that is switched on and off (interrupted Poisson, the simplest Markov-modulated one): on for a mean time On,
	// off for a mean time On·(Burst − 1), both exponential.
	Burst float64
	On    sched.Time // zero: 10 gaps
}

// Validate reports what is wrong with a: the field, and what it should be.
func (a Arrivals) Validate() error {
	switch {
	case a.Gap < 0 || a.Gap > MaxTime:
		return fmt.Errorf("mean gap %v: must be from 0 to ten years", a.Gap)
	case a.Burst != 0 && !(a.Burst >= 1 && a.Burst <= 1e6):
		return fmt.Errorf("burst %v: must be from 1 (Poisson) to a million", a.Burst)
	case a.On != 0 && (a.On < a.Gap/1000 || a.On > MaxTime):
		return fmt.Errorf("mean burst time %v: must be at least a thousandth of the mean gap", a.On)
	}
	return nil
}

// A clock gives the instants of arrivals one after the other.
type clock struct {
	Arrivals
	chance Chance
	now    float64 // nanoseconds
	onLeft float64
	on     float64
	phases uint64
}

func (a Arrivals) clock(seed uint64) *clock {
	c := &clock{Arrivals: a, chance: NewChance(seed), on: float64(a.On)}
	if c.Burst == 0 {
		c.Burst = 1
	}
	if c.on == 0 {
		c.on = 10 * float64(a.Gap)
	}
	c.onLeft = c.on * c.chance.With(drawOn).With(0).Exponential()
	if first := c.chance.With(drawOff).With(0); c.Burst > 1 &&
		first.With(0).Uniform() > 1/c.Burst { // as an outsider finds it: perhaps off
		c.now = c.on * (c.Burst - 1) * first.Exponential()
	}
	return c
}

// next returns the instant of job k.
func (c *clock) next(k uint64) (sched.Time, error) {
	if c.Gap > 0 {
		gap := float64(c.Gap) / c.Burst * c.chance.With(drawGap).With(k).Exponential()
		for c.Burst > 1 && gap > c.onLeft {
			gap -= c.onLeft
			c.phases++
			c.now += c.onLeft + float64(c.on*(c.Burst-1)*c.chance.With(drawOff).With(c.phases).Exponential())
			c.onLeft = c.on * c.chance.With(drawOn).With(c.phases).Exponential()
		}
		c.onLeft -= gap
		c.now += gap
	}
	if c.now > MaxTime {
		return 0, fmt.Errorf("job %d arrives after more than ten years: take a shorter gap", k)
	}
	return sched.Time(c.now), nil
}

// A Generator makes jobs known by their bytes. Nil distributions of Shuffle and Output are those of jobs without any.
type Generator struct {
	Jobs     int64
	Arrivals Arrivals
	Input    Distribution // bytes that a job's maps read
	Shuffle  Distribution // bytes sent to reduces ÷ bytes read
	Output   Distribution // bytes written ÷ bytes read
	Users    int          // user1 to userN, equally likely; zero: none are named
	Queues   []string     // equally likely; nil: none are named
}

// Source returns the jobs. They are a function of options (the Seed among them) and g; job k's size does not
// depend on how many jobs there are, nor on when they arrive.
func (g *Generator) Source(o Options) Source {
	return func(yield func(*sched.JobSpec, error) bool) {
		if err := errors.Join(o.Validate(), g.Validate()); err != nil {
			yield(nil, fmt.Errorf("generate workload: %w", err))
			return
		}
		clock := g.Arrivals.clock(o.Seed)
		for k := int64(1); k <= g.Jobs; k++ {
			job, err := g.job(&o, k)
			if err == nil {
				job.Submit, err = clock.next(uint64(k))
			}
			if err != nil {
				yield(nil, fmt.Errorf("generate job %d: %w", k, err))
				return
			}
			if !yield(job, nil) {
				return
			}
		}
	}
}

// Validate reports what is wrong with g: the field, and what it should be.
func (g *Generator) Validate() error {
	switch {
	case g.Jobs < 0 || g.Jobs > math.MaxInt32:
		return fmt.Errorf("jobs %d: must be from 0 to 2^31-1", g.Jobs)
	case g.Input == nil:
		return errors.New("input: needs a distribution of the bytes that a job reads")
	case g.Users < 0:
		return fmt.Errorf("users %d: must not be negative", g.Users)
	}
	return g.Arrivals.Validate()
}

// job makes job k, to be submitted at 0.
func (g *Generator) job(o *Options, k int64) (*sched.JobSpec, error) {
	chance := NewChance(o.Seed).With(uint64(k))
	draw := func(d Distribution, what uint64, scale float64) (int64, error) {
		if d == nil {
			return 0, nil
		}
		x := math.Round(d.Quantile(chance.With(what).Uniform()) * scale)
		if !(x >= 0 && x <= MaxBytes) {
			return 0, fmt.Errorf("%g bytes: must be from 0 to 2^60; cut the distribution", x)
		}
		return int64(x), nil
	}
	var b traffic
	var errs [3]error
	b.input, errs[0] = draw(g.Input, drawInput, 1)
	b.shuffle, errs[1] = draw(g.Shuffle, drawShuffle, float64(b.input))
	b.output, errs[2] = draw(g.Output, drawOutput, float64(b.input))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	spec := sched.JobSpec{Name: "job" + strconv.FormatInt(k, 10)}
	if g.Users > 0 {
		spec.User = "user" + strconv.Itoa(chance.With(drawUser).Below(g.Users)+1)
	}
	if len(g.Queues) > 0 {
		spec.Queue = g.Queues[chance.With(drawQueue).Below(len(g.Queues))]
	}
	return o.fromBytes(spec, k, b)
}

// loadSample is how many jobs are looked at to find the mean work of a job.
const loadSample = 1 << 20

// ForLoad returns g with the gap at which the work that arrives in a time is load × what the cluster does in it. The
// mean work of a job is that of g's own jobs, the first million at most. A class of nodes counts by its speed.
func (g *Generator) ForLoad(load float64, c *Cluster, o Options) (Generator, error) {
	if !(load > 0) || math.IsInf(load, 0) {
		return *g, fmt.Errorf("load %v: must be positive", load)
	}
	if err := errors.Join(o.Validate(), g.Validate()); err != nil {
		return *g, fmt.Errorf("generate workload: %w", err)
	}
	var work sched.Work
	n := min(g.Jobs, loadSample)
	for k := int64(1); k <= n; k++ {
		job, err := g.job(&o, k)
		if err != nil {
			return *g, fmt.Errorf("generate job %d: %w", k, err)
		}
		w := job.Payload.(*Truth).Size(job)
		for i := range work {
			work[i] += w[i]
		}
	}
	r := *g
	if n == 0 {
		return r, nil
	}
	// Kinds of slots and of resources are servers side by side: the one with most to do sets the pace.
	busy := 0.0
	for k := range work {
		power := 0.0
		for i := range c.Classes {
			cl := &c.Classes[i]
			power += float64(cl.Resources[k]) * float64(cl.Count) * cl.Speed
		}
		if power > 0 {
			busy = max(busy, work[k]/power)
		}
	}
	gap := busy / float64(n) / load * 1e9
	if gap > MaxTime {
		return *g, fmt.Errorf("load %v: a mean gap of %g s: must be at most ten years", load, gap/1e9)
	}
	r.Arrivals.Gap = max(1, sched.Time(math.Round(gap)))
	return r, nil
}
