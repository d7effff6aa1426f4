package cli

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/spelling"
)

// mostRepeats bounds run --repeats.
const mostRepeats = 1000

// checkRepeats refuses what does not go with a run that is repeated.
func (f *runFlags) checkRepeats() error {
	if f.repeats < 1 || f.repeats > mostRepeats {
		return usagef("--repeats %d: must be from 1 to %d", f.repeats, mostRepeats)
	}
	if f.repeats == 1 {
		return nil
	}
	for _, one := range []flagFile{{"--record", f.record}, {"--per-job", f.perJob}, {"--plot", f.plots.String()},
		{"--history", f.policies.history}, {"--state", f.state}} {
		if one.path != "" {
			return usagef("%s is of one run, and --repeats asks for many: give one or the other", one.flag)
		}
	}
	return nil
}

// runAll runs a mix under all policies, as often as --repeats says, and returns the runs repeat by repeat. Each repeat
// begins with the policy after the one that the repeat before began with, so that neither a machine that grows slower
// nor what is in its caches favours a policy. A repeat's outputs replace those of the repeat before, its logs stand
// beside them. A run that failed is the last one. With an error runs has what was run until then, in no order.
func (f *runFlags) runAll(ctx context.Context, a *app, m *mix, policies []string) (runs []*policyRun, err error) {
	for k := range f.repeats {
		these := make([]*policyRun, len(policies))
		for i := range policies {
			at := (i + k) % len(policies)
			again := *f
			again.overwrite, again.repeat = f.overwrite || k > 0, k+1
			r, err := again.under(ctx, a, m, policyPlace{policies[at], len(policies) > 1})
			if r != nil {
				these[at] = r
				if len(policies) > 1 || f.repeats > 1 {
					a.remark("%s: %s in %.1f s", policies[at], spelling.Count(len(r.jobs), "job"), r.result.Wall)
				}
			}
			if err != nil {
				return slices.DeleteFunc(append(runs, these...), func(r *policyRun) bool { return r == nil }), err
			}
		}
		runs = append(runs, these...)
	}
	return runs, nil
}

// runRepeatsJSON is the document of run --repeats.
type runRepeatsJSON struct {
	Workload string         `json:"workload"`
	Seed     uint64         `json:"seed"`
	Repeats  int            `json:"repeats"`
	Load     float64        `json:"load"` // mean number of processes that ran or waited to, in the minute before
	Version  string         `json:"version"`
	Results  []seededResult `json:"results"`
}

// A repeatedRun is what became of a mix that was repeated.
type repeatedRun struct {
	mix      *mix
	policies []string
	runs     []*policyRun // by repeat, then by policy
	load     float64      // before the first
}

// printRepeats prints means and intervals.
func (f *runFlags) printRepeats(a *app, of repeatedRun) error {
	var list []record.Result
	for _, r := range of.runs {
		list = append(list, r.result)
	}
	m, results := of.mix, seededResults(of.policies, list)
	if f.json {
		return a.printJSON(runRepeatsJSON{m.name, f.seed, f.repeats, of.load, version(), results})
	}
	fmt.Fprintf(a.Out, "%s: %s on this machine, %s under each policy in turn\n\n", m.name,
		spelling.Count(len(m.jobs), "job"), spelling.Count(f.repeats, "time"))
	printSeeded(a.Out, results, "repeat", 1)
	return nil
}

// busyLoad is the load, for each processor, from which times of real runs are not to be compared.
const busyLoad = 0.25

// loadAverage returns how many processes ran, or waited to, on average over the last minute; 0: the system does not
// say.
func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return load
}

// warnBusy says that times are not to be compared when others used the machine before a run.
func warnBusy(a *app, load float64) {
	if cores := runtime.NumCPU(); load > busyLoad*float64(cores) {
		a.remark("the machine was busy before this run: load %.2f on %s in the last minute. Differences "+
			"between policies may be those of what else ran; repeat on an idle machine, or see --repeats", load,
			spelling.Count(cores, "processor"))
	}
}
