package paper

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/theory"
)

// A Report is what came out of a paper's parts.
type Report struct {
	Paper *Paper
	Parts []PartReport
	Most  int // trials of a part that were run at most; zero: as many as it has
}

// A PartReport is what came out of one part.
type PartReport struct {
	Part
	Samples []Sample // by seed
	All     Sample   // of all together
	Missing string   // why it was not run; "": it was
}

// A Row is a claim and what came of it.
type Row struct {
	Claim
	Trials            int // that gave the figure; zero: not run
	Median, Low, High float64
}

// Same reports whether ours goes the same way as the published.
func (r *Row) Same() bool { return r.Trials > 0 && r.Agrees.Has(r.Median) }

// Alike reports whether ours goes the same way and is of the published size: no number was published, ours is in its
// range, or its range in our spread.
func (r *Row) Alike() bool {
	return r.Same() &&
		(r.Published == Range{} || r.Published.Has(r.Median) || r.High >= r.Published.Low && r.Low <= r.Published.High)
}

// Rows are the claims of the part with what came of them.
func (p *PartReport) Rows() []Row {
	rows := make([]Row, len(p.Claims))
	for i, c := range p.Claims {
		var values []float64
		for _, s := range append(slices.Clone(p.Samples), p.All) {
			if v := s.Of(c.Figure); !math.IsNaN(v) {
				values = append(values, v)
			}
		}
		rows[i] = Row{Claim: c, Trials: len(values)}
		if len(values) > 0 {
			rows[i].Median, rows[i].Low, rows[i].High = Spread(values)
		}
	}
	return rows
}

// Rows are those of all parts.
func (r *Report) Rows() (rows []Row) {
	for i := range r.Parts {
		rows = append(rows, r.Parts[i].Rows()...)
	}
	return rows
}

// PublishedText is what was published, in words: "" where no number was.
func (r *Row) PublishedText() string { return r.rangeText(r.Published) }

// OursText is median and spread: "" where it was not run.
func (r *Row) OursText() string {
	switch {
	case r.Trials == 0:
		return ""
	case r.Trials == 1 || r.Low == r.High:
		return r.number(r.Median)
	}
	return fmt.Sprintf("%s (%s to %s)", r.number(r.Median), digits(r.Low), digits(r.High))
}

// rangeText returns a published range with its unit: a number, two numbers, or a bound such as "< 5"; "" if it is zero.
func (r *Row) rangeText(x Range) string {
	switch {
	case x == Range{}:
		return ""
	case x.Low == x.High:
		return r.number(x.Low)
	case math.IsInf(x.Low, -1):
		if bound, open := openBound(x.High, math.Inf(1)); open {
			return "< " + r.number(bound)
		}
		return "≤ " + r.number(x.High)
	case math.IsInf(x.High, 1):
		if bound, open := openBound(x.Low, math.Inf(-1)); open {
			return "> " + r.number(bound)
		}
		return "≥ " + r.number(x.Low)
	}
	return fmt.Sprintf("%s to %s", digits(x.Low), r.number(x.High))
}

// openBound returns the number next to x towards an infinity, and whether x stands for it as an open bound, as Above
// and Below make them: the number has three decimal places at most, and x has more.
func openBound(x, towards float64) (bound float64, open bool) {
	short := func(x float64) bool { return x == math.Round(1000*x)/1000 }
	bound = math.Nextafter(x, towards)
	return bound, short(bound) && !short(x)
}

func (r *Row) number(x float64) string { return strings.TrimSpace(digits(x) + " " + r.Unit) }

// digits are as many as a reader can use.
func digits(x float64) string {
	places := 3
	switch a := math.Abs(x); {
	case a >= 100 || x == math.Trunc(x):
		places = 0
	case a >= 10:
		places = 1
	case a >= 1:
		places = 2
	}
	return strconv.FormatFloat(x, 'f', places, 64)
}

// Verdict says in a word whether ours goes the same way, and how large it is beside what was published.
func (r *Row) Verdict() string {
	switch {
	case r.Trials == 0:
		return "not run"
	case r.Own && r.Agrees == Range{}:
		return ""
	case r.Own && r.Same():
		return "yes"
	case r.Own:
		return "**no**"
	case !r.Same():
		return "**other**"
	case r.Published == Range{} || r.Published.Low == r.Published.High && r.Published.Has(r.Median):
		return "same"
	case r.Published.Has(r.Median):
		return "same, in the range"
	case r.Alike():
		return "same, " + r.side() + "; the range is within the spread"
	}
	return "same, " + r.side()
}

// side says whether ours is above or below what was published.
func (r *Row) side() string {
	if r.Median > r.Published.High {
		return "larger"
	}
	return "smaller"
}

// Explained reports whether the page says why ours differs: it goes the other way, or its size is another.
func (r *Row) Explained() bool {
	return r.Trials > 0 && r.Why != "" && strings.Trim(r.Verdict(), "*") != "same" &&
		!strings.HasSuffix(r.Verdict(), "in the range")
}

// Write writes the page and its pictures into a folder, which is made where it is missing.
func (r *Report) Write(folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for i := range r.Parts {
		p := &r.Parts[i]
		for _, c := range p.Charts {
			drawn, ok := p.drawn(c)
			if !ok {
				continue
			}
			var b bytes.Buffer
			if err := drawn.WriteSVG(&b); err != nil {
				return fmt.Errorf("picture %s: %w", c.File, err)
			}
			if err := os.WriteFile(filepath.Join(folder, c.File+".svg"), b.Bytes(), 0o666); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(folder, r.Paper.Name+".md"), []byte(r.Page()), 0o666)
}

// drawn is a picture's chart, and whether there is anything in it.
func (p *PartReport) drawn(c Picture) (chart.Chart, bool) {
	if p.Missing != "" {
		return chart.Chart{}, false
	}
	drawn := c.Draw(p.Samples)
	drawn.Title = cmp.Or(drawn.Title, c.Caption)
	return drawn, !drawn.Empty()
}

// Page is the report as Markdown.
func (r *Report) Page() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	say("# %s", r.Paper.Title)
	n := r.count()
	if n.run > 0 {
		say(": its claims, redone")
	}
	say("\n\n")
	say("Made by `sojourn reproduce %s`; nothing on this page is typed by hand. Source: %s\n\n", r.Paper.Name,
		r.Paper.Source)
	say("%s\n\n", strings.TrimSpace(r.Paper.About))
	if r.Most > 0 {
		say(
			"**A quick look:** at most %d trials of each experiment were run, and what is said of all trials below "+
				"may not hold for so few.\n\n",
			r.Most,
		)
	}
	if n.run > 0 {
		say(
			"Of %d rows with a published statement (some are compared in several settings), **%d agree**: ours is in "+
				"the published range, or that in our spread; %d more go the same way at another size, and %d do not",
			n.run,
			n.alike,
			n.same-n.alike,
			n.run-n.same,
		)
		if n.run > n.same {
			say("; why stands below their tables")
		}
		say(
			". *Same* says that it goes the same way as the published figure; *larger* and *smaller* " +
				"compare the size. ",
		)
	}
	if n.worked > 0 {
		say("%d more rows are arithmetic of a worked example; %d of them come out exactly. ", n.worked, n.exact)
	}
	if len(r.Rows()) > 0 {
		say("*Ours* is the median over trials, and in brackets the least and the greatest.\n")
	}
	for i := range r.Parts {
		r.Parts[i].write(&b)
	}
	if len(r.Paper.Left) > 0 {
		say("\n## Not redone\n\n| where | claim | why not |\n| --- | --- | --- |\n")
		for _, l := range r.Paper.Left {
			say("| %s | %s | %s |\n", l.Where, l.Says, l.Why)
		}
	}
	return fold(b.String())
}

// pageColumns is the width of a page's text. Tables are as wide as they are.
const pageColumns = 100

// listMark matches a word that Markdown takes for the mark of a list, a quotation, a table or a heading at the
// beginning of a line.
var listMark = regexp.MustCompile(`^([-+*]|#+|[>|].*|\d+[.)])$`)

// fold breaks the paragraphs of a page into lines, wherever its source broke them. Tables, headings and pictures stay
// as they are. A word that would be taken for the mark of a list or of a heading begins a line where it does in the
// source.
func fold(page string) string {
	var b strings.Builder
	at := 0 // columns of the line that is being written
	end := func() {
		if at > 0 {
			b.WriteByte('\n')
		}
		at = 0
	}
	for line := range strings.Lines(page) {
		if strings.TrimSpace(line) == "" || strings.ContainsAny(line[:1], "|#!") {
			end()
			b.WriteString(line)
			continue
		}
		for i, word := range strings.Fields(line) {
			long := utf8.RuneCountInString(word)
			if i == 0 && listMark.MatchString(word) {
				end()
			}
			switch {
			case at == 0:
			case at+1+long > pageColumns && !listMark.MatchString(word):
				end()
			default:
				b.WriteByte(' ')
				at++
			}
			b.WriteString(word)
			at += long
		}
	}
	end()
	return b.String()
}

// A tally is how many published rows were run, of them how many go the same way, and of these how many are of the same
// size. Rows of worked examples are counted apart: how many there are, and how many of them come out exactly.
type tally struct{ run, same, alike, worked, exact int }

// count counts the rows of all parts that have a published statement and were run.
func (r *Report) count() (n tally) {
	for i := range r.Parts {
		for _, row := range r.Parts[i].Rows() {
			switch {
			case row.Own || row.Trials == 0:
			case r.Parts[i].Worked:
				n.worked++
				if row.Same() {
					n.exact++
				}
			default:
				n.run++
				if row.Same() {
					n.same++
				}
				if row.Alike() {
					n.alike++
				}
			}
		}
	}
	return n
}

// write appends the part's section of the page: what was run and in how many trials, a table of the claims, tables of
// other figures, links to the pictures, and why figures differ. Of a part that was not run it says why, and its claims.
func (p *PartReport) write(b *strings.Builder) {
	say := func(format string, args ...any) { fmt.Fprintf(b, format, args...) }
	say("\n## %s\n\n%s\n", p.Title, strings.TrimSpace(p.How))
	switch {
	case p.Missing != "":
		say("\nNot run: %s.\n", p.Missing)
	case len(p.Samples) > 1:
		say("\n%d trials.\n", len(p.Samples))
	}
	rows := p.Rows()
	if len(rows) > 0 {
		say("\n| where | claim | published | ours | verdict |\n| --- | --- | --- | --- | --- |\n")
	}
	for _, r := range rows {
		say("| %s | %s | %s | %s | %s |\n", r.Where, r.Says, r.PublishedText(), r.OursText(), r.Verdict())
	}
	if p.Missing != "" {
		return
	}
	for i := range p.Grids {
		p.grid(b, &p.Grids[i])
	}
	for _, c := range p.Charts {
		if _, ok := p.drawn(c); !ok {
			continue
		}
		say("\n![%s](%s.svg)\n", c.Caption, c.File)
	}
	if p.Reading != "" {
		say("\n%s\n", strings.TrimSpace(p.Reading))
	}
	var whys []string
	for _, r := range rows {
		if r.Explained() && !slices.Contains(whys, r.Why) {
			whys = append(whys, r.Why)
			say("\n*%s:* %s\n", r.Where, r.Why)
		}
	}
}

// grid writes a table of figures: the mean of the trials ± half the 95 % confidence interval.
func (p *PartReport) grid(b *strings.Builder, g *Grid) {
	fmt.Fprintf(b, "\n%s:\n\n| | %s |\n|---|%s\n", g.Caption, strings.Join(g.Columns, " | "),
		strings.Repeat("---|", len(g.Columns)))
	for _, row := range g.Rows {
		fmt.Fprintf(b, "| %s |", row.Name)
		for _, figure := range row.Figures {
			var values []float64
			for _, s := range p.Samples {
				values = append(values, s.Of(figure))
			}
			tenths := func(x float64) string { return fmt.Sprintf("%.1f", x) }
			fmt.Fprintf(b, " %s |", theory.ConfidenceOf(values, 0.95).Text(tenths))
		}
		b.WriteByte('\n')
	}
}
