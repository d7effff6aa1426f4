package experiment

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/sojourn-sched/sojourn/internal/chart"
	"github.com/sojourn-sched/sojourn/internal/record"
	"github.com/sojourn-sched/sojourn/internal/safefile"
	"github.com/sojourn-sched/sojourn/internal/theory"
)

// A figure is a column of results.
type figure struct {
	name string
	of   func(*record.Result) *float64 // nil: there is none
}

// of makes a figure of a distribution.
func of(r *record.Distribution, pick func(*record.Distribution) float64) *float64 {
	if r == nil {
		return nil
	}
	v := pick(r)
	return &v
}

func mean(d *record.Distribution) float64 { return d.Mean }

var figures = []figure{
	{"sojourn_mean_s", func(r *record.Result) *float64 { return of(r.Sojourn, mean) }},
	{"sojourn_p50_s", func(r *record.Result) *float64 {
		return of(r.Sojourn, func(d *record.Distribution) float64 { return d.P50 })
	}},
	{"sojourn_p95_s", func(r *record.Result) *float64 {
		return of(r.Sojourn, func(d *record.Distribution) float64 { return d.P95 })
	}},
	{"sojourn_p99_s", func(r *record.Result) *float64 {
		return of(r.Sojourn, func(d *record.Distribution) float64 { return d.P99 })
	}},
	{"sojourn_max_s", func(r *record.Result) *float64 {
		return of(r.Sojourn, func(d *record.Distribution) float64 { return d.Max })
	}},
	{"wait_mean_s", func(r *record.Result) *float64 { return of(r.Wait, mean) }},
	{"slowdown_mean", func(r *record.Result) *float64 { return of(r.Slowdown, mean) }},
	{"makespan_s", func(r *record.Result) *float64 { return &r.Makespan }},
	{"lost_s", func(r *record.Result) *float64 { return &r.Lost }},
}

// A count is a column of jobs that did not succeed. Columns of rare counts are left out where every row has 0.
type count struct {
	name string
	of   func(*record.Result) int
	rare bool
}

// countsOf returns the counts that the table of rows has.
func countsOf(rows []Row) []count {
	all := []count{
		{"failed", func(r *record.Result) int { return r.Failed }, false},
		{"killed", func(r *record.Result) int { return r.Killed }, true},
		{"unfinished", func(r *record.Result) int { return r.Unfinished }, true},
	}
	return slices.DeleteFunc(all, func(c count) bool {
		return c.rare && !slices.ContainsFunc(rows, func(r Row) bool { return c.of(&r.Result) != 0 })
	})
}

// parameters returns the names of all parameters in rows.
func parameters(rows []Row) []string {
	names := map[string]bool{}
	for i := range rows {
		for name := range rows[i].Parameters {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Write writes the results into a folder: results.csv and results.parquet with a row a run, and sojourn.svg. A file
// gets its name when it is whole, and replaces that of an earlier time.
func Write(folder string, rows []Row) error {
	for _, f := range []struct {
		name  string
		write func(io.Writer, []Row) error
	}{{"results.csv", writeCSV}, {"results.parquet", writeParquet}, {"sojourn.svg", plot}} {
		if err := replace(filepath.Join(folder, f.name), rows, f.write); err != nil {
			return err
		}
	}
	return nil
}

// replace writes one file. If there is nothing to draw, it removes the picture of an earlier time.
func replace(path string, rows []Row, write func(io.Writer, []Row) error) error {
	d, err := safefile.NewDraft(path, 0o666)
	if err != nil {
		return err
	}
	defer d.Drop()
	err = write(d, rows)
	if err == nil {
		return d.Keep()
	}
	if errors.Is(err, chart.ErrEmpty) {
		if err = os.Remove(path); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return fmt.Errorf("write %s: %w", path, err)
}

// writeCSV writes one line a run. What is not known is empty.
func writeCSV(out io.Writer, rows []Row) error {
	w := csv.NewWriter(out)
	names := parameters(rows)
	header := append([]string{"policy", "workload", "load", "cluster", "seed"}, names...)
	counts := countsOf(rows)
	header = append(header, "jobs")
	for _, c := range counts {
		header = append(header, c.name)
	}
	header = append(header, "tasks")
	for _, f := range figures {
		header = append(header, f.name)
	}
	w.Write(append(header, "error"))
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for i := range rows {
		r := &rows[i]
		cells := []string{r.Policy, r.Workload, number(r.Load), r.Cluster, strconv.FormatUint(r.Seed, 10)}
		for _, name := range names {
			cells = append(cells, r.Parameters[name])
		}
		cells = append(cells, strconv.Itoa(r.Result.Jobs))
		for _, c := range counts {
			cells = append(cells, strconv.Itoa(c.of(&r.Result)))
		}
		cells = append(cells, strconv.FormatInt(r.Result.Tasks, 10))
		for _, f := range figures {
			cell := ""
			if v := f.of(&r.Result); v != nil && r.Error == "" {
				cell = number(*v)
			}
			cells = append(cells, cell)
		}
		w.Write(append(cells, r.Error))
	}
	w.Flush()
	return w.Error()
}

// writeParquet writes the same table as Parquet: texts, whole numbers, and doubles that may be null.
func writeParquet(out io.Writer, rows []Row) error {
	group := parquet.Group{"load": parquet.Leaf(parquet.DoubleType), "seed": parquet.Uint(64)}
	for _, name := range []string{"policy", "workload", "cluster", "error"} {
		group[name] = parquet.String()
	}
	counts := countsOf(rows)
	for _, name := range []string{"jobs", "tasks"} {
		group[name] = parquet.Leaf(parquet.Int64Type)
	}
	for _, c := range counts {
		group[c.name] = parquet.Leaf(parquet.Int64Type)
	}
	for _, name := range parameters(rows) {
		group["parameter_"+name] = parquet.Optional(parquet.String())
	}
	for _, f := range figures {
		group[f.name] = parquet.Optional(parquet.Leaf(parquet.DoubleType))
	}
	w := parquet.NewGenericWriter[map[string]any](out, parquet.NewSchema("results", group))
	for i := range rows {
		r := &rows[i]
		row := map[string]any{
			"policy": r.Policy, "workload": r.Workload, "load": r.Load, "cluster": r.Cluster, "seed": r.Seed,
			"jobs": int64(r.Result.Jobs), "tasks": r.Result.Tasks, "error": r.Error,
		}
		for _, c := range counts {
			row[c.name] = int64(c.of(&r.Result))
		}
		for name, v := range r.Parameters {
			row["parameter_"+name] = v
		}
		for _, f := range figures {
			if v := f.of(&r.Result); v != nil && r.Error == "" {
				row[f.name] = *v
			}
		}
		if _, err := w.Write([]map[string]any{row}); err != nil {
			return err
		}
	}
	return w.Close()
}

// plot draws the mean sojourn time by the load, or, where there is one load, a point a policy, with the 95 % interval
// over seeds. Workloads and clusters are lines of their own.
func plot(out io.Writer, rows []Row) error {
	type group struct {
		name string
		load float64
	}
	values := map[group][]float64{}
	var names []string
	loads := map[float64]bool{}
	workloads, clusters := map[string]bool{}, map[string]bool{}
	for i := range rows {
		workloads[rows[i].Workload], clusters[rows[i].Cluster] = true, true
	}
	for i := range rows {
		r := &rows[i]
		if r.Error != "" || r.Result.Sojourn == nil {
			continue
		}
		name := r.Policy
		if len(workloads) > 1 {
			name += ", " + filepath.Base(r.Workload)
		}
		if len(clusters) > 1 {
			name += ", " + filepath.Base(r.Cluster)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		loads[r.Load] = true
		g := group{name, r.Load}
		values[g] = append(values[g], r.Result.Sojourn.Mean)
	}
	c := chart.Chart{X: chart.Axis{Label: "load"}, Y: chart.Axis{Label: "mean sojourn time (s)"}}
	point := func(g group, x float64) chart.Point {
		m := theory.ConfidenceOf(values[g], 0.95)
		p := chart.Point{X: x, Y: m.Mean, Low: m.Mean, High: m.Mean}
		if m.Half != nil {
			p.Low, p.High = m.Mean-*m.Half, m.Mean+*m.Half
		}
		return p
	}
	if len(loads) == 1 {
		c.X = chart.Axis{Names: names}
		line := chart.Line{Manner: chart.Apart}
		for i, name := range names {
			for load := range loads {
				line.Points = append(line.Points, point(group{name, load}, float64(i)))
			}
		}
		c.Lines = []chart.Line{line}
		return c.WriteSVG(out)
	}
	for _, name := range names {
		line := chart.Line{Name: name}
		for _, load := range slices.Sorted(maps.Keys(loads)) {
			if g := (group{name, load}); values[g] != nil {
				line.Points = append(line.Points, point(g, load))
			}
		}
		c.Lines = append(c.Lines, line)
	}
	return c.WriteSVG(out)
}
