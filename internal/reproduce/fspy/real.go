package fspy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/model"
	"github.com/sojourn-sched/sojourn/sched"
)

// The real jobs whose sizes are predicted are as those that SWIM makes: one program that sorts a part of its input, on
// the amounts that jobs of the trace have, scaled to this machine.
const (
	predictedJobs = 60
	predictedGap  = 250 * time.Millisecond // from one job's arrival to the next one's
	// input of a job: that of one of the trace, scaled by this, and as a power of two within these bounds
	predictedScale = 1. / 600
	leastPredicted = 64 << 10
	mostPredicted  = 256 << 20
)

func realPart(g *segments) paper.Part {
	noise := "tasks take milliseconds here, of a machine that does other things as well, and not tens of seconds"
	p := paper.Part{
		Title: "Predictions of real jobs", Trials: 20, Alone: true,
		How: fmt.Sprintf(
			`%d real jobs on the engine %s, which come %v apart under `+"`fspy:uber-maps=0`"+`. All run one program, as
the jobs that SWIM makes do, which sorts a part of its input. Each is as a job of the trace that has reduces, drawn by
chance: it sorts as large a part, and its input is that of the trace's ÷ %.0f, rounded to a power of two, from %d KiB to
%d MiB. A trial is a whole run; its seed draws the jobs and
which parts their probes read. A prediction is what the policy was told when the probe of a job was through; the models
have learned from the jobs that had finished until then, and begin each run knowing nothing. *Ordinary* is the fit that
the policy used, *relative* another one that was shown the same run. Of the first jobs there is no model yet: until it
has twice as many jobs as coefficients, the time of the probe is scaled. These are figures of a machine, not of a seed:
they differ from run to run, and mean nothing where something else runs beside them.`,
			predictedJobs, "`mr`", predictedGap, 1/predictedScale, leastPredicted>>10, mostPredicted>>20,
		),
		Claims: []paper.Claim{
			{
				Where:     "Fig. 2",
				Says:      "R² of the time of all maps, ordinary fit",
				Published: paper.Exactly(0.942),
				Figure:    "ordinary maps",
				Agrees:    paper.AtLeast(0.9),
				Why:       noise,
			},
			{
				Where:     "Fig. 3",
				Says:      "R² of the time of all reduces, ordinary fit",
				Published: paper.Exactly(0.918),
				Figure:    "ordinary reduces",
				Agrees:    paper.AtLeast(0.9),
				Why:       noise,
			},
			{
				Where:     "Fig. 4",
				Says:      "R² of sizes, ordinary fit",
				Published: paper.Exactly(0.970),
				Figure:    "ordinary sizes",
				Agrees:    paper.AtLeast(0.9),
				Why:       noise,
			},
			{
				Where: "Fig. 2",
				Says: "jobs with little map time (the least third) are under-predicted: predicted ÷ " +
					"actual, median",
				Published: paper.AtMost(1),
				Unit:      "×",
				Figure:    "little maps",
				Agrees:    paper.Below(1),
				Why:       noise,
			},
			{
				Where:     "Fig. 3",
				Says:      "reduces of small jobs (the least third) are over-predicted: predicted ÷ actual, median",
				Published: paper.AtLeast(1),
				Unit:      "×",
				Figure:    "little reduces",
				Agrees:    paper.Above(1),
				Why:       noise,
			},
		},
		Charts: []paper.Picture{
			{
				File: "fspy-predicted",
				Caption: "Predicted and actual times of all maps, all reduces and whole jobs, of all trials; what is " +
					"predicted right lies on the line",
				Draw: predictionChart,
			},
		},
	}
	own := func(says, figure string) {
		p.Claims = append(p.Claims, paper.Claim{Where: "ours", Says: says, Figure: figure, Own: true})
	}
	for _, what := range predictedTimes {
		own("R² of "+what+", relative fit", "relative "+what)
	}
	for _, what := range predictedTimes {
		own("R² of "+what+", with the first jobs, which have no model", "all "+what)
	}
	own("jobs that were predicted before they were done", "predicted")
	own("those by fitted models", "fitted")
	p.Trial = func(ctx context.Context, lab paper.Lab, seed uint64) (paper.Sample, error) {
		mix, err := predictedMix(g, lab, seed)
		if err != nil {
			return nil, err
		}
		relative := realFit()
		relative.Weighting = model.Relative
		e := &predicting{
			fits: [2]*model.FSPY{model.NewFSPY(realFit()), model.NewFSPY(relative)},
			jobs: map[sched.JobID]*predictedJob{},
		}
		if _, err := mix.Run(ctx, "fspy:uber-maps=0", e); err != nil {
			return nil, err
		}
		return e.sample(), nil
	}
	return p
}

// predictedTimes are what is predicted of a job.
var predictedTimes = [3]string{"maps", "reduces", "sizes"}

// predictedMix makes the jobs, as the seed draws them.
func predictedMix(g *segments, lab paper.Lab, seed uint64) (*testbed.Mix, error) {
	if lab.Scratch == "" {
		return nil, paper.Missing{What: "a folder is needed for the data of real jobs"}
	}
	models, err := g.reduced(lab)
	if err != nil {
		return nil, err
	}
	m := &testbed.Mix{Cluster: testbed.Machine(runtime.GOMAXPROCS(0)), Folder: lab.Scratch, Seed: seed}
	chance := workload.NewChance(seed)
	for i := range predictedJobs {
		of := models[chance.With(uint64(i)).Below(len(models))].Payload.(*workload.Truth).Stages
		size := float64(of[0].Input) * predictedScale
		size = min(max(math.Exp2(math.Round(math.Log2(size))), leastPredicted), mostPredicted)
		path, err := testbed.Input{Kind: "text", Bytes: int64(size), Seed: 1}.In(lab.Scratch)
		if err != nil {
			return nil, err
		}
		part := min(1, float64(of[1].Shuffle)/float64(of[0].Input))
		m.Jobs = append(m.Jobs, testbed.MixJob{Name: fmt.Sprint(testbed.SortPart, "-", i+1),
			Submit: sched.Time(i) * predictedGap,
			Job:    testbed.SortPart, Input: []string{path}, Conf: map[string]string{"part": fmt.Sprint(part)}})
	}
	return m, nil
}

// reduced returns the jobs of the segments that have input and reduces, each job once.
func (g *segments) reduced(lab paper.Lab) (list []*sched.JobSpec, err error) {
	for k := uint64(1); k <= segmentsUsed; k++ {
		jobs, _, err := g.of(lab, k)
		if err != nil {
			return nil, err
		}
		for _, j := range jobs[:segmentStride] {
			if len(j.Stages) > 1 && j.Stages[0].InputBytes > 0 {
				list = append(list, j)
			}
		}
	}
	return list, nil
}

// realFit is FSPY's fit of tasks that need no container and may take a millisecond.
func realFit() model.FitConfig {
	c := model.DefaultFit
	c.Least = 1e-3
	return c
}

// predicting is FSPY's predictor by its ordinary fit, and notes what it and the relative one predict of each job, and
// what the job then takes.
type predicting struct {
	fits [2]*model.FSPY // ordinary, relative
	jobs map[sched.JobID]*predictedJob
}

// A predictedJob is in seconds of one core, by maps and reduces.
type predictedJob struct {
	by     [2][2]float64 // by fit: when its probe was through
	fitted [2]bool       // the models had jobs enough
	known  bool
	took   [2]float64
}

func (p *predicting) job(id sched.JobID) *predictedJob {
	j := p.jobs[id]
	if j == nil {
		j = &predictedJob{}
		p.jobs[id] = j
	}
	return j
}

// Observe implements sched.Estimator.
func (p *predicting) Observe(a *sched.Attempt, took sched.Time, c *sched.Counters) {
	for _, fit := range p.fits {
		fit.Observe(a, took, c)
	}
	if a.Stage.Job.Spec.Probes == 0 {
		kind := 0
		if a.Stage.Kind != sched.Map {
			kind = 1
		}
		p.job(a.Stage.Job.ID).took[kind] += took.Seconds()
	}
}

// Estimate implements sched.Estimator.
func (p *predicting) Estimate(st *sched.Stage, class sched.ClassID) sched.Estimate {
	return p.fits[0].Estimate(st, class)
}

// Size implements sched.Estimator. The first time that a probe has told, it notes the predictions.
func (p *predicting) Size(j *sched.Job) (sched.Work, bool) {
	if job := p.job(j.ID); !job.known {
		for i, fit := range p.fits {
			job.by[i][0], job.by[i][1], job.known = fit.Predict(j)
		}
		job.fitted = [2]bool{p.fits[0].Maps.Ready(), p.fits[0].Reduces.Ready()}
	}
	return p.fits[0].Size(j)
}

// A prediction is of one figure of a job: what it came to, what the two fits had said, and what the whole job came to.
type prediction struct {
	took, size float64
	by         [2]float64
	fitted     bool
}

// sample gives the figures of a run.
func (p *predicting) sample() paper.Sample {
	var all [len(predictedTimes)][]prediction
	for _, id := range slices.Sorted(maps.Keys(p.jobs)) {
		j := p.jobs[id]
		if !j.known {
			continue
		}
		size := j.took[0] + j.took[1]
		for k := range j.took {
			if j.took[k] > 0 {
				all[k] = append(all[k], prediction{j.took[k], size, [2]float64{j.by[0][k], j.by[1][k]}, j.fitted[k]})
			}
		}
		// A map and a reduce hold the same here, so that sizes are times of both.
		all[2] = append(
			all[2],
			prediction{
				size,
				size,
				[2]float64{j.by[0][0] + j.by[0][1], j.by[1][0] + j.by[1][1]},
				j.fitted[0] && j.fitted[1],
			},
		)
	}
	s := paper.Sample{}
	s.Set("predicted", float64(len(all[2])))
	for k, what := range predictedTimes {
		fitted := slices.DeleteFunc(slices.Clone(all[k]), func(t prediction) bool { return !t.fitted })
		s.Set("all "+what, r2Of(all[k], 0))
		s.Set("ordinary "+what, r2Of(fitted, 0))
		s.Set("relative "+what, r2Of(fitted, 1))
		for _, t := range fitted {
			s["actual "+what] = append(s["actual "+what], t.took)
			s["predicted "+what] = append(s["predicted "+what], t.by[0])
		}
		switch what {
		case "maps", "reduces": // the paper says something about these
			s.Set("little "+what, ofLittle(fitted, what == "reduces"))
		case "sizes":
			s.Set("fitted", float64(len(fitted)))
		}
	}
	return s
}

// r2Of is R² of what a fit said.
func r2Of(list []prediction, fit int) float64 {
	var took, by []float64
	for _, t := range list {
		took, by = append(took, t.took), append(by, t.by[fit])
	}
	if len(took) < 2 {
		return math.NaN()
	}
	return model.R2(took, by)
}

// ofLittle is the median of predicted ÷ actual of the third that took least, or is of the least jobs.
func ofLittle(list []prediction, ofJobs bool) float64 {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b prediction) int {
		if ofJobs {
			return cmp.Compare(a.size, b.size)
		}
		return cmp.Compare(a.took, b.took)
	})
	var ratios []float64
	for _, t := range list[:(len(list)+2)/3] {
		ratios = append(ratios, t.by[0]/t.took)
	}
	if len(ratios) == 0 {
		return math.NaN()
	}
	middle, _, _ := paper.Spread(ratios)
	return middle
}
