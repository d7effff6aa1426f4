package cli

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestTableFolds prints a table that is wider than a terminal: every cell is there beside its column's name, and no
// line is wider.
func TestTableFolds(t *testing.T) {
	table := newTable("POLICY", "MEAN SOJOURN", "P50", "EMPTY", "CHANGE")
	table.row("dynamicmr:base=srpt,sepb=off", "*105.1", "30.8", "", "÷33.2")
	table.row("fifo", "651.0", "535.5", "", "-")
	const want = `dynamicmr:base=srpt,sepb=off
  MEAN SOJOURN *105.1  P50 30.8
  CHANGE ÷33.2
fifo
  MEAN SOJOURN 651.0  P50 535.5
  CHANGE -
`
	if got := table.folded(38); got != want {
		t.Errorf("folded: %s, must be %s", got, want)
	}
	for line := range strings.Lines(want) {
		if utf8.RuneCountInString(line) > 38+1 {
			t.Errorf("%q is too wide", line)
		}
	}
	var out strings.Builder // no terminal
	if table.print(&out); strings.Count(out.String(), "\n") != 3 {
		t.Errorf("a table that no terminal shows is folded: %s", out.String())
	}
}
