package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// wrapped are a policy alone and in what goes around any: around those of an estimator that learns nothing from probes no probe.
func wrapped(spec, estimator string) []string {
	list := []string{spec, "late{" + spec + "}:min-run=5s"}
	if estimator == "mean" || estimator == "history" {
		return list
	}
	return append(list, "probe{"+spec+"}", "late{probe{"+spec+"}}:min-run=5s")
}

// with adds parameters to a policy.
func withParams(spec, params string) string {
	switch {
	case params == "":
		return spec
	case strings.Contains(spec, ":"):
		return spec + "," + params
	}
	return spec + ":" + params
}

// Every policy of the research works runs all jobs in the simulator, whatever is around it, whatever tells it sizes, and wherever it may put tasks; with
// stragglers and attempts that fail, so that the wrappers have something to do.
func TestCombinationsSim(t *testing.T) {
	const jobs = 20
	trace := filepath.Join(t.TempDir(), "jobs.tsv")
	must(t, "workload", "generate", "--jobs", fmt.Sprint(jobs), "--gap", "5s", "--input", "pareto:min=100MB,max=20GB,alpha=0.8", "--output", trace)
	for _, policy := range []string{"mrorder", "mrorder:goal=makespan,backlog=off", "dynamicmr", "dynamicmr:base=srpt,dhsa=pd", "fspy", "fspy:uber-maps=0,late=age", "gittins"} {
		for _, estimator := range []string{"oracle", "noisy:sigma=1", "mean", "history", "fspy"} {
			t.Run(policy+"/"+estimator, func(t *testing.T) {
				t.Parallel()
				args := []string{"sim", "--trace", trace, "--cluster", "nodes=6,map-slots=3,reduce-slots=1,racks=2", "--json", "--estimator", estimator, "--stragglers", "0.1", "--failures", "0.02"}
				n := 0
				for _, placing := range []string{"", "delay=3s,rack-delay=2s", "locality=off"} {
					for _, spec := range wrapped(withParams(policy, placing), estimator) {
						args = append(args, "--policy", spec)
						n++
					}
				}
				var doc struct {
					Results []struct {
						Policy                     string
						Jobs                       int
						Failed, Killed, Unfinished int
					}
				}
				if err := json.Unmarshal([]byte(must(t, args...)), &doc); err != nil || len(doc.Results) != n {
					t.Fatalf("%d results of %d policies, %v", len(doc.Results), n, err)
				}
				for _, r := range doc.Results {
					if r.Jobs != jobs || r.Failed+r.Killed+r.Unfinished > 0 {
						t.Errorf("%s: %d jobs of %d are through, %d failed, %d killed, %d unfinished", r.Policy, r.Jobs, jobs, r.Failed, r.Killed, r.Unfinished)
					}
				}
			})
		}
	}
}
