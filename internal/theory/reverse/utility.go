package reverse

import (
	"math"

	"github.com/sojourn-sched/sojourn/internal/priority"
)

// Utility returns how well off a job is with maps placed (equations 13 to 15; docs/spec/reverse.md, 2.5): below 0 with
// fewer than must run now (fit), up to 0.5 with as many as it needs on average (required), and up to 1 with all pending
// maps. Reduces that are not placed take off as in package placement.
func Utility(maps int, fit, required float64, pending int) float64 {
	s, all := float64(maps), float64(pending)
	switch {
	case pending == 0 || maps >= pending:
		return 1
	case s < fit && maps == 0:
		return math.Inf(-1)
	case s < fit:
		return math.Log(s)/math.Log(fit) - 1
	case required <= fit:
		return (s - fit) / (all - fit)
	case s <= required:
		return (s - fit) / (2 * (required - fit))
	}
	return (s-required)/(2*(all-required)) + 0.5
}

// A Claimant is a job that competes for equal slots.
type Claimant struct {
	Pending int
	Goal    float64
	ID      int64
	Utility func(maps int) float64
}

// Divide gives slots one by one to the job that is worst off and has maps left to place, and returns how many each job
// has (docs/spec/reverse.md, 2.6). Of equals the job with the earlier goal comes first, then the one with the lower ID.
// O((slots + n) log n).
func Divide(slots int, jobs []Claimant) []int {
	has := make([]int, len(jobs))
	var line priority.Queue[contender]
	for i := range jobs {
		if jobs[i].Pending > 0 {
			line = append(line, contender{&jobs[i], i, jobs[i].Utility(0)})
		}
	}
	line.Init()
	for ; slots > 0 && len(line) > 0; slots-- {
		c := &line[0]
		if has[c.at]++; has[c.at] == c.Pending {
			line.Pop()
			continue
		}
		c.utility = c.Utility(has[c.at])
		line.FixFirst()
	}
	return has
}

// A contender is a job that may have more slots.
type contender struct {
	*Claimant
	at      int     // its index
	utility float64 // with the slots that it has
}

// Before implements priority.Ordered: the job that is worst off comes first.
func (a contender) Before(b contender) bool {
	if a.utility != b.utility {
		return a.utility < b.utility
	}
	if a.Goal != b.Goal {
		return a.Goal < b.Goal
	}
	return a.ID < b.ID
}
