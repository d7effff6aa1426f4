package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/sojourn-sched/sojourn/sched"
)

// TestProgressFits draws a line at every width: it is never wider than said, and says more where there is room.
func TestProgressFits(t *testing.T) {
	b := &bar{what: "simulate fair:delay=5s", begun: time.Now().Add(-10 * time.Second), part: 0.25,
		says: "1473 of 5894 jobs, at 6h3m0s"}
	for width := 1; width <= 200; width++ {
		if n := text.StringWidthWithoutEscSequences(b.line(width)); n > width {
			t.Errorf("the line has %d columns, %d are there: %q", n, width, b.line(width))
		}
	}
	line := b.line(120)
	for _, part := range []string{"[#####...............]", " 25 %", "1473 of 5894 jobs", "30s left"} {
		if !strings.Contains(line, part) {
			t.Errorf("%q lacks %q", line, part)
		}
	}
}

// TestProgressTotals holds a bar to all jobs of the workload, not to those that have come.
func TestProgressTotals(t *testing.T) {
	var errs bytes.Buffer
	f := simFlags{output: output{progress: "always"}}
	jobs := func(yield func(*sched.JobSpec, error) bool) {
		for range 300 {
			if !yield(nil, nil) {
				return
			}
		}
	}
	if n := f.total(&app{Streams: Streams{Err: &errs}}, jobs); n != 300 {
		t.Errorf("%d jobs, must be 300", n)
	}
	f.progress = "never"
	if n := f.total(&app{Streams: Streams{Err: &errs}}, jobs); n != 0 {
		t.Errorf("%d jobs are counted for a bar that is not drawn", n)
	}
}
