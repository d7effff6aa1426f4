package ltyarn

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
	"github.com/sojourn-sched/sojourn/internal/reproduce/testbed"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/theory/reference"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// The cluster of the thesis: 9 nodes of 24 GB, in containers of 2 GB. A MiB more of each node is for what only waits.
const (
	containerMiB = 2048
	nodeMiB      = 12 * containerMiB
	containers   = 108
	pauseMiB     = 1
	looks        = 10 // seconds between two points of a curve
)

// queueNames are the four queues, a workload each.
var queueNames = []string{"facebook", "purdue", "spark", "tpch"}

// facebookBins are table 5.3: maps, reduces, jobs.
var facebookBins = [][3]int{
	{
		1,
		0,
		38,
	}, {2, 0, 18}, {10, 2, 14}, {50, 0, 10}, {100, 10, 6}, {200, 0, 6}, {400, 0, 4}, {400, 30, 2}, {800, 60, 2},
}

// A chain is a job of stages that run one after the other, each of so many tasks of about so many seconds. A stage of
// no tasks is a pause.
type chain []struct {
	tasks   int
	seconds float64
}

// job makes the job of a chain for a queue.
func (c chain) job(queue string, submit float64, chance *rand.Rand) *sched.JobSpec {
	j := &sched.JobSpec{Name: queue, Queue: queue, Submit: sched.Time(submit * 1e9)}
	truth := &workload.Truth{}
	for i, st := range c {
		spec := sched.StageSpec{
			PerTask: sched.Resources{sched.Memory: containerMiB}, Tasks: int32(max(1, st.tasks)),
			MaxAttempts: sched.DefaultMaxAttempts, Prior: sched.Time(st.seconds * 1e9),
		}
		if st.tasks == 0 {
			spec.PerTask[sched.Memory] = pauseMiB
		}
		if i > 0 {
			spec.After = []sched.Dep{{Stage: int32(i - 1), Part: 1}}
		}
		var list []workload.Task
		for range spec.Tasks {
			took := st.seconds
			if st.tasks > 0 {
				took *= math.Exp(0.3*chance.NormFloat64() - 0.045)
			}
			list = append(list, workload.Task{Compute: sched.Time(took * 1e9)})
		}
		j.Stages = append(j.Stages, spec)
		truth.Stages = append(truth.Stages, workload.StageTruth{Tasks: spec.Tasks, Base: spec.Prior, List: list})
	}
	j.Payload = truth
	return j
}

// An unknown is what of the workloads was not published: seconds between Facebook's jobs on average, seconds of the
// maps of Purdue, of the tasks of TPC-H's queries and of Spark's jobs, and tasks of a stage of the latter.
type unknown struct{ interval, purdue, tpch, spark, parallel float64 }

// assumed is what the evaluation assumes of it.
var assumed = unknown{interval: 33, purdue: 45, tpch: 20, spark: 18, parallel: 54}

// jobs makes the jobs of a trial.
func (u unknown) jobs(seed uint64) (jobs []*sched.JobSpec) {
	chance := rand.New(rand.NewPCG(seed, 108))
	var facebook []chain
	for _, bin := range facebookBins {
		for range bin[2] {
			c := chain{{bin[0], 11}}
			if bin[1] > 0 {
				c = append(c, chain{{bin[1], 11}}...)
			}
			facebook = append(facebook, c)
		}
	}
	chance.Shuffle(len(facebook), func(i, k int) { facebook[i], facebook[k] = facebook[k], facebook[i] })
	at := 0.0
	for _, c := range facebook {
		at += u.interval * chance.ExpFloat64()
		jobs = append(jobs, c.job("facebook", at, chance))
	}
	for i := range 5 {
		jobs = append(jobs, chain{{320, u.purdue}, {27, u.purdue * 4 / 3}}.job("purdue", 20+180*float64(i), chance))
	}
	var tpch, spark chain
	for range 20 {
		tpch = append(tpch, chain{{160, u.tpch}, {40, u.tpch}}...)
		spark = append(spark, chain{{int(u.parallel), u.spark}, {int(u.parallel), u.spark}, {0, 120}}...)
	}
	jobs = append(jobs, tpch.job("tpch", 25, chance), spark.job("spark", 25, chance))
	slices.SortStableFunc(jobs, func(a, b *sched.JobSpec) int { return int((a.Submit - b.Submit) / 1000) })
	return jobs
}

// fourQueues is the setting of a trial; apart: each queue has a quarter and no more.
func fourQueues(jobs []*sched.JobSpec, seed uint64, apart bool) testbed.Setting {
	cluster := testbed.ClusterOf("nodes=9,memory=%dMiB", nodeMiB+8*pauseMiB)
	cluster.Queues = nil
	for _, name := range queueNames {
		q := &sched.QueueSpec{Name: name, Policy: "fifo"}
		if apart {
			q.Max.Amount[sched.Memory] = containers / 4 * containerMiB
		}
		cluster.Queues = append(cluster.Queues, q)
	}
	return testbed.Setting{Cluster: cluster, Jobs: jobs, Seed: seed}
}

// A sharing follows a run and measures what queues get by sharing, every few seconds.
type sharing struct {
	view        *sched.View
	last, next  sched.Time
	used, alone [4]float64
	now         [4][2]float64 // what they hold, and would hold alone
	betas       [4][]float64
	omega, psi  []float64
	quantum     float64 // assumed run time of a task, in seconds; 0: the mean of the finished ones
	finished    [2]float64
	assumed     []float64 // what facebook is counted for, in seconds of the whole cluster
	done        float64   // of that, by tasks that have ended
}

// Attach implements record.Follower.
func (s *sharing) Attach(v *sched.View) { s.view = v }

// Record implements sched.Recorder.
func (s *sharing) Record(now sched.Time, events []sched.Event, _ []sched.Action) {
	for s.next <= now {
		s.settle(s.next)
		s.look()
		s.next += looks * 1e9
	}
	s.settle(now)
	for i := range events {
		if e := &events[i]; e.Kind == sched.AttemptDone {
			if a := s.view.Attempt(e.Attempt); a != nil && a.Stage.Job.Spec.Queue == "facebook" {
				took := (now - a.Start).Seconds()
				s.finished[0], s.finished[1] = s.finished[0]+took, s.finished[1]+1
				s.done += took
			}
		}
	}
	for i, name := range queueNames {
		if q, ok := s.view.QueueNamed(name); ok {
			held, wants := float64(q.Used[sched.Memory]/containerMiB), float64(q.Demand[sched.Memory]/containerMiB)
			s.now[i] = [2]float64{held, min(wants, containers/4)}
		}
	}
}

func (s *sharing) settle(now sched.Time) {
	passed := (now - s.last).Seconds()
	for i, n := range s.now {
		s.used[i] += n[0] * passed
		s.alone[i] += n[1] * passed
	}
	s.last = now
}

// look takes a point of each curve.
func (s *sharing) look() {
	var betas []float64
	for i := range s.now {
		b := theory.Benefit(s.used[i], s.alone[i])
		betas = append(betas, b)
		s.betas[i] = append(s.betas[i], b)
	}
	s.omega, s.psi = append(s.omega, theory.SharingLoss(betas)), append(s.psi, theory.SharingBenefit(betas))
	quantum := s.quantum
	if quantum == 0 && s.finished[1] > 0 {
		quantum = s.finished[0] / s.finished[1]
	}
	sum := s.done
	for j := range s.view.Jobs() {
		if j.Spec.Queue != "facebook" {
			continue
		}
		for _, st := range j.Stages {
			for a := range s.view.Attempts(st) {
				task := reference.TaskSpan{Start: a.Start.Seconds(), Started: true}
				sum += task.AssumedTime(s.last.Seconds(), 0, quantum)
			}
		}
	}
	s.assumed = append(s.assumed, sum/containers)
}

// lossEnds is when Ω was below a hundredth for the last time, in seconds.
func (s *sharing) lossEnds() float64 {
	for i, o := range slices.Backward(s.omega) {
		if o < -0.01 {
			return float64(i+1) * looks
		}
	}
	return 0
}

// fall is by how much what facebook is counted for fell most from one look to the next.
func (s *sharing) fall() (most float64) {
	for i := 1; i < len(s.assumed); i++ {
		most = max(most, s.assumed[i-1]-s.assumed[i])
	}
	return most
}

// runFour runs the workloads under a policy, and returns when each queue's last job ended, in seconds.
func runFour(ctx context.Context, set testbed.Setting, spec string, watch *sharing) (map[string]float64, error) {
	set.Watch = watch
	o, err := set.Under(ctx, spec)
	if err != nil {
		return nil, err
	}
	ends := map[string]float64{}
	for i, j := range set.Jobs {
		ends[j.Queue] = max(ends[j.Queue], o.Ends[i])
	}
	return ends, nil
}

func workloadsPart() paper.Part {
	p := paper.Part{
		Title: "Four workloads", Trials: 12,
		How: "108 containers of 2 GB on 9 nodes, four equal queues. *Facebook*: the 100 jobs of table 5.3 in " +
			"random order, one every 33 s on average, tasks of 11 s. " +
			"*Purdue*: five jobs of 320 maps of 45 s and 27 reduces of 60 s, one every 3 min. *TPC-H*: 20 " +
			"queries of 160 maps and 40 reduces of 20 s, one after the other. " +
			"*Spark*: 20 jobs of two stages of 54 tasks of 18 s, each 2 min after the one before has ended. " +
			"Task times vary by 30 %. Ours, because they were not published, are the numbers of tasks of the last " +
			"three, how long their tasks run, how much task times vary, and the time between Facebook's jobs. " +
			"Against a static partition into quarters, and against `" +
			memoryless + "` (memoryless). LTRF is `" + remembers + "`. " +
			"Ω counts as 0 above -0.01, and is looked at every 10 s. A gain in per cent is the baseline's time to a " +
			"queue's last job over ours, less one.",
		Charts: []paper.Picture{
			{File: "ltyarn-omega", Caption: "Loss of sharing Ω over time, the first seed: 0 is no loss",
				Draw: func(s []paper.Sample) chart.Chart {
					return chart.Chart{
						X: chart.Axis{Label: "time (s)"}, Y: chart.Axis{Label: "Ω"},
						Lines: []chart.Line{
							curve(s, "memoryless", "mlrf omega curve", looks),
							curve(s, "LTRF", "ltrf omega curve", looks),
						},
					}
				}},
			{
				File:    "ltyarn-beta",
				Caption: "β of each queue over time under LTRF, the first seed",
				Draw:    func(s []paper.Sample) chart.Chart { return betaChart(s, "ltrf") },
			},
			{
				File:    "ltyarn-beta-memoryless",
				Caption: "The same under memoryless fairness",
				Draw:    func(s []paper.Sample) chart.Chart { return betaChart(s, "mlrf") },
			},
		},
		Reading: "Both lose at first, because containers are held by the queue that came first; that is granularity, " +
			"and no policy without preemption avoids it. LTRF repairs it, and what a queue has lost later as well.",
		Trial: func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
			s := paper.Sample{}
			static, err := runFour(ctx, fourQueues(assumed.jobs(seed), seed, true), memoryless, &sharing{})
			if err != nil {
				return nil, err
			}
			ends := map[string]map[string]float64{}
			for name, spec := range map[string]string{"mlrf": memoryless, "ltrf": remembers} {
				w := &sharing{}
				if ends[name], err = runFour(ctx, fourQueues(assumed.jobs(seed), seed, false), spec, w); err != nil {
					return nil, err
				}
				s.Set(name+" loss ends", w.lossEnds())
				s.Set(name+" omega", paper.Mean(w.omega))
				s.Set(name+" omega worst", slices.Min(w.omega))
				s.Set(name+" omega last", w.omega[len(w.omega)-1])
				s.Set(name+" psi", w.psi[len(w.psi)-1])
				s.Set(name+" omega curve", w.omega...)
				for i, q := range queueNames {
					s.Set(name+" beta "+q, w.betas[i]...)
				}
				for _, q := range queueNames {
					s.Set(name+" "+q, paper.Gain(static[q], ends[name][q]))
				}
			}
			s.Set("loss ends later", s.Of("mlrf loss ends")-s.Of("ltrf loss ends"))
			s.Set("loss part", s.Of("ltrf omega")/s.Of("mlrf omega"))
			for _, q := range queueNames {
				s.Set("ltrf over mlrf "+q, paper.Gain(ends["mlrf"][q], ends["ltrf"][q]))
			}
			return s, nil
		},
	}
	ours := "arrivals, task times and numbers of tasks of three workloads are ours; *What was not published* draws " +
		"them at random and says on what the row depends, and *By the letter* holds the policy against the thesis' " +
		"own engine"
	p.Claims = []paper.Claim{
		{
			Where:     "Fig. 5.5",
			Says:      "LTRF: Ω is 0 from this instant on",
			Published: paper.Exactly(650),
			Unit:      "s",
			Figure:    "ltrf loss ends",
			Agrees:    paper.AtMost(1300), // twice what was published
			Why:       ours,
		},
		{
			Where:     "Fig. 5.5",
			Says:      "LTRF: Ω at the end",
			Published: paper.Exactly(0),
			Figure:    "ltrf omega last",
			Agrees:    paper.Between(-0.01, 0),
			Why:       ours,
		},
		{
			Where:  "Fig. 5.5",
			Says:   "memoryless: Ω is 0 from this instant on (never, in print)",
			Unit:   "s",
			Figure: "mlrf loss ends",
			Own:    true,
		},
		{
			Where:  "Fig. 5.5",
			Says:   "that is later than under LTRF by",
			Unit:   "s",
			Figure: "loss ends later",
			Agrees: paper.AtLeast(600),
		},
		{
			Where: "Fig. 5.5", Says: "memoryless: Ω on average", Published: paper.Exactly(-0.5),
			Figure: "mlrf omega", Agrees: paper.AtMost(-0.05),
			Why: "the size depends on how often workloads start from nothing against long tasks of others; " + ours,
		},
		{Where: "Fig. 5.5", Says: "LTRF: Ω on average", Figure: "ltrf omega", Own: true},
		{
			Where: "Fig. 5.5", Says: "that is of memoryless Ω", Unit: "×", Figure: "loss part", Own: true,
			Agrees: paper.AtMost(0.75),
		},
		{Where: "Fig. 5.5", Says: "LTRF: Ω at its worst, early", Figure: "ltrf omega worst", Own: true},
		{Where: "Fig. 5.5", Says: "LTRF: Ψ at the end", Figure: "ltrf psi", Own: true},
		{Where: "Fig. 5.5", Says: "memoryless: Ψ at the end", Figure: "mlrf psi", Own: true},
	}
	for _, r := range []struct {
		name, says, queue string
		published, agrees paper.Range
	}{
		{"mlrf", "memoryless over partitions", "facebook", paper.Between(14, 19), paper.Above(0)},
		{"mlrf", "memoryless over partitions", "purdue", paper.Between(14, 19), paper.Above(0)},
		{"mlrf", "memoryless over partitions", "spark", paper.AtLeast(0), paper.AtLeast(-1)},
		{"mlrf", "memoryless over partitions", "tpch", paper.AtLeast(0), paper.AtLeast(-1)},
		{"ltrf", "LTRF over partitions", "facebook", paper.Between(10, 23), paper.Above(0)},
		{"ltrf", "LTRF over partitions", "purdue", paper.Between(10, 23), paper.Above(0)},
		{"ltrf", "LTRF over partitions", "spark", paper.AtLeast(0), paper.AtLeast(-1)},
		{"ltrf", "LTRF over partitions", "tpch", paper.AtLeast(0), paper.AtLeast(-1)},
		{"ltrf over mlrf", "LTRF over memoryless", "facebook", paper.Exactly(-7), paper.AtMost(0)},
		{"ltrf over mlrf", "LTRF over memoryless", "purdue", paper.Exactly(8), paper.AtLeast(0)},
		{"ltrf over mlrf", "LTRF over memoryless", "spark", paper.Exactly(-2), paper.AtMost(0)},
		{"ltrf over mlrf", "LTRF over memoryless", "tpch", paper.Exactly(10), paper.AtLeast(0)},
	} {
		p.Claims = append(p.Claims, paper.Claim{
			Where: "Fig. 5.6", Says: fmt.Sprintf("%s: %s, time to its last job", r.says, r.queue),
			Published: r.published,
			Unit:      "%",
			Figure:    r.name + " " + r.queue, Agrees: r.agrees, Why: "as for Fig. 5.5: " + ours,
		})
	}
	return p
}

func betaChart(samples []paper.Sample, name string) chart.Chart {
	c := chart.Chart{X: chart.Axis{Label: "time (s)"}, Y: chart.Axis{Label: "β", Least: 0, Most: 4}}
	for _, q := range queueNames {
		c.Lines = append(c.Lines, curve(samples, q, name+" beta "+q, looks))
	}
	return c
}

func quantumPart() paper.Part {
	return paper.Part{
		Title: "The quantum", Trials: 12,
		How: "The four workloads under LTRF. Tasks are assumed to run for 600 s until they end (fixed), or for that " +
			"until something is known, and then for the mean of the finished tasks of their job or queue (adaptive). " +
			"What Facebook is counted for is looked at every 10 s, in seconds of the whole cluster.",
		Charts: []paper.Picture{{File: "ltyarn-quantum",
			Caption: "What Facebook is counted for with a fixed and an adaptive quantum, " +
				"the first seed", Draw: func(s []paper.Sample) chart.Chart {
				return chart.Chart{
					X: chart.Axis{Label: "time (s)"}, Y: chart.Axis{Label: "counted (s of the cluster)"},
					Lines: []chart.Line{
						curve(s, "fixed, 600 s", "fixed curve", looks),
						curve(s, "adaptive", "adaptive curve", looks),
					},
				}
			}}},
		Reading: "A task of 11 s that is assumed to take 600 s counts for 55 times what it uses until it ends. " +
			"The account jumps up with each burst and down after it, and turns are given by these jumps.",
		Claims: []paper.Claim{
			{
				Where: "Fig. 5.7", Says: "fixed: largest fall between two looks", Published: paper.Exactly(389),
				Unit: "s", Figure: "fixed fall", Agrees: paper.Above(100),
				Why: "the printed fall is within 11 s, and of another burst",
			},
			{Where: "Fig. 5.7", Says: "adaptive: smooth", Unit: "s", Figure: "adaptive fall", Agrees: paper.Below(20)},
			{Where: "Fig. 5.7", Says: "fixed: Ω on average", Figure: "fixed omega", Own: true},
			{Where: "Fig. 5.7", Says: "adaptive: Ω on average", Figure: "adaptive omega", Own: true},
			{
				Where:  "Fig. 5.7",
				Says:   "fixed: Ω is 0 from this instant on",
				Unit:   "s",
				Figure: "fixed loss ends",
				Own:    true,
			},
			{
				Where:  "Fig. 5.7",
				Says:   "adaptive: Ω is 0 from this instant on",
				Unit:   "s",
				Figure: "adaptive loss ends",
				Own:    true,
			},
		},
		Trial: func(ctx context.Context, _ paper.Lab, seed uint64) (paper.Sample, error) {
			s := paper.Sample{}
			for name, c := range map[string]struct {
				spec    string
				quantum float64
			}{
				"fixed":    {remembers + ",quantum=600s,adapt=off", 600},
				"adaptive": {remembers + ",quantum=600s", 0},
			} {
				w := &sharing{quantum: c.quantum}
				if _, err := runFour(ctx, fourQueues(assumed.jobs(seed), seed, false), c.spec, w); err != nil {
					return nil, err
				}
				s.Set(name+" fall", w.fall())
				s.Set(name+" omega", paper.Mean(w.omega))
				s.Set(name+" loss ends", w.lossEnds())
				s.Set(name+" curve", w.assumed...)
			}
			return s, nil
		},
	}
}
