// Package fspy runs the experiments with FSPY again, which serves first the job that fair sharing would end first.
//
//	fspy.go       the segments of Facebook's day; sizes with errors; what theory promises
//	segments.go   the segments under fair sharing and FSPY, and figures of all of them
//	masters.go    the same where ApplicationMasters hold resources, and by other settings
//	predicted.go  how well sizes are predicted, on the simulator
//	real.go       the same with real jobs
package fspy

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// The segments of the paper: 37 of 200 jobs, 150 apart.
const (
	segmentJobs, segmentStride, segmentsUsed = 200, 150, 37
	// the level of load at which work comes as fast as it can be done
	levelOfLoad1     = 6.0
	block            = 64 << 20 // bytes of input a map
	taskStart        = 5 * time.Second
	segmentsAtLeast6 = 19 // of those used, as published: what sizes are scaled to
	// nodes of the paper's cluster over those that the trace is of, by which SWIM scales the data of a synthesis
	swimScale = 8. / 600
)

// Paper makes the evaluation of FSPY. Its parts share the segments of the trace, which are read once.
func Paper() *paper.Paper {
	segments, synthesis := &segments{}, &segments{bytes: swimScale}
	return &paper.Paper{
		Name: "fspy", Title: "FSPY", Needs: paper.NeedsDay2009,
		Source: "*High-Responsive Scheduling with MapReduce Performance Prediction on Hadoop YARN* (FSPY: Fair " +
			"Sojourn Protocol in YARN), section IV; [docs/spec/fspy.md](../spec/fspy.md) has every formula and what " +
			"is wrong in print.",
		About: `FSPY serves first the job that would have least left if all jobs had shared the cluster fairly since
they came. Sizes come from a probe of the job, a small sample that is run, and from linear models of what jobs have
taken; until a job's size is known it shares fairly with others like it. Claimed: with exact sizes and jobs that can use
the whole cluster, no job is done later than under fair sharing; on a cluster with heavy load, the mean sojourn time is
a tenth.

The cluster is the paper's, 8 nodes of 8 GiB and 8 cores; the jobs are Facebook's of the public day of 2009, as in the
paper: 37 segments of 200 jobs that follow each other, each 150 jobs after the one before, under FSPY as printed and
under fair sharing. The paper scales the data to its cluster and does not say how; here jobs keep their sizes and come
closer to each other by one factor, such that 19 of the 37 segments have a level of load (RCP) of 6 or more, as
published, with load 1 at level 6: one level more is twice the load. A section of its own scales the data as a
synthesis by SWIM does. A map reads a block of 64 MiB as in the paper, a
reduce fetches 256 MiB; both hold 1 GiB and a core, take 5 s to start and then the time of their bytes, and reduces
start after the last map. Probes cost what they take. Unless a section says otherwise, as on the paper's cluster, each
job has
an ApplicationMaster, a container of 1536 MiB and a core (Hadoop's default) that takes 5 s to start and is held until
the job is done; small jobs run in it (uber), as the paper has it; and task times are spread around those of their
bytes, lognormal with σ = 0.3, since no cluster's tasks are alike. What a shared network adds is in the section on wrong
sizes, which like the one on theory has neither masters nor spread. *Fair slowdown* is a job's sojourn time over that
under fair sharing, *common slowdown* that over its sojourn time alone on the empty cluster.`,
		Parts: []paper.Part{
			segmentsPart(segments),
			synthesisPart(synthesis),
			mastersPart(segments),
			predictedPart(segments),
			errorsPart(segments),
			theoryPart(segments),
			realPart(segments),
		},
		Left: []paper.Left{
			{Where: "Fig. 7", Says: "the two curves coincide below 15 s and above 64 s",
				Why: "seconds of another cluster"},
		},
	}
}

// segments reads and scales the trace once for all trials.
type segments struct {
	bytes  float64 // factor of all amounts of data; zero: 1
	once   sync.Once
	err    error
	list   [][]*sched.JobSpec
	levels []float64
}

// segmentCluster is the paper's.
func segmentCluster() *workload.Cluster { return testbed.ClusterOf("nodes=8,memory=8GiB,vcores=8") }

// of returns the jobs of segment k, counted from 1, and its level of load (RCP). Submissions are from 0. The trace is
// read and scaled once, and all trials share the jobs, so they must not be changed. An error says that the trace is
// missing, cannot be read, or is too short.
func (g *segments) of(lab paper.Lab, k uint64) ([]*sched.JobSpec, float64, error) {
	if err := paper.NeedsDay2009(lab); err != nil {
		return nil, 0, err
	}
	g.once.Do(func() { g.err = g.read(lab.Trace) })
	if g.err != nil {
		return nil, 0, g.err
	}
	if int(k) > len(g.list) {
		return nil, 0, fmt.Errorf("%s: has %d segments of %d jobs, must have %d", lab.Trace, len(g.list),
			segmentJobs, segmentsUsed)
	}
	return g.list[k-1], g.levels[k-1], nil
}

// read reads the trace, packs its jobs as closely as makes as many segments as published reach level 6, and cuts it.
func (g *segments) read(trace string) error {
	o := segmentCluster().Options()
	o.Block, o.ReduceBytes, o.MaxReduces, o.Startup = block, 256<<20, 0, taskStart
	o.SizeScale = cmp.Or(g.bytes, 1)
	file, err := workload.Open(trace, o)
	if err != nil {
		return err
	}
	if err := g.cut(file.Jobs); err != nil || len(g.levels) < segmentsAtLeast6 {
		return err // of a short trace the caller speaks
	}
	sorted := slices.Sorted(slices.Values(g.levels))
	lacks := levelOfLoad1 - 0.5 - sorted[len(sorted)-segmentsAtLeast6] + 1e-6 // beyond what rounding of instants takes
	return g.cut(workload.TimeScale(file.Jobs, math.Exp2(-lacks)))
}

// cut cuts jobs into segments.
func (g *segments) cut(source workload.Source) error {
	jobs, err := testbed.Collect(source)
	if err != nil {
		return err
	}
	g.list, g.levels = nil, nil
	capacity := float64(segmentCluster().Capacity()[sched.Memory])
	for i, w := range theory.Windows(len(jobs), segmentJobs, segmentStride) {
		if i == segmentsUsed {
			break
		}
		part := jobs[w.First:w.End]
		first := part[0].Submit
		if w.First > 0 {
			first = jobs[w.First-1].Submit
		}
		span := (part[len(part)-1].Submit - first).Seconds()
		g.levels = append(g.levels, theory.LoadLevel(sizesOf(part), span, capacity,
			theory.Scale{Alpha: 1 / math.Ln2, Beta: levelOfLoad1}))
		g.list = append(g.list, fromZero(part))
	}
	return nil
}

// sizesOf are the true sizes of jobs, in MiB-seconds.
func sizesOf(jobs []*sched.JobSpec) (sizes []float64) {
	for _, j := range jobs {
		sizes = append(sizes, j.Payload.(*workload.Truth).Size(j)[sched.Memory])
	}
	return sizes
}

// fromZero returns jobs whose first comes at 0.
func fromZero(jobs []*sched.JobSpec) (list []*sched.JobSpec) {
	for _, j := range jobs {
		moved := *j
		moved.Submit -= jobs[0].Submit
		list = append(list, &moved)
	}
	return list
}

// segment is the setting of one segment.
func segment(jobs []*sched.JobSpec, seed uint64) testbed.Setting {
	return testbed.Setting{Cluster: segmentCluster(), Jobs: jobs, Costs: sim.Costs{Probing: sim.Defaults().Probing},
		Seed: seed}
}

// asPrinted is the policy fspy as the paper has it: late jobs go one after the other.
const asPrinted = "fspy:late=order"

// sizeErrors are those of the sizes that policies are told: estimate = size × exp(σN).
var sizeErrors = []struct {
	name    string
	sigma   float64
	network bool
}{{"σ = 0", 0, false}, {"σ = 0.5", 0.5, false}, {"σ = 1", 1, false}, {"σ = 2", 2, false}, {"network", 0, true}}

var errorPolicies = []string{"fspy:late=order", "fspy:late=share", "srpt"}

// errorsPart is beyond the paper: segments whose sizes are estimated wrong, or whose network is shared.
func errorsPart(g *segments) paper.Part {
	p := paper.Part{
		Title: "When sizes are wrong", Trials: 18,
		How: `Beyond the paper: a trial is one of every two segments, with sizes multiplied by exp(σN), N standard
normal, one draw a job. *Network* is with exact sizes and all costs of
` + "`sojourn sim`" + `: blocks have places, and reduces fetch over a network that they share, which takes time that no
size has in it. Figures are of the segments at RCP 6 and more.
` + "`late=share`" + ` lets jobs share that should have been done, as PSBS
does; ` + "`late=order`" + ` is as published.`,
		Charts: []paper.Picture{
			{
				File:    "fspy-errors",
				Caption: "Mean sojourn time under fair sharing ÷ that under a policy, by the error of sizes",
				Draw: func(samples []paper.Sample) chart.Chart {
					c := chart.Chart{Y: chart.Axis{Label: "mean sojourn time: fair ÷ this", Log: true}}
					for _, e := range sizeErrors {
						c.X.Names = append(c.X.Names, e.name)
					}
					for _, spec := range errorPolicies {
						l := chart.Line{Name: spec, Manner: chart.Apart}
						for i, e := range sizeErrors {
							l.Points = append(l.Points, paper.PointOf(samples, float64(i), spec+" "+e.name))
						}
						c.Lines = append(c.Lines, l)
					}
					return c
				},
			},
		},
		Reading: "Where tasks are short, a job is never behind another one for longer than a task, and errors of a " +
			"factor of two do little harm. A job much larger than it was said to be, or one whose reduces wait for " +
			"the network, is late, goes first and keeps others waiting; letting late jobs share helps.",
	}
	for _, e := range sizeErrors {
		for _, spec := range errorPolicies {
			p.Claims = append(
				p.Claims,
				paper.Claim{
					Where:  "ours",
					Says:   fmt.Sprintf("`%s`, %s: mean sojourn time, fair ÷ this", spec, e.name),
					Unit:   "×",
					Figure: spec + " " + e.name,
					Own:    true,
				},
			)
		}
	}
	p.Trial = func(ctx context.Context, lab paper.Lab, k uint64) (paper.Sample, error) {
		jobs, level, err := g.of(lab, 2*k)
		if err != nil || math.Round(level) < 6 {
			return paper.Sample{}, err
		}
		s := paper.Sample{}
		for _, e := range sizeErrors {
			set := segment(jobs, k)
			if e.network {
				set.Costs = sim.Defaults()
			}
			fair, err := set.Under(ctx, "fair")
			if err != nil {
				return nil, err
			}
			set.Estimator = testbed.Noisy(e.sigma, k)
			for _, spec := range errorPolicies {
				o, err := set.Under(ctx, spec)
				if err != nil {
					return nil, err
				}
				s.Set(spec+" "+e.name, fair.Sojourn.Mean/o.Sojourn.Mean)
			}
		}
		return s, nil
	}
	return p
}

// theoryPart tries fair slowdowns (§ II-E) on the divisible servers of package theory, with bounds of jobs and without.
func theoryPart(g *segments) paper.Part {
	return paper.Part{
		Title: "What theory promises, and where it stops", Trials: segmentsUsed,
		How: `Friedman and Henderson proved that no job is done later than under fair sharing, with exact sizes,
preemption and jobs that can each use the whole cluster. A trial is a segment on one divisible server at load 0.9
(` + "`theory.Fluid`" + `), and 50 random batches of 2 to 6 jobs whose parallelism is bounded
(` + "`theory.BoundedFluid`" + `), where the proof does not hold. F12 is the
smallest counter-example: a capacity of 2; jobs of size 1, 1 and 2 that can each use 1.`,
		Claims: []paper.Claim{
			{
				Where:     "§ II-E",
				Says:      "largest fair slowdown, no bounds",
				Published: paper.AtMost(1),
				Unit:      "×",
				Figure:    "fluid",
				Agrees:    paper.AtMost(1 + 1e-6),
			},
			{
				Where:     "§ II-E",
				Says:      "largest fair slowdown, F12: the property does not hold with bounds",
				Published: paper.AtMost(1),
				Unit:      "×",
				Figure:    "F12",
				Agrees:    paper.AtMost(1),
				Why: "the paper claims it for its bounded jobs as well. It is not so: fair sharing gives all " +
					"three of F12 two thirds, so that the large job has been served all along; ranked, it waits for " +
					"both small ones and then cannot use what they leave",
			},
			{
				Where:  "ours",
				Says:   "mean of F12, ranked ÷ fair: better all the same",
				Unit:   "×",
				Figure: "F12 mean",
				Own:    true,
			},
			{
				Where:  "ours",
				Says:   "jobs later than under fair sharing, random batches with bounds",
				Unit:   "%",
				Figure: "late",
				Agrees: paper.Between(10, 20),
				Own:    true,
			},
			{
				Where:  "ours",
				Says:   "their largest fair slowdown",
				Unit:   "×",
				Figure: "worst",
				Agrees: paper.Between(1.1, 1.7),
				Own:    true,
			},
		},
		Reading: "Where jobs can use the whole cluster the promise holds to the digit. Bounds break it for a few " +
			"jobs, by a part of their time, and not for the mean.",
		Trial: func(_ context.Context, lab paper.Lab, k uint64) (paper.Sample, error) {
			jobs, _, err := g.of(lab, k)
			if err != nil {
				return nil, err
			}
			s := paper.Sample{}
			worst, err := fluidSlowdown(jobs)
			if err != nil {
				return nil, err
			}
			s.Set("fluid", worst)
			f12 := []theory.BoundedJob{{Size: 1, Bound: 1}, {Size: 1, Bound: 1}, {Size: 2, Bound: 1}}
			fair, ranked := theory.BoundedFluid(2, f12, false), theory.BoundedFluid(2, f12, true)
			s.Set("F12", max(ranked[0]/fair[0], ranked[1]/fair[1], ranked[2]/fair[2]))
			s.Set("F12 mean", (ranked[0]+ranked[1]+ranked[2])/(fair[0]+fair[1]+fair[2]))
			late, most := boundedSlowdowns(k)
			s.Set("late", late)
			s.Set("worst", most)
			return s, nil
		},
	}
}

// fluidSlowdown is the largest fair slowdown of jobs on one divisible server at load 0.9.
func fluidSlowdown(jobs []*sched.JobSpec) (worst float64, err error) {
	var list []theory.FluidJob
	sizes := sizesOf(jobs)
	if _, err := theory.ScaleToLoad(sizes, 0.9, jobs[len(jobs)-1].Submit.Seconds()); err != nil {
		return 0, err
	}
	for i, j := range jobs {
		list = append(list, theory.FluidJob{Arrival: j.Submit.Seconds(), Size: sizes[i], Estimate: sizes[i]})
	}
	ps, err := theory.Fluid(theory.PS, list)
	if err != nil {
		return 0, err
	}
	fsp, err := theory.Fluid(theory.FSP, list)
	if err != nil {
		return 0, err
	}
	for i, j := range list {
		worst = max(worst, (fsp[i]-j.Arrival)/(ps[i]-j.Arrival))
	}
	return worst, nil
}

// boundedSlowdowns are of 50 random batches: the part of jobs, in percent, that are later than under fair sharing, and
// the largest fair slowdown.
func boundedSlowdowns(seed uint64) (late, worst float64) {
	all := 0
	for batch := range uint64(50) {
		chance := workload.NewChance(seed).With(batch)
		jobs := make([]theory.BoundedJob, 2+chance.Below(5))
		for i := range jobs {
			draw := chance.With(uint64(i) + 1)
			jobs[i] = theory.BoundedJob{
				Release: float64(draw.With(1).Below(11)),
				Size:    float64(1 + draw.With(2).Below(12)),
				Bound:   float64(1 + draw.With(3).Below(6)),
			}
		}
		fair, ranked := theory.BoundedFluid(6, jobs, false), theory.BoundedFluid(6, jobs, true)
		for i, j := range jobs {
			slowdown := (ranked[i] - j.Release) / (fair[i] - j.Release)
			worst = max(worst, slowdown)
			all++
			if slowdown > 1+1e-6 {
				late++
			}
		}
	}
	return 100 * late / float64(all), worst
}
