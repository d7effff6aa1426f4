package placement

import "math"

// Required returns how many maps of a job must run at once on average to meet a goal that is left seconds away, at most
// pending (docs/spec/ras.md, 2.1). Pending maps are not completed, and one takes mean seconds. All of them are required
// if the goal has passed, if there is none (left is +Inf), or if mean is unknown (zero).
//
// With waves, maps run in whole waves: pending ÷ floor(left ÷ mean).
func Required(pending int, mean, left float64, waves bool) float64 {
	all := float64(pending)
	switch {
	case mean <= 0 || left <= 0 || math.IsInf(left, 1):
		return all
	case waves:
		w := math.Floor(left/mean + 1e-9)
		if w < 1 {
			return all
		}
		return min(all, all/w)
	}
	return min(all, all*mean/left)
}

// A Need is what a job wants to have placed.
type Need struct {
	Required float64 // maps that must run at once
	Pending  int     // maps that are not completed
	Reduces  int     // reduces that are not completed
}

// Utility returns how well off a job is with maps and reduces placed: −∞ without a map, 0 with the required maps and
// all reduces, 1 with all of both (equations 5 to 7; the rules at the edges are of docs/spec/ras.md, 2.2). It never
// falls as maps or reduces are added.
func (n Need) Utility(maps, reduces int) float64 {
	return min(1, n.UtilityOfMaps(maps)+UtilityOfReduces(reduces, n.Reduces))
}

// UtilityOfMaps returns the part of Utility that maps give: in [−∞, 1].
func (n Need) UtilityOfMaps(maps int) float64 {
	s := float64(maps)
	switch {
	case maps >= n.Pending:
		return 1
	case s >= n.Required:
		return (s - n.Required) / (float64(n.Pending) - n.Required)
	case maps == 0:
		return math.Inf(-1)
	}
	return math.Log(s)/math.Log(n.Required) - 1
}

// UtilityOfReduces returns what reduces that are not placed take off: in [−1, 0].
func UtilityOfReduces(reduces, all int) float64 {
	switch {
	case reduces >= all:
		return 0
	case reduces == 0:
		return -1
	}
	return math.Log(float64(reduces))/math.Log(float64(all)) - 1
}
