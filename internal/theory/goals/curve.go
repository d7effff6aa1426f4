package goals

import "math"

// A Curve is a Rank as a function of time, while the stage neither starts nor ends a task, no running task comes to
// outlive the mean, and the class stays. Its value at t is
//
//	Base + Slope·(t − From) + Pull ÷ (Goal − t)
//
// where Slope is 0 for planned stages and Pull is 0 for all others: s_req is a hyperbola, because the work falls at a
// constant rate and so does the time that is left.
type Curve struct {
	Class             Class
	Goal              float64 // of the stage
	From              float64 // the instant at which Slope begins to count
	Base, Slope, Pull float64
}

// Course returns the curve of a stage from now on. Argument shrinking is how many of its running tasks have not
// outlived the mean: the work falls by so many slot-seconds in a second. It holds up to the instant at which one more
// task outlives the mean, or at which the goal passes. The class must be that of Standing, and Late or Planned.
func (s Stage) Course(now float64, shrinking int) Curve {
	c := Curve{Goal: s.Goal, From: now}
	if now < s.Goal {
		c.Class = Planned
		c.Base = float64(s.Running - shrinking)
		c.Pull = float64(shrinking)*(s.Goal-now) - s.Work()
		return c
	}
	c.Base = -s.Lateness(now)
	if s.Running > 0 {
		c.Slope = float64(shrinking)/float64(s.Running) - 1
	}
	return c
}

// At returns the rank at t.
func (c Curve) At(t float64) Rank {
	v := c.Base
	if c.Slope != 0 {
		v += c.Slope * (t - c.From)
	}
	if c.Pull != 0 {
		v += c.Pull / (c.Goal - t)
	}
	return Rank{c.Class, v, c.Goal}
}

// Crosses returns an instant from now on up to which (excluded) the order of the ranks of c and o stays as it is now,
// if both curves hold for so long: +Inf where it never changes. The instant may be early, never late. It is now where
// the values are too close to tell.
func (c Curve) Crosses(o Curve, now float64) float64 {
	fixed := c.Slope == 0 && o.Slope == 0 && c.Pull == 0 && o.Pull == 0
	if fixed || c.Class != o.Class || c.Base == o.Base && c.Slope == o.Slope && c.Pull == o.Pull && c.Goal == o.Goal &&
		(c.From == o.From || c.Slope == 0) {
		return math.Inf(1)
	}
	a, b := c.At(now).Value, o.At(now).Value
	gap := a - b
	if math.IsInf(a, 0) || math.IsInf(b, 0) {
		return math.Inf(1) // a late stage that holds no slot stays first among the late
	}
	if gap < 0 {
		c, o, gap = o, c, -gap
	}
	// From here on gap is the value of c less that of o. It is looked for when it comes down to close.
	close := 4*SameValue + 0x1p-40*(math.Abs(a)+math.Abs(b))
	if gap <= close {
		return now
	}
	wait := math.Inf(1)
	if c.Slope != 0 || o.Slope != 0 {
		if closing := o.Slope - c.Slope; closing > 0 {
			wait = (gap - close) / closing
		}
	} else {
		wait = firstRoot(c, o, now, c.Base-o.Base-close)
	}
	return now + wait*(1-0x1p-30)
}

// firstRoot returns the smallest x > 0 for which the planned curves c and o, whose bases differ by base, have the same
// value at now + x: a root of
//
//	base·x² + (Pull_o − Pull_c − base·(u + v))·x + Pull_c·v − Pull_o·u + base·u·v = 0
//
// where u and v are what is left to the goals of c and o. +Inf: there is none.
func firstRoot(c, o Curve, now, base float64) float64 {
	u, v := c.Goal-now, o.Goal-now
	if math.IsInf(u, 1) { // a constant: Pull is 0, and any goal will do
		u = v
	}
	if math.IsInf(v, 1) {
		v = u
	}
	if math.IsInf(u, 1) {
		return math.Inf(1)
	}
	linear := o.Pull - c.Pull - base*(u+v)
	constant := c.Pull*v - o.Pull*u + base*u*v
	if base == 0 {
		return positive(-constant / linear)
	}
	root := linear*linear - 4*base*constant
	if root < 0 {
		return math.Inf(1)
	}
	q := -(linear + math.Copysign(math.Sqrt(root), linear)) / 2 // without cancellation
	return min(positive(q/base), positive(constant/q))
}

// positive returns x if it is above 0, else +Inf.
func positive(x float64) float64 {
	if x > 0 {
		return x
	}
	return math.Inf(1)
}
