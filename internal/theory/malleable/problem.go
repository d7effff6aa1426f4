package malleable

import (
	"fmt"
	"math"
)

// A Problem is jobs that compete for equal slots, and how their penalties add up. Jobs stand in order of arrival.
type Problem struct {
	Slots int     // > 0
	Start float64 // instant at which the schedule begins, in seconds
	Worst bool    // the objective is the largest penalty (minimax); else it is the sum (minisum)
	Jobs  []Job
}

// A Job is work that any number of slots from Min to Max can do.
type Job struct {
	Work     float64 // slot-seconds that are left, > 0
	Min, Max int     // slots; 0 <= Min <= Max, 1 <= Max <= Slots
	Penalty  Penalty
	// Times are the seconds that the job takes with 1, 2, ... slots where speed-up is not linear, non-increasing;
	// Moldable alone reads them. Nil: Work ÷ slots.
	Times []float64
}

// Check returns an error that names the first job outside the ranges which Problem and Job state; nil: none is.
func (p *Problem) Check() error {
	if p.Slots < 1 {
		return fmt.Errorf("slots: %d; there must be at least one", p.Slots)
	}
	minima := 0
	for i := range p.Jobs {
		j := &p.Jobs[i]
		minima += j.Min
		switch {
		case !(j.Work > 0) || math.IsInf(j.Work, 1):
			return fmt.Errorf("job %d: work %v; it must be finite and more than zero", i, j.Work)
		case j.Max < 1 || j.Max > p.Slots:
			return fmt.Errorf("job %d: maximum %d; it must be from 1 to the %d slots", i, j.Max, p.Slots)
		case j.Min < 0 || j.Min > j.Max:
			return fmt.Errorf("job %d: minimum %d; it must be from 0 to its maximum %d", i, j.Min, j.Max)
		case j.Times != nil && len(j.Times) < j.Max:
			return fmt.Errorf("job %d: times for %d slots; its maximum is %d", i, len(j.Times), j.Max)
		}
	}
	if minima > p.Slots {
		return fmt.Errorf("minima: their sum %d exceeds the %d slots; Normalize scales them down", minima, p.Slots)
	}
	return nil
}

// Value returns the objective of completion instants, which are given by job.
func (p *Problem) Value(done []float64) float64 {
	value := 0.0
	if p.Worst {
		value = math.Inf(-1)
	}
	for i := range p.Jobs {
		value = p.add(value, p.Jobs[i].Penalty.At(done[i]))
	}
	return value
}

// add returns a value with one more penalty in it.
func (p *Problem) add(value, penalty float64) float64 {
	if p.Worst {
		return max(value, penalty)
	}
	return value + penalty
}

// work returns the work of all jobs, in slot-seconds.
func (p *Problem) work() (sum float64) {
	for i := range p.Jobs {
		sum += p.Jobs[i].Work
	}
	return sum
}

// time returns how long job i takes with a fixed number of slots; +Inf with none.
func (j *Job) time(slots int) float64 {
	if slots > 0 && j.Times != nil {
		return j.Times[slots-1]
	}
	return j.Work / float64(slots)
}

// Normalize scales minima down where their sum exceeds slots, and returns them as they are else. Each minimum keeps its
// proportion; slots that rounding leaves go to the largest fractions, of equals to the first. Where there are slots for
// all, no minimum that was positive becomes zero: the largest gives one.
func Normalize(slots int, minima []int) []int {
	least := append([]int(nil), minima...)
	sum := 0
	for _, m := range least {
		sum += m
	}
	if sum <= slots {
		return least
	}
	left := slots
	fractions := make([]int, len(least)) // remainders of m·slots ÷ sum
	for i, m := range least {
		least[i], fractions[i] = m*slots/sum, m*slots%sum
		left -= least[i]
	}
	for ; left > 0; left-- {
		first := 0
		for i, f := range fractions {
			if f > fractions[first] {
				first = i
			}
		}
		least[first]++
		fractions[first] = -1
	}
	for i := range least {
		if len(least) > slots || least[i] > 0 || minima[i] == 0 {
			continue
		}
		largest := 0
		for k, m := range least {
			if m > least[largest] {
				largest = k
			}
		}
		if least[largest] > 1 {
			least[largest]--
			least[i]++
		}
	}
	return least
}
