// Package gittins measures the policy gittins beside others that go by sizes, where sizes are told with errors.
package gittins

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/workload"
)

// sizeSigmas are the standard deviations of ln(estimate ÷ size) that gittins is measured with.
var sizeSigmas = []float64{0.5, 1, 2}

// prototypeMeans is what was measured before the policy was built: mean sojourn times in seconds, by sizeSigmas.
var prototypeMeans = []struct {
	name  string
	means [3]float64
}{
	{"srpt", [3]float64{359, 654, 990}},
	{"fsp", [3]float64{260, 106, 252}},
	{"psbs", [3]float64{36.5, 45.5, 104.8}},
	{"spt", [3]float64{35.4, 41.3, 97.6}},
	{"las", [3]float64{49.1, 49.1, 49.1}},
	{"gittins", [3]float64{34.4, 38.8, 44.3}},
}

// Paper makes the page of the policy gittins.
func Paper() *paper.Paper {
	return &paper.Paper{
		Name: "gittins", Title: "Gittins",
		Source: "Gittins, Bandit Processes and Dynamic Allocation Indices, J. R. Statist. Soc. B 41(2), 1979; " +
			"[docs/spec/gittins.md](../spec/gittins.md) has what the policy computes.",
		About: `The policy ` + "`gittins`" + ` serves the job first that costs least for each job done, by what finished
jobs have taught of sizes and of the errors of estimates. It is not from a paper: *published* is what was measured of a
prototype for which the laws of size and error were known beforehand, with other seeds, on one divisible server. Here
they are learned from the jobs as they finish.

Jobs are those of Facebook's day of 2009. An estimate is the size times e^(σN) with N normal, one draw a job. A trial is
a seed of these draws; the command is that of the section's text.`,
		Parts: []paper.Part{fluidPart(), mapsPart(), reducesPart()},
		Needs: paper.NeedsDay2009,
	}
}

func fluidPart() paper.Part {
	p := paper.Part{
		Title: "On one divisible server", Trials: 30,
		How: "`sojourn fluid --trace FB-2009_samples_24_times_1hr_0.tsv --load 0.9 --sigma 0.5,1,2 --seeds 30 " +
			"--policy srpt,fsp,psbs,spt,las,gittins`: mean sojourn time. The mean over seeds, then the median seed " +
			"with the best and the worst.",
		Charts: []paper.Picture{
			{
				File: "gittins-fluid",
				Caption: "Mean sojourn time on one divisible server by error of estimates: the mean of the seeds, " +
					"the bar from the best to the worst",
				Draw: func(samples []paper.Sample) chart.Chart {
					return errorChart(samples, sizeSigmas, policyNames())
				},
			},
		},
		Reading: "The order is the published one, but for spt and psbs, which are as good as each other where errors " +
			"are small. The means of srpt, fsp and psbs hang on few seeds in which a very large job is taken for a " +
			"small one; gittins has no such seeds.",
		Over: func(samples []paper.Sample) paper.Sample { return ranked(samples, sizeSigmas, policyNames()) },
		Trial: func(_ context.Context, lab paper.Lab, seed uint64) (paper.Sample, error) {
			if err := paper.NeedsDay2009(lab); err != nil {
				return nil, err
			}
			jobs, err := fluidJobs(lab.Trace)
			if err != nil {
				return nil, err
			}
			s := paper.Sample{}
			for _, sigma := range sizeSigmas {
				for i := range jobs {
					jobs[i].Estimate = jobs[i].Size * math.Exp(sigma*workload.NewChance(seed).With(uint64(i)+
						1).Normal())
				}
				for _, name := range policyNames() {
					done, err := theory.Fluid(theory.Discipline(name), jobs)
					if err != nil {
						return nil, err
					}
					sum := 0.0
					for i, at := range done {
						sum += at - jobs[i].Arrival
					}
					s.Set(errorFigure(name, sigma), sum/float64(len(jobs)))
				}
			}
			return s, nil
		},
	}
	swapped := "spt and psbs are nearly as good as each other there, and other seeds have them the other way round"
	for k, sigma := range sizeSigmas {
		p.Claims = append(
			p.Claims,
			paper.Claim{
				Where:     fmt.Sprintf("σ = %v", sigma),
				Says:      "place of gittins, of six",
				Published: paper.Exactly(1),
				Figure:    fmt.Sprintf("place %v", sigma),
				Agrees:    paper.Exactly(1),
			},
			paper.Claim{
				Where:     fmt.Sprintf("σ = %v", sigma),
				Says:      "pairs of disciplines in the published order, of 15",
				Published: paper.Exactly(15),
				Figure:    fmt.Sprintf("pairs %v", sigma),
				Agrees:    paper.AtLeast(14),
				Why:       swapped,
			},
		)
		for _, row := range prototypeMeans {
			p.Claims = append(
				p.Claims,
				paper.Claim{
					Where:     fmt.Sprintf("σ = %v", sigma),
					Says:      row.name + ", mean of the seeds",
					Published: paper.Exactly(row.means[k]),
					Unit:      "s",
					Figure:    "mean " + errorFigure(row.name, sigma),
					Own:       true,
				},
				paper.Claim{
					Where:  fmt.Sprintf("σ = %v", sigma),
					Says:   row.name + ", by seed",
					Unit:   "s",
					Figure: errorFigure(row.name, sigma),
					Own:    true,
				},
			)
		}
	}
	return p
}

func policyNames() (names []string) {
	for _, row := range prototypeMeans {
		names = append(names, row.name)
	}
	return names
}

// errorFigure names the mean sojourn time of a policy with an error.
func errorFigure(policy string, sigma float64) string { return fmt.Sprintf("%s %v", policy, sigma) }

// fluidJobs are a trace's jobs on one server at load 0.9, a shuffled byte weighing as much as five others.
func fluidJobs(trace string) (jobs []theory.FluidJob, err error) {
	file, err := workload.Open(trace, workload.Defaults())
	if err != nil {
		return nil, err
	}
	var sizes []float64
	for spec, err := range file.Jobs {
		if err != nil {
			return nil, err
		}
		input, shuffle, written := spec.Payload.(*workload.Truth).Bytes()
		sizes = append(sizes, theory.DataSize(float64(input), float64(shuffle), float64(written), 4))
		jobs = append(jobs, theory.FluidJob{Arrival: spec.Submit.Seconds()})
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("%s: no jobs", trace)
	}
	if _, err := theory.ScaleToLoad(sizes, 0.9, jobs[len(jobs)-1].Arrival); err != nil {
		return nil, fmt.Errorf("%s: %w", trace, err)
	}
	for i := range jobs {
		jobs[i].Size = sizes[i]
	}
	return jobs, nil
}

// ranked adds to all trials together the means of the policies, the place of gittins among them, and how many pairs of
// policies are in the order in which the prototype had them.
func ranked(samples []paper.Sample, sigmas []float64, names []string) paper.Sample {
	s := paper.Sample{}
	for _, sigma := range sigmas {
		means := map[string]float64{}
		for _, name := range names {
			for _, t := range samples {
				means[name] += t.Of(errorFigure(name, sigma)) / float64(len(samples))
			}
			s.Set("mean "+errorFigure(name, sigma), means[name])
		}
		place, pairs := 1.0, 0.0
		k := slices.Index(sizeSigmas, sigma)
		for i, a := range prototypeMeans {
			if means[a.name] < means["gittins"] {
				place++
			}
			for _, b := range prototypeMeans[i+1:] {
				if cmp.Compare(a.means[k], b.means[k]) == cmp.Compare(means[a.name], means[b.name]) {
					pairs++
				}
			}
		}
		s.Set(fmt.Sprintf("place %v", sigma), place)
		s.Set(fmt.Sprintf("pairs %v", sigma), pairs)
	}
	return s
}

// errorChart shows the mean of the trials of each policy by error, with the least and the greatest of them.
func errorChart(samples []paper.Sample, sigmas []float64, names []string) chart.Chart {
	c := chart.Chart{X: chart.Axis{}, Y: chart.Axis{Label: "mean sojourn time (s)", Log: true}}
	for _, sigma := range sigmas {
		c.X.Names = append(c.X.Names, fmt.Sprintf("σ = %v", sigma))
	}
	all := ranked(samples, sigmas, names)
	for _, name := range names {
		l := chart.Line{Name: name, Manner: chart.Apart}
		for i, sigma := range sigmas {
			q := paper.PointOf(samples, float64(i), errorFigure(name, sigma))
			q.Y = all.Of("mean " + errorFigure(name, sigma))
			l.Points = append(l.Points, q)
		}
		c.Lines = append(c.Lines, l)
	}
	return c
}

// A taskDay is Facebook's day on a simulated cluster.
type taskDay struct {
	cluster *workload.Cluster
	scale   float64 // of sizes
	costs   sim.Costs
	slow    float64 // part of the maps before reduces may start
	sigmas  []float64
	names   []string
}

// busySlots are the kinds of slots whose use is reported.
var busySlots = [2]string{"map_slots", "reduce_slots"}

// trial runs the policies, las once, as no error touches it.
func (d *taskDay) trial(ctx context.Context, lab paper.Lab, seed uint64) (paper.Sample, error) {
	if err := paper.NeedsDay2009(lab); err != nil {
		return nil, err
	}
	o := d.cluster.Options()
	o.SizeScale, o.SlowStart = d.scale, d.slow
	if !d.costs.Shuffle.On {
		o.Nodes = 0
	}
	file, err := workload.Open(lab.Trace, o)
	if err != nil {
		return nil, err
	}
	jobs, err := testbed.Collect(file.Jobs)
	if err != nil {
		return nil, err
	}
	s, las := paper.Sample{}, 0.0
	for _, sigma := range d.sigmas {
		set := testbed.Setting{Cluster: d.cluster, Jobs: jobs, Costs: d.costs, Seed: 1,
			Estimator: testbed.Noisy(sigma, seed)}
		for _, name := range d.names {
			if name == "las" && las > 0 {
				s.Set(errorFigure(name, sigma), las)
				continue
			}
			r, err := set.Under(ctx, name)
			if err != nil {
				return nil, err
			}
			if s.Set(errorFigure(name, sigma), r.Sojourn.Mean); name == "las" {
				las = r.Sojourn.Mean
				for _, k := range busySlots {
					s.Set("busy "+k, 100*r.Utilization[k])
				}
			}
		}
	}
	return s, nil
}

// part is the day as an experiment, with a picture in a file; why says why gittins may not be first.
func (d *taskDay) part(p paper.Part, file, why string) paper.Part {
	p.Trial = d.trial
	p.Over = func(samples []paper.Sample) paper.Sample { return ranked(samples, d.sigmas, d.names) }
	p.Charts = []paper.Picture{
		{
			File: file,
			Caption: "Mean sojourn time by error of estimates: the mean of the seeds, the bar from the best to the " +
				"worst",
			Draw: func(samples []paper.Sample) chart.Chart {
				return errorChart(samples, d.sigmas, d.names)
			},
		},
	}
	for _, k := range busySlots {
		if k == "map_slots" || d.costs.Shuffle.On {
			p.Claims = append(
				p.Claims,
				paper.Claim{
					Where:  "`las`",
					Says:   strings.ReplaceAll(k, "_", " ") + " busy, from the first submission to the last completion",
					Unit:   "%",
					Figure: "busy " + k,
					Own:    true,
				},
			)
		}
	}
	for _, sigma := range d.sigmas {
		where := fmt.Sprintf("σ = %v", sigma)
		p.Claims = append(
			p.Claims,
			paper.Claim{
				Where:  where,
				Says:   "gittins is the first of six: its place",
				Figure: fmt.Sprintf("place %v", sigma),
				Agrees: paper.Exactly(1),
				Why:    why,
				Own:    true,
			},
		)
		for _, name := range d.names {
			p.Claims = append(
				p.Claims,
				paper.Claim{
					Where:  where,
					Says:   name + ", mean of the seeds",
					Unit:   "s",
					Figure: "mean " + errorFigure(name, sigma),
					Own:    true,
				},
			)
		}
	}
	return p
}

func mapsPart() paper.Part {
	d := taskDay{cluster: testbed.SlotCluster(15, 4, 0), scale: 6.3, slow: 1, sigmas: sizeSigmas, names: policyNames()}
	return d.part(paper.Part{
		Title: "On tasks: maps alone", Trials: 6,
		How: "`sojourn sim --trace FB-2009_samples_24_times_1hr_0.tsv --estimator noisy:sigma=1,seed=1 --policy " +
			"srpt,fsp,psbs,spt,las,gittins --maps-only --costs none --size-scale 6.3 --cluster " +
			"nodes=15,map-slots=4`: 60 slots. Nothing that runs is taken back.",
		Reading: "The task-level policy keeps the order. What separates the others is less than on one server: a job " +
			"that is larger than it said keeps the slots that it has, and not the whole server, and tasks that are " +
			"left are counted and never fall below none.",
	}, "gittins-maps", "")
}

func reducesPart() paper.Part {
	d := taskDay{
		cluster: testbed.SlotCluster(12, 4, 8),
		scale:   4,
		costs:   sim.Defaults(),
		slow:    workload.HadoopSlowStart,
		sigmas:  []float64{1, 2},
		names:   append(policyNames(), "gittins:aging=0"),
	}
	return d.part(paper.Part{
		Title: "On tasks: with reduces and all costs", Trials: 6,
		How: "`sojourn sim --trace FB-2009_samples_24_times_1hr_0.tsv --estimator noisy:sigma=1,seed=1 --policy " +
			"srpt,fsp,psbs,spt,las,gittins --policy gittins:aging=0 --size-scale 4 --cluster " +
			"nodes=12,map-slots=4,reduce-slots=8`: 48 map and 96 reduce slots, with Hadoop's costs of reading " +
			"and shuffling.",
		Reading: "Here the mean is that of few jobs of hours, whose reduces hold their slots whatever the order, and " +
			"of what waits behind them, so that orders by size are close to each other and far from those that " +
			"share. `aging=0` is gittins without its guard against starvation, which such jobs call upon.",
	}, "gittins-reduces", "a few large jobs decide the mean, and srpt is as near as the seeds are apart; see "+
		"below the picture")
}
