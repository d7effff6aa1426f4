package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// A row is what one contestant made of one case.
type row struct {
	Case      string  `json:"case"`
	Who       string  `json:"who"`
	Unit      string  `json:"unit"`
	Value     spread  `json:"value"`
	Processor spread  `json:"processor_s"`
	Memory    float64 `json:"memory_mb"`       // the most of all runs, mapped files included
	Ratio     *spread `json:"ratio,omitempty"` // ours ÷ theirs, by value
	// the same for equal processor time instead of equal time on the wall
	ByProcessor *spread `json:"by_processor,omitempty"`
	Goal        *goal   `json:"goal,omitempty"`
	Skipped     string  `json:"skipped,omitempty"` // why there are no figures
}

// A goal is what a median should be.
type goal struct {
	Of   float64 `json:"of"`
	Most bool    `json:"most,omitempty"` // not more; else not less
	Met  bool    `json:"met"`
}

func (g *goal) String() string {
	if g == nil {
		return ""
	}
	sign, verdict := "≥ ", "missed"
	if g.Most {
		sign = "≤ "
	}
	if g.Met {
		verdict = "met"
	}
	return sign + number(g.Of) + " " + verdict
}

// A document is all that a run found.
type document struct {
	Machine machine   `json:"machine"`
	Tables  []results `json:"parts"`
	Seconds float64   `json:"seconds"`
}

func (d *document) print(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(d)
}

// results are a part's rows.
type results struct {
	Part  string  `json:"part"`
	About string  `json:"about"`
	Load  float64 `json:"load"` // processes that wanted a processor in the minute before
	Rows  []row   `json:"rows"`
	pivot bool    // cases are columns
}

// print writes the table as text.
func (t *results) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s: %s\n\n", t.Part, t.About)
	out := t.layout()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	out.SetStyle(style)
	for line := range strings.Lines(out.Render() + "\n") {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
	for _, line := range t.skipped() {
		fmt.Fprintln(w, "skipped:", line)
	}
	fmt.Fprintf(w, "load of the machine before: %.1f\n", t.Load)
}

// markdown writes the table for a page.
func (t *results) markdown(m machine) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\n%s\n", folded(t.About), t.layout().RenderMarkdown())
	for _, line := range t.skipped() {
		fmt.Fprintf(&b, "\n%s\n", folded("Not measured: "+line))
	}
	last := fmt.Sprintf("`go run ./bench -only %s`, load of the machine before %.1f. %s", t.Part, t.Load, m)
	fmt.Fprintf(&b, "\n%s\n", folded(last))
	return b.String()
}

// folded breaks a paragraph of a page into lines of at most 100 columns.
func folded(paragraph string) string {
	lines := strings.Split(text.WrapSoft(paragraph, 100), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}

func (t *results) layout() table.Writer {
	if t.pivot {
		return t.byPolicy()
	}
	out := table.NewWriter()
	out.AppendHeader(
		table.Row{
			"case",
			"who",
			"median",
			"min–max",
			"runs",
			"processor s",
			"peak MB",
			"ours ÷ this",
			"by processor",
			"goal",
		},
	)
	last := ""
	for _, r := range t.Rows {
		if r.Skipped != "" {
			continue
		}
		name := r.Case
		if name == last {
			name = ""
		}
		last = r.Case
		out.AppendRow(
			table.Row{
				name,
				r.Who,
				number(r.Value.Median) + " " + r.Unit,
				number(r.Value.Min) + "–" + number(r.Value.Max),
				r.Value.Runs,
				unlessZero(r.Processor.Median),
				unlessZero(r.Memory),
				r.Ratio.String(),
				r.ByProcessor.String(),
				r.Goal.String(),
			},
		)
	}
	return out
}

// byPolicy has a line for each contestant and a column for each case.
func (t *results) byPolicy() table.Writer {
	var who, cases []string
	cells := map[[2]string]string{}
	for _, r := range t.Rows {
		if !slices.Contains(who, r.Who) {
			who = append(who, r.Who)
		}
		if !slices.Contains(cases, r.Case) {
			cases = append(cases, r.Case)
		}
		cells[[2]string{r.Who, r.Case}] = number(r.Value.Median)
		if r.Skipped != "" {
			cells[[2]string{r.Who, r.Case}] = r.Skipped
		}
	}
	out := table.NewWriter()
	header := table.Row{""}
	for _, c := range cases {
		header = append(header, c)
	}
	out.AppendHeader(header)
	for _, w := range who {
		line := table.Row{w}
		for _, c := range cases {
			line = append(line, cells[[2]string{w, c}])
		}
		out.AppendRow(line)
	}
	return out
}

// skipped says who did not take part, once for each reason.
func (t *results) skipped() (lines []string) {
	if t.pivot {
		return nil
	}
	for _, r := range t.Rows {
		if line := r.Who + ": " + r.Skipped; r.Skipped != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// String is the median, and the spread where there is any.
func (s *spread) String() string {
	switch {
	case s == nil:
		return ""
	case s.Runs == 1:
		return number(s.Median)
	}
	return fmt.Sprintf("%s (%s–%s)", number(s.Median), number(s.Min), number(s.Max))
}

func unlessZero(x float64) string {
	if x == 0 {
		return ""
	}
	return number(x)
}

// number writes three digits.
func number(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x >= 100 || x <= -100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10 || x <= -10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case x >= 0.1 || x <= -0.1:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'g', 2, 64)
}

// replaceTable puts a table into a page, between its markers.
func replaceTable(path string, m machine, t results) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := fmt.Sprintf("<!-- bench %s -->\n", t.Part), fmt.Sprintf("<!-- end bench %s -->\n", t.Part)
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return fmt.Errorf("%s: no lines %q and %q to put the table between", path, strings.TrimSpace(begin),
			strings.TrimSpace(end))
	}
	return os.WriteFile(path, []byte(before+begin+t.markdown(m)+end+after), 0o666)
}

// machine is what the figures were measured on.
type machine struct {
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Memory  string `json:"memory"`
	System  string `json:"system"`
	Go      string `json:"go"`
	Sojourn string `json:"sojourn"`
	Size    int64  `json:"size"`
	Reps    int    `json:"reps"`
}

func (m machine) String() string {
	return fmt.Sprintf("%d cores of %s, %s, %s, %s, %s; inputs of %s MB, %d repetitions.", m.Cores, m.CPU, m.Memory,
		m.System, m.Go, m.Sojourn, number(float64(m.Size)/1e6), m.Reps)
}

func cores() int { return runtime.GOMAXPROCS(0) }

func thisMachine(ctx context.Context, o *options) machine {
	first := func(path, key string) string {
		raw, err := os.ReadFile(path)
		if err != nil {
			return "unknown"
		}
		for line := range strings.Lines(string(raw)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
				return strings.TrimSpace(value)
			}
		}
		return "unknown"
	}
	answer := func(path string, args ...string) string {
		out, err := exec.CommandContext(ctx, path, args...).Output()
		if err != nil {
			return "unknown"
		}
		return strings.TrimSpace(string(out))
	}
	return machine{
		CPU:     first("/proc/cpuinfo", "model name"),
		Cores:   cores(),
		Memory:  first("/proc/meminfo", "MemTotal"),
		System:  answer("uname", "-sr"),
		Go:      runtime.Version(),
		Sojourn: answer(o.sojourn, "version"),
		Size:    o.size,
		Reps:    o.reps,
	}
}

// loadAverage is the mean number of processes that ran or wanted to in the last minute; 0 where the system does not
// tell.
func loadAverage() float64 {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	var load float64
	if _, err := fmt.Sscan(string(raw), &load); err != nil {
		return 0
	}
	return load
}
