package goals

import (
	"cmp"
	"math"
)

// A Stage is what is known of the tasks of a job that compete for slots of one kind at one instant.
type Stage struct {
	Mean      float64 // μ, mean length of a task in seconds
	Known     bool    // Mean comes from finished tasks, or from a substitute (2.2)
	Unstarted int     // |U|, tasks that have not started
	Running   int     // |R|, tasks that run
	Left      float64 // Σ δ over the running tasks, seconds: see Remaining
	Goal      float64 // T_goal of the stage; +Inf: none
}

// Work returns W, the slot-seconds that are left of the stage (2.3).
func (s Stage) Work() float64 { return s.Left + float64(s.Unstarted)*s.Mean }

// Required returns s_req, the slots that the stage needs to meet its goal in addition to those that it holds: equation
// (1) of 2.3. It is not rounded. Above 0 the stage is behind its plan. The slots that it needs together, as
// chapters 4 and 5 of the source define s_req, are Required + Running. It is defined while Known, and before Goal.
func (s Stage) Required(now float64) float64 {
	return s.Work()/(s.Goal-now) - float64(s.Running)
}

// RequiredInWaves returns s_req by whole waves (2.3, option waveAware): the slots on which what is left of the stage,
// counted in tasks, is through in as many whole waves as fit before the goal, less those that it holds. If no wave
// fits, every task that has not started needs a slot. It is defined where Required is.
func (s Stage) RequiredInWaves(now float64) float64 {
	waves := s.WholeWaves(now)
	if waves < 1 {
		return float64(s.Unstarted)
	}
	return math.Ceil(s.Work()/(s.Mean*waves)-1e-9) - float64(s.Running)
}

// WholeWaves returns how many whole waves of tasks fit before the goal.
func (s Stage) WholeWaves(now float64) float64 {
	if s.Mean <= 0 {
		return math.Inf(1)
	}
	return math.Floor((s.Goal-now)/s.Mean + 1e-9)
}

// RequiredAtOnce returns s_req of a stage without a goal that is to complete as soon as it can: it wants all of a
// number of slots, as far as it has tasks (2.4, option noGoal=asap).
func (s Stage) RequiredAtOnce(slots float64) float64 {
	return min(float64(s.Unstarted+s.Running), slots) - float64(s.Running)
}

// Completion returns when the stage is through on k > 0 slots, if its tasks take as long as those before (2.3).
func (s Stage) Completion(now, k float64) float64 { return now + s.Work()/k }

// Lateness returns by how many seconds a stage past its goal misses it with the slots that it holds (2.4): +Inf where
// it holds none, or where the length of its tasks is not known.
func (s Stage) Lateness(now float64) float64 {
	if s.Running == 0 || !s.Known {
		return math.Inf(1)
	}
	return s.Completion(now, float64(s.Running)) - s.Goal
}

// A Class is the first part of a stage's place in the order (2.4). Smaller classes are served first.
type Class int32

// The classes.
const (
	Late       Class = iota // past its goal
	Unmeasured              // no estimate is possible
	Planned                 // by s_req
	Background              // without a goal, where such jobs get what is left over
)

// A Rank is a stage's place in the order of 2.4: the smaller Class first, then the smaller Value, where values that
// round to the same multiple of 1e-9 are equal. What decides between equals is Goal, the earlier first, and then the
// caller's own order of jobs.
type Rank struct {
	Class Class
	Value float64 // −lateness of Late, submission of Unmeasured and Background, −s_req of Planned
	Goal  float64 // T_goal of the stage
}

// SameValue is the grain of the values of ranks: values are compared as whole multiples of it (2.4). So equality is
// transitive, which a tolerance would not be.
const SameValue = 1e-9

// grain returns v as a multiple of SameValue.
func grain(v float64) float64 { return math.Round(v / SameValue) }

// Compare returns a negative number if r is served before o, a positive one if o is, and 0 if they are equal.
func (r Rank) Compare(o Rank) int {
	if r.Class != o.Class {
		return int(r.Class - o.Class)
	}
	return cmp.Or(cmp.Compare(grain(r.Value), grain(o.Value)), cmp.Compare(r.Goal, o.Goal))
}
