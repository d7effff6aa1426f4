package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
)

// A contest is one benchmark: contestants that do the same work, in turns. The first contestant is ours. Ratios are its
// value ÷ that of another one; more is better.
type contest struct {
	name        string
	unit        string
	amount      float64 // what is divided by the seconds on the wall
	contestants []contestant
	// after the first turn, on what was written; a remark goes to the name
	check func() (remark string, err error)
}

// enough is the part of all time after which nothing is repeated any more.
const enough = 0.75

// A contestant is one way to do it.
type contestant struct {
	who     string
	run     func(context.Context) (sample, error)
	missing string  // why it cannot take part, and what to do about that
	goal    float64 // of the value for the first, of the ratio for the others; 0: none
	most    bool    // the goal is not to be exceeded
	once    bool    // is not repeated, however short it is
}

// hold runs a contest and adds its rows. Turns go on until each contestant has had as many as asked for; one that takes
// long has one.
func (b *bench) hold(ctx context.Context, c contest) error {
	if err := errors.Join(os.RemoveAll(b.path("output")), os.Mkdir(b.path("output"), 0o777)); err != nil {
		return err
	}
	samples := make([][]sample, len(c.contestants))
	remark := ""
	for rep := range b.reps {
		for i, who := range c.contestants {
			if who.missing != "" ||
				rep > 0 && (who.once || b.late(enough) || samples[i][0].wall > b.patience.Seconds()) {
				continue
			}
			if rep == 0 && b.late(1) {
				b.say("%s, %s: left out, there is no time left", c.name, who.who)
				c.contestants[i].missing = "there was no time left: raise -limit"
				continue
			}
			s, err := who.run(ctx)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, who.who, err)
			}
			if s.value == 0 {
				s.value = c.amount / s.wall
			}
			b.say("%s, %s: %.3g %s, %.2f s, %.2f s of processors", c.name, who.who, s.value, c.unit,
				s.wall, s.processor)
			samples[i] = append(samples[i], s)
		}
		if rep == 0 && c.check != nil {
			var err error
			if remark, err = c.check(); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	for i, who := range c.contestants {
		r := row{Case: c.name + remark, Who: who.who, Unit: c.unit, Skipped: who.missing}
		if len(samples[i]) > 0 {
			r.Value = spreadOf(samples[i], func(s sample) float64 { return s.value })
			r.Processor = spreadOf(samples[i], func(s sample) float64 { return s.processor })
			r.Memory = spreadOf(samples[i], func(s sample) float64 { return s.memory }).Max
			r.judge(who, samples[0], samples[i], i > 0)
		}
		b.rows = append(b.rows, r)
	}
	return nil
}

// A spread is a figure over repetitions.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Runs   int     `json:"runs"`
}

func spreadOf(samples []sample, of func(sample) float64) spread {
	var values []float64
	for _, s := range samples {
		values = append(values, of(s))
	}
	return spreadOver(values)
}

func spreadOver(values []float64) spread {
	slices.Sort(values)
	n := len(values)
	return spread{(values[(n-1)/2] + values[n/2]) / 2, values[0], values[n-1], n}
}

// judge fills in the ratios, taken turn by turn so that a change of the machine's speed touches both, and the goal.
func (r *row) judge(who contestant, ours, theirs []sample, peer bool) {
	of := r.Value
	if peer {
		var ratios, byProcessor []float64
		for i, us := range ours {
			them := theirs[min(i, len(theirs)-1)] // one that ran once stands beside all of ours
			ratios = append(ratios, us.value/them.value)
			if us.processor > 0 && them.processor > 0 {
				byProcessor = append(byProcessor, us.value*us.wall/us.processor/(them.value*them.wall/them.processor))
			}
		}
		of = spreadOver(ratios)
		r.Ratio = &of
		if len(byProcessor) > 0 {
			each := spreadOver(byProcessor)
			r.ByProcessor = &each
		}
	}
	if who.goal > 0 {
		r.Goal = &goal{who.goal, who.most, of.Median >= who.goal}
		if who.most {
			r.Goal.Met = of.Median <= who.goal
		}
	}
}
