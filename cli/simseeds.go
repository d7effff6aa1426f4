package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/sim"
	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/workload"
)

// mostSeeds bounds --seeds, and confidence is the level of the intervals of what is printed.
const (
	mostSeeds  = 10_000
	confidence = 0.95
	mostNamed  = 10 // runs that a note names
)

// checkSeeds refuses what does not go with many seeds.
func (f *simFlags) checkSeeds() error {
	if f.seeds < 1 || f.seeds > mostSeeds {
		return usagef("--seeds %d: must be from 1 to %d", f.seeds, mostSeeds)
	}
	if f.seed+uint64(f.seeds-1) < f.seed {
		return usagef("--seed %d: with --seeds %d it may be at most %d", f.seed, f.seeds,
			math.MaxUint64-uint64(f.seeds-1))
	}
	if f.seeds == 1 {
		return nil
	}
	for _, one := range []flagFile{{"--record", f.record}, {"--per-job", f.perJob},
		{"--plot", f.plots.String()}, {"--history", f.policies.history}} {
		if one.path != "" {
			return usagef("%s is of one run, and --seeds asks for many: give one or the other", one.flag)
		}
	}
	return nil
}

// A seedTask is a simulation that is repeated: the name of its workload, its cluster, and its configuration with the
// first seed.
type seedTask struct {
	workload string
	past     *record.PastCluster
	config   sim.Config
}

// A seededResult is a policy's figures over seeds: intervals at the level 0.95.
type seededResult struct {
	Policy   string             `json:"policy"`
	Sojourn  *theory.Confidence `json:"sojourn_mean_s,omitempty"` // nil: no job has succeeded in any run; so for P95
	P95      *theory.Confidence `json:"sojourn_p95_s,omitempty"`
	Makespan theory.Confidence  `json:"makespan_s"`
	// Difference is of mean sojourn times against the first policy's, pair by pair.
	Difference  *theory.Paired `json:"difference_s,omitempty"`
	Pairs       int            `json:"pairs,omitempty"`        // of Difference: runs in which jobs succeeded under both
	Significant bool           `json:"significant"`            // the difference, all comparisons together, at 0.05
	Means       []*float64     `json:"sojourn_mean_s_by_seed"` // by run; nil: no job has succeeded
	base        float64        // s: the first policy's mean sojourn over the runs of Difference
	// Jobs of all runs together that did not succeed. Sojourn times are those of the other jobs.
	Failed     int `json:"failed,omitempty"`
	Killed     int `json:"killed,omitempty"`
	Unfinished int `json:"unfinished,omitempty"`
}

// seedsJSON is the document of sim --seeds.
type seedsJSON struct {
	Seed    uint64         `json:"seed"` // the first
	Seeds   int            `json:"seeds"`
	Trace   string         `json:"trace"`
	Version string         `json:"version"`
	Results []seededResult `json:"results"`
	Check   *run.Check     `json:"check,omitempty"` // of --from-record, with the first seed
}

// repeat simulates all policies with all seeds, as many runs at once as there are processors. What it prints does not
// depend on the order in which runs end.
func (f *simFlags) repeat(ctx context.Context, a *app, policies []string, t seedTask) error {
	var kept workload.Source // for all seeds
	if k := workload.Keep(t.config.Jobs, workload.MostKept); k != nil {
		if t.config.Jobs = k.Jobs; !k.Drawn {
			kept = k.Jobs
		}
	}
	configs, imported := []sim.Config{t.config}, f.imported
	for k := 1; k < f.seeds; k++ {
		c, _, err := f.config(a, t.past, f.seed+uint64(k), kept)
		if err != nil {
			return err
		}
		configs = append(configs, c)
	}
	f.imported = imported                         // what was understood as it was read the first time
	runs := make([]simRun, len(policies)*f.seeds) // by seed, then by policy
	bar := newBar(&f.output, a.Err, "simulate", int64(len(runs)))
	var ended struct {
		sync.Mutex
		n int64
	}
	err := run.Beside(ctx, len(runs), func(ctx context.Context, i int) (err error) {
		k, p := i/len(policies), policies[i%len(policies)]
		quiet := *f
		quiet.progress = "never"
		if k > 0 {
			quiet.past = nil // one run is enough to compare with
		}
		if f.past != nil && p == f.past.policy {
			quiet.policies.estimator = f.past.estimator
		}
		runs[i], err = quiet.under(ctx, a, simTask{p, t.workload, configs[k]})
		ended.Lock()
		defer ended.Unlock()
		ended.n++
		bar.set(ended.n, fmt.Sprintf("%d of %s", ended.n, spelling.Count(len(runs), "run")))
		return err
	})
	bar.stop() // before results come
	if err != nil {
		return err
	}
	var all []record.Result
	for _, r := range runs {
		all = append(all, r.result)
	}
	results := seededResults(policies, all)
	check := f.past.check()
	f.remarkImported(a)
	defer f.warn(a, check)
	if f.json {
		return errors.Join(a.printJSON(seedsJSON{f.seed, f.seeds, t.workload, version(), results, check}),
			neverSucceeded(results))
	}
	fmt.Fprintf(a.Out, "%s: %s, seeds %d to %d\n\n", t.workload, sizes(runs[0].result, t.config.Cluster), f.seed,
		f.seed+uint64(f.seeds-1))
	printSeeded(a.Out, results, "seed", f.seed)
	printCheck(a.Out, check)
	f.printMeasured(a.Out)
	return neverSucceeded(results)
}

// neverSucceeded is noneSucceeded for many seeds: it makes an error of policies under which no job succeeded with any.
func neverSucceeded(results []seededResult) error {
	var errs []error
	for _, r := range results {
		if r.Sojourn == nil {
			errs = append(errs, failuref("policy %s: no job succeeded with any seed, %d failed: see --failures and "+
				"--mtbf", r.Policy, r.Failed))
		}
	}
	return errors.Join(errs...)
}

// seededResults gathers the figures of runs, which are by seed, or by repeat, and then by policy. A policy is compared
// with the first by the runs in which jobs succeeded under both.
func seededResults(policies []string, runs []record.Result) (list []seededResult) {
	for p, name := range policies {
		r := seededResult{Policy: name}
		var means, high, spans, own, first []float64
		for i := p; i < len(runs); i += len(policies) {
			var mean *float64
			if s := runs[i].Sojourn; s != nil {
				mean, means, high = &s.Mean, append(means, s.Mean), append(high, s.P95)
				if f := runs[i-p].Sojourn; f != nil {
					own, first = append(own, s.Mean), append(first, f.Mean)
				}
			}
			r.Means, spans = append(r.Means, mean), append(spans, runs[i].Makespan)
			r.Failed, r.Killed = r.Failed+runs[i].Failed, r.Killed+runs[i].Killed
			r.Unfinished += runs[i].Unfinished
		}
		r.Makespan = theory.ConfidenceOf(spans, confidence)
		if len(means) > 0 {
			sojourn, p95 := theory.ConfidenceOf(means, confidence), theory.ConfidenceOf(high, confidence)
			r.Sojourn, r.P95 = &sojourn, &p95
		}
		if p > 0 && len(own) > 0 {
			d := theory.Compared(own, first, confidence)
			r.Pairs, r.base = len(own), theory.ConfidenceOf(first, confidence).Mean
			// Bonferroni: the chance that any of the comparisons is wrong is at most 0.05.
			r.Difference, r.Significant = &d, d.P*float64(len(policies)-1) < 1-confidence
		}
		list = append(list, r)
	}
	return list
}

// without returns the runs in which no job succeeded, as numbers from first on.
func (r *seededResult) without(first uint64) (runs []string) {
	for i, mean := range r.Means {
		if mean == nil {
			runs = append(runs, strconv.FormatUint(first+uint64(i), 10))
		}
	}
	return runs
}

// firstFew lists at most mostNamed numbers of runs, and says how many more there are.
func firstFew(runs []string) string {
	if hidden := len(runs) - mostNamed; hidden > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(runs[:mostNamed], ", "), hidden)
	}
	return strings.Join(runs, ", ")
}

// interval writes a mean with half of its interval; empty: there is no value.
func interval(c *theory.Confidence) string {
	if c == nil {
		return ""
	}
	return c.Text(figure)
}

// printSeeded prints a row a policy. Runs differ by the word of: a seed, or a repeat; first is the number of the first.
func printSeeded(w io.Writer, results []seededResult, of string, first uint64) {
	header := []string{"POLICY", "MEAN SOJOURN", "P95", "MAKESPAN"}
	if len(results) > 1 {
		header = append(header, "DIFFERENCE", "CHANGE", "SIGNIFICANT")
	}
	t := newTable(header...)
	for _, r := range results {
		cells := []string{r.Policy, interval(r.Sojourn), interval(r.P95), interval(&r.Makespan)}
		if d := r.Difference; d != nil {
			yes := "no"
			if r.Significant {
				yes = "yes"
			}
			cells = append(cells, interval(&d.Confidence), change(r.base+d.Mean, r.base), yes)
		}
		t.row(cells...)
	}
	t.print(w)
	fmt.Fprintf(w, "\n  times in seconds; ±: half of the 95 %% interval of the mean over %ss, - for one %s", of, of)
	if len(results) > 1 {
		fmt.Fprintf(w, "\n  DIFFERENCE: of mean sojourn against %s, %s by %s; significant: at 0.05 over\n  all "+
			"policies together (paired t-test, Bonferroni)", results[0].Policy, of, of)
	}
	fmt.Fprintln(w)
	for _, r := range results {
		if runs := r.without(first); len(runs) > 0 {
			fmt.Fprintf(w, "  %s: no job succeeded with %s %s\n", r.Policy, of, firstFew(runs))
		}
		if r.Difference != nil && r.Pairs < len(r.Means) {
			fmt.Fprintf(w, "  %s: DIFFERENCE is over the %s in which jobs succeeded under both policies\n", r.Policy,
				spelling.Count(r.Pairs, of))
		}
	}
	incomplete := false
	for _, r := range results {
		if lost := lostJobs(r.Failed, r.Killed, r.Unfinished); lost != "" {
			incomplete = true
			fmt.Fprintf(w, "  %s: %s, in all %ss together\n", r.Policy, lost, of)
		}
	}
	if incomplete {
		fmt.Fprintln(w, "  sojourn times are of the jobs that succeeded")
		if len(results) > 1 {
			fmt.Fprintln(w, "  DIFFERENCE and its test are of these jobs, which may be others under each policy")
		}
	}
}
