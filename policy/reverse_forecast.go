package policy

import (
	"math"

	"github.com/sojourn-sched/sojourn/internal/theory/reverse"
	"github.com/sojourn-sched/sojourn/sched"
)

// A dayCurve says how much all nodes together offered at each time of the day. It is learned from past days.
type dayCurve struct {
	Bins []bin // parts of the day, of equal length
	At   sched.Time
	Held sched.Resources // what has been available since At
	Bin  bin             // the present part of the day: only Sum and Time are set

	day     sched.Time // the length of a day
	caution float64    // how many mean errors are subtracted from the mean
}

// A bin is a part of the day.
type bin struct {
	Days  int64          // how many days have been observed
	Mean  reverse.Amount // the average that was available; later days count more
	Error reverse.Amount // the average distance of a day from the Mean before it
	Sum   reverse.Amount // resource-seconds that were available today
	Time  float64        // the seconds of today that Sum is from
}

// mostDays bounds the memory of a bin. The averages of the first mostDays days are means of all days. After that, each
// new day counts for 1/mostDays.
const mostDays = 7

func newDayCurve(day sched.Time, bins int, caution float64) dayCurve {
	return dayCurve{Bins: make([]bin, bins), day: day, caution: caution}
}

// of returns the index of the part of the day that contains instant at, and the instant at which the part ends.
func (f *dayCurve) of(at sched.Time) (i int, end sched.Time) {
	n := sched.Time(len(f.Bins))
	whole := at / f.day * f.day
	i = int(float64(at-whole) / float64(f.day) * float64(n))
	start := func(i int) sched.Time { return whole + sched.Time(float64(f.day)/float64(n)*float64(i)) }
	if i < int(n) && start(i+1) <= at {
		i++
	}
	if i >= int(n) {
		return 0, f.day + start(1) // the first part of the next day
	}
	if i == int(n)-1 {
		return i, whole + f.day
	}
	return i, start(i + 1)
}

// steadyDays is how many equal days in a row an average takes to be that of these days, to within its precision: what
// was before them counts (1 − 1/mostDays)^steadyDays.
const steadyDays = 256

// observe adds what has been available since the last Step. O(parts of the day since then), but of no more than about
// steadyDays days: further days, which are all alike, change no average.
func (f *dayCurve) observe(p *sched.Plan) {
	if days := (p.Now-f.At)/f.day - steadyDays; days > 0 {
		f.observeUntil(f.At + steadyDays*f.day)
		if f.Held != (sched.Resources{}) {
			for i := range f.Bins {
				f.Bins[i].Days += int64(days)
			}
		}
		f.At += days * f.day
	}
	f.observeUntil(p.Now)
	f.Held = p.Capacity
}

// observeUntil adds what has been available from At until an instant. O(parts of the day between them).
func (f *dayCurve) observeUntil(now sched.Time) {
	for f.At < now {
		i, end := f.of(f.At)
		until := min(end, now)
		if f.Held != (sched.Resources{}) {
			var w sched.Work
			w.Add(f.Held, until-f.At)
			for k := range w {
				f.Bin.Sum[k] += w[k]
			}
			f.Bin.Time += (until - f.At).Seconds()
		}
		if f.At = until; until == end {
			f.Bins[i].finish(&f.Bin)
			f.Bin = bin{}
		}
	}
}

// finish updates the averages of the part by what was available today.
func (b *bin) finish(today *bin) {
	if today.Time == 0 {
		return
	}
	b.Days++
	weight := 1 / float64(min(b.Days, mostDays))
	for k := range b.Mean {
		off := today.Sum[k]/today.Time - b.Mean[k]
		if b.Days > 1 {
			b.Error[k] += (math.Abs(off) - b.Error[k]) / float64(min(b.Days-1, mostDays))
		}
		b.Mean[k] += off * weight
	}
}

// area returns the resource-seconds that are expected between two instants by past days. A part of the day without past
// days is expected to be as the present. O(parts of the day), however many days are between.
func (f *dayCurve) area(from, to sched.Time) (sum reverse.Amount) {
	if days := (to - from) / f.day; days > 1 {
		sum = f.area(from, from+f.day)
		for k := range sum {
			sum[k] *= float64(days - 1)
		}
		from += (days - 1) * f.day
	}
	for from < to {
		i, end := f.of(from)
		until := min(end, to)
		level := f.level(i)
		for k := range sum {
			sum[k] += level[k] * (until - from).Seconds()
		}
		from = until
	}
	return sum
}

// level returns the amount that is expected to be available in part i of the day.
func (f *dayCurve) level(i int) (level reverse.Amount) {
	for k := range level {
		if b := &f.Bins[i]; b.Days > 0 {
			level[k] = max(0, b.Mean[k]-f.caution*b.Error[k])
		} else {
			level[k] = float64(f.Held[k])
		}
	}
	return level
}

// A correctedForecast is a forecast of the available resources, corrected by how far it is off now. The correction
// fades away exponentially.
type correctedForecast struct {
	base  func(from, to sched.Time) reverse.Amount
	now   sched.Time
	off   reverse.Amount // what is available now, less what the forecast says of now
	fades float64        // seconds in which the correction falls to 1/e
}

// expect returns what is expected to be available from now on.
func (b *backward) expect(p *sched.Plan) *correctedForecast {
	o := &correctedForecast{now: p.Now, fades: b.correction.Seconds()}
	var expected reverse.Amount
	switch {
	case b.constant:
		o.base = func(from, to sched.Time) reverse.Amount { return constant(p.Capacity, from, to) }
		return o
	case b.given && p.Forecast != nil:
		scale := b.scale(p)
		o.base = func(from, to sched.Time) reverse.Amount {
			area := reverse.Amount(p.Forecast.Area(from, to))
			for k := range area {
				area[k] *= scale[k]
			}
			return area
		}
		for k, n := range p.Forecast.At(p.Now) {
			expected[k] = float64(n) * scale[k]
		}
	default:
		o.base = b.Days.area
		i, _ := b.Days.of(p.Now)
		expected = b.Days.level(i)
	}
	for k, n := range p.Capacity {
		o.off[k] = float64(n) - expected[k]
	}
	return o
}

// wholePart stands for all that nodes have, in a forecast in parts.
const wholePart = 1e6

// measure computes how much the nodes have altogether, if the forecast is in parts: what they offer now, divided by the
// part that the forecast says for now. While that part is zero, the nodes count with what they offered when the last
// other step ended. So it does not matter when the policy is asked: what nodes offer changes by events only, and Days
// has what they offered since the last one. O(steps since then), at most those of a period.
func (b *backward) measure(p *sched.Plan) {
	f := p.Forecast
	if f == nil || !f.IsInParts() {
		return
	}
	at := b.Days.At
	if _, period := f.Steps(); period > 0 {
		at = max(at, p.Now-period)
	}
	for next := f.Next(at); next <= p.Now; at, next = next, f.Next(next) {
		b.divide(&b.Days.Held, f.At(at))
	}
	b.divide(&p.Capacity, f.At(p.Now))
}

// divide sets what nodes have altogether to what they offer divided by a part, for each kind whose part is not zero.
func (b *backward) divide(offer *sched.Resources, parts sched.Resources) {
	for k, part := range parts {
		if part > 0 {
			b.Whole[k] = int64(math.Round(float64(offer[k]) * wholePart / float64(part)))
		}
	}
}

// scale returns, for each kind of resource, the factor from amounts of the forecast to amounts of resources.
func (b *backward) scale(p *sched.Plan) (scale [sched.NumResources]float64) {
	for k := range scale {
		if scale[k] = 1; p.Forecast.IsInParts() {
			scale[k] = float64(b.Whole[k]) / wholePart
		}
	}
	return scale
}

// constant returns the resource-seconds of r between two instants.
func constant(r sched.Resources, from, to sched.Time) reverse.Amount {
	var w sched.Work
	w.Add(r, to-from)
	return reverse.Amount(w)
}

// area returns the resource-seconds that are expected between two instants, in seconds.
func (o *correctedForecast) area(from, to float64) reverse.Amount {
	a := o.base(instant(min(from, farthest)), instant(min(to, farthest)))
	now := o.now.Seconds()
	held := o.fades * (math.Exp((now-from)/o.fades) - math.Exp((now-to)/o.fades))
	for k := range a {
		a[k] = max(0, a[k]+o.off[k]*held)
	}
	return a
}

// farthest is the latest instant for which a forecast is asked: a hundred years, in seconds.
const farthest = 100 * 365 * 24 * 3600
