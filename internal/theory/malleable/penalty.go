package malleable

import "math"

// A Shape is a family of penalties.
type Shape uint8

// The shapes. All are non-decreasing in the instant of completion.
const (
	Line   Shape = iota // Weight·(t − From): response, stretch, lateness
	Ramp                // Weight·max(0, t − From): tardiness
	Stairs              // Steps: tardy or not, service levels
	Curve               // Func: a penalty of the caller's own
)

// A Penalty is what a job costs by the instant t at which it completes.
type Penalty struct {
	Shape        Shape
	Weight, From float64               // of a Line or a Ramp; Weight >= 0
	Steps        []Step                // of Stairs, by rising instant and cost
	Func         func(float64) float64 // of a Curve: non-decreasing and free of effects
	// Spread is the standard deviation of the time from Since to the completion, as a part of its mean, where work is
	// known as a normal law only: then t is the mean of the completion, and the penalty is the expected one. 0: t is
	// sure.
	Spread, Since float64
}

// A Step is the cost of a job that completes later than an instant.
type Step struct{ After, Cost float64 }

// late reports whether an instant is after a deadline, by more than rounding explains.
func late(t, deadline float64) bool { return t > deadline+1e-9*math.Abs(deadline)+1e-12 }

// At returns the penalty of a job that completes at t, or is expected to.
func (p *Penalty) At(t float64) float64 {
	if deviation := p.Spread * (t - p.Since); deviation > 0 {
		return p.expected(t, deviation)
	}
	return p.sure(t)
}

// expected returns the mean penalty of a job whose completion has a normal law. What is due before Since is late for
// sure, so that the mean does not decrease with t.
func (p *Penalty) expected(t, deviation float64) float64 {
	switch p.Shape {
	case Line:
		return p.sure(t)
	case Ramp:
		if p.From <= p.Since {
			return p.sure(t)
		}
		z := (t - p.From) / deviation
		density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
		return p.Weight * ((t-p.From)*normal(z) + deviation*density)
	case Stairs:
		cost, below := 0.0, 0.0
		for _, s := range p.Steps {
			chance := 1.0
			if s.After > p.Since {
				chance = normal((t - s.After) / deviation)
			}
			cost += (s.Cost - below) * chance
			below = s.Cost
		}
		return cost
	}
	const apart = 1.7320508075688772 // Gauss and Hermite's rule of three points
	return p.Func(t)*2/3 + (p.Func(max(p.Since, t-apart*deviation))+p.Func(t+apart*deviation))/6
}

// normal returns the part of a standard normal law that is at most z.
func normal(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// sure returns the penalty of a job that completes at t for sure.
func (p *Penalty) sure(t float64) float64 {
	switch p.Shape {
	case Line:
		return p.Weight * (t - p.From)
	case Ramp:
		return p.Weight * max(0, t-p.From)
	case Stairs:
		cost := 0.0
		for _, s := range p.Steps {
			if !late(t, s.After) {
				break
			}
			cost = s.Cost
		}
		return cost
	}
	return p.Func(t)
}

// Latest returns the last instant up to horizon at which the penalty is at most level; -Inf: it is more at once, that
// is, at the instant from. A Curve, and what is known as a law, is bisected between from and horizon.
func (p *Penalty) Latest(level, from, horizon float64) float64 {
	switch {
	case p.Spread > 0 && p.Shape != Line:
	case p.Shape <= Ramp:
		switch {
		case p.Shape == Ramp && level < 0:
			return math.Inf(-1)
		case p.Weight == 0 && level < 0:
			return math.Inf(-1)
		case p.Weight == 0:
			return horizon
		}
		return min(horizon, p.From+level/p.Weight)
	case p.Shape == Stairs:
		if level < 0 {
			return math.Inf(-1)
		}
		for _, s := range p.Steps {
			if s.Cost > level {
				return min(horizon, s.After)
			}
		}
		return horizon
	}
	switch {
	case p.At(horizon) <= level:
		return horizon
	case p.At(from) > level:
		return math.Inf(-1)
	}
	low, high := from, horizon
	for range 60 {
		if mid := low + (high-low)/2; p.At(mid) <= level {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// due returns the q-th instant, from 0, at which the penalty begins to grow; the last one where there are fewer. A Line
// grows from its origin on, a Curve from the beginning.
func (p *Penalty) due(q int) float64 {
	switch {
	case p.Shape == Stairs && len(p.Steps) == 0:
		return math.Inf(1)
	case p.Shape == Stairs:
		return p.Steps[min(q, len(p.Steps)-1)].After
	case p.Shape == Curve:
		return math.Inf(-1)
	}
	return p.From
}

// weight returns what the rules of one-machine sequencing weigh the job by: the slope, or the last step.
func (p *Penalty) weight() float64 {
	switch {
	case p.Shape == Stairs && len(p.Steps) == 0:
		return 0
	case p.Shape == Stairs:
		return p.Steps[len(p.Steps)-1].Cost
	case p.Shape == Curve:
		return 1
	}
	return p.Weight
}

// A Metric says how the facts of a job become its penalty, and whether the objective is their sum or the largest.
type Metric struct {
	Title   string
	Worst   bool
	Mean    bool // reported as the mean over jobs; else as it is
	Penalty func(Facts) Penalty
}

// Facts are what metrics know of a job. Instants are in seconds.
type Facts struct {
	Arrival  float64
	Base     float64 // what stretch divides by: the time in isolation, or the work; > 0
	Deadline float64 // +Inf: none
	Weight   float64 // > 0
	Steps    []Step  // of the service level, by rising instant and cost; none: as Deadline and Weight say
}

// Metrics are the metrics of FLEX (2.2) by name.
var Metrics = map[string]Metric{
	"avg-response":           {"average response", false, true, response},
	"weighted-response":      {"weighted average response", false, true, weightedResponse},
	"max-weighted-response":  {"maximum weighted response", true, false, weightedResponse},
	"avg-stretch":            {"average stretch", false, true, stretch},
	"max-stretch":            {"maximum stretch", true, false, stretch},
	"makespan":               {"makespan", true, false, func(Facts) Penalty { return Penalty{Weight: 1} }},
	"tardy":                  {"number of tardy jobs", false, false, equal(tardy)},
	"weighted-tardy":         {"weighted number of tardy jobs", false, false, weighted(tardy)},
	"tardiness":              {"total tardiness", false, false, equal(ramp)},
	"weighted-tardiness":     {"weighted total tardiness", false, false, weighted(ramp)},
	"max-tardiness":          {"maximum tardiness", true, false, equal(ramp)},
	"max-weighted-tardiness": {"maximum weighted tardiness", true, false, weighted(ramp)},
	"max-lateness":           {"maximum lateness", true, false, equal(lateness)},
	"max-weighted-lateness":  {"maximum weighted lateness", true, false, weighted(lateness)},
	"sla":                    {"cost of service levels", false, false, serviceLevel},
}

// equal makes a penalty by deadline one in which all jobs weigh the same.
func equal(of func(deadline, weight float64) Penalty) func(Facts) Penalty {
	return func(f Facts) Penalty { return of(f.Deadline, 1) }
}

// weighted makes a penalty by deadline one with the jobs' own weights.
func weighted(of func(deadline, weight float64) Penalty) func(Facts) Penalty {
	return func(f Facts) Penalty { return of(f.Deadline, f.Weight) }
}

func response(f Facts) Penalty { return Penalty{Weight: 1, From: f.Arrival} }

func weightedResponse(f Facts) Penalty { return Penalty{Weight: f.Weight, From: f.Arrival} }

func stretch(f Facts) Penalty { return Penalty{Weight: 1 / f.Base, From: f.Arrival} }

func tardy(deadline, weight float64) Penalty {
	if math.IsInf(deadline, 1) {
		return Penalty{Shape: Stairs}
	}
	return Penalty{Shape: Stairs, Steps: []Step{{deadline, weight}}}
}

// ramp returns the tardiness of a job; one without a deadline is never tardy.
func ramp(deadline, weight float64) Penalty {
	if math.IsInf(deadline, 1) {
		return Penalty{Shape: Stairs}
	}
	return Penalty{Shape: Ramp, Weight: weight, From: deadline}
}

// lateness returns the lateness of a job; one without a deadline costs nothing.
func lateness(deadline, weight float64) Penalty {
	if math.IsInf(deadline, 1) {
		return Penalty{Shape: Stairs}
	}
	return Penalty{Weight: weight, From: deadline}
}

func serviceLevel(f Facts) Penalty {
	if len(f.Steps) == 0 {
		return tardy(f.Deadline, f.Weight)
	}
	return Penalty{Shape: Stairs, Steps: f.Steps}
}
