package fspy

import (
	"context"
	"math"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/model"
)

// predictor returns the paper's predictor for segment k: one that knows nothing, or one that has learned from the jobs
// of the segment half a day away, as they ran under the same policy.
func (m *match) predictor(ctx context.Context, g *segments, lab paper.Lab, k uint64) (*model.FSPY, error) {
	fresh := model.NewFSPY(m.fit)
	if !m.trained {
		return fresh, nil
	}
	jobs, _, err := g.of(lab, (k+segmentsUsed/2)%segmentsUsed+1)
	if err != nil {
		return nil, err
	}
	if jobs, err = m.as(jobs); err != nil {
		return nil, err
	}
	set, pupil := segment(jobs, k), model.NewFSPY(m.fit)
	set.Made = pupil
	if _, err := set.Under(ctx, m.fspy); err != nil {
		return nil, err
	}
	fresh.Learned = pupil.Learned
	fresh.Trials = nil
	return fresh, nil
}

// synthesisPart is the paper's evaluation on data that is scaled as SWIM scales it.
func synthesisPart(g *segments) paper.Part {
	m := ourMatch()
	m.exact = nil
	p := paper.Part{
		Title: "The same with data as SWIM scales it", Trials: segmentsUsed,
		How: "The section above on data that is smaller by 8 ÷ 600, the nodes of the two clusters, which is how SWIM " +
			"makes a workload for a smaller cluster. Then nearly every job is of one map, and jobs have to come so " +
			"much closer to each other that 19 segments reach level 6.",
		Trial: func(ctx context.Context, lab paper.Lab, k uint64) (paper.Sample, error) {
			return m.trial(ctx, g, lab, k)
		},
		Over: overSegments,
		Reading: "Such jobs are small all alike, and mostly the start of their master. Who comes first matters less, " +
			"and the gain at heavy load is a part of that above. More jobs are done in the time in which half are " +
			"under fair sharing, and those that are later are later by more.",
	}
	for _, c := range segmentClaims() {
		if c.Where != "Fig. 5" && (!c.Own || c.Figure == "delayed median") {
			p.Claims = append(p.Claims, c)
		}
	}
	return p
}

// manners are the predictors whose accuracy is told.
var manners = []struct {
	name, says string
	trained    bool
	weighting  model.Weighting
}{
	{"trained", "trained on another segment", true, model.Equal},
	{"fresh", "beginning with nothing", false, model.Equal},
	{"relative", "trained, relative fit", true, model.Relative},
}

// predictedPart is how well the paper's predictor knows the paper's own workload.
func predictedPart(g *segments) paper.Part {
	p := paper.Part{
		Title: "Predictions of the paper's workload", Trials: segmentsUsed,
		How: "A trial is a segment under FSPY as in the first section, with three predictors: one that has learned " +
			"from the jobs of the segment half a day away, as in a cluster that has run for a while; one that begins " +
			"with nothing, and scales the time of the probe until it has twice as many jobs as coefficients; and the " +
			"trained one with the relative fit. R² is over the jobs that were probed; what is predicted of a job is " +
			"compared with what its tasks took, before the models learn from it.",
		Charts: []paper.Picture{{
			File: "fspy-simulated",
			Caption: "Predicted and actual times of all maps, all reduces and whole jobs of all segments, trained " +
				"predictor; what is predicted right lies on the line",
			Draw: predictionChart,
		}},
		Reading: "Sizes are made of the same bytes that a probe counts, and the spread of task times is all that is " +
			"left to err by; on a cluster there is more.",
	}
	published := [...]float64{0.942, 0.918, 0.970}
	for _, m := range manners {
		for i, what := range predictedTimes {
			c := paper.Claim{
				Where: [...]string{"Fig. 2", "Fig. 3", "Fig. 4"}[i],
				Says: [...]string{"R² of the time of all maps", "R² of the time of all reduces", "R² of sizes"}[i] +
					", " + m.says,
				Figure: m.name + " " + what, Published: paper.Exactly(published[i]), Agrees: paper.AtLeast(0.9),
				Why: "a few large jobs decide R²; a segment has no more",
			}
			if m.name == "relative" {
				c.Where, c.Published, c.Agrees, c.Own, c.Why = "ours", paper.Range{}, paper.Range{}, true, ""
			}
			p.Claims = append(p.Claims, c)
		}
	}
	p.Claims = append(p.Claims,
		paper.Claim{
			Where: "Fig. 2", Says: "jobs with little map time (the least third) are under-predicted: predicted ÷ " +
				"actual, median, trained",
			Published: paper.AtMost(1), Unit: "×", Figure: "little maps", Agrees: paper.Below(1),
			Why: "the constant of the linear model decides small jobs, and its sign is that of other jobs' errors",
		},
		paper.Claim{
			Where: "Fig. 3", Says: "reduces of small jobs (the least third) are over-predicted: predicted ÷ actual, " +
				"median, trained",
			Published: paper.AtLeast(1), Unit: "×", Figure: "little reduces", Agrees: paper.Above(1),
			Why: "as for maps",
		},
	)
	p.Trial = func(ctx context.Context, lab paper.Lab, k uint64) (paper.Sample, error) {
		s := paper.Sample{}
		for _, of := range manners {
			m := ourMatch()
			m.trained, m.fit.Weighting = of.trained, of.weighting
			told, err := m.accuracy(ctx, g, lab, k)
			if err != nil {
				return nil, err
			}
			for _, what := range predictedTimes {
				s.Set(of.name+" "+what, r2Of(told[what], 0))
			}
			if of.name != "trained" {
				continue
			}
			s.Set("little maps", ofLittle(told["maps"], false))
			s.Set("little reduces", ofLittle(told["reduces"], true))
			for _, what := range predictedTimes {
				for _, t := range told[what] {
					s["actual "+what] = append(s["actual "+what], t.took)
					s["predicted "+what] = append(s["predicted "+what], t.by[0])
				}
			}
		}
		return s, nil
	}
	return p
}

// accuracy runs segment k and returns what the predictor said of each job beside what the job took. Its keys are the
// names in predictedTimes: times of maps, times of reduces, and sizes.
func (m *match) accuracy(ctx context.Context, g *segments, lab paper.Lab, k uint64) (map[string][]prediction, error) {
	jobs, _, err := g.of(lab, k)
	if err != nil {
		return nil, err
	}
	if jobs, err = m.as(jobs); err != nil {
		return nil, err
	}
	predictor, err := m.predictor(ctx, g, lab, k)
	if err != nil {
		return nil, err
	}
	set := segment(jobs, k)
	set.Made = predictor
	if _, err := set.Under(ctx, m.fspy); err != nil {
		return nil, err
	}
	told := map[string][]prediction{}
	for _, t := range predictor.Trials {
		size := t.Took[0] + t.Took[1] // maps and reduces hold the same
		for i, what := range predictedTimes[:2] {
			if t.Took[i] > 0 {
				told[what] = append(told[what], prediction{took: t.Took[i], size: size,
					by: [2]float64{t.Predicted[i]}})
			}
		}
		told["sizes"] = append(told["sizes"],
			prediction{took: size, size: size, by: [2]float64{t.Predicted[0] + t.Predicted[1]}})
	}
	return told, nil
}

// predictionChart shows what was predicted of jobs beside what they took.
func predictionChart(samples []paper.Sample) chart.Chart {
	c := chart.Chart{
		X: chart.Axis{Label: "actual (s of one core)", Log: true},
		Y: chart.Axis{Label: "predicted (s)", Log: true},
	}
	least, most := math.Inf(1), 0.0
	for _, what := range predictedTimes {
		l := chart.Line{Name: what, Manner: chart.Apart}
		for _, s := range samples {
			for i, x := range s["actual "+what] {
				y := s["predicted "+what][i]
				l.Points = append(l.Points, chart.Point{X: x, Y: y})
				least, most = min(least, x, y), max(most, x, y)
			}
		}
		c.Lines = append(c.Lines, l)
	}
	if most > 0 {
		c.Lines = append(c.Lines, chart.Line{Name: "equal", Points: []chart.Point{{X: least, Y: least}, {X: most,
			Y: most}}})
	}
	return c
}
