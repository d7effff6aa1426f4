package record

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/sojourn-sched/sojourn/sched"
)

// A Curve is the sojourn times of the jobs of one run.
type Curve struct {
	Name     string
	Sojourns []sched.Time
}

// Colours that the colour-blind can tell apart (Okabe and Ito, Color Universal Design, 2008); curves beyond them are dashed.
var colours = []color.RGBA{{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {86, 180, 233, 255}, {230, 159, 0, 255}, {0, 0, 0, 255}}

const (
	plotWidth  = 7 * vg.Inch // README size: 672 × 384 pixels at 96 an inch
	plotHeight = 4 * vg.Inch
	mostPoints = 500 // of a curve, evenly by rank: more than there are pixels, less than a megabyte
	wideRange  = 100 // from this ratio of the longest to the shortest on, the axis of time is logarithmic
)

var errNoCurve = errors.New("there is nothing to draw: no job has succeeded")

// PlotSojourns draws the distribution functions of sojourn times as SVG: for each time, the part of the jobs that took at most so long.
// Jobs that took no time at all stand at the left edge of a logarithmic axis.
func PlotSojourns(out io.Writer, curves []Curve) error {
	least, most := spread(curves)
	if most < 0 {
		return errNoCurve
	}
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "sojourn time (s)", "part of the jobs"
	p.Y.Min, p.Y.Max = 0, 1
	p.Add(plotter.NewGrid())
	p.Legend.Padding, p.Legend.XOffs, p.Legend.YOffs = vg.Points(2), vg.Points(-10), vg.Points(10)
	for _, style := range []*text.Style{&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant = "Sans"
	}
	floor := sched.Time(0)
	if least > 0 && float64(most) >= wideRange*float64(least) {
		floor = least
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	for i, c := range curves {
		if len(c.Sojourns) == 0 {
			continue
		}
		l, err := plotter.NewLine(cumulative(c.Sojourns, floor))
		if err != nil {
			return fmt.Errorf("draw curve %s: %w", c.Name, err)
		}
		l.StepStyle, l.Width, l.Color = plotter.PostStep, vg.Points(1.5), colours[i%len(colours)]
		if i >= len(colours) {
			l.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		}
		p.Add(l)
		p.Legend.Add(c.Name, l)
	}
	svg := vgsvg.New(plotWidth, plotHeight)
	p.Draw(draw.New(svg))
	var b bytes.Buffer
	if _, err := svg.WriteTo(&b); err != nil {
		return fmt.Errorf("draw sojourn times: %w", err)
	}
	fonts := []byte("font-family:Liberation Sans")
	if _, err := out.Write(bytes.ReplaceAll(b.Bytes(), fonts, append(fonts, ",Arial,Helvetica,sans-serif"...))); err != nil {
		return fmt.Errorf("write plot: %w", err)
	}
	return nil
}

// spread returns the shortest time above zero, zero where there is none, and the longest, −1 where there is none.
func spread(curves []Curve) (least, most sched.Time) {
	most = -1
	for _, c := range curves {
		for _, t := range c.Sojourns {
			most = max(most, t)
			if t > 0 && (least == 0 || t < least) {
				least = t
			}
		}
	}
	return least, most
}

// cumulative returns the points of a distribution function, of times below floor as of floor.
func cumulative(times []sched.Time, floor sched.Time) plotter.XYs {
	sorted := slices.Sorted(slices.Values(times))
	n := len(sorted)
	points := plotter.XYs{{X: max(sorted[0], floor).Seconds()}}
	k := min(n, mostPoints)
	for i := 1; i <= k; i++ {
		r := (i*n + k - 1) / k // the rank, from 1
		points = append(points, plotter.XY{X: max(sorted[r-1], floor).Seconds(), Y: float64(r) / float64(n)})
	}
	return points
}
