package policy

import (
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/theory/goals"
	"github.com/sojourn-sched/sojourn/internal/theory/malleable"
	"github.com/sojourn-sched/sojourn/sched"
)

// flexDemand says what each stage wants, as a job of the theory: its work, its bounds, and what its completion costs.
type flexDemand struct {
	Sizes    sizes
	Finished sched.Per[average]   // by stage: times of tasks (with work=printed)
	Laws     sched.Per[goals.Law] // by stage: of its tasks (with certainty=law)

	metric   flexMetric
	printed  bool // work=printed: task times are the means of finished tasks
	elapsed  bool // what running tasks have run counts as done
	joint    bool // stages=joint: a stage is due earlier by the time of the later stages of its job
	workBase bool // stretch=work: stretch divides by the work of a job
	lawful   bool // certainty=law: a completion has the law of the estimate
	often    bool // each finished task is news (with work=printed)
	least    int  // slots that every job has at least
}

// A flexMetric makes penalties of facts.
type flexMetric struct {
	worst   bool
	penalty func(malleable.Facts) malleable.Penalty
}

func newFlexDemand(a Args, metric flexMetric) flexDemand {
	return flexDemand{
		Sizes:    newSizes(a),
		metric:   metric,
		printed:  a.Choice("work") == "printed",
		elapsed:  a.Choice("elapsed") == "on",
		joint:    a.Choice("stages") == "joint",
		workBase: a.Choice("stretch") == "work",
		lawful:   a.Choice("certainty") == "law",
		often:    a.Time("epoch") > 0,
		least:    a.Int("least"),
	}
}

// learn brings the times of tasks up to date with what happened at this instant, and reports whether there is news.
func (d *flexDemand) learn(p *sched.Plan) (news bool) {
	d.Sizes.learn(p)
	news = len(d.Sizes.news) > 0
	if !d.printed {
		return news
	}
	for i := range p.Events {
		e := &p.Events[i]
		if e.Kind != sched.AttemptDone || e.Outcome != sched.OK {
			continue
		}
		if a := p.Attempt(e.Attempt); a != nil {
			m := d.Finished.Of(a.Stage)
			m.add(p.Ran(a, p.Now))
			news = news || d.often || m.N&(m.N-1) == 0 // the number of tasks has doubled
		}
	}
	return news
}

// learnLaw asks the estimator for the law of the tasks of st, where completions have one.
func (d *flexDemand) learnLaw(p *sched.Plan, st *sched.Stage) {
	if d.lawful {
		e := p.Estimate(st, 0)
		*d.Laws.Of(st) = goals.Law{Mean: e.Mean.Seconds(), StdDev: e.StdDev.Seconds(), Samples: e.Samples}
	}
}

// mean returns the time of a task of st in seconds, and whether it is known.
func (d *flexDemand) mean(st *sched.Stage) (float64, bool) {
	if m := d.Finished.Of(st); d.printed && m.N > 0 {
		return m.Mean / 1e9, true
	}
	u := d.Sizes.Units.Of(st)
	return u.Time.Seconds(), u.Time > 0
}

// job returns the work, the bounds and the penalty of st as a job of the theory; without work: its task time is not
// known.
func (d *flexDemand) job(v *sched.View, l *slotLane, st *sched.Stage) (c malleable.Job) {
	each := l.each(v, st)
	left := int64(unfinished(st)) * each
	c.Max = int(max(1, min(left, int64(l.slots), d.mostOf(v, l, st))))
	c.Min = int(min(int64(c.Max), l.atLeast(v, st.Job.Spec.Min)))
	mean, known := d.mean(st)
	if !known {
		return c
	}
	c.Work = mean * float64(left)
	if d.elapsed {
		c.Work -= min(st.Elapsed(v.Now).Seconds(), mean*float64(st.Running)) * float64(each)
	}
	c.Work = max(c.Work, 1e-9*mean)
	c.Penalty = d.penalty(v, st, mean*float64(tasksOf(st))*float64(each)/float64(c.Max))
	if law := d.Laws.Of(st); d.lawful && law.Mean > 0 {
		c.Penalty.Spread, c.Penalty.Since = law.Spread(int(unfinished(st)))/law.Mean, v.Now.Seconds()
	}
	return c
}

// mostOf returns the slots that a stage may have by its job and its queues.
func (d *flexDemand) mostOf(v *sched.View, l *slotLane, st *sched.Stage) int64 {
	most := l.atMost(v, st.Job.Spec.Max)
	for q := v.Queues[st.Job.Queue]; q.ID != 0; q = v.Queues[q.Parent] {
		most = min(most, l.atMost(v, q.Max))
	}
	return most
}

// penalty returns what the job of st costs by the instant at which st completes; alone is the time that the stage takes
// by itself.
func (d *flexDemand) penalty(v *sched.View, st *sched.Stage, alone float64) malleable.Penalty {
	j, later := st.Job, 0.0
	if d.joint {
		all := 0.0
		for _, other := range j.Stages {
			if mean, known := d.mean(other); known && other.Kind != sched.Master {
				waves := math.Ceil(float64(other.Done+unfinished(other)) / max(1, atOnce(v, other)))
				all += mean * waves
				if other.ID.Index > st.ID.Index {
					later += mean * waves
				}
			}
		}
		alone = max(alone, all)
	}
	facts := malleable.Facts{
		Arrival:  j.Submitted.Seconds() - later,
		Base:     max(alone, 1e-9),
		Deadline: math.Inf(1),
		Weight:   j.Weight,
	}
	if d.workBase {
		facts.Base = 1e-9
		for _, other := range j.Stages {
			if d.joint || other == st {
				facts.Base += d.Sizes.Units.Of(other).Seconds * float64(other.Done+unfinished(other))
			}
		}
	}
	if j.Spec.Deadline > 0 {
		facts.Deadline = (j.Submitted + j.Spec.Deadline).Seconds() - later
	}
	g := j.Spec.Goal
	if g == nil {
		return d.metric.penalty(facts)
	}
	if g.Weight > 0 {
		facts.Weight = g.Weight
	}
	for _, s := range g.Steps {
		facts.Steps = append(facts.Steps, malleable.Step{
			After: (j.Submitted + s.After).Seconds() - later,
			Cost:  s.Cost * facts.Weight,
		})
	}
	return d.goalOf(g, facts)
}

// atOnce returns how many tasks of st run at once alone on the cluster.
func atOnce(v *sched.View, st *sched.Stage) float64 {
	k := kindOf(st)
	if k == sched.MapSlots || k == sched.ReduceSlots {
		return float64(v.Capacity[k] / st.Spec.PerTask[k])
	}
	return math.Floor(1/max(st.Spec.PerTask.DominantShare(v.Capacity), 1.0/mostSlots) + 1e-9)
}

// goalOf returns the penalty of a job that names a metric of its own.
func (d *flexDemand) goalOf(g *sched.Goal, facts malleable.Facts) malleable.Penalty {
	name := ""
	switch g.Metric {
	case sched.MetricResponse:
		name = "weighted-response"
	case sched.MetricStretch:
		p := malleable.Metrics["avg-stretch"].Penalty(facts)
		p.Weight *= facts.Weight
		return p
	case sched.MetricTardy:
		name = "weighted-tardy"
	case sched.MetricTardiness:
		name = "weighted-tardiness"
	case sched.MetricLateness:
		name = "max-weighted-lateness"
	case sched.MetricSteps:
		name = "sla"
	default:
		return d.metric.penalty(facts)
	}
	return malleable.Metrics[name].Penalty(facts)
}

// minima returns the minimum of each stage of a lane: its job's own, at least that of all jobs if there are slots for
// it, and its part of the minimum of each queue above. Together they may be more than the slots. The minimum of a queue
// holds against jobs of other queues: where all stages of the lane are in it, it has all slots anyway.
func (d *flexDemand) minima(v *sched.View, l *slotLane, jobs []malleable.Job) []int {
	least, sum := make([]int, len(jobs)), 0
	for i, st := range l.stages {
		least[i] = min(jobs[i].Max, max(jobs[i].Min, d.least*int(l.each(v, st))))
		sum += least[i]
	}
	below := make([][]int, len(v.Queues)) // by queue: the stages of a lane in it and below it
	for i, st := range l.stages {
		if sum > l.slots { // scaled down, the slots would go to the jobs that came first, whatever the metric
			least[i] = jobs[i].Min
		}
		for q := v.Queues[st.Job.Queue]; q.ID != 0; q = v.Queues[q.Parent] {
			below[q.ID] = append(below[q.ID], i)
		}
	}
	for id := len(below) - 1; id > 0; id-- { // children come after their parents
		if n := len(below[id]); n == 0 || n == len(l.stages) {
			continue
		}
		more := int(l.atLeast(v, v.Queues[id].Min))
		for _, i := range below[id] {
			more -= least[i]
		}
		spread(more, below[id], func(i int) float64 { return l.stages[i].Job.Weight }, func(i, n int) int {
			n = min(n, jobs[i].Max-least[i])
			least[i] += n
			return n
		})
	}
	return least
}

// spread gives count whole things to takers by weight. take gives taker i at most n of them, and returns how many it
// took. In each round every taker is offered its part, rounded down. A taker that took less is full, and the others
// share the rest in the next round. When all parts round down to 0, what is left goes to them one each. O(n) a round. A
// round in which no taker gets full leaves less than one thing each.
func spread(count int, takers []int, weight func(int) float64, take func(i, n int) int) {
	for open := slices.Clone(takers); count > 0 && len(open) > 0; {
		sum := 0.0
		for _, i := range open {
			sum += weight(i)
		}
		gave, still := 0, open[:0]
		for _, i := range open {
			n := int(float64(count) * weight(i) / sum)
			took := take(i, n)
			if gave += took; took == n {
				still = append(still, i)
			}
		}
		open = still
		if count -= gave; gave > 0 {
			continue
		}
		for k := 0; k < len(open) && count > 0; k++ {
			count -= take(open[k], 1)
		}
		return
	}
}
