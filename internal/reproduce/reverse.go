package reproduce

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/theory/placement"
	"github.com/sojourn-sched/sojourn/internal/theory/reverse"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

func reverseAdaptive() *Paper {
	return &Paper{
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
		Parts: []Part{reverseExample(), reverseAlone(), reverseService(), reverseBursts()},
		Left: []Left{
			{"5.3.5.1", "validation of the thesis's simulator against its cluster", "it compares their simulator " +
				"with " +
				"their cluster; the experiment itself is the one of chapter 3"},
			{"fig. 5.21", "a reference run whose sole aim is few misses", "how it decides is not stated"},
			{"fig. 5.20, 5.21", "loads of 0.2, 0.6 and 1, and goals to 12× the time alone", "each configuration is a " +
				"week of jobs for each seed and each scheduler; two loads and two ranges are run"},
		},
	}
}

// reverseCurve is the nodes that are available in each step of 0.4 h of the example.
func reverseCurve(step int) int {
	return int(math.Round(100 * (0.5 - 0.4*math.Cos(2*math.Pi*((float64(step)+0.5)*0.4-18)/24))))
}

// reverseGoals are the steps by which the three jobs of the example are to be done.
var reverseGoals = [3]int{17, 38, 58}

// reverseExampleRun returns the steps in which three jobs of n tasks are done.
func reverseExampleRun(n int, backwards bool) (ends [3]int) {
	area := func(from, to float64) (a reverse.Amount) {
		for i := range 60 {
			a[0] += float64(reverseCurve(i)) * max(0, min(float64(i+1), to)-max(float64(i), from))
		}
		return a
	}
	left := [3]int{n, n, n}
	for now := range 60 {
		jobs := make([]reverse.Job, 3)
		for i := range jobs {
			jobs[i] = reverse.Job{Pending: left[i], Goal: float64(reverseGoals[i]), Mean: 1, Map: reverse.Amount{1},
				Window: 1, ID: int64(i)}
		}
		claims := make([]reverse.Claimant, 3)
		for i, fit := range (&reverse.Plan{Now: float64(now), Area: area}).Fit(jobs) {
			need := placement.Required(left[i], 1, float64(reverseGoals[i]-now), false)
			u := placement.Need{Required: need, Pending: left[i]}.UtilityOfMaps
			if backwards {
				u = func(maps int) float64 { return reverse.Utility(maps, fit, need, left[i]) }
			}
			claims[i] = reverse.Claimant{Pending: left[i], Goal: float64(reverseGoals[i]), ID: int64(i), Utility: u}
		}
		for i, has := range reverse.Divide(reverseCurve(now), claims) {
			if left[i] -= has; left[i] == 0 && has > 0 {
				ends[i] = now + 1
			}
		}
	}
	return ends
}

func reverseExample() Part {
	p := Part{
		Title: "The motivating example (5.3.2)", Trials: 1,
		How: "100 nodes over 24 h in steps of 0.4 h, a task is one node for one step. Three equal jobs are due at " +
			"6.5, 15 " +
			"and 23.1 h, and fewest nodes are available around hour 18. The thesis draws the curve and states no " +
			"numbers, " +
			"so the curve is a cosine with its minimum there. Capacity is divided by the utility of chapter 4, which " +
			"expects constant capacity, or by reverse fitting.",
		Reading: "The scheduler that expects constant capacity takes its time before the scarce hours.",
		Trial: func(context.Context, Lab, uint64) (Sample, error) {
			s := Sample{}
			for _, n := range []int{800, 900, 940, 950, 960} {
				for name, backwards := range map[string]bool{"alone": false, "reverse": true} {
					met := 0.0
					for i, end := range reverseExampleRun(n, backwards) {
						if end <= reverseGoals[i] {
							met++
						}
					}
					s.set(fmt.Sprint(name, n), met)
				}
			}
			return s, nil
		},
	}
	for _, n := range []int{800, 900, 940, 950, 960} {
		unaware := Claim{Where: "fig. 5.15", Says: fmt.Sprintf("%d tasks a job: goals met of 3, capacity taken as "+
			"constant", n),
			Figure: fmt.Sprint("alone", n), Own: true}
		if n == 950 {
			unaware.Own, unaware.Published, unaware.Agrees = false, exactly(1), exactly(1)
		}
		p.Claims = append(p.Claims, unaware, Claim{Where: "fig. 5.16",
			Says: fmt.Sprintf("%d tasks a job: goals met of 3 by reverse fitting", n), Published: exactly(3),
			Figure: fmt.Sprint("reverse", n), Agrees: exactly(3)})
	}
	return p
}

// A reverseCase is one configuration of the thesis's simulation.
type reverseCase struct {
	swing float64 // of the service's day around a half of the capacity; zero: there is no service
	load  float64 // of what is available on average
	most  float64 // times as long as alone that a goal allows at most
}

const (
	reverseDays  = 7 // jobs that come in the five in the middle count
	reverseSlots = 100
	reverseTask  = 60.0 // seconds
	reverseTasks = 400.0
)

func (c reverseCase) name() string {
	return fmt.Sprintf("swing %v load %v most %v", c.swing, c.load, c.most)
}

// timetable returns what is available over a day, in steps of a quarter of an hour; nil: all.
func (c reverseCase) timetable() (*sched.Forecast, error) {
	if c.swing == 0 {
		return nil, nil
	}
	var steps []sched.Supply
	for i := range 96 {
		at := float64(i) / 4
		n := math.Round(reverseSlots * (0.5 - c.swing*math.Cos(2*math.Pi*(at-18)/24)))
		steps = append(steps, sched.Supply{
			From: sched.Time(i) * 15 * time.Minute, Capacity: sched.Resources{sched.MapSlots: int64(n)},
		})
	}
	return sched.NewForecast(24*time.Hour, steps...)
}

// draw draws the jobs of a week in order of arrival.
func (c reverseCase) draw(seed uint64) (jobs []*sched.JobSpec) {
	r := rand.New(rand.NewPCG(seed, 53))
	mean := float64(reverseSlots)
	if c.swing > 0 {
		mean /= 2
	}
	apart := reverseTasks * reverseTask / (c.load * mean)
	sigma2 := math.Log(1 + 2*2)
	for at := r.ExpFloat64() * apart; at < reverseDays*86400; at += r.ExpFloat64() * apart {
		n := math.Exp(math.Log(reverseTasks) - sigma2/2 + math.Sqrt(sigma2)*r.NormFloat64())
		n = math.Ceil(min(n, 60*reverseTasks))
		alone := math.Ceil(n/reverseSlots) * reverseTask
		j := jobOf(fmt.Sprint("job-", len(jobs)), sched.Time(at*1e9),
			theory.SlotJob{Maps: int(n), MapTime: reverseTask}, [2][]workload.Task{})
		j.Deadline = sched.Time(alone * (1.5 + (c.most-1.5)*r.Float64()) * 1e9)
		j.Stages[0].Prior = 0
		jobs = append(jobs, j)
	}
	return jobs
}

// reverseRivals are the schedulers that are compared.
var reverseRivals = []struct{ name, policy string }{
	{"FIFO", "fifo"},
	{"Adaptive", "ras:trigger=off,waves=on"},
	{"Reverse", "reverse:trigger=off"},
}

// run sets what share of the jobs misses its goal under each scheduler, in percent, and by how much, in hours.
func (c reverseCase) run(ctx context.Context, s Sample, seed uint64) error {
	table, err := c.timetable()
	if err != nil {
		return err
	}
	for _, v := range reverseRivals {
		jobs := c.draw(seed)
		var rows []record.JobRow
		specs := submitted{}
		config := sim.Config{
			Cluster: clusterOf("nodes=1,map-slots=%d", reverseSlots), Jobs: workload.Of(jobs...), Seed: seed,
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
			if day := r.Submit / (24 * time.Hour); day < 1 || day > reverseDays-2 {
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
		s.set(c.name()+" missed "+v.name, 100*missed/n)
		s.set(c.name()+" late "+v.name, late/max(1, missed))
		s.set(c.name()+" off "+v.name, off/n)
	}
	s.set(c.name()+" by", s.of(c.name()+" missed Adaptive")-s.of(c.name()+" missed Reverse"))
	s.set(c.name()+" fifo", s.of(c.name()+" missed FIFO")-s.of(c.name()+" missed Reverse"))
	s.set(c.name()+" later", s.of(c.name()+" late Adaptive")-s.of(c.name()+" late Reverse"))
	s.set(c.name()+" nearer", s.of(c.name()+" off Adaptive")-s.of(c.name()+" off Reverse"))
	return nil
}

const reverseHow = "100 slots, seven days. Jobs submitted on the five in the middle count. Arrivals are Poisson, " +
	"goals " +
	"uniform from 1.5 to the stated number of times as long as the job takes alone. Load is relative to what is " +
	"available on average. Nothing is taken back. All three learn the length of a job's tasks from those that " +
	"have ended. " +
	"Cycles are 30 s. A trial is a seed of the jobs."

// reversePart makes a part of configurations.
func reversePart(p Part, cases []reverseCase, file string) Part {
	p.Trials = 5
	p.Trial = func(ctx context.Context, _ Lab, seed uint64) (Sample, error) {
		s := Sample{}
		for _, c := range cases {
			if err := c.run(ctx, s, seed); err != nil {
				return nil, err
			}
		}
		return s, nil
	}
	for _, c := range cases {
		for _, v := range reverseRivals {
			p.Claims = append(p.Claims, Claim{Where: c.label(), Says: "jobs that miss their goal under " +
				"" + v.name, Unit: "%",
				Figure: c.name() + " missed " + v.name, Own: true})
		}
	}
	p.Charts = []Picture{{file, p.Title, func(samples []Sample) chart.Chart {
		c := chart.Chart{Y: chart.Axis{Label: "jobs that miss their goal (%)"}}
		for _, at := range cases {
			c.X.Names = append(c.X.Names, at.label())
		}
		for _, v := range reverseRivals {
			l := chart.Line{Name: v.name, Manner: chart.Apart}
			for x, at := range cases {
				l.Points = append(l.Points, point(samples, float64(x), at.name()+" missed "+v.name))
			}
			c.Lines = append(c.Lines, l)
		}
		return c
	}}}
	return p
}

// label names a configuration for readers.
func (c reverseCase) label() string {
	if c.swing == 0 {
		return fmt.Sprintf("load %v, to %v×", c.load, c.most)
	}
	return fmt.Sprintf("swing %v, load %v, to %v×", c.swing, c.load, c.most)
}

func reverseAlone() Part {
	cases := []reverseCase{{0, 0.4, 4}, {0, 0.8, 4}, {0, 0.4, 8}, {0, 0.8, 8}}
	p := reversePart(Part{
		Title: "Experiment 1: without a service (figure 5.20)",
		How:   reverseHow,
		Reading: "The thesis finds Adaptive and Reverse equal here. Reverse plans with all goals at once and " +
			"Adaptive " +
			"with each by itself, so Reverse may be better although capacity is constant.",
	}, cases, "reverse-adaptive-alone")
	for _, c := range cases {
		p.Claims = append(p.Claims,
			Claim{Where: "fig. 5.20, " + c.label(), Says: "FIFO misses more than Reverse by (points)",
				Published: above(0), Figure: c.name() + " fifo", Agrees: above(0),
				Why: "with few free slots a plan that spreads them over all jobs makes more of them late than " +
					"FIFO does"},
			Claim{Where: "fig. 5.20, " + c.label(), Says: "Adaptive misses more than Reverse by (points)",
				Published: Range{-0.5, 0.5}, Figure: c.name() + " by", Agrees: Range{-3, 3},
				Why: "Reverse also knows the other jobs' goals"})
	}
	return reverseWider(p, "fig. 5.20", [][2]reverseCase{{cases[0], cases[2]}, {cases[1], cases[3]}})
}

// reverseMisses adds the claims of experiments with a service.
func reverseMisses(p Part, where string, cases []reverseCase) Part {
	for _, c := range cases {
		p.Claims = append(p.Claims,
			Claim{Where: where + ", " + c.label(), Says: "Adaptive misses more than Reverse by (points)",
				Published: above(0), Figure: c.name() + " by", Agrees: above(0),
				Why: "jobs last minutes and availability changes over hours, so most misses are not its doing"},
			Claim{Where: where + ", " + c.label(), Says: "FIFO misses more than Reverse by (points)",
				Published: above(0), Figure: c.name() + " fifo", Agrees: above(0),
				Why: "in the scarce hours most goals cannot be met, and FIFO completes some jobs at once there"},
			Claim{Where: where + ", " + c.label(), Says: "late jobs under Adaptive are later by", Unit: "h",
				Published: above(0), Figure: c.name() + " later", Agrees: above(0),
				Why: "Reverse completes more jobs in time, and what it cannot complete in time it leaves for later"},
			Claim{Where: where + ", " + c.label(), Says: "distance to the goal, Adaptive less Reverse: about equal",
				Unit: "h", Published: Range{-0.1, 0.1}, Figure: c.name() + " nearer", Agrees: Range{-0.1, 0.1},
				Why: "as for the late jobs"})
	}
	return p
}

// reverseWider adds the claims on two ranges of goals at the same load: a figure says how many points more misses the
// wider range saves a scheduler than FIFO.
func reverseWider(p Part, where string, pairs [][2]reverseCase) Part {
	inner := p.Trial
	p.Trial = func(ctx context.Context, lab Lab, seed uint64) (Sample, error) {
		s, err := inner(ctx, lab, seed)
		if err != nil {
			return nil, err
		}
		for _, pair := range pairs {
			saves := func(name string) float64 {
				return s.of(pair[0].name()+" missed "+name) - s.of(pair[1].name()+" missed "+name)
			}
			for _, v := range reverseRivals[1:] {
				s.set(pair[1].name()+" wider "+v.name, saves(v.name)-saves("FIFO"))
			}
		}
		return s, nil
	}
	for _, pair := range pairs {
		for _, v := range reverseRivals[1:] {
			p.Claims = append(p.Claims, Claim{
				Where: where + ", " + pair[1].label(), Published: above(0), Figure: pair[1].name() + " wider " + v.name,
				Agrees: above(0),
				Says: fmt.Sprintf("goals to %v× instead of %v× save %s more misses than FIFO (points)", pair[1].most,
					pair[0].most, v.name),
				Why: "with few misses there are few to save"})
		}
	}
	return p
}

func reverseService() Part {
	cases := []reverseCase{{0.4, 0.4, 4}, {0.4, 0.8, 4}, {0.4, 0.4, 8}, {0.4, 0.8, 8}}
	return reverseMisses(reversePart(Part{
		Title: "Experiment 2: beside a service (figure 5.21)",
		How: reverseHow + " What is available follows a cosine around a half of the slots, with its minimum at " +
			"hour 18 of " +
			"each day. Swing is its amplitude.",
		Reading: "Misses in the scarce hours cannot be avoided by any order.",
	}, cases, "reverse-adaptive-service"), "fig. 5.21", cases)
}

func reverseBursts() Part {
	cases := []reverseCase{{0.1, 0.6, 8}, {0.25, 0.6, 8}, {0.4, 0.6, 8}}
	p := reverseMisses(reversePart(Part{
		Title:   "Experiment 3: burstiness of the service (figures 5.22, 5.23)",
		How:     reverseHow + " The swing of the service varies.",
		Reading: "The thesis finds that the lead of Reverse grows with the burstiness of the service.",
	}, cases, "reverse-adaptive-bursts"), "fig. 5.22", cases)
	inner := p.Trial
	p.Trial = func(ctx context.Context, lab Lab, seed uint64) (Sample, error) {
		s, err := inner(ctx, lab, seed)
		if err == nil {
			s.set("grows", s.of(cases[2].name()+" by")-s.of(cases[0].name()+" by"))
		}
		return s, err
	}
	p.Claims = append(p.Claims, Claim{Where: "fig. 5.22", Says: "the lead of Reverse over Adaptive at the largest " +
		"swing, " +
		"less that at the smallest (points)", Published: above(0), Figure: "grows", Agrees: above(0),
		Why: "jobs last minutes while availability changes over hours: where goals are near, the forecast says " +
			"little that " +
			"today's capacity does not say"})
	return p
}
