package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/record"
)

// Of three equal jobs in order, 40 maps of 10 s each on four slots, the last one waits for the two before it: from 30 s
// on, 200 s less 30 until it starts, and 100 s more until it ends. Both come within the range, and explain says so.
func TestOutlook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.rec")
	jobs := writeFile(t, "jobs.yaml", `jobs:
  - {name: a1, maps: {count: 40, time: 10s}}
  - {name: a2, maps: {count: 40, time: 10s}}
  - {name: a3, maps: {count: 40, time: 10s}}`)
	must(t, "sim", "--trace", jobs, "--cluster", "nodes=2,map-slots=2,reduce-slots=1", "--costs", "none",
		"--policy", "fifo", "--estimator", "model", "--record", path)
	ask := func(job, at string) *record.Expectation {
		t.Helper()
		var x record.Explanation
		text := must(t, "record", "explain", path, job, "--at", at, "--json")
		if err := json.Unmarshal([]byte(text), &x); err != nil {
			t.Fatal(err)
		}
		return x.Expected
	}
	e := ask("3", "30s")
	if e == nil || e.Outlook.Start == nil || e.Outlook.End == nil {
		t.Fatalf("%+v", e)
	}
	for what, row := range map[string]struct{ span, came, want float64 }{
		"start": {e.Outlook.Start.Median, e.Began - e.Since, 170},
		"end":   {e.Outlook.End.Median, e.Ended - e.Since, 270},
	} {
		if math.Abs(row.came-row.want) > 1e-6 || math.Abs(row.span/row.want-1) > 0.15 {
			t.Errorf("%s: expected after %v s, came after %v, want %v", what, row.span, row.came, row.want)
		}
	}
	if s := e.Outlook.End; !(s.Low < 270 && 270 < s.High) {
		t.Errorf("270 s is outside %+v", *s)
	}
	if e := ask("1", "30s"); e.Outlook.Start != nil || e.Began != 0 {
		t.Errorf("a job that runs is expected to start: %+v", e)
	}
	if e := ask("1", "0s"); e == nil || e.Outlook.Unknown == "" {
		t.Errorf("nothing has ended, and %+v is expected", e)
	}
	text := must(t, "record", "explain", path, "3", "--at", "30s")
	for _, want := range []string{"expected to start in", "; it did after 170", fmt.Sprint("; it did after ", 270)} {
		if !strings.Contains(text, want) {
			t.Errorf("output lacks %q:\n%s", want, text)
		}
	}
}
