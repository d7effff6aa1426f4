package cli

import (
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
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

func (t *textTable) print(w io.Writer) {
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
	for line := range strings.Lines(out.Render() + "\n") {
		_, _ = io.WriteString(w, strings.TrimRight(line, " \n")+"\n")
	}
}
