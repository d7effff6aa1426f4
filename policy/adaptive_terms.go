package policy

import (
	"math"
	"slices"
	"sort"

	"github.com/sojourn-sched/sojourn/internal/theory/goals"
	"github.com/sojourn-sched/sojourn/sched"
)

// goalTerms know the lengths of tasks, and divide the time until a job's deadline among the job's stages.
type goalTerms struct {
	Lengths sched.Per[goals.Lengths] // by stage: of its finished tasks
	Guesses sched.Per[guess]         // by stage: what the estimator says (with lengths=estimated)

	estimated  bool    // lengths are the estimator's, else the means of finished tasks
	waves      bool    // time is divided by waves, else by work
	reduceCost float64 // the cost of a reduce relative to a map, for jobs that do not say it
}

func newGoalTerms(a Args) goalTerms {
	return goalTerms{
		estimated:  a.Choice("lengths") == "estimated",
		waves:      a.Choice("split") == "waves",
		reduceCost: a.Number("reduce-cost"),
	}
}

// A guess is the estimator's last answer on the length of a stage's tasks.
type guess struct {
	Mean sched.Time
	answer
}

// learn asks the estimator about new stages, and about stages whose number of finished tasks has doubled.
func (g *goalTerms) learn(p *sched.Plan) {
	last := func(st *sched.Stage) answer { return g.Guesses.Of(st).answer }
	for i := range p.Events {
		askOn(p, &p.Events[i], last, g.ask)
	}
}

// ask asks the estimator about a stage.
func (g *goalTerms) ask(p *sched.Plan, st *sched.Stage) {
	e := p.Estimate(st, 0)
	now := guess{e.Mean, answer{st.Done, e.Known()}}
	was := g.Guesses.Of(st)
	if now.Mean != was.Mean || now.Known != was.Known {
		p.TouchJob(st.Job)
	}
	*was = now
}

// stageFacts are the facts from which the rank of a stage is computed, besides its running tasks and the time.
type stageFacts struct {
	mean      float64 // of the length of a task, seconds
	known     bool    // mean is more than a guess
	unstarted int
	submitted sched.Time
	goal      sched.Time // of the stage; Never: it has none
}

// facts returns the facts of stage st. O(stages of the job).
func (g *goalTerms) facts(v *sched.View, st *sched.Stage) stageFacts {
	f := stageFacts{submitted: st.Job.Submitted, unstarted: int(unfinished(st) - st.Running - st.Suspended)}
	f.mean, f.known = g.mean(st)
	f.goal = g.goal(v, st)
	return f
}

// length returns the length of a task of st in seconds, as known from the estimator or the stage's own finished tasks.
func (g *goalTerms) length(st *sched.Stage) (float64, bool) {
	if g.estimated {
		u := g.Guesses.Of(st)
		return u.Mean.Seconds(), u.Known
	}
	l := g.Lengths.Of(st)
	return l.Mean(), l.Known()
}

// mean returns the length of a task of st in seconds. If that is not known, it returns the length of a task of a stage
// before st, times the relative cost of a task (docs/spec/adaptive.md, 2.2).
func (g *goalTerms) mean(st *sched.Stage) (float64, bool) {
	if mean, ok := g.length(st); ok {
		return mean, true
	}
	for _, d := range st.Spec.After {
		before := st.Job.Stages[d.Stage]
		if mean, ok := g.length(before); ok && before.Kind != sched.Master {
			return mean * g.cost(st) / g.cost(before), true
		}
	}
	return 0, false
}

// cost returns the cost of a task of st relative to the tasks of the job's other stages. It is the time that the job
// says its tasks take, if it says that of all stages; else 1, or the parameter reduce-cost for a reduce.
func (g *goalTerms) cost(st *sched.Stage) float64 {
	said := !slices.ContainsFunc(st.Job.Stages, func(s *sched.Stage) bool {
		return s.Kind != sched.Master && s.Spec.Prior <= 0
	})
	switch {
	case said:
		return st.Spec.Prior.Seconds()
	case st.Kind == sched.Reduce:
		return g.reduceCost
	}
	return 1
}

// goal returns the instant by which st should be done; Never: its job has no deadline (docs/spec/adaptive.md, 2.2). In
// a job of more than two stages, the time left for others is that of the longest path through the stages after st.
func (g *goalTerms) goal(v *sched.View, st *sched.Stage) sched.Time {
	j := st.Job
	if j.Spec.Deadline <= 0 {
		return sched.Never
	}
	end := j.Submitted + j.Spec.Deadline
	if len(j.Stages) == 1 {
		return end
	}
	way := g.work
	if g.waves {
		way = func(s *sched.Stage) float64 {
			mean, _ := g.mean(s)
			return float64(goals.Waves(int(tasksOf(s)), int(slotsFor(v, s)))) * mean
		}
	}
	after := longestAfter(j, int(st.ID.Index), way)
	if g.waves {
		return seconds(goals.SplitByWaves(end.Seconds(), after))
	}
	through := longestThrough(j, int(st.ID.Index), way)
	return j.Submitted + seconds(goals.Split(0, j.Spec.Deadline.Seconds(), through, after))
}

// work returns the work of a stage in tasks × their relative cost; of a master 0.
func (g *goalTerms) work(st *sched.Stage) float64 {
	if st.Kind == sched.Master {
		return 0
	}
	return float64(tasksOf(st)) * g.cost(st)
}

// longestThrough returns the length of the longest path through the stages of job j that ends with a stage. way returns
// the length of a stage. O(stages and their dependencies).
func longestThrough(j *sched.Job, stage int, way func(*sched.Stage) float64) float64 {
	longest := make([]float64, stage+1)
	for i := range longest {
		for _, d := range j.Stages[i].Spec.After {
			if int(d.Stage) < i {
				longest[i] = max(longest[i], longest[d.Stage])
			}
		}
		longest[i] += way(j.Stages[i])
	}
	return longest[stage]
}

// longestAfter returns the length of the longest path through the stages that wait for a stage, which does not count
// itself.
func longestAfter(j *sched.Job, stage int, way func(*sched.Stage) float64) float64 {
	longest := make([]float64, len(j.Stages)) // from the end of a stage on
	for i := len(j.Stages) - 1; i > stage; i-- {
		for _, d := range j.Stages[i].Spec.After {
			if int(d.Stage) < i {
				longest[d.Stage] = max(longest[d.Stage], longest[i]+way(j.Stages[i]))
			}
		}
	}
	return longest[stage]
}

// runs are the starts of a stage's running attempts, kept so that the sum of the time that is left of them costs O(1).
// Attempts that have run for the mean length or longer have nothing left. They are the first ones, because the starts
// are in order.
type runs struct {
	starts []sched.Time
	base   sched.Time // the instant from which sum counts starts
	over   int        // how many attempts have run for the mean length
	sum    sched.Time // Σ of start − base of the other attempts
}

// set replaces all starts by those of the running attempts of st. O(n log n) for n attempts.
func (r *runs) set(v *sched.View, st *sched.Stage) {
	*r = runs{starts: r.starts[:0], base: st.Job.Submitted}
	for a := range v.Attempts(st) {
		if a.State != sched.Suspended {
			r.starts = append(r.starts, a.Start)
			r.sum += a.Start - r.base
		}
	}
	slices.Sort(r.starts)
}

// add adds an attempt that starts now. No other attempt starts later.
func (r *runs) add(now sched.Time) {
	r.starts = append(r.starts, now)
	r.sum += now - r.base
}

// remove removes an attempt with a start, if there is one.
func (r *runs) remove(start sched.Time) {
	i := sort.Search(len(r.starts), func(i int) bool { return r.starts[i] >= start })
	if i == len(r.starts) || r.starts[i] != start {
		return
	}
	r.starts = slices.Delete(r.starts, i, i+1)
	if i < r.over {
		r.over--
	} else {
		r.sum -= start - r.base
	}
}

// outlive updates over for a mean length in seconds. It costs O(1) for each attempt that has reached the mean since the
// last call, or is below it again because the mean has grown.
func (r *runs) outlive(now sched.Time, mean float64) {
	long := func(i int) bool { return float64(now-r.starts[i]) >= mean*1e9 }
	for ; r.over < len(r.starts) && long(r.over); r.over++ {
		r.sum -= r.starts[r.over] - r.base
	}
	for ; r.over > 0 && !long(r.over-1); r.over-- {
		r.sum += r.starts[r.over-1] - r.base
	}
}

// next returns when the next attempt will have run for the mean length; Never: none will.
func (r *runs) next(mean float64) sched.Time {
	if r.over == len(r.starts) || mean*1e9 > float64(sched.Never)/4 {
		return sched.Never
	}
	return r.starts[r.over] + sched.Time(math.Ceil(mean*1e9))
}

// at returns the stage as package goals needs it, with all instants counted from now, and how many of its running tasks
// have not run for the mean length yet.
func (f *stageFacts) at(now sched.Time, r *runs) (goals.Stage, int) {
	r.outlive(now, f.mean)
	young := len(r.starts) - r.over
	s := goals.Stage{
		Mean: f.mean, Known: f.known, Unstarted: f.unstarted, Running: len(r.starts),
		Left: max(0, float64(young)*(f.mean-(now-r.base).Seconds())+r.sum.Seconds()),
		Goal: math.Inf(1),
	}
	if f.goal != sched.Never {
		s.Goal = (f.goal - now).Seconds()
	}
	return s, young
}
