package cli

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/run"
	"github.com/sojourn-sched/sojourn/internal/spelling"
	"github.com/sojourn-sched/sojourn/internal/workload"
	"github.com/sojourn-sched/sojourn/mr"
	"github.com/sojourn-sched/sojourn/sched"
)

// setMetric finds the metric that a policy is set to.
var setMetric = regexp.MustCompile(`\bmetric=([a-z-]+)`)

// askedMetrics returns the metrics that the policies were set to and that results know, each once, in that order.
func askedMetrics(results []record.Result) (metrics []string) {
	for _, r := range results {
		for _, set := range setMetric.FindAllStringSubmatch(r.Policy, -1) {
			_, known := results[0].Costs[record.CostKey(set[1])]
			if known && !slices.Contains(metrics, set[1]) {
				metrics = append(metrics, set[1])
			}
		}
	}
	return metrics
}

// compareResults prints the figures that operators ask for first; --json has them all.
func compareResults(w io.Writer, results []record.Result) {
	of := func(d *record.Distribution, f func(*record.Distribution) float64) float64 {
		if d == nil {
			return math.NaN()
		}
		return f(d)
	}
	mean := func(d *record.Distribution) float64 { return d.Mean }
	columns := []column[record.Result]{
		{"MEAN SOJOURN", func(r record.Result) float64 { return of(r.Sojourn, mean) }},
		{"P50", func(r record.Result) float64 {
			return of(r.Sojourn, func(d *record.Distribution) float64 { return d.P50 })
		}},
		{"P95", func(r record.Result) float64 {
			return of(r.Sojourn, func(d *record.Distribution) float64 { return d.P95 })
		}},
		{"MAX", func(r record.Result) float64 {
			return of(r.Sojourn, func(d *record.Distribution) float64 { return d.Max })
		}},
		{"MEAN WAIT", func(r record.Result) float64 { return of(r.Wait, mean) }},
		{"SLOWDOWN", func(r record.Result) float64 { return of(r.Slowdown, mean) }},
		{"MAKESPAN", func(r record.Result) float64 { return r.Makespan }},
		{"LOST", func(r record.Result) float64 { return r.Lost }},
	}
	if results[0].Deadlines != nil {
		columns = append(columns, column[record.Result]{"MISSED", func(r record.Result) float64 {
			if r.Deadlines == nil {
				return math.NaN()
			}
			return float64(r.Deadlines.Missed)
		}})
	}
	for _, metric := range askedMetrics(results) {
		columns = append(columns, column[record.Result]{strings.ToUpper(metric), func(r record.Result) float64 {
			if cost, ok := r.Costs[record.CostKey(metric)]; ok {
				return cost
			}
			return math.NaN()
		}})
	}
	compare(w, results, func(r record.Result) string { return r.Policy }, columns)
	fmt.Fprintln(w, "  times in seconds; LOST: attempt-seconds of work that was thrown away")
	for _, r := range results {
		if lost := lostJobs(r.Failed, r.Killed, r.Unfinished); lost != "" {
			fmt.Fprintf(w, "  %s: %s\n", r.Policy, lost)
		}
	}
	for _, r := range results {
		if r.Wall > 0 && r.EventRate > 0 {
			fmt.Fprintf(w, "  %s: %s in %.2f s, %.2f million a second\n", r.Policy,
				spelling.Count(r.Events, "event"), r.Wall, r.EventRate/1e6)
		}
	}
}

// lostJobs says how many jobs failed, were killed, or did not finish; "" where there are none.
func lostJobs(failed, killed, unfinished int) string {
	if failed+killed+unfinished == 0 {
		return ""
	}
	return fmt.Sprintf("%s failed, %s killed, %d did not finish", spelling.Count(failed, "job"),
		spelling.Count(killed, "was", "were"), unfinished)
}

// printPredictions prints how well an estimator that learns from probes predicted jobs, a line for each policy. It
// prints nothing if there were no predictions.
func printPredictions(w io.Writer, list []run.Prediction) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w, "\nR² of what was predicted of probed jobs, before the models learned from them:")
	t := newTable("POLICY", "JOBS", "MAPS", "REDUCES", "SIZE")
	cell := func(x *float64) string {
		if x == nil {
			return ""
		}
		return fmt.Sprintf("%.3f", *x)
	}
	for _, p := range list {
		t.row(p.Policy, fmt.Sprint(p.Jobs), cell(p.Maps), cell(p.Reduces), cell(p.Size))
	}
	t.print(w)
}

// A comparison is what all policies made of a mix.
type comparison struct {
	mix    *mix
	seed   uint64
	runs   []*policyRun
	differ []string // jobs whose outputs differ
}

// print prints what each policy did to each job.
func (c *comparison) print(a *app) {
	m, runs, differ := c.mix, c.runs, c.differ
	if m.single && len(runs) == 1 {
		printSingle(a, m, runs[0])
		return
	}
	var results []record.Result
	header := []string{"JOB", "SUBMITTED"}
	for _, r := range runs {
		results = append(results, r.result)
		header = append(header, r.place.policy)
		if len(header) > 3 {
			header = append(header, "CHANGE")
		}
	}
	fmt.Fprintf(a.Out, "%s: sojourn times of %s in seconds, from submission to output in place\n\n",
		m.name, spelling.Count(len(m.jobs), "job"))
	t := newTable(header...)
	for i, j := range m.jobs {
		cells := []string{j.Spec.Name, seconds(j.Spec.Submit)}
		for k, r := range runs {
			cell := "failed"
			if r.row(i) != nil && r.row(i).Outcome == sched.OK {
				cell = seconds(r.row(i).Sojourn())
			}
			cells = append(cells, cell)
			if k > 0 {
				cells = append(cells, change(r.sojourn(i), runs[0].sojourn(i)))
			}
		}
		t.row(cells...)
	}
	t.print(a.Out)
	fmt.Fprintln(a.Out)
	compareResults(a.Out, results)
	var predicted []run.Prediction
	for _, r := range runs {
		predicted = append(predicted, r.predictions...)
	}
	printPredictions(a.Out, predicted)
	if len(runs) > 1 && len(differ) == 0 {
		fmt.Fprintf(a.Out, "  outputs are equal byte for byte under all %d policies\n", len(runs))
	}
}

// printSingle prints what one job did, as hadoop does.
func printSingle(a *app, m *mix, r *policyRun) {
	row := r.row(0)
	if row == nil || row.Outcome != sched.OK {
		return
	}
	c := &r.counters[0]
	s := row.Sojourn().Seconds()
	fmt.Fprintf(a.Out, "%s: done in %s s", m.name, seconds(row.Sojourn()))
	if rate := float64(c.Of[mr.BytesRead]) / 1e6 / s; s > 0 && rate >= 0.5 {
		fmt.Fprintf(a.Out, ", %.0f MB/s of input", rate)
	}
	if due := m.jobs[0].Spec.Deadline; due > 0 && row.Sojourn() > due {
		fmt.Fprintf(a.Out, ", %s s after its deadline of %v", figure((row.Sojourn() - due).Seconds()), due)
	} else if due > 0 {
		fmt.Fprintf(a.Out, ", within its deadline of %v", due)
	}
	fmt.Fprintf(a.Out, "; output in %s\n", r.place.output(m.jobs[0].Program.Output))
	t := newTable("COUNTER", "VALUE")
	none := true
	for name, n := range countersOf(c) {
		none = false
		t.row(name, strconv.FormatInt(n, 10))
	}
	if !none {
		fmt.Fprintln(a.Out)
		t.print(a.Out)
	}
}

// countersOf yields the counters that are not zero, Hadoop's first, then the job's own by name.
func countersOf(c *mr.Counters) func(yield func(string, int64) bool) {
	return func(yield func(string, int64) bool) {
		for i, n := range c.Of {
			if n != 0 && !yield(mr.Counter(i).String(), n) {
				return
			}
		}
		own := map[string]int64{}
		for k, n := range c.User {
			own[k.Group+": "+k.Name] = n
		}
		for _, name := range sortedKeys(own) {
			if !yield(name, own[name]) {
				return
			}
		}
	}
}

// runJSON is the document of run: that of sim, and what each job did.
type runJSON struct {
	Seed    uint64            `json:"seed"`
	Trace   string            `json:"trace"`
	Cluster *workload.Cluster `json:"cluster"`
	Version string            `json:"version"`
	Differ  []string          `json:"outputs_differ,omitempty"`
	Results []runResultJSON   `json:"results"`

	Predictions []run.Prediction `json:"predictions,omitempty"` // of --estimator fspy
}

type runResultJSON struct {
	record.Result
	BytesPerSecond   float64      `json:"bytes_per_s"`
	RecordsPerSecond float64      `json:"records_per_s"`
	PerJob           []runJobJSON `json:"per_job"`
}

type runJobJSON struct {
	Name             string           `json:"name"`
	Outcome          string           `json:"outcome"`
	Error            string           `json:"error,omitempty"`
	Output           string           `json:"output"`
	Submit           float64          `json:"submit_s"`
	Sojourn          float64          `json:"sojourn_s"`
	BytesPerSecond   float64          `json:"bytes_per_s"`
	RecordsPerSecond float64          `json:"records_per_s"`
	Counters         map[string]int64 `json:"counters"`
}

func (c *comparison) printJSON(a *app) error {
	m, runs, differ := c.mix, c.runs, c.differ
	doc := runJSON{Seed: c.seed, Trace: m.name, Cluster: m.cluster, Version: version(), Differ: differ}
	for _, r := range runs {
		res := runResultJSON{Result: r.result}
		var all mr.Counters
		for i, j := range m.jobs {
			c := &r.counters[i]
			all.Add(c)
			job := runJobJSON{
				Name:     j.Spec.Name,
				Outcome:  "killed",
				Output:   r.place.output(j.Program.Output),
				Submit:   j.Spec.Submit.Seconds(),
				Counters: map[string]int64{},
			}
			for name, n := range countersOf(c) {
				job.Counters[name] = n
			}
			if i < len(r.jobs) {
				job.Outcome = r.jobs[i].Outcome.String()
				if err := r.jobs[i].Err; err != nil {
					job.Error = err.Error()
				}
			}
			if s := r.sojourn(i); s > 0 {
				job.Sojourn, job.BytesPerSecond, job.RecordsPerSecond = s, float64(c.Of[mr.BytesRead])/s,
					float64(c.Of[mr.MapInputRecords])/s
			}
			res.PerJob = append(res.PerJob, job)
		}
		if s := r.result.Wall; s > 0 {
			res.BytesPerSecond, res.RecordsPerSecond = float64(all.Of[mr.BytesRead])/s,
				float64(all.Of[mr.MapInputRecords])/s
		}
		doc.Results = append(doc.Results, res)
		doc.Predictions = append(doc.Predictions, r.predictions...)
	}
	return a.printJSON(doc)
}

// row returns what became of the i-th job of the mix; nil if it never ran.
func (r *policyRun) row(i int) *record.JobRow {
	if i >= len(r.jobs) {
		return nil
	}
	for k := range r.rows {
		if r.rows[k].ID == r.jobs[i].Job {
			return &r.rows[k]
		}
	}
	return nil
}

// sojourn returns the i-th job's sojourn time in seconds; NaN if it has none.
func (r *policyRun) sojourn(i int) float64 {
	if row := r.row(i); row != nil && row.Outcome == sched.OK {
		return row.Sojourn().Seconds()
	}
	return math.NaN()
}

func seconds(t time.Duration) string { return strconv.FormatFloat(t.Seconds(), 'f', 2, 64) }

// curvesOf returns the sojourn times of all runs.
func curvesOf(runs []*policyRun) (curves []record.Curve) {
	for _, r := range runs {
		c := record.Curve{Name: r.place.policy}
		for i := range r.rows {
			if r.rows[i].Outcome == sched.OK {
				c.Add(r.rows[i].ID, r.rows[i].Sojourn())
			}
		}
		curves = append(curves, c)
	}
	return curves
}
