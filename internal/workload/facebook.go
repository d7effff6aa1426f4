package workload

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn/sched"
)

// A bin is a row of the table of Facebook's jobs of October 2009 by their number of maps.
type bin struct {
	jobs int   // of 50
	maps []int // of those jobs, one after the other; nil: 1 to 25, equally likely
}

// facebookBins is the synthetic Facebook workload that MROrder was evaluated with (Tang, Lee and He: MROrder, Euro-Par
// 2013), after the table of Zaharia et al.: Delay Scheduling, EuroSys 2010.
var facebookBins = [...]bin{
	{29, nil},
	{5, []int{25, 30, 35, 40, 50}},
	{4, []int{60, 80, 90, 100}},
	{4, []int{120, 150, 180, 200}},
	{3, []int{250, 320, 400}},
	{2, []int{600, 800}},
	{1, []int{1200}},
	{1, []int{2400}},
	{1, []int{4800}},
}

// facebookBlock is the number of jobs in which each bin has its exact part.
const facebookBlock = 50

// Times of tasks, drawn once for each job: median and sigma of lognormal distributions. The parameters that were
// published, 9.9511 and 12.375, are logarithms of milliseconds.
var (
	facebookMapTime    = Lognormal{Median: math.Exp(9.9511) / 1e3, Sigma: 1.6764}
	facebookReduceTime = Lognormal{Median: math.Exp(12.375) / 1e3, Sigma: 1.6262}
)

// A job has from 5 % to 25 % as many reduces as maps, at least one.
var facebookReduces = Uniform{Min: 0.05, Max: 0.25}

// FacebookMix returns jobs by the table of Facebook's cluster in October 2009: of every 50 jobs in a row each bin has
// its exact number, in an order that the seed shuffles. With 50, 100 and 150 jobs, all at 0, it is the workload of
// MROrder's evaluation.
func FacebookMix(jobs int64, a Arrivals, o Options) Source {
	return func(yield func(*sched.JobSpec, error) bool) {
		err := errors.Join(o.Validate(), a.Validate())
		if jobs < 0 || jobs > math.MaxInt32 {
			err = errors.Join(err, fmt.Errorf("jobs %d: must be from 0 to 2^31-1", jobs))
		}
		if err != nil {
			yield(nil, fmt.Errorf("generate workload: %w", err))
			return
		}
		clock := a.clock(o.Seed)
		var block [facebookBlock]facebookJob
		for k := range jobs {
			if k%facebookBlock == 0 {
				block = shuffledBlock(NewChance(o.Seed).With(drawBlock).With(uint64(k)))
			}
			job, err := block[k%facebookBlock].job(&o, k+1)
			if err == nil {
				job.Submit, err = clock.next(uint64(k + 1))
			}
			if err != nil {
				yield(nil, fmt.Errorf("generate job %d: %w", k+1, err))
				return
			}
			if !yield(job, nil) {
				return
			}
		}
	}
}

// A facebookJob is a job before its times are drawn; no maps: 1 to 25.
type facebookJob struct{ bin, maps int }

// shuffledBlock returns the jobs of a block in an order by chance (Fisher and Yates).
func shuffledBlock(chance Chance) (block [facebookBlock]facebookJob) {
	n := 0
	for i, b := range facebookBins {
		for k := range b.jobs {
			block[n].bin = i
			if b.maps != nil {
				block[n].maps = b.maps[k]
			}
			n++
		}
	}
	for i := len(block) - 1; i > 0; i-- {
		k := chance.With(uint64(i)).Below(i + 1)
		block[i], block[k] = block[k], block[i]
	}
	return block
}

// job draws the rest.
func (j facebookJob) job(o *Options, k int64) (*sched.JobSpec, error) {
	chance := NewChance(o.Seed).With(uint64(k))
	draw := func(d Distribution, what uint64) float64 { return d.Quantile(chance.With(what).Uniform()) }
	maps := j.maps
	if maps == 0 {
		maps = 1 + chance.With(drawMaps).Below(25)
	}
	reduces := max(1, int(math.Round(draw(facebookReduces, drawReduces)*float64(maps))))
	var times [2]sched.Time
	for i, seconds := range [...]float64{draw(facebookMapTime, drawMapTime), draw(facebookReduceTime, drawReduceTime)} {
		t, err := o.scaleTime(sched.Time(min(seconds, MaxTime/1e9)*1e3) * time.Millisecond)
		if err != nil {
			return nil, err
		}
		times[i] = t
	}
	spec := sched.JobSpec{Name: fmt.Sprintf("bin%d-%d", j.bin, k)}
	return o.join(spec, k, StageTruth{Tasks: int32(maps), Base: times[0]},
		StageTruth{Tasks: int32(reduces), Base: times[1]}), nil
}
