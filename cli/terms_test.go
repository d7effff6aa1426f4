package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/longtest"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// What flags, keys and a workload file say of a job's goal is in the figures, the same from each.
func TestRunTerms(t *testing.T) {
	in, dir := writeFile(t, "in.txt", "a b a\n"), t.TempDir()
	single := []string{"run", "wordcount", "--input", in, "--output", filepath.Join(dir, "out"), "--overwrite"}
	file := writeFile(t, "mix.yaml", fmt.Sprintf("jobs:\n  - {name: w, job: wordcount, input: [%s], output: %s, "+
		"deadline: 1ns, goal: {metric: steps, weight: 2, steps: [{after: 0s, cost: 5}, {after: 1h, cost: 9}]}}\n",
		in, filepath.Join(dir, "mix")))
	for _, args := range [][]string{
		append(single, "--deadline", "1ns", "--goal", "0s:5/1h:9", "--weight", "2"),
		append(single, "-D", "sojourn.weight=2", "-D", "sojourn.goal=0s:5/1h:9", "-D", "sojourn.deadline=1ns"),
		append(single, "-D", "sojourn.deadline=1h", "--deadline", "1ns", "--goal", "0s:5/1h:9", "--weight", "2"),
		{"run", file, "--overwrite"},
	} {
		var doc struct {
			Results []struct {
				Deadlines struct{ Met, Missed int }
				Costs     map[string]float64
				Sojourn   struct{ Mean float64 } `json:"sojourn_s"`
			}
		}
		out := must(t, append(args, "--json")...)
		if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.Results) != 1 {
			t.Fatalf("%v: %s", err, out)
		}
		r := doc.Results[0]
		if r.Deadlines.Met != 0 || r.Deadlines.Missed != 1 || r.Costs["tardy"] != 1 || r.Costs["sla"] != 10 ||
			math.Abs(r.Costs["weighted_response_s"]-2*r.Sojourn.Mean) > 1e-9 {
			t.Errorf("%q: %+v; want a deadline missed, at a cost of 5, with a weight of 2", args, r)
		}
	}
	for deadline, says := range map[string]string{"1h": ", within its deadline of 1h0m0s; output",
		"1ns": " s after its deadline of 1ns; output"} {
		if out := must(t, append(single, "--deadline", deadline)...); !strings.Contains(out, says) {
			t.Errorf("--deadline %s: %q is not in %s", deadline, says, out)
		}
	}
	out := must(t, append(single, "--output", filepath.Join(dir, "two"), "--deadline", "1ns", "--policy", "fair",
		"--policy", "flex:metric=weighted-tardy")...)
	if !strings.Contains(out, "MISSED  WEIGHTED-TARDY") {
		t.Errorf("no columns of missed deadlines and of the metric that was asked for:\n%s", out)
	}
	for _, c := range []struct{ args, says string }{
		{"--deadline soon", "--deadline soon: must be a time above 0"},
		{"-D sojourn.goal=late", "-D sojourn.goal=late: must be response, stretch, tardy"},
		{"-D sojourn.dedline=1h", "there are sojourn.deadline, sojourn.goal, sojourn.weight, sojourn.delays"},
		{"--goal tardiness", "of wordcount: goal: metric tardiness: needs a deadline"},
		{"--weight -1", "of wordcount: goal: weight -1: must be from 0"},
	} {
		args := append(single, strings.Fields(c.args)...)
		if status, _, errs := sojourn(t, args...); status != statusUsage || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit status %d, %q; want 2 and %q", c.args, status, errs, c.says)
		}
	}
	if status, _, errs := sojourn(t, "run", file, "--deadline", "1h"); status != statusUsage ||
		!strings.Contains(errs, "which says them for each") {
		t.Errorf("--deadline with a workload file: exit status %d, %q", status, errs)
	}
}

// When a job comes with whose goal those of all cannot be met, a warning names a job that will be late and says what
// would do; with -q there is none. `sojourn run` warns likewise, as far as it knows jobs from an earlier run.
func TestWarningOfGoals(t *testing.T) {
	jobs := writeFile(t, "goals.yaml", `jobs:
  - {name: fits, submit: 0s, deadline: 100s, maps: {count: 40, time: 10s}}
  - {name: more, submit: 1s, deadline: 119s, maps: {count: 10, time: 10s}}
`)
	args := []string{"sim", "--trace", jobs, "--cluster", "nodes=1,map-slots=4,reduce-slots=1", "--policy", "adaptive"}
	const note = "sojourn: policy adaptive: at 1s the goals of 2 jobs cannot all be met on 4 map-slots; late will be " +
		"job 1 (fits); 5 map-slots would do; or goals 5 s later; or without the late ones\n"
	if status, _, errs := sojourn(t, args...); status != 0 || errs != note {
		t.Errorf("exit status %d, %q, want %q", status, errs, note)
	}
	if status, _, errs := sojourn(t, append(args, "-q")...); status != 0 || errs != "" {
		t.Errorf("with -q: exit status %d, %q", status, errs)
	}
	history := filepath.Join(t.TempDir(), "history.db")
	for i, deadline := range []string{"1h", "1us"} {
		_, _, errs := sojourn(t, "run", "wordcount", "--input", jobs, "--output", filepath.Join(t.TempDir(), "out"),
			"--policy", "adaptive", "--estimator", "history", "--history", history, "--deadline", deadline)
		if warned := strings.Contains(errs, "the goal of job 1 (wordcount) cannot be met on"); warned != (i == 1) {
			t.Errorf("sojourn run with a deadline of %s: %q", deadline, errs)
		}
	}
}

// programOf makes a program that does what sojourn does, in a folder: this test, which calls mayBeMain first.
func programOf(t *testing.T, dir string) string {
	t.Helper()
	program := filepath.Join(dir, "sojourn")
	text := fmt.Sprintf("#!/bin/sh\n%[1]s=$(printf '%%s\\n' \"$@\")\nexport %[1]s\n"+
		"exec '%[2]s' -test.run='^%[3]s$'\n", asMain, os.Args[0], t.Name())
	if err := os.WriteFile(program, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
	return program
}

// examples/accelerated/run.sh, on little input: a line for each policy, and the same output under each.
func TestExampleAccelerated(t *testing.T) {
	mayBeMain()
	dir := t.TempDir()
	script := filepath.Join("..", "examples", "accelerated", "run.sh")
	out, err := exec.CommandContext(t.Context(), script, programOf(t, dir), dir, "2", "1").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, policy := range []string{"hardware", "adaptive", "fifo"} {
		if !regexp.MustCompile(`(?m)^` + policy + ` +[0-9.]+ ±`).Match(out) {
			t.Errorf("no line of %s: %s", policy, out)
		}
		for _, job := range []string{"gains", "plain"} {
			parts, err := filepath.Glob(filepath.Join(dir, "output", job, policy, "part-r-*"))
			if err != nil || len(parts) == 0 {
				t.Errorf("%s under %s left no output: %v", job, policy, err)
			}
		}
	}
}

// examples/deadlines/run.sh, on little input: a line for each policy and load. Deadlines follow the script's rule, and
// the same seed draws the same jobs at both loads.
func TestExampleDeadlines(t *testing.T) {
	mayBeMain()
	dir := t.TempDir()
	program := programOf(t, dir)
	script := filepath.Join("..", "examples", "deadlines", "run.sh")
	out, err := exec.CommandContext(t.Context(), script, program, dir, "2", "1", "12").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, policy := range []string{"fair", "edf", "distributions", "adaptive",
		"adaptive:shortage=fewest,split=waves,lengths=estimated", "flex:metric=tardy,least=0"} {
		lines := 0
		for line := range strings.Lines(string(out)) {
			var name string
			var mean, more float64
			n, _ := fmt.Sscanf(line, "%s %f", &name, &mean)
			if n < 2 || name != policy {
				continue
			}
			lines++
			_, _ = fmt.Sscan(strings.Fields(line)[4], &more)
			if mean < 0 || mean > 12 || 2*mean != math.Trunc(2*mean) || policy == "edf" && more != 0 {
				t.Errorf("%q: not what two runs of twelve jobs can be", line)
			}
			var simulated float64
			fields := strings.Fields(line)
			if _, err := fmt.Sscan(fields[len(fields)-1], &simulated); err != nil || simulated < 0 || simulated > 12 {
				t.Errorf("%q: does not end with what the simulator predicts of twelve jobs", line)
			}
		}
		if lines != 2 {
			t.Errorf("%d lines of %s, want one of each load:\n%s", lines, policy, out)
		}
	}
	light, heavy := jobsOf(t, filepath.Join(dir, "draw-0.9-2.yaml")), jobsOf(t, filepath.Join(dir, "draw-1.2-2.yaml"))
	if len(light) != 12 || len(heavy) != 12 {
		t.Fatalf("%d and %d jobs, want twelve", len(light), len(heavy))
	}
	for i, a := range light {
		b := heavy[i]
		if a.Name != b.Name || a.Deadline != b.Deadline || a.Deadline <= 0 {
			t.Errorf("%s due after %v and %s after %v, want the same job", a.Name, a.Deadline, b.Name, b.Deadline)
		}
		if sooner := a.Submit.Seconds() * 0.9 / 1.2; math.Abs(sooner-b.Submit.Seconds()) > 1e-5 {
			t.Errorf("%s comes at %v and %v, want intervals in proportion to 1/load", a.Name, a.Submit, b.Submit)
		}
	}
	if other := jobsOf(t, filepath.Join(dir, "draw-0.9-1.yaml")); other[11].Submit == light[11].Submit {
		t.Error("two repeats have the same draw")
	}
}

// jobsOf returns a workload's jobs.
func jobsOf(t *testing.T, path string) (list []*sched.JobSpec) {
	t.Helper()
	file, err := workload.Open(path, workload.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	for job, err := range file.Jobs {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, job)
	}
	return list
}

// examples/sweep.sh executes the notebook of a sweep and checks what it shows. It fetches Python packages, so that it
// runs among the long tests only.
func TestExampleNotebook(t *testing.T) {
	mayBeMain()
	if _, err := exec.LookPath("python3"); err != nil || !longtest.On() {
		t.Skip("needs python3 and SOJOURN_LONG=1")
	}
	dir := t.TempDir()
	script := filepath.Join("..", "examples", "sweep.sh")
	out, err := exec.CommandContext(t.Context(), script, programOf(t, dir), filepath.Join(dir, "out")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "4 cells show what the table says of 12 policies at loads") {
		t.Errorf("%v: %s", err, out)
	}
}
