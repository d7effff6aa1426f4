package reproduce

import (
	"context"
	"fmt"
	"math"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// flexHosts is the paper's cluster: 13 hosts of four cores and 13 of eight, here with a map slot a core and a reduce
// slot for two.
func flexHosts() *workload.Cluster {
	c := clusterOf("nodes=13,map-slots=4,reduce-slots=2")
	c.Classes[0].Name = "four"
	c.Classes = append(c.Classes, c.Classes[0])
	c.Classes[1].Name = "eight"
	c.Classes[1].Resources[sched.MapSlots], c.Classes[1].Resources[sched.ReduceSlots] = 8, 4
	return c
}

// A flexLoad is jobs of the paper's experiments on the cluster (4.2).
type flexLoad struct {
	jobs   int
	slack  float64 // part of the slots that the minima leave
	apart  float64 // mean time between arrivals, in seconds
	spread float64 // of sizes: the paper's σ; with 4 the smallest is a tenth of the largest
	slow   float64 // part of the maps before reduces may start
}

// flexWork is how many maps the jobs of an experiment have together: about 45 minutes of work.
const flexWork = 14_000

// draw draws jobs in order of arrival. Sizes are evenly spread on a logarithmic scale; tasks take 20 s and 60 s, a
// tenth each way, and there is a reduce for ten maps.
func (l flexLoad) draw(seed uint64, c *workload.Cluster) (jobs []*sched.JobSpec) {
	chance := workload.NewChance(seed).With(0xf1e)
	capacity := c.Capacity()
	sizes := make([]float64, l.jobs)
	sum := 0.0
	for i := range sizes {
		sizes[i] = math.Pow(10, l.spread/4*(float64(i)/float64(max(1, l.jobs-1))))
		sum += sizes[i]
	}
	order := make([]int, l.jobs)
	for i := range order {
		k := int(chance.With(uint64(i)).Uniform() * float64(i+1))
		order[i], order[k] = order[k], i
	}
	at := 0.0
	for i, k := range order {
		maps := max(1, int(math.Round(flexWork*sizes[k]/sum)))
		times := func(kind uint64, n int, mean float64) (list []workload.Task) {
			for t := range n {
				x := 0.9 + 0.2*chance.With(uint64(k)).With(kind).With(uint64(t)).Uniform()
				list = append(list, workload.Task{Compute: sched.Time(mean * x * 1e9)})
			}
			return list
		}
		reduces := max(1, maps/10)
		j := jobOf(fmt.Sprint("job-", k), sched.Time(at*1e9),
			theory.SlotJob{Maps: maps, Reduces: reduces, MapTime: 20, ReduceTime: 60},
			[2][]workload.Task{times(1, maps, 20), times(2, reduces, 60)})
		j.Stages[1].After[0].Part = l.slow
		for s := range j.Stages {
			j.Stages[s].Prior = 0 // as in the paper, nothing is known before the first task has ended
		}
		for k := range j.Min {
			if kind := sched.ResourceKind(k); kind == sched.MapSlots || kind == sched.ReduceSlots {
				j.Min[k] = max(1, int64(float64(capacity[k])*(1-l.slack)/float64(l.jobs)))
			}
		}
		jobs = append(jobs, j)
		if l.apart > 0 {
			at += -l.apart * math.Log(1-chance.With(uint64(i)).With(3).Uniform())
		}
	}
	return jobs
}

// flexPrototype is the policy as the paper built it.
const flexPrototype = "flex:base=fair,work=printed,epoch=500ms,effort=10000"

// gain adds by how much FLEX's mean response is less than FAIR's, in percent, under a name.
func (l flexLoad) gain(ctx context.Context, s Sample, name string, seed uint64) error {
	c := flexHosts()
	set := setting{cluster: c, jobs: l.draw(seed, c), costs: sim.Costs{}, seed: seed,
		estimator: "mean"}
	fair, err := set.under(ctx, "fair")
	if err != nil {
		return err
	}
	own, err := set.under(ctx, flexPrototype)
	if err != nil {
		return err
	}
	s.set(name, 100*(1-own.Sojourn.Mean/fair.Sojourn.Mean))
	s.set(name+" flex", own.Sojourn.Mean)
	s.set(name+" fair", fair.Sojourn.Mean)
	return nil
}

// A flexPoint is one load of an experiment, and what was said of it.
type flexPoint struct {
	name string
	load flexLoad
	says Range // percent
	fits Range
}

// experiment makes a part of points.
func experiment(p Part, file string, points []flexPoint) Part {
	p.Trials = 3
	p.Trial = func(ctx context.Context, _ Lab, seed uint64) (Sample, error) {
		s := Sample{}
		for _, at := range points {
			if err := at.load.gain(ctx, s, at.name, seed); err != nil {
				return nil, err
			}
		}
		return s, nil
	}
	for _, at := range points {
		p.Claims = append(p.Claims, Claim{
			Where: at.name, Says: "mean response below FAIR's", Unit: "%", Published: at.says, Agrees: at.fits,
			Figure: at.name, Own: at.says == Range{},
			Why: "sizes, slots a host and the times of tasks are not in the paper",
		})
	}
	if file != "" {
		p.Charts = []Picture{{file, p.Title, func(samples []Sample) chart.Chart {
			c := chart.Chart{Y: chart.Axis{Label: "mean response (s)"}}
			for _, at := range points {
				c.X.Names = append(c.X.Names, at.name)
			}
			for _, name := range []string{"fair", "flex"} {
				l := chart.Line{Name: name, Manner: chart.Apart}
				for x, at := range points {
					l.Points = append(l.Points, point(samples, float64(x), at.name+" "+name))
				}
				c.Lines = append(c.Lines, l)
			}
			return c
		}}}
	}
	return p
}

// flexUsual is the experiment that the others vary.
var flexUsual = flexLoad{jobs: 10, slack: 0.75, spread: 1, slow: workload.HadoopSlowStart}

const flexHow = "The policy `" + flexPrototype + "`, as the prototype was, beside `fair`, on the simulator " +
	"without costs: 26 hosts, 13 of four and 13 of eight map slots, and half as many reduce slots. " +
	"Jobs have 14,000 maps together, of 20 s, and a reduce of 60 s for ten maps; reduces start when 5 % of the " +
	"maps are done. A trial is a seed of the order of arrival and of the task times."

func flexMinima() Part {
	var points []flexPoint
	for _, slack := range []float64{0.15, 0.35, 0.55, 0.75, 0.95} {
		l := flexUsual
		l.slack = slack
		at := flexPoint{name: slackName(slack), load: l}
		switch slack {
		case 0.15:
			at.says, at.fits = Range{0, 20}, Range{-5, 25}
		case 0.95:
			at.says, at.fits = Range{40, 50}, Range{25, 60}
		}
		points = append(points, at)
	}
	return experiment(Part{Title: "On the cluster: slack (figure 6a)", How: flexHow + " All jobs arrive at " +
		"once, with σ = 1."}, "flex-cluster-slack", points)
}

func flexArrivals() Part {
	var points []flexPoint
	for _, minutes := range []float64{0, 0.5, 1, 1.5, 2, 4} {
		l := flexUsual
		l.apart = 60 * minutes
		at := flexPoint{name: fmt.Sprintf("%v min", minutes), load: l}
		switch minutes {
		case 0:
			at.says, at.fits = Range{40, 50}, Range{25, 60}
		case 4:
			at.says, at.fits = Range{-5, 10}, Range{-10, 20}
		}
		points = append(points, at)
	}
	return experiment(Part{Title: "On the cluster: arrivals (figure 6b)", How: flexHow + " Slack 75 %, σ = 1; " +
		"the mean time between arrivals varies."}, "flex-cluster-arrivals", points)
}

func flexSpread() Part {
	var points []flexPoint
	for _, spread := range []float64{0, 1, 2, 3, 4} {
		l := flexUsual
		l.spread = spread
		at := flexPoint{name: fmt.Sprintf("σ = %v", spread), load: l}
		switch spread {
		case 1:
			at.says, at.fits = Range{40, 50}, Range{25, 60}
		case 4:
			at.says, at.fits = Range{0, 10}, Range{0, 20}
		}
		points = append(points, at)
	}
	late := flexUsual
	late.spread, late.slow = 4, 1
	points = append(points, flexPoint{name: "σ = 4, reduces after all maps", load: late})
	return experiment(Part{
		Title: "On the cluster: sizes (figure 6c)",
		How: flexHow + " All jobs arrive at once, slack 75 %; σ = 0 are equal jobs, at 4 the smallest is a " +
			"tenth of the largest. The last point starts no reduce before the maps are through, so that no " +
			"reduce holds a slot and waits.",
	}, "flex-cluster-sizes", points)
}

func flexMany() Part {
	var points []flexPoint
	for _, n := range []int{20, 40} {
		l := flexUsual
		l.jobs = n
		points = append(points, flexPoint{name: fmt.Sprintf("%d jobs", n), load: l, says: Range{15, 20},
			fits: Range{10, 60}})
	}
	mix := flexLoad{jobs: 172, slack: 0.75, apart: 10, spread: 8, slow: workload.HadoopSlowStart}
	points = append(points, flexPoint{name: "172 jobs, mixed", load: mix, says: exactly(30), fits: Range{15, 60}})
	return experiment(Part{
		Title: "On the cluster: more jobs (4.2)",
		How: flexHow + " 20 and 40 jobs at once; and a mix like GridMix: 172 jobs, 10 s apart, whose sizes " +
			"span two orders of magnitude.",
	}, "", points)
}

// flexRivals are the policies compared on a day.
var flexRivals = []string{
	"fair", "srpt", "hfsp", "gittins", "flex", "flex:least=0", "flex:metric=avg-stretch", "flex:metric=tardiness",
	"flex:metric=max-lateness",
}

// flexKnown are what is known of sizes on a day, and the estimators.
var flexKnown = []struct{ name, estimator string }{
	{"exact", "oracle"}, {"noisy", noisy(1, 1)}, {"learned", "mean"},
}

// flexMeasures are what is compared on a day; less is better.
var flexMeasures = []string{"mean response", "mean stretch", "mean tardiness", "late jobs"}

func flexDay(year string) Part {
	p := Part{
		Title: "Facebook's day of " + year, Trials: 1,
		How: "Maps alone on 60 slots, sizes scaled to keep them busy. A deadline is the time alone on the " +
			"cluster times a factor that is uniform from 1 to 10; stretch divides by that time. " +
			"Sizes are exact, off by e^N with N normal, or the mean of the job's finished tasks. " +
			"`flex:metric=max-lateness` is earliest due date first.",
		Charts: []Picture{{"flex-day-" + year, "Loss of each policy against the best of them, by what is " +
			"measured; exact, noisy and learned sizes", func(samples []Sample) chart.Chart {
			c := chart.Chart{Y: chart.Axis{Label: "÷ the best", Log: true}}
			for _, known := range flexKnown {
				for _, m := range flexMeasures {
					c.X.Names = append(c.X.Names, m[:min(len(m), 9)]+" "+known.name[:1])
				}
			}
			for _, name := range flexRivals {
				l := chart.Line{Name: name, Manner: chart.Apart}
				x := 0
				for _, known := range flexKnown {
					for _, m := range flexMeasures {
						l.Points = append(l.Points, point(samples, float64(x), known.name+" "+m+" "+name+" loss"))
						x++
					}
				}
				c.Lines = append(c.Lines, l)
			}
			return c
		}}},
		Trial: func(ctx context.Context, lab Lab, seed uint64) (Sample, error) {
			trace, scale, needs := lab.Trace, 6.3, day2009
			if year == "2010" {
				trace, scale, needs = lab.Trace2010, 0.15, day2010
			}
			if err := needs(lab); err != nil {
				return nil, err
			}
			return flexDayOf(ctx, trace, scale, seed)
		},
	}
	for _, known := range flexKnown {
		for _, m := range flexMeasures {
			for _, name := range flexRivals {
				unit := "s"
				if m == "mean stretch" || m == "late jobs" {
					unit = ""
				}
				p.Claims = append(p.Claims, Claim{Where: known.name + ", " + m, Says: "`" + name + "`", Unit: unit,
					Figure: known.name + " " + m + " " + name, Own: true})
			}
		}
	}
	return p
}

// flexDayOf runs a day under all rivals.
func flexDayOf(ctx context.Context, trace string, scale float64, seed uint64) (Sample, error) {
	cluster := slotCluster(15, 4, 0)
	o := cluster.Options()
	o.SizeScale, o.SlowStart, o.Nodes = scale, 1, 0
	file, err := workload.Open(trace, o)
	if err != nil {
		return nil, err
	}
	jobs, err := collect(file.Jobs)
	if err != nil {
		return nil, err
	}
	alone := sim.Alone(cluster)
	for i, j := range jobs {
		x := workload.NewChance(seed).With(uint64(i) + 1).Uniform()
		j.Deadline = sched.Time(float64(alone(j)) * (1 + 9*x))
	}
	s := Sample{}
	for _, known := range flexKnown {
		set := setting{cluster: cluster, jobs: jobs, seed: 1, estimator: known.estimator}
		best := map[string]float64{}
		for _, name := range flexRivals {
			r, err := set.under(ctx, name)
			if err != nil {
				return nil, err
			}
			for m, v := range flexMeasured(jobs, r, alone) {
				s.set(known.name+" "+m+" "+name, v)
				if b, ok := best[m]; !ok || v < b {
					best[m] = v
				}
			}
		}
		for _, name := range flexRivals {
			for m, b := range best {
				if b > 0 {
					s.set(known.name+" "+m+" "+name+" loss", s.of(known.name+" "+m+" "+name)/b)
				}
			}
		}
	}
	return s, nil
}

// flexMeasured measures an outcome.
func flexMeasured(jobs []*sched.JobSpec, r *outcome, alone func(*sched.JobSpec) sched.Time) map[string]float64 {
	m, stretched := map[string]float64{}, 0
	n := float64(len(jobs))
	for i, j := range jobs {
		m["mean response"] += r.sojourns[i] / n
		if a := alone(j).Seconds(); a > 0 {
			m["mean stretch"] += r.sojourns[i] / a
			stretched++
		}
		if late := r.sojourns[i] - j.Deadline.Seconds(); late > 1e-6 {
			m["mean tardiness"] += late / n
			m["late jobs"]++
		}
	}
	m["mean stretch"] /= float64(max(1, stretched))
	return m
}
