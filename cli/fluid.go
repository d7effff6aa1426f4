package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/internal/theory"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/sched"
)

// fluidFlags say which jobs, under what, on one divisible server.
type fluidFlags struct {
	output
	leaving
	policies []string
	source   sourceFlags
	load     float64
	ratio    float64
	sigmas   []float64
	seed     uint64
	seeds    int
}

func fluidCommand(a *app) *cobra.Command {
	var f fluidFlags
	c := &cobra.Command{
		Use:   "fluid --trace FILE --policy fifo,ps,...",
		Short: "Run the jobs on one divisible server: the theory's yardstick",
		Long: `Run the jobs of a trace on one server that any number of jobs may share in any proportion: no tasks, no
waves, no network. What a policy can gain on a cluster, it gains here first. Exact event by event.

A job's size is map input + (disk-network ratio + 1) × shuffle + output bytes; sizes are scaled so that all of them
together are load × the last submission time.`,
		Example: `  sojourn fluid --trace jobs.tsv --load 0.9 --policy fifo,ps,las,srpt,fsp,psbs,spt,gittins
  sojourn fluid --trace jobs.tsv --sigma 0.5,1,2 --seeds 30 --policy srpt,fsp,psbs,spt,las,gittins`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return f.serve(a) },
	}
	f.output.register(c)
	f.plots.register(c, plotsOfAll)
	f.leaving.register(c, "replace files of earlier runs: CSV, SVG")
	f.source.register(c)
	fl := c.Flags()
	fl.StringArrayVar(&f.policies, "policy", []string{"fifo,ps,las,srpt,fsp,psbs,spt"}, "disciplines to compare, a "+
		"comma list or several flags: "+strings.Join(disciplineNames(), ", "))
	fl.Float64Var(&f.load, "load", 0.9, "share of the time until the last submission for which the server is "+
		"busy; above 0")
	fl.Float64Var(&f.ratio, "disk-network-ratio", 4, "speed of the cluster's disks over its network's: how much a "+
		"shuffled byte weighs; 0 or more")
	fl.Float64SliceVar(&f.sigmas, "sigma", []float64{0}, "error of size estimates: estimate = size × exp(sigma × N); "+
		"0 or more, several as a comma list to compare")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of all chance")
	fl.IntVar(
		&f.seeds,
		"seeds",
		1,
		"repeat with so many seeds, from --seed on, and show the mean, the median and the worst of the "+
			"means; 1 to 10000",
	)
	completeFlag(c, "policy", disciplineNames()...)
	return c
}

func disciplineNames() (names []string) {
	for _, d := range theory.Disciplines() {
		names = append(names, string(d))
	}
	return names
}

// fluidResult is one discipline's row.
type fluidResult struct {
	Policy   string    `json:"policy"`
	Jobs     int       `json:"jobs"`
	Makespan float64   `json:"makespan_s"`
	Sojourn  quantiles `json:"sojourn_s"`
	Slowdown quantiles `json:"slowdown"`
	Sigma    float64   `json:"sigma"`
	// With several seeds: the mean, the median and the largest of the mean sojourn times.
	Seeds  int     `json:"seeds,omitempty"`
	Mean   float64 `json:"mean_sojourn_mean_s,omitempty"`
	Median float64 `json:"mean_sojourn_median_s,omitempty"`
	Worst  float64 `json:"mean_sojourn_worst_s,omitempty"`

	sojourns []float64
}

type quantiles struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

func quantilesOf(values []float64) (q quantiles) {
	if len(values) == 0 {
		return q
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	sorted := slices.Sorted(slices.Values(values))
	return quantiles{
		sum / float64(len(values)),
		theory.Percentile(sorted, 50),
		theory.Percentile(sorted, 95),
		theory.Percentile(sorted, 99),
		sorted[len(sorted)-1],
	}
}

func (f *fluidFlags) serve(a *app) (err error) {
	disciplines, err := f.check()
	if err != nil {
		return err
	}
	jobs, names, err := f.jobs()
	if err != nil {
		return err
	}
	var results []fluidResult
	for _, d := range disciplines {
		for _, sigma := range f.sigmas {
			r, err := f.run(d, sigma, jobs)
			if err != nil {
				return err
			}
			results = append(results, r)
		}
		if r := results[len(results)-1]; f.perJob != "" {
			if err := writeFluidJobs(named(f.perJob, string(d)), names, jobs, &r); err != nil {
				return err
			}
		}
	}
	if len(f.plots.list) > 0 {
		curves := make([]record.Curve, len(results))
		for i, r := range results {
			if curves[i].Name = r.Policy; len(f.sigmas) > 1 {
				curves[i].Name += fmt.Sprintf(", sigma %v", r.Sigma)
			}
			for k, s := range r.sojourns {
				curves[i].Add(sched.JobID(k+1), sched.Time(s*1e9))
			}
		}
		defer func() { err = errors.Join(err, f.plots.draw(curves)) }()
	}
	if f.json {
		return a.printJSON(struct {
			Seed    uint64        `json:"seed"`
			Trace   string        `json:"trace"`
			Load    float64       `json:"load"`
			Ratio   float64       `json:"disk_network_ratio"`
			Sigma   *float64      `json:"sigma,omitempty"` // of all results
			Version string        `json:"version"`
			Results []fluidResult `json:"results"`
		}{f.seed, f.source.trace, f.load, f.ratio, f.oneSigma(), version(), results})
	}
	fmt.Fprintf(a.Out, "%s: %s on one divisible server, load %v, disk-network ratio %v, sigma %v, seed %d\n\n",
		f.source.trace, spelling.Count(len(jobs), "job"), f.load, f.ratio, joined(f.sigmas), f.seed)
	if len(f.sigmas) > 1 {
		printErrors(a, f, results)
	} else {
		printFluid(a, f, results)
	}
	return nil
}

func (f *fluidFlags) check() ([]theory.Discipline, error) {
	if err := f.output.check(); err != nil {
		return nil, err
	}
	var list []theory.Discipline
	for _, flag := range f.policies {
		for name := range strings.SplitSeq(flag, ",") {
			d := theory.Discipline(strings.TrimSpace(name))
			if !slices.Contains(theory.Disciplines(), d) {
				return nil, usagef("--policy %q: must be of %s", name, strings.Join(disciplineNames(), ", "))
			}
			if !slices.Contains(list, d) {
				list = append(list, d)
			}
		}
	}
	switch {
	case !(f.load > 0) || math.IsInf(f.load, 0):
		return nil, usagef("--load %v: must be above 0", f.load)
	case !(f.ratio >= 0) || math.IsInf(f.ratio, 0):
		return nil, usagef("--disk-network-ratio %v: must be 0 or more", f.ratio)
	case slices.ContainsFunc(f.sigmas, func(s float64) bool { return !(s >= 0 && s <= mostSigma) }):
		return nil, usagef("--sigma %v: must be numbers from 0 to %d", joined(f.sigmas), mostSigma)
	case len(f.sigmas) > 1 && f.perJob != "":
		return nil, usagef("--per-job is for one --sigma, and there are %d", len(f.sigmas))
	case f.seeds < 1 || f.seeds > 10000:
		return nil, usagef("--seeds %d: must be 1 to 10000", f.seeds)
	}
	names := make([]string, len(list))
	for i, d := range list {
		names[i] = string(d)
	}
	if err := f.plots.parse(names, false); err != nil {
		return nil, err
	}
	return list, f.leaving.check(names, func() []flagFile { return []flagFile{{"--trace", f.source.trace}} })
}

// mostSigma bounds errors: by e^100 any size leaves the range of numbers that a server takes.
const mostSigma = 100

// oneSigma is the error of all results; nil where there are several.
func (f *fluidFlags) oneSigma() *float64 {
	if len(f.sigmas) > 1 {
		return nil
	}
	return &f.sigmas[0]
}

func joined(numbers []float64) string {
	words := make([]string, len(numbers))
	for i, x := range numbers {
		words[i] = fmt.Sprint(x)
	}
	return strings.Join(words, ", ")
}

// jobs reads the trace and scales its sizes to the load.
func (f *fluidFlags) jobs() (jobs []theory.FluidJob, names []string, err error) {
	source, _, err := f.source.open(workload.Defaults())
	if err != nil {
		return nil, nil, err
	}
	var sizes []float64
	for spec, err := range source {
		if err != nil {
			return nil, nil, err
		}
		truth, ok := spec.Payload.(*workload.Truth)
		if !ok {
			return nil, nil, fmt.Errorf("%s: job %s says what to run, not how much: a divisible server cannot run it",
				f.source.trace, spec.Name)
		}
		input, shuffle, written := truth.Bytes()
		size := theory.DataSize(float64(input), float64(shuffle), float64(written), f.ratio)
		if input+shuffle+written == 0 && !f.source.bytes() { // a format that knows times and not bytes
			size = 0
			for k, w := range truth.Size(spec) {
				if spec.Stages[0].PerTask[k] > 0 || len(spec.Stages) > 1 && spec.Stages[1].PerTask[k] > 0 {
					size += w
				}
			}
		}
		sizes = append(sizes, size)
		jobs = append(jobs, theory.FluidJob{Arrival: spec.Submit.Seconds()})
		names = append(names, spec.Name)
	}
	if len(jobs) == 0 {
		return nil, nil, fmt.Errorf("%s: no jobs", f.source.trace)
	}
	if _, err := theory.ScaleToLoad(sizes, f.load, jobs[len(jobs)-1].Arrival); err != nil {
		return nil, nil, fmt.Errorf("%s: scale to --load: %w", f.source.trace, err)
	}
	for i := range jobs {
		jobs[i].Size = sizes[i]
	}
	return jobs, names, nil
}

// run serves the jobs under one discipline with one error of estimates, once for each seed.
func (f *fluidFlags) run(d theory.Discipline, sigma float64, jobs []theory.FluidJob) (fluidResult, error) {
	var means []float64
	r := fluidResult{Policy: string(d), Jobs: len(jobs), Sigma: sigma}
	for i := range f.seeds {
		seed := workload.NewChance(f.seed + uint64(i))
		for k := range jobs {
			jobs[k].Estimate = jobs[k].Size
			if sigma > 0 {
				jobs[k].Estimate *= math.Exp(sigma * seed.With(uint64(k)+1).Normal())
			}
		}
		done, err := theory.Fluid(d, jobs)
		if err != nil {
			return r, err
		}
		sojourns, sizes := make([]float64, len(jobs)), make([]float64, len(jobs))
		for k, j := range jobs {
			sojourns[k] = done[k] - j.Arrival
			sizes[k] = j.Size
		}
		q := quantilesOf(sojourns)
		means = append(means, q.Mean)
		if i == 0 {
			r.Makespan, r.Sojourn, r.Slowdown, r.sojourns = slices.Max(done)-jobs[0].Arrival, q,
				quantilesOf(theory.Slowdowns(sojourns, sizes)), sojourns
		}
	}
	if f.seeds > 1 {
		slices.Sort(means)
		for _, m := range means {
			r.Mean += m / float64(len(means))
		}
		r.Seeds, r.Median, r.Worst = f.seeds, theory.Percentile(means, 50), means[len(means)-1]
	}
	return r, nil
}

func printFluid(a *app, f *fluidFlags, results []fluidResult) {
	columns := []column[fluidResult]{
		{"MEAN SOJOURN", func(r fluidResult) float64 { return r.Sojourn.Mean }},
		{"P50", func(r fluidResult) float64 { return r.Sojourn.P50 }},
		{"P95", func(r fluidResult) float64 { return r.Sojourn.P95 }},
		{"P99", func(r fluidResult) float64 { return r.Sojourn.P99 }},
		{"MAX", func(r fluidResult) float64 { return r.Sojourn.Max }},
		{"MEAN SLOWDOWN", func(r fluidResult) float64 { return r.Slowdown.Mean }},
	}
	if f.seeds > 1 {
		columns = append(columns, column[fluidResult]{fmt.Sprintf("MEAN OF %d", f.seeds), func(r fluidResult) float64 {
			return r.Mean
		}}, column[fluidResult]{"MEDIAN", func(r fluidResult) float64 {
			return r.Median
		}}, column[fluidResult]{"WORST", func(r fluidResult) float64 { return r.Worst }})
	}
	compare(a.Out, results, func(r fluidResult) string { return r.Policy }, columns)
}

// printErrors prints one row a discipline and one column an error of estimates: the mean sojourn time, and with several
// seeds the worst of them.
func printErrors(a *app, f *fluidFlags, results []fluidResult) {
	var rows [][]fluidResult
	for r := range slices.Chunk(results, len(f.sigmas)) {
		rows = append(rows, r)
	}
	var columns []column[[]fluidResult]
	for i, sigma := range f.sigmas {
		if f.seeds == 1 {
			columns = append(
				columns,
				column[[]fluidResult]{
					fmt.Sprintf("SIGMA %v", sigma),
					func(r []fluidResult) float64 { return r[i].Sojourn.Mean },
				},
			)
			continue
		}
		columns = append(
			columns,
			column[[]fluidResult]{
				fmt.Sprintf("SIGMA %v: MEAN", sigma),
				func(r []fluidResult) float64 { return r[i].Mean },
			},
			column[[]fluidResult]{"WORST", func(r []fluidResult) float64 { return r[i].Worst }},
		)
	}
	fmt.Fprintf(a.Out, "mean sojourn time in seconds, of %s\n", spelling.Count(f.seeds, "seed"))
	compare(a.Out, rows, func(r []fluidResult) string { return r[0].Policy }, columns)
}

// writeFluidJobs writes what became of each job, with the columns that sim has.
func writeFluidJobs(path string, names []string, jobs []theory.FluidJob, r *fluidResult) error {
	rows, err := newJobTable(path)
	if err != nil {
		return err
	}
	defer rows.drop()
	for i, j := range jobs {
		at := func(s float64) sched.Time { return sched.Time(s * 1e9) }
		row := record.JobRow{
			Policy:      r.Policy,
			ID:          sched.JobID(i + 1),
			Name:        names[i],
			Submit:      at(j.Arrival),
			FirstLaunch: -1,
			Finish:      at(j.Arrival + r.sojourns[i]),
			Size:        j.Size,
		}
		if j.Size > 0 {
			row.Slowdown = r.sojourns[i] / j.Size
		}
		rows.write(&row)
	}
	return rows.keep()
}
