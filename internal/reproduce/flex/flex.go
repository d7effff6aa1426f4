// Package flex runs the experiments with FLEX again, a scheduler of malleable jobs for one of several metrics.
//
//	flex.go     the paper's simulation: jobs that are drawn, against the best order of all
//	cluster.go  its experiments on a cluster, and Facebook's days
package flex

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"syscall"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/theory/malleable"
)

// Paper makes the evaluation of FLEX.
func Paper() *paper.Paper {
	return &paper.Paper{
		Name: "flex", Title: "FLEX",
		Source: "Wolf et al., FLEX: A Slot Allocation Scheduling Optimizer for MapReduce Workloads, Middleware 2010; " +
			"[docs/spec/flex.md](../spec/flex.md) has what the policy computes.",
		About: `FLEX divides slots among jobs so that one metric of choice is as good as it can be, with every
job's minimum kept. The paper compares it with FIFO and with FAIR, an equal waterline above the
minima: by simulation with the best of all orders as the reference, and on a cluster of 26 hosts
by mean response.

The paper does not say how much work its simulated jobs have, in which range deadlines lie and how
many steps a service level has. Here ten jobs have 3,000 tasks' work together on 100 slots,
deadlines are uniform up to the time that all slots need for all work, and there are three steps.
Averages can be compared; worst cases hang on the seed, and ratios of deadline metrics grow
without bound where the optimum is near zero.

FLEX here is the orders of the rules, improved by moves of single jobs, within the effort that the
policy has. The reference is another search, which goes through all orders to its end; a run in
which it does not come to the end is left out and counted. That a ratio is 100 % therefore says
that FLEX found a best order, not that both looked in the same places. No order need be as good as
the best schedule (docs/spec/flex.md, 2.6), so the part of FLEX's objective that lies above what no
schedule at all can do stands beside it where orders are compared. That bound knows no minima, so it
is lower than what can be reached; for weighted deadlines and steps it is far lower.`,
		Parts: []paper.Part{
			slackPart(), smallPart(), thirteenPart(), effortPart(), minimaPart(), arrivalsPart(),
			spreadPart(), hoardingPart(), manyPart(),
			dayPart("2009"), dayPart("2010"),
		},
		Left: []paper.Left{
			{Where: "4.1", Says: "larger simulations lead to the same conclusions", Why: "no numbers are given"},
			{Where: "4.2", Says: "GridMix2 itself, and Jaql's jobs",
				Why: "neither their inputs nor their parameters are in the paper: loads of like shape stand for them"},
		},
	}
}

// A drawCase is how the jobs of the paper's simulation are drawn (4.1).
type drawCase struct {
	small int     // of ten jobs
	slack float64 // part of the slots that no minimum takes
}

// baseCase is the case that the others vary.
var baseCase = drawCase{8, 0.75}

const (
	drawnJobs  = 10
	drawnSlots = 100
	drawnTasks = 3000 // all work, in slot-seconds, each task one
	trialRuns  = 100  // of a trial
)

// normal draws from a normal law with a standard deviation of a third of the mean, above zero.
func normal(r *rand.Rand, mean float64) float64 {
	for {
		if x := mean * (1 + r.NormFloat64()/3); x > 0 {
			return x
		}
	}
}

// draw draws jobs in order of arrival, and what metrics know of them. Work is the base of stretch, as the reference
// results of the specification have it.
func (c drawCase) draw(seed uint64) (*malleable.Problem, []malleable.Facts) {
	r := rand.New(rand.NewPCG(seed, 0xf1e))
	p := &malleable.Problem{Slots: drawnSlots, Jobs: make([]malleable.Job, drawnJobs)}
	sum := 0.0
	for i := range p.Jobs {
		mean := 10.0
		if i < c.small {
			mean = 1
		}
		p.Jobs[i].Work = normal(r, mean)
		sum += p.Jobs[i].Work
	}
	minima := make([]int, drawnJobs)
	for i := range p.Jobs {
		j := &p.Jobs[i]
		j.Work *= drawnTasks / sum
		j.Max = min(drawnSlots, int(math.Ceil(j.Work)))
		for minima[i] = 0; minima[i] < 1 || minima[i] > j.Max; {
			minima[i] = max(1, int(math.Round(normal(r, drawnSlots*(1-c.slack)/drawnJobs))))
		}
	}
	for i, m := range malleable.Normalize(drawnSlots, minima) {
		p.Jobs[i].Min = m
	}
	r.Shuffle(drawnJobs, func(i, k int) { p.Jobs[i], p.Jobs[k] = p.Jobs[k], p.Jobs[i] })
	facts := make([]malleable.Facts, drawnJobs)
	for i := range facts {
		f := malleable.Facts{Base: p.Jobs[i].Work, Deadline: r.Float64() * drawnTasks / drawnSlots, Weight: r.Float64()}
		var after, cost []float64
		for range 3 {
			after, cost = append(after, r.Float64()*drawnTasks/drawnSlots), append(cost, r.Float64())
		}
		slices.Sort(after)
		slices.Sort(cost)
		for k := range after {
			f.Steps = append(f.Steps, malleable.Step{After: after[k], Cost: cost[k]})
		}
		facts[i] = f
	}
	return p, facts
}

// schedulers are those whose objective is compared with that of the best order.
var schedulers = []string{"FIFO", "FAIR", "FLEX", "FLEX, rules only", "FLEX, generic order only"}

// A ratioTrial is a metric and the seed of the jobs.
type ratioTrial struct {
	metric string
	seed   uint64
}

// enoughEffort is the effort for the reference: the search over the orders of ten jobs comes to its end.
const enoughEffort = 20_000_000

// ratios adds the average and the worst ratio of each scheduler's objective to the best order's under a metric, and how
// far FLEX is above the bound of all schedules. Runs whose best order costs nothing are dropped, as the paper does, and
// those whose best order is not proven.
func (c drawCase) ratios(ctx context.Context, s paper.Sample, where string, of ratioTrial) error {
	m := malleable.Metrics[of.metric]
	all := map[string][]float64{}
	dropped, proven, gap := 0, 0, 0.0
	for run := range uint64(trialRuns) {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, facts := c.draw(of.seed<<20 + run)
		p.Worst = m.Worst
		for i := range p.Jobs {
			p.Jobs[i].Penalty = m.Penalty(facts[i])
		}
		if err := p.Check(); err != nil {
			return err
		}
		_, best, exact := p.Best(enoughEffort)
		switch {
		case !exact:
			continue
		case !(best > 1e-9):
			proven++
			dropped++
			continue
		}
		proven++
		own := p.Solve(malleable.Attempt{Search: malleable.Moves}).Value
		gap += max(0, 1-max(0, p.Bound())/own)
		effort := 1_000_000
		for name, value := range map[string]float64{
			"FIFO":                     p.Value(malleable.FIFO(p).Done),
			"FAIR":                     p.Value(malleable.Fair(p, false).Done),
			"FLEX":                     own,
			"FLEX, rules only":         p.Solve(malleable.Attempt{Search: malleable.Rules}).Value,
			"FLEX, generic order only": p.Value(p.Finish(p.Orders(&effort)[0].Jobs)),
		} {
			all[name] = append(all[name], 100*value/best)
		}
	}
	s.Set(where+" dropped", float64(dropped))
	s.Set(where+" proven", float64(proven))
	s.Set(where+" gap", 100*gap/float64(max(1, len(all["FLEX"]))))
	for name, list := range all {
		sum, squares, n := 0.0, 0.0, float64(len(list))
		for _, x := range list {
			sum += x
			squares += x * x
		}
		s.Set(where+" "+name, sum/n)
		s.Set(where+" "+name+" worst", slices.Max(list))
		s.Set(where+" "+name+" error", math.Sqrt(max(0, squares/n-sum*sum/n/n)/n))
	}
	return nil
}

var (
	slacks      = []float64{0.15, 0.35, 0.55, 0.75, 0.95}
	smallCounts = []int{0, 2, 4, 6, 7, 8, 9}
	metrics     = []string{
		"avg-response", "weighted-response", "avg-stretch", "max-stretch", "makespan", "max-weighted-response", "tardy",
		"weighted-tardy", "tardiness", "weighted-tardiness", "max-tardiness", "max-weighted-tardiness", "sla",
	}
)

// ratioCharts shows the averages of FIFO, FAIR and FLEX at each place.
func ratioCharts(places []string, label string) func([]paper.Sample) chart.Chart {
	return func(samples []paper.Sample) chart.Chart {
		c := chart.Chart{
			X: chart.Axis{Label: label, Names: places},
			Y: chart.Axis{Label: "objective ÷ best order (%)", Log: true},
		}
		for _, name := range schedulers[:3] {
			l := chart.Line{Name: name, Manner: chart.Apart}
			for x, where := range places {
				q := paper.PointOf(samples, float64(x), where+" "+name)
				q.Low, q.High = q.Y, paper.PointOf(samples, 0, where+" "+name+" worst").High
				l.Points = append(l.Points, q)
			}
			c.Lines = append(c.Lines, l)
		}
		return c
	}
}

// A ratioRange is what was published of a ratio, in percent, and what agrees with it; zero: nothing was published.
type ratioRange struct{ published, agrees paper.Range }

// ratioClaim returns a claim about the average or the worst ratio of a scheduler.
func ratioClaim(where, says, figure string, is ratioRange) paper.Claim {
	return paper.Claim{Where: where, Says: says, Published: is.published, Unit: "%", Figure: figure, Agrees: is.agrees,
		Own: is.published == paper.Range{}}
}

func slackPart() paper.Part {
	p := paper.Part{
		Title: "Mean response: base case and slack (figure 5a)", Trials: 3,
		How: "Ten jobs, 8 of them small, on 100 slots; 100 runs a trial and point. The reference is the best " +
			"of all orders. Points are the average ratio, bars reach to the worst.",
		Trial: func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
			s := paper.Sample{}
			for _, slack := range slacks {
				if err := (drawCase{8, slack}).ratios(ctx, s, slackName(slack),
					ratioTrial{"avg-response", seed}); err != nil {
					return nil, err
				}
			}
			s.Set("FAIR rises", boolean(rising(s, slackNames(), "FAIR")))
			s.Set("FIFO rises", boolean(rising(s, slackNames(), "FIFO")))
			return s, nil
		},
		Charts: []paper.Picture{{File: "flex-slack", Caption: "Mean response by slack",
			Draw: ratioCharts(slackNames(), "slack")}},
		Reading: "FIFO rises because it knows no minima: only the optimum changes. FAIR moves away from the " +
			"optimum as minima leave more to divide.",
	}
	base := slackName(0.75)
	fitted := "how much work there is was fitted to FAIR's average; FIFO's average follows from it"
	p.Claims = []paper.Claim{
		ratioClaim("4.1, base case", "FIFO, average", base+" FIFO",
			ratioRange{paper.Exactly(207), paper.Between(180, 230)}),
		ratioClaim("4.1, base case", "FIFO, worst", base+" FIFO worst",
			ratioRange{paper.Exactly(324), paper.Between(280, 420)}),
		ratioClaim("4.1, base case", "FAIR, average", base+" FAIR",
			ratioRange{paper.Exactly(154), paper.Between(150, 158)}),
		ratioClaim("4.1, base case", "FAIR, worst", base+" FAIR worst",
			ratioRange{paper.Exactly(161), paper.Between(155, 172)}),
		ratioClaim("4.1, base case", "FLEX, worst", base+" FLEX worst",
			ratioRange{paper.AtMost(100.1), paper.AtMost(100.1)}),
		ratioClaim("4.1, base case", "FLEX, rules only, worst", base+" FLEX, rules only worst", ratioRange{}),
		{
			Where: "4.1, base case", Says: "part of FLEX's objective above what no schedule falls below, average",
			Unit: "%", Figure: base + " gap", Own: true,
		},
		{
			Where: "4.1, base case", Says: "runs of 100 whose best order is proven",
			Figure: base + " proven", Own: true,
		},
	}
	for i := range p.Claims {
		p.Claims[i].Why = fitted
	}
	p.Claims = append(p.Claims,
		paper.Claim{
			Where: "Fig. 5(a)", Says: "FAIR's curve rises with slack (1: yes)", Figure: "FAIR rises",
			Published: paper.Exactly(1), Agrees: paper.Exactly(1),
		},
		paper.Claim{
			Where: "Fig. 5(a)", Says: "FIFO's curve rises with slack (1: yes)", Figure: "FIFO rises",
			Published: paper.Exactly(1), Agrees: paper.Exactly(1),
		},
	)
	for _, slack := range slacks {
		where := slackName(slack)
		p.Claims = append(p.Claims,
			ratioClaim("Fig. 5(a), slack "+where, "FIFO, average", where+" FIFO", ratioRange{}),
			ratioClaim("Fig. 5(a), slack "+where, "FAIR, average", where+" FAIR", ratioRange{}),
			ratioClaim("Fig. 5(a), slack "+where, "FLEX, average", where+" FLEX",
				ratioRange{paper.Between(99.99, 101), paper.AtMost(101)}),
		)
	}
	return p
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// rising reports whether a scheduler's averages rise from place to place.
func rising(s paper.Sample, places []string, name string) bool {
	return slices.IsSortedFunc(places, func(a, b string) int {
		if s.Of(a+" "+name) < s.Of(b+" "+name) {
			return -1
		}
		return 1
	})
}

func slackName(slack float64) string { return fmt.Sprintf("%.0f %%", 100*slack) }

func slackNames() (names []string) {
	for _, s := range slacks {
		names = append(names, slackName(s))
	}
	return names
}

func smallPart() paper.Part {
	var names []string
	for _, n := range smallCounts {
		names = append(names, fmt.Sprintf("%d small", n))
	}
	p := paper.Part{
		Title: "Mean response: how many jobs are small (figure 5b)", Trials: 3,
		How: "As before, with slack 75 %.",
		Trial: func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
			s := paper.Sample{}
			least, most := math.Inf(1), 0.0
			for i, n := range smallCounts {
				if err := (drawCase{n, 0.75}).ratios(ctx, s, names[i], ratioTrial{"avg-response", seed}); err != nil {
					return nil, err
				}
				fair := s.Of(names[i] + " FAIR")
				least, most = min(least, fair), max(most, fair)
			}
			s.Set("FAIR spread", most-least)
			s.Set("FIFO peak", s.Of("8 small FIFO")-s.Of("0 small FIFO"))
			return s, nil
		},
		Charts: []paper.Picture{{File: "flex-small", Caption: "Mean response by how many of ten jobs are small",
			Draw: ratioCharts(names, "")}},
	}
	p.Claims = []paper.Claim{
		{
			Where: "Fig. 5(b)", Says: "FAIR is flat: greatest less least average", Unit: "%", Figure: "FAIR spread",
			Published: paper.Between(0, 15), Agrees: paper.AtMost(20),
		},
		{
			Where: "Fig. 5(b)", Says: "FIFO is worst near 80 % small: its average above that of equal jobs", Unit: "%",
			Figure: "FIFO peak", Published: paper.Above(0), Agrees: paper.Above(0),
		},
	}
	for _, name := range names {
		p.Claims = append(p.Claims,
			ratioClaim("Fig. 5(b), "+name, "FIFO, average", name+" FIFO", ratioRange{}),
			ratioClaim("Fig. 5(b), "+name, "FAIR, average", name+" FAIR", ratioRange{}),
			ratioClaim("Fig. 5(b), "+name, "FLEX, average", name+" FLEX",
				ratioRange{paper.Between(99.99, 101), paper.AtMost(101)}),
		)
	}
	return p
}

// referenceRatios are averages that an independent simulation of the calibrated set-up gave for FIFO, FAIR and FLEX
// (docs/spec/flex.md, 5), in percent of the best order.
var referenceRatios = map[string][3]float64{
	"avg-response":           {194, 154, 100},
	"weighted-response":      {222, 173, 100},
	"avg-stretch":            {385, 209, 100},
	"max-stretch":            {666, 167, 100},
	"makespan":               {100, 100, 100},
	"max-weighted-response":  {206, 161, 100},
	"tardy":                  {352, 290, 100},
	"weighted-tardy":         {900, 800, 106},
	"tardiness":              {1050, 400, 100.2},
	"weighted-tardiness":     {1690, 590, 100.4},
	"max-tardiness":          {520, 310, 100},
	"max-weighted-tardiness": {960, 460, 100},
	"sla":                    {320, 250, 105},
}

// wideMetrics are two standard errors of FIFO's average, as a part of it, where they are more than 7 %.
var wideMetrics = map[string]float64{"max-stretch": 0.17, "max-weighted-response": 0.12}

// steadyMetrics are the metrics whose ratios do not hang on a few runs with an optimum near zero.
var steadyMetrics = []string{
	"avg-response", "weighted-response", "avg-stretch", "max-stretch", "makespan", "max-weighted-response",
}

func thirteenPart() paper.Part {
	p := paper.Part{
		Title: "All metrics (figure 5c)", Trials: 3,
		How: "The base case under thirteen metrics. *Published* are averages of an independent simulation of " +
			"the same set-up; the paper's figure gives no numbers, and some of its bars are cut off.",
		Trial: func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
			s := paper.Sample{}
			for _, m := range metrics {
				if err := baseCase.ratios(ctx, s, m, ratioTrial{m, seed}); err != nil {
					return nil, err
				}
			}
			return s, nil
		},
		Charts: []paper.Picture{
			{File: "flex-metrics", Caption: "Each metric, FIFO, FAIR and FLEX beside the best of all orders",
				Draw: ratioCharts(metrics, "")},
		},
		Reading: "Whatever is measured, FLEX set to it is at, or near, the best order, and no single discipline " +
			"is near it for all.",
	}
	for _, m := range metrics {
		ref, where := referenceRatios[m], "Fig. 5(c), `"+m+"`"
		why := "averages of 100 runs, whose standard error stands below"
		if !slices.Contains(steadyMetrics, m) {
			why = "the average hangs on few runs whose optimum is near zero; its standard error stands below"
		}
		for k, name := range schedulers[:3] {
			part := 0.07
			if name == "FIFO" {
				part = max(part, wideMetrics[m])
			}
			agrees := paper.Between((1-part)*ref[k], (1+part)*ref[k])
			if !slices.Contains(steadyMetrics, m) && name != "FLEX" {
				agrees = paper.AtLeast(115)
			}
			c := ratioClaim(where, name+", average", m+" "+name, ratioRange{paper.Exactly(ref[k]), agrees})
			c.Why = why
			p.Claims = append(p.Claims, c)
		}
		p.Claims = append(p.Claims,
			ratioClaim(where, "FIFO, standard error of the average", m+" FIFO error", ratioRange{}),
			ratioClaim(where, "FLEX, worst", m+" FLEX worst", ratioRange{}),
			paper.Claim{
				Where: where, Says: "part of FLEX's objective above what no schedule falls below, average",
				Unit: "%", Figure: m + " gap", Own: true,
			},
			ratioClaim(where, "FLEX, rules only, average", m+" FLEX, rules only", ratioRange{}),
			ratioClaim(where, "FLEX, generic order only, average", m+" FLEX, generic order only", ratioRange{}),
			paper.Claim{
				Where: where, Says: "runs of 100 dropped: the best order costs nothing",
				Figure: m + " dropped", Own: true,
			},
			paper.Claim{Where: where, Says: "runs of 100 whose best order is proven", Figure: m + " proven", Own: true},
		)
	}
	return p
}

// timedMetrics are the metrics whose processor time is measured, one or two of each kind of penalty.
var timedMetrics = []string{"avg-response", "max-stretch", "makespan", "weighted-tardiness", "tardy", "sla"}

func effortPart() paper.Part {
	sizes := []int{10, 40, 100, 172, 400, 4000}
	p := paper.Part{
		Title: "Processor time of a decision", Trials: 3, Alone: true,
		How: "One division of slots, with the default effort, of jobs as in the base case, ten slots a job: the " +
			"mean of five calls. It is the time of the processor, which does not depend on what else the " +
			"machine runs. The paper says how long a run took, on a machine of 2009.",
		Trial: func(_ context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
			s := paper.Sample{}
			for _, metric := range timedMetrics {
				for _, n := range sizes {
					p := crowd(n, malleable.Metrics[metric], seed)
					used, err := processorTime(func() error {
						for range 5 {
							p.Solve(malleable.Attempt{Search: malleable.EveryOrder})
						}
						return nil
					})
					if err != nil {
						return nil, err
					}
					s.Set(fmt.Sprintf("%s %d", metric, n), used/5)
				}
			}
			return s, nil
		},
	}
	for _, metric := range timedMetrics {
		for _, n := range sizes {
			c := paper.Claim{Where: "`" + metric + "`", Says: fmt.Sprintf("%d jobs", n), Unit: "ms",
				Figure: fmt.Sprintf("%s %d", metric, n), Own: true}
			if n == 172 && metric == "avg-response" {
				c.Where, c.Published, c.Agrees, c.Own = "4.2", paper.Below(10), paper.Below(10), false
			}
			p.Claims = append(p.Claims, c)
		}
	}
	return p
}

// crowd is the jobs of several base cases together.
func crowd(n int, m malleable.Metric, seed uint64) *malleable.Problem {
	p := &malleable.Problem{Slots: 10 * n, Worst: m.Worst}
	for k := uint64(0); len(p.Jobs) < n; k++ {
		q, facts := baseCase.draw(seed<<20 + k)
		for i, j := range q.Jobs {
			facts[i].Deadline *= float64(n) / drawnJobs
			j.Penalty = m.Penalty(facts[i])
			j.Max = min(j.Max, p.Slots)
			p.Jobs = append(p.Jobs, j)
		}
	}
	p.Jobs = p.Jobs[:n]
	return p
}

// processorTime returns how long a function kept processors busy, in milliseconds.
func processorTime(do func() error) (float64, error) {
	used := func() (float64, error) {
		var u syscall.Rusage
		err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6, err
	}
	from, err := used()
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	to, err := used()
	return to - from, err
}
