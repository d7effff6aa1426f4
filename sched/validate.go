package sched

import (
	"errors"
	"fmt"
	"slices"
)

// The largest of what a spec may say: sums of products of them do not overflow.
const (
	maxStages = 1<<16 - 1 // of a job
	maxTasks  = 1 << 24
	maxAmount = 1 << 36
	maxWeight = 1e9
	mostSteps = 1000 // of a goal
	maxDelays = 1_000_000
)

// Validate reports what is wrong with a spec: the field, and what it should be.
func (s *JobSpec) Validate() error {
	if err := s.ValidateTerms(); err != nil {
		return err
	}
	if len(s.Stages) == 0 || len(s.Stages) > maxStages {
		return fmt.Errorf("stages: %d, must be 1 to %d", len(s.Stages), maxStages)
	}
	for i := range s.Stages {
		if err := s.Stages[i].Validate(int32(i)); err != nil {
			return err
		}
	}
	return nil
}

// Validate reports what is wrong with asks of a job that the core need not know: the field, and what it should be.
func (a *Asks) Validate() error {
	if a.Stage < 0 || a.Stage >= maxStages {
		return fmt.Errorf("stage %d: must be from 0 to %d", a.Stage, maxStages-1)
	}
	if a.Pending < 0 {
		return fmt.Errorf("pending: %d, must not be negative", a.Pending)
	}
	for _, near := range a.Near {
		if near.Node < 0 {
			return fmt.Errorf("near node %d: must be a node, or 0 for a rack", near.Node)
		}
	}
	switch { // they are searched by bisection
	case !slices.IsSortedFunc(a.Near, Near.Compare):
		return errors.New("near: must be in order, nodes by ID, then racks by ID")
	case !slices.IsSorted(a.Only):
		return errors.New("only: must be in order of the nodes' IDs")
	case !slices.IsSorted(a.Banned):
		return errors.New("banned: must be in order of the nodes' IDs")
	}
	if a.Spec != nil {
		return a.Spec.Validate(a.Stage)
	}
	return nil
}

// validateFor is Validate, and reports also what is wrong because the asks are of job j.
func (a *Asks) validateFor(j *Job) error {
	if err := a.Validate(); err != nil {
		return err
	}
	most := int32(-1)
	switch have := int32(len(j.Stages)); {
	case a.Stage > have:
		return fmt.Errorf("stage %d: the job has %d, and %d makes a new one", a.Stage, have, have)
	case a.Stage == have && a.Spec == nil:
		return fmt.Errorf("stage %d: a new one needs its spec", a.Stage)
	case a.Stage == have:
		most = a.Spec.Tasks
	default:
		st := j.Stages[a.Stage]
		if a.Spec != nil && (a.Spec.Kind != st.Kind || a.Spec.Tasks != st.Total) {
			return fmt.Errorf("stage %d: %d tasks (%v), must stay %d (%v)", a.Stage, a.Spec.Tasks, a.Spec.Kind,
				st.Total, st.Kind)
		}
		if st.Total >= 0 {
			most = st.tasks.startable(st)
		}
	}
	if most >= 0 && a.Pending > most {
		return fmt.Errorf("pending: %d, must be at most the tasks that neither run nor are done, %d", a.Pending, most)
	}
	return nil
}

// ValidateTerms is Validate without the stages, for a job whose stages are not known yet.
func (s *JobSpec) ValidateTerms() error {
	if !(s.Weight >= 0 && s.Weight <= maxWeight) {
		return fmt.Errorf("weight %v: must be from 0, which is 1, to %v", s.Weight, float64(maxWeight))
	}
	if s.Submit < 0 && !s.Open {
		return fmt.Errorf("submit %v: must not be negative", s.Submit)
	}
	if s.Delays < -1 || s.Delays > maxDelays {
		return fmt.Errorf("delays %d: must be from -1, for none, to %d", s.Delays, maxDelays)
	}
	if s.Deadline < 0 {
		return fmt.Errorf("deadline %v: must be after the submission", s.Deadline)
	}
	for k := range s.Min {
		if least, most := s.Min[k], s.Max[k]; least < 0 || most < 0 || max(least, most) > maxAmount {
			return fmt.Errorf("min %d and max %d of %v: must be from 0 to %d",
				least, most, ResourceKind(k), int64(maxAmount))
		} else if most > 0 && least > most {
			return fmt.Errorf("min %d of %v: must be at most max, %d", least, ResourceKind(k), most)
		}
	}
	if s.Goal != nil {
		if err := s.Goal.validate(s.Deadline); err != nil {
			return fmt.Errorf("goal: %w", err)
		}
	}
	if s.Profile != nil {
		if err := s.Profile.validate(); err != nil {
			return fmt.Errorf("profile: %w", err)
		}
	}
	return nil
}

// validate reports what is wrong with goal g of a job with a deadline.
func (g *Goal) validate(deadline Time) error {
	switch {
	case g.Metric >= NumMetrics:
		return fmt.Errorf("metric %d: must be below %d", g.Metric, NumMetrics)
	case !(g.Weight >= 0 && g.Weight <= maxWeight):
		return fmt.Errorf("weight %v: must be from 0, which is the job's, to %v", g.Weight, float64(maxWeight))
	case (g.Metric == MetricTardy || g.Metric == MetricTardiness || g.Metric == MetricLateness) && deadline == 0:
		return fmt.Errorf("metric %v: needs a deadline of the job", g.Metric)
	case (g.Metric == MetricSteps) != (len(g.Steps) > 0):
		return fmt.Errorf("steps: %d, must be at least one with the metric steps, and none without", len(g.Steps))
	case len(g.Steps) > mostSteps:
		return fmt.Errorf("steps: %d, must be at most %d", len(g.Steps), mostSteps)
	}
	last := CostStep{After: -1}
	for i, step := range g.Steps {
		if step.After <= last.After || !(step.Cost >= last.Cost && step.Cost <= maxWeight) {
			return fmt.Errorf("step %d, cost %v after %v: must be later than the one before, and cost at least as much",
				i, step.Cost, step.After)
		}
		last = step
	}
	return nil
}

func (p *Profile) validate() error {
	for phase := range p.Phases {
		for k, a := range p.Phases[phase] {
			if a < 0 || a > maxAmount {
				return fmt.Errorf("%v in phase %v: %d, must be from 0 to %d",
					ResourceKind(k), Phase(phase), a, int64(maxAmount))
			}
		}
	}
	for i, name := range p.Accelerators {
		if name == "" || slices.Contains(p.Accelerators[:i], name) {
			return fmt.Errorf("accelerator %q: must be a name, and given once", name)
		}
	}
	return nil
}

// Validate reports what is wrong with the spec of the stage that has an index in its job: the stage and the field, and
// what it should be.
func (s *StageSpec) Validate(index int32) error {
	if s.Kind >= NumKinds {
		return fmt.Errorf("stage %d: kind %d, must be below %d", index, s.Kind, NumKinds)
	}
	if err := s.validate(index); err != nil {
		return fmt.Errorf("stage %d (%v): %w", index, s.Kind, err)
	}
	return nil
}

func (s *StageSpec) validate(index int32) error {
	some := false
	for k, a := range s.PerTask {
		if a < 0 || a > maxAmount {
			return fmt.Errorf("%v per task: %d, must be from 0 to %d", ResourceKind(k), a, int64(maxAmount))
		}
		some = some || a > 0
	}
	switch {
	case !some:
		return fmt.Errorf("a task asks for no resources")
	case s.Tasks < -1 || s.Tasks > maxTasks:
		return fmt.Errorf("tasks: %d, must be from 0 to %d", s.Tasks, maxTasks)
	case s.MaxAttempts < 0:
		return fmt.Errorf("max attempts: %d, must not be negative", s.MaxAttempts)
	case s.Copies < 0 || s.Tasks > 0 && len(s.Places) != int(s.Copies)*int(s.Tasks):
		return fmt.Errorf("places: %d, must be copies (%d) × tasks (%d)", len(s.Places), s.Copies, s.Tasks)
	}
	for _, d := range s.After {
		if d.Stage < 0 || d.Stage >= index {
			return fmt.Errorf("starts after stage %d: must be an earlier one", d.Stage)
		}
		if !(d.Part >= 0 && d.Part <= 1) {
			return fmt.Errorf("starts after a part of %v: must be from 0 to 1", d.Part)
		}
	}
	return nil
}
