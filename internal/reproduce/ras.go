package reproduce

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

func ras() *Paper {
	return &Paper{
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
		Parts: []Part{rasRelaxed(), rasTight()},
		Left: []Left{
			{"fig. 4.5", "CPU time spent waiting for I/O is clearly higher under Fair", "the simulator has no " +
				"wait of a processor: contention is one factor for all resources"},
			{"fig. 4.6, 4.9", "utilities are balanced over the jobs", "no numbers are given; `sojourn record " +
				"explain` shows the order of utilities of a run"},
			{"fig. 4.4", "fewer tasks run than under Fair at almost any time", "the figure counts reduces; the " +
				"averages of maps stand above"},
			{"4.3.1", "reduces", "their number and lengths are not stated: maps run alone here"},
		},
	}
}

// A rasApp is an application of table 4.2: what a map uses, in percent of a node.
type rasApp struct {
	name            string
	cpu, io, memory int64
}

// profile returns what a map of the application uses.
func (a rasApp) profile() *sched.Profile {
	p := &sched.Profile{}
	p.Phases[sched.PhaseMap] = sched.Resources{
		sched.VCores: a.cpu, sched.DiskIO: a.io * 10_000, sched.Memory: a.memory,
	}
	return p
}

var (
	rasSort    = rasApp{"Sort", 30, 45, 25}
	rasCombine = rasApp{"Combine", 25, 10, 10}
	rasSelect  = rasApp{"Select", 15, 20, 10}
)

// rasMix is the jobs of table 4.1 in order of submission: maps of 64 MB, and the goals of experiment 2 since the start,
// in seconds. The lengths of maps on a node that nothing loads are fitted (docs/spec/ras.md, 5).
var rasMix = []struct {
	name   string
	app    rasApp
	maps   int
	submit float64
	length float64
	goal   float64
	end    float64 // published end in experiment 2
	again  float64 // its end in an independent simulator of the same workload
}{
	{"J1", rasSort, 1440, 0, 69, 3000, 3018, 3250},
	{"J2", rasCombine, 80, 100, 500, 850, 896, 795},
	{"J3", rasSelect, 160, 200, 200, 1250, 802, 1580},
	{"J4", rasSelect, 400, 350, 70, 1100, 550, 1420},
	{"J5", rasSelect, 80, 500, 50, 950, 560, 1010},
	{"J6", rasCombine, 208, 600, 250, 2600, 2589, 2680},
	{"J7", rasCombine, 800, 1100, 250, 6000, 4614, 4550},
	{"J8", rasSort, 304, 2500, 44, 3400, 3365, 3395},
	{"J9", rasSort, 96, 3750, 83, 4250, 4141, 4185},
}

const (
	rasScale   = 0.18 // of the fitted lengths
	rasWorkers = 20
	rasPolicy  = "ras:trigger=off,rounds=3"
)

// rasContention is fitted, too.
var rasContention = sim.Contention{Slope: 2.7, Power: 1.5}

// rasJobs makes the jobs; relaxed ones have goals that they cannot miss.
func rasJobs(relaxed bool) (jobs []*sched.JobSpec) {
	for _, m := range rasMix {
		at := sched.Time(m.submit * 1e9)
		j := jobOf(m.name, at, theory.SlotJob{Maps: m.maps, MapTime: m.length * rasScale}, [2][]workload.Task{})
		j.Deadline = sched.Time(m.goal*1e9) - at
		if relaxed {
			j.Deadline = 1000 * time.Hour
		}
		j.Stages[0].Prior = 0
		j.Profile = m.app.profile()
		jobs = append(jobs, j)
	}
	return jobs
}

// A rasRun is what one run came to.
type rasRun struct {
	*outcome
	each float64 // tasks that ran on a worker on average
}

// A rasCase is one run: a policy with a number of slots a worker.
type rasCase struct {
	policy    string
	slots     int
	relaxed   bool       // goals that cannot be missed
	heartbeat sched.Time // of workers; zero: they are served at once
}

// rasHeartbeat is Hadoop's for small clusters (mapreduce.jobtracker.heartbeat.interval.min).
const rasHeartbeat = 3 * time.Second

// run runs the jobs.
func (c rasCase) run(ctx context.Context) (*rasRun, error) {
	held := &running{}
	set := setting{
		cluster:   clusterOf("nodes=%d,map-slots=%d,vcores=100,memory=100MiB", rasWorkers, c.slots),
		jobs:      rasJobs(c.relaxed),
		costs:     sim.Costs{Contention: rasContention, Reporting: sim.Reporting{Heartbeat: c.heartbeat}},
		estimator: "mean",
		watch:     held,
	}
	o, err := set.under(ctx, c.policy)
	if err != nil {
		return nil, err
	}
	return &rasRun{o, held.sum / o.last() / rasWorkers}, nil
}

// last returns when the last job ends.
func (o *outcome) last() (end float64) {
	for _, e := range o.ends {
		end = max(end, e)
	}
	return end
}

// met returns how many jobs meet the goals of experiment 2.
func (r *rasRun) met() (n float64) {
	for i, m := range rasMix {
		if r.ends[i] <= m.goal {
			n++
		}
	}
	return n
}

// running is how many tasks run, over time.
type running struct {
	view *sched.View
	at   sched.Time
	now  float64
	sum  float64 // task-seconds
}

// Attach implements record.Follower.
func (r *running) Attach(v *sched.View) { r.view = v }

// Record implements sched.Recorder.
func (r *running) Record(now sched.Time, _ []sched.Event, _ []sched.Action) {
	r.sum += r.now * (now - r.at).Seconds()
	r.at, r.now = now, float64(r.view.Queues[0].Running())
}

// rasReference are the makespans of Fair with 1 to 8 slots a worker in an independent simulator of the same workload,
// in seconds. It has steps of 5 s, and no heartbeats.
var rasReference = [...]float64{8255, 5630, 4985, 4775, 5230, 5515, 5890, 6195}

// around is what is within 5 % of a makespan.
func around(end float64) Range { return Range{0.95 * end, 1.05 * end} }

// rasSlots is enough that slots bound nothing.
const rasSlots = 100

func rasRelaxed() Part {
	p := Part{
		Title: "Experiment 1: relaxed goals (4.3.2)", Trials: 1,
		How: "Nine jobs on 20 workers. `fair` with 1 to 8 map slots a worker, and `" + rasPolicy + "`, which " +
			"places by profiles and has no slots. Nodes report every 3 s, as Hadoop's do. The goals are so far away " +
			"that they order nothing. The run has no chance in it.",
		Reading: "Too few slots leave nodes idle, too many make tasks hinder each other. RAS needs no such " +
			"number: it stops where a resource is used up, and mixes tasks that use different ones. A part of its " +
			"lead comes from the heartbeats: where nodes report at once, Fair's tasks happen to mix nearly as well.",
		Trial: func(ctx context.Context, _ Lab, _ uint64) (Sample, error) {
			s := Sample{}
			best, worst, at := math.Inf(1), 0.0, 0
			atOnce := math.Inf(1) // the best makespan without heartbeats
			for k := 1; k <= 8; k++ {
				r, err := rasCase{"fair", k, true, rasHeartbeat}.run(ctx)
				if err != nil {
					return nil, err
				}
				end := r.last()
				s.set(fmt.Sprint("fair ", k), end)
				if worst = max(worst, end); end < best {
					best, at = end, k
					s.set("tasks fair", r.each)
				}
				if r, err = (rasCase{"fair", k, true, 0}).run(ctx); err != nil {
					return nil, err
				}
				atOnce = min(atOnce, r.last())
			}
			var runs []*rasRun
			for _, c := range []rasCase{
				{rasPolicy, rasSlots, true, rasHeartbeat},
				{rasPolicy + ",candidates=literal", rasSlots, true, rasHeartbeat},
				{"ras", rasSlots, true, rasHeartbeat},
				{rasPolicy, rasSlots, true, 0},
			} {
				r, err := c.run(ctx)
				if err != nil {
					return nil, err
				}
				runs = append(runs, r)
			}
			own := runs[0]
			s.set("ras", own.last())
			s.set("literal", runs[1].last())
			s.set("default", runs[2].last())
			s.set("at once", gain(atOnce, runs[3].last()))
			s.set("best k", float64(at))
			s.set("fewest", gain(s.of("fair 1"), best))
			s.set("most", gain(s.of("fair 8"), best))
			s.set("behind", gain(best, own.last()))
			s.set("worst", gain(worst, own.last()))
			s.set("tasks", own.each)
			s.set("fewer", s.of("tasks fair")-own.each)
			s.set("met", own.met())
			return s, nil
		},
		Claims: []Claim{
			{Where: "fig. 4.3", Says: "slots a worker with which Fair is fastest", Published: exactly(4),
				Figure: "best k", Agrees: Range{3, 5}},
			{Where: "fig. 4.3", Says: "one slot: longer than the best by (U shape)", Unit: "%", Published: above(0),
				Figure: "fewest", Agrees: atLeast(10)},
			{Where: "fig. 4.3", Says: "eight slots: longer than the best by (U shape)", Unit: "%",
				Published: above(0), Figure: "most", Agrees: atLeast(10)},
			{Where: "fig. 4.3", Says: "makespan of RAS", Unit: "s", Published: Range{4536 * 0.95, 4536 * 1.05},
				Figure: "ras", Agrees: Range{4536 * 0.95, 4536 * 1.05}},
			{Where: "4.3.2", Says: "best static Fair: longer than RAS by", Unit: "%", Published: Range{5, 5.4},
				Figure: "behind", Agrees: above(2)},
			{Where: "4.3.2", Says: "worst static Fair: longer than RAS by", Unit: "%", Published: exactly(100),
				Figure: "worst", Agrees: atLeast(50), Why: "the thesis rounds, and its figure is a picture"},
			{Where: "4.3.2", Says: "tasks a worker under RAS", Published: exactly(3.4), Figure: "tasks",
				Agrees: Range{3, 4}, Why: "reduces are not simulated"},
			{Where: "4.3.2", Says: "tasks a worker that Fair at its best runs more", Published: above(0),
				Figure: "fewer", Agrees: above(0)},
			{Where: "reference simulator", Says: "makespan of RAS", Unit: "s", Published: exactly(4500), Figure: "ras",
				Agrees: around(4500)},
			{Where: "reference simulator", Says: "makespan of RAS with the listing's choice of candidates", Unit: "s",
				Published: exactly(4495), Figure: "literal", Agrees: around(4495)},
			{Where: "own", Says: "makespan of RAS with its defaults, which place anew when a job comes or ends too",
				Unit: "s", Figure: "default", Own: true},
			{Where: "own", Says: "best static Fair: longer than RAS by, if nodes report at once", Unit: "%",
				Figure: "at once", Own: true},
		},
		Charts: []Picture{{"ras-slots", "Makespan by slots a worker; RAS has none", func(samples []Sample) chart.Chart {
			fair, own := chart.Line{Name: "fair"}, chart.Line{Name: "ras"}
			for k := 1; k <= 8; k++ {
				fair.Points = append(fair.Points, point(samples, float64(k), fmt.Sprint("fair ", k)))
				own.Points = append(own.Points, point(samples, float64(k), "ras"))
			}
			said := chart.Line{Name: "RAS in the thesis", Manner: chart.Given, Points: []chart.Point{{X: 4, Y: 4536}}}
			return chart.Chart{
				X: chart.Axis{Label: "map slots a worker"}, Y: chart.Axis{Label: "makespan (s)"},
				Lines: []chart.Line{fair, own, said},
			}
		}}},
	}
	for i, end := range rasReference {
		p.Claims = append(p.Claims, Claim{Where: "reference simulator", Unit: "s", Figure: fmt.Sprint("fair ", i+1),
			Says: fmt.Sprintf("makespan of Fair with %d slots", i+1), Published: exactly(end), Agrees: around(end)})
	}
	return p
}

// rasRivals are the policies whose goals met are counted, with the slots a worker that they run on.
var rasRivals = []struct {
	policy string
	slots  int
}{
	{"fair", 4}, {"edf", 4}, {"adaptive", 4}, {"edf", rasSlots}, {rasPolicy, rasSlots},
	{rasPolicy + ",waves=on", rasSlots}, {"ras", rasSlots},
}

func rasTight() Part {
	p := Part{
		Title: "Experiment 2: tight goals (4.3.3)", Trials: 1,
		How: "The jobs of experiment 1 with the goals of table 4.1. Besides `fair` with four slots a worker, " +
			"other policies that know goals run on four slots. Earliest deadline first runs without slots as well.",
		Reading: "Goals move capacity from J7, which has most time, to J1 and J8. When single jobs end hangs on " +
			"the lengths of maps, which the thesis does not state.",
		Trial: func(ctx context.Context, _ Lab, _ uint64) (Sample, error) {
			s := Sample{}
			relaxed, err := rasCase{rasPolicy, rasSlots, true, rasHeartbeat}.run(ctx)
			if err != nil {
				return nil, err
			}
			for _, v := range rasRivals {
				r, err := rasCase{v.policy, v.slots, false, rasHeartbeat}.run(ctx)
				if err != nil {
					return nil, err
				}
				s.set(fmt.Sprint("met ", v.policy, v.slots), r.met())
				s.set(fmt.Sprint("end ", v.policy, v.slots), r.last())
				if v.policy != rasPolicy {
					continue
				}
				s.set("tasks", r.each)
				s.set("relaxed met", relaxed.met())
				for i, m := range rasMix {
					s.set(m.name, r.ends[i])
					s.set(m.name+" sooner", relaxed.ends[i]-r.ends[i])
				}
			}
			s.set("before fair", s.of("end fair4")-s.of(fmt.Sprint("end ", rasPolicy, rasSlots)))
			return s, nil
		},
		Claims: []Claim{
			{Where: "fig. 4.7", Says: "makespan", Unit: "s", Published: Range{4614 * 0.95, 4614 * 1.05},
				Figure: fmt.Sprint("end ", rasPolicy, rasSlots), Agrees: Range{4614 * 0.95, 4614 * 1.05}},
			{Where: "table 4.1", Says: "goals met, of 9", Published: exactly(7),
				Figure: fmt.Sprint("met ", rasPolicy, rasSlots), Agrees: Range{6, 9},
				Why: "with the fitted lengths the Select jobs take longer than in the thesis. RAS raises the lowest " +
					"utility, so a job whose goal is far has its part beyond what it needs, and a job without a " +
					"completed map requires all that it has; the three Select jobs miss for that. Earliest deadline " +
					"first, below, gives all to the first goal: it meets more goals and takes longer in all"},
			{Where: "table 4.1", Says: "goals that the run with relaxed goals would have met", Published: exactly(5),
				Figure: "relaxed met", Agrees: Range{2, 6}, Why: "as for the goals met"},
			{Where: "table 4.1", Says: "J1 ends sooner than with relaxed goals by", Unit: "s", Published: exactly(95),
				Figure: "J1 sooner", Agrees: above(0)},
			{Where: "table 4.1", Says: "J8 ends sooner than with relaxed goals by", Unit: "s",
				Published: exactly(305), Figure: "J8 sooner", Agrees: above(0)},
			{Where: "table 4.1", Says: "J7 ends later than with relaxed goals: sooner by", Unit: "s",
				Published: exactly(-78), Figure: "J7 sooner", Agrees: atMost(0)},
			{Where: "4.3.3", Says: "best static Fair ends later than RAS by", Unit: "s", Published: exactly(167),
				Figure: "before fair", Agrees: above(0)},
			{Where: "reference simulator", Says: "makespan of RAS", Unit: "s", Published: exactly(4550),
				Figure: fmt.Sprint("end ", rasPolicy, rasSlots), Agrees: around(4550)},
			{Where: "4.3.3", Says: "tasks a worker", Figure: "tasks", Own: true},
		},
	}
	for _, v := range rasRivals {
		name := fmt.Sprintf("`%s`, %d slots", v.policy, v.slots)
		if v.slots == rasSlots {
			name = fmt.Sprintf("`%s`, without slots", v.policy)
		}
		p.Claims = append(p.Claims,
			Claim{Where: "own", Says: "goals met by " + name, Own: true,
				Figure: fmt.Sprint("met ", v.policy, v.slots)},
			Claim{Where: "own", Says: "makespan of " + name, Unit: "s", Figure: fmt.Sprint("end ", v.policy, v.slots),
				Own: true})
	}
	for _, m := range rasMix {
		p.Claims = append(p.Claims, Claim{Where: "table 4.1", Says: fmt.Sprintf("%s (%s) ends at", m.name, m.app.name),
			Unit: "s", Published: Range{m.end * 0.9, m.end * 1.1}, Figure: m.name,
			Agrees: Range{m.end * 0.8, m.end * 1.2}, Why: "lengths of maps are fitted to makespans, not to jobs"})
	}
	for _, m := range rasMix {
		p.Claims = append(p.Claims, Claim{Where: "reference simulator", Says: m.name + " ends at", Unit: "s",
			Published: exactly(m.again), Figure: m.name, Agrees: around(m.again)})
	}
	return p
}
