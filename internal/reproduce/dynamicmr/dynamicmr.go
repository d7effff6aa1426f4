// Package dynamicmr runs the experiments with DynamicMR again: slots that maps and reduces lend each other, second
// attempts that leave slots to waiting tasks (SEPB), and places near the input (PreScheduling).
//
//	dynamicmr.go  the cluster, its benchmarks, and each technique alone
//	all.go        all techniques together, over slots and over containers
//	sepb.go       second attempts: when, of how many jobs, and what is ended
//	shuffle.go    what reduces fetch over time
package dynamicmr

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// The thesis's cluster: nodes, each with so many slots of both kinds together.
const (
	theirNodes = 9
	perNode    = 12
	setUp      = 10 // of them for maps, where nothing else is said
)

// A benchmark is a job of table 4.5: tasks and times are those that table 3.2 of the same thesis gives it, SelfJoin's
// as TeraSort's; the part of its input that is shuffled is ours.
type benchmark struct {
	name          string
	gigabytes     float64
	maps, reduces int
	mapTime       float64 // s
	reduceTime    float64 // s, with two reduces of a node fetching
	shuffled      float64 // of the input
}

var benchmarks = []benchmark{
	{"Wordcount", 10, 160, 100, 22, 11, 0.2},
	{"Sort", 20, 320, 200, 9, 24, 1},
	{"Grep", 30, 480, 120, 9, 11, 0.02},
	{"Inverted-Index", 40, 640, 100, 32, 23, 0.4},
	{"Classification", 20, 160, 120, 6, 13, 0.02},
	{"Histogram-Movies", 20, 160, 150, 6, 13, 0.02},
	{"Histogram-Ratings", 20, 160, 100, 18, 15, 0.02},
	{"Sequence-Count", 30, 320, 150, 38, 21, 0.5},
	{"Self-Join", 40, 160, 100, 10, 26, 0.5},
}

// bandwidth is what the reduces of a node fetch together, bytes a second. It is the one number that was fitted: with
// it, lending map slots to its reduces gains Sort about what was published (figure 4.11).
const bandwidth = 15e6

// The policies that are compared: Hadoop's fair scheduler with LATE's second attempts, lending alone, and all three
// techniques. Maps wait for a place near their input for a heartbeat. Tasks that run far longer than others are not
// ended: a part of its own says what that does.
const (
	static   = "dynamicmr:dhsa=off,checked=0,overdue=wait,prescheduling=off,delay=3s"
	lending  = "dynamicmr:checked=0,overdue=wait,prescheduling=off,delay=3s"
	complete = "dynamicmr:overdue=wait,delay=3s"
)

// Paper makes the evaluation of DynamicMR.
func Paper() *paper.Paper {
	return &paper.Paper{
		Name: "dynamicmr", Title: "DynamicMR",
		Source: "S. Tang, PhD thesis on job scheduling and resource allocation for MapReduce, chapter 4; " +
			"[docs/spec/dynamicmr.md](../spec/dynamicmr.md) has every formula and what is wrong in print.",
		About: `Hadoop 1 divides each node into map slots and reduce slots. While there are more maps than map slots,
reduce slots idle, and the other way round; as maps come before reduces, no division is good for long. DynamicMR lends
idle slots across kinds (*DHSA*, for each kind by itself, PI, or for each pool, PD), lets waiting tasks go before second
attempts of slow ones (*SEPB*), and lets maps use slots near their input that load balancing would leave idle
(*PreScheduling*). Claimed: single jobs are 46 to 115 % faster and batches 49 to 112 % than with a division that was
tuned, and no longer depend on how slots are divided.

The cluster is the thesis's, 9 nodes of 12 slots, divided into 10 for maps and 2 for reduces where nothing else is said;
the jobs are its nine benchmarks, with task counts and times from its own table 3.2. On ` + "`sojourn sim`" + ` with
heartbeats of 3 s, three copies of each block, delay scheduling for a heartbeat on both sides, task times that vary (σ
= 0.2, three in a hundred take three times as long), and reduces that start after the last map and then share their
node's network. How much each benchmark shuffles was not published and is ours, and one number was fitted: the reduces
of a node fetch 15 MB/s together, with which lending gains Sort about the 29 % of figure 4.11. A gain in percent is the
baseline's time ÷ ours − 1. Static Hadoop
is ` + "`" + static + "`" + `: the fair scheduler with LATE's second attempts.`,
		Parts: []paper.Part{
			poolsPart(),
			splitsPart(),
			lendingPart(),
			sepbPart(),
			checkedPart(),
			overduePart(),
			localPart(),
			allPart(),
			shufflePart(),
		},
	}
}

// hadoop is the setting of a batch on nodes of so many map slots, the rest of them for reduces.
func hadoop(jobs []*sched.JobSpec, maps int64, seed uint64) testbed.Setting {
	return testbed.Setting{
		Cluster: slowNetwork(testbed.SlotCluster(theirNodes, maps, perNode-maps)),
		Jobs:    jobs,
		Costs:   hadoopCosts(),
		Seed:    seed,
	}
}

func slowNetwork(c *workload.Cluster) *workload.Cluster {
	c.Network.Node = bandwidth
	return c
}

func hadoopCosts() sim.Costs {
	c := sim.Defaults()
	c.Chance.Sigma, c.Chance.Stragglers = 0.2, 0.03
	c.Reporting = sim.Reporting{Heartbeat: 3 * time.Second, Progress: 3 * time.Second}
	return c
}

// job makes a benchmark's job, or one with another number of maps over as much input each; containers hold a core each
// instead of a slot.
func (b *benchmark) job(ordinal int, containers bool) *sched.JobSpec {
	maps, reduces := sched.Resources{sched.MapSlots: 1}, sched.Resources{sched.ReduceSlots: 1}
	if containers {
		maps, reduces = sched.Resources{sched.VCores: 1}, sched.Resources{sched.VCores: 1}
	}
	input := int64(b.gigabytes * 1e9)
	shuffle := int64(b.shuffled * float64(input))
	fetch := float64(shuffle) / float64(b.reduces) * 2 / bandwidth
	compute := max(b.reduceTime/5, b.reduceTime-fetch)
	seconds := func(s float64) sched.Time { return sched.Time(math.Round(s * 1e9)) }
	return &sched.JobSpec{Name: fmt.Sprint(b.name, "-", ordinal), Type: "MAPREDUCE",
		Stages: []sched.StageSpec{
			{
				Kind:        sched.Map,
				PerTask:     maps,
				Tasks:       int32(b.maps),
				MaxAttempts: sched.DefaultMaxAttempts,
				InputBytes:  input,
			},
			{
				Kind:        sched.Reduce,
				PerTask:     reduces,
				Tasks:       int32(b.reduces),
				MaxAttempts: sched.DefaultMaxAttempts,
				InputBytes:  shuffle,
				After:       []sched.Dep{{Stage: 0, Part: 1}},
			},
		},
		Payload: &workload.Truth{Seed: uint64(ordinal), Stages: []workload.StageTruth{
			{Tasks: int32(b.maps), Base: seconds(b.mapTime), Input: input, Output: shuffle},
			{Tasks: int32(b.reduces), Base: seconds(compute), Shuffle: shuffle, Output: shuffle},
		}},
	}
}

// batch draws n benchmarks that come together, in queues of their own as users of Hadoop's pools are.
func batch(n int, seed uint64, containers bool) (jobs []*sched.JobSpec) {
	chance := workload.NewChance(seed).With(1 << 33)
	for i := range n {
		b := benchmarks[chance.With(uint64(i)).Below(len(benchmarks))]
		jobs = append(jobs, b.job(i+1, containers))
	}
	return jobs
}

// A poolWatch notes how many tasks of each kind the jobs run at some instants.
type poolWatch struct {
	at   []sched.Time
	seen [][3][2]float64 // by instant: maps and reduces of jobs 1 to 3
	view *sched.View
}

// Attach shows the watch the view.
func (w *poolWatch) Attach(v *sched.View) { w.view = v }

// Record notes the first step at or after each instant.
func (w *poolWatch) Record(now sched.Time, _ []sched.Event, _ []sched.Action) {
	for len(w.seen) < len(w.at) && now >= w.at[len(w.seen)] {
		var row [3][2]float64
		for j := range w.view.Jobs() {
			for k, st := range j.Stages {
				row[j.ID-1][k] = float64(st.Running)
			}
		}
		w.seen = append(w.seen, row)
	}
}

func poolsPart() paper.Part {
	p := paper.Part{
		Title: "Three pools", Trials: 1,
		How: "Three pools of one job each on 90 map and 18 reduce slots: at first all have maps; then the first " +
			"has reduces only, and more than enough of them. Tasks that run, without heartbeats and with the " +
			"barrier, under lending for each kind by itself (PI) and for each pool (PD).",
		Reading: "Lending for each kind by itself keeps reduces to reduce slots while maps wait; lending for each " +
			"pool lets the first pool use its third of all slots for reduces.",
	}
	expect := map[string][]float64{"pi": {36, 36, 36, 18, 45, 45}, "pd": {36, 36, 36, 36, 36, 36}}
	for _, mode := range []string{"pi", "pd"} {
		for i, n := range expect[mode] {
			when := "all pools have maps"
			if i >= 3 {
				when = "pool 1 has reduces only"
			}
			p.Claims = append(
				p.Claims,
				paper.Claim{
					Where: "Fig. 4.9",
					Says: fmt.Sprintf("%s, %s: tasks of pool %d", map[string]string{"pi": "PI", "pd": "PD"}[mode],
						when, i%3+1),
					Published: paper.Exactly(n),
					Figure:    fmt.Sprintf("%s %d", mode, i),
					Agrees:    paper.Between(n-0.5, n+0.5),
				},
			)
		}
	}
	p.Trial = func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
		s := paper.Sample{}
		for _, mode := range []string{"pi", "pd"} {
			var jobs []*sched.JobSpec
			for i, tasks := range [][2]int{{72, 2000}, {5000, 1}, {5000, 1}} {
				b := benchmark{name: "pool", maps: tasks[0], reduces: tasks[1], mapTime: 10, reduceTime: 10}
				j := b.job(i+1, false)
				j.Queue = fmt.Sprint("pool", i+1)
				j.Stages[1].After[0].Part = 1
				jobs = append(jobs, j)
			}
			w := &poolWatch{at: []sched.Time{5 * time.Second, 105 * time.Second}}
			set := testbed.Setting{Cluster: testbed.SlotCluster(theirNodes, 10, 2), Jobs: jobs, Seed: seed, Watch: w}
			for i := range 3 {
				set.Cluster.Queues = append(set.Cluster.Queues, &sched.QueueSpec{Name: fmt.Sprint("pool", i+1)})
			}
			if _, err := set.Under(ctx, "dynamicmr:checked=0,overdue=wait,prescheduling=off,dhsa="+mode); err != nil {
				return nil, err
			}
			for at, row := range w.seen {
				for pool, tasks := range row {
					s.Set(fmt.Sprintf("%s %d", mode, 3*at+pool), tasks[0]+tasks[1])
				}
			}
		}
		return s, nil
	}
	return p
}

// named returns a benchmark.
func named(name string) *benchmark {
	for i := range benchmarks {
		if benchmarks[i].name == name {
			return &benchmarks[i]
		}
	}
	panic("reproduce: no benchmark " + name)
}

func splitsPart() paper.Part {
	splits := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	modes := []struct {
		name, spec string
		early      bool
	}{{"static", static, false}, {"PI", lending, false}, {"PD", lending + ",dhsa=pd", false}, {"early", lending, true}}
	p := paper.Part{
		Title: "How slots are divided", Trials: 5,
		How: "Sort alone, with 1 to 11 of each node's 12 slots for maps: static, and with slots lent (neither SEPB " +
			"nor PreScheduling).",
		Charts: []paper.Picture{
			{
				File:    "dynamicmr-splits",
				Caption: "Time of Sort by how many of a node's 12 slots are for maps",
				Draw: func(samples []paper.Sample) chart.Chart {
					c := chart.Chart{
						X: chart.Axis{Label: "map slots of 12"},
						Y: chart.Axis{Label: "time of the job (s)"},
					}
					for _, m := range modes[:3] {
						l := chart.Line{Name: m.name, Manner: chart.Joined}
						for _, k := range splits {
							l.Points = append(l.Points,
								paper.PointOf(samples, float64(k), fmt.Sprintf("%s %d", m.name, k)))
						}
						c.Lines = append(c.Lines, l)
					}
					return c
				},
			},
		},
		Reading: "With slots lent, a job's time does not depend on how they were divided. That needs reduces " +
			"that have something to do: where they start early (Hadoop's slow start of 5 %), they hold the reduce " +
			"slots, wait for maps, and keep maps from borrowing.",
		Claims: []paper.Claim{
			{
				Where:     "Fig. 4.10",
				Says:      "static: worst over best division",
				Published: paper.Exactly(1.8),
				Unit:      "×",
				Figure:    "static range",
				Agrees:    paper.Above(1.3),
				Why: "at one map slot a node our static Hadoop loses more than the thesis's. The closed form " +
					"without contention has 3.9",
			},
			{
				Where:     "Fig. 4.10",
				Says:      "PI: worst over best: flat",
				Published: paper.Exactly(1),
				Unit:      "×",
				Figure:    "PI range",
				Agrees:    paper.Between(1, 1.1),
			},
			{
				Where:     "Fig. 4.10",
				Says:      "PD: worst over best: flat",
				Published: paper.Exactly(1),
				Unit:      "×",
				Figure:    "PD range",
				Agrees:    paper.Between(1, 1.1),
			},
			{
				Where:  "ours",
				Says:   "PI with reduces that start after 5 % of the maps: worst over best",
				Unit:   "×",
				Figure: "early range",
				Own:    true,
			},
			{
				Where:     "Fig. 4.10",
				Says:      "static at its worst division over PI at the same",
				Published: paper.Exactly(2),
				Unit:      "×",
				Figure:    "worst gain",
				Agrees:    paper.Above(1),
				Why:       "as for the range of static Hadoop",
			},
			{
				Where:     "Fig. 4.10",
				Says:      "PD over PI, 10 and 2",
				Published: paper.Exactly(1),
				Unit:      "×",
				Figure:    "PD over PI",
				Agrees:    paper.Between(0.9, 1.1),
			},
		},
	}
	p.Trial = func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
		s := paper.Sample{}
		times := map[string]float64{}
		for _, m := range modes {
			best, worst := math.Inf(1), 0.0
			for _, k := range splits {
				job := named("Sort").job(int(seed), false)
				if m.early {
					job.Stages[1].After[0].Part = workload.HadoopSlowStart
				}
				set := hadoop([]*sched.JobSpec{job}, k, seed)
				o, err := set.Under(ctx, m.spec)
				if err != nil {
					return nil, err
				}
				key := fmt.Sprintf("%s %d", m.name, k)
				times[key] = o.Makespan
				s.Set(key, o.Makespan)
				best, worst = min(best, o.Makespan), max(worst, o.Makespan)
			}
			s.Set(m.name+" range", worst/best)
		}
		gain := 0.0
		for _, k := range splits {
			if t := times[fmt.Sprintf("static %d", k)]; t == worstOf(times, "static", splits) {
				gain = t / times[fmt.Sprintf("PI %d", k)]
			}
		}
		s.Set("worst gain", gain)
		s.Set("PD over PI", times["PD 10"]/times["PI 10"])
		return s, nil
	}
	return p
}

func worstOf(times map[string]float64, mode string, splits []int64) (worst float64) {
	for _, k := range splits {
		worst = max(worst, times[fmt.Sprintf("%s %d", mode, k)])
	}
	return worst
}

func lendingPart() paper.Part {
	parts := []float64{0, 0.25, 0.5, 0.75, 1}
	return paper.Part{
		Title: "How much is lent", Trials: 5,
		How: "Sort alone on 90 map and 18 reduce slots, with a part of the map slots that reduces may hold (Pec_M) " +
			"and of the reduce slots that maps may hold (Pec_R).",
		Claims: []paper.Claim{
			{
				Where:     "Fig. 4.11",
				Says:      "Pec_M from 0 to 100 %, Pec_R 100 % (the bandwidth was fitted to it, to whole MB/s)",
				Published: paper.Exactly(29),
				Unit:      "%",
				Figure:    "maps",
				Own:       true,
			},
			{
				Where:     "Fig. 4.11",
				Says:      "Pec_R from 0 to 100 %, Pec_M 0: little",
				Published: paper.Exactly(0),
				Unit:      "%",
				Figure:    "reduces",
				Agrees:    paper.Between(-8, 8),
				Why:       "read from a picture: little",
			},
			{
				Where:     "Fig. 4.11",
				Says:      "more lending is better: Pec_M 50 % over 0, Pec_R 100 %",
				Published: paper.AtLeast(0),
				Unit:      "%",
				Figure:    "half",
				Agrees:    paper.Above(0),
			},
			{
				Where:     "Fig. 4.11",
				Says:      "and Pec_M 100 % over 50 %",
				Published: paper.AtLeast(0),
				Unit:      "%",
				Figure:    "more",
				Agrees:    paper.AtLeast(0),
				Why:       "half of the map slots already bring as many reduces as the network can feed",
			},
		},
		Charts: []paper.Picture{
			{
				File:    "dynamicmr-lending",
				Caption: "Gain of Sort over no lending, by the part of the map slots that reduces may hold",
				Draw: func(samples []paper.Sample) chart.Chart {
					c := chart.Chart{
						X: chart.Axis{Label: "Pec_M (%)"},
						Y: chart.Axis{Label: "gain over no lending (%)"},
					}
					for _, r := range []float64{0, 1} {
						l := chart.Line{Name: fmt.Sprintf("Pec_R = %.0f %%", 100*r), Manner: chart.Joined}
						for _, m := range parts {
							l.Points = append(l.Points, paper.PointOf(samples, 100*m, fmt.Sprintf("lend %v %v", m, r)))
						}
						c.Lines = append(c.Lines, l)
					}
					return c
				},
			},
		},
		Trial: func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
			s, none := paper.Sample{}, 0.0
			for _, r := range []float64{0, 1} {
				for _, m := range parts {
					set := hadoop([]*sched.JobSpec{named("Sort").job(int(seed), false)}, 10, seed)
					o, err := set.Under(ctx, fmt.Sprintf("%s,lend-maps=%v,lend-reduces=%v", lending, m, r))
					if err != nil {
						return nil, err
					}
					if m == 0 && r == 0 {
						none = o.Makespan
					}
					s.Set(fmt.Sprintf("lend %v %v", m, r), paper.Gain(none, o.Makespan))
				}
			}
			ratio := func(a, b string) float64 { return 100 * ((100+s.Of(a))/(100+s.Of(b)) - 1) }
			s.Set("maps", ratio("lend 1 1", "lend 0 1"))
			s.Set("reduces", ratio("lend 0 1", "lend 0 0"))
			s.Set("half", ratio("lend 0.5 1", "lend 0 1"))
			s.Set("more", ratio("lend 1 1", "lend 0.5 1"))
			return s, nil
		},
	}
}

// farAway is what reading a block costs where input that is elsewhere comes over the network that reduces fetch from,
// at what one of two readers of a node gets.
func farAway() sim.Reading {
	disk := sim.Defaults().Reading.Rates[sched.NodeLocal]
	return sim.Reading{Copies: 1, Rates: [3]float64{disk, bandwidth / 2, bandwidth / 2}}
}

func localPart() paper.Part {
	sizes := []int{16, 32, 160}
	p := paper.Part{
		Title: "Maps near their input", Trials: 20,
		How: "With delay scheduling on both sides: part of the maps that run on a node with their input, and time of " +
			"the job, with PreScheduling over without, for a Sort of 16, 32 and 160 maps alone, and for each of the " +
			"nine benchmarks alone. How many copies a block has was not published, nor what a map far from its input " +
			"takes longer: here a block has one copy, and a map elsewhere reads it over the network that reduces " +
			"fetch from, at what one of two on a node gets. In many trials every map finds a place near its input " +
			"either way, so that the median says little: **all figures of this section are means over the trials**.",
		Reading: "PreScheduling acts where load balancing would spread a small job evenly over nodes that have " +
			"unequal parts of its input. A job that has more maps than the cluster has slots finds most of its input " +
			"near either way, and reads it while others compute.",
	}
	own := func(where, says, figure string) {
		p.Claims = append(p.Claims, paper.Claim{Where: where, Says: says, Unit: "%", Figure: figure, Own: true})
	}
	published := func(where, says, figure, why string) {
		p.Claims = append(p.Claims, paper.Claim{Where: where, Says: says, Published: paper.Between(2, 25), Unit: "%",
			Figure: figure,
			Agrees: paper.Above(0.5), Why: why})
	}
	for _, n := range sizes {
		published("Fig. 4.13", fmt.Sprintf("Sort of %d maps: maps near their input", n), fmt.Sprint("near Sort ", n),
			"how long delay scheduling waits was not published; ours waits for a heartbeat")
	}
	for i := range benchmarks {
		b := &benchmarks[i]
		published("Fig. 4.14", fmt.Sprintf("%s: time", b.name), fmt.Sprintf("faster %s %d", b.name, b.maps),
			"with more maps than slots most find their input either way; the sizes of figure 4.14's jobs were not "+
				"published")
	}
	for i := range benchmarks {
		own("ours", fmt.Sprintf("%s of 32 maps: time", benchmarks[i].name), fmt.Sprintf("faster %s 32",
			benchmarks[i].name))
	}
	for _, n := range sizes {
		own("ours", fmt.Sprintf("Sort of %d maps: maps near their input, three copies, read at two thirds of a "+
			"disk's rate", n),
			fmt.Sprint("near copies ", n))
	}
	p.Over = func(samples []paper.Sample) paper.Sample {
		s := paper.Sample{}
		for _, c := range p.Claims {
			var all []float64
			for _, one := range samples {
				all = append(all, one.Of("one "+c.Figure))
			}
			s.Set(c.Figure, paper.Mean(all))
		}
		return s
	}
	p.Trial = func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
		s := paper.Sample{}
		run := func(b *benchmark, maps int, reading sim.Reading, name string) error {
			near, faster, err := prescheduled(ctx, b.of(maps), reading, seed)
			s.Set(fmt.Sprintf("one near %s %d", name, maps), near)
			s.Set(fmt.Sprintf("one faster %s %d", name, maps), faster)
			return err
		}
		for _, n := range sizes {
			if err := errors.Join(run(named("Sort"), n, farAway(), "Sort"),
				run(named("Sort"), n, sim.Defaults().Reading, "copies")); err != nil {
				return nil, err
			}
		}
		for i := range benchmarks {
			b := &benchmarks[i]
			if err := errors.Join(run(b, 32, farAway(), b.name), run(b, b.maps, farAway(), b.name)); err != nil {
				return nil, err
			}
		}
		return s, nil
	}
	return p
}

// of returns the benchmark with so many maps, and as much less input and fewer reduces.
func (b benchmark) of(maps int) benchmark {
	part := float64(maps) / float64(b.maps)
	b.maps, b.gigabytes, b.reduces = maps, b.gigabytes*part, max(1, int(float64(b.reduces)*part))
	return b
}

// prescheduled returns what PreScheduling gains a benchmark: of maps near their input, and of time, in percent.
func prescheduled(ctx context.Context, b benchmark, reading sim.Reading, seed uint64) (near, faster float64,
	err error) {
	set := hadoop([]*sched.JobSpec{b.job(int(seed), false)}, setUp, seed)
	set.Costs.Reading = reading
	without, err := set.Under(ctx, complete+",prescheduling=off")
	if err != nil {
		return 0, 0, err
	}
	with, err := set.Under(ctx, complete)
	if err != nil {
		return 0, 0, err
	}
	return paper.Gain(with.Locality.Node, without.Locality.Node), paper.Gain(without.Makespan, with.Makespan), nil
}
