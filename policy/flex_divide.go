package policy

import (
	"slices"

	"github.com/sojourn-sched/sojourn/internal/theory/malleable"
	"github.com/sojourn-sched/sojourn/sched"
)

// flexDivision is the result of the last division: what each stage and each queue is to hold.
type flexDivision struct {
	Slots  sched.Per[flexSlots]       // by stage
	Shares sched.Per[sched.Resources] // by queue: what its jobs are to hold (with base=fair)

	fair   bool    // queues have shares
	churn  float64 // part of the objective by which a new order must be better than the one that holds
	effort int     // elementary steps that dividing the slots of one kind may take
}

// flexSlots is what flex wants for a stage.
type flexSlots struct {
	Active bool       // it had tasks to run when slots were divided
	Known  bool       // the time of a task was known
	Slots  int64      // that its tasks are to hold together
	Each   int64      // slots that one task takes; zero: slots have not been divided since it came
	Place  int32      // in the order, from 0
	Ends   sched.Time // by the schedule; 0: its end is not known
}

func newFlexDivision(a Args) flexDivision {
	return flexDivision{fair: a.Choice("base") == "fair", churn: a.Number("churn"), effort: a.Int("effort")}
}

// stale reports whether a stage of j has begun, or is through, since slots were divided.
func (d *flexDivision) stale(j *sched.Job) bool {
	for _, st := range j.Stages {
		if d.Slots.Of(st).Active != runnable(st) {
			return true
		}
	}
	return false
}

// divideAll divides the slots of all kinds. O(n log n) for n jobs, and the effort allowed for each kind.
func (d *flexDivision) divideAll(p *sched.Plan, want *flexDemand) {
	var kinds [sched.NumResources]bool
	for j := range p.Jobs() {
		for _, st := range j.Stages {
			if s := d.Slots.Of(st); runnable(st) {
				kinds[kindOf(st)] = true
			} else if s.Active {
				*s = flexSlots{}
				p.Touch(st)
			}
		}
	}
	if d.fair {
		for _, q := range p.Queues {
			if q != nil {
				*d.Shares.Of(q) = sched.Resources{}
			}
		}
	}
	for k, some := range kinds {
		if some {
			d.divide(p, want, laneOf(p.View, sched.ResourceKind(k)))
		}
	}
}

// divide divides the slots of one kind. A stage whose task time is not known has the sample that it needs, and the
// others share what is left.
func (d *flexDivision) divide(p *sched.Plan, want *flexDemand, l *slotLane) {
	jobs := make([]malleable.Job, len(l.stages))
	for i, st := range l.stages {
		want.learnLaw(p, st)
		jobs[i] = want.job(p.View, l, st)
	}
	for i, m := range want.minima(p.View, l, jobs) {
		jobs[i].Min = m
	}
	problem := malleable.Problem{Slots: l.slots, Start: p.Now.Seconds(), Worst: want.metric.worst}
	var known []*sched.Stage
	for i, st := range l.stages {
		if jobs[i].Work > 0 {
			problem.Jobs = append(problem.Jobs, jobs[i])
			known = append(known, st)
			continue
		}
		sample := int(want.Sizes.sample) * int(l.each(p.View, st))
		reserved := min(max(jobs[i].Min, sample), jobs[i].Max, problem.Slots)
		problem.Slots -= reserved
		d.set(p, l, st, flexSlots{Active: true, Slots: int64(reserved), Place: -1})
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
			d.set(p, l, st, flexSlots{Active: true, Known: true})
		}
		return
	}
	s := problem.Solve(malleable.Attempt{
		Effort: d.effort,
		Keep:   d.kept(known),
		Churn:  d.churn,
		Search: malleable.EveryOrder, // within effort
	})
	for place, i := range s.Order {
		d.set(p, l, known[i], flexSlots{
			Active: true,
			Known:  true,
			Slots:  int64(s.Slots[i]),
			Place:  int32(place),
			Ends:   sched.Time(min(s.Done[i], longest) * 1e9),
		})
	}
}

// kept returns the order that holds, if all of the stages are in it; nil else, or where a better order always replaces
// it.
func (d *flexDivision) kept(stages []*sched.Stage) []int {
	if d.churn == 0 {
		return nil
	}
	order := make([]int, len(stages))
	for i, st := range stages {
		if order[i] = i; !d.Slots.Of(st).Known {
			return nil
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return int(d.Slots.Of(stages[a]).Place - d.Slots.Of(stages[b]).Place)
	})
	return order
}

// set says what flex wants for a stage, and counts it for its queues.
func (d *flexDivision) set(p *sched.Plan, l *slotLane, st *sched.Stage, s flexSlots) {
	s.Each = l.each(p.View, st)
	now := d.Slots.Of(st)
	was := *now
	*now = s
	if was.Ends = s.Ends; was != s { // keys do not depend on the end
		p.Touch(st)
	}
	if d.fair {
		held := st.Spec.PerTask.Times((s.Slots + s.Each - 1) / s.Each)
		for q := p.Queues[st.Job.Queue]; ; q = p.Queues[q.Parent] {
			share := d.Shares.Of(q)
			*share = share.Add(held)
			if q.ID == 0 {
				break
			}
		}
	}
}
