package goals

import "math"

// Lengths is the task-length estimator (2.1): what is known of the lengths of a stage's tasks from those that have
// finished. The zero value knows nothing. It is of one stage, or of its tasks on one node or in one pool: a policy
// keeps as many as it needs. Its fields survive JSON.
type Lengths struct {
	N       int64   // finished tasks
	Sum     float64 // of their lengths, seconds
	Squares float64 // sum of the squared distances from the mean, seconds²
}

// Add counts a finished task of a length in seconds. O(1).
func (l *Lengths) Add(length float64) {
	before := l.Mean()
	l.N++
	l.Sum += length
	l.Squares += (length - before) * (length - l.Mean())
}

// Known reports whether a task has finished.
func (l *Lengths) Known() bool { return l.N > 0 }

// Mean returns the mean length in seconds, μ; 0 while nothing is known.
func (l *Lengths) Mean() float64 {
	if l.N == 0 {
		return 0
	}
	return l.Sum / float64(l.N)
}

// StdDev returns the standard deviation of the lengths in seconds, by the number of tasks less one; 0 for fewer than
// two tasks.
func (l *Lengths) StdDev() float64 {
	if l.N < 2 {
		return 0
	}
	return math.Sqrt(max(0, l.Squares) / float64(l.N-1))
}

// Remaining returns δ, what is left of a running task in seconds, where its stage's mean length and the time that it
// has run are known. It is never negative: a task that outlives the mean adds no negative work (2.1, correction).
func Remaining(mean, elapsed float64) float64 { return max(0, mean-elapsed) }

// Split returns the goal of a stage under the proportional rule (2.2): the frame between the submission and the job's
// goal is divided by work. Argument through is the work up to the end of the stage, after the work of what follows it,
// both in the same unit: tasks × relative cost of a task. With two stages through is the number of maps, and after is
// the number of reduces × the cost of a reduce in maps.
func Split(submitted, goal, through, after float64) float64 {
	if through+after <= 0 || after <= 0 {
		return goal
	}
	return submitted + (goal-submitted)*through/(through+after)
}

// SplitByWaves returns the goal of a stage so that what follows it has as long as its waves take (2.2, option): after
// is the sum of waves × mean task length of the stages that follow, in seconds.
func SplitByWaves(goal, after float64) float64 { return goal - after }

// Waves returns how many waves a number of tasks takes on a number of slots; 0 without tasks or without slots.
func Waves(tasks, slots int) int {
	if tasks <= 0 || slots <= 0 {
		return 0
	}
	return (tasks + slots - 1) / slots
}

// Factor returns s(d, l) (2.7): how many times as many slots as planned a stage needs if an error is noticed late. d is
// the part of the distance to the goal that is left then, and l the part of the whole distance that a task takes, both
// in percent, above 0. The result is the number of whole waves that the plan had, divided by the number that are left.
// Factor returns false where no wave is left.
func Factor(d, l int) (float64, bool) {
	if d/l == 0 {
		return 0, false
	}
	return float64(100/l) / float64(d/l), true
}
