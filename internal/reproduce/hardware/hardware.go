// Package hardware runs the experiments of Polo's thesis again in which some nodes have accelerators.
package hardware

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/theory/hardware"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// Paper makes the evaluation of Hardware-aware.
func Paper() *paper.Paper {
	return &paper.Paper{
		Name: "hardware-aware", Title: "Hardware affinity: accelerated and regular nodes",
		Source: "J. Polo, Multi-constraint scheduling of MapReduce workloads, PhD thesis, UPC 2014, 3.4.4, 3.5.5 and " +
			"3.5.6; [docs/spec/hardware.md](../spec/hardware.md) has what the policy `hardware` computes.",
		About: "A tenth of the nodes has accelerators. Jobs that can use them run up to 25 times as fast there. The " +
			"scheduler finds out which jobs profit, gives these jobs the accelerated nodes, and the regular nodes to " +
			"the others, as long as no goal is in danger.\n\n" +
			"The thesis claims that Montecarlo takes less than half of the time that it takes under the same " +
			"scheduler without this knowledge, and that WordCount, which cannot use accelerators, is faster, too.",
		Parts: []paper.Part{arithmeticPart(), threePart(0), threePart(0.3), fourPart()},
		Left: []paper.Left{
			{
				Where: "2.4, Fig. 2.5",
				Says:  "the runtime that hands blocks of a record to the cores of a Cell processor",
				Why:   "there is no such processor; jobs of the engine `mr` choose an implementation by class of node",
			},
			{
				Where: "3.5.6",
				Says:  "which nodes each job holds at each instant of experiment 4",
				Why:   "task counts and goals of that run were not published",
			},
		},
	}
}

func arithmeticPart() paper.Part {
	p := paper.Part{
		Title: "Loads and regular nodes", Trials: 1,
		How: "Figure 3.1 and equation 3 as functions of numbers: the part of all nodes that a job uses when it needs " +
			"more than the accelerated pool, a tenth of the nodes, for speedups of 1 to 5.",
		Reading: "The figure comes out as printed. A job with a large speedup exhausts the cluster soon after it " +
			"needs more than the pool.",
		Trial: func(context.Context, paper.Lab, uint64) (paper.Sample, error) {
			s := paper.Sample{}
			for speedup := 1; speedup <= 5; speedup++ {
				var shares []float64
				for load := 0; load <= 160; load += 5 {
					shares = append(shares, 100*hardware.NodeShare(float64(load)/100, float64(speedup), 0.1))
				}
				s.Set(fmt.Sprint("share ", speedup), shares...)
				s.Set(fmt.Sprint("at 160 ", speedup), shares[len(shares)-1])
			}
			s.Set("montecarlo load", 100*hardware.Load(7, 6))
			s.Set("montecarlo", hardware.Extra(25, 7, 6))
			s.Set("crypt", hardware.Extra(2.5, 7, 6))
			s.Set("worked", hardware.Extra(2, 15, 10))
			s.Set("exhausted 25", 100*hardware.ExhaustingLoad(25, 0.1))
			s.Set("exhausted 2.5", 100*hardware.ExhaustingLoad(2.5, 0.1))
			return s, nil
		},
		Charts: []paper.Picture{{File: "hardware-aware-loads",
			Caption: "Nodes used by the load of the accelerated pool, by speedup",
			Draw: func(samples []paper.Sample) chart.Chart {
				c := chart.Chart{
					X: chart.Axis{Label: "load of the accelerated pool (%)"},
					Y: chart.Axis{Label: "nodes used (%)"},
				}
				for speedup := 1; speedup <= 5; speedup++ {
					l := chart.Line{Name: fmt.Sprint(speedup, "×")}
					for i, y := range samples[0][fmt.Sprint("share ", speedup)] {
						l.Points = append(l.Points, chart.Point{X: float64(5 * i), Y: y, Low: y, High: y})
					}
					c.Lines = append(c.Lines, l)
				}
				return c
			}}},
	}
	claim := func(where, says, figure, unit string, value float64) {
		p.Claims = append(p.Claims, paper.Claim{Where: where, Says: says, Figure: figure, Unit: unit,
			Published: paper.Exactly(value), Agrees: paper.Exactly(value)})
	}
	for i, at := range []float64{16, 22, 28, 34, 40} {
		says := fmt.Sprintf("nodes used at a load of 160 %%, speedup %d", i+1)
		claim("Fig. 3.1", says, fmt.Sprint("at 160 ", i+1), "%", at)
	}
	claim("3.4.4", "regular slots for 5 missing ones of 15, speedup 2", "worked", "", 10)
	claim("3.5.6", "regular nodes for one missing accelerated node, Montecarlo", "montecarlo", "", 25)
	claim("3.5.6", "the same, Crypt", "crypt", "", 2.5)
	p.Claims = append(p.Claims,
		paper.Claim{Where: "derived", Says: "load of a pool of 6 nodes by a job that needs 7", Unit: "%",
			Figure: "montecarlo load", Own: true, Agrees: paper.Exactly(700.0 / 6)},
		paper.Claim{Where: "derived", Says: "load that exhausts the cluster, Montecarlo", Unit: "%",
			Figure: "exhausted 25",
			Own:    true, Agrees: paper.Exactly(136)},
		paper.Claim{Where: "derived", Says: "the same, Crypt", Unit: "%", Figure: "exhausted 2.5", Own: true,
			Agrees: paper.Exactly(460)})
	return p
}

// A standIn is a stand-in for a job of the thesis: maps only, with times in seconds.
type standIn struct {
	name    string
	maps    int
	time    float64 // on regular nodes
	speedup float64 // on accelerated ones; 1: it has no accelerated code
	submit  float64 // after the run begins; after job follows, if that is named, completes
	follows string
	goal    float64
}

// spec makes the job for the simulator; aware: the scheduler is told of the accelerated code.
func (j *standIn) spec(submit float64, aware bool, sigma float64) *sched.JobSpec {
	job := testbed.JobOf(j.name, sched.Time(submit*1e9), theory.SlotJob{Maps: j.maps, MapTime: j.time},
		[2][]workload.Task{})
	job.Stages[0].Prior = 0
	job.Deadline = sched.Time(j.goal * 1e9)
	st := &job.Payload.(*workload.Truth).Stages[0]
	st.Sigma = sigma
	if j.speedup > 1 {
		st.Speeds = []workload.ClassSpeed{{Class: "cell", Speed: j.speedup}}
		if aware {
			job.Profile = &sched.Profile{Accelerators: []string{"cell"}}
		}
	}
	return job
}

// thesisNodes are the nodes of the thesis: 54 on which only the general core is used, and 6 accelerated ones,
// of one map slot and one reduce slot each.
func thesisNodes() *workload.Cluster {
	slots := sched.Resources{sched.MapSlots: 1, sched.ReduceSlots: 1}
	return &workload.Cluster{Network: workload.DefaultNetwork, Classes: []workload.Class{
		{Name: "regular", Count: 54, Racks: 1, Speed: 1, Resources: slots},
		{Name: "cell", Count: 6, Racks: 1, Speed: 1, Resources: slots},
	}}
}

// heldNodes follows how many nodes each job holds, at multiples of an interval.
type heldNodes struct {
	view  *sched.View
	every sched.Time
	next  sched.Time
	now   map[string]float64
	lines map[string][]float64
	most  map[string]float64
}

// Attach implements record.Follower.
func (h *heldNodes) Attach(v *sched.View) { h.view = v }

// Record implements sched.Recorder.
func (h *heldNodes) Record(now sched.Time, _ []sched.Event, _ []sched.Action) {
	for ; h.next <= now; h.next += h.every {
		for name, n := range h.now {
			line := h.lines[name]
			for len(line) < int(h.next/h.every) {
				line = append(line, 0)
			}
			h.lines[name] = append(line, n)
		}
	}
	clear(h.now)
	for j := range h.view.Jobs() {
		h.now[j.Spec.Name] = float64(j.Running)
		h.most[j.Spec.Name] = max(h.most[j.Spec.Name], float64(j.Running))
	}
}

// runJobs runs jobs aware of the hardware or not, and puts completion, duration, whether the goal was met,
// and the most nodes held at once into a sample. A job that follows another one is submitted when that has
// completed, which a first run without it tells.
func runJobs(ctx context.Context, s paper.Sample, list []standIn, with runCase) error {
	ends := map[string]float64{}
	var watch *heldNodes
	var jobs []*sched.JobSpec
	for i := 0; i <= len(list); i++ {
		if i < len(list) && list[i].follows == "" {
			jobs = append(jobs, list[i].spec(list[i].submit, with.aware, with.sigma))
			continue
		}
		watch = &heldNodes{every: 20 * time.Second, now: map[string]float64{}, lines: map[string][]float64{},
			most: map[string]float64{}}
		set := testbed.Setting{Cluster: thesisNodes(), Jobs: jobs, Estimator: "mean", Seed: with.seed, Watch: watch}
		out, err := set.Under(ctx, with.policy)
		if err != nil {
			return err
		}
		for k, j := range jobs {
			ends[j.Name] = out.Ends[k]
		}
		if i < len(list) {
			jobs = append(jobs, list[i].spec(list[i].submit+ends[list[i].follows], with.aware, with.sigma))
		}
	}
	for i, j := range jobs {
		name := with.name + " " + j.Name
		took := ends[j.Name] - j.Submit.Seconds()
		s.Set(name+" end", ends[j.Name])
		s.Set(name+" took", took)
		s.Set(name+" over", took-list[i].goal)
		s.Set(name+" nodes", watch.most[j.Name])
		s.Set(name+" line", watch.lines[j.Name]...)
	}
	return nil
}

// baseCases are the cases to compare with.
var baseCases = []string{"unaware", "adaptive"}

// A runCase is how jobs are run.
type runCase struct {
	name, policy string
	aware        bool
	sigma        float64
	seed         uint64
}

// runCases are the configurations of the thesis. The unaware scheduler is the same one, which is not told that
// jobs have accelerated code: it has one mean for tasks on all nodes.
func runCases(sigma float64, seed uint64) []runCase {
	return []runCase{
		{name: "aware", policy: "hardware", aware: true, sigma: sigma, seed: seed},
		{name: "unaware", policy: "hardware", sigma: sigma, seed: seed},
		{name: "adaptive", policy: "adaptive", sigma: sigma, seed: seed},
	}
}

// nodesChart draws how many nodes each job holds over time.
func nodesChart(name string, jobs []string) func([]paper.Sample) chart.Chart {
	return func(samples []paper.Sample) chart.Chart {
		c := chart.Chart{X: chart.Axis{Label: "time (s)"}, Y: chart.Axis{Label: "nodes"}}
		for _, job := range jobs {
			l := chart.Line{Name: job, Manner: chart.Steps}
			for i, y := range samples[0][name+" "+job+" line"] {
				l.Points = append(l.Points, chart.Point{X: float64(20 * i), Y: y, Low: y, High: y})
			}
			c.Lines = append(c.Lines, l)
		}
		return c
	}
}

// threeJobs are stand-ins for those of experiment 3, fitted by hand to its times.
var threeJobs = []standIn{
	{name: "WordCount", maps: 2000, time: 92, speedup: 1, goal: 5000},
	{name: "Montecarlo 1", maps: 600, time: 125, speedup: 25, submit: 150, goal: 2200},
	{name: "Montecarlo 2", maps: 600, time: 125, speedup: 25, submit: 300, follows: "Montecarlo 1", goal: 500},
}

func threePart(sigma float64) paper.Part {
	p := paper.Part{
		Title: "Experiment 3: relaxed regular job, two accelerable ones", Trials: 1,
		How: "54 regular and 6 accelerated nodes of one slot each. Stand-ins, as the task counts were not published: " +
			"WordCount has 2,000 maps of 92 s and a goal of 5,000 s; Montecarlo has 600 maps of 125 s, or of 5 s on " +
			"accelerated nodes. The first comes at 150 s with a goal of 2,200 s, the second 300 s after the first " +
			"has completed, with a goal of 500 s. Task times are constant, nothing else costs time. *Unaware* is the " +
			"policy `hardware` for which no job has accelerated code; `adaptive` is the thesis's own baseline.",
		Reading: "With affinity Montecarlo 1 stays on the accelerated nodes and leaves the others to WordCount. " +
			"Montecarlo 2 takes nearly all nodes for hardly more speed than the accelerated ones give.",
	}
	if sigma > 0 {
		p.Title, p.Trials = "Experiment 3 with task times that vary", 5
		p.How = fmt.Sprintf("The same with task times of a lognormal distribution, σ = %v; a trial is its seed.", sigma)
		p.Reading = "The gain does not depend on equal task times."
	} else {
		p.Charts = []paper.Picture{
			{File: "hardware-aware-3", Caption: "Nodes held by each job, with affinity",
				Draw: nodesChart("aware", []string{
					"WordCount", "Montecarlo 1", "Montecarlo 2"})},
			{File: "hardware-aware-3-unaware", Caption: "Nodes held by each job, unaware",
				Draw: nodesChart("unaware", []string{
					"WordCount", "Montecarlo 1", "Montecarlo 2"})},
		}
	}
	p.Trial = func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
		s := paper.Sample{}
		for _, with := range runCases(sigma, seed) {
			if err := runJobs(ctx, s, threeJobs, with); err != nil {
				return nil, err
			}
		}
		s.Set("second ÷ first", s.Of("aware Montecarlo 2 took")/s.Of("aware Montecarlo 1 took"))
		for _, base := range baseCases {
			for _, j := range threeJobs {
				s.Set(base+" ÷ aware "+j.name, s.Of(base+" "+j.name+" took")/s.Of("aware "+j.name+" took"))
			}
		}
		return s, nil
	}
	for _, base := range baseCases {
		p.Claims = append(p.Claims,
			paper.Claim{Where: "3.5.5", Says: "Montecarlo 1, " + base + " ÷ aware", Published: paper.Above(2),
				Unit:   "×",
				Figure: base + " ÷ aware Montecarlo 1", Agrees: paper.Above(2)},
			paper.Claim{Where: "3.5.5", Says: "WordCount, " + base + " ÷ aware", Published: paper.Above(1), Unit: "×",
				Figure: base + " ÷ aware WordCount", Agrees: paper.Above(1)},
			paper.Claim{Where: "3.5.5", Says: "Montecarlo 2, " + base + " ÷ aware: about equal", Unit: "×",
				Figure: base + " ÷ aware Montecarlo 2", Published: paper.Exactly(1), Agrees: paper.Between(0.8, 1.25)},
		)
	}
	if sigma > 0 {
		return p
	}
	within := func(x float64) paper.Range { return paper.Between(0.9*x, 1.1*x) }
	p.Claims = append(p.Claims,
		paper.Claim{Where: "3.5.5", Says: "Montecarlo 1 completes, aware", Published: paper.Exactly(863), Unit: "s",
			Figure: "aware Montecarlo 1 end", Agrees: within(863)},
		paper.Claim{Where: "3.5.5", Says: "Montecarlo 2 completes, aware", Published: paper.Exactly(1824), Unit: "s",
			Figure: "aware Montecarlo 2 end", Agrees: within(1824)},
		paper.Claim{Where: "3.5.5", Says: "Montecarlo 2 is beyond its goal, aware, by its printed times", Unit: "s",
			Published: paper.Exactly(161), Figure: "aware Montecarlo 2 over", Agrees: paper.Above(0),
			Why: "its own times contradict the text, which says that the goal was met"},
		paper.Claim{Where: "3.5.5", Says: "Montecarlo 2 uses both pools, nine times as many nodes; nodes held at most",
			Published: paper.Exactly(54), Figure: "aware Montecarlo 2 nodes", Agrees: paper.Between(40, 60)},
		paper.Claim{Where: "3.5.5", Says: "Montecarlo 2 takes little less time than Montecarlo 1, aware", Unit: "×",
			Published: paper.AtMost(1), Figure: "second ÷ first", Agrees: paper.AtMost(1)},
		paper.Claim{Where: "3.5.5",
			Says:      "Montecarlo 1 stays on the accelerated nodes but for one task; nodes held at most",
			Published: paper.AtMost(7), Figure: "aware Montecarlo 1 nodes", Agrees: paper.AtMost(7)},
		paper.Claim{Where: "3.5.5", Says: "Montecarlo 1 asks for more nodes, unaware; nodes held at most",
			Published: paper.Above(7), Figure: "unaware Montecarlo 1 nodes", Agrees: paper.Above(7)},
		paper.Claim{Where: "3.5.5", Says: "WordCount is beyond its goal, aware", Published: paper.AtMost(0), Unit: "s",
			Figure: "aware WordCount over", Agrees: paper.AtMost(0)},
	)
	p.Claims = append(p.Claims, referenceClaims([]referenceEnd{
		{"aware WordCount", 3503}, {"aware Montecarlo 1", 868}, {"aware Montecarlo 2", 1821},
		{"adaptive WordCount", 4708}, {"adaptive Montecarlo 1", 2434}, {"adaptive Montecarlo 2", 3453},
	})...)
	return p
}

// A referenceEnd is when a job completes in the reference simulation of the stand-ins.
type referenceEnd struct {
	job string
	end float64
}

// referenceClaims makes a claim of each end, within a tenth.
func referenceClaims(ends []referenceEnd) (list []paper.Claim) {
	for _, c := range ends {
		list = append(list, paper.Claim{Where: "reference simulation", Says: c.job + " completes", Unit: "s",
			Published: paper.Exactly(c.end), Figure: c.job + " end", Agrees: paper.Between(0.9*c.end, 1.1*c.end)})
	}
	return list
}

// fourJobs are stand-ins for those of experiment 4.
var fourJobs = map[string][]standIn{
	"2.1": {
		{name: "WordCount", maps: 1500, time: 92, speedup: 1, goal: 3800},
		{name: "Crypt", maps: 500, time: 75, speedup: 2.5, submit: 300, goal: 3400},
		{name: "Montecarlo 1", maps: 300, time: 125, speedup: 25, submit: 600, goal: 1200},
		{name: "Montecarlo 2", maps: 300, time: 125, speedup: 25, submit: 60, follows: "Montecarlo 1", goal: 500},
	},
	"2.2": {
		{name: "WordCount", maps: 1500, time: 92, speedup: 1, goal: 2600},
		{name: "Crypt", maps: 400, time: 75, speedup: 2.5, submit: 300, goal: 3500},
		{name: "Montecarlo", maps: 400, time: 125, speedup: 25, submit: 600, goal: 3400},
	},
}

func fourPart() paper.Part {
	p := paper.Part{
		Title: "Experiment 4: the pool overloaded, and a regular job with a tight goal", Trials: 1,
		How: "The same nodes. Configuration 2.1: WordCount (1,500 maps of 92 s, goal 3,800 s), Crypt at 300 s (500 " +
			"maps of 75 s or 30 s accelerated, goal 3,400 s), Montecarlo 1 at 600 s (300 maps, goal 1,200 s), and " +
			"Montecarlo 2 60 s after the first has completed (300 maps, goal 500 s). Configuration 2.2: WordCount " +
			"with a goal of 2,600 s, Crypt at 300 s and Montecarlo at 600 s with relaxed ones (400 maps each, 3,500 " +
			"and 3,400 s). The thesis describes both runs in words; a range of a tenth around the reference " +
			"simulation of the stand-ins says that ours does the same.",
		Reading: "A job that is driven by its need completes close to its goal. In 2.2 the regular job takes " +
			"accelerated nodes to meet its goal, and both others still meet theirs.",
		Trial: func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
			s := paper.Sample{}
			for config, list := range fourJobs {
				for _, with := range runCases(0, seed) {
					with.name = config + " " + with.name
					if err := runJobs(ctx, s, list, with); err != nil {
						return nil, err
					}
				}
			}
			return s, nil
		},
		Charts: []paper.Picture{
			{File: "hardware-aware-4-pool", Caption: "Nodes held by each job, 2.1",
				Draw: nodesChart("2.1 aware", []string{
					"WordCount", "Crypt", "Montecarlo 1", "Montecarlo 2"})},
			{File: "hardware-aware-4-regular", Caption: "Nodes held by each job, 2.2",
				Draw: nodesChart("2.2 aware", []string{
					"WordCount", "Crypt", "Montecarlo"})},
		},
	}
	p.Claims = append(p.Claims, referenceClaims([]referenceEnd{
		{"2.1 aware WordCount", 2793}, {"2.1 aware Crypt", 3210},
		{"2.1 aware Montecarlo 1", 1811}, {"2.1 aware Montecarlo 2", 2458},
		{"2.1 adaptive WordCount", 3881}, {"2.1 adaptive Crypt", 3756},
		{"2.1 adaptive Montecarlo 1", 1902}, {"2.1 adaptive Montecarlo 2", 2603},
		{"2.2 aware WordCount", 2576}, {"2.2 aware Crypt", 2805}, {"2.2 aware Montecarlo", 1785},
		{"2.2 adaptive WordCount", 2753}, {"2.2 adaptive Crypt", 3359}, {"2.2 adaptive Montecarlo", 3434},
	})...)
	for _, name := range []string{"WordCount", "Crypt", "Montecarlo"} {
		p.Claims = append(p.Claims, paper.Claim{Where: "3.5.6", Says: "2.2 aware " + name + " is beyond its goal",
			Unit:      "s",
			Published: paper.AtMost(0), Figure: "2.2 aware " + name + " over", Agrees: paper.AtMost(0)})
	}
	p.Claims = append(p.Claims,
		paper.Claim{Where: "3.5.6", Says: "2.1 aware: WordCount meets its goal; beyond it", Unit: "s",
			Published: paper.AtMost(0),
			Figure:    "2.1 aware WordCount over", Agrees: paper.AtMost(0)},
		paper.Claim{Where: "3.5.6", Says: "2.1 aware: Crypt falls behind and gets regular nodes; nodes held at most",
			Published: paper.AtLeast(7), Figure: "2.1 aware Crypt nodes", Agrees: paper.AtLeast(7)},
		paper.Claim{Where: "3.5.6", Says: "2.1 aware: Montecarlo 2 takes most nodes; nodes held at most",
			Published: paper.AtLeast(31), Figure: "2.1 aware Montecarlo 2 nodes", Agrees: paper.AtLeast(31),
			Why: "its maps were not published: the stand-in's 300 need half of the accelerated nodes for their goal"},
		paper.Claim{Where: "reference simulation", Says: "2.2 unaware WordCount is beyond its goal", Unit: "s",
			Published: paper.Exactly(153), Figure: "2.2 unaware WordCount over", Agrees: paper.Between(0, math.Inf(1))},
	)
	return p
}
