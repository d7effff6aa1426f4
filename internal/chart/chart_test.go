package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"
)

// drawn returns the chart as SVG and the words in it.
func drawn(t *testing.T, c Chart) (svg, words string) {
	t.Helper()
	var out bytes.Buffer
	if err := c.WriteSVG(&out); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(bytes.NewReader(out.Bytes()))
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return out.String(), words
		}
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := tok.(xml.CharData); ok {
			words += strings.ReplaceAll(strings.TrimSpace(string(c)), "\n", "|") + "|"
		}
	}
}

func TestWriteSVG(t *testing.T) {
	c := Chart{
		X: Axis{Label: "batch", Names: []string{"small", "large"}}, Y: Axis{Label: "gain (%)", Log: true},
		Lines: []Line{
			{"ours <1>", []Point{{0, 20, 10, 40}, {1, 30, 30, 30}}, Apart},
			{"nothing", nil, Joined},
			{"published", []Point{{0, 24, 0, 0}}, Given},
			{"no place on a logarithmic axis", []Point{{0, 0, 0, 0}, {1, 5, -1, 9}, {1, math.NaN(), 0, 0}}, Apart},
		},
	}
	svg, words := drawn(t, c)
	for _, want := range []string{"|ours <1>|", "|published|", "batch|", "|small|", "|large|", "|gain (%)|", "|20|"} {
		if !strings.Contains("|"+words, want) {
			t.Errorf("%q is not in the picture: %s", want, words)
		}
	}
	if strings.Contains(words, "nothing") || strings.Contains(words, "no place") {
		t.Error("a line without a point that can be drawn is in the legend")
	}
	if strings.Contains(svg, "<text") {
		t.Error("the picture needs a font of the machine that shows it")
	}
	if again, _ := drawn(t, c); again != svg {
		t.Error("the same chart is drawn in two ways")
	}
	if c.Lines[0].Points[0].X != 0 {
		t.Error("drawing has changed the points")
	}
	if err := (&Chart{Lines: c.Lines[1:2]}).WriteSVG(io.Discard); !errors.Is(err, ErrEmpty) {
		t.Errorf("without points: %v", err)
	}
}

// The ranks of 2,000 values are shown evenly by 500 steps, ends included; what is below the floor stands at it.
func TestDistribution(t *testing.T) {
	if got, want := Distribution([]float64{4, 1, 2, 2}, 1.5), []Point{{X: 1.5}, {X: 1.5, Y: 0.25}, {X: 2, Y: 0.5},
		{X: 2, Y: 0.75}, {X: 4, Y: 1}}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("points %v, want %v", got, want)
	}
	many := make([]float64, 2000)
	for i := range many {
		many[i] = float64(i + 1)
	}
	p := Distribution(many, 0)
	if len(p) != 501 || p[1] != (Point{X: 4, Y: 0.002}) || p[500] != (Point{X: 2000, Y: 1}) {
		t.Errorf("%d points, the second %v, the last %v", len(p), p[1], p[len(p)-1])
	}
	if Distribution(nil, 0) != nil {
		t.Error("points of nothing")
	}
}

// The tail of four values by hand, and of many: the largest value is there, each rank of the last hundred too.
func TestTail(t *testing.T) {
	want := []Point{{X: 1, Y: 1}, {X: 1, Y: 0.75}, {X: 2, Y: 0.5}, {X: 2, Y: 0.25}, {X: 4, Y: 0.25}}
	if got := Tail([]float64{4, 1, 2, 2}, 1); !slices.Equal(got, want) {
		t.Errorf("points %v, want %v", got, want)
	}
	many := make([]float64, 100_000)
	for i := range many {
		many[i] = float64(i + 1)
	}
	p := Tail(many, 0)
	n := len(p)
	if n > mostSteps+2 || p[n-1] != (Point{X: 100_000, Y: 1e-5}) || p[n-2] != (Point{X: 99_999, Y: 1e-5}) ||
		p[n-20].X < 99_900 {
		t.Errorf("%d points, the last %v", n, p[max(0, n-20):])
	}
	if Tail(nil, 0) != nil {
		t.Error("points of nothing")
	}
}

func TestDecades(t *testing.T) {
	var labels []string
	for _, k := range decades(2, 30) {
		if k.Label != "" {
			labels = append(labels, k.Label)
		}
	}
	if want := []string{"2", "5", "10", "20"}; !slices.Equal(labels, want) {
		t.Errorf("labels %v, want %v", labels, want)
	}
}

// TestWritePNG draws twice: a title and a legend below change nothing between the two, and a picture without points is
// refused.
func TestWritePNG(t *testing.T) {
	points := []Point{{X: 1, Y: 1}, {X: 2, Y: 3}}
	lines := []Line{{"first", points, Joined}, {"the same", points, Joined}}
	c := Chart{Title: "Sojourn times", Low: true, Lines: lines}
	var a, b bytes.Buffer
	if err := errors.Join(c.WritePNG(&a), c.WritePNG(&b)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("the same chart is drawn in two ways")
	}
	if p, err := png.Decode(&a); err != nil || p.Bounds().Dx() != 7*192 || p.Bounds().Dy() <= 4*192 {
		t.Errorf("%v: the picture is %v, must be 7 inches wide, and higher than 4 for the legend", err, p.Bounds())
	}
	if _, words := drawn(t, c); !strings.Contains(words, "Sojourn times|") {
		t.Errorf("no title in %s", words)
	}
	if err := (&Chart{}).WritePNG(io.Discard); !errors.Is(err, ErrEmpty) {
		t.Errorf("without points: %v", err)
	}
	if first, last := c.thick(0), c.thick(1); first <= last {
		t.Errorf("lines are %v and %v wide: the last hides the first where they coincide", first, last)
	}
}

// TestNames turns names that do not fit beside each other, and others not. The label of the axis Y is always turned.
func TestNames(t *testing.T) {
	c := Chart{Y: Axis{Label: "time (s)"}, Lines: []Line{{"mean", []Point{{X: 0, Y: 1}, {X: 3, Y: 2}}, Apart}}}
	for names, turned := range map[string]int{"a b c d": 1, "a b mrorder:interval=500ms,batch=3 fspy:uber-maps=0": 5} {
		c.X.Names = strings.Fields(names)
		svg, _ := drawn(t, c)
		if n := strings.Count(svg, ` rotate(`); n != turned {
			t.Errorf("%d texts are turned of the chart of %s, must be %d", n, names, turned)
		}
	}
}

// TestInside looks for the places of marks and texts: all are within the picture, with room for half a mark.
func TestInside(t *testing.T) {
	points := []Point{{X: 0, Y: 1, Low: 0.5, High: 7}, {X: 1, Y: 1000, Low: 1000, High: 4000}}
	for _, log := range []bool{false, true} {
		svg, _ := drawn(t, Chart{Title: strings.Repeat("a title of several lines ", 8),
			X: Axis{Names: []string{"least", "most"}}, Y: Axis{Label: "s", Log: log},
			Lines: []Line{{"first", points, Apart}, {"published", points, Given}}})
		_, drawing, _ := strings.Cut(svg, "</defs>")
		place := regexp.MustCompile(`(?:[ML]|translate\()([-0-9.e]+)[, ]([-0-9.e]+)`)
		places := place.FindAllStringSubmatch(drawing, -1)
		places = slices.DeleteFunc(places, func(at []string) bool { return at[0] == "translate(0, -288" }) // of all
		if len(places) < 50 {
			t.Fatalf("%d marks are too few", len(places))
		}
		for _, at := range places {
			x, errX := strconv.ParseFloat(at[1], 64)
			y, errY := strconv.ParseFloat(at[2], 64)
			edge := (x == 0 || x == float64(width)) && (y == 0 || y == float64(height)) // the white ground
			inside := x >= 3 && x <= float64(width)-3 && y >= 3 && y <= float64(height)-3
			if errX != nil || errY != nil || !edge && !inside {
				t.Errorf("log %v: %s is at the edge", log, at[0])
			}
		}
	}
}

// TestBars draws attempts as bars whose corners are their times.
func TestBars(t *testing.T) {
	c := Chart{X: Axis{Label: "time (s)", Least: 0, Most: 10}, Y: Axis{Names: []string{"node1", "node2"}},
		Lines: []Line{{"maps", []Point{{X: 1, Y: 0, Low: 0, High: 5}, {X: 1, Y: 1, Low: 5, High: 10}}, Bars}}}
	svg, words := drawn(t, c)
	if !strings.Contains(words, "node2|") || !strings.Contains(words, "maps|") {
		t.Errorf("words %s", words)
	}
	filled := regexp.MustCompile(`<path d="M([-0-9.e]+),[^"]*Z" style="fill:#0072B2`).FindAllStringSubmatch(svg, -1)
	if len(filled) != 3 {
		t.Fatalf("%d bars, must be two and one of the legend", len(filled))
	}
	one, _ := strconv.ParseFloat(filled[1][1], 64)
	two, _ := strconv.ParseFloat(filled[2][1], 64)
	if two-one < 100 {
		t.Errorf("bars begin at %v and %v: the second is five seconds later", one, two)
	}
}

// TestInstants holds the labels of axes of time to round instants, at most nine, in units that a reader knows.
func TestInstants(t *testing.T) {
	for _, c := range []struct {
		least, most float64
		want        string
	}{
		{0, 8, "0s 1s 2s 3s 4s 5s 6s 7s 8s"},
		{280, 3060, "10m 20m 30m 40m 50m"},
		{0, 2993, "0s 10m 20m 30m 40m"},
		{5400, 9000, "1h30m 1h40m 1h50m 2h 2h10m 2h20m 2h30m"},
		{0, 86400, "0s 3h 6h 9h 12h 15h 18h 21h 1d"},
		{0, 1, "0 0.5 1"},
	} {
		if got := labels(instants(c.least, c.most)); got != c.want {
			t.Errorf("from %g to %g s: %s, must be %s", c.least, c.most, got, c.want)
		}
	}
}

// labels returns the labels of ticks that have one.
func labels(ticks []plot.Tick) string {
	var list []string
	for _, k := range ticks {
		if k.Label != "" {
			list = append(list, k.Label)
		}
	}
	return strings.Join(list, " ")
}

// TestRounds holds the labels of linear axes to the figures that they need.
func TestRounds(t *testing.T) {
	for _, c := range []struct {
		least, most float64
		want        string
	}{
		{0, 2900, "0 2500"}, {-24, 171, "0 80 160"}, {0, 0.5, "0 0.25 0.5"},
		{0, 3e6, "0 1000000 2000000 3000000"},
	} {
		if got := labels(rounds(c.least, c.most)); got != c.want {
			t.Errorf("from %g to %g: %s, must be %s", c.least, c.most, got, c.want)
		}
	}
}

// TestLongNames draws lines whose names would take more of the width than the chart: they stand below it.
func TestLongNames(t *testing.T) {
	c := Chart{Lines: []Line{{"short", []Point{{X: 1, Y: 1}, {X: 2, Y: 3}}, Joined}}}
	for name, below := range map[string]bool{"as short": false, strings.Repeat("a long name ", 5): true} {
		c.Lines[0].Name = name
		p, err := c.plot()
		if err != nil {
			t.Fatal(err)
		}
		if low := c.low(p); low != below || (c.height(p) > height) != below {
			t.Errorf("the legend %q stands below the chart: %v, which is %v high", name, low, c.height(p))
		}
	}
}

// TestManyPoints draws more lines of points than there are colours: those of equal colour have other shapes.
func TestManyPoints(t *testing.T) {
	var c Chart
	for i := range len(colours) + 1 {
		c.Lines = append(c.Lines, Line{strconv.Itoa(i), []Point{{X: 1, Y: float64(i)}}, Apart})
	}
	svg, _ := drawn(t, c)
	var kinds []string
	for _, m := range regexp.MustCompile(`<path d="([^"]*)" style="fill:#0072B2`).FindAllStringSubmatch(svg, -1) {
		kinds = append(kinds, strings.Join(regexp.MustCompile(`[A-Z]`).FindAllString(m[1], -1), ""))
	}
	slices.Sort(kinds)
	if kinds = slices.Compact(kinds); len(kinds) != 2 {
		t.Errorf("the first colour has shapes %q, must have two", kinds)
	}
}

// TestRangesFan draws two joined lines with equal points and ranges: the ranges stand beside each other.
func TestRangesFan(t *testing.T) {
	points := []Point{{X: 1, Y: 2, Low: 1, High: 3}, {X: 2, Y: 3, Low: 1, High: 4}}
	c := Chart{Lines: []Line{{"a", points, Joined}, {"b", points, Joined}}}
	svg, _ := drawn(t, c)
	upright := map[string][]string{}
	line := regexp.MustCompile(`<path d="M([-0-9.]+),([-0-9.]+)L([-0-9.]+),([-0-9.]+)" style="fill:none;` +
		`stroke:#(0072B2|D55E00)`)
	for _, m := range line.FindAllStringSubmatch(svg, -1) {
		if m[1] == m[3] && m[2] != m[4] {
			upright[m[5]] = append(upright[m[5]], m[1])
		}
	}
	first, second := upright["0072B2"], upright["D55E00"]
	if len(first) != 2 || len(second) != 2 || first[0] == second[0] || first[1] == second[1] {
		t.Errorf("ranges stand at %v and %v", first, second)
	}
}
