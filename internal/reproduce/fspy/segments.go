package fspy

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/sched"
)

// A match is a way to run a segment under fair sharing and under FSPY.
type match struct {
	name       string
	fair, fspy string           // the policies
	master     *workload.Master // that each job has; nil: none
	sigma      float64          // spread of task times, lognormal with their mean
	trained    bool             // the predictor has learned from another segment
	fit        model.FitConfig  // of the predictor
	exact      []string         // policies that are run with exact sizes as well
}

// Parameters of FSPY: it starts as many masters as find room, as printed; and a job is small by the same block as for
// its ApplicationMaster.
const (
	unbounded = ",masters=1"
	oneBlock  = ",uber-block=64"
)

// ourMatch is the match that is nearest to the paper's cluster.
func ourMatch() match {
	return match{
		fair:   "fair:big=kept",
		fspy:   asPrinted + ",big=kept" + unbounded + oneBlock,
		master: hadoopMaster(true),
		sigma:  0.3,
		fit:    model.DefaultFit,
		exact:  []string{asPrinted + ",big=kept" + unbounded + oneBlock},
	}
}

// hadoopMaster is a master of Hadoop's defaults, which starts as long as a task of these jobs.
func hadoopMaster(uber bool) *workload.Master {
	m := workload.DefaultMaster()
	m.Start, m.Block, m.Uber = taskStart, block, uber
	return &m
}

// as returns a segment's jobs as they are in a match.
func (m *match) as(jobs []*sched.JobSpec) ([]*sched.JobSpec, error) {
	source := workload.Of(jobs...)
	if m.master != nil {
		source = m.master.AddTo(source, segmentCluster())
	}
	list, err := testbed.Collect(source)
	if err != nil {
		return nil, err
	}
	for i, j := range list {
		own, truth := *j, *j.Payload.(*workload.Truth)
		truth.Stages = slices.Clone(truth.Stages)
		for k := range truth.Stages {
			truth.Stages[k].Sigma = m.sigma
		}
		own.Payload = &truth
		list[i] = &own
	}
	return list, nil
}

// trial runs a segment.
func (m *match) trial(ctx context.Context, g *segments, lab paper.Lab, k uint64) (paper.Sample, error) {
	jobs, level, err := g.of(lab, k)
	if err != nil {
		return nil, err
	}
	s := paper.Sample{}
	s.Set("level", level)
	s.Set("size", sizesOf(jobs)...)
	if jobs, err = m.as(jobs); err != nil {
		return nil, err
	}
	set := segment(jobs, k)
	alone, err := aloneTimes(ctx, set)
	if err != nil {
		return nil, err
	}
	fair, err := set.Under(ctx, m.fair)
	if err != nil {
		return nil, err
	}
	s.Set("fair sojourn", fair.Sojourns...)
	ratio(s, "fair slowdown", fair.Sojourns, alone)
	predictor, err := m.predictor(ctx, g, lab, k)
	if err != nil {
		return nil, err
	}
	set.Made = predictor
	printed, err := set.Under(ctx, m.fspy)
	if err != nil {
		return nil, err
	}
	s.Set("gain fspy", fair.Sojourn.Mean/printed.Sojourn.Mean)
	s.Set("fspy sojourn", printed.Sojourns...)
	ratio(s, "fspy slowdown", printed.Sojourns, alone)
	ratio(s, "fspy fair slowdown", printed.Sojourns, fair.Sojourns)
	set.Made = nil
	for _, spec := range m.exact {
		o, err := set.Under(ctx, spec)
		if err != nil {
			return nil, err
		}
		s.Set("gain "+spec, fair.Sojourn.Mean/o.Sojourn.Mean)
		ratio(s, spec+" fair slowdown", o.Sojourns, fair.Sojourns)
	}
	switch group := math.Round(level); {
	case group <= 3:
		s.Set("light gain", s.Of("gain fspy"))
	case group <= 5:
		s.Set("middle gain", s.Of("gain fspy"))
	default:
		s.Set("heavy gain", s.Of("gain fspy"))
		s.Set("masters fair", 100*fair.Masters)
		s.Set("masters fspy", 100*printed.Masters)
	}
	return s, nil
}

// segmentsPart is the paper's evaluation.
func segmentsPart(g *segments) paper.Part {
	m := ourMatch()
	return paper.Part{
		Title: "Facebook's day, segment by segment", Trials: segmentsUsed,
		How: "A trial is a segment: under `" + m.fair + "`; under `" + m.fspy + "` with probes and the paper's " +
			"predictor; and under the same with exact sizes, for comparison. `big=kept` keeps a node for a container " +
			"that is larger than those which would overtake it, as Hadoop's schedulers do.",
		Trial: func(ctx context.Context, lab paper.Lab, k uint64) (paper.Sample, error) {
			return m.trial(ctx, g, lab, k)
		},
		Over: overSegments, Claims: segmentClaims(), Charts: segmentCharts(m.exact[0]),
		Reading: "The heavier the load, the longer the line of small jobs that fair sharing makes wait together with " +
			"the large ones; serving by what is left lets them through. Where a prediction is much too small the job " +
			"is late, goes first as printed and keeps all others waiting (*What ApplicationMasters change* has it " +
			"with late jobs that share).",
	}
}

// segmentClaims returns the rows of segmentsPart: the paper's claims (Figures 5 to 10 and the abstract), and between
// them rows that test no claim, marked Own. synthesisPart shows only some rows. match.trial and overSegments set the
// figures of all rows.
func segmentClaims() []paper.Claim {
	chunks := "a job of one task that comes when all containers are held waits for one to be free; fair sharing has " +
		"the same wait at other instants, so that jobs of equal size trade places by a task's time, which is most of " +
		"a small job's"
	loads := "the paper does not say which load has level 6 (its α and β are not given); what it publishes lies " +
		"between our levels 6 and 7"
	return []paper.Claim{
		{
			Where:     "Fig. 5",
			Says:      "groups of level (RCP rounded)",
			Published: paper.Exactly(7),
			Figure:    "groups",
			Agrees:    paper.Between(6, 9),
			Why:       "the paper joins levels at the low end: its first group is RCP ≤ 3",
		},
		{
			Where:     "Fig. 5",
			Says:      "segments at RCP 6 or more (by construction)",
			Published: paper.Exactly(19),
			Figure:    "heavy",
			Own:       true,
		},
		{
			Where:     "Fig. 6",
			Says:      "mean sojourn time, fair ÷ FSPY, RCP ≤ 3",
			Published: paper.Exactly(1),
			Unit:      "×",
			Figure:    "light gain",
			Agrees:    paper.Between(0.9, 1.1),
			Why:       "without load no job waits, and the order does not matter; probes cost a little",
		},
		{Where: "ours", Says: "the same, RCP 4 and 5", Unit: "×", Figure: "middle gain", Own: true},
		{
			Where:     "Fig. 6",
			Says:      "the same, RCP 6 and more: far better",
			Published: paper.AtLeast(1),
			Unit:      "×",
			Figure:    "heavy gain",
			Agrees:    paper.Above(1),
		},
		{
			Where:     "Fig. 6",
			Says:      "the gap widens with load: rank correlation of gain and level",
			Published: paper.AtLeast(0),
			Figure:    "trend",
			Agrees:    paper.Above(0.3),
			Why: "where jobs are small, most of their time is the start of a master, which no size has in it, so " +
				"that the level says less of the load",
		},
		{
			Where:     "abstract",
			Says:      "mean sojourn time at heavy load: the largest gain of a segment",
			Published: paper.Exactly(10),
			Unit:      "×",
			Figure:    "largest gain",
			Agrees:    paper.Above(1),
		},
		{
			Where:     "Fig. 7",
			Says:      "jobs done under FSPY in the time in which half are under fair sharing, RCP 6",
			Published: paper.AtLeast(80),
			Unit:      "%",
			Figure:    "half",
			Agrees:    paper.Above(50),
			Why:       loads,
		},
		{
			Where:     "Fig. 7",
			Says:      "jobs done within 40 s under FSPY, RCP 6",
			Published: paper.AtLeast(80),
			Unit:      "%",
			Figure:    "below 40 fspy",
			Agrees:    paper.Above(50),
		},
		{
			Where:     "Fig. 7",
			Says:      "the same under fair sharing",
			Published: paper.AtMost(50),
			Unit:      "%",
			Figure:    "below 40 fair",
			Agrees:    paper.AtMost(50),
			Why:       loads,
		},
		{
			Where:  "ours",
			Says:   "Fig. 7 at RCP 7: done under FSPY in the time in which half are under fair sharing",
			Unit:   "%",
			Figure: "half 7",
			Own:    true,
		},
		{Where: "ours", Says: "done within 40 s under FSPY, RCP 7", Unit: "%", Figure: "below 40 fspy 7", Own: true},
		{Where: "ours", Says: "the same under fair sharing", Unit: "%", Figure: "below 40 fair 7", Own: true},
		{
			Where:     "Fig. 8",
			Says:      "jobs with a common slowdown below 4 under FSPY, heavy load (RCP 7 and more)",
			Published: paper.AtLeast(95),
			Unit:      "%",
			Figure:    "below 4 fspy",
			Agrees:    paper.Above(80),
			Why:       chunks,
		},
		{
			Where:     "Fig. 8",
			Says:      "the same under fair sharing",
			Published: paper.AtMost(65),
			Unit:      "%",
			Figure:    "below 4 fair",
			Agrees:    paper.Below(80),
		},
		{
			Where:     "Fig. 8",
			Says:      "largest common slowdown, fair ÷ FSPY (10 ÷ 5)",
			Published: paper.Exactly(2),
			Unit:      "×",
			Figure:    "largest slowdown",
			Agrees:    paper.Above(1),
			Why:       chunks,
		},
		{
			Where:     "Fig. 9",
			Says:      "jobs with a fair slowdown of at most 1, RCP 6",
			Published: paper.AtLeast(75),
			Unit:      "%",
			Figure:    "fair at most 1",
			Agrees:    paper.Above(50),
			Why:       chunks,
		},
		{
			Where:     "Fig. 9",
			Says:      "jobs with a fair slowdown below 1.5, RCP 6",
			Published: paper.AtLeast(98),
			Unit:      "%",
			Figure:    "fair below 1.5",
			Agrees:    paper.Above(85),
			Why:       chunks,
		},
		{
			Where:     "Fig. 9",
			Says:      "largest fair slowdown, RCP 6",
			Published: paper.Exactly(1.7),
			Unit:      "×",
			Figure:    "fair largest",
			Agrees:    paper.Below(2),
			Why:       chunks,
		},
		{
			Where:  "ours",
			Says:   "memory that masters hold under fair sharing, RCP 6 and more",
			Unit:   "%",
			Figure: "masters fair",
			Own:    true,
		},
		{Where: "ours", Says: "the same under FSPY", Unit: "%", Figure: "masters fspy", Own: true},
		{
			Where:     "Fig. 10",
			Says:      "jobs later than under fair sharing, RCP 6: by how much, median",
			Published: paper.Between(0, 9),
			Unit:      "s",
			Figure:    "delay",
			Agrees:    paper.Between(0, 9),
			Why:       "a few seconds are taken for fewer than ten",
		},
		{
			Where:     "Fig. 10",
			Says:      "they are small: mean size of those jobs over that of all, RCP 6",
			Published: paper.AtMost(1),
			Unit:      "×",
			Figure:    "delayed size",
			Agrees:    paper.Below(1),
			Why:       "a few large jobs among them decide the mean; the next row has the median",
		},
		{
			Where:  "ours",
			Says:   "their median size over that of all jobs, RCP 6",
			Unit:   "×",
			Figure: "delayed median",
			Own:    true,
		},
	}
}

// segmentCharts are Figures 6 to 9.
func segmentCharts(exact string) []paper.Picture {
	distribution := func(jobs pool, x chart.Axis, least float64, series map[string]string) chart.Chart {
		c := chart.Chart{X: x, Y: chart.Axis{Label: "part of the jobs", Most: 1}, Low: true}
		for _, name := range slices.Sorted(maps.Keys(series)) {
			c.Lines = append(c.Lines, chart.Line{Name: name, Manner: chart.Steps,
				Points: chart.Distribution(jobs.of(series[name]), least)})
		}
		return c
	}
	return []paper.Picture{
		{
			File: "fspy-load",
			Caption: "Mean sojourn time under fair sharing ÷ that under FSPY, by level of load; each point is a " +
				"segment",
			Draw: func(samples []paper.Sample) chart.Chart {
				c := chart.Chart{
					X: chart.Axis{Label: "level of load (RCP); 6 is load 1"},
					Y: chart.Axis{Label: "mean sojourn time: fair ÷ this", Log: true},
				}
				for _, l := range []chart.Line{{Name: "fspy"}, {Name: "fspy, exact sizes"}} {
					figure := "gain fspy"
					if len(c.Lines) > 0 {
						figure = "gain " + exact
					}
					l.Manner = chart.Apart
					for _, s := range samples {
						l.Points = append(l.Points, chart.Point{X: s.Of("level"), Y: s.Of(figure)})
					}
					c.Lines = append(c.Lines, l)
				}
				return c
			},
		},
		{
			File:    "fspy-sojourn",
			Caption: "Distribution of sojourn times, all jobs of the segments at RCP 6",
			Draw: func(samples []paper.Sample) chart.Chart {
				return distribution(pool{samples, 6, 6}, chart.Axis{Label: "sojourn time (s)", Log: true}, 1e-3,
					map[string]string{"fair": "fair sojourn", "fspy": "fspy sojourn"})
			},
		},
		{
			File:    "fspy-slowdown",
			Caption: "Distribution of common slowdown, all jobs of the segments at the heaviest loads (RCP 7 and more)",
			Draw: func(samples []paper.Sample) chart.Chart {
				return distribution(pool{samples, 7, math.Inf(1)},
					chart.Axis{Label: "sojourn time ÷ sojourn time alone", Log: true}, 0.1,
					map[string]string{"fair": "fair slowdown", "fspy": "fspy slowdown"})
			},
		},
		{
			File:    "fspy-fair",
			Caption: "Distribution of fair slowdown at RCP 6: left of 1 a job is better off than under fair sharing",
			Draw: func(samples []paper.Sample) chart.Chart {
				return distribution(pool{samples, 6, 6},
					chart.Axis{Label: "sojourn time ÷ sojourn time under fair sharing", Log: true}, 1e-3,
					map[string]string{"fspy": "fspy fair slowdown", "fspy, exact sizes": exact + " fair slowdown"})
			},
		},
	}
}

// ratio adds the ratios of two lists, job by job.
func ratio(s paper.Sample, name string, a, b []float64) {
	list := make([]float64, len(a))
	for i := range a {
		list[i] = a[i] / b[i]
	}
	s.Set(name, list...)
}

// aloneTimes runs each job alone on the empty cluster.
func aloneTimes(ctx context.Context, set testbed.Setting) (times []float64, err error) {
	for _, j := range fromEach(set.Jobs) {
		one := set
		one.Jobs = []*sched.JobSpec{j}
		o, err := one.Under(ctx, "fair")
		if err != nil {
			return nil, err
		}
		times = append(times, o.Sojourns[0])
	}
	return times, nil
}

// fromEach returns jobs that all come at 0.
func fromEach(jobs []*sched.JobSpec) (list []*sched.JobSpec) {
	for _, j := range jobs {
		list = append(list, fromZero([]*sched.JobSpec{j})...)
	}
	return list
}

// A pool is the jobs of all segments whose level of load rounds to one from From to To.
type pool struct {
	samples  []paper.Sample
	From, To float64
}

// of returns a series of the pool's jobs.
func (p pool) of(series string) (all []float64) {
	for _, s := range p.samples {
		if level := math.Round(s.Of("level")); level >= p.From && level <= p.To {
			all = append(all, s[series]...)
		}
	}
	return all
}

// overSegments are the figures of all segments together.
func overSegments(samples []paper.Sample) paper.Sample {
	s := paper.Sample{}
	overLevels(s, samples)
	overTimes(s, pool{samples, 6, 6}, "")
	overTimes(s, pool{samples, 7, 7}, " 7")
	overDelays(s, pool{samples, 6, 6})
	overSlowdowns(s, pool{samples, 7, math.Inf(1)})
	return s
}

// overLevels are Figures 5 and 6: how loaded segments are, and what is gained by that.
func overLevels(s paper.Sample, samples []paper.Sample) {
	groups, heavy := map[float64]bool{}, 0
	var levels, gains []float64
	for _, x := range samples {
		group := math.Round(x.Of("level"))
		groups[group] = true
		if group >= 6 {
			heavy++
		}
		levels, gains = append(levels, x.Of("level")), append(gains, x.Of("gain fspy"))
	}
	s.Set("groups", float64(len(groups)))
	s.Set("heavy", float64(heavy))
	s.Set("trend", rankCorrelation(levels, gains))
	s.Set("largest gain", slices.Max(gains))
}

// overTimes are Figure 7's: sojourn times under both policies.
func overTimes(s paper.Sample, p pool, suffix string) {
	fair, fspy := p.of("fair sojourn"), p.of("fspy sojourn")
	if len(fair) == 0 {
		return
	}
	middle, _, _ := paper.Spread(fair)
	s.Set("half"+suffix, partBelow(fspy, math.Nextafter(middle, math.Inf(1))))
	s.Set("below 40 fair"+suffix, partBelow(fair, 40))
	s.Set("below 40 fspy"+suffix, partBelow(fspy, 40))
}

// overDelays are Figures 9 and 10: who is later than under fair sharing.
func overDelays(s paper.Sample, p pool) {
	slowdowns := p.of("fspy fair slowdown")
	if len(slowdowns) == 0 {
		return
	}
	s.Set("fair at most 1", partBelow(slowdowns, 1+1e-9))
	s.Set("fair below 1.5", partBelow(slowdowns, 1.5))
	s.Set("fair largest", slices.Max(slowdowns))
	fair, fspy, sizes := p.of("fair sojourn"), p.of("fspy sojourn"), p.of("size")
	var delays, delayed []float64
	for i := range fspy {
		if fspy[i] > fair[i] {
			delays, delayed = append(delays, fspy[i]-fair[i]), append(delayed, sizes[i])
		}
	}
	if len(delays) > 0 {
		delay, _, _ := paper.Spread(delays)
		s.Set("delay", delay)
		s.Set("delayed size", paper.Mean(delayed)/paper.Mean(sizes))
		middle, _, _ := paper.Spread(delayed)
		middleOfAll, _, _ := paper.Spread(sizes)
		s.Set("delayed median", middle/middleOfAll)
	}
}

// overSlowdowns are Figure 8's: sojourn times over those alone.
func overSlowdowns(s paper.Sample, p pool) {
	fair, fspy := p.of("fair slowdown"), p.of("fspy slowdown")
	if len(fair) == 0 {
		return
	}
	s.Set("below 4 fair", partBelow(fair, 4))
	s.Set("below 4 fspy", partBelow(fspy, 4))
	s.Set("largest slowdown", slices.Max(fair)/slices.Max(fspy))
}

// partBelow is the part of values below x, in percent.
func partBelow(values []float64, x float64) float64 {
	n := 0
	for _, v := range values {
		if v < x {
			n++
		}
	}
	return 100 * float64(n) / float64(len(values))
}

// rankCorrelation is Spearman's: the correlation of ranks, ties in the order given.
func rankCorrelation(a, b []float64) float64 {
	n := float64(len(a))
	x, y, sum := ranks(a), ranks(b), 0.0
	for i := range x {
		sum += (x[i] - y[i]) * (x[i] - y[i])
	}
	return 1 - 6*sum/(n*(n*n-1))
}

// ranks returns the rank of each value, from 0; equal values have theirs in the order given.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, k int) int {
		switch {
		case values[i] < values[k]:
			return -1
		case values[i] > values[k]:
			return 1
		}
		return 0
	})
	ranks := make([]float64, len(values))
	for r, i := range order {
		ranks[i] = float64(r)
	}
	return ranks
}
