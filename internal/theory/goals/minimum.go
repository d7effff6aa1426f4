package goals

import "math"

// A Part is what is left of one stage of a job whose stages follow each other.
type Part struct {
	Tasks   int     // that have not finished
	Mean    float64 // length of a task, seconds
	Longest float64 // length of the longest task, seconds
}

// work returns the slot-seconds of a part that slots divide: (n − ½)·mean. The time of a part on k slots lies between
// n·mean ÷ k and (n − 1)·mean ÷ k + longest, and is taken to be half-way.
func (p Part) work() float64 { return max(0, float64(p.Tasks)-0.5) * p.Mean }

// MinimumSlots returns the fewest slots, for each part, with which parts that follow each other are through in a time
// of so many seconds: slots in proportion to the square roots of their work, by the method of Lagrange. If the time
// is too short for any number of slots, all are +Inf. Of a part without tasks it is 0.
//
// Source: Verma, Cherkasova, Campbell, ARIA: Automatic Resource Inference and Allocation for MapReduce Environments,
// ICAC 2011, sections 3.2 and 4.2.
func MinimumSlots(parts []Part, time float64) []float64 {
	roots := 0.0
	for _, p := range parts {
		if p.Tasks > 0 {
			roots += math.Sqrt(p.work())
			time -= p.Longest / 2
		}
	}
	slots := make([]float64, len(parts))
	for i, p := range parts {
		switch {
		case p.Tasks <= 0:
		case time <= 0:
			slots[i] = math.Inf(1)
		default:
			slots[i] = math.Sqrt(p.work()) * roots / time
		}
	}
	return slots
}

// A Law is what is known of the length of a stage's tasks: mean and standard deviation, and from how many finished
// tasks they come (0: they are taken to be exact).
type Law struct {
	Mean, StdDev float64
	Samples      int
}

// Quantile returns the Part of a number of tasks that is not exceeded with a confidence in (0, 1). Its Mean is a
// quantile of the mean of the tasks, whose variance is that of one task ÷ their number, plus that of the estimate. Its
// Longest is a quantile of one task. Both are taken to be normal.
func (l Law) Quantile(tasks int, confidence float64) Part {
	z := math.Sqrt2 * math.Erfinv(2*confidence-1)
	return Part{tasks, max(0, l.Mean+z*l.Spread(tasks)), max(0, l.Mean+z*l.StdDev)}
}

// Spread returns the standard deviation of the mean of a number of tasks.
func (l Law) Spread(tasks int) float64 { return math.Sqrt(l.variance(tasks)) }

// variance returns that of the mean of a number of tasks.
func (l Law) variance(tasks int) float64 {
	v := l.StdDev * l.StdDev
	if tasks <= 0 {
		return 0
	}
	if l.Samples > 0 {
		return v/float64(tasks) + v/float64(l.Samples)
	}
	return v / float64(tasks)
}

// A Leg is a stage on a number of slots.
type Leg struct {
	Law
	Tasks int     // that have not finished
	Slots float64 // above 0
}

// Chance returns the probability that legs, which follow each other, are through in a time of so many seconds, if the
// sums of task lengths are normal.
func Chance(legs []Leg, time float64) float64 {
	mean, variance := 0.0, 0.0
	for _, l := range legs {
		n := float64(l.Tasks)
		mean += n * l.Mean / l.Slots
		variance += n * n * l.variance(l.Tasks) / (l.Slots * l.Slots)
	}
	switch {
	case variance > 0:
		return (1 + math.Erf((time-mean)/math.Sqrt(2*variance))) / 2
	case mean <= time:
		return 1
	}
	return 0
}
