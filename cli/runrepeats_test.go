package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
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
		!(doc.Results[0].Sojourn.Mean > 0 && doc.Results[0].Sojourn.Half > 0) {
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
