// Package reverse runs the experiments of Polo's thesis with Reverse-Adaptive again: jobs with goals beside a service.
package reverse

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/theory/placement"
	"github.com/sojourn-sched/sojourn/internal/theory/reverse"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// Paper makes the evaluation of Reverse-Adaptive.
func Paper() *paper.Paper {
	return &paper.Paper{
		Name: "reverse-adaptive", Title: "Reverse-Adaptive",
		Source: "Polo, Multi-constraint Scheduling of MapReduce Workloads, PhD thesis, UPC 2014, section 5.3; " +
			"[docs/spec/reverse.md](../spec/reverse.md) has what the policy computes.",
		About: `MapReduce jobs share their nodes with a service whose load changes over the day. Reverse-Adaptive plans
from the last deadline back to now against the capacity that will be left. The thesis compares it by
simulation with FIFO and with the scheduler of its chapter 4, which knows goals and expects today's
capacity for ever (here ` + "`ras`" + `, called Adaptive there).

The thesis does not state how long a task takes, how many slots a node offers, or the curve of the
service. With its job sizes read as printed, jobs are nearly equal and need one wave of tasks,
which leaves little to order. Its text wants sizes like those of production traces. So sizes here
are heavy-tailed: lognormal with a mean of 400 tasks of 60 s and a coefficient of variation of 2, on
100 slots. That choice is ours.`,
		Parts: []paper.Part{examplePart(), alonePart(), servicePart(), burstsPart()},
		Left: []paper.Left{
			{Where: "5.3.5.1", Says: "validation of the thesis's simulator against its cluster",
				Why: "it compares their simulator with their cluster; the experiment itself is the one of chapter 3"},
			{Where: "fig. 5.21", Says: "a reference run whose sole aim is few misses",
				Why: "how it decides is not stated"},
		},
	}
}

// exampleCurve is the nodes that are available in each step of 0.4 h of the example.
func exampleCurve(step int) int {
	return int(math.Round(100 * (0.5 - 0.4*math.Cos(2*math.Pi*((float64(step)+0.5)*0.4-18)/24))))
}

// exampleGoals are the steps by which the three jobs of the example are to be done.
var exampleGoals = [3]int{17, 38, 58}

// exampleRun returns the steps in which three jobs of n tasks are done.
func exampleRun(n int, backwards bool) (ends [3]int) {
	area := func(from, to float64) (a reverse.Amount) {
		for i := range 60 {
			a[0] += float64(exampleCurve(i)) * max(0, min(float64(i+1), to)-max(float64(i), from))
		}
		return a
	}
	left := [3]int{n, n, n}
	for now := range 60 {
		jobs := make([]reverse.Job, 3)
		for i := range jobs {
			jobs[i] = reverse.Job{Pending: left[i], Goal: float64(exampleGoals[i]), Mean: 1, Map: reverse.Amount{1},
				Window: 1, ID: int64(i)}
		}
		claims := make([]reverse.Claimant, 3)
		for i, fit := range (&reverse.Plan{Now: float64(now), Area: area}).Fit(jobs) {
			need := placement.Required(left[i], 1, float64(exampleGoals[i]-now), false)
			u := placement.Need{Required: need, Pending: left[i]}.UtilityOfMaps
			if backwards {
				u = func(maps int) float64 { return reverse.Utility(maps, fit, need, left[i]) }
			}
			claims[i] = reverse.Claimant{Pending: left[i], Goal: float64(exampleGoals[i]), ID: int64(i), Utility: u}
		}
		for i, has := range reverse.Divide(exampleCurve(now), claims) {
			if left[i] -= has; left[i] == 0 && has > 0 {
				ends[i] = now + 1
			}
		}
	}
	return ends
}

func examplePart() paper.Part {
	p := paper.Part{
		Title: "The motivating example (5.3.2)", Trials: 1,
		How: "100 nodes over 24 h in steps of 0.4 h, a task is one node for one step. Three equal jobs are due at " +
			"6.5, 15 and 23.1 h, and fewest nodes are available around hour 18. The thesis draws the curve and " +
			"states no numbers, so the curve is a cosine with its minimum there. Capacity is divided by the utility " +
			"of chapter 4, which expects constant capacity, or by reverse fitting.",
		Reading: "The scheduler that expects constant capacity takes its time before the scarce hours.",
		Trial: func(context.Context, paper.Lab, uint64) (paper.Sample, error) {
			s := paper.Sample{}
			for _, n := range []int{800, 900, 940, 950, 960} {
				for name, backwards := range map[string]bool{"alone": false, "reverse": true} {
					met := 0.0
					for i, end := range exampleRun(n, backwards) {
						if end <= exampleGoals[i] {
							met++
						}
					}
					s.Set(fmt.Sprint(name, n), met)
				}
			}
			return s, nil
		},
	}
	for _, n := range []int{800, 900, 940, 950, 960} {
		unaware := paper.Claim{Where: "fig. 5.15",
			Says: fmt.Sprintf("%d tasks a job: goals met of 3, capacity taken as "+
				"constant", n),
			Figure: fmt.Sprint("alone", n), Own: true}
		if n == 950 {
			unaware.Own, unaware.Published, unaware.Agrees = false, paper.Exactly(1), paper.Exactly(1)
		}
		p.Claims = append(p.Claims, unaware, paper.Claim{Where: "fig. 5.16",
			Says: fmt.Sprintf("%d tasks a job: goals met of 3 by reverse fitting", n), Published: paper.Exactly(3),
			Figure: fmt.Sprint("reverse", n), Agrees: paper.Exactly(3)})
	}
	return p
}

// A configuration is one configuration of the thesis's simulation.
type configuration struct {
	swing float64 // of the service's day around a half of the capacity; zero: there is no service
	load  float64 // of what is available on average
	most  float64 // times as long as alone that a goal allows at most
}

const (
	days        = 7 // jobs that come in the five in the middle count
	slots       = 100
	taskSeconds = 60.0
	meanTasks   = 400.0
)

func (c configuration) name() string {
	return fmt.Sprintf("swing %v load %v most %v", c.swing, c.load, c.most)
}

// timetable returns what is available over a day, in steps of a quarter of an hour; nil: all.
func (c configuration) timetable() (*sched.Forecast, error) {
	if c.swing == 0 {
		return nil, nil
	}
	var steps []sched.Supply
	for i := range 96 {
		at := float64(i) / 4
		n := math.Round(slots * (0.5 - c.swing*math.Cos(2*math.Pi*(at-18)/24)))
		steps = append(steps, sched.Supply{
			From: sched.Time(i) * 15 * time.Minute, Capacity: sched.Resources{sched.MapSlots: int64(n)},
		})
	}
	return sched.NewForecast(24*time.Hour, steps...)
}

// draw draws the jobs of a week in order of arrival.
func (c configuration) draw(seed uint64) (jobs []*sched.JobSpec) {
	r := rand.New(rand.NewPCG(seed, 53))
	mean := float64(slots)
	if c.swing > 0 {
		mean /= 2
	}
	apart := meanTasks * taskSeconds / (c.load * mean)
	sigma2 := math.Log(1 + 2*2)
	for at := r.ExpFloat64() * apart; at < days*86400; at += r.ExpFloat64() * apart {
		n := math.Exp(math.Log(meanTasks) - sigma2/2 + math.Sqrt(sigma2)*r.NormFloat64())
		n = math.Ceil(min(n, 60*meanTasks))
		alone := math.Ceil(n/slots) * taskSeconds
		j := testbed.JobOf(fmt.Sprint("job-", len(jobs)), sched.Time(at*1e9),
			theory.SlotJob{Maps: int(n), MapTime: taskSeconds}, [2][]workload.Task{})
		j.Deadline = sched.Time(alone * (1.5 + (c.most-1.5)*r.Float64()) * 1e9)
		j.Stages[0].Prior = 0
		jobs = append(jobs, j)
	}
	return jobs
}

// rivals are the schedulers that are compared.
var rivals = []struct{ name, policy string }{
	{"FIFO", "fifo"},
	{"Adaptive", "ras:trigger=off,waves=on"},
	{"Reverse", "reverse:trigger=off"},
}

// run sets what share of the jobs misses its goal under each scheduler, in percent, and by how much, in hours.
func (c configuration) run(ctx context.Context, s paper.Sample, seed uint64) error {
	table, err := c.timetable()
	if err != nil {
		return err
	}
	for _, v := range rivals {
		jobs := c.draw(seed)
		var rows []record.JobRow
		specs := testbed.Specs{}
		config := sim.Config{
			Cluster: testbed.ClusterOf("nodes=1,map-slots=%d", slots), Jobs: workload.Of(jobs...), Seed: seed,
		}
		setup := run.Setup{
			Names:  run.BuiltIn,
			Choice: run.Choice{Policy: v.policy, Estimator: "mean"},
			Watch:  []record.Follower{specs},
			Row:    func(r *record.JobRow) { rows = append(rows, *r) },
		}
		if table != nil {
			config.Timetables = map[string]*sched.Forecast{config.Cluster.Classes[0].Name: table}
		}
		if _, err := run.Simulate(ctx, setup, config); err != nil {
			return err
		}
		missed, late, off, n := 0.0, 0.0, 0.0, 0.0
		for _, r := range rows {
			if day := r.Submit / (24 * time.Hour); day < 1 || day > days-2 {
				continue
			}
			n++
			by := (r.Sojourn() - specs[r.ID].Deadline).Hours()
			off += math.Abs(by)
			if by > 0 {
				missed++
				late += by
			}
		}
		s.Set(c.name()+" missed "+v.name, 100*missed/n)
		s.Set(c.name()+" late "+v.name, late/max(1, missed))
		s.Set(c.name()+" off "+v.name, off/n)
	}
	s.Set(c.name()+" by", s.Of(c.name()+" missed Adaptive")-s.Of(c.name()+" missed Reverse"))
	s.Set(c.name()+" fifo", s.Of(c.name()+" missed FIFO")-s.Of(c.name()+" missed Reverse"))
	s.Set(c.name()+" later", s.Of(c.name()+" late Adaptive")-s.Of(c.name()+" late Reverse"))
	s.Set(c.name()+" nearer", s.Of(c.name()+" off Adaptive")-s.Of(c.name()+" off Reverse"))
	return nil
}

const commonHow = "100 slots, seven days. Jobs submitted on the five in the middle count. Arrivals are Poisson, " +
	"goals uniform from 1.5 to the stated number of times as long as the job takes alone. Load is relative to what " +
	"is available on average. Nothing is taken back. All three learn the length of a job's tasks from those that " +
	"have ended. Cycles are 30 s. A trial is a seed of the jobs."

// goalRanges are how many times as long as alone a goal allows at most.
var goalRanges = []float64{4, 8, 12}

// A loadTable is configurations that differ in one number, which is the column of a table and the x of a picture.
type loadTable struct {
	name   string // in the names of its figures, and of its picture
	where  string // the figure of the thesis, and what the configurations have in common
	common string // that, in words
	axis   string
	cases  []configuration
	xs     []float64 // by configuration
}

// tablesByLoad returns a table of loads for each range of goals.
func tablesByLoad(name, where string, swing float64, loads ...float64) (list []loadTable) {
	beside := "without a service"
	if swing > 0 {
		beside = "beside a service"
	}
	for _, most := range goalRanges {
		t := loadTable{
			name: fmt.Sprintf("%s-%v", name, most), where: fmt.Sprintf("%s, to %v×", where, most),
			common: fmt.Sprintf("%s, goals up to %v × the time alone", beside, most), axis: "load", xs: loads,
		}
		for _, load := range loads {
			t.cases = append(t.cases, configuration{swing, load, most})
		}
		list = append(list, t)
	}
	return list
}

// run runs all configurations and sets figures of them together: the mean of each figure over them, and of the
// differences in misses the least and the largest.
func (t *loadTable) run(ctx context.Context, s paper.Sample, seed uint64) error {
	figures := []string{"by", "fifo", "later", "nearer"}
	for _, v := range rivals {
		figures = append(figures, "missed "+v.name)
	}
	all := map[string][]float64{} // by figure: of each configuration
	for _, c := range t.cases {
		if err := c.run(ctx, s, seed); err != nil {
			return err
		}
		for _, f := range figures {
			all[f] = append(all[f], s.Of(c.name()+" "+f))
		}
	}
	for f, values := range all {
		s.Set(t.name+" "+f, paper.Mean(values))
		s.Set(t.name+" least "+f, slices.Min(values))
		s.Set(t.name+" most "+f, slices.Max(values))
	}
	return nil
}

// grid returns the jobs that miss their goals, by configuration, and how they differ.
func (t *loadTable) grid() paper.Grid {
	g := paper.Grid{Caption: "Jobs that miss their goal (%) " + t.common}
	for _, x := range t.xs {
		g.Columns = append(g.Columns, fmt.Sprintf("%s %v", t.axis, x))
	}
	row := func(name, figure string) {
		r := paper.GridRow{Name: name}
		for _, c := range t.cases {
			r.Figures = append(r.Figures, c.name()+" "+figure)
		}
		g.Rows = append(g.Rows, r)
	}
	for _, v := range rivals {
		row(v.name, "missed "+v.name)
	}
	row("Adaptive less Reverse (points)", "by")
	row("FIFO less Reverse (points)", "fifo")
	return g
}

// picture draws the jobs that miss their goals.
func (t *loadTable) picture() paper.Picture {
	g := t.grid()
	return paper.Picture{File: "reverse-adaptive-" + t.name, Caption: g.Caption,
		Draw: func(samples []paper.Sample) chart.Chart {
			c := chart.Chart{X: chart.Axis{Label: t.axis}, Y: chart.Axis{Label: "jobs that miss their goal (%)"}}
			for i, v := range rivals {
				l := chart.Line{Name: v.name}
				for k, figure := range g.Rows[i].Figures {
					l.Points = append(l.Points, paper.PointOf(samples, t.xs[k], figure))
				}
				c.Lines = append(c.Lines, l)
			}
			return c
		}}
}

// tablesPart completes a part by tables. Further sets figures of all tables together.
func tablesPart(p paper.Part, tables []loadTable, further func(paper.Sample)) paper.Part {
	p.Trials = 5
	p.Trial = func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
		s := paper.Sample{}
		for i := range tables {
			if err := tables[i].run(ctx, s, seed); err != nil {
				return nil, err
			}
		}
		further(s)
		return s, nil
	}
	for i := range tables {
		p.Grids = append(p.Grids, tables[i].grid())
	}
	return p
}

func alonePart() paper.Part {
	tables := tablesByLoad("alone", "fig. 5.20", 0, 0.2, 0.4, 0.6, 0.8, 1)
	p := tablesPart(paper.Part{
		Title: "Experiment 1: without a service (figure 5.20)",
		How:   commonHow,
		Reading: "FIFO misses most wherever goals can still be met. The thesis finds Adaptive and Reverse equal " +
			"here. Reverse plans with all goals at once and Adaptive with each by itself, so Reverse is better " +
			"although capacity is constant.",
	}, tables, func(s paper.Sample) {
		for i := range tables[1:] {
			saves := func(name string) float64 {
				return s.Of(tables[i].name+" missed "+name) - s.Of(tables[i+1].name+" missed "+name)
			}
			for _, v := range rivals[1:] {
				s.Set(tables[i+1].name+" wider "+v.name, saves(v.name)-saves("FIFO"))
			}
		}
	})
	for i := range tables {
		t := &tables[i]
		p.Charts = append(p.Charts, t.picture())
		p.Claims = append(p.Claims,
			paper.Claim{Where: t.where, Says: "FIFO misses more than Reverse: the least difference at a load (points)",
				Published: paper.Above(0), Figure: t.name + " least fifo", Agrees: paper.Above(0),
				Why: "with few free slots a plan that spreads them over all jobs makes more of them late than " +
					"FIFO does"},
			paper.Claim{Where: t.where,
				Says:      "Adaptive misses as many as Reverse: the largest difference at a load (points)",
				Published: paper.Between(-0.5, 0.5), Figure: t.name + " most by", Agrees: paper.Between(-3, 3),
				Why: "Reverse also knows the other jobs' goals"})
	}
	for i, t := range tables[1:] {
		for _, v := range rivals[1:] {
			p.Claims = append(p.Claims, paper.Claim{
				Where: t.where, Published: paper.Above(0), Figure: t.name + " wider " + v.name, Agrees: paper.Above(0),
				Says: fmt.Sprintf("goals to %v× instead of %v× save %s more misses than FIFO, mean over the loads "+
					"(points)", goalRanges[i+1], goalRanges[i], v.name),
				Why: "with few misses there are few to save"})
		}
	}
	return p
}

// missClaims returns the claims on a table of experiments with a service.
func missClaims(t *loadTable) []paper.Claim {
	at := "at a " + t.axis
	return []paper.Claim{
		{Where: t.where, Says: "Adaptive misses more than Reverse: the least difference " + at + " (points)",
			Published: paper.Above(0), Figure: t.name + " least by", Agrees: paper.Above(0),
			Why: "jobs last minutes and availability changes over hours, so most misses are not its doing"},
		{Where: t.where, Says: "FIFO misses more than Reverse: the least difference " + at + " (points)",
			Published: paper.Above(0), Figure: t.name + " least fifo", Agrees: paper.Above(0),
			Why: "in the scarce hours most goals cannot be met, and FIFO completes some jobs at once there"},
		{Where: t.where, Says: "late jobs under Adaptive are later, mean, by", Unit: "h",
			Published: paper.Above(0), Figure: t.name + " later", Agrees: paper.Above(0),
			Why: "Reverse completes more jobs in time, and what it cannot complete in time it leaves for later"},
		{Where: t.where, Says: "distance to the goal, Adaptive less Reverse, mean: about equal",
			Unit: "h", Published: paper.Between(-0.1, 0.1), Figure: t.name + " nearer",
			Agrees: paper.Between(-0.1, 0.1),
			Why:    "as for the late jobs"},
	}
}

func servicePart() paper.Part {
	tables := tablesByLoad("service", "fig. 5.21", 0.4, 0.2, 0.4, 0.6, 0.8)
	p := tablesPart(paper.Part{
		Title: "Experiment 2: beside a service (figure 5.21)",
		How: "As in experiment 1, but what is available follows a cosine around a half of the slots, with its " +
			"minimum at hour 18 of each day. Its amplitude, the swing, is 0.4 of the slots.",
		Reading: "Misses in the scarce hours cannot be avoided by any order, so that the three are near each other. " +
			"What Reverse gains is of about the same size for the three ranges of goals.",
	}, tables, func(s paper.Sample) {
		var leads []float64
		for _, t := range tables {
			leads = append(leads, s.Of(t.name+" by"))
		}
		s.Set("ranges differ", slices.Max(leads)-slices.Min(leads))
	})
	for i := range tables {
		p.Charts = append(p.Charts, tables[i].picture())
		p.Claims = append(p.Claims, missClaims(&tables[i])...)
	}
	p.Claims = append(p.Claims, paper.Claim{Where: "fig. 5.21",
		Says: "the lead of Reverse over Adaptive is similar for the three ranges: they differ, mean over the loads, " +
			"by (points)", Published: paper.Between(0, 1),
		Figure: "ranges differ", Agrees: paper.Between(0, 3),
		Why: "the more time jobs have, the more an order can do for them"})
	return p
}

func burstsPart() paper.Part {
	swings := []float64{0.1, 0.25, 0.4}
	var tables []loadTable
	for _, load := range []float64{0.2, 0.4, 0.6, 0.8} {
		t := loadTable{
			name: fmt.Sprintf("bursts-%v", load), where: fmt.Sprintf("figs. 5.22, 5.23, load %v", load),
			common: fmt.Sprintf("by the swing of the service, load %v", load), axis: "swing", xs: swings,
		}
		for _, swing := range swings {
			t.cases = append(t.cases, configuration{swing, load, 8})
		}
		tables = append(tables, t)
	}
	p := tablesPart(paper.Part{
		Title: "Experiment 3: burstiness of the service (figures 5.22, 5.23)",
		How:   "As in experiment 2, with goals up to 8 times the time alone and three swings of the service.",
		Reading: "The thesis finds that the lead of Reverse grows with the burstiness of the service. Here it " +
			"shrinks: the more the capacity swings, the more goals no order can meet.",
	}, tables, func(s paper.Sample) {
		lead := func(i int) (sum float64) {
			for _, t := range tables {
				sum += s.Of(t.cases[i].name() + " by")
			}
			return sum / float64(len(tables))
		}
		s.Set("low", lead(0))
		s.Set("grows", lead(len(swings)-1)-lead(0))
	})
	p.Charts = []paper.Picture{{File: "reverse-adaptive-bursts",
		Caption: "Lead of Reverse over Adaptive, by the swing of the service",
		Draw: func(samples []paper.Sample) chart.Chart {
			c := chart.Chart{X: chart.Axis{Label: "swing"}, Y: chart.Axis{Label: "fewer jobs that miss (points)"}}
			for _, t := range tables {
				l := chart.Line{Name: fmt.Sprintf("load %v", t.cases[0].load)}
				for i, swing := range swings {
					l.Points = append(l.Points, paper.PointOf(samples, swing, t.cases[i].name()+" by"))
				}
				c.Lines = append(c.Lines, l)
			}
			return c
		}}}
	for i := range tables {
		p.Claims = append(p.Claims, missClaims(&tables[i])...)
	}
	p.Claims = append(p.Claims,
		paper.Claim{Where: "fig. 5.22",
			Says: "the lead of Reverse over Adaptive at the smallest swing, mean over the loads: next to none " +
				"(points)", Published: paper.Between(-0.5, 0.5), Figure: "low",
			Agrees: paper.Between(-1.5, 1.5),
			Why:    "it is that of experiment 1, where Reverse is better too"},
		paper.Claim{Where: "fig. 5.22", Says: "the lead at the largest swing, mean over the loads, less that at the " +
			"smallest (points)", Published: paper.Above(0), Figure: "grows", Agrees: paper.Above(0),
			Why: "jobs last minutes while availability changes over hours: where goals are near, the forecast says " +
				"little that today's capacity does not say"})
	return p
}
