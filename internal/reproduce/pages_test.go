package reproduce

import (
	"html"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/reproduce/paper"
)

// The pages in the tree are of the experiments that the code has.
func TestPagesOfTree(t *testing.T) {
	for name, p := range All() {
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reproduction", name+".md"))
		if err != nil {
			t.Errorf("%s has no page: %v; make it by `sojourn reproduce %s`", name, err, name)
			continue
		}
		for _, part := range p.Parts {
			if !strings.Contains(string(page), "\n## "+part.Title+"\n") {
				t.Errorf("the page of %s has no section %q: make it anew by `sojourn reproduce %s`", name,
					part.Title, name)
			}
			_, section, _ := strings.Cut(string(page), "\n## "+part.Title+"\n")
			section, _, _ = strings.Cut(section, "\n## ")
			for _, c := range part.Claims {
				head := "| " + c.Where + " | " + c.Says + " | "
				_, row, ok := strings.Cut(section, head)
				row, _, _ = strings.Cut(row, " |\n")
				cells := strings.Split(row, " | ")
				switch of := (&paper.Row{Claim: c}); {
				case !ok || len(cells) != 3:
					t.Errorf("the page of %s lacks a row of %q: %s", name, part.Title, head)
				case strings.TrimSpace(cells[0]) != of.PublishedText():
					t.Errorf("the page of %s has %q published, the code %q: %s", name, cells[0], of.PublishedText(),
						head)
				case !slices.Contains(verdicts(c, cells[1]), strings.TrimSpace(cells[2])):
					t.Errorf("the page of %s says %q of %q, the code %q: %s", name, cells[2], cells[1],
						verdicts(c, cells[1]), head)
				}
			}
		}
	}
}

// The pictures of the tree are there, and have their captions as titles: each was drawn by the code that draws titles.
func TestPicturesOfTree(t *testing.T) {
	for name, p := range All() {
		for _, part := range p.Parts {
			for _, c := range part.Charts {
				svg, err := os.ReadFile(filepath.Join("..", "..", "docs", "reproduction", c.File+".svg"))
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				_, texts, _ := strings.Cut(string(svg), "<desc>")
				texts, _, _ = strings.Cut(texts, "</desc>")
				texts = strings.ReplaceAll(html.UnescapeString(texts), "\n", " ")
				title := strings.Join(strings.Fields(c.Caption), " ")
				if !strings.Contains(texts, title) {
					t.Errorf("%s.svg lacks the title %q: draw it anew by `sojourn reproduce %s`", c.File, title, name)
				}
			}
		}
	}
}

// oursPattern matches what a page has in its column of ours: a median, a unit, and a spread.
var oursPattern = regexp.MustCompile(`^(-?[\d.]+)(?: \S+)?(?: \((-?[\d.]+) to (-?[\d.]+)\))?$`)

// verdicts returns what the code may say of figures as a page has them, which are rounded.
func verdicts(c paper.Claim, ours string) (words []string) {
	m := oursPattern.FindStringSubmatch(ours)
	if m == nil {
		return []string{(&paper.Row{Claim: c}).Verdict()}
	}
	if m[2] == "" {
		m[2], m[3] = m[1], m[1]
	}
	for _, median := range unrounded(&c, m[1]) {
		for _, low := range unrounded(&c, m[2]) {
			for _, high := range unrounded(&c, m[3]) {
				words = append(words, (&paper.Row{Claim: c, Trials: 1, Median: median, Low: low, High: high}).Verdict())
			}
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// unrounded returns what a printed number may have been, as far as it matters to the claim: half a unit of the last
// digit more and less, and the bounds of the claim in between.
func unrounded(c *paper.Claim, text string) []float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return []float64{math.NaN()}
	}
	_, places, _ := strings.Cut(text, ".")
	half := 0.5 * math.Pow10(-len(places))
	list := []float64{x, x - half, x + half}
	for _, bound := range []float64{c.Agrees.Low, c.Agrees.High, c.Published.Low, c.Published.High} {
		if math.Abs(bound-x) < half {
			list = append(list, bound)
		}
	}
	return list
}

// The check of a page's verdicts finds one that is another one's.
func TestVerdictsOfPage(t *testing.T) {
	c := paper.Claim{Published: paper.Between(2, 9), Unit: "%", Agrees: paper.Above(0)}
	for _, v := range []struct {
		ours string
		want []string
	}{
		{"6.35 % (-3.58 to 16.3)", []string{"same, in the range"}},
		{"-1 % (-3.58 to 16.3)", []string{"**other**"}},
		{"9.00 % (1 to 16.3)", []string{"same, in the range", "same, larger; the range is within the spread"}},
		{"", []string{"not run"}},
	} {
		if got := verdicts(c, v.ours); !slices.Equal(got, v.want) {
			t.Errorf("%q: %q, want %q", v.ours, got, v.want)
		}
	}
}
