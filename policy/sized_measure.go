package policy

import (
	"slices"

	"github.com/sojourn-sched/sojourn/sched"
)

// A measure is the capacity that all sizes of a policy are of. It follows the cluster's capacity in steps: sizes are
// measured anew when the capacity of some kind is another one by more than a quarter. So nodes that register one after
// another cost O(n log n) for n jobs ten times for each factor of ten, and not once for each node.
type measure struct {
	// Capacity is zero until there are a job and a node.
	Capacity sched.Resources `json:",omitzero"`

	ratio  float64            // new sizes ÷ old ones, of all jobs together; zero: not measured anew at this instant
	ratios sched.Per[float64] // by job, the same; zero: its size is not known
}

// capacity returns the capacity that all sizes are of.
func (m *measure) capacity(v *sched.View) sched.Resources {
	if m.Capacity == (sched.Resources{}) {
		return v.Capacity
	}
	return m.Capacity
}

// outdated reports whether sizes are to be measured anew. Sizes stay as they are while there is no node, and while
// there is no job: those of the next job are of the same capacity as what policies remember of earlier ones.
func (m *measure) outdated(p *sched.Plan) bool {
	if p.Capacity == (sched.Resources{}) || !hasEarlier(p) {
		return false
	}
	for k, now := range p.Capacity {
		if was := float64(m.Capacity[k]); float64(now) > 1.25*was || float64(now) < was/1.25 {
			return true
		}
	}
	return false
}

// begin makes the present capacity that of all sizes, if there are the first sizes.
func (m *measure) begin(p *sched.Plan) {
	if m.Capacity == (sched.Resources{}) && p.LiveJobs() > 0 {
		m.Capacity = p.Capacity
	}
}

// hasEarlier reports whether there is a job that came before this Step.
func hasEarlier(p *sched.Plan) bool {
	for j := range p.Jobs() { // in order of submission
		return !slices.ContainsFunc(p.Events, func(e sched.Event) bool {
			return e.Kind == sched.JobSubmitted && e.Job == j.ID
		})
	}
	return false
}

// change makes all sizes those of the present capacity. It asks the estimator about the stages of unknown size, because
// stages that came while there was no node are among them. O(n log n) for n jobs.
func (m *measure) change(p *sched.Plan, s *sizes) {
	m.Capacity = p.Capacity
	all, allWas := 0.0, 0.0
	for j := range p.Jobs() {
		size, was := 0.0, 0.0
		for _, st := range j.Stages {
			u := s.Units.Of(st)
			if !u.Known {
				s.ask(p, st)
				continue
			}
			now := taskSize(st, u.Time, m.Capacity)
			if now == 0 {
				continue // the cluster has none of what it needs now
			}
			tasks := float64(tasksOf(st))
			size, was = size+tasks*now, was+tasks*u.Seconds
			if now != u.Seconds {
				u.Seconds = now
				p.TouchJob(j)
			}
		}
		all, allWas = all+size, allWas+was
		*m.ratios.Of(j) = quotient(size, was)
	}
	if m.ratio = quotient(all, allWas); m.ratio == 0 {
		m.ratio = 1
	}
}

// quotient returns a ÷ b; zero unless both are above zero.
func quotient(a, b float64) float64 {
	if a > 0 && b > 0 {
		return a / b
	}
	return 0
}

// ratioOf returns by what the size of j was multiplied when sizes were measured anew at this instant. For a job of
// unknown size, and for one that is over (nil, if it ended before this Step), it is the ratio of all jobs together.
func (m *measure) ratioOf(j *sched.Job) float64 {
	if j != nil && !j.Ended {
		if own := *m.ratios.Of(j); own > 0 {
			return own
		}
	}
	return m.ratio
}
