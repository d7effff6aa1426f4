package cli

import (
	"fmt"
	"io"
	"math"

	"github.com/sojourn-sched/sojourn/sched"
)

// A prediction is how good the sizes were that --estimator fspy predicted in a run: R², 1 when all are right.
type prediction struct {
	Policy  string   `json:"policy"`
	Jobs    int      `json:"jobs"` // that were probed and have finished, at most as many as the models look at
	Maps    *float64 `json:"r2_maps,omitempty"`
	Reduces *float64 `json:"r2_reduces,omitempty"`
	Size    *float64 `json:"r2_size,omitempty"`
}

// predictions returns those of an estimator under a policy: none where it does not predict, or has not.
func predictions(policy string, e sched.Estimator) []prediction {
	f, ok := e.(*sizeModels)
	if !ok || len(f.Trials) == 0 {
		return nil
	}
	number := func(x float64) *float64 {
		if math.IsNaN(x) {
			return nil
		}
		return &x
	}
	maps, reduces, size := f.Accuracy()
	return []prediction{{policy, len(f.Trials), number(maps), number(reduces), number(size)}}
}

func printPredictions(w io.Writer, list []prediction) {
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
