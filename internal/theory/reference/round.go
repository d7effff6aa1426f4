package reference

// A TaskSpan is when a task ran, in seconds. Source of this file: S. Tang's thesis on LTYARN, formulas 5.12 to 5.16.
type TaskSpan struct {
	Start    float64
	Finish   float64 // meaningful once finished
	Started  bool
	Finished bool
}

// RoundStart returns when the round that contains t began, where rounds of length begin at 0 (formula 5.12). length >
// 0, t >= 0.
func RoundStart(t, length float64) float64 {
	n := float64(int64(t / length))
	return n * length
}

// AssumedTime returns the assumed execution time of a task at t in the round that began at roundStart (formula 5.15).
// Of a finished task that is the time for which it ran in the round, 0 if it finished before. Of a running task it is
// at least the quantum, of a pending one 0.
//
// The printed second case wants the finish time of a running task, which is not known: here it is "started, not
// finished".
func (s TaskSpan) AssumedTime(t, roundStart, quantum float64) float64 {
	from := max(roundStart, s.Start)
	switch {
	case !s.Started || s.Start > t:
		return 0
	case s.Finished && s.Finish <= t:
		return max(0, s.Finish-from)
	}
	return max(quantum, t-from)
}

// RoundArrival returns when an application arrived in the round that began at roundStart (formula 5.14): its arrival,
// if that is in the round; roundStart, if a task of it spans that; else the start of its first task in the round. It
// reports false while there is no such task.
func RoundArrival(arrival, roundStart float64, tasks []TaskSpan) (at float64, ok bool) {
	if roundStart <= arrival {
		return arrival, true
	}
	for _, s := range tasks {
		switch {
		case !s.Started:
		case s.Start <= roundStart && (!s.Finished || roundStart < s.Finish):
			return roundStart, true
		case s.Start > roundStart && (!ok || s.Start < at):
			at, ok = s.Start, true
		}
	}
	return at, ok
}

// An Early is an active application or queue that arrived before another one.
type Early struct {
	Weight      float64 // > 0
	Accumulated float64 // unit·seconds, its own pseudo accumulated resources included
}

// PseudoAccumulated returns the pseudo accumulated resources (PAR) of an application of a weight that arrives while
// others are active: as much for its weight as the one of them that has most (formula 5.16); 0 without others. It is
// evaluated once, at arrival, and kept for the round: evaluated at every instant, as it is printed, it would starve the
// newcomer as long as any other has pending tasks. The weights are not in the printed formula, which compares
// unweighted amounts while the selection (5.11) compares weighted ones.
func PseudoAccumulated(weight float64, earlier []Early) (most float64) {
	for _, e := range earlier {
		most = max(most, weight*e.Accumulated/e.Weight)
	}
	return most
}
