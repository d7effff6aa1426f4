// Package paper says what the evaluation of a paper is, runs it again, and writes what came out beside what was
// published.
//
//	Paper    a system and the parts of its evaluation
//	Part     one experiment, run once a seed, with the claims that it bears on and its pictures
//	Claim    a published statement, as data: what was said, what agrees with it, and the figure of the experiment
//	Redo     runs a paper's parts, two trials at once, and then, one at a time, those that measure the machine
//	Report   what came out; writes a page of Markdown with its pictures, in which no figure is typed by hand
package paper

import (
	"context"
	"math"

	"github.com/sojourn-sched/sojourn/internal/chart"
)

// A Paper is a system whose evaluation is redone.
type Paper struct {
	Name   string // on the command line, and of the page
	Title  string
	Source string
	About  string // what it does and what was claimed, paragraphs of Markdown without figures of ours
	Parts  []Part
	Left   []Left
	Needs  func(Lab) error // a Missing if a lab cannot run every part; nil: any can
}

// A Part is one experiment and what it bears on.
type Part struct {
	Title   string
	How     string // what is run, where it differs from the paper's, and why
	Reading string // what the claims come to, without figures of ours
	Trials  int    // how many; the k-th, from 1, has seed k. One: there is no chance in it
	Alone   bool   // trials measure this machine: they are run one at a time, when all others are through
	Worked  bool   // a worked example: its rows are arithmetic, and are counted apart
	Trial   func(context.Context, Lab, uint64) (Sample, error)
	Over    func([]Sample) Sample // figures of all trials together; nil: none
	Claims  []Claim
	Grids   []Grid
	Charts  []Picture
}

// A Grid is a table of figures of ours, as means over trials with 95 % confidence intervals.
type Grid struct {
	Caption string
	Columns []string
	Rows    []GridRow
}

// A GridRow is a row of a Grid: the names of its figures, by column.
type GridRow struct {
	Name    string
	Figures []string
}

// A Sample is what one trial gave: figures, and series for pictures, by name.
type Sample map[string][]float64

// Set sets the figure of a name: one value, or those of a series.
func (s Sample) Set(name string, values ...float64) { s[name] = values }

// Of returns the figure of a name; NaN where the trial has none of the name.
func (s Sample) Of(name string) float64 {
	if v := s[name]; len(v) == 1 {
		return v[0]
	}
	return math.NaN()
}

// A Claim is a published statement about one figure.
type Claim struct {
	Where     string // figure, table or section
	Says      string
	Published Range
	Unit      string // of the figure: "%", "s", "×"; "": a plain number
	Figure    string // name in the sample
	Agrees    Range  // the median lies in it if ours goes the same way
	Why       string // why ours may differ, shown where it does; without figures of ours
	// not published: a measurement of ours that belongs beside the others; without Agrees it expects nothing
	Own bool
}

// A Range is from Low to High; infinite ends are open. The zero Range is no statement of a number.
type Range struct{ Low, High float64 }

// Above returns the range of all numbers above x; a page writes it as "> x".
func Above(x float64) Range { return Range{math.Nextafter(x, math.Inf(1)), math.Inf(1)} }

// Below returns the range of all numbers below x; a page writes it as "< x".
func Below(x float64) Range { return Range{math.Inf(-1), math.Nextafter(x, math.Inf(-1))} }

// AtLeast returns the range of x and all numbers above.
func AtLeast(x float64) Range { return Range{x, math.Inf(1)} }

// AtMost returns the range of x and all numbers below.
func AtMost(x float64) Range { return Range{math.Inf(-1), x} }

// Exactly returns the range that is the number x.
func Exactly(x float64) Range { return Range{x, x} }

// Between returns the range from low to high.
func Between(low, high float64) Range { return Range{low, high} }

// Has reports whether x is in the range; an exact one has what rounding makes of its number.
func (r Range) Has(x float64) bool {
	slack := 0.0
	if r.Low == r.High {
		slack = 1e-9 * math.Abs(x)
	}
	return x >= r.Low-slack && x <= r.High+slack
}

// A Picture is a chart of a part's samples.
type Picture struct {
	File    string // without folder and ending
	Caption string
	Draw    func([]Sample) chart.Chart
}

// Left is a claim that is not redone, and why.
type Left struct{ Where, Says, Why string }

// A Lab is what trials may need from outside.
type Lab struct {
	Trace     string // Facebook's day of 2009 in SWIM's format; "": not here
	Trace2010 string // that of 2010
	// folder for the data of real jobs, up to a few GB, which the caller removes; "": none are run
	Scratch string
}

// A Missing error says what a trial needs and the lab does not have: its part is not run, and its page says so.
type Missing struct{ What string }

func (m Missing) Error() string { return m.What }

// NeedsDay2009 returns a Missing unless the lab has Facebook's day of 2009.
func NeedsDay2009(lab Lab) error {
	if lab.Trace == "" {
		return Missing{
			"the trace of Facebook's day of 2009 is needed (`--trace`): FB-2009_samples_24_times_1hr_0.tsv of " +
				"SWIM's repository",
		}
	}
	return nil
}

// NeedsDay2010 returns a Missing unless the lab has Facebook's day of 2010.
func NeedsDay2010(lab Lab) error {
	if lab.Trace2010 == "" {
		return Missing{
			"the trace of Facebook's day of 2010 is needed (`--trace-2010`): FB-2010_samples_24_times_1hr_0.tsv of " +
				"SWIM's repository",
		}
	}
	return nil
}
