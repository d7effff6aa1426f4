package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/sched"
)

// A mix that is repeated runs under all policies in turn, each round beginning with another one. It prints means with
// intervals, and differences repeat by repeat; outputs that were there before are not replaced unasked.
func TestRunRepeats(t *testing.T) {
	dir := t.TempDir()
	mix := writeFile(t, "mix.yaml", fmt.Sprintf(`
jobs:
  - {name: words, job: wordcount, input: [%[1]s], output: %[2]s/words}
  - {name: lines, job: sort, input: [%[1]s], output: %[2]s/lines, submit: 5ms}
`, writeFile(t, "in.txt", strings.Repeat("b a\nc a\n", 1000)), dir))
	status, out, errs := sojourn(t, "run", mix, "--policy", "fifo,fair", "--repeats", "3", "--json")
	if status != statusOK {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	var turns []string
	for line := range strings.Lines(errs) {
		if line = strings.TrimPrefix(line, "sojourn: "); strings.Contains(line, ": 2 jobs in ") {
			name, _, _ := strings.Cut(line, ":")
			turns = append(turns, name)
		}
	}
	if got := strings.Join(turns, " "); got != "fifo fair fair fifo fifo fair" {
		t.Errorf("policies in the order %q", got)
	}
	var doc runRepeatsJSON
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Repeats != 3 || len(doc.Results) != 2 || len(doc.Results[1].Means) != 3 ||
		doc.Results[1].Difference == nil ||
		!(doc.Results[0].Sojourn.Mean > 0 && *doc.Results[0].Sojourn.Half > 0) {
		t.Errorf("%s", out)
	}
	if text := must(t, "run", mix, "--policy", "fifo,fair", "--repeats", "2", "--overwrite"); !strings.Contains(text,
		"2 times under each policy in turn") || !strings.Contains(text, "repeat by repeat") {
		t.Errorf("%s", text)
	}
	for _, bad := range [][]string{{"--repeats", "0"}, {"--repeats", "2", "--record", filepath.Join(dir,
		"{policy}.rec")},
		{"--repeats", "2"}} {
		status, _, errs := sojourn(t, append([]string{"run", mix, "--policy", "fifo,fair"}, bad...)...)
		if status != statusUsage || !strings.Contains(errs, bad[len(bad)-2]) && !strings.Contains(errs, "--overwrite") {
			t.Errorf("%v: exit status %d, %s", bad, status, errs)
		}
	}
}

// A run of several policies warns when the machine was busy before it.
func TestRunWarnsOfLoad(t *testing.T) {
	for _, c := range []struct {
		load float64
		want bool
	}{{1e6, true}, {0, false}} {
		var errs strings.Builder
		warnBusy(newApp(Streams{Err: &errs}, nil), c.load)
		if got := strings.Contains(errs.String(), "the machine was busy before this run"); got != c.want {
			t.Errorf("load %v: %q", c.load, errs.String())
		}
	}
}

// A job that fails in the same way in several repeats is told once, with their numbers; in one run without a number.
func TestFailuresOfRepeats(t *testing.T) {
	m := &mix{jobs: []run.RealJob{{Spec: &sched.JobSpec{Name: "good"}}, {Spec: &sched.JobSpec{Name: "bad"}}}}
	ran := func(policy string, repeat int, why string) *policyRun {
		r := &policyRun{place: policyPlace{policy: policy}, repeat: repeat, jobs: []mr.Result{{}, {Index: 1}}}
		if why != "" {
			r.jobs[1].Err = errors.New(why)
		}
		return r
	}
	runs := []*policyRun{
		ran("fifo", 1, "no disk"), ran("fair", 1, ""), ran("fifo", 2, "no disk"), ran("fair", 2, "no disk"),
		ran("fifo", 3, "no memory"), ran("fair", 3, ""), ran("fifo", 4, "no disk"), ran("fair", 4, ""),
	}
	want := "under fifo, in repeat 1, 2, 4, job \"bad\" failed: no disk\n" +
		"under fair, in repeat 2, job \"bad\" failed: no disk\n" +
		"under fifo, in repeat 3, job \"bad\" failed: no memory"
	if err := failuresOf(m, runs, nil); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	want = "under fifo, job \"bad\" failed: no disk"
	if err := failuresOf(m, runs[:2], nil); err == nil || err.Error() != want {
		t.Errorf("of one run: %v, want %s", err, want)
	}
}
