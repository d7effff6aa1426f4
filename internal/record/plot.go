package record

import (
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/sched"
)

// A Curve is the sojourn times of the jobs of one run that succeeded.
type Curve struct {
	Name     string
	Jobs     []sched.JobID // of each time, for PlotDifference
	Sojourns []sched.Time
}

// Add adds a job.
func (c *Curve) Add(job sched.JobID, sojourn sched.Time) {
	c.Jobs, c.Sojourns = append(c.Jobs, job), append(c.Sojourns, sojourn)
}

// wideRange is the ratio of the longest to the shortest time from which on the axis of time is logarithmic.
const wideRange = 100

// A Scale says whether an axis of time is logarithmic.
type Scale string

const (
	AutoScale Scale = "auto" // where the longest time is a hundred times the shortest
	Linear    Scale = "linear"
	Log       Scale = "log"
)

// PlotSojourns draws the distribution functions of sojourn times: for each time, the part of the jobs that took at most
// so long. Jobs that took no time at all stand at the left edge of a logarithmic axis.
func PlotSojourns(curves []Curve, scale Scale) *chart.Chart {
	c := &chart.Chart{
		Title: "Sojourn times",
		X:     chart.Axis{Label: "sojourn time (s)"},
		Y:     chart.Axis{Label: "part of the jobs", Most: 1},
		Low:   true,
	}
	least, most := spread(curves)
	floor := 0.0
	if least > 0 && scale != Linear && (scale == Log || float64(most) >= wideRange*float64(least)) {
		floor, c.X.Log = least.Seconds(), true
	}
	for _, curve := range curves {
		c.Lines = append(c.Lines, chart.Line{Name: curve.Name, Points: chart.Distribution(curve.seconds(), floor),
			Manner: chart.Steps})
	}
	return c
}

// PlotTails draws the tails of the distributions of sojourn times: for each time, the part of the jobs that took
// longer. Both axes are logarithmic, so that the few longest jobs get as much room as the many short ones.
func PlotTails(curves []Curve) *chart.Chart {
	c := &chart.Chart{
		Title: "Sojourn times: the tail",
		X:     chart.Axis{Label: "sojourn time (s)", Log: true},
		Y:     chart.Axis{Label: "part of the jobs that take longer", Log: true},
		Low:   true,
	}
	least, _ := spread(curves)
	for _, curve := range curves {
		c.Lines = append(c.Lines, chart.Line{Name: curve.Name, Points: chart.Tail(curve.seconds(), least.Seconds()),
			Manner: chart.Steps})
	}
	return c
}

// PlotDifference draws, for each run but the first, the ratio of the sojourn time of each job to that in the first run,
// in rising order. It draws the jobs that succeeded in both runs and took some time.
func PlotDifference(curves []Curve) *chart.Chart {
	c := &chart.Chart{
		X:   chart.Axis{Label: "part of the jobs, the fastest against it first", Most: 1},
		Y:   chart.Axis{Label: "sojourn time ÷ that of the first", Log: true},
		Low: true,
	}
	if len(curves) == 0 {
		return c
	}
	c.Title = "Sojourn times, job by job, against " + curves[0].Name
	first := map[sched.JobID]sched.Time{}
	for i, id := range curves[0].Jobs {
		first[id] = curves[0].Sojourns[i]
	}
	for _, curve := range curves[1:] {
		var ratios []float64
		for i, id := range curve.Jobs {
			if base := first[id]; base > 0 && curve.Sojourns[i] > 0 {
				ratios = append(ratios, float64(curve.Sojourns[i])/float64(base))
			}
		}
		line := chart.Line{Name: curve.Name}
		for _, p := range chart.Distribution(ratios, math.SmallestNonzeroFloat64) {
			line.Points = append(line.Points, chart.Point{X: p.Y, Y: p.X})
		}
		c.Lines = append(c.Lines, line)
	}
	if slices.ContainsFunc(c.Lines, func(l chart.Line) bool { return len(l.Points) > 0 }) {
		c.Lines = append(c.Lines, chart.Line{Name: curves[0].Name,
			Points: []chart.Point{{X: 0, Y: 1}, {X: 1, Y: 1}}})
	}
	return c
}

// seconds returns the sojourn times in seconds.
func (c *Curve) seconds() []float64 {
	seconds := make([]float64, len(c.Sojourns))
	for i, s := range c.Sojourns {
		seconds[i] = s.Seconds()
	}
	return seconds
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
