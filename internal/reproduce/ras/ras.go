// Package ras runs the experiments of Polo's thesis with RAS again, a policy that places tasks by what they use of each
// resource.
package ras

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// Paper makes the evaluation of RAS.
func Paper() *paper.Paper {
	return &paper.Paper{
		Name: "ras", Title: "RAS",
		Source: "Polo, Multi-constraint Scheduling of MapReduce Workloads, PhD thesis, UPC 2014, section 4.3; " +
			"[docs/spec/ras.md](../spec/ras.md) has what the policy computes.",
		About: `RAS places maps and reduces by what they use of each resource, instead of into a fixed number of
slots a node. The thesis runs nine Gridmix jobs (Sort, Combine, Select in three sizes) on 20 workers
and compares it with the Fair Scheduler at one to eight map slots a worker, first with goals so
relaxed that only utilisation counts, then with tight goals.

Here the jobs are simulated: maps alone, with the thesis's profiles (table 4.2), submissions and
goals. Tasks on a node hinder each other by the simulator's model of contention
([section 9](../spec/simulator.md#9-contention)). Its two constants and the lengths of the maps were
fitted by hand until the curve of Fair over the slots had the published shape and height. So that
curve, and how far RAS is below its minimum, show that the policy does what the thesis says under
such contention. They are no evidence for the model.`,
		Parts: []paper.Part{relaxedPart(), tightPart()},
		Left: []paper.Left{
			{Where: "fig. 4.5", Says: "CPU time spent waiting for I/O is clearly higher under Fair",
				Why: "the simulator has no wait of a processor: contention is one factor for all resources"},
			{Where: "fig. 4.6, 4.9", Says: "utilities are balanced over the jobs",
				Why: "no numbers are given; `sojourn record " +
					"explain` shows the order of utilities of a run"},
			{Where: "fig. 4.4", Says: "fewer tasks run than under Fair at almost any time",
				Why: "the figure counts reduces; the averages of maps stand above"},
			{Where: "4.3.1", Says: "reduces", Why: "their number and lengths are not stated: maps run alone here"},
		},
	}
}

// An App is an application of table 4.2: what a map uses of a node's processors, disks and memory, in percent.
type App struct {
	Name            string
	CPU, IO, Memory int64
}

// Profile returns what a map of the application uses, for a node of 100 vcores and 100 MiB.
func (a App) Profile() *sched.Profile {
	p := &sched.Profile{}
	p.Phases[sched.PhaseMap] = sched.Resources{
		sched.VCores: a.CPU, sched.DiskIO: a.IO * 10_000, sched.Memory: a.Memory,
	}
	return p
}

// The applications of table 4.2.
var (
	Sort    = App{"Sort", 30, 45, 25}
	Combine = App{"Combine", 25, 10, 10}
	Select  = App{"Select", 15, 20, 10}
)

// thesisJobs are the jobs of table 4.1 in order of submission: maps of 64 MB, and the goals of experiment 2 since the
// start, in seconds. The lengths of maps on a node that nothing loads are fitted (docs/spec/ras.md, 5).
var thesisJobs = []struct {
	name   string
	app    App
	maps   int
	submit float64
	length float64
	goal   float64
	end    float64 // published end in experiment 2
	again  float64 // its end in an independent simulator of the same workload
}{
	{"J1", Sort, 1440, 0, 69, 3000, 3018, 3250},
	{"J2", Combine, 80, 100, 500, 850, 896, 795},
	{"J3", Select, 160, 200, 200, 1250, 802, 1580},
	{"J4", Select, 400, 350, 70, 1100, 550, 1420},
	{"J5", Select, 80, 500, 50, 950, 560, 1010},
	{"J6", Combine, 208, 600, 250, 2600, 2589, 2680},
	{"J7", Combine, 800, 1100, 250, 6000, 4614, 4550},
	{"J8", Sort, 304, 2500, 44, 3400, 3365, 3395},
	{"J9", Sort, 96, 3750, 83, 4250, 4141, 4185},
}

// Workers is the number of nodes of the thesis's cluster.
const Workers = 20

const (
	lengthScale = 0.18 // of the fitted lengths
	basePolicy  = "ras:trigger=off,rounds=3"
)

// Contention is how tasks on a node hinder each other; its two numbers are fitted, too.
var Contention = sim.Contention{Slope: 2.7, Power: 1.5}

// simulatedJobs makes the jobs; relaxed ones have goals that they cannot miss.
func simulatedJobs(relaxed bool) (jobs []*sched.JobSpec) {
	for _, m := range thesisJobs {
		at := sched.Time(m.submit * 1e9)
		j := testbed.JobOf(m.name, at, theory.SlotJob{Maps: m.maps, MapTime: m.length * lengthScale},
			[2][]workload.Task{})
		j.Deadline = sched.Time(m.goal*1e9) - at
		if relaxed {
			j.Deadline = 1000 * time.Hour
		}
		j.Stages[0].Prior = 0
		j.Profile = m.app.Profile()
		jobs = append(jobs, j)
	}
	return jobs
}

// A runResult is what one run came to.
type runResult struct {
	*testbed.Outcome
	each float64 // tasks that ran on a worker on average
}

// A runCase is one run: a policy with a number of slots a worker.
type runCase struct {
	policy    string
	slots     int
	relaxed   bool       // goals that cannot be missed
	heartbeat sched.Time // of workers; zero: they are served at once
}

// hadoopHeartbeat is Hadoop's for small clusters (mapreduce.jobtracker.heartbeat.interval.min).
const hadoopHeartbeat = 3 * time.Second

// run runs the jobs.
func (c runCase) run(ctx context.Context) (*runResult, error) {
	held := &runningTasks{}
	set := testbed.Setting{
		Cluster:   testbed.ClusterOf("nodes=%d,map-slots=%d,vcores=100,memory=100MiB", Workers, c.slots),
		Jobs:      simulatedJobs(c.relaxed),
		Costs:     sim.Costs{Contention: Contention, Reporting: sim.Reporting{Heartbeat: c.heartbeat}},
		Estimator: "mean",
		Watch:     held,
	}
	o, err := set.Under(ctx, c.policy)
	if err != nil {
		return nil, err
	}
	r := &runResult{Outcome: o}
	r.each = held.sum / r.last() / Workers
	return r, nil
}

// last returns when the last job ends.
func (r *runResult) last() (end float64) {
	for _, e := range r.Ends {
		end = max(end, e)
	}
	return end
}

// met returns how many jobs meet the goals of experiment 2.
func (r *runResult) met() (n float64) {
	for i, m := range thesisJobs {
		if r.Ends[i] <= m.goal {
			n++
		}
	}
	return n
}

// runningTasks is how many tasks run, over time.
type runningTasks struct {
	view *sched.View
	at   sched.Time
	now  float64
	sum  float64 // task-seconds
}

// Attach implements record.Follower.
func (r *runningTasks) Attach(v *sched.View) { r.view = v }

// Record implements sched.Recorder.
func (r *runningTasks) Record(now sched.Time, _ []sched.Event, _ []sched.Action) {
	r.sum += r.now * (now - r.at).Seconds()
	r.at, r.now = now, float64(r.view.Queues[0].Running())
}

// referenceEnds are the makespans of Fair with 1 to 8 slots a worker in an independent simulator of the same workload,
// in seconds. It has steps of 5 s, and no heartbeats.
var referenceEnds = [...]float64{8255, 5630, 4985, 4775, 5230, 5515, 5890, 6195}

// around is what is within 5 % of a makespan.
func around(end float64) paper.Range { return paper.Between(0.95*end, 1.05*end) }

// Slots is the map slots of a worker for policies that place by profiles: so many that they bound nothing.
const Slots = 100

func relaxedPart() paper.Part {
	p := paper.Part{
		Title: "Experiment 1: relaxed goals (4.3.2)", Trials: 1,
		How: "Nine jobs on 20 workers. `fair` with 1 to 8 map slots a worker, and `" + basePolicy + "`, which " +
			"places by profiles and has no slots. Nodes report every 3 s, as Hadoop's do. The goals are so far away " +
			"that they order nothing. The run has no chance in it.",
		Reading: "Too few slots leave nodes idle, too many make tasks hinder each other. RAS needs no such " +
			"number: it stops where a resource is used up, and mixes tasks that use different ones. A part of its " +
			"lead comes from the heartbeats: where nodes report at once, Fair's tasks happen to mix nearly as well.",
		Trial: func(ctx context.Context, _ paper.Lab, _ uint64) (paper.Sample, error) {
			s := paper.Sample{}
			best, worst, at := math.Inf(1), 0.0, 0
			atOnce := math.Inf(1) // the best makespan without heartbeats
			for k := 1; k <= 8; k++ {
				r, err := runCase{"fair", k, true, hadoopHeartbeat}.run(ctx)
				if err != nil {
					return nil, err
				}
				end := r.last()
				s.Set(fmt.Sprint("fair ", k), end)
				if worst = max(worst, end); end < best {
					best, at = end, k
					s.Set("tasks fair", r.each)
				}
				if r, err = (runCase{"fair", k, true, 0}).run(ctx); err != nil {
					return nil, err
				}
				atOnce = min(atOnce, r.last())
			}
			var runs []*runResult
			for _, c := range []runCase{
				{basePolicy, Slots, true, hadoopHeartbeat},
				{basePolicy + ",candidates=literal", Slots, true, hadoopHeartbeat},
				{"ras", Slots, true, hadoopHeartbeat},
				{basePolicy, Slots, true, 0},
			} {
				r, err := c.run(ctx)
				if err != nil {
					return nil, err
				}
				runs = append(runs, r)
			}
			own := runs[0]
			s.Set("ras", own.last())
			s.Set("literal", runs[1].last())
			s.Set("default", runs[2].last())
			s.Set("at once", paper.Gain(atOnce, runs[3].last()))
			s.Set("best k", float64(at))
			s.Set("fewest", paper.Gain(s.Of("fair 1"), best))
			s.Set("most", paper.Gain(s.Of("fair 8"), best))
			s.Set("behind", paper.Gain(best, own.last()))
			s.Set("worst", paper.Gain(worst, own.last()))
			s.Set("tasks", own.each)
			s.Set("fewer", s.Of("tasks fair")-own.each)
			s.Set("met", own.met())
			return s, nil
		},
		Claims: []paper.Claim{
			{Where: "fig. 4.3", Says: "slots a worker with which Fair is fastest", Published: paper.Exactly(4),
				Figure: "best k", Agrees: paper.Between(3, 5)},
			{Where: "fig. 4.3", Says: "one slot: longer than the best by (U shape)", Unit: "%",
				Published: paper.Above(0),
				Figure:    "fewest", Agrees: paper.AtLeast(10)},
			{Where: "fig. 4.3", Says: "eight slots: longer than the best by (U shape)", Unit: "%",
				Published: paper.Above(0), Figure: "most", Agrees: paper.AtLeast(10)},
			{Where: "fig. 4.3", Says: "makespan of RAS", Unit: "s", Published: paper.Between(4536*0.95, 4536*1.05),
				Figure: "ras", Agrees: paper.Between(4536*0.95, 4536*1.05)},
			{Where: "4.3.2", Says: "best static Fair: longer than RAS by", Unit: "%", Published: paper.Between(5, 5.4),
				Figure: "behind", Agrees: paper.Above(2)},
			{Where: "4.3.2", Says: "worst static Fair: longer than RAS by", Unit: "%", Published: paper.Exactly(100),
				Figure: "worst", Agrees: paper.AtLeast(50), Why: "the thesis rounds, and its figure is a picture"},
			{Where: "4.3.2", Says: "tasks a worker under RAS", Published: paper.Exactly(3.4), Figure: "tasks",
				Agrees: paper.Between(3, 4), Why: "reduces are not simulated"},
			{Where: "4.3.2", Says: "tasks a worker that Fair at its best runs more", Published: paper.Above(0),
				Figure: "fewer", Agrees: paper.Above(0)},
			{Where: "reference simulator", Says: "makespan of RAS", Unit: "s", Published: paper.Exactly(4500),
				Figure: "ras",
				Agrees: around(4500)},
			{Where: "reference simulator", Says: "makespan of RAS with the listing's choice of candidates", Unit: "s",
				Published: paper.Exactly(4495), Figure: "literal", Agrees: around(4495)},
			{Where: "own", Says: "makespan of RAS with its defaults, which place anew when a job comes or ends too",
				Unit: "s", Figure: "default", Own: true},
			{Where: "own", Says: "best static Fair: longer than RAS by, if nodes report at once", Unit: "%",
				Figure: "at once", Own: true},
		},
		Charts: []paper.Picture{{File: "ras-slots", Caption: "Makespan by slots a worker; RAS has none",
			Draw: func(samples []paper.Sample) chart.Chart {
				fair, own := chart.Line{Name: "fair"}, chart.Line{Name: "ras"}
				for k := 1; k <= 8; k++ {
					fair.Points = append(fair.Points, paper.PointOf(samples, float64(k), fmt.Sprint("fair ", k)))
					own.Points = append(own.Points, paper.PointOf(samples, float64(k), "ras"))
				}
				said := chart.Line{Name: "RAS in the thesis", Manner: chart.Given,
					Points: []chart.Point{{X: 4, Y: 4536}}}
				return chart.Chart{
					X: chart.Axis{Label: "map slots a worker"}, Y: chart.Axis{Label: "makespan (s)"},
					Lines: []chart.Line{fair, own, said},
				}
			}}},
	}
	for i, end := range referenceEnds {
		p.Claims = append(p.Claims, paper.Claim{Where: "reference simulator", Unit: "s",
			Figure: fmt.Sprint("fair ", i+1),
			Says:   fmt.Sprintf("makespan of Fair with %d slots", i+1), Published: paper.Exactly(end),
			Agrees: around(end)})
	}
	return p
}

// rivals are the policies whose goals met are counted, with the slots a worker that they run on.
var rivals = []struct {
	policy string
	slots  int
}{
	{"fair", 4}, {"edf", 4}, {"adaptive", 4}, {"edf", Slots}, {basePolicy, Slots},
	{basePolicy + ",waves=on", Slots}, {"ras", Slots},
}

func tightPart() paper.Part {
	p := paper.Part{
		Title: "Experiment 2: tight goals (4.3.3)", Trials: 1,
		How: "The jobs of experiment 1 with the goals of table 4.1. Besides `fair` with four slots a worker, " +
			"other policies that know goals run on four slots. Earliest deadline first runs without slots as well.",
		Reading: "Goals move capacity from J7, which has most time, to J1 and J8. When single jobs end hangs on " +
			"the lengths of maps, which the thesis does not state.",
		Trial: func(ctx context.Context, _ paper.Lab, _ uint64) (paper.Sample, error) {
			s := paper.Sample{}
			relaxed, err := runCase{basePolicy, Slots, true, hadoopHeartbeat}.run(ctx)
			if err != nil {
				return nil, err
			}
			for _, v := range rivals {
				r, err := runCase{v.policy, v.slots, false, hadoopHeartbeat}.run(ctx)
				if err != nil {
					return nil, err
				}
				s.Set(fmt.Sprint("met ", v.policy, v.slots), r.met())
				s.Set(fmt.Sprint("end ", v.policy, v.slots), r.last())
				if v.policy != basePolicy {
					continue
				}
				s.Set("tasks", r.each)
				s.Set("relaxed met", relaxed.met())
				for i, m := range thesisJobs {
					s.Set(m.name, r.Ends[i])
					s.Set(m.name+" sooner", relaxed.Ends[i]-r.Ends[i])
				}
			}
			s.Set("before fair", s.Of("end fair4")-s.Of(fmt.Sprint("end ", basePolicy, Slots)))
			return s, nil
		},
		Claims: []paper.Claim{
			{Where: "fig. 4.7", Says: "makespan", Unit: "s", Published: paper.Between(4614*0.95, 4614*1.05),
				Figure: fmt.Sprint("end ", basePolicy, Slots), Agrees: paper.Between(4614*0.95, 4614*1.05)},
			{Where: "table 4.1", Says: "goals met, of 9", Published: paper.Exactly(7),
				Figure: fmt.Sprint("met ", basePolicy, Slots), Agrees: paper.Between(6, 9),
				Why: "with the fitted lengths the Select jobs take longer than in the thesis. RAS raises the lowest " +
					"utility, so a job whose goal is far has its part beyond what it needs, and a job without a " +
					"completed map requires all that it has; the three Select jobs miss for that. Earliest deadline " +
					"first, below, gives all to the first goal: it meets more goals and takes longer in all"},
			{Where: "table 4.1", Says: "goals that the run with relaxed goals would have met",
				Published: paper.Exactly(5),
				Figure:    "relaxed met", Agrees: paper.Between(2, 6), Why: "as for the goals met"},
			{Where: "table 4.1", Says: "J1 ends sooner than with relaxed goals by", Unit: "s",
				Published: paper.Exactly(95),
				Figure:    "J1 sooner", Agrees: paper.Above(0)},
			{Where: "table 4.1", Says: "J8 ends sooner than with relaxed goals by", Unit: "s",
				Published: paper.Exactly(305), Figure: "J8 sooner", Agrees: paper.Above(0)},
			{Where: "table 4.1", Says: "J7 ends later than with relaxed goals: sooner by", Unit: "s",
				Published: paper.Exactly(-78), Figure: "J7 sooner", Agrees: paper.AtMost(0)},
			{Where: "4.3.3", Says: "best static Fair ends later than RAS by", Unit: "s", Published: paper.Exactly(167),
				Figure: "before fair", Agrees: paper.Above(0)},
			{Where: "reference simulator", Says: "makespan of RAS", Unit: "s", Published: paper.Exactly(4550),
				Figure: fmt.Sprint("end ", basePolicy, Slots), Agrees: around(4550)},
			{Where: "4.3.3", Says: "tasks a worker", Figure: "tasks", Own: true},
		},
	}
	for _, v := range rivals {
		name := fmt.Sprintf("`%s`, %d slots", v.policy, v.slots)
		if v.slots == Slots {
			name = fmt.Sprintf("`%s`, without slots", v.policy)
		}
		p.Claims = append(p.Claims,
			paper.Claim{Where: "own", Says: "goals met by " + name, Own: true,
				Figure: fmt.Sprint("met ", v.policy, v.slots)},
			paper.Claim{Where: "own", Says: "makespan of " + name, Unit: "s",
				Figure: fmt.Sprint("end ", v.policy, v.slots),
				Own:    true})
	}
	for _, m := range thesisJobs {
		p.Claims = append(p.Claims, paper.Claim{Where: "table 4.1",
			Says: fmt.Sprintf("%s (%s) ends at", m.name, m.app.Name),
			Unit: "s", Published: paper.Between(m.end*0.9, m.end*1.1), Figure: m.name,
			Agrees: paper.Between(m.end*0.8, m.end*1.2), Why: "lengths of maps are fitted to makespans, not to jobs"})
	}
	for _, m := range thesisJobs {
		p.Claims = append(p.Claims, paper.Claim{Where: "reference simulator", Says: m.name + " ends at", Unit: "s",
			Published: paper.Exactly(m.again), Figure: m.name, Agrees: around(m.again)})
	}
	return p
}
