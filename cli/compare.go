package cli

import (
	"fmt"
	"io"
	"math"
	"strconv"
)

// A column of a comparison is a figure; less is better.
type column[R any] struct {
	name string
	of   func(R) float64 // NaN: does not apply
}

// compare prints one row a result: its figures, the best of each column marked, and the change of the first column
// against the first result.
func compare[R any](w io.Writer, results []R, name func(R) string, columns []column[R]) {
	header := []string{"POLICY"}
	best := make([]float64, len(columns))
	for i, c := range columns {
		header = append(header, c.name)
		best[i] = math.Inf(1)
		for _, r := range results {
			if v := c.of(r); v < best[i] {
				best[i] = v
			}
		}
	}
	many := len(results) > 1
	if many {
		header = append(header, "CHANGE")
	}
	t := newTable(header...)
	for _, r := range results {
		cells := []string{name(r)}
		for i, c := range columns {
			v := c.of(r)
			cell := figure(v)
			if many && cell != "" && cell == figure(best[i]) {
				cell = "*" + cell
			}
			cells = append(cells, cell)
		}
		if many {
			cells = append(cells, change(columns[0].of(r), columns[0].of(results[0])))
		}
		t.row(cells...)
	}
	t.print(w)
	if many {
		fmt.Fprintf(w, "\n* best of its column; change of %s against %s\n", lower(columns[0].name), name(results[0]))
	}
}

// figure prints a number with the digits that a reader can use.
func figure(v float64) string {
	switch {
	case math.IsNaN(v):
		return ""
	case math.Abs(v) >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case math.Abs(v) >= 10 || v == 0:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// change prints v against base: how many times less where that is much, else in percent.
func change(v, base float64) string {
	switch {
	case math.IsNaN(v) || math.IsNaN(base) || base == 0:
		return ""
	case v == base:
		return "-"
	case v > 0 && base/v >= 10:
		return fmt.Sprintf("÷%.1f", base/v)
	}
	return fmt.Sprintf("%+.0f %%", 100*(v/base-1))
}

func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
