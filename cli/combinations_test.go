package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/model"
)

// wrapped are a policy alone and in what goes around any: around those of an estimator that learns nothing from probes
// no probe.
func wrapped(spec, estimator string) []string {
	list := []string{spec, "late{" + spec + "}:min-run=5s"}
	if estimator == "mean" || estimator == "history" || estimator == "model" {
		return list
	}
	return append(list, "probe{"+spec+"}", "late{probe{"+spec+"}}:min-run=5s")
}

// withParams adds parameters to a policy.
func withParams(spec, params string) string {
	switch {
	case params == "":
		return spec
	case strings.Contains(spec, ":"):
		return spec + "," + params
	}
	return spec + ":" + params
}

// checkThrough fails the test unless a JSON document has results of so many policies, each with all jobs done.
func checkThrough(t *testing.T, out string, policies, jobs int) {
	t.Helper()
	var doc struct {
		Results []struct {
			Policy                     string
			Jobs                       int
			Failed, Killed, Unfinished int
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.Results) != policies {
		t.Fatalf("%d results of %d policies, %v", len(doc.Results), policies, err)
	}
	for _, r := range doc.Results {
		if r.Jobs != jobs || r.Failed+r.Killed+r.Unfinished > 0 {
			t.Errorf("%s: %d jobs of %d are through, %d failed, %d killed, %d unfinished", r.Policy, r.Jobs, jobs,
				r.Failed, r.Killed, r.Unfinished)
		}
	}
}

// Every policy of the research works runs all jobs in the simulator, whatever is around it, whatever tells it sizes,
// and wherever it may put tasks; with stragglers and attempts that fail, so that the wrappers have something to do.
func TestCombinationsSim(t *testing.T) {
	const jobs = 20
	trace := filepath.Join(t.TempDir(), "jobs.tsv")
	must(t, "workload", "generate", "--jobs", fmt.Sprint(jobs), "--gap", "5s", "--input",
		"pareto:min=100MB,max=20GB,alpha=0.8", "--output", trace)
	for _, policy := range []string{"mrorder", "mrorder:goal=makespan,backlog=off", "dynamicmr",
		"dynamicmr:base=srpt,dhsa=pd", "fspy", "fspy:uber-maps=0,late=age", "gittins"} {
		for _, estimator := range []string{"oracle", "noisy:sigma=1", "mean", "history", "model", "fspy"} {
			t.Run(policy+"/"+estimator, func(t *testing.T) {
				t.Parallel()
				args := []string{
					"sim",
					"--trace",
					trace,
					"--cluster",
					"nodes=6,map-slots=3,reduce-slots=1,racks=2",
					"--json",
					"--estimator",
					estimator,
					"--stragglers",
					"0.1",
					"--failures",
					"0.02",
				}
				n := 0
				for _, placing := range []string{"", "delay=3s,rack-delay=2s", "locality=off"} {
					for _, spec := range wrapped(withParams(policy, placing), estimator) {
						args = append(args, "--policy", spec)
						n++
					}
				}
				checkThrough(t, must(t, args...), n, jobs)
			})
		}
	}
}

// And real jobs on this machine: outputs are equal byte for byte under all policies. mrorder starts a round
// every 20 ms, because these jobs take less than its default of 10 s. The nodes have slots, so that some can be lent.
func TestCombinationsRun(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.txt")
	must(t, "generate", "text", "--size", "1MB", "--output", in)
	var list strings.Builder
	for i, job := range []string{"wordcount", "sort", "grep"} {
		define := ""
		if job == "grep" {
			define = ", conf: {pattern: the}"
		}
		fmt.Fprintf(&list, "  - {name: j%d, job: %s, input: [%s], output: %s, submit: %dms, reduces: 2%s}\n", i, job,
			in, filepath.Join(dir, fmt.Sprint("out", i)), 10*i, define)
	}
	mix := writeFile(t, "mix.yaml", "jobs:\n"+list.String())
	for _, estimator := range []string{"mean", "history", "fspy"} {
		args := []string{
			"run",
			mix,
			"--cluster",
			"nodes=2,map-slots=1,reduce-slots=1",
			"--overwrite",
			"--json",
			"--estimator",
			estimator,
			"--policy",
			"fifo",
		}
		n := 1
		for _, policy := range []string{"mrorder:interval=20ms", "mrorder:interval=20ms,goal=makespan,backlog=off",
			"dynamicmr", "dynamicmr:base=srpt,dhsa=pd,delay=10ms", "fspy:uber-maps=0", "gittins:locality=off"} {
			for _, spec := range wrapped(policy, estimator) {
				args = append(args, "--policy", spec)
				n++
			}
		}
		t.Run(estimator, func(t *testing.T) { checkThrough(t, must(t, args...), n, 3) })
	}
}

// What an engine cannot do is refused at start by one sentence, which names the policy, the engine, and where it can be
// had.
func TestCombinationsRefused(t *testing.T) {
	in := writeFile(t, "in.txt", "a\n")
	for _, spec := range []string{"dynamicmr", "late{mrorder:goal=makespan}", "probe{gittins}", "late{probe{fspy}}",
		"gittins:preempt=suspend"} {
		_, _, errs := sojourn(t, "rm", "--conf", t.TempDir(), "--policy", spec)
		for _, part := range []string{"policy " + spec + " needs", "a ResourceManager cannot",
			"'sojourn sim' and 'sojourn run' can"} {
			if !strings.Contains(errs, part) {
				t.Errorf("rm --policy %s says %q, want %q in it", spec, errs, part)
			}
		}
	}
	for _, verb := range []string{"sim", "run"} {
		args := []string{verb, "--estimator", "mean", "--policy", "fifo", "--policy", "late{probe{mrorder}}"}
		if verb == "sim" {
			args = append(args, "--trace", generated(t), "--cluster", smallCluster)
		} else {
			args = append(args, "wordcount", "--input", in, "--output", filepath.Join(t.TempDir(), "out"))
		}
		status, out, errs := sojourn(t, args...)
		want := fmt.Sprintf(
			"policy late{probe{mrorder}} needs probes, and sojourn %s --estimator mean does not learn from them: use "+
				"--estimator fspy",
			verb,
		)
		if status == statusOK || !strings.Contains(errs, want) || out != "" {
			t.Errorf("%s: exit status %d, %q, want %q and nothing run", verb, status, errs, want)
		}
	}
	use := "use " + model.All.Which(func(c model.Card) bool { return !c.Truth })
	for _, estimator := range []string{"oracle", "noisy:sigma=1"} {
		status, _, errs := sojourn(t, "run", "wordcount", "--input", in, "--output", filepath.Join(t.TempDir(), "out"),
			"--policy", "mrorder", "--estimator", estimator)
		if status != statusUsage || !strings.Contains(errs, estimator) ||
			!strings.Contains(errs, use) {
			t.Errorf("run --estimator %s: exit status %d, %q, want %q", estimator, status, errs, use)
		}
	}
}

// The policies that need no more than a ResourceManager can are served by one; that it runs no probes is said where it
// matters.
func TestCombinationsManager(t *testing.T) {
	dir := t.TempDir()
	writeSite(t, dir)
	for spec, says := range map[string]string{"mrorder:goal=makespan,rounds=pnj": "", "fspy": "a ResourceManager " +
		"runs no probes: policy fspy", "gittins:delay=1s": ""} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		errs := &untilReady{end: cancel}
		if status := Run(ctx, Streams{strings.NewReader(""), io.Discard, errs},
			[]string{"rm", "--conf", dir, "--policy", spec}); status != statusOK {
			t.Errorf("rm --policy %s: status %d: %s", spec, status, errs)
		}
		if got := errs.String(); !strings.Contains(got, says) || says == "" && strings.Contains(got, "probes") {
			t.Errorf("rm --policy %s says %q, want %q in it", spec, got, says)
		}
		cancel()
	}
}

// A policy that would have no effect of its own is remarked on, and not refused.
func TestCombinationsSaid(t *testing.T) {
	trace := generated(t)
	_, _, errs := sojourn(t, "sim", "--trace", trace, "--cluster", "nodes=4,memory=8GiB,vcores=4", "--policy",
		"late{dynamicmr}")
	if want := "policy late{dynamicmr} lends slots, and this cluster has none: describe it with map-slots and " +
		"reduce-slots"; !strings.Contains(
		errs,
		want,
	) {
		t.Errorf("dynamicmr on containers: %q, want %q in it", errs, want)
	}
}
