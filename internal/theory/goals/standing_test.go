package goals

import "math"

// Standing returns the rank of a stage at now as 2.4 has it, with which curves are compared. submitted is when its job
// was submitted. A stage without a goal (Goal is +Inf) ranks as Background, or as Unmeasured while its task times are
// unknown.
func (s Stage) Standing(now, submitted float64) Rank {
	switch {
	case now >= s.Goal:
		return Rank{Late, -s.Lateness(now), s.Goal}
	case !s.Known:
		return Rank{Unmeasured, submitted, s.Goal}
	case math.IsInf(s.Goal, 1):
		return Rank{Background, submitted, s.Goal}
	}
	return Rank{Planned, -s.Required(now), s.Goal}
}
