package record

import (
	"errors"
	"io"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/sched"
)

// A Curve is the sojourn times of the jobs of one run.
type Curve struct {
	Name     string
	Sojourns []sched.Time
}

// wideRange is the ratio of the longest to the shortest time from which on the axis of time is logarithmic.
const wideRange = 100

var errNoCurve = errors.New("there is nothing to draw: no job has succeeded")

// PlotSojourns draws the distribution functions of sojourn times as SVG: for each time, the part of the jobs that took
// at most so long. Jobs that took no time at all stand at the left edge of a logarithmic axis.
func PlotSojourns(out io.Writer, curves []Curve) error {
	return drawn(sojournChart(curves).WriteSVG(out))
}

// PlotSojournsPNG is PlotSojourns as PNG.
func PlotSojournsPNG(out io.Writer, curves []Curve) error {
	return drawn(sojournChart(curves).WritePNG(out))
}

// drawn says in words of jobs that there was nothing to draw.
func drawn(err error) error {
	if errors.Is(err, chart.ErrEmpty) {
		return errNoCurve
	}
	return err
}

func sojournChart(curves []Curve) *chart.Chart {
	c := &chart.Chart{
		Title: "Sojourn times",
		X:     chart.Axis{Label: "sojourn time (s)"},
		Y:     chart.Axis{Label: "part of the jobs", Most: 1},
		Low:   true,
	}
	least, most := spread(curves)
	floor := 0.0
	if least > 0 && float64(most) >= wideRange*float64(least) {
		floor, c.X.Log = least.Seconds(), true
	}
	for _, curve := range curves {
		seconds := make([]float64, len(curve.Sojourns))
		for i, s := range curve.Sojourns {
			seconds[i] = s.Seconds()
		}
		c.Lines = append(c.Lines, chart.Line{Name: curve.Name, Points: chart.Distribution(seconds, floor),
			Manner: chart.Steps})
	}
	return c
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
