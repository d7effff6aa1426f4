package policy

import (
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/theory/malleable"
	"github.com/sojourn-sched/sojourn/sched"
)

// mean returns the time of a task of st in seconds, and whether it is known.
func (f *flex) mean(st *sched.Stage) (float64, bool) {
	if m := f.Finished.Of(st); f.printed && m.N > 0 {
		return m.Mean / 1e9, true
	}
	u := f.Units.Of(st)
	return u.Time.Seconds(), u.Time > 0
}

// claim returns the work, the bounds and the penalty of st as a job of the theory; without work: its task time is not
// known.
func (f *flex) claim(v *sched.View, l *slotLane, st *sched.Stage) (c malleable.Job) {
	each := l.each(v, st)
	left := int64(unfinished(st)) * each
	c.Max = int(max(1, min(left, int64(l.slots), f.mostOf(v, l, st))))
	c.Min = int(min(int64(c.Max), l.atLeast(v, st.Job.Spec.Min)))
	mean, known := f.mean(st)
	if !known {
		return c
	}
	c.Work = mean * float64(left)
	if f.elapsed {
		c.Work -= min(st.Elapsed(v.Now).Seconds(), mean*float64(st.Running)) * float64(each)
	}
	c.Work = max(c.Work, 1e-9*mean)
	c.Penalty = f.penalty(v, st, mean*float64(unfinished(st)+st.Done)*float64(each)/float64(c.Max))
	return c
}

// mostOf returns the slots that a stage may have by its job and its queues.
func (f *flex) mostOf(v *sched.View, l *slotLane, st *sched.Stage) int64 {
	most := l.atMost(v, st.Job.Spec.Max)
	for q := v.Queues[st.Job.Queue]; q.ID != 0; q = v.Queues[q.Parent] {
		most = min(most, l.atMost(v, q.Max))
	}
	return most
}

// penalty returns what the job of st costs by the instant at which st completes; alone is the time that the stage takes
// by itself.
func (f *flex) penalty(v *sched.View, st *sched.Stage, alone float64) malleable.Penalty {
	j, later := st.Job, 0.0
	if f.joint {
		all := 0.0
		for _, other := range j.Stages {
			if mean, known := f.mean(other); known && other.Kind != sched.Master {
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
	if f.workBase {
		facts.Base = 1e-9
		for _, other := range j.Stages {
			if f.joint || other == st {
				facts.Base += f.Units.Of(other).Seconds * float64(other.Done+unfinished(other))
			}
		}
	}
	if j.Spec.Deadline > 0 {
		facts.Deadline = (j.Submitted + j.Spec.Deadline).Seconds() - later
	}
	g := j.Spec.Goal
	if g == nil {
		return f.metric.penalty(facts)
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
	return f.goalOf(g, facts)
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
func (f *flex) goalOf(g *sched.Goal, facts malleable.Facts) malleable.Penalty {
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
		return f.metric.penalty(facts)
	}
	return malleable.Metrics[name].Penalty(facts)
}

// divideAll divides the slots of all kinds. O(n log n) for n jobs, and the effort allowed for each kind.
func (f *flex) divideAll(p *sched.Plan) {
	f.Divided = p.Capacity
	var kinds [sched.NumResources]bool
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			if s := f.Slots.Of(st); runnable(st) {
				kinds[kindOf(st)] = true
			} else if s.Active {
				*s = flexSlots{}
				p.Touch(st)
			}
		}
	}
	if f.fair {
		for _, q := range p.Queues {
			if q != nil {
				*f.Shares.Of(q) = sched.Resources{}
			}
		}
		f.siblings.forget()
	}
	for k, some := range kinds {
		if some {
			f.divide(p, laneOf(p.View, sched.ResourceKind(k)))
		}
	}
}

// divide divides the slots of one kind. A stage whose task time is not known has the sample that it needs, and the
// others share what is left.
func (f *flex) divide(p *sched.Plan, l *slotLane) {
	claims := make([]malleable.Job, len(l.stages))
	for i, st := range l.stages {
		claims[i] = f.claim(p.View, l, st)
	}
	for i, m := range f.minima(p.View, l, claims) {
		claims[i].Min = m
	}
	problem := malleable.Problem{Slots: l.slots, Start: p.Now.Seconds(), Worst: f.metric.worst}
	var known []*sched.Stage
	for i, st := range l.stages {
		if claims[i].Work > 0 {
			problem.Jobs = append(problem.Jobs, claims[i])
			known = append(known, st)
			continue
		}
		reserved := min(max(claims[i].Min, int(f.sample)*int(l.each(p.View, st))), claims[i].Max, problem.Slots)
		problem.Slots -= reserved
		f.set(p, l, st, flexSlots{Active: true, Slots: int64(reserved), Place: -1})
	}
	least := make([]int, len(known))
	for i := range problem.Jobs {
		problem.Jobs[i].Max = min(problem.Jobs[i].Max, problem.Slots)
		least[i] = min(problem.Jobs[i].Min, problem.Jobs[i].Max)
	}
	for i, m := range malleable.Normalize(problem.Slots, least) {
		problem.Jobs[i].Min = m
	}
	if problem.Slots == 0 {
		for _, st := range known {
			f.set(p, l, st, flexSlots{Active: true, Known: true})
		}
		return
	}
	s := problem.Solve(malleable.Attempt{Effort: f.effort, Keep: f.kept(known), Churn: f.churn})
	for place, i := range s.Order {
		f.set(p, l, known[i], flexSlots{Active: true, Known: true, Slots: int64(s.Slots[i]), Place: int32(place)})
	}
}

// kept returns the order that holds, if all of the stages are in it; nil else, or where a better order always replaces
// it.
func (f *flex) kept(stages []*sched.Stage) []int {
	if f.churn == 0 {
		return nil
	}
	order := make([]int, len(stages))
	for i, st := range stages {
		if order[i] = i; !f.Slots.Of(st).Known {
			return nil
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return int(f.Slots.Of(stages[a]).Place - f.Slots.Of(stages[b]).Place)
	})
	return order
}

// set says what flex wants for a stage, and counts it for its queues.
func (f *flex) set(p *sched.Plan, l *slotLane, st *sched.Stage, s flexSlots) {
	s.Each = l.each(p.View, st)
	if now := f.Slots.Of(st); *now != s {
		*now = s
		p.Touch(st)
	}
	if f.fair {
		held := st.Spec.PerTask.Times((s.Slots + s.Each - 1) / s.Each)
		for q := p.Queues[st.Job.Queue]; ; q = p.Queues[q.Parent] {
			share := f.Shares.Of(q)
			*share = share.Add(held)
			if q.ID == 0 {
				break
			}
		}
	}
}

// minima returns the minimum of each stage of a lane: its job's own, at least that of all jobs, and its part of the
// minimum of each queue above. Together they may be more than the slots.
func (f *flex) minima(v *sched.View, l *slotLane, claims []malleable.Job) []int {
	least := make([]int, len(claims))
	below := make([][]int, len(v.Queues)) // by queue: the stages of a lane in it and below it
	for i, st := range l.stages {
		least[i] = min(claims[i].Max, max(claims[i].Min, f.least*int(l.each(v, st))))
		for q := v.Queues[st.Job.Queue]; q.ID != 0; q = v.Queues[q.Parent] {
			below[q.ID] = append(below[q.ID], i)
		}
	}
	for id := len(below) - 1; id > 0; id-- { // children come after their parents
		if len(below[id]) == 0 {
			continue
		}
		more := int(l.atLeast(v, v.Queues[id].Min))
		for _, i := range below[id] {
			more -= least[i]
		}
		spread(more, below[id], func(i int) float64 { return l.stages[i].Job.Weight }, func(i, n int) int {
			n = min(n, claims[i].Max-least[i])
			least[i] += n
			return n
		})
	}
	return least
}

// spread gives away whole things among takers by weight, as far as they take them: each its part rounded down, again
// among those that took all of it, and what is left one each. O(n) a round, and each round but the last fills a taker.
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
