// Package goals counts the jobs that meet their goals under policies that know goals, by load.
//
//	goals.go  the worlds that jobs meet, and the page
//	short.go  one world more: short jobs, on the page of adaptive
package goals

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/ras"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// Paper makes the page of goals: how many jobs meet theirs, by load.
func Paper() *paper.Paper {
	return &paper.Paper{
		Name: "goals", Title: "Goals met, by load",
		Source: "the policies of J. Polo, Multi-constraint scheduling of MapReduce workloads, PhD thesis, UPC 2014 " +
			"([adaptive](../spec/adaptive.md), [ras](../spec/ras.md), [reverse](../spec/reverse.md)) beside " +
			"[those of others](../spec/policies.md).",
		About: `How many jobs complete by their goals under the policies that know goals, under earliest deadline first,
which knows nothing else of a job, and under fair sharing? The thesis compares with neither of its
rivals over a range of loads. Here jobs and goals are drawn as in its section 5.3.5: Poisson
arrivals, heavy-tailed sizes, and goals uniform from 1.5 to 4 (tight) or 8 (regular) times as long
as the job takes alone. Every load and every policy that was run is shown. No policy knows how long
tasks take beforehand: all learn it from the tasks of the same job that have ended
(` + "`--estimator mean`" + `).

Tables have means over trials and 95 % confidence intervals (Student). The last rows of a table are
paired differences: both policies had the same jobs.`,
		Parts: []paper.Part{
			worldPart("Equal slots", evenWorld), worldPart("Input that lies on some of the nodes", farWorld),
			worldPart("Beside a service", serviceWorld), worldPart("Tasks that hinder each other", crowdWorld),
		},
	}
}

const (
	meanTasks = 100.0 // maps of a job on average
	trialJobs = 200
)

// loads are the loads: of what there is, as far as jobs alone would use it.
var loads = []float64{0.5, 0.7, 0.9, 1, 1.2}

// goalRanges are how many times as long as alone a goal allows at most.
var goalRanges = []float64{4, 8}

// A rival is a policy in a world, with the cluster that it runs on.
type rival struct {
	policy  string
	cluster *workload.Cluster
}

// A world is a cluster and what jobs meet there.
type world struct {
	page               string // that it is on; "": goals
	name, how, reading string
	rivals             []rival
	own, base          string // the policies whose difference is shown
	costs              sim.Costs
	days               func() (*sched.Forecast, error) // what a service leaves; nil: all
	draw               func(r *rand.Rand, seed uint64) drawnJob
	knows              func() sched.Estimator // what is known of tasks before a run; nil: nothing
	count, trials      int                    // of jobs in a trial, and of trials; zero: trialJobs, and 10
}

// A drawnJob is a job that was drawn.
type drawnJob struct {
	spec  *sched.JobSpec // its name is that of its kind, if it has one
	alone float64        // seconds that it takes alone
	work  float64        // seconds of the whole cluster that it takes, as load counts
}

// jobs draws the jobs of a trial in order of arrival.
func (w *world) jobs(seed uint64, load, most float64) (list []*sched.JobSpec) {
	r := rand.New(rand.NewPCG(seed, 77))
	drawn := make([]drawnJob, cmp.Or(w.count, trialJobs))
	work := 0.0
	for i := range drawn {
		drawn[i] = w.draw(r, seed<<20+uint64(i))
		work += drawn[i].work
	}
	at := 0.0
	for i, j := range drawn {
		at += r.ExpFloat64() * work / float64(len(drawn)) / load
		j.spec.Name, j.spec.Submit = fmt.Sprint(cmp.Or(j.spec.Name, "job"), "-", i), sched.Time(at*1e9)
		j.spec.Deadline = sched.Time(j.alone * (1.5 + (most-1.5)*r.Float64()) * 1e9)
		list = append(list, j.spec)
	}
	return list
}

// lognormalOf draws from a lognormal law by its mean and its coefficient of variation.
func lognormalOf(r *rand.Rand, mean, cv float64) float64 {
	s := testbed.SpreadOf(cv)
	return math.Exp(math.Log(mean) - s*s/2 + s*r.NormFloat64())
}

// slotJob draws a job of maps, and a tenth as many reduces, for a number of slots of each kind.
func slotJob(r *rand.Rand, seed uint64, slots, map1 float64) drawnJob {
	maps := math.Ceil(min(lognormalOf(r, meanTasks, 2), 60*meanTasks))
	mean, reduces := lognormalOf(r, map1, 0.5), max(1, math.Floor(maps/10))
	j := testbed.JobOf("", 0, theory.SlotJob{Maps: int(maps), MapTime: mean, Reduces: int(reduces), ReduceTime: mean},
		[2][]workload.Task{})
	t := j.Payload.(*workload.Truth)
	t.Seed = seed
	for i := range j.Stages {
		j.Stages[i].Prior = 0 // no policy knows it
		t.Stages[i].Sigma = testbed.SpreadOf(0.3)
	}
	return drawnJob{j, (math.Ceil(maps/slots) + math.Ceil(reduces/slots)) * mean, maps * mean / slots}
}

// rivalsOn are policies on one cluster.
func rivalsOn(c *workload.Cluster, policies ...string) (list []rival) {
	for _, p := range policies {
		list = append(list, rival{p, c})
	}
	return list
}

const fewestLate = "adaptive:shortage=fewest"

// evenSlots is the cluster of the thesis's chapter 3: 60 nodes with a slot of each kind.
func evenSlots() *workload.Cluster { return testbed.SlotCluster(60, 1, 1) }

var evenWorld = world{
	name: "even",
	how: "60 nodes with a map slot and a reduce slot. Jobs have 100 maps on average (coefficient of variation 2), " +
		"and a tenth as many reduces. A task takes 30 s on average (0.5 between jobs, 0.3 within). Any task runs as " +
		"fast on any slot.",
	reading: "Nothing is wasted here by giving everything to one job, because jobs have more tasks than there are " +
		"slots. So earliest deadline first is hard to beat while all goals can be met: what the thesis's order " +
		"gives to jobs whose goals are far is taken from those whose goals are near. Under overload earliest " +
		"deadline first serves the job that is latest, and makes the next one late. The thesis's order does " +
		"likewise. Giving up the goals that do not fit stops that. Its lead grows with the load.",
	rivals: rivalsOn(evenSlots(), "fair", "edf", "minedf", "distributions", "adaptive", fewestLate, "ras",
		"reverse"),
	own: fewestLate, base: "edf",
	draw: func(r *rand.Rand, seed uint64) drawnJob { return slotJob(r, seed, 60, 30) },
}

// farRemote is how much longer a map takes that reads its block over the network: Sort's of the thesis, 17 s and 12 s.
const farRemote = 5.0

var farWorld = world{
	name: "far",
	how: fmt.Sprintf("The same jobs, but maps take 12 s on average, and %v s longer where their block is not on the "+
		"node, as the thesis measured for Sort. Blocks of 64 MiB lie evenly on the nodes in three copies. Nodes "+
		"report every 3 s.", farRemote),
	reading: "A map near its input leaves its slot sooner. Passing over slots while a job holds enough of them " +
		"(`delays`) costs its goal nothing. Delay scheduling makes every job wait, those too that have no time.",
	rivals: rivalsOn(evenSlots(), "fair", "edf", "edf:delay=3s", "minedf", "distributions", "adaptive",
		"adaptive:delays=3", fewestLate, fewestLate+",delays=1", fewestLate+",delays=3", "ras", "reverse"),
	own: fewestLate + ",delays=3", base: "edf",
	costs: sim.Costs{
		Reporting: sim.Reporting{Heartbeat: 3 * time.Second},
		Reading: sim.Reading{Rates: [3]float64{
			testbed.Block, testbed.Block / (1 + farRemote), testbed.Block / (1 + farRemote),
		}},
	},
	draw: func(r *rand.Rand, seed uint64) drawnJob {
		j := slotJob(r, seed, 60, 12)
		st := &j.spec.Stages[0]
		st.InputBytes, st.Copies = int64(st.Tasks)*testbed.Block, 3
		st.Places = testbed.Evenly(r, int(st.Tasks), 3)
		j.spec.Payload.(*workload.Truth).Stages[0].Input = st.InputBytes
		return j
	},
}

var serviceWorld = world{
	name: "service",
	how: "One node with 100 map slots. A service leaves from 25 to 75 of them, along a cosine over an hour. " +
		"Jobs have maps alone, as in the first table. Load is of what is left on average. `reverse` and " +
		"`ras` plan every 30 s, and when a job comes or ends.",
	reading: "Jobs last minutes, and what the service leaves changes over an hour: a forecast says little more than " +
		"what there is now. Sharing by utility costs goals as sharing by missing slots does.",
	rivals: rivalsOn(testbed.ClusterOf("nodes=1,map-slots=100"), "fair", "edf", "minedf", "distributions", "adaptive",
		fewestLate, "ras:waves=on", "reverse"),
	own: fewestLate, base: "edf",
	days: func() (*sched.Forecast, error) {
		var steps []sched.Supply
		for i := range 60 {
			n := math.Round(50 - 25*math.Cos(2*math.Pi*float64(i)/60))
			steps = append(steps, sched.Supply{
				From: sched.Time(i) * time.Minute, Capacity: sched.Resources{sched.MapSlots: int64(n)},
			})
		}
		return sched.NewForecast(time.Hour, steps...)
	},
	draw: func(r *rand.Rand, seed uint64) drawnJob {
		j := slotJob(r, seed, 100, 30)
		t := j.spec.Payload.(*workload.Truth)
		j.spec.Stages, t.Stages = j.spec.Stages[:1], t.Stages[:1]
		maps, mean := float64(j.spec.Stages[0].Tasks), t.Stages[0].Base.Seconds()
		return drawnJob{j.spec, math.Ceil(maps/100) * mean, maps * mean / 50}
	},
}

// crowdApps are the applications of table 4.2 of the thesis, and how many maps of each a node runs best.
var crowdApps = []struct {
	ras.App
	each float64
}{{ras.Sort, 2}, {ras.Combine, 4}, {ras.Select, 5}}

var crowdWorld = world{
	name: "crowd",
	how: "20 workers. Jobs have maps alone, of the three applications of table 4.2 of the thesis, whose tasks hinder " +
		"each other as in [the page of ras](ras.md). Policies with slots have four a worker, which is best for " +
		"Fair; `ras` and `reverse` go by profiles. A job's time alone is that on its best number of maps a node. " +
		"Load is the times of the jobs alone, one after the other.",
	reading: "The three applications use different resources. Policies that go by profiles mix them, so that tasks " +
		"take less long, which helps most while nearly all goals can be met. Under overload it matters more which " +
		"goals are given up, and these policies give up none.",
	rivals: append(rivalsOn(crowdCluster(4), "fair", "edf", "minedf", "distributions", "adaptive", fewestLate),
		rivalsOn(crowdCluster(ras.Slots), "ras", "ras:waves=on", "reverse")...),
	own: "ras:waves=on", base: "edf",
	costs: sim.Costs{Contention: ras.Contention},
	draw: func(r *rand.Rand, seed uint64) drawnJob {
		app := crowdApps[r.IntN(len(crowdApps))]
		j := slotJob(r, seed, 1, 10)
		t := j.spec.Payload.(*workload.Truth)
		j.spec.Stages, t.Stages = j.spec.Stages[:1], t.Stages[:1]
		j.spec.Profile = app.Profile()
		used := app.each * float64(max(app.CPU, app.IO, app.Memory)) / 100
		slower := 1 + ras.Contention.Slope*used
		if used > 1 {
			slower = (1 + ras.Contention.Slope) * math.Pow(used, ras.Contention.Power)
		}
		maps, mean := float64(j.spec.Stages[0].Tasks), t.Stages[0].Base.Seconds()
		alone := math.Ceil(maps/(ras.Workers*app.each)) * mean * slower
		return drawnJob{j.spec, alone, maps / (ras.Workers * app.each) * mean * slower}
	},
}

func crowdCluster(slots int) *workload.Cluster {
	return testbed.ClusterOf("nodes=%d,map-slots=%d,vcores=100,memory=100MiB", ras.Workers, slots)
}

// met returns how many percent of the jobs meet their goals under a policy.
func (w *world) met(ctx context.Context, by rival, at worldPoint) (float64, error) {
	set := testbed.Setting{
		Cluster: by.cluster, Jobs: w.jobs(at.seed, at.load, at.most), Costs: w.costs, Estimator: "mean", Seed: at.seed,
	}
	if w.knows != nil {
		set.Made = w.knows()
	}
	if w.days != nil {
		table, err := w.days()
		if err != nil {
			return 0, err
		}
		set.Timetables = map[string]*sched.Forecast{by.cluster.Classes[0].Name: table}
	}
	o, err := set.Under(ctx, by.policy)
	if err != nil {
		return 0, err
	}
	n := 0
	for i, j := range set.Jobs {
		if o.Sojourns[i] <= j.Deadline.Seconds() {
			n++
		}
	}
	return 100 * float64(n) / float64(len(set.Jobs)), nil
}

// A worldPoint is a load, a range of goals, and a seed.
type worldPoint struct {
	load, most float64
	seed       uint64
}

// figure names the figure of a policy.
func (p worldPoint) figure(policy string) string {
	return fmt.Sprintf("%v %v %s", p.load, p.most, policy)
}

func worldPart(title string, w world) paper.Part {
	p := paper.Part{
		Title: title, Trials: cmp.Or(w.trials, 10), How: w.how, Reading: w.reading,
		Trial: func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
			s := paper.Sample{}
			for _, most := range goalRanges {
				for _, load := range loads {
					at := worldPoint{load, most, seed}
					for _, by := range w.rivals {
						met, err := w.met(ctx, by, at)
						if err != nil {
							return nil, err
						}
						s.Set(at.figure(by.policy), met)
					}
					s.Set(at.figure("more"), s.Of(at.figure(w.own))-s.Of(at.figure(w.base)))
				}
			}
			return s, nil
		},
	}
	var columns []string
	for _, load := range loads {
		columns = append(columns, fmt.Sprintf("load %v", load))
	}
	for _, most := range goalRanges {
		g := paper.Grid{Caption: fmt.Sprintf("Goals met (%%), goals up to %v × the time alone", most), Columns: columns}
		row := func(name, figure string) {
			r := paper.GridRow{Name: name}
			for _, load := range loads {
				r.Figures = append(r.Figures, worldPoint{load, most, 0}.figure(figure))
			}
			g.Rows = append(g.Rows, r)
		}
		for _, by := range w.rivals {
			row("`"+by.policy+"`", by.policy)
		}
		row(fmt.Sprintf("`%s` less `%s` (points)", w.own, w.base), "more")
		p.Grids = append(p.Grids, g)
		p.Charts = append(p.Charts, paper.Picture{
			File:    fmt.Sprintf("%s-%s-%v", cmp.Or(w.page, "goals"), w.name, most),
			Caption: g.Caption, Draw: func(samples []paper.Sample) chart.Chart {
				c := chart.Chart{X: chart.Axis{Label: "load"}, Y: chart.Axis{Label: "goals met (%)"}}
				for i, by := range w.rivals {
					l := chart.Line{Name: by.policy}
					for x, figure := range g.Rows[i].Figures {
						l.Points = append(l.Points, paper.PointOf(samples, loads[x], figure))
					}
					c.Lines = append(c.Lines, l)
				}
				return c
			},
		})
	}
	return p
}
