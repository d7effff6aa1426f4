package paper

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/chart"
)

// made is a paper whose trials give their seed: seeds 1 to 5 have the median 3.
func made() *Paper {
	return &Paper{Name: "made", Title: "Made", Source: "none.", About: "It is made up.",
		Parts: []Part{{
			Title: "Seeds", How: "Each trial gives its seed.", Trials: 5, Reading: "They are in order.",
			Trial: func(_ context.Context, _ Lab, seed uint64) (Sample, error) {
				s := Sample{}
				s.Set("seed", float64(seed))
				if seed%2 == 1 {
					s.Set("odd", float64(seed))
				}
				return s, nil
			},
			Claims: []Claim{
				{
					Where:     "Fig. 1",
					Says:      "in the range",
					Published: Range{2, 4},
					Unit:      "s",
					Figure:    "seed",
					Agrees:    Above(0),
					Why:       "never shown",
				},
				{
					Where:     "Fig. 2",
					Says:      "smaller",
					Published: Exactly(8),
					Unit:      "%",
					Figure:    "seed",
					Agrees:    Above(0),
					Why:       "smaller, because",
				},
				{
					Where:     "Fig. 3",
					Says:      "the other way",
					Published: Exactly(-1),
					Figure:    "seed",
					Agrees:    Below(0),
					Why:       "other, because",
				},
				{Where: "Fig. 4", Says: "no number", Figure: "odd", Agrees: Exactly(3)},
				{Where: "Fig. 5", Says: "no trial has it", Figure: "none", Agrees: Above(0)},
				{Where: "ours", Says: "no claim", Figure: "seed", Own: true},
			},
			Grids: []Grid{{"Means", []string{"one", "two"}, []GridRow{{"seed", []string{"seed", "seed"}}}}},
			Charts: []Picture{{"made-seeds", "Seeds", func(s []Sample) chart.Chart {
				return chart.Chart{
					Lines: []chart.Line{
						{Name: "seed", Manner: chart.Apart, Points: []chart.Point{PointOf(s, 1, "seed")}},
					},
				}
			}}},
		}, {
			Title: "Absent", How: "It needs what is not here.", Trials: 2,
			Trial:  func(context.Context, Lab, uint64) (Sample, error) { return nil, Missing{"a trace is needed"} },
			Claims: []Claim{{Where: "Fig. 6", Says: "not run", Figure: "x", Agrees: Above(0)}},
		}},
		Left: []Left{{"Fig. 7", "it flies", "it has no wings"}},
	}
}

const madePage = `# Made: its claims, redone

Made by ` + "`sojourn reproduce made`" + `; nothing on this page is typed by hand. Source: none.

It is made up.

Of 4 rows with a published statement (some are compared in several settings), **2 agree**: ours is
in the published range, or that in our spread; 1 more go the same way at another size, and 1 do not;
why stands below their tables. *Same* says that it goes the same way as the published figure;
*larger* and *smaller* compare the size. *Ours* is the median over trials, and in brackets the least
and the greatest.

## Seeds

Each trial gives its seed.

5 trials.

| where | claim | published | ours | verdict |
| --- | --- | --- | --- | --- |
| Fig. 1 | in the range | 2 to 4 s | 3 s (1 to 5) | same, in the range |
| Fig. 2 | smaller | 8 % | 3 % (1 to 5) | same, smaller |
| Fig. 3 | the other way | -1 | 3 (1 to 5) | **other** |
| Fig. 4 | no number |  | 3 (1 to 5) | same |
| Fig. 5 | no trial has it |  |  | not run |
| ours | no claim |  | 3 (1 to 5) |  |

Means:

| | one | two |
|---|---|---|
| seed | 3.0 ± 2.0 | 3.0 ± 2.0 |

![Seeds](made-seeds.svg)

They are in order.

*Fig. 2:* smaller, because

*Fig. 3:* other, because

## Absent

It needs what is not here.

Not run: a trace is needed.

| where | claim | published | ours | verdict |
| --- | --- | --- | --- | --- |
| Fig. 6 | not run |  |  | not run |

## Not redone

| where | claim | why not |
| --- | --- | --- |
| Fig. 7 | it flies | it has no wings |
`

// The form of a page, and that it does not depend on which trial ends first.
func TestPage(t *testing.T) {
	for _, workers := range []int{1, 2, 7} {
		last := 0
		r, err := Redo(t.Context(), made(), Lab{}, Options{Workers: workers, Progress: func(done, total int, _ string) {
			if done != last+1 || total != 7 {
				t.Errorf("progress %d of %d after %d", done, total, last)
			}
			last = done
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Page(); got != madePage {
			t.Errorf("%d workers: the page is\n%s", workers, got)
		}
		dir := filepath.Join(t.TempDir(), "pages")
		if err := r.Write(dir); err != nil {
			t.Fatal(err)
		}
		if page, err := os.ReadFile(filepath.Join(dir, "made.md")); err != nil || string(page) != madePage {
			t.Errorf("the page that was written differs: %v", err)
		}
		if svg, err := os.ReadFile(filepath.Join(dir, "made-seeds.svg")); err != nil ||
			!strings.Contains(string(svg), "</svg>") {
			t.Errorf("the picture: %v", err)
		}
	}
}

// A trial that fails ends the run, and is named.
func TestRedoFails(t *testing.T) {
	p, boom := made(), errors.New("boom")
	p.Parts[0].Trial = func(_ context.Context, _ Lab, seed uint64) (Sample, error) {
		if seed == 3 {
			return nil, boom
		}
		return Sample{}, nil
	}
	if _, err := Redo(t.Context(), p, Lab{}, Options{}); !errors.Is(err, boom) ||
		!strings.Contains(err.Error(), "Seeds, seed 3") {
		t.Errorf("error %v", err)
	}
}

func TestRange(t *testing.T) {
	for _, c := range []struct {
		r    Range
		x    float64
		want bool
	}{{Above(0), 0, false}, {Above(0), 1e-300, true}, {Below(1), 1, false}, {AtLeast(1), 1, true},
		{AtMost(1), 1.1, false}, {Exactly(0.3), 0.1 + 0.2, true}, {Above(0), math.NaN(), false}} {
		if c.r.Has(c.x) != c.want {
			t.Errorf("%v has %v: %v", c.r, c.x, !c.want)
		}
	}
}

// A published bound is written as it was said: above a number, or at least that number.
func TestPublishedText(t *testing.T) {
	for _, c := range []struct {
		of   Range
		unit string
		want string
	}{
		{Above(0), "%", "> 0 %"}, {AtLeast(0), "%", "≥ 0 %"}, {Below(10), "ms", "< 10 ms"},
		{AtMost(-1), "", "≤ -1"}, {Above(1.04), "×", "> 1.04 ×"}, {AtLeast(1.04), "×", "≥ 1.04 ×"},
		{AtLeast(7), "", "≥ 7"}, {Exactly(532.0 / 193), "", "2.76"}, {AtLeast(532.0 / 193), "", "≥ 2.76"},
		{Range{-0.5, 0.5}, "h", "-0.500 to 0.500 h"}, {Range{}, "h", ""},
	} {
		if got := (&Row{Claim: Claim{Published: c.of, Unit: c.unit}}).PublishedText(); got != c.want {
			t.Errorf("%v: %q, want %q", c.of, got, c.want)
		}
	}
}
