package cli

import (
	"fmt"
	"io"

	"github.com/sojourn-sched/sojourn/internal/run"
)

func printPredictions(w io.Writer, list []run.Prediction) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w, "\nR² of what was predicted of probed jobs, before the models learned from them:")
	t := newTable("POLICY", "JOBS", "MAPS", "REDUCES", "SIZE")
	cell := func(x *float64) string {
		if x == nil {
			return ""
		}
		return fmt.Sprintf("%.3f", *x)
	}
	for _, p := range list {
		t.row(p.Policy, fmt.Sprint(p.Jobs), cell(p.Maps), cell(p.Reduces), cell(p.Size))
	}
	t.print(w)
}
