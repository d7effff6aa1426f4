// Package mrorder runs the experiments with MROrder again, which orders jobs for the makespan or the total.
//
//	mrorder.go  all jobs known at the start: orders, bounds and searches
//	online.go   jobs that come over time, ordered by rounds
//	table34.go  Facebook's jobs: table 3.4, and what its gains depend on
package mrorder

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// testbedSlots is the cluster of the thesis: 19 nodes of 3 map slots and a reduce slot.
var testbedSlots = theory.Slots{Map: 57, Reduce: 19}

// purdue are the benchmark jobs of table 3.2.
var purdue = []struct {
	name string
	job  theory.SlotJob
}{
	{"Wordcount", theory.SlotJob{Maps: 160, Reduces: 100, MapTime: 22, ReduceTime: 11}},
	{"Sort", theory.SlotJob{Maps: 320, Reduces: 200, MapTime: 9, ReduceTime: 24}},
	{"Grep", theory.SlotJob{Maps: 480, Reduces: 120, MapTime: 9, ReduceTime: 11}},
	{"Inverted-Index", theory.SlotJob{Maps: 640, Reduces: 100, MapTime: 32, ReduceTime: 23}},
	{"Classification", theory.SlotJob{Maps: 160, Reduces: 120, MapTime: 6, ReduceTime: 13}},
	{"Histogram-Movies", theory.SlotJob{Maps: 160, Reduces: 150, MapTime: 6, ReduceTime: 13}},
	{"Histogram-Ratings", theory.SlotJob{Maps: 160, Reduces: 100, MapTime: 18, ReduceTime: 15}},
	{"Sequence-Count", theory.SlotJob{Maps: 320, Reduces: 150, MapTime: 38, ReduceTime: 21}},
	{"Tera-Sort", theory.SlotJob{Maps: 160, Reduces: 100, MapTime: 10, ReduceTime: 26}},
}

// Paper makes the evaluation of MROrder.
func Paper() *paper.Paper {
	return &paper.Paper{
		Name: "mrorder", Title: "MROrder",
		Source: "S. Tang, PhD thesis on job scheduling and resource allocation for MapReduce, chapter 3; " +
			"[docs/spec/mrorder.md](../spec/mrorder.md) has every formula and what is wrong in print.",
		About: `On a cluster whose slots are for maps or for reduces, the order in which jobs are served decides how
well the maps of one job overlap with the reduces of another. MROrder holds jobs back and releases them in a good order:
by Johnson's rule for two machines where the last completion is to come early (*MK_JR*), by size where all are to
(*TCT*), by a mixture (*MK_TCT_JR*), and by trying every order where jobs are few (*SIM*). The thesis measured it on EC2
and on a simulator of its own.

The cluster is that of the thesis, 57 map and 19 reduce slots. Batches run on package ` + "`theory`" + `'s simulator of
the thesis's own model; jobs that arrive over time, and tasks whose times vary,
on ` + "`sojourn sim`" + ` under the policy ` + "`mrorder`" + `, without costs of locality or network, which the thesis
does not have either. A gain in percent is the baseline's figure ÷ that of the order tested − 1; *total* is the sum of
completion times, counted from time 0.`,
		Parts: []paper.Part{
			ordersPart(),
			spreadPart(),
			testbedPart(),
			facebookPart(),
			boundsPart(),
			variationPart(),
			searchPart(),
			onlinePart(),
			arrivalsPart(),
			intervalsPart(),
			densityPart(),
			tracePart(),
			backlogPart(),
		},
		Needs: paper.NeedsDay2010,
		Left: []paper.Left{
			{
				Where: "Fig. 3.10",
				Says:  "the simulator is within 8 % of EC2",
				Why:   "needs the EC2 runs. `make bench` compares our simulator with our engine on the same jobs",
			},
			{
				Where: "Fig. 3.1b",
				Says:  "four jobs whose worst order takes nearly twice as long as the best",
				Why: "the jobs are not legible. No batch exceeds twice the best on two machines; how close a pair " +
					"can come stands above",
			},
			{
				Where: "Fig. 3.7",
				Says:  "makespans from 3,800 to 5,800 s of 100 testbed jobs",
				Why: "the jobs are not given, and 100 jobs of table 3.2 in equal parts need 11,000 s for their " +
					"reduces alone",
			},
			{
				Where: "Table 3.5",
				Says:  "its makespans and run times, row by row",
				Why:   "the jobs are not given. Our search begins with the rule's order, so that it cannot lose to it",
			},
		},
	}
}

// rules are the orders of the thesis, under the names that pages and pictures have.
var rules = []struct {
	name, spec string
	order      func([]theory.Flow) []int
}{
	{"MK_JR", "mk-jr", theory.Johnson},
	{"MK_TCT_JR", "mk-tct-jr", theory.SplitJohnson},
	{"TCT", "tct", theory.ShortestFirst},
}

// ordersPart is what can be checked by hand.
func ordersPart() paper.Part {
	byHand := map[string][]int{ // places in the table, from algorithms 1, 2 and 5 worked by hand
		"MK_JR":     {4, 5, 8, 1, 6, 7, 3, 2, 0},
		"MK_TCT_JR": {4, 5, 8, 6, 2, 0, 1, 7, 3},
		"TCT":       {4, 5, 0, 6, 2, 8, 1, 7, 3},
	}
	p := paper.Part{
		Title: "Orders that can be worked by hand", Trials: 1,
		How: "The batch of figure 1.2 (four jobs, 8 map and 4 reduce slots) in the order in which it is printed, and " +
			"the nine jobs of table 3.2 under each rule. These must be exact.",
		Claims: []paper.Claim{
			{
				Where:     "Fig. 3.3",
				Says:      "figure 1.2's batch: last completion",
				Published: paper.Exactly(44),
				Unit:      "s",
				Figure:    "makespan",
				Agrees:    paper.Exactly(44),
			},
			{
				Where:     "Fig. 3.3",
				Says:      "figure 1.2's batch: total",
				Published: paper.Exactly(94),
				Unit:      "s",
				Figure:    "total",
				Agrees:    paper.Exactly(94),
			},
		},
		Trial: func(context.Context, paper.Lab, uint64) (paper.Sample, error) {
			s := paper.Sample{}
			r := theory.NewSlotSim([]theory.SlotJob{{Maps: 10, Reduces: 2, MapTime: 4, ReduceTime: 8},
				{Maps: 4, Reduces: 4, MapTime: 2, ReduceTime: 2},
				{
					Maps:       2,
					Reduces:    4,
					MapTime:    6,
					ReduceTime: 10,
				}, {Maps: 24, Reduces: 6, MapTime: 6, ReduceTime: 8}}, theory.Slots{Map: 8, Reduce: 4}).
				Run([]int{0, 1, 2, 3})
			s.Set("makespan", r.Makespan)
			s.Set("total", r.Total)
			jobs := purdueJobs()
			for _, rule := range rules {
				order, placed := rule.order(theory.Flows(jobs, testbedSlots)), 0
				for i, j := range byHand[rule.name] {
					if order[i] == j {
						placed++
					}
				}
				s.Set("placed "+rule.name, float64(placed))
			}
			return s, nil
		},
	}
	for _, rule := range rules {
		names := ""
		for i, j := range byHand[rule.name] {
			if i > 0 {
				names += ", "
			}
			names += purdue[j].name
		}
		p.Claims = append(
			p.Claims,
			paper.Claim{Where: "Table 3.2", Says: fmt.Sprintf("jobs in their place under %s: %s", rule.name, names),
				Published: paper.Exactly(9), Figure: "placed " + rule.name, Agrees: paper.Exactly(9)},
		)
	}
	p.Claims[2].Where = "Table 3.2, algorithm 1"
	p.Claims[3].Where = "Table 3.2, algorithm 2"
	p.Claims[4].Where = "Table 3.2, algorithm 5"
	return p
}

func purdueJobs() (jobs []theory.SlotJob) {
	for _, p := range purdue {
		jobs = append(jobs, p.job)
	}
	return jobs
}

// spreadPart is how much the order of four jobs matters: a trial is one of the 126 sets of four that the nine make.
func spreadPart() paper.Part {
	var sets [][]int
	for set := range 1 << len(purdue) {
		var jobs []int
		for j := range purdue {
			if set&(1<<j) != 0 {
				jobs = append(jobs, j)
			}
		}
		if len(jobs) == 4 {
			sets = append(sets, jobs)
		}
	}
	four := "which four jobs was not published"
	return paper.Part{
		Title: "How much the order matters", Trials: len(sets),
		How: "All 24 orders of four jobs. Which four the thesis took is not stated: each trial is one of the 126 " +
			"sets of four that the nine jobs of table 3.2 make.",
		Claims: []paper.Claim{
			{
				Where:     "Fig. 3.1a",
				Says:      "makespan of the worst order over the best",
				Published: paper.Exactly(20),
				Unit:      "%",
				Figure:    "spread",
				Agrees:    paper.Above(5),
				Why:       four,
			},
			{
				Where:     "Fig. 3.1a",
				Says:      "the same in seconds",
				Published: paper.Exactly(130),
				Unit:      "s",
				Figure:    "seconds",
				Agrees:    paper.Above(0),
				Why:       four,
			},
			{
				Where:  "Fig. 3.1a",
				Says:   "total of the best order over the best total among the five orders of shortest makespan",
				Unit:   "%",
				Figure: "fifth",
				Agrees: paper.Above(5),
			},
			{
				Where: "ours",
				Says: "makespan of the worst order over the best, of the worst pair of jobs that can be made (1 + " +
					"100 s and 100 + 1 s on a slot of each kind)",
				Unit:   "%",
				Figure: "pair",
				Own:    true,
			},
		},
		Trial: func(_ context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
			var jobs []theory.SlotJob
			for _, j := range sets[seed-1] {
				jobs = append(jobs, purdue[j].job)
			}
			results := everyOrder(jobs, testbedSlots)
			slices.SortStableFunc(results, func(a, b theory.Result) int {
				return int(math.Copysign(1, a.Makespan-b.Makespan))
			})
			best, worst := results[0], results[len(results)-1]
			five := best.Total
			for _, r := range results[:5] {
				five = min(five, r.Total)
			}
			pair := everyOrder(
				[]theory.SlotJob{
					{Maps: 1, Reduces: 1, MapTime: 1, ReduceTime: 100},
					{Maps: 1, Reduces: 1, MapTime: 100, ReduceTime: 1},
				},
				theory.Slots{Map: 1, Reduce: 1},
			)
			s := paper.Sample{}
			s.Set("spread", paper.Gain(worst.Makespan, best.Makespan))
			s.Set("seconds", worst.Makespan-best.Makespan)
			s.Set("fifth", paper.Gain(best.Total, five))
			s.Set("pair", paper.Gain(max(pair[0].Makespan, pair[1].Makespan), min(pair[0].Makespan, pair[1].Makespan)))
			return s, nil
		},
	}
}

// everyOrder runs all orders of a few jobs.
func everyOrder(jobs []theory.SlotJob, slots theory.Slots) (results []theory.Result) {
	sim := theory.NewSlotSim(jobs, slots)
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	var turn func(int)
	turn = func(k int) {
		if k == len(order) {
			results = append(results, sim.Run(order))
			return
		}
		for i := k; i < len(order); i++ {
			order[k], order[i] = order[i], order[k]
			turn(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	turn(0)
	return results
}

// testbedBatch draws n jobs of table 3.2.
func testbedBatch(n int, seed uint64) []theory.SlotJob {
	chance := workload.NewChance(seed).With(uint64(n))
	jobs := make([]theory.SlotJob, n)
	for i := range jobs {
		jobs[i] = purdue[chance.With(uint64(i)).Below(len(purdue))].job
	}
	return jobs
}

// facebookBatch draws n jobs by the thesis's Facebook recipe; arrivals are for jobs that come over time.
func facebookBatch(n int, seed uint64, a workload.Arrivals) ([]*sched.JobSpec, []theory.SlotJob, error) {
	o := workload.Defaults()
	o.Seed = seed
	specs, err := testbed.Collect(workload.FacebookMix(int64(n), a, o))
	jobs := make([]theory.SlotJob, len(specs))
	for i, spec := range specs {
		st := spec.Payload.(*workload.Truth).Stages
		jobs[i] = theory.SlotJob{
			Maps:       int(st[0].Tasks),
			MapTime:    st[0].Base.Seconds(),
			Reduces:    int(st[1].Tasks),
			ReduceTime: st[1].Base.Seconds(),
		}
	}
	return specs, jobs, err
}

// orderGains adds to a sample what each rule gains over the reverse of MK_JR, for a batch named by its number of jobs.
func orderGains(s paper.Sample, jobs []theory.SlotJob) {
	sim, flows := theory.NewSlotSim(jobs, testbedSlots), theory.Flows(jobs, testbedSlots)
	base := sim.Run(theory.Reversed(theory.Johnson(flows)))
	for _, rule := range rules {
		r := sim.Run(rule.order(flows))
		s.Set(fmt.Sprintf("makespan %s %d", rule.name, len(jobs)), paper.Gain(base.Makespan, r.Makespan))
		s.Set(fmt.Sprintf("total %s %d", rule.name, len(jobs)), paper.Gain(base.Total, r.Total))
		s.Set(fmt.Sprintf("sum %s %d", rule.name, len(jobs)), r.Total)
	}
}

func testbedPart() paper.Part {
	p := paper.Part{
		Title: "Batches of benchmark jobs", Trials: 50,
		How: "Batches of 10, 20 and 30 jobs drawn from table 3.2, all there at time 0. The baseline is that of " +
			"the thesis, the reverse of MK_JR, which has the longest makespan of all orders on two machines " +
			"(theorem 3.2).",
		Reading: "Most of these jobs are large, so that there is little to be had by serving small ones first: the " +
			"two rules for the makespan do not hurt the total.",
		Claims: []paper.Claim{
			{
				Where:     "Fig. 3.4",
				Says:      "makespan, MK_JR, 20 jobs",
				Published: paper.Exactly(24),
				Unit:      "%",
				Figure:    "makespan MK_JR 20",
				Agrees:    paper.Above(0),
				Why: "the thesis measured on EC2, where machines vary and reduces begin to fetch before the " +
					"last map; the model has neither, and its gain is an upper end",
			},
			{
				Where:  "Fig. 3.4",
				Says:   "total, MK_TCT_JR, 20 jobs: more than MK_JR's",
				Unit:   "%",
				Figure: "total ahead",
				Agrees: paper.Above(0),
			},
			{
				Where:  "Fig. 3.4",
				Says:   "makespan, MK_TCT_JR, 20 jobs: at most MK_JR's",
				Unit:   "%",
				Figure: "makespan behind",
				Agrees: paper.AtMost(0),
			},
			{
				Where:  "Fig. 3.4",
				Says:   "total, MK_JR, 20 jobs: not hurt",
				Unit:   "%",
				Figure: "total MK_JR 20",
				Agrees: paper.Above(0),
			},
		},
		Charts: []paper.Picture{
			{
				File:    "mrorder-batches",
				Caption: "Gain over the reverse of MK_JR, batches of benchmark jobs; published where it is legible",
				Draw: func(samples []paper.Sample) chart.Chart {
					c := gainChart(samples, []int{10, 20, 30}, "%d jobs")
					c.Lines = append(
						c.Lines,
						chart.Line{
							Name:   "published, makespan",
							Manner: chart.Given,
							Points: []chart.Point{{X: 1, Y: 24}},
						},
					)
					return c
				},
			},
		},
	}
	p.Trial = func(_ context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
		s := paper.Sample{}
		for _, n := range []int{10, 20, 30} {
			orderGains(s, testbedBatch(n, seed))
		}
		s.Set("total ahead", s.Of("total MK_TCT_JR 20")-s.Of("total MK_JR 20"))
		s.Set("makespan behind", s.Of("makespan MK_TCT_JR 20")-s.Of("makespan MK_JR 20"))
		return s, nil
	}
	return p
}

// gainChart shows the gains of orderGains by size of batch.
func gainChart(samples []paper.Sample, sizes []int, name string) chart.Chart {
	c := chart.Chart{Y: chart.Axis{Label: "gain (%)"}}
	for _, n := range sizes {
		c.X.Names = append(c.X.Names, fmt.Sprintf(name, n))
	}
	for _, metric := range []string{"makespan", "total"} {
		for _, rule := range rules[:2] {
			l := chart.Line{Name: metric + ", " + rule.name, Manner: chart.Apart}
			for i, n := range sizes {
				l.Points = append(l.Points,
					paper.PointOf(samples, float64(i), fmt.Sprintf("%s %s %d", metric, rule.name, n)))
			}
			c.Lines = append(c.Lines, l)
		}
	}
	return c
}

func facebookPart() paper.Part {
	sizes := []int{50, 100, 150}
	p := paper.Part{
		Title: "Batches of Facebook's jobs", Trials: 50,
		How: `The thesis's recipe: numbers of maps by Facebook's table of October 2009, 5 to 25 % as many reduces,
lognormal task times, all jobs there at time 0. The recipe leaves much to chance: one job may be half of the
work. *Map-heavy* is the same with reduces of 5 % of the maps, and their times drawn as those of maps.`,
		Reading: "Here most jobs are small, and serving them first is worth far more for the total than for " +
			"the makespan.",
		Charts: []paper.Picture{
			{
				File:    "mrorder-facebook",
				Caption: "Gain over the reverse of MK_JR, batches of Facebook's jobs",
				Draw: func(samples []paper.Sample) chart.Chart {
					return gainChart(samples, sizes, "%d jobs")
				},
			},
		},
	}
	for _, n := range sizes {
		p.Claims = append(
			p.Claims,
			paper.Claim{
				Where:     "Fig. 3.5a",
				Says:      fmt.Sprintf("makespan, MK_JR, %d jobs", n),
				Published: paper.Between(15, 19),
				Unit:      "%",
				Figure:    fmt.Sprintf("makespan MK_JR %d", n),
				Agrees:    paper.Above(0),
				Why:       "one draw is published; task times have such tails that the largest job of a draw decides",
			},
			paper.Claim{
				Where:     "Fig. 3.5a",
				Says:      fmt.Sprintf("makespan, MK_TCT_JR, %d jobs", n),
				Published: paper.Between(10, 15),
				Unit:      "%",
				Figure:    fmt.Sprintf("makespan MK_TCT_JR %d", n),
				Agrees:    paper.Above(0),
				Why:       "as for MK_JR: the largest jobs come last in both, and they decide the makespan",
			},
		)
	}
	p.Claims = append(
		p.Claims,
		paper.Claim{
			Where:     "Fig. 3.5b",
			Says:      "total, MK_TCT_JR over MK_JR, 100 jobs",
			Published: paper.Exactly(5),
			Unit:      "×",
			Figure:    "ratio",
			Agrees:    paper.Above(1),
			Why: "it depends on how many small jobs have more map than reduce work, since MK_JR puts those " +
				"last; with the recipe's reduces, which are ten times as long as maps, few have",
		},
		paper.Claim{
			Where:     "Fig. 3.5b",
			Says:      "total, baseline over MK_JR, 100 jobs: worse than no ordering",
			Published: paper.AtMost(1),
			Unit:      "×",
			Figure:    "poor",
			Agrees:    paper.Below(1),
			Why: "follows from map-heavy jobs, see the next line: in print the recipe's reduces are too long " +
				"for it. The picture in print must be of another draw than its text",
		},
		paper.Claim{
			Where:     "Fig. 3.5b",
			Says:      "the same, map-heavy",
			Published: paper.AtMost(1),
			Unit:      "×",
			Figure:    "poor, map-heavy",
			Agrees:    paper.Below(1),
		},
		paper.Claim{
			Where:     "Fig. 3.5b",
			Says:      "total, MK_TCT_JR over MK_JR, map-heavy",
			Published: paper.Exactly(5),
			Unit:      "×",
			Figure:    "ratio, map-heavy",
			Agrees:    paper.Above(1),
			Why:       "one draw is published",
		},
		paper.Claim{
			Where:     "Fig. 3.5b",
			Says:      "total, baseline over MK_JR, rounded down",
			Published: paper.AtMost(1),
			Unit:      "×",
			Figure:    "poor, rounded down",
			Agrees:    paper.Below(1),
		},
		paper.Claim{
			Where:     "Fig. 3.5b",
			Says:      "total, MK_TCT_JR over MK_JR, rounded down",
			Published: paper.Exactly(5),
			Unit:      "×",
			Figure:    "ratio, rounded down",
			Agrees:    paper.Above(1),
			Why:       "one draw is published",
		},
	)
	p.Trial = func(_ context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
		s := paper.Sample{}
		for _, n := range sizes {
			_, jobs, err := facebookBatch(n, seed, workload.Arrivals{})
			if err != nil {
				return nil, err
			}
			orderGains(s, jobs)
			if n != 100 {
				continue
			}
			s.Set("ratio", s.Of("sum MK_JR 100")/s.Of("sum MK_TCT_JR 100"))
			s.Set("poor", 1+s.Of("total MK_JR 100")/100)
			for name, least := range map[string]int{"map-heavy": 1, "rounded down": 0} {
				heavy, other := paper.Sample{}, slices.Clone(jobs)
				for i := range other {
					part := 0.05 * float64(other[i].Maps)
					if other[i].Reduces = max(least, int(math.Round(part))); least == 0 {
						other[i].Reduces = int(part)
					}
					other[i].ReduceTime = jobs[(i+1)%n].MapTime
				}
				orderGains(heavy, other)
				s.Set("ratio, "+name, heavy.Of("sum MK_JR 100")/heavy.Of("sum MK_TCT_JR 100"))
				s.Set("poor, "+name, 1+heavy.Of("total MK_JR 100")/100)
			}
		}
		return s, nil
	}
	return p
}

// boundsPart compares bounds with what runs.
func boundsPart() paper.Part {
	return paper.Part{
		Title: "Bounds beside the simulated makespan", Trials: 50,
		How: "Lower bound of all orders, and upper bound of an order (equation 3.5, which is exceeded in cases made " +
			"for it; see the specification), over the simulated makespan: 20 benchmark jobs, and 100 of Facebook's, " +
			"in MK_JR's order and in its reverse.",
		Claims: []paper.Claim{
			{
				Where:     "Fig. 3.6",
				Says:      "lower bound, best order, benchmark jobs",
				Published: paper.Between(0.88, 1),
				Unit:      "×",
				Figure:    "low testbed",
				Agrees:    paper.Between(0.88, 1),
			},
			{
				Where:     "Fig. 3.6",
				Says:      "upper bound, best order, benchmark jobs",
				Published: paper.Between(1, 1.2),
				Unit:      "×",
				Figure:    "high testbed",
				Agrees:    paper.Between(1, 1.2),
			},
			{
				Where:     "Fig. 3.6",
				Says:      "upper bound, worst order, benchmark jobs",
				Published: paper.Between(1, 1.2),
				Unit:      "×",
				Figure:    "worst testbed",
				Agrees:    paper.Between(1, 1.2),
			},
			{
				Where:     "Fig. 3.6",
				Says:      "lower bound, best order, Facebook",
				Published: paper.Between(0.88, 1),
				Unit:      "×",
				Figure:    "low facebook",
				Agrees:    paper.Between(0.88, 1),
				Why:       "tasks of a job of Facebook's may take an hour, and the bound is wrong by one task",
			},
			{
				Where:     "Fig. 3.6",
				Says:      "upper bound, best order, Facebook",
				Published: paper.Between(1, 1.2),
				Unit:      "×",
				Figure:    "high facebook",
				Agrees:    paper.Between(1, 1.2),
				Why:       "as above, by one map and one reduce",
			},
		},
		Trial: func(_ context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
			s := paper.Sample{}
			_, facebook, err := facebookBatch(100, seed, workload.Arrivals{})
			if err != nil {
				return nil, err
			}
			for name, jobs := range map[string][]theory.SlotJob{"testbed": testbedBatch(20, seed),
				"facebook": facebook} {
				flows, sim := theory.Flows(jobs, testbedSlots), theory.NewSlotSim(jobs, testbedSlots)
				best := theory.Johnson(flows)
				worst := theory.Reversed(best)
				took, slow := sim.Run(best).Makespan, sim.Run(worst).Makespan
				s.Set("low "+name, theory.AnyOrderBound(flows).Low/took)
				s.Set("high "+name, theory.OrderBound(flows, best).High/took)
				s.Set("worst "+name, theory.OrderBound(flows, worst).High/slow)
			}
			return s, nil
		},
	}
}

// variations are those by which task times are off their job's average.
var variations = []float64{0, 0.2, 0.4, 0.6, 0.8}

func variationPart() paper.Part {
	p := paper.Part{
		Title: "When task times vary", Trials: 10,
		How: "Each task time is multiplied by 1 + U(−v, v), a uniform draw of its own, while the order is still made " +
			"from the averages. On `sojourn sim`, policy `mrorder:rounds=offline`, 20 benchmark jobs and 50 " +
			"of Facebook's.",
		Claims: []paper.Claim{
			{
				Where: "Fig. 3.7",
				Says: "benchmark jobs: gain of makespan at v = 0.8 less that at 0: the same or better (two " +
					"points allowed)",
				Unit:   "%",
				Figure: "change makespan testbed",
				Agrees: paper.AtLeast(-2),
			},
			{
				Where:  "Fig. 3.7",
				Says:   "Facebook: likewise",
				Unit:   "%",
				Figure: "change makespan facebook",
				Agrees: paper.AtLeast(-2),
			},
			{
				Where:  "Fig. 3.7",
				Says:   "benchmark jobs: gain of the total, MK_TCT_JR, likewise",
				Unit:   "%",
				Figure: "change total testbed",
				Agrees: paper.AtLeast(-2),
			},
			{
				Where: "Fig. 3.7",
				Says: "makespan at v = 0.8 over that at 0, MK_JR, benchmark jobs: slightly longer (or shorter by a " +
					"percent at most)",
				Unit:   "%",
				Figure: "longer",
				Agrees: paper.Between(-1, 10),
			},
		},
		Charts: []paper.Picture{
			{
				File: "mrorder-variation",
				Caption: "Gain of makespan (MK_JR) and of the total (MK_TCT_JR) over the reverse of MK_JR, task " +
					"times varied",
				Draw: func(samples []paper.Sample) chart.Chart {
					c := chart.Chart{Y: chart.Axis{Label: "gain (%)"}}
					for _, v := range variations {
						c.X.Names = append(c.X.Names, fmt.Sprintf("±%.0f %%", 100*v))
					}
					for _, name := range []string{"makespan testbed", "total testbed", "makespan facebook"} {
						l := chart.Line{Name: name, Manner: chart.Apart}
						for i, v := range variations {
							l.Points = append(l.Points,
								paper.PointOf(samples, float64(i), fmt.Sprintf("%s %.1f", name, v)))
						}
						c.Lines = append(c.Lines, l)
					}
					return c
				},
			},
		},
		Reading: "Averages are enough to order by: what varies within a job averages out over its tasks.",
	}
	p.Trial = func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
		s := paper.Sample{}
		_, facebook, err := facebookBatch(50, seed, workload.Arrivals{})
		if err != nil {
			return nil, err
		}
		for name, jobs := range map[string][]theory.SlotJob{"testbed": testbedBatch(20, seed), "facebook": facebook} {
			for _, v := range variations {
				set := testbed.Setting{
					Cluster:   testbed.SlotCluster(19, 3, 1),
					Jobs:      varied(jobs, v, seed),
					Estimator: "mean",
					Seed:      seed,
				}
				var of [3]*testbed.Outcome
				for i, rule := range []string{"worst", "mk-jr", "mk-tct-jr"} {
					if of[i], err = set.Under(ctx, "mrorder:rounds=offline,order="+rule); err != nil {
						return nil, err
					}
				}
				s.Set(fmt.Sprintf("makespan %s %.1f", name, v), paper.Gain(of[0].Makespan, of[1].Makespan))
				s.Set(fmt.Sprintf("total %s %.1f", name, v), paper.Gain(of[0].Total(), of[2].Total()))
				s.Set(fmt.Sprintf("seconds %s %.1f", name, v), of[1].Makespan)
			}
			for _, metric := range []string{"makespan", "total"} {
				s.Set("change "+metric+" "+name, s.Of(metric+" "+name+" 0.8")-s.Of(metric+" "+name+" 0.0"))
			}
		}
		s.Set("longer", paper.Gain(s.Of("seconds testbed 0.8"), s.Of("seconds testbed 0.0")))
		return s, nil
	}
	return p
}

// varied makes jobs for the simulator in which each task's time is off the average by a part of at most v.
func varied(jobs []theory.SlotJob, v float64, seed uint64) (specs []*sched.JobSpec) {
	for i, j := range jobs {
		chance := workload.NewChance(seed).With(uint64(i) + 1)
		var own [2][]workload.Task
		for k, st := range [...]struct {
			tasks int
			mean  float64
		}{{j.Maps, j.MapTime}, {j.Reduces, j.ReduceTime}} {
			for n := range st.tasks {
				off := v * (2*chance.With(uint64(k)).With(uint64(n)).Uniform() - 1)
				own[k] = append(own[k], workload.Task{Compute: sched.Time(math.Round(st.mean * (1 + off) * 1e9))})
			}
		}
		specs = append(specs, testbed.JobOf(fmt.Sprint("job", i+1), 0, j, own))
	}
	return specs
}

func searchPart() paper.Part {
	return paper.Part{
		Title: "Searching for the best order", Trials: 20,
		How: "Batches of 1 to 7 jobs drawn from table 3.2. *SIM* is the best of all orders (found by branch and " +
			"bound, which gives the same order as trying all), *ALG* the rule of the goal. Figures are the largest " +
			"over the seven sizes.",
		Claims: []paper.Claim{
			{
				Where:     "Table 3.5",
				Says:      "makespan: the rule over the best, largest",
				Published: paper.Exactly(4.3),
				Unit:      "%",
				Figure:    "makespan",
				Agrees:    paper.Between(0, 10),
				Why:       "the jobs of the table are not given",
			},
			{
				Where:     "Table 3.5",
				Says:      "total: the rule over the best, largest",
				Published: paper.Exactly(6.4),
				Unit:      "%",
				Figure:    "total",
				Agrees:    paper.Between(0, 15),
				Why:       "the jobs of the table are not given",
			},
		},
		Trial: func(_ context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
			s := paper.Sample{}
			for _, goal := range []struct {
				name string
				of   theory.Goal
				rule func([]theory.Flow) []int
			}{{"makespan", theory.LeastMakespan, theory.Johnson}, {"total", theory.LeastTotal, theory.ShortestFirst}} {
				most := 0.0
				for n := 1; n <= 7; n++ {
					jobs := testbedBatch(n, seed)
					sim := theory.NewSlotSim(jobs, testbedSlots)
					start := goal.rule(theory.Flows(jobs, testbedSlots))
					rule := goal.of.Of(sim.Run(start))
					_, best, all := sim.BranchBound(start, 0, theory.LocalSearch{Goal: goal.of, Steps: 1 << 20})
					if !all {
						return nil, fmt.Errorf("the search over %d jobs did not get through", n)
					}
					g := paper.Gain(rule, goal.of.Of(best))
					most = max(most, g)
				}
				s.Set(goal.name, most)
			}
			return s, nil
		},
	}
}
