package ltyarn

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
)

// drawn returns an assumption of what was not published: each number anywhere in its range, on a logarithmic scale.
func drawn(seed uint64) unknown {
	chance := rand.New(rand.NewPCG(seed, 109))
	between := func(low, high float64) float64 { return math.Round(low * math.Pow(high/low, chance.Float64())) }
	return unknown{
		interval: between(8, 40), purdue: between(8, 90), tpch: between(5, 60), spark: between(5, 60),
		parallel: between(27, 216),
	}
}

// Bounds of the groups of draws that are compared, in seconds.
const (
	shortPurdue = 16 // tasks of Purdue below that are short
	densely     = 17 // Facebook's jobs closer than that come densely
	longPurdue  = 40 // tasks of Purdue above that are long, where Spark's below shortSpark are short
	shortSpark  = 10
)

func drawsPart() paper.Part {
	p := paper.Part{
		Title: "What was not published", Trials: 240,
		How: "Figures 5.5 and 5.6 depend on how often Facebook's jobs come, and on how long and how many the tasks " +
			"of the others are. Each trial draws what was not published: the time between Facebook's jobs from 8 s " +
			"to 40 s, the maps of Purdue from 8 s to 90 s, the tasks of TPC-H's queries and of Spark's jobs from " +
			"5 s to 60 s, and the tasks of a stage of Spark from 27 to 216, on logarithmic scales. All else is as " +
			"above. A row says of how many draws its statement is true, or the median of a figure over them.",
		Reading: "Whether Purdue and Facebook gain or lose by a memory depends on how long Purdue's maps are, and on " +
			"how densely Facebook's jobs come. Where maps are short and jobs dense, three of the four published " +
			"signs come out; the fourth, that Spark loses, hardly ever does. Perhaps a chain of stages with pauses " +
			"lends more than it borrows; that is not measured here. A loss as large as the printed one under " +
			"memoryless fairness comes from short tasks of Spark beside long ones of Purdue: each stage waits for " +
			"containers that long tasks hold. But then LTRF without preemption seldom repairs it by the printed " +
			"instant. So the two printed figures of Ω seldom come out of one assumption here.",
		Trial: func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
			u, s := drawn(seed), paper.Sample{}
			s.Set("u", u.interval, u.purdue, u.tpch, u.spark, u.parallel)
			static, err := runFour(ctx, fourQueues(u.jobs(seed), seed, true), memoryless, &sharing{})
			if err != nil {
				return nil, err
			}
			ends := map[string]map[string]float64{}
			for name, spec := range map[string]string{"mlrf": memoryless, "ltrf": remembers} {
				w := &sharing{}
				if ends[name], err = runFour(ctx, fourQueues(u.jobs(seed), seed, false), spec, w); err != nil {
					return nil, err
				}
				s.Set("draw "+name+" omega", paper.Mean(w.omega))
				s.Set("draw "+name+" loss ends", w.lossEnds())
				for _, q := range queueNames {
					s.Set("draw "+name+" "+q, paper.Gain(static[q], ends[name][q]))
				}
			}
			for _, q := range queueNames {
				s.Set("draw "+q, paper.Gain(ends["mlrf"][q], ends["ltrf"][q]))
			}
			return s, nil
		},
		Over: func(samples []paper.Sample) paper.Sample {
			s := paper.Sample{}
			for _, c := range drawClaims {
				n, of := 0, 0
				for _, x := range samples {
					if c.among == nil || c.among(x) {
						of++
						if c.holds(x) {
							n++
						}
					}
				}
				if of > 0 {
					s.Set(c.figure, 100*float64(n)/float64(of))
				}
			}
			for _, c := range drawMedians {
				var values []float64
				for _, x := range samples {
					if c.among(x) {
						values = append(values, x.Of("draw mlrf "+c.queue))
					}
				}
				if len(values) > 0 {
					median, _, _ := paper.Spread(values)
					s.Set(c.figure, median)
				}
			}
			return s
		},
		Charts: []paper.Picture{
			{File: "ltyarn-purdue",
				Caption: "How much sooner Purdue ends under LTRF than without a memory, by the length of its " +
					"maps: a dot a draw", Draw: func(s []paper.Sample) chart.Chart {
					return drawChart(s, "a map of Purdue (s)", 1, "purdue")
				}},
			{File: "ltyarn-facebook", Caption: "The same of Facebook, by the time between its jobs",
				Draw: func(s []paper.Sample) chart.Chart {
					return drawChart(s, "between Facebook's jobs (s)", 0, "facebook")
				}},
		},
	}
	for _, c := range drawMedians {
		p.Claims = append(p.Claims, paper.Claim{Where: "Fig. 5.6", Says: "memoryless over partitions: " + c.says +
			" (14 to 19 % in print)", Unit: "%", Figure: c.figure, Own: true, Agrees: c.agrees})
	}
	for _, c := range drawClaims {
		p.Claims = append(p.Claims,
			paper.Claim{Where: c.where, Says: c.says, Unit: "%", Figure: c.figure, Own: true, Agrees: c.agrees})
	}
	return p
}

// A drawClaim is a statement that is true of some draws: of those among which it is looked for, or of all.
type drawClaim struct {
	where, says, figure string
	among, holds        func(paper.Sample) bool
	agrees              paper.Range
}

var drawClaims = []drawClaim{
	{"Fig. 5.6", "Purdue gains by a memory, as in print: of draws with its maps below 16 s", "purdue short",
		func(s paper.Sample) bool { return s["u"][1] < shortPurdue }, sooner("purdue"), paper.AtLeast(75)},
	{"Fig. 5.6", "the same, of the other draws", "purdue long",
		func(s paper.Sample) bool { return s["u"][1] >= shortPurdue }, sooner("purdue"), paper.AtMost(15)},
	{"Fig. 5.6", "Facebook loses, as in print: of draws with its jobs below 17 s apart", "facebook dense",
		func(s paper.Sample) bool { return s["u"][0] < densely }, later("facebook"), paper.AtLeast(75)},
	{"Fig. 5.6", "TPC-H gains, as in print: of the same", "tpch dense",
		func(s paper.Sample) bool { return s["u"][0] < densely }, sooner("tpch"), paper.AtLeast(75)},
	{"Fig. 5.6", "all three, of draws with short maps of Purdue and dense jobs of Facebook", "three",
		func(s paper.Sample) bool { return s["u"][0] < densely && s["u"][1] < shortPurdue },
		func(s paper.Sample) bool { return sooner("purdue")(s) && later("facebook")(s) && sooner("tpch")(s) },
		paper.AtLeast(60)},
	{"Fig. 5.6", "Spark loses, as in print: of all draws", "spark", nil, later("spark"), paper.AtMost(15)},
	{"Fig. 5.5", "memoryless: Ω is -0.3 or less on average: of draws with tasks of Spark below 10 s and maps of " +
		"Purdue above 40 s", "loss",
		func(s paper.Sample) bool { return s["u"][3] < shortSpark && s["u"][1] > longPurdue }, lossy,
		paper.AtLeast(30)},
	{"Fig. 5.5", "memoryless: the same, of the other draws", "loss else",
		func(s paper.Sample) bool { return s["u"][3] >= shortSpark || s["u"][1] <= longPurdue }, lossy,
		paper.AtMost(10)},
	{"Fig. 5.5", "LTRF: Ω is 0 from 650 s on or sooner: of draws in which memoryless Ω is -0.3 or less", "both",
		lossy,
		func(s paper.Sample) bool { return s.Of("draw ltrf loss ends") <= 650 }, paper.AtMost(20)},
	{"Fig. 5.5", "LTRF: the same, of the other draws", "repaired", func(s paper.Sample) bool { return !lossy(s) },
		func(s paper.Sample) bool { return s.Of("draw ltrf loss ends") <= 650 }, paper.AtLeast(50)},
}

// drawMedians are medians over draws of what a queue gains by sharing without a memory.
var drawMedians = []struct {
	says, figure, queue string
	among               func(paper.Sample) bool
	agrees              paper.Range
}{
	{"Purdue, draws with its maps below 16 s", "purdue shared short", "purdue",
		func(s paper.Sample) bool { return s["u"][1] < shortPurdue }, paper.AtMost(25)},
	{"Purdue, the other draws", "purdue shared long", "purdue",
		func(s paper.Sample) bool { return s["u"][1] >= shortPurdue }, paper.AtLeast(25)},
	{"Facebook, draws with its jobs 25 s apart or more", "facebook shared thin", "facebook",
		func(s paper.Sample) bool { return s["u"][0] >= 25 }, paper.AtMost(25)},
	{"Facebook, the other draws", "facebook shared dense", "facebook",
		func(s paper.Sample) bool { return s["u"][0] < 25 }, paper.AtLeast(25)},
}

func sooner(queue string) func(paper.Sample) bool {
	return func(s paper.Sample) bool { return s.Of("draw "+queue) > 0 }
}

func later(queue string) func(paper.Sample) bool {
	return func(s paper.Sample) bool { return s.Of("draw "+queue) < 0 }
}

func lossy(s paper.Sample) bool { return s.Of("draw mlrf omega") <= -0.3 }

// drawChart draws what a queue gains by a memory over one number that was drawn.
func drawChart(samples []paper.Sample, label string, number int, queue string) chart.Chart {
	dots := chart.Line{Name: queue, Manner: chart.Apart}
	for _, s := range samples {
		if len(s["u"]) > number {
			y := s.Of("draw " + queue)
			dots.Points = append(dots.Points, chart.Point{X: s["u"][number], Y: y, Low: y, High: y})
		}
	}
	slices.SortFunc(dots.Points, func(a, b chart.Point) int { return int(1e6 * (a.X - b.X)) })
	return chart.Chart{
		X: chart.Axis{Label: label}, Y: chart.Axis{Label: "gain by a memory (%)"}, Lines: []chart.Line{dots},
	}
}
