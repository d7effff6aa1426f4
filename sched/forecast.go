package sched

import (
	"encoding/json"
	"fmt"
	"sort"
)

// A Supply is the resources that are available from an instant on.
type Supply struct {
	From     Time
	Capacity Resources
}

// A Forecast says which resources will be available when: of a node that shares its machine with a service, or of the
// whole cluster. It is a step function of time, which may repeat. It is immutable.
type Forecast struct {
	steps  []Supply
	areas  []Work // areas[i]: from 0 to steps[i].From
	period Time   // zero: the last step lasts for ever
	whole  Work   // area of a period
	parts  bool
}

// InParts returns a forecast with the same steps, whose amounts are parts, in ppm, of what the nodes have altogether.
// It is for a cluster whose nodes come and go.
func (f *Forecast) InParts() *Forecast {
	parts := *f
	parts.parts = true
	return &parts
}

// IsInParts reports whether amounts are parts, in ppm, of what the nodes have altogether.
func (f *Forecast) IsInParts() bool { return f.parts }

// NewForecast returns the step function with the given steps. The first step is from 0, and each other one starts later
// than the one before. With a period above zero, which lies after the start of the last step, the function repeats.
func NewForecast(period Time, steps ...Supply) (*Forecast, error) {
	f := &Forecast{steps: steps, areas: make([]Work, len(steps)), period: period}
	for i, s := range steps {
		for k, a := range s.Capacity {
			if a < 0 || a > Unlimited {
				return nil, fmt.Errorf("step %d: %v %d: must be from 0 to %d", i+1, ResourceKind(k), a, Unlimited)
			}
		}
		if i > 0 {
			if s.From <= steps[i-1].From {
				return nil, fmt.Errorf("step %d: from %v: must be after %v", i+1, s.From, steps[i-1].From)
			}
			f.areas[i] = f.areas[i-1]
			f.areas[i].Add(steps[i-1].Capacity, s.From-steps[i-1].From)
		}
	}
	switch last := len(steps) - 1; {
	case last < 0 || steps[0].From != 0:
		return nil, fmt.Errorf("steps: the first one must be from 0")
	case period < 0 || period > 0 && period <= steps[last].From:
		return nil, fmt.Errorf("period %v: must be 0, for none, or after the last step, %v", period, steps[last].From)
	case period > 0:
		f.whole = f.areas[last]
		f.whole.Add(steps[last].Capacity, period-steps[last].From)
	}
	return f, nil
}

// Steps returns the steps, which must not be changed, and the period; zero: the last step lasts for ever.
func (f *Forecast) Steps() ([]Supply, Time) { return f.steps, f.period }

// step returns the index of the step at an instant from 0 on, how many periods lie before, and how far into its own
// period the instant is.
func (f *Forecast) step(at Time) (i int, periods, in Time) {
	if f.period > 0 {
		periods, at = at/f.period, at%f.period
	}
	return sort.Search(len(f.steps), func(i int) bool { return f.steps[i].From > at }) - 1, periods, at
}

// At returns what is available at an instant from 0 on. At, Next and Area cost O(log n) for n steps.
func (f *Forecast) At(at Time) Resources {
	i, _, _ := f.step(at)
	return f.steps[i].Capacity
}

// Next returns the first instant after at from which another step holds; Never: there is none.
func (f *Forecast) Next(at Time) Time {
	i, periods, _ := f.step(at)
	switch {
	case i+1 < len(f.steps):
		return periods*f.period + f.steps[i+1].From
	case f.period > 0:
		return (periods + 1) * f.period
	}
	return Never
}

// Area returns the resource-seconds that are available between two instants from 0 on; the zero Work where to is not
// after from.
func (f *Forecast) Area(from, to Time) Work {
	var area Work
	if to <= from {
		return area
	}
	a, b := f.upTo(from), f.upTo(to)
	for k := range area {
		area[k] = b[k] - a[k]
	}
	return area
}

// upTo returns the area from 0 to an instant.
func (f *Forecast) upTo(at Time) Work {
	i, periods, in := f.step(at)
	area := f.areas[i]
	area.Add(f.steps[i].Capacity, in-f.steps[i].From)
	for k := range area {
		area[k] += float64(periods) * f.whole[k]
	}
	return area
}

// forecastJSON is a Forecast in JSON.
type forecastJSON struct {
	Period Time         `json:"period_ns,omitempty"`
	Parts  bool         `json:"parts,omitempty"`
	Steps  []supplyJSON `json:"steps"`
}

// supplyJSON is a Supply in JSON.
type supplyJSON struct {
	From     Time      `json:"from_ns"`
	Capacity Resources `json:"capacity"`
}

// MarshalJSON writes the steps and the period.
func (f *Forecast) MarshalJSON() ([]byte, error) {
	doc := forecastJSON{Period: f.period, Parts: f.parts}
	for _, s := range f.steps {
		doc.Steps = append(doc.Steps, supplyJSON(s))
	}
	return json.Marshal(doc)
}

// UnmarshalJSON reads what MarshalJSON writes, and checks it as NewForecast does.
func (f *Forecast) UnmarshalJSON(b []byte) error {
	var doc forecastJSON
	if err := json.Unmarshal(b, &doc); err != nil {
		return err
	}
	var steps []Supply
	for _, s := range doc.Steps {
		steps = append(steps, Supply(s))
	}
	read, err := NewForecast(doc.Period, steps...)
	if err == nil {
		*f = *read
		f.parts = doc.Parts
	}
	return err
}
