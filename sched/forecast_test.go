package sched

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// 10 cores until 4 s and 2 until 10 s, once or again and again: areas and instants counted by hand.
func TestForecast(t *testing.T) {
	steps := []Supply{{0, Resources{VCores: 10}}, {4 * sec, Resources{VCores: 2}}}
	once, err := NewForecast(0, steps...)
	if err != nil {
		t.Fatal(err)
	}
	daily, err := NewForecast(10*sec, steps...)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct {
		f        *Forecast
		from, to Time
		at       int64 // at from
		next     Time  // after from
		area     float64
	}{
		{once, 0, 3 * sec, 10, 4 * sec, 30},
		{once, 3 * sec, 6 * sec, 10, 4 * sec, 14},
		{once, 4 * sec, 100 * sec, 2, Never, 192},
		{once, 6 * sec, 5 * sec, 2, Never, 0},
		{daily, 3 * sec, 6 * sec, 10, 4 * sec, 14},
		{daily, 4*sec - 1, 4*sec - 1, 10, 4 * sec, 0},
		{daily, 9 * sec, 33 * sec, 2, 10 * sec, 2 + 2*52 + 30},
		{daily, 24 * sec, 30 * sec, 2, 30 * sec, 12},
		{daily, 30 * sec, 34 * sec, 10, 34 * sec, 40},
	} {
		if got := w.f.At(w.from)[VCores]; got != w.at {
			t.Errorf("at %v: %d cores, want %d", w.from, got, w.at)
		}
		if got := w.f.Next(w.from); got != w.next {
			t.Errorf("next after %v is %v, want %v", w.from, got, w.next)
		}
		if got := w.f.Area(w.from, w.to)[VCores]; math.Abs(got-w.area) > 1e-9 {
			t.Errorf("area from %v to %v: %v, want %v", w.from, w.to, got, w.area)
		}
	}
	for want, steps := range map[string][]Supply{
		"steps: the first one must be from 0": nil,
		"the first one must be from 0":        {{From: sec}},
		"step 2: from 0s: must be after":      {{}, {}},
		"step 1: vcores -1: must be from 0":   {{Capacity: Resources{VCores: -1}}},
		"period 5s: must be 0":                {{}, {From: 5 * sec}},
	} {
		if _, err := NewForecast(5*sec, steps...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A forecast survives JSON, and what is no forecast is refused.
func TestForecastJSON(t *testing.T) {
	f, err := NewForecast(10*sec, Supply{0, Resources{VCores: 10}}, Supply{4 * sec, Resources{VCores: 2}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var again Forecast
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if again.Area(3*sec, 25*sec) != f.Area(3*sec, 25*sec) {
		t.Errorf("%s is read as something else", text)
	}
	if err := json.Unmarshal([]byte(`{"steps":[{"from_ns":5,"capacity":{}}]}`), &again); err == nil {
		t.Error("a forecast that does not begin at 0 is read")
	}
}
