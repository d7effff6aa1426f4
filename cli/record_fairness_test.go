package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/theory"
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

// balanceOf returns what all queues lent, over records of runs, in exact unit·seconds. Each kind of resource must
// balance.
func balanceOf(t *testing.T, records ...string) map[string]theory.UnitTime {
	t.Helper()
	var kinds []record.KindFairness
	text := must(t, append([]string{"record", "fairness", "--json"}, records...)...)
	if err := json.Unmarshal([]byte(text), &kinds); err != nil {
		t.Fatal(err)
	}
	lent := map[string]theory.UnitTime{}
	for _, k := range kinds {
		var balance theory.UnitTime
		for _, q := range k.Queues {
			balance = balance.Add(q.Balance())
		}
		if balance != (theory.UnitTime{}) || k.Lent != k.Borrowed {
			t.Errorf("%s: %v more is lent than borrowed; %v and %v in all", k.Kind, balance, k.Lent, k.Borrowed)
		}
		lent[k.Kind] = k.Lent
	}
	return lent
}

// Accounts balance on the simulator while attempts fail and nodes are lost, and on the embedded engine while attempts,
// programs and outputs are.
func TestFairnessBalancesOnEngines(t *testing.T) {
	dir := t.TempDir()
	sim, mr := filepath.Join(dir, "sim.rec"), filepath.Join(dir, "mr.rec")
	jobs := "queues: [{name: a}, {name: b, weight: 2}]\njobs:\n"
	for i := range 20 {
		jobs += fmt.Sprintf("  - {name: j%d, queue: %c, submit: %dm, maps: {count: %d, time: 1m}, "+
			"reduces: {count: 3, time: 2m}}\n", i, 'a'+i%2, i, 5+7*(i%5))
	}
	must(t, "sim", "--trace", writeFile(t, "jobs.yaml", jobs), "--cluster", "nodes=10,map-slots=2,reduce-slots=1",
		"--policy", "longterm", "--failures", "0.05", "--mtbf", "30m", "--record", sim)
	in := writeFile(t, "in.txt", strings.Repeat("a b c\n", 100_000))
	mix := writeFile(t, "mix.yaml", fmt.Sprintf(`
queues: [{name: a}, {name: b, weight: 2}]
jobs:
  - {name: one, queue: a, job: wordcount, input: [%[1]s], output: %[2]s/1, conf: &s {mapred.min.split.size: 60000}}
  - {name: two, queue: b, job: wordcount, input: [%[1]s], output: %[2]s/2, conf: *s, submit: 5ms}
`, in, dir))
	must(t, "run", mix, "--policy", "longterm", "--cluster", "nodes=2,vcores=1", "--chaos", "rate=0.2,seed=3",
		"--record", mr)
	for left, kind := range map[string]string{sim: "map-slots", mr: "vcores"} {
		if lent := balanceOf(t, left)[kind]; lent.Compare(theory.UnitTime{}) <= 0 {
			t.Errorf("%s: %v %s·s were lent", filepath.Base(left), lent, kind)
		}
	}
}

// A queue that lent its share in one run of jobs is served first in the next one, which has the same --state, and in
// its turn without. Both records together balance, and the next run is decided again as it was.
func TestRunStateRepaysDebts(t *testing.T) {
	dir := t.TempDir()
	state, in := filepath.Join(dir, "state"), writeFile(t, "in.txt", strings.Repeat("a\n", 200_000))
	const queues = "queues: [{name: borrower}, {name: lender}]\njobs:\n"
	job := func(name, queue string) string { // eight maps
		return fmt.Sprintf("  - {name: %s, queue: %s, mapper: cat, reducer: NONE, input: [%s], output: %s, "+
			"conf: {mapred.min.split.size: 50000}}\n", name, queue, in, filepath.Join(dir, name))
	}
	run := func(name, jobs string, more ...string) string {
		left := filepath.Join(dir, name+".rec")
		must(t, append([]string{"run", writeFile(t, name+".yaml", queues+jobs), "--record", left, "--overwrite",
			"--policy", "longterm:guaranteed=0", "--cluster", "nodes=1,vcores=2"}, more...)...)
		return left
	}
	lends := run("lends", job("one", "borrower"), "--state", state)
	both := job("two", "borrower") + job("three", "lender")
	repays, forgets := run("repays", both, "--state", state), run("forgets", both)
	for left, want := range map[string]string{repays: "launch job=2 ", forgets: "launch job=1 "} {
		_, launches, _ := strings.Cut(must(t, "record", "events", left), "action ")
		if !strings.HasPrefix(launches, want) {
			t.Errorf("%s: want %q first: %.200s", filepath.Base(left), want, launches)
		}
	}
	before, after := balanceOf(t, lends)["vcores"], balanceOf(t, lends, repays)["vcores"]
	if before.Compare(theory.UnitTime{}) <= 0 || after.Compare(before) <= 0 {
		t.Errorf("%v core·s were lent in the first run, %v in both", before, after)
	}
	if out := must(t, "record", "replay", repays); !strings.Contains(out, "all decided as recorded") {
		t.Errorf("replay: %s", out)
	}
	status, _, errs := sojourn(t, "run", "wordcount", "--input", in, "--output", filepath.Join(dir, "x"), "--policy",
		"fair,longterm", "--state", state)
	if status != statusUsage || !strings.Contains(errs, "--state: the debts are of one policy, got fair, longterm") {
		t.Errorf("two policies: %d %s", status, errs)
	}
}
