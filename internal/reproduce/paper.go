// Package reproduce runs papers' experiments again and says what came out, beside what was published.
//
//	Paper    a system and the parts of its evaluation; one a file
//	Part     one experiment, run once a seed, with the claims that it bears on and its pictures
//	Claim    a published statement, as data: what was said, what agrees with it, and the figure of the experiment
//	Redo     runs a paper's parts, two trials at once, and then, one at a time, those that measure the machine
//	Mix      real jobs for the engine mr, whose runs the simulator repeats from their records
//	Report   what came out; writes a page of Markdown with its pictures, in which no figure is typed by hand
//
// Simulated parts draw all chance from their seeds, so that their figures are the same byte for byte when they are made
// again. Those of real jobs are a machine's.
//
// A paper is in the file of its name on the command line, or of the first word of that name, and further parts of it
// are in files that begin with that word. What papers share is in paper.go, report.go, simulate.go (jobs under policies
// on the simulator) and real.go (Mix).
package reproduce

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

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

func (s Sample) set(name string, values ...float64) { s[name] = values }

// of returns a figure; NaN where the trial has none of the name.
func (s Sample) of(name string) float64 {
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

func above(x float64) Range   { return Range{math.Nextafter(x, math.Inf(1)), math.Inf(1)} }
func below(x float64) Range   { return Range{math.Inf(-1), math.Nextafter(x, math.Inf(-1))} }
func atLeast(x float64) Range { return Range{x, math.Inf(1)} }
func atMost(x float64) Range  { return Range{math.Inf(-1), x} }
func exactly(x float64) Range { return Range{x, x} }

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

// papers make the papers, by name.
var papers = map[string]func() *Paper{
	"adaptive":          adaptive,
	"dynamicmr":         dynamicmr,
	"flex":              flex,
	"fspy":              fspy,
	"hardware-aware":    hardwareAware,
	"ltyarn":            ltyarn,
	"gittins":           gittins,
	"goals":             goalsMet,
	"mix":               mixPaper,
	"mrorder":           mrorder,
	"performance-model": performanceModel,
	"snapshots":         snapshots,
	"ras":               ras,
	"reverse-adaptive":  reverseAdaptive,
}

// All are the papers, by name.
func All() map[string]*Paper {
	all := make(map[string]*Paper, len(papers))
	for name, paper := range papers {
		all[name] = paper()
	}
	return all
}

// Names are those of All, in order. Unlike All, it does not read what the papers bring along.
func Names() []string { return slices.Sorted(maps.Keys(papers)) }

// Options of Redo.
type Options struct {
	Trials   int                                 // of a part, at most; zero: as many as it has
	Workers  int                                 // trials at once; zero: 2
	Progress func(done, total int, about string) // called one at a time; nil: never
}

// Redo runs the parts of a paper. An error names the part and the seed.
func Redo(ctx context.Context, p *Paper, lab Lab, o Options) (*Report, error) {
	r := &Report{Paper: p, Most: o.Trials}
	var together, alone []trial
	for i, part := range p.Parts {
		n := part.Trials
		if o.Trials > 0 {
			n = min(n, o.Trials)
		}
		r.Parts = append(r.Parts, PartReport{Part: part, Samples: make([]Sample, n)})
		for k := range n {
			if part.Alone {
				alone = append(alone, trial{i, k})
			} else {
				together = append(together, trial{i, k})
			}
		}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	run := func(t trial) finished {
		s, err := p.Parts[t.part].Trial(ctx, lab, uint64(t.run)+1)
		return finished{t, s, err}
	}
	ended := 0
	note := func(f finished) {
		part := &r.Parts[f.part]
		if missing, ok := f.err.(Missing); ok {
			part.Missing = missing.What
		} else if f.err != nil {
			stop(fmt.Errorf("%s, seed %d: %w", part.Title, f.run+1, f.err))
		}
		part.Samples[f.run] = f.sample
		if ended++; o.Progress != nil {
			o.Progress(ended, len(together)+len(alone), part.Title)
		}
	}
	inTurns(together, cmp.Or(o.Workers, 2), run, note)
	inTurns(alone, 1, run, note)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	for i := range r.Parts {
		if part := &r.Parts[i]; part.Over != nil && part.Missing == "" {
			part.All = part.Over(part.Samples)
		}
	}
	return r, nil
}

// inTurns runs trials, some at a time, and notes what came of each, one after the other.
func inTurns(work []trial, workers int, run func(trial) finished, note func(finished)) {
	todo, done := make(chan trial), make(chan finished)
	for range min(len(work), workers) {
		go func() {
			for t := range todo {
				done <- run(t)
			}
		}()
	}
	go func() {
		for _, t := range work {
			todo <- t
		}
		close(todo)
	}()
	for range work {
		note(<-done)
	}
}

type trial struct{ part, run int }

type finished struct {
	trial
	sample Sample
	err    error
}
