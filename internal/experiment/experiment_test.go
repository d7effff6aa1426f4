package experiment

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/sojourn-sched/sojourn/internal/run"
)

const small = `
policies: [fifo, "fair:delay={delay}"]
parameters: {delay: [0s, 5s]}
workloads: [../../examples/bursty.tsv]
loads: [1, 2]
clusters: ["nodes=20,map-slots=3,reduce-slots=1"]
seeds: 2
jobs: 30
`

func read(t *testing.T, text string) *Sweep {
	t.Helper()
	s, err := ReadSweep("sweep.yaml", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The combinations of a sweep, seeds first: three policies, two of them by the parameter, two loads and two seeds.
func TestRuns(t *testing.T) {
	runs := read(t, small).Runs()
	if len(runs) != 3*2*2 {
		t.Fatalf("%d runs", len(runs))
	}
	want := Run{Policy: "fair:delay=5s", Parameters: map[string]string{"delay": "5s"},
		Workload: "../../examples/bursty.tsv", Load: 2, Cluster: "nodes=20,map-slots=3,reduce-slots=1", Seed: 2}
	if got := runs[11]; !reflect.DeepEqual(got, want) {
		t.Errorf("the last is %+v, want %+v", got, want)
	}
}

// done simulates a sweep into a folder, and returns its table.
func done(t *testing.T, ctx context.Context, folder string) (table string, err error) {
	t.Helper()
	rows, err := read(t, small).Simulate(ctx, Setup{Names: run.BuiltIn, Output: folder, Progress: func(n, all int) {
		if n < 0 || n > all || all != 12 {
			t.Errorf("progress %d of %d", n, all)
		}
	}})
	if err != nil {
		return "", err
	}
	if err := Write(folder, rows); err != nil {
		t.Fatal(err)
	}
	return file(t, folder, "results.csv"), nil
}

func file(t *testing.T, folder, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A sweep makes the same bytes on one processor and on several, whole and taken up again where its journal was cut.
func TestSimulate(t *testing.T) {
	folder := t.TempDir()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	table, err := done(t, t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(table, "\n"); len(lines) != 14 || !strings.HasPrefix(lines[0],
		"policy,workload,load,cluster,seed,delay,jobs,failed,tasks,sojourn_mean_s,sojourn_p50_s") ||
		!strings.HasPrefix(lines[1], `fifo,../../examples/bursty.tsv,1,"nodes=20,map-slots=3,reduce-slots=1",1,,30,`) {
		t.Errorf("%s", table)
	}
	runtime.GOMAXPROCS(4)
	if again, err := done(t, t.Context(), t.TempDir()); err != nil || again != table {
		t.Errorf("on four processors, %v:\n%s\non one:\n%s", err, again, table)
	}
	journal := file(t, folder, journalName)
	lines := strings.SplitAfter(journal, "\n")
	kept := strings.Join(lines[:5], "")
	cut := kept + lines[5][:40] // as a kill leaves it
	if err := os.WriteFile(filepath.Join(folder, journalName), []byte(cut), 0o644); err != nil {
		t.Fatal(err)
	}
	if again, err := done(t, t.Context(), folder); err != nil || again != table {
		t.Errorf("taken up again, %v:\n%s\nwant\n%s", err, again, table)
	}
	if after := file(t, folder, journalName); !strings.HasPrefix(after, kept) || strings.Count(after, "\n") != 12 {
		t.Errorf("the journal is\n%s", after)
	}
	rows, err := parquet.Read[struct {
		Policy  string  `parquet:"policy"`
		Load    float64 `parquet:"load"`
		Seed    int64   `parquet:"seed"`
		Delay   *string `parquet:"parameter_delay,optional"`
		Sojourn float64 `parquet:"sojourn_mean_s"`
	}](bytes.NewReader([]byte(file(t, folder, "results.parquet"))), int64(len(file(t, folder, "results.parquet"))))
	if err != nil || len(rows) != 12 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if r := rows[11]; r.Policy != "fair:delay=5s" || r.Load != 2 || r.Seed != 2 || r.Delay == nil || *r.Delay != "5s" ||
		r.Sojourn <= 0 || rows[0].Delay != nil {
		t.Errorf("%+v", r)
	}
	if svg := file(t, folder, "sojourn.svg"); !strings.Contains(svg, "mean sojourn time") {
		t.Errorf("%.200s", svg)
	}
}

// Parquet has seeds as they are, also those that no signed number holds.
func TestLargeSeeds(t *testing.T) {
	folder := t.TempDir()
	if err := Write(folder, []Row{{Run: Run{Seed: math.MaxUint64}}}); err != nil {
		t.Fatal(err)
	}
	whole := file(t, folder, "results.parquet")
	rows, err := parquet.Read[struct {
		Seed uint64 `parquet:"seed"`
	}](strings.NewReader(whole), int64(len(whole)))
	if err != nil || len(rows) != 1 || rows[0].Seed != math.MaxUint64 {
		t.Errorf("%+v, %v", rows, err)
	}
}

// A sweep that is ended keeps what ended before.
func TestSimulateEnded(t *testing.T) {
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := done(t, ctx, folder); err == nil {
		t.Error("a sweep that was ended has no error")
	}
	if _, err := done(t, t.Context(), folder); err != nil {
		t.Error(err)
	}
}

// One folder takes the results of one experiment at a time.
func TestOneAtATime(t *testing.T) {
	folder := t.TempDir()
	first, err := openJournal(filepath.Join(folder, journalName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := done(t, t.Context(), folder); err == nil || !strings.Contains(err.Error(), "another experiment") {
		t.Errorf("beside another experiment: %v", err)
	}
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := done(t, t.Context(), folder); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// A result that cannot be written leaves that of an earlier time, and nothing half done.
func TestWriteFails(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "results.csv"), []byte("old\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "results.parquet"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := Write(folder, nil); err == nil || !strings.Contains(err.Error(), "results.parquet") {
		t.Errorf("over a folder: %v", err)
	}
	if got := file(t, folder, "results.csv"); !strings.HasPrefix(got, "policy,") {
		t.Errorf("results.csv is %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*.partial")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestReadSweepErrors(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"policies: [", "policy: [", "sweep.yaml: line 2: field policy is not known here; known are policies, "},
		{"seeds: 2", "seeds: 0", "sweep.yaml: seeds: 0, must be from 1"},
		{"seeds: 2", "seeds: 1.5", "sweep.yaml: line 7: seeds: 1.5, must be a whole number"},
		{"jobs: 30", "jobs: 2.5", "sweep.yaml: line 8: jobs: 2.5, must be a whole number"},
		{"jobs: 30", "jobs: [{name: a}]", "sweep.yaml: is a workload, and no sweep"},
		{"workloads: [../../examples/bursty.tsv]", "", "sweep.yaml: workloads: must name at least one"},
		{"loads: [1, 2]", "loads: [0]", "sweep.yaml: loads: 0, must be"},
		{"{delay: [0s, 5s]}", "{patience: [1]}", "sweep.yaml: parameters: no policy has {patience} in it"},
		{"{delay: [0s, 5s]}", "{delay: []}", "sweep.yaml: parameters: delay has no values"},
		{"seeds: 2", "seeds: 90000", "sweep.yaml: makes more than 100000 runs"},
		{"jobs: 30", "costs: some", `sweep.yaml: costs: "some", must be hadoop or none`},
	} {
		_, err := ReadSweep("sweep.yaml", strings.NewReader(strings.Replace(small, c.from, c.to, 1)))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.to, err, c.want)
		}
	}
	for from, to := range map[string]string{"[fifo": "[fife", "bursty.tsv": "missing.tsv", "nodes=20": "nodes=none"} {
		if err := read(t, strings.Replace(small, from, to, 1)).Check(Setup{Names: run.BuiltIn}); err == nil {
			t.Errorf("%s passes", to)
		}
	}
}

func FuzzReadSweep(f *testing.F) {
	f.Add([]byte(small))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := ReadSweep("sweep.yaml", bytes.NewReader(text)); err == nil && len(s.Runs()) > maxRuns {
			t.Errorf("%d runs", len(s.Runs()))
		}
	})
}
