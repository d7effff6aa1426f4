package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Two queues with a slot each: b has both for 10 s while a has nothing. a asks for one from 5 s on, and runs from 10 s
// to 20 s.
func TestRecordFairness(t *testing.T) {
	dir := t.TempDir()
	jobs, run := filepath.Join(dir, "jobs.yaml"), filepath.Join(dir, "run.rec")
	text := `queues: [{name: a}, {name: b}]
jobs:
  - {name: one, queue: b, user: bo, maps: {count: 3, time: 10s}}
  - {name: two, queue: a, user: ana, submit: 5s, maps: {count: 1, time: 10s}}
`
	if err := os.WriteFile(jobs, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, "sim", "--trace", jobs, "--cluster", "nodes=1,map-slots=2", "--policy", "longterm", "--costs", "none",
		"--maps-only", "--record", run)
	table := must(t, "record", "fairness", run)
	for _, want := range []string{"a 20 10 10 0 10 0.667", "b        20    30     " +
		"0        10      -10    1.500"} {
		if !strings.Contains(strings.Join(strings.Fields(table), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	if users := must(t, "record", "fairness", "--users", run); !strings.Contains(users, "ana") ||
		!strings.Contains(users, "bo") {
		t.Errorf("users:\n%s", users)
	}
	var kinds []struct{ Kind, Lent, Borrowed string }
	if err := json.Unmarshal([]byte(must(t, "record", "fairness", "--json", run)), &kinds); err != nil {
		t.Fatal(err)
	}
	if len(kinds) != 1 || kinds[0].Kind != "map-slots" || kinds[0].Lent != "10" || kinds[0].Borrowed != "10" {
		t.Errorf("%+v", kinds)
	}
	if out := must(t, "record", "replay", run); !strings.Contains(out, "all decided as recorded") {
		t.Errorf("replay: %s", out)
	}
}
