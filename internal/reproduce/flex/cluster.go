package flex

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
	"github.com/sojourn-sched/sojourn/sched"
)

// hosts is the paper's cluster: 13 hosts of four cores and 13 of eight, here with a map slot a core and a reduce
// slot for two.
func hosts() *workload.Cluster {
	c := testbed.ClusterOf("nodes=13,map-slots=4,reduce-slots=2")
	c.Classes[0].Name = "four"
	c.Classes = append(c.Classes, c.Classes[0])
	c.Classes[1].Name = "eight"
	c.Classes[1].Resources[sched.MapSlots], c.Classes[1].Resources[sched.ReduceSlots] = 8, 4
	return c
}

// A clusterLoad is jobs of the paper's experiments on the cluster (4.2).
type clusterLoad struct {
	jobs   int
	slack  float64 // part of the slots that the minima leave
	apart  float64 // mean time between arrivals, in seconds
	spread float64 // of sizes: the paper's σ; with 4 the smallest is a tenth of the largest
	slow   float64 // part of the maps before reduces may start
	maps   float64 // of all jobs together
	first  bool    // the largest job comes first, and the others together, apart seconds later
}

// mapWork is how many maps the jobs of an experiment have together: about 45 minutes of work.
const mapWork = 14_000

// offered returns how much of the map slots the maps ask for while jobs arrive.
func (l clusterLoad) offered(c *workload.Cluster) float64 {
	return l.maps / float64(l.jobs) * mapTime / float64(c.Capacity()[sched.MapSlots]) / l.apart
}

// alone returns the seconds that a job of the mean size takes alone: its waves of maps, then those of its reduces.
func (l clusterLoad) alone(c *workload.Cluster) float64 {
	maps, slots := math.Ceil(l.maps/float64(l.jobs)), c.Capacity()
	return math.Ceil(maps/float64(slots[sched.MapSlots]))*mapTime +
		math.Ceil(math.Ceil(maps/10)/float64(slots[sched.ReduceSlots]))*reduceTime
}

// Mean times of tasks, in seconds.
const mapTime, reduceTime = 20, 60

// draw returns the jobs of l, in order of arrival. Their sizes are the same for each seed: evenly spaced on a
// logarithmic scale, about l.maps together, and a reduce for ten maps. The seed draws the order of the jobs, the time
// between arrivals (exponential, with mean l.apart; 0: all come at once) and the times of tasks: 20 s a map and 60 s a
// reduce, each up to a tenth shorter or longer. With l.first the arrivals, and which job is first, are not drawn. The
// minima of all jobs are equal, and together the part 1 − l.slack of the slots of c, but at least one slot of each kind
// for each job.
func (l clusterLoad) draw(seed uint64, c *workload.Cluster) (jobs []*sched.JobSpec) {
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
	if largest := slices.Index(order, l.jobs-1); l.first {
		order[0], order[largest] = order[largest], order[0]
	}
	at := 0.0
	for i, k := range order {
		maps := max(1, int(math.Round(l.maps*sizes[k]/sum)))
		times := func(kind uint64, n int, mean float64) (list []workload.Task) {
			for t := range n {
				x := 0.9 + 0.2*chance.With(uint64(k)).With(kind).With(uint64(t)).Uniform()
				list = append(list, workload.Task{Compute: sched.Time(mean * x * 1e9)})
			}
			return list
		}
		reduces := max(1, maps/10)
		j := testbed.JobOf(fmt.Sprint("job-", k), sched.Time(at*1e9),
			theory.SlotJob{Maps: maps, Reduces: reduces, MapTime: mapTime, ReduceTime: reduceTime},
			[2][]workload.Task{times(1, maps, mapTime), times(2, reduces, reduceTime)})
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
		switch {
		case l.first:
			at = l.apart
		case l.apart > 0:
			at += -l.apart * math.Log(1-chance.With(uint64(i)).With(3).Uniform())
		}
	}
	return jobs
}

// prototype is the policy as the paper built it.
const prototype = "flex:base=fair,work=printed,epoch=500ms,effort=10000"

// setting returns the jobs of a seed on the paper's cluster.
func (l clusterLoad) setting(seed uint64) *testbed.Setting {
	c := hosts()
	return &testbed.Setting{Cluster: c, Jobs: l.draw(seed, c), Costs: sim.Costs{}, Seed: seed, Estimator: "mean"}
}

// gain adds by how much FLEX's mean response is less than FAIR's, in percent, under a name.
func (l clusterLoad) gain(ctx context.Context, s paper.Sample, name string, seed uint64) error {
	set := l.setting(seed)
	fair, err := set.Under(ctx, "fair")
	if err != nil {
		return err
	}
	own, err := set.Under(ctx, prototype)
	if err != nil {
		return err
	}
	s.Set(name, 100*(1-own.Sojourn.Mean/fair.Sojourn.Mean))
	s.Set(name+" flex", own.Sojourn.Mean)
	s.Set(name+" fair", fair.Sojourn.Mean)
	return nil
}

// A loadPoint is one load of an experiment, and what was said of it.
type loadPoint struct {
	name string
	load clusterLoad
	says paper.Range // percent
	fits paper.Range
	why  string
}

// pointsPart makes a part of points.
func pointsPart(p paper.Part, file string, points []loadPoint) paper.Part {
	p.Trials = 3
	p.Trial = func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
		s := paper.Sample{}
		for _, at := range points {
			if err := at.load.gain(ctx, s, at.name, seed); err != nil {
				return nil, err
			}
		}
		return s, nil
	}
	for _, at := range points {
		p.Claims = append(p.Claims, paper.Claim{
			Where: at.name, Says: "mean response below FAIR's", Unit: "%", Published: at.says, Agrees: at.fits,
			Figure: at.name, Own: at.says == paper.Range{},
			Why: cmp.Or(at.why, "sizes, slots a host and the times of tasks are not in the paper"),
		})
	}
	if file != "" {
		p.Charts = []paper.Picture{{File: file, Caption: p.Title, Draw: func(samples []paper.Sample) chart.Chart {
			c := chart.Chart{Y: chart.Axis{Label: "mean response (s)"}}
			for _, at := range points {
				c.X.Names = append(c.X.Names, at.name)
			}
			for _, name := range []string{"fair", "flex"} {
				l := chart.Line{Name: name, Manner: chart.Apart}
				for x, at := range points {
					l.Points = append(l.Points, paper.PointOf(samples, float64(x), at.name+" "+name))
				}
				c.Lines = append(c.Lines, l)
			}
			return c
		}}}
	}
	return p
}

// usualLoad is the experiment that the others vary.
var usualLoad = clusterLoad{jobs: 10, slack: 0.75, spread: 1, slow: workload.HadoopSlowStart, maps: mapWork}

const clusterHow = "The policy `" + prototype + "`, as the prototype was, beside `fair`, on the simulator " +
	"without costs: 26 hosts, 13 of four and 13 of eight map slots, and half as many reduce slots. " +
	"Jobs have 14,000 maps together, of 20 s, and a reduce of 60 s for ten maps; reduces start when 5 % of the " +
	"maps are done. A trial is a seed of the order of arrival and of the task times."

// minimaPart returns the part that varies which part of the slots the minima leave.
func minimaPart() paper.Part {
	var points []loadPoint
	for _, slack := range []float64{0.15, 0.35, 0.55, 0.75, 0.95} {
		l := usualLoad
		l.slack = slack
		at := loadPoint{name: slackName(slack), load: l}
		switch slack {
		case 0.15:
			at.says, at.fits = paper.Between(0, 20), paper.Between(-5, 25)
		case 0.95:
			at.says, at.fits = paper.Between(40, 50), paper.Between(25, 60)
		}
		points = append(points, at)
	}
	return pointsPart(paper.Part{Title: "On the cluster: slack (figure 6a)", How: clusterHow + " All jobs arrive at " +
		"once, with σ = 1."}, "flex-cluster-slack", points)
}

// fewMeet is a part of the work with which jobs hardly meet.
const fewMeet = 0.3

// arrivalsPart returns the part that varies the time between arrivals, and with it the load.
func arrivalsPart() paper.Part {
	var points []loadPoint
	c := hosts()
	for _, maps := range []float64{mapWork, mapWork / 2} {
		for _, minutes := range []float64{0, 0.5, 1, 1.5, 2, 4} {
			l := usualLoad
			l.apart, l.maps = 60*minutes, maps
			at := loadPoint{name: fmt.Sprintf("%v min", minutes), load: l}
			if minutes > 0 {
				at.name += fmt.Sprintf(", load %.2f", l.offered(c))
			}
			if maps < mapWork {
				at.name += ", half the work"
			}
			switch minutes {
			case 0:
				at.says, at.fits = paper.Between(40, 50), paper.Between(25, 60)
			case 4:
				at.says, at.fits = paper.Between(-5, 10), paper.Between(-10, 20)
				half, few := l, l
				half.maps, few.maps = l.maps/2, l.maps*fewMeet
				at.why = fmt.Sprintf("the paper says neither how much work arrives nor for how long; with all of the "+
					"work a job takes %.0f s alone, longer than the %.0f s between arrivals, so that jobs queue; with "+
					"half of it %.0f s, and they rarely do; with three tenths %.0f s: the lead goes with the queue, "+
					"as the last rows show", l.alone(c), l.apart, half.alone(c), few.alone(c))
			}
			points = append(points, at)
		}
	}
	few := usualLoad
	few.apart, few.maps = 240, mapWork*fewMeet
	points = append(points, loadPoint{
		name: fmt.Sprintf("4 min, load %.2f, three tenths of the work", few.offered(c)), load: few,
	})
	return pointsPart(paper.Part{Title: "On the cluster: arrivals (figure 6b)",
		How: clusterHow + " Slack 75 %, σ = 1; " +
			"the mean time between arrivals varies. *Load* is what the maps ask of the map slots while jobs arrive; " +
			"rows further down have half as many maps, and three tenths."}, "flex-cluster-arrivals", points)
}

// spreadPart returns the part that varies how much the sizes of jobs differ.
func spreadPart() paper.Part {
	var points []loadPoint
	for _, spread := range []float64{0, 1, 2, 3, 4} {
		l := usualLoad
		l.spread = spread
		at := loadPoint{name: fmt.Sprintf("σ = %v", spread), load: l}
		switch spread {
		case 1:
			at.says, at.fits = paper.Between(40, 50), paper.Between(25, 60)
		case 4:
			at.says, at.fits = paper.Between(0, 10), paper.Between(0, 20)
			at.why = "in the paper the reduces of the largest job hold all reduce slots until its maps are through; " +
				"here all jobs arrive at once and FLEX serves the largest last, so that its reduces start late; the " +
				"part on reduces that hold slots has it come first"
		}
		points = append(points, at)
	}
	late := usualLoad
	late.spread, late.slow = 4, 1
	points = append(points, loadPoint{name: "σ = 4, reduces after all maps", load: late})
	return pointsPart(paper.Part{
		Title: "On the cluster: sizes (figure 6c)",
		How: clusterHow + " All jobs arrive at once, slack 75 %; σ = 0 are equal jobs, at 4 the smallest is a " +
			"tenth of the largest. The last point starts no reduce before the maps are through, so that no " +
			"reduce holds a slot and waits.",
	}, "flex-cluster-sizes", points)
}

// splitters are the policies under which reduces copy without a slot, for comparison.
var splitters = []string{prototype, "flex"}

// holders are the policies compared where reduces hold slots.
var holders = []string{
	"fair", prototype, prototype + ",reduces=late", "flex", "flex:reduces=late",
}

// hoardingPart returns the part in which the largest job comes first, and its reduces take all reduce slots before its
// maps are done.
func hoardingPart() paper.Part {
	waits := []struct {
		name    string
		seconds float64
	}{{"at once", 0}, {"30 s later", 30}, {"2 min later", 120}}
	p := paper.Part{
		Title: "Reduces that hold slots (4.2)", Trials: 3,
		How: "As with σ = 4 above, but the largest job comes first, and the other nine together, at once, half a " +
			"minute or two minutes later. Its 342 reduces may start when 171 of its 3,423 maps are done, and there " +
			"are 78 reduce slots. With `reduces=late` the schedule says when they start. *Copying without a slot* is " +
			"what the paper proposes, at its best: a reduce takes a slot when all it needs has been copied, and " +
			"copying takes no time.",
		Trial: func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
			s := paper.Sample{}
			for _, wait := range waits {
				l := usualLoad
				l.spread, l.first, l.apart = 4, true, wait.seconds
				for _, policy := range holders {
					r, err := l.setting(seed).Under(ctx, policy)
					if err != nil {
						return nil, err
					}
					s.Set(wait.name+" "+policy, r.Sojourn.Mean)
				}
				l.slow = 1
				for _, policy := range splitters {
					r, err := l.setting(seed).Under(ctx, policy)
					if err != nil {
						return nil, err
					}
					s.Set(wait.name+" split "+policy, r.Sojourn.Mean)
				}
				s.Set(wait.name+" lead", 100*(1-s.Of(wait.name+" "+prototype)/s.Of(wait.name+" fair")))
			}
			return s, nil
		},
		Reading: "Once the largest job has all reduce slots, no order of the others helps: the prototype is " +
			"little better than FAIR, as in figure 6(c) at σ = 4. A start that the schedule chooses takes that away, " +
			"as copying without a slot does.",
	}
	for _, wait := range waits {
		lead := paper.Claim{Where: "the others " + wait.name, Says: "prototype's mean response below FAIR's", Unit: "%",
			Figure: wait.name + " lead", Own: true}
		if wait.seconds == 30 {
			lead.Where, lead.Own = "Fig. 6(c), σ = 4, the others 30 s later", false
			lead.Published, lead.Agrees = paper.Between(0, 10), paper.Between(0, 20)
		}
		p.Claims = append(p.Claims, lead)
		for _, policy := range holders {
			p.Claims = append(p.Claims, paper.Claim{
				Where:  "the others " + wait.name,
				Says:   "`" + policy + "`, mean response",
				Unit:   "s",
				Figure: wait.name + " " + policy,
				Own:    true,
			})
		}
		for _, policy := range splitters {
			p.Claims = append(p.Claims, paper.Claim{
				Where:  "the others " + wait.name,
				Says:   "`" + policy + "`, copying without a slot, mean response",
				Unit:   "s",
				Figure: wait.name + " split " + policy,
				Own:    true,
			})
		}
	}
	return p
}

// manyPart returns the part in which more than ten jobs share the cluster.
func manyPart() paper.Part {
	var points []loadPoint
	for _, n := range []int{20, 40} {
		l := usualLoad
		l.jobs = n
		points = append(points, loadPoint{
			name: fmt.Sprintf("%d jobs", n),
			load: l,
			says: paper.Between(15, 20),
			fits: paper.Between(10, 60),
			why: "the paper does not say how large these jobs are; with as much work as ten jobs have, each has " +
				"several waves of maps, and with one wave each the lead is smaller, but not 20 %",
		})
		l.maps = float64(n) * 156
		points = append(points, loadPoint{name: fmt.Sprintf("%d jobs of one wave of maps", n), load: l})
	}
	mix := clusterLoad{jobs: 172, slack: 0.75, apart: 10, spread: 8, slow: workload.HadoopSlowStart, maps: mapWork}
	points = append(points, loadPoint{
		name: "172 jobs, mixed", load: mix, says: paper.Exactly(30), fits: paper.Between(15, 60),
		why: "the paper does not say how often jobs arrive; the lead grows with how many meet, as the rows below " +
			"show, and so differs between orders of arrival",
	})
	for _, apart := range []float64{5, 20} {
		mix.apart = apart
		points = append(points, loadPoint{name: fmt.Sprintf("172 jobs, mixed, %v s apart", apart), load: mix})
	}
	return pointsPart(paper.Part{
		Title: "On the cluster: more jobs (4.2)",
		How: clusterHow + " 20 and 40 jobs at once, with the work of ten or with as many maps each as there are map " +
			"slots, 156; and a mix like GridMix: 172 jobs, 10 s apart where nothing else is said, whose sizes span " +
			"two orders of magnitude. Minima are at least one slot of each kind, so 40 jobs leave half of the 78 " +
			"reduce slots as slack, not three quarters.",
	}, "", points)
}

// dayRivals are the policies compared on a day. Most rivals have no minima, so FLEX has none but in one row.
var dayRivals = []string{
	"fair", "edf", "distributions", "srpt", "hfsp", "gittins", "flex", "flex:least=0",
	"flex:metric=avg-stretch,least=0", "flex:metric=tardiness,least=0", "flex:metric=tardy,least=0",
	"flex:metric=tardy,least=0,certainty=law", "flex:metric=max-lateness,least=0",
}

// dayKnowledge are what is known of sizes on a day, and the estimators.
var dayKnowledge = []struct{ name, estimator string }{
	{"exact", "oracle"}, {"noisy", testbed.Noisy(1, 1)}, {"learned", "mean"},
}

// measures are what is compared on a day; less is better.
var measures = []string{"mean response", "mean stretch", "mean tardiness", "late jobs"}

// dayPart returns the part that runs Facebook's day of 2009 or 2010 under each of dayRivals. It runs alone, because it
// measures processor time.
func dayPart(year string) paper.Part {
	p := paper.Part{
		Title: "Facebook's day of " + year, Trials: 1, Alone: true,
		How: "Maps alone on 60 slots, sizes scaled to keep them busy. A deadline is the time alone on the cluster " +
			"times a factor that is uniform from 1 to 10; stretch divides by that time. Sizes are exact, off by e^N " +
			"with N normal, or the mean of the job's finished tasks. The other policies know no minima; `least=0` " +
			"lets FLEX do without, too. `flex:metric=max-lateness` is earliest due date first. With `certainty=law` " +
			"a deadline counts by the chance to meet it, where the estimator knows how task times differ: among " +
			"these, only the mean of finished tasks does. Processor time is that of the whole simulation, engine " +
			"included, over its jobs.",
		Charts: []paper.Picture{{File: "flex-day-" + year,
			Caption: "Loss of each policy against the best of them, by what is measured; exact, noisy and learned " +
				"sizes", Draw: func(samples []paper.Sample) chart.Chart {
				c := chart.Chart{Y: chart.Axis{Label: "÷ the best", Log: true}}
				for _, known := range dayKnowledge {
					for _, m := range measures {
						c.X.Names = append(c.X.Names, strings.TrimPrefix(m, "mean ")+", "+known.name)
					}
				}
				for _, name := range dayRivals {
					l := chart.Line{Name: name, Manner: chart.Apart}
					x := 0
					for _, known := range dayKnowledge {
						for _, m := range measures {
							l.Points = append(l.Points,
								paper.PointOf(samples, float64(x), known.name+" "+m+" "+name+" loss"))
							x++
						}
					}
					c.Lines = append(c.Lines, l)
				}
				return c
			}}},
		Trial: func(ctx context.Context, lab paper.Lab, seed uint64) (paper.Sample, error) {
			trace, scale, needs := lab.Trace, 6.3, paper.NeedsDay2009
			if year == "2010" {
				trace, scale, needs = lab.Trace2010, 0.15, paper.NeedsDay2010
			}
			if err := needs(lab); err != nil {
				return nil, err
			}
			return dayTrial(ctx, trace, scale, seed)
		},
	}
	for _, known := range dayKnowledge {
		for _, m := range measures {
			for _, name := range dayRivals {
				unit := "s"
				if m == "mean stretch" || m == "late jobs" {
					unit = ""
				}
				p.Claims = append(p.Claims,
					paper.Claim{Where: known.name + ", " + m, Says: "`" + name + "`", Unit: unit,
						Figure: known.name + " " + m + " " + name, Own: true})
			}
		}
	}
	for _, name := range dayRivals {
		p.Claims = append(p.Claims, paper.Claim{Where: "learned, processor time a job", Says: "`" + name + "`",
			Unit:   "ms",
			Figure: "learned processor " + name, Own: true})
	}
	return p
}

// dayTrial runs a day under all rivals.
func dayTrial(ctx context.Context, trace string, scale float64, seed uint64) (paper.Sample, error) {
	cluster := testbed.SlotCluster(15, 4, 0)
	o := cluster.Options()
	o.SizeScale, o.SlowStart, o.Nodes = scale, 1, 0
	file, err := workload.Open(trace, o)
	if err != nil {
		return nil, err
	}
	jobs, err := testbed.Collect(file.Jobs)
	if err != nil {
		return nil, err
	}
	alone := sim.Alone(cluster)
	for i, j := range jobs {
		x := workload.NewChance(seed).With(uint64(i) + 1).Uniform()
		j.Deadline = sched.Time(float64(alone(j)) * (1 + 9*x))
	}
	s := paper.Sample{}
	for _, known := range dayKnowledge {
		set := testbed.Setting{Cluster: cluster, Jobs: jobs, Seed: 1, Estimator: known.estimator}
		best := map[string]float64{}
		for _, name := range dayRivals {
			var r *testbed.Outcome
			used, err := processorTime(func() (err error) {
				r, err = set.Under(ctx, name)
				return err
			})
			if err != nil {
				return nil, err
			}
			s.Set(known.name+" processor "+name, used/float64(len(jobs)))
			for m, v := range measured(jobs, r, alone) {
				s.Set(known.name+" "+m+" "+name, v)
				if b, ok := best[m]; !ok || v < b {
					best[m] = v
				}
			}
		}
		for _, name := range dayRivals {
			for m, b := range best {
				if b > 0 {
					s.Set(known.name+" "+m+" "+name+" loss", s.Of(known.name+" "+m+" "+name)/b)
				}
			}
		}
	}
	return s, nil
}

// measured measures an outcome.
func measured(jobs []*sched.JobSpec, r *testbed.Outcome, alone func(*sched.JobSpec) sched.Time) map[string]float64 {
	m, stretched := map[string]float64{}, 0
	n := float64(len(jobs))
	for i, j := range jobs {
		m["mean response"] += r.Sojourns[i] / n
		if a := alone(j).Seconds(); a > 0 {
			m["mean stretch"] += r.Sojourns[i] / a
			stretched++
		}
		if late := r.Sojourns[i] - j.Deadline.Seconds(); late > 1e-6 {
			m["mean tardiness"] += late / n
			m["late jobs"]++
		}
	}
	m["mean stretch"] /= float64(max(1, stretched))
	return m
}
