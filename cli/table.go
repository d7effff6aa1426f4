package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// A textTable aligns columns with two spaces between them and no frame, so that it reads well and cuts well. Columns of
// numbers are aligned to the right.
type textTable struct {
	header  table.Row
	rows    []table.Row
	numbers []bool
}

func newTable(header ...string) *textTable {
	t := &textTable{numbers: make([]bool, len(header))}
	for i, h := range header {
		t.header = append(t.header, h)
		t.numbers[i] = i > 0
	}
	return t
}

func (t *textTable) row(cells ...string) {
	r := make(table.Row, len(cells))
	for i, c := range cells {
		r[i] = c
		if i < len(t.numbers) && c != "" && !strings.ContainsAny(c[:1], "0123456789-+<*") &&
			!strings.HasPrefix(c, "÷") {
			t.numbers[i] = false
		}
	}
	t.rows = append(t.rows, r)
}

// print prints the table. On a terminal that it is too wide for, it prints a paragraph a row instead.
func (t *textTable) print(w io.Writer) {
	text := t.lines()
	wide := 0
	for line := range strings.Lines(text) {
		wide = max(wide, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
	}
	if room := terminalWidth(w); room > 0 && wide > room {
		text = t.folded(room)
	}
	_, _ = io.WriteString(w, text)
}

// folded returns the rows as paragraphs of at most so many columns where words allow: the first cell, then each other
// cell after the name of its column.
func (t *textTable) folded(wide int) string {
	var b strings.Builder
	for _, row := range t.rows {
		fmt.Fprintf(&b, "%v\n", row[0])
		at := 0
		for i, cell := range row[1:] {
			if cell == "" {
				continue
			}
			item := strings.TrimSpace(fmt.Sprintf("%v %v", t.header[i+1], cell))
			long := utf8.RuneCountInString(item)
			switch {
			case at == 0:
				b.WriteString("  ")
				at = 2
			case at+2+long > wide:
				b.WriteString("\n  ")
				at = 2
			default:
				b.WriteString("  ")
				at += 2
			}
			b.WriteString(item)
			at += long
		}
		if at > 0 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// terminalWidth returns the columns of the terminal that w writes to; 0: w is none.
func terminalWidth(w io.Writer) int {
	if c, ok := w.(*checked); ok {
		w = c.to
	}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return n
}

// lines returns the table, a line a row.
func (t *textTable) lines() string {
	out := table.NewWriter()
	out.AppendHeader(t.header)
	out.AppendRows(t.rows)
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	out.SetStyle(style)
	var columns []table.ColumnConfig
	for i, n := range t.numbers {
		c := table.ColumnConfig{Number: i + 1}
		if n {
			c.Align, c.AlignHeader = text.AlignRight, text.AlignRight
		}
		columns = append(columns, c)
	}
	out.SetColumnConfigs(columns)
	var b strings.Builder
	for line := range strings.Lines(out.Render() + "\n") {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}
