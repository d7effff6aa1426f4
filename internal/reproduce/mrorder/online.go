package mrorder

import (
	"context"
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// reduceWork is how long the reduces of an average job of table 3.2 keep all reduce slots busy, which are the scarcer
// ones, in seconds.
func reduceWork() (work float64) {
	for _, p := range purdue {
		work += p.job.Flow(testbedSlots).Reduce / float64(len(purdue))
	}
	return work
}

// poisson are jobs that come by a Poisson process, so many seconds apart on average.
func poisson(jobs []theory.SlotJob, gap float64, seed uint64) (specs []*sched.JobSpec) {
	chance, at := workload.NewChance(seed).With(1<<32), 0.0
	for i, j := range jobs {
		specs = append(specs, testbed.JobOf(fmt.Sprint("job", i+1), sched.Time(at*1e3)*time.Millisecond, j,
			[2][]workload.Task{}))
		at += chance.With(uint64(i)).Exponential() * gap
	}
	return specs
}

// asPublished is the policy mrorder as the thesis has it: a rule or, up to seven jobs, all orders; rounds of TP-ATI;
// nothing known of the backlog.
const asPublished = "mrorder:backlog=off,search=0"

// A stream is jobs that come over time.
type stream struct {
	name, about string
	jobs        func(seed uint64) ([]*sched.JobSpec, error)
}

// streams are those that the online parts run. Facebook's jobs come at the mean distance of its trace of 2009, 13 s,
// and at one at which a cluster of this size can keep up now and then.
func streams() []stream {
	facebook := func(n int, gap sched.Time) func(uint64) ([]*sched.JobSpec, error) {
		return func(seed uint64) ([]*sched.JobSpec, error) {
			specs, _, err := facebookBatch(n, seed, workload.Arrivals{Gap: gap})
			return specs, err
		}
	}
	benchmarks := func(n int, load float64) func(uint64) ([]*sched.JobSpec, error) {
		return func(seed uint64) ([]*sched.JobSpec, error) {
			return poisson(testbedBatch(n, seed), reduceWork()/load, seed), nil
		}
	}
	return []stream{
		{"burst", "10 benchmark jobs within a minute", benchmarks(10, 20)},
		{"steady", "30 benchmark jobs at load 1", benchmarks(30, 1)},
		{"flood", "100 of Facebook's jobs, 13 s apart", facebook(100, 13*time.Second)},
		{"slack", "100 of Facebook's jobs, 1000 s apart", facebook(100, 1000*time.Second)},
	}
}

// gains runs a stream under fifo and under policies, and adds what each gains: of the makespan, of the total, of the
// mean sojourn time.
func (st *stream) gains(ctx context.Context, s paper.Sample, seed uint64, policies map[string]string) error {
	jobs, err := st.jobs(seed)
	if err != nil {
		return err
	}
	set := testbed.Setting{Cluster: testbed.SlotCluster(19, 3, 1), Jobs: jobs, Seed: seed}
	base, err := set.Under(ctx, "fifo")
	if err != nil {
		return err
	}
	for name, spec := range policies {
		o, err := set.Under(ctx, spec)
		if err != nil {
			return err
		}
		s.Set(fmt.Sprintf("makespan %s %s", st.name, name), paper.Gain(base.Makespan, o.Makespan))
		s.Set(fmt.Sprintf("total %s %s", st.name, name), paper.Gain(base.Total(), o.Total()))
		s.Set(fmt.Sprintf("mean %s %s", st.name, name), paper.Gain(base.Sojourn.Mean, o.Sojourn.Mean))
		s.Set(fmt.Sprintf("idle %s %s", st.name, name),
			100*(base.Utilization["reduce_slots"]-o.Utilization["reduce_slots"]))
	}
	return nil
}

func onlinePart() paper.Part {
	busy := "the rounds of TP-ATI keep the reduce slots idle between them; the next section shows for which arrivals " +
		"the order gains more than that. The thesis does not state its arrivals"
	p := paper.Part{
		Title: "Jobs that come over time", Trials: 16,
		How: `The full system: TP-ATI with Δ = 10 s, the best of all orders up to 7 jobs and the rule beyond
(` + "`" + asPublished + "`" + `), against jobs sent as they come (` + "`fifo`" + `).
The thesis states neither rates nor numbers; ours are four streams: 10 benchmark jobs within a minute (*burst*), 30 at
load 1 of the reduce slots (*steady*), 100 of Facebook's jobs as far apart as in its trace, 13 s (*flood*), and 1000 s
apart (*slack*). A cluster of this size cannot keep up with the flood.`,
		Claims: []paper.Claim{
			{
				Where:     "Fig. 3.9a",
				Says:      "makespan, benchmark jobs, burst",
				Published: paper.Between(11, 31),
				Unit:      "%",
				Figure:    "makespan burst makespan",
				Agrees:    paper.Above(0),
				Why:       busy,
			},
			{
				Where:     "Fig. 3.9a",
				Says:      "makespan, benchmark jobs, steady",
				Published: paper.Between(11, 31),
				Unit:      "%",
				Figure:    "makespan steady makespan",
				Agrees:    paper.Above(0),
				Why:       busy,
			},
			{
				Where:     "Fig. 3.9b",
				Says:      "total, benchmark jobs, burst",
				Published: paper.AtMost(24),
				Unit:      "%",
				Figure:    "total burst total",
				Agrees:    paper.Above(0),
			},
			{
				Where:     "Fig. 3.9b",
				Says:      "total, benchmark jobs, steady",
				Published: paper.AtMost(24),
				Unit:      "%",
				Figure:    "total steady total",
				Agrees:    paper.Above(0),
				Why: "at a load that the cluster can bear, jobs are held back for longer than the order gains: " +
					"counter-example 4.7 of the specification at length",
			},
			{
				Where:     "Fig. 3.9c",
				Says:      "makespan, Facebook, flood",
				Published: paper.Exactly(3),
				Unit:      "%",
				Figure:    "makespan flood makespan",
				Agrees:    paper.Above(0),
				Why:       "the mean over unknown numbers of jobs and arrivals",
			},
			{
				Where:     "Fig. 3.9c",
				Says:      "makespan, Facebook, slack",
				Published: paper.Exactly(3),
				Unit:      "%",
				Figure:    "makespan slack makespan",
				Agrees:    paper.Above(0),
				Why:       "the mean over unknown numbers of jobs and arrivals",
			},
			{
				Where:     "Fig. 3.9d",
				Says:      "total, Facebook, flood",
				Published: paper.AtMost(176),
				Unit:      "%",
				Figure:    "total flood total",
				Agrees:    paper.Above(0),
			},
			{
				Where:     "Fig. 3.9d",
				Says:      "total, Facebook, slack",
				Published: paper.AtMost(176),
				Unit:      "%",
				Figure:    "total slack total",
				Agrees:    paper.Above(0),
			},
		},
		Reading: "The order is worth most where many small jobs wait behind a few large ones.",
	}
	p.Trial = func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
		s := paper.Sample{}
		for _, st := range streams() {
			if err := st.gains(ctx, s, seed, map[string]string{"makespan": asPublished + ",goal=makespan",
				"total": asPublished}); err != nil {
				return nil, err
			}
		}
		return s, nil
	}
	return p
}

// A draw is a way to draw benchmark jobs.
type draw struct {
	name string
	jobs func(n int, seed uint64) []theory.SlotJob
}

// draws are jobs of table 3.2 in equal parts; mostly large ones, as the thesis says that its testbed's were: four in
// five are of the three that algorithm 2 takes for large among the nine; and those of the first that come in the order
// of longest makespan, which is the thesis's baseline offline.
var draws = []draw{{"equal parts", testbedBatch}, {"mostly large", largeBatch}, {"worst order", worstBatch}}

// worstBatch is testbedBatch in the reverse of MK_JR's order.
func worstBatch(n int, seed uint64) (jobs []theory.SlotJob) {
	drawn := testbedBatch(n, seed)
	for _, i := range theory.Reversed(theory.Johnson(theory.Flows(drawn, testbedSlots))) {
		jobs = append(jobs, drawn[i])
	}
	return jobs
}

// largeBatch draws n jobs of table 3.2; four in five are large.
func largeBatch(n int, seed uint64) []theory.SlotJob {
	var small, large []theory.SlotJob
	for _, p := range purdue {
		switch p.name {
		case "Sort", "Inverted-Index", "Sequence-Count":
			large = append(large, p.job)
		default:
			small = append(small, p.job)
		}
	}
	chance := workload.NewChance(seed).With(uint64(n)).With(1 << 33)
	jobs := make([]theory.SlotJob, n)
	for i := range jobs {
		c, from := chance.With(uint64(i)), small
		if c.With(1).Uniform() < 0.8 {
			from = large
		}
		jobs[i] = from[c.Below(len(from))]
	}
	return jobs
}

// What arrivalsPart varies: numbers of jobs, and how many seconds they are apart on average, from a batch to a load
// of about 1 of the reduce slots.
var (
	arrivalJobs = []int{10, 20, 50}
	arrivalGaps = []float64{closest, 1, 3, 10, 30, farthest}
)

const (
	closest, farthest = 0.3, 119.0
	leastPublished    = 11.0 // % of makespan, figure 3.9a
)

// arrivalStream is n jobs of a draw, a mean gap apart.
func arrivalStream(d draw, n int, gap float64) stream {
	return stream{name: fmt.Sprintf("%d %s %v", n, d.name, gap), jobs: func(seed uint64) ([]*sched.JobSpec, error) {
		return poisson(d.jobs(n, seed), gap, seed), nil
	}}
}

func arrivalsPart() paper.Part {
	p := paper.Part{
		Title: "How fast jobs come", Trials: 32,
		How: `Where the rounds of TP-ATI help, as above, with 10, 20 and 50 benchmark jobs that come by a Poisson
process, on average 0.3 to 119 s apart; the last is a load of 1 of the reduce slots. The thesis's jobs on the testbed
were "mostly large". They are drawn from table 3.2 in *equal parts*; *mostly large*, so that four in five are of the
three that algorithm 2 takes for large (Sort, Inverted-Index, Sequence-Count); and in equal parts but coming in
the *worst order*, the reverse of MK_JR's, which is the thesis's baseline offline.`,
		Claims: arrivalClaims(),
		Charts: []paper.Picture{
			{
				File:    "mrorder-arrivals-makespan",
				Caption: "Gain of the makespan over jobs sent as they come, by how far apart they come",
				Draw:    func(s []paper.Sample) chart.Chart { return arrivalChart(s, "makespan") },
			},
			{
				File:    "mrorder-arrivals-total",
				Caption: "Gain of the total over jobs sent as they come, by how far apart they come",
				Draw:    func(s []paper.Sample) chart.Chart { return arrivalChart(s, "total") },
			},
		},
		Reading: `The direction of the published gains is that of rounds which see a whole batch: where all jobs come
within the first Δ, an order gains what it gains offline. Over an order by chance that is less than published in many
draws, since these jobs' reduces outweigh their maps and an order gains at the two ends only; over the worst order it is
what was published. When jobs come over minutes it turns, for a reason in the algorithm: TA is when the reduces of what
was released are done, not when its maps are. So the next round finds the reduce slots idle, and they stay so until the
maps of its first job are done, which under fifo run while the reduces before do. Each round but the first costs that
much (the rows of idle reduce slots), and the closer the load is to 1 the more rounds there are.
With ` + "`backlog=reorder`" + `, the default of the policy, rounds do not wait, and the order gains at every rate.`,
		Trial: arrivalTrial,
		Over: func(samples []paper.Sample) paper.Sample {
			s := paper.Sample{}
			for _, d := range draws {
				for _, gap := range []float64{closest, farthest} {
					reached := 0.0
					for _, t := range samples {
						if t.Of("makespan "+arrivalStream(d, 10, gap).name+" makespan") >= leastPublished {
							reached++
						}
					}
					s.Set(fmt.Sprintf("reached %s %v", d.name, gap), 100*reached/float64(len(samples)))
				}
			}
			return s
		},
	}
	return p
}

// arrivalTrial runs every stream of arrivalsPart as published, for the makespan and for the total, and with rounds
// that reorder.
func arrivalTrial(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
	s := paper.Sample{}
	policies := map[string]string{
		"makespan": asPublished + ",goal=makespan",
		"total":    asPublished,
		"reorder":  "mrorder:goal=makespan,search=0",
	}
	for _, d := range draws {
		for _, n := range arrivalJobs {
			for _, gap := range arrivalGaps {
				st := arrivalStream(d, n, gap)
				if err := st.gains(ctx, s, seed, policies); err != nil {
					return nil, err
				}
			}
		}
	}
	return s, nil
}

func arrivalClaims() (list []paper.Claim) {
	ends := "an order gains at the two ends of a batch, the less the more jobs there are; which jobs came, and in " +
		"which order, was not published, and one draw is"
	claim := func(where, metric string, published paper.Range, d draw, n int, gap float64) {
		list = append(
			list,
			paper.Claim{
				Where:     where,
				Says:      fmt.Sprintf("%s, %d jobs, %s, %v s apart", metric, n, d.name, gap),
				Published: published,
				Unit:      "%",
				Figure:    fmt.Sprintf("%s %s %s", metric, arrivalStream(d, n, gap).name, metric),
				Agrees:    paper.Above(0),
				Why:       ends,
			},
		)
	}
	for _, d := range draws {
		for _, n := range arrivalJobs {
			claim("Fig. 3.9a", "makespan", paper.Between(leastPublished, 31), d, n, closest)
		}
	}
	for _, n := range arrivalJobs {
		claim("Fig. 3.9b", "total", paper.AtMost(24), draws[0], n, 10)
	}
	for _, d := range draws {
		for _, gap := range []float64{closest, farthest} {
			list = append(
				list,
				paper.Claim{
					Where: "ours",
					Says: fmt.Sprintf("10 jobs, %s, %v s apart: draws that gain %v %% of makespan or more", d.name,
						gap, leastPublished),
					Unit:   "%",
					Figure: fmt.Sprintf("reached %s %v", d.name, gap),
					Own:    true,
				},
			)
		}
	}
	for _, d := range draws[:2] {
		for _, n := range arrivalJobs {
			name := arrivalStream(d, n, farthest).name
			list = append(
				list,
				paper.Claim{
					Where:  "ours",
					Says:   fmt.Sprintf("%d jobs, %s, %v s apart: makespan", n, d.name, farthest),
					Unit:   "%",
					Figure: "makespan " + name + " makespan",
					Own:    true,
				},
				paper.Claim{
					Where:  "ours",
					Says:   "the same: more of the reduce slots idle than under fifo",
					Unit:   "%",
					Figure: "idle " + name + " makespan",
					Own:    true,
					Agrees: paper.Above(0),
				},
				paper.Claim{
					Where:  "ours",
					Says:   "the same with `backlog=reorder`: makespan",
					Unit:   "%",
					Figure: "makespan " + name + " reorder",
					Own:    true,
					Agrees: paper.Above(0),
				},
			)
		}
	}
	return list
}

// arrivalChart shows the median gain of a metric, each under the goal of that metric, by the mean gap.
func arrivalChart(samples []paper.Sample, metric string) chart.Chart {
	c := chart.Chart{
		X: chart.Axis{Label: "seconds between jobs, on average", Log: true},
		Y: chart.Axis{Label: "gain (%), median"},
	}
	add := func(name, figure string, st func(gap float64) stream) {
		l := chart.Line{Name: name}
		for _, gap := range arrivalGaps {
			q := paper.PointOf(samples, gap, fmt.Sprintf("%s %s %s", metric, st(gap).name, figure))
			l.Points = append(l.Points, chart.Point{X: gap, Y: q.Y})
		}
		c.Lines = append(c.Lines, l)
	}
	for _, d := range draws[:2] {
		for _, n := range arrivalJobs {
			add(fmt.Sprintf("%d jobs, %s", n, d.name), metric, func(gap float64) stream {
				return arrivalStream(d, n, gap)
			})
		}
	}
	if metric == "makespan" {
		add("20 jobs, worst order", metric, func(gap float64) stream { return arrivalStream(draws[2], 20, gap) })
		add("20 jobs, equal parts, reorder", "reorder", func(gap float64) stream {
			return arrivalStream(draws[0], 20, gap)
		})
	}
	published := chart.Line{
		Name:   "published",
		Manner: chart.Given,
		Points: []chart.Point{{X: arrivalGaps[0], Y: 21, Low: 11, High: 31}},
	}
	if metric == "total" {
		published.Name, published.Points[0] = "published, most", chart.Point{X: arrivalGaps[0], Y: 24}
	}
	c.Lines = append(c.Lines, published)
	return c
}

func backlogPart() paper.Part {
	policies := map[string]string{
		"off":     "mrorder:backlog=off",
		"on":      "mrorder:backlog=on",
		"reorder": "mrorder",
		"srpt":    "srpt",
	}
	p := paper.Part{
		Title: "Ordering that knows the backlog", Trials: 8,
		How: `Beyond the thesis, which orders a round as if the cluster were empty. With ` + "`backlog=on`" + ` a round
reckons with what is left of jobs released before; with
` + "`backlog=reorder`" + ` it orders those anew as well, so that nothing is gained by holding others back, and rounds
are Δ = 10 s apart. That is the default of the policy, because of what this table says. Gain of the mean sojourn time
(counted from submission) over jobs sent as they come; SRPT, which starts the smallest job at once, is for comparison.`,
		Charts: []paper.Picture{
			{
				File:    "mrorder-backlog",
				Caption: "Mean sojourn time under jobs sent as they come ÷ that under mrorder",
				Draw: func(samples []paper.Sample) chart.Chart {
					c := chart.Chart{Y: chart.Axis{Label: "mean sojourn time: fifo ÷ this", Log: true}}
					for _, st := range streams() {
						c.X.Names = append(c.X.Names, st.name)
					}
					for _, name := range []string{"off", "on", "reorder", "srpt"} {
						l := chart.Line{
							Name: map[string]string{"off": "backlog=off, as published", "on": "backlog=on",
								"reorder": "backlog=reorder", "srpt": "srpt"}[name],
							Manner: chart.Apart,
						}
						for i, st := range streams() {
							q := paper.PointOf(samples, float64(i), fmt.Sprintf("mean %s %s", st.name, name))
							l.Points = append(l.Points, chart.Point{X: q.X, Y: 1 + q.Y/100, Low: 1 + q.Low/100,
								High: 1 + q.High/100})
						}
						c.Lines = append(c.Lines, l)
					}
					return c
				},
			},
		},
		Reading: "Rounds that may change their mind come close to SRPT, without preemption and with a round only " +
			"every ten seconds.",
	}
	for _, st := range streams() {
		for _, name := range []string{"off", "on", "reorder"} {
			c := paper.Claim{
				Where:  "ours",
				Says:   fmt.Sprintf("%s (%s), `backlog=%s`", st.name, st.about, name),
				Unit:   "%",
				Figure: fmt.Sprintf("mean %s %s", st.name, name),
				Own:    true,
			}
			if name == "reorder" {
				c.Agrees = paper.Above(0)
			}
			p.Claims = append(p.Claims, c)
		}
		p.Claims = append(
			p.Claims,
			paper.Claim{
				Where:  "ours",
				Says:   st.name + ": `goal=makespan`, makespan with `reorder` less that with `off`",
				Unit:   "%",
				Figure: "makespan ahead " + st.name,
				Agrees: paper.Above(0),
				Own:    true,
			},
		)
	}
	p.Trial = func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
		s := paper.Sample{}
		for _, st := range streams() {
			if err := st.gains(ctx, s, seed, policies); err != nil {
				return nil, err
			}
			goal := paper.Sample{}
			if err := st.gains(ctx, goal, seed, map[string]string{"off": "mrorder:goal=makespan,backlog=off",
				"reorder": "mrorder:goal=makespan"}); err != nil {
				return nil, err
			}
			s.Set("makespan ahead "+st.name, goal.Of(fmt.Sprintf("makespan %s reorder", st.name))-
				goal.Of(fmt.Sprintf("makespan %s off", st.name)))
		}
		return s, nil
	}
	return p
}
