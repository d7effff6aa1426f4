package policy

import (
	"cmp"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/theory/goals"
	planner "github.com/sojourn-sched/sojourn/internal/theory/hardware"
	"github.com/sojourn-sched/sojourn/sched"
)

// planAll divides the slots of all kinds. O(S log n) for S slots and n jobs.
func (h *hardware) planAll(p *sched.Plan) {
	for i := range h.Pools {
		q := &h.Pools[i]
		q.Devices = p.Can&sched.CanNameTasks != 0 &&
			(q.Devices || p.Classes[q.Class-1].Capacity[sched.Accelerators] > 0)
	}
	var kinds [sched.NumResources]bool
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			if runnable(st) {
				kinds[kindOf(st)] = true
			}
		}
	}
	for k, some := range kinds {
		if some {
			h.planLane(p, laneOf(p.View, sched.ResourceKind(k)))
		}
	}
}

// A hardwareSurvey is what the planner is told of a stage.
type hardwareSurvey struct {
	st      *sched.Stage
	s       *hardwareStage
	elapsed [][]float64 // by pool: for how long the running attempts have run, ns
	usable  []bool      // by pool
}

// planLane divides the slots of one kind among the stages that compete for them.
func (h *hardware) planLane(p *sched.Plan, l *slotLane) {
	slots := h.slots(p.View, l)
	total := 0
	for _, n := range slots {
		total += n
	}
	var stages []hardwareSurvey
	var jobs []planner.Job
	for _, st := range l.stages {
		if !begun(st) {
			continue
		}
		c := h.survey(p.View, st)
		h.classify(p.View, &c)
		c.s.Planned = true
		p.Touch(st)
		if c.s.Kind == hardwareCalibrating && h.only {
			each := int(l.each(p.View, st))
			for q := range c.s.In {
				c.s.In[q].Granted = 0
				slots[q] = max(0, slots[q]-each*int(c.s.In[q].Running))
			}
			continue
		}
		stages = append(stages, c)
		jobs = append(jobs, h.job(p.View, l, &c, total))
	}
	grants := planner.Plan(slots, jobs, h.spread)
	for i := range stages {
		s := stages[i].s
		s.Rest = min(grants.Rest[i], math.MaxFloat64)
		for q, n := range grants.Of(i) {
			s.In[q].Granted = int32(n / jobs[i].Each)
		}
	}
}

// slots returns the slots of a lane by pool. A slot is what a task of the smallest shape holds.
func (h *hardware) slots(v *sched.View, l *slotLane) []int {
	slots := make([]int, len(h.Pools)+1)
	var unit sched.Resources
	for _, st := range l.stages {
		if unit == (sched.Resources{}) || l.each(v, st) == 1 {
			unit = st.Spec.PerTask
		}
	}
	for _, c := range v.Classes {
		n, q := int(min(fitting(c.Capacity, unit), mostSlots)), h.poolOf(c.ID)
		switch {
		case q > 0 && h.Pools[q-1].Devices:
			slots[q] = min(n, int(c.Capacity[sched.Accelerators]))
			slots[0] += n - slots[q]
		default:
			slots[q] += n
		}
	}
	return slots
}

// survey counts what runs of a stage by pool, and finds the pools that it can use. O(running attempts).
func (h *hardware) survey(v *sched.View, st *sched.Stage) hardwareSurvey {
	c := hardwareSurvey{st: st, s: h.of(st)}
	c.elapsed, c.usable = make([][]float64, len(c.s.In)), make([]bool, len(c.s.In))
	for a := range v.Attempts(st) {
		q := h.poolFor(v, a)
		c.elapsed[q] = append(c.elapsed[q], float64(v.Ran(a, v.Now)))
	}
	failed := h.failuresOf(st.Job)
	for q := range c.s.In {
		c.s.In[q].Running = int32(len(c.elapsed[q]))
		c.usable[q] = h.fitsIn(v, st, q) && (q == 0 || failed[q] < h.failures)
	}
	return c
}

// fitsIn reports whether some node of a pool is large enough for a task of st.
func (h *hardware) fitsIn(v *sched.View, st *sched.Stage, pool int) bool {
	for _, c := range v.Classes {
		q, each := h.poolOf(c.ID), st.Spec.PerTask
		if q > 0 && h.Pools[q-1].Devices {
			if pool == q {
				each = withDevice(each)
			} else {
				q = 0
			}
		}
		if q == pool && c.Nodes > 0 && fitting(c.Capacity, each) > 0 {
			return true
		}
	}
	return false
}

// accelerators returns the pools of the accelerators that a stage can use.
func (h *hardware) accelerators(v *sched.View, c *hardwareSurvey) (pools []int) {
	profile := c.st.Job.Spec.Profile
	if profile == nil || c.st.Kind == sched.Master || c.st.Kind != sched.Map && !h.allKinds {
		return nil
	}
	for _, name := range profile.Accelerators {
		for i, q := range h.Pools {
			if v.Classes[q.Class-1].Name == name && c.usable[i+1] && !slices.Contains(pools, i+1) {
				pools = append(pools, i+1)
			}
		}
	}
	return pools
}

// mean returns the mean time of the tasks of a stage in a pool in ns, and whether it is known: from its own tasks
// there, else from what the estimator has seen on the pool's classes.
func (h *hardware) mean(v *sched.View, c *hardwareSurvey, pool int) (float64, bool) {
	if in := &c.s.In[pool]; in.N > 0 {
		return float64(in.Sum) / float64(in.N), true
	}
	sum, n := 0.0, 0
	for _, class := range v.Classes {
		if q := h.poolOf(class.ID); q == pool && (q == 0 || !h.Pools[q-1].Devices) {
			e := v.Estimate(c.st, class.ID)
			sum, n = sum+float64(e.Mean)*float64(e.Samples), n+e.Samples
		}
	}
	return sum / float64(max(1, n)), n > 0 && sum > 0
}

// unreached stands for the mean time of regular tasks in ns where there are no regular nodes: longer than any task.
const unreached = 1e30

// regularMean returns the mean time of the tasks of a stage on regular nodes in ns, and whether it is known. Without
// regular nodes it is beyond all others. With provisional it is the time that the first task has run, once that is a
// quarter of the time to the goal (2.1, option).
func (h *hardware) regularMean(v *sched.View, c *hardwareSurvey) (float64, bool) {
	mean, known := h.mean(v, c, 0)
	switch {
	case known:
		return mean, true
	case !c.usable[0]:
		return unreached, true
	case h.provisional && len(c.elapsed[0]) > 0:
		ran := slices.Max(c.elapsed[0])
		return ran, ran > 0.25*(h.goalOf(c.st)-float64(v.Now)+ran)
	}
	return 0, false
}

// classify settles whether a stage is accelerable, and in which pools (docs/spec/hardware.md, 2.1). Until a task has
// finished in each pool that its job could use, it wishes for one there.
func (h *hardware) classify(v *sched.View, c *hardwareSurvey) {
	s := c.s
	for q := range s.In {
		s.In[q].Wish = false
	}
	pools := h.accelerators(v, c)
	settled := s.Kind == hardwareRegular || s.Kind == hardwareAccelerable
	switch {
	case settled && (!h.again || len(pools) == 0):
		return
	case len(pools) == 0:
		s.Kind = hardwareUndecided
		return
	}
	var missing []int
	regular, known := h.regularMean(v, c)
	if !known {
		missing = append(missing, 0)
	}
	accelerated := make([]float64, len(pools))
	for i, q := range pools {
		if accelerated[i], known = h.mean(v, c, q); !known {
			missing = append(missing, q)
		}
	}
	switch {
	case len(missing) > int(unfinished(c.st)): // too few tasks to learn anything from
		s.Kind = hardwareRegular
		return
	case len(missing) > 0:
		s.Kind = hardwareCalibrating
		for _, q := range missing {
			s.In[q].Wish = s.In[q].Running == 0
		}
		return
	}
	s.Kind = hardwareRegular
	for i, q := range pools {
		s.In[q].Speedup = 0
		if speedup, yes := planner.Classify(regular, accelerated[i], h.speedup); yes {
			s.Kind, s.In[q].Speedup = hardwareAccelerable, speedup
		}
	}
}

// goalOf returns the instant in ns by which st has to complete; +Inf: its job has no deadline. The time between the
// submission and the deadline is divided among the stages of the job by tasks × cost of a task (docs/spec/adaptive.md,
// 2.2).
func (h *hardware) goalOf(st *sched.Stage) float64 {
	j := st.Job
	if j.Spec.Deadline == 0 {
		return math.Inf(1)
	}
	through, after := 0.0, 0.0
	for _, other := range j.Stages {
		work := float64(unfinished(other)+other.Done) * h.cost(other)
		switch {
		case other.Kind == sched.Master:
		case other.ID.Index <= st.ID.Index:
			through += work
		default:
			after += work
		}
	}
	return goals.Split(float64(j.Submitted), float64(j.Submitted+j.Spec.Deadline), through, after)
}

// cost returns the time of a task relative to a map of its job.
func (h *hardware) cost(st *sched.Stage) float64 {
	if st.Kind == sched.Reduce {
		return h.reduceCost
	}
	return 1
}

// job returns what a stage needs as a job of the planner. Total is the number of slots of all pools.
func (h *hardware) job(v *sched.View, l *slotLane, c *hardwareSurvey, total int) planner.Job {
	st := c.st
	job := planner.Job{Each: int(l.each(v, st)), Tasks: int(unfinished(st)), Goal: h.goalOf(st)}
	var used []int
	for _, q := range h.accelerators(v, c) {
		if c.s.In[q].Speedup > 0 {
			used = append(used, q)
		}
	}
	waiting := int(unfinished(st)) - int(st.Running)
	work, known := 0.0, true
	if job.Accelerable = c.s.Kind == hardwareAccelerable && len(used) > 0; job.Accelerable {
		slices.SortStableFunc(used, func(a, b int) int { return cmp.Compare(c.s.In[b].Speedup, c.s.In[a].Speedup) })
		home, _ := h.mean(v, c, used[0])
		work = planner.Remaining(home, waiting, c.elapsed[used[0]])
		for _, q := range used {
			job.Takes = append(job.Takes, planner.Use{Pool: q, Speed: c.s.In[q].Speedup / c.s.In[used[0]].Speedup})
		}
		if c.usable[0] {
			job.Takes = append(job.Takes, planner.Use{Pool: 0, Speed: 1 / c.s.In[used[0]].Speedup})
		}
	} else {
		var mean float64
		mean, known = h.meanOfAll(v, c)
		work = planner.Remaining(mean, waiting, slices.Concat(c.elapsed...))
		for q, ok := range c.usable {
			if ok && (q == 0 || !h.Pools[q-1].Devices) {
				job.Takes = append(job.Takes, planner.Use{Pool: q, Speed: 1})
			}
		}
		if job.Takes == nil {
			job.Takes = []planner.Use{{Pool: 0, Speed: 1}}
		}
	}
	left := job.Goal - float64(v.Now)
	switch each := float64(job.Each); {
	case math.IsInf(job.Goal, 1) && h.waiting:
	case math.IsInf(job.Goal, 1):
		job.Need = min(float64(job.Tasks)*each, float64(total))
	case !known:
		job.Need = math.Inf(1)
	default:
		job.Need = planner.Demand(work, left) * each
	}
	return job
}

// meanOfAll returns the mean time of the tasks of a stage in ns over all pools, and whether something is known of
// it: a task of it, what the estimator has seen or the user says, or the maps of its job.
func (h *hardware) meanOfAll(v *sched.View, c *hardwareSurvey) (float64, bool) {
	sum, n := sched.Time(0), int64(0)
	for q := range c.s.In {
		sum, n = sum+c.s.In[q].Sum, n+c.s.In[q].N
	}
	if n > 0 {
		return float64(sum) / float64(n), true
	}
	if e := v.Estimate(c.st, 0); e.Mean > 0 {
		return float64(e.Mean), true
	}
	sum, n = 0, 0
	for _, other := range c.st.Job.Stages {
		if other.Kind != sched.Map {
			continue
		}
		for _, in := range h.of(other).In {
			sum, n = sum+in.Sum, n+in.N
		}
	}
	return h.cost(c.st) * float64(sum) / float64(max(1, n)), n > 0 && c.st.Kind != sched.Map
}
