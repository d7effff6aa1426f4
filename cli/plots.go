package cli

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/web"
)

// Kinds of pictures of all runs together, and of one run each.
var (
	plotsOfAll = []string{"sojourn", "tail", "difference"}
	plotsOfOne = []string{"utilisation", "shares", "gantt"}
)

// whyEmpty says by kind of picture why there is nothing to draw.
var whyEmpty = map[string]string{
	"sojourn":     "no job has succeeded",
	"tail":        "no job that has succeeded took any time",
	"difference":  "no job has succeeded, in some time, under the first policy and under another",
	"utilisation": "nothing ran for any time",
	"shares":      "nothing ran for any time",
	"gantt":       "nothing ran for any time",
	"prediction":  "no time is predicted",
}

// plots are the pictures that a command draws of its runs.
type plots struct {
	said  []string
	scale string
	list  []plotFile
}

// A plotFile is a picture and its kind.
type plotFile struct{ kind, path string }

func (p plotFile) single() bool { return slices.Contains(plotsOfOne, p.kind) }

func (p *plots) register(c *cobra.Command, kinds ...[]string) {
	all := slices.Concat(kinds...)
	c.Flags().StringArrayVar(&p.said, "plot", nil, "draw to FILE or KIND=FILE, as PNG where the name ends in .png, "+
		"else as SVG; several by repeating the flag. KIND is "+strings.Join(all, ", ")+
		"; default: sojourn, the distribution of sojourn times")
	c.Flags().StringVar(&p.scale, "plot-axis", "auto", "axis of time of the distribution: auto, linear or log")
	completeFlag(c, "plot-axis", string(record.AutoScale), string(record.Linear), string(record.Log))
	_ = c.RegisterFlagCompletionFunc("plot", prefixCompletion(all...))
}

// String returns what was asked for; "": no picture.
func (p *plots) String() string { return strings.Join(p.said, " ") }

// parse reads what was said. Kinds of one run need engines that can be watched.
func (p *plots) parse(policies []string, watched bool) error {
	switch record.Scale(p.scale) {
	case record.AutoScale, record.Linear, record.Log:
	default:
		return usagef("--plot-axis %q: must be auto, linear or log", p.scale)
	}
	p.list = nil
	kinds := plotsOfAll
	if watched {
		kinds = slices.Concat(plotsOfAll, plotsOfOne)
	}
	for _, text := range p.said {
		one := plotFile{"sojourn", text}
		if kind, path, ok := strings.Cut(text, "="); ok && !strings.ContainsAny(kind, "./") {
			one = plotFile{kind, path}
		}
		if !slices.Contains(kinds, one.kind) {
			return usagef("--plot %s: %q is no kind of picture: there are %s", text, one.kind,
				strings.Join(kinds, ", "))
		}
		if one.kind == "difference" && len(policies) < 2 {
			return usagef("--plot %s: needs two policies or more, to draw the others against the first", text)
		}
		if one.single() {
			if err := checkNamed("plot", one.path, policies); err != nil {
				return err
			}
		}
		p.list = append(p.list, one)
	}
	return nil
}

// files lists the files that will be written.
func (p *plots) files(policies []string) (list []flagFile) {
	for _, one := range p.list {
		if !one.single() {
			list = append(list, flagFile{"--plot", one.path})
			continue
		}
		for _, policy := range policies {
			list = append(list, flagFile{"--plot", named(one.path, policy)})
		}
	}
	return list
}

// watch returns a function that draws the pictures of one run when it is over. A picture that cannot be drawn takes
// none of the others, nor of the results: commands report these first.
func (p *plots) watch(s *run.Setup) (draw func() error) {
	if !slices.ContainsFunc(p.list, plotFile.single) {
		return func() error { return nil }
	}
	board := web.NewBoard(web.About{Policy: s.Choice.Policy})
	s.Watch = append(s.Watch, board)
	kinds := map[string]func() *chart.Chart{"utilisation": board.PlotUtilisation, "shares": board.PlotShares,
		"gantt": board.PlotGantt}
	return func() (err error) {
		for _, one := range p.list {
			if one.single() {
				one.path = named(one.path, s.Choice.Policy)
				err = errors.Join(err, one.write(kinds[one.kind]()))
			}
		}
		return err
	}
}

// draw draws the pictures of all runs.
func (p *plots) draw(curves []record.Curve) (err error) {
	for _, one := range p.list {
		var c *chart.Chart
		switch one.kind {
		case "sojourn":
			c = record.PlotSojourns(curves, record.Scale(p.scale))
		case "tail":
			c = record.PlotTails(curves)
		case "difference":
			c = record.PlotDifference(curves)
		default:
			continue
		}
		err = errors.Join(err, one.write(c))
	}
	return err
}

// write writes picture c to the file: as PNG where its name says so, else as SVG.
func (p plotFile) write(c *chart.Chart) error {
	f, err := newDraft(p.path)
	if err != nil {
		return failuref("%w", err)
	}
	defer f.Drop()
	write := c.WriteSVG
	if strings.EqualFold(filepath.Ext(p.path), ".png") {
		write = c.WritePNG
	}
	switch err = write(f); {
	case errors.Is(err, chart.ErrEmpty):
		return failuref("draw %s: %w: %s", p.path, err, whyEmpty[p.kind])
	case err != nil:
		return failuref("draw %s: %w", p.path, err)
	}
	return keep(f)
}
