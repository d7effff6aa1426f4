// Package chart draws the project's pictures: lines, steps and points with ranges, as SVG that looks the same
// everywhere and does not change unless the numbers do.
package chart

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Chart is lines over two axes.
type Chart struct {
	Title string // "": none
	X, Y  Axis
	Lines []Line
	Low   bool    // the legend stands below the chart, as one of long names does in any case; else beside it
	High  float64 // inches of the chart without a legend below it; 0: as usual
}

// An Axis says what a direction means. Where Least and Most are both zero the range is that of the data.
type Axis struct {
	Label string
	Log   bool // logarithmic: points that are not above zero are left out
	Clock bool // seconds, which labels write as 90s, 10m, 2h30m or 3d
	// of the values 0, 1, 2, ...: the axis is one of kinds, and lines stand beside each other at each
	Names       []string
	Least, Most float64
}

// A Line is points with a name and a manner.
type Line struct {
	Name   string
	Points []Point
	Manner Manner
}

// A Point is a value and, where Low and High differ, a range of Y around it. Of Bars it is a range of X,
// and X is how thick the bar is, as a part of the room between two kinds.
type Point struct{ X, Y, Low, High float64 }

// Manner is how a line is drawn.
type Manner uint8

const (
	Joined Manner = iota // points joined by straight lines
	Steps                // joined by steps: the value holds until the next point
	Apart                // points, with their ranges
	Given                // what another source states: black, a range as a bar, a value as a cross
	Bars                 // from Low to High along X, at the height Y
)

// Colours that the colour-blind can tell apart (Okabe and Ito, Color Universal Design, 2008).
var colours = []color.RGBA{
	{0, 114, 178, 255},
	{213, 94, 0, 255},
	{0, 158, 115, 255},
	{204, 121, 167, 255},
	{86, 180, 233, 255},
	{230, 159, 0, 255},
	{0, 0, 0, 255},
}

const (
	width  = 7 * vg.Inch // README size: 672 × 384 pixels at 96 an inch
	height = 4 * vg.Inch
	below  = 18   // points between the chart, a legend below it, and the edge
	margin = 8    // points between the chart and the edge, so that marks and labels there are whole
	beside = 0.3  // of the width, which a legend beside the chart takes at most
	fan    = 16   // points over which the ranges of joined lines at one X are spread at most
	aside  = 2.5  // points between the ranges of two joined lines, if there is room
	apart  = 0.13 // how far lines stand from each other on an axis of kinds
	spread = 0.8  // of the room of a kind, which all lines together take at most
	clear  = 0.04 // of the range of an axis: what is free above and below points and their ranges
	lane   = 0.7  // of the room between two heights, which a bar of thickness 1 takes
	slant  = 30   // degrees by which names are turned that do not fit beside each other
)

// Dashes of the lines of a chart, in turn. With their widths they tell apart curves that coincide.
var dashes = [][]vg.Length{nil, {6, 3}, {1.5, 2}, {9, 3, 2, 3}}

// Shapes of points, one after the other where all colours are in use.
var shapes = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}}

// ErrEmpty is returned when there is no point to draw.
var ErrEmpty = errors.New("there is nothing to draw")

// Empty reports whether no line has a point that can be drawn.
func (c *Chart) Empty() bool {
	return !slices.ContainsFunc(c.Lines, func(l Line) bool { return slices.ContainsFunc(l.Points, c.shows) })
}

// shows reports whether the axes have a place for a point and its range.
func (c *Chart) shows(p Point) bool {
	finite := !math.IsNaN(p.X+p.Y) && !math.IsInf(p.X+p.Y, 0)
	return finite && (!c.X.Log || p.X > 0) && (!c.Y.Log || p.Y > 0 && (p.Low == p.High || p.Low > 0))
}

// WriteSVG draws the chart. Text is drawn as shapes, and stands in the picture's description too. It returns ErrEmpty
// where the chart is empty.
func (c *Chart) WriteSVG(out io.Writer) error {
	p, err := c.plot()
	if err != nil {
		return err
	}
	svg := newOutlined(width, c.height(p))
	c.place(p, draw.NewCanvas(svg, width, c.height(p)))
	if _, err := svg.WriteTo(out); err != nil {
		return fmt.Errorf("write plot: %w", err)
	}
	return nil
}

// WritePNG draws the chart as pixels, 192 an inch, with the fonts of this program. It returns ErrEmpty where it is
// empty.
func (c *Chart) WritePNG(out io.Writer) error {
	p, err := c.plot()
	if err != nil {
		return err
	}
	png := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, c.height(p)), vgimg.UseDPI(192))}
	c.place(p, draw.New(png))
	if _, err := png.WriteTo(out); err != nil {
		return fmt.Errorf("write plot: %w", err)
	}
	return nil
}

// plot makes axes, lines and legend.
func (c *Chart) plot() (*plot.Plot, error) {
	if c.Empty() {
		return nil, ErrEmpty
	}
	p := plot.New()
	p.Title.Text = c.Title
	p.Add(plotter.NewGrid())
	coloured, ranged, loose := 0, 0, false
	fanned := c.fanned()
	for i, l := range c.Lines {
		points := slices.DeleteFunc(slices.Clone(l.Points), func(q Point) bool { return !c.shows(q) })
		if len(points) == 0 {
			continue
		}
		brush := brush{manner: l.Manner, colour: color.RGBA{A: 255}, width: c.thick(i)}
		if l.Manner != Given {
			brush.colour, brush.dashes = colours[coloured%len(colours)], dashes[coloured%len(dashes)]
			brush.shape = shapes[coloured/len(colours)%len(shapes)]
			coloured++
		}
		if fanned > 1 && l.fans() {
			step := min(aside, fan/vg.Length(fanned))
			brush.aside = step * (vg.Length(ranged) - vg.Length(fanned-1)/2)
			ranged++
		}
		loose = loose || l.Manner == Apart || l.Manner == Given
		if len(c.X.Names) > 0 {
			step := min(apart, spread/float64(len(c.Lines)))
			for k := range points {
				points[k].X += step * (float64(i) - float64(len(c.Lines)-1)/2)
			}
		}
		shown, err := brush.draw(p, points)
		if err != nil {
			return nil, fmt.Errorf("draw line %s: %w", l.Name, err)
		}
		p.Legend.Add(l.Name, shown...)
	}
	if fanned > 1 {
		p.Y.Padding += fan / 2
	}
	c.X.lay(&p.X, false)
	c.Y.lay(&p.Y, loose)
	for _, style := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle,
		&p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant = "Sans"
	}
	p.Title.Padding, p.X.Label.Padding, p.Legend.Padding = vg.Points(6), vg.Points(3), vg.Points(2)
	return p, nil
}

// fans reports whether a line is joined and has ranges, which could cover those of other lines.
func (l *Line) fans() bool {
	return (l.Manner == Joined || l.Manner == Steps) && slices.ContainsFunc(l.Points, Point.ranges)
}

// fanned returns how many lines fan.
func (c *Chart) fanned() (n int) {
	for i := range c.Lines {
		if c.Lines[i].fans() {
			n++
		}
	}
	return n
}

// low reports whether the legend of p stands below the chart.
func (c *Chart) low(p *plot.Plot) bool {
	return c.Low || p.Legend.Rectangle(draw.New(vgsvg.New(width, height))).Size().X > beside*width
}

// thick returns the width of line i. Later lines, which cover earlier ones, are thinner: where curves coincide, each
// can still be seen.
func (c *Chart) thick(i int) vg.Length {
	if len(c.Lines) < 2 {
		return vg.Points(1.5)
	}
	return vg.Points(2.8 - 1.6*float64(i)/float64(len(c.Lines)-1))
}

// height returns the height of the picture, with the legend where it is below the chart.
func (c *Chart) height(p *plot.Plot) vg.Length {
	high := vg.Length(c.High) * vg.Inch
	if high == 0 {
		high = height
	}
	if !c.low(p) {
		return high
	}
	return high + p.Legend.Rectangle(draw.New(vgsvg.New(width, high))).Size().Y + below
}

// place draws the chart and its legend beside each other, on white.
func (c *Chart) place(p *plot.Plot, canvas draw.Canvas) {
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
	legend, low := p.Legend, c.low(p)
	legend.Top, legend.Left = true, true
	p.Legend = plot.NewLegend()
	size := legend.Rectangle(canvas).Size()
	chart := draw.Crop(canvas, margin/2, -margin-4, margin/2, -margin)
	if low {
		chart.Min.Y += size.Y + below
		legend.Draw(draw.Crop(canvas, vg.Points(40), 0, 0, size.Y+below*2/3-canvas.Size().Y))
	} else {
		chart.Max.X = canvas.Max.X - size.X - vg.Points(16)
		legend.Draw(draw.Crop(canvas, chart.Max.X-canvas.Min.X+vg.Points(6), 0, 0, -vg.Points(10)))
	}
	if c.fanned() > 1 {
		chart.Max.X -= fan / 2
	}
	p.Title.Text = folded(p.Title.Text, func(line string) bool {
		return p.Title.TextStyle.Width(line) <= chart.Size().X-vg.Points(60)
	})
	c.X.turn(&p.X, chart.Size().X-vg.Points(60))
	if c.Y.Log {
		chart = labelUp(p, chart)
	}
	p.Draw(chart)
}

// folded breaks s between words into lines that fit. A word that does not fit has a line of its own.
func folded(s string, fits func(line string) bool) string {
	var lines []string
	for _, word := range strings.Fields(s) {
		if k := len(lines) - 1; k >= 0 && fits(lines[k]+" "+word) {
			lines[k] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return strings.Join(lines, "\n")
}

// labelUp writes the label of a logarithmic axis Y itself, and returns the rest of the canvas. The library keeps room
// for that label where the middle of a linear axis would be, which is above the chart.
func labelUp(p *plot.Plot, canvas draw.Canvas) draw.Canvas {
	label := p.Y.Label
	p.Y.Label.Text = ""
	wide := label.TextStyle.Height(label.Text)
	rest := draw.Crop(canvas, wide+label.Padding+vg.Points(3), 0, 0, 0)
	style := label.TextStyle
	style.Rotation = math.Pi / 2
	data := p.DataCanvas(rest)
	at := vg.Point{X: canvas.Min.X + wide - style.FontExtents().Descent, Y: data.Center().Y}
	canvas.FillText(style, at, label.Text)
	return rest
}

// turn turns names that are wider than their part of the axis.
func (a *Axis) turn(to *plot.Axis, wide vg.Length) {
	for _, name := range a.Names {
		if to.Tick.Label.Width(name) > wide/vg.Length(len(a.Names))-vg.Points(4) {
			to.Tick.Label.Rotation = slant * math.Pi / 180
			to.Tick.Label.XAlign, to.Tick.Label.YAlign = text.XRight, text.YTop
			return
		}
	}
}

// lay applies what is known of an axis to one that has the range of its data. A loose axis gets room around it.
func (a *Axis) lay(to *plot.Axis, loose bool) {
	to.Label.Text = a.Label
	to.Tick.Marker = plot.TickerFunc(rounds)
	if a.Log {
		to.Scale, to.Tick.Marker = plot.LogScale{}, plot.TickerFunc(decades)
	}
	if a.Clock {
		to.Tick.Marker = plot.TickerFunc(instants)
	}
	switch {
	case len(a.Names) > 0:
		to.Min, to.Max, to.Tick.Length = -0.5, float64(len(a.Names))-0.5, 0
		var ticks plot.ConstantTicks
		for i, name := range a.Names {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: name})
		}
		to.Tick.Marker = ticks
	case a.Least != 0 || a.Most != 0:
		to.Min, to.Max = a.Least, a.Most
	case a.Log && to.Min == to.Max:
		to.Min, to.Max = to.Min/2, to.Max*2
	case a.Log && loose:
		room := math.Pow(to.Max/to.Min, clear)
		to.Min, to.Max = to.Min/room, to.Max*room
	case to.Min == to.Max:
		to.Min, to.Max = to.Min-1, to.Max+1
	case loose:
		room := clear * (to.Max - to.Min)
		to.Min, to.Max = to.Min-room, to.Max+room
	}
}

// clockSteps are how far labels of instants may stand apart, in seconds: whole parts of the next unit, then weeks.
var clockSteps = []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400,
	172800, 604800}

// mostInstants bounds the labels of an axis of instants, which must not touch each other.
const mostInstants = 8

// instants labels round instants. Those of a range below seconds, or of one above a year, are in seconds.
func instants(least, most float64) (ticks []plot.Tick) {
	k := slices.IndexFunc(clockSteps, func(step float64) bool { return (most-least)/step <= mostInstants })
	if k < 0 || most-least < 2 {
		return rounds(least, most)
	}
	step := clockSteps[k]
	for t := math.Ceil(least/step) * step; t <= most; t += step {
		ticks = append(ticks, plot.Tick{Value: t, Label: instant(int64(t))})
	}
	return ticks
}

// rounds labels round numbers, with no more figures than they need.
func rounds(least, most float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(least, most)
	figures := max(0, 2-int(math.Floor(math.Log10(most-least))))
	for i := range ticks {
		t := &ticks[i]
		if t.Label == "" {
			continue
		}
		t.Label = strconv.FormatFloat(t.Value, 'f', figures, 64)
		if figures > 0 {
			t.Label = strings.TrimSuffix(strings.TrimRight(t.Label, "0"), ".")
		}
		if t.Label == "-0" {
			t.Label = "0"
		}
	}
	return ticks
}

// instant writes whole seconds in days, hours, minutes and seconds, without those that are 0.
func instant(s int64) (text string) {
	for _, u := range []struct {
		name    string
		seconds int64
	}{{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}} {
		if n := s / u.seconds; n > 0 {
			text += strconv.FormatInt(n, 10) + u.name
			s %= u.seconds
		}
	}
	return cmp.Or(text, "0s")
}

// decades labels the powers of ten, and 2 and 5 of each where the range is less than three of them.
func decades(least, most float64) (ticks []plot.Tick) {
	narrow := most < 1000*least
	for e := math.Floor(math.Log10(least)); e <= math.Ceil(math.Log10(most)); e++ {
		for m := 1; m < 10; m++ {
			t := plot.Tick{Value: float64(m) * math.Pow(10, e)}
			if m == 1 || narrow && (m == 2 || m == 5) {
				t.Label = strconv.FormatFloat(t.Value, 'f', max(0, -int(e)), 64)
			}
			if t.Value >= least*(1-1e-9) && t.Value <= most*(1+1e-9) {
				ticks = append(ticks, t)
			}
		}
	}
	return ticks
}

// A brush is how one line is drawn.
type brush struct {
	manner Manner
	colour color.RGBA
	dashes []vg.Length
	width  vg.Length
	shape  draw.GlyphDrawer
	aside  vg.Length // how far ranges stand from their points, so that those of other lines do not cover them
}

// draw adds points to a plot and returns what stands for them in the legend.
func (b brush) draw(p *plot.Plot, points []Point) ([]plot.Thumbnailer, error) {
	xys := make(plotter.XYs, len(points))
	for i, q := range points {
		xys[i] = plotter.XY{X: q.X, Y: q.Y}
	}
	switch b.manner {
	case Bars:
		bars := bars{points, b.colour}
		p.Add(bars)
		return []plot.Thumbnailer{bars}, nil
	case Joined, Steps:
		l, err := plotter.NewLine(xys)
		if err != nil {
			return nil, err
		}
		l.Width, l.Color, l.Dashes = b.width, b.colour, b.dashes
		if b.manner == Steps {
			l.StepStyle = plotter.PostStep
		}
		p.Add(l)
		if !slices.ContainsFunc(points, Point.ranges) {
			return []plot.Thumbnailer{l}, nil
		}
		return []plot.Thumbnailer{l}, b.ranges(p, points, xys)
	}
	s, err := plotter.NewScatter(xys)
	if err != nil {
		return nil, err
	}
	s.Color, s.Radius, s.Shape = b.colour, vg.Points(3), b.shape
	if b.manner == Given {
		s.Radius, s.Shape = vg.Points(4), draw.CrossGlyph{}
	}
	if err := b.ranges(p, points, xys); err != nil {
		return nil, err
	}
	p.Add(s)
	return []plot.Thumbnailer{s}, nil
}

func (q Point) ranges() bool { return q.High > q.Low }

// ranges adds the ranges of points.
func (b brush) ranges(p *plot.Plot, points []Point, xys plotter.XYs) error {
	var with struct {
		plotter.XYs
		plotter.YErrors
	}
	for i, q := range points {
		if q.ranges() {
			with.XYs = append(with.XYs, xys[i])
			with.YErrors = append(with.YErrors, struct{ Low, High float64 }{q.Y - q.Low, q.High - q.Y})
		}
	}
	if len(with.XYs) == 0 {
		return nil
	}
	bars, err := plotter.NewYErrorBars(with)
	if err != nil {
		return err
	}
	bars.Color, bars.Width, bars.CapWidth = b.colour, vg.Points(1), vg.Points(4)
	p.Add(moved{bars, b.aside})
	return nil
}

// A moved range is drawn so far to the right of its point.
type moved struct {
	*plotter.YErrorBars
	by vg.Length
}

// Plot implements plot.Plotter.
func (m moved) Plot(c draw.Canvas, p *plot.Plot) {
	c.Min.X += m.by
	c.Max.X += m.by
	m.YErrorBars.Plot(c, p)
}

// bars draws points as bars along X.
type bars struct {
	points []Point
	colour color.Color
}

// Plot implements plot.Plotter.
func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, q := range b.points {
		half := lane * q.X / 2
		c.FillPolygon(b.colour, c.ClipPolygonXY([]vg.Point{
			{X: x(q.Low), Y: y(q.Y - half)}, {X: x(q.High), Y: y(q.Y - half)},
			{X: x(q.High), Y: y(q.Y + half)}, {X: x(q.Low), Y: y(q.Y + half)},
		}))
	}
}

// DataRange implements plot.DataRanger.
func (b bars) DataRange() (left, right, low, high float64) {
	left, right, low, high = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, q := range b.points {
		left, right = min(left, q.Low), max(right, q.High)
		low, high = min(low, q.Y-0.5), max(high, q.Y+0.5)
	}
	return left, right, low, high
}

// Thumbnail implements plot.Thumbnailer.
func (b bars) Thumbnail(c *draw.Canvas) {
	high := c.Size().Y
	c.FillPolygon(b.colour, []vg.Point{{X: c.Min.X, Y: c.Min.Y + high/4}, {X: c.Max.X, Y: c.Min.Y + high/4},
		{X: c.Max.X, Y: c.Max.Y - high/4}, {X: c.Min.X, Y: c.Max.Y - high/4}})
}

// mostSteps bounds the points of a distribution function, evenly by rank: more than there are pixels, less than a
// megabyte.
const mostSteps = 500

// Distribution returns the points of a distribution function, for each value the part of all values that is no larger;
// values below floor stand at floor. It returns none without values.
func Distribution(values []float64, floor float64) (points []Point) {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	points = append(points, Point{X: max(sorted[0], floor)})
	k := min(n, mostSteps)
	for i := 1; i <= k; i++ {
		r := (i*n + k - 1) / k // the rank, from 1
		points = append(points, Point{X: max(sorted[r-1], floor), Y: float64(r) / float64(n)})
	}
	return points
}

// Tail returns the points of 1 − Distribution above zero: for each value, the part of all values that is larger.
func Tail(values []float64, floor float64) (points []Point) {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	points = append(points, Point{X: max(sorted[0], floor), Y: 1})
	// Ranks from the end are spaced evenly on a logarithmic axis: 1, 2, 3, ... and thinner towards all.
	last := 0
	var ranks []int
	for i := 0; last < n && i <= mostSteps; i++ {
		k := max(last+1, int(math.Round(math.Pow(float64(n), float64(i)/mostSteps))))
		if k = min(k, n); k > last {
			ranks, last = append(ranks, k), k
		}
	}
	for _, k := range slices.Backward(ranks) { // k−1 values are larger than the k-th from the end
		if k > 1 {
			points = append(points, Point{X: max(sorted[n-k], floor), Y: float64(k-1) / float64(n)})
		}
	}
	return append(points, Point{X: max(sorted[n-1], floor), Y: 1 / float64(n)})
}
